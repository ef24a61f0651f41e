"""From a point inside a degenerate optimal face to one of its vertices: a dual push.

With ties more constraints are active than there are masses, and the coefficients satisfy ``M' mu = cost``
in many ways, all of them optimal as long as no sign changes (Megiddo 1991). With ``nu = -side mu >= 0`` the
equations are ``A x = cost`` for x = (nu, phi). A basis is chosen by pivoting on columns weighted with nu,
so that large coefficients stay. The other ones go to zero one at a time and the basis moves along; where
one of its coefficients becomes zero first, the two change places. What remains is a vertex of the face: at
most as many non-zero coefficients as there are independent masses. The masses need not be those of a
vertex: the ones nearest to the iterate that satisfy the equations prove the lower bound.

From an iterate of the signed coding to the vertex, by the parametric simplex method.

With free masses the signed coding's program is ``min |u|_1`` subject to ``|A u - b| <= 1``, A = Psi'/lambda
and b = tau/lambda. Masses that are larger than their multipliers are the columns of a first basis; as many
rows are chosen by pivoting, those whose multipliers are large beside their slacks preferred. From a gap of
1e-5 that basis has few mistakes.

Which ways to a vertex are tried, in which order, and when.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dgetrf, dgetrs, dpstrf

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.interior_point.factors import FactorisationError, cholesky, cholesky_solve
from minimaxrisk.engines.interior_point.predictor_corrector import InteriorPoint
from minimaxrisk.engines.interior_point.systems import distribution_with_difference
from minimaxrisk.engines.interior_point.vertices.equations import (
    DependentColumnsError,
    FaceEquations,
    Vertex,
    equations_of,
    independent_rows,
    normalised,
    square_faces_near,
    square_vertex,
    stage_of,
    vertex_by_blocks,
)
from minimaxrisk.engines.interior_point.vertices.parametric_simplex import (
    Basis,
    ParametricSimplexError,
    optimal_basis,
)
from minimaxrisk.engines.solution import Face

# Squared distance of a row of unit length from the span of others that is taken for none.
DEPENDENT = 1e-12
# Entries of M with which a push is worth its time; at 6500 x 6500 it took longer than all iterations.
MOST_ENTRIES = 4_000_000
# Rates of change up to this size are rounding errors.
NEGLIGIBLE_RATE = 1e-12
# A coefficient of zero still may enter the basis, after all others.
SMALLEST_SHARE = 1e-9


def pushed_vertex(point: InteriorPoint, face: Face) -> Vertex | None:
    """A vertex of the face next to the iterate's coefficients; None where its equations have no basis."""
    n_active = len(face.components)
    n_equations = n_active + face.n_masses_known
    n_masses = n_equations + face.surplus
    if n_active == 0 or n_masses == 0 or n_equations * n_masses > MOST_ENTRIES:
        return None
    equations = equations_of(point.problem, point.working, face)
    n_known = face.n_masses_known
    sign = np.append(-face.side, np.ones(n_known))
    columns = equations.matrix.T * sign  # A: a row per mass
    active = np.searchsorted(point.working.components, face.components)
    start = np.append(
        np.maximum(-face.side * point.coefficients[active] / point.working.radius[active], 0.0),
        np.zeros(n_known),
    )
    # The multipliers of known sums may have any sign: they are basic first and leave last.
    is_free = np.arange(len(start)) >= n_active
    largest = float(start.max())
    if not largest > 0.0:
        return None
    weights = np.where(is_free, 10.0 * largest, np.maximum(start, SMALLEST_SHARE * largest))
    masses, basis = _bases(columns, weights)
    if len(masses) == 0 or not np.isin(np.flatnonzero(is_free), basis).all():
        return None
    basis, n_pivots = _push(columns[masses], equations.cost[masses], start, is_free, basis)
    factor, pivots, info = dgetrf(columns[np.ix_(masses, basis)])
    if info != 0:
        return None
    coefficients = np.zeros(len(start))
    coefficients[basis] = dgetrs(factor, pivots, equations.cost[masses])[0]
    # On the wrong side there is nothing but rounding.
    coefficients = np.where(is_free, coefficients, np.maximum(coefficients, 0.0))
    try:
        masses_there = _nearest_masses(equations, basis, equations.masses_at(point.system.x))
    except FactorisationError:
        return None
    return equations.vertex(sign * coefficients, masses_there, n_pivots)


