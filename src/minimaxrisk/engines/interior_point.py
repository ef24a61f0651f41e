"""The default engine: an interior point to the neighbourhood of the optimum, then its exact vertex.

The iterates of ``predictor_corrector`` certify themselves. Near the optimum they show which constraints
and masses matter there; one linear system then gives the vertex, usually before the interior point
itself is accurate, and its certificate says whether it is the optimum. Where the optimum is degenerate,
HiGHS finishes from that guess in a few pivots: constraint generation, started next to its end. The same
finishes the work where the interior point gets stuck, so that the answer is never left to luck.
"""

from __future__ import annotations

import time

import numpy as np

from minimaxrisk.arrays import IntArray
from minimaxrisk.certificate import lower_bound, upper_bound
from minimaxrisk.engines.constraint_generation import constraint_generation
from minimaxrisk.engines.face import Face, vertex_of
from minimaxrisk.engines.factors import FactorisationError
from minimaxrisk.engines.highs import SolverError
from minimaxrisk.engines.moment_constraints import MomentConstraintsInMemory
from minimaxrisk.engines.predictor_corrector import InteriorPoint
from minimaxrisk.engines.solution import IterationRecord, Monitor, Solution, Stage
from minimaxrisk.objective import BayesError
from minimaxrisk.problem import Problem

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
# The gap at which HiGHS may stop.
FINISHED_GAP = 1e-7
# Constraints handed to HiGHS: multipliers above this fraction of the largest, or this near to the bound.
NOTABLE_MULTIPLIER = 1e-5
NEAR_BOUND = 0.98


def interior_point(
    problem: Problem,
    *,
    gap_tol: float,
    epsilon: float,
    n_max: int,
    max_iter: int | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Solve to a certified gap of ``gap_tol``; ``epsilon`` and ``n_max`` are for constraint generation.

    The pair returned is the best one certified, whichever way the loop ends.
    """
    search = _Search(problem, gap_tol)
    best = search.best
    try:
        ended = search.run(max_iter, monitor)
        if ended in ("near", "stuck"):
            _finish(search, ended, epsilon, n_max, max_iter, monitor)
    except KeyboardInterrupt:
        best.interrupted = True
    best.settle(problem, BayesError())
    if not search.at_vertex:
        _drop_small_coefficients(problem, best, gap_tol)
    used = np.flatnonzero(best.mu)
    best.stages = [Stage(used, best.mu.ravel()[used])]
    return best


class _Search:
    """The loop: iterate, certify, look for the vertex, report."""

    def __init__(self, problem: Problem, gap_tol: float) -> None:
        self.problem, self.gap_tol = problem, gap_tol
        self.objective = BayesError()
        self.started = time.perf_counter()
        self.best = Solution.trivial(problem, self.objective)
        self.best.solver = "interior-point"
        self.point = InteriorPoint(problem, MomentConstraintsInMemory(problem))
        self.at_vertex = False
        self._seen: Face | None = None
        self._tried: Face | None = None
        self._gaps: list[float] = []
        self._rescues = 0
        self._extra = 0

    def run(self, max_iter: int | None, monitor: Monitor | None) -> str:
        """Iterate until "done", "near" (accurate, but not at a vertex), "stuck" or "stopped"."""
        best, point = self.best, self.point
        while True:
            came, went = point.choose_working_set()
            bound = self._certify()
            self._look_for_vertex()
            gap = best.upper - best.lower
            self._gaps.append(gap)
            best.history.append(self._record(bound, came, went))
            best.stopped = monitor is not None and monitor(best.history[-1].copy())
            best.converged = gap <= self.gap_tol
            if self.at_vertex and best.converged:
                return "done"
            if best.stopped or len(best.history) == max_iter:
                return "stopped"
            if best.converged:
                self._extra += 1
            stuck = self._is_stuck()
            if self._extra > EXTRA_ITERATIONS or (best.converged and stuck):
                return "near"
            if stuck and not self._rescue():
                return "stuck"
            try:
                with np.errstate(all="ignore"):
                    point.step(centre=stuck)
            except (FactorisationError, FloatingPointError):
                if best.converged:
                    return "near"
                if not self._rescue():
                    return "stuck"

    def _certify(self) -> float:
        """Offer the iterate's own pair; returns the bound of its coefficients."""
        bound, stage = self.point.upper_bound()
        self.best.offer_stage(stage, bound, self.problem)
        w = self.point.system.distribution()
        self.best.offer_distribution(w, self.objective.value(w))
        return bound

    def _look_for_vertex(self) -> None:
        best = self.best
        if best.upper - best.lower > VERTEX_GAP:
            return
        face = self.point.face()
        seen, self._seen = face.is_same_as(self._seen), face
        if face.is_same_as(self._tried) or not (seen or face.is_square):
            return
        self._tried = face
        vertex = vertex_of(self.problem, self.point.working, face)
        if vertex is None:
            return
        stage, distribution = vertex
        mu = stage.expand(*self.problem.tau.shape)
        upper = upper_bound(self.problem, self.objective, mu)
        if not upper <= best.upper:
            return
        # Only now is a pass over the features worth its while.
        inside = lower_bound(self.problem, self.objective, distribution)
        best.offer_distribution(inside.distribution, inside.bound)
        if upper - best.lower <= VERTEX_ACCURACY:
            best.offer_mu(mu, upper)
            self.at_vertex = True

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


def _finish(
    search: _Search,
    ended: str,
    epsilon: float,
    n_max: int,
    max_iter: int | None,
    monitor: Monitor | None,
) -> None:
    """Let HiGHS find the vertex next to the iterate; where that was stuck, go on to convergence."""
    best, face = search.best, search.point.face()
    interior = best.mu, best.upper
    best.upper = np.inf  # any vertex is better than a point inside a face, if it is as good
    left = None if max_iter is None else max(0, max_iter - len(best.history) - 1)
    try:
        constraint_generation(
            search.problem,
            search.objective,
            np.union1d(face.components, _notable(search.point)),
            n_max=n_max,
            epsilon=epsilon,
            max_iter=left,
            monitor=monitor,
            best=best,
            guess=face,
            gap_tol=min(search.gap_tol, FINISHED_GAP),
        )
    except SolverError:
        if ended == "stuck":
            raise
    finally:
        search.at_vertex = best.upper <= interior[1] + search.gap_tol
        if not search.at_vertex:
            best.mu, best.upper = interior
    if ended == "stuck":
        best.solver = "constraint-generation"
        best.remark = (
            f"the interior point got stuck after {len(search.best.history)} iterations, and constraint "
            "generation finished its work"
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
