"""Pairs of samples that are far closer than is usual in their class, like one sample measured twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray

BLOCK_ELEMENTS = 4_000_000  # entries that are standardised at once
# With fewer columns, or in smaller classes, distinct samples are as close as noisy copies. In larger classes
# the table of distances takes seconds, and hundreds of megabytes.
FEWEST_COLUMNS, SMALLEST_CLASS, LARGEST_CLASS = 50, 10, 2000
# Squared distances. Near is below this share of the usual distance, and below that share of what is
# particular to the two samples. Members of a class within the last share of the usual one may be copies, too.
NEAR, PARTICULAR, FAR = 0.1, 0.25, 0.3
# What is particular to a sample is what so many others, the nearest ones, do not explain.
N_WITNESSES = 7
# With more near pairs than this that have nothing particular in common, per pair that has, the samples form
# tight subtypes or fill few dimensions, and some are close to others by chance.
EXPLAINED = 0.2


@dataclass(frozen=True)
class NearCopy:
    """Two rows in ascending order, and their distance as a share of the usual one."""

    first: int
    second: int
    share: float


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
