"""The Newton system of the one-hot coding: one matrix of n x n per class and one more, or smaller ones."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyrk, dtrsm

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.interior_point.factors import (
    cholesky,
    cholesky_solve,
    diagonal_of,
    gram,
    inverse_from_factor,
)
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.newton import OFFSET, InstanceStep
from minimaxrisk.engines.interior_point.plain_side import CautiousFactor, PlainSide
from minimaxrisk.engines.interior_point.rough_factor import RoughEpigraphFactor
from minimaxrisk.engines.interior_point.small_side import Kept, SmallSide, pays, softest
from minimaxrisk.problem.rule import threshold

# Where B exceeds the rest of its matrix by this factor, a subtraction would lose as many digits.
STIFF = 1e5
# Constraints per instance, those of all blocks together, below which the plain form takes fewer operations
# than matrices of n x n.
FEW = 0.6


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
        self._phi: float | FloatArray = 0.0
        self._factor: CautiousFactor[[FloatArray, FloatArray]] = CautiousFactor()

    def distribution(self) -> FloatArray:
        w = self.x.reshape(2, *self._shape)[0]
        return w / w.sum()

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        return 1.0 - gain + threshold(scores), 1.0

    def support(self) -> tuple[BoolArray, BoolArray, BoolArray]:
        scale = self.distribution().max()
        is_large = (self.x > scale * self.z).reshape(2, *self._shape)
        return is_large[0], ~is_large[1], np.zeros(self._shape[1], dtype=np.bool_)

    def factorise(self, working: WorkingSet, weights: FloatArray, scores: FloatArray) -> None:
        n = self._shape[1]
        self._x = self.x.reshape(2, *self._shape)
        z = self.z.reshape(2, *self._shape)
        self._ratio = z / self._x
        self._residual = scores - self._phi - z[1] + z[0]
        self._mass_residual = 1.0 - z[1].sum(axis=0)
        lower, upper = self._ratio

        small_side_pays = pays(n, len(working), len(working.parts))

        def plain() -> EpigraphPlainSide:
            return EpigraphPlainSide(working, weights, lower, upper)

        def rough() -> RoughEpigraphFactor:
            return RoughEpigraphFactor(working, weights, lower, upper)

        def careful() -> EpigraphSmallSide | EpigraphFactor:
            if small_side_pays:
                return EpigraphSmallSide(working, weights, lower, upper)
            grams = [gram(working, block, weights) for block in range(len(working.parts))]
            return EpigraphFactor(grams, lower, upper)

        if len(working) < FEW * n:
            self._factor.factorise(plain, careful)
        else:
            self._factor.factorise(None if small_side_pays else rough, careful)
        # A second right-hand side, by which sum w is kept.
        self._unit: tuple[FloatArray, FloatArray | None]
        self._unit = self._factor.solve(np.ones(self._shape), np.zeros(n))

    def solve(self, target: FloatArray, pull: FloatArray) -> InstanceStep:
        pushed = target.reshape(2, *self._shape) / self._x
        g = self._residual + pull
        g += pushed[0]
        g -= pushed[1]
        dx, moved = self._factor.solve(g, pushed[1].sum(axis=0) - self._mass_residual)
        unit, unit_moved = self._unit
        # Also takes back what rounding has added to the mass so far.
        dphi = float((dx[0].sum() + self._x[0].sum() - 1.0) / unit[0].sum())
        dx -= dphi * unit
        if moved is not None and unit_moved is not None:
            moved -= dphi * unit_moved
        dz = pushed - self._ratio * dx
        return InstanceStep(dx.ravel(), dz.ravel(), dx[0], moved, dphi)

    def advance(self, step: InstanceStep, primal_length: float, dual_length: float) -> None:
        self.x = self.x + primal_length * step.dx
        self.z = self.z + dual_length * step.dz
        self._phi = self._phi + dual_length * step.dphi


class EpigraphFactor:
    """Solves for (dw, dr) of the one-hot coding by K factors of n x n and one for r.

    Without r every class has M = G + A + B, and r the sum of the Schur complements ``B - B M^-1 B``. That
    subtracts nearly equal numbers where B is by far the largest term, on T. There z = w - r takes the
    place of w, whose complement is ``(G + A) - (G + A) M^-1 (G + A)``, and the two subtract little:

        T, T: (G + A) - W'W,  W = L^-1 (G + A),  M = L L';      elsewhere: B - B M^-1 B.
    """

    def __init__(
        self,
        grams: list[FloatArray],
        lower: FloatArray,
        upper: FloatArray,
        *,
        keeps_inverses: bool = False,
    ) -> None:
        n = lower.shape[1]
        self._inverses: list[FloatArray] = []
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
            inverse = inverse_from_factor(factor)
            if keeps_inverses:
                self._inverses.append(inverse.copy(order="F"))
            inverse *= b
            inverse *= b[:, None]
            if len(top):
                half = dtrsm(1.0, factor, stiff, lower=1)
                inverse[np.ix_(top, top)] = np.diag(b[top]) - stiff[top] + half.T @ half
            schur -= inverse
            self._classes.append((factor, top, stiff))
        self._schur = cholesky(schur)

    def compliance_of_masses(self) -> FloatArray:
        """Lower triangle of the map from one push on all labels of each instance to the masses it adds.

        Without r it is the sum of the inverses ``C = M^-1``; r adds ``N' S^-1 N`` with ``N = sum B C``.
        """
        total = np.zeros_like(self._schur, order="F")
        coupling = np.zeros_like(total)
        for inverse, b in zip(self._inverses, self._upper, strict=True):
            total += inverse
            coupling += b[:, None] * _symmetrised(inverse)
        half = dtrsm(1.0, self._schur, coupling, lower=1, overwrite_b=1)
        return dsyrk(1.0, half, beta=1.0, c=total, trans=1, lower=1, overwrite_c=1)

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, None]:
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
        return step, None


class EpigraphPlainSide:
    """The same for few constraints, by the plain form.

    Where r is eliminated, an instance has ``diag(A + B) - B B'/sum B``, whose inverse is a sum of positive
    terms, ``diag(1/(A + B)) + m m'/sum(A m)`` with ``m = B/(A + B)``. Where B is large, dr - dw comes from
    its own equation, ``B (dr - dw) = A dw - q`` with ``q = g - R'y``, and not by subtraction.
    """

    def __init__(
        self, working: WorkingSet, weights: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        self._lower, self._upper, self._sum = lower, upper, upper.sum(axis=0)
        own = 1.0 / (lower + upper)
        mixed = upper * own
        shared = mixed / np.sqrt((lower * mixed).sum(axis=0))
        self._factor = PlainSide(working, weights, own, shared)

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """dw and dr - dw (2 x K x n), and the positions' change."""
        lower, upper = self._lower, self._upper
        from_r = upper * (g_r / self._sum)
        dw, rest, moved = self._factor.solve(g + from_r)
        dr = (g_r + (upper * dw).sum(axis=0)) / self._sum
        room = np.where(upper > lower, (lower * dw - (rest - from_r)) / upper, dr - dw)
        return np.stack([dw, room]), moved


