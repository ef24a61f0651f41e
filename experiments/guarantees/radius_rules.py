"""Radii with and without coverage on real data: bounds, sparsity, times and cross-validated errors."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell, Setting
from experiments.harness.reporting import (
    Claim,
    Figure,
    Item,
    Report,
    Row,
    TextTable,
    finish_axes,
    mean,
    mean_and_deviation,
    pick,
    three_digits,
    values_of,
    verdict,
)
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from experiments.paper.fitting import fit_quietly, fold_of, randomized_error
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier

NAME = "radius-rules"
WITH_COVERAGE = ("bootstrap",)
RADII: tuple[float | str, ...] = (1.0, 2.0, 3.0, *WITH_COVERAGE)
N_FITS = 3
# A bound that is closer to that of a coin than this is no better: fits stop at a gap of 1e-6.
CLOSE = 1e-5


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    cells = []
    for name in sources.names:
        for radius in RADII:
            whole: dict[str, Setting] = {
                "dataset": name,
                "radius": radius,
                "fold": None,
                "confidence": settings.confidence,
            }
            folds: dict[str, Setting] = {"folds": settings.folds, "seed": settings.seed}
            cells.append(Cell(NAME, whole, settings.limit))
            cells += [
                Cell(NAME, whole | folds | {"fold": fold}, settings.limit) for fold in range(settings.folds)
            ]
    return cells


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    X, y = load_source(settings["dataset"])
    estimator = MinimaxRiskClassifier(radius=settings["radius"], confidence=settings["confidence"])
    if settings["fold"] is None:
        return [_whole(estimator, X, y)]
    train, test = fold_of(y, settings["fold"], settings["folds"], settings["seed"])
    model, _ = fit_quietly(estimator, X[train], y[train])
    return [
        {
            "error": float(np.mean(model.predict(X[test]) != y[test])),
            "randomized_error": randomized_error(model, X[test], y[test]),
        }
    ]


def _whole(estimator: MinimaxRiskClassifier, X: Any, y: np.ndarray) -> dict[str, Any]:
    """The model of all data, fitted several times for the clock."""
    seconds = []
    for _ in range(N_FITS):
        start = time.perf_counter()
        model, warned = fit_quietly(estimator, X, y)
        seconds.append(time.perf_counter() - start)
    return {
        "n_classes": len(model.classes_),
        "factor": model.radius_,
        "worst_case_error": model.worst_case_error_,
        "n_features": model.n_features_selected_,
        "warned": warned,
        "seconds": float(np.median(seconds)),
    }


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    return Report(
        claims=[_non_trivial_claim(radius, known) for radius in WITH_COVERAGE] + [_error_claim(known)],
        tables=[_table(sources, known)],
        figures=[
            Figure(
                "radius-rules",
                "R* and cross-validated error of the randomized rule over the factor of the radii. "
                " Hollow: no coverage goes with the radius. Dotted: a rule that looks at nothing.",
                (3.0 * min(4, len(sources.names)) + 0.6, 2.9 * -(-len(sources.names) // 4)),
                lambda figure: _draw(figure, sources, known),
            )
        ],
        notes=[
            f"Errors are from {settings.folds}-fold stratified cross-validation with the radii found anew in "
            f"each fold. Seconds: median of {N_FITS} fits. Confidence "
            f"{settings.confidence:g}.",
            "With a plain number as radius R* is a bound if the true means lie within the "
            "radii, and nothing says that they do.",
        ],
    )


def _whole_rows(rows: Sequence[Row], **values: Any) -> list[Row]:
    return pick(rows, fold=None, **values)


def _folds(rows: Sequence[Row], whole: Row) -> list[Row]:
    own = pick(rows, dataset=whole["dataset"], radius=whole["radius"])
    return [row for row in own if row["fold"] is not None]


def _trivial(row: Row) -> float:
    """The error of a rule that picks any class with the same probability."""
    return 1.0 - 1.0 / float(row["n_classes"])


def _is_informative(row: Row) -> bool:
    return bool(row["worst_case_error"] < _trivial(row) - CLOSE)


def _non_trivial_claim(radius: str, rows: Sequence[Row]) -> Claim:
    whole = _whole_rows(rows, radius=radius)
    beyond = [row["dataset"] for row in whole if not _is_informative(row)]
    return Claim(
        f"With the radii of {radius} R* is below 1 − 1/K, that of a rule that looks at nothing.",
        verdict([_is_informative(row) for row in whole]),
        f"On {len(whole) - len(beyond)} of {len(whole)} data sets"
        + (f"; not on {', '.join(beyond)}." if beyond else "."),
    )


def _error_claim(rows: Sequence[Row]) -> Claim:
    held: dict[float | str, list[bool]] = {}
    for radius in RADII:
        errors = [(row, _mean_error(rows, row)) for row in _whole_rows(rows, radius=radius)]
        held[radius] = [error <= row["worst_case_error"] for row, error in errors if np.isfinite(error)]
    return Claim(
        "The cross-validated error of the randomized rule is at most R*, for radii with coverage.",
        verdict([truth for radius in WITH_COVERAGE for truth in held[radius]]),
        "; ".join(f"{_words(radius)}: {sum(truths)} of {len(truths)}" for radius, truths in held.items())
        + " data sets.",
    )


def _words(radius: float | str) -> str:
    return radius if isinstance(radius, str) else f"s = {radius:g}"


def _table(sources: Sources, rows: Sequence[Row]) -> TextTable:
    lines = []
    for name in sources.names:
        for radius in RADII:
            for row in _whole_rows(rows, dataset=name, radius=radius):
                folds = _folds(rows, row)
                numbers = ("worst_case_error",)
                lines.append(
                    [
                        name,
                        str(row["n_classes"]),
                        _words(radius),
                        f"{row['factor']:.2f}",
                        *(f"{row[number]:.3f}" for number in numbers),
                        mean_and_deviation(values_of(folds, "randomized_error")),
                        mean_and_deviation(values_of(folds, "error")),
                        str(row["n_features"]),
                        "yes" if row["warned"] else "no",
                        three_digits(row["seconds"]),
                    ]
                )
    header = ["data set", "K", "radius", "factor", "R*", "randomized error"]
    header += ["arg-max error", "features", "warned", "seconds"]
    return TextTable("Radius rules; errors with one standard deviation over the folds.", header, lines)


def _draw(figure: Any, sources: Sources, rows: Sequence[Row]) -> None:
    n_columns = min(4, len(sources.names))
    panels = figure.subplots(-(-len(sources.names) // n_columns), n_columns, squeeze=False).ravel()
    for axes in panels[len(sources.names) :]:
        axes.set_visible(False)
    for axes, name in zip(panels, sources.names, strict=False):
        whole = sorted(_whole_rows(rows, dataset=name), key=lambda row: row["factor"])
        for label, marker, colour, values in (
            ("R*", "D", "#08306b", [row["worst_case_error"] for row in whole]),
            ("cross-validated", "o", "#2171b5", [_mean_error(rows, row) for row in whole]),
        ):
            factors = [row["factor"] for row in whole]
            axes.plot(factors, values, "-", color=colour, linewidth=1)
            for row, value in zip(whole, values, strict=True):
                fill = colour if row["radius"] in WITH_COVERAGE else "none"
                axes.plot(row["factor"], value, marker, color=colour, markerfacecolor=fill, markersize=5)
            axes.plot([], [], marker, color=colour, label=label)
        if whole:
            axes.axhline(_trivial(whole[0]), color="0.5", linestyle=":", linewidth=1)
        axes.set(title=name, ylim=(0.0, None), xlabel="factor")
        axes.grid(color="0.9")
    finish_axes(panels[0])
    panels[0].set_ylabel("error probability")


def _mean_error(rows: Sequence[Row], whole: Row) -> float:
    return mean(values_of(_folds(rows, whole), "randomized_error"))


ITEM = Item(
    name=NAME,
    title="Radius rules on real data",
    what="Plain factors and the rule with coverage, on the same data and the same folds.",
    wanted=("Colon", "Leukemia", "Prostate_GE", "Arcene", "GLIOMA", "MLL", "TOX_171"),
    fallback=("breast_cancer",),
    is_timed=True,
    plan=plan,
    work=work,
    report=report,
)
