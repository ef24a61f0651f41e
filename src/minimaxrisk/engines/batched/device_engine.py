"""Many problems on one array that lives on a device, all in one loop: see ``engine``.

There the last bit of an answer does not depend on the problems beside it. Here it may, since a device adds up
in an order that depends on shapes; every bound is certified all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk.engines.batched.device_points import DevicePoints
from minimaxrisk.engines.batched.engine import MOST_INSTANCES, PATIENCE
from minimaxrisk.engines.batched.predictor_corrector import NEAREST_PER_INSTANCE
from minimaxrisk.engines.solution import EngineSettings, Stage
from minimaxrisk.problem.problem import Problem
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Bytes of the device's memory that the problems of a batch may take together, and vectors that each has.
BATCH_BYTES, VECTORS = 8 << 30, 12
LARGEST_BATCH = 2048
# The share of problems that are done at which the others go on without them.
TIDY_UP = 0.5


def can_share_there(problem: Problem, settings: EngineSettings) -> bool:
    """Whether a problem can go through the loop together with others on the same features."""
    return (
        problem.features.location == "device"
        and settings.solver in ("auto", "interior-point")
        and settings.max_iter is None
        and problem.coding.name == "signed"
        and not problem.marginal.is_known
        and problem.n_instances <= MOST_INSTANCES
    )


def batch_size_there(problem: Problem) -> int:
    """How many problems like this one go through the loop at a time."""
    n, d = problem.features.shape
    each = 8 * (VECTORS * d + 4 * int(NEAREST_PER_INSTANCE * n) * n + 3 * n**2)
    return int(np.clip(BATCH_BYTES // each, 1, LARGEST_BATCH))


@dataclass(frozen=True)
class Found:
    """Coefficients and the bound that they prove."""

    stage: Stage
    upper: float


def solve_together_there(problems: Sequence[Problem], gap_tol: float) -> list[Found | None]:
    """For each problem what is within ``gap_tol`` of R*, or None if it got stuck; one matrix for all."""
    with np.errstate(all="ignore"):
        return _Loop(problems, gap_tol).run()


class _Loop:
    def __init__(self, problems: Sequence[Problem], gap_tol: float) -> None:
        self._gap_tol = gap_tol
        self._found: list[Found | None] = [None] * len(problems)
        self._points = DevicePoints(problems)
        self._which = np.arange(len(problems))
        self._upper = np.full(len(problems), 0.5)
        self._lower, thinnest = self._points.bounds_before()
        self._is_done: BoolArray = thinnest < THIN_RADIUS
        self._is_near = np.zeros(len(problems), dtype=np.bool_)
        self._gaps: list[FloatArray] = []

    def run(self) -> list[Found | None]:
        while True:
            self._points.choose_working_sets()
            self._certify()
            if self._is_done.mean() >= TIDY_UP:
                self._write_down()
                if self._is_done.all():
                    return self._found
                self._leave_out()
            self._points.step()

    def _certify(self) -> None:
        upper, lower, has_failed = self._points.bounds()
        is_better = (upper < self._upper) & ~self._is_done
        if is_better.any():
            self._points.keep_best(is_better)
        self._lower = np.where(self._is_done, self._lower, np.fmax(self._lower, lower))
        self._upper = np.where(is_better, upper, self._upper)
        gap = self._upper - self._lower
        self._gaps.append(gap)
        near = ~self._is_done & (gap <= self._gap_tol)
        self._is_near |= near
        self._is_done |= near | has_failed
        if len(self._gaps) > PATIENCE:
            self._is_done |= gap > 0.5 * self._gaps.pop(0)

    def _write_down(self) -> None:
        components, values, bounds = self._points.best()
        for i in np.flatnonzero(self._is_near).tolist():
            used = np.flatnonzero(values[i])
            stage = Stage(components[i, used], values[i, used])
            self._found[self._which[i]] = Found(stage, float(bounds[i]))

    def _leave_out(self) -> None:
        kept = ~self._is_done
        self._points.keep(kept)
        self._which, self._upper, self._lower = self._which[kept], self._upper[kept], self._lower[kept]
        self._gaps = [gaps[kept] for gaps in self._gaps]
        self._is_near, self._is_done = self._is_near[kept], self._is_done[kept]
