"""From an iterate of the signed coding to the vertex, by the parametric simplex method.

With free masses the signed coding's program is ``min |u|_1`` subject to ``|A u - b| <= 1``, A = Psi'/lambda
and b = tau/lambda. Masses that are larger than their multipliers are the columns of a first basis; as many
rows are chosen by pivoting, those whose multipliers are large beside their slacks preferred. From a gap of
1e-5 that basis has few mistakes.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from minimaxrisk.engines.interior_point.predictor_corrector import InteriorPoint
from minimaxrisk.engines.interior_point.signed_system import distribution_with_difference
from minimaxrisk.engines.interior_point.vertices.equations import Vertex, normalised, stage_of
from minimaxrisk.engines.interior_point.vertices.parametric_simplex import (
    Basis,
    ParametricSimplexError,
    optimal_basis,
)
from minimaxrisk.engines.interior_point.vertices.square import independent_rows

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
