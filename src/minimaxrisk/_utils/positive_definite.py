"""Factors of positive definite matrices by LAPACK; triangles are lower ones in Fortran order."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtrmm, dtrsv
from scipy.linalg.lapack import dlauum, dpotrf, dtrtri

from minimaxrisk._utils.arrays import FloatArray

# Relative additions to a diagonal, tried in turn when a factorisation fails.
REGULARISATIONS = (0.0, 1e-13, 1e-11, 1e-9, 1e-7)
# Rows up to which a triangle is inverted in one piece.
SMALL_TRIANGLE = 64


class FactorisationError(ArithmeticError):
    """A matrix is not positive definite to working accuracy."""


def cholesky(matrix: FloatArray) -> FloatArray:
    """Lower Cholesky factor of a matrix given by its lower triangle; regularised where necessary."""
    diagonal = diagonal_of(matrix)
    original = diagonal.copy()
    for extra in REGULARISATIONS:
        if extra > 0.0:
            diagonal[:] = original * (1.0 + extra)
        factor, info = dpotrf(matrix, lower=1, clean=0)
        if info == 0:
            return factor
    raise FactorisationError


def cholesky_solve(factor: FloatArray, right: FloatArray) -> FloatArray:
    """From one right-hand side, for which LAPACK's own function takes twice as long from 200 rows on."""
    return dtrsv(factor, dtrsv(factor, right, lower=1), lower=1, trans=1, overwrite_x=1)


def inverse_from_factor(factor: FloatArray) -> FloatArray:
    """Lower triangle of ``(L L')^-1``."""
    return dlauum(_inverse_of_triangle(factor), lower=1, overwrite_c=1)[0]


def _inverse_of_triangle(lower: FloatArray) -> FloatArray:
    """By halves: LAPACK's own function takes twice as long from about 200 rows on."""
    n = len(lower)
    if n <= SMALL_TRIANGLE:
        return dtrtri(lower, lower=1)[0]
    half = n // 2
    inverse = np.zeros((n, n), order="F")
    first, second = _inverse_of_triangle(lower[:half, :half]), _inverse_of_triangle(lower[half:, half:])
    inverse[:half, :half], inverse[half:, half:] = first, second
    below = dtrmm(-1.0, second, lower[half:, :half], lower=1)
    inverse[half:, :half] = dtrmm(1.0, first, below, side=1, lower=1)
    return inverse


def diagonal_of(matrix: FloatArray) -> FloatArray:
    """A writable view of the diagonal of a square matrix that is contiguous in either order."""
    return matrix.ravel(order="K")[:: matrix.shape[0] + 1]
