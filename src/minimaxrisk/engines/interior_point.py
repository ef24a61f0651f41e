"""The default engine: an interior point to the neighbourhood of the optimum, then its exact vertex.

The iterates of ``predictor_corrector`` certify themselves. Near the optimum they show which constraints
and masses matter there; one linear system then gives the vertex, usually before the interior point
itself is accurate, and its certificate says whether it is the optimum. Where the optimum is degenerate,
HiGHS finishes from that guess in a few pivots: constraint generation, started next to its end. The same
finishes the work where the interior point gets stuck, so that the answer is never left to luck.

Equations. A feature that does not vary within a class can have a radius of zero in its block; the
uncertainty set then has no interior. The interior point widens such constraints a little, and
constraint generation, which needs no interior, goes from the optimum of the wider set to the exact one.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from minimaxrisk.arrays import FloatArray, IntArray
from minimaxrisk.certificate import lower_bound, upper_bound
from minimaxrisk.engines.constraint_generation import Handover, constraint_generation
from minimaxrisk.engines.face import Face, vertex_of
from minimaxrisk.engines.factors import FactorisationError
from minimaxrisk.engines.highs import SolverError
from minimaxrisk.engines.moment_constraints import MomentConstraintsInMemory
from minimaxrisk.engines.predictor_corrector import InteriorPoint
from minimaxrisk.engines.settings import EngineSettings
from minimaxrisk.engines.solution import IterationRecord, Monitor, Solution, Stage
from minimaxrisk.objective import BayesError
from minimaxrisk.problem import Problem
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# A smaller tolerance would ask for more than rounding allows.
SMALLEST_GAP = 1e-10
# Below this gap the iterate may know its vertex.
VERTEX_GAP = 1e-3
# A vertex whose own bounds are this close is optimal; more than rounding would be a neighbour of it.
VERTEX_ACCURACY = 1e-9
# Iterations that go on below the tolerance in search of the vertex, before HiGHS has to find it.
EXTRA_ITERATIONS = 4
# Without the gap being halved in this many iterations the method is stuck.
PATIENCE = 8
# Times that a stuck iteration is helped by a working set of twice the size.
RESCUES = 2
# The gap, or violation of a constraint, at which HiGHS may stop.
FINISHED_GAP, FINISHED_VIOLATION = 1e-7, 1e-9
# The radius that constraints have at least while the interior point works.
WIDENED = 1e-4
# Pivots that a vertex is worth, where the interior solution is accurate already. Usually it takes none or a
# few hundred.
MOST_PIVOTS = 5000
# Constraints handed to HiGHS: multipliers above this fraction of the largest, or this near to the bound.
NOTABLE_MULTIPLIER = 1e-5
NEAR_BOUND = 0.98


def interior_point(problem: Problem, settings: EngineSettings, monitor: Monitor | None = None) -> Solution:
    """Solve to a certified gap of ``settings.gap_tol``.

    The pair returned is the best one certified, whichever way the loop ends.
    """
    search = _Search(problem, settings)
    best = search.best
    try:
        ended = search.run(monitor)
        if ended in ("near", "stuck"):
            _finish(search, ended, monitor)
    except KeyboardInterrupt:
        best.interrupted = True
    best.settle(problem, search.objective)
    if not search.at_vertex:
        _drop_small_coefficients(problem, best, settings.gap_tol)
    used = np.flatnonzero(best.mu)
    best.stages = [Stage(used, best.mu.ravel()[used])]
    return best


class _Search:
    """The loop: iterate, certify, look for the vertex, report.

    ``best`` holds what is proven for the problem itself. Bounds of a widened problem are kept apart: its
    upper ones hold for the problem too, its lower ones do not.
    """

    def __init__(self, problem: Problem, settings: EngineSettings) -> None:
        self.problem, self.settings = problem, settings
        self.objective = BayesError()
        self.started = time.perf_counter()
        self.best = Solution.trivial(problem, self.objective)
        self.best.solver = "interior-point"
        self.is_widened = bool((problem.lam < THIN_RADIUS).any())
        self.iterated = replace(problem, lam=np.maximum(problem.lam, WIDENED)) if self.is_widened else problem
        self.point = InteriorPoint(self.iterated, MomentConstraintsInMemory(self.iterated))
        self.upper, self.lower = self.best.upper, 0.0
        self.at_vertex = False
        self._seen: Face | None = None
        self._tried: Face | None = None
        self._gaps: list[float] = []
        self._rescues = 0
        self._extra = 0

    def run(self, monitor: Monitor | None) -> str:
        """Iterate until "done", "near" (accurate, but not at a vertex of it), "stuck" or "stopped"."""
        best, point = self.best, self.point
        while True:
            came, went = point.choose_working_set()
            bound = self._certify()
            self._look_for_vertex()
            self._gaps.append(self.upper - self.lower)
            best.history.append(self._record(bound, came, went))
            best.stopped = monitor is not None and monitor(best.history[-1].copy())
            is_near = self._gaps[-1] <= max(self.settings.gap_tol, SMALLEST_GAP)
            best.converged = is_near and not self.is_widened
            if is_near and self.at_vertex:
                return "near" if self.is_widened else "done"
            if best.stopped or len(best.history) == self.settings.max_iter:
                return "stopped"
            self._extra += is_near
            stuck = self._is_stuck()
            if is_near and (stuck or self._extra > EXTRA_ITERATIONS):
                return "near"
            if stuck and not self._rescue():
                return "stuck"
            try:
                with np.errstate(all="ignore"):
                    point.step(centre=stuck)
            except (FactorisationError, FloatingPointError):
                if is_near:
                    return "near"
                if not self._rescue():
                    return "stuck"

    def _certify(self) -> float:
        """Offer the iterate's own pair; returns the bound of its coefficients."""
        bound, stage = self.point.upper_bound()
        w = self.point.system.distribution()
        self._offer(stage, bound, w, self.objective.value(w))
        return bound

    def _offer(self, stage: Stage, upper: float, distribution: FloatArray, lower: float) -> None:
        if upper <= self.upper:
            self.upper = upper
            self.best.offer_mu(stage.expand(*self.problem.tau.shape), upper)
        if lower >= self.lower:
            self.lower = lower
            if not self.is_widened:
                self.best.offer_distribution(distribution, lower)

    def _look_for_vertex(self) -> None:
        if self.upper - self.lower > VERTEX_GAP:
            return
        face = self.point.face()
        seen, self._seen = face.is_same_as(self._seen), face
        # Not worth its time while the guess still changes and cannot be right.
        if face.is_same_as(self._tried) or not (seen or face.is_square):
            return
        self._tried = face
        vertex = vertex_of(self.iterated, self.point.working, face)
        if vertex is None:
            return
        stage, distribution = vertex
        upper = upper_bound(self.iterated, self.objective, stage.expand(*self.problem.tau.shape))
        if not upper <= self.upper:
            return
        # Only now is a pass over the features worth its while.
        inside = lower_bound(self.iterated, self.objective, distribution)
        self.at_vertex = upper - max(self.lower, inside.bound) <= VERTEX_ACCURACY
        if self.at_vertex:
            self._offer(stage, upper, inside.distribution, inside.bound)

    def _is_stuck(self) -> bool:
        return len(self._gaps) > PATIENCE and self._gaps[-1] > 0.5 * self._gaps[-1 - PATIENCE]

    def _rescue(self) -> bool:
        """A larger working set, and time to show its effect; False when there was help enough."""
        self._rescues += 1
        self._gaps.clear()
        self.point.n_nearest *= 2
        return self._rescues <= RESCUES

    def _record(self, bound: float, n_added: int, n_removed: int) -> IterationRecord:
        return IterationRecord(
            iteration=len(self.best.history) + 1,
            lower=self.best.lower,
            upper=self.best.upper,
            worst_case_error=bound,
            n_features=len(self.point.working),
            n_added=n_added,
            n_removed=n_removed,
            max_violation=0.0,  # the iterates never leave the uncertainty set
            seconds=time.perf_counter() - self.started,
        )


