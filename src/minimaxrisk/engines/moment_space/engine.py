"""An interior point for many instances and several classes: one matrix, as large as the number of moments.

For the one-hot coding with a free marginal the classifier solves

    min  lambda'(mu+ + mu-) - tau'(mu+ - mu-) + nu
    u_iy = p_iy - psi_i'(mu+_y - mu-_y) + nu >= 0     multipliers w_iy, the worst-case distribution
    v_i  = 1 - sum_y p_iy >= 0                        multipliers r_i, the largest mass of an instance
    p, mu+, mu- >= 0                                  multipliers b, a+, a-

with ``sum w = 1``, ``w + b = r`` and ``a = lambda -+ (tau - sum_i w_i psi_i)``. ``point`` iterates on all of
these by the step of all interior points, with the Newton matrix of ``matrix``. ``vertex`` finds the exact
optimum once the iterate is near: with tiny radii a distribution that misses the moments by rounding proves
little, and that of a vertex misses none. Where instances are very many, the iterates are those of a few of
them: ``vertex`` prices all.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, IntArray
from minimaxrisk._utils.interrupts import let_through
from minimaxrisk.engines.cost import MOST_ENTRIES, MOST_MASSES, moments_are_cheaper, moments_find_room
from minimaxrisk.engines.interior_point.step import step
from minimaxrisk.engines.linear_programs.highs import PivotLimitError, SolverError, TimeLimitError
from minimaxrisk.engines.moment_space.point import MomentPoint
from minimaxrisk.engines.moment_space.vertex import active_sets, solve_from_sets
from minimaxrisk.engines.solution import (
    EngineSettings,
    IterationRecord,
    Monitor,
    Solution,
    SparseCoefficients,
    drop_small_coefficients,
    is_stuck,
)
from minimaxrisk.engines.subprogram import ClassMeans, Subprogram
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound

# Instances in all and per moment from which on a few are enough for the iterates; how many these are, and at
# least.
FEWEST_INSTANCES, MANY_PER_MOMENT, FEW_PER_MOMENT, FEWEST_OF_FEW = 2000, 30, 10, 250
# The gap at which nothing is left to gain, and where the matrix is large; steps without max_iter, and those
# in which what is left halves, or the gap where it is small enough already.
FINISHED, FINISHED_LARGE, MOST_STEPS, PATIENCE, PATIENCE_WHERE_NEAR = 1e-11, 1e-8, 200, 10, 3
# Steps times masses, and the fewest steps: 1000 classes and 2000 instances end after 45 steps of two seconds,
# and say so.
MOST_MASSES_MOVED, FEWEST_STEPS = 90_000_000, 40
# The gap at which HiGHS looks for the vertex of few moments, sooner than the iterates get there; that of more
# it looks for only where rounding ends the iterates before they are near enough.
VERTEX_GAP, NEAR_ENOUGH, FEW_MOMENTS, LARGE_MOMENTS, MOST_PIVOTS = 1e-4, 2e-7, 300, 2000, 20_000
# The gap above which no vertex is looked for, and the loss at which small coefficients go.
COARSE_GAP, NEGLIGIBLE, NEGLIGIBLE_LARGE = 2e-2, 1e-9, 1e-7


def is_for_moment_space(problem: Box) -> bool:
    """Whether the matrices of moments are the smallest ones of a problem, and find room."""
    if problem.coding.n_blocks == 1 or problem.marginal.is_known or problem.features.is_sparse:
        return False
    sizes = *problem.features.shape, problem.coding.n_blocks
    if _has_many_instances(problem):
        return problem.centre.size <= MOST_MASSES
    return moments_find_room(*sizes) and moments_are_cheaper(*sizes)


def _has_many_instances(problem: Box) -> bool:
    """Whether a few instances are enough for the iterates."""
    m = problem.n_components
    return m <= FEW_MOMENTS and problem.n_instances >= max(FEWEST_INSTANCES, MANY_PER_MOMENT * m)


def moment_space(problem: Box, settings: EngineSettings, monitor: Monitor | None = None) -> Solution:
    """Solve as far as rounding allows; the best certified pair, whichever way the loop ends."""
    best = Solution.trivial(problem, problem.objective)
    best.solver = "interior-point"
    try:
        with let_through():
            is_over = _has_many_instances(problem) and _solve_from_few(problem, settings, best, monitor)
            if not is_over and problem.features.shape[0] * problem.features.shape[1] <= MOST_ENTRIES:
                _solve_from_all(problem, settings, best, monitor)
    except KeyboardInterrupt:
        best.interrupted = True
    best.settle(problem, problem.objective)
    best.converged = best.gap <= settings.gap_tol
    is_large = problem.n_components > LARGE_MOMENTS
    room = best.gap + (NEGLIGIBLE_LARGE if is_large else NEGLIGIBLE)
    drop_small_coefficients(problem, best, min(room, settings.gap_tol) if best.converged else room)
    best.stages = [best.stage]
    return best


def _solve_from_few(problem: Box, settings: EngineSettings, best: Solution, monitor: Monitor | None) -> bool:
    """Iterate on a few instances, and find the vertex of all from there; whether that was enough."""
    n, m = problem.n_instances, problem.n_components
    n_few = max(FEW_PER_MOMENT * m, FEWEST_OF_FEW)
    # At random, not every tenth or so: instances are ordered by their values, which may have periods.
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:n_few])
    few = Subprogram(problem, ClassMeans.of(problem), chosen)
    own = Solution.trivial(few.problem, problem.objective)

    def tell(record: IterationRecord) -> bool:
        # The lower bound holds for all instances, the upper one does not.
        best.lower = max(best.lower, record["lower"])
        best.report(
            monitor,
            best.upper,
            n_features=m,
            n_added=record["n_added"],
            max_violation=record["max_violation"],
        )
        return best.stopped

    # While the iterates are those of a few, their bound is reported without its distribution.
    best_of_all = best.distribution, best.lower
    point = MomentPoint(few.problem)
    _iterate(few.problem, settings, own, tell, point, finished=VERTEX_GAP)
    best.distribution, best.lower = best_of_all
    best.offer_distribution(few.on_all_instances(own.distribution), own.lower)
    best.offer_stage(own.stage, upper_bound(problem, problem.objective, own.mu))
    if best.stopped or best.gap <= settings.gap_tol:
        return True
    instances, is_in = active_sets(point, m)
    n_means = len(few.means.prior)
    is_instance = instances >= n_means
    sets = chosen[instances[is_instance] - n_means], is_in[:, is_instance]
    _find_vertex(problem, settings, best, monitor, sets)
    return best.stopped or best.out_of_time or best.gap <= settings.gap_tol


def _solve_from_all(problem: Box, settings: EngineSettings, best: Solution, monitor: Monitor | None) -> None:
    """Iterate on all instances, and find the vertex where the iterates do not get there."""
    m = problem.n_components
    finished = FINISHED if m <= LARGE_MOMENTS else FINISHED_LARGE
    if settings.gap_tol > VERTEX_GAP:
        finished = settings.gap_tol
    elif m <= FEW_MOMENTS:
        finished = VERTEX_GAP
    point = MomentPoint(problem)
    _iterate(problem, settings, best, monitor, point, finished=finished)
    is_over = best.stopped or len(best.history) == settings.max_iter
    if is_over or not FINISHED < best.gap <= COARSE_GAP:
        return
    if m <= FEW_MOMENTS or (m <= LARGE_MOMENTS and best.gap > max(NEAR_ENOUGH, finished)):
        _find_vertex(problem, settings, best, monitor, active_sets(point, m))
    if finished == VERTEX_GAP and best.gap > settings.gap_tol and not (best.stopped or best.out_of_time):
        _iterate(problem, settings, best, monitor, point, finished=FINISHED)


def _iterate(
    problem: Box,
    settings: EngineSettings,
    best: Solution,
    monitor: Monitor | None,
    point: MomentPoint,
    *,
    finished: float,
) -> None:
    """Move the point until the gap is ``finished``, the monitor stops it, or rounding does."""
    left: list[float] = []
    gaps: list[float] = []
    Z, m = point.Z, problem.n_components
    n_steps = settings.max_iter
    if n_steps is None:
        n_steps = int(np.clip(MOST_MASSES_MOVED // problem.centre.size, FEWEST_STEPS, MOST_STEPS))
    for _ in range(len(best.history), n_steps):
        # 1) Certify both sides.
        mu = point.mu
        bound = upper_bound(problem, problem.objective, mu, mu @ Z.T)
        best.offer_stage(SparseCoefficients.of(mu), bound)
        mass, _ = point.masses
        mass = mass / mass.sum()
        moments = mass @ Z
        inside = lower_bound(problem, problem.objective, mass, moments)
        best.offer_distribution(inside.distribution, inside.bound)
        violation = max(0.0, float((np.abs(moments - problem.tau) - problem.lam).max()))
        # 2) Report.
        best.report(monitor, bound, n_features=m, n_added=0 if best.history else m, max_violation=violation)
        # 3) Step, unless nothing is left to gain. On the way in products may grow while what is not feasible
        # shrinks, and the other way round.
        left.append(point.complementarity * (violation + FINISHED) * best.gap)
        gaps.append(best.gap)
        stands_still = best.gap <= settings.gap_tol and is_stuck(gaps, PATIENCE_WHERE_NEAR)
        if best.stopped or best.gap <= finished or stands_still or is_stuck(left, PATIENCE):
            return
        step(point)
        if point.failed[0]:
            return


def _find_vertex(
    problem: Box,
    settings: EngineSettings,
    best: Solution,
    monitor: Monitor | None,
    sets: tuple[IntArray, BoolArray],
) -> None:
    """Let HiGHS improve the pair from these sets of labels on, and report how that went."""
    way, n_pivots = "HiGHS", 0
    try:
        n_pivots = solve_from_sets(
            problem, best, *sets, enough=FINISHED, most_pivots=MOST_PIVOTS, deadline=settings.deadline
        )
    except PivotLimitError as error:
        way, n_pivots = "HiGHS gave up", error.n_pivots
    except TimeLimitError:
        way, best.out_of_time = "HiGHS ran out of time", True
    except SolverError:
        way = "HiGHS failed"
    best.report(monitor, best.upper, n_features=problem.n_components, vertex=way, n_pivots=n_pivots)
