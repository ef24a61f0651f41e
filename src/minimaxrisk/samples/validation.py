"""Validated training data: X, labels, weights and groups, and what follows from weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from minimaxrisk._utils.arrays import (
    DataMatrix,
    FloatArray,
    IntArray,
    asarray_like,
    is_foreign,
    namespace_of,
    to_numpy,
)
from minimaxrisk._utils.dask_arrays import computed
from minimaxrisk._utils.sklearn_private import check_sample_weight
from minimaxrisk._utils.stored_tables import LARGE, Table, take_rows
from minimaxrisk.samples.columns import canonical, check_new_data, readable, validated
from minimaxrisk.samples.groups import check_groups
from minimaxrisk.samples.labels import check_label_values, refuse_other_order, without_mask


@dataclass(frozen=True)
class TrainingData:
    """Validated training data; rows of weight zero are kept but not used.

    X is an array, a CSR matrix, or a ``Table`` that is not copied. The last ``n_unlabeled`` rows are
    instances without a label, of weight zero.
    """

    X: DataMatrix
    classes: np.ndarray
    labels: IntArray  # position in classes; 0 where the weight is zero
    weights: FloatArray
    n_unlabeled: int = 0
    # How many samples a row represents; None if that is its weight.
    counts: FloatArray | None = None
    # Rows of one group are not independent, as measurements of one patient; None if all rows are.
    groups: IntArray | None = None

    def part(self, rows: IntArray) -> TrainingData:
        """Return some of the labelled rows; every class must be among them."""
        return TrainingData(
            X=take_rows(self.X, rows),
            classes=self.classes,
            labels=self.labels[rows],
            weights=self.weights[rows],
            counts=None if self.counts is None else self.counts[rows],
            groups=None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1],
        )


def check_training_data(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    weight_kind: str = "auto",
    X_unlabeled: Any = None,
    groups: Any = None,
    reset: bool = True,
) -> TrainingData:
    """Return validated data; with ``reset=False`` X must have the columns of the fitted ``estimator``."""
    X = readable(X)
    refuse_other_order(X, y, sample_weight=sample_weight, groups=groups)
    y, sample_weight, groups = (to_numpy(computed(each)) for each in (y, sample_weight, groups))
    check_label_values(y)
    X, y = validated(estimator, X, y, reset=reset)
    if sparse.issparse(X):
        X = canonical(X)
    weights = _check_weights(sample_weight, y)
    used = weights > 0
    labels = np.zeros(len(y), dtype=np.intp)
    classes, labels[used] = np.unique(y[used], return_inverse=True)
    check_classification_targets(y)
    if len(classes) < 2:
        raise ValueError(
            "y must hold at least 2 classes (samples of weight 0 do not count), got 1 class: "
            f"{classes.tolist()[0]!r}."
        )
    are_whole = bool((weights == np.rint(weights)).all())
    are_counts = are_whole if weight_kind == "auto" else weight_kind == "counts"
    # A weight of 1 is a sample, whatever weights mean.
    counts = weights if are_counts or np.array_equal(weights, used) else used.astype(np.float64)
    if class_weight is not None:
        weights = _apply_class_weight(class_weight, classes, labels, weights)
    data = TrainingData(
        X,
        classes,
        labels,
        weights,
        counts=None if counts is weights else counts,
        groups=None if groups is None else check_groups(groups, weights),
    )
    return data if X_unlabeled is None else _with_unlabeled(estimator, data, X_unlabeled)


def _with_unlabeled(estimator: Any, data: TrainingData, X_unlabeled: Any) -> TrainingData:
    """Append instances without a label; they must have the columns of the labelled ones."""
    try:
        more = check_new_data(estimator, X_unlabeled)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X_unlabeled does not match X: {error}") from error
    if sparse.issparse(data.X) or sparse.issparse(more):
        X = canonical(sparse.vstack([sparse.csr_array(data.X), sparse.csr_array(more)]).tocsr())
    elif isinstance(data.X, Table) or isinstance(more, Table):
        X = np.vstack([_in_memory(data.X), _in_memory(more)])
    elif is_foreign(data.X):
        X = namespace_of(data.X).concat([data.X, asarray_like(data.X, to_numpy(more))], axis=0)
    else:
        X = np.vstack([data.X, to_numpy(more)])
    of_rows = {name: getattr(data, name) for name in ("labels", "weights", "counts", "groups")}
    padded = {name: np.pad(each, (0, more.shape[0])) for name, each in of_rows.items() if each is not None}
    return replace(data, X=X, n_unlabeled=more.shape[0], **padded)


def _in_memory(X: Any) -> np.ndarray:
    """Return a table as an array, unless it is large."""
    if not isinstance(X, Table):
        return X
    if X.size > LARGE:
        raise ValueError(
            f"X and X_unlabeled must be copied into one array, but one of them with {X.shape[0]} x "
            f"{X.shape[1]} entries is too large; leave out X_unlabeled, or pass selected columns of both."
        )
    X.stored.check_finite()
    return X.stored.rows_at(X.all_rows)


def _check_weights(sample_weight: Any, y: np.ndarray) -> FloatArray:
    weights = np.array(
        check_sample_weight(without_mask(sample_weight), y, dtype=np.float64, ensure_non_negative=True)
    )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight is so large that its sum overflows; divide the weights.")
    if not (weights > 0).any():
        raise ValueError("sample_weight is zero for every sample; at least two classes need positive weight.")
    return weights


def _apply_class_weight(
    class_weight: Any, classes: np.ndarray, labels: IntArray, weights: FloatArray
) -> FloatArray:
    """Multiply the weights per class and keep their sum, which is the n of the radii."""
    total = weights.sum()
    if isinstance(class_weight, str) and class_weight == "balanced":
        factor = total / (len(classes) * np.bincount(labels, weights, minlength=len(classes)))
    else:
        factor = compute_class_weight(class_weight, classes=classes, y=classes)
    if not (np.isfinite(factor).all() and (factor > 0).all()):
        raise ValueError(
            "class_weight must be positive and finite for every class, got "
            f"{dict(zip(classes.tolist(), factor.tolist(), strict=True))}; to leave out a class, drop its "
            "samples."
        )
    weights = weights * factor[labels]
    return weights * (total / weights.sum())
