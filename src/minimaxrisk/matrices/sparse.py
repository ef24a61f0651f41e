"""Sparse data, of which only entries that are not zero are stored and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.matrices.matrix import Function, Matrix, MatrixHints, PassRates
from minimaxrisk.matrices.scale import KeptColumns, is_negligible, power_of_two

# Columns are gathered before a product if they hold no more than this share of the entries: copying an entry
# takes longer than multiplying it.
WORTH_GATHERING = 0.25
# Empty columns are left out if no more than this share of all is left then. Of 2^18 or 2^20 columns, as
# hashed texts have them, 2% to 1% filled, a fit then takes a seventh of the time.
MOST_KEPT = 0.5


@dataclass
class SparseMatrix(Matrix):
    """A sparse matrix whose means are not large, held column by column or row by row."""

    hints = MatrixHints(is_sparse=True, pass_rates=PassRates(0.0, 0.0, 2.5e-9))

    values: sparse.csc_array | sparse.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape

    @property
    def n_stored(self) -> int:
        return int(self.values.nnz)

    def left(self, weights: Any, shift: Any | None = None, *, alike: bool = False) -> FloatArray:
        return (self.values.T @ weights.T).T

    def right(self, coefficients: FloatArray, columns: IntArray, shift: FloatArray | None) -> FloatArray:
        values, weights = self.values, np.zeros((len(coefficients), self.shape[1]))
        weights[:, columns] = coefficients
        if values.format == "csc":
            n_entries = int((values.indptr[columns + 1] - values.indptr[columns]).sum())
            if n_entries <= WORTH_GATHERING * values.nnz:
                values, weights = values[:, columns], coefficients
        return (values @ weights.T).T

    def columns(self, indices: IntArray) -> sparse.csc_array:
        return self.values[:, indices]

    def rows_at(self, indices: IntArray) -> sparse.csr_array:
        return self.values.tocsr()[indices]

    def reduce(
        self, functions: Sequence[Function], weights: Any, shift: Any, factor: Any, *, alike: bool = False
    ) -> list[FloatArray]:
        """An entry that is not stored adds what the function is at zero."""
        column = np.repeat(np.arange(self.shape[1]), np.diff(self.values.indptr))
        inner = (self.values.data - shift[column]) * factor[column]
        found, mass = [], weights.sum(axis=1, keepdims=True)
        for function in functions:
            elsewhere = function(-shift * factor)
            stored = _with_entries(self.values, function(inner) - elsewhere[column])
            found.append((stored.T @ weights.T).T + mass * elsewhere)
        return found

    def mix(self, shares: sparse.csr_array) -> SparseMatrix:
        return SparseMatrix(sparse.csc_array(shares @ self.values))

    def pilot(self, weights: FloatArray) -> FloatArray:
        """Zero: entries that are not stored are near it, and columns without such entries are centred."""
        return np.zeros(self.shape[1])

    def by_row(self) -> SparseMatrix:
        """The same matrix held row by row: vectors of length d, not n, are then read at random places."""
        return SparseMatrix(self.values.tocsr())

    def square_lengths(self, shift: FloatArray, factor: FloatArray) -> FloatArray:
        """From the stored entries: ``|(v - s) f|^2 = f^2 v^2 - 2 f^2 s v + f^2 s^2``."""
        squared = _with_entries(self.values, self.values.data**2)
        weight = factor * factor
        return squared @ weight - 2.0 * (self.values @ (weight * shift)) + weight @ (shift * shift)


def sparse_matrix(
    X: DataMatrix, rows: IntArray, *, centre: bool
) -> tuple[SparseMatrix, FloatArray, FloatArray, KeptColumns | None]:
    """Some rows of X as ``(X - 1 origin') diag(1 / power)``; origin, power, and the columns that are kept.

    Powers of two of the size of the columns keep squares in the range of numbers. A column that has no zeros
    loses nothing when it is centred for good, and no digits afterwards.
    """
    X, kept = _without_empty_columns(sparse.csc_array(X[rows], dtype=np.float64, copy=True))
    X.sum_duplicates()
    n_stored = np.diff(X.indptr)
    largest = _largest_entries(X)
    # Coefficients of columns near the smallest number would overflow; such columns count as zero.
    X.data[np.repeat(largest < np.finfo(np.float64).tiny, n_stored)] = 0.0
    power = power_of_two(largest)
    X.data /= np.repeat(power, n_stored)
    # Any value of a full column serves as its origin, so that a constant becomes zero, or nearly so.
    origin, is_full = np.zeros(X.shape[1]), centre & (n_stored == len(rows))
    origin[is_full] = X.data[X.indptr[:-1][is_full]]
    X.data -= np.repeat(origin, n_stored)
    X.data[np.repeat(is_full & is_negligible(_largest_entries(X), origin), n_stored)] = 0.0
    return SparseMatrix(X), origin, power, kept


def _largest_entries(X: sparse.csc_array) -> FloatArray:
    """The largest absolute value of each column."""
    largest, has_entries = np.zeros(X.shape[1]), np.diff(X.indptr) > 0
    if X.nnz:
        largest[has_entries] = np.maximum.reduceat(np.abs(X.data), X.indptr[:-1][has_entries])
    return largest


def _without_empty_columns(X: sparse.csc_array) -> tuple[sparse.csc_array, KeptColumns | None]:
    """The columns that hold something, and one that is empty for all others; no copy is made of entries."""
    n, d = X.shape
    is_kept = np.diff(X.indptr) > 0
    first_empty = int(np.argmin(is_kept))
    is_kept[first_empty] = True
    places = np.flatnonzero(is_kept)
    if len(places) > MOST_KEPT * d:
        return X, None
    kept = KeptColumns(places, d, int(np.searchsorted(places, first_empty)))
    # An empty column begins where the next one does.
    return sparse.csc_array((X.data, X.indices, X.indptr[np.append(places, d)]), shape=(n, len(places))), kept


def _with_entries(values: Any, data: FloatArray) -> Any:
    return type(values)((data, values.indices, values.indptr), shape=values.shape)
