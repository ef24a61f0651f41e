"""Feature selection as a scikit-learn transformer."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from minimaxrisk.estimators import MinimaxRiskClassifier
from minimaxrisk.validation import take_over_columns


class MinimaxRiskSelector(SelectorMixin, BaseEstimator):
    """Keep the columns that a minimax risk classifier gives a non-zero coefficient.

    Parameters
    ----------
    estimator : MinimaxRiskClassifier or None, default=None
        What does the selecting; it is cloned. ``None`` is ``MinimaxRiskClassifier()``.
    max_features : int or None, default=None
        Keep at most this many, those with the largest ``feature_importances_``.

    Attributes
    ----------
    estimator_ : MinimaxRiskClassifier
        The fitted classifier.
    n_features_in_, feature_names_in_
        Number and, where known, names of the input columns.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import MinimaxRiskSelector
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> MinimaxRiskSelector(max_features=2).fit(X, y).get_feature_names_out()
    array(['worst radius', 'worst concavity'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"]), None],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, estimator: Any = None, *, max_features: int | None = None) -> None:
        self.estimator = estimator
        self.max_features = max_features

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MinimaxRiskSelector:
        """Fit the classifier that selects; ``sample_weight`` is passed on to it."""
        estimator = MinimaxRiskClassifier() if self.estimator is None else clone(self.estimator)
        fitted = estimator.fit(X, y, sample_weight=sample_weight)
        if not hasattr(fitted, "selected_features_"):
            raise ValueError(
                f"estimator must have selected_features_ after fit, as MinimaxRiskClassifier has; got "
                f"{type(estimator).__name__}."
            )
        take_over_columns(self, fitted)
        self.estimator_ = fitted
        return self

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        selected = self.estimator_.selected_features_
        if self.max_features is not None and len(selected) > self.max_features:
            importance = self.estimator_.feature_importances_[selected]
            # Stable, so that of two equally important columns the first one stays.
            selected = selected[np.argsort(-importance, kind="stable")[: self.max_features]]
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[selected] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
