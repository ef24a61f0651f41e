"""What workers do with one chunk of the data: functions of arrays, which know nothing of dask.

No function changes what it is given, since workers keep it for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.features.dense import column_blocks


@dataclass(frozen=True)
class ChunkScale:
    """Shift and factor of the columns of a chunk: inner columns are ``(x - shift) * factor``."""

    shift: FloatArray
    factor: FloatArray

    def inner(self, products: FloatArray, mass: FloatArray) -> FloatArray:
        """Products with columns as they are, as those with inner ones; ``mass`` (B x 1) is their weight."""
        return (products - mass * self.shift) * self.factor


def product(chunk: np.ndarray, weights: FloatArray | sparse.csr_array) -> FloatArray:
    """``weights @ chunk`` in float64; other numbers are converted a block at a time, which stays in cache."""
    if chunk.dtype == np.float64 or sparse.issparse(weights):
        return weights @ chunk.astype(np.float64, copy=False)
    found = np.empty((len(weights), chunk.shape[1]))
    for part in _blocks(chunk.shape[1], len(chunk)):
        np.matmul(weights, chunk[:, part].astype(np.float64), out=found[:, part])
    return found


def scores_of(chunk: np.ndarray, coefficients: FloatArray) -> FloatArray:
    """``coefficients @ chunk'`` in float64, from the columns that have a coefficient."""
    used = np.flatnonzero(coefficients.any(axis=0))
    scores = np.zeros((len(coefficients), len(chunk)))
    for part in _blocks(len(used), len(chunk)):
        scores += coefficients[:, used[part]] @ chunk[:, used[part]].astype(np.float64, copy=False).T
    return scores


def mean_and_largest(chunk: np.ndarray, weights: FloatArray) -> FloatArray:
    """``weights @ chunk`` (one row) above the largest absolute values of the columns (2 x c)."""
    largest = np.maximum(chunk.max(axis=0, initial=0.0), -chunk.min(axis=0, initial=0.0))
    return np.vstack([product(chunk, weights), largest])


def merge_mean_and_largest(parts: list[FloatArray]) -> FloatArray:
    together = np.stack(parts)
    return np.vstack([together[:, 0].sum(axis=0), together[:, 1].max(axis=0)])


def means_of_inner(
    chunk: np.ndarray, weights: FloatArray, scale: ChunkScale, function: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """``weights @ function(inner columns)``."""
    found = np.empty((len(weights), chunk.shape[1]))
    for part, block in _inner_blocks(chunk, scale):
        found[:, part] = weights @ function(block)
    return found


def class_means(sums: FloatArray, prior: FloatArray, scale: ChunkScale) -> FloatArray:
    """Means of inner columns within classes from sums over the columns as they are, but for rounding."""
    return (sums / prior - scale.shift) * scale.factor


def deviations_from(
    chunk: np.ndarray, masses: FloatArray, scale: ChunkScale, means: FloatArray
) -> FloatArray:
    """Within each class (rows of ``masses``), sums of deviations and of their squares (2 x K x c)."""
    found = np.zeros((2, len(masses), chunk.shape[1]))
    members = [np.flatnonzero(mass) for mass in masses]
    for part, block in _inner_blocks(chunk, scale):
        for k, (rows, mass) in enumerate(zip(members, masses, strict=True)):
            deviation = block[rows] - means[k, part]
            found[0, k, part] = mass[rows] @ deviation
            found[1, k, part] = mass[rows] @ np.square(deviation, out=deviation)
    return found


def mean_and_variance_from(deviations: FloatArray, means: FloatArray, prior: FloatArray) -> FloatArray:
    """Deviations from means that are slightly wrong correct these, and the variance by as much."""
    correction = deviations[0] / prior
    return np.stack([means + correction, deviations[1] / prior - correction**2])


def largest_of_draws(  # noqa: PLR0917 - tasks take no names
    products: FloatArray,
    scale: ChunkScale,
    mass: FloatArray,
    sums: FloatArray,
    tau: FloatArray,
    inverse: FloatArray,
) -> FloatArray:
    """For each draw, with a row of ``products`` per block, the largest ``|moment - sum tau| inverse``."""
    moments = scale.inner(products, mass).reshape(-1, *tau.shape)
    moments -= sums[:, None, None] * tau
    moments *= inverse
    largest: FloatArray = np.abs(moments, out=moments).max(axis=(1, 2), initial=0.0)
    return largest


def some_columns(chunk: np.ndarray, columns: IntArray) -> np.ndarray:
    """Columns as rows (c x rows), in the precision that they have."""
    return np.ascontiguousarray(chunk.T[columns])


def some_rows(chunk: np.ndarray, rows: IntArray) -> np.ndarray:
    return chunk[rows]


def _inner_blocks(chunk: np.ndarray, scale: ChunkScale) -> Iterator[tuple[slice, FloatArray]]:
    for part in _blocks(chunk.shape[1], len(chunk)):
        block = chunk[:, part] - scale.shift[part]
        block *= scale.factor[part]
        yield part, block


def _blocks(n_columns: int, n_rows: int) -> Iterator[slice]:
    """Slices of columns that stay in cache; selections leave chunks without rows."""
    return column_blocks(n_columns, max(1, n_rows))
