"""Values that were computed with the labels: samples between two others, gaps filled class by class."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray

FEWEST_COLUMNS, MOST_SAMPLES = 20, 1000
# The cosine of the angle at which a sample sees two others; values with four digits leave it below this.
STRAIGHT = -0.9999
# So many repeated values, and this share of them in one class alone where chance has no more than that.
FEWEST_REPEATED, PURE, PURE_BY_CHANCE = 20, 0.95, 0.8
LOOKED_AT = 1_000_000  # cells at once


def samples_between(X: DataMatrix, y: np.ndarray) -> list[tuple[int, int, int]]:
    """Samples on the straight line between two others of their class, as SMOTE makes them, with the two."""
    if sparse.issparse(X) or X.shape[1] < FEWEST_COLUMNS or len(y) > MOST_SAMPLES:
        return []
    found = []
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        values = X[rows][:, np.isfinite(X[rows]).all(axis=0)]
        # In few dimensions samples are on one line by chance.
        if np.count_nonzero(np.ptp(values, axis=0)) < FEWEST_COLUMNS:
            continue
        values = values - values.mean(axis=0)
        products = values @ values.T
        for i in range(len(rows)):
            seen = products - products[i] - products[:, i, None] + products[i, i]
            length = np.sqrt(np.maximum(np.diag(seen), 0.0))
            # Copies are no line.
            is_apart = length > 1e-6 * length.max()
            with np.errstate(divide="ignore", invalid="ignore"):
                cosine = seen / np.outer(length, length)
            cosine[~is_apart], cosine[:, ~is_apart] = 1.0, 1.0
            j, k = np.unravel_index(int(np.argmin(cosine)), cosine.shape)
            if cosine[j, k] < STRAIGHT:
                found.append((int(rows[i]), int(rows[j]), int(rows[k])))
    return found


def filled_by_class(X: DataMatrix, y: np.ndarray) -> int:
    """In how many columns a value is repeated in one class alone, where that is so of nearly all; else 0."""
    if sparse.issparse(X) or X.shape[1] < FEWEST_COLUMNS or len(y) > MOST_SAMPLES:
        return 0
    own = np.unique(y, return_inverse=True)[1]
    shares = np.bincount(own) / len(own)
    lengths, pure, columns = [], [], []
    limits = np.array([0.0, np.nanmin(X, initial=np.inf), np.nanmax(X, initial=-np.inf)])
    step = max(1, LOOKED_AT // len(own))
    for start in range(0, X.shape[1], step):
        found = _repeated(X[:, start : start + step], own, limits)
        lengths.append(found[0])
        pure.append(found[1])
        columns.append(found[2] + start)
    length, is_pure, column = np.concatenate(lengths), np.concatenate(pure), np.concatenate(columns)
    if len(length) < FEWEST_REPEATED or is_pure.mean() < PURE:
        return 0
    by_chance = np.mean((shares[:, None] ** length).sum(axis=0))
    return len(np.unique(column[is_pure])) if by_chance <= PURE_BY_CHANCE else 0


def _repeated(
    X: FloatArray, own: np.ndarray, limits: FloatArray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often each repeated value of a column occurs, whether in one class alone, and its column.

    Zeros, and other values at the end of the range, are limits of measurement or codes.
    """
    order = np.argsort(X, axis=0, kind="stable")
    values, classes = np.take_along_axis(X, order, axis=0).T, own[order].T
    begins = np.ones(values.shape, dtype=bool)
    begins[:, 1:] = values[:, 1:] != values[:, :-1]
    starts = np.flatnonzero(begins.ravel())
    length = np.diff(np.r_[starts, values.size])
    flat = classes.ravel()
    is_pure = np.minimum.reduceat(flat, starts) == np.maximum.reduceat(flat, starts)
    several = (length > 1) & ~np.isin(values.ravel()[starts], limits)
    return length[several], is_pure[several], starts[several] // values.shape[1]
