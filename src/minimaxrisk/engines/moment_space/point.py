"""The iterate of the space of moments, and its step: predictor, corrector and a few corrections more.

Mehrotra's method starts outside of all constraints. The further corrections are Gondzio's: they ask for a
longer step and pull the products that such a step would leave far from the others. Each takes one solve with
the matrix at hand, so they pay where forming the matrix takes most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.positive_definite import FactorisationError
from minimaxrisk.engines.moment_space.newton import Columns, NewtonEquations, Step
from minimaxrisk.problem.problem import Box

# How far towards the boundary a step goes.
NEARLY_ALL = 0.995
# Where coefficients, slacks and multipliers of moments begin, and the sum of all masses.
FIRST_MU, FIRST_SLACK, FIRST_MULTIPLIER, FIRST_MASS = 0.1, 1.0, 0.1, 10.0
# Further corrections, up to so many moments and beyond; how much longer they want the step to be, the
# products that are near enough to the others, and the part of the wanted length that makes one worth taking.
CORRECTIONS, MANY_CORRECTIONS, FEW_MOMENTS = 2, 4, 1000
LONGER, NEAR, WORTH = 0.3, (0.1, 10.0), 0.1
# Moments from which on a matrix of half the digits saves time.
FEWEST_HALVED = 2000

PRIMAL, DUAL = ("plus", "minus", "p", "u", "v"), ("a_plus", "a_minus", "b", "w", "r")
PAIRS = tuple(zip(PRIMAL, DUAL, strict=True))


@dataclass
class Point:
    """All numbers of an iterate; products of a primal and its dual number vanish at the optimum."""

    columns: Columns
    tau: FloatArray
    lam: FloatArray
    plus: FloatArray  # K x d
    minus: FloatArray
    p: FloatArray  # K x n
    u: FloatArray
    v: FloatArray  # n
    w: FloatArray
    r: FloatArray
    b: FloatArray
    a_plus: FloatArray
    a_minus: FloatArray
    nu: float
    has_half: bool = True  # whether half the digits have been enough so far

    @classmethod
    def first(cls, problem: Box) -> Point:
        Z = np.asarray(problem.features.columns(np.arange(problem.shape[1])), dtype=np.float64, order="C")
        (n, d), squares = Z.shape, problem.features.squares_elsewhere()
        n_classes = problem.coding.n_classes
        p, mu = np.full((n_classes, n), 1.0 / (n_classes + 1.0)), np.full((n_classes, d), FIRST_MU)
        w = np.full((n_classes, n), FIRST_MASS / (n * n_classes))
        r = np.full(n, 2.0 * FIRST_MASS / (n * n_classes))
        a = np.maximum(problem.lam, FIRST_MULTIPLIER)
        return cls(
            Columns(Z, n_classes, squares),
            problem.tau,
            problem.lam,
            plus=mu,
            minus=mu.copy(),
            p=p,
            u=np.maximum(p + 1.0 / n_classes, FIRST_SLACK),
            v=1.0 - p.sum(axis=0),
            w=w,
            r=r,
            b=r - w,
            a_plus=a,
            a_minus=a.copy(),
            nu=1.0 / n_classes,
            has_half=n_classes * d >= FEWEST_HALVED and squares is None,
        )

    @property
    def mu(self) -> FloatArray:
        return self.plus - self.minus

    @property
    def complementarity(self) -> float:
        """The sum of all products: the gap, once both sides are feasible."""
        return float(sum(np.vdot(getattr(self, x), getattr(self, z)) for x, z in PAIRS))

    def advance(self, is_coarse: bool = False) -> bool:
        """One step; False where rounding leaves none. A coarse one may do with half the digits."""
        self.has_half &= is_coarse
        step, lengths = self._step("f") if self.has_half else (None, (0.0, 0.0))
        if step is None:
            self.has_half = False
            step, lengths = self._step("d")
        if step is None or not step.is_finite:
            return False
        for name in (*PRIMAL, "nu"):
            setattr(self, name, getattr(self, name) + lengths[0] * getattr(step, name))
        for name in DUAL:
            setattr(self, name, getattr(self, name) + lengths[1] * getattr(step, name))
        return True

    def _step(self, dtype: str) -> tuple[Step | None, tuple[float, float]]:
        """A step and its lengths; None where the equations cannot be solved with these digits."""
        nothing = None, (0.0, 0.0)
        try:
            equations = NewtonEquations(self.columns, self.tau, self.lam, self, dtype)
        except FactorisationError:
            return nothing
        with np.errstate(all="ignore"):
            found = self._corrected(equations)
        return found if equations.is_accurate or dtype == "d" else nothing

    def _corrected(self, equations: NewtonEquations) -> tuple[Step, tuple[float, float]]:
        n_products = 2 * self.p.size + len(self.v) + 2 * self.plus.size
        now = self.complementarity / n_products
        products = [-getattr(self, x) * getattr(self, z) for x, z in PAIRS]
        predictor = equations.step(products)
        lengths = self._lengths(predictor)
        after = sum(np.vdot(*pair) for pair in self._pairs_after(predictor, lengths)) / n_products
        target = now * (float(after) / now) ** 3
        wanted = [
            target + product - getattr(predictor, x) * getattr(predictor, z)
            for product, (x, z) in zip(products, PAIRS, strict=True)
        ]
        step = equations.step(wanted)
        lengths = self._lengths(step)
        for _ in range(CORRECTIONS if self.plus.size <= FEW_MOMENTS else MANY_CORRECTIONS):
            wished = min(1.0, lengths[0] + LONGER), min(1.0, lengths[1] + LONGER)
            further = []
            for product, (x, z) in zip(wanted, self._pairs_after(step, wished), strict=True):
                missed = x * z
                pull = np.clip(missed, NEAR[0] * target, NEAR[1] * target) - missed
                further.append(product + np.maximum(pull, -NEAR[1] * target))
            candidate = equations.step(further)
            longer = self._lengths(candidate)
            if not sum(longer) >= sum(lengths) + WORTH * LONGER:
                break
            step, lengths, wanted = candidate, longer, further
        return step, lengths

    def _lengths(self, step: Step) -> tuple[float, float]:
        """How long the step may be on either side, at most one, so that all numbers stay positive."""
        primal, dual = (
            min(float((getattr(step, name) / getattr(self, name)).min()) for name in side)
            for side in (PRIMAL, DUAL)
        )
        return _longest(primal), _longest(dual)

    def _pairs_after(self, step: Step, lengths: tuple[float, float]) -> list[Any]:
        return [
            (
                getattr(self, x) + lengths[0] * getattr(step, x),
                getattr(self, z) + lengths[1] * getattr(step, z),
            )
            for x, z in PAIRS
        ]


def _longest(fastest: float) -> float:
    return 1.0 if fastest >= -NEARLY_ALL else -NEARLY_ALL / fastest
