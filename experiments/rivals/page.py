"""Puts what was measured into the page of the documentation, between its markers."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from experiments.harness.child import ROOT
from experiments.harness.summary import environment_lines, older_note, report_again, report_lines, why_older
from experiments.rivals import cluster, reading, report_times, scale, searches, speed, throughput
from minimaxrisk.app.atomic import write_whole

RESULTS_PAGES = ROOT / "docs" / "results"
PAGE, LARGE_DATA_PAGE = RESULTS_PAGES / "benchmarks.md", RESULTS_PAGES / "large_data.md"


def fill_page(out: Path, page: Path = PAGE) -> None:
    """Fill the page from the folder of a run, whose figures it shows."""
    for item in (speed.ITEM, throughput.ITEM, searches.ITEM, reading.ITEM, report_times.ITEM):
        if not (out / item.name / f"{item.name}.csv").exists():
            raise ValueError(
                f"there are no results of {item.name} in {out}; `python -m experiments rivals` makes them."
            )
    measured, _, _ = report_again(out / speed.NAME, speed.ITEM)
    many, _, _ = report_again(out / throughput.NAME, throughput.ITEM)
    chosen, _, _ = report_again(out / searches.NAME, searches.ITEM)
    read, _, _ = report_again(out / reading.NAME, reading.ITEM)
    whole, _, _ = report_again(out / report_times.NAME, report_times.ITEM)
    results = replace(measured, tables=measured.tables[:-1])
    lost = replace(measured, tables=measured.tables[-1:], figures=())
    older = why_older(out / speed.NAME, speed.ITEM)
    notes = [f"{note}." for note in (*([older_note(speed.ITEM, older)] if older else []), *measured.notes)]
    text = page.read_text(encoding="utf-8")
    figures = Path(os.path.relpath(out / speed.NAME, page.parent)).as_posix()
    text = fill(
        text, "results", [*environment_lines(out), " ".join(notes), "", *report_lines(results, figures)]
    )
    text = fill(text, "losses", report_lines(lost, ""))
    text = fill(text, "many", report_lines(many, ""))
    text = fill(text, "searches", [*report_lines(chosen, ""), *chosen.notes])
    text = fill(text, "files", [*report_lines(read, ""), *read.notes])
    text = fill(text, "reports", report_lines(whole, ""))
    write_whole(page, text)


def fill_large_data(out: Path, page: Path = LARGE_DATA_PAGE) -> None:
    """Fill the page on large data from the folder of a run."""
    measured, _, _ = report_again(out / scale.NAME, scale.ITEM)
    chunks, _, _ = report_again(out / cluster.NAME, cluster.ITEM)
    text = page.read_text(encoding="utf-8")
    text = fill(text, "results", [*environment_lines(out), *report_lines(measured, "")])
    text = fill(text, "chunks", report_lines(chunks, ""))
    write_whole(page, text)


def fill(text: str, name: str, lines: list[str]) -> str:
    """Replace what stands between the markers ``<!-- name:begin -->`` and ``<!-- name:end -->``."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(end) < text.index(begin):
        raise ValueError(f"the page needs the markers {begin} and {end}, in this order and once each.")
    head, rest = text.split(begin)
    content = "\n".join(lines).strip()
    return f"{head}{begin}\n\n{content}\n\n{end}{rest.split(end)[1]}"
