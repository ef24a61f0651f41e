"""What the interior point asks of a Newton system; there is one per coding.

Both codings lead to a program over pairs of non-negative numbers (x, z), primal and dual, that belong to
instances, and pairs (s, y) that belong to moment constraints. A system knows the first kind. Given what
the second kind adds, ``G_b = rows' D rows`` on each block, it eliminates everything but positive
definite matrices of n x n or smaller. Sums of positive terms stay sums: textbook Woodbury forms
subtract, and stall four digits earlier.

The Newton system of the signed coding: one positive definite matrix of n x n, or smaller.

The Newton system of the one-hot coding: one matrix of n x n per class and one more, or smaller ones.

The Newton system of the signed coding where the masses of the instances are known.

The Newton system of the one-hot coding where the masses of the instances are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyrk, dtrsm

from minimaxrisk._utils.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    beside,
    namespace_of,
    to_numpy,
)
from minimaxrisk.engines.interior_point.constraints import WorkingSet
from minimaxrisk.engines.interior_point.factors import (
    MANY_INSTANCES,
    REGULARISATIONS,
    CautiousFactor,
    Factor,
    FactorisationError,
    Kept,
    PlainSide,
    RoughEpigraphFactor,
    SmallSide,
    cholesky,
    cholesky_solve,
    diagonal_of,
    gram,
    inverse_from_factor,
    pays,
    softest,
)
from minimaxrisk.engines.interior_point.working_rows import DeviceRows, Rows
from minimaxrisk.problem.rule import instance_thresholds, threshold

# What the start adds to every primal number, in units of 1/n, so that none begins near zero.
OFFSET = 0.5


@dataclass(frozen=True)
class InstanceStep:
    """A Newton step of the numbers that belong to instances."""

    dx: FloatArray
    dz: FloatArray
    block_weights: FloatArray  # change of C w (B x n)
    moved: FloatArray | None  # that of the working set's positions, where it is known better than by a sum
    dphi: float | FloatArray = 0.0


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

    def support(self) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Masses that seem positive at the optimum, those that seem largest, and instances that are full."""
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


# Constraints per instance below which the plain form takes fewer operations than a matrix of n x n.
FEW_SIGNED = 0.8


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

        self._factor.factorise(plain if len(working) < FEW_SIGNED * n else None, careful)

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


# Where B exceeds the rest of its matrix by this factor, a subtraction would lose as many digits.
STIFF = 1e5
# Constraints per instance, those of all blocks together, below which the plain form takes fewer operations
# than matrices of n x n.
FEW_ONE_HOT = 0.6


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

        if len(working) < FEW_ONE_HOT * n:
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


