"""The Newton system of the one-hot coding where the masses of the instances are known."""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk.engines.interior_point.factors import cholesky, cholesky_solve, gram
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.newton import OFFSET, InstanceStep
from minimaxrisk.engines.interior_point.one_hot_system import EpigraphFactor
from minimaxrisk.problem.rule import instance_thresholds


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
