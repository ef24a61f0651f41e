"""The Newton system of the signed coding where the masses of the instances are known."""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.newton import InstanceStep
from minimaxrisk.engines.interior_point.signed_system import DiagonalPlusGramFactor


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
