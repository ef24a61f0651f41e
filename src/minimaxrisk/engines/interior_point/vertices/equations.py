"""The linear equations that the vertex of a face satisfies.

The masses v that are not zero satisfy the active constraints with equality, ``M v = right``; the
coefficients satisfy complementary slackness at those masses, ``M' mu = cost``. Nothing here says that a
solution is optimal: certificates do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.face import Face
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.signed_system import distribution_with_difference
from minimaxrisk.engines.linear_programs.master import NEGLIGIBLE_MULTIPLIER
from minimaxrisk.engines.solution import Stage
from minimaxrisk.problem.problem import Problem


@dataclass(frozen=True)
class Vertex:
    """Coefficients and a distribution that may be the optimal pair."""

    stage: Stage
    distribution: FloatArray
    n_pivots: int = 0  # that it took to get there


@dataclass(frozen=True)
class FaceEquations:
    """``M v = right`` for masses v, with their cost, and what they mean as a distribution.

    The first rows are those of the face's components; those that may follow are the known sums of masses.
    """

    components: IntArray
    matrix: FloatArray
    cost: FloatArray
    right: FloatArray
    distribution: Callable[[FloatArray], FloatArray]
    masses_at: Callable[[FloatArray], FloatArray]  # v where the interior point has the numbers x

    def vertex(self, coefficients: FloatArray, masses: FloatArray, n_pivots: int = 0) -> Vertex | None:
        """A solution as a pair; None if it has no finite one."""
        if not (np.isfinite(coefficients).all() and np.isfinite(masses).all()):
            return None
        stage = stage_of(self.components, coefficients[: len(self.components)])
        return Vertex(stage, self.distribution(masses), n_pivots)


def equations_of(problem: Problem, working: WorkingSet, face: Face) -> FaceEquations:
    make = _signed_equations if problem.coding.name == "signed" else _one_hot_equations
    return make(problem, working, face)


def active_rows(working: WorkingSet, face: Face) -> tuple[FloatArray, FloatArray]:
    """The features of the active constraints, a row each, and what the constraints hold their moments at."""
    active = np.searchsorted(working.components, face.components)
    return working.rows_of(active), (working.target[active] + face.side) * working.radius[active]


def stage_of(components: IntArray, coefficients: FloatArray) -> Stage:
    """Coefficients without those that only rounding keeps from zero, where the vertex is degenerate."""
    used = np.flatnonzero(np.abs(coefficients) > NEGLIGIBLE_MULTIPLIER)
    return Stage(components[used], coefficients[used])


def normalised(w: FloatArray) -> FloatArray:
    total = float(w.sum())
    return w / total if total > 0.0 else np.full_like(w, 1.0 / w.size)


def _signed_equations(problem: Problem, working: WorkingSet, face: Face) -> FaceEquations:
    """``sum |u|`` is the cost; the scores of the coefficients are at most one half."""
    instances = np.flatnonzero(face.is_positive.any(axis=0) & ~face.is_full)
    rows, right = active_rows(working, face)
    full = np.where(face.is_full, problem.centre.sum(axis=0), 0.0) * np.where(face.is_positive[0], 1.0, -1.0)

    def distribution(masses: FloatArray) -> FloatArray:
        u = full.copy()
        u[instances] = masses
        if problem.marginal.is_known:
            return problem.marginal.repaired(np.stack([u, -u]), problem.centre)
        return normalised(distribution_with_difference(u))

    return FaceEquations(
        components=face.components,
        matrix=rows[:, instances],
        cost=np.where(face.is_positive[0, instances], 0.5, -0.5),
        right=right - (rows @ full if face.is_full.any() else 0.0),
        distribution=distribution,
        masses_at=lambda x: -np.diff(x.reshape(-1, problem.n_instances)[:2, instances], axis=0)[0],
    )


def _one_hot_equations(problem: Problem, working: WorkingSet, face: Face) -> FaceEquations:
    """The masses are those strictly between 0 and r, then r itself; the last rows are their known sums."""
    largest = face.is_positive & face.is_largest
    instances = np.flatnonzero(largest.any(axis=0))
    # A positive mass where none is the largest has no place in the equations.
    free = np.nonzero(face.is_positive & ~largest & largest.any(axis=0))
    n_moments, n_free = len(face.components), len(free[0])
    block = face.components // problem.tau.shape[1]
    rows, right = active_rows(working, face)
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
        return problem.marginal.repaired(w, problem.centre) if is_known else normalised(np.maximum(w, 0.0))

    def masses_at(x: FloatArray) -> FloatArray:
        w, room = x.reshape(2, *problem.centre.shape)
        return np.concatenate([w[free], (w + room)[0, instances]])

    return FaceEquations(
        components=face.components,
        matrix=matrix,
        cost=np.concatenate([np.zeros(n_free), np.ones(len(instances))]),
        right=np.concatenate([right, known]),
        distribution=distribution,
        masses_at=masses_at,
    )
