"""Stability selection: columns that are selected from half of the samples again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.notices import without_radius_warnings
from minimaxrisk._utils.rows import rows_of


@dataclass(frozen=True)
class SelectionFromRows:
    """What the estimator selects from some of the rows; an object, so that it can go to other processes."""

    estimator: Any
    X: DataMatrix
    y: np.ndarray
    sample_weight: FloatArray | None
    max_features: int | None

    def __call__(self, rows: IntArray) -> IntArray:
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        # Whoever selects does not read R*.
        with without_radius_warnings():
            fitted = fit_clone(self.estimator, rows_of(self.X, rows), self.y[rows], weights)
        return most_important(fitted, self.max_features)


def fit_clone(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """A fitted copy; learners that take no weights need not be asked to where there are none."""
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    return clone(estimator).fit(X, y, **weights)


def most_important(fitted: Any, max_features: int | None) -> IntArray:
    """The selected columns of a fitted estimator, at most ``max_features`` of them."""
    selected: IntArray = fitted.selected_features_
    if max_features is None or len(selected) <= max_features:
        return selected
    # Stable, so that of two equally important columns the first one stays.
    order = np.argsort(-fitted.feature_importances_[selected], kind="stable")
    return selected[order[:max_features]]
