"""The two pictures: ratios per workload, and time against size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.rivals.growth import fit_growth, size_in_sweep, sweep_curve
from experiments.rivals.numbers import as_count
from experiments.rivals.records import OK, TIME_LIMIT, Record, time_ratio
from experiments.rivals.workloads import OVER_FEATURES, OVER_SAMPLES

# Our solvers in blues, others of the same problem in reds, learners of another problem in other colours.
STYLES = {
    "interior-point": ("#08306b", "o"),
    "constraint-generation": ("#2171b5", "s"),
    "full-lp": ("#6baed6", "^"),
    "highs-full-lp": ("#cb181d", "v"),
    "mrcpy-gurobi": ("#fd8d3c", "D"),
    "liblinear-svm": ("#74c476", "P"),
    "liblinear-svm-converged": ("#238b45", "X"),
    "liblinear-logistic": ("#525252", "*"),
    "skglm-logistic": ("#807dba", "h"),
}


def plot_ratios(records: Sequence[Record], baseline: str, path: Path) -> None:
    """One line per workload, one mark per rival at its time over the baseline's, on a logarithmic axis."""
    ours = {row.workload: row.median_seconds for row in records if row.rival == baseline}
    names = [name for name in dict.fromkeys(row.workload for row in records) if ours.get(name)]
    ratios = [(row, time_ratio(row, ours.get(row.workload))) for row in records if row.rival != baseline]
    known = [(row, ratio) for row, ratio in ratios if ratio is not None]
    figure, axes = _subplots(figsize=(8.5, 1.8 + 0.34 * len(names)))
    for rival in dict.fromkeys(row.rival for row, _ in known):
        for status, killed in ((OK, None), (TIME_LIMIT, ">")):
            points = [(row, ratio) for row, ratio in known if (row.rival, row.status) == (rival, status)]
            places = [names.index(row.workload) for row, _ in points]
            _scatter(axes, rival, [ratio for _, ratio in points], places, killed=killed)
    if any(row.status == TIME_LIMIT for row in records):
        axes.plot([], [], ">", color="black", markerfacecolor="none", label="killed: at least")
    axes.axvline(1.0, color=_style(baseline)[0], linewidth=1)
    axes.set(xscale="log", yticks=range(len(names)), yticklabels=names, ylim=(max(len(names), 1) - 0.5, -0.5))
    axes.set_xlabel(f"time of the rival / time of {baseline} (right of the line: {baseline} is faster)")
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    _legend(axes, loc="center left", bbox_to_anchor=(1.01, 0.5))
    _save(figure, path)


def plot_growth(records: Sequence[Record], rivals: Sequence[str], path: Path) -> None:
    """Seconds against columns and against samples on logarithmic axes, fitted exponents in the legends."""
    figure, panels = _subplots(1, 2, figsize=(13, 5.6))
    for axes, sweep, symbol in zip(panels, (OVER_FEATURES, OVER_SAMPLES), "dn", strict=True):
        for rival in rivals:
            sizes, seconds = sweep_curve(records, sweep, rival)
            growth = fit_growth(sizes, seconds)
            label = rival if growth is None else f"{rival}: ${symbol}^{{{growth.exponent:.2f}}}$"
            if sizes:
                colour, marker = _style(rival)
                axes.plot(
                    sizes, seconds, marker=marker, color=colour, label=label, linewidth=1.2, markersize=6
                )
            killed = [
                row for row in records if (row.sweep, row.rival, row.status) == (sweep, rival, TIME_LIMIT)
            ]
            sizes_killed = [size_in_sweep(row) for row in killed]
            _scatter(axes, rival, sizes_killed, [row.limit_seconds for row in killed], killed="^")
        if any(row.sweep == sweep and row.status == TIME_LIMIT for row in records):
            axes.plot([], [], "^", color="black", markerfacecolor="none", label="killed: at least")
        ticks = sorted({size_in_sweep(row) for row in records if row.sweep == sweep})
        axes.set(xscale="log", yscale="log", ylabel="seconds per fit (median)")
        axes.set_xticks(ticks, [as_count(tick) for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlabel(_caption(records, sweep, symbol))
        axes.grid(color="0.9")
        axes.set_axisbelow(True)
        _legend(axes, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    _save(figure, path)


def _scatter(axes: Any, rival: str, x: Sequence[Any], y: Sequence[Any], *, killed: str | None) -> None:
    """Marks of a rival, or hollow arrows that point to where those of killed fits would be."""
    colour, marker = _style(rival)
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


def _style(rival: str) -> tuple[str, str]:
    return STYLES.get(rival, ("#bdbdbd", "."))


def _legend(axes: Any, **place: Any) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=9, **place)


def _caption(records: Sequence[Record], sweep: str, symbol: str) -> str:
    rows = [row for row in records if row.sweep == sweep]
    if not rows:
        return symbol
    if sweep == OVER_FEATURES:
        return f"columns {symbol} (simulated studies of {rows[0].n_samples} samples)"
    return f"samples {symbol} (simulated studies of {rows[0].n_features} columns)"


def _subplots(*args: int, **kwargs: Any) -> tuple[Any, Any]:
    # Without pyplot, which would ask for a screen and keep every figure.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=kwargs["figsize"])
    return figure, figure.subplots(*args)


def _save(figure: Any, path: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415

    # The same data give the same bytes.
    with mpl.rc_context({"svg.hashsalt": "minimaxrisk", "svg.fonttype": "path"}):
        figure.savefig(
            path, dpi=110, bbox_inches="tight", metadata={"Date": None} if path.suffix == ".svg" else None
        )
