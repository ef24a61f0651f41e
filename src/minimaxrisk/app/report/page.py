"""One HTML page that needs nothing else, from findings or in one call from a fitted model.

Nothing may reach the page from outside, and it reaches nothing: a policy allows its own scripts alone.

Putting the scripts of Vega together takes three seconds, as long as the rest of a small report. The outcome
depends on the version of vl-convert alone, so it is kept in the user's cache folder with a digest, by which a
damaged file is recognized; where that folder cannot be written, it is made again.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from minimaxrisk._utils import environment
from minimaxrisk.app.atomic import checked_destination, write_whole
from minimaxrisk.app.report import explanations, first_screen, tables, verdict
from minimaxrisk.app.report.explanations import PYTHON, Advice
from minimaxrisk.app.report.figures import (
    comparison_figure,
    history_figure,
    permutation_figure,
    radius_figure,
    reliability_figure,
    roc_figure,
    short_list_figure,
    suspects_figure,
)
from minimaxrisk.app.report.findings import Findings, json_ready
from minimaxrisk.app.report.gathering import Subject, Wanted, findings_of
from minimaxrisk.app.report.gene_figures import N_STEPS, cells_of, dots_of, heat_map_figure, volcano_figure
from minimaxrisk.app.report.methods import methods
from minimaxrisk.app.report.phrases import count, unbroken
from minimaxrisk.app.report.tables import check_links, gene_links, gene_table
from minimaxrisk.app.report.vega import CONFIG, Figure, more_colours
from minimaxrisk.app.storage import current_versions, fingerprint
from minimaxrisk.guarantees.verification import verify

# Pixels of the frame in a notebook; the page scrolls inside.
FRAME_HEIGHT = 820
# Cells of the table of features that are there from the start; the page's script adds the others when asked.
MOST_CELLS = 2000
# What would end a script element or a line, written so that JSON and JavaScript read the same character.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True)
class Provenance:
    """Where the findings come from, and what else the page is to show."""

    command: str  # that made the report
    source: str  # the data, for the title
    target: str  # what is predicted
    fingerprint: str  # digest of the training data
    versions: Mapping[str, str]  # of Python and of packages
    remarks: Sequence[str] = field(default=())  # about the data
    imputed: str | None = None  # what was done about missing values, if anything
    # Further columns for the table of features, with an entry for every feature of the data.
    annotations: Mapping[str, Sequence[str]] = field(default_factory=dict)
    links: str | None = None  # a site that names of features link to: "ncbi" or "genecards"
    seconds: Mapping[str, float] = field(default_factory=dict)  # of parts that were computed before
    advice: Advice = PYTHON


@dataclass(frozen=True)
class Report:
    """A page and its numbers; the last expression of a cell shows it in a notebook.

    Attributes
    ----------
    findings : Findings
        All numbers of the page.
    html : str
        The page.
    path : Path or None
        Where ``report`` wrote it, if it did.
    """

    findings: Findings
    html: str
    path: Path | None = None

    def __repr__(self) -> str:
        where = "not saved" if self.path is None else f"saved as {str(self.path)!r}"
        return f"<Report, {where}: {verdict.headline(self.findings)}>"

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Where to, such as ``"report.html"``.

        Returns
        -------
        Path
            The same as a ``Path``.
        """
        write_whole(path, self.html)
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style and scripts do not meet those of the notebook."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads allow-popups" '
            f'title="Minimax risk report" style="width: 100%; height: {FRAME_HEIGHT}px; border: 0"></iframe>'
        )


