"""What bounds take for granted, as far as the data can show it: independent samples, and one law for all.

A sample that is a copy of another one is no new sample. Errors on copies of training samples are too few, and
limits that count copies as samples are too tight.

Instances of another law, such as another cohort, may be misclassified far more often, and no bound from these
samples is about them. Under one law the rows of both tables are exchangeable, so that a statistic of how they
differ has the same distribution when rows are exchanged at random: a test that is exact at any sizes and for
any law. The statistic is the sum over columns of the squared differences of means and of mean squares, after
the columns are brought to the scale of both tables together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray, dense_columns
from minimaxrisk._utils.dask_arrays import computed, is_dask_array
from minimaxrisk._utils.notices import warn
from minimaxrisk._utils.row_digests import TO_HALF, TO_SINGLE, have_decimals, rounded, row_digests
from minimaxrisk._utils.stored_tables import LARGE, StoredArray, Table, is_in_chunks, is_memory_map
from minimaxrisk.features.dense import column_blocks, rescale_in_place
from minimaxrisk.samples.validation import (
    are_numbers,
    as_floats,
    canonical,
    columns_by_name,
    columns_of_frame,
)

# Of very many columns some at equal distances serve, of very many rows some.
MOST_COLUMNS, MOST_ROWS = 2000, 2000
# Rows that agree in so many columns of decimals are hardly equal by chance.
FEWEST_DECIMALS = 20
# With fewer columns, or in smaller classes, distinct samples are as close as noisy copies. In larger classes
# the table of distances takes seconds, and hundreds of megabytes.
FEWEST_COLUMNS, SMALLEST_CLASS, LARGEST_CLASS = 50, 10, 2000
# Squared distances. Near is below this share of the usual distance, and below that share of what is
# particular to the two samples. Members of a class within the last share of the usual one may be copies, too.
NEAR, PARTICULAR, FAR = 0.1, 0.25, 0.3
# What is particular to a sample is what so many others, the nearest ones, do not explain.
N_WITNESSES = 7
# Where the usual distances of a class range widely, copies are closer by so many powers of that range.
POWER_OF_RANGE = 1.5
# With more near pairs than this that have nothing particular in common, per pair that has, the samples form
# tight subtypes or fill few dimensions, and some are close to others by chance.
EXPLAINED = 0.2


@dataclass(frozen=True)
class NearCopy:
    """Two rows in ascending order, and their distance as a share of the usual one."""

    first: int
    second: int
    share: float


def exact_copies(X: DataMatrix) -> list[tuple[int, int]]:
    """Pairs of rows that are equal to single precision: each later row with the first one that it equals.

    Rows of few columns, or of few values, may be equal by chance and are not reported.
    """
    n, d = X.shape
    if d < FEWEST_DECIMALS:
        return []
    digests, n_decimals = row_digests(X)
    _, first, place = np.unique(digests, return_index=True, return_inverse=True)
    later = np.flatnonzero((first[place] != np.arange(n)) & (n_decimals >= FEWEST_DECIMALS))
    if not len(later):
        return []
    some = np.sort(first)[np.linspace(0, len(first) - 1, min(len(first), MOST_ROWS)).astype(np.intp)]
    n_telling = np.zeros(len(later), dtype=np.intp)
    for block in column_blocks(d, max(len(some), len(later))):
        columns = np.arange(d)[block]
        ordered = np.sort(rounded(_entries(X, some, columns)), axis=0)
        has_many_values = np.count_nonzero(np.diff(ordered, axis=0), axis=0) >= len(some) // 2
        n_telling += np.sum(have_decimals(_entries(X, later, columns[has_many_values])), axis=1)
    return [(int(first[place[i]]), i) for i in later[n_telling >= FEWEST_DECIMALS].tolist()]


def _entries(X: DataMatrix, rows: IntArray, columns: IntArray) -> FloatArray:
    """Some rows of some ascending columns; of a table on disk no others are kept."""
    if not isinstance(X, Table):
        return dense_columns(X[rows], columns) if not isinstance(X, np.ndarray) else X[np.ix_(rows, columns)]
    found = [np.zeros((len(rows), 0))]
    for part in column_blocks(X.shape[1], len(rows)):
        wanted = columns[(columns >= part.start) & (columns < part.stop)]
        if len(wanted):
            found.append(X.stored.rows_at(X.all_rows[rows], part)[:, wanted - part.start])
    return np.hstack(found)


def near_copies(X: DataMatrix, y: np.ndarray, groups: np.ndarray | None = None) -> list[NearCopy]:
    """Pairs of a class that are much closer than samples of it usually are, the closest first.

    Columns are standardised; those with missing values are left out. The usual distance of a sample is the
    one within which a quarter of its class lies, and that of a pair is the smaller one of its two samples.
    It does not depend on how far classes are apart, and hardly on a few copies. Pairs of one group are known
    to belong together and are not reported.

    Samples of one subtype are close, and so are some in few dimensions. But what these have in common others
    have, too, of this class or of another one: they explain all but what is particular to each sample, and in
    that the two differ. Copies agree in it.
    """
    if not isinstance(X, np.ndarray) or X.shape[1] < FEWEST_COLUMNS:
        return []
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    members = [rows for rows in members if SMALLEST_CLASS <= len(rows) <= LARGEST_CLASS]
    n_varying, products = _products(X, members)
    if n_varying < FEWEST_COLUMNS:
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
        low, high = np.quantile(np.diag(usual), [0.1, 0.9])
        for i, j in near.tolist():
            share = distance[i, j] / usual[i, j]
            if distance[i, j] >= PARTICULAR * (particular[i] + particular[j]):
                n_explained += 1
            elif share * high**POWER_OF_RANGE < low**POWER_OF_RANGE:
                found.append(NearCopy(int(rows[i]), int(rows[j]), float(np.sqrt(share))))
    return sorted(found, key=lambda pair: pair.share) if n_explained <= EXPLAINED * len(found) else []


def _products(X: FloatArray, members: list[IntArray]) -> tuple[int, list[FloatArray]]:
    """How many columns vary, and the inner products of the standardised rows of each class."""
    n, d = X.shape
    products = [np.zeros((len(rows), len(rows))) for rows in members]
    n_varying = 0
    for columns in column_blocks(d, n) if members else ():
        block = X[:, columns].astype(np.float64, copy=False)
        block = block[:, np.isfinite(block).all(axis=0)]
        rescale_in_place(block, np.full(n, 1.0 / n), centre=True)
        n_varying += int(np.count_nonzero(block.any(axis=0)))
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
    """In words, if some samples look like copies of others that no group holds together; else empty.

    A warning tells where samples cannot be looked at.
    """
    values = numbers_of(X)
    if values is None:
        _tell_not_looked_at("X", "samples are copies of each other")
        return ""
    pairs = [pair for pair in exact_copies(values) if groups is None or groups[pair[0]] != groups[pair[1]]]
    pairs += [(pair.first, pair.second) for pair in near_copies(values, y, groups)]
    if not pairs:
        return ""
    i, j = pairs[0]
    more = f", and so do {len(pairs) - 1} other pairs" if len(pairs) > 1 else ""
    return (
        f"rows {i} and {j} look like one sample measured twice{more}; pass groups with one entry for all "
        "measurements of a patient, or keep one of each"
    )


def _tell_not_looked_at(argument: str, what: str) -> None:
    warn(
        f"{argument} holds no table of numbers, so it was not checked whether {what}; if they are, no "
        "probability holds.",
        UserWarning,
    )


def numbers_of(X: Any) -> DataMatrix | None:
    """What any container holds: an array, or a CSR matrix if most entries are zero; None for no numbers.

    What is on disk or in chunks and large stays there, a ``Table`` or a dask array. Of a frame with texts the
    columns of numbers are taken.
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


