"""Logarithms of a minimax rule's probabilities, many of which are exactly 0.

Predictions for dask arrays stay lazy: a task per chunk of rows, which sees the selected columns alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.dask_arrays import dask_module, is_dask_array
from minimaxrisk._utils.notices import warn
from minimaxrisk.samples.validation import check_description, first_not_finite


def log_probabilities(probabilities: FloatArray) -> FloatArray:
    """For ``predict_log_proba``."""
    n_zeros = int((probabilities == 0.0).sum())
    if n_zeros:
        entries = "entry is" if n_zeros == 1 else "entries are"
        warn(
            f"{n_zeros} of {probabilities.size} {entries} minus infinity, where the probability is exactly "
            "0. A minimax rule draws labels with these probabilities; they do not estimate how probable a "
            "label is. For estimates use sklearn.calibration.CalibratedClassifierCV; for finite logarithms "
            "clip predict_proba, as in np.log(np.clip(model.predict_proba(X), 1e-6, 1)).",
            UserWarning,
        )
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


# What a fitted model needs to predict: no vectors with an entry per column, unless the columns are those few.
OF_PREDICTION = {"classes_", "coef_", "intercept_", "threshold_", "members_"}


def lazy_on_dask(method: Callable[[Any, Any], np.ndarray]) -> Callable[[Any, Any], Any]:
    """For a dask array, what the method returns for each chunk of rows, as a dask array; else as it is."""

    @wraps(method)
    def on_any(self: Any, X: Any) -> Any:
        if not is_dask_array(X):
            return method(self, X)
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        columns = _columns_used(self)
        task = _OfChunk(_on_columns(self, columns), method.__name__, columns)
        with warnings.catch_warnings(action="ignore"):
            example = task(np.zeros((1, len(columns))))
        chosen = check_description(X)[:, columns].rechunk({1: -1})
        if example.ndim == 1:
            return chosen.map_blocks(task, drop_axis=1, meta=example[:0])
        return chosen.map_blocks(task, chunks=(chosen.chunks[0], example.shape[1:]), meta=example[:0])

    return on_any


def drawn_labels(probabilities: Any, random_state: Any, classes: np.ndarray) -> Any:
    """For each row one of the classes at random; of a dask array lazily, but the same ones."""
    n = probabilities.shape[0]
    if is_dask_array(probabilities) and np.isnan(n):
        raise ValueError(
            "predict with deterministic=False draws a number for each row of X, and X is a dask array with "
            "chunks of unknown size; call X = X.compute_chunk_sizes() first."
        )
    draws = check_random_state(random_state).random_sample(n)
    if not is_dask_array(probabilities):
        return _labels_at(probabilities, draws[:, None], classes)
    arrays = dask_module("dask.array")
    draws = arrays.from_array(draws[:, None], chunks=(probabilities.chunks[0], 1))
    return arrays.map_blocks(_labels_at, probabilities, draws, classes, drop_axis=1, meta=classes[:0])


def _labels_at(probabilities: FloatArray, draws: FloatArray, classes: np.ndarray) -> np.ndarray:
    """The labels at which cumulative probabilities pass the draws."""
    # The last cumulative sum is one up to rounding, hence the minimum.
    index = (draws >= np.cumsum(probabilities, axis=1)).sum(axis=1)
    return classes[np.minimum(index, len(classes) - 1)]


@dataclass(frozen=True)
class _OfChunk:
    """What a task does: refuse numbers that are not finite, at the chunk where they show, then predict."""

    model: Any
    method: str
    columns: IntArray

    def __call__(self, chunk: np.ndarray, block_info: Any = None) -> np.ndarray:
        place = first_not_finite(chunk)
        if place is not None:
            start = block_info[0]["array-location"][0][0] if block_info else 0
            where = f"row {place[0]} of a chunk" if np.isnan(start) else f"row {start + place[0]}"
            raise ValueError(
                f"X must hold finite numbers, but {where} has {place[2]} in column {self.columns[place[1]]}; "
                "drop or impute such entries."
            )
        found: np.ndarray = getattr(self.model, self.method)(chunk)
        return found


def _columns_used(model: Any) -> IntArray:
    """Those with a coefficient; the first one where none has, since scikit-learn wants at least one."""
    rules = [member.columns for member in model.members_] if hasattr(model, "members_") else []
    used = np.unique(np.concatenate(rules)) if rules else np.flatnonzero(model.coef_.any(axis=0))
    return used if len(used) else np.arange(1)


def _on_columns(model: Any, columns: IntArray) -> Any:
    """A model of these columns alone that predicts the same, and is small enough to go with every task."""
    small = copy(model)
    for name in [name for name in vars(model) if name.endswith("_") and name not in OF_PREDICTION]:
        delattr(small, name)
    if hasattr(small, "callback"):
        small.callback = None  # nobody calls it, and it need not travel
    small.n_features_in_ = len(columns)
    if hasattr(small, "coef_"):
        small.coef_ = model.coef_[:, columns]
    if hasattr(small, "members_"):
        small.members_ = [
            replace(member, n_features=len(columns), columns=np.searchsorted(columns, member.columns))
            for member in model.members_
        ]
    return small