def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | Path | None = None,
    *,
    source: str = "data",
    target: str | None = None,
    links: str | None = None,
    scaler: Any = None,
    groups: Any = None,
    strata: Any = None,
    feature_names: Any = None,
    sample_names: Any = None,
    **options: Any,
) -> Report:
    """The report of a fitted classifier, or of a pipeline that ends with one; needs the extra ``app``.

    Parameters
    ----------
    model : classifier of this library, or Pipeline that ends with one
        Fitted on ``X`` and ``y``: a ``MinimaxRiskClassifier``, a ``MinimaxRiskClassifierCV``, whose choice
        is repeated wherever samples are left out, or a ``MinimaxRiskEnsembleClassifier``.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Instances; a data frame is one of pandas or polars.
    y : array-like of shape (n_samples,)
        Their labels.
    path : str, Path or None, default=None
        Where to write the page; None writes nothing.
    source : str, default="data"
        What the data are called, for the title.
    target : str or None, default=None
        What is predicted, for the title; None takes the name of ``y``, if it has one.
    links : {"ncbi", "genecards"} or None, default=None
        A site that names of genes link to.
    scaler : ClippedScaler or None, default=None
        Fitted on ``X``: what clipped the columns before the model saw them, if that is not a pipeline.
    groups, strata : array-like of shape (n_samples,) or None, default=None
        Samples that are not independent, and samples among which labels may be exchanged.
    feature_names, sample_names : sequence of str or None, default=None
        Names to print; None takes those of a data frame, or numbers.
    **options
        How much is computed, with these defaults:

        * ``n_permutations=199`` of the permutation test, or ``permutation_result``, one that was done before;
        * ``n_folds=10`` of the cross-validation, drawn ``n_repeats=1`` times;
        * ``n_radii=5`` of the path of R* over radii; 0 leaves out errors over the number of features, too;
        * ``guarantee=True``: bounds on the error for new samples at the model's confidence, or what
          ``error_bound`` found before;
        * ``has_rivals=False``: other classifiers on the same folds, which take longer than most of the rest;
        * ``n_jobs=None`` processes, as in joblib, and the seed ``random_state=0``;
        * ``progress=None``, a function that is told in a few words what is being computed.

        0 and False leave a part out.

    Returns
    -------
    Report
        The page and its numbers.

    Raises
    ------
    ValueError
        If ``verify`` finds that the model was not fitted on these data alone, but on other rows, with
        ``sample_weight`` or with ``X_unlabeled``; or if ``has_rivals`` is asked for without folds.

    See Also
    --------
    minimaxrisk.error_bound : Bounds the error for new samples alone.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier
    >>> from minimaxrisk.app.report import report
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(40, 50, effect=1.5, random_state=0)
    >>> model = MinimaxRiskClassifier().fit(study.data, study.target)
    >>> page = report(model, study.data, study.target, n_permutations=5, n_folds=3, n_radii=0)
    >>> page.findings.data.n_samples
    40
    """
    check_links(links)  # before the work
    if path is not None:
        checked_destination(path)
    subject = Subject.of(
        model,
        X,
        y,
        scaler=scaler,
        groups=groups,
        strata=strata,
        feature_names=feature_names,
        sample_names=sample_names,
    )
    wanted, certificate = Wanted(**options), verify(subject.fit)
    if not certificate.valid:
        raise ValueError(
            "X, y and groups must be the data that the model was fitted on, in the same order of rows. A "
            "report does not take sample_weight and X_unlabeled: fit the model without them. Checked against "
            f"these data, {certificate.problems[0]}."
        )
    findings = findings_of(subject, wanted)
    provenance = Provenance(
        command="report(model, X, y)",
        source=source,
        target=str(getattr(y, "name", None) or "class") if target is None else target,
        fingerprint=fingerprint(subject.fit.X_transformed, subject.fit.y, np.asarray(subject.feature_names)),
        versions=current_versions(),
        links=links,
    )
    page = Report(findings, render_report(findings, provenance), None if path is None else Path(path))
    if path is not None:
        page.save(path)
    return page


def render_report(findings: Findings, provenance: Provenance) -> str:
    """Make the page as one string of HTML. The same input gives the same page, to the letter."""
    figures = {
        figure.key: figure
        for figure in (
            first_screen.scores_figure(findings),
            permutation_figure(findings),
            roc_figure(findings),
            reliability_figure(findings),
            heat_map_figure(findings),
            volcano_figure(findings),
            comparison_figure(findings),
            None if verdict.learned_nothing(findings) else suspects_figure(findings),
            short_list_figure(findings),
            radius_figure(findings),
            history_figure(findings),
        )
        if figure is not None
    }
    rows, feature_headers = tables.feature_rows(findings), tables.feature_headers(findings)
    n_rows = MOST_CELLS // len(feature_headers)
    scripts = {"theme": asset("theme.js"), "vega": vega_bundle(), "report": asset("report.js")}
    markup = require("markupsafe").Markup
    page: str = template("page.html").render(
        findings=findings,
        provenance=provenance,
        words=_words(findings, provenance),
        tiles=first_screen.key_numbers(findings),
        top_features=first_screen.top_features(findings),
        to_look_at=first_screen.samples_to_look_at(findings),
        figures=figures,
        feature_headers=feature_headers,
        feature_rows=rows[:n_rows],
        gene_links=gene_links(findings, provenance.links),
        panels=[panel.name for panel in findings.volcano.panels],
        confusion=tables.confusion_rows(findings),
        error_table=tables.error_table(findings),
        time_facts=tables.time_facts(findings, provenance.seconds),
        rate_table=tables.rate_table(findings),
        class_table=tables.class_table(findings),
        set_table=tables.set_table(findings),
        probability_table=tables.probability_table(findings),
        rival_table=None if findings.rivals is None else tables.rival_table(findings.rivals),
        suspect_table=tables.suspect_table(findings),
        data_facts=tables.data_facts(findings, provenance.imputed),
        n_steps=N_STEPS,
        policy=content_policy(list(scripts.values())),
        style=markup(asset("report.css") + more_colours(findings.data.n_classes)),
        scripts={name: markup(text) for name, text in scripts.items()},
        island=markup(json_island(_drawings(findings, figures, rows[n_rows:], provenance))),
    )
    return page


