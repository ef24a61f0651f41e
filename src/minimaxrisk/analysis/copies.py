"""Samples that are copies of others, exactly or nearly: what is learned from one is known of the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.features.dense import column_blocks, rescale_in_place

# How many columns of decimals make it unlikely that rows are equal by chance.
FEW = 20
# Of fewer columns, or in smaller classes, distinct samples come as close as noisy copies do. Tables of the
# distances in larger ones take seconds, and hundreds of megabytes.
WIDE, ENOUGH, MOST = 50, 10, 2000
# Squared distances, in shares of the usual one. In the data sets of the paper and their stand-ins no two
# samples are below 0.32; copies with noise of a fifth of each column's deviation are below 0.1.
NEAR, FAR = 0.1, 0.3
# Where so many pairs lie between these, for each one that is near, there is no gap that tells copies apart:
# samples fill few dimensions, and some are close to others by chance.
BETWEEN = 0.2


@dataclass(frozen=True)
class NearCopy:
    """Two rows, the first one first, and their distance as a share of the usual one."""

    first: int
    second: int
    share: float


def exact_copies(X: DataMatrix) -> list[tuple[int, int]]:
    """Pairs of rows that hold the same measurements, the first of them once for each of its copies.

    Rows of few columns, or of whole numbers, may well be equal by chance.
    """
    if sparse.issparse(X) or X.shape[1] < FEW:
        return []
    first: dict[bytes, int] = {}
    found = []
    for i, row in enumerate(X):
        j = first.setdefault(row.tobytes(), i)
        if j != i and (row != np.trunc(row)).sum() >= FEW:
            found.append((j, i))
    return found


def near_copies(X: DataMatrix, y: np.ndarray, groups: np.ndarray | None = None) -> list[NearCopy]:
    """Pairs of a class that are much closer than its samples usually are, the closest first.

    Columns are standardised; those with gaps are left aside. What is usual is the distance within which
    a sample has a quarter of its class: for both samples of a pair, and the smaller one counts. So classes
    that are far apart, or differ in how much they vary, do not make their samples look alike, and neither
    do a few copies. Pairs of one group are known to belong together and are not looked at.
    """
    if sparse.issparse(X) or X.shape[1] < WIDE:
        return []
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    members = [rows for rows in members if ENOUGH <= len(rows) <= MOST]
    found: list[NearCopy] = []
    for rows, product in zip(members, _products(X, members), strict=True):
        apart = np.triu(np.ones(product.shape, dtype=bool), 1)
        if groups is not None:
            apart &= groups[rows][:, None] != groups[rows]
        found += _of_class(rows, product, apart)
    return sorted(found, key=lambda pair: pair.share)


def _products(X: FloatArray, members: list[IntArray]) -> list[FloatArray]:
    """Scalar products of the standardised rows of each class; zeros, if few columns vary."""
    n, d = X.shape
    products = [np.zeros((len(rows), len(rows))) for rows in members]
    n_varying = 0
    for columns in column_blocks(d, n) if members else ():
        block = X[:, columns]
        block = block[:, np.isfinite(block).all(axis=0)]
        rescale_in_place(block, np.full(n, 1.0 / n), centre=True)
        n_varying += int(np.count_nonzero(block.any(axis=0)))
        for k, rows in enumerate(members):
            part = block[rows]
            products[k] += part @ part.T
    return products if n_varying >= WIDE else [np.zeros_like(product) for product in products]


def _of_class(rows: IntArray, product: FloatArray, apart: np.ndarray) -> list[NearCopy]:
    squares = np.diag(product)
    distance = np.maximum(squares[:, None] + squares - 2.0 * product, 0.0)
    np.fill_diagonal(distance, np.inf)
    rank = (len(rows) - 1) // 4
    usual = np.partition(distance, rank, axis=1)[:, rank]
    usual = np.minimum(usual[:, None], usual)
    near = apart & (distance < NEAR * usual)
    between = apart & ~near & (distance < FAR * usual)
    if between.sum() > BETWEEN * near.sum():
        return []
    return [
        NearCopy(int(rows[i]), int(rows[j]), float(np.sqrt(distance[i, j] / usual[i, j])))
        for i, j in np.argwhere(near)
    ]
