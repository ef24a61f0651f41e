"""The default engine: an interior point to the neighbourhood of the optimum, then its exact vertex.

Every iterate of ``box`` certifies itself. Near the optimum it shows which constraints and
masses matter there. One linear system then gives the vertex (``vertices``), usually before the interior point
itself is accurate, and its certificate says whether it is the optimum. Where none is found, or where the
interior point gets stuck, constraint generation finishes from the same guess, so there is always an answer.

Radii of zero. A feature that does not vary within a class can have a radius of zero in its block; the
uncertainty set then has no interior. The interior point widens such constraints a little, and constraint
generation, which needs no interior, goes from the optimum of the wider set to the exact one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.interrupts import held_back, let_through
from minimaxrisk.engines.highs import PivotLimitError, SolverError
from minimaxrisk.engines.interior_point.box import BoxPoint, InteriorState, MakeSystem
from minimaxrisk.engines.interior_point.step import step
from minimaxrisk.engines.interior_point.vertices import Candidate, VertexSearch
from minimaxrisk.engines.paper import constraint_generation
from minimaxrisk.engines.solution import (
    SMALLEST_GAP,
    EngineSettings,
    Monitor,
    Solution,
    SparseCoefficients,
    StoppingRule,
    drop_small_coefficients,
    is_stuck,
)
from minimaxrisk.problem.objective import Objective
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound_of_some
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Above this gap passes over the data may be rough: their errors are small compared to all slacks. Lower
# bounds from rough passes prove nothing and are not kept.
ROUGH_GAP = 1e-3
# Below this gap the iterate may show its vertex.
VERTEX_GAP = 1e-3
# Below this gap HiGHS is asked for it with sparse rows: from a gap of 1e-4 on a collection of texts it gave
# up after 679 pivots, a third of the time of a fit.
NEAR_ENOUGH_SPARSE = 1e-5
# A vertex whose bound is this close to the lower one is optimal; the bound of a neighbour is further away.
VERTEX_ACCURACY = 1e-9
# Iterations that go on below the tolerance in search of the vertex, before HiGHS has to find it.
EXTRA_ITERATIONS = 4
# The gap at which HiGHS may stop.
FINISHED_GAP = 1e-7
# The violation of a constraint at which HiGHS may stop.
FINISHED_VIOLATION = 1e-9
# The smallest radius of a constraint while the interior point works.
WIDENED = 1e-4
# Pivots times masses that a vertex is worth where the interior solution is accurate already; with fewer than
# a hundred pivots HiGHS gets nowhere.
PIVOTS_TIMES_MASSES = 1_500_000
# Constraints handed to HiGHS: multipliers above this fraction of the largest.
NOTABLE_MULTIPLIER = 1e-5


def interior_point(
    problem: Box,
    settings: EngineSettings,
    monitor: Monitor | None = None,
    warm_start: WarmStart | None = None,
    start: InteriorState | None = None,
) -> Solution:
    """Solve to a certified gap of ``settings.gap_tol``.

    The pair returned is the best one certified, whichever way the loop ends. ``start`` is the iterate to
    begin with. A ``warm_start`` brings one from a problem with smaller radii and takes one to the next.
    """
    search = Search(problem, settings, warm_start=warm_start, start=start)
    best = search.best
    is_vertex = False
    try:
        with let_through():
            ended = search.run(monitor)
            is_vertex = search.at_vertex and not search.is_widened
            if ended in ("near", "stuck"):
                is_vertex = _finish(search, ended, monitor)
    except KeyboardInterrupt:
        best.interrupted = True
    best.settle(problem, problem.objective)
    if not is_vertex:
        drop_small_coefficients(problem, best, settings.gap_tol)
    # Without violated constraints the work is done, also where rounding leaves a larger gap.
    best.converged = best.converged or best.gap <= search.tolerance
    best.stages = [best.stage]
    return best


def interior_approach(
    problem: Box,
    settings: EngineSettings,
    monitor: Monitor | None = None,
    *,
    enough: StoppingRule | None = None,
    warm_start: WarmStart | None = None,
) -> Solution | None:
    """Return a pair whose bounds are ``enough``, or within ``settings.gap_tol``; not at a vertex.

    None where the loop gets stuck. Where constraints were widened, the bounds are those of the wider set.
    """
    enough = enough or StoppingRule(max(settings.gap_tol, SMALLEST_GAP))
    search = Search(widened(problem), settings, enough=enough, warm_start=warm_start)
    try:
        with let_through():
            if search.run(monitor) == "stuck":
                return None
    except KeyboardInterrupt:
        search.best.interrupted = True
    return search.best


def widened(problem: Box) -> Box:
    """Return the problem with radii of which none is so small that the set has no interior."""
    if problem.smallest_radius >= THIN_RADIUS:
        return problem
    return problem.with_radii(np.maximum(problem.lam, WIDENED))


class Search:
    """The loop: iterate, certify, look for the vertex, report.

    ``best`` holds what is proven for the problem itself. Of a wider set upper bounds hold for the problem
    too, and lower ones do not: they are in ``lower`` alone, as are those from rough passes. With ``enough``
    the loop ends when the bounds are, and looks for no vertex.
    """

    def __init__(
        self,
        problem: Box,
        settings: EngineSettings,
        *,
        objective: Objective | None = None,
        make_system: MakeSystem | None = None,
        enough: StoppingRule | None = None,
        warm_start: WarmStart | None = None,
        start: InteriorState | None = None,
    ) -> None:
        self.problem, self.settings, self.warm_start, self.enough = problem, settings, warm_start, enough
        self.tolerance = max(settings.gap_tol, SMALLEST_GAP)
        self.objective = problem.objective if objective is None else objective
        self.best = Solution.without_features(problem, self.objective)
        self.best.solver = "interior-point"
        self.lower = self.best.lower
        self.iterated = widened(problem)
        self.is_widened = self.iterated is not problem
        self._make_system = make_system
        self._upper_is_of_vertex = True  # of no features
        self._extra = 0  # iterations within the tolerance
        self._begin(start if warm_start is None else warm_start.start_for(self.iterated.lam))

    def _begin(self, start: InteriorState | None, *, is_exact: bool = False) -> None:
        """Take a new iterate; one that gets stuck after a warm beginning is followed by another one."""
        self.point = BoxPoint(self.iterated, start, make_system=self._make_system, is_exact=is_exact)
        self.vertices, self._is_warm = VertexSearch(self.point), start is not None
        self._gaps: list[float] = []

    @property
    def gap(self) -> float:
        return self.best.upper - self.lower

    @property
    def is_near(self) -> bool:
        """Whether the tolerance is met, so that at most the vertex is missing."""
        return self.point.constraints.is_exact and self.gap <= self.tolerance

    @property
    def is_enough(self) -> bool:
        return self.enough is not None and bool(self.enough(self.lower, self.best.upper))

    @property
    def at_vertex(self) -> bool:
        """Whether the coefficients are those of a vertex, and optimal."""
        return self._upper_is_of_vertex and self.gap <= VERTEX_ACCURACY

    @property
    def has_vertex(self) -> bool:
        """Whether the coefficients are those of a vertex as good as one of HiGHS would be.

        Where masses are not unique those of the vertex may leave the set, and iterates prove the lower bound.
        """
        return self._upper_is_of_vertex and self.gap <= FINISHED_GAP

    def run(self, monitor: Monitor | None) -> str:
        """Iterate until "done", "near" (accurate, but not at a vertex), "stuck" or "stopped"."""
        best = self.best
        while True:
            # 1) Choose the working set, by exact passes from a certain gap on.
            if self.gap <= max(ROUGH_GAP, self.tolerance) or self.is_enough:
                self._make_exact()
            n_added, n_removed = self.point.choose_working_sets()
            # 2) Certify the iterate and look for the vertex next to it.
            bound = self._certify()
            if self.warm_start is not None:
                self.warm_start.offer(self.point, self.gap)
            way, n_pivots = "", 0
            if self.enough is None and self.gap <= VERTEX_GAP:
                candidates = self.vertices.candidates(self.gap, is_near=self.is_near)
                way, n_pivots = self.certify_first(candidates)
            self._gaps.append(self.gap)
            # 3) Report. The iterates never leave the uncertainty set, so no constraint is violated.
            best.report(
                monitor,
                bound,
                n_features=len(self.point.only),
                n_added=n_added,
                n_removed=n_removed,
                vertex=way,
                n_pivots=n_pivots,
            )
            # 4) Stop.
            is_near = self.is_near
            is_finished = is_near and self.at_vertex
            if (is_finished and not self.is_widened) or (self.is_enough and self.point.constraints.is_exact):
                return "done"
            if best.stopped or len(best.history) == self.settings.max_iter:
                return "stopped"
            self._extra += is_near and self.gap <= VERTEX_GAP
            if is_finished or (is_near and self._is_late()):
                return "near"
            # 5) Take a step.
            stuck = is_stuck(self._gaps)
            if not stuck:
                step(self.point)
            if stuck or self.point.failed[0]:
                if is_near or not self._is_warm:
                    return "near" if is_near else "stuck"
                self._begin(None)

    def _make_exact(self) -> None:
        """Go on with exact positions, from a new iterate if rough passes let this one leave the set."""
        if not self.point.constraints.is_exact and not self.point.make_exact()[0]:
            self.lower = self.best.lower
            self._begin(None, is_exact=True)

    def _certify(self) -> float:
        """Offer the iterate's own pair; returns the bound of its coefficients."""
        bound, stage = self.point.upper_bound()
        self._offer_stage(stage, bound, is_vertex=False)
        w = self.point.distribution()
        value = self.objective.value(w)
        # Near the optimum rounding can move an iterate out of the set; then it claims more than is possible.
        if value <= self.best.upper + VERTEX_ACCURACY:
            self._offer_distribution(w, value, is_proven=self.point.constraints.is_exact)
        return bound

    def _offer_stage(self, stage: SparseCoefficients, upper: float, *, is_vertex: bool) -> None:
        # A vertex is better than an iterate with the same bound.
        if upper < self.best.upper or (is_vertex and upper == self.best.upper):
            self._upper_is_of_vertex = is_vertex
            self.best.offer_stage(stage, upper)

    def _offer_distribution(self, distribution: FloatArray, lower: float, *, is_proven: bool = True) -> None:
        if lower >= self.lower:
            self.lower = lower
            if is_proven and not self.is_widened:
                self.best.offer_distribution(distribution, lower)

    def certify_first(self, candidates: Iterable[tuple[str, Candidate]]) -> tuple[str, int]:
        """Take the first candidate that proves to be the optimum; returns how it was found, and pivots."""
        n_pivots = 0
        for way, vertex in candidates:
            stage = vertex.stage
            upper = upper_bound_of_some(self.iterated, self.objective, stage.components, stage.values)
            n_pivots += vertex.n_pivots
            if upper <= self.best.upper:
                self._offer_stage(stage, upper, is_vertex=True)
                # Only now is a pass over the features worth its time.
                inside = lower_bound(self.iterated, self.objective, vertex.distribution)
                self._offer_distribution(inside.distribution, inside.bound)
            if self.at_vertex:
                return way, n_pivots
        return "", n_pivots

    def _is_late(self) -> bool:
        """Whether iterations within the tolerance take too long.

        With sparse rows HiGHS finds a vertex in the time of two iterations; on large problems nothing does.
        """
        is_hard = self.problem.features.is_sparse or most_pivots(self.problem) == 0
        return is_hard or self._extra > EXTRA_ITERATIONS


