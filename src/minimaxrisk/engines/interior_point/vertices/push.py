"""From a point inside a degenerate optimal face to one of its vertices: a dual push.

With ties more constraints are active than there are masses, and the coefficients satisfy ``M' mu = cost``
in many ways, all of them optimal as long as no sign changes (Megiddo 1991). With ``nu = -side mu >= 0`` the
equations are ``A x = cost`` for x = (nu, phi). A basis is chosen by pivoting on columns weighted with nu,
so that large coefficients stay. The other ones go to zero one at a time and the basis moves along; where
one of its coefficients becomes zero first, the two change places. What remains is a vertex of the face: at
most as many non-zero coefficients as there are independent masses. The masses need not be those of a
vertex: the ones nearest to the iterate that satisfy the equations prove the lower bound.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dgetrf, dgetrs, dpstrf

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.face import Face
from minimaxrisk.engines.interior_point.factors import FactorisationError, cholesky, cholesky_solve
from minimaxrisk.engines.interior_point.predictor_corrector import InteriorPoint
from minimaxrisk.engines.interior_point.vertices.equations import FaceEquations, Vertex, equations_of
from minimaxrisk.engines.interior_point.vertices.square import DependentColumnsError, independent_rows

# Squared distance of a row of unit length from the span of others that is taken for none.
DEPENDENT = 1e-12
# Entries of M with which a push is worth its time; at 6500 x 6500 it took longer than all iterations.
MOST_ENTRIES = 4_000_000
# Rates of change up to this size are rounding errors.
NEGLIGIBLE_RATE = 1e-12
# A coefficient of zero still may enter the basis, after all others.
SMALLEST_WEIGHT = 1e-9


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
    weights = np.where(is_free, 10.0 * largest, np.maximum(start, SMALLEST_WEIGHT * largest))
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
