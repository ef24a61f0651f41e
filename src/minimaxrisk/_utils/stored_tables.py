"""Dense arrays that are not copied but read block by block: in memory, in a memory map, in chunks on disk.

A block is contiguous in storage: rows of a C-ordered array, columns of a Fortran-ordered one, whole chunks of
a chunked array. Blocks come by groups of columns, so that sums over rows are complete for some columns before
the next ones are read.

A chunked array is one of zarr, or anything else with ``shape``, ``dtype`` and ``chunks`` whose
``values[a:b, c:d]`` are numbers, such as a data set of h5py. No package is imported for them.

A ``Table`` is a training matrix on such an array: ``table[rows]`` is another table, and only requested
columns become an array.
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
    asarray_like,
    columns_of,
    is_foreign,
    namespace_of,
    to_numpy,
)
from minimaxrisk._utils.dask_arrays import computed
from minimaxrisk._utils.sklearn_private import safe_indexing

# Larger arrays are not copied as float64 (half a gigabyte).
LARGE = 1 << 26
# Entries of a block in memory: small enough to stay in cache.
BLOCK_ELEMENTS = 1 << 17
# Entries of a block on disk. 200 rows of 2,000,000 are then read in pieces of 40 kB, and not of 2.
BLOCK_ON_DISK = 1 << 21
# The fewest rows in a block of a C-ordered array, because sums of short columns are slow.
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
    """Whether it is a chunked array, such as one of zarr."""
    if isinstance(values, np.ndarray) or not all(hasattr(values, name) for name in ("shape", "dtype")):
        return False
    chunks = getattr(values, "chunks", ())
    # Lazy arrays, such as those of dask, have several sizes per axis; their slices are not numbers.
    return chunks is None or (len(chunks) > 0 and all(isinstance(size, int) for size in chunks))


@dataclass
class StoredArray:
    """A table of numbers and the way to read it."""

    values: Any
    is_finite: bool = False  # whether all entries have been checked

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
        """All entries, by groups of columns: rows, columns and values of each block."""
        (n, d), (height, width) = self.shape, self._block_shape()
        for left in range(0, d, width):
            columns = slice(left, min(left + width, d))
            for top in range(0, n, height):
                rows = slice(top, min(top + height, n))
                yield rows, columns, np.asarray(self.values[rows, columns])

    def blocks_of(self, columns: IntArray, within: slice = slice(None)) -> Iterator[Block]:
        """Some ascending columns, within a range of rows: rows, places in ``columns``, values of each block.

        No other columns are read, as far as the storage allows.
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
        """Some rows, within a range of columns, as a new array."""
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
        """Some columns in any order, within a range of rows, as a Fortran-ordered array (n x c)."""
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
        """Sizes of the chunks; single entries if the array has none."""
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
        """Check all entries, unless that has been done."""
        if not self.is_finite:
            for rows, columns, block in self.blocks():
                self.refuse_infinite(rows, columns, block)
        self.is_finite = True

    def refuse_infinite(self, rows: slice | IntArray, columns: slice | IntArray, values: np.ndarray) -> None:
        """Raise if a block has an entry that is NaN or infinite, and name the first one."""
        if self.is_finite or np.isfinite(values).all():
            return
        i, j = (int(place) for place in np.argwhere(~np.isfinite(values))[0])
        row = rows.start + i if isinstance(rows, slice) else int(rows[i])
        column = columns.start + j if isinstance(columns, slice) else int(columns[j])
        raise not_finite(f"row {row}", column, values[i, j])


def not_finite(row: str, column: int, value: float) -> ValueError:
    """The error for an entry that is NaN or infinite."""
    kind = "NaN" if np.isnan(value) else "infinity"
    return ValueError(
        f"X contains {kind} at {row}, column {column}, but all entries must be finite; impute missing "
        "values, or drop the row or the column."
    )


@dataclass(frozen=True)
class Table:
    """Rows of a stored array, in any order; None stands for all rows in their order."""

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
        """The rows as positions in the stored array."""
        return np.arange(self.shape[0]) if self.rows is None else self.rows

    def product(self, columns: IntArray, coefficients: FloatArray) -> FloatArray:
        """Some ascending columns times ``coefficients`` (c x k), in blocks (n x k)."""
        found = np.zeros((self.stored.shape[0], coefficients.shape[1]))
        for rows, places, block in self.stored.blocks_of(columns):
            self.stored.refuse_infinite(rows, columns[places], block)
            found[rows] += block.astype(np.float64, copy=False) @ coefficients[places]
        return found if self.rows is None else found[self.rows]

    def __getitem__(self, key: Any) -> Any:
        """``[rows]`` is a table; ``[:, columns]`` and ``[rows, columns]`` are arrays of finite numbers."""
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
        # Of consecutive rows no others are read.
        return self.stored.columns_at(columns, slice(int(places[0]), int(places[-1]) + 1))


def as_table(X: Any) -> Table:
    """A table unchanged, or a table of an array whose entries have been checked."""
    return X if isinstance(X, Table) else Table(StoredArray(X, is_finite=True))


def some_rows_at_a_time(X: DataMatrix, n_columns: int) -> Iterator[tuple[slice, DataMatrix]]:
    """Parts of the rows of any matrix, small enough that ``n_columns`` of them fit into a block."""
    n, height = X.shape[0], max(1, BLOCK_ON_DISK // max(1, n_columns))
    for top in range(0, n, height):
        rows = slice(top, min(top + height, n))
        yield rows, X[rows] if isinstance(X, Table) else X[rows, :]


def rows_to_judge(X: Any, rows: IntArray, n_columns: int) -> Iterator[Any]:
    """``take_rows``; of an array as many at a time as ``some_rows_at_a_time``, so that it is never copied."""
    height = max(1, BLOCK_ON_DISK // max(1, n_columns)) if isinstance(X, np.ndarray) else len(rows)
    for top in range(0, len(rows), height):
        yield take_rows(X, rows[top : top + height])


def product_with_columns(X: DataMatrix, columns: IntArray, coefficients: FloatArray) -> FloatArray:
    """``X[:, columns] @ coefficients`` for ascending columns, some rows at a time."""
    if isinstance(X, Table):
        return X.product(columns, coefficients)
    found = np.empty((X.shape[0], coefficients.shape[1]))
    for rows, part in some_rows_at_a_time(X, len(columns)):
        found[rows] = columns_of(part, columns) @ coefficients
    return found


def in_memory(X: DataMatrix) -> Any:
    """A validated matrix as an array or a CSR matrix in the memory of this process."""
    if isinstance(X, Table):
        return X[:, :]
    return to_numpy(computed(X)) if not sparse.issparse(X) else X


def take_rows(X: Any, rows: IntArray) -> Any:
    """Rows of an array, a data frame, a sparse matrix of any format or a list, as the same type.

    Rows of a chunked array are read into memory, because other estimators do not take chunked arrays.
    """
    if is_foreign(X):
        return namespace_of(X).take(X, asarray_like(X, rows), axis=0)
    if isinstance(X, Table):
        return X[rows]
    if is_in_chunks(X):
        return StoredArray(X).rows_at(rows)
    if type(X).__module__.startswith("pyarrow."):  # which scikit-learn knows since 1.7
        return X.take(rows)
    return safe_indexing(X.tocsr() if sparse.issparse(X) else X, rows)
