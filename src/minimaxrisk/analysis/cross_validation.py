"""The cross-validated error of a classifier's two rules, to stand beside R*."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit, StratifiedKFold
from sklearn.pipeline import Pipeline

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk._utils.parallel import parallel_map
from minimaxrisk.samples.validation import codes_of_groups

RULES = ("randomized", "argmax")
# Probabilities of named classes are counted from each of these on, up to the one before; 1 on its own.
BANDS = (1.0, 0.9, 0.75, 0.5, 0.0)


@dataclass(frozen=True)
class ProbabilityBand:
    """Left-out samples whose named class had a probability of at least ``low`` and less than ``high``.

    ``high`` is None for those with probability exactly 1. ``mean_stated`` is the mean of the probabilities,
    None without samples.
    """

    low: float
    high: float | None
    n_samples: int
    n_right: int
    mean_stated: float | None


@dataclass(frozen=True)
class CrossValidatedError:
    """What models fitted without a fold did on it.

    Attributes
    ----------
    fold_errors : ndarray of shape (2, n_folds)
        Errors by fold of the randomized rule, that is the mean probability that it gave to other labels, and
        of the arg-max rule.
    own_probability : ndarray of shape (n_samples,)
        The probability that the randomized rule gave to each sample's own label when it was left out.
    predicted : ndarray of shape (n_samples,)
        Position in ``classes_`` of the label that the arg-max rule gave to each sample when it was left out.
    own : ndarray of shape (n_samples,)
        Position of the sample's own label.
    stated : ndarray of shape (n_samples,)
        The probability that the randomized rule gave to the predicted label.
    """

    fold_errors: FloatArray
    own_probability: FloatArray
    predicted: IntArray
    own: IntArray
    stated: FloatArray

    @property
    def n_folds(self) -> int:
        return self.fold_errors.shape[1]

    @property
    def errors(self) -> FloatArray:
        """Over all samples, each when it was left out; folds differ in size, so not the mean of theirs."""
        return np.array([1.0 - self.own_probability.mean(), self.n_wrong / len(self.own)])

    @property
    def fold_deviations(self) -> FloatArray:
        """Standard deviations over the folds."""
        return self.fold_errors.std(axis=1, ddof=1)

    @property
    def n_wrong(self) -> int:
        """How many samples the arg-max rule got wrong when they were left out."""
        return int((self.predicted != self.own).sum())

    def approximate_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Clopper and Pearson's interval if the predictions were independent trials, which they are not.

        Models of different folds share most of their samples, so the honest interval is wider.
        """
        interval = stats.binomtest(self.n_wrong, len(self.own)).proportion_ci(confidence)
        return float(interval.low), float(interval.high)

    def recall(self, position: int) -> float:
        """Share of the samples of a class that were given their own label."""
        return float((self.predicted == position)[self.own == position].mean())

    def by_stated_probability(self) -> tuple[ProbabilityBand, ...]:
        """How many predictions were right, by the probability stated for them, the highest first."""
        bands = []
        for low, high in zip(BANDS, (None, *BANDS[:-1]), strict=True):
            inside = self.stated >= low
            if high is not None:
                inside &= self.stated < high
            n, right = int(inside.sum()), int((self.predicted == self.own)[inside].sum())
            mean = float(self.stated[inside].mean()) if n else None
            bands.append(ProbabilityBand(low, high, n, right, mean))
        return tuple(bands)


def n_folds_possible(model: Any, y: Any, n_folds: Any, groups: Any = None) -> int:
    """No more than the smallest class has samples, or groups, so that every fold tests and trains each."""
    if not isinstance(n_folds, Integral) or n_folds < 2:
        raise ValueError(f"n_folds must be an integer of at least 2, got {n_folds!r}.")
    y = np.asarray(y)
    labels = y if groups is None else y[_first_of_groups(groups)[1]]
    return min(int(n_folds), int((labels[:, None] == model.classes_).sum(axis=0).min()))


