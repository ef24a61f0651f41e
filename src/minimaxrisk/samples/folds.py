"""Folds for cross-validation: the one dealer of folds, and fits without each fold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.parallel import parallel_map
from minimaxrisk.samples.parts import fit_on_rows, part_for
from minimaxrisk.samples.validation import labels_of_units

Result = TypeVar("Result")


def dealt_folds(labels: IntArray, unit: IntArray, n_folds: int, random_state: Any = None) -> IntArray:
    """Deal the samples out to folds: shuffled, stratified by class, whole groups together.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        The position of each sample's class.
    unit : ndarray of shape (n_samples,)
        The group of each sample, numbered from 0. Without groups every sample is a group.
    n_folds : int
        Number of folds. There are at most as many as groups.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling.

    Returns
    -------
    ndarray of shape (n_samples,)
        The fold of each sample, numbered from 0. A class with a single sample or group gets -1: it stays in
        every training part, because a model without this class could not score it.
    """
    label = labels_of_units(unit, labels, int(labels.max()) + 1)
    order = check_random_state(random_state).permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(len(label), dtype=np.intp)
    fold[order] = np.arange(len(order)) % min(n_folds, len(label))
    for k in np.unique(labels):
        of_class = np.unique(unit[labels == k])
        if len(of_class) == 1:
            fold[of_class] = -1
        elif len(np.unique(fold[of_class])) == 1:  # of mixed groups alone, which were dealt out with others
            fold[of_class[0]] = (fold[of_class[0]] + 1) % min(n_folds, len(label))
    found: IntArray = fold[unit]
    return found


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
