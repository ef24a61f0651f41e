"""Stability selection: what it keeps of real data, and false selections beside their bounds where known."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell, Setting, blocks
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
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.selector import MinimaxRiskSelector

NAME = "stability"
DATA, SIMULATED = "data", "simulated"
DEFAULT, AT_MOST_20, LARGER_RADIUS = "default", "max_features = 20", "radius = 2"
SETTINGS = (DEFAULT, AT_MOST_20, LARGER_RADIUS)
# Of the simulated studies. Without correlation a column that is not informative tells nothing of the label,
# and all such columns are alike: what the bounds are about.
N_SAMPLES, N_FEATURES, N_INFORMATIVE, EFFECT = 100, 2000, 20, 1.5
# Studies per cell.
BLOCK = 5
BOUNDS = {"shah_samworth": "Shah and Samworth", "meinshausen_buhlmann": "Meinshausen and Bühlmann"}
COLOURS = {"shah_samworth": "#cb181d", "meinshausen_buhlmann": "#08306b"}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    common: dict[str, Setting] = {"n_subsamples": settings.stability_subsamples, "seed": settings.seed}
    parts: list[dict[str, Setting]] = [
        {"part": DATA, "dataset": name, "setting": setting} for name in sources.names for setting in SETTINGS
    ]
    parts += [
        {"part": SIMULATED, "setting": setting, "first": first, "count": count}
        for setting in SETTINGS
        for first, count in blocks(settings.stability_repetitions, BLOCK)
    ]
    return [Cell(NAME, common | part, settings.limit) for part in parts]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    if settings["part"] == DATA:
        X, y = load_source(settings["dataset"])
        return [_row(*_selected(X, y, settings, settings["seed"]))]
    return [_simulated(settings, settings["first"] + k) for k in range(settings["count"])]


def _simulated(settings: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A selection from a study of its own, which is the same one for all settings of the selector."""
    parts = (settings["seed"], number)
    study_seed, halves_seed = map(int, np.random.SeedSequence(parts).generate_state(2))
    study = make_expression(
        N_SAMPLES,
        N_FEATURES,
        n_informative=N_INFORMATIVE,
        effect=EFFECT,
        correlation=0.0,
        random_state=study_seed,
    )
    selector, seconds = _selected(study.data, study.target, settings, halves_seed)
    kept = selector.get_support(indices=True)
    n_right = int(np.isin(kept, study.informative).sum())
    return {
        "repetition": number,
        **_row(selector, seconds),
        "n_informative": n_right,
        "n_false": len(kept) - n_right,
    }


def make_selector(setting: str, n_subsamples: int, seed: int) -> MinimaxRiskSelector:
    return MinimaxRiskSelector(
        MinimaxRiskClassifier(radius=2.0) if setting == LARGER_RADIUS else None,
        max_features=20 if setting == AT_MOST_20 else None,
        stability=True,
        n_subsamples=n_subsamples,
        random_state=seed,
    )


def _selected(
    X: Any, y: np.ndarray, settings: Mapping[str, Any], seed: int
) -> tuple[MinimaxRiskSelector, float]:
    """The fitted selector, and the seconds that it took."""
    selector = make_selector(settings["setting"], settings["n_subsamples"], seed)
    # What a plain number as radius is worth does not matter to the selection.
    with quiet_fits():
        start = time.perf_counter()
        selector.fit(X, y)
        return selector, time.perf_counter() - start


def _row(selector: MinimaxRiskSelector, seconds: float) -> dict[str, Any]:
    bounds = selector.false_selection_bounds_
    return {
        "n_columns": selector.n_features_in_,
        "average_selected": selector.average_selected_,
        "threshold": bounds.threshold,
        "n_kept": int(selector.get_support().sum()),
        "meinshausen_buhlmann": bounds.meinshausen_buhlmann,
        "shah_samworth": bounds.shah_samworth,
        "seconds": seconds,
    }


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    return Report(
        claims=[_claim(bound, known) for bound in BOUNDS],
        tables=[_simulated_table(known), _data_table(sources, known)],
        figures=[
            Figure(
                "stability",
                "Left: false selections in simulated studies (dots, a little apart for the eye; bar: mean) "
                "beside the mean bounds on their expected number. Right: columns kept of the data sets, and "
                "the bounds; by setting, from left to right " + ", ".join(SETTINGS) + ".",
                (11.0, 4.0),
                lambda figure: _draw(figure, sources, known),
            )
        ],
        notes=[
            f"Each selection has {settings.stability_subsamples} halves and the default threshold of 0.6; q "
            "is the average number of columns that a half selects. Both bounds are on the expected number "
            "of false selections. One that is not below the number of columns kept says nothing; – is where "
            "the theorem of Shah and Samworth does not apply.",
            f"Simulated studies: {settings.stability_repetitions} of {N_SAMPLES} samples and {N_FEATURES} "
            f"independent features, {N_INFORMATIVE} of which differ between the classes by {EFFECT:g} times "
            "the standard deviation; the same ones for all settings. A false selection is any other column. "
            "After ±, one standard deviation over the studies.",
            "Of real data nobody knows which columns are false; genes depend on each other, and the bounds "
            "are about columns that are selected no more often than one picked at random.",
            "Seconds are those of one process with one thread.",
        ],
    )


