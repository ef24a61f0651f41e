"""The two pictures: ratios per problem, and time against size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.harness.cells import OK, TIME_LIMIT
from experiments.harness.reporting import Row, pick
from experiments.rivals.growth import fit_growth, size_in_sweep, sweep_curve
from experiments.rivals.numbers import as_count, time_ratio
from experiments.rivals.problems import Sweep

# Our solvers in blues, others of the same problem in reds, learners of another problem in other colours.
STYLES = {
    "auto": ("#08306b", "o"),
    "first-order": ("#9ecae1", "d"),
    "constraint-generation": ("#2171b5", "s"),
    "full-lp": ("#6baed6", "^"),
    "highs-full-lp": ("#cb181d", "v"),
    "mrcpy-gurobi": ("#fd8d3c", "D"),
    "liblinear-svm": ("#74c476", "P"),
    "liblinear-svm-converged": ("#238b45", "X"),
    "liblinear-svm-tight": ("#00441b", "p"),
    "liblinear-logistic": ("#525252", "*"),
    "skglm-logistic": ("#807dba", "h"),
}


def draw_ratios(figure: Any, rows: Sequence[Row], baseline: str) -> None:
    """One line per problem, one mark per rival at its time over the baseline's, on a logarithmic axis."""
    ours = {row["problem"]: row for row in pick(rows, rival=baseline, status=OK)}
    names = [name for name in dict.fromkeys(row["problem"] for row in rows) if name in ours]
    axes = figure.subplots()
    others = [row for row in rows if row["rival"] != baseline]
    for rival in dict.fromkeys(row["rival"] for row in others):
        for status, killed in ((OK, None), (TIME_LIMIT, ">")):
            found = [row for row in pick(others, rival=rival, status=status) if row["problem"] in ours]
            ratios = [time_ratio(row, ours[row["problem"]]) for row in found]
            _scatter(axes, rival, ratios, [names.index(row["problem"]) for row in found], killed=killed)
    if pick(rows, status=TIME_LIMIT):
        axes.plot([], [], ">", color="black", markerfacecolor="none", label="killed: at least")
    axes.axvline(1.0, color=STYLES[baseline][0], linewidth=1)
    axes.set(xscale="log", yticks=range(len(names)), yticklabels=names, ylim=(max(len(names), 1) - 0.5, -0.5))
    axes.set_xlabel(f"time of the rival / time of {baseline} (right of the line: {baseline} is faster)")
    _finish(axes, loc="center left", bbox_to_anchor=(1.01, 0.5))


def draw_growth(figure: Any, rows: Sequence[Row], rivals: Sequence[str], sweeps: Sequence[Sweep]) -> None:
    """Seconds against what grows in each sweep on logarithmic axes, fitted exponents in the legends."""
    panels = figure.subplots((len(sweeps) + 1) // 2, 2, squeeze=False).ravel()
    for axes in panels[len(sweeps) :]:
        axes.set_axis_off()
    for axes, sweep in zip(panels, sweeps, strict=False):
        own = pick(rows, sweep=sweep.name)
        for rival in rivals:
            _draw_curve(axes, own, sweep, rival)
        if pick(own, status=TIME_LIMIT):
            axes.plot([], [], "^", color="black", markerfacecolor="none", label="killed: at least")
        ticks = sorted({size_in_sweep(row) for row in own})
        axes.set(xscale="log", yscale="log", ylabel="seconds per fit (median)")
        axes.set_xticks(ticks, [as_count(tick) for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlabel(_caption(own, sweep))
        _finish(axes, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


def _draw_curve(axes: Any, rows: Sequence[Row], sweep: Sweep, rival: str) -> None:
    sizes, seconds = sweep_curve(rows, sweep, rival)
    growth = fit_growth(sizes, seconds)
    label = rival if growth is None else f"{rival}: ${sweep.symbol}^{{{growth.exponent:.2f}}}$"
    if sizes:
        colour, marker = STYLES[rival]
        axes.plot(sizes, seconds, marker=marker, color=colour, label=label, linewidth=1.2, markersize=6)
    killed = pick(rows, rival=rival, status=TIME_LIMIT)
    _scatter(
        axes, rival, [size_in_sweep(row) for row in killed], [row["limit"] for row in killed], killed="^"
    )


def _scatter(axes: Any, rival: str, x: Sequence[Any], y: Sequence[Any], *, killed: str | None) -> None:
    """Marks of a rival, or hollow arrows that point to where those of killed fits would be."""
    colour, marker = STYLES[rival]
    if x:
        axes.plot(
            x,
            y,
            linestyle="none",
            color=colour,
            marker=killed or marker,
            markerfacecolor="none" if killed else colour,
            markersize=7,
            label=None if killed else rival,
        )


def _finish(axes: Any, **place: Any) -> None:
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=9, **place)


def _caption(rows: Sequence[Row], sweep: Sweep) -> str:
    if not rows:
        return sweep.symbol
    return f"{sweep.name} {sweep.symbol} (simulated studies: {sweep.what.format(**rows[0])})"
