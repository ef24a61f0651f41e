"""Data in the chunks of a dask array, a block of rows and columns each: every answer is computed there.

What is a sum over rows is added up over chunks of rows, what has an entry per column is put together over
chunks of columns; both in float64, whatever the data are. This process holds vectors with an entry per column
or per row, and the few columns last asked for. The functions at the end are what workers do with one chunk.
They change none of their arguments, since workers keep these for others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import getitem
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.dask_arrays import (
    dask_module,
    fetch,
    kept_if_it_fits,
    lazily,
    reduce_by_tree,
    shared,
    total,
)
from minimaxrisk.matrices.dense import column_blocks
from minimaxrisk.matrices.matrix import Function, Matrix, MatrixHints


@dataclass
class DaskMatrix(Matrix):
    """A dask array of real numbers."""

    hints = MatrixHints(drawn_elements=1 << 25)

    data: Any

    def __post_init__(self) -> None:
        # The chunks as tasks (chunks of rows x chunks of columns).
        self._chunks: np.ndarray = self.data.to_delayed()
        self._row_parts, self._column_parts = (
            [slice(start, stop) for start, stop in pairwise(np.cumsum([0, *sizes]).tolist())]
            for sizes in self.data.chunks
        )
        # Columns that this process holds, ascending, and their values (columns x N).
        self._held = np.empty(0, dtype=np.intp), np.empty((0, len(self.data)))

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "X is a dask array, whose chunks cannot be sent to other processes; leave n_jobs at 1 and use no "
            "joblib backend: every single fit uses all workers of dask."
        )

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.data), self.data.shape[1]

    def _over_rows(self, function: Callable[..., Any], weights: Any, *of_columns: Any) -> list[Any]:
        """``function(chunk, weights, ...)`` summed over chunks of rows: a task for each chunk of columns.

        The last arguments have entries for all columns, or are None.
        """
        masses = [weights[:, part] for part in self._row_parts]
        tasks = [shared(mass, mass.data.nbytes) for mass in masses]
        found = []
        for column, part in zip(self._chunks.T, self._column_parts, strict=True):
            there = [None if each is None else shared(each[part], each[part].nbytes) for each in of_columns]
            calls = [lazily(function, chunk, mass, *there) for chunk, mass in zip(column, tasks, strict=True)]
            found.append(reduce_by_tree(calls, total))
        return found

    def left(self, weights: Any, shift: Any | None = None, *, alike: bool = False) -> FloatArray:
        return np.hstack(fetch(self._over_rows(product, weights, shift)))

    def right(self, coefficients: FloatArray, columns: IntArray, shift: FloatArray | None) -> FloatArray:
        if np.isin(columns, self._held[0]).all():
            values = self.columns(columns)
            return coefficients @ (values if shift is None else values - shift).T
        scores = []
        for row in self._chunks:
            tasks = []
            for chunk, part in zip(row, self._column_parts, strict=True):
                inside = slice(*np.searchsorted(columns, [part.start, part.stop]))
                if inside.start < inside.stop:
                    centre = None if shift is None else shift[inside]
                    wanted = columns[inside] - part.start
                    tasks.append(lazily(scores_of, chunk, wanted, coefficients[:, inside], centre))
            scores.append(reduce_by_tree(tasks, total))
        return np.hstack(fetch(scores)) if len(columns) else np.zeros((len(coefficients), len(self.data)))

    def columns(self, indices: IntArray) -> FloatArray:
        """Fetches what this process does not hold, and holds these from now on if they are most of it."""
        known, values = self._held
        wanted = np.unique(indices)
        missing = np.setdiff1d(wanted, known)
        if len(missing):
            stays = np.isin(known, wanted)
            known = np.concatenate([known[stays], missing])
            order = np.argsort(known)
            values = np.concatenate([values[stays], self._fetched(missing)])[order]
            known = known[order]
            self._held = known, values
        return values[np.searchsorted(known, indices)].T

    def _fetched(self, columns: IntArray) -> FloatArray:
        """Ascending columns as rows (c x N)."""
        inside = [
            columns[slice(*np.searchsorted(columns, [part.start, part.stop]))] - part.start
            for part in self._column_parts
        ]
        tasks = [
            lazily(some_columns, chunk, places)
            for row in self._chunks
            for chunk, places in zip(row, inside, strict=True)
        ]
        pieces = [piece.T for piece in fetch(tasks)]
        return np.block(_in_lines(pieces, len(self._column_parts))).T.astype(np.float64)

    def rows_at(self, indices: IntArray) -> FloatArray:
        order = np.argsort(indices, kind="stable")
        ends = np.searchsorted(indices[order], [part.stop for part in self._row_parts]).tolist()
        inside = [
            indices[order[start:stop]] - part.start
            for (start, stop), part in zip(pairwise([0, *ends]), self._row_parts, strict=True)
        ]
        blocks = [
            lazily(getitem, chunk, rows)
            for row, rows in zip(self._chunks, inside, strict=True)
            for chunk in row
        ]
        found = np.empty((len(indices), self.shape[1]))
        found[order] = np.block(_in_lines(fetch(blocks), len(self._column_parts)))
        return found

    def reduce(
        self, functions: Sequence[Function], weights: Any, shift: Any, factor: Any, *, alike: bool = False
    ) -> list[FloatArray]:
        sums = self._over_rows(partial(reduced, functions), weights, shift, factor)
        return list(np.concatenate(fetch(sums), axis=2))

    def mix(self, shares: sparse.csr_array) -> DaskMatrix:
        arrays = dask_module("dask.array")
        means = [
            arrays.from_delayed(each, (shares.shape[0], part.stop - part.start), dtype=np.float64)
            for each, part in zip(
                self._over_rows(product, sparse.csc_array(shares), None), self._column_parts, strict=True
            )
        ]
        return DaskMatrix(kept_if_it_fits(arrays.concatenate(means, axis=1)))


def _in_lines(pieces: list[np.ndarray], n_in_line: int) -> list[list[np.ndarray]]:
    return [pieces[i : i + n_in_line] for i in range(0, len(pieces), n_in_line)]


def product(chunk: np.ndarray, weights: Any, shift: FloatArray | None) -> FloatArray:
    """``weights (chunk - shift)`` in float64, a block at a time, which stays in cache."""
    found = np.empty((weights.shape[0], chunk.shape[1]))
    for part in column_blocks(chunk.shape[1], len(chunk)):
        block = chunk[:, part].astype(np.float64, copy=False)
        found[:, part] = weights @ (block if shift is None else block - shift[part])
    return found


def scores_of(
    chunk: np.ndarray, columns: IntArray, coefficients: FloatArray, shift: FloatArray | None
) -> FloatArray:
    """``coefficients (chunk - shift)[:, columns]'`` in float64."""
    scores = np.zeros((len(coefficients), len(chunk)))
    for part in column_blocks(len(columns), len(chunk)):
        block = chunk[:, columns[part]].astype(np.float64, copy=False)
        scores += coefficients[:, part] @ (block if shift is None else block - shift[part]).T
    return scores


def reduced(
    functions: Sequence[Function],
    chunk: np.ndarray,
    weights: FloatArray,
    shift: FloatArray,
    factor: FloatArray,
) -> FloatArray:
    """``weights @ function((chunk - shift) factor)`` for each function (functions x R x c)."""
    found = np.empty((len(functions), len(weights), chunk.shape[1]))
    for part in column_blocks(chunk.shape[1], len(chunk)):
        block = (chunk[:, part] - shift[part]) * factor[part]
        for total_of, function in zip(found, functions, strict=True):
            total_of[:, part] = weights @ function(block)
    return found


def some_columns(chunk: np.ndarray, columns: IntArray) -> np.ndarray:
    """Columns as rows (c x rows), in the precision that they have."""
    return np.ascontiguousarray(chunk.T[columns])
