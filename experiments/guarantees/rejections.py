"""How often the permutation test rejects at 5% where there is nothing to find, for every kind of sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell, blocks
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick, values_of, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from minimaxrisk.analysis.permutation_test import permutation_test
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier

NAME = "rejections"
N_SAMPLES, N_FEATURES = 30, 40
# With 39 permutations a p-value of 5% is possible exactly.
N_PERMUTATIONS, LEVEL = 39, 0.05
LOWEST, HIGHEST = 0.03, 0.07
BLOCK = 50

Study = tuple[np.ndarray, np.ndarray, dict[str, Any]]
Random = np.random.Generator


def _labels(random: Random, n: int = N_SAMPLES, n_classes: int = 2) -> np.ndarray:
    return random.permutation(np.arange(n) % n_classes)


def _noise(random: Random) -> Study:
    return random.standard_normal((N_SAMPLES, N_FEATURES)), _labels(random), {}


def _batches(random: Random) -> Study:
    """Three batches that differ in everything: their features and their shares of cases."""
    batch = np.arange(N_SAMPLES) % 3
    y = np.zeros(N_SAMPLES, dtype=np.intp)
    for name, n_cases in enumerate((2, 5, 8)):
        y[random.permutation(np.flatnonzero(batch == name))[:n_cases]] = 1
    X = random.standard_normal((N_SAMPLES, N_FEATURES)) + batch[:, None]
    return X, y, {"strata": batch}


def _replicates(random: Random) -> Study:
    """Twenty patients with one to four measurements that are nearly the same."""
    patient = np.repeat(np.arange(20), random.integers(1, 5, 20))
    X = random.standard_normal((20, N_FEATURES))[patient]
    X += 0.2 * random.standard_normal(X.shape)
    return X, _labels(random, 20)[patient], {"groups": patient}


def _weights(random: Random) -> Study:
    X, y, _ = _noise(random)
    return X, y, {"sample_weight": random.exponential(size=N_SAMPLES) + 0.1}


def _ties(random: Random) -> Study:
    """Few binary features: many permutations have the same R*."""
    return (random.random((N_SAMPLES, 5)) < 0.5).astype(np.float64), _labels(random), {}


def _three_classes(random: Random) -> Study:
    return random.standard_normal((N_SAMPLES, N_FEATURES)), _labels(random, n_classes=3), {}


KINDS: dict[str, Callable[[Random], Study]] = {
    "noise": _noise,
    "batches": _batches,
    "replicates": _replicates,
    "weights": _weights,
    "ties": _ties,
    "three classes": _three_classes,
}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(NAME, {"kind": kind, "first": first, "count": count, "seed": settings.seed}, settings.limit)
        for kind in KINDS
        for first, count in blocks(settings.level_tests, BLOCK)
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    kind = list(KINDS).index(settings["kind"])
    numbers = range(settings["first"], settings["first"] + settings["count"])
    return [_one_test(settings["kind"], (settings["seed"], kind, number)) for number in numbers]


def _one_test(kind: str, seed: tuple[int, int, int]) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    X, y, more = KINDS[kind](random)
    order_seed = int(random.integers(2**31))
    test = permutation_test(
        MinimaxRiskClassifier(), X, y, N_PERMUTATIONS, **more, n_jobs=1, random_state=order_seed
    )
    return {"test": seed[-1], "pvalue": test.pvalue, "statistic": test.statistic}


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    shares = {kind: _rejected(values_of(pick(known, kind=kind), "pvalue")) for kind in KINDS}
    lines = [[kind, str(n), f"{share:.3f}"] for kind, (share, n) in shares.items() if n]
    return Report(
        claims=[
            Claim(
                f"Without a signal the test rejects at {LEVEL:g} between {LOWEST:g} and {HIGHEST:g} of the "
                "time.",
                verdict([LOWEST <= share <= HIGHEST for share, n in shares.values() if n]),
                "; ".join(f"{kind}: {share:.3f}" for kind, (share, n) in shares.items() if n) + ".",
            )
        ],
        tables=[TextTable("Rejections without a signal.", ["kind of data", "tests", "rejected"], lines)],
        notes=[
            f"Each test on a study of its own with {N_PERMUTATIONS} permutations: {N_SAMPLES} samples and "
            f"{N_FEATURES} features (replicates: 20 patients with one to four samples; ties: five binary "
            "features). Batches differ in their features and their shares of cases, and labels move within "
            "them.",
        ],
    )


def _rejected(pvalues: Sequence[float]) -> tuple[float, int]:
    if not pvalues:
        return float("nan"), 0
    return float(np.mean(np.asarray(pvalues) <= LEVEL + 1e-12)), len(pvalues)


ITEM = Item(
    name=NAME,
    title="Rejections without a signal",
    what="How often the permutation test rejects at 5% on data of six kinds without a signal.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
