"""Parts of the samples, as folds and hold-outs need them, and fits on such parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk._utils.sklearn_private import fit_with, own_parts, safe_indexing, steps_of
from minimaxrisk._utils.stored_tables import take_rows
from minimaxrisk.samples.groups import differences_within


def fit_on_rows(
    estimator: Any, X: Any, y: np.ndarray, rows: IntArray, *, groups: IntArray | None = None
) -> Any:
    """A copy of an estimator, fitted on these rows without a word; it gets the groups where it takes them."""
    known = groups_for_fit(estimator, groups, y)
    with quiet_fits():
        own = None if known is None else known[rows]
        return fit_with(clone(estimator), part_for(estimator, X, rows, rows), y[rows], groups=own)


def is_pairwise(estimator: Any) -> bool:
    """Return whether X holds products or distances of samples, a column for each that is learned from."""
    return hasattr(estimator, "__sklearn_tags__") and bool(get_tags(estimator).input_tags.pairwise)


def part_for(estimator: Any, X: Any, rows: IntArray, learned: IntArray) -> Any:
    """Return rows of X, with columns as a fit on the samples ``learned`` takes them."""
    part = take_rows(X, rows)
    if not is_pairwise(estimator):
        return part
    return safe_indexing(part if hasattr(part, "shape") else np.asarray(part), learned, axis=1)


def checked_positions(given: Any, n: int, *, argument: str, expected: str, kind: str = "samples") -> IntArray:
    """Return positions that are given as positions or as a mask of n entries."""
    listed = np.asarray(given)
    if listed.dtype == bool and listed.shape == (n,):
        return np.flatnonzero(listed)
    if listed.ndim != 1 or listed.dtype.kind not in "iu":
        raise ValueError(
            f"{argument} must be {expected}, got an array of shape {listed.shape} and type {listed.dtype}."
        )
    outside = listed[(listed < 0) | (listed >= n)]
    if len(outside):
        raise ValueError(f"{argument} holds the position {outside[0]}, but there are {n} {kind}.")
    return listed.astype(np.intp)


def groups_for_fit(estimator: Any, groups: IntArray | None, y: np.ndarray) -> IntArray | None:
    """The groups where a fit takes them, else None; errors on groups that were left out do not need them.

    Groups with samples of several classes, as matched pairs, have radii for two classes and the signed coding
    alone.
    """
    if groups is None or not has_fit_parameter(steps_of(estimator)[-1], "groups"):
        return groups
    is_one_hot = any(getattr(part, "coding", None) == "one-hot" for part in own_parts(estimator))
    has_no_radii = is_one_hot or len(np.unique(y)) > 2
    return None if has_no_radii and len(differences_within(groups, y)) else groups
