"""Dense training features: one copy of the data, centred and scaled block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from minimaxrisk.arrays import FloatArray, IntArray
from minimaxrisk.features.class_moments import ClassMoments, within_class_moments
from minimaxrisk.features.matrix import ColumnScale, is_negligible, power_of_two
from minimaxrisk.instances import Instances

# Elements of X worked on at a time: small enough for the steps on one block to stay in cache.
BLOCK_ELEMENTS = 1 << 17


@dataclass
class DenseFeatures:
    """A feature matrix held as one array."""

    values: FloatArray
    n_passes: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        return block_weights @ self.values

    def combine(self, coefficients: FloatArray) -> FloatArray:
        used = np.flatnonzero(coefficients.any(axis=0))
        if 2 * len(used) > self.shape[1]:
            self.n_passes += 1
            return coefficients @ self.values.T
        return coefficients[:, used] @ self.values[:, used].T

    def columns(self, indices: IntArray) -> FloatArray:
        return self.values[:, indices]

    def shifted_columns(self, indices: IntArray) -> tuple[sparse.csc_array, FloatArray]:
        return sparse.csc_array(self.values[:, indices]), np.zeros(len(indices))


def dense_features(
    X: FloatArray, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[DenseFeatures, ClassMoments, ColumnScale]:
    """Copy the distinct instances, scale the copy and take its moments, all in one pass over X."""
    d, lead = X.shape[1], int(fit_intercept)
    n, n_classes = instances.n_instances, instances.p_hat.shape[0]
    values = np.empty((n, lead + d))
    shift, scale = np.zeros(d), np.ones(d)
    mean, variance = np.zeros((n_classes, lead + d)), np.zeros((n_classes, lead + d))
    values[:, :lead], mean[:, :lead] = 1.0, 1.0

    for outer in column_blocks(d, n):
        inner = slice(outer.start + lead, outer.stop + lead)
        block = X[:, outer][instances.rows].astype(np.float64, copy=False)
        shift[outer], scale[outer] = rescale_in_place(block, instances.weights, centre=standardize)
        values[:, inner] = block
        mean[:, inner], variance[:, inner] = within_class_moments(block, instances.p_hat)
    moments = ClassMoments(instances.p_hat.sum(axis=1), mean, variance)
    return DenseFeatures(values), moments, ColumnScale(shift, scale, fit_intercept)


def column_blocks(n_columns: int, n_rows: int) -> Iterator[slice]:
    """Slices of columns, each about ``BLOCK_ELEMENTS`` entries."""
    width = max(1, BLOCK_ELEMENTS // n_rows)
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


def rescale_in_place(
    block: FloatArray, weights: FloatArray, *, centre: bool
) -> tuple[FloatArray, FloatArray]:
    """Bring columns to unit root mean square, after centring if asked for; return shift and scale.

    Columns that do not vary beyond rounding (or are zero, without centring) become zero, scale 1.
    """
    power = power_of_two(np.maximum(block.max(axis=0), -block.min(axis=0)))
    block /= power
    shift = np.zeros(block.shape[1])
    if centre:
        for _ in range(2):  # the second time subtracts what rounding left of the mean
            step = weights @ block
            block -= step
            shift += step
    spread = np.sqrt(weights @ np.square(block))
    shift, scale = shift * power, spread * power
    negligible = is_negligible(scale, shift, len(block))
    block[:, negligible] = 0.0
    spread[negligible], scale[negligible] = 1.0, 1.0
    block /= spread
    return shift, scale
