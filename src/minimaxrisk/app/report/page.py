"""Values as JSON has them: dictionaries, lists, numbers and strings.

Scripts and data for a page that nothing may reach from outside, and that reaches nothing.

The scripts of Vega in one piece, kept from one report to the next.

vl-convert puts them together anew every time, which takes three seconds, as long as all the rest of a small
report. The outcome depends on its version alone, so it is kept in the user's cache folder, with a digest by
which a damaged file is known; where that folder cannot be written, it is made anew.

From findings to one HTML page that needs nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from minimaxrisk._utils import environment
from minimaxrisk.app.atomic import write_whole
from minimaxrisk.app.report import claims, sections, tables
from minimaxrisk.app.report.claims import meaning, plain_verdict
from minimaxrisk.app.report.figures import (
    CONFIG,
    Figure,
    comparison_figure,
    history_figure,
    more_colours,
    permutation_figure,
    radius_figure,
    reliability_figure,
    roc_figure,
    suspects_figure,
)
from minimaxrisk.app.report.findings import Findings, json_ready
from minimaxrisk.app.report.gene_figures import N_STEPS, cells_of, heat_map_figure, volcano_figure
from minimaxrisk.app.report.phrases import count, misclassified, p_value, share, unbroken
from minimaxrisk.app.report.tables import gene_links, gene_table

# What would end a script element or a line, written so that JSON and JavaScript read the same character.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def require(module: str) -> Any:
    """A module that only the report needs."""
    return environment.require(module, extra="app", purpose="The report needs")


def asset(name: str) -> str:
    """A file that comes with the package."""
    text = resources.files("minimaxrisk.app.report").joinpath("assets", name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def json_island(value: Any) -> str:
    """JSON that cannot end the element that it stands in; what is not finite becomes null."""
    text = json.dumps(json_ready(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter, escaped in ESCAPES.items():
        text = text.replace(letter, escaped)
    return text


def content_policy(scripts: Sequence[str]) -> str:
    """Only these scripts may run, and nothing may be loaded or sent.

    Styles may be inline: Vega writes them on its elements. Nothing from the data becomes a style.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _script_digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def is_bundle_kept() -> bool:
    """Whether ``vega_bundle`` need not make it, so that a person who waits can be told."""
    return _read(_place()) is not None


