"""R* for many radii s at once, and between them.

The interior point solves the radii in ascending order, and begins each at an iterate of the one before
(``WarmStart``). Where all vertices are wanted, or many radii of a small problem with one block of
coefficients, the optimal vertex is followed from the largest radius down to the smallest instead
(``homotopy``). Where that fails, the interior point solves the radii that are left. Every pair is certified
at its own radius.

What a solved radius proves about the others (``Envelope``). For fixed coefficients the upper bound U(s; mu)
is convex in s, since the radii max(s sigma/sqrt(n), 1e-9) are: its chord between the ends of the path bounds
R* from above, a tangent. And R* is concave, so that chords between lower bounds are lower bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.engines.cost import refuse_too_large
from minimaxrisk.engines.interior_point.engine import WarmStart, interior_approach, interior_point
from minimaxrisk.engines.interior_point.parametric_simplex import ParametricSimplexError
from minimaxrisk.engines.radius_path.homotopy import Homotopy, between
from minimaxrisk.engines.solution import EngineSettings, SparseCoefficients, drop_small_coefficients
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound_of_some
from minimaxrisk.uncertainty.radius import SMALLEST_RADIUS

# The largest gap of a solved radius.
GAP = 1e-8
# A path has about as many pivots as there are instances; with more of them than this for each radius the
# interior point takes less time (measured on five data sets and on simulated ones).
INSTANCES_PER_RADIUS = 5
# Tangents whose slopes differ by less than this fraction of the steepest one count as one.
SAME_SLOPE = 1e-7
# Breakpoints nearer to each other than this fraction of the largest radius, or of the way, count as one.
SAME_PLACE = 1e-9
# Sets of labels are enumerated; with more classes than this there are too many.
MOST_CLASSES = 6


@dataclass(frozen=True)
class RadiusFamily:
    """The problems of all radii between two, given by that of the largest one.

    Each is to be solved to ``gap``. From ``GAP`` on down that is a vertex, if there is one to be found.
    """

    problem: Box
    smallest: float
    largest: float
    gap: float = GAP

    def at(self, radius: float) -> Box:
        return self.problem.with_radii(self._radii(self.problem.lam, radius))

    def _radii(self, lam: FloatArray, radius: float) -> FloatArray:
        return np.maximum(lam * (radius / self.largest), SMALLEST_RADIUS)

    def solved(self, radius: float, stage: SparseCoefficients, upper: float, lower: float) -> SolvedRadius:
        """With the bounds that the same coefficients prove at both ends: the radii alone differ."""
        lam, size = self.problem.lam.ravel()[stage.components], np.abs(stage.values)
        here, *ends = (float(self._radii(lam, s) @ size) for s in (radius, self.smallest, self.largest))
        at_smallest, at_largest = (upper + penalty - here for penalty in ends)
        # Rounding may cross the bounds at R*.
        return SolvedRadius(radius, stage, upper, min(lower, upper), (at_smallest, at_largest))

    def solve(self, radius: float, warm_start: WarmStart | None = None) -> SolvedRadius:
        """Solve by the interior point, to the gap of the family or where that is small to the vertex."""
        problem, solution = self.at(radius), None
        if warm_start is not None and self.gap > GAP:
            settings = EngineSettings("interior-point", gap_tol=self.gap)
            solution = interior_approach(problem, settings, warm_start=warm_start)
            if solution is not None and not solution.interrupted:
                solution.settle(problem, problem.objective)
                drop_small_coefficients(problem, solution, self.gap)
        if solution is None:
            settings = EngineSettings("interior-point", gap_tol=GAP)
            solution = interior_point(problem, settings, warm_start=warm_start)
        if solution.interrupted:
            raise KeyboardInterrupt
        return self.solved(radius, solution.stage, solution.upper, solution.lower)

    def envelope(self, solved: Sequence[SolvedRadius]) -> Envelope:
        """What radii that are solved, in ascending order, prove about all others."""
        # R* is concave where no component's radius reaches its smallest value on the way.
        smallest, largest = self.at(self.smallest).lam, self.problem.lam
        is_concave = not ((smallest == SMALLEST_RADIUS) & (largest > SMALLEST_RADIUS)).any()
        radii, lower = np.array([(each.radius, each.lower) for each in solved]).T
        at_smallest, at_largest = np.array([each.upper_at_ends for each in solved]).T
        return Envelope(radii, lower, at_smallest, at_largest, bool(is_concave))


@dataclass(frozen=True)
class SolvedRadius:
    """Coefficients, certified bounds on R*, and the bounds of the coefficients at both ends of the path."""

    radius: float
    stage: SparseCoefficients
    upper: float
    lower: float
    upper_at_ends: tuple[float, float]  # at the smallest and at the largest radius

    @property
    def gap(self) -> float:
        return self.upper - self.lower


# Called with every requested radius once it is solved.
Report = Callable[[SolvedRadius], object]


def radius_path(
    family: RadiusFamily, radii: FloatArray, *, everywhere: bool, report: Report = lambda solved: None
) -> list[SolvedRadius]:
    """Solve for the radii, which descend strictly; the result may hold further ones between them.

    ``everywhere`` asks for all breakpoints, so that the bounds agree between the radii too.
    """
    refuse_too_large(
        family.problem, "the path over the radius", "fit with solver='first-order' at the radii one by one"
    )
    solved: list[SolvedRadius] = []
    left = radii.tolist()
    if can_follow(family.problem, len(radii), everywhere=everywhere):
        try:
            homotopy = Homotopy(family.problem)
            for radius, before in zip(radii.tolist(), [radii[0], *radii[:-1]], strict=True):
                *on_the_way, last = _followed(family, homotopy, before, radius, keep_all=everywhere)
                solved += (each for each in on_the_way if each.gap <= GAP)
                solved.append(last if last.gap <= GAP else family.solve(radius))
                report(solved[-1])
                left.remove(radius)
        except ParametricSimplexError:
            pass  # The interior point solves what is left.
    solved += _by_interior_points(family, left[::-1], report)[::-1]
    return _refined(family, solved) if everywhere else solved


def can_follow(problem: Box, n_radii: int, *, everywhere: bool) -> bool:
    """Whether there is a vertex to follow, and whether that takes less time than solving at each radius."""
    if problem.marginal.is_known or len(problem.centre) > MOST_CLASSES:
        return False
    is_short = problem.coding.n_blocks == 1 and problem.n_instances <= INSTANCES_PER_RADIUS * n_radii
    return everywhere or is_short


def _followed(
    family: RadiusFamily, homotopy: Homotopy, before: float, radius: float, *, keep_all: bool
) -> Iterator[SolvedRadius]:
    """Yield the pairs that are met on the way to a radius if all are to be kept, and the one there."""
    for part in between(before, radius)[-1 if homotopy.is_quiet else 0 :].tolist():
        stops = homotopy.go_to(family.at(part).lam.ravel(), keep_all=keep_all)
        for stop in stops if keep_all or part == radius else []:
            here = part if stop.fraction == 1.0 else before + stop.fraction * (part - before)
            problem = family.at(here)
            upper = upper_bound_of_some(problem, problem.objective, stop.stage.components, stop.stage.values)
            inside = lower_bound(problem, problem.objective, stop.distribution, stop.moments)
            yield family.solved(here, stop.stage, upper, inside.bound)
        before = part


def _by_interior_points(family: RadiusFamily, ascending: list[float], report: Report) -> list[SolvedRadius]:
    warm_start, solved = WarmStart(), list[SolvedRadius]()
    for radius, larger in zip(ascending, [*ascending[1:], *ascending[-1:]], strict=True):
        warm_start.growth = larger / radius - 1.0
        found = family.solve(radius, warm_start)
        if found.gap > family.gap:
            found = min(found, family.solve(radius), key=lambda each: each.gap)
        solved.append(found)
        report(found)
    return solved


def _refined(family: RadiusFamily, solved: list[SolvedRadius]) -> list[SolvedRadius]:
    """Solve where neighbouring tangents intersect, until tangents and chords agree.

    The scheme of Eisner and Severance (1976) for breakpoints of a concave function. Where all vertices were
    followed they agree already.
    """
    finished, pending = solved[:1], solved[:0:-1]
    while pending:
        right, left = finished[-1], pending[-1]
        radius = _worst_radius(family, left, right)
        if radius is None:
            finished.append(pending.pop())
        else:
            pending.append(family.solve(radius))
    return finished


def _worst_radius(family: RadiusFamily, left: SolvedRadius, right: SolvedRadius) -> float | None:
    """Where two tangents intersect, if that is above the chord and between the two radii; else None."""
    slopes = [(high - low) for low, high in (left.upper_at_ends, right.upper_at_ends)]
    ahead = right.upper_at_ends[0] - left.upper_at_ends[0]
    if not slopes[0] > slopes[1]:
        return None
    share = ahead / (slopes[0] - slopes[1])
    radius = family.smallest + share * (family.largest - family.smallest)
    margin = SAME_PLACE * family.largest
    if not left.radius + margin < radius < right.radius - margin:
        return None
    along = (radius - left.radius) / (right.radius - left.radius)
    chord = left.lower + along * (right.lower - left.lower)
    tangent = left.upper_at_ends[0] + share * slopes[0]
    return radius if tangent - chord > GAP else None


@dataclass(frozen=True)
class Envelope:
    """What solved radii prove about R* at every radius between them: lower bounds, ascending, and tangents.

    A tangent is given by its values at the smallest and at the largest radius. Where R* is not exactly
    concave (``is_concave``), lower bounds are those of the next smaller radius: R* never falls.
    """

    radii: FloatArray
    lower: FloatArray
    at_smallest: FloatArray
    at_largest: FloatArray
    is_concave: bool

    def bounds(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return certified bounds on R* at radii between the smallest and the largest solved one."""
        span = self.radii[-1] - self.radii[0]
        upper = self._least((radius - self.radii[0]) / span if span > 0.0 else np.zeros_like(radius))
        if self.is_concave:
            lower = np.interp(radius, self.radii, self.lower)
        else:
            lower = self.lower[np.searchsorted(self.radii, radius, side="right") - 1]
        return np.minimum(lower, upper), upper

    def _least(self, share: FloatArray) -> FloatArray:
        """Return the least of all tangents at fractions of the way."""
        return np.array([(self.at_smallest + x * (self.at_largest - self.at_smallest)).min() for x in share])

    def breakpoints(self) -> tuple[FloatArray, FloatArray]:
        """Return radii at which the least of all tangents changes its slope, ascending, and its values."""
        slope = self.at_largest - self.at_smallest
        same = SAME_SLOPE * float(np.abs(slope).max())
        current, place = int(np.lexsort((-slope, self.at_largest))[0]), 1.0
        places: list[float] = []
        while True:
            steeper = np.flatnonzero(slope > slope[current] + same)
            crossing = (self.at_smallest[current] - self.at_smallest[steeper]) / (
                slope[steeper] - slope[current]
            )
            if not (crossing > 0.0).any():
                break
            # Of tangents that cross at the same place the steepest is the least one beyond it.
            best = int(np.lexsort((-slope[steeper], -crossing))[0])
            current, crossed = int(steeper[best]), min(float(crossing[best]), place)
            if place - crossed > SAME_PLACE:
                places.append(crossed)
                place = crossed
        share = np.array(places[::-1])
        return self.radii[0] + share * (self.radii[-1] - self.radii[0]), self._least(share)
