"""Rows that equal another row, where chance does not explain it.

Two measurements of different samples agree in every column with a probability that is estimated from the
table. In a column with resolution u and standard deviation s two independent normal values agree with
probability u / (2 sqrt(pi) s), or with the share of rows that hold the value, if this is larger. Columns are
correlated, so their logarithms are added as if there were only D of them, where D is the participation ratio
of the eigenvalues of the correlation matrix. Columns of few values, such as votes, genotypes and answers,
do not count: rows of such tables are equal without being copies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray, dense_columns
from minimaxrisk._utils.dask_arrays import computed, is_dask_array
from minimaxrisk._utils.row_digests import rounded, row_digests
from minimaxrisk._utils.stored_tables import LARGE, StoredArray, Table, is_in_chunks, is_memory_map
from minimaxrisk.samples.columns import are_numbers, as_floats, canonical, columns_by_name, columns_of_frame

CHANCE = 1e-6  # duplicates are reported if any match in the table is less probable than this
MOST_COLUMNS, MOST_ROWS = 500, 200  # from which the probability of a match is estimated
FEWEST_COLUMNS = 2
UNITS = 10.0 ** np.arange(6, -7, -1)  # resolutions of measurements that are tried


def duplicate_rows(X: DataMatrix) -> list[tuple[int, int]]:
    """Return pairs of rows that are equal to single precision: each later row with the first equal one.

    Rows of one value in all columns are not returned, and neither are rows that may be equal by chance.
    """
    n, d = X.shape
    if d < FEWEST_COLUMNS:
        return []
    digests, _ = row_digests(X)
    _, first, place = np.unique(digests, return_index=True, return_inverse=True)
    later = np.flatnonzero(first[place] != np.arange(n))
    if not len(later):
        return []
    distinct = np.sort(first)
    some = distinct[np.linspace(0, len(distinct) - 1, min(len(distinct), MOST_ROWS)).astype(np.intp)]
    columns = np.unique(np.linspace(0, d - 1, min(d, MOST_COLUMNS)).astype(np.intp))
    table, repeated = entries(X, some, columns), entries(X, later, columns)
    log_chance = _log_chance_of_match(table, repeated) + np.log(n * (n - 1) / 2)
    is_varied = (repeated != repeated[:, :1]).any(axis=1)
    return [(int(first[place[i]]), int(i)) for i in later[is_varied & (log_chance < np.log(CHANCE))]]


def groups_with_duplicates(
    n: int, pairs: list[tuple[int, int]], groups: IntArray | None = None
) -> np.ndarray:
    """Return the groups after those of duplicates have been merged; without groups each row is one."""
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    first, second = (unit[list(side)] for side in zip(*pairs, strict=True)) if pairs else ([], [])
    size = int(unit.max()) + 1
    graph = sparse.coo_array((np.ones(len(pairs)), (first, second)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1][unit])


def numbers_of(X: Any) -> DataMatrix | None:
    """Return what a container holds: an array, or a CSR matrix if most entries are zero; None for no numbers.

    Data on disk or in chunks stay there if they are large, as a ``Table`` or a dask array. Of a frame with
    text the columns of numbers are returned.
    """
    if not sparse.issparse(X) and not is_dask_array(X):
        if (is_in_chunks(X) or is_memory_map(X)) and len(X.shape) == 2:
            X = Table(StoredArray(X, is_finite=True))
        if not isinstance(X, Table):
            X = _array_of(X)
        elif X.size <= LARGE:
            X = X.stored.rows_at(X.all_rows)
    if X is None or X.ndim != 2 or X.dtype.kind not in "biuf":
        return None
    if sparse.issparse(X):
        X = canonical(X.tocsr())
        return X.toarray() if X.shape[0] * X.shape[1] <= min(LARGE, 2 * X.nnz) else X
    return computed(X) if is_dask_array(X) and X.size <= LARGE else X


def entries(X: DataMatrix, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return some rows of some ascending columns; of a table on disk no others are read."""
    if not isinstance(X, Table):
        return dense_columns(X[rows], columns) if not isinstance(X, np.ndarray) else X[np.ix_(rows, columns)]
    first, last = int(columns[0]), int(columns[-1]) + 1
    return X.stored.rows_at(X.all_rows[rows], slice(first, last))[:, columns - first]


def _array_of(X: Any) -> np.ndarray | None:
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return np.asarray(X)
    try:
        return as_floats(X)
    except (TypeError, ValueError):
        names, kinds = columns_of_frame(X)
        numeric = [name for name, kind in zip(names, kinds, strict=True) if are_numbers(kind)]
        return as_floats(columns_by_name(X, numeric)) if numeric else None


def _log_chance_of_match(table: FloatArray, repeated: FloatArray) -> FloatArray:
    """Estimate for each repeated row the logarithm of the probability that two samples agree in it."""
    known = rounded(table)
    ordered = np.sort(known, axis=0)
    n_values = 1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0)
    spread = np.nanstd(known, axis=0)
    telling = (n_values >= max(3, len(known) // 2)) & (spread > 0.0) & np.isfinite(known).all(axis=0)
    if np.count_nonzero(telling) < FEWEST_COLUMNS:
        return np.zeros(len(repeated))
    known, spread, wanted = known[:, telling], spread[telling], rounded(repeated[:, telling])
    by_resolution = resolution(table[:, telling], spread) / (2.0 * np.sqrt(np.pi) * spread)
    dimensions = participation_ratio((known - known.mean(axis=0)) / spread)
    found = np.empty(len(wanted))
    for i, row in enumerate(wanted):
        others = np.maximum(np.count_nonzero(known == row, axis=0) - 1, 0) / len(known)
        found[i] = np.log(np.clip(np.maximum(by_resolution, others), 1e-7, 1.0)).mean() * dimensions
    return found


def participation_ratio(standardised: FloatArray) -> float:
    """Return how many uncorrelated columns of equal variance the rows are worth."""
    if len(standardised) > standardised.shape[1]:
        product = standardised.T @ standardised
    else:
        product = standardised @ standardised.T
    total = float(np.sum(product**2))
    return float(np.trace(product)) ** 2 / total if total > 0.0 else 0.0


def resolution(values: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the largest power of ten of which all values of a column are multiples."""
    found = 1e-7 * spread
    is_open = np.ones(values.shape[1], dtype=bool)
    for unit in UNITS:
        open_values = values[:, is_open]
        rest = np.abs(open_values - unit * np.rint(open_values / unit))
        is_whole = (np.isnan(rest) | (rest < 1e-5 * spread[is_open])).all(axis=0)
        fitting = np.flatnonzero(is_open)[is_whole]
        found[fitting], is_open[fitting] = unit, False
    return found
