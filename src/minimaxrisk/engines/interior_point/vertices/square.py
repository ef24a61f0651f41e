"""The vertex of a face from one square linear system."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.face import Face
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.vertices.equations import Vertex, equations_of
from minimaxrisk.problem.problem import Problem


def square_vertex(problem: Problem, working: WorkingSet, face: Face) -> Vertex | None:
    """The masses and coefficients of a face that has as many of them as equations; None if it is singular."""
    equations = equations_of(problem, working, face)
    if len(equations.right) == 0:
        return None
    factor, pivots, info = dgetrf(equations.matrix)
    if info != 0:
        return None
    coefficients = dgetrs(factor, pivots, equations.cost, trans=1)[0]
    return equations.vertex(coefficients, dgetrs(factor, pivots, equations.right)[0])


class DependentColumnsError(ArithmeticError):
    """No rows of a matrix make a basis with all of its columns."""


def independent_rows(matrix: FloatArray) -> IntArray:
    """As many rows of a tall matrix as it has columns, chosen by partial pivoting, ascending."""
    _, pivots, info = dgetrf(matrix)
    if info > 0:
        raise DependentColumnsError
    order = np.arange(len(matrix))
    for i, pivot in enumerate(pivots):
        order[i], order[pivot] = order[pivot], order[i]
    return np.sort(order[: matrix.shape[1]])
