"""How a radius is chosen: by left-out samples, or by its distance from what noise would score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.checks import is_integer
from minimaxrisk._utils.rows import rows_of
from minimaxrisk._utils.threads import suitable_threads
from minimaxrisk.estimators.parameters import pose_by
from minimaxrisk.estimators.radius_paths import check_radii, solve_path
from minimaxrisk.problem.linear_rule import LinearRule
from minimaxrisk.samples.validation import TrainingData, check_training_data
from minimaxrisk.uncertainty.given import Multiple
from minimaxrisk.uncertainty.radius import SMALLEST_RADIUS

# The default grid: so many radii, from this fraction of the largest one up to it.
N_RADII, SMALLEST_FRACTION = 20, 0.01
# A little beyond the radius at which nothing is selected, where rounding has no say.
BEYOND = 1.001
# Losses closer than this are equal: folds may be added up in another order.
TIE = 1e-12

Fold = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Sample:
    """Checked rows, their labels and, where any were given, weights."""

    X: DataMatrix
    y: np.ndarray
    weights: FloatArray | None

    def rows(self, rows: IntArray) -> Sample:
        return Sample(
            rows_of(self.X, rows), self.y[rows], None if self.weights is None else self.weights[rows]
        )

    def checked_by(self, estimator: Any) -> TrainingData:
        """With the class weights of the estimator, a ``MinimaxRiskClassifier``."""
        return check_training_data(
            clone(estimator),
            self.X,
            self.y,
            sample_weight=self.weights,
            class_weight=estimator.class_weight,
            weight_kind=estimator.weight_kind,
        )


def ascending_radii(radii: Any) -> FloatArray:
    """As given, in an order in which the larger one of two is the later one."""
    values = check_radii(radii)
    steps = np.diff(values)
    wrong = np.flatnonzero(steps <= 0.0)
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(
            f"radii must ascend, but {values[i + 1]:g} at position {i + 1} follows {values[i]:g}; pass "
            "np.unique(radii)."
        )
    return values


def default_radii(estimator: Any, data: TrainingData) -> FloatArray:
    r"""Evenly spaced by ratio, up to a radius at which nothing is learned.

    If every instance has its labels with the same probability, no rule errs less than 1 - 1/K. That
    distribution, on the instances as they are, lies within the radii from the factor
    :math:`\max_j |\tau_j - m_j| / \lambda_j(1)` on, with its moments m; there R* is 1 - 1/K. With the signed
    coding m is zero whatever the instances, and it is the smallest such factor. Components without variance
    are left out: their radii stay as they are.
    """
    with suitable_threads(len(data.labels)):
        posed = pose_by(estimator, data, Multiple(1.0))
        problem, n_classes = posed.problem, len(data.classes)
        even = np.tile(posed.instances.p_hat.sum(axis=0) / n_classes, (n_classes, 1))
        deviation = np.abs(problem.features.correlate(problem.coding.encode(even)) - problem.tau)
    varies = problem.lam > SMALLEST_RADIUS
    largest = float((deviation[varies] / problem.lam[varies]).max(initial=0.0))
    largest = BEYOND * largest if largest > 0.0 else 1.0
    return np.geomspace(SMALLEST_FRACTION * largest, largest, N_RADII)


def folds_of(cv: Any, data: TrainingData, groups: Any) -> list[Fold]:
    """Rows to learn from and rows to test on, all of positive weight, with every class to learn from."""
    used = np.flatnonzero(data.weights > 0)
    if hasattr(cv, "split") or cv is None or is_integer(cv):
        splitter = _splitter(cv, data, groups)
        group = None if groups is None else groups[used]
        parts = splitter.split(np.zeros(len(used)), data.classes[data.labels[used]], group)
        folds = [(used[train], used[test]) for train, test in parts]
    else:
        given = [(_rows(train, len(data.labels)), _rows(test, len(data.labels))) for train, test in cv]
        folds = [(train[data.weights[train] > 0], test[data.weights[test] > 0]) for train, test in given]
    for i, (train, test) in enumerate(folds):
        missing = np.setdiff1d(np.arange(len(data.classes)), data.labels[train])
        if len(missing):
            raise ValueError(_without_class(data, int(missing[0]), i))
        if len(test) == 0:
            raise ValueError(f"cv must leave samples to test on, but fold {i} has none of positive weight.")
    return folds


def _without_class(data: TrainingData, missing: int, fold: int) -> str:
    """Why a fold is refused."""
    name, n = data.classes.tolist()[missing], int((data.weights[data.labels == missing] > 0).sum())
    if n == 1:
        return (
            f"class {name!r} has a single sample, so that none of it is left to learn from in fold {fold}; "
            "leave the class out, or use criterion='noise-floor', which has no folds."
        )
    return (
        f"cv must leave samples of every class to learn from, but those of class {name!r} are all in fold "
        f"{fold}; use fewer folds, or a splitter that is stratified."
    )


def _rows(part: Any, n_samples: int) -> IntArray:
    """Of one side of a fold, as the caller gives it: positions or a mask."""
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n_samples,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(
            "cv must be a number of folds, a splitter, or pairs of 1-D arrays with positions of samples, got "
            f"an array of shape {rows.shape} and type {rows.dtype}."
        )
    outside = rows[(rows < 0) | (rows >= n_samples)]
    if len(outside):
        raise ValueError(f"cv holds the position {outside[0]}, but there are {n_samples} samples.")
    return rows.astype(np.intp)


def _splitter(cv: Any, data: TrainingData, groups: Any) -> Any:
    if hasattr(cv, "split"):
        return cv
    n_folds = 5 if cv is None else int(cv)
    if groups is not None:
        return StratifiedGroupKFold(n_folds)
    sizes = np.bincount(data.labels[data.weights > 0], minlength=len(data.classes))
    if sizes.max() < n_folds:
        raise ValueError(
            f"cv={n_folds} needs at least {n_folds} samples of some class, but the largest class, "
            f"{data.classes.tolist()[sizes.argmax()]!r}, has {sizes.max()}; use a smaller cv."
        )
    return StratifiedKFold(n_folds)


@dataclass(frozen=True)
class LossOfRadii:
    """Losses on a fold of models learned without it, and how many columns these select (2 x n_radii)."""

    estimator: Any
    sample: Sample
    radii: FloatArray
    scoring: str | Callable[..., float] | None

    def __call__(self, fold: Fold) -> FloatArray:
        train, test = fold
        data = self.sample.rows(train).checked_by(self.estimator)
        path = solve_path(self.estimator, data, self.radii)
        rules = [path.rule(one) for one in path.solved]
        left_out = self.sample.rows(test)
        return np.array([[self._loss(rule, data.classes, left_out), len(rule.columns)] for rule in rules]).T

    def _loss(self, rule: LinearRule, classes: np.ndarray, left_out: Sample) -> float:
        # The arg-max rule, also where the classifier itself draws labels.
        model = clone(self.estimator).set_params(deterministic=True)
        model.classes_, model.n_features_in_ = classes, rule.n_features
        model.coef_, model.intercept_, model.threshold_ = rule.full_coef, rule.intercept, rule.threshold
        weights = {} if left_out.weights is None else {"sample_weight": left_out.weights}
        score = check_scoring(model, self.scoring)(model, left_out.X, left_out.y, **weights)
        return 1.0 - score if self.scoring is None else -score


@dataclass(frozen=True)
class MinimaxRisks:
    """R* at the radii, for labels in another order."""

    estimator: Any
    sample: Sample
    radii: FloatArray

    def __call__(self, order: IntArray) -> FloatArray:
        relabelled = Sample(self.sample.X, self.sample.y[order], self.sample.weights)
        path = solve_path(self.estimator, relabelled.checked_by(self.estimator), self.radii)
        return np.array([one.upper for one in path.solved])


def summary_of_folds(radii: FloatArray, outcomes: list[FloatArray]) -> dict[str, Any]:
    """What becomes ``cv_results_``."""
    losses = np.array([loss for loss, _ in outcomes])
    spread = losses.std(axis=0, ddof=1) if len(losses) > 1 else np.full(len(radii), np.nan)
    return {
        "radii": radii,
        "fold_losses": losses,
        "mean_loss": losses.mean(axis=0),
        "std_loss": spread,
        "standard_error": spread / np.sqrt(len(losses)),
        "n_features": np.array([n for _, n in outcomes]).astype(np.intp),
    }


def summary_of_noise(radii: FloatArray, observed: FloatArray, permuted: list[FloatArray]) -> dict[str, Any]:
    """What becomes ``noise_results_``."""
    null = np.array(permuted)
    return {
        "radii": radii,
        "worst_case_error": observed,
        "permuted_worst_case_errors": null,
        "distance": null.mean(axis=0) - observed,
    }


def last_smallest(values: FloatArray) -> int:
    """Of equal ones the last: the larger radius, which selects fewer columns."""
    return int(np.flatnonzero(values <= values.min() + TIE)[-1])


def within_one_standard_error(mean: FloatArray, standard_error: FloatArray) -> int:
    """The last value that is no further above the smallest one than the standard error of that one."""
    best = last_smallest(mean)
    return int(np.flatnonzero(mean <= mean[best] + standard_error[best] + TIE)[-1])
