"""Where to begin on sparse data with many instances: a few first-order steps, and the instances near to them.

The time of an interior point grows with the cube of the instances, that of a first-order step with the stored
entries. At a coarse gap the scores already tell which instances can have mass at the optimum: those near to
the largest score. Their program is a fraction of the whole one (``instance_generation``), and the pair of the
last step, moved a little to the inside, is a beginning near to its optimum. On a collection of texts of
1943 x 3289, 110 steps (0.12 s) leave 1101 instances and 9 iterations to a gap of 1e-6; all instances took 13
iterations of four times the length. Too few instances cost another round, no wrong answer.

Where the gap that was asked for is not small, more steps are predicted to reach it sooner than iterations of
the interior point on these instances; then they go on. Texts of 4000 x 20,000 take 0.6 s to a gap of 1e-3,
and took 3.7 with iterations.

Signed coding with free masses.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from minimaxrisk.engines.interior_point.box import InteriorState, snapshot_near
from minimaxrisk.engines.solution import EngineSettings, Monitor, Solution
from minimaxrisk.problem.problem import Box
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# The most steps to the coarse gap; texts take 70 to 210. With 3e-2 and 3e-3 as that gap whole fits of
# simulated texts of 2000 and 4000 rows took a fifth longer and as long.
MOST_STEPS = 400
# Instances whose score is at least this fraction of the largest take part; all, if they are at least this
# share of them.
NEAR, MOST_OF_THEM = 0.8, 0.8


@dataclass(frozen=True)
class CoarseStart:
    """The pair that the steps found, and the instances that may matter (ascending)."""

    found: Solution
    instances: IntArray

    def on_all(self, problem: Box) -> InteriorState:
        """The beginning of the whole program."""
        return snapshot_near(problem, self._difference, self.found.mu)

    def on_some(self, program: Box, prior: FloatArray) -> InteriorState:
        """The beginning of the program on ``instances``, behind the two class means.

        Mass elsewhere goes to the means, shared as in the sample.
        """
        inside = self._difference[self.instances]
        elsewhere = float(np.abs(self._difference).sum() - np.abs(inside).sum())
        u = np.concatenate([elsewhere * prior * [1.0, -1.0], inside])
        return snapshot_near(program, u, self.found.mu)

    @property
    def _difference(self) -> FloatArray:
        return self.found.distribution[0] - self.found.distribution[1]


def coarse_start(problem: Box, settings: EngineSettings, monitor: Monitor | None) -> CoarseStart | None:
    """Take the steps; None where they find no coefficients."""
    limit = np.inf if settings.max_iter is None else settings.max_iter
    gap = max(COARSE_GAP, settings.gap_tol)
    steps = Steps(problem, monitor)
    steps.run(gap, int(min(limit, MOST_STEPS)))
    near = _near_instances(problem, steps.best.mu)
    is_open = steps.best.gap <= gap and not steps.best.interrupted
    if near is not None and is_open and steps_are_cheaper(problem, len(near), settings.gap_tol):
        most = PATIENCE * n_steps_to(settings.gap_tol)
        steps.run(settings.gap_tol, int(min(limit, most)))
        near = _near_instances(problem, steps.best.mu)
    if near is None and steps.best.interrupted:
        raise KeyboardInterrupt
    return None if near is None else CoarseStart(steps.settled(), near)


def _near_instances(problem: Box, mu: FloatArray) -> IntArray | None:
    """The instances that may matter; None where all scores are zero."""
    size = np.abs(problem.scores_of(mu)[0])
    if not size.any():
        return None
    near = np.flatnonzero(size >= NEAR * size.max())
    return np.arange(len(size)) if len(near) >= MOST_OF_THEM * len(size) else near


# Iterations of the interior point in all, per digit from the coarse gap to a smaller one, and beyond.
ITERATIONS, PER_DIGIT, BEYOND = 15, 2.0, 1.0
# Times the steps that are expected, they are given up.
PATIENCE = 3.0
# How many times less the steps have to take. On Dorothea, where predictions are equal, it takes 570 steps and
# twice the time of the fit to get to the coarse gap.
WORTH_IT = 3.0


def is_worth_a_coarse_start(problem: Box) -> bool:
    """Whether the steps are predicted to take a fraction of the time of the interior point."""
    if not (
        problem.features.is_sparse
        and problem.coding.name == "signed"
        and not problem.marginal.is_known
        and problem.smallest_radius >= THIN_RADIUS
    ):
        return False
    steps = STEPS_TO_COARSE_GAP * seconds_of_step(problem)
    return WORTH_IT * steps < ITERATIONS * seconds_of_iteration(problem.n_instances)


def steps_are_cheaper(problem: Box, n_instances: int, gap: float) -> bool:
    """Whether steps from the coarse gap to this one are predicted to take less time than iterations.

    The iterations are those on ``n_instances``.
    """
    if gap >= COARSE_GAP:
        return False
    n_steps = n_steps_to(gap) - STEPS_TO_COARSE_GAP
    n_iterations = BEYOND + PER_DIGIT * np.log10(COARSE_GAP / gap)
    return bool(n_steps * seconds_of_step(problem) < n_iterations * seconds_of_iteration(n_instances))
