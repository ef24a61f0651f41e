"""The linear equations of a face, the vertex of a square face, and the square faces next to a guess.

The masses v that are not zero satisfy the active constraints with equality, ``M v = right``; the
coefficients satisfy complementary slackness at those masses, ``M'mu = cost``. Where the optimum is one vertex
there are as many masses as equations, and one factor of M gives both (``square_vertex``). For the one-hot
coding smaller factors do (``vertex_by_blocks``). Nothing here says that a solution is optimal: certificates
do.

A face divides pairs (x, z) of a mass and its multiplier, and pairs (s, y) of a slack and its multiplier, by
which of the two is the larger one. A guess with one mass too many has put a pair on the wrong side, most
likely the one whose two numbers are nearest to each other: ``|log x/z|`` is its certainty, and the least
certain pairs change sides first (``square_faces_near``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dgeqrf, dgetrf, dgetrs, dormqr, dtrtrs

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.interior_point.constraints import WorkingSet
from minimaxrisk.engines.interior_point.predictor_corrector import InteriorPoint
from minimaxrisk.engines.interior_point.systems import distribution_with_difference
from minimaxrisk.engines.linear_programs.master import NEGLIGIBLE_MULTIPLIER
from minimaxrisk.engines.solution import Face, Stage
from minimaxrisk.problem.problem import Problem


@dataclass(frozen=True)
class Candidate:
    """Coefficients and a distribution that may be the optimal pair."""

    stage: Stage
    distribution: FloatArray
    n_pivots: int = 0  # that it took to find them


@dataclass(frozen=True)
class FaceEquations:
    """``M v = right`` for masses v, with their cost, and the distribution that they stand for.

    The first rows are those of the face's components; rows of known sums of masses may follow.
    """

    components: IntArray
    matrix: FloatArray
    cost: FloatArray
    right: FloatArray
    distribution: Callable[[FloatArray], FloatArray]
    masses_at: Callable[[FloatArray], FloatArray]  # v from the numbers x of the interior point

    def vertex(self, coefficients: FloatArray, masses: FloatArray, n_pivots: int = 0) -> Candidate | None:
        """A solution as a pair; None if it is not finite."""
        if not (np.isfinite(coefficients).all() and np.isfinite(masses).all()):
            return None
        stage = stage_of(self.components, coefficients[: len(self.components)])
        return Candidate(stage, self.distribution(masses), n_pivots)


def equations_of(problem: Problem, working: WorkingSet, face: Face) -> FaceEquations:
    make = _signed_equations if problem.coding.name == "signed" else _one_hot_equations
    return make(problem, working, face)


def active_rows(working: WorkingSet, face: Face) -> tuple[FloatArray, FloatArray]:
    """The features of the active constraints, a row each, and the moments at which they hold."""
    active = np.searchsorted(working.components, face.components)
    return working.rows[active], (working.target[active] + face.side) * working.radius[active]


def stage_of(components: IntArray, coefficients: FloatArray) -> Stage:
    """The coefficients that are not zero up to rounding; some are zero where the vertex is degenerate."""
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


def _largest_and_free(face: Face) -> tuple[BoolArray, BoolArray, IntArray]:
    """Masses that equal r, free ones strictly between 0 and r (K x n each), and the instances of both.

    A positive mass at an instance where none is the largest does not enter the equations.
    """
    largest = face.is_positive & face.is_largest
    has_largest = largest.any(axis=0)
    return largest, face.is_positive & ~largest & has_largest, np.flatnonzero(has_largest)


def _one_hot_equations(problem: Problem, working: WorkingSet, face: Face) -> FaceEquations:
    """The masses are the free ones, then r itself; the last rows are their known sums."""
    largest, is_free, instances = _largest_and_free(face)
    free = np.nonzero(is_free)
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


def vertex_by_blocks(problem: Problem, working: WorkingSet, face: Face) -> Candidate | None:
    """The vertex of a square face of the one-hot coding; None where a class, or r, is not determined.

    ``_Class`` says how.
    """
    largest, free, instances = _largest_and_free(face)
    rows, right = active_rows(working, face)
    ends = np.searchsorted(face.components, problem.tau.shape[1] * np.arange(len(largest) + 1)).tolist()
    # 1) Eliminate the free masses of each class.
    classes: list[_Class] = []
    for k, part in enumerate(map(slice, ends[:-1], ends[1:])):
        mine = np.flatnonzero(free[k])
        if len(mine) > part.stop - part.start:
            return None
        on_r = rows[part][:, instances] * largest[k, instances]
        own = _eliminated(rows[part][:, mine], on_r, right[part], mine)
        if own is None:
            return None
        classes.append(own)
    # 2) Solve for r and its multipliers.
    count = largest[:, instances].sum(axis=0)
    matrix = np.vstack(
        [*(c.on_r[c.n_free :] for c in classes), count - sum(c.unit @ c.on_r[: c.n_free] for c in classes)]
    )
    if matrix.shape[0] != matrix.shape[1]:
        return None
    total = 1.0 - sum(float(c.unit @ c.right[: c.n_free]) for c in classes)
    reduced = np.append(np.concatenate([c.right[c.n_free :] for c in classes]), total)
    solved = solve_both_ways(matrix, reduced, np.ones(len(instances)))
    if solved is None:
        return None
    r, beta = solved
    # 3) The masses and coefficients of each class follow.
    coefficients, start = np.empty(len(rows)), 0
    w = np.zeros_like(problem.centre)
    w[:, instances] = largest[:, instances] * r
    for k, c in enumerate(classes):
        rest = len(c.right) - c.n_free
        coefficients[ends[k] : ends[k + 1]] = c.multiplied(-beta[-1] * c.unit, beta[start : start + rest])
        w[k, c.free] = c.masses(r)
        start += rest
    if not (np.isfinite(coefficients).all() and np.isfinite(w).all()):
        return None
    return Candidate(stage_of(face.components, coefficients), normalised(np.maximum(w, 0.0)))


@dataclass(frozen=True)
class _Class:
    """One class after its free masses were eliminated: Q'C and Q'b, and R^-T 1.

    Free masses v_k of class k, strictly between 0 and r, meet the active constraints of that class alone,
    whose rows on them are F_k; with C_k those on r, the equations of the face are

        F_k v_k + C_k r = b_k  for every k,      sum_k 1'v_k + c'r = 1.

    With ``F_k = Q_k [R_k; 0]`` the first part of ``Q_k'b_k`` gives ``v_k = R_k^-1 (...)`` once r is known,
    and the rest does not contain v_k. So r alone solves the square system

        Q_k2'C_k r = Q_k2'b_k,   (c' - sum_k h_k'Q_k1'C_k) r = 1 - sum_k h_k'Q_k1'b_k,   h_k = R_k^-T 1.

    Its transposed system, with ones on the right, gives multipliers beta_k and -phi, and ``M'mu = cost``
    becomes ``mu_k = Q_k [-phi h_k; beta_k]``: K factors of the size of a class and one of that of r, instead
    of one of the size of all active constraints.
    """

    free: IntArray
    factor: FloatArray
    scales: FloatArray  # of the reflectors that Q is the product of
    on_r: FloatArray
    right: FloatArray
    unit: FloatArray

    @property
    def n_free(self) -> int:
        return len(self.free)

    def multiplied(self, first: FloatArray, rest: FloatArray) -> FloatArray:
        """``Q [first; rest]``."""
        return _apply_q(self.factor, self.scales, np.concatenate([first, rest])[:, None], "N")[:, 0]

    def masses(self, r: FloatArray) -> FloatArray:
        if self.n_free == 0:
            return np.empty(0)
        known = self.right[: self.n_free] - self.on_r[: self.n_free] @ r
        return dtrtrs(self.factor[: self.n_free], known)[0]


def _eliminated(on_free: FloatArray, on_r: FloatArray, right: FloatArray, free: IntArray) -> _Class | None:
    n_free = len(free)
    if n_free == 0:
        return _Class(free, np.empty((len(right), 0)), np.empty(0), on_r, right, np.empty(0))
    factor, scales, _, _ = dgeqrf(on_free)
    unit, info = dtrtrs(factor[:n_free], np.ones(n_free), trans=1)
    if info != 0:
        return None
    both = _apply_q(factor, scales, np.column_stack([on_r, right]), "T")
    return _Class(free, factor, scales, both[:, :-1], both[:, -1], unit)


def _apply_q(factor: FloatArray, scales: FloatArray, columns: FloatArray, trans: str) -> FloatArray:
    if len(scales) == 0:
        return columns
    work = max(1, columns.shape[1]) * 32
    product: FloatArray = dormqr("L", trans, factor, scales, np.asfortranarray(columns), work)[0]
    return product


def square_vertex(problem: Problem, working: WorkingSet, face: Face) -> Candidate | None:
    """The masses and coefficients of a face with as many masses as equations; None if it is singular."""
    equations = equations_of(problem, working, face)
    solved = solve_both_ways(equations.matrix, equations.right, equations.cost)
    return None if solved is None else equations.vertex(solved[1], solved[0])


def solve_both_ways(
    matrix: FloatArray, right: FloatArray, cost: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """``M^-1 right`` and ``M^-T cost`` by one factor; None where M is singular or empty."""
    if len(right) == 0:
        return None
    factor, pivots, info = dgetrf(matrix)
    if info != 0:
        return None
    return dgetrs(factor, pivots, right)[0], dgetrs(factor, pivots, cost, trans=1)[0]


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


# Faces tried if at most ``FEW_CHANGES`` pairs are on the wrong side. With more, one is tried; with more than
# ``MOST_CHANGES`` the guess is too poor.
TRIES, FEW_CHANGES, MOST_CHANGES = 3, 2, 8


def square_faces_near(point: InteriorPoint, face: Face) -> Iterator[Face]:
    """Square faces that differ from ``face`` in as few pairs as possible, the most doubtful ones first."""
    needed = abs(face.surplus)
    if not 0 < needed <= MOST_CHANGES:
        return
    moves = _Moves(point, face)
    order = moves.by_doubt()[: needed + (TRIES if needed <= FEW_CHANGES else 1) - 1]
    if len(order) < needed:
        return
    # The most doubtful pairs change sides in all tries; the last pair differs from try to try.
    for last in order[needed - 1 :]:
        moved = moves.after(np.append(order[: needed - 1], last))
        if moved.is_square:
            yield moved


class _Moves:
    """Pairs that may change sides: masses that become zero or positive, largest or not, and constraints."""

    def __init__(self, point: InteriorPoint, face: Face) -> None:
        self._point, self._face = point, face
        mass, room = _certainty_of_masses(point)
        grows = face.surplus < 0
        largest = face.is_positive & face.is_largest
        n_largest = largest.sum(axis=0)
        if point.problem.coding.name == "signed":
            positive = face.is_positive & ~face.is_full
            first_empty = ~face.is_positive.any(axis=0) & (mass >= mass.max(axis=0))
            may_appear = first_empty if grows else positive
            # With known masses a mass may also become full, or cease to be.
            may_join = face.is_positive & (face.is_full if grows else ~face.is_full)
            may_join &= point.problem.marginal.is_known
        elif grows:
            may_appear = ~face.is_positive & ~face.is_largest & (n_largest > 0)
            may_join = largest & (n_largest > 1)
        else:
            is_free = face.is_positive & ~largest & (n_largest > 0)
            alone = largest & (face.is_positive.sum(axis=0) == 1) & (not point.problem.marginal.is_known)
            may_appear, may_join = is_free | alone, is_free
        ratio = _certainty_of_constraints(point)
        is_active = np.isin(point.working.components, face.components, assume_unique=True)
        self._n = mass.size
        certainty = np.concatenate([np.abs(mass).ravel(), np.abs(room).ravel(), np.abs(ratio.max(axis=0))])
        allowed = np.concatenate([may_appear.ravel(), may_join.ravel(), is_active if grows else ~is_active])
        self._certainty: FloatArray = np.where(allowed, certainty, np.inf)
        self._side = np.where(ratio[0] > ratio[1], 1.0, -1.0)
        self._is_active: BoolArray = is_active

    def by_doubt(self) -> IntArray:
        """Pairs that may change sides, the least certain ones first."""
        order = np.argsort(self._certainty, kind="stable")
        return order[np.isfinite(self._certainty[order])]

    def after(self, moves: IntArray) -> Face:
        """The face after these pairs changed sides."""
        face, n = self._face, self._n
        is_positive, is_largest = face.is_positive.copy(), face.is_largest.copy()
        is_full = face.is_full.copy()
        for move in moves[moves < n]:
            is_positive.flat[move] ^= True
        for move in moves[(moves >= n) & (moves < 2 * n)]:
            if self._point.problem.coding.name == "signed":
                is_full[(move - n) % face.is_full.size] ^= True
            else:
                is_largest.flat[move - n] ^= True
        is_active = self._is_active.copy()
        is_active[moves[moves >= 2 * n] - 2 * n] ^= True
        side = self._side.copy()
        side[np.searchsorted(self._point.working.components, face.components)] = face.side
        active = np.flatnonzero(is_active)
        return replace(
            face,
            components=self._point.working.components[active],
            side=side[active],
            is_positive=is_positive,
            is_largest=is_largest,
            is_full=is_full,
        )


def _certainty_of_masses(point: InteriorPoint) -> tuple[FloatArray, FloatArray]:
    """``log x/z`` of the masses and of the room that they leave (K x n each), on the scale of the guess.

    That room is r - w, or the rest of a known mass; the signed coding with free masses has none.
    """
    problem, system = point.problem, point.system
    n_classes, n = problem.centre.shape
    with np.errstate(divide="ignore"):
        ratio = np.log(system.x / system.z).reshape(-1, n)
        if problem.marginal.is_known:
            ratio -= np.log(problem.centre.sum(axis=0))
        else:
            ratio -= np.log(system.x.max() if len(ratio) == n_classes else system.distribution().max())
    mass = ratio[:n_classes]
    room = np.zeros_like(mass)
    if len(ratio) > n_classes:
        room[:] = ratio[n_classes:]
    return mass, room


def _certainty_of_constraints(point: InteriorPoint) -> FloatArray:
    """``log y/s`` of the upper and the lower sides, on the scale of the guess."""
    with np.errstate(divide="ignore"):
        return np.log(point.ratios()) - np.log(point.multipliers.max(initial=0.0))
