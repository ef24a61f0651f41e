"""Sparse training features: centred and scaled implicitly, never made dense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.features.dense import column_groups, rescale_in_place
from minimaxrisk.features.matrix import (
    ClassMoments,
    ColumnScale,
    FeatureMatrix,
    KeptColumns,
    PassRates,
    power_of_two,
    within_class_moments,
)
from minimaxrisk.features.working_rows import Rows, rows_of_shifted
from minimaxrisk.samples.instances import Instances

# A column whose mean is this many times its deviation is centred for good: the implicit form would lose
# digits to cancellation, and such a column has hardly any zeros to preserve.
CENTRED_FOR_GOOD = 1e3
# Columns are gathered before a product if they hold no more than this share of the entries: copying an entry
# takes longer than multiplying it.
WORTH_GATHERING = 0.25
# Empty columns are left out if no more than this share of all is left then. A few take little memory, and an
# answer that hangs on rounding, as that of Dorothea with 8% of them, stays what it is.
MOST_KEPT = 0.5


@dataclass
class SparseFeatures(FeatureMatrix):
    """The matrix ``V - 1 c'`` with V sparse, behind a column of ones if there is an intercept."""

    is_sparse: ClassVar[bool] = True
    pass_rates: ClassVar[PassRates] = PassRates(0.0, 0.0, 2.5e-9)

    values: sparse.csc_array
    offset: FloatArray
    has_intercept: bool
    n_passes: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1] + int(self.has_intercept)

    @property
    def n_stored(self) -> int:
        return int(self.values.nnz)

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        mass = block_weights.sum(axis=1, keepdims=True)
        inner = (self.values.T @ block_weights.T).T - mass * self.offset
        return np.hstack([mass, inner]) if self.has_intercept else inner

    def combine(self, coefficients: FloatArray) -> FloatArray:
        inner = coefficients[:, int(self.has_intercept) :]
        used = np.flatnonzero(inner.any(axis=0))
        n_entries = int((self.values.indptr[used + 1] - self.values.indptr[used]).sum())
        values, weights = self.values, inner
        if n_entries > WORTH_GATHERING * self.values.nnz:
            self.n_passes += 1
        else:
            values, weights = self.values[:, used], inner[:, used]
        constant = -(inner[:, used] @ self.offset[used])
        if self.has_intercept:
            constant = constant + coefficients[:, 0]
        return (values @ weights.T).T + constant[:, None]

    def means_of(self, function: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
        """Stored entries as they are; where nothing is stored the entry is minus the offset."""
        self.n_passes += 1
        d = self.values.shape[1]
        column = np.repeat(np.arange(d), np.diff(self.values.indptr))
        stored, elsewhere = function(self.values.data - self.offset[column]), function(-self.offset)
        rows = []
        for row in weights:
            weight, total = row[self.values.indices], row.sum()
            absent = np.maximum(total - np.bincount(column, weight, minlength=d), 0.0)
            inner = np.bincount(column, weight * stored, minlength=d) + absent * elsewhere
            lead = total * function(np.ones(int(self.has_intercept)))
            rows.append(np.concatenate([lead, inner]))
        return np.stack(rows)

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        self.n_passes += 1
        found = []
        for p_hat in p_hats:
            mean, variance = _within_class_moments(self.values, p_hat)
            mean -= self.offset
            found.append(ClassMoments.of(p_hat, mean, variance, has_intercept=self.has_intercept))
        return found

    def by_row(self) -> SparseRows:
        return SparseRows(self.values.tocsr(), self.offset, self.has_intercept)

    def lengths_of_instances(self) -> FloatArray:
        """From the stored entries: ``|v - c|^2 = |v|^2 - 2 v'c + |c|^2``."""
        self.n_passes += 1
        entries = np.bincount(self.values.indices, self.values.data**2, minlength=self.shape[0])
        squares = entries - 2.0 * (self.values @ self.offset) + self.offset @ self.offset
        return np.sqrt(np.maximum(squares, 0.0) + int(self.has_intercept))

    def averaged(self, shares: sparse.csr_array) -> SparseFeatures:
        self.n_passes += 1
        return SparseFeatures(sparse.csc_array(shares @ self.values), self.offset, self.has_intercept)

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> SparseFeatures:
        first = sparse.csr_array(after[:, int(self.has_intercept) :] + self.offset)
        values = sparse.vstack([first, self.values.tocsr()[indices]], format="csc")
        return SparseFeatures(values, self.offset, self.has_intercept)

    def columns(self, indices: IntArray) -> FloatArray:
        values, offset = self.shifted_columns(indices)
        return values.toarray() - offset

    def shifted_columns(self, indices: IntArray) -> tuple[sparse.csc_array, FloatArray]:
        if not self.has_intercept:
            return self.values[:, indices], self.offset[indices]
        # The intercept is 0 - (-1); any column serves for its values, which are multiplied by zero.
        is_intercept = indices == 0
        j = np.where(is_intercept, 0, indices - 1)
        values = self.values[:, j]
        if is_intercept.any():
            values.data[np.repeat(is_intercept, np.diff(values.indptr))] = 0.0
            values.eliminate_zeros()
        return values, np.where(is_intercept, -1.0, self.offset[j])

    def working_rows(self, indices: IntArray) -> Rows:
        return rows_of_shifted(*self.shifted_columns(indices))


@dataclass(frozen=True)
class SparseRows:
    """``SparseFeatures`` held row by row.

    Products then read and write vectors of length d at random places, not of length n: with 100,000 texts of
    20,000 words they take half of the time.
    """

    values: sparse.csr_array
    offset: FloatArray
    has_intercept: bool

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1] + int(self.has_intercept)

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        mass = block_weights.sum(axis=1, keepdims=True)
        inner = (self.values.T @ block_weights.T).T - mass * self.offset
        return np.hstack([mass, inner]) if self.has_intercept else inner

    def combine(self, coefficients: FloatArray) -> FloatArray:
        inner = coefficients[:, int(self.has_intercept) :]
        constant = -(inner @ self.offset)
        if self.has_intercept:
            constant = constant + coefficients[:, 0]
        return (self.values @ inner.T).T + constant[:, None]

    def some(self, rows: IntArray) -> SparseRows:
        return SparseRows(self.values[rows], self.offset, self.has_intercept)


