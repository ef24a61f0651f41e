"""Do the named radii hold the true means? From eight samples on, for laws easy and not so easy.

No model is solved: the radii alone are set and compared with the means that the law has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.problem.pose import pose
from minimaxrisk.samples.validation import check_training_data
from minimaxrisk.uncertainty.rules import MultiplierBootstrap

NAME = "radii"
N_DRAWS = 500
N_INFORMATIVE = 2
SHIFT = 1.0
# Tables with more entries than this take long; a fifth of the repetitions must do for them.
LARGE = 100_000
# Of the clustered law: samples per patient, and how far they lie from the patient's mean.
MOST_REPLICATES, WITHIN = 4, 0.3
# Of weights that depend on the class: how much more class 1 weighs.
HEAVIER = 4.0

Random = np.random.Generator


def _normal(random: Random, y: np.ndarray, d: int) -> np.ndarray:
    return random.standard_normal((len(y), d))


def _correlated(random: Random, y: np.ndarray, d: int) -> np.ndarray:
    common = random.standard_normal((len(y), 1))
    return 0.95 * common + np.sqrt(1.0 - 0.95**2) * random.standard_normal((len(y), d))


def _unequal_variances(random: Random, y: np.ndarray, d: int) -> np.ndarray:
    return np.where(y == 1, 3.0, 1.0)[:, None] * random.standard_normal((len(y), d))


def _heavy(random: Random, y: np.ndarray, d: int) -> np.ndarray:
    return random.standard_t(4, (len(y), d))


def _skewed(random: Random, y: np.ndarray, d: int) -> np.ndarray:
    return random.exponential(size=(len(y), d)) - 1.0


def _discrete(random: Random, y: np.ndarray, d: int) -> np.ndarray:
    return random.integers(-1, 2, (len(y), d)).astype(np.float64)


def _rare(random: Random, y: np.ndarray, d: int) -> np.ndarray:
    return (random.random((len(y), d)) < 0.05) - 0.05


def _independent_weights(random: Random, y: np.ndarray) -> np.ndarray:
    return random.exponential(size=len(y)) + 0.01


def _weights_by_class(random: Random, y: np.ndarray) -> np.ndarray:
    return np.where(y == 1, HEAVIER, 1.0) * random.uniform(0.5, 1.5, len(y))


@dataclass(frozen=True)
class _Case:
    """Noise of mean zero, to which class 1 adds a shift."""

    noise: Callable[[Random, np.ndarray, int], np.ndarray]
    positive: float = 0.5  # the frequency of class 1 among samples
    weights: Callable[[Random, np.ndarray], np.ndarray] | None = None
    heavier: float = 1.0  # how much more a sample of class 1 weighs in the mean
    is_clustered: bool = False

    @property
    def weighted_positive(self) -> float:
        heavy = self.heavier * self.positive
        return heavy / (heavy + 1.0 - self.positive)


CASES = {
    "normal": _Case(_normal),
    "correlated": _Case(_correlated),
    "one class in five": _Case(_normal, positive=0.2),
    "unequal variances": _Case(_unequal_variances),
    "weights": _Case(_normal, weights=_independent_weights),
    "weights by class": _Case(_unequal_variances, weights=_weights_by_class, heavier=HEAVIER),
    "clustered": _Case(_normal, is_clustered=True),
    "discrete": _Case(_discrete),
    "heavy tails": _Case(_heavy),
    "skewed": _Case(_skewed),
    "rare binary": _Case(_rare),
}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(
            NAME,
            {
                "law": law,
                "n_samples": n,
                "n_columns": d,
                "count": _repetitions(settings, n, d),
                "confidence": settings.confidence,
                "seed": settings.seed,
            },
            settings.limit,
        )
        for law in CASES
        for d in settings.radius_columns
        for n in settings.radius_samples
    ]


def _repetitions(settings: Settings, n: int, d: int) -> int:
    return max(1, settings.radius_repetitions // (5 if n * d > LARGE else 1))


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    random = np.random.default_rng([settings["seed"], settings["n_samples"], settings["n_columns"]])
    outcomes = [_one_data_set(settings, random) for _ in range(settings["count"])]
    seen = [outcome for outcome in outcomes if outcome is not None]
    covered, warned = np.array(seen, dtype=float).reshape(-1, 2).mean(axis=0)
    trusted = [outcome[0] for outcome in seen if not outcome[1]]
    return [
        {
            "n_sets": len(seen),
            "coverage": covered,
            "warned": warned,
            "n_without_warning": len(trusted),
            "coverage_without_warning": float(np.mean(trusted)) if trusted else None,
        }
    ]


def _one_data_set(settings: Mapping[str, Any], random: np.random.Generator) -> tuple[bool, bool] | None:
    """Whether the radii hold the truth and whether a warning was given; None where a fit refuses."""
    case, n, d = CASES[settings["law"]], settings["n_samples"], settings["n_columns"]
    y = (random.random(n) < case.positive).astype(np.intp)
    if len(np.unique(y)) < 2:
        return None
    shift = np.where(np.arange(d) < N_INFORMATIVE, SHIFT, 0.0)
    X = case.noise(random, y, d) + np.outer(y, shift)
    weights, groups = None if case.weights is None else case.weights(random, y), None
    if case.is_clustered:
        groups = np.repeat(np.arange(n), random.integers(1, MOST_REPLICATES + 1, n))
        X, y = X[groups] + WITHIN * random.standard_normal((len(groups), d)), y[groups]
    data = check_training_data(MinimaxRiskClassifier(), X, y, sample_weight=weights, groups=groups)
    rule = MultiplierBootstrap(settings["confidence"], N_DRAWS, 0)
    try:
        posed = pose(data, coding="auto", rule=rule, standardize=True, fit_intercept=True)
    except ValueError:  # weights that are worth too few samples
        return None
    scale, positive = posed.problem.scale, case.weighted_positive
    inner = np.array([-scale.shift, shift - scale.shift]) / scale.scale
    truth = np.concatenate([[1.0 - 2.0 * positive], (1.0 - positive) * inner[0] - positive * inner[1]])
    # A column that is constant in the sample is no constraint.
    free = np.concatenate([[False], (X[0] == X).all(axis=0)])
    held = (np.abs(posed.problem.tau[0] - truth) <= posed.problem.lam[0]) | free
    return bool(held.all()), bool(posed.radii.remarks)


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    return Report(
        claims=[_claim(settings, known)],
        tables=[_table(law, settings, known) for law in CASES],
        notes=[
            f"{settings.radius_repetitions} data sets for each number of samples and columns (a fifth of "
            f"that for tables with more than {LARGE:,} entries), radius 'bootstrap' at "
            f"{settings.confidence:g}. In brackets the share of data sets with a CoverageWarning, if any. "
            "Data sets that a fit refuses, since a class is absent or the weights are worth too few samples, "
            "are left out. Clustered: n is the number of patients, each with one to "
            f"{MOST_REPLICATES} samples, named as groups. Standard error of a coverage near the level: "
            f"{_error(settings.confidence, settings.radius_repetitions):.3f}.",
        ],
    )


def _error(level: float, n: int) -> float:
    return float(np.sqrt(level * (1.0 - level) / max(1, n)))


def _claim(settings: Settings, rows: Sequence[Row]) -> Claim:
    """Where most data sets come without a warning, the level is held within two standard errors."""
    told = [row for row in rows if row["n_without_warning"] >= 0.5 * row["n_sets"]]
    short = [
        row
        for row in told
        if row["coverage_without_warning"]
        < settings.confidence - 2.0 * _error(settings.confidence, row["n_without_warning"])
    ]
    return Claim(
        "Where no warning is given, the radii hold all true means as often as their level says.",
        verdict([row not in short for row in told]),
        "Below the level by more than two standard errors: "
        + (
            "; ".join(
                f"{row['law']}, {row['n_samples']} x {row['n_columns']}: "
                f"{row['coverage_without_warning']:.3f}"
                for row in short
            )
            or "none"
        )
        + ".",
    )


def _table(law: str, settings: Settings, rows: Sequence[Row]) -> TextTable:
    lines = [
        [f"{d:,}", *(_cell(pick(rows, law=law, n_columns=d, n_samples=n)) for n in settings.radius_samples)]
        for d in settings.radius_columns
    ]
    return TextTable(
        f"Coverage, law: {law}.", ["columns", *(f"n = {n:,}" for n in settings.radius_samples)], lines
    )


def _cell(rows: Sequence[Row]) -> str:
    if not rows:
        return "–"
    warned = f" ({rows[0]['warned']:.0%})" if rows[0]["warned"] else ""
    return f"{rows[0]['coverage']:.3f}{warned}"


ITEM = Item(
    name=NAME,
    title="Radii and true means",
    what="How often the radii with coverage hold all true means of simulated laws at once.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