def _quantity(rows: Sequence[Row], bound: str) -> list[Row]:
    """Rows in which the bound says something: the theorem behind it may not apply."""
    return [row for row in rows if row.get(bound) is not None]


def _claim(bound: str, rows: Sequence[Row]) -> Claim:
    own = {setting: _quantity(pick(rows, part=SIMULATED, setting=setting), bound) for setting in SETTINGS}
    means = {
        setting: (mean(values_of(found, "n_false")), mean(values_of(found, bound)))
        for setting, found in own.items()
        if found
    }
    return Claim(
        f"The mean number of false selections is within the mean bound of {BOUNDS[bound]}.",
        verdict([false <= limit for false, limit in means.values()]),
        "; ".join(
            f"{setting}: {three_digits(false)}, bound {three_digits(limit)}"
            for setting, (false, limit) in means.items()
        )
        + ".",
    )


def _simulated_table(rows: Sequence[Row]) -> TextTable:
    lines = []
    for setting in SETTINGS:
        own = pick(rows, part=SIMULATED, setting=setting)
        counts = [
            mean_and_deviation(values_of(own, column)) for column in ("n_kept", "n_informative", "n_false")
        ]
        bounds = [three_digits(mean(values_of(own, bound))) for bound in BOUNDS]
        q, seconds = (mean(values_of(own, column)) for column in ("average_selected", "seconds"))
        lines.append([setting, three_digits(q), *counts, *bounds, three_digits(seconds)])
    header = ["setting", "q", "kept", "of them informative", "false"]
    header += [f"bound of {name}" for name in BOUNDS.values()]
    return TextTable(
        f"Simulated studies, {N_INFORMATIVE} of {N_FEATURES} columns informative: means.",
        [*header, "seconds"],
        lines,
    )


def _data_table(sources: Sources, rows: Sequence[Row]) -> TextTable:
    lines = []
    for name in sources.names:
        for setting in SETTINGS:
            for row in pick(rows, part=DATA, dataset=name, setting=setting):
                bounds = ["–" if row.get(bound) is None else three_digits(row[bound]) for bound in BOUNDS]
                q, seconds = (three_digits(row[column]) for column in ("average_selected", "seconds"))
                lines.append([name, str(row["n_columns"]), setting, q, str(row["n_kept"]), *bounds, seconds])
    header = ["data set", "columns", "setting", "q", "kept"]
    header += [f"bound of {name}" for name in BOUNDS.values()]
    return TextTable("Data sets.", [*header, "seconds"], lines)


def _draw(figure: Any, sources: Sources, rows: Sequence[Row]) -> None:
    left, right = figure.subplots(1, 2)
    _draw_simulated(left, rows)
    found = [
        pick(rows, part=DATA, dataset=name, setting=setting)[:1] or [{}]
        for name in sources.names
        for setting in SETTINGS
    ]
    # The settings of a data set next to each other.
    place = [k + shift for k in range(len(sources.names)) for shift in (-0.25, 0.0, 0.25)]
    right.bar(place, [row.get("n_kept") or 0 for (row,) in found], 0.2, color="#9ecae1", label="kept")
    for bound, name in BOUNDS.items():
        heights = [np.nan if row.get(bound) is None else row[bound] for (row,) in found]
        right.plot(place, heights, "_", color=COLOURS[bound], markersize=11, label=f"bound of {name}")
    right.set_xticks(range(len(sources.names)), sources.names)
    right.set(ylabel="columns", ylim=(0.0, None))
    for axes in (left, right):
        axes.set_axisbelow(True)
        finish_axes(axes)


def _draw_simulated(axes: Any, rows: Sequence[Row]) -> None:
    place = np.arange(len(SETTINGS))
    own = [pick(rows, part=SIMULATED, setting=setting) for setting in SETTINGS]
    for k, found in enumerate(own):
        false = values_of(found, "n_false")
        axes.plot(k + np.linspace(-0.15, 0.15, len(false)), false, ".", color="0.6")
    means = [mean(values_of(found, "n_false")) for found in own]
    axes.plot(place, means, "_", color="0.2", markersize=22, label="false selections")
    for bound, name in BOUNDS.items():
        limits = [mean(values_of(found, bound)) for found in own]
        axes.plot(place, limits, "D", color=COLOURS[bound], label=f"bound of {name}")
    axes.set_xticks(place, SETTINGS)
    axes.set(ylabel="columns", ylim=(-0.1, None), xlim=(-0.5, len(SETTINGS) - 0.5))


ITEM = Item(
    name=NAME,
    title="Stability selection, and false selections beside their bounds",
    what=(
        "Columns that most halves of the samples select: how many are kept, and how many of them are false "
        "where that is known."
    ),
    wanted=("Colon", "Leukemia", "Prostate_GE", "Arcene"),
    fallback=("breast_cancer",),
    is_timed=True,
    plan=plan,
    work=work,
    report=report,
)
