"""Positive definite linear systems by LAPACK, with lower triangles in Fortran order throughout."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from minimaxrisk.arrays import FloatArray
from minimaxrisk.engines.moment_constraints import WorkingSet

# Relative additions to a diagonal, tried in turn when a factorisation fails.
REGULARISATIONS = (0.0, 1e-13, 1e-11, 1e-9, 1e-7)


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


def diagonal_of(matrix: FloatArray) -> FloatArray:
    """A writable view of the diagonal of a square matrix that is contiguous in either order."""
    return matrix.ravel(order="K")[:: matrix.shape[0] + 1]


def gram(working: WorkingSet, block: int, weights: FloatArray) -> FloatArray:
    """Lower triangle of ``rows' D rows`` (n x n) on one block, the rows divided by their radii."""
    part = working.parts[block]
    scaled = working.rows[part] * (np.sqrt(weights[part]) / working.radius[part])[:, None]
    if len(scaled) == 0:
        return np.zeros((working.rows.shape[1],) * 2, order="F")
    return dsyrk(1.0, scaled.T, lower=1)