@cache
def template(name: str) -> Any:
    """Compiled once for all pages of a process, since that takes longer than to fill it in."""
    jinja2 = require("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=unbroken,
    )
    return environment.get_template(name)


def _words(findings: Findings, provenance: Provenance) -> dict[str, Any]:
    advice, is_imputed = provenance.advice, provenance.imputed is not None
    return {
        "headline": verdict.headline(findings),
        "is_vetoed": verdict.veto(findings) is not None,
        "try": explanations.what_to_try(findings, advice) if verdict.says_nothing(findings) else [],
        "top_features": first_screen.about_top_features(findings),
        "to_look_at": first_screen.about_samples(findings, advice),
        "meaning": explanations.meaning(findings, advice),
        "is_lone": first_screen.is_lone(findings) and bool(first_screen.top_features(findings)),
        "caution": explanations.caution(findings),
        "features": explanations.about_features(findings),
        "cross_validation": explanations.about_cross_validation(findings, advice),
        "rates": explanations.about_rates(findings),
        "confused": explanations.about_confusion(findings),
        "left_out": explanations.about_left_out(findings, advice),
        "sets": explanations.about_sets(findings),
        "probabilities": explanations.about_probabilities(findings),
        "best_bound": explanations.about_best_bound(findings, advice),
        "guarantee": explanations.about_guarantee(findings, advice),
        "rivals": explanations.about_rivals(findings, advice, is_imputed=is_imputed),
        "suspects": explanations.about_suspects(findings),
        "path": explanations.about_path(findings, advice),
        "short_list": explanations.about_short_list(findings, advice),
        "methods": methods(findings, provenance.versions, provenance.imputed),
        "notes": f"{count(len(provenance.remarks), 'note')} about the data",
    }


def _drawings(
    findings: Findings,
    figures: Mapping[str, Figure],
    more: Sequence[tables.FeatureRow],
    provenance: Provenance,
) -> dict[str, Any]:
    """What the page's script draws, adds and lets people save; ``more`` are the last rows of the table."""
    plots = [
        {"id": f"plot-{figure.key}-{i}", "spec": {**spec, "config": CONFIG}}
        for figure in figures.values()
        for i, spec in enumerate(figure.specs)
    ]
    return {
        "plots": plots,
        "cells": cells_of(findings.values) if "heatmap" in figures else None,
        "dots": dots_of(findings) if "volcano" in figures else None,
        "genes": _genes(findings, provenance.annotations),
        "more": _more(findings, more, len(provenance.annotations)),
    }


def _genes(findings: Findings, annotations: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The table that the page saves, in columns; those that are equal, such as differences of logarithms and
    fold changes, are stored once.
    """
    headers, rows = gene_table(findings.features, findings.data.classes, annotations)
    stored: dict[tuple[Any, ...], int] = {}
    places = [
        stored.setdefault(tuple(_short(header, row[k]) for row in rows), len(stored))
        for k, header in enumerate(headers)
    ]
    return {"headers": headers, "places": places, "columns": list(stored)}


# Digits of the numbers that the page saves, by how their header begins; ``write_genes`` writes all.
DIGITS, FEWER_DIGITS = 6, {"mean": 5, "difference": 4, "log2": 4, "Welch": 3, "q": 2}


def _short(header: str, cell: Any) -> Any:
    if not isinstance(cell, float):
        return cell
    n = FEWER_DIGITS.get(header.split(maxsplit=1)[0].rstrip(","), DIGITS)
    return float(f"{cell:.{n}g}")


def _more(findings: Findings, rows: Sequence[tables.FeatureRow], n_annotations: int) -> dict[str, Any]:
    """Rows that the script adds: its own numbers come from ``genes``, by the places of their headers.

    ``last`` are the cells of t and q, which are those of the class that the row names first.
    """
    first = 1 + n_annotations
    n_numbers = len(findings.features.coefficients) + findings.data.n_classes
    return {
        "from": findings.features.n_selected - len(rows),
        "supports": first + 1,
        "numbers": [first, *range(first + 2, first + 2 + n_numbers)],
        "frequency": [] if findings.features.frequency is None else [-1],
        "last": [row.cells[-2:] for row in rows],
    }


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
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


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
    chosen = os.environ.get("XDG_CACHE_HOME")
    folder = Path(chosen) if chosen else Path.home() / ".cache"
    return folder / "minimaxrisk" / f"vega-of-vl-convert-{require('vl_convert').__version__}.js"


def _read(place: Path) -> str | None:
    """What is kept there, if it is what was written."""
    try:
        digest, _, bundle = place.read_bytes().decode("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return bundle if digest == _digest(bundle) else None


def _digest(bundle: str) -> str:
    return hashlib.sha256(bundle.encode()).hexdigest()