def _finish(search: _Search, ended: str, monitor: Monitor | None) -> None:
    """Let HiGHS find the vertex next to the iterate; where that was stuck, go on to convergence."""
    settings, best = search.settings, search.best
    interior, n_iterations, n_left = (best.mu, best.upper), len(best.history), None
    if settings.max_iter is not None:
        n_left = max(0, settings.max_iter - n_iterations - 1)
    guess, is_accurate = search.point.face(), ended == "near" and not search.is_widened
    best.upper = np.inf  # a vertex is better than a point inside a face, if it is as good
    try:
        constraint_generation(
            search.problem,
            search.objective,
            np.union1d(guess.components, _notable(search.point)),
            n_max=settings.n_max,
            epsilon=FINISHED_VIOLATION,
            gap_tol=min(settings.gap_tol, FINISHED_GAP),
            max_iter=n_left,
            monitor=monitor,
            handover=Handover(best, guess, MOST_PIVOTS if is_accurate else None),
        )
    except SolverError:
        if not is_accurate:
            raise
    finally:
        search.at_vertex = best.upper <= interior[1] + settings.gap_tol
        if not search.at_vertex:
            best.mu, best.upper = interior
    if ended == "stuck":
        best.solver = "constraint-generation"
        best.remark = (
            f"the interior point got stuck after {n_iterations} iterations; constraint generation went on "
            "from there"
        )


def _notable(point: InteriorPoint) -> IntArray:
    largest = point.multipliers.max(axis=0)
    notable = largest > NOTABLE_MULTIPLIER * largest.max(initial=0.0)
    return point.working.components[notable | (np.abs(point.working.position) > NEAR_BOUND)]


def _drop_small_coefficients(problem: Problem, best: Solution, gap_tol: float) -> None:
    """An interior solution has no zeros: clear what the certificate does not miss by ``gap_tol``."""
    size = np.abs(best.mu)
    for fraction in 10.0 ** np.arange(-1.0, -9.0, -1.0):
        sparse = np.where(size > fraction * size.max(), best.mu, 0.0)
        upper = upper_bound(problem, BayesError(), sparse)
        if upper <= best.upper + gap_tol:
            best.mu, best.upper = sparse, upper
            return