def _nearest_masses(equations: FaceEquations, basis: IntArray, v: FloatArray) -> FloatArray:
    """The solution of ``M v = right`` with the smallest relative changes, so that none turns negative.

    Rows outside the basis depend on those in it.
    """
    scaled = equations.matrix[basis] * np.abs(v)
    factor = cholesky(np.asfortranarray(scaled @ scaled.T))
    missing = equations.right[basis] - equations.matrix[basis] @ v
    change: FloatArray = np.abs(v) * (cholesky_solve(factor, missing) @ scaled)
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
        shrinks = (rate < -NEGLIGIBLE_RATE) & ~fixed
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
    try:
        return rows, independent_rows((columns[rows] * weights).T)
    except DependentColumnsError:
        return nothing, nothing


# Constraints that take part: those with less room than this, or multipliers above this fraction of the
# largest beside their slacks.
NEAR_BOUND, NOTABLE_RATIO = 0.5, 1e-6
# Rows from which the basis is chosen, per column and at least, and the least weight of one.
SPARE_ROWS, FEWEST_SPARE, SMALLEST_WEIGHT = 0.125, 5, 1e-8
# Entries of a dense matrix that may be made of them: 160 MB. Working sets of sparse data can be larger.
LARGEST_MATRIX = 20_000_000
# Pivots that are worth it: more take longer than to iterate.
PIVOTS_PER_MASS, FEW_PIVOTS = 0.15, 25


def crossed_vertex(point: InteriorPoint) -> Vertex | None:
    """The optimum of the constraints near the iterate; None where the first basis is too far from it.

    Where the masses leave no basis at all, the optimum is degenerate, and ``DependentColumnsError`` says so.
    """
    working = point.working
    x, z = point.system.x.reshape(2, -1), point.system.z.reshape(2, -1)
    is_positive = x > x.max() * z
    columns = np.flatnonzero(is_positive.any(axis=0))
    ratios = point.ratios()
    ratio = ratios.max(axis=0)
    near = np.flatnonzero((np.abs(working.position) > NEAR_BOUND) | (ratio > NOTABLE_RATIO * ratio.max()))
    k = len(columns)
    if not 0 < k <= len(near) or len(near) * len(x[0]) > LARGEST_MATRIX:
        return None
    near = near[np.argsort(-ratio[near], kind="stable")]
    matrix = working.rows_of(near) / working.radius[near, None]
    target = working.target[near]
    spare = k + max(FEWEST_SPARE, int(SPARE_ROWS * k))
    enough = ratio[near[k - 1]]
    weights = np.maximum(np.minimum(ratio[near[:spare]], enough) / enough, SMALLEST_WEIGHT)
    rows = independent_rows(matrix[:spare][:, columns] * weights[:, None])
    guess = Basis(
        rows,
        np.where(ratios[0, near[rows]] > ratios[1, near[rows]], 1.0, -1.0),
        columns,
        np.where(is_positive[0, columns], 1.0, -1.0),
    )
    try:
        basis, n_pivots = optimal_basis(matrix, target, guess, int(PIVOTS_PER_MASS * k) + FEW_PIVOTS)
    except ParametricSimplexError:
        return None
    factor, pivots, info = dgetrf(matrix[np.ix_(basis.rows, basis.columns)])
    if info != 0 or len(basis.rows) == 0:
        return None
    u = np.zeros(matrix.shape[1])
    u[basis.columns] = dgetrs(factor, pivots, target[basis.rows] + basis.row_signs)[0]
    # Scores are at most one half.
    values = 0.5 * dgetrs(factor, pivots, basis.column_signs, trans=1)[0]
    chosen = near[basis.rows]
    order = np.argsort(chosen)
    stage = stage_of(working.components[chosen[order]], (values / working.radius[chosen])[order])
    return Vertex(stage, normalised(distribution_with_difference(u)), n_pivots)


