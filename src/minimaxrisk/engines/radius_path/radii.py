"""R* for many radii s at once, and between them.

The interior point solves the radii in ascending order, and begins each at an iterate of the one before
(``WarmStart``). Where all vertices are wanted, or many radii of a small problem with one block of
coefficients, the optimal vertex is followed from the largest radius down to the smallest instead
(``homotopy``). Where that fails, or takes too many pivots, the interior point solves the radii that are left.
Every pair is certified at its own radius.

What a solved radius proves about the others (``Envelope``). For fixed coefficients the upper bound U(s; mu)
is convex in s, since the radii max(s sigma/sqrt(n), 1e-9) are: its chord between the ends of the path bounds
R* from above, a tangent. And R* is concave, so that chords between lower bounds are lower bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.cost import refuse_too_large
from minimaxrisk.engines.interior_point.engine import (
    WarmStart,
    interior_approach,
    interior_point,
)
from minimaxrisk.engines.interior_point.parametric_simplex import ParametricSimplexError, Vertex
from minimaxrisk.engines.paper import by_correlation
from minimaxrisk.engines.radius_path.homotopy import Homotopy, Stop
from minimaxrisk.engines.solution import EngineSettings, SparseCoefficients, drop_small_coefficients
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound_of_some
from minimaxrisk.uncertainty.radius import SMALLEST_RADIUS

# The largest gap of a solved radius.
GAP = 1e-8
# Violations up to this size are rounding errors.
VIOLATION = 1e-10
# Components that the homotopy sees between two passes over all of them: those this near to their bounds, and
# so many at first. The radii shrink by at most this factor between two passes, unless the last part of the
# way took no pivot.
NEAR, FIRST_COMPONENTS, SHRINKAGE = 0.7, 50, 0.88
# The path has about as many pivots as there are instances; with more of them than this for each radius the
# interior point takes less time (measured on five data sets and on simulated ones).
INSTANCES_PER_RADIUS = 5
# Tangents whose slopes differ by less than this fraction of the steepest one count as one.
SAME_SLOPE = 1e-7
# Breakpoints nearer to each other than this fraction of the largest radius, or of the way, count as one.
SAME_PLACE = 1e-9
# Pivots from one radius to the next that cost about as much as the interior point: so many, and per instance.
FEW_PIVOTS, PIVOTS_PER_INSTANCE = 100, 3
MOST_PIVOTS = 1_000_000  # more than any path takes
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
        lam = np.maximum(self.problem.lam * (radius / self.largest), SMALLEST_RADIUS)
        return self.problem.with_radii(lam)

    @property
    def is_concave(self) -> bool:
        """Whether R* is exactly concave: no component's radius reaches its smallest value on the way."""
        smallest, largest = self.at(self.smallest).lam, self.problem.lam
        return not ((smallest == SMALLEST_RADIUS) & (largest > SMALLEST_RADIUS)).any()

    def solved(self, radius: float, stage: SparseCoefficients, upper: float, lower: float) -> SolvedRadius:
        """With the bounds that the same coefficients prove at both ends: the radii alone differ."""
        lam, size = self.problem.lam.ravel()[stage.components], np.abs(stage.values)
        here, *ends = (
            float(np.maximum(lam * (s / self.largest), SMALLEST_RADIUS) @ size)
            for s in (radius, self.smallest, self.largest)
        )
        at_smallest, at_largest = (upper + penalty - here for penalty in ends)
        # Rounding may cross the bounds at R*.
        return SolvedRadius(radius, stage, upper, min(lower, upper), (at_smallest, at_largest))


@dataclass(frozen=True)
class SolvedRadius:
    """Coefficients, certified bounds on R*, and the bounds of the coefficients at both ends of the path."""

    radius: float
    stage: SparseCoefficients
    upper: float
    lower: float
    upper_at_ends: tuple[float, float]  # at the smallest and at the largest radius


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
    if can_follow(family.problem, len(radii), everywhere=everywhere):
        solved = _by_vertices(family, radii, everywhere=everywhere, report=report)
    else:
        solved = _by_interior_points(family, radii[::-1], report=report)[::-1]
    return _refined(family, solved) if everywhere else solved


def can_follow(problem: Box, n_radii: int, *, everywhere: bool) -> bool:
    """Whether there is a vertex to follow, and whether that takes less time than solving at each radius."""
    if problem.marginal.is_known or len(problem.centre) > MOST_CLASSES:
        return False
    is_short = problem.coding.n_blocks == 1 and problem.n_instances <= INSTANCES_PER_RADIUS * n_radii
    return everywhere or is_short


