"""What the displays are made from, checked."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arrays import DataMatrix, IntArray
from minimaxrisk.samples.validation import check_new_data


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


def last_step(model: Any) -> Any:
    """A classifier, or the one at the end of a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def seen_by(model: Any, X: Any) -> DataMatrix:
    """The values that the classifier saw, as an array or a CSR matrix.

    From an array, a sparse matrix or a data frame, whose columns must be those of the training data; the
    steps of a pipeline before the classifier are applied.
    """
    if isinstance(model, Pipeline) and len(model) > 1:
        X = model[:-1].transform(X)
    last = last_step(model)
    # Models from elsewhere need no more than attributes.
    return check_new_data(last, X) if hasattr(last, "fit") else check_array(X, accept_sparse="csr")


def names_of_columns(model: Any, given: Any = None) -> list[str] | None:
    """Names of the columns that the classifier saw: from those given, else those known; None without any.

    For a pipeline ``given`` may name its own columns, from which the steps make the names, or those of the
    classifier.
    """
    last = last_step(model)
    n_features = int(last.n_features_in_)
    if isinstance(model, Pipeline) and len(model) > 1:
        n_before = int(model.n_features_in_)
        is_of_pipeline = given is None or len(given) == n_before
        try:
            before = None if given is None else np.asarray(given, dtype=object)
            made = model[:-1].get_feature_names_out(before)
        except (AttributeError, ValueError):
            made = None  # a step that names nothing
        if is_of_pipeline and made is not None and (given is not None or hasattr(model, "feature_names_in_")):
            return [str(name) for name in made]
        if given is not None and len(given) != n_features:
            raise ValueError(
                f"feature_names must hold {n_before} names, of the columns of the pipeline, or {n_features}, "
                f"of those that its classifier saw, got {len(given)}."
            )
    if given is not None:
        check_number_of_names("feature_names", given, n_features)
    known = getattr(last, "feature_names_in_", None) if given is None else given
    return None if known is None else [str(name) for name in known]


def feature_names(model: Any, columns: IntArray, given: Any = None) -> list[str]:
    """Names of the columns: those given, else those that the model knows, else their numbers."""
    known = names_of_columns(model, given)
    return [f"column {j}" if known is None else known[j] for j in columns]


def check_number_of_names(argument: str, names: Any, expected: int) -> None:
    """Refuse names that are too few or too many for what they are to name."""
    if len(names) != expected:
        raise ValueError(f"{argument} must hold {expected} names, got {len(names)}.")
