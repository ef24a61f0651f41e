"""From iterates near the optimum to the optimal vertex: which ways are tried, in which order, and when.

1. The guessed face is square: its equations have one solution (``equations``).
2. It is nearly square: the least certain pairs change sides (``equations.square_faces_near``).
3. It is degenerate: a push (``pushed_vertex``). With ties more constraints are active than there are masses,
   and the coefficients satisfy ``M'mu = cost`` in many ways, all of them optimal as long as no sign changes
   (Megiddo 1991).
4. Signed coding with free masses: the parametric simplex method from the guess (``crossed_vertex``).

Certificates decide which candidate is the optimum. Where none is, HiGHS goes on (``engine``).
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
    Candidate,
    DependentColumnsError,
    FaceEquations,
    equations_of,
    independent_rows,
    normalised,
    solve_both_ways,
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

# A row of unit length whose squared distance from the span of others is smaller depends on them.
DEPENDENT = 1e-12
# The largest matrix M for a push, in entries; at 6500 x 6500 it took longer than all iterations.
MOST_ENTRIES = 4_000_000
# Rates of change up to this size are rounding errors.
NEGLIGIBLE_RATE = 1e-12
# The smallest weight of a coefficient in the choice of the first basis of a push, as a fraction of the
# largest: a coefficient of zero may enter after all others.
SMALLEST_PUSH_WEIGHT = 1e-9


def pushed_vertex(point: InteriorPoint, face: Face) -> Candidate | None:
    """A vertex of the face next to the iterate's coefficients; None where its equations have no basis.

    With ``nu = -side mu >= 0`` the equations of the coefficients are ``A x = cost`` for x = (nu, phi). A
    basis is chosen by pivoting on columns weighted with nu, so that large coefficients stay. The others go to
    zero one at a time and the basis moves along; where one of its coefficients becomes zero first, the two
    change places. That leaves a vertex of the face: at most as many non-zero coefficients as there are
    independent masses. The masses need not be those of a vertex: the ones nearest to the iterate that satisfy
    the equations prove the lower bound.
    """
    n_active = len(face.components)
    n_equations = n_active + face.n_masses_known
    n_masses = n_equations + face.surplus
    if n_active == 0 or n_masses == 0 or n_equations * n_masses > MOST_ENTRIES:
        return None
    # 1) The coefficients of the iterate, with the signs that the face gives them.
    equations = equations_of(point.problem, point.working, face)
    n_known = face.n_masses_known
    sign = np.append(-face.side, np.ones(n_known))
    columns = equations.matrix.T * sign  # A: a row per mass
    active = np.searchsorted(point.working.components, face.components)
    start = np.append(
        np.maximum(-face.side * point.coefficients[active] / point.working.radius[active], 0.0),
        np.zeros(n_known),
    )
    # 2) A first basis. The multipliers of known sums may have any sign: they enter first and never leave.
    is_free = np.arange(len(start)) >= n_active
    largest = float(start.max())
    if not largest > 0.0:
        return None
    weights = np.where(is_free, 10.0 * largest, np.maximum(start, SMALLEST_PUSH_WEIGHT * largest))
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
    try:
        nearest = _nearest_masses(equations, basis, equations.masses_at(point.system.x))
    except FactorisationError:
        return None
    return equations.vertex(sign * coefficients, nearest, n_pivots)


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
# Rows beyond the number of columns from which the first basis is chosen, per column and at least, and the
# smallest weight of a row in that choice.
SPARE_ROWS, FEWEST_SPARE, SMALLEST_CROSSOVER_WEIGHT = 0.125, 5, 1e-8
# The largest dense matrix that may be made of them, in entries: 160 MB. Working sets of sparse data can be
# larger.
LARGEST_MATRIX = 20_000_000
# More pivots per mass, and besides, take longer than iterations.
PIVOTS_PER_MASS, FEW_PIVOTS = 0.15, 25


def crossed_vertex(point: InteriorPoint) -> Candidate | None:
    """The optimum of the constraints near the iterate; None where the first basis is too far from it.

    With free masses the signed coding's program is ``min |u|_1`` subject to ``|A u - b| <= 1``, A =
    Psi'/lambda and b = tau/lambda. Masses that are larger than their multipliers are the columns of a first
    basis. As many rows are chosen by pivoting, with a preference for multipliers that are large compared to
    their slacks. From a gap of 1e-5 on that basis has few mistakes. ``DependentColumnsError`` says that no
    rows make a basis with these columns: the optimum is degenerate.
    """
    # 1) The columns, and the constraints that take part.
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
    matrix = working.rows[near] / working.radius[near, None]
    target = working.target[near]
    # 2) The rows of the first basis.
    spare = k + max(FEWEST_SPARE, int(SPARE_ROWS * k))
    enough = ratio[near[k - 1]]
    weights = np.maximum(np.minimum(ratio[near[:spare]], enough) / enough, SMALLEST_CROSSOVER_WEIGHT)
    rows = independent_rows(matrix[:spare][:, columns] * weights[:, None])
    guess = Basis(
        rows,
        np.where(ratios[0, near[rows]] > ratios[1, near[rows]], 1.0, -1.0),
        columns,
        np.where(is_positive[0, columns], 1.0, -1.0),
    )
    # 3) Pivots to the optimal basis, and its pair. Scores are at most one half.
    try:
        basis, n_pivots = optimal_basis(matrix, target, guess, int(PIVOTS_PER_MASS * k) + FEW_PIVOTS)
    except ParametricSimplexError:
        return None
    solved = solve_both_ways(
        matrix[np.ix_(basis.rows, basis.columns)], target[basis.rows] + basis.row_signs, basis.column_signs
    )
    if solved is None:
        return None
    u = np.zeros(matrix.shape[1])
    u[basis.columns], values = solved[0], 0.5 * solved[1]
    chosen = near[basis.rows]
    order = np.argsort(chosen)
    stage = stage_of(working.components[chosen[order]], (values / working.radius[chosen])[order])
    return Candidate(stage, normalised(distribution_with_difference(u)), n_pivots)


# Iterations within the tolerance after which the optimum is assumed to be degenerate: by then the other ways
# have found the vertex of a guess with few mistakes.
PUSH_AFTER = 3
# Gap below which the parametric simplex method takes less time than the iterations that it saves, and how
# much smaller the gap has to be for another try. At 1600 instances 14 pivots reach the optimum from 1e-5, 39
# from 3e-5 and 112 from 1e-4.
CROSSOVER_GAP, CROSSOVER_AGAIN = 2e-5, 0.25
# Where two tries fail, the optimum is degenerate, and the next would fail too.
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

    def candidates(self, gap: float, *, is_near: bool) -> Iterator[tuple[str, Candidate]]:
        """What may be the vertex, with the name of the way that found it, the cheapest one first.

        ``is_near`` says that the tolerance is met, so that only the vertex is missing.
        """
        self._n_near += is_near
        # An iteration within the tolerance then takes less time than an attempt that may fail.
        if self._point.problem.features.has_cheap_passes and self._n_near < 2:
            return
        face = self._point.face()
        seen, self._seen = face.is_same_as(self._seen), face
        # Not worth the time while the guess still changes and is not square.
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

    def pushed(self) -> Iterator[tuple[str, Candidate]]:
        """A vertex of the current face, next to the current coefficients."""
        vertex = pushed_vertex(self._point, self._point.face())
        if vertex is not None:
            yield "push", vertex

    def _crosses(self, gap: float, *, is_near: bool) -> bool:
        problem = self._point.problem
        # Pivots need dense rows, which is slow compared to iterations with sparse ones; near the optimum
        # there are fewer of them.
        if problem.features.is_sparse and not is_near:
            return False
        return (
            problem.coding.name == "signed"
            and not problem.marginal.is_known
            and self._n_crossings < MOST_CROSSINGS
            and not self._is_degenerate
            and gap <= min(CROSSOVER_GAP, CROSSOVER_AGAIN * self._crossed_at)
        )

    def _near_face(self, face: Face, *, pushes: bool) -> Iterator[tuple[str, Candidate]]:
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

    def _of_square(self, face: Face) -> Iterator[tuple[str, Candidate]]:
        problem, working = self._point.problem, self._point.working
        if problem.coding.name == "one-hot" and not problem.marginal.is_known:
            way, vertex = "blocks", vertex_by_blocks(problem, working, face)
        else:
            way, vertex = "square", square_vertex(problem, working, face)
        if vertex is not None:
            yield way, vertex
