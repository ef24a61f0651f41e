"""The permutation test: right where there is nothing to find, strong where there is, and on real data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

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
    pick,
    values_of,
    verdict,
)
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from minimaxrisk.analysis.permutation_test import PermutationTestResult, permutation_test
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier

NAME = "noise-floor"
NOISE, SIGNAL, DATA = "noise", "signal", "data"
# Of the simulated studies; noise has no informative feature.
N_SAMPLES, N_FEATURES, MODULE_SIZE, CORRELATION = 60, 500, 20, 0.5
N_INFORMATIVE, EFFECT = 10, 1.0
# Tests per cell.
BLOCK = 20
LEVEL = 0.05
# What a test of uniformity must not fall below, and the power that is called high.
UNIFORM, HIGH_POWER = 0.01, 0.9


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    in_test: dict[str, Setting] = {"n_permutations": settings.test_permutations, "seed": settings.seed}
    on_data: dict[str, Setting] = {"n_permutations": settings.data_permutations, "seed": settings.seed}
    parts = [
        in_test | {"part": part, "first": first, "count": count}
        for part, n_tests in ((NOISE, settings.noise_tests), (SIGNAL, settings.power_tests))
        for first, count in blocks(n_tests, BLOCK)
    ]
    parts += [on_data | {"part": DATA, "dataset": name} for name in sources.names]
    return [Cell(NAME, part, settings.limit) for part in parts]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    if settings["part"] == DATA:
        X, y = load_source(settings["dataset"])
        return [_row(_test(X, y, settings, settings["seed"]))]
    return [_simulated(settings, settings["first"] + k) for k in range(settings["count"])]


def _simulated(settings: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A test on a study of its own."""
    has_signal = settings["part"] == SIGNAL
    parts = (settings["seed"], int(has_signal), number)
    study_seed, order_seed = map(int, np.random.SeedSequence(parts).generate_state(2))
    study = make_expression(
        N_SAMPLES,
        N_FEATURES,
        n_informative=N_INFORMATIVE if has_signal else 0,
        effect=EFFECT,
        module_size=MODULE_SIZE,
        correlation=CORRELATION,
        random_state=study_seed,
    )
    return {"test": number, **_row(_test(study.data, study.target, settings, order_seed))}


def _test(X: Any, y: Any, settings: Mapping[str, Any], seed: int) -> PermutationTestResult:
    return permutation_test(
        MinimaxRiskClassifier(), X, y, settings["n_permutations"], n_null=None, n_jobs=1, random_state=seed
    )


def _row(test: PermutationTestResult) -> dict[str, Any]:
    quantiles = {f"null_{round(100 * q):02d}": value for q, value in test.noise_floor.items()}
    return {"statistic": test.statistic, "pvalue": test.pvalue, **quantiles}


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    return Report(
        claims=_claims(settings, known),
        tables=[_table(sources, known)],
        figures=[
            Figure(
                "noise-floor",
                "Left: distribution functions of the p-values; under noise it should follow the diagonal. "
                "Right: R* at s = 1, and what it is with permuted labels (line: 5% to 95%, bar: median).",
                (10.5, 4.0),
                lambda figure: _draw(figure, sources, known),
            )
        ],
        notes=[
            f"Simulated studies of {N_SAMPLES} samples and {N_FEATURES} features in modules of {MODULE_SIZE} "
            f"with correlation {CORRELATION:g}, a new one for each test. Noise: no feature differs between "
            f"the classes. Signal: {N_INFORMATIVE} features do, by {EFFECT:g} times the standard deviation. "
            "The radii are the default ones (s = 1), where R* is a score and not a bound.",
            f"With {settings.test_permutations} permutations p-values are multiples of "
            f"1/{settings.test_permutations + 1}, which the test of uniformity does not know; that makes its "
            "own p-value a little smaller than it should be.",
        ],
    )


