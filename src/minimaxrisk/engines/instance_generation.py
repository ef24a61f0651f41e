"""Generation of instances: the default engine for many more instances than features, and for large texts.

At the optimum no more instances have mass than there are active constraints. So nearly all of many instances
do not matter, and the interior point spends its time on them. Here it solves sub-programs on some instances,
and all instances are priced with the coefficients found, as constraint generation prices all features:

1. solve the sub-program, coarsely at first: which instances matter changes while the bound is far off;
2. score all instances: the upper bound of the coefficients, and how near each instance is to its dual
   constraint. The sub-program's lower bound holds as it is;
3. keep the instances near to their constraints, add others that are near or beyond, drop the rest;
4. once the sub-program is solved to its vertex, only add. When none is beyond, the vertex is that of the
   whole problem.

Both bounds of every record hold for the whole problem: a distribution on some instances is one on all, and
the upper bound of coefficients takes their scores on all instances. If the rounds do not end, the interior
point goes on with all instances. Every choice of instances gives the same optimum; the constants affect time
alone.

On sparse data of two classes a few first-order steps take the place of the coarse rounds, since the time of
an interior point grows with the cube of the instances, and that of a step with the stored entries. At a
coarse gap their scores tell which instances can have mass at the optimum: those near to the largest score.
The pair of the last step, moved a little to the inside, is a beginning near to the optimum. On a collection
of texts of 1943 x 3289, 110 steps (0.12 s) leave 1101 instances and 9 iterations to a gap of 1e-6; all
instances took 13 iterations of four times the length. Where the gap that was asked for is not small, more
steps are predicted to reach it sooner than iterations on these instances; then they go on. Texts of 4000 x
20,000 take 0.6 s to a gap of 1e-3, and took 3.7 with iterations.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.cost import (
    COARSE_GAP,
    STEPS_TO_COARSE_GAP,
    n_steps_to,
    seconds_of_iteration,
    seconds_of_step,
)
from minimaxrisk.engines.first_order import Steps
from minimaxrisk.engines.generation import ClassMeans, Subprogram, first_by, generate, some_at_random
from minimaxrisk.engines.interior_point.box import InteriorState, snapshot_near
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
from minimaxrisk.problem.problem import Box
from minimaxrisk.uncertainty.radius import THIN_RADIUS


def generates_instances(problem: Box) -> bool:
    """Whether leaving most instances out at first saves time."""
    return ManyInstances.are_in(problem) or FirstSteps.are_worth_it(problem)


def instance_generation(
    problem: Box, settings: EngineSettings, monitor: Monitor | None = None, enough: StoppingRule | None = None
) -> Solution:
    """Solve to a certified gap of ``settings.gap_tol``, as the interior point does on all instances.

    With ``enough`` until the bounds are, at a vertex or not. The pair returned is the best one certified,
    whichever way the rounds end.
    """
    rounds = InstanceGeneration(problem, settings, monitor, enough)
    best = rounds.best
    generate(rounds, rounds.first())
    # The last program was priced after its last iteration, or took none.
    if not rounds.is_over and not (best.history and best.history[-1]["upper"] <= best.upper):
        best.report(monitor, best.upper, n_features=len(best.stage.components))
    best.settle(problem, problem.objective)
    best.converged = best.converged or best.gap <= rounds.tolerance
    best.stages = [best.stage]
    return best


class ManyInstances:
    """When there are many instances, and which of them are chosen first and next."""

    # Instances per component of Phi, and in all, from which on leaving some out is faster. Compared to all
    # instances at once, 2000 x 800 of two classes took as long, 2000 x 400 half as long, 1000 x 400 a seventh
    # longer; with three classes 5000 x 20 took two fifths.
    PER_COMPONENT: ClassVar = {"signed": 2.5, "one-hot": 5.0}
    FEWEST: ClassVar[int] = 2000
    # The first instances: a share of all, limited to these numbers per component, and at least so many.
    FIRST_SHARE: ClassVar[float] = 0.25
    FEWEST_PER_COMPONENT: ClassVar[float] = 2.5
    MOST_PER_COMPONENT: ClassVar[float] = 10.0
    FEWEST_FIRST: ClassVar[int] = 250
    # Nearness to their dual constraint at which instances stay, and at which new ones come. With 0.8 and 0.85
    # the last programs are nearly twice as large, and rounds are as many.
    STAYS: ClassVar[float] = 0.85
    COMES: ClassVar[float] = 0.9
    # Instances that may come at a time, per component. Without a limit pulsar takes 2.7 times as long.
    MOST_NEW: ClassVar[float] = 12.0

    @classmethod
    def are_in(cls, problem: Box) -> bool:
        """Whether there are many.

        With a known marginal every instance has its mass, and none can be left out.
        """
        fewest = cls.PER_COMPONENT[problem.coding.name] * problem.n_components
        return not problem.marginal.is_known and problem.n_instances >= max(cls.FEWEST, fewest)

    @classmethod
    def first(cls, problem: Box) -> IntArray:
        """Return the first ones, at random."""
        n, m = problem.n_instances, problem.n_components
        n_first = np.clip(cls.FIRST_SHARE * n, cls.FEWEST_PER_COMPONENT * m, cls.MOST_PER_COMPONENT * m)
        return some_at_random(n, max(int(n_first), cls.FEWEST_FIRST))

    @classmethod
    def next(cls, problem: Box, chosen: IntArray, nearness: FloatArray, *, drops: bool) -> IntArray:
        """Return those chosen so far, or of these the near ones, and others that are near, ascending."""
        is_new = nearness >= cls.COMES
        is_new[chosen] = False
        most = int(cls.MOST_NEW * problem.n_components)
        stay = chosen[nearness[chosen] >= cls.STAYS] if drops else chosen
        return np.union1d(stay, first_by(most, np.flatnonzero(is_new), -nearness))


class FirstSteps:
    """When first-order steps come first, how many, and which instances they leave."""

    # The most steps to the coarse gap; texts take 70 to 210. With 3e-2 and 3e-3 as that gap whole fits of
    # simulated texts of 2000 and 4000 rows took a fifth longer and as long.
    MOST: ClassVar[int] = 400
    # Times the steps that are expected to a smaller gap, they are given up.
    PATIENCE: ClassVar[float] = 3.0
    # Instances whose score is at least this fraction of the largest take part, or all if nearly all do.
    NEAR: ClassVar[float] = 0.8
    MOST_OF_THEM: ClassVar[float] = 0.8
    # Iterations of the interior point in all, and per digit from the coarse gap to a smaller one.
    ITERATIONS: ClassVar[int] = 15
    PER_DIGIT: ClassVar[float] = 2.0
    # How many times less the steps have to take. On Dorothea, where predictions are equal, it takes 570 steps
    # and twice the time of the fit to get to the coarse gap.
    WORTH_IT: ClassVar[float] = 3.0

    @classmethod
    def are_worth_it(cls, problem: Box) -> bool:
        """Whether the steps are predicted to take a fraction of the time of the interior point."""
        if not (
            problem.features.is_sparse
            and problem.coding.name == "signed"
            and not problem.marginal.is_known
            and problem.smallest_radius >= THIN_RADIUS
        ):
            return False
        steps = STEPS_TO_COARSE_GAP * seconds_of_step(problem)
        return cls.WORTH_IT * steps < cls.ITERATIONS * seconds_of_iteration(problem.n_instances)

    @classmethod
    def take(cls, problem: Box, settings: EngineSettings, monitor: Monitor) -> Solution:
        """Take the steps, and go on to a smaller gap where more of them are the cheapest way there."""
        limit = np.inf if settings.max_iter is None else settings.max_iter
        gap, steps = max(COARSE_GAP, settings.gap_tol), Steps(problem, monitor)
        steps.run(gap, int(min(limit, cls.MOST)))
        best = steps.best
        if best.gap <= gap and not best.interrupted and cls._are_cheaper(problem, best, settings.gap_tol):
            steps.run(settings.gap_tol, int(min(limit, cls.PATIENCE * n_steps_to(settings.gap_tol))))
        return steps.settled()

    @classmethod
    def _are_cheaper(cls, problem: Box, best: Solution, gap: float) -> bool:
        """Whether steps from the coarse gap to this one are predicted to take less time than iterations."""
        if gap >= COARSE_GAP:
            return False
        n_steps = n_steps_to(gap) - STEPS_TO_COARSE_GAP
        n_iterations = 1.0 + cls.PER_DIGIT * np.log10(COARSE_GAP / gap)
        seconds = n_iterations * seconds_of_iteration(len(cls.near(problem, best.mu)))
        return bool(n_steps * seconds_of_step(problem) < seconds)

    @classmethod
    def near(cls, problem: Box, mu: FloatArray) -> IntArray:
        """Return the instances that may matter."""
        size = np.abs(problem.scores_of(mu)[0])
        return np.flatnonzero(size >= cls.NEAR * size.max())


@dataclass(frozen=True)
class Part:
    """Some instances, or all of them where they are None, and how far their program is worth solving."""

    instances: IntArray | None
    gap: float = 0.0  # zero for the vertex
    by_steps: bool = False


class InstanceGeneration:
    """The rounds, and the records of all of them as one history.

    ``best`` holds what is proven for the whole problem.
    """

    # The gaps at which the first sub-programs are left, and the next ones where no vertex is wanted.
    COARSE_GAPS: ClassVar = (5e-2, 1e-2)
    FINE_GAPS: ClassVar = (1e-3, 3e-4)
    # Sub-programs solved to their vertices before all instances take part.
    MOST_VERTICES: ClassVar[int] = 8
    # An instance that exceeds its dual constraint by no more than this is not violated.
    ROUNDING: ClassVar[float] = 1e-10

    def __init__(
        self,
        problem: Box,
        settings: EngineSettings,
        monitor: Monitor | None,
        enough: StoppingRule | None = None,
    ) -> None:
        self.problem, self.settings, self._monitor = problem, settings, monitor
        self.best = Solution.trivial(problem, problem.objective)
        self.best.solver = "interior-point"
        self.tolerance = max(settings.gap_tol, SMALLEST_GAP)
        # A gap that is too large to show a vertex ends the rounds.
        shows_vertex = NEAR_ENOUGH_SPARSE if problem.features.is_sparse else VERTEX_GAP
        is_coarse = self.tolerance > shows_vertex
        self._enough = enough or StoppingRule(self.tolerance if is_coarse else VERTEX_ACCURACY)
        gaps = self.COARSE_GAPS if enough is None else self.COARSE_GAPS + self.FINE_GAPS
        self._gaps = [gap for gap in gaps if gap > self.tolerance]
        self._vertices_left = self.MOST_VERTICES
        self._bound = self.best.upper  # of the coefficients last priced
        self._is_whole = False  # whether the current program has all instances
        self._means = ClassMeans.of(problem)
        self._steps: Solution | None = None  # where the next program begins

    @property
    def is_over(self) -> bool:
        """Whether there is no time left."""
        best = self.best
        return best.interrupted or best.stopped or len(best.history) == self.settings.max_iter

    @property
    def _is_done(self) -> bool:
        return self.is_over or bool(self._enough(self.best.lower, self.best.upper))

    def first(self) -> Part:
        """Return all instances for some steps, or some of them for a coarse program."""
        if FirstSteps.are_worth_it(self.problem):
            return Part(None, by_steps=True)
        return self._next(ManyInstances.first(self.problem))

    def _next(self, instances: IntArray) -> Part:
        return Part(instances, self._gaps.pop(0) if self._gaps else 0.0)

    def solve(self, part: Part) -> Solution | None:
        """Solve the program of a part; None where a coarse one gets stuck."""
        self._is_whole = part.instances is None
        settings = self.settings
        if settings.max_iter is not None:
            settings = replace(settings, max_iter=settings.max_iter - len(self.best.history))
        if part.by_steps:
            return FirstSteps.take(self.problem, settings, self._tell)
        if part.instances is None:
            return interior_point(self.problem, settings, self._tell, start=self._start(part))
        self._program = Subprogram(self.problem, self._means, part.instances)
        if part.gap > 0.0:
            return interior_approach(self._program.problem, replace(settings, gap_tol=part.gap), self._tell)
        return interior_point(self._program.problem, settings, self._tell, start=self._start(part))

    def _start(self, part: Part) -> InteriorState | None:
        """Where to begin after the steps: near to their pair."""
        steps, self._steps = self._steps, None
        if steps is None:
            return None
        u, problem = steps.distribution[0] - steps.distribution[1], self.problem
        if part.instances is not None:
            # Mass elsewhere goes to the means, shared as in the sample.
            inside, problem = u[part.instances], self._program.problem
            elsewhere = float(np.abs(u).sum() - np.abs(inside).sum())
            u = np.concatenate([elsewhere * self._means.prior * [1.0, -1.0], inside])
        return snapshot_near(problem, u, steps.mu)

    def price(self, part: Part, found: Solution | None) -> Part | None:
        """Offer the program's pair, and choose the instances of the next one."""
        if found is None:
            return Part(None)
        best, instances = self.best, part.instances
        best.interrupted = found.interrupted
        if part.by_steps or instances is None:
            best.offer_distribution(found.distribution, found.lower)
            best.offer_stage(found.stage, found.upper)
            if not part.by_steps:
                best.converged, best.solver, best.remark = found.converged, found.solver, found.remark
            elif not self._is_done:
                return self._after_steps(found)
            return None
        nearness = self._nearness(found)
        outside = nearness > 1.0 + self.ROUNDING
        outside[instances] = False
        if part.gap == 0.0:
            best.solver, best.remark = found.solver, found.remark
            self._vertices_left -= 1
            best.converged = found.converged and not outside.any()
        if best.converged or self._is_done:
            return None
        if part.gap == 0.0 and (not outside.any() or self._vertices_left == 0):
            return None if best.gap <= self.tolerance else Part(None)
        if found.mu.any():
            instances = ManyInstances.next(self.problem, instances, nearness, drops=part.gap > 0.0)
        return self._next(instances)

    def _after_steps(self, found: Solution) -> Part:
        """Return the instances that the steps leave, for the vertex."""
        if not found.stage.values.any():
            return Part(None)
        self._steps, near = found, FirstSteps.near(self.problem, found.mu)
        is_most = len(near) >= FirstSteps.MOST_OF_THEM * self.problem.n_instances
        return Part(None if is_most else near)

    def _nearness(self, found: Solution) -> FloatArray:
        """Offer the sub-program's pair; returns how near all instances are to their constraints."""
        problem, best, mu = self.problem, self.best, found.mu
        if found.lower >= best.lower:
            best.offer_distribution(self._program.on_all_instances(found.distribution), found.lower)
        scores = problem.scores_of(mu)
        # At its best scale a rule of the signed coding has scores of at most one half.
        largest = 2.0 * float(np.abs(scores).max())
        scale = 1.0 / largest if problem.coding.name == "signed" and largest > 0.0 else 1.0
        self._bound = scale * problem.penalty_of(mu) + problem.objective.conjugate(scale * scores)
        best.offer_stage(SparseCoefficients.of(scale * mu), self._bound)
        return self._program.nearness(mu, scores)

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
        # Bounds that are computed anew at the end of the steps may differ in the last place.
        record["upper"] = min(record["upper"], self.best.upper, *(each["upper"] for each in history[-1:]))
        history.append(record)
        self.best.stopped = self._monitor is not None and self._monitor(record.copy())
        return self.best.stopped
