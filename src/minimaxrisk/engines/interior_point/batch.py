"""Solve many small problems on the same data to a certified gap, several side by side.

Permutations of the labels and parts of the samples are problems of the same shape on the same array. For
small problems most of the time is that of the interpreter between operations, and a pass over the data for
one of them takes nearly as long as a pass for all. Each problem leaves when its own certificate says so. One
that gets stuck is not answered: the caller solves it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk.engines.interior_point.box import BoxIterates, working_set_size
from minimaxrisk.engines.interior_point.engine import widened
from minimaxrisk.engines.interior_point.step import step
from minimaxrisk.engines.solution import (
    Bounds,
    EngineSettings,
    Solution,
    SparseCoefficients,
    StoppingRule,
    is_stuck,
)
from minimaxrisk.problem.problem import Box, upper_bound_of_some
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Problems with more instances gain nothing: their time is that of linear algebra. With three classes and 60
# instances a problem takes 17 ms instead of 27, with 90 34 instead of 32, with 120 56 instead of 41.
MOST_INSTANCES, MOST_INSTANCES_OF_SEVERAL = 400, 90
# The smallest gap that problems of several blocks reach in a batch; below it some get stuck.
SMALLEST_GAP_OF_SEVERAL = 1e-6
# Numbers held at a time for all problems of a batch, and the most problems and the fewest.
BATCH_ELEMENTS, LARGEST_BATCH, SMALLEST_BATCH = 1 << 22, 32, 8


def can_share(problem: Box, settings: EngineSettings) -> bool:
    """Whether a problem can be solved side by side with others on the same data."""
    features, is_single = problem.features, problem.coding.n_blocks == 1
    most = MOST_INSTANCES if is_single else MOST_INSTANCES_OF_SEVERAL
    return (
        features.shared_key is not None
        and settings.solver in ("auto", "interior-point")
        and settings.max_iter is None
        and settings.max_seconds is None
        and (is_single or settings.gap_tol >= SMALLEST_GAP_OF_SEVERAL)
        and not problem.marginal.is_known
        and features.n_rows_of_pass <= most
        and problem.smallest_radius >= THIN_RADIUS
    )


def batch_size(problem: Box) -> int:
    """How many problems like this one, which ``can_share``, are solved at a time."""
    (n, d), n_blocks = problem.features.shape, problem.coding.n_blocks
    each = 2 * working_set_size(n, d, n_blocks) * n + n_blocks * (n**2 + 8 * d)
    whole = BATCH_ELEMENTS // each // SMALLEST_BATCH * SMALLEST_BATCH
    return int(np.clip(whole, SMALLEST_BATCH, LARGEST_BATCH))


@dataclass(frozen=True)
class Found:
    """Coefficients, the upper bound that they prove, and the lower bound beside it."""

    stage: SparseCoefficients
    bounds: Bounds

    @classmethod
    def of(cls, stage: SparseCoefficients, problem: Box, lower: float) -> Found:
        """Prove the upper bound afresh; where constraints were widened, for the wider set."""
        problem, used = widened(problem), np.flatnonzero(stage.values)
        stage = SparseCoefficients(stage.components[used], stage.values[used])
        upper = upper_bound_of_some(problem, problem.objective, stage.components, stage.values)
        return cls(stage, Bounds(lower, upper))


def solve_together(problems: Sequence[Box], enough: StoppingRule) -> list[Found | None]:
    """For each problem coefficients and bounds that are ``enough``, or None if it got stuck.

    All of them ``can_share``, are on one array and have the same number of instances.
    """
    return _Loop(problems, enough).run()


class _Loop:
    """The iterations, and the best bounds of the problems that are not done yet."""

    def __init__(self, problems: Sequence[Box], enough: StoppingRule) -> None:
        self._enough = enough
        self._found: list[Found | None] = [None] * len(problems)
        self._points = BoxIterates(problems, in_batch=True)
        self._which = np.arange(len(problems))
        begun = [Solution.without_features(problem, problem.objective) for problem in problems]
        self._stages = [each.stage for each in begun]
        self._upper, self._lower = np.array([(each.upper, each.lower) for each in begun]).T
        self._gaps: list[FloatArray] = []

    def run(self) -> list[Found | None]:
        points, is_done = self._points, np.zeros(len(self._found), dtype=np.bool_)
        while True:
            # 1) Choose the working sets and certify the iterates.
            points.choose_working_sets()
            self._certify(is_done)
            # 2) Write down what is enough; go on without what is that, or stuck.
            has_enough = ~is_done & self._enough(self._lower, self._upper)
            self._write_down(has_enough)
            is_done |= has_enough | is_stuck(self._gaps)
            if is_done.all():
                return self._found
            if is_done.any():
                self._leave_out(is_done)
            # 3) Take a step.
            step(points)
            is_done = points.failed.copy()

    def _certify(self, is_done: BoolArray) -> None:
        upper, scales = self._points.upper_bounds()
        is_better = (upper < self._upper) & ~is_done
        for i in np.flatnonzero(is_better).tolist():
            self._stages[i] = self._points.stage(i, scales[i])
        self._upper = np.where(is_better, upper, self._upper)
        lower = np.fmax(self._lower, self._points.system.lower_bounds())
        self._lower = np.where(is_done, self._lower, lower)
        self._gaps.append(self._upper - self._lower)

    def _write_down(self, has_enough: BoolArray) -> None:
        for i in np.flatnonzero(has_enough).tolist():
            problem, lower = self._points.problems[i], float(self._lower[i])
            self._found[self._which[i]] = Found.of(self._stages[i], problem, lower)

    def _leave_out(self, is_done: BoolArray) -> None:
        kept = np.flatnonzero(~is_done)
        self._points.keep(kept)
        self._stages = [self._stages[i] for i in kept]
        self._which, self._upper, self._lower = self._which[kept], self._upper[kept], self._lower[kept]
        self._gaps = [gaps[kept] for gaps in self._gaps]