def _claims(settings: Settings, rows: Sequence[Row]) -> list[Claim]:
    noise, signal = (values_of(pick(rows, part=part), "pvalue") for part in (NOISE, SIGNAL))
    data = {row["dataset"]: row["pvalue"] for row in pick(rows, part=DATA)}
    uniformity = float(stats.kstest(noise, "uniform").pvalue) if noise else float("nan")
    return [
        Claim(
            f"Under noise p-values are uniform (Kolmogorov-Smirnov p above {UNIFORM:g}).",
            verdict([uniformity > UNIFORM] if noise else []),
            f"p = {uniformity:.2g} from {len(noise)} tests; {_share(noise)} of them are at most {LEVEL:g}.",
        ),
        Claim(
            f"Where there is a signal, more than {HIGH_POWER:.0%} of p-values are at most {LEVEL:g}.",
            verdict([mean([p <= LEVEL for p in signal]) > HIGH_POWER] if signal else []),
            f"{_share(signal)} of {len(signal)} tests.",
        ),
        Claim(
            f"On real data R* is below what noise would score (p at most {LEVEL:g}).",
            verdict([p <= LEVEL for p in data.values()]),
            "; ".join(f"{name}: p = {p:.3g}" for name, p in data.items())
            + f". The smallest possible p is {1 / (settings.data_permutations + 1):.2g}.",
        ),
    ]


def _share(pvalues: Sequence[float]) -> str:
    return f"{100 * mean([p <= LEVEL for p in pvalues]):.1f}%" if pvalues else "–"


def _table(sources: Sources, rows: Sequence[Row]) -> TextTable:
    lines = []
    for name in sources.names:
        for row in pick(rows, part=DATA, dataset=name):
            null = [f"{row[column]:.3f}" for column in ("null_01", "null_05", "null_50", "null_95")]
            permutations = str(row["n_permutations"])
            lines.append([name, f"{row['statistic']:.3f}", *null, f"{row['pvalue']:.3g}", permutations])
    header = ["data set", "R*", "noise: 1%", "5%", "median", "95%", "p", "permutations"]
    return TextTable("R* at s = 1 beside quantiles of what it is with permuted labels.", header, lines)


def _draw(figure: Any, sources: Sources, rows: Sequence[Row]) -> None:
    left, right = figure.subplots(1, 2)
    for part, colour in ((NOISE, "0.4"), (SIGNAL, "#2171b5")):
        pvalues = np.sort(values_of(pick(rows, part=part), "pvalue"))
        heights = np.arange(len(pvalues) + 1) / max(1, len(pvalues))
        left.step([0.0, *pvalues, 1.0], [*heights, heights[-1]], where="post", color=colour, label=part)
    left.plot([0.0, 1.0], [0.0, 1.0], ":", color="#cb181d", linewidth=1)
    left.set(xlabel="p-value", ylabel="share of tests", xlim=(0.0, 1.0), ylim=(0.0, 1.02))
    found = [row for name in sources.names for row in pick(rows, part=DATA, dataset=name)]
    place = np.arange(len(found))
    right.vlines(
        place, [row["null_05"] for row in found], [row["null_95"] for row in found], color="0.4", linewidth=3
    )
    median = [row["null_50"] for row in found]
    right.plot(place, median, "_", color="0.2", markersize=16, label="permuted labels")
    right.plot(place, [row["statistic"] for row in found], "D", color="#08306b", label="R*")
    right.set_xticks(place, [row["dataset"] for row in found])
    right.set(ylabel="R*", ylim=(0.0, None), xlim=(-0.5, max(1, len(found)) - 0.5))
    for axes in (left, right):
        finish_axes(axes)


ITEM = Item(
    name=NAME,
    title="The noise floor: the permutation test",
    what="R* on permuted labels is what noise scores; the p-value says how often noise scores as low.",
    wanted=("Colon", "Leukemia", "Prostate_GE", "Arcene"),
    fallback=("breast_cancer",),
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