def _by_vertices(
    family: RadiusFamily, descending: FloatArray, *, everywhere: bool, report: Report
) -> list[SolvedRadius]:
    solved: list[SolvedRadius] = []
    follower = _Follower(family, keep_all=everywhere)
    for i, radius in enumerate(descending.tolist()):
        try:
            *on_the_way, last = follower.go_to(radius)
        except ParametricSimplexError:
            return solved + _by_interior_points(family, descending[i:][::-1], report=report)[::-1]
        solved += filter(_is_accurate, on_the_way)
        solved.append(last if _is_accurate(last) else solve_afresh(family, radius))
        report(solved[-1])
    return solved


def _by_interior_points(family: RadiusFamily, ascending: FloatArray, *, report: Report) -> list[SolvedRadius]:
    warm_start, solved = WarmStart(), list[SolvedRadius]()
    upwards = ascending.tolist()
    for radius, larger in zip(upwards, [*upwards[1:], upwards[-1]], strict=True):
        warm_start.growth = larger / radius - 1.0
        found = _solved(family, radius, warm_start)
        if not _is_accurate(found, family.gap):
            found = min(found, solve_afresh(family, radius), key=lambda one: one.upper - one.lower)
        solved.append(found)
        report(found)
    return solved


def _is_accurate(solved: SolvedRadius, gap: float = GAP) -> bool:
    return solved.upper - solved.lower <= gap


def solve_afresh(family: RadiusFamily, radius: float) -> SolvedRadius:
    """Solve from scratch, by the interior point to the vertex."""
    return _solved(family, radius, None)


def _solved(family: RadiusFamily, radius: float, warm_start: WarmStart | None) -> SolvedRadius:
    """Solve by the interior point, to the gap of the family or where that is small to the vertex."""
    problem, solution = family.at(radius), None
    if warm_start is not None and family.gap > GAP:
        settings = EngineSettings("interior-point", gap_tol=family.gap)
        solution = interior_approach(problem, settings, warm_start=warm_start)
        if solution is not None and not solution.interrupted:
            solution.settle(problem, problem.objective)
            drop_small_coefficients(problem, solution, family.gap)
    if solution is None:
        solution = interior_point(
            problem, EngineSettings("interior-point", gap_tol=GAP), warm_start=warm_start
        )
    if solution.interrupted:
        raise KeyboardInterrupt
    return family.solved(radius, solution.stage, solution.upper, solution.lower)


