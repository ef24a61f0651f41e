"""The Newton systems of the interior point, one per coding.

Both codings lead to a program over pairs of non-negative numbers (x, z), primal and dual, that belong to
instances, and pairs (s, y) that belong to moment constraints. A system knows the first kind. Given what
the second kind adds, ``G_b = rows' D rows`` on each block, it eliminates everything but positive
definite matrices of n x n or smaller. Sums of positive terms stay sums: textbook Woodbury forms
subtract, and stall four digits earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotri

from minimaxrisk.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.factors import cholesky, cholesky_solve, diagonal_of, gram
from minimaxrisk.engines.moment_constraints import WorkingSet
from minimaxrisk.engines.small_side import SmallSide
from minimaxrisk.rule import threshold

# What the start adds to every primal number, in units of 1/n, so that none begins near zero.
OFFSET = 0.5
# Where B exceeds the rest of its matrix by this factor, a subtraction would lose as many digits.
STIFF = 1e5


@dataclass(frozen=True)
class InstanceStep:
    """A Newton step of the numbers that belong to instances."""

    dx: FloatArray
    dz: FloatArray
    block_weights: FloatArray  # change of C w (B x n)
    dphi: float = 0.0


class NewtonSystem(Protocol):
    """Pairs (x, z) that belong to instances, and how to solve for their Newton step."""

    x: FloatArray
    z: FloatArray

    def distribution(self) -> FloatArray:
        """The distribution w that x stands for (K x n)."""
        ...

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        """A bound that multipliers with these block scores prove, and the factor to scale them with.

        ``gain`` is ``tau'mu - lambda'|mu|``.
        """
        ...

    def support(self) -> tuple[BoolArray, BoolArray | None]:
        """Masses that seem to be positive at the optimum, and those that seem the instance's largest."""
        ...

    def factorise(self, working: WorkingSet, weights: FloatArray, scores: FloatArray) -> None:
        """Prepare ``solve``: ``weights`` is the diagonal D, ``scores`` those of the multipliers (B x n)."""
        ...

    def solve(self, target: FloatArray, pull: FloatArray) -> InstanceStep:
        """The step.

        ``target`` is what ``x dz + z dx`` should be, ``pull`` (B x n) the scores of the part of the
        multipliers' change that does not depend on dx.
        """
        ...

    def advance(self, step: InstanceStep, primal_length: float, dual_length: float) -> None: ...


class SignedSystem:
    """``min sum(p + q)`` with ``u = p - q`` in the moments: the signed coding.

    Only u = w_0 - w_1 enters the moments, and the Bayes error is (1 - sum |u|)/2. x = (p, q), and the
    multipliers of p, q >= 0 are z = 1 -+ score. With e = z/x the part p + q is diagonal, and

        (E + G) du = right,   E = e_p e_q / (e_p + e_q).
    """

    def __init__(self, start: FloatArray) -> None:
        u = start[0] - start[1]
        self._n = len(u)
        self.x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)]) + OFFSET / len(u)
        self.z = np.ones(2 * len(u))

    def distribution(self) -> FloatArray:
        """u, and what mass is left with both labels alike."""
        p, q = self.x.reshape(2, -1)
        u = p - q
        w = np.stack([np.maximum(u, 0.0), np.maximum(-u, 0.0)])
        w += (1.0 - np.abs(u).sum()) / (2.0 * self._n)
        return w

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        """``1 - t gain + max(t max|score| - 1, -1/2)`` at the best scale t, where both terms are equal."""
        largest = float(np.abs(scores).max())
        if not (gain > 0.0 and largest > 0.0):
            return 0.5, 0.0
        return 0.5 - 0.5 * gain / largest, 0.5 / largest

    def support(self) -> tuple[BoolArray, BoolArray | None]:
        return (self.x > self.x.max() * self.z).reshape(2, -1), None

    def factorise(self, working: WorkingSet, weights: FloatArray, scores: FloatArray) -> None:
        self._x = self.x.reshape(2, -1)
        z = self.z.reshape(2, -1)
        self._residual = 1.0 - z
        self._residual[0] -= scores[0]
        self._residual[1] += scores[0]
        self._ratio = z / self._x
        self._sum = self._ratio[0] + self._ratio[1]
        stiffness = self._ratio[0] * self._ratio[1] / self._sum
        self._factor: DenseFactor | SmallSide
        if SmallSide.pays(self._n, len(working)):
            self._factor = SmallSide(stiffness[None, None], 1.0 / stiffness[None, None], working, weights)
        else:
            self._factor = DenseFactor(gram(working, 0, weights), stiffness)

    def solve(self, target: FloatArray, pull: FloatArray) -> InstanceStep:
        pushed = target.reshape(2, -1) / self._x
        difference = pushed - self._residual
        crossed = self._ratio[::-1]  # e_q beside p, e_p beside q
        right = crossed * difference
        du = self._factor.solve((right[0] - right[1])[None, :] / self._sum + pull)[0]
        # dz_p + dz_q is known, which gives the other half of the step without cancellation.
        dx = crossed * du
        np.negative(dx[1], out=dx[1])
        dx += difference[0] + difference[1]
        dx /= self._sum
        dz = pushed - self._ratio * dx
        return InstanceStep(dx.ravel(), dz.ravel(), (dx[0] - dx[1])[None, :])

    def advance(self, step: InstanceStep, primal_length: float, dual_length: float) -> None:
        self.x = self.x + primal_length * step.dx
        self.z = self.z + dual_length * step.dz


