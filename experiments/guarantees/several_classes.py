"""Do the named radii hold the true means of two and more classes, equal and rare? The box and the ball.

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
from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.kernel_classifier import MinimaxRiskKernelClassifier
from minimaxrisk.matrices.moments import make_coding
from minimaxrisk.problem.ball import pose_ball
from minimaxrisk.problem.pose import pose
from minimaxrisk.samples.validation import check_training_data
from minimaxrisk.uncertainty.ball_radius import BallBootstrap
from minimaxrisk.uncertainty.rules import MultiplierBootstrap

NAME = "classes"
N_DRAWS = 300
# Each class but the first is shifted in columns of its own.
N_SHIFTED, SHIFT = 6, 1.0
# Of the binary law: frequencies of ones in the columns, and how much more often in a shifted one.
FEWEST_ONES, MOST_ONES, MORE_OFTEN = 0.05, 0.5, 0.25
# Of the chained law: the correlation of neighbouring columns.
NEIGHBOURS = 0.9
MIXTURES: dict[str, tuple[float, ...]] = {
    "2 equal": (0.5, 0.5),
    "10:90": (0.1, 0.9),
    "3 equal": (1 / 3,) * 3,
    "1:2:3": (1 / 6, 2 / 6, 3 / 6),
    "4 equal": (0.25,) * 4,
    "10:20:30:40": (0.1, 0.2, 0.3, 0.4),
    "6 equal": (1 / 6,) * 6,
    "1:2:3:4:5:6": tuple(k / 21 for k in range(1, 7)),
}
BOOTSTRAP, BALL = "bootstrap", "ball"
RULES = (BOOTSTRAP, BALL)
# A coverage of 95% in 300 studies has a standard error of 1.3%.
ENOUGH = 0.93
# Fewer studies without a remark than this tell nothing.
FEWEST = 50

Random = np.random.Generator


def _chained(random: Random, n: int, d: int) -> FloatArray:
    noise, found = random.standard_normal((n, d)), np.empty((n, d))
    found[:, 0] = noise[:, 0]
    for j in range(1, d):
        found[:, j] = NEIGHBOURS * found[:, j - 1] + np.sqrt(1.0 - NEIGHBOURS**2) * noise[:, j]
    return found


# Noise of mean zero. The binary law is made otherwise.
NOISE: dict[str, Callable[[Random, int, int], FloatArray]] = {
    "normal": lambda random, n, d: random.standard_normal((n, d)),
    "t5": lambda random, n, d: random.standard_t(5, (n, d)),
    "lognormal": lambda random, n, d: np.exp(random.standard_normal((n, d))) - np.exp(0.5),
    "chained": _chained,
    "Laplace": lambda random, n, d: random.laplace(size=(n, d)),
}
LAWS = (*NOISE, "binary")


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(
            NAME,
            {
                "law": law,
                "mixture": mixture,
                "n_samples": n,
                "n_columns": settings.classes_columns,
                "count": settings.classes_repetitions,
                "confidence": settings.confidence,
                "seed": settings.seed,
            },
            settings.limit,
        )
        for law in LAWS
        for mixture in MIXTURES
        for n in settings.classes_samples
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    place = LAWS.index(settings["law"]), list(MIXTURES).index(settings["mixture"])
    random = np.random.default_rng([settings["seed"], *place, settings["n_samples"]])
    outcomes = [_one_study(settings, random) for _ in range(settings["count"])]
    seen = [outcome for outcome in outcomes if outcome is not None]
    rows = []
    for rule in RULES:
        covered, remarked = np.array([one[rule] for one in seen], dtype=bool).reshape(-1, 2).T
        trusted = covered[~remarked]
        rows.append(
            {
                "rule": rule,
                "n_sets": len(seen),
                "coverage": float(covered.mean()) if seen else None,
                "n_without_remark": len(trusted),
                "coverage_without_remark": float(trusted.mean()) if len(trusted) else None,
            }
        )
    return rows


def _sample(settings: Mapping[str, Any], random: Random) -> tuple[FloatArray, IntArray, FloatArray]:
    """Instances, labels, and the means of the classes (K x d)."""
    prior, n, d = MIXTURES[settings["mixture"]], settings["n_samples"], settings["n_columns"]
    y = random.choice(len(prior), n, p=prior)
    means = np.zeros((len(prior), d))
    for k in range(1, len(prior)):
        means[k, N_SHIFTED * k : N_SHIFTED * (k + 1)] = SHIFT
    if settings["law"] == "binary":
        means = np.linspace(FEWEST_ONES, MOST_ONES, d) + MORE_OFTEN * means
        return (random.random((n, d)) < means[y]).astype(np.float64), y, means
    return means[y] + NOISE[settings["law"]](random, n, d), y, means


def _one_study(settings: Mapping[str, Any], random: Random) -> dict[str, tuple[bool, bool]] | None:
    """For each rule whether the set holds the truth, and whether there is a remark; None without a class."""
    X, y, means = _sample(settings, random)
    prior, confidence = np.array(MIXTURES[settings["mixture"]]), settings["confidence"]
    if len(np.unique(y)) < len(prior):
        return None
    coded = make_coding("auto", len(prior)).matrix * prior
    data = check_training_data(MinimaxRiskClassifier(), X, y)
    rule = MultiplierBootstrap(confidence, N_DRAWS, 0)
    posed = pose(data, coding="auto", rule=rule, standardize=True, fit_intercept=True)
    problem, scale = posed.problem, posed.problem.scale
    truth = np.column_stack([coded.sum(axis=1), coded @ ((means - scale.shift) / scale.scale)])
    # A column that is constant in the sample is not a constraint.
    free = np.append(False, (X[0] == X).all(axis=0))
    held = (np.abs(problem.tau - truth) <= problem.lam) | free
    of_box = bool(held.all()), bool(posed.radii.remarks)
    return {BOOTSTRAP: of_box, BALL: _of_ball(X, y, means, prior, confidence)}


def _of_ball(
    X: FloatArray, y: IntArray, means: FloatArray, prior: FloatArray, confidence: float
) -> tuple[bool, bool]:
    """Of the linear kernel around the mean, whose space holds the columns and a constant."""
    model = MinimaxRiskKernelClassifier(radius="bootstrap")
    ball = pose_ball(model, check_training_data(model, X, y), BallBootstrap(confidence, N_DRAWS, 0))
    code, constant, centre = (
        make_coding("auto", len(prior)).matrix,
        np.sqrt(ball.space.constant),
        X.mean(axis=0),
    )
    tau = (code[:, y] / len(y)) @ np.column_stack([np.full(len(y), constant), X - centre])
    truth = (code * prior) @ np.column_stack([np.full(len(prior), constant), means - centre])
    return bool(np.linalg.norm(tau - truth) <= ball.problem.radius), bool(ball.radii.remarks)


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    return Report(
        claims=[_claim(rule, known) for rule in RULES],
        tables=[_table(rule, law, settings, known) for rule in RULES for law in LAWS],
        notes=[
            f"{settings.classes_repetitions} studies of {settings.classes_columns} columns for each cell, at "
            f"{settings.confidence:g}; studies without a sample of some class are left out. First the share "
            "of studies whose set holds all true means, of those without a remark if there are "
            f"{FEWEST} of them; in brackets the share with a remark, to which no probability is given. 't5', "
            "'lognormal' and 'binary' took part in choosing what is remarked on, 'chained' (neighbouring "
            f"columns are correlated with {NEIGHBOURS:g}) and 'Laplace' did not."
        ],
    )


def _claim(rule: str, rows: Sequence[Row]) -> Claim:
    told = [row for row in pick(rows, rule=rule) if row["n_without_remark"] >= FEWEST]
    short = [row for row in told if row["coverage_without_remark"] < ENOUGH]
    named = (
        f"{row['law']}, {row['mixture']}, n = {row['n_samples']}: {row['coverage_without_remark']:.3f}"
        for row in short
    )
    return Claim(
        f"The radii of {rule!r} hold all true means in {ENOUGH:.0%} of the studies or more, or a remark says "
        "that they may not.",
        verdict([row not in short for row in told]),
        f"Below it in {len(short)} of {len(told)} cells with {FEWEST} or more studies without a remark"
        + (f": {'; '.join(named)}." if short else "."),
    )


def _table(rule: str, law: str, settings: Settings, rows: Sequence[Row]) -> TextTable:
    lines = [
        [
            mixture,
            *(
                _cell(pick(rows, rule=rule, law=law, mixture=mixture, n_samples=n))
                for n in settings.classes_samples
            ),
        ]
        for mixture in MIXTURES
    ]
    return TextTable(
        f"Coverage, {rule}, law: {law}.", ["classes", *(f"n = {n}" for n in settings.classes_samples)], lines
    )


def _cell(rows: Sequence[Row]) -> str:
    if not rows or not rows[0]["n_sets"]:
        return "–"
    (row,) = rows
    share = 1.0 - row["n_without_remark"] / row["n_sets"]
    is_told = row["n_without_remark"] >= FEWEST
    covered = row["coverage_without_remark"] if is_told else row["coverage"]
    return f"{covered:.3f}" + (f" ({share:.0%})" if share else "")


ITEM = Item(
    name=NAME,
    title="Radii of two and more classes",
    what="How often named radii hold all true means of two to six classes, equal and rare.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
