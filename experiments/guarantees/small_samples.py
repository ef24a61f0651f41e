"""Do the named radii hold the true means? From eight samples on, for laws easy and not so easy.

No model is solved: the radii alone are set and compared with the means that the law has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.problem.pose import pose
from minimaxrisk.samples.validation import check_training_data
from minimaxrisk.uncertainty.bootstrap import MultiplierBootstrap

NAME = "small-samples"
SAMPLES = (8, 12, 20, 40, 100, 400)
COLUMNS = (2, 50, 500)
N_DRAWS = 500
N_INFORMATIVE = 2
SHIFT = 1.0


def _normal(random: np.random.Generator, y: np.ndarray, d: int) -> np.ndarray:
    return random.standard_normal((len(y), d))


def _correlated(random: np.random.Generator, y: np.ndarray, d: int) -> np.ndarray:
    common = random.standard_normal((len(y), 1))
    return 0.95 * common + np.sqrt(1.0 - 0.95**2) * random.standard_normal((len(y), d))


def _unequal_variances(random: np.random.Generator, y: np.ndarray, d: int) -> np.ndarray:
    return np.where(y == 1, 3.0, 1.0)[:, None] * random.standard_normal((len(y), d))


def _heavy(random: np.random.Generator, y: np.ndarray, d: int) -> np.ndarray:
    return random.standard_t(4, (len(y), d))


def _skewed(random: np.random.Generator, y: np.ndarray, d: int) -> np.ndarray:
    return random.exponential(size=(len(y), d)) - 1.0


def _rare(random: np.random.Generator, y: np.ndarray, d: int) -> np.ndarray:
    return (random.random((len(y), d)) < 0.05) - 0.05


# Noise of mean zero, to which class 1 adds a shift; the frequency of class 1; whether samples have weights.
CASES: dict[str, tuple[Callable[..., np.ndarray], float, bool]] = {
    "normal": (_normal, 0.5, False),
    "correlated": (_correlated, 0.5, False),
    "one class in five": (_normal, 0.2, False),
    "unequal variances": (_unequal_variances, 0.5, False),
    "weights": (_normal, 0.5, True),
    "heavy tails": (_heavy, 0.5, False),
    "skewed": (_skewed, 0.5, False),
    "rare binary": (_rare, 0.5, False),
}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(
            NAME,
            {
                "law": law,
                "n_samples": n,
                "n_columns": d,
                "count": settings.radius_repetitions,
                "confidence": settings.confidence,
                "seed": settings.seed,
            },
            settings.limit,
        )
        for law in CASES
        for d in COLUMNS
        for n in SAMPLES
    ]


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
    noise, positive, is_weighted = CASES[settings["law"]]
    n, d = settings["n_samples"], settings["n_columns"]
    y = (random.random(n) < positive).astype(np.intp)
    if len(np.unique(y)) < 2:
        return None
    shift = np.where(np.arange(d) < N_INFORMATIVE, SHIFT, 0.0)
    X = noise(random, y, d) + np.outer(y, shift)
    weights = random.exponential(size=n) + 0.01 if is_weighted else None
    data = check_training_data(MinimaxRiskClassifier(), X, y, sample_weight=weights)
    rule = MultiplierBootstrap(settings["confidence"], N_DRAWS, 0)
    try:
        posed = pose(data, coding="auto", rule=rule, standardize=True, fit_intercept=True)
    except ValueError:  # weights that are worth too few samples
        return None
    scale = posed.problem.scale
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
        tables=[_table(law, known) for law in CASES],
        notes=[
            f"{settings.radius_repetitions} data sets for each number of samples and columns, radius "
            f"'bootstrap' at {settings.confidence:g}. In brackets the share of data sets with a "
            "CoverageWarning, if any. Data sets that a fit refuses, since a class is absent or the weights "
            "are worth fewer than three samples, are left out. Standard error of a coverage near the level: "
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


def _table(law: str, rows: Sequence[Row]) -> TextTable:
    lines = [
        [str(d), *(_cell(pick(rows, law=law, n_columns=d, n_samples=n)) for n in SAMPLES)] for d in COLUMNS
    ]
    return TextTable(f"Coverage, law: {law}.", ["columns", *(f"n = {n}" for n in SAMPLES)], lines)


def _cell(rows: Sequence[Row]) -> str:
    if not rows:
        return "–"
    warned = f" ({rows[0]['warned']:.0%})" if rows[0]["warned"] else ""
    return f"{rows[0]['coverage']:.3f}{warned}"


ITEM = Item(
    name=NAME,
    title="Radii from eight samples on",
    what="How often the radii with coverage hold all true means of simulated laws at once.",
    wanted=(),
    replacements={},
    fallback=(),
    is_timed=False,
    relevant=(),
    plan=plan,
    work=work,
    report=report,
)