class OneHotSystem:
    """``min sum r`` over ``0 <= w <= r``, ``sum w = 1``, with w itself in the moments: the one-hot coding.

    x = (w, r - w) and z = (a, b), with stationarity ``score - phi = b - a`` and ``sum_y b = 1``. Per class

        (G + A + B) dw - B dr = g,   A = a/w,  B = b/(r - w),

    and one equation for dr.
    """

    def __init__(self, start: FloatArray) -> None:
        self._shape = n_classes, n = start.shape
        self.x = np.concatenate([start, start.max(axis=0) + OFFSET / n - start]).ravel()
        self.z = np.full(2 * start.size, 1.0 / n_classes)
        self._phi = 0.0

    def distribution(self) -> FloatArray:
        return self.x.reshape(2, *self._shape)[0]

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        return 1.0 - gain + threshold(scores), 1.0

    def support(self) -> tuple[BoolArray, BoolArray | None]:
        scale = self.distribution().max()
        is_large = (self.x > scale * self.z).reshape(2, *self._shape)
        return is_large[0], ~is_large[1]

    def factorise(self, working: WorkingSet, weights: FloatArray, scores: FloatArray) -> None:
        n = self._shape[1]
        self._x = self.x.reshape(2, *self._shape)
        z = self.z.reshape(2, *self._shape)
        self._ratio = z / self._x
        self._residual = scores - self._phi - z[1] + z[0]
        self._mass_residual = 1.0 - z[1].sum(axis=0)
        self._factor: EpigraphFactor | EpigraphSmallSide
        if SmallSide.pays(n, len(working)):
            self._factor = EpigraphSmallSide(working, weights, *self._ratio)
        else:
            grams = [gram(working, block, weights) for block in range(len(working.parts))]
            self._factor = EpigraphFactor(grams, *self._ratio)
        # A second right-hand side, by which sum w is kept.
        self._unit = self._factor.solve(np.ones(self._shape), np.zeros(n))
        self._unit_mass = self._unit[0].sum()

    def solve(self, target: FloatArray, pull: FloatArray) -> InstanceStep:
        pushed = target.reshape(2, *self._shape) / self._x
        g = self._residual + pull
        g += pushed[0]
        g -= pushed[1]
        dx = self._factor.solve(g, pushed[1].sum(axis=0) - self._mass_residual)
        dphi = float(dx[0].sum() / self._unit_mass)
        dx -= dphi * self._unit
        dz = pushed - self._ratio * dx
        return InstanceStep(dx.ravel(), dz.ravel(), dx[0], dphi)

    def advance(self, step: InstanceStep, primal_length: float, dual_length: float) -> None:
        self.x = self.x + primal_length * step.dx
        self.z = self.z + dual_length * step.dz
        self._phi += dual_length * step.dphi


