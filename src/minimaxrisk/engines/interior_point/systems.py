"""The Newton systems of the interior point: one per coding, and one more where masses are known.

Both codings lead to a program over pairs of non-negative numbers (x, z), primal and dual, that belong to
instances, and pairs (s, y) that belong to moment constraints. A system holds the first kind. Given what the
second kind adds, ``G_b = R'D R`` on each block (``factors``), it eliminates everything else and solves for
the Newton step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk._utils.positive_definite import cholesky, cholesky_solve
from minimaxrisk.engines.interior_point.factors import (
    CautiousDiagonalFactor,
    CautiousEpigraphFactor,
    EpigraphFactor,
    Factor,
)
from minimaxrisk.features.moment_constraints import WorkingSet
from minimaxrisk.problem.problem import Box
from minimaxrisk.problem.rule import instance_thresholds, threshold

# What the start adds to every primal number, in units of 1/n, so that none begins near zero.
OFFSET = 0.5
# Of the scores in the multipliers of both labels, for the signed coding.
SIGNS = np.array([[1.0], [-1.0]])

# Masses that seem positive at the optimum and those that seem the largest of their instance (K x n each), and
# instances whose known mass seems to be all on one label.
Support = tuple[BoolArray, BoolArray, BoolArray]


class InstanceStep(NamedTuple):
    """A Newton step of the primal numbers that belong to instances."""

    dx: FloatArray
    block_weights: FloatArray  # change of C w (B x n)
    moved: FloatArray | None  # that of the working set's positions, where it is known better than by a sum
    dphi: float | FloatArray = 0.0


class NewtonSystem(ABC):
    """Pairs (x, z) that belong to instances, and how to solve for their Newton step."""

    x: FloatArray
    z: FloatArray
    phi: float | FloatArray = 0.0  # multiplier of the total mass, or of that of each instance
    _shape: tuple[int, int]  # K x n

    @abstractmethod
    def distribution(self) -> FloatArray:
        """The distribution w that x stands for (K x n)."""

    @abstractmethod
    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        """A bound that multipliers with these block scores prove, and the factor to scale them with.

        ``gain`` is ``tau'mu - lambda'|mu|``.
        """

    def support(self) -> Support:
        """What seems to be positive at the optimum: numbers that are larger than their partners."""
        is_positive = (self.x > self.x.max() * self.z).reshape(self._shape)
        return is_positive, np.ones_like(is_positive), np.zeros(self._shape[1], dtype=np.bool_)

    @abstractmethod
    def factorise(
        self, working: WorkingSet, ratio: FloatArray, weights: FloatArray, scores: FloatArray
    ) -> None:
        """Prepare ``solve``.

        ``ratio`` is z/x, ``weights`` the diagonal D, ``scores`` those of the multipliers (B x n).
        """

    @abstractmethod
    def solve(self, pushed: FloatArray, pull: FloatArray) -> InstanceStep:
        """The step for ``dz + ratio dx = pushed``.

        ``pull`` (B x n) holds the scores of the part of the multipliers' change that does not depend on dx.
        """


def system_for(problem: Box, start: FloatArray) -> NewtonSystem:
    """The system of a problem, begun at a distribution inside the uncertainty set."""
    is_known = problem.marginal.is_known
    if problem.coding.name == "signed":
        return KnownSignedSystem(start) if is_known else SignedSystem(start)
    return KnownOneHotSystem(start) if is_known else OneHotSystem(start)


class SignedSystem(NewtonSystem):
    """``min sum(p + q)`` with ``u = p - q`` in the moments: the signed coding.

    Only u = w_0 - w_1 enters the moments, and the Bayes error is ``(1 - sum |u|)/2``. x = (p, q), and the
    multipliers of p, q >= 0 are z = 1 -+ score. With e = z/x the part p + q is diagonal, and

        (E + G) du = right,   E = e_p e_q / (e_p + e_q).
    """

    def __init__(self, start: FloatArray) -> None:
        u = start[0] - start[1]
        self._shape = 2, len(u)
        self.x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)]) + OFFSET / len(u)
        self.z = np.ones(2 * len(u))
        self._factor = CautiousDiagonalFactor()

    def distribution(self) -> FloatArray:
        p, q = self.x.reshape(2, -1)
        return distribution_with_difference(p - q)

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        """``1 - t gain + max(t max|score| - 1, -1/2)`` at the best scale t, where both terms are equal."""
        largest = float(np.abs(scores).max())
        if not (gain > 0.0 and largest > 0.0):
            return 0.5, 0.0
        return 0.5 - 0.5 * gain / largest, 0.5 / largest

    def factorise(
        self, working: WorkingSet, ratio: FloatArray, weights: FloatArray, scores: FloatArray
    ) -> None:
        e_p, e_q = ratio.reshape(2, -1)
        self._residual = 1.0 - self.z.reshape(2, -1) - SIGNS * scores[0]
        self._sum = e_p + e_q
        self._shares = np.array([e_q, -e_p]) / self._sum  # of du in dp and dq
        self._factor.factorise(working, weights, e_p * self._shares[0])

    def solve(self, pushed: FloatArray, pull: FloatArray) -> InstanceStep:
        difference = pushed.reshape(2, -1) - self._residual
        right = self._shares * difference
        du, moved = self._factor.solve(right[0] + right[1] + pull[0])
        # dz_p + dz_q is known, which gives the other half of the step without cancellation.
        dx = self._shares * du
        dx += (difference[0] + difference[1]) / self._sum
        return InstanceStep(dx.ravel(), (dx[0] - dx[1])[None, :], moved)


def distribution_with_difference(u: FloatArray) -> FloatArray:
    """A distribution with w_0 - w_1 = u (2 x n); the rest of the mass has both labels alike."""
    positive = np.maximum(u, 0.0)
    w = np.array([positive, positive - u])
    w += max(0.0, 1.0 - float(w.sum())) / w.size
    return w


class KnownSignedSystem(NewtonSystem):
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
        self._factor = CautiousDiagonalFactor()

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

    def support(self) -> Support:
        x = self.x.reshape(3, -1)
        is_large = x > self._masses * self.z.reshape(3, -1)
        is_positive = is_large[:2] & (x[:2] >= x[1::-1])
        # Where nothing is left to carry both labels alike, the mass is all on one.
        return is_positive, np.ones_like(is_positive), is_positive.any(axis=0) & ~is_large[2]

    def factorise(
        self, working: WorkingSet, ratio: FloatArray, weights: FloatArray, scores: FloatArray
    ) -> None:
        z = self.z.reshape(3, -1)
        self._residual = 1.0 + z[2] - z[:2] - SIGNS * scores[0]
        self._ratio = e_p, e_q, e_v = ratio.reshape(3, -1)
        self._sum = e_p + e_q + 4.0 * e_v
        self._factor.factorise(working, weights, (e_p * e_q + e_v * (e_p + e_q)) / self._sum)

    def solve(self, pushed: FloatArray, pull: FloatArray) -> InstanceStep:
        pushed = pushed.reshape(3, -1)
        a, b = pushed[:2] - self._residual - pushed[2]
        e_p, e_q, e_v = self._ratio
        for_p, for_q = e_q + 2.0 * e_v, e_p + 2.0 * e_v
        du, moved = self._factor.solve((for_p * a - for_q * b) / self._sum + pull[0])
        both = a + b
        dx = np.stack([both + for_p * du, both - for_q * du, (e_p - e_q) * du - 2.0 * both])
        dx /= self._sum
        return InstanceStep(dx.ravel(), du[None, :], moved)


class OneHotSystem(NewtonSystem):
    """``min sum r`` over ``0 <= w <= r``, ``sum w = 1``, with w itself in the moments: the one-hot coding.

    x = (w, r - w) and z = (a, b), with stationarity ``score - phi = b - a`` and ``sum_y b = 1``. Per class

        (G + A + B) dw - B dr = g,   A = a/w,  B = b/(r - w),

    and one equation for dr. The step is linear in the change of phi, which is chosen so that the mass becomes
    one; that also takes back what rounding has added to it so far.
    """

    def __init__(self, start: FloatArray) -> None:
        self._shape = n_classes, n = start.shape
        self.x = np.concatenate([start, start.max(axis=0) + OFFSET / n - start]).ravel()
        self.z = np.full(2 * start.size, 1.0 / n_classes)
        self._cautious = CautiousEpigraphFactor()

    def distribution(self) -> FloatArray:
        w = self.x.reshape(2, *self._shape)[0]
        return w / w.sum()

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        return 1.0 - gain + threshold(scores), 1.0

    def support(self) -> Support:
        scale = self.distribution().max()
        is_large = (self.x > scale * self.z).reshape(2, *self._shape)
        return is_large[0], ~is_large[1], np.zeros(self._shape[1], dtype=np.bool_)

    def factorise(
        self, working: WorkingSet, ratio: FloatArray, weights: FloatArray, scores: FloatArray
    ) -> None:
        self._x, z, self._ratio = (each.reshape(2, *self._shape) for each in (self.x, self.z, ratio))
        self._residual = scores - self.phi - z[1] + z[0]
        self._mass_residual = 1.0 - z[1].sum(axis=0)
        self._factor = self._factor_of_ratios(working, weights)

    def _factor_of_ratios(self, working: WorkingSet, weights: FloatArray) -> Factor[[FloatArray, FloatArray]]:
        self._cautious.factorise(working, weights, *self._ratio)
        # What a change of phi by -1 does.
        self._unit = self._cautious.solve_equal(self._shape)
        return self._cautious

    def solve(self, pushed: FloatArray, pull: FloatArray) -> InstanceStep:
        pushed = pushed.reshape(2, *self._shape)
        g = self._residual + pull
        g += pushed[0]
        g -= pushed[1]
        dx, moved = self._factor.solve(g, pushed[1].sum(axis=0) - self._mass_residual)
        dphi = self._keep_masses(dx, moved)
        return InstanceStep(dx.ravel(), dx[0], moved, dphi)

    def _keep_masses(self, dx: FloatArray, moved: FloatArray | None) -> float | FloatArray:
        """Change the step, in place, so that the masses are right; returns the change of phi."""
        unit, unit_moved = self._unit
        dphi = float((dx[0].sum() + self._x[0].sum() - 1.0) / unit[0].sum())
        dx -= dphi * unit
        if moved is not None and unit_moved is not None:
            moved -= dphi * unit_moved
        return dphi


class KnownOneHotSystem(OneHotSystem):
    """``OneHotSystem`` with ``sum_y w = m`` at every instance, each with a phi of its own."""

    def __init__(self, start: FloatArray) -> None:
        super().__init__(start)
        self._masses = start.sum(axis=0)
        self.phi = np.zeros(self._shape[1])

    def distribution(self) -> FloatArray:
        w = self.x.reshape(2, *self._shape)[0]
        return w * (self._masses / w.sum(axis=0))

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        return 1.0 - gain + float(self._masses @ instance_thresholds(scores)), 1.0

    def support(self) -> Support:
        x, z = self.x.reshape(2, *self._shape), self.z.reshape(2, *self._shape)
        is_large = (x / self._masses) > z
        is_positive, is_largest = is_large[0], ~is_large[1]
        # Some label has the largest mass of every instance.
        largest = x[0].argmax(axis=0), np.arange(self._shape[1])
        is_positive[largest] = is_largest[largest] = True
        return is_positive, is_largest, np.zeros(self._shape[1], dtype=np.bool_)

    def _factor_of_ratios(self, working: WorkingSet, weights: FloatArray) -> Factor[[FloatArray, FloatArray]]:
        factor = EpigraphFactor(working, weights, *self._ratio, keeps_inverses=True)
        self._compliance = cholesky(factor.compliance_of_masses())
        return factor

    def _keep_masses(self, dx: FloatArray, moved: FloatArray | None) -> FloatArray:
        excess = dx[0].sum(axis=0) + self._x[0].sum(axis=0) - self._masses
        dphi = cholesky_solve(self._compliance, excess)
        dx -= self._factor.solve(np.tile(dphi, (self._shape[0], 1)), np.zeros(self._shape[1]))[0]
        return dphi