class EpigraphSmallSide:
    """The same for few constraints and many instances.

    Where r is eliminated, an instance has ``diag(A + B) - B B'/sum B``, whose inverse is a sum of positive
    terms. The softest instances keep their r, and z = w - r in place of w where w is nearly r.
    """

    def __init__(
        self, working: WorkingSet, weights: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        own = np.arange(len(lower))
        both = lower + upper
        mixed = upper / both
        inverse = mixed[:, None] * mixed[None, :] / (lower * mixed).sum(axis=0)
        inverse[own, own] += 1.0 / both
        self._upper, self._sum = upper, upper.sum(axis=0)
        self._kept = kept = softest(inverse, len(working))
        a, b = lower[:, kept], upper[:, kept]
        self._top = b > a
        # Unknown are K rows of z, then r: ``a w^2 + b (r - w)^2`` with w = z + r on top, w = z elsewhere.
        n_z, n_r = a.size, len(kept)
        stiffness = np.zeros((n_z + n_r, n_z + n_r), order="F")
        z, r = np.arange(n_z), n_z + np.arange(n_r)
        stiffness[z, z] = (a + b).ravel()
        stiffness[np.tile(r, len(a)), z] = np.where(self._top, a, -b).ravel()
        stiffness[r, r] = np.where(self._top, a, b).sum(axis=0)
        largest = np.tile(r, len(a))[self._top.ravel()]
        places = (np.concatenate([z, z[self._top.ravel()]]), np.concatenate([z, largest]))
        coordinates = sparse.csr_array((np.ones(len(places[0])), places), shape=(n_z, n_z + n_r))
        self._factor = SmallSide(working, weights, inverse, Kept(kept, stiffness, coordinates))

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """dw and dr - dw (2 x K x n), and the positions' change."""
        kept, top = self._kept, self._top
        g_kept = np.concatenate([g[:, kept].ravel(), g_r[kept] + np.where(top, g[:, kept], 0.0).sum(axis=0)])
        dw, v, moved = self._factor.solve(g + self._upper * (g_r / self._sum), g_kept)
        dr = (g_r + (self._upper * dw).sum(axis=0)) / self._sum
        room = dr - dw
        z = v[: top.size].reshape(top.shape)
        room[:, kept] = np.where(top, -z, v[top.size :] - z)
        return np.stack([dw, room]), moved


def _symmetrised(lower: FloatArray) -> FloatArray:
    """A symmetric matrix from its lower triangle."""
    triangle = np.tril(lower)
    return np.asfortranarray(triangle + np.tril(triangle, -1).T)


def _symmetric_columns(lower: FloatArray, chosen: IntArray) -> FloatArray:
    """Some columns of a symmetric matrix whose upper triangle holds zeros, in Fortran order."""
    columns = lower[:, chosen] + lower[chosen].T
    columns[chosen, np.arange(len(chosen))] /= 2.0
    return np.asfortranarray(columns)
