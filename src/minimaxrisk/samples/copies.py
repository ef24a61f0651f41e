"""Samples that equal or nearly equal other samples, where chance does not explain it.

**Equal rows.** Two measurements of different samples agree in every column with a probability that is
estimated from the table. In a column with resolution u and standard deviation s two independent normal values
agree with probability u / (2 sqrt(pi) s), or with the share of rows that hold the value, if this is larger.
Columns are correlated, so their logarithms are added as if there were only D of them, where D is the
participation ratio of the eigenvalues of the correlation matrix. Columns of few values, such as votes,
genotypes and answers, do not count: rows of such tables are equal without being copies.

**Near rows** are far closer than is usual in their class, like one sample measured twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray, dense_columns
from minimaxrisk._utils.dask_arrays import computed, is_dask_array
from minimaxrisk._utils.notices import warn
from minimaxrisk._utils.row_digests import rounded, row_digests
from minimaxrisk._utils.stored_tables import LARGE, StoredArray, Table, is_in_chunks, is_memory_map
from minimaxrisk.samples.columns import are_numbers, as_floats, canonical, columns_of_frame

CHANCE = 1e-6  # duplicates are reported if any match in the table is less probable than this
MOST_COLUMNS, MOST_ROWS = 500, 200  # from which the probability of a match is estimated
FEWEST_COLUMNS = 2
UNITS = 10.0 ** np.arange(6, -7, -1)  # resolutions of measurements that are tried
BLOCK_ELEMENTS = 4_000_000  # entries that are standardised at once
# With fewer columns, or in smaller classes, distinct samples are as close as noisy copies. In larger classes
# the table of distances takes seconds, and hundreds of megabytes.
FEWEST_COLUMNS_OF_NEAR, SMALLEST_CLASS, LARGEST_CLASS = 50, 10, 2000
# Squared distances. Near is below this share of the usual distance, and below that share of what is
# particular to the two samples. Members of a class within the last share of the usual one may be copies, too.
NEAR, PARTICULAR, FAR = 0.1, 0.25, 0.3
# What is particular to a sample is what so many others, the nearest ones, do not explain.
N_WITNESSES = 7
# With more near pairs than this that have nothing particular in common, per pair that has, the samples form
# tight subtypes or fill few dimensions, and some are close to others by chance.
EXPLAINED = 0.2


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
        return as_floats(X[numeric] if hasattr(X, "iloc") else X.select(numeric)) if numeric else None


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


@dataclass(frozen=True)
class NearCopy:
    """Two rows in ascending order, and their distance as a share of the usual one."""

    first: int
    second: int
    share: float


def near_copies(X: DataMatrix, y: np.ndarray, groups: np.ndarray | None = None) -> list[NearCopy]:
    """Return pairs of a class that are much closer than samples of it usually are, the closest first.

    Columns are standardised; those with missing values are left out. The usual distance of a sample is the
    one within which a quarter of its class lies, and that of a pair is the smaller one of its two samples.
    It does not depend on how far classes are apart, and hardly on a few copies. Pairs of one group are known
    to belong together and are not reported.

    Samples of one subtype are close, and so are some in few dimensions. But what these have in common others
    have, too, of this class or of another one: they explain all but what is particular to each sample, and in
    that the two differ. Copies agree in it.
    """
    if not isinstance(X, np.ndarray) or X.shape[1] < FEWEST_COLUMNS_OF_NEAR:
        return []
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    members = [rows for rows in members if SMALLEST_CLASS <= len(rows) <= LARGEST_CLASS]
    n_varying, products = _products(X, members)
    if n_varying < FEWEST_COLUMNS_OF_NEAR:
        return []
    found: list[NearCopy] = []
    n_explained = 0
    for rows, product in zip(members, products, strict=True):
        group = rows if groups is None else groups[rows]
        apart = group[:, None] != group
        distance, usual = _distances(product)
        near = np.argwhere(np.triu(apart & (distance < NEAR * usual), 1))
        if not len(near):
            continue
        particular = _particular(X, rows, distance < FAR * usual, np.unique(near), y=y, groups=groups)
        for i, j in near.tolist():
            if distance[i, j] >= PARTICULAR * (particular[i] + particular[j]):
                n_explained += 1
            else:
                share = float(np.sqrt(distance[i, j] / usual[i, j]))
                found.append(NearCopy(int(rows[i]), int(rows[j]), share))
    return sorted(found, key=lambda pair: pair.share) if n_explained <= EXPLAINED * len(found) else []


def standardised(X: FloatArray) -> FloatArray:
    """Bring the columns to mean 0 and standard deviation 1, without those that vary no more than rounding."""
    block = X[:, np.isfinite(X).all(axis=0)].astype(np.float64)
    size = np.abs(block).max(axis=0, initial=0.0)
    block /= np.where(size > 0.0, size, 1.0)
    block -= block.mean(axis=0)
    spread = block.std(axis=0)
    varies = spread > 1e-12
    return np.asarray(block[:, varies] / spread[varies])


def _products(X: FloatArray, members: list[IntArray]) -> tuple[int, list[FloatArray]]:
    """How many columns vary, and the inner products of the standardised rows of each class."""
    n, d = X.shape
    products = [np.zeros((len(rows), len(rows))) for rows in members]
    n_varying, step = 0, max(1, BLOCK_ELEMENTS // n)
    for start in range(0, d, step) if members else ():
        block = standardised(X[:, start : start + step])
        n_varying += block.shape[1]
        for k, rows in enumerate(members):
            part = block[rows]
            products[k] += part @ part.T
    return n_varying, products


def _distances(product: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Squared distances, and the usual ones of pairs; on the diagonal infinity, and those of the samples."""
    squares = np.diag(product)
    distance = np.maximum(squares[:, None] + squares - 2.0 * product, 0.0)
    np.fill_diagonal(distance, np.inf)
    rank = (len(product) - 1) // 4
    usual = np.partition(distance, rank, axis=1)[:, rank]
    return distance, np.minimum(usual[:, None], usual)


