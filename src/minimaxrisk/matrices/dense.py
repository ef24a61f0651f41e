"""Dense data that are read where they are: an array, a memory map, chunks on disk, or a copy of some rows.

A copy is float64 and column by column, because solvers gather few columns of many. Without one the data stay
what they are, float32, float64 or whole numbers in either order, and a block at a time becomes float64. For
float32 a rough pass multiplies in float32, which takes half the time; solvers use it as long as they are far
from the optimum.

``copy="auto"`` copies tables of up to ``LARGE`` entries, of float32 half as many: the copy is at most half a
gigabyte, and many small problems can share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.environment import memory_short_of
from minimaxrisk._utils.stored_tables import BLOCK_ELEMENTS, LARGE, StoredArray, Table
from minimaxrisk.matrices.matrix import Function, Matrix, MatrixHints, slices_of

# Columns copied at a time at least: fewer would read the cache lines of scattered rows several times.
FEWEST_COLUMNS = 32
# Rows that are multiplied with the data at a time: a product of so many takes little longer than one of 3.
ROWS = 24
# The share of the rows that tell about where a column is.
PILOT = 1 / 8


@dataclass
class StoredMatrix(Matrix):
    """A dense array of numbers and the way to read it."""

    data: StoredArray
    is_copy: bool = False

    def __post_init__(self) -> None:
        is_single = self.data.dtype == np.float32
        self.hints = MatrixHints(
            can_share=self.is_copy,
            has_parts=True,
            has_rough_passes=is_single and not self.is_copy,
            labellings_per_pass=8 if self.is_copy else 1,
        )

    @classmethod
    def of_values(cls, values: FloatArray) -> StoredMatrix:
        """A float64 array of this process, best column by column."""
        return cls(StoredArray(values, is_finite=True), is_copy=True)

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape

    def left(self, weights: Any, shift: Any | None = None, *, alike: bool = False) -> FloatArray:
        if self.is_copy and shift is None:
            return _product(weights, self.data.values, alike=alike)
        found = np.zeros((len(weights), self.shape[1]))
        for rows, columns, block in self.data.blocks():
            values = _less(block, shift, columns).astype(weights.dtype, copy=False)
            found[:, columns] += _product(weights[:, rows], values, alike=alike)
        return found

    def right(self, coefficients: FloatArray, columns: IntArray, shift: FloatArray | None) -> FloatArray:
        if self.is_copy and shift is None:
            if len(columns) == self.shape[1]:
                return coefficients @ self.data.values.T
            return coefficients @ self.data.values.T[columns]
        scores = np.zeros((len(coefficients), self.shape[0]))
        for rows, places, block in self.data.blocks_of(columns):
            values = _less(block, shift, places).astype(np.float64, copy=False)
            scores[:, rows] += coefficients[:, places] @ values.T
        return scores

    def columns(self, indices: IntArray) -> FloatArray:
        if self.is_copy:
            return self.data.values.T[indices].T
        return self.data.columns_at(indices).astype(np.float64, copy=False)

    def rows_at(self, indices: IntArray) -> FloatArray:
        return self.data.rows_at(indices).astype(np.float64, copy=False)

    def reduce(
        self, functions: Sequence[Function], weights: Any, shift: Any, factor: Any, *, alike: bool = False
    ) -> list[FloatArray]:
        found = [np.zeros((len(weights), self.shape[1])) for _ in functions]
        for rows, columns, block in self.data.blocks():
            mass = weights[:, rows]
            used = mass.any(axis=0)
            values = block - shift[columns] if used.all() else block[used] - shift[columns]
            values *= factor[columns]
            for total, function in zip(found, functions, strict=True):
                part = _product(mass if used.all() else mass[:, used], function(values), alike=alike)
                # NaN and infinity stay what they are in sums, or infinity becomes NaN, also at weight zero.
                if not self.data.is_finite and not (used.all() and np.isfinite(part).all()):
                    self.data.refuse_infinite(rows, columns, block)
                total[:, columns] += part
        self.data.is_finite = True
        return found

    def mix(self, shares: sparse.csr_array) -> StoredMatrix | None:
        if not self.is_copy:
            return None
        return StoredMatrix.of_values(np.asfortranarray(shares @ self.data.values))

    def pilot(self, weights: FloatArray) -> FloatArray:
        """The mean of some of the rows, which need not be read to the end."""
        n_rows = max(1, int(PILOT * len(weights)))
        share = weights[:n_rows] if weights[:n_rows].any() else np.ones(n_rows)
        found = np.zeros(self.shape[1])
        width = max(1, BLOCK_ELEMENTS // n_rows)
        for columns in slices_of(slice(0, self.shape[1]), width):
            block = self.data.rows_at(np.arange(n_rows), columns)
            found[columns] = (share / share.sum()) @ block
        return np.where(np.isfinite(found), found, 0.0)

    def compact(self, rows: IntArray) -> StoredMatrix | None:
        if not self.is_copy:
            return None
        return StoredMatrix.of_values(self.data.values.T.take(rows, axis=1).T)


def copy_of(X: Table, rows: IntArray) -> StoredMatrix:
    """A float64 copy of some rows, column by column, after a check that all entries are finite."""
    data, places = X.stored, X.all_rows[rows]
    out = np.empty((len(rows), X.shape[1]), order="F")
    if data.is_on_disk:
        # In the order in which the data are stored.
        place = np.full(data.shape[0], -1, dtype=np.intp)
        place[places] = np.arange(len(places))
        for part, columns, block in data.blocks():
            data.refuse_infinite(part, columns, block)
            used = place[part] >= 0
            out[place[part][used], columns] = block[used]
        data.is_finite = True
    else:
        data.check_finite()
        for columns in column_blocks(data.shape[1], len(rows)):
            out[:, columns] = data.values[:, columns][places]
    return StoredMatrix.of_values(out)


def matrix_of_table(X: Table, rows: IntArray, *, copy: bool | str) -> tuple[StoredMatrix, IntArray | None]:
    """A copy of the rows, or the data where they are and the positions of the rows there."""
    if not is_copied(len(rows), X.shape[1], copy, X.dtype):
        return StoredMatrix(X.stored), X.all_rows[rows]
    n_bytes = np.dtype(np.float64).itemsize * len(rows) * X.shape[1]
    free = memory_short_of(n_bytes)
    if free is not None:
        raise ValueError(
            f"a float64 copy of X takes {n_bytes / 1e9:.2g} GB, but {free / 1e9:.2g} GB of memory are free; "
            "use copy=False, which reads X where it is."
        )
    return copy_of(X, rows), None


def is_copied(n_instances: int, n_columns: int, copy: bool | str, dtype: np.dtype[Any]) -> bool:
    """What the parameter ``copy`` means for a dense table of this size."""
    most = LARGE // 2 if dtype == np.float32 else LARGE
    return copy is True or (copy == "auto" and n_instances * n_columns <= most)


def column_blocks(n_columns: int, n_rows: int) -> Iterator[slice]:
    """Slices of columns, each about ``BLOCK_ELEMENTS`` entries or ``FEWEST_COLUMNS`` wide."""
    return slices_of(slice(0, n_columns), max(FEWEST_COLUMNS, BLOCK_ELEMENTS // max(1, n_rows)))


def _less(block: np.ndarray, shift: FloatArray | None, places: slice) -> np.ndarray:
    """The block less the shift of its columns, unchanged where the shift is zero."""
    if shift is None or not shift[places].any():
        return block
    return block - shift[places]


def _product(weights: Any, values: np.ndarray, *, alike: bool) -> FloatArray:
    """``weights @ values``; ``alike`` multiplies always as many rows at a time.

    Kernels of linear algebra add up in an order that depends on shapes, and then what one row gives would
    depend on how many others are asked for with it.
    """
    if not alike:
        return weights @ values
    padded = np.zeros((-(-len(weights) // ROWS) * ROWS, weights.shape[1]))
    padded[: len(weights)] = weights
    found = np.empty((len(padded), values.shape[1]))
    for start in range(0, len(padded), ROWS):
        np.matmul(padded[start : start + ROWS], values, out=found[start : start + ROWS])
    return found[: len(weights)]
