"""Fits on some of the samples, as folds and hold-outs need them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk._utils.sklearn_private import fit_with, steps_of
from minimaxrisk._utils.stored_tables import take_rows
from minimaxrisk.samples.validation import differences_within


def fit_on_rows(
    estimator: Any, X: Any, y: np.ndarray, rows: IntArray, *, groups: IntArray | None = None
) -> Any:
    """A copy of an estimator, fitted on these rows without a word; it gets the groups where it takes them."""
    known = groups_for_fit(estimator, groups, y)
    with quiet_fits():
        own = None if known is None else known[rows]
        return fit_with(clone(estimator), take_rows(X, rows), y[rows], groups=own)


def groups_for_fit(estimator: Any, groups: IntArray | None, y: np.ndarray) -> IntArray | None:
    """The groups where a fit takes them, else None; errors on groups that were left out do not need them.

    Groups with samples of several classes, as matched pairs, have radii for two classes and the signed coding
    alone.
    """
    if groups is None or not has_fit_parameter(steps_of(estimator)[-1], "groups"):
        return groups
    parameters = estimator.get_params().items()
    is_one_hot = any(
        name.rpartition("__")[2] == "coding" and value == "one-hot" for name, value in parameters
    )
    has_no_radii = is_one_hot or len(np.unique(y)) > 2
    return None if has_no_radii and len(differences_within(groups, y)) else groups