def _array_of(X: Any) -> np.ndarray | None:
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return np.asarray(X)
    try:
        return as_floats(X)
    except (TypeError, ValueError):
        names, kinds = columns_of_frame(X)
        numeric = [name for name, kind in zip(names, kinds, strict=True) if are_numbers(kind)]
        return as_floats(columns_by_name(X, numeric)) if numeric else None


def _n_shared_rows(old: DataMatrix, new: DataMatrix) -> int:
    """How many rows of one table are rows of the other, and hardly so by chance."""
    if old.shape[1] != new.shape[1]:
        return 0
    dropped = TO_HALF if np.float16 in (old.dtype, new.dtype) else TO_SINGLE
    known, (digests, n_decimals) = row_digests(old, dropped)[0], row_digests(new, dropped)
    return int(np.count_nonzero(np.isin(digests, known) & (n_decimals >= FEWEST_DECIMALS)))


# Below this p-value new instances are taken for those of another law.
UNLIKELY = 0.01
N_EXCHANGES = 999
# Beyond so many standard deviations a value counts as that many: a few outliers decide nothing.
LARGEST = 4.0


def reason_against_one_law(X: Any, X_new: Any, groups: IntArray | None) -> str:
    """In words, if new instances are not what they should be; of another law a warning tells, too."""
    X, X_new = _in_one_order(X, X_new)
    X, X_new = numbers_of(X), numbers_of(X_new)
    if X is None or X_new is None:
        _tell_not_looked_at("X" if X is None else "X_new", "new instances are rows of X, or of another law")
        return ""
    n_shared = _n_shared_rows(X, X_new)
    if n_shared:
        return f"{n_shared} of the new instances are rows of X, and took part in the fit"
    pvalue = same_law_pvalue(X, X_new, groups)
    if pvalue is None or pvalue >= UNLIKELY:
        return ""
    reason = (
        f"X_new does not look like instances of the same law as X (p = {pvalue:.3f} when rows are exchanged)"
    )
    warn(
        f"{reason}: another cohort, batch or mixture of classes, or several rows of one patient, which "
        "groups_new tells. The bounds hold for samples like X; errors on these new instances may be larger.",
        UserWarning,
    )
    return reason


