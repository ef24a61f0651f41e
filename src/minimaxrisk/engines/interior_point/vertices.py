"""From iterates near the optimum to the optimal vertex.

A face says which masses are not zero and which constraints are active. Its masses v satisfy the active
constraints with equality, ``M v = right``; the coefficients satisfy complementary slackness at those masses,
``M'mu = cost``. ``VertexSearch`` tries these ways, the cheapest one first:

1. The guessed face is square: there are as many masses as equations, and one factor of M gives both
   (``square_vertex``).
2. It is degenerate: a push (``pushed_vertex``). With ties more constraints are active than there are masses,
   and the coefficients satisfy ``M'mu = cost`` in many ways, all of them optimal as long as no sign changes
   (Megiddo 1991).
3. Signed coding with free masses: the parametric simplex method from the guess (``crossed_vertex``).

Certificates decide which candidate is the optimum. Where none is, HiGHS goes on (``engine``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dgetrf, dgetrs, dpstrf

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.positive_definite import FactorisationError, cholesky, cholesky_solve
from minimaxrisk.engines.interior_point.box import BoxPoint
from minimaxrisk.engines.interior_point.parametric_simplex import (
    NEGLIGIBLE,
    Atoms,
    Components,
    ParametricSimplexError,
    Vertex,
    optimal_vertex,
)
from minimaxrisk.engines.interior_point.systems import distribution_with_difference
from minimaxrisk.engines.master import NEGLIGIBLE_MULTIPLIER
from minimaxrisk.engines.solution import Face, SparseCoefficients
from minimaxrisk.matrices.moment_constraints import WorkingSet
from minimaxrisk.problem.problem import Box


@dataclass(frozen=True)
class Candidate:
    """Coefficients and a distribution that may be the optimal pair."""

    stage: SparseCoefficients
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
        # Some are zero where the vertex is degenerate.
        used = np.flatnonzero(np.abs(coefficients[: len(self.components)]) > NEGLIGIBLE_MULTIPLIER)
        stage = SparseCoefficients(self.components[used], coefficients[used])
        return Candidate(stage, self.distribution(masses), n_pivots)


def equations_of(problem: Box, working: WorkingSet, face: Face) -> FaceEquations:
    make = _signed_equations if problem.coding.name == "signed" else _one_hot_equations
    return make(problem, working, face)


def active_rows(working: WorkingSet, face: Face) -> tuple[FloatArray, FloatArray]:
    """The features of the active constraints, a row each, and the moments at which they hold."""
    active = np.searchsorted(working.components, face.components)
    radius = working.radius[active]
    return working.rows[active] * radius[:, None], (working.target[active] + face.side) * radius


def normalised(w: FloatArray) -> FloatArray:
    total = float(w.sum())
    return w / total if total > 0.0 else np.full_like(w, 1.0 / w.size)


def _signed_equations(problem: Box, working: WorkingSet, face: Face) -> FaceEquations:
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


def _one_hot_equations(problem: Box, working: WorkingSet, face: Face) -> FaceEquations:
    """The masses are the free ones, then r itself; the last rows are their known sums."""
    # Masses equal r or are free, strictly between 0 and r. A positive mass at an instance where none is the
    # largest does not enter the equations.
    largest = face.is_positive & face.is_largest
    has_largest = largest.any(axis=0)
    instances = np.flatnonzero(has_largest)
    free = np.nonzero(face.is_positive & ~largest & has_largest)
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


def square_vertex(problem: Box, working: WorkingSet, face: Face, n_pivots: int = 0) -> Candidate | None:
    """Return the vertex of a face with as many masses as equations; None if they are singular."""
    equations = equations_of(problem, working, face)
    if len(equations.right) == 0:
        return None
    factor, pivots, info = dgetrf(equations.matrix)
    if info != 0:
        return None
    masses = dgetrs(factor, pivots, equations.right)[0]
    coefficients = dgetrs(factor, pivots, equations.cost, trans=1)[0]
    return equations.vertex(coefficients, masses, n_pivots)


def independent_rows(matrix: FloatArray) -> tuple[IntArray, IntArray]:
    """Return a basis of a tall matrix: independent columns, the first ones preferred, and as many rows.

    Rows are chosen by partial pivoting. Both are ascending.
    """
    columns = np.arange(matrix.shape[1])
    while True:
        factor, pivots, _ = dgetrf(matrix[:, columns])
        size = np.abs(factor.diagonal())
        is_dependent = size <= SMALLEST_PIVOT * size.max(initial=0.0)
        if not is_dependent.any():
            break
        columns = columns[~is_dependent]
    order = np.arange(len(matrix))
    for i, pivot in enumerate(pivots):
        order[i], order[pivot] = order[pivot], order[i]
    return np.sort(order[: len(pivots)]), columns


# A pivot that is smaller, relative to the largest one, is a rounding error; rows have weights down to 1e-9.
SMALLEST_PIVOT = 1e-12
# A row of unit length whose squared distance from the span of others is smaller depends on them.
DEPENDENT = 1e-12
# The largest matrix M for a push, in entries; at 6500 x 6500 it took longer than all iterations. With sparse
# rows HiGHS is quicker from fewer on: on texts with 800 selected columns a push took a fifth of a fit, and
# failed; on Dorothea with 131 it finds the vertex.
MOST_ENTRIES, MOST_ENTRIES_SPARSE = 4_000_000, 200_000
# The smallest weight in the choice of a first basis, as a fraction of the largest: what is zero may enter
# after all others.
SMALLEST_WEIGHT = 1e-9


def pushed_vertex(point: BoxPoint, face: Face) -> Candidate | None:
    """A vertex of the face next to the iterate's coefficients; None where its equations have no basis.

    With ``nu = -side mu >= 0`` the equations of the coefficients are ``A x = cost`` for x = (nu, phi). A
    basis is chosen by pivoting on columns weighted with nu, so that large coefficients stay. The others go to
    zero one at a time and the basis moves along; where one of its coefficients becomes zero first, the two
    change places. The masses need not be those of a vertex: the ones nearest to the iterate that satisfy the
    equations prove the lower bound.
    """
    n_active = len(face.components)
    n_equations = n_active + face.n_masses_known
    n_masses = n_equations + face.surplus
    most = MOST_ENTRIES_SPARSE if point.problem.features.is_sparse else MOST_ENTRIES
    if n_active == 0 or n_masses == 0 or n_equations * n_masses > most:
        return None
    # 1) The coefficients of the iterate, with the signs that the face gives them.
    equations = equations_of(point.problem, point.only, face)
    n_known = face.n_masses_known
    sign = np.append(-face.side, np.ones(n_known))
    columns = equations.matrix.T * sign  # A: a row per mass
    active = np.searchsorted(point.only.components, face.components)
    start = np.append(
        np.maximum(-face.side * point.coefficients[0, active] / point.only.radius[active], 0.0),
        np.zeros(n_known),
    )
    # 2) A first basis. The multipliers of known sums may have any sign: they enter first and never leave.
    is_free = np.arange(len(start)) >= n_active
    largest = float(start.max())
    if not largest > 0.0:
        return None
    weights = np.where(is_free, 10.0 * largest, np.maximum(start, SMALLEST_WEIGHT * largest))
    masses, basis = _bases(columns, weights)
    if len(masses) == 0 or not np.isin(np.flatnonzero(is_free), basis).all():
        return None
    # 3) Push the other coefficients to zero.
    basis, n_pivots = _push(columns[masses], equations.cost[masses], start, is_free, basis)
    factor, pivots, info = dgetrf(columns[np.ix_(masses, basis)])
    if info != 0:
        return None
    coefficients = np.zeros(len(start))
    coefficients[basis] = dgetrs(factor, pivots, equations.cost[masses])[0]
    # Those of the wrong sign are rounding errors.
    coefficients = np.where(is_free, coefficients, np.maximum(coefficients, 0.0))
    # 4) The masses nearest to those of the iterate.
    v = equations.masses_at(point.system.x[0])
    try:
        # Rows outside the basis depend on those in it.
        nearest = _nearest_solution(equations.matrix[basis], equations.right[basis], v)
    except FactorisationError:
        return None
    return equations.vertex(sign * coefficients, nearest, n_pivots)


def _nearest_solution(matrix: FloatArray, right: FloatArray, v: FloatArray) -> FloatArray:
    """The one of ``M v = right`` with the smallest relative changes, so that none turns negative."""
    scaled = matrix * np.abs(v)
    factor = cholesky(np.asfortranarray(scaled @ scaled.T))
    change: FloatArray = np.abs(v) * (cholesky_solve(factor, right - matrix @ v) @ scaled)
    return v + change


def _push(
    columns: FloatArray, cost: FloatArray, start: FloatArray, is_free: BoolArray, basis: IntArray
) -> tuple[IntArray, int]:
    """The basis after all other columns went to zero, and how many of them took a place in it."""
    others = np.setdiff1d(np.arange(len(start)), basis)
    others = others[np.argsort(start[others], kind="stable")]
    factor, pivots, _ = dgetrf(columns[:, basis])
    value = dgetrs(factor, pivots, cost - columns[:, others] @ start[others])[0]
    # How the basis answers to each of the others; updated with it.
    rates = np.asfortranarray(dgetrs(factor, pivots, columns[:, others])[0])
    basis, fixed, n_pivots = basis.copy(), is_free[basis], 0
    for place, column in enumerate(others):
        rate = rates[:, place].copy()
        shrinks = (rate < -NEGLIGIBLE) & ~fixed
        lasts = np.full(len(rate), np.inf)
        np.divide(np.maximum(value, 0.0), -rate, out=lasts, where=shrinks)
        first = int(lasts.argmin())
        if lasts[first] >= start[column]:
            value += start[column] * rate
            continue
        value += lasts[first] * rate
        value[first] = start[column] - lasts[first]
        basis[first] = column
        n_pivots += 1
        if place + 1 < len(others):
            rest = rates[:, place + 1 :]
            row = rest[first] / rate[first]
            rate[first] -= 1.0
            dger(-1.0, rate, row, a=rest, overwrite_a=1)
    return basis, n_pivots


def _bases(columns: FloatArray, weights: FloatArray) -> tuple[IntArray, IntArray]:
    """Independent rows, and as many columns that make a basis of them, those of large weight preferred.

    The rank is that of the rows' Gram matrix, at unit diagonal: one small pivoted Cholesky factor.
    """
    length = np.sqrt(np.einsum("ij,ij->i", columns, columns))
    nothing = np.empty(0, np.intp)
    if not length.all():
        return nothing, nothing
    unit = columns / length[:, None]
    _, order, rank, _ = dpstrf(unit @ unit.T, tol=DEPENDENT)
    rows = np.sort(order[:rank] - 1)
    basis, kept = independent_rows((columns[rows] * weights).T)
    return (rows, basis) if len(kept) == len(rows) else (nothing, nothing)


# Constraints with less room than this take part.
NEAR_BOUND = 0.5
# Rows beyond the number of columns from which the first basis is chosen, per column.
SPARE_ROWS = 0.125
# More pivots take longer than the iterations that a vertex saves; where it is found it takes up to 40.
MOST_PIVOTS = 60


def crossed_vertex(point: BoxPoint) -> Candidate | None:
    """The optimum of the constraints near the iterate; None where the first basis is too far from it.

    For the signed coding with free masses. Masses that are larger than their multipliers are the atoms of a
    first basis, besides one with both labels alike. As many constraints are chosen by pivoting, with a
    preference for multipliers that are large compared to their slacks. From a gap of 1e-5 on that basis has
    few mistakes.
    """
    # 1) The masses.
    working, n = point.only, point.problem.n_instances
    x, z = point.system.x.reshape(2, -1), point.system.z.reshape(2, -1)
    atoms = np.flatnonzero(x > x.max() * z)
    atoms = atoms[np.argsort(-x.ravel()[atoms], kind="stable")]
    k = len(atoms)
    if not 0 < k <= len(working):
        return None
    # 2) The constraints that take part, and those of the first basis.
    ratios = point.ratios()
    order = np.argsort(-ratios.max(axis=0), kind="stable")[: k + int(SPARE_ROWS * k) + 5]
    near = np.union1d(np.flatnonzero(np.abs(working.position) > NEAR_BOUND), order)
    spare, matrix, ratios = np.searchsorted(near, order), working.rows[near], ratios[:, near]
    ratio = ratios[:, spare].max(axis=0)
    weights = np.clip(ratio / ratio[k - 1], SMALLEST_WEIGHT, 1.0)
    chosen, kept = independent_rows(matrix[np.ix_(spare, atoms % n)] * weights[:, None])
    active, guessed = np.sort(spare[chosen]), np.append(atoms[kept], 2 * n)
    # 3) Pivots to the optimal basis, and its pair.
    components = Components(np.arange(len(near)), np.zeros(len(near), dtype=np.intp), matrix)
    try:
        side = np.where(ratios[0, active] > ratios[1, active], 1.0, -1.0)
        bounds = working.target[near] + np.array([[1.0], [-1.0]])
        guess = Vertex(active, side, guessed)
        of_sets = Atoms(point.problem.coding.matrix, n)
        vertex, n_pivots = optimal_vertex(of_sets, components, bounds, guess, MOST_PIVOTS)
    except ParametricSimplexError:
        return None
    is_positive = np.zeros((3, n), dtype=np.bool_)
    is_positive.ravel()[vertex.atoms] = True
    order = np.argsort(vertex.active)
    face = Face(
        working.components[near[vertex.active[order]]],
        vertex.side[order],
        is_positive[:2],
        np.ones_like(is_positive[:2]),
        np.zeros(n, dtype=np.bool_),
        0,
    )
    found = square_vertex(point.problem, working, face, n_pivots)
    if found is None or len(kept) == k:
        return found
    # 4) Where masses are not unique, those nearest to the iterate's are inside all other constraints too.
    wide = replace(face, is_positive=face.is_positive | (x > x.max() * z))
    equations = equations_of(point.problem, working, wide)
    try:
        masses = _nearest_solution(equations.matrix, equations.right, equations.masses_at(point.system.x[0]))
    except FactorisationError:
        return found
    return replace(found, distribution=equations.distribution(masses))


# Gap below which the parametric simplex method takes less time than the iterations that it saves. At 1600
# instances 14 pivots reach the optimum from 1e-5, 39 from 3e-5 and 112 from 1e-4.
CROSSOVER_GAP = 2e-5


class VertexSearch:
    """Candidates for the optimal vertex, read off the iterates of one interior point."""

    def __init__(self, point: BoxPoint) -> None:
        self._point, problem = point, point.problem
        self._seen: Face | None = None
        self._tried: Face | None = None
        # Pivots need dense rows, which is slow compared to iterations with sparse ones.
        is_free = problem.coding.n_blocks == 1 and not problem.marginal.is_known
        self._may_cross = is_free and not problem.features.is_sparse

    def candidates(self, gap: float, *, is_near: bool) -> Iterator[tuple[str, Candidate]]:
        """What may be the vertex, with the name of the way that found it, the cheapest one first.

        ``is_near`` says that the tolerance is met, so that only the vertex is missing.
        """
        face = self._point.face()
        seen, self._seen = face.is_same_as(self._seen), face
        # Not worth the time while the guess still changes and is not square.
        if not face.is_same_as(self._tried) and (seen or is_near or face.is_square):
            self._tried = face
            vertex = square_vertex(self._point.problem, self._point.only, face) if face.is_square else None
            if vertex is not None:
                yield "square", vertex  # the face has no other vertex
            elif seen or (is_near and face.surplus < -1):
                yield from self.pushed()
        if self._may_cross and gap <= CROSSOVER_GAP:
            self._may_cross, vertex = False, crossed_vertex(self._point)
            if vertex is not None:
                yield "parametric simplex", vertex

    def pushed(self) -> Iterator[tuple[str, Candidate]]:
        """Yield a vertex of the current face, next to the current coefficients."""
        vertex = pushed_vertex(self._point, self._point.face())
        if vertex is not None:
            yield "push", vertex
