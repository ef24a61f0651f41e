"""An interior point for the ball, by the step and the Newton systems of the box.

The constraint of the ball is ``g(w) = rho - ||v||_G >= 0`` with ``v = C (w - centre)``. With theta its
multiplier, the scores of the multipliers are ``-theta * pull``, where ``pull = v G / ||v||_G`` is the
gradient of the distance, so that the coefficients of the rule are ``A = -kappa v`` with
``kappa = theta / ||v||_G``.
The Newton systems couple instances by ``kappa G``, as a box does by ``R'D R``, and by one rank more,

    (theta / g - kappa) pull pull',

which a second solve with the same factors takes in. The constraint is curved: the corrector subtracts the
second order of the distance along the predictor from g.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk._utils.interrupts import let_through
from minimaxrisk.engines.interior_point.sides import Coupling
from minimaxrisk.engines.interior_point.step import step
from minimaxrisk.engines.interior_point.systems import system_class
from minimaxrisk.engines.solution import Monitor, Solution, SparseCoefficients, StoppingRule, is_stuck
from minimaxrisk.problem.ball import Ball
from minimaxrisk.problem.problem import lower_bound, upper_bound

# Multipliers take some steps until they bound anything at all, so that it is stuck later than on a box.
PATIENCE, LEFT = 20, 0.9
# How far from the centre the start goes towards masses that all labels share, or towards the boundary.
START = 0.5
# The smallest square of a distance, so that it divides.
SMALLEST_SQUARE = 1e-300
# Where nobody asks for more.
NEAR = StoppingRule(1e-8)


def solve_ball(problem: Ball, enough: StoppingRule = NEAR, monitor: Monitor | None = None) -> Solution:
    """The best bounds found, ``enough`` unless the numbers do not allow it; coefficients are B x n."""
    objective = problem.objective
    shared = np.broadcast_to(problem.centre.sum(axis=0) / len(problem.centre), problem.centre.shape)
    nothing = np.zeros(problem.shape)
    point = lower_bound(problem, objective, shared)
    best = Solution(
        problem.shape,
        SparseCoefficients.of(nothing),
        upper_bound(problem, objective, nothing),
        point.distribution,
        point.bound,
        solver="interior-point",
    )
    # It may be that the ball holds a distribution that tells the labels nothing.
    best.converged = bool(enough(best.lower, best.upper))
    try:
        with let_through():
            if not best.converged:
                _iterate(problem, shared, best, enough, monitor)
    except KeyboardInterrupt:
        best.interrupted = True
    best.stages = [best.stage]
    return best


def _iterate(
    problem: Ball, shared: FloatArray, best: Solution, enough: StoppingRule, monitor: Monitor | None
) -> None:
    """Improve ``best`` until it is enough, the iterate is stuck, or the monitor says stop."""
    objective, point = problem.objective, BallPoint(problem, shared)
    gaps: list[float] = []
    while True:
        step(point)
        if point.failed[0]:
            return
        coefficients = point.coefficients()
        upper = upper_bound(problem, objective, coefficients)
        best.offer_stage(SparseCoefficients.of(coefficients), upper)
        w = objective.repaired(point.system.distributions()[0], problem.centre)
        inside = lower_bound(problem, objective, w)
        best.offer_distribution(inside.distribution, inside.bound)
        best.report(monitor, upper, n_features=problem.n_instances)
        best.converged = bool(enough(best.lower, best.upper))
        gaps.append(best.gap)
        if best.converged or best.stopped or is_stuck(gaps, PATIENCE, LEFT):
            return


class BallPoint:
    """The iterate: an ``Iterate`` of ``step`` for one problem."""

    is_curved = True

    def __init__(self, problem: Ball, shared: FloatArray) -> None:
        """Begin between the centre and masses that all labels share."""
        self._problem = problem
        distance = problem.norm(problem.coding.encode(shared - problem.centre))
        share = START * min(1.0, problem.radius / distance)
        start = ((1.0 - share) * problem.centre + share * shared)[None]
        self.system = system_class(problem.coding, is_known=problem.marginal.is_known)(start)
        self._deviation = problem.coding.encode(start[0] - problem.centre)
        self._measure()
        self._slack = problem.radius - self._distance
        self.mean = (self.system.x * self.system.z).mean(axis=1, keepdims=True)
        self._theta = float(self.mean[0, 0]) / self._slack
        self.failed = np.zeros(1, dtype=np.bool_)

    def _measure(self) -> None:
        """Compute the distance of the masses from the centre, and its gradient."""
        seen = self._deviation @ self._problem.gram
        square = float(np.vdot(self._deviation, seen))
        self._distance = float(np.sqrt(max(square, SMALLEST_SQUARE)))
        self._pull = seen / self._distance

    def coefficients(self) -> FloatArray:
        """The coefficients of the rule (B x n), at the scale at which they prove the most."""
        found = -(self._theta / self._distance) * self._deviation
        gain = np.array([-self._problem.penalty_of(found)])
        _, scales = self.system.upper_bounds(gain, -self._theta * self._pull[None])
        return float(scales[0]) * found

    # What the step asks for.

    def primal(self) -> FloatArray:
        return np.append(self.system.x, [[self._slack]], axis=1)

    def dual(self) -> FloatArray:
        return np.append(self.system.z, [[self._theta]], axis=1)

    def factorise(self, ratio: FloatArray) -> BoolArray:
        self._ratio, kappa = ratio, self._theta / self._distance
        coupling = GramCoupling(kappa * self._problem.gram, self._problem.shape[0])
        failed = self.system.factorise(coupling, ratio[:, :-1], -self._theta * self._pull[None])
        if not failed[0]:
            self._response = self.system.respond(self._pull[None])
            self._more = self._theta / self._slack - kappa
            self._growth = 1.0 + self._more * self._along(self._response)
        return failed

    def _along(self, dx: FloatArray) -> float:
        """How much a step adds to the distance, to first order."""
        return float(np.vdot(self._pull, self.system.block_weights(dx)[0]))

    def direction(self, over: FloatArray, predictor: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        wrong = self._problem.radius - self._distance - self._slack
        if predictor is not None:
            moved = self.system.block_weights(predictor[:, :-1])[0]
            square = float(np.vdot(moved @ self._problem.gram, moved))
            wrong -= 0.5 * max(0.0, square - float(np.vdot(self._pull, moved)) ** 2) / self._distance
        force = over[0, -1] - self._ratio[0, -1] * wrong
        dx, _ = self.system.solve(over[:, :-1], -force * self._pull[None])
        # Taken from the step itself, the change of the distance would have lost the digits that theta needs.
        along = self._along(dx) / self._growth
        dx = dx - self._more * along * self._response
        primal = np.append(dx, [[wrong - along]], axis=1)
        return primal, over - self._ratio * primal

    def longest_step(self, dprimal: FloatArray) -> float:
        return np.inf

    def move(
        self, primal_length: FloatArray, dprimal: FloatArray, dual_length: FloatArray, ddual: FloatArray
    ) -> None:
        dx, length = primal_length * dprimal[:, :-1], float(primal_length[0, 0])
        self.system.x = self.system.x + dx
        self.system.z = self.system.z + dual_length * ddual[:, :-1]
        self._deviation = self._deviation + self.system.block_weights(dx)[0]
        self._slack += length * float(dprimal[0, -1])
        self._theta += float(dual_length[0, 0]) * float(ddual[0, -1])
        self._measure()


class GramCoupling(Coupling):
    """The coupling of all instances by a multiple of the kernel matrix, the same in every block."""

    def __init__(self, gram: FloatArray, n_blocks: int) -> None:
        super().__init__(1)
        self._gram, self._n_blocks = gram, n_blocks

    def matrices(self, i: int) -> Iterable[FloatArray]:
        return (np.asfortranarray(np.tril(self._gram)) for _ in range(self._n_blocks))
