"""The vertex of a face by linear systems alone: the exact end of an interior point that is near enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.face import Face
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.signed_system import distribution_with_difference
from minimaxrisk.engines.solution import Stage
from minimaxrisk.problem.problem import Problem


def vertex_of(problem: Problem, working: WorkingSet, face: Face) -> tuple[Stage, FloatArray] | None:
    """Coefficients and distribution of a vertex of the face, by linear systems alone.

    The masses v that are not zero satisfy the active constraints with equality, ``M v = right``; the
    coefficients satisfy complementary slackness at those masses, ``M' mu = cost``. Where M is not square,
    because the optimum is degenerate or the guess is not quite right, a square part is chosen by
    pivoting. Nothing here says that the vertex is optimal: certificates do.
    """
    make = _signed_equations if problem.coding.name == "signed" else _one_hot_equations
    equations = make(problem, working, face)
    n_rows, n_masses = equations.matrix.shape
    if n_rows == 0 or n_masses == 0:
        return None
    rows = _independent_rows(equations.matrix) if n_rows > n_masses else np.arange(n_rows)
    columns = _independent_rows(equations.matrix.T) if n_masses > n_rows else np.arange(n_masses)
    factor, pivots, info = dgetrf(equations.matrix[np.ix_(rows, columns)])
    if info != 0:
        return None
    coefficients, masses = np.zeros(n_rows), np.zeros(n_masses)
    coefficients[rows] = dgetrs(factor, pivots, equations.cost[columns], trans=1)[0]
    masses[columns] = dgetrs(factor, pivots, equations.right[rows])[0]
    if not (np.isfinite(coefficients).all() and np.isfinite(masses).all()):
        return None
    coefficients = coefficients[: len(face.components)]
    used = np.flatnonzero(coefficients)
    return Stage(face.components[used], coefficients[used]), equations.distribution(masses)


def _independent_rows(matrix: FloatArray) -> IntArray:
    """As many rows of a tall matrix as it has columns, chosen by partial pivoting, ascending."""
    order = np.arange(len(matrix))
    for i, pivot in enumerate(dgetrf(matrix)[1]):
        order[i], order[pivot] = order[pivot], order[i]
    return np.sort(order[: matrix.shape[1]])


@dataclass(frozen=True)
class _Equations:
    """``M v = right`` for masses v, with their cost, and what they mean as a distribution."""

    matrix: FloatArray
    cost: FloatArray
    right: FloatArray
    distribution: Callable[[FloatArray], FloatArray]


def _signed_equations(problem: Problem, working: WorkingSet, face: Face) -> _Equations:
    """``sum |u|`` is the cost; the scores of the coefficients are at most one half."""
    instances = np.flatnonzero(face.is_positive.any(axis=0) & ~face.is_full)
    rows = working.rows[np.searchsorted(working.components, face.components)]
    full = np.where(face.is_full, problem.centre.sum(axis=0), 0.0) * np.where(face.is_positive[0], 1.0, -1.0)

    def distribution(masses: FloatArray) -> FloatArray:
        u = full.copy()
        u[instances] = masses
        if problem.marginal.is_known:
            return problem.marginal.repaired(np.stack([u, -u]), problem.centre)
        return _normalised(distribution_with_difference(u))

    return _Equations(
        matrix=rows[:, instances],
        cost=np.where(face.is_positive[0, instances], 0.5, -0.5),
        right=_moments_of(working, face) - (rows @ full if face.is_full.any() else 0.0),
        distribution=distribution,
    )


def _one_hot_equations(problem: Problem, working: WorkingSet, face: Face) -> _Equations:
    """The masses are those strictly between 0 and r, then r itself; the last rows are their known sums."""
    largest = face.is_positive & face.is_largest
    instances = np.flatnonzero(largest.any(axis=0))
    # A positive mass where none is the largest has no place in the equations.
    free = np.nonzero(face.is_positive & ~largest & largest.any(axis=0))
    n_moments, n_free = len(face.components), len(free[0])
    active = np.searchsorted(working.components, face.components)
    block = working.block_of_component()[active]
    rows = working.rows[active]
    matrix = np.zeros((n_moments + face.n_masses_known, n_free + len(instances)))
    matrix[:n_moments, :n_free] = rows[:, free[1]] * (block[:, None] == free[0])
    matrix[:n_moments, n_free:] = rows[:, instances] * largest[block][:, instances]
    # Masses are added up over everything, or over each instance.
    is_known = problem.marginal.is_known
    place = n_moments + (np.arange(problem.n_instances) if is_known else np.zeros(problem.n_instances, int))
    matrix[place[free[1]], np.arange(n_free)] = 1.0
    matrix[place[instances], n_free + np.arange(len(instances))] = largest[:, instances].sum(axis=0)
    known = problem.centre.sum(axis=0) if is_known else np.ones(1)

    def distribution(masses: FloatArray) -> FloatArray:
        r = np.zeros(problem.n_instances)
        r[instances] = masses[n_free:]
        w = np.where(largest, r, 0.0)
        w[free] = masses[:n_free]
        return problem.marginal.repaired(w, problem.centre) if is_known else _normalised(np.maximum(w, 0.0))

    return _Equations(
        matrix=matrix,
        cost=np.concatenate([np.zeros(n_free), np.ones(len(instances))]),
        right=np.concatenate([_moments_of(working, face), known]),
        distribution=distribution,
    )


def _moments_of(working: WorkingSet, face: Face) -> FloatArray:
    """What the active constraints hold their moments at."""
    active = np.searchsorted(working.components, face.components)
    moments: FloatArray = (working.target[active] + face.side) * working.radius[active]
    return moments


def _normalised(w: FloatArray) -> FloatArray:
    total = float(w.sum())
    return w / total if total > 0.0 else np.full_like(w, 1.0 / w.size)