def sparse_features(
    X: DataMatrix, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[SparseFeatures, ClassMoments, ColumnScale]:
    """Moments and scale of a sparse matrix from its stored entries alone.

    From here on a matrix has columns, as every later step asks for them: it is converted once.
    """
    X, kept = _without_empty_columns(sparse.csc_array(X[instances.rows], dtype=np.float64, copy=True))
    p_hat, prior = instances.p_hat, instances.p_hat.sum(axis=1)
    n_stored = np.diff(X.indptr)
    largest, has_entries = np.zeros(X.shape[1]), n_stored > 0
    if X.nnz:
        largest[has_entries] = np.maximum.reduceat(np.abs(X.data), X.indptr[:-1][has_entries])
    # Coefficients of columns near the smallest number would overflow; such columns count as zero.
    X.data[np.repeat(largest < np.finfo(np.float64).tiny, n_stored)] = 0.0
    power = power_of_two(largest)
    X.data /= np.repeat(power, n_stored)
    mean, variance = _within_class_moments(X, p_hat)
    shift = prior @ mean if standardize else np.zeros(X.shape[1])
    deviation = np.sqrt(prior @ (variance + (mean - shift) ** 2))
    scale = np.where(deviation > 0.0, deviation, 1.0)
    # A column that is zero wherever there is a label is no feature, whatever it is elsewhere.
    inverse = np.where(deviation > 0.0, 1.0 / scale, 0.0)
    data = X.data * np.repeat(inverse, n_stored)
    values = sparse.csc_array((data, X.indices.copy(), X.indptr.copy()), shape=X.shape)
    values.eliminate_zeros()
    offset = shift * inverse
    mean, variance = (mean - shift) / scale, variance / scale**2

    stubborn = np.flatnonzero(np.abs(shift) > CENTRED_FOR_GOOD * deviation)
    centred = []
    for part in column_groups(len(stubborn), X.shape[0]):
        j = stubborn[part]
        block = X[:, j].toarray()
        shift[j], scale[j] = rescale_in_place(block, instances.weights, centre=True)
        offset[j] = 0.0
        mean[:, j], variance[:, j] = within_class_moments(block, p_hat)
        centred.append(sparse.csc_array(block))
    if centred:
        others = np.setdiff1d(np.arange(values.shape[1]), stubborn)
        order = np.argsort(np.concatenate([others, stubborn]))
        values = sparse.csc_array(sparse.hstack([values[:, others], *centred]).tocsc()[:, order])

    return (
        SparseFeatures(values, offset, fit_intercept),
        ClassMoments.of(p_hat, mean, variance, has_intercept=fit_intercept),
        ColumnScale(shift * power, scale * power, fit_intercept, kept),
    )


def _without_empty_columns(X: sparse.csc_array) -> tuple[sparse.csc_array, KeptColumns | None]:
    """The columns that hold something, and one that is empty for all others; no copy is made of entries."""
    n, d = X.shape
    is_kept = np.diff(X.indptr) > 0
    first_empty = int(np.argmin(is_kept))
    is_kept[first_empty] = True
    places = np.flatnonzero(is_kept)
    if len(places) > MOST_KEPT * d:
        return X, None
    kept = KeptColumns(places, d, int(np.searchsorted(places, first_empty)))
    # An empty column begins where the next one does.
    return sparse.csc_array((X.data, X.indices, X.indptr[np.append(places, d)]), shape=(n, len(places))), kept


def _within_class_moments(X: sparse.csc_array, p_hat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and variances of columns within each class; absent entries count as the zeros they are."""
    d = X.shape[1]
    mean, variance = np.empty((len(p_hat), d)), np.empty((len(p_hat), d))
    column_of_entry = np.repeat(np.arange(d), np.diff(X.indptr))
    for k, mass in enumerate(p_hat):
        members = mass > 0
        entry = members[X.indices]
        column, value = column_of_entry[entry], X.data[entry]
        weight = (mass / mass.sum())[X.indices[entry]]
        mean[k] = np.bincount(column, weight * value, minlength=d)
        deviation = value - mean[k][column]
        variance[k] = np.bincount(column, weight * deviation**2, minlength=d)
        # Zeros that are not stored. Counted, because 1 - sum(weights) would leave a rounding error
        # times mean^2 for columns that have none.
        some_absent = np.bincount(column, minlength=d) < members.sum()
        absent = np.maximum(1.0 - np.bincount(column, weight, minlength=d), 0.0)
        variance[k] += np.where(some_absent, absent, 0.0) * mean[k] ** 2
    return mean, variance
