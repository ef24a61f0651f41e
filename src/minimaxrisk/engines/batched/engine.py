"""Solve many small problems on the same data to a certified gap, several in one loop.

Permutations of the labels and parts of the samples are problems of the same shape on the same matrix. They
go through the interior point together; each leaves when its own certificate says so. ``can_share`` tells what
does not belong here, and what gets stuck is not answered: the single engine does it.

The answer to a problem is the same bits whichever others it goes with: its numbers meet those of others in no
sum, and products have the same shapes always (see ``shared_columns``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.engines.batched.predictor_corrector import NEAREST_PER_INSTANCE, InteriorPoints
from minimaxrisk.engines.batched.shared_columns import shared_matrix
from minimaxrisk.engines.solution import NOTHING, EngineSettings
from minimaxrisk.features.dense import TILE
from minimaxrisk.problem.problem import Problem
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Problems with more instances gain nothing: their time is that of linear algebra.
MOST_INSTANCES = 400
# Numbers held at a time for all problems of a batch; at least one tile of problems goes through, though.
BATCH_ELEMENTS = 1 << 22
LARGEST_BATCH = 32
# Without the gap being halved in this many iterations a problem is stuck.
PATIENCE = 8


def can_share(problem: Problem, settings: EngineSettings) -> bool:
    """Whether a problem can go through the loop together with others."""
    matrix = shared_matrix(problem)
    return (
        settings.solver in ("auto", "interior-point")
        and settings.max_iter is None
        and problem.coding.name == "signed"
        and not problem.marginal.is_known
        and matrix is not None
        and matrix.shape[0] <= MOST_INSTANCES
        and bool((problem.lam >= THIN_RADIUS).all())
    )


def batch_size(problem: Problem) -> int:
    """How many problems like this one go through the loop at a time."""
    n, d = problem.features.shape
    each = 2 * min(d, int(NEAREST_PER_INSTANCE * n)) * n + n**2 + 8 * d
    return int(np.clip(BATCH_ELEMENTS // each // TILE * TILE, TILE, LARGEST_BATCH))


def solve_together(problems: Sequence[Problem], gap_tol: float) -> list[FloatArray | None]:
    """For each problem coefficients (1 x d) whose bound is within ``gap_tol`` of R*, or None if it got stuck.

    All of them ``can_share``, are on one matrix and have the same number of instances.
    """
    with np.errstate(all="ignore"):
        return _Loop(problems, gap_tol).run()


class _Loop:
    def __init__(self, problems: Sequence[Problem], gap_tol: float) -> None:
        self._gap_tol = gap_tol
        self._found: list[FloatArray | None] = [None] * len(problems)
        self._shape = problems[0].tau.shape
        self._points = InteriorPoints(problems)
        self._which = np.arange(len(problems))
        self._is_done = np.zeros(len(problems), dtype=np.bool_)
        self._upper = np.full(len(problems), 0.5)
        self._lower = np.array([_bound_of_indifference(problem) for problem in problems])
        self._gaps: list[FloatArray] = []
        self._best = [NOTHING] * len(problems)

    def run(self) -> list[FloatArray | None]:
        while True:
            self._points.choose_working_sets()
            self._certify()
            if self._is_done.all():
                return self._found
            if self._is_done.any():
                self._leave_out()
            self._points.step()
            self._is_done |= self._points.failed

    def _certify(self) -> None:
        upper, lower = self._points.bounds()
        self._lower = np.fmax(self._lower, lower)
        for i in np.flatnonzero((upper < self._upper) & ~self._is_done).tolist():
            self._best[self._which[i]] = self._points.stage_of(i)
        self._upper = np.fmin(self._upper, upper)
        gap = self._upper - self._lower
        self._gaps.append(gap)
        near = ~self._is_done & (gap <= self._gap_tol)
        for i in self._which[near]:
            self._found[i] = self._best[i].expand(*self._shape)
        self._is_done |= near
        if len(self._gaps) > PATIENCE:
            self._is_done |= gap > 0.5 * self._gaps.pop(0)

    def _leave_out(self) -> None:
        kept = ~self._is_done
        self._points.keep(kept)
        self._which, self._upper, self._lower = self._which[kept], self._upper[kept], self._lower[kept]
        self._gaps = [gaps[kept] for gaps in self._gaps]
        self._is_done = self._is_done[kept]


def _bound_of_indifference(problem: Problem) -> float:
    """What labels that say nothing prove without a pass: u = 0 has moments 0, mixed with the centre."""
    size = np.abs(problem.tau)
    theta = float(np.min(problem.lam / np.maximum(size, np.finfo(np.float64).tiny), initial=1.0))
    return 0.5 - 0.5 * (1.0 - theta) * float(np.abs(problem.centre[0] - problem.centre[1]).sum())
