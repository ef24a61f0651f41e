"""Writes what a run has found: tidy CSV, figures, and pages that a person can read."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.harness.code import NOT_RECORDED, reasons_why_older, settings_fingerprint
from experiments.harness.extras import require
from experiments.harness.reporting import Claim, Figure, Item, Report, TextTable
from experiments.harness.settings import Settings, differences_from_paper
from experiments.harness.sources import Sources
from experiments.suites import Suite
from minimaxrisk.app.atomic import write_whole

ENVIRONMENT = "environment.json"
SETTINGS = "settings.json"
SUMMARY = "summary"
# How figures are laid out and saved: without a date the same data give the same bytes.
LAYOUT = "constrained"
FORMATS: dict[str, dict[str, Any]] = {"svg": {"metadata": {"Date": None}}, "png": {"dpi": 130}}


def write_item(
    folder: Path,
    item: Item,
    rows: Sequence[Mapping[str, Any]],
    settings: Settings,
    sources: Sources,
    *,
    code: Sequence[Mapping[str, str]] = (),
) -> None:
    """The item's CSV, figures and its part of the summary; ``code`` tells what measured the rows."""
    report = item.report(settings, sources, rows)
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(folder / f"{item.name}.csv", rows)
    chosen: dict[str, Any] = {"settings": asdict(settings), "sources": asdict(sources)}
    kept = settings_fingerprint(item, json.loads(json.dumps(chosen["settings"])))
    chosen["code"] = [{**one, "settings": kept} for one in code]
    write_whole(folder / SETTINGS, json.dumps(chosen, indent=2) + "\n")
    for figure in report.figures:
        write_figure(folder, figure)
    write_whole(folder / "report.md", text_again(folder, item))


def text_again(folder: Path, item: Item) -> str:
    """The item's part of the summary from its CSV and settings alone."""
    report, settings, sources = report_again(folder, item)
    return item_text(item, report, settings, sources, why_older(folder, item))


def why_older(folder: Path, item: Item) -> list[str]:
    """In words, why the kept measurements of an item are older than the code; empty if they are not."""
    chosen = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    return reasons_why_older(item, chosen.get("code", []), chosen["settings"])


def older_note(item: Item, reasons: Sequence[str]) -> str:
    """What pages say about measurements that were made by other code."""
    again = f"`python -m experiments {item.name}` measures it again"
    perhaps = "Perhaps older" if NOT_RECORDED in reasons else "Older"
    return f"**{perhaps} than the code**: {'; '.join(reasons)}. {again}"


def report_again(folder: Path, item: Item) -> tuple[Report, Settings, Sources]:
    """What the item reports on its CSV, and the settings beside it."""
    chosen = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    known = asdict(Settings())  # a setting may have gone since
    settings = Settings(
        **{name: _tuples(value) for name, value in chosen["settings"].items() if name in known}
    )
    sources = Sources(*map(tuple, chosen["sources"].values()))
    return item.report(settings, sources, read_csv(folder / f"{item.name}.csv")), settings, sources


def item_text(
    item: Item, report: Report, settings: Settings, sources: Sources, older: Sequence[str] = ()
) -> str:
    """An item in Markdown; addresses of figures are relative to the summary."""
    lines = [f"## {item.title}", "", item.what]
    if sources.names:
        lines += ["", f"Data sets: {', '.join(sources.names)}."]
    different = differences_from_paper(settings, item.relevant)
    notes = [*sources.notes, *report.notes]
    if settings.is_quick:
        notes.insert(0, "**A quick run.** So few folds and repetitions that the verdicts mean little")
    if item.wanted and sources.names and not set(sources.names) & {*item.wanted, *item.replacements.values()}:
        notes.insert(0, "**None of the paper's data.** The verdicts are about other data")
    if older:
        notes.insert(0, older_note(item, older))
    if different:
        notes.append("settings that are not those of the paper's text: " + "; ".join(different))
    lines += ["", *(f"- {_sentence(note)}" for note in notes), "", *report_lines(report, item.name)]
    lines += [f"Measurements: [{item.name}.csv](./{item.name}/{item.name}.csv)", ""]
    return "\n".join(lines)


def report_lines(report: Report, folder: str) -> list[str]:
    """Claims, figures, which are in the folder, and tables in Markdown."""
    lines = _table_lines(_claims_table(report.claims)) if report.claims else []
    for figure in report.figures:
        lines += [f"![{figure.caption}]({folder}/{figure.name}.svg)", "", f"_{figure.caption}_", ""]
    for table in report.tables:
        lines += _table_lines(table)
    return lines


def write_summary(out: Path, suites: Iterable[Suite]) -> None:
    """One page of all items that were measured into the folder, in Markdown and as HTML.

    Of a clone, too, which has the measurements of other items and not their reports.
    """
    lines = []
    for suite in suites:
        texts = [
            text_again(out / name, item)
            for name, item in suite.items.items()
            if (out / name / SETTINGS).exists()
        ]
        if texts:
            lines += [suite.introduction, *_at_a_glance(out, suite), *environment_lines(out), *texts]
    text = "\n".join(lines)
    write_whole(out / f"{SUMMARY}.md", text)
    write_whole(out / f"{SUMMARY}.html", as_html(text))


