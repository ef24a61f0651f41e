"""The Newton system of the signed coding: one positive definite matrix of n x n, or smaller."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk.engines.interior_point.factors import cholesky, cholesky_solve, diagonal_of, gram
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.newton import OFFSET, InstanceStep
from minimaxrisk.engines.interior_point.plain_side import CautiousFactor, Factor, PlainSide
from minimaxrisk.engines.interior_point.small_side import Kept, SmallSide, pays, softest
from minimaxrisk.engines.interior_point.working_rows import Rows

# Constraints per instance below which the plain form takes fewer operations than a matrix of n x n.
FEW = 0.8


class SignedSystem:
    """``min sum(p + q)`` with ``u = p - q`` in the moments: the signed coding.

    Only u = w_0 - w_1 enters the moments, and the Bayes error is ``(1 - sum |u|)/2``. x = (p, q), and the
    multipliers of p, q >= 0 are z = 1 -+ score. With e = z/x the part p + q is diagonal, and

        (E + G) du = right,   E = e_p e_q / (e_p + e_q).
    """

    def __init__(self, start: FloatArray) -> None:
        u = start[0] - start[1]
        self.x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)]) + OFFSET / len(u)
        self.z = np.ones(2 * len(u))
        self._factor = DiagonalPlusGramFactor()

    def distribution(self) -> FloatArray:
        p, q = self.x.reshape(2, -1)
        return distribution_with_difference(p - q)

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        """``1 - t gain + max(t max|score| - 1, -1/2)`` at the best scale t, where both terms are equal."""
        largest = float(np.abs(scores).max())
        if not (gain > 0.0 and largest > 0.0):
            return 0.5, 0.0
        return 0.5 - 0.5 * gain / largest, 0.5 / largest

    def support(self) -> tuple[BoolArray, BoolArray, BoolArray]:
        is_positive = (self.x > self.x.max() * self.z).reshape(2, -1)
        return is_positive, np.ones_like(is_positive), np.zeros(is_positive.shape[1], dtype=np.bool_)

    def factorise(self, working: WorkingSet, weights: FloatArray, scores: FloatArray) -> None:
        self._x = self.x.reshape(2, -1)
        z = self.z.reshape(2, -1)
        self._residual = 1.0 - z
        self._residual[0] -= scores[0]
        self._residual[1] += scores[0]
        self._ratio = z / self._x
        self._sum = self._ratio[0] + self._ratio[1]
        stiffness = self._ratio[0] * self._ratio[1] / self._sum
        self._factor.factorise(working, weights, stiffness)

    def solve(self, target: FloatArray, pull: FloatArray) -> InstanceStep:
        pushed = target.reshape(2, -1) / self._x
        difference = pushed - self._residual
        crossed = self._ratio[::-1]  # e_q beside p, e_p beside q
        right = crossed * difference
        du, moved = self._factor.solve((right[0] - right[1]) / self._sum + pull[0])
        # dz_p + dz_q is known, which gives the other half of the step without cancellation.
        dx = crossed * du
        np.negative(dx[1], out=dx[1])
        dx += difference[0] + difference[1]
        dx /= self._sum
        dz = pushed - self._ratio * dx
        return InstanceStep(dx.ravel(), dz.ravel(), (dx[0] - dx[1])[None, :], moved)

    def advance(self, step: InstanceStep, primal_length: float, dual_length: float) -> None:
        self.x = self.x + primal_length * step.dx
        self.z = self.z + dual_length * step.dz


class DiagonalPlusGramFactor:
    """Of ``E + G``, whichever way takes least operations and keeps its digits."""

    def __init__(self) -> None:
        self._factor: CautiousFactor[[FloatArray]] = CautiousFactor()

    def factorise(self, working: WorkingSet, weights: FloatArray, stiffness: FloatArray) -> None:
        n = len(stiffness)

        def plain() -> DiagonalPlainSide:
            return DiagonalPlainSide(working, weights, stiffness)

        def careful() -> Factor[[FloatArray]]:
            if pays(n, len(working), 1):
                return DiagonalSmallSide(working, weights, stiffness)
            return factor_of_sum(working.rows, working, 0, weights, stiffness)

        self._factor.factorise(plain if len(working) < FEW * n else None, careful)

    def solve(self, right: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        return self._factor.solve(right)


class DiagonalPlainSide:
    """By the plain form for fewer constraints than instances."""

    def __init__(self, working: WorkingSet, weights: FloatArray, stiffness: FloatArray) -> None:
        self._factor = PlainSide(working, weights, 1.0 / stiffness[None])

    def solve(self, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        u, _, moved = self._factor.solve(right[None])
        return u[0], moved


class DiagonalPlusGram:
    """Cholesky factor of ``E + G``, G given by its lower triangle, which is overwritten."""

    def __init__(self, matrix: FloatArray, stiffness: FloatArray) -> None:
        diagonal = diagonal_of(matrix)
        diagonal += stiffness
        self._lower = cholesky(matrix)

    def solve(self, right: FloatArray) -> tuple[FloatArray, None]:
        return cholesky_solve(self._lower, right), None


@singledispatch
def factor_of_sum(
    rows: Rows, working: WorkingSet, block: int, weights: FloatArray, stiffness: FloatArray
) -> Factor[[FloatArray]]:
    """Of ``E + G`` of one block, made where the rows of the working set are."""
    return DiagonalPlusGram(gram(working, block, weights), stiffness)


class DiagonalSmallSide:
    """The same for few constraints and many instances."""

    def __init__(self, working: WorkingSet, weights: FloatArray, stiffness: FloatArray) -> None:
        inverse = 1.0 / stiffness[None, None]
        self._kept = softest(inverse, len(working))
        own = np.asfortranarray(np.diag(stiffness[self._kept]))
        kept = Kept(self._kept, own, sparse.eye_array(len(self._kept), format="csr"))
        self._factor = SmallSide(working, weights, inverse, kept)

    def solve(self, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        u, _, moved = self._factor.solve(right[None, :], right[self._kept])
        return u[0], moved


def distribution_with_difference(u: FloatArray) -> FloatArray:
    """A distribution with w_0 - w_1 = u: what mass is left has both labels alike (2 x n)."""
    w = np.stack([np.maximum(u, 0.0), np.maximum(-u, 0.0)])
    w += max(0.0, 1.0 - float(np.abs(u).sum())) / w.size
    return w
