"""The features: columns of a container, centred and scaled, on the rows that are instances.

``Standardised`` is the matrix ``Psi = (X - 1 mean') diag(factor)`` on some rows of X, behind a column of ones
if there is an intercept. It is never written down: products are taken with X, and what mean and factor change
is put right in the result. Such a product loses as many digits as the mean of a column is larger than its
deviation, so that large means are subtracted before (``inside``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import (
    FloatArray,
    IntArray,
    concatenated,
    entries_at,
    namespace_of,
    put_columns,
    to_numpy,
)
from minimaxrisk.matrices.dense import StoredMatrix
from minimaxrisk.matrices.matrix import Function, Matrix, slices_of
from minimaxrisk.matrices.moments import ENOUGH_VARIANCE, ClassMoments, within_class_moments
from minimaxrisk.matrices.sparse import SparseMatrix
from minimaxrisk.matrices.working_rows import DenseRows, Rows, rows_of_shifted

# Entries gathered at a time, where columns are read one group after the other.
GROUP_ELEMENTS = 1 << 21


@dataclass
class Standardised:
    """The matrix ``(X - 1 (inside + shift)') diag(factor)`` of some rows, behind ones for an intercept.

    What ends with ``_on_device`` is where the data are, in memory or on a device; the rest is in memory.

    Attributes
    ----------
    rows : array of int or None
        The rows of X that are instances; None stands for all rows in their order.
    inside : array or None
        What is subtracted from columns before products are taken, the same for all features on this matrix;
        None stands for zeros.
    shift : array
        What is subtracted besides. Where ``inside`` is a large mean, this is what rounding left of the mean.
    factor : array
        Zero for columns that do not vary.
    n_passes : int
        How often all of the matrix was read.
    """

    matrix: Matrix
    rows: IntArray | None
    shift: Any
    factor: Any
    has_intercept: bool
    inside: Any = None
    n_passes: int = 0

    @classmethod
    def of_matrix(cls, matrix: Matrix) -> Standardised:
        """Features that are the columns of a matrix as they are."""
        d = matrix.shape[1]
        return cls(matrix, None, np.zeros(d), np.ones(d), has_intercept=False)

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.matrix.shape
        return n if self.rows is None else len(self.rows), d + self.lead

    @property
    def lead(self) -> int:
        """How many columns stand before those of X: one if there is an intercept."""
        return int(self.has_intercept)

    @property
    def mean(self) -> Any:
        """What is subtracted from columns in all."""
        return self.shift if self.inside is None else self.inside + self.shift

    def _at(self, inner: IntArray) -> tuple[FloatArray | None, FloatArray, FloatArray]:
        """What is subtracted first and then, and the factor, of some columns of X, in this process."""
        if self.inside is None:
            return None, *entries_at(inner, self.shift, self.factor)
        inside, shift, factor = entries_at(inner, self.inside, self.shift, self.factor)
        return inside, shift, factor

    @property
    def is_sparse(self) -> bool:
        """Whether only entries that are not zero are stored."""
        return self.matrix.hints.is_sparse

    @property
    def has_rough_passes(self) -> bool:
        """Whether rough passes take less time."""
        return self.matrix.hints.has_rough_passes

    @property
    def shared_key(self) -> int | None:
        """Equal for features on the same data, whose problems can be solved together; None if they cannot."""
        return id(self.matrix) if self.matrix.hints.can_share else None

    def on_device(self, values: FloatArray | IntArray) -> Any:
        """An array of this process, copied to where the features are."""
        return self.matrix.on_device(values)

    # Products.

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        """``V Psi``: every column's product with each row of ``V`` (B x n), in one pass (B x d)."""
        return to_numpy(self.correlate_on_device(block_weights))

    def correlate_on_device(
        self, block_weights: FloatArray, *, roughly: bool = False, alike: bool = False
    ) -> Any:
        """``correlate`` where the data are.

        Roughly: with no more digits than the data have, where that is faster. Alike: no row depends on the
        others, for any number of rows.
        """
        self.n_passes += 1
        lifted = self.lifted(block_weights)
        if roughly and self.has_rough_passes:
            lifted = lifted.astype(np.float32)
        products = self.matrix.left(self.on_device(lifted), self.inside, alike=alike)
        return self.standardised(products, block_weights)

    def products_together(self, lifted: FloatArray) -> Any:
        """Products for ``standardised`` of all features that share X, with weights of its rows (R x N)."""
        self.n_passes += 1
        return self.matrix.left(self.on_device(lifted), self.inside, alike=True)

    def standardised(self, products: Any, block_weights: FloatArray) -> Any:
        """What products of ``X - 1 inside'`` are as products of the features; the argument is changed."""
        mass = self.on_device(block_weights.sum(axis=1, keepdims=True))
        products -= mass * self.shift
        products *= self.factor
        return concatenated([mass, products]) if self.has_intercept else products

    def lifted(self, weights: FloatArray) -> FloatArray:
        """Weights of instances (R x n) as weights of the rows of X."""
        return lifted_to_rows(weights, self.rows, self.matrix.shape[0])

    def combine(self, coefficients: FloatArray) -> FloatArray:
        """``M Psi'``: block scores of every instance (B x n), from the non-zero columns of M (B x d)."""
        used = np.flatnonzero(coefficients.any(axis=0))
        if 2 * len(used) <= self.shape[1]:
            return self.combine_some(used, coefficients[:, used])
        self.n_passes += 1
        return self.combine_some(np.arange(self.shape[1]), coefficients)

    def combine_some(self, columns: IntArray, coefficients: FloatArray) -> FloatArray:
        """``combine`` for coefficients (B x c) of some ascending columns; the others are zero."""
        constant = np.zeros((len(coefficients), 1))
        if self.has_intercept and len(columns) and columns[0] == 0:
            constant, columns, coefficients = coefficients[:, :1], columns[1:], coefficients[:, 1:]
        places = columns - self.lead
        inside, shift, factor = self._at(places)
        scaled = coefficients * factor
        scores = self.matrix.right(scaled, places, inside)
        if self.rows is not None:
            scores = scores[:, self.rows]
        return scores + (constant - (scaled @ shift)[:, None])

    def largest_deviations(
        self, weights: FloatArray, sums: FloatArray, tau: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """The largest ``|weights Psi - sum tau| inverse`` of each block (draws x B), from draws x B x n."""
        centre, unit, found = self.on_device(tau), self.on_device(inverse), []
        n_at_a_time = max(1, self.matrix.hints.drawn_elements // max(tau.size, weights.shape[2]))
        for part in slices_of(slice(0, len(weights)), n_at_a_time):
            products = self.correlate_on_device(weights[part].reshape(-1, weights.shape[2]))
            xp = namespace_of(products)
            draws = xp.reshape(products, (-1, *tau.shape))
            draws -= self.on_device(sums[part, None, None]) * centre
            draws *= unit
            # Without a copy of the absolute values.
            found.append(to_numpy(xp.maximum(xp.max(draws, axis=2), -xp.min(draws, axis=2))))
        return np.concatenate(found)

    # Moments.

    def means_of(self, function: Function, weights: FloatArray) -> FloatArray:
        """``sum_i weights_ri function(psi_ij)`` for each row of weights (R x n), in one pass (R x d)."""
        self.n_passes += 1
        lifted = self.on_device(self.lifted(weights))
        (found,) = self.matrix.reduce([function], lifted, self.mean, self.factor)
        lead = weights.sum(axis=1, keepdims=True) * function(np.ones((1, self.lead)))
        return np.hstack([lead, to_numpy(found)])

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        """Moments within the classes of other distributions of labels (K x n each), in one pass."""
        self.n_passes += 1
        lifted = self.on_device(self.lifted(np.concatenate(p_hats)))
        sums = self.matrix.reduce([itself, square], lifted, self.mean, self.factor, alike=True)
        n_classes, found = len(p_hats[0]), []
        for i, p_hat in enumerate(p_hats):
            own = slice(i * n_classes, (i + 1) * n_classes)
            prior = self.on_device(p_hat.sum(axis=1)[:, None])
            mean = sums[0][own, :] / prior
            moments = ClassMoments(p_hat.sum(axis=1), mean, sums[1][own, :] / prior - mean * mean)
            if self.inside is not None:  # a sum of two numbers, which rounding changes
                moments.mean[...] += ((self.mean - self.inside) - self.shift) * self.factor
            # The subtraction loses digits where a column hardly varies within a class.
            xp = namespace_of(mean)
            is_lossy = xp.any(moments.variance < ENOUGH_VARIANCE * mean * mean, axis=0)
            lossy = np.flatnonzero(to_numpy(is_lossy))
            for part in column_groups(len(lossy), self.matrix.shape[0]):
                accurate = self.class_moments_of(lossy[part] + self.lead, p_hat)
                put_columns(moments.mean, lossy[part], accurate.mean)
                put_columns(moments.variance, lossy[part], accurate.variance)
            found.append(moments.with_intercept() if self.has_intercept else moments)
        return found

    def class_moments_of(self, columns: IntArray, p_hat: FloatArray) -> ClassMoments:
        """Accurate moments of some columns, which are gathered."""
        mean, variance = within_class_moments(self.columns(columns), p_hat)
        return ClassMoments(p_hat.sum(axis=1), self.on_device(mean), self.on_device(variance))

    # Columns and rows.

    def columns(self, indices: IntArray) -> FloatArray:
        """Some columns as a dense n x c array."""
        if self.is_sparse:
            values, offset = self.shifted_columns(indices)
            return values.toarray() - offset
        return to_numpy(self.columns_on_device(indices))

    def columns_on_device(self, indices: IntArray, unit: FloatArray | float = 1.0) -> Any:
        """Some columns of a matrix that is not sparse, each times a unit."""
        is_one = indices < self.lead  # the intercept; any column serves for its values
        inner = np.maximum(indices - self.lead, 0)
        values = self.matrix.columns(inner).T  # which lie row by row
        xp, place = namespace_of(values), self.on_device(inner)
        if self.rows is not None:
            values = xp.take(values, self.on_device(self.rows), axis=1)
        if self.inside is not None:
            values -= xp.take(self.inside, place)[:, None]
        values -= xp.take(self.shift, place)[:, None]
        unit = unit * np.ones(len(indices))
        values *= (xp.take(self.factor, place) * self.on_device(unit))[:, None]
        for i in np.flatnonzero(is_one).tolist():
            values[i, :] = unit[i]
        return values.T

    def shifted_columns(self, indices: IntArray) -> tuple[sparse.csc_array, FloatArray]:
        """Some columns as ``V - 1 c'``: V has few entries where the data have few, c one per column."""
        if not self.is_sparse:
            return sparse.csc_array(self.columns(indices)), np.zeros(len(indices))
        # The intercept is 0 - (-1); any column serves for its values, which are multiplied by zero.
        inner = np.maximum(indices - self.lead, 0)
        _, shift, factor = self._at(inner)
        is_one = indices < self.lead
        factor = np.where(is_one, 0.0, factor)
        values = self.matrix.columns(inner)
        values.data = values.data * np.repeat(factor, np.diff(values.indptr))
        values.eliminate_zeros()
        return values, np.where(is_one, -1.0, shift * factor)

    def working_rows(self, indices: IntArray, units: FloatArray) -> Rows:
        """Some columns, each times a unit, as the rows of a working set."""
        if self.is_sparse:
            return rows_of_shifted(*self.shifted_columns(indices)).scaled(units)
        return DenseRows(np.ascontiguousarray(to_numpy(self.columns_on_device(indices, units)).T))

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> Standardised:
        """Some instances, behind others whose features are given (k x d): a matrix of its own, in memory."""
        self.n_passes += 1
        raw = self.matrix.rows_at(indices if self.rows is None else self.rows[indices])
        if self.is_sparse:
            # Columns with a factor of zero are zero whatever is stored.
            unit = np.where(self.factor > 0.0, self.factor, np.inf)
            first = sparse.csr_array(after[:, self.lead :] / unit + self.shift)
            matrix = SparseMatrix(sparse.csc_array(sparse.vstack([first, raw], format="csc")))
            return replace(self, matrix=matrix, rows=None, n_passes=0)
        values = np.ones((len(after) + len(indices), self.shape[1]), order="F")
        values[: len(after)] = after
        values[len(after) :, self.lead :] = raw
        if self.inside is not None:
            values[len(after) :, self.lead :] -= to_numpy(self.inside)
        values[len(after) :, self.lead :] -= to_numpy(self.shift)
        values[len(after) :, self.lead :] *= to_numpy(self.factor)
        return Standardised.of_matrix(StoredMatrix.of_values(values))

    def averaged(self, shares: sparse.csr_array, *, are_means: bool = True) -> Standardised:
        """Each row of ``shares`` (u x n) times the instances; for means the rows sum to one."""
        n_rows = self.matrix.shape[0]
        place = np.arange(n_rows) if self.rows is None else self.rows
        entries = (shares.data, place[shares.indices], shares.indptr)
        lifted = sparse.csr_array(entries, shape=(shares.shape[0], n_rows))
        mixed = self.matrix.mix(lifted) if are_means else None
        if mixed is None:
            return Standardised.of_matrix(MeansOfInstances(self, shares))
        self.n_passes += 1
        return replace(self, matrix=mixed, rows=None, n_passes=0)

    def copied(self) -> Standardised:
        """These features in the form that is fastest to read again and again."""
        compact = None if self.rows is None else self.matrix.compact(self.rows)
        return self if compact is None else replace(self, matrix=compact, rows=None, n_passes=0)

    # For some solvers.

    def by_row(self) -> Standardised | None:
        """The same features held row by row; None where that is no faster to choose rows from."""
        matrix = self.matrix.by_row()
        return None if matrix is None else replace(self, matrix=matrix, n_passes=0)

    def some(self, rows: IntArray) -> Standardised:
        """Some instances of features that are held row by row."""
        return replace(self, matrix=SparseMatrix(self.matrix.rows_at(rows)), n_passes=0)

    def lengths_of_instances(self) -> FloatArray:
        """The length of every row psi_i (n), where they may differ much; else ones."""
        squares = self.matrix.square_lengths(self.shift, self.factor)
        if squares is None:
            return np.ones(self.shape[0])
        self.n_passes += 1
        return np.sqrt(np.maximum(squares, 0.0) + self.lead)

    def gram(self, unit: FloatArray) -> FloatArray:
        """``Psi D^2 Psi'`` (n x n) in one pass, with D the diagonal matrix of ``unit``."""
        n, d = self.shape
        total = np.zeros((n, n))
        self.n_passes += 1
        for part in column_groups(d, n):
            columns = np.arange(part.start, part.stop)
            if self.is_sparse:
                values, shift = self.shifted_columns(columns)
                values, shift = values @ sparse.diags_array(unit[columns]), shift * unit[columns]
                across = values @ shift
                total += (values @ values.T).toarray() - across[:, None] - across + shift @ shift
            else:
                scaled = self.columns(columns) * unit[columns]
                total += scaled @ scaled.T
        return total


@dataclass(frozen=True)
class MeansOfInstances(Matrix):
    """Rows of ``shares`` (u x n) times the features, computed where they are read, in this process."""

    features: Standardised
    shares: sparse.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        return self.shares.shape[0], self.features.shape[1]

    def left(self, weights: Any, shift: Any | None = None, *, alike: bool = False) -> FloatArray:
        return self.features.correlate(weights @ self.shares)

    def right(self, coefficients: FloatArray, columns: IntArray, shift: FloatArray | None) -> FloatArray:
        return np.asarray(self.features.combine_some(columns, coefficients) @ self.shares.T)

    def columns(self, indices: IntArray) -> FloatArray:
        return np.asarray(self.shares @ self.features.columns(indices))

    def rows_at(self, indices: IntArray) -> FloatArray:
        return self.columns(np.arange(self.shape[1]))[indices]

    def reduce(
        self, functions: Sequence[Function], weights: Any, shift: Any, factor: Any, *, alike: bool = False
    ) -> list[FloatArray]:
        self.features.n_passes += 1
        found = np.empty((len(functions), len(weights), self.shape[1]))
        for part in column_groups(self.shape[1], self.features.shape[0]):
            block = self.columns(np.arange(part.start, part.stop))
            for total, function in zip(found, functions, strict=True):
                total[:, part] = weights @ function((block - shift[part]) * factor[part])
        return list(found)


def lifted_to_rows(weights: FloatArray, rows: IntArray | None, n_rows: int) -> FloatArray:
    """Weights of some rows (R x n) as weights of all ``n_rows``; None stands for all rows in their order."""
    if rows is None:
        return weights
    everywhere = np.zeros((len(weights), n_rows))
    everywhere[:, rows] = weights
    return everywhere


def squared_norm(
    features: Standardised, start: FloatArray, n_iterations: int, weights: FloatArray | float = 1.0
) -> float:
    """The largest eigenvalue of ``D Psi Psi'D``, by power iterations from ``start`` (1 x n).

    D is the diagonal matrix of the weights.
    """
    v, norm = start, 0.0
    for _ in range(n_iterations):
        v = weights * features.combine(features.correlate(weights * v / np.linalg.norm(v)))
        norm = float(np.linalg.norm(v))
        if norm == 0.0:
            break
    return norm


def column_groups(n_columns: int, n_rows: int) -> Iterator[slice]:
    """Slices of columns that are gathered together: about ``GROUP_ELEMENTS`` entries."""
    return slices_of(slice(0, n_columns), max(1, GROUP_ELEMENTS // n_rows))


# In operators alone, which arrays of all libraries have.
def itself(values: Any) -> Any:
    """The function that changes nothing."""
    return values


def square(values: Any) -> Any:
    """Squares of numbers."""
    return values * values
