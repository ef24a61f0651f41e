"""A table of numbers with the classes of its rows, as all readers of raw files return it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, IntArray

EXACT = 2**24  # float32 holds every integer up to this


@dataclass(frozen=True)
class LabelledTable:
    """Instances (ndarray or CSR matrix), the number of each one's class, and the names of the classes."""

    X: DataMatrix
    y: IntArray
    classes: NDArray[np.str_]


def labelled_table(X: Any, labels: Any, where: object) -> LabelledTable:
    """Number the labels and check the values; ``where`` is what the messages call the file."""
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)
        values = X.data
    else:
        X = values = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "buif":
        raise ValueError(f"{where} must hold a table of numbers, got {X.ndim} dimensions of {X.dtype}.")
    if X.shape[0] != len(labels) or not len(labels):
        raise ValueError(f"{where} must hold one label per row, got {X.shape[0]} rows, {len(labels)} labels.")
    if not np.isfinite(values).all():
        raise ValueError(f"{where} must hold finite numbers, got missing or infinite values.")
    classes, y = np.unique(_as_integers(np.asarray(labels)), return_inverse=True)
    small = not values.size or (np.all(values == np.trunc(values)) and np.abs(values).max() <= EXACT)
    X = X.astype(np.float32 if small else np.float64)
    return LabelledTable(X, y.astype(np.intp), classes.astype(str))


def _as_integers(labels: Any) -> Any:
    """Labels such as 1.0 or "+1" as whole numbers, so that classes sort by value; others as they are."""
    try:
        numbers = labels.astype(np.float64)
    except ValueError:
        return labels.astype(str)
    whole = np.isfinite(numbers).all() and np.all(numbers == np.trunc(numbers))
    return numbers.astype(np.int64) if whole else labels.astype(str)