class DenseFactor:
    """Cholesky factor of ``diag + G``, G given by its lower triangle, which is overwritten."""

    def __init__(self, matrix: FloatArray, stiffness: FloatArray) -> None:
        diagonal = diagonal_of(matrix)
        diagonal += stiffness
        self._lower = cholesky(matrix)

    def solve(self, right: FloatArray) -> FloatArray:
        return cholesky_solve(self._lower, right[0])[None, :]


class EpigraphFactor:
    """Solves for (dw, dr) of the one-hot coding by K factors of n x n and one for r.

    Without r every class has M = G + A + B, and r the sum of the Schur complements ``B - B M^-1 B``. That
    subtracts nearly equal numbers where B is by far the largest term, on T. There z = w - r takes the
    place of w, whose complement is ``(G + A) - (G + A) M^-1 (G + A)``, and the two subtract little:

        T, T: (G + A) - W'W,  W = L^-1 (G + A),  M = L L';      elsewhere: B - B M^-1 B.
    """

    def __init__(self, grams: list[FloatArray], lower: FloatArray, upper: FloatArray) -> None:
        n = lower.shape[1]
        self._upper = upper
        schur = np.zeros((n, n), order="F")
        diagonal_of(schur)[:] = upper.sum(axis=0)
        self._classes: list[tuple[FloatArray, IntArray, FloatArray]] = []
        for matrix, a, b in zip(grams, lower, upper, strict=True):
            diagonal = diagonal_of(matrix)
            diagonal += a
            top = np.flatnonzero(b > STIFF * diagonal)
            stiff = _symmetric_columns(matrix, top)
            diagonal += b
            factor = cholesky(matrix)
            inverse = dpotri(factor, lower=1)[0]
            inverse *= b
            inverse *= b[:, None]
            if len(top):
                half = dtrsm(1.0, factor, stiff, lower=1)
                inverse[np.ix_(top, top)] = np.diag(b[top]) - stiff[top] + half.T @ half
            schur -= inverse
            self._classes.append((factor, top, stiff))
        self._schur = cholesky(schur)

    def solve(self, g: FloatArray, g_r: FloatArray) -> FloatArray:
        """dw and dr - dw (2 x K x n)."""
        right = g_r.copy()
        for row, b, (factor, _, _) in zip(g, self._upper, self._classes, strict=True):
            right += b * cholesky_solve(factor, row)
        dr = cholesky_solve(self._schur, right)
        step = np.empty((2, *g.shape))
        for dw, room, row, b, (factor, top, stiff) in zip(*step, g, self._upper, self._classes, strict=True):
            right = row + b * dr
            if len(top) == 0:
                dw[:] = cholesky_solve(factor, right)
                np.subtract(dr, dw, out=room)
                continue
            right[top] = row[top]
            z = cholesky_solve(factor, right - stiff @ dr[top])
            dw[:], room[:] = z, dr - z
            dw[top] += dr[top]
            room[top] = -z[top]
        return step


class EpigraphSmallSide:
    """The same for few constraints and many instances; r is eliminated first, instance by instance.

    Per instance ``diag(A + B) - B B'/sum B``, whose inverse is a sum of positive terms.
    """

    def __init__(
        self, working: WorkingSet, weights: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        own = np.arange(len(lower))
        self._upper, self._sum = upper, upper.sum(axis=0)
        share = upper / self._sum
        hessian = -upper[:, None] * share[None, :]
        others = np.stack([np.delete(upper, k, axis=0).sum(axis=0) for k in own])
        hessian[own, own] = lower + share * others
        both = lower + upper
        mixed = upper / both
        inverse = mixed[:, None] * mixed[None, :] / (lower * mixed).sum(axis=0)
        inverse[own, own] += 1.0 / both
        self._factor = SmallSide(hessian, inverse, working, weights)

    def solve(self, g: FloatArray, g_r: FloatArray) -> FloatArray:
        dw = self._factor.solve(g + self._upper * (g_r / self._sum))
        dr = (g_r + (self._upper * dw).sum(axis=0)) / self._sum
        return np.stack([dw, dr - dw])


def _symmetric_columns(lower: FloatArray, chosen: IntArray) -> FloatArray:
    """Some columns of a symmetric matrix whose upper triangle holds zeros, in Fortran order."""
    columns = lower[:, chosen] + lower[chosen].T
    columns[chosen, np.arange(len(chosen))] /= 2.0
    return np.asfortranarray(columns)
