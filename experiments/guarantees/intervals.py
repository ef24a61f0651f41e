"""Approximate intervals and p-values: how often do they hold on distributions with known truth?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import balanced_accuracy_score

from experiments.guarantees.prediction_sets import LAWS
from experiments.harness.cells import OK, Cell, Setting, blocks
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, mean, pick, values_of, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.analysis.comparison import Comparison
from minimaxrisk.analysis.cross_validation import PRECISION
from minimaxrisk.analysis.evaluation import Predictions, evaluation_of
from minimaxrisk.analysis.intervals import area_under_curve, share
from minimaxrisk.samples.folds import dealt_folds

NAME = "intervals"
LOWEST, LARGEST_LEVEL = 0.935, 0.07
BLOCK = 50  # studies per cell
N_SAMPLES, N_COHORT, N_TEST = (40, 100), 60, 2000
SIZES = ((15, 15), (24, 6), (90, 10), (50, 50), (180, 20))  # negative and positive samples
FOLDS = (3, 5, 10)
AREAS_PER_STUDY = 10
PENALTY = 100.0  # of the ridge regression
LEVELS = tuple(f"p_{k}" for k in FOLDS)

Scores = Callable[[np.random.Generator, IntArray], FloatArray]


def _normal(spread: float, area: float) -> Scores:
    shift = float(stats.norm.ppf(area) * np.hypot(1.0, spread))
    return lambda random, y: random.normal(shift * y, np.where(y, spread, 1.0))


def _mixed(share: float) -> Scores:
    """A share of each class scores like the other one, and apart from this the classes are separate."""
    return lambda random, y: random.normal(10.0 * np.where(random.random(len(y)) < share, 1 - y, y), 1.0)


SCORES: dict[str, Scores] = {
    **{f"normal, spread {s:g}, area {a:g}": _normal(s, a) for s in (0.2, 1, 3, 10) for a in (0.7, 0.95)},
    "normal, area 0.98": _normal(1, 0.98),
    "t with 2 degrees": lambda random, y: random.standard_t(2, len(y)) + 2.0 * y,
    "lognormal": lambda random, y: random.lognormal(2.0 * y, np.where(y, 1.5, 0.5)),
    "five levels": lambda random, y: np.clip(np.round(random.normal(1.2 * y)), -2.0, 2.0),
    "3% like the other class": _mixed(0.03),
    "25% like the other class": _mixed(0.25),
}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    parts: list[dict[str, Setting]] = [
        {"law": law, "n": n, "first": first, "count": count, "seed": settings.seed}
        for law in LAWS
        for n in N_SAMPLES
        for first, count in blocks(settings.interval_studies, BLOCK)
    ]
    parts += [{"scores": name, "count": settings.interval_studies, "seed": settings.seed} for name in SCORES]
    return [Cell(NAME, part, settings.limit) for part in parts]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "scores" in settings:
        return [_areas(settings, sizes) for sizes in SIZES]
    found = [_study(settings, settings["first"] + k) for k in range(settings["count"])]
    return [{name: mean([one[name] for one in found]) for name in found[0]}]


def _areas(settings: Mapping[str, Any], sizes: tuple[int, int]) -> dict[str, Any]:
    draw, y = SCORES[settings["scores"]], np.repeat([0, 1], sizes)
    random = np.random.default_rng([settings["seed"], *sizes])
    many = np.repeat([0, 1], 50_000)
    truth, found = _area(draw(random, many), many).value, []
    for _ in range(AREAS_PER_STUDY * settings["count"]):
        one = _area(draw(random, y), y)
        found.append((one.low - 1e-3 <= truth <= one.high + 1e-3, one.high - one.low))
    return {
        "sizes": "{}:{}".format(*sizes),
        "area": mean([a for a, _ in found]),
        "width": mean([b for _, b in found]),
    }


def _area(scores: FloatArray, y: IntArray) -> Any:
    return area_under_curve(np.column_stack([-scores, scores]), y, 0.95)


def _study(settings: Mapping[str, Any], number: int) -> dict[str, float]:
    draw, parts = LAWS[settings["law"]]
    random = np.random.default_rng([settings["seed"], number, settings["n"]])

    def labels(n: int) -> IntArray:
        y = random.choice(len(parts), n, p=np.array(parts) / sum(parts))
        y[: 2 * len(parts)] = np.tile(np.arange(len(parts)), 2)  # each class has two samples
        return y

    y, y_test, y_new = labels(settings["n"]), labels(N_TEST), labels(N_COHORT)
    X, X_other = draw(random, y), draw(random, y)
    predict = _ridge(X, y)
    predicted = predict(draw(random, y_test))
    n_wrong = int(sum(np.sum(errs) for errs in _errors_on_folds(X, y, 10, number)))
    error = share(n_wrong, len(y), 0.95, precision=PRECISION)
    cohort = Predictions(list(range(len(parts))), predict(draw(random, y_new)))
    balanced = evaluation_of(cohort, y_new).balanced_accuracy
    assert balanced is not None
    row = {
        "error": float(error.low <= np.mean(predicted != y_test) <= error.high),
        "balanced": float(balanced.low <= balanced_accuracy_score(y_test, predicted) <= balanced.high),
    }
    for k, name in zip(FOLDS, LEVELS, strict=True):
        errors = [[errs.mean() for errs in _errors_on_folds(each, y, k, number)] for each in (X, X_other)]
        nothing = np.zeros((2, k))
        compared = Comparison(("a", "b"), np.array(errors), nothing, nothing, 1.0 / (k - 1), ((), ()))
        row[name] = float(compared.p_values[1] <= 0.05)
    return row


def _errors_on_folds(X: FloatArray, y: IntArray, n_folds: int, seed: int) -> list[BoolArray]:
    """Return which samples of each fold are misclassified without it."""
    fold = dealt_folds(y, np.arange(len(y)), n_folds, seed)
    return [
        _ridge(X[fold != k], y[fold != k])(X[fold == k]) != y[fold == k] for k in np.unique(fold[fold >= 0])
    ]


def _ridge(X: FloatArray, y: IntArray) -> Callable[[FloatArray], IntArray]:
    """Return the predictions of a ridge regression on standardised columns, which takes a millisecond."""
    classes, labels = np.unique(y, return_inverse=True)
    mean, spread = X.mean(axis=0), X.std(axis=0) + 1e-9
    Z, targets = (X - mean) / spread, np.eye(len(classes))[labels]
    level = targets.mean(axis=0)
    coef = Z.T @ np.linalg.solve(Z @ Z.T + PENALTY * np.eye(len(y)), targets - level)
    return lambda new: classes[np.argmax((new - mean) / spread @ coef + level, axis=1)]


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    areas, studies = [row for row in known if row.get("scores")], []
    for law in LAWS:
        for n in N_SAMPLES:
            if own := pick(known, law=law, n=n):
                names = ("error", "balanced", *LEVELS)
                studies.append({"law": law, "n": n} | {name: mean(values_of(own, name)) for name in names})
    counts = settings.interval_studies, AREAS_PER_STUDY * settings.interval_studies
    return Report(
        claims=[
            _claim("error", "cross-validated error rate", studies, counts[0]),
            _claim("balanced", "balanced accuracy of a second cohort", studies, counts[0]),
            _claim("area", "area under the ROC curve", areas, counts[1]),
            _claim_about_levels(studies, counts[0]),
        ],
        tables=[
            TextTable(
                "Share of studies in which an interval holds the truth, and of p-values up to 5% between "
                "equally good classifiers.",
                [
                    "distribution",
                    "samples",
                    "error rate",
                    "balanced accuracy",
                    *(f"{k} folds" for k in FOLDS),
                ],
                [
                    [
                        str(one["law"]),
                        str(one["n"]),
                        *(f"{one[name]:.1%}" for name in ("error", "balanced", *LEVELS)),
                    ]
                    for one in studies
                ],
            ),
            TextTable(
                "Share of samples of scores whose interval holds the area, and its mean width.",
                ["scores", "samples", "holds", "width"],
                [
                    [str(row["scores"]), str(row["sizes"]), f"{row['area']:.1%}", f"{row['width']:.3f}"]
                    for row in areas
                ],
            ),
        ],
        notes=[
            f"{counts[0]} studies for each distribution and size, {counts[1]} samples of scores. The error "
            "rate is that of the model of all samples; folds are ten. The classifier is a ridge regression."
        ],
    )


def _claim(name: str, what: str, rows: Sequence[Mapping[str, Any]], n: int) -> Claim:
    shares = [float(row[name]) for row in rows]
    # Of a few dozen cells at the limit hardly any is below this by chance.
    lowest = stats.binom(n, LOWEST).ppf(0.001) / n
    return Claim(
        f"The 95% interval of the {what} holds it in at least {LOWEST:.1%} of studies, up to Monte "
        "Carlo error.",
        verdict([share >= lowest for share in shares]),
        f"{min(shares, default=np.nan):.1%} to {max(shares, default=np.nan):.1%} in {len(shares)} cells, "
        f"{mean(shares):.1%} on average.",
    )


def _claim_about_levels(rows: Sequence[Mapping[str, Any]], n: int) -> Claim:
    shares = [float(row[name]) for row in rows for name in LEVELS]
    most = stats.binom(n, LARGEST_LEVEL).ppf(0.999) / n
    return Claim(
        f"Equally good classifiers have p-values up to 5% in at most {LARGEST_LEVEL:.0%} of studies, up to "
        "Monte Carlo error.",
        verdict([share <= most for share in shares]),
        f"{min(shares, default=np.nan):.1%} to {max(shares, default=np.nan):.1%} in {len(shares)} cells, "
        f"{mean(shares):.1%} on average.",
    )


ITEM = Item(
    name=NAME,
    title="Approximate intervals and comparisons",
    what="Intervals of error rates, balanced accuracy and areas hold the truth; p-values of compare keep 5%.",
    wanted=(),
    fallback=(),
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
