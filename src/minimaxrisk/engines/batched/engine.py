"""Solve many small problems on the same data to a certified gap, several in one loop.

Permutations of the labels and parts of the samples are problems of the same shape on the same array. They go
through the interior point together, and each leaves when its own certificate says so. ``can_share`` tells
which problems may. A problem that gets stuck is not answered: the single engine solves it.

On NumPy the answer to a problem is the same to the last bit whichever others it goes with. On a device the
last bits may differ, since a device adds up in an order that depends on shapes; the bounds are certified all
the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.engines.batched.kernels import NumPyKernels, kernels_for
from minimaxrisk.engines.batched.points import InteriorPoints
from minimaxrisk.engines.solution import EngineSettings, Stage, is_stuck
from minimaxrisk.problem.problem import Problem
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Problems with more instances gain nothing: their time is that of linear algebra.
MOST_INSTANCES = 400


def can_share(problem: Problem, settings: EngineSettings) -> bool:
    """Whether a problem can go through the loop together with others."""
    shared = problem.features.shared
    return (
        settings.solver in ("auto", "interior-point")
        and settings.max_iter is None
        and problem.coding.name == "signed"
        and not problem.marginal.is_known
        and shared is not None
        and shared.n_rows <= MOST_INSTANCES
        # On a device the loop looks at the radii of all problems at once.
        and (kernels_for(problem) is not NumPyKernels or problem.smallest_radius >= THIN_RADIUS)
    )


def batch_size(problem: Problem) -> int:
    """How many problems like this one go through the loop at a time."""
    return kernels_for(problem).batch_size(*problem.features.shape)


@dataclass(frozen=True)
class Found:
    """Coefficients and the bound that they prove."""

    stage: Stage
    upper: float


def solve_together(problems: Sequence[Problem], gap_tol: float) -> list[Found | None]:
    """For each problem coefficients whose bound is within ``gap_tol`` of R*, or None if it got stuck.

    All of them ``can_share``, are on one array and have the same number of instances.
    """
    with np.errstate(all="ignore"):
        return _Loop(problems, gap_tol).run()


class _Loop:
    def __init__(self, problems: Sequence[Problem], gap_tol: float) -> None:
        self._gap_tol = gap_tol
        self._found: list[Found | None] = [None] * len(problems)
        self._points = InteriorPoints(problems)
        self._which = np.arange(len(problems))
        self._upper = np.full(len(problems), 0.5)
        self._lower, thinnest = self._points.bounds_before()
        self._is_done = thinnest < THIN_RADIUS
        self._is_near = np.zeros(len(problems), dtype=np.bool_)
        self._gaps: list[FloatArray] = []

    def run(self) -> list[Found | None]:
        while True:
            self._points.choose_working_sets()
            self._certify()
            if self._is_done.sum() >= max(1.0, self._points.kernels.TIDY_UP * len(self._is_done)):
                self._write_down()
                if self._is_done.all():
                    return self._found
                self._leave_out()
            self._points.step()

    def _certify(self) -> None:
        upper, lower, has_failed = self._points.bounds()
        self._is_done |= has_failed
        is_better = (upper < self._upper) & ~self._is_done
        if is_better.any():
            self._points.keep_best(is_better)
        self._upper = np.where(is_better, upper, self._upper)
        self._lower = np.where(self._is_done, self._lower, np.fmax(self._lower, lower))
        gap = self._upper - self._lower
        self._gaps.append(gap)
        near = ~self._is_done & (gap <= self._gap_tol)
        self._is_near |= near
        self._is_done |= near | is_stuck(self._gaps)

    def _write_down(self) -> None:
        places = np.flatnonzero(self._is_near)
        for i, components, values, bound in zip(places, *self._points.best(places), strict=True):
            used = np.flatnonzero(values)
            self._found[self._which[i]] = Found(Stage(components[used], values[used]), float(bound))

    def _leave_out(self) -> None:
        kept = np.flatnonzero(~self._is_done)
        self._points.keep(kept)
        self._which, self._upper, self._lower = self._which[kept], self._upper[kept], self._lower[kept]
        self._gaps = [gaps[kept] for gaps in self._gaps]
        self._is_near, self._is_done = self._is_near[kept], self._is_done[kept]