class _Follower:
    """A vertex on its way through the family, and the components that it has to look at."""

    def __init__(self, family: RadiusFamily, *, keep_all: bool) -> None:
        self._family, self._keep_all = family, keep_all
        self._components: IntArray = np.empty(0, dtype=np.intp)
        self._is_quiet = True  # whether the last part of the way took no pivot
        self._radius: float | None = None  # None before the first one
        n = family.problem.n_instances
        self._budget = MOST_PIVOTS if keep_all else FEW_PIVOTS + PIVOTS_PER_INSTANCE * n
        self._homotopy = Homotopy(family.problem)

    def go_to(self, radius: float) -> list[SolvedRadius]:
        """The pair at ``radius``, after those met on the way if all are to be kept."""
        last_pivot = self._homotopy.n_pivots + self._budget
        if self._radius is None:
            self._start(radius, last_pivot)
            parts = [radius]
        else:
            parts = _between(self._radius, radius)[-1 if self._is_quiet else 1 :].tolist()
        kept: list[SolvedRadius] = []
        for part in parts:
            start = part if self._radius is None else self._radius
            stops, moments = self._walk_to(part, self._family.at(part).lam.ravel(), last_pivot)
            if self._keep_all or part == radius:
                met = [*(start + stop.fraction * (part - start) for stop in stops[:-1]), part]
                kept += map(self._certified, met, stops, moments)
        return kept

    def _start(self, radius: float, last_pivot: int) -> None:
        """Begin at radii so large that the first vertex is optimal, and go nearly to ``radius``."""
        lam, homotopy = self._family.at(radius).lam.ravel(), self._homotopy
        vertex = homotopy.start()
        deviation = np.abs(homotopy.moments_of(vertex, lam) - homotopy.tau)
        varies = lam > SMALLEST_RADIUS
        times_larger = max(1.0, float((deviation[varies] / lam[varies]).max(initial=0.0)))
        largest = np.maximum(lam * times_larger, 1.001 * deviation)
        self._arrive(vertex, None, largest, deviation)
        first = by_correlation(self._family.problem, FIRST_COMPONENTS)
        self._components = np.union1d(self._components, first)
        for times in _between(times_larger, 1.0)[1:-1]:
            self._walk_to(None, largest * (times / times_larger), last_pivot)

    def _arrive(self, vertex: Vertex, radius: float | None, lam: FloatArray, deviation: FloatArray) -> None:
        """Take the vertex, and the components near to their bounds there."""
        self._components = np.union1d(np.flatnonzero(deviation > NEAR * lam), vertex.active)
        self._vertex, self._lam, self._radius = vertex, lam, radius

    def _walk_to(
        self, radius: float | None, lam: FloatArray, last_pivot: int
    ) -> tuple[list[Stop], FloatArray]:
        """Follow the vertex; again with more components as long as others are violated."""
        problem, n_before = self._family.problem, self._homotopy.n_pivots
        while True:
            # 1) Follow the vertex with the near components alone.
            near = self._homotopy.components(self._components)
            vertex, stops = self._homotopy.follow(
                self._vertex,
                near,
                (self._lam, lam),
                max_pivots=last_pivot - self._homotopy.n_pivots,
                keep_all=self._keep_all and self._radius is not None,
            )
            # 2) Look at all components, in one pass, and go back if one of the others is violated.
            weights = np.concatenate([problem.coding.encode(stop.distribution) for stop in stops])
            moments = problem.features.correlate(weights).reshape(len(stops), *problem.tau.shape)
            violated = self._violated(stops, moments, lam)
            if len(violated) == 0:
                break
            self._components = np.union1d(self._components, violated)
        self._is_quiet = self._homotopy.n_pivots == n_before
        self._arrive(vertex, radius, lam, np.abs(moments[-1] - problem.tau).ravel())
        return stops, moments

    def _violated(self, stops: list[Stop], moments: FloatArray, lam: FloatArray) -> IntArray:
        """Components that the homotopy did not see and that are violated at a stop."""
        excess = np.full(lam.shape, -np.inf)
        for stop, at_stop in zip(stops, moments, strict=True):
            deviation = np.abs(at_stop - self._family.problem.tau).ravel()
            np.maximum(excess, deviation - (self._lam + stop.fraction * (lam - self._lam)), out=excess)
        excess[self._components] = 0.0
        return np.flatnonzero(excess > VIOLATION)

    def _certified(self, radius: float, stop: Stop, moments: FloatArray) -> SolvedRadius:
        problem = self._family.at(radius)
        upper = upper_bound_of_some(problem, problem.objective, stop.stage.components, stop.stage.values)
        inside = lower_bound(problem, problem.objective, stop.distribution, moments)
        return self._family.solved(radius, stop.stage, upper, inside.bound)


def _between(larger: float, smaller: float) -> FloatArray:
    """Both, and numbers between them that shrink by no more than the factor allowed between two passes."""
    n_parts = max(1, int(np.ceil((np.log(smaller) - np.log(larger)) / np.log(SHRINKAGE))))
    between = np.geomspace(larger, smaller, n_parts + 1)
    between[-1] = smaller
    return between


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
            pending.append(solve_afresh(family, radius))
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
        """Certified bounds on R* at any radii between the smallest and the largest solved one."""
        share = self._share(radius)
        upper = np.array([self._tangents(x).min() for x in share])
        if self.is_concave:
            lower = np.interp(radius, self.radii, self.lower)
        else:
            lower = self.lower[np.searchsorted(self.radii, radius, side="right") - 1]
        return np.minimum(lower, upper), upper

    def breakpoints(self) -> tuple[FloatArray, FloatArray]:
        """Radii at which the least of all tangents changes its slope, ascending, and its values there."""
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
        span = self.radii[-1] - self.radii[0]
        return self.radii[0] + share * span, np.array([self._tangents(x).min() for x in share])

    def _share(self, radius: FloatArray) -> FloatArray:
        span = self.radii[-1] - self.radii[0]
        return (radius - self.radii[0]) / span if span > 0.0 else np.zeros_like(radius)

    def _tangents(self, share: float) -> FloatArray:
        return self.at_smallest + share * (self.at_largest - self.at_smallest)
