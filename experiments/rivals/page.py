"""Puts what was measured into the page of the documentation, between its markers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from experiments.harness.child import ROOT
from experiments.harness.reporting import Item
from experiments.harness.summary import environment_lines, older_note, report_again, report_lines, why_older
from experiments.rivals import cluster, reading, report_times, scale, searches, speed, throughput
from minimaxrisk.app.atomic import write_whole

RESULTS_PAGES = ROOT / "docs" / "results"
PAGE, LARGE_DATA_PAGE = RESULTS_PAGES / "benchmarks.md", RESULTS_PAGES / "large_data.md"
# What stands between which markers; the speed of fits, which is laid out in two places, is apart.
BLOCKS = {
    "many": throughput.ITEM,
    "searches": searches.ITEM,
    "files": reading.ITEM,
    "reports": report_times.ITEM,
}
LARGE_DATA_BLOCKS = {"results": scale.ITEM, "chunks": cluster.ITEM}


def fill_page(out: Path, page: Path = PAGE) -> None:
    """Fill the page from the folder of a run, whose figures it shows."""
    _check_measured(out, "rivals", (speed.ITEM, *BLOCKS.values()))
    measured, _, _ = report_again(out / speed.NAME, speed.ITEM)
    results = replace(measured, tables=measured.tables[:-1])
    lost = replace(measured, tables=measured.tables[-1:], figures=())
    notes = " ".join(f"{note}." for note in measured.notes)
    text = page.read_text(encoding="utf-8")
    figures = Path(os.path.relpath(out / speed.NAME, page.parent)).as_posix()
    told = [*environment_lines(out), *_if_older(out, speed.ITEM), notes, "", *report_lines(results, figures)]
    text = fill(fill(text, "results", told), "losses", report_lines(lost, ""))
    for name, item in BLOCKS.items():
        text = fill(text, name, _block(out, item))
    write_whole(page, text)


def fill_large_data(out: Path, page: Path = LARGE_DATA_PAGE) -> None:
    """Fill the page on large data from the folder of a run."""
    _check_measured(out, "scale", LARGE_DATA_BLOCKS.values())
    text = page.read_text(encoding="utf-8")
    text = fill(text, "environment", environment_lines(out))
    for name, item in LARGE_DATA_BLOCKS.items():
        text = fill(text, name, _block(out, item))
    write_whole(page, text)


def _check_measured(out: Path, suite: str, items: Iterable[Item]) -> None:
    for item in items:
        if not (out / item.name / f"{item.name}.csv").exists():
            raise ValueError(
                f"there are no results of {item.name} in {out}; `python -m experiments {suite}` makes them."
            )


def _block(out: Path, item: Item) -> list[str]:
    """What an item reports, and whether the code is still the one that measured it."""
    report, _, _ = report_again(out / item.name, item)
    return [*_if_older(out, item), *report_lines(report, ""), *report.notes]


def _if_older(out: Path, item: Item) -> list[str]:
    reasons = why_older(out / item.name, item)
    return [f"{older_note(item, reasons)}.", ""] if reasons else []


def fill(text: str, name: str, lines: list[str]) -> str:
    """Replace what stands between the markers ``<!-- name:begin -->`` and ``<!-- name:end -->``."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(end) < text.index(begin):
        raise ValueError(f"the page needs the markers {begin} and {end}, in this order and once each.")
    head, rest = text.split(begin)
    content = "\n".join(lines).strip()
    return f"{head}{begin}\n\n{content}\n\n{end}{rest.split(end)[1]}"
