"""Generation of instances: the default engine where there are many more instances than features.

At the optimum no more instances have mass than there are active constraints, so that nearly all of many
instances do not matter, and the interior point spends its time on them. Here it solves sub-programs on some
of them, and all instances are priced with the coefficients found, as constraint generation prices all
features:

1. solve the sub-program, coarsely at first: which instances matter changes while the bound is far off;
2. score all instances: the upper bound of the coefficients, and how near each instance is to its dual
   constraint. The sub-program's lower bound holds as it is;
3. keep those near to it, let in those that are near or beyond, drop the others;
4. once the sub-program is solved to its vertex, only let in. When none is beyond, the vertex is that of
   the whole problem.

Both bounds of every record hold for the whole problem. Should the rounds come to no end, the interior point
goes on with all instances.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.instance_generation.choice import (
    first_instances,
    is_violated,
    next_instances,
    with_newcomers,
)
from minimaxrisk.engines.instance_generation.subprogram import ClassMeans, Subprogram
from minimaxrisk.engines.interior_point.engine import (
    SMALLEST_GAP,
    VERTEX_ACCURACY,
    VERTEX_GAP,
    interior_approach,
    interior_point,
)
from minimaxrisk.engines.settings import EngineSettings
from minimaxrisk.engines.solution import IterationRecord, Monitor, Solution, Stage
from minimaxrisk.problem.problem import Problem

# The gaps at which the first sub-programs are left.
COARSE_GAPS = (5e-2, 1e-2)
# Sub-programs solved to their vertices before all instances take part.
MOST_VERTICES = 8


def instance_generation(
    problem: Problem, settings: EngineSettings, monitor: Monitor | None = None
) -> Solution:
    """Solve to a certified gap of ``settings.gap_tol``, as the interior point does on all instances.

    The pair returned is the best one certified, whichever way the rounds end.
    """
    best = Solution.trivial(problem, problem.objective)
    best.solver = "interior-point"
    rounds = _Rounds(problem, settings, best, monitor)
    try:
        rounds.run()
    except KeyboardInterrupt:
        best.interrupted = True
    best.settle(problem, problem.objective)
    best.converged = best.converged or best.upper - best.lower <= rounds.tolerance
    used = np.flatnonzero(best.mu)
    best.stages = [Stage(used, best.mu.ravel()[used])]
    return best


class _Rounds:
    """The rounds, and the records of all of them as one history.

    ``best`` holds what is proven for the whole problem.
    """

    def __init__(
        self, problem: Problem, settings: EngineSettings, best: Solution, monitor: Monitor | None
    ) -> None:
        self.problem, self.settings, self.best = problem, settings, best
        self.tolerance = max(settings.gap_tol, SMALLEST_GAP)
        self._monitor = monitor
        self._started = time.perf_counter()
        self._bound = best.upper  # of the coefficients last priced
        self._is_whole = False  # whether the program at work has all instances

    @property
    def gap(self) -> float:
        return self.best.upper - self.best.lower

    def run(self) -> None:
        if not self._generate() and not self.is_over:
            self._solve_whole()

    @property
    def is_over(self) -> bool:
        best = self.best
        return best.interrupted or best.stopped or len(best.history) == self.settings.max_iter

    def _generate(self) -> bool:
        """Whether sub-programs came to an end."""
        means = ClassMeans.of(self.problem)
        chosen = first_instances(self.problem)
        for gap in COARSE_GAPS:
            if gap <= self.tolerance:
                break
            program = Subprogram.of(self.problem, means, chosen)
            found = self._approach(program.problem, gap)
            if found is None:
                return False
            nearness = self._price(program, found)
            if self._is_near_enough() or self.is_over:
                return True
            if nearness is not None:
                chosen = next_instances(self.problem, chosen, nearness)
        return self._generate_vertices(means, chosen)

    def _generate_vertices(self, means: ClassMeans, chosen: IntArray) -> bool:
        for _ in range(MOST_VERTICES):
            program = Subprogram.of(self.problem, means, chosen)
            found = self._solve(program.problem)
            nearness = self._price(program, found)
            self.best.solver, self.best.remark = found.solver, found.remark
            if nearness is None or not is_violated(chosen, nearness):
                self.best.converged = found.converged
                return found.converged
            if self._is_near_enough() or self.is_over:
                return True
            chosen = with_newcomers(self.problem, chosen, nearness)
        return self.gap <= self.tolerance

    def _is_near_enough(self) -> bool:
        """Optimal, or as near to it as was asked for without a vertex."""
        return self.gap <= (self.tolerance if self.tolerance > VERTEX_GAP else VERTEX_ACCURACY)

    def _approach(self, program: Problem, gap: float) -> Solution | None:
        found = interior_approach(program, replace(self._remaining(), gap_tol=gap), self._tell)
        if found is not None:
            self.best.interrupted = found.interrupted
        return found

    def _solve(self, program: Problem) -> Solution:
        found = interior_point(program, self._remaining(), self._tell)
        self.best.interrupted = found.interrupted
        return found

    def _solve_whole(self) -> None:
        self._is_whole = True
        found, best = self._solve(self.problem), self.best
        best.offer_distribution(found.distribution, found.lower)
        best.offer_mu(found.mu, found.upper)
        best.solver, best.remark, best.converged = found.solver, found.remark, found.converged

    def _remaining(self) -> EngineSettings:
        if self.settings.max_iter is None:
            return self.settings
        return replace(self.settings, max_iter=self.settings.max_iter - len(self.best.history))

    def _price(self, program: Subprogram, found: Solution) -> FloatArray | None:
        """Offer the sub-program's pair; how near all instances are to their constraints, None if mu is 0."""
        problem, best, mu = self.problem, self.best, found.mu
        if found.lower >= best.lower:
            best.offer_distribution(program.on_all_instances(found.distribution), found.lower)
        scores = problem.scores_of(mu)
        # At its best scale a rule of the signed coding has scores of at most one half.
        largest = 2.0 * float(np.abs(scores).max())
        scale = 1.0 / largest if problem.coding.name == "signed" and largest > 0.0 else 1.0
        penalty = float(np.sum(problem.lam * np.abs(mu)) - np.sum(problem.tau * mu))
        self._bound = scale * penalty + problem.objective.conjugate(scale * scores)
        best.offer_mu(scale * mu, self._bound)
        return program.nearness(mu, scores) if mu.any() else None

    def _tell(self, record: IterationRecord) -> bool:
        """Report an iteration of a program as one of the whole problem.

        Its lower bound holds for both; coefficients are those last priced.
        """
        history = self.best.history
        record["iteration"] = len(history) + 1
        record["lower"] = max(record["lower"], history[-1]["lower"] if history else self.best.lower)
        record["seconds"] = time.perf_counter() - self._started
        if not self._is_whole:
            record["worst_case_error"] = self._bound
            record["upper"] = self.best.upper
        record["upper"] = min(record["upper"], self.best.upper)
        history.append(record)
        self.best.stopped = self._monitor is not None and self._monitor(record.copy())
        return self.best.stopped
