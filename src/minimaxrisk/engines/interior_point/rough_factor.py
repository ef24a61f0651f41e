"""The Newton step of the one-hot coding in single precision, as long as that is accurate enough.

Far from the optimum a step need not be accurate: what it misses of stationarity stays in the residual that
the next one starts from, the moments come from passes of their own, and bounds are computed from the pair
that is reached. So the matrices are those of ``EpigraphFactor`` in single precision, and steps are products
with their inverses instead of pairs of triangular systems.

Near the optimum the matrices are too ill-conditioned for that. How much a solution misses shows in double
precision, at the price of two products with the rows, since ``G dw = R'D R dw`` in

    (G + A) dw - B room = g,    sum_k B room = g_r,    room = dr - dw.

It is tried on the equal right-hand sides by which sum w is kept.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import ssymv, strmm
from scipy.linalg.lapack import slauum, spotrf, strtri

from minimaxrisk._utils.arrays import Float32Array, FloatArray
from minimaxrisk.engines.interior_point.factors import SMALL_TRIANGLE, FactorisationError, diagonal_of
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.plain_side import DigitsLostError

# What the solution may miss of equal right-hand sides. On Lung_1543 and on 174 x 12,533 with 11 classes, with
# their own and with permuted labels, it missed 3 to 500 times less of the others where it missed 0.001 or
# more of these (once twice as much), and reached 0.01 at gaps below 6e-3.
MISSED = 0.01


class RoughEpigraphFactor:
    """Solves for (dw, dr - dw) by inverses in single precision, of one matrix per class and one for r."""

    def __init__(
        self, working: WorkingSet, weights: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        n = lower.shape[1]
        self._upper = upper
        schur = np.zeros((n, n), dtype=np.float32, order="F")
        diagonal_of(schur)[:] = upper.sum(axis=0)
        self._inverses = []
        for part, a, b in zip(working.parts, lower, upper, strict=True):
            matrix = working.rows.gram_roughly(part, weights[part] / working.radius[part] ** 2)
            diagonal = diagonal_of(matrix)
            diagonal += (a + b).astype(np.float32)
            inverse = _inverse(matrix)
            own = b.astype(np.float32)
            scaled = inverse * own
            scaled *= own[:, None]
            schur -= scaled
            self._inverses.append(inverse)
        self._inverse_for_r = _inverse(schur)
        if not self._missed(working, weights, lower) <= MISSED:
            raise DigitsLostError

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, None]:
        """dw and dr - dw (2 x K x n)."""
        step = np.empty((2, *g.shape))
        for dw, inverse, row in zip(step[0], self._inverses, g, strict=True):
            dw[:] = ssymv(1.0, inverse, row, lower=1)
        dr = ssymv(1.0, self._inverse_for_r, g_r + (self._upper * step[0]).sum(axis=0), lower=1)
        for k, (inverse, b) in enumerate(zip(self._inverses, self._upper, strict=True)):
            step[0, k] += ssymv(1.0, inverse, b * dr, lower=1)
        np.subtract(dr, step[0], out=step[1])
        return step, None

    def _missed(self, working: WorkingSet, weights: FloatArray, lower: FloatArray) -> float:
        """The largest error in the equations with g = 1 and g_r = 0."""
        (dw, room), _ = self.solve(np.ones_like(lower), np.zeros(lower.shape[1]))
        held = self._upper * room
        missed = 1.0 - working.scores(weights * working.moments(dw)) - lower * dw + held
        return float(max(np.abs(missed).max(), np.abs(held.sum(axis=0)).max()))


def _inverse(matrix: Float32Array) -> Float32Array:
    """Lower triangle of the inverse of a positive definite matrix that is given by its own."""
    factor, info = spotrf(matrix, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise FactorisationError
    return slauum(_inverse_of_triangle(factor), lower=1, overwrite_c=1)[0]


def _inverse_of_triangle(lower: Float32Array) -> Float32Array:
    """By halves, as in ``factors``."""
    n = len(lower)
    if n <= SMALL_TRIANGLE:
        return strtri(lower, lower=1)[0]
    half = n // 2
    inverse = np.zeros((n, n), dtype=np.float32, order="F")
    first, second = _inverse_of_triangle(lower[:half, :half]), _inverse_of_triangle(lower[half:, half:])
    inverse[:half, :half], inverse[half:, half:] = first, second
    below = strmm(-1.0, second, lower[half:, :half], lower=1)
    inverse[half:, :half] = strmm(1.0, first, below, side=1, lower=1)
    return inverse