def _at_a_glance(out: Path, suite: Suite) -> list[str]:
    """The claims about which the paper prints something, of all items that are here."""
    lines = []
    for name, item in suite.items.items():
        if (out / name / SETTINGS).exists():
            claims = [claim for claim in report_again(out / name, item)[0].claims if claim.printed]
            lines += [
                [one.claim, one.printed, _first_sentence(one.evidence), f"**{one.verdict}**"]
                for one in claims
            ]
    return _table_lines(TextTable("", ["claim", "printed", "here", "verdict"], lines)) if lines else []


def _first_sentence(text: str) -> str:
    return text.split(". ", maxsplit=1)[0].rstrip(".")


def as_html(markdown: str) -> str:
    """A page of its own; the figures stay files beside it."""
    body = require("markdown_it").MarkdownIt("commonmark").enable("table").render(markdown)
    title = html.escape(markdown.splitlines()[0].lstrip("# "))
    style = (
        "body{max-width:75rem;margin:2rem auto;padding:0 1rem;font-family:sans-serif;line-height:1.45}"
        "table{border-collapse:collapse;margin:1rem 0;font-size:.85rem;display:block;overflow-x:auto}"
        "th,td{border:1px solid #ccc;padding:.25rem .5rem;text-align:left;vertical-align:top}"
        "th{background:#f3f3f3}img{max-width:100%}code{background:#f3f3f3}"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{style}</style></head><body>\n{body}</body></html>\n"
    )


def remember_environment(out: Path, name: str, description: Mapping[str, Any]) -> None:
    """Add a description to those that cells of this folder were measured in."""
    _write_environments(out, {**_read_environments(out), name: description})


def keep_environments(out: Path, names: Collection[str]) -> None:
    """Forget the descriptions of all others."""
    known = _read_environments(out)
    _write_environments(out, {name: about for name, about in known.items() if name in names})


def _write_environments(out: Path, descriptions: Mapping[str, Any]) -> None:
    write_whole(out / ENVIRONMENT, json.dumps(descriptions, indent=2) + "\n")


def _read_environments(out: Path) -> dict[str, Any]:
    path = out / ENVIRONMENT
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def environment_lines(out: Path) -> list[str]:
    """On what the cells of the folder were measured."""
    lines = []
    for about in _read_environments(out).values():
        parts = [f"{name} {number}" for name, number in about["packages"].items()]
        parts += about.get("threads", [])
        lines.append(
            f"- {about['processor']}, {about['cores']} cores, {about['memory_gb']} GB, {about['system']}, "
            f"Python {about['python']}, {', '.join(parts)}, revision {about['revision'] or 'unknown'}"
        )
    # Items differ in the code that measured them, which is no other environment.
    lines = list(dict.fromkeys(lines))
    if len(lines) > 1:
        lines += [
            "",
            "More than one environment: some cells come from an earlier run; times may not compare.",
        ]
    return ["Measured on", "", *lines, ""]


def code_of(out: Path, names: Collection[str]) -> list[dict[str, str]]:
    """The code that these environments of the folder had, each once; empty fingerprints where unknown."""
    known = _read_environments(out)
    found = [known.get(name, {}).get("code", {}) for name in sorted(names)]
    return [dict(one) for one in dict.fromkeys(tuple(sorted(each.items())) for each in found)]


def _claims_table(claims: Sequence[Claim]) -> TextTable:
    lines = [[claim.claim, f"**{claim.verdict}**", claim.evidence] for claim in claims]
    return TextTable("", ["claim", "here", "evidence"], lines)


def _table_lines(table: TextTable) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    caption = [table.caption, ""] if table.caption else []
    rule = "| " + " | ".join(["---"] * len(table.header)) + " |"
    return [*caption, line(table.header), rule, *map(line, table.lines), ""]


def _sentence(text: str) -> str:
    return text if text.endswith((".", ")")) else text + "."


def read_csv(path: Path) -> list[dict[str, Any]]:
    """Rows with numbers and truth values as they were; what was empty or None is None."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _parsed(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _parsed(text: str) -> Any:
    if text in ("", "True", "False"):
        return {"": None, "True": True, "False": False}[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _tuples(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, dict.fromkeys(name for row in rows for name in row), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue())


def write_figure(folder: Path, figure: Figure) -> None:
    """The figure as files beside each other."""
    mpl = require("matplotlib")
    # Without pyplot, which would ask for a screen and keep every figure.
    canvas = require("matplotlib.figure").Figure(figsize=figure.size, layout=LAYOUT)
    figure.draw(canvas)
    with mpl.rc_context({"svg.hashsalt": "minimaxrisk", "svg.fonttype": "path"}):
        for suffix, options in FORMATS.items():
            canvas.savefig(folder / f"{figure.name}.{suffix}", **options)
            # Its places are found; finding them again for the next file would take longer than drawing it.
            canvas.set_layout_engine("none")
