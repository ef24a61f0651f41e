"""The engine for problems whose matrices no factor holds: primal-dual steps, certified as they go.

Every few steps the masses and the coefficients reached are certified, which takes no further product with the
features: their moments and scores are at hand. The bounds that are reported are computed afresh at the end.
"""

from __future__ import annotations

import time

import numpy as np

from minimaxrisk._utils.arrays import BoolArray
from minimaxrisk.engines.first_order.primal_dual import Point, PrimalDual
from minimaxrisk.engines.settings import EngineSettings
from minimaxrisk.engines.small_coefficients import drop_small_coefficients
from minimaxrisk.engines.solution import IterationRecord, Monitor, Solution
from minimaxrisk.problem.certificate import lower_bound, upper_bound
from minimaxrisk.problem.problem import Problem

# Iterations without max_iter. Simulated texts of 3000 x 8000 and 20,000 x 50,000 take 200 to 700 for a gap of
# 1e-3, with a block per class 1200; what has not come within thousands needs another solver or radius.
BUDGET = 5000
# Iterations between certificates, which cost about as much as one of them.
CHECK_EVERY = 10
# The gap at which the loop stops although less was asked for; rounding allows no more.
SMALLEST_GAP = 1e-10


def first_order(problem: Problem, settings: EngineSettings, monitor: Monitor | None = None) -> Solution:
    """Solve to a certified gap of ``settings.first_order_gap_tol``, with small coefficients cleared."""
    best = first_order_approach(problem, settings, monitor)
    drop_small_coefficients(problem, best, settings.first_order_gap_tol)
    best.stages = [best.stage]
    return best


def first_order_approach(
    problem: Problem, settings: EngineSettings, monitor: Monitor | None = None
) -> Solution:
    """The best certified pair, with coefficients as they are, whichever way the loop ends."""
    best = Solution.trivial(problem, problem.objective)
    best.solver = "first-order"
    try:
        _Search(problem, best).run(settings, monitor)
    except KeyboardInterrupt:
        best.interrupted = True
    best.distribution = problem.objective.repaired(best.distribution, problem.centre)
    best.settle(problem, problem.objective)
    best.converged = best.upper - best.lower <= _tolerance(settings)
    return best


def budget(settings: EngineSettings) -> int:
    """The largest number of iterations."""
    return BUDGET if settings.max_iter is None else settings.max_iter


def _tolerance(settings: EngineSettings) -> float:
    return max(settings.first_order_gap_tol, SMALLEST_GAP)


class _Search:
    """The loop: iterate, certify, report."""

    def __init__(self, problem: Problem, best: Solution) -> None:
        self.problem, self.best = problem, best
        self.started = time.perf_counter()
        self._used: BoolArray = np.zeros(problem.tau.shape, dtype=np.bool_)

    def run(self, settings: EngineSettings, monitor: Monitor | None) -> None:
        best, last = self.best, budget(settings)
        iteration = PrimalDual(self.problem)
        while True:
            point = iteration.step()
            is_last = iteration.n_steps == last
            # The first ones too: where the answer is trivial, one step finds it.
            if iteration.n_steps % CHECK_EVERY and iteration.n_steps > 1 and not is_last:
                continue
            bound = self._certify(iteration, point)
            best.history.append(self._record(iteration.n_steps, point, bound))
            best.stopped = monitor is not None and monitor(best.history[-1].copy())
            if is_last or best.stopped or best.upper - best.lower <= _tolerance(settings):
                return

    def _certify(self, iteration: PrimalDual, point: Point) -> float:
        """Offer both sides of a point; returns the bound of its coefficients, at their best scale."""
        problem, objective, masses = self.problem, self.problem.objective, iteration.masses
        gain = float(np.sum(problem.tau * point.mu) - np.sum(problem.lam * np.abs(point.mu)))
        scale = masses.scale(gain, point.scores)
        mu = scale * point.mu
        bound = upper_bound(problem, objective, mu, problem.coding.scores(scale * point.scores))
        self.best.offer_mu(mu, bound)
        distribution, factor = masses.distribution(point.v)
        inside = lower_bound(problem, objective, distribution, factor * point.moments)
        self.best.offer_distribution(inside.distribution, inside.bound)
        return bound

    def _record(self, n_steps: int, point: Point, bound: float) -> IterationRecord:
        problem, used = self.problem, point.mu != 0.0
        before, self._used = self._used, used
        violation = np.abs(point.moments - problem.tau) - problem.lam
        return IterationRecord(
            iteration=n_steps,
            lower=self.best.lower,
            upper=self.best.upper,
            worst_case_error=bound,
            n_features=int(used.sum()),
            n_added=int((used & ~before).sum()),
            n_removed=int((before & ~used).sum()),
            max_violation=max(0.0, float(violation.max())),
            vertex="",
            n_pivots=0,
            seconds=time.perf_counter() - self.started,
        )