@held_back()
def _finish(search: Search, ended: str, monitor: Monitor | None) -> bool:
    """Let HiGHS find the vertex next to the iterate; where that was stuck, go on to convergence.

    Returns whether the coefficients are now those of a vertex.
    """
    problem, settings, best = search.problem, search.settings, search.best
    n_iterations, gap_tol = len(best.history), settings.gap_tol
    # 1) Where the iterate is accurate, a vertex is welcome but not necessary. HiGHS finds it in few pivots
    # with sparse rows in 4 of 6 cases, and with known masses in 34 of 34.
    is_accurate = ended == "near" and not search.is_widened
    is_easy = most_pivots(problem) > 0 and (problem.features.is_sparse or problem.marginal.is_known)
    largest = NEAR_ENOUGH_SPARSE if problem.features.is_sparse else VERTEX_GAP
    if is_accurate:
        if search.gap > largest:
            return False
        # The face may have been tried when the coefficients were less accurate.
        way, n_pivots = search.certify_first(search.vertices.pushed())
        if search.at_vertex:
            n_features = len(search.point.only)
            best.report(monitor, best.upper, n_features=n_features, vertex=way, n_pivots=n_pivots)
        if search.has_vertex or not is_easy:
            return search.has_vertex
    # 2) HiGHS. The coefficients begin anew: a vertex is better than a point inside a face, if it is as good.
    finished = Solution.trivial(problem, search.objective)
    finished.history, finished.started = best.history, best.started
    finished.offer_distribution(best.distribution, best.lower)
    guess = search.point.face()
    try:
        constraint_generation(
            problem,
            search.objective,
            np.union1d(guess.components, _notable_components(search.point)),
            n_max=settings.n_max,
            epsilon=FINISHED_VIOLATION,
            gap_tol=gap_tol if gap_tol > VERTEX_GAP else min(gap_tol, FINISHED_GAP),
            max_iter=None if settings.max_iter is None else settings.max_iter - n_iterations - 1,
            deadline=settings.deadline,
            monitor=monitor,
            best=finished,
            guess=guess,
            max_pivots=most_pivots(problem) if is_accurate else None,
        )
    except PivotLimitError as error:
        # No vertex then, and the history says so.
        n_features = len(search.point.only)
        best.report(
            monitor, best.upper, n_features=n_features, vertex="HiGHS gave up", n_pivots=error.n_pivots
        )
        finished.stopped = best.stopped
    except SolverError as error:
        best.remark = f"the work of the interior point could not be finished: {error}"
    # 3) Keep what is better, and say what happened.
    best.interrupted, best.stopped = finished.interrupted, finished.stopped
    best.out_of_time, best.converged = finished.out_of_time, finished.converged
    best.offer_distribution(finished.distribution, finished.lower)
    if ended == "stuck":
        best.solver = "constraint-generation"
        best.remark = best.remark or (
            f"the interior point got stuck after {n_iterations} iterations; constraint generation went on "
            "from there"
        )
    if finished.upper > max(best.upper, best.lower + gap_tol):
        return False
    best.stage, best.upper = finished.stage, finished.upper
    return True


