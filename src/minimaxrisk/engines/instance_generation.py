"""Generation of instances: the default engine for many more instances than features, and for large texts.

At the optimum no more instances have mass than there are active constraints. So the interior point solves
sub-programs on some instances, and all instances are priced with the coefficients found, as constraint
generation prices all features:

1. solve the sub-program, coarsely at first: which instances matter changes while the bound is far off;
2. score all instances: the upper bound of the coefficients, and how near each instance is to its dual
   constraint. The sub-program's lower bound holds as it is;
3. keep the instances near to their constraints, add others that are near or beyond, drop the rest;
4. once the sub-program is solved to its vertex, only add. When no instance is beyond its constraint, the
   vertex is that of the whole problem.

Both bounds of every record hold for the whole problem: a distribution on some instances is one on all, and
the upper bound of coefficients takes their scores on all instances. If a sub-program gets stuck, the interior
point goes on with all instances. Every choice of instances gives the same optimum; the constants affect time
alone.

On sparse data of two classes a few first-order steps take the place of the coarse rounds, since the time of
an interior point grows with the cube of the instances, and that of a step with the stored entries. At a
coarse gap their scores tell which instances can have mass at the optimum: those near to the largest score.
The pair of the last step, moved a little to the inside, is a beginning near to the optimum. If the gap that
was asked for is not small, more steps may reach it sooner than iterations on these instances.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.cost import (
    RATES,
    n_steps_to,
    seconds_of_iteration,
    seconds_of_step,
)
from minimaxrisk.engines.first_order import Steps, masses_of
from minimaxrisk.engines.generation import ClassMeans, Subprogram, first_by, generate, some_at_random
from minimaxrisk.engines.interior_point.box import snapshot_near
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
    """Return whether leaving most instances out at first saves time."""
    return InstanceGeneration.has_many_instances(problem) or InstanceGeneration.begins_with_steps(problem)


def instance_generation(
    problem: Box, settings: EngineSettings, monitor: Monitor | None = None, enough: StoppingRule | None = None
) -> Solution:
    """Solve to a certified gap of ``settings.gap_tol``, as the interior point does on all instances.

    With ``enough`` until the bounds are, at a vertex or not. The pair returned is the best one certified,
    whichever way the rounds end.
    """
    rounds = InstanceGeneration(problem, settings, monitor, enough)
    best, first = rounds.best, rounds.first()
    if first is not None:
        generate(rounds, first)
    # The last program was priced after its last iteration, or took none.
    if not rounds.is_over and not (best.history and best.history[-1]["upper"] <= best.upper):
        best.report(monitor, best.upper, n_features=len(best.stage.components))
    best.settle(problem, problem.objective)
    best.converged = best.converged or best.gap <= rounds.tolerance
    best.stages = [best.stage]
    return best


class Part(NamedTuple):
    """Some instances, or all of them where they are None, and how far their program is worth solving."""

    instances: IntArray | None
    gap: float = 0.0  # zero for the vertex


class InstanceGeneration:
    """The rounds, and the records of all of them as one history.

    ``best`` holds what is proven for the whole problem.
    """

    # Instances per component of Phi, and in all, from which on leaving some out is faster: 2000 x 800 of two
    # classes took as long as all at once, 2000 x 400 half as long, 1000 x 400 a seventh longer.
    PER_COMPONENT: ClassVar = {"signed": 2.5, "one-hot": 5.0}
    FEWEST: ClassVar[int] = 2000
    # The share of all instances that the first program has, and the most per component that it has or that
    # come at a time. Without the latter limit 18,000 x 8 takes 60 times as long.
    FIRST_SHARE: ClassVar[float] = 0.25
    MOST_PER_COMPONENT: ClassVar[float] = 10.0
    # How much of its dual constraint an instance uses up that stays, or comes. With 0.85 2500 x 800 takes 1.4
    # times as long.
    NEAR: ClassVar[float] = 0.9
    # The gaps at which the first sub-programs are left, and the next ones if no vertex is wanted (without the
    # latter permutation tests take up to 1.25 times as long). The others are solved to their vertices.
    COARSE_GAPS: ClassVar = (5e-2, 1e-2)
    FINE_GAPS: ClassVar = (1e-3, 3e-4)
    # An instance that exceeds its dual constraint by no more than this is not violated.
    ROUNDING: ClassVar[float] = 1e-10
    # The iterations on all instances that must take longer than the steps to the coarse gap. Dorothea needs
    # four times the predicted steps, in twice the time of the fit.
    WORTH_STEPS: ClassVar[float] = 5.0
    # Times the steps that are expected to a gap, they are given up.
    PATIENCE: ClassVar[float] = 3.0
    # Instances that use up so much of their constraint take part after the steps, or all if nearly all do:
    # their program ends as soon as its bounds are enough, and an ensemble of texts takes a third of the time.
    NEAR_AFTER_STEPS: ClassVar[float] = 0.8
    NEARLY_ALL: ClassVar[float] = 0.8
    # Iterations of the interior point per digit from the coarse gap to a smaller one.
    PER_DIGIT: ClassVar[float] = 2.0

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
        self._bound = self.best.upper  # of the coefficients last priced
        self._is_whole = True  # whether the current program has all instances
        self._means = ClassMeans.of(problem)
        self._masses = masses_of(problem)
        self._steps: Solution | None = None  # where the next program begins

    @classmethod
    def has_many_instances(cls, problem: Box) -> bool:
        """With a known marginal every instance has its mass, and none can be left out."""
        fewest = cls.PER_COMPONENT[problem.coding.name] * problem.n_components
        return not problem.marginal.is_known and problem.n_instances >= max(cls.FEWEST, fewest)

    @classmethod
    def begins_with_steps(cls, problem: Box) -> bool:
        """Return whether steps to the coarse gap are predicted to take less time than a few iterations."""
        is_suitable = problem.features.is_sparse and problem.coding.name == "signed"
        if not is_suitable or problem.marginal.is_known or problem.smallest_radius < THIN_RADIUS:
            return False
        steps = RATES.steps_to_coarse_gap * seconds_of_step(problem)
        return steps < cls.WORTH_STEPS * seconds_of_iteration(problem.n_instances)

    @property
    def is_over(self) -> bool:
        """Whether there is no time left."""
        best = self.best
        return best.interrupted or best.stopped or len(best.history) == self.settings.max_iter

    @property
    def _is_done(self) -> bool:
        return self.is_over or bool(self._enough(self.best.lower, self.best.upper))

    def first(self) -> Part | None:
        """Choose the first instances, at random or by first-order steps; None if the steps are enough."""
        problem, best = self.problem, self.best
        if not self.begins_with_steps(problem):
            n, m = problem.n_instances, problem.n_components
            return self._next(some_at_random(n, int(min(self.FIRST_SHARE * n, self.MOST_PER_COMPONENT * m))))
        found = self._take_steps()
        best.interrupted = found.interrupted
        best.offer_distribution(found.distribution, found.lower)
        best.offer_stage(found.stage, found.upper)
        if self._is_done:
            return None
        if not found.stage.values.any():
            return Part(None)
        self._steps, near = found, self._near_after_steps(found)
        return Part(near if len(near) < self.NEARLY_ALL * problem.n_instances else None)

    def _take_steps(self) -> Solution:
        """Go to the coarse gap, and to a smaller one if more steps are the cheapest way there."""
        problem, gap = self.problem, self.settings.gap_tol
        limit = np.inf if self.settings.max_iter is None else self.settings.max_iter
        steps = Steps(problem, self._tell)
        steps.run(max(RATES.coarse_gap, gap), int(min(limit, self.PATIENCE * n_steps_to(RATES.coarse_gap))))
        if gap < RATES.coarse_gap and steps.best.gap <= RATES.coarse_gap and not steps.best.interrupted:
            n_steps = n_steps_to(gap) - RATES.steps_to_coarse_gap
            n_iterations = 1.0 + self.PER_DIGIT * np.log10(RATES.coarse_gap / gap)
            n_near = len(self._near_after_steps(steps.best))
            if n_steps * seconds_of_step(problem) < n_iterations * seconds_of_iteration(n_near):
                steps.run(gap, int(min(limit, self.PATIENCE * n_steps_to(gap))))
        return steps.settled()

    def _near_after_steps(self, found: Solution) -> IntArray:
        size = np.abs(self.problem.scores_of(found.mu)[0])
        return np.flatnonzero(size >= self.NEAR_AFTER_STEPS * size.max())

    def _next(self, instances: IntArray) -> Part:
        return Part(instances, self._gaps.pop(0) if self._gaps else 0.0)

    def solve(self, part: Part) -> Solution | None:
        """Solve the program of a part; None where a coarse one gets stuck."""
        problem, settings, start = self.problem, self.settings, None
        self._is_whole = part.instances is None
        if settings.max_iter is not None:
            settings = replace(settings, max_iter=settings.max_iter - len(self.best.history))
        if part.instances is not None:
            self._program = Subprogram(problem, self._means, part.instances)
            problem = self._program.problem
        if part.gap > 0.0:
            return interior_approach(problem, replace(settings, gap_tol=part.gap), self._tell)
        if self._steps is not None:
            # Begin near the pair of the steps: PCMAC takes 1.26 times as long without.
            u = self._steps.distribution[0] - self._steps.distribution[1]
            if part.instances is not None:
                # Mass elsewhere goes to the class means.
                inside = u[part.instances]
                elsewhere = float(np.abs(u).sum() - np.abs(inside).sum())
                u = np.concatenate([elsewhere * self._means.prior * [1.0, -1.0], inside])
            start, self._steps = snapshot_near(problem, u, self._steps.mu), None
        return interior_point(problem, settings, self._tell, start=start)

    def price(self, part: Part, found: Solution | None) -> Part | None:
        """Offer the program's pair, and choose the instances of the next one."""
        if found is None:
            return Part(None)
        best, instances = self.best, part.instances
        best.interrupted = found.interrupted
        if part.gap == 0.0:
            best.solver, best.remark = found.solver, found.remark
        if instances is None:
            best.offer_distribution(found.distribution, found.lower)
            best.offer_stage(found.stage, found.upper)
            best.converged = found.converged
            return None
        nearness = self._nearness(found)
        is_new = np.ones(len(nearness), dtype=np.bool_)
        is_new[instances] = False
        is_optimal = not (is_new & (nearness > 1.0 + self.ROUNDING)).any()
        if part.gap == 0.0:
            best.converged = found.converged and is_optimal
        if best.converged or self._is_done:
            return None
        if part.gap == 0.0 and is_optimal:
            return None if best.gap <= self.tolerance else Part(None)
        if found.mu.any():
            if part.gap > 0.0:
                instances = instances[nearness[instances] >= self.NEAR]
            most = int(self.MOST_PER_COMPONENT * self.problem.n_components)
            candidates = np.flatnonzero(is_new & (nearness >= self.NEAR))
            instances = np.union1d(instances, first_by(most, candidates, -nearness))
        return self._next(instances)

    def _nearness(self, found: Solution) -> FloatArray:
        """Offer the sub-program's pair; return how near all instances are to their constraints."""
        problem, best, mu = self.problem, self.best, found.mu
        if found.lower >= best.lower:
            best.offer_distribution(self._program.on_all_instances(found.distribution), found.lower)
        scores, penalty = problem.scores_of(mu), problem.penalty_of(mu)
        scale = self._masses.scale(-penalty, scores)
        self._bound = scale * penalty + problem.objective.conjugate(scale * scores)
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
