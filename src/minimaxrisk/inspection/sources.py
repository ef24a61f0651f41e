"""What the displays are made from, checked."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arrays import IntArray


def check_fitted(argument: str, estimator: Any, expected: str, attributes: tuple[str, ...]) -> None:
    """Refuse what is not fitted, and what lacks an attribute after fit."""
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    check_attributes(argument, estimator, expected, attributes)


def check_attributes(argument: str, value: Any, expected: str, attributes: tuple[str, ...]) -> None:
    """Refuse what lacks an attribute."""
    missing = [name for name in attributes if not hasattr(value, name)]
    if missing:
        raise TypeError(
            f"{argument} must be {expected}, which has the attributes {', '.join(attributes)}; got "
            f"{type(value).__name__} without {', '.join(missing)}."
        )


def check_limit(argument: str, value: Any) -> int:
    """How many bars at most."""
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(
            f"{argument} must be an integer of at least 1, how many bars to draw; got {value!r}."
        )
    return int(value)


def by_importance(estimator: Any) -> IntArray:
    """Selected columns, the most important first."""
    selected = np.asarray(estimator.selected_features_)
    importance = np.asarray(estimator.feature_importances_)[selected]
    return selected[np.argsort(-importance, kind="stable")]


def feature_names(estimator: Any, columns: IntArray, given: Any = None) -> list[str]:
    """Names of the columns: those given, else those that the estimator knows, else their numbers."""
    if given is not None:
        check_number_of_names("feature_names", given, int(estimator.n_features_in_))
    known = getattr(estimator, "feature_names_in_", None) if given is None else given
    return [f"column {j}" if known is None else str(known[j]) for j in columns]


def check_number_of_names(argument: str, names: Any, expected: int) -> None:
    """Refuse names that are too few or too many for what they are to name."""
    if len(names) != expected:
        raise ValueError(f"{argument} must hold {expected} names, got {len(names)}.")