def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, in a block of its own so that its names stay inside."""
    place = _place()
    kept = _read(place)
    if kept is not None:
        return kept
    bundle: str = require("vl_convert").javascript_bundle()
    # Browsers read other ends of lines as \n, and then the hash would not be the one of the policy.
    bundle = "{" + bundle.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script") + "}"
    with suppress(OSError, ValueError):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, f"{_digest(bundle)}\n{bundle}")
    return bundle


def _place() -> Path:
    return _cache_folder() / f"vega-of-vl-convert-{require('vl_convert').__version__}.js"


def _read(place: Path) -> str | None:
    """What is kept there, if it is what was written."""
    try:
        digest, _, bundle = place.read_bytes().decode("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return bundle if digest == _digest(bundle) else None


def _digest(bundle: str) -> str:
    return hashlib.sha256(bundle.encode()).hexdigest()


def _cache_folder() -> Path:
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "minimaxrisk"


# Rows of the table of features that are there from the start; the page's script adds the others when asked.
MOST_ROWS = 1000


@dataclass(frozen=True)
class Provenance:
    """Where the findings come from, and what else the page is to show.

    Parameters
    ----------
    command : str
        How the report was made.
    source : str
        The data, for the title.
    target : str
        What is predicted.
    fingerprint : str
        Digest of the training data.
    versions : mapping of str to str
        Versions of Python and of packages.
    remarks : sequence of str, default=()
        What readers should be told about the data.
    imputed : str or None, default=None
        What was done about missing values, if anything.
    annotations : mapping of str to sequence of str, default={}
        Further columns for the table of features, with an entry for every feature of the data.
    links : {"ncbi", "genecards"} or None, default=None
        A site that names of features link to.
    seconds : mapping of str to float, default={}
        What the parts took that were computed before.
    """

    command: str
    source: str
    target: str
    fingerprint: str
    versions: Mapping[str, str]
    remarks: Sequence[str] = field(default=())
    imputed: str | None = None
    annotations: Mapping[str, Sequence[str]] = field(default_factory=dict)
    links: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Tile:
    """A key number."""

    name: str
    value: str
    note: str


def render_report(findings: Findings, provenance: Provenance) -> str:
    """Make the page; needs the extra ``app``.

    Parameters
    ----------
    findings : Findings
        The numbers.
    provenance : Provenance
        Where they come from.

    Returns
    -------
    str
        The page as one string of HTML. The same input gives the same page, to the letter.
    """
    figures = {
        figure.key: figure
        for figure in (
            permutation_figure(findings),
            roc_figure(findings),
            reliability_figure(findings),
            heat_map_figure(findings),
            volcano_figure(findings),
            comparison_figure(findings),
            None if claims.learned_nothing(findings) else suspects_figure(findings),
            radius_figure(findings),
            history_figure(findings),
        )
        if figure is not None
    }
    rows = tables.feature_rows(findings)
    scripts = {"theme": asset("theme.js"), "vega": vega_bundle(), "report": asset("report.js")}
    markup = require("markupsafe").Markup
    page: str = _template().render(
        findings=findings,
        provenance=provenance,
        words=_words(findings, provenance),
        tiles=_tiles(findings),
        figures=figures,
        feature_headers=tables.feature_headers(findings),
        feature_rows=rows[:MOST_ROWS],
        gene_links=gene_links(findings, provenance.links),
        panels=[panel.name for panel in findings.volcano.panels],
        confusion=[] if findings.left_out is None else tables.confusion_rows(findings),
        error_table=tables.error_table(findings),
        time_facts=tables.time_facts(findings, provenance.seconds),
        class_table=tables.class_table(findings),
        guarantee_table=tables.guarantee_table(findings),
        probability_table=tables.probability_table(findings),
        rival_table=None if findings.rivals is None else tables.rival_table(findings.rivals),
        suspect_table=tables.suspect_table(findings),
        is_suspect_table_folded=claims.in_doubt(findings) != "few",
        data_facts=tables.data_facts(findings, provenance.imputed),
        n_steps=N_STEPS,
        policy=content_policy(list(scripts.values())),
        style=markup(asset("report.css") + more_colours(findings.data.n_classes)),
        scripts={name: markup(text) for name, text in scripts.items()},
        island=markup(json_island(_drawings(findings, figures, rows, provenance))),
    )
    return page


@cache
def _template() -> Any:
    """Compiled once for all pages of a process, since that takes longer than to fill it in."""
    jinja2 = require("jinja2")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=unbroken,
    )
    return environment.from_string(asset("page.html"))


def _words(findings: Findings, provenance: Provenance) -> dict[str, Any]:
    return {
        "verdict": plain_verdict(findings),
        "headline": claims.headline(findings),
        "summary": claims.summary(findings),
        "try": claims.what_to_try(findings) if claims.says_nothing(findings) else [],
        "meaning": meaning(findings),
        "features": [*sections.caution(findings), sections.about_features(findings)],
        "cross_validation": sections.about_cross_validation(findings),
        "left_out": sections.about_left_out(findings),
        "probabilities": "" if findings.cross_validation is None else sections.about_probabilities(findings),
        "guarantee": sections.about_guarantee(findings),
        "rivals": sections.about_rivals(findings, is_imputed=provenance.imputed is not None),
        "suspects": sections.about_suspects(findings),
        "path": sections.about_path(findings),
        "notes": f"{count(len(provenance.remarks), 'note')} about the data",
    }


def _tiles(findings: Findings) -> list[Tile]:
    fit, test, folds = findings.fit, findings.permutation, findings.cross_validation
    noise, validated = "–", "–"
    floor, wrong = "not computed", "not computed"
    if test is not None:
        noise = f"p = {p_value(test.pvalue)}"
        floor = "" if test.noise_floor is None else f"noise floor of R*: {share(test.noise_floor)}"
    if folds is not None:
        validated = share(float(folds.errors[1]))
        wrong = misclassified(folds.n_wrong, len(folds.own))
    return [
        Tile("Against noise", noise, floor),
        Tile("Cross-validated error", validated, wrong),
        Tile("Worst-case error R*", share(fit.upper), claims.r_star_note(findings)),
        Tile("Selected features", f"{fit.n_selected:,}", f"of {findings.data.n_features:,}"),
    ]


def _drawings(
    findings: Findings,
    figures: Mapping[str, Figure],
    rows: Sequence[tables.FeatureRow],
    provenance: Provenance,
) -> dict[str, Any]:
    """What the page's script draws, adds and lets people save."""
    plots = [
        {"id": f"plot-{figure.key}-{i}", "spec": {**spec, "config": CONFIG}}
        for figure in figures.values()
        for i, spec in enumerate(figure.specs)
    ]
    genes = gene_table(findings.features, findings.data.classes, provenance.annotations)
    return {
        "plots": plots,
        "cells": cells_of(findings.values) if "heatmap" in figures else None,
        "more": [[row.name, row.supports, *row.cells] for row in rows[MOST_ROWS:]],
        "genes": {"headers": genes.headers, "rows": [[_short(cell) for cell in row] for row in genes.rows]},
    }


def _short(cell: Any) -> Any:
    """Numbers to save from the page; the file of --genes has all digits."""
    return float(f"{cell:.6g}") if isinstance(cell, float) else cell