def most_pivots(problem: Box) -> int:
    """Return how many pivots a vertex is worth; none where they would be too few to get there."""
    n_pivots = PIVOTS_TIMES_MASSES // problem.centre.size
    return n_pivots if n_pivots >= 100 else 0


def _notable_components(point: BoxPoint) -> IntArray:
    """Return components that may matter at the optimum."""
    largest = point.sides.max(axis=0)
    return point.only.components[largest > NOTABLE_MULTIPLIER * largest.max(initial=0.0)]


# The gap of the iterate that a warm start keeps: this fraction of what the growth of the radii adds to it,
# but no less than that. From 0.03 to 0.3 the iterations of a path differ by 5% (GLIOMA and TOX_171).
SHARE, SMALLEST_SNAPSHOT_GAP = 0.1, 1e-5
# How much the growth may add: about where the usual beginning takes as many iterations (20 radii from 0.08 to
# 8 on GLIOMA, MLL and TOX_171), since the iterate is then nearer to the boundary than it should be.
LARGEST_ADDED = 0.1


class WarmStart:
    """Hands an iterate from one problem to the next, whose radii are larger.

    The iterate to hand on is one whose own gap is a small part of what the growth of the radii adds to it
    (``InteriorState``). A later one gains nothing, and is too near to the boundary to go on from.
    """

    def __init__(self) -> None:
        # How much larger the radii of the problem after the next one are, as a fraction of its own.
        self.growth = 0.0
        self._held: tuple[InteriorState, FloatArray] | None = None
        self._lam: FloatArray | None = None  # of the current problem, until an iterate of it is held

    def start_for(self, lam: FloatArray) -> InteriorState | None:
        """Where to begin with these radii; None if nothing is held, or one of them is smaller than before."""
        self._lam = lam
        if self._held is None or (lam < self._held[1]).any():
            return None
        return self._held[0]

    def offer(self, point: BoxPoint, gap: float) -> None:
        """Keep the first iterate that is near enough, unless the next radii are too far away."""
        if self._lam is None:
            return
        added = self.growth * point.penalty
        if gap <= max(SHARE * added, SMALLEST_SNAPSHOT_GAP):
            self._held = (point.snapshot(), self._lam) if added <= LARGEST_ADDED else None
            self._lam = None
