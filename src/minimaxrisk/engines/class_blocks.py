"""The matrix of moments of many classes, without forming it.

With Z the instances (n x d), weights of classes in ``own`` and ``share`` (K x n), of instances in ``gamma``
(n) and a diagonal for each class in ``of_mu`` (K x d), the matrix (K d x K d) is

    M + V diag(gamma) V',     M_k = Z' diag(own_k) Z + diag(of_mu_k),     V_k = Z' diag(share_k).

M has one block of d x d per class, and V no more columns than there are instances. So factors of the blocks
and one of ``I + G V'M^-1 V G`` (n x n, G the root of gamma) solve it, in n^2 K d operations instead of
``n (K d)^2 + (K d)^3 / 3``: a twentieth with 100 classes and 300 instances of 20 columns.

That is a difference of numbers that grow as M becomes singular towards the optimum; at gaps of 1e-6 too few
digits are left. But it stays close to the inverse, and a few steps of conjugate gradients, which need
products with the matrix alone, bring the digits back.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.sparse.linalg import LinearOperator, cg

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.positive_definite import cholesky, cholesky_solve, diagonal_of

# Steps of conjugate gradients, and what may be left of the right-hand side. With twelve steps iterations are
# as many, and with none half of all problems end at gaps of 1e-7 to 1e-6.
MOST_STEPS, LEFT = 4, 1e-13
# What is added to the blocks, relative to their diagonal, so that the guess is never far off where they are
# singular. Without it one problem in three ends at a gap of 1e-8.
SOFTENED = 1e-11
# Their operations are small ones, and each solve takes several: with 10 classes and 1000 instances of 200
# columns they are half as many and take twice as long.
TIMES_FEWER = 3


def blocks_are_cheaper(n: int, d: int, n_classes: int) -> bool:
    """Whether the blocks take so much fewer operations than the matrix itself that they are quicker."""
    by_matrix = n * (n_classes * d) ** 2 / 2 + (n_classes * d) ** 3 / 3
    return TIMES_FEWER * operations_by_blocks(n, d, n_classes) < by_matrix


def operations_by_blocks(n: int, d: int, n_classes: int) -> float:
    return n_classes * d * (n * d + d**2 + n**2) + n**3 / 3


class ClassBlocks:
    """Factors of the matrix."""

    def __init__(
        self, Z: FloatArray, own: FloatArray, share: FloatArray, gamma: FloatArray, of_mu: FloatArray
    ) -> None:
        (n, d), n_classes = Z.shape, len(own)
        self._Z, self._own, self._share, self._gamma = Z, own, share, gamma
        self._of_mu = of_mu
        turned = np.ascontiguousarray(Z.T)
        factors = np.empty((n_classes, d, d))
        for factor, weights, more in zip(factors, own, of_mu, strict=True):
            block = np.asfortranarray((turned * weights) @ Z)
            diagonal = diagonal_of(block)
            diagonal += more
            diagonal *= 1.0 + SOFTENED
            factor[:] = np.tril(cholesky(block))
        self._inverse = np.linalg.inv(factors).astype(np.float64, copy=False)
        self._half = np.empty((n_classes * d, n))
        for k, weights in enumerate(np.sqrt(gamma) * share):
            self._half[k * d : (k + 1) * d] = (self._inverse[k] @ turned) * weights
        # The transpose of a matrix by rows is one by columns, which BLAS takes without a copy.
        coupled = dsyrk(1.0, self._half.T, lower=1)
        diagonal = diagonal_of(coupled)
        diagonal += 1.0
        self._coupled = cholesky(coupled)

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the solution (K d), by conjugate gradients from the first guess of the factors."""
        shape = len(right), len(right)
        matrix = LinearOperator(shape, matvec=self._times, dtype=right.dtype)
        inverse = LinearOperator(shape, matvec=self._nearly, dtype=right.dtype)
        first, most = self._nearly(right), MOST_STEPS
        solution: FloatArray = cg(matrix, right, first, rtol=LEFT, atol=0.0, maxiter=most, M=inverse)[0]
        return solution

    def _nearly(self, right: FloatArray) -> FloatArray:
        """The solution but for rounding."""
        shape = *self._of_mu.shape, 1
        halved: FloatArray = (self._inverse @ right.reshape(shape)).ravel()
        halved -= self._half @ cholesky_solve(self._coupled, halved @ self._half)
        solved: FloatArray = (self._inverse.transpose(0, 2, 1) @ halved.reshape(shape)).ravel()
        return solved

    def _times(self, x: FloatArray) -> FloatArray:
        x = x.reshape(self._of_mu.shape)
        e = x @ self._Z.T
        w = self._own * e + self._share * (self._gamma * (self._share * e).sum(axis=0))
        return (w @ self._Z + self._of_mu * x).ravel()
