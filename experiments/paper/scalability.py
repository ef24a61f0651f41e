"""Figure 3: training times over the number of random Fourier features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments.harness.cells import OK, TIME_LIMIT, Cell, Setting
from experiments.harness.reporting import (
    Claim,
    Figure,
    Item,
    Report,
    Row,
    TextTable,
    finish_axes,
    mean,
    mean_seconds,
    pick,
    ratio_range,
    seconds_text,
    three_digits,
    values_of,
    verdict,
)
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from experiments.paper.fitting import MRC_CG, MRC_IP, MRC_LP, SVM_CG, fit_measured, settings_of

NAME = "scalability"
METHODS = (MRC_CG, MRC_LP, SVM_CG, MRC_IP)
STYLES = {
    MRC_CG: ("o-", "#2171b5"),
    MRC_LP: ("^-", "#cb181d"),
    SVM_CG: ("s-", "#238b45"),
    MRC_IP: ("D-", "#08306b"),
}
# Below it, fixed costs hide the growth.
GROWTH_FROM = 1000


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    cells = []
    for name in sources.names:
        for size in settings.sizes:
            for repetition in range(settings.scalability_repetitions):
                part: dict[str, Setting] = {
                    "dataset": name,
                    "size": size,
                    "repetition": repetition,
                    "seed": settings.seed,
                }
                for method in (MRC_CG, SVM_CG, MRC_IP):
                    own = settings_of(method, settings.n_max, settings.epsilon, settings.k_max)
                    cells.append(Cell(NAME, part | own, settings.limit))
                if repetition < settings.lp_repetitions and size <= settings.lp_features:
                    chain = f"{name} {MRC_LP}"
                    cells.append(Cell(NAME, part | {"method": MRC_LP}, settings.lp_limit, chain))
    return cells


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    X, y = load_source(settings["dataset"])
    seed = settings["seed"] + settings["repetition"]
    Z = random_fourier_features(StandardScaler().fit_transform(X), settings["size"], seed)
    return [fit_measured(settings, Z, y)[1]]


def random_fourier_features(X: np.ndarray, n_components: int, seed: int) -> np.ndarray:
    """Cosines and sines of X u for random directions u ~ N(0, 2/d I): eq. 2 of the paper.

    scikit-learn's ``RBFSampler`` approximates the same kernel by cosines with random phases.
    """
    d = X.shape[1]
    directions = np.random.RandomState(seed).standard_normal((d, (n_components + 1) // 2))
    projection = X @ (np.sqrt(2.0 / d) * directions)
    return np.hstack([np.cos(projection), np.sin(projection[:, : n_components // 2])])


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    return Report(
        claims=_claims(settings, sources, rows),
        tables=[_table(settings, name, pick(rows, dataset=name)) for name in sources.names],
        figures=[
            Figure(
                "scalability",
                "Mean training time over the number of random Fourier features. Hollow arrows: stopped at "
                "the limit.",
                (5.4 * len(sources.names), 4.0),
                lambda figure: _draw(figure, sources.names, settings, rows),
            )
        ],
        notes=[
            f"{settings.scalability_repetitions} draws of the features (paper: 20), the first "
            f"{min(settings.lp_repetitions, settings.scalability_repetitions)} of them for MRC-LP, which "
            f"gets at most {settings.lp_features} features and {settings.lp_limit:g} s. The features are "
            "drawn before the clock starts, on standardised inputs, with γ = 2/d."
        ],
    )


def _claims(settings: Settings, sources: Sources, rows: Sequence[Row]) -> list[Claim]:
    ahead: list[bool] = []
    behind: list[str] = []
    largest: list[tuple[str, float]] = []
    growth: list[str] = []
    for name in sources.names:
        own = pick(rows, dataset=name)
        for size in settings.sizes:
            ours = _seconds(own, size, MRC_CG)
            theirs = _seconds(own, size, MRC_LP)
            if np.isfinite(ours) and np.isfinite(theirs):
                ahead.append(ours < theirs)
                if ours >= theirs:
                    behind.append(f"{name} with {size}")
        size = max(settings.sizes)
        largest.append((name, _seconds(own, size, MRC_CG) / _seconds(own, size, SVM_CG)))
        exponents = {method: _exponent(own, method) for method in METHODS}
        growth.append(f"{name}: " + ", ".join(f"{m} {three_digits(e)}" for m, e in exponents.items()))
    slower = [
        _exponent(pick(rows, dataset=name), MRC_CG) < _exponent(pick(rows, dataset=name), MRC_LP)
        for name in sources.names
        if np.isfinite(_exponent(pick(rows, dataset=name), MRC_LP))
    ]
    return [
        Claim(
            "MRC-CG is faster than MRC-LP for every number of features.",
            verdict(ahead),
            f"In {sum(ahead)} of {len(ahead)} pairs of data set and size"
            + (f"; not for {', '.join(behind)}." if behind else "."),
            "at every size (Figure 3)",
        ),
        Claim(
            "The time of MRC-CG grows more slowly with the number of features than that of MRC-LP.",
            verdict(slower),
            f"Fitted exponents from {GROWTH_FROM} features on: " + "; ".join(growth) + ".",
            "flatter curves",
        ),
        Claim(
            "For many features MRC-CG is competitive with SVM-CG.",
            ratio_range(ratio for _, ratio in largest),
            f"Time of MRC-CG over that of SVM-CG at {max(settings.sizes)} features: "
            + ", ".join(f"{name} {three_digits(ratio)}" for name, ratio in largest)
            + ". MRC-CG stops at k_max, SVM-CG at its tolerance.",
            "competitive",
        ),
    ]


def _seconds(rows: Sequence[Row], size: int, method: str) -> float:
    return mean_seconds(pick(rows, size=size, method=method))


def _exponent(rows: Sequence[Row], method: str) -> float:
    """Slope of log time over log size; from fewer than three sizes it would say little."""
    known = [
        (row["size"], row["seconds"])
        for row in pick(rows, method=method, status=OK)
        if row["size"] >= GROWTH_FROM
    ]
    if len({size for size, _ in known}) < 3:
        return float("nan")
    size, seconds = np.log(np.array(known, dtype=float)).T
    return float(np.polyfit(size, seconds, 1)[0])


def _table(settings: Settings, name: str, rows: Sequence[Row]) -> TextTable:
    lines = []
    for size in settings.sizes:
        cells = [seconds_text(pick(rows, size=size, method=method)) for method in METHODS]
        passes = [three_digits(mean(values_of(pick(rows, size=size, method=m), "n_passes"))) for m in METHODS]
        peak = [
            three_digits(mean(values_of(pick(rows, size=size, method=m), "peak_bytes")) / 1e6)
            for m in METHODS
        ]
        lines.append([str(size), *cells, " / ".join(passes), " / ".join(peak)])
    header = ["features", *(f"{method}, s" for method in METHODS), "passes over X", "peak MB"]
    return TextTable(f"{name}. Passes and memory in the order of the methods.", header, lines)


def _draw(figure: Any, names: Sequence[str], settings: Settings, rows: Sequence[Row]) -> None:
    panels = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
    for axes, name in zip(panels, names, strict=True):
        for method in METHODS:
            style, colour = STYLES[method]
            own = pick(rows, dataset=name, method=method)
            points = [(size, mean(values_of(pick(own, size=size), "seconds"))) for size in settings.sizes]
            known = [(size, seconds) for size, seconds in points if np.isfinite(seconds)]
            stopped = [(row["size"], row["limit"]) for row in own if row["status"] == TIME_LIMIT]
            if known:
                axes.plot(*zip(*known, strict=True), style, color=colour, label=method, markersize=4)
            if stopped:
                axes.plot(*zip(*stopped, strict=True), "^", color=colour, markerfacecolor="none")
        axes.set(xscale="log", yscale="log", xlabel="number of features", title=name)
        finish_axes(axes)
    panels[0].set_ylabel("training time in seconds")


ITEM = Item(
    name=NAME,
    title="Figure 3: growth with the number of features",
    what="Training times for an increasing number of random Fourier features.",
    wanted=("Ovarian", "Arcene"),
    replacements={"Ovarian": "Leukemia"},
    fallback=("simulated", "breast_cancer"),
    is_timed=True,
    needs_dense=True,
    relevant=(
        "n_max",
        "epsilon",
        "k_max",
        "sizes",
        "scalability_repetitions",
        "lp_repetitions",
        "lp_features",
        "lp_limit",
    ),
    plan=plan,
    work=work,
    report=report,
    measured_with=("experiments.paper.fitting", "experiments.paper.l1_svm"),
)
