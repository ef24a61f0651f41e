"""Rows of any matrix as numbers that are equal for equal rows, to find copies without holding rows.

A digest is a sum over columns, modulo 2^64, of numbers drawn by value and column. Zeros add nothing, so that
a sparse row has the digest of the same dense one, and a table may be read in any blocks, once. Different rows
have equal digests with probability 2^-64.

Values count to single precision, because a copy may have gone through it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.dask_arrays import fetch, is_dask_array, lazily
from minimaxrisk._utils.stored_tables import BLOCK_ON_DISK, Table, as_table

# Of the 52 binary digits of a double number so many are rounded away.
TO_SINGLE = 29


def rounded(values: np.ndarray) -> FloatArray:
    """Numbers to fewer digits, ties to even; there is one zero and one NaN."""
    found = np.asarray(values, dtype=np.float64) + 0.0
    bits, drop = found.view(np.uint64), np.uint64(TO_SINGLE)
    bits += (np.uint64(1) << (drop - np.uint64(1))) - np.uint64(1) + ((bits >> drop) & np.uint64(1))
    bits &= ~((np.uint64(1) << drop) - np.uint64(1))
    np.copyto(found, np.nan, where=np.isnan(values))
    return found


def have_decimals(values: FloatArray) -> np.ndarray:
    return np.isfinite(values) & (values != np.trunc(values))


def row_digests(X: DataMatrix) -> tuple[np.ndarray, IntArray]:
    """The digest of each row, and in how many columns it has decimals.

    X is an array, a canonical CSR matrix, a ``Table`` or a dask array.
    """
    digests, n_decimals = np.zeros(X.shape[0], dtype=np.uint64), np.zeros(X.shape[0], dtype=np.intp)
    for rows, of_block, decimals in _sparse_parts(X) if sparse.issparse(X) else _parts(X):
        digests[rows] += of_block
        n_decimals[rows] += decimals
    return (
        (digests, n_decimals) if not isinstance(X, Table) else (digests[X.all_rows], n_decimals[X.all_rows])
    )


Part = tuple[slice, np.ndarray, IntArray]


def _parts(X: DataMatrix) -> Iterator[Part]:
    if is_dask_array(X):
        tops, lefts = (np.cumsum([0, *sizes]).tolist() for sizes in X.chunks)
        chunks = [
            (slice(top, below), lazily(_of_block, chunk, left))
            for top, below, line in zip(tops, tops[1:], X.to_delayed(), strict=False)
            for left, chunk in zip(lefts, line, strict=False)
        ]
        found = fetch([task for _, task in chunks])
        yield from ((rows, *each) for (rows, _), each in zip(chunks, found, strict=True))
        return
    for rows, columns, block in as_table(X).stored.blocks():
        yield (rows, *_of_block(block, columns.start))


def _of_block(block: np.ndarray, first: int) -> tuple[np.ndarray, IntArray]:
    values = rounded(block)
    decimals = np.count_nonzero(have_decimals(values), axis=1)
    drawn = _drawn(values, np.arange(first, first + block.shape[1]))
    return drawn.sum(axis=1, dtype=np.uint64), decimals


def _sparse_parts(X: DataMatrix) -> Iterator[Part]:
    top, n = 0, X.shape[0]
    while top < n:
        below = int(np.searchsorted(X.indptr, X.indptr[top] + BLOCK_ON_DISK, side="right")) - 1
        below = min(max(below, top + 1), n)
        ends = X.indptr[top : below + 1]
        values, ends = rounded(X.data[ends[0] : ends[-1]]), ends - ends[0]
        decimals = have_decimals(values)
        drawn = _drawn(values, X.indices[X.indptr[top] : X.indptr[below]])
        sums, counts = (
            np.concatenate([np.zeros(1, dtype=kind), np.cumsum(each, dtype=kind)])
            for each, kind in ((drawn, np.uint64), (decimals, np.intp))
        )
        yield slice(top, below), sums[ends[1:]] - sums[ends[:-1]], counts[ends[1:]] - counts[ends[:-1]]
        top = below


def _drawn(values: FloatArray, columns: IntArray) -> np.ndarray:
    """A number for each value in its column, written over it; 0 for 0."""
    of_columns = _mixed((columns.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    drawn = _mixed(values.view(np.uint64))
    drawn *= of_columns | np.uint64(1)
    return drawn


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Bits that depend on all those above and below, in place: one to one, and 0 stays 0."""
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(29)
    return bits
