"""Positive definite linear systems by LAPACK, with lower triangles in Fortran order throughout."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dlauum, dpotrf, dpotrs, dtrtri

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet

# Relative additions to a diagonal, tried in turn when a factorisation fails.
REGULARISATIONS = (0.0, 1e-13, 1e-11, 1e-9, 1e-7)
# Rows up to which a triangle is inverted in one piece.
SMALL_TRIANGLE = 64

Real = TypeVar("Real", np.float32, np.float64)


class FactorisationError(ArithmeticError):
    """A matrix is not positive definite to working accuracy."""


def cholesky(matrix: FloatArray) -> FloatArray:
    """Lower Cholesky factor of a matrix given by its lower triangle; regularised if it must be."""
    original = diagonal_of(matrix).copy()
    for extra in REGULARISATIONS:
        diagonal_of(matrix)[:] = original * (1.0 + extra)
        factor, info = dpotrf(matrix, lower=1, clean=0)
        if info == 0:
            return factor
    raise FactorisationError


def cholesky_solve(factor: FloatArray, right: FloatArray) -> FloatArray:
    return dpotrs(factor, right, lower=1)[0]


def inverse_from_factor(factor: FloatArray) -> FloatArray:
    """Lower triangle of ``(L L')^-1``."""
    return dlauum(_inverse_of_triangle(factor), lower=1)[0]


def _inverse_of_triangle(lower: FloatArray) -> FloatArray:
    """By halves: LAPACK's own takes twice as long from about 200 rows on."""
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


def diagonal_of(matrix: NDArray[Real]) -> NDArray[Real]:
    """A writable view of the diagonal of a square matrix that is contiguous in either order."""
    return matrix.ravel(order="K")[:: matrix.shape[0] + 1]


def gram(working: WorkingSet, block: int, weights: FloatArray) -> FloatArray:
    """Lower triangle of ``rows' D rows`` (n x n) on one block, the rows divided by their radii."""
    part = working.parts[block]
    return working.rows.gram(part, weights[part] / working.radius[part] ** 2)
