"""The matrix of the space of moments, K d x K d, and its factors.

It is ``sum_i (gamma_i H_i H_i' + diag(own_i)) x psi_i psi_i'`` with more on its diagonal; ``x`` is
Kronecker's product. With many classes and few columns the factors of one block per class take its place
(``class_blocks``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.positive_definite import FactorisationError, diagonal_of
from minimaxrisk.engines.class_blocks import ClassBlocks, blocks_are_cheaper

# Products of two columns are kept where they are no more numbers than this, and no more columns than so many
# times the pairs of classes that need them; else rows are taken in blocks.
MOST_PRODUCTS, COLUMNS_PER_PAIR, ROWS_OF_BLOCK = 1 << 24, 4, 1024
# Relative additions to the diagonal, tried in turn where rounding makes the matrix indefinite.
ADDITIONS = (0.0, 1e-12, 1e-10, 1e-8)
# Weights of instances that count, as a fraction of the largest: near the optimum these are few.
NEGLIGIBLE = 1e-12

# Weights of instances to the weighted sum of ``psi_i psi_i'``.
Squares: TypeAlias = Callable[[FloatArray], FloatArray]


class MomentMatrices:
    """The columns of Phi for one label (n x d), and the matrices that weights on instances make of them."""

    def __init__(self, Z: FloatArray, n_classes: int, squares: Squares | None = None) -> None:
        self._Z, self._n_classes, self._squares = Z, n_classes, squares
        n, d = Z.shape
        self._first, self._second = np.tril_indices(n_classes)
        self._lower = np.tril_indices(d)
        self._products: FloatArray | None = None
        is_few = n * len(self._lower[0]) <= MOST_PRODUCTS and d <= COLUMNS_PER_PAIR * len(self._first)
        if is_few and squares is None:
            self._products = Z[:, self._lower[0]] * Z[:, self._lower[1]]

    def factorised(
        self, gamma: FloatArray, H: FloatArray, own: FloatArray, of_mu: FloatArray
    ) -> ClassBlocks | WholeMatrix:
        """The matrix with ``of_mu`` (K x d) on its diagonal, by whichever factors are cheaper."""
        if blocks_are_cheaper(len(self._Z), self._Z.shape[1], self._n_classes):
            return ClassBlocks(self._Z, own, H, gamma, of_mu)
        return WholeMatrix(self._matrix(gamma, H, own), of_mu)

    def _matrix(self, gamma: FloatArray, H: FloatArray, own: FloatArray) -> FloatArray:
        """The lower triangle in Fortran order."""
        d, n_classes = self._Z.shape[1], self._n_classes
        # By class and column twice; a transpose of the order in memory is the matrix itself.
        matrix = np.empty((n_classes, d, n_classes, d))
        blocks = matrix.transpose(0, 2, 1, 3)
        if self._products is not None:
            weights = (gamma * H)[self._first] * H[self._second]
            weights[self._first == self._second] += own
            sums = weights @ self._products
            of_pair = np.empty((len(sums), d, d))
            of_pair[:, self._lower[0], self._lower[1]] = of_pair[:, self._lower[1], self._lower[0]] = sums
            blocks[self._second, self._first] = of_pair
        else:
            for j, k in zip(self._first, self._second, strict=True):
                weights = gamma * H[j] * H[k]
                block = self._weighted(weights + own[j] if j == k else weights)
                blocks[k, j] = block + np.tril(block, -1).T
        return matrix.reshape(n_classes * d, n_classes * d).T

    def _weighted(self, weights: FloatArray) -> FloatArray:
        """``sum_i weights_i psi_i psi_i'`` for weights that are not negative; its lower triangle."""
        if self._squares is not None:
            return np.tril(self._squares(weights))
        counting = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
        Z, roots = self._Z[counting], np.sqrt(weights[counting])
        total = np.zeros((Z.shape[1], Z.shape[1]), order="F")
        for start in range(0, len(Z), ROWS_OF_BLOCK):
            rows = slice(start, start + ROWS_OF_BLOCK)
            scaled = Z[rows] * roots[rows, None]
            total = dsyrk(1.0, scaled.T, beta=1.0, c=total, lower=1, overwrite_c=1)
        return total


class WholeMatrix:
    """The matrix and its factor, by LAPACK."""

    def __init__(self, matrix: FloatArray, of_mu: FloatArray) -> None:
        diagonal = diagonal_of(matrix)
        size = diagonal + of_mu.ravel()
        for addition in ADDITIONS:
            diagonal[:] = (1.0 + addition) * size
            self._factor, info = dpotrf(matrix, lower=1, clean=0, overwrite_a=addition == ADDITIONS[-1])
            if info == 0:
                return
        raise FactorisationError

    def solve(self, right: FloatArray) -> FloatArray:
        """The solution for one right-hand side."""
        solved: FloatArray = dpotrs(self._factor, right, lower=1)[0]
        return solved