class KnownSignedSystem:
    """``min sum(p + q)`` with ``u = p - q`` in the moments and ``p + q + v = m``, the instance's mass.

    v is the part of the mass that carries both labels alike. x = (p, q, v), and with t >= 0 the multiplier
    of v the stationarity is ``z = (1 - score + t, 1 + score + t, t)``: scores beyond 1 cost their excess.
    With e = z/x, everything but du is eliminated per instance, by sums of positive terms:

        (E + G) du = right,   E = (e_p e_q + e_v (e_p + e_q)) / (e_p + e_q + 4 e_v).
    """

    def __init__(self, start: FloatArray) -> None:
        self._masses = start.sum(axis=0)
        alike = start.min(axis=0)
        self.x = np.concatenate([start[0] - 0.5 * alike, start[1] - 0.5 * alike, alike])
        self.z = np.repeat([2.0, 2.0, 1.0], len(alike))
        self._factor = DiagonalPlusGramFactor()

    def distribution(self) -> FloatArray:
        p, q, v = self.x.reshape(3, -1)
        w = np.stack([p, q]) + 0.5 * v
        return w * (self._masses / w.sum(axis=0))

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        """``(1 - t gain + sum_i m_i (t |score_i| - 1)_+) / 2`` at the best scale t.

        Convex and piecewise linear in t: its slope, -gain at first, grows by ``m_i |score_i|`` at each kink
        ``1 / |score_i|``, and the kink at which it turns positive is the best one.
        """
        size = np.abs(scores[0])
        order = np.argsort(-size, kind="stable")
        slope = np.cumsum((self._masses * size)[order]) - gain
        turns = int(np.argmax(slope >= 0.0))
        if not (gain > 0.0 and slope[turns] >= 0.0):
            return 0.5, 0.0
        t = 1.0 / float(size[order[turns]])
        excess = float(self._masses @ np.maximum(t * size - 1.0, 0.0))
        return 0.5 * (1.0 - t * gain + excess), 0.5 * t

    def support(self) -> tuple[BoolArray, BoolArray, BoolArray]:
        x = self.x.reshape(3, -1)
        is_large = x > self._masses * self.z.reshape(3, -1)
        is_positive = is_large[:2] & (x[:2] >= x[1::-1])
        # Where nothing is left to carry both labels alike, the mass is all on one.
        return is_positive, np.ones_like(is_positive), is_positive.any(axis=0) & ~is_large[2]

    def factorise(self, working: WorkingSet, weights: FloatArray, scores: FloatArray) -> None:
        self._x = self.x.reshape(3, -1)
        z = self.z.reshape(3, -1)
        self._residual = 1.0 + z[2] - z[:2]
        self._residual[0] -= scores[0]
        self._residual[1] += scores[0]
        self._ratio = z / self._x
        e_p, e_q, e_v = self._ratio
        self._sum = e_p + e_q + 4.0 * e_v
        stiffness = (e_p * e_q + e_v * (e_p + e_q)) / self._sum
        self._factor.factorise(working, weights, stiffness)

    def solve(self, target: FloatArray, pull: FloatArray) -> InstanceStep:
        pushed = target.reshape(3, -1) / self._x
        a, b = pushed[:2] - self._residual - pushed[2]
        e_p, e_q, e_v = self._ratio
        beside_p, beside_q = e_q + 2.0 * e_v, e_p + 2.0 * e_v
        du, moved = self._factor.solve((beside_p * a - beside_q * b) / self._sum + pull[0])
        both = a + b
        dx = np.stack(
            [both + beside_p * du, both - beside_q * du, (e_p - e_q) * du - 2.0 * both],
        )
        dx /= self._sum
        dz = pushed - self._ratio * dx
        return InstanceStep(dx.ravel(), dz.ravel(), du[None, :], moved)

    def advance(self, step: InstanceStep, primal_length: float, dual_length: float) -> None:
        self.x = self.x + primal_length * step.dx
        self.z = self.z + dual_length * step.dz


