"""The columns of a working set, one row per constraint, and the sums that Newton systems take over them.

* ``DenseRows`` are an array.
* ``SparseRows`` stay ``V - 1 c'`` with V sparse. No array of constraints times instances is ever made, and a
  sum over constraints takes as many operations as V has pairs of entries:

      G = V D V' - p 1' - 1 p' + gamma 1 1',    p = V D c,  gamma = c'D c,

  and likewise for a sum over instances, ``V' E V - (V'e) c' - c (V'e)' + (1'e) c c'`` with e the diagonal of
  E. Columns whose c would make these subtractions costly are centred for good when they are stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dgemm, dsyr2, dsyrk

from minimaxrisk._utils.arrays import FloatArray, IntArray

# Time of a pair of stored entries in SciPy's sparse product, in units of a pair in BLAS's dense one.
COST_OF_A_PAIR = 120.0


@dataclass(frozen=True)
class DenseRows:
    """psi_j for each constraint j of a working set (|Q| x n); a ``part`` is the slice of one block."""

    values: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    def __getitem__(self, chosen: IntArray | slice) -> FloatArray:
        """Some rows as an array; of sparse ones, ask for few."""
        return self.values[chosen]

    def scaled(self, factors: FloatArray) -> DenseRows:
        """Each row times a factor, in place."""
        np.multiply(self.values, factors[:, None], out=self.values)
        return self

    def combine(self, part: slice, coefficients: FloatArray) -> FloatArray:
        """``sum_j coefficients_j psi_j`` (n)."""
        return coefficients @ self.values[part]

    def correlate(self, part: slice, weights: FloatArray) -> FloatArray:
        """``sum_i weights_i psi_ji`` for every j."""
        return self.values[part] @ weights

    def gram(self, part: slice, weights: FloatArray) -> FloatArray:
        """Lower triangle of ``sum_j weights_j psi_j psi_j'`` (n x n), weights being positive."""
        if part.start == part.stop:
            return np.zeros((self.shape[1],) * 2, order="F")
        return dsyrk(1.0, (self.values[part] * np.sqrt(weights)[:, None]).T, lower=1)

    def cross(self, part: slice, other: slice, weights: FloatArray) -> FloatArray:
        """``sum_i weights_i psi_ji psi_ki`` for j in one part and k in another; weights are not negative.

        Of a part with itself, the lower triangle at least.
        """
        if part.start == part.stop or other.start == other.stop:
            return np.zeros((part.stop - part.start, other.stop - other.start), order="F")
        if part == other:
            return dsyrk(1.0, (self.values[part] * np.sqrt(weights)).T, trans=1, lower=1)
        return dgemm(1.0, (self.values[part] * weights).T, self.values[other].T, trans_a=1)

    def coupled(self, parts: tuple[slice, ...], weights: FloatArray) -> FloatArray:
        """Lower triangle of ``sum_i weights_bi weights_ci psi_ji psi_ki`` (|Q| x |Q|), j of block b, k of c.

        Weights (B x n) are not negative.
        """
        weighted = np.empty(self.shape)
        for part, row in zip(parts, weights, strict=True):
            np.multiply(self.values[part], row, out=weighted[part])
        return dsyrk(1.0, weighted.T, trans=1, lower=1)


@dataclass(frozen=True)
class SparseRows:
    """The same answers of ``(V - 1 c')'``, V being n x |Q|."""

    values: sparse.csc_array
    shift: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[1], self.values.shape[0]

    def __getitem__(self, chosen: IntArray | slice) -> FloatArray:
        return self.values[:, chosen].toarray().T - self.shift[chosen][:, None]

    def scaled(self, factors: FloatArray) -> SparseRows:
        data = self.values.data * np.repeat(factors, np.diff(self.values.indptr))
        return SparseRows(_with_entries(self.values, data), self.shift * factors)

    def combine(self, part: slice, coefficients: FloatArray) -> FloatArray:
        return self._part(part) @ coefficients - float(coefficients @ self.shift[part])

    def correlate(self, part: slice, weights: FloatArray) -> FloatArray:
        return self._part(part).T @ weights - float(weights.sum()) * self.shift[part]

    def gram(self, part: slice, weights: FloatArray) -> FloatArray:
        values, shift = self._part(part), self.shift[part]
        per_entry = np.repeat(weights, np.diff(values.indptr))
        product = _product(values, sparse.csr_array(_with_entries(values, values.data * per_entry).T))
        shared = values @ (weights * shift) - 0.5 * float(weights @ shift**2)
        return dsyr2(-1.0, shared, np.ones_like(shared), lower=1, a=product, overwrite_a=1)

    def cross(self, part: slice, other: slice, weights: FloatArray) -> FloatArray:
        first, second = self._part(part), self._part(other)
        weighted = _with_entries(second, second.data * weights[second.indices])
        product = _product(sparse.csr_array(first.T), weighted)
        mass = float(weights.sum())
        product -= np.outer(first.T @ weights - 0.5 * mass * self.shift[part], self.shift[other])
        product -= np.outer(self.shift[part], second.T @ weights - 0.5 * mass * self.shift[other])
        return product

    def coupled(self, parts: tuple[slice, ...], weights: FloatArray) -> FloatArray:
        matrix = np.zeros((self.shape[0], self.shape[0]), order="F")
        for b, part in enumerate(parts):
            for c, other in enumerate(parts[: b + 1]):
                matrix[part, other] = self.cross(part, other, weights[b] * weights[c])
        return matrix

    def _part(self, part: slice) -> sparse.csc_array:
        """Columns next to each other, without a copy."""
        if part == slice(0, self.shape[0]):
            return self.values
        bounds = self.values.indptr[part.start : part.stop + 1]
        inside = slice(bounds[0], bounds[-1])
        return sparse.csc_array(
            (self.values.data[inside], self.values.indices[inside], bounds - bounds[0]),
            shape=(self.shape[1], part.stop - part.start),
        )


Rows: TypeAlias = DenseRows | SparseRows


def rows_of_shifted(values: sparse.csc_array, shift: FloatArray) -> Rows:
    """The columns of ``V - 1 c'``, in the form whose sums take less time."""
    if sparse_is_faster(values):
        return SparseRows(values, shift)
    return DenseRows(np.ascontiguousarray(values.toarray().T) - shift[:, None])


def sparse_is_faster(values: sparse.csc_array) -> bool:
    """Whether sums over pairs of stored entries take less time than those over all pairs."""
    n, n_columns = values.shape
    stored = np.diff(values.indptr).astype(np.float64)
    return COST_OF_A_PAIR * float(stored @ stored) < float(n) * n * n_columns


def _product(first: sparse.csr_array, second: sparse.csr_array) -> FloatArray:
    return np.asfortranarray((first @ second).toarray(order="F"))


def _with_entries(values: sparse.csc_array, data: FloatArray) -> sparse.csc_array:
    return sparse.csc_array((data, values.indices, values.indptr), shape=values.shape)