# Iterations within the tolerance after which the optimum is taken for degenerate: a guess that is right but
# for a few pairs has been found out by then.
PUSH_AFTER = 3
# Gap below which the parametric simplex method takes less time than the iterations that it saves, and how
# much smaller the gap has to be for another try. At 1600 instances 14 pivots take it there from 1e-5, 39
# from 3e-5 and 112 from 1e-4.
CROSSOVER_GAP, CROSSOVER_AGAIN = 2e-5, 0.25
# Tries: where two fail, the optimum is degenerate and so would be the next.
MOST_CROSSINGS = 2


class VertexSearch:
    """Candidates for the optimal vertex, read off the iterates of one interior point."""

    def __init__(self, point: InteriorPoint) -> None:
        self._point = point
        self._seen: Face | None = None
        self._tried: Face | None = None
        self._n_near = 0
        self._crossed_at, self._n_crossings = np.inf, 0
        self._is_degenerate = False

    def candidates(self, gap: float, *, is_near: bool) -> Iterator[tuple[str, Vertex]]:
        """What may be the vertex, with the name of the way that led there, the cheapest one first.

        ``is_near`` says that the tolerance is met, so that the vertex is all that is missing.
        """
        self._n_near += is_near
        # An iteration within the tolerance then takes less time than an attempt that may fail.
        if self._point.problem.features.has_cheap_passes and self._n_near < 2:
            return
        face = self._point.face()
        seen, self._seen = face.is_same_as(self._seen), face
        # Not worth its time while the guess still changes and cannot be right.
        if not face.is_same_as(self._tried) and (seen or is_near or face.is_square):
            self._tried = face
            yield from self._near_face(face, pushes=seen or self._n_near >= PUSH_AFTER or self._is_degenerate)
        if self._crosses(gap, is_near=is_near):
            self._crossed_at, self._n_crossings = gap, self._n_crossings + 1
            try:
                vertex = crossed_vertex(self._point)
            except DependentColumnsError:
                self._is_degenerate, vertex = True, None
            if vertex is not None:
                yield "parametric simplex", vertex

    def pushed(self) -> Iterator[tuple[str, Vertex]]:
        """A vertex of the face as it is, which the coefficients at hand lead to."""
        vertex = pushed_vertex(self._point, self._point.face())
        if vertex is not None:
            yield "push", vertex

    def _crosses(self, gap: float, *, is_near: bool) -> bool:
        problem = self._point.problem
        # Pivots need dense rows. Beside iterations with sparse ones they are dear, and the nearer the fewer.
        if problem.features.is_sparse and not is_near:
            return False
        return (
            problem.coding.name == "signed"
            and not problem.marginal.is_known
            and self._n_crossings < MOST_CROSSINGS
            and not self._is_degenerate
            and gap <= min(CROSSOVER_GAP, CROSSOVER_AGAIN * self._crossed_at)
        )

    def _near_face(self, face: Face, *, pushes: bool) -> Iterator[tuple[str, Vertex]]:
        if face.is_square:
            vertices = list(self._of_square(face))
            yield from vertices
            if vertices:
                return  # the face has no other vertex
        for near in square_faces_near(self._point, face):
            for way, vertex in self._of_square(near):
                yield f"{way} after doubt", vertex
        if pushes:
            yield from self.pushed()

    def _of_square(self, face: Face) -> Iterator[tuple[str, Vertex]]:
        problem, working = self._point.problem, self._point.working
        if problem.coding.name == "one-hot" and not problem.marginal.is_known:
            way, vertex = "blocks", vertex_by_blocks(problem, working, face)
        else:
            way, vertex = "square", square_vertex(problem, working, face)
        if vertex is not None:
            yield way, vertex
