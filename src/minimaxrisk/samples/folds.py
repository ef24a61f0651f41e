"""Folds for cross-validation: the one dealer of folds, and fits without each fold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

from minimaxrisk._utils.arguments import is_integer
from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.parallel import parallel_map
from minimaxrisk.exceptions import TooFewSamplesError
from minimaxrisk.samples.groups import labels_within
from minimaxrisk.samples.parts import checked_positions, fit_on_rows, part_for

Result = TypeVar("Result")
Fold = tuple[IntArray, IntArray]  # rows to learn from, and rows to test on

# What ``cv=None`` stands for, as in scikit-learn.
N_FOLDS = 5


def dealt_folds(labels: IntArray, unit: IntArray, n_folds: int, random_state: Any = None) -> IntArray:
    """Deal the samples out to folds: shuffled, stratified by class, whole groups together.

    Groups are stratified by the set of their labels, so that matched pairs are alike.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        The position of each sample's class.
    unit : ndarray of shape (n_samples,)
        The group of each sample, numbered from 0. Without groups every sample is a group.
    n_folds : int
        Number of folds. There are at most as many as the largest stratum has groups.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling; None is 0, so that results repeat.

    Returns
    -------
    ndarray of shape (n_samples,)
        The fold of each sample, numbered from 0. A class with a single sample or group gets -1: it stays in
        every training part, because a model without this class could not score it.
    """
    has = labels_within(unit, labels)
    is_alone = has[:, has.sum(axis=0) == 1].any(axis=1)
    fold, dealt = np.where(is_alone, -1, 0), np.flatnonzero(~is_alone)
    stratum = np.unique(has[dealt], axis=0, return_inverse=True)[1].ravel()
    if np.bincount(stratum, minlength=1).max() < 2:
        stratum = np.zeros_like(stratum)  # no two groups have the same labels
    n_folds = min(n_folds, int(np.bincount(stratum, minlength=1).max()))
    if n_folds > 1:
        seed = 0 if random_state is None else random_state
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # A class with fewer samples than folds is left out in as many folds as it has samples.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            for i, (_, left_out) in enumerate(splitter.split(dealt, stratum)):
                fold[dealt[left_out]] = i
        for k in range(has.shape[1]):
            of_class = np.flatnonzero(has[:, k])
            # Of groups with several labels alone, which were dealt out with others.
            if len(of_class) > 1 and fold[of_class[0]] >= 0 and len(np.unique(fold[of_class])) == 1:
                fold[of_class[0]] = (fold[of_class[0]] + 1) % n_folds
    found: IntArray = fold[unit]
    return found


def repeated_folds(
    labels: IntArray, unit: IntArray, n_folds: int, n_repeats: int, random_state: Any = None
) -> list[IntArray]:
    """Deal the samples out several times; the first folds do not depend on the number of repeats."""
    seed = 0 if random_state is None else random_state
    seeds = [seed + repeat if is_integer(seed) else seed for repeat in range(n_repeats)]
    return [dealt_folds(labels, unit, n_folds, one) for one in seeds]


def folds_of_cv(
    cv: Any,
    y: np.ndarray,
    unit: IntArray | None = None,
    *,
    n_repeats: int = 1,
    random_state: Any = None,
) -> list[Fold]:
    """Return the folds of an argument ``cv``: dealt for a number, else those of the splitter or the pairs."""
    if cv is None or is_integer(cv):
        names, labels = np.unique(y, return_inverse=True)
        unit = np.arange(len(y)) if unit is None else np.unique(unit, return_inverse=True)[1]
        if cv is not None and cv < 2:
            raise ValueError(f"cv must be at least 2, got {cv}.")
        if reason := reason_against_folds(labels, unit, names.tolist()):
            raise TooFewSamplesError(f"{reason} Add samples to two classes, or pass other folds as cv.")
        n_folds = N_FOLDS if cv is None else int(cv)
        dealt = repeated_folds(labels, unit, n_folds, n_repeats, random_state)
        return [part for fold in dealt for part in PredefinedSplit(fold).split()]
    if n_repeats > 1:
        raise ValueError(f"n_repeats={n_repeats} needs an integer cv; pass a splitter that repeats.")
    if hasattr(cv, "get_n_splits"):
        return list(cv.split(np.zeros((len(y), 1)), y, unit))
    if isinstance(cv, str) or not np.iterable(cv):
        raise ValueError(f"cv must be a number of folds, a splitter, or pairs of positions, got {cv!r}.")
    rows = partial(
        checked_positions,
        n=len(y),
        argument="cv",
        expected="a number of folds, a splitter, or pairs of 1-D arrays with positions of samples",
    )
    return [(rows(train), rows(left_out)) for train, left_out in cv]


def reason_against_folds(labels: IntArray, unit: IntArray, names: Sequence[Any]) -> str:
    """Say why errors cannot be cross-validated; empty if they can be.

    A class with a single sample or group does not prevent it: its own error remains unknown. But errors of
    one class alone tell nothing, so two classes need two.
    """
    sizes = labels_within(unit, labels).sum(axis=0)
    if len(sizes) < 2 or np.count_nonzero(sizes > 1) > 1:
        return ""
    kind = "sample" if unit.max() + 1 == len(unit) else "group"
    lonely = names[int(np.argmin(sizes))]
    return f"class {lonely} has a single {kind}, which cannot be used both to train and to test."


def without_each_fold(
    look: Callable[[Any, Any], Result],
    learner: Any,
    X: Any,
    y: np.ndarray,
    fold: IntArray,
    *,
    groups: IntArray | None = None,
    n_jobs: int | None = None,
) -> list[Result]:
    """Fit a copy of a learner without each fold, and return ``look(fitted, X of the fold)`` for every fold.

    The folds come in ascending order. Samples of fold -1 stay in every training part.
    """
    names = np.unique(fold[fold >= 0]).tolist()
    without = partial(_without, look=look, learner=learner, X=X, y=y, fold=fold, groups=groups)
    return parallel_map(without, names, n_jobs=n_jobs)


def in_order_of_samples(fold: IntArray, parts: list[Any]) -> Any:
    """Join arrays of the folds in the order of the samples, with zeros for samples of fold -1."""
    joined = np.concatenate(parts)
    found = np.zeros((len(fold), *joined.shape[1:]), joined.dtype)
    found[np.argsort(fold, kind="stable")[len(fold) - len(joined) :]] = joined
    return found


def _without(
    name: int,
    *,
    look: Callable[[Any, Any], Result],
    learner: Any,
    X: Any,
    y: np.ndarray,
    fold: IntArray,
    groups: IntArray | None,
) -> Result:
    rest = np.flatnonzero(fold != name)
    fitted = fit_on_rows(learner, X, y, rest, groups=groups)
    return look(fitted, part_for(learner, X, np.flatnonzero(fold == name), rest))
