"""Solve many small problems on the same data to a certified gap, several in one loop.

Permutations of the labels and parts of the samples are problems of the same shape on the same array. For
small problems most of the time of the single loop is that of the interpreter between its steps. Here every
step is one operation on arrays whose first index is the problem (``points``). Each problem leaves when its
own certificate says so. One that gets stuck is not answered: the single engine solves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.engines.batched.one_hot import OneHotPoints
from minimaxrisk.engines.batched.points import SignedPoints, algebra_of
from minimaxrisk.engines.solution import Bounds, EngineSettings, Enough, Stage, is_stuck
from minimaxrisk.problem.problem import Box
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Problems with more instances gain nothing: their time is that of linear algebra. With three classes and 60
# instances a problem takes 17 ms instead of 27, with 90 34 instead of 32, with 120 56 instead of 41.
MOST_INSTANCES = {"signed": 400, "one-hot": 90}
# The smallest gap that problems of the one-hot coding reach here; below it some get stuck.
SMALLEST_ONE_HOT_GAP = 1e-6


def can_share(problem: Box, settings: EngineSettings) -> bool:
    """Whether a problem can go through the loop together with others."""
    shared, coding = problem.features.shared, problem.coding.name
    if shared is None:
        return False
    is_numpy = shared.algebra.is_numpy
    return (
        settings.solver in ("auto", "interior-point")
        and settings.max_iter is None
        and settings.max_seconds is None
        and (coding == "signed" or (is_numpy and settings.gap_tol >= SMALLEST_ONE_HOT_GAP))
        and not problem.marginal.is_known
        and shared.n_rows <= MOST_INSTANCES[coding]
        # On a device the loop looks at the radii of all problems at once.
        and (not is_numpy or problem.smallest_radius >= THIN_RADIUS)
    )


def batch_size(problem: Box) -> int:
    """How many problems like this one, which ``can_share``, go through the loop at a time."""
    return algebra_of(problem).batch_size(*problem.features.shape, problem.coding.n_blocks)


@dataclass(frozen=True)
class Found:
    """Coefficients, the upper bound that they prove, and the lower bound beside it."""

    stage: Stage
    bounds: Bounds


def solve_together(problems: Sequence[Box], enough: Enough) -> list[Found | None]:
    """For each problem coefficients and bounds that are ``enough``, or None if it got stuck.

    All of them ``can_share``, are on one array and have the same number of instances.
    """
    with np.errstate(all="ignore"):
        return _Loop(problems, enough).run()


class _Loop:
    def __init__(self, problems: Sequence[Box], enough: Enough) -> None:
        self._enough = enough
        self._found: list[Found | None] = [None] * len(problems)
        points = SignedPoints if problems[0].coding.name == "signed" else OneHotPoints
        self._points = points(problems)
        self._which = np.arange(len(problems))
        self._lower, self._upper, thinnest = self._points.bounds_before(problems)
        self._is_done = thinnest < THIN_RADIUS
        self._has_enough = np.zeros(len(problems), dtype=np.bool_)
        self._gaps: list[FloatArray] = []

    def run(self) -> list[Found | None]:
        while True:
            self._points.choose_working_sets()
            self._certify()
            if self._is_done.sum() >= max(1.0, self._points.algebra.TIDY_UP * len(self._is_done)):
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
        self._gaps.append(self._upper - self._lower)
        has_enough = ~self._is_done & self._enough(self._lower, self._upper)
        self._has_enough |= has_enough
        self._is_done |= has_enough | is_stuck(self._gaps)

    def _write_down(self) -> None:
        places = np.flatnonzero(self._has_enough)
        for i, components, values, bound in zip(places, *self._points.best(places), strict=True):
            used = np.flatnonzero(values)
            bounds = Bounds(float(self._lower[i]), float(bound))
            self._found[self._which[i]] = Found(Stage(components[used], values[used]), bounds)

    def _leave_out(self) -> None:
        kept = np.flatnonzero(~self._is_done)
        self._points.keep(kept)
        self._which, self._upper, self._lower = self._which[kept], self._upper[kept], self._lower[kept]
        self._gaps = [gaps[kept] for gaps in self._gaps]
        self._has_enough, self._is_done = self._has_enough[kept], self._is_done[kept]
