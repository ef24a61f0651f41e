"""Means of instances, not written down: ``S Psi`` with the shares S of the instances in each mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.features.class_moments import ClassMoments, within_class_moments
from minimaxrisk.features.dense import DenseFeatures, column_groups
from minimaxrisk.features.matrix import FeatureMatrix


@dataclass
class AveragedFeatures:
    """Features of means, each of which is a row of ``shares`` (u x n) times the features of the instances."""

    is_sparse: ClassVar[bool] = False
    has_rough_passes: ClassVar[bool] = False

    features: FeatureMatrix
    shares: sparse.csr_array
    n_passes: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.shares.shape[0], self.features.shape[1]

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        return self.features.correlate(block_weights @ self.shares)

    correlate_roughly = correlate

    def combine(self, coefficients: FloatArray) -> FloatArray:
        return (self.shares @ self.features.combine(coefficients).T).T

    def means_of(self, function: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
        return np.concatenate([weights @ function(block) for _, block in self._groups()], axis=1)

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        shape = (len(p_hats[0]), self.shape[1])
        found = [ClassMoments(p_hat.sum(axis=1), np.empty(shape), np.empty(shape)) for p_hat in p_hats]
        for part, block in self._groups():
            for p_hat, moments in zip(p_hats, found, strict=True):
                moments.mean[:, part], moments.variance[:, part] = within_class_moments(block, p_hat)
        return found

    def averaged(self, shares: sparse.csr_array) -> AveragedFeatures:
        return AveragedFeatures(self.features, sparse.csr_array(shares @ self.shares))

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> DenseFeatures:
        chosen = AveragedFeatures(self.features, self.shares[indices])
        values = np.empty((len(after) + len(indices), self.shape[1]), order="F")
        values[: len(after)] = after
        for part, block in chosen._groups():
            values[len(after) :, part] = block
        return DenseFeatures(values)

    def columns(self, indices: IntArray) -> FloatArray:
        return np.asarray(self.shares @ self.features.columns(indices))

    def shifted_columns(self, indices: IntArray) -> tuple[sparse.csc_array, FloatArray]:
        return sparse.csc_array(self.columns(indices)), np.zeros(len(indices))

    def _groups(self) -> Iterator[tuple[slice, FloatArray]]:
        self.n_passes += 1
        for part in column_groups(self.shape[1], self.features.shape[0]):
            yield part, self.columns(np.arange(part.start, part.stop))
