"""A table that is not copied: rows of an array that is read where it is.

It answers the indexing that is used of a training matrix: some rows are another such table, and only
columns that are asked for become an array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.namespaces import columns_of
from minimaxrisk._utils.stored_array import BLOCK_ON_DISK, StoredArray


@dataclass(frozen=True)
class Table:
    """Rows of a stored array, in any order; None where all of them are in the order that they have there."""

    stored: StoredArray
    rows: IntArray | None = None

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.stored.shape
        return n if self.rows is None else len(self.rows), d

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.stored.dtype

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def all_rows(self) -> IntArray:
        """Which rows of the stored array these are."""
        return np.arange(self.shape[0]) if self.rows is None else self.rows

    def product(self, columns: IntArray, coefficients: FloatArray) -> FloatArray:
        """Some ascending columns times ``coefficients`` (c x k), in blocks (n x k)."""
        found = np.zeros((self.stored.shape[0], coefficients.shape[1]))
        for rows, places, block in self.stored.blocks_of(columns):
            self.stored.refuse_infinite(rows, columns[places], block)
            found[rows] += block.astype(np.float64, copy=False) @ coefficients[places]
        return found if self.rows is None else found[self.rows]

    def __getitem__(self, key: Any) -> Any:
        """``[rows]`` is a table; ``[:, columns]`` and ``[rows, columns]`` are arrays, and finite."""
        if not isinstance(key, tuple):
            return Table(self.stored, self.all_rows[key])
        rows, columns = key
        if isinstance(rows, np.ndarray) and rows.ndim == 2:  # of numpy.ix_
            rows, columns = rows.ravel(), columns.ravel()
        places = self.all_rows[rows]
        if isinstance(columns, slice):
            found = self.stored.rows_at(places, columns)
            columns = np.arange(self.shape[1])[columns]
        else:
            found = self._columns(columns, places)
        self.stored.refuse_infinite(places, columns, found)
        return found

    def _columns(self, columns: IntArray, places: IntArray) -> np.ndarray:
        if len(places) == 0 or (np.diff(places) != 1).any():
            return self.stored.columns_at(columns)[places]
        # Rows next to each other are read alone.
        return self.stored.columns_at(columns, slice(int(places[0]), int(places[-1]) + 1))


def as_table(X: Any) -> Table:
    """A table as it is, or an array whose entries have been checked."""
    return X if isinstance(X, Table) else Table(StoredArray(X, is_finite=True))


def some_rows_at_a_time(X: DataMatrix, n_columns: int) -> Iterator[tuple[slice, DataMatrix]]:
    """Rows of a matrix of any kind, as many together as a gathering of so many columns may have."""
    n, height = X.shape[0], max(1, BLOCK_ON_DISK // max(1, n_columns))
    for top in range(0, n, height):
        rows = slice(top, min(top + height, n))
        yield rows, X[rows] if isinstance(X, Table) else X[rows, :]


def product_with_columns(X: DataMatrix, columns: IntArray, coefficients: FloatArray) -> FloatArray:
    """``X[:, columns] @ coefficients`` for ascending columns, gathered some rows at a time."""
    if isinstance(X, Table):
        return X.product(columns, coefficients)
    found = np.empty((X.shape[0], coefficients.shape[1]))
    for rows, part in some_rows_at_a_time(X, len(columns)):
        found[rows] = columns_of(part, columns) @ coefficients
    return found