def _particular(
    X: FloatArray,
    rows: IntArray,
    may_be_copies: np.ndarray,
    asked: IntArray,
    *,
    y: np.ndarray,
    groups: np.ndarray | None,
) -> dict[int, float]:
    """Of some members of a class, by position in ``rows``: the squares that their witnesses do not explain.

    Witnesses are the nearest samples of all classes, other than possible copies and members of its group.
    """
    others = np.flatnonzero(y != y[rows[0]])
    n_others = min(len(others), LARGEST_CLASS)
    some = others[np.linspace(0, len(others) - 1, n_others).astype(np.intp)]
    everyone = np.concatenate([rows, some])
    (product,) = _products(X, [everyone])[1]
    squares = np.diag(product)
    particular = {}
    for i in asked.tolist():
        distance = squares[i] + squares - 2.0 * product[i]
        distance[: len(rows)][may_be_copies[i]] = np.inf
        distance[i] = np.inf
        if groups is not None:
            distance[groups[everyone] == groups[rows[i]]] = np.inf
        nearest = np.argsort(distance, kind="stable")[:N_WITNESSES]
        nearest = nearest[np.isfinite(distance[nearest])]
        shared = product[nearest, i]
        explained = shared @ np.linalg.pinv(product[np.ix_(nearest, nearest)], hermitian=True) @ shared
        particular[i] = float(squares[i] - explained)
    return particular


def reason_against_independence(X: Any, y: np.ndarray, groups: IntArray | None) -> str:
    """Say which samples look like copies of others that no group holds together; empty without any.

    A warning tells where samples cannot be looked at.
    """
    values = numbers_of(X)
    if values is None:
        warn(
            "X holds no table of numbers, so it was not checked whether samples are copies of each other; if "
            "they are, no probability holds.",
            UserWarning,
        )
        return ""
    pairs = [pair for pair in duplicate_rows(values) if groups is None or groups[pair[0]] != groups[pair[1]]]
    pairs += [(pair.first, pair.second) for pair in near_copies(values, y, groups)]
    if not pairs:
        return ""
    i, j = pairs[0]
    more = f", and so do {len(pairs) - 1} other pairs" if len(pairs) > 1 else ""
    return (
        f"rows {i} and {j} look like one sample measured twice{more}; pass groups with one entry for all "
        "measurements of a patient, or keep one of each"
    )
