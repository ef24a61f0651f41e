"""Generation of instances: the default engine for many more instances than features, and for large texts.

At the optimum no more instances have mass than there are active constraints. So nearly all of many instances
do not matter, and the interior point spends its time on them. Here it solves sub-programs on some instances,
and all instances are priced with the coefficients found, as constraint generation prices all features:

1. solve the sub-program, coarsely at first: which instances matter changes while the bound is far off;
2. score all instances: the upper bound of the coefficients, and how near each instance is to its dual
   constraint. The sub-program's lower bound holds as it is;
3. keep the instances near to their constraints, add others that are near or beyond, drop the rest. As long
   as the bounds of all instances are far apart, more digits of the sub-program are worth nothing;
4. once the sub-program is solved to its vertex, only add. When none is beyond, the vertex is that of the
   whole problem.

Both bounds of every record hold for the whole problem: a distribution on some instances is one on all, and
the upper bound of coefficients takes their scores on all instances. If the rounds do not end, the interior
point goes on with all instances. Every choice of instances gives the same optimum; the constants affect time
alone. In the signed coding each round begins near to the best pair so far, moved a little to the inside; in
the other it begins anew. On sparse data a few first-order steps take the place of the coarse rounds
(``coarse_start``).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.interrupts import held_back, let_through
from minimaxrisk.engines.coarse_start import CoarseStart, coarse_start, is_worth_a_coarse_start
from minimaxrisk.engines.interior_point.box import InteriorState
from minimaxrisk.engines.interior_point.engine import (
    NEAR_ENOUGH_SPARSE,
    VERTEX_ACCURACY,
    VERTEX_GAP,
    interior_approach,
    interior_point,
)
from minimaxrisk.engines.solution import (
    SMALLEST_GAP,
    EngineSettings,
    IterationRecord,
    Monitor,
    Solution,
    SparseCoefficients,
    StoppingRule,
)
from minimaxrisk.engines.subprogram import ClassMeans, Subprogram
from minimaxrisk.problem.problem import Box

# Instances per component of Phi, and instances in all, from which on this engine is faster. Compared to all
# instances at once, 2000 x 800 of two classes took as long, 2000 x 400 half as long, 1000 x 400 a seventh
# longer; with three classes 5000 x 20 took two fifths.
INSTANCES_PER_COMPONENT = {"signed": 2.5, "one-hot": 5.0}
FEWEST_INSTANCES = 2000
# The first instances: a share of all, limited to these numbers per component, and at least so many.
FIRST_SHARE, FEWEST_PER_COMPONENT, MOST_PER_COMPONENT, FEWEST_FIRST = 0.25, 2.5, 10.0, 250
# Nearness to their dual constraint at which instances stay, and at which new ones come. With 0.8 and 0.85 the
# last programs are nearly twice as large, and rounds are as many.
STAYS, COMES = 0.85, 0.9
# Instances that may come at a time, and the fewest of the next sub-program, per component.
MOST_NEW, FEWEST = 12.0, 1.5
# An instance that exceeds its dual constraint by no more than this is not violated.
ROUNDING = 1e-10
# The gaps at which the first sub-programs are left, and the next ones where no vertex is wanted.
COARSE_GAPS = (5e-2, 1e-2)
FINE_GAPS = (1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
# How often a gap is repeated with more instances, while the bounds of the whole problem are this many times
# further apart.
MOST_REPEATS, FAR_OFF = 6, 5.0
# Sub-programs solved to their vertices before all instances take part.
MOST_VERTICES = 8


def has_many_instances(problem: Box) -> bool:
    """Whether there are so many instances that leaving most of them out at first saves time.

    With a known marginal every instance has its mass, and none can be left out.
    """
    fewest = INSTANCES_PER_COMPONENT[problem.coding.name] * problem.n_components
    return not problem.marginal.is_known and problem.n_instances >= max(FEWEST_INSTANCES, fewest)


def first_instances(problem: Box) -> IntArray:
    """Some at random, ascending, and the same ones every time.

    Not every tenth or so: instances are ordered by their values, which may have periods.
    """
    n, m = problem.n_instances, problem.n_components
    n_first = np.clip(FIRST_SHARE * n, FEWEST_PER_COMPONENT * m, MOST_PER_COMPONENT * m)
    return np.sort(np.random.default_rng(0).permutation(n)[: max(int(n_first), FEWEST_FIRST)])


def next_instances(problem: Box, chosen: IntArray, nearness: FloatArray) -> IntArray:
    """Instances near to their constraints, of those chosen so far and of the others, ascending."""
    stay = chosen[nearness[chosen] >= STAYS]
    together = np.union1d(stay, _newcomers(problem, chosen, nearness))
    fewest = min(problem.n_instances, int(FEWEST * problem.n_components))
    if len(together) < fewest:
        together = np.union1d(together, _nearest(nearness, np.arange(len(nearness)), fewest))
    return together


def with_newcomers(problem: Box, chosen: IntArray, nearness: FloatArray) -> IntArray:
    """All instances chosen so far, and of the others those near to their constraints or beyond, ascending."""
    return np.union1d(chosen, _newcomers(problem, chosen, nearness))


def _newcomers(problem: Box, chosen: IntArray, nearness: FloatArray) -> IntArray:
    is_new = nearness >= COMES
    is_new[chosen] = False
    return _nearest(nearness, np.flatnonzero(is_new), int(MOST_NEW * problem.n_components))


def _nearest(nearness: FloatArray, candidates: IntArray, most: int) -> IntArray:
    if len(candidates) <= most:
        return candidates
    return candidates[np.argpartition(-nearness[candidates], most - 1)[:most]]


def is_violated(chosen: IntArray, nearness: FloatArray) -> bool:
    """Whether an instance outside the sub-program exceeds its dual constraint."""
    outside = nearness > 1.0 + ROUNDING
    outside[chosen] = False
    return bool(outside.any())


def instance_generation(problem: Box, settings: EngineSettings, monitor: Monitor | None = None) -> Solution:
    """Solve to a certified gap of ``settings.gap_tol``, as the interior point does on all instances.

    The pair returned is the best one certified, whichever way the rounds end.
    """
    rounds = _Rounds(problem, settings, monitor)
    best = rounds.best
    try:
        with let_through():
            rounds.run()
    except KeyboardInterrupt:
        best.interrupted = True
    best.settle(problem, problem.objective)
    best.converged = best.converged or best.gap <= rounds.tolerance
    best.stages = [best.stage]
    return best


class _Rounds:
    """The rounds, and the records of all of them as one history.

    ``best`` holds what is proven for the whole problem.
    """

    def __init__(self, problem: Box, settings: EngineSettings, monitor: Monitor | None) -> None:
        self.problem, self.settings, self._monitor = problem, settings, monitor
        self.best = Solution.trivial(problem, problem.objective)
        self.best.solver = "interior-point"
        self.tolerance = max(settings.gap_tol, SMALLEST_GAP)
        self._bound = self.best.upper  # of the coefficients last priced
        self._is_whole = False  # whether the current program has all instances
        self._means = ClassMeans.of(problem)
        self._chosen = first_instances(problem)
        self._start: CoarseStart | None = None  # of the first program, where first-order steps found one

    @property
    def is_over(self) -> bool:
        best = self.best
        return best.interrupted or best.stopped or len(best.history) == self.settings.max_iter

    def run(self) -> None:
        """Solve to the vertex, or to the gap that was asked for if that is too large to show a vertex."""
        shows_vertex = NEAR_ENOUGH_SPARSE if self.problem.features.is_sparse else VERTEX_GAP
        enough = self.tolerance if self.tolerance > shows_vertex else VERTEX_ACCURACY
        if is_worth_a_coarse_start(self.problem):
            ended = self._begin_with_steps(enough)
        else:
            ended = self.approach([gap for gap in COARSE_GAPS if gap > self.tolerance], StoppingRule(enough))
        if ended == "open":
            ended = self._find_vertex(enough)
        if ended != "done" and not self.is_over:
            self._solve_whole()
        # The last program was priced after its last iteration, or took none.
        best = self.best
        if not self.is_over and not (best.history and best.history[-1]["upper"] <= best.upper):
            best.report(self._monitor, best.upper, n_features=len(best.stage.components))

    def approach(self, gaps: Sequence[float], enough: StoppingRule) -> str:
        """Solve a sub-program to each of these gaps.

        Returns "done" once the bounds of the whole problem are ``enough`` or the rounds are over, "stuck"
        if a sub-program gets stuck, else "open".
        """
        for gap in gaps:
            for repeat in range(MOST_REPEATS):
                # 1) Solve the sub-program.
                program = Subprogram(self.problem, self._means, self._chosen)
                settings, start = replace(self._remaining(), gap_tol=gap), self._start_of(program)
                with held_back():
                    found = interior_approach(program.problem, settings, self._tell, start=start)
                    if found is None:
                        return "stuck"
                    # 2) Price all instances.
                    nearness = self._price(program, found)
                if enough(self.best.lower, self.best.upper) or self.is_over:
                    return "done"
                if nearness is None:
                    break
                # 3) Choose the next ones. A sub-program that misses the optimum is not worth more digits.
                is_far = self.best.gap > FAR_OFF * gap
                choose = next_instances if gap in COARSE_GAPS and repeat == 0 else with_newcomers
                before, self._chosen = self._chosen, choose(self.problem, self._chosen, nearness)
                if not is_far or np.array_equal(before, self._chosen):
                    break
        return "open"

    def _begin_with_steps(self, enough: float) -> str:
        """First-order steps: "done" if they are enough, "all" if all instances may matter, else "open"."""
        self._is_whole = True
        with held_back():
            self._start = coarse_start(self.problem, self._remaining(), self._tell)
            self._is_whole = False
            if self._start is None:
                return "all"
            self._keep(self._start.found)
        if self.best.gap <= enough or self.is_over:
            return "done"
        self._chosen = self._start.instances
        return "all" if len(self._chosen) == self.problem.n_instances else "open"

    def _find_vertex(self, enough: float) -> str:
        """Solve sub-programs to their vertices: "done" if one is that of the whole problem, else "open"."""
        for _ in range(MOST_VERTICES):
            program = Subprogram(self.problem, self._means, self._chosen)
            start = self._start_of(program)
            with held_back():
                found = interior_point(program.problem, self._remaining(), self._tell, start=start)
                nearness = self._price(program, found)
                self.best.solver, self.best.remark = found.solver, found.remark
            if nearness is None or not is_violated(self._chosen, nearness):
                self.best.converged = found.converged
                return "done" if found.converged else "open"
            if self.best.gap <= enough or self.is_over:
                return "done"
            self._chosen = with_newcomers(self.problem, self._chosen, nearness)
        return "done" if self.best.gap <= self.tolerance else "open"

    def _start_of(self, program: Subprogram) -> InteriorState | None:
        """Where to begin: near to the best pair so far, or None where that is not worth it."""
        if self._start is not None:
            start, self._start = self._start, None
            return start.on_some(program.problem, self._means.prior)
        if self.problem.coding.name != "signed" or not len(self.best.stage.components):
            return None
        return CoarseStart(self.best, self._chosen).on_some(program.problem, self._means.prior)

    @held_back()
    def _solve_whole(self) -> None:
        self._is_whole = True
        start = None if self._start is None else self._start.on_all(self.problem)
        found, best = interior_point(self.problem, self._remaining(), self._tell, start=start), self.best
        self._keep(found)
        best.converged, best.solver, best.remark = found.converged, found.solver, found.remark

    def _keep(self, found: Solution) -> None:
        """Offer a pair of the whole problem."""
        self.best.offer_distribution(found.distribution, found.lower)
        self.best.offer_stage(found.stage, found.upper)
        self.best.interrupted = found.interrupted

    def _remaining(self) -> EngineSettings:
        if self.settings.max_iter is None:
            return self.settings
        return replace(self.settings, max_iter=self.settings.max_iter - len(self.best.history))

    def _price(self, program: Subprogram, found: Solution) -> FloatArray | None:
        """Offer the sub-program's pair; how near all instances are to their constraints, None if mu is 0."""
        problem, best, mu = self.problem, self.best, found.mu
        best.interrupted = found.interrupted
        if found.lower >= best.lower:
            best.offer_distribution(program.on_all_instances(found.distribution), found.lower)
        scores = problem.scores_of(mu)
        # At its best scale a rule of the signed coding has scores of at most one half.
        largest = 2.0 * float(np.abs(scores).max())
        scale = 1.0 / largest if problem.coding.name == "signed" and largest > 0.0 else 1.0
        penalty = float(np.sum(problem.lam * np.abs(mu)) - np.sum(problem.tau * mu))
        self._bound = scale * penalty + problem.objective.conjugate(scale * scores)
        best.offer_stage(SparseCoefficients.of(scale * mu), self._bound)
        return program.nearness(mu, scores) if mu.any() else None

    def _tell(self, record: IterationRecord) -> bool:
        """Report an iteration of a program as one of the whole problem.

        Its lower bound holds for both; the upper one is that of the coefficients last priced.
        """
        history = self.best.history
        record["iteration"] = len(history) + 1
        record["lower"] = max(record["lower"], history[-1]["lower"] if history else self.best.lower)
        record["seconds"] = time.perf_counter() - self.best.started
        if not self._is_whole:
            record["worst_case_error"] = self._bound
            record["upper"] = self.best.upper
        record["upper"] = min(record["upper"], self.best.upper)
        history.append(record)
        self.best.stopped = self._monitor is not None and self._monitor(record.copy())
        return self.best.stopped
