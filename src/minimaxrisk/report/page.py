"""From findings to one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from minimaxrisk.report import section_wording, tables, verdicts, wording
from minimaxrisk.report.bound_figures import history_figure, radius_figure
from minimaxrisk.report.bundle import vega_bundle
from minimaxrisk.report.colours import more_colours
from minimaxrisk.report.figures import comparison_figure, permutation_figure, suspects_figure
from minimaxrisk.report.findings import Findings
from minimaxrisk.report.gene_links import gene_links
from minimaxrisk.report.genes import gene_table
from minimaxrisk.report.heat_map import N_STEPS, cells_of, heat_map_figure
from minimaxrisk.report.left_out_figures import reliability_figure, roc_figure
from minimaxrisk.report.meaning import meaning
from minimaxrisk.report.phrases import count, misclassified, p_value, share, unbroken
from minimaxrisk.report.plain_verdict import plain_verdict
from minimaxrisk.report.scripts import asset, content_policy, json_island, require
from minimaxrisk.report.vega import CONFIG, Figure
from minimaxrisk.report.volcano_figure import volcano_figure

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
            None if verdicts.learned_nothing(findings) else suspects_figure(findings),
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
        is_suspect_table_folded=verdicts.in_doubt(findings) != "few",
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
        "headline": wording.headline(findings),
        "summary": wording.summary(findings),
        "try": wording.what_to_try(findings) if verdicts.says_nothing(findings) else [],
        "meaning": meaning(findings),
        "features": [*section_wording.caution(findings), section_wording.about_features(findings)],
        "cross_validation": section_wording.about_cross_validation(findings),
        "left_out": section_wording.about_left_out(findings),
        "probabilities": ""
        if findings.cross_validation is None
        else section_wording.about_probabilities(findings),
        "guarantee": section_wording.about_guarantee(findings),
        "rivals": section_wording.about_rivals(findings, is_imputed=provenance.imputed is not None),
        "suspects": section_wording.about_suspects(findings),
        "path": section_wording.about_path(findings),
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
        Tile("Worst-case error R*", share(fit.upper), wording.r_star_note(findings)),
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