def stratified_folds(model: Any, y: Any, n_folds: Any, random_state: Any, groups: Any = None) -> Any:
    """A splitter that makes as many as asked for, or as possible; groups, of one label each, stay whole."""
    possible = n_folds_possible(model, y, n_folds, groups)
    if possible < 2:
        kind = "samples" if groups is None else "groups"
        raise ValueError(
            f"cross-validation needs at least two {kind} of every class; leave out classes with a single one."
        )
    folds = StratifiedKFold(possible, shuffle=True, random_state=random_state)
    if groups is None:
        return folds
    unit, first = _first_of_groups(groups)
    fold_of_unit = np.empty(len(first), dtype=np.intp)
    for i, (_, test) in enumerate(folds.split(np.zeros(len(first)), np.asarray(y)[first])):
        fold_of_unit[test] = i
    return PredefinedSplit(fold_of_unit[unit])


def _first_of_groups(groups: Any) -> tuple[IntArray, IntArray]:
    """The group of each sample as a number, and the first sample of each."""
    unit = codes_of_groups(groups, len(groups))
    return unit, np.unique(unit, return_index=True)[1]


def fit_with_groups(estimator: Any, X: Any, y: Any, groups: Any) -> Any:
    """Fit a classifier or a pipeline; those of this package, which count groups as samples, get them."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if groups is None or "groups" not in signature(last.fit).parameters:
        return estimator.fit(X, y)
    name = f"{estimator.steps[-1][0]}__groups" if isinstance(estimator, Pipeline) else "groups"
    return estimator.fit(X, y, **{name: groups})


def arg_max_copy(model: Any) -> Any:
    """Not fitted, and silent; ``predict`` is the arg-max rule, also where the model itself draws labels."""
    fresh = clone(model)
    last = fresh[-1] if isinstance(fresh, Pipeline) else fresh
    last.set_params(deterministic=True, callback=None, verbose=0)
    return fresh


def cross_validated_error(
    model: Any,
    X: DataMatrix,
    y: Any,
    *,
    n_folds: int = 10,
    groups: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> CrossValidatedError:
    """Stratified k-fold cross-validation with copies of the classifier, radius rule included.

    The classifier may be the last step of a pipeline, all of which is fitted without the fold.
    With fewer samples in a class than ``n_folds`` there are as many folds as the smallest class has samples.
    Samples with the same entry in ``groups``, which have one label, stay in one fold, and the fits get them.
    """
    y = np.asarray(y)
    groups = None if groups is None else np.asarray(groups)
    splitter = stratified_folds(model, y, n_folds, random_state, groups)
    own = np.argmax(y[:, None] == model.classes_, axis=1)
    folds = list(splitter.split(np.zeros(len(y)), own))
    outcomes = parallel_map(_LeftOut(arg_max_copy(model), X, y, groups), folds, n_jobs=n_jobs)
    predicted, own_probability, stated = np.empty(len(y), dtype=np.intp), np.empty(len(y)), np.empty(len(y))
    for (_, test), (probabilities, said) in zip(folds, outcomes, strict=True):
        predicted[test] = said
        own_probability[test] = probabilities[np.arange(len(test)), own[test]]
        stated[test] = probabilities[np.arange(len(test)), said]
    losses = np.array([1.0 - own_probability, predicted != own])
    fold_errors = np.array([losses[:, test].mean(axis=1) for _, test in folds]).T
    return CrossValidatedError(fold_errors, own_probability, predicted, own, stated)


@dataclass(frozen=True)
class _LeftOut:
    """Probabilities and predictions for a fold by a model fitted on the others; sent to other processes."""

    fresh: Any
    X: DataMatrix
    y: np.ndarray
    groups: np.ndarray | None

    def __call__(self, fold: tuple[IntArray, IntArray]) -> tuple[FloatArray, IntArray]:
        train, test = fold
        groups = None if self.groups is None else self.groups[train]
        with quiet_fits():
            fitted = fit_with_groups(clone(self.fresh), self.X[train], self.y[train], groups)
        said = fitted.predict(self.X[test])
        return fitted.predict_proba(self.X[test]), np.searchsorted(fitted.classes_, said)
