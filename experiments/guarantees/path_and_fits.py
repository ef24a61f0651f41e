"""R* over the radius: the path beside separate fits, and every breakpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from experiments.harness.cells import OK, Cell, Setting
from experiments.harness.reporting import (
    Claim,
    Figure,
    Item,
    Report,
    Row,
    TextTable,
    pick,
    three_digits,
    tiny,
    values_of,
    verdict,
)
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.analysis.minimax_risk_path import minimax_risk_path
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier

NAME = "path"
GRID, BREAKPOINTS = "grid", "breakpoints"
SMALLEST, LARGEST = 0.5, 5.0
# The largest difference of R* with which path and fits agree; fits stop at a gap of 1e-6, usually far below.
AGREEMENT = 1e-7

Result = TypeVar("Result")


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    parts: tuple[dict[str, Setting], ...] = (
        {"part": GRID, "n_radii": settings.path_radii, "n_times": settings.time_repetitions},
        {"part": BREAKPOINTS, "n_times": settings.time_repetitions},
    )
    return [Cell(NAME, {"dataset": name, **part}, settings.limit) for name in sources.names for part in parts]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    X, y = load_source(settings["dataset"])
    with quiet_fits():
        if settings["part"] == GRID:
            return _grid(X, y, radii_of(settings["n_radii"]), settings["n_times"])
        return [_breakpoints(X, y, settings["n_times"])]


def radii_of(count: int) -> FloatArray:
    return np.geomspace(SMALLEST, LARGEST, count)


def _grid(X: Any, y: np.ndarray, radii: FloatArray, n_times: int) -> list[dict[str, Any]]:
    """A row of what it cost, then one per radius. Both ways by turns, so that a slow moment is of both."""
    seconds = []
    for _ in range(n_times):
        path_seconds, path = _timed(lambda: minimax_risk_path(X, y, radii))
        fits_seconds, fits = _timed(lambda: [MinimaxRiskClassifier(radius=float(s)).fit(X, y) for s in radii])
        seconds.append((path_seconds, fits_seconds))
    path_median, fits_median = np.median(seconds, axis=0)
    cost = {
        "n_samples": X.shape[0],
        "n_columns": X.shape[1],
        "n_classes": len(path.classes),
        "path_seconds": path_median,
        "fits_seconds": fits_median,
        "path_passes": path.n_passes,
        "fits_passes": sum(model.n_passes_ for model in fits),
    }
    columns = zip(path.worst_case_error, path.lower, path.n_features, strict=True)
    return [
        cost,
        *(
            {
                "radius": model.radius,
                "worst_case_error": upper,
                "lower": lower,
                "n_features": n_features,
                "fitted_worst_case_error": model.worst_case_error_,
            }
            for model, (upper, lower, n_features) in zip(fits, columns, strict=True)
        ),
    ]


def _breakpoints(X: Any, y: np.ndarray, n_times: int) -> dict[str, Any]:
    """Their number and what it costs to find them; with two classes only, where they are cheap."""
    if len(np.unique(y)) > 2:
        return {"n_breakpoints": None}
    seconds, paths = zip(
        *(
            _timed(lambda: minimax_risk_path(X, y, [SMALLEST, LARGEST], breakpoints=True))
            for _ in range(n_times)
        ),
        strict=True,
    )
    found = paths[-1].breakpoints
    assert found is not None  # they were asked for
    return {
        "n_breakpoints": len(found),
        "path_seconds": float(np.median(seconds)),
        "path_passes": paths[-1].n_passes,
    }


def _timed(action: Callable[[], Result]) -> tuple[float, Result]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    n_columns = min(4, max(1, len(sources.names)))
    return Report(
        claims=[_time_claim(settings, known), _agreement_claim(sources, known)],
        tables=[_table(settings, sources, known)],
        figures=[
            Figure(
                "path",
                "R* (blue, left axis) and the number of features (grey, right axis) over the factor s of the "
                "radii, by the path.",
                (3.2 * n_columns + 0.6, 2.9 * -(-len(sources.names) // n_columns)),
                lambda figure: _draw(figure, sources, known),
            )
        ],
        notes=[
            f"{settings.path_radii} radii from {SMALLEST:g} to {LARGEST:g}, each the same multiple of the "
            "one before. Separate fits are those of the default classifier with these radii. Seconds: median "
            f"of {settings.time_repetitions}, both ways by turns; linear algebra uses one thread.",
            "The path follows the vertex from radius to radius. Where that would take more steps than a "
            "solution from scratch is worth, as it tends to with more than two classes, it solves one "
            "radius after the other, to a smaller gap than separate fits ask for, and saves little or "
            "nothing.",
            f"Breakpoints are the radii between {SMALLEST:g} and {LARGEST:g} at which the slope of R* "
            "changes; they were looked for on data of two classes only.",
        ],
    )


def _costs(rows: Sequence[Row]) -> list[Row]:
    """Of the rows of a grid those that hold what it cost: one per data set."""
    return pick(rows, part=GRID, radius=None)


def _radii(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in pick(rows, part=GRID, dataset=name) if row.get("radius") is not None]


def _factor(cost: Row) -> float:
    return float(cost["fits_seconds"] / cost["path_seconds"])


def _largest(rows: Sequence[Row], one: str, other: str) -> float:
    return max((abs(row[one] - row[other]) for row in rows), default=float("nan"))


def _difference(rows: Sequence[Row]) -> float:
    return _largest(rows, "worst_case_error", "fitted_worst_case_error")


def _time_claim(settings: Settings, rows: Sequence[Row]) -> Claim:
    factors = {row["dataset"]: _factor(row) for row in _costs(rows)}
    cheaper = [factor > 1.0 for factor in factors.values()]
    return Claim(
        f"The path takes less time than {settings.path_radii} separate fits.",
        verdict(cheaper),
        f"On {sum(cheaper)} of {len(cheaper)} data sets. Time of the fits over that of the path: "
        + "; ".join(f"{name}: {three_digits(factor)}" for name, factor in factors.items())
        + ".",
    )


def _agreement_claim(sources: Sources, rows: Sequence[Row]) -> Claim:
    own = {name: found for name in sources.names if (found := _radii(rows, name))}
    differences = [_difference(found) for found in own.values()]
    gaps = [_largest(found, "worst_case_error", "lower") for found in own.values()]
    return Claim(
        f"R* of the path and of the separate fits agree within {AGREEMENT:.0e}.",
        verdict([difference <= AGREEMENT for difference in differences]),
        f"Largest difference {tiny(max(differences, default=np.nan))}, largest certified gap on the path "
        f"{tiny(max(gaps, default=np.nan))}.",
    )


def _table(settings: Settings, sources: Sources, rows: Sequence[Row]) -> TextTable:
    lines = []
    for name in sources.names:
        for cost in pick(_costs(rows), dataset=name):
            own = _radii(rows, name)
            kinks = pick(rows, part=BREAKPOINTS, dataset=name)
            size = f"{cost['n_samples']} x {cost['n_columns']}"
            lines.append(
                [
                    name,
                    size,
                    str(cost["n_classes"]),
                    *(three_digits(cost[column]) for column in ("path_seconds", "fits_seconds")),
                    three_digits(_factor(cost)),
                    *(str(cost[column]) for column in ("path_passes", "fits_passes")),
                    tiny(_difference(own)),
                    tiny(_largest(own, "worst_case_error", "lower")),
                    *_breakpoint_texts(kinks),
                ]
            )
    header = ["data set", "size", "K", "path, s", f"{settings.path_radii} fits, s", "factor", "passes: path"]
    header += ["fits", "difference of R*", "gap on the path", "breakpoints", "with breakpoints, s"]
    return TextTable(
        "The path beside separate fits; and the path with all breakpoints, a run of its own.", header, lines
    )


def _breakpoint_texts(rows: Sequence[Row]) -> list[str]:
    counts, seconds = values_of(rows, "n_breakpoints"), values_of(rows, "path_seconds")
    return [f"{counts[0]:g}" if counts else "–", three_digits(seconds[0]) if seconds else "–"]


def _draw(figure: Any, sources: Sources, rows: Sequence[Row]) -> None:
    n_columns = min(4, max(1, len(sources.names)))
    n_lines = max(1, -(-len(sources.names) // n_columns))
    panels = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for axes in panels[len(sources.names) :]:
        axes.set_visible(False)
    for place, (axes, name) in enumerate(zip(panels, sources.names, strict=False)):
        own = _radii(rows, name)
        radii = [row["radius"] for row in own]
        counts = axes.twinx()
        counts.step(radii, [row["n_features"] for row in own], where="mid", color="0.6", linewidth=1)
        counts.tick_params(axis="y", colors="0.5")
        counts.set(ylim=(0.0, None))
        axes.plot(radii, [row["worst_case_error"] for row in own], "o-", color="#08306b", markersize=3)
        axes.set(title=name, xscale="log", xlabel="s", ylim=(0.0, None))
        axes.set_xticks([0.5, 1.0, 2.0, 5.0], ["0.5", "1", "2", "5"], minor=False)
        axes.set_xticks([], minor=True)
        axes.grid(color="0.9")
        # R* in front of the numbers of features.
        axes.set_zorder(counts.get_zorder() + 1)
        axes.patch.set_visible(False)
        if place % n_columns == 0:
            axes.set_ylabel("R*")
        if place % n_columns == n_columns - 1 or place == len(sources.names) - 1:
            counts.set_ylabel("features", color="0.5")


ITEM = Item(
    name=NAME,
    title="R* over the radius",
    what="Models for many radii by one path, beside a fit for each of them.",
    wanted=("Colon", "Leukemia", "Prostate_GE", "Arcene", "GLIOMA", "MLL", "TOX_171"),
    fallback=("breast_cancer",),
    is_timed=True,
    plan=plan,
    work=work,
    report=report,
)
