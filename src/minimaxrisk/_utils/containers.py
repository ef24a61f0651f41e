"""Dense arrays that are read where they are, block by block: in memory, in a memory map, in chunks on disk.

A block lies together where the array is stored: rows of a C-ordered array, columns of a Fortran-ordered one,
whole chunks of an array in chunks. Blocks come column group by column group, so that a sum over rows is known
for some columns before the next ones are read.

Arrays in chunks are those of zarr, and whatever else has ``shape``, ``dtype``, ``chunks`` and answers
``values[a:b, c:d]`` with numbers, as data sets of h5py do. No package is imported for them.

A table that is not copied: rows of an array that is read where it is.

It answers the indexing that is used of a training matrix: some rows are another such table, and only
columns that are asked for become an array.

Some rows of whatever users pass as X.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import (
    DataMatrix,
    FloatArray,
    IntArray,
    beside,
    columns_of,
    is_foreign,
    namespace_of,
)
from minimaxrisk._utils.sklearn_private import safe_indexing

# Entries of an array from which on a float64 copy is not worth its memory (half a gigabyte).
LARGE = 1 << 26
# Entries worked on at a time: small enough for the steps on one block to stay in cache.
BLOCK_ELEMENTS = 1 << 17
# Entries of a block on disk. 200 rows of 2,000,000 are then read in pieces of 40 kB, and not of 2.
BLOCK_ON_DISK = 1 << 21
# Rows of a block of a C-ordered array at least, where there are as many: sums of short columns take longer.
FEWEST_ROWS = 512

Block = tuple[slice, slice, np.ndarray]


def is_memory_map(values: Any) -> bool:
    """Whether an array, or what it is a view of, is a ``numpy.memmap``."""
    while isinstance(values, np.ndarray):
        if isinstance(values, np.memmap):
            return values.mode is not None  # results of arithmetic are of this class too, but in memory
        values = values.base
    return False


def is_in_chunks(values: Any) -> bool:
    """Whether it is an array that is read by slices, such as one of zarr."""
    if isinstance(values, np.ndarray) or not all(hasattr(values, name) for name in ("shape", "dtype")):
        return False
    chunks = getattr(values, "chunks", ())
    # Lazy arrays, such as those of dask, have several sizes per axis and answer slices with no numbers.
    return chunks is None or (len(chunks) > 0 and all(isinstance(size, int) for size in chunks))


@dataclass
class StoredArray:
    """A table of numbers and the way to read it."""

    values: Any
    is_finite: bool = False  # whether all of it has been looked at

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.values.dtype)

    @property
    def is_in_chunks(self) -> bool:
        return not isinstance(self.values, np.ndarray)

    @property
    def is_on_disk(self) -> bool:
        return self.is_in_chunks or is_memory_map(self.values)

    def blocks(self) -> Iterator[Block]:
        """All entries: rows, columns and the values there, by groups of columns."""
        (n, d), (height, width) = self.shape, self._block_shape()
        for left in range(0, d, width):
            columns = slice(left, min(left + width, d))
            for top in range(0, n, height):
                rows = slice(top, min(top + height, n))
                yield rows, columns, np.asarray(self.values[rows, columns])

    def blocks_of(self, columns: IntArray, within: slice = slice(None)) -> Iterator[Block]:
        """Some ascending columns, or a stretch of rows of them, in blocks of which no other entries are read.

        Rows, places of the columns, and the values there.
        """
        if len(columns) == 0:
            return
        (first, last, _), height = within.indices(self.shape[0]), self._block_shape()[0]
        ends = np.zeros(0, dtype=np.intp)
        if self.is_in_chunks:  # columns that one chunk holds are read together
            ends = np.flatnonzero(np.diff(columns // self._chunks[1])) + 1
        most = max(1, BLOCK_ON_DISK // min(self.shape[0], FEWEST_ROWS))
        for begin, end in zip([0, *ends.tolist()], [*ends.tolist(), len(columns)], strict=True):
            for left in range(begin, end, most):
                places = slice(left, min(left + most, end))
                tall = height if self.is_in_chunks else max(1, BLOCK_ON_DISK // (places.stop - places.start))
                for top in range(first, last, tall):
                    rows = slice(top, min(top + tall, last))
                    yield rows, places, self._picked(rows, columns[places])

    def rows_at(self, rows: IntArray, columns: slice = slice(None)) -> np.ndarray:
        """Some rows, or a stretch of them, as an array of their own."""
        if not self.is_in_chunks:
            return np.asarray(self.values[:, columns][rows])
        width = self._block_shape()[1]
        start, stop, _ = columns.indices(self.shape[1])
        found, chunk = np.empty((len(rows), stop - start), dtype=self.dtype), rows // self._chunks[0]
        for one in np.unique(chunk):
            wanted = np.flatnonzero(chunk == one)
            first, last = int(rows[wanted].min()), int(rows[wanted].max())
            for left in range(start, stop, width):
                right = min(left + width, stop)
                block = np.asarray(self.values[first : last + 1, left:right])
                found[wanted, left - start : right - start] = block[rows[wanted] - first]
        return found

    def columns_at(self, columns: IntArray, within: slice = slice(None)) -> np.ndarray:
        """Some columns in any order, or a stretch of rows of them, column by column in memory (n x c)."""
        distinct, place = np.unique(columns, return_inverse=True)
        first, last, _ = within.indices(self.shape[0])
        found = np.empty((len(distinct), last - first), dtype=self.dtype)
        for rows, places, values in self.blocks_of(distinct, within):
            found[places, rows.start - first : rows.stop - first] = values.T
        return (found if np.array_equal(distinct, columns) else found[place]).T

    def _picked(self, rows: slice, columns: IntArray) -> np.ndarray:
        if self.is_in_chunks:
            first, last = int(columns[0]), int(columns[-1])
            return np.asarray(self.values[rows, first : last + 1])[:, columns - first]
        if self.values.flags.f_contiguous:
            return np.asarray(self.values[rows].T[columns]).T
        # Row by row, as they are stored.
        return np.take(np.asarray(self.values[rows]), columns, axis=1)

    @property
    def _chunks(self) -> tuple[int, int]:
        """What is read together at least: single entries where an array for slices has no chunks."""
        return self.values.chunks or (1, 1)

    def _block_shape(self) -> tuple[int, int]:
        n, d = max(self.shape[0], 1), max(self.shape[1], 1)
        most = BLOCK_ON_DISK if self.is_on_disk else BLOCK_ELEMENTS
        if self.is_in_chunks and self.values.chunks is not None:
            tall, wide = self.values.chunks
            height = min(n, tall * max(1, most // (tall * wide)))
            return height, min(d, wide * max(1, most // (height * wide)))
        is_by_columns = not self.is_in_chunks and self.values.flags.f_contiguous
        height = min(n, most if is_by_columns else max(most // d, FEWEST_ROWS))
        return height, min(d, max(1, most // height))

    def check_finite(self) -> None:
        """Look at all entries, unless that has been done."""
        if not self.is_finite:
            for rows, columns, block in self.blocks():
                self.refuse_infinite(rows, columns, block)
        self.is_finite = True

    def refuse_infinite(self, rows: slice | IntArray, columns: slice | IntArray, values: np.ndarray) -> None:
        """Raise with the place of the first entry of a block that is no number, if there is one."""
        if self.is_finite or np.isfinite(values).all():
            return
        i, j = (int(place) for place in np.argwhere(~np.isfinite(values))[0])
        row = rows.start + i if isinstance(rows, slice) else int(rows[i])
        column = columns.start + j if isinstance(columns, slice) else int(columns[j])
        kind = "NaN" if np.isnan(values[i, j]) else "infinity"
        raise ValueError(
            f"X contains {kind} at row {row}, column {column}; every entry must be a finite number: fill "
            "missing values, or leave out the row or the column."
        )


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


def rows_of(X: Any, rows: IntArray) -> Any:
    """The rows of an array, a data frame, a sparse matrix of any format or a list, of the same kind.

    Those of an array in chunks are read into memory: others than our own estimators take no such array.
    """
    if is_foreign(X):
        return namespace_of(X).take(X, beside(X, rows), axis=0)
    if isinstance(X, Table):
        return X[rows]
    if is_in_chunks(X):
        return StoredArray(X).rows_at(rows)
    return safe_indexing(X.tocsr() if sparse.issparse(X) else X, rows)
