"""The vertex of a face from one square linear system."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.face import Face
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.vertices.equations import FaceEquations, Vertex, equations_of
from minimaxrisk.problem.problem import Problem


def square_vertex(problem: Problem, working: WorkingSet, face: Face) -> Vertex | None:
    """The masses and coefficients of a face that has as many of them as equations.

    Where it has not, a square part is chosen by pivoting.
    """
    equations = equations_of(problem, working, face)
    n_rows, n_masses = equations.matrix.shape
    if n_rows == 0 or n_masses == 0:
        return None
    rows = independent_rows(equations.matrix) if n_rows > n_masses else np.arange(n_rows)
    columns = independent_rows(equations.matrix.T) if n_masses > n_rows else np.arange(n_masses)
    return vertex_of_part(equations, rows, columns)


def vertex_of_part(equations: FaceEquations, rows: IntArray, columns: IntArray) -> Vertex | None:
    """The vertex at which only these rows have coefficients and only these columns masses."""
    factor, pivots, info = dgetrf(equations.matrix[np.ix_(rows, columns)])
    if info != 0:
        return None
    coefficients, masses = np.zeros(len(equations.right)), np.zeros(len(equations.cost))
    coefficients[rows] = dgetrs(factor, pivots, equations.cost[columns], trans=1)[0]
    masses[columns] = dgetrs(factor, pivots, equations.right[rows])[0]
    return equations.vertex(coefficients, masses)


def independent_rows(matrix: FloatArray) -> IntArray:
    """As many rows of a tall matrix as it has columns, chosen by partial pivoting, ascending."""
    order = np.arange(len(matrix))
    for i, pivot in enumerate(dgetrf(matrix)[1]):
        order[i], order[pivot] = order[pivot], order[i]
    return np.sort(order[: matrix.shape[1]])