def _in_one_order(X: Any, X_new: Any) -> tuple[Any, Any]:
    """Two frames of the same columns in the order of the first, without columns of numbers in one alone."""
    (names, kinds), (others, new_kinds) = columns_of_frame(X), columns_of_frame(X_new)
    if not names or set(names) != set(others):
        return X, X_new
    new_kind = dict(zip(others, new_kinds, strict=True))
    kept = [
        name
        for name, kind in zip(names, kinds, strict=True)
        if are_numbers(kind) == are_numbers(new_kind[name])
    ]
    return columns_by_name(X, kept), columns_by_name(X_new, kept)


def same_law_pvalue(X: Any, X_new: Any, groups: IntArray | None = None) -> float | None:
    """The share of exchanges of rows after which the two tables differ as much as they do.

    Of each group one row is drawn, and of very many rows so many. None for what is no table of numbers.
    """
    old, new = numbers_of(X), numbers_of(X_new)
    if old is None or new is None or old.shape[1] != new.shape[1]:
        return None
    random, d = np.random.default_rng(0), old.shape[1]
    columns = np.unique(np.linspace(0, d - 1, min(d, MOST_COLUMNS)).astype(np.intp))
    tables = []
    for table, unit in ((old, groups), (new, None)):
        rows = random.permutation(table.shape[0])
        rows = rows if unit is None else rows[np.unique(unit[rows], return_index=True)[1]]
        rows = rows[random.permutation(len(rows))[:MOST_ROWS]]
        tables.append(_entries(table, rows, columns))
    both = np.vstack(tables)
    both = both[:, np.isfinite(both).all(axis=0)]
    spread = both.std(axis=0)
    both = (both - both.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    np.clip(both, -LARGEST, LARGEST, out=both)
    seen = np.hstack([both, both**2])
    seen -= seen.mean(axis=0)
    is_new = np.repeat([0.0, 1.0], [len(table) for table in tables])
    exchanged = np.stack([is_new, *(random.permutation(is_new) for _ in range(N_EXCHANGES))])
    # Sums of centred rows that count as new: their squares order the exchanges as differences of means do.
    size = np.sum((exchanged @ seen) ** 2, axis=1)
    return float(np.mean(size >= size[0] * (1.0 - 1e-12)))