class KnownOneHotSystem:
    """``min sum r`` over ``0 <= w <= r`` and ``sum_y w = m`` at every instance, with w in the moments.

    As ``OneHotSystem``, with a phi of its own for every instance.
    """

    def __init__(self, start: FloatArray) -> None:
        self._shape = n_classes, n = start.shape
        self._masses = start.sum(axis=0)
        self.x = np.concatenate([start, start.max(axis=0) + OFFSET / n - start]).ravel()
        self.z = np.full(2 * start.size, 1.0 / n_classes)
        self._phi = np.zeros(n)

    def distribution(self) -> FloatArray:
        w = self.x.reshape(2, *self._shape)[0]
        return w * (self._masses / w.sum(axis=0))

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        return 1.0 - gain + float(self._masses @ instance_thresholds(scores)), 1.0

    def support(self) -> tuple[BoolArray, BoolArray, BoolArray]:
        is_large = (self.x.reshape(2, *self._shape) / self._masses) > self.z.reshape(2, *self._shape)
        # Some label has the largest mass of every instance.
        w, everywhere = self.x.reshape(2, *self._shape)[0], np.arange(self._shape[1])
        is_positive, is_largest = is_large[0], ~is_large[1]
        is_positive[w.argmax(axis=0), everywhere] = is_largest[w.argmax(axis=0), everywhere] = True
        return is_positive, is_largest, np.zeros(self._shape[1], dtype=np.bool_)

    def factorise(self, working: WorkingSet, weights: FloatArray, scores: FloatArray) -> None:
        self._x = self.x.reshape(2, *self._shape)
        z = self.z.reshape(2, *self._shape)
        self._ratio = z / self._x
        self._residual = scores - self._phi - z[1] + z[0]
        self._mass_residual = 1.0 - z[1].sum(axis=0)
        grams = [gram(working, block, weights) for block in range(len(working.parts))]
        self._factor = EpigraphFactor(grams, *self._ratio, keeps_inverses=True)
        self._compliance = cholesky(self._factor.compliance_of_masses())

    def solve(self, target: FloatArray, pull: FloatArray) -> InstanceStep:
        pushed = target.reshape(2, *self._shape) / self._x
        g = self._residual + pull
        g += pushed[0]
        g -= pushed[1]
        dx, _ = self._factor.solve(g, pushed[1].sum(axis=0) - self._mass_residual)
        # Also takes back what rounding has added to the masses so far.
        excess = dx[0].sum(axis=0) + self._x[0].sum(axis=0) - self._masses
        dphi = cholesky_solve(self._compliance, excess)
        held, _ = self._factor.solve(np.tile(dphi, (self._shape[0], 1)), np.zeros(self._shape[1]))
        dx -= held
        dz = pushed - self._ratio * dx
        return InstanceStep(dx.ravel(), dz.ravel(), dx[0], None, dphi)

    def advance(self, step: InstanceStep, primal_length: float, dual_length: float) -> None:
        self.x = self.x + primal_length * step.dx
        self.z = self.z + dual_length * step.dz
        self._phi = self._phi + dual_length * step.dphi


@factor_of_sum.register
def factor_on_device(
    rows: DeviceRows, working: WorkingSet, block: int, weights: FloatArray, stiffness: FloatArray
) -> Factor[[FloatArray]]:
    part = working.parts[block]
    inner = weights[part] / working.radius[part] ** 2
    if len(stiffness) < MANY_INSTANCES:
        return DiagonalPlusGram(rows.gram(part, inner), stiffness)
    return DiagonalPlusGramThere(rows, part, inner, stiffness, working.radius[part])


class DiagonalPlusGramThere:
    """Cholesky factor of ``E + G`` on the device; right-hand sides go there, solutions come back."""

    def __init__(
        self, rows: DeviceRows, part: slice, weights: FloatArray, stiffness: FloatArray, radius: FloatArray
    ) -> None:
        gram = rows.gram_there(part, weights)
        xp = namespace_of(gram)
        self._xp, self._solve = xp, getattr(xp, "cholesky_solve", None)
        self._columns, self._radius = rows.columns[:, part], radius
        unit = xp.eye(len(stiffness), dtype=gram.dtype, device=gram.device)
        matrix = gram + beside(gram, stiffness) * unit
        for extra in REGULARISATIONS:
            self._matrix = matrix + extra * (matrix * unit) if extra else matrix
            try:
                self._lower = xp.linalg.cholesky(self._matrix)
            except (RuntimeError, np.linalg.LinAlgError):
                continue
            if bool(xp.isfinite(self._lower[-1, -1])):
                return
        raise FactorisationError

    def solve(self, right: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """The step, and what it moves the positions of a single block by, in one message."""
        xp, there = self._xp, beside(self._lower, right[:, None])
        if self._solve is not None:  # PyTorch; the standard knows no systems of triangles
            u = self._solve(there, self._lower)
        else:
            u = xp.linalg.solve(self._matrix, there)
        moved = xp.matrix_transpose(self._columns) @ u
        both = to_numpy(xp.concat([u, moved], axis=0))[:, 0]
        return both[: len(right)], both[len(right) :] / self._radius
