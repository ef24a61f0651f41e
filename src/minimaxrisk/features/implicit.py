"""Dense features without a copy of the data: shift and scale stand beside them, as for sparse ones.

Float32 stays float32 and is half as large; a block at a time becomes float64, centred and scaled exactly as
``dense_features`` would have stored it, so that every answer is the one of the copy. That takes about twice
the time of a pass over a copy in float64. A rough pass multiplies the data as they are, in their own
precision, and takes half of it; engines use it as long as they are far from the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.features.class_moments import ClassMoments
from minimaxrisk.features.dense import DenseFeatures, column_blocks, mean_and_variance, rescale_quickly
from minimaxrisk.features.matrix import ColumnScale
from minimaxrisk.samples.instances import Instances

# Entries of X from which on a float64 copy is not worth its memory (half a gigabyte).
LARGE = 1 << 26
# Where means are larger than this many deviations, rough products in float32 have no digits left, and the
# data hardly more than these few: a copy is made whatever its size.
LARGEST_MEAN = 1e3


@dataclass
class ImplicitFeatures:
    """The matrix ``(X - 1 shift') diag(factor)`` of some rows of X, behind ones if there is an intercept."""

    is_sparse: ClassVar[bool] = False
    has_rough_passes: ClassVar[bool] = True

    data: np.ndarray  # float32 or float64, any order
    rows: IntArray
    shift: FloatArray
    factor: FloatArray  # zero for columns that do not vary
    has_intercept: bool
    n_passes: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.data.shape[1] + int(self.has_intercept)

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        # The data as they are, but in float64: with means of no more than a thousand deviations the
        # subtraction below leaves thirteen digits.
        n, d = self.data.shape
        everywhere, products = self._on_rows(block_weights, np.float64), np.empty((len(block_weights), d))
        # Column by column or row by row, as the data are.
        buffer = np.empty_like(self.data[:, next(column_blocks(d, n))], dtype=np.float64)
        for part in column_blocks(d, n):
            block = buffer[:, : part.stop - part.start]
            np.copyto(block, self.data[:, part])
            np.matmul(everywhere, block, out=products[:, part])
        return self._centred_and_scaled(products, block_weights)

    def correlate_roughly(self, block_weights: FloatArray) -> FloatArray:
        products = self._on_rows(block_weights, self.data.dtype) @ self.data
        return self._centred_and_scaled(products, block_weights)

    def _on_rows(self, block_weights: FloatArray, dtype: Any) -> np.ndarray:
        everywhere = np.zeros((len(block_weights), len(self.data)), dtype=dtype)
        everywhere[:, self.rows] = block_weights
        return everywhere

    def _centred_and_scaled(self, products: np.ndarray, block_weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        mass = block_weights.sum(axis=1, keepdims=True)
        inner = products - mass * self.shift
        inner *= self.factor
        return np.hstack([mass, inner]) if self.has_intercept else inner

    def combine(self, coefficients: FloatArray) -> FloatArray:
        used = np.flatnonzero(coefficients.any(axis=0))
        scores = np.zeros((len(coefficients), len(self.rows)))
        self.n_passes += 2 * len(used) > self.shape[1]
        for part in column_blocks(len(used), len(self.rows)):
            scores += coefficients[:, used[part]] @ self.columns(used[part]).T
        return scores

    def means_of(self, function: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        return np.concatenate([weights @ function(block) for _, block in self._blocks()], axis=1)

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        self.n_passes += 1
        shape = (len(p_hats[0]), self.shape[1])
        found = [ClassMoments(p_hat.sum(axis=1), np.empty(shape), np.empty(shape)) for p_hat in p_hats]
        for part, block in self._blocks():
            square = np.square(block)
            for p_hat, moments in zip(p_hats, found, strict=True):
                moments.mean[:, part], moments.variance[:, part] = mean_and_variance(
                    p_hat @ block, p_hat @ square, block, p_hat
                )
        return found

    def averaged(self, shares: sparse.csr_array) -> DenseFeatures:
        self.n_passes += 1
        values = np.empty((shares.shape[0], self.shape[1]), order="F")
        for part, block in self._blocks():
            values[:, part] = shares @ block
        return DenseFeatures(values)

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> DenseFeatures:
        self.n_passes += 1
        values = np.empty((len(after) + len(indices), self.shape[1]), order="F")
        values[: len(after)] = after
        for part, block in self._blocks():
            values[len(after) :, part] = block[indices]
        return DenseFeatures(values)

    def columns(self, indices: IntArray) -> FloatArray:
        lead = int(self.has_intercept)
        inner = indices[indices >= lead] - lead
        values = np.ones((len(indices), len(self.rows)))
        gathered = self.data.T[inner][:, self.rows] - self.shift[inner, None]
        values[indices >= lead] = gathered * self.factor[inner, None]
        return values.T

    def shifted_columns(self, indices: IntArray) -> tuple[sparse.csc_array, FloatArray]:
        return sparse.csc_array(self.columns(indices)), np.zeros(len(indices))

    def _blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Columns in float64, centred and scaled, a block at a time."""
        lead, (n, d) = int(self.has_intercept), (len(self.rows), self.data.shape[1])
        if lead:
            yield slice(0, 1), np.ones((n, 1))
        for part in column_blocks(d, n):
            block = self.data[:, part][self.rows] - self.shift[part]
            block *= self.factor[part]
            yield slice(part.start + lead, part.stop + lead), block


def implicit_features(
    X: np.ndarray, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[ImplicitFeatures, ClassMoments, ColumnScale] | None:
    """The data as they are and their moments, in one pass; None where a copy should be made.

    That is where the data are small or float64, or where plain formulas for the moments are not accurate.
    """
    if X.dtype != np.float32 or X.size < LARGE:
        return None
    d, lead, n_classes = X.shape[1], int(fit_intercept), len(instances.p_hat)
    shift, scale, factor = np.empty(d), np.empty(d), np.empty(d)
    mean, variance = np.ones((n_classes, lead + d)), np.zeros((n_classes, lead + d))
    for outer in column_blocks(d, instances.n_instances):
        inner = slice(outer.start + lead, outer.stop + lead)
        block = X[:, outer][instances.rows].astype(np.float64)
        quick = rescale_quickly(block, instances.p_hat, centre=standardize)
        if quick is None:
            return None
        shift[outer], scale[outer], mean[:, inner], variance[:, inner] = quick.moments
        factor[outer] = quick.factor
        if (np.abs(shift[outer]) > LARGEST_MEAN * scale[outer]).any():
            return None
    features = ImplicitFeatures(X, instances.rows, shift, factor, fit_intercept)
    moments = ClassMoments(instances.p_hat.sum(axis=1), mean, variance)
    return features, moments, ColumnScale(shift, scale, fit_intercept)
