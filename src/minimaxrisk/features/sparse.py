"""Sparse training features: centred and scaled implicitly, never made dense."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from minimaxrisk.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.features.class_moments import ClassMoments
from minimaxrisk.features.matrix import ColumnScale, is_negligible
from minimaxrisk.instances import Instances


@dataclass
class SparseFeatures:
    """A CSC matrix of the caller's values, seen through a ``ColumnScale``."""

    values: DataMatrix
    scale: ColumnScale
    n_passes: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1] + self.scale.n_leading

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        mass = block_weights.sum(axis=1, keepdims=True)
        product = np.asarray((self.values.T @ block_weights.T).T)
        inner = (product - mass * self.scale.shift) / self.scale.scale
        return np.hstack([mass, inner]) if self.scale.has_intercept else inner

    def combine(self, coefficients: FloatArray) -> FloatArray:
        coef, intercept = self.scale.outward(coefficients)
        used = np.flatnonzero(coef.any(axis=0))
        if 2 * len(used) > self.values.shape[1]:
            self.n_passes += 1
        product = np.asarray(self.values[:, used] @ coef[:, used].T).T
        return product + intercept[:, None]

    def columns(self, indices: IntArray) -> FloatArray:
        values, offset = self.shifted_columns(indices)
        return np.asarray(values.todense()) - offset

    def shifted_columns(self, indices: IntArray) -> tuple[sparse.csc_array, FloatArray]:
        is_intercept = indices < self.scale.n_leading
        # Any column serves for the intercept: its values are multiplied by zero.
        j = np.where(is_intercept, 0, indices - self.scale.n_leading)
        factor = np.where(is_intercept, 0.0, 1.0 / self.scale.scale[j])
        values = sparse.csc_array(self.values[:, j] @ sparse.diags_array(factor))
        values.eliminate_zeros()
        return values, np.where(is_intercept, -1.0, self.scale.shift[j] * factor)


def sparse_features(
    X: DataMatrix, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[SparseFeatures, ClassMoments, ColumnScale]:
    """Moments and scale of a CSR matrix from its stored entries alone."""
    X = X[instances.rows].astype(np.float64)
    prior = instances.p_hat.sum(axis=1)
    mean, variance = _within_class_moments(X, instances.p_hat)
    shift = prior @ mean if standardize else np.zeros(X.shape[1])
    scale = np.sqrt(prior @ (variance + (mean - shift) ** 2))
    negligible = is_negligible(scale, shift, instances.n_instances)
    scale[negligible] = 1.0
    mean = (mean - shift) / scale
    variance = variance / scale**2
    mean[:, negligible], variance[:, negligible] = 0.0, 0.0
    if fit_intercept:
        mean = np.hstack([np.ones((len(prior), 1)), mean])
        variance = np.hstack([np.zeros((len(prior), 1)), variance])
    column_scale = ColumnScale(shift, scale, fit_intercept)
    values = X.tocsc()
    return SparseFeatures(values, column_scale), ClassMoments(prior, mean, variance), column_scale


def _within_class_moments(X: DataMatrix, p_hat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and variances of CSR columns within each class; absent entries count as the zeros they are."""
    d = X.shape[1]
    mean, variance = np.empty((len(p_hat), d)), np.empty((len(p_hat), d))
    row_of_entry = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    for k, mass in enumerate(p_hat):
        members = mass > 0
        entry = members[row_of_entry]
        column, value = X.indices[entry], X.data[entry]
        weight = (mass / mass.sum())[row_of_entry[entry]]
        mean[k] = np.bincount(column, weight * value, minlength=d)
        deviation = value - mean[k][column]
        variance[k] = np.bincount(column, weight * deviation**2, minlength=d)
        # Zeros that are not stored. Counted, because 1 - sum(weights) would leave a rounding error
        # times mean^2 for columns that have none.
        some_absent = np.bincount(column, minlength=d) < members.sum()
        absent = 1.0 - np.bincount(column, weight, minlength=d)
        variance[k] += np.where(some_absent, absent, 0.0) * mean[k] ** 2
    return mean, variance
