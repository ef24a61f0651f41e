"""An interior point for many instances and several classes: one matrix, as large as the number of moments.

For the one-hot coding with a free marginal the classifier solves

    min  lambda'(mu+ + mu-) - tau'(mu+ - mu-) + nu
    u_iy = p_iy - psi_i'(mu+_y - mu-_y) + nu >= 0     multipliers w_iy, the worst-case distribution
    v_i  = 1 - sum_y p_iy >= 0                        multipliers r_i, the largest mass of an instance
    p, mu+, mu- >= 0                                  multipliers b, a+, a-

with ``sum w = 1``, ``w + b = r`` and ``a = lambda -+ (tau - sum_i w_i psi_i)``. ``point`` iterates on all of
these, ``newton`` solves for a step, and ``vertex`` finds the exact optimum once the iterate is near: with
tiny radii a distribution that misses the moments by rounding proves little, and that of a vertex misses none.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk.engines.linear_programs.highs import PivotLimitError, SolverError
from minimaxrisk.engines.moment_space.point import Point
from minimaxrisk.engines.moment_space.vertex import VertexProgram
from minimaxrisk.engines.solution import (
    EngineSettings,
    Monitor,
    Solution,
    Stage,
    drop_small_coefficients,
    is_stuck,
)
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound

# Where forming and factorising the matrix is quick, and the numbers per instance and class find room.
MOST_MOMENTS, MOST_ENTRIES, MOST_MASSES = 1500, 1 << 24, 1 << 21
# The gap at which nothing is left to gain, and where the matrix is large; steps without max_iter, and those in
# which what is left halves.
FINISHED, FINISHED_LARGE, MOST_STEPS, PATIENCE = 1e-11, 1e-8, 200, 10
# The gap at which HiGHS looks for the vertex of few moments, sooner than the iterates get there; that of more
# it looks for only where rounding ends the iterates at a larger gap than that of large matrices.
VERTEX_GAP, FEW_MOMENTS, LARGE_MOMENTS, MOST_PIVOTS = 1e-4, 300, 2000, 5000
# The gap above which half the digits are enough for the matrix, and the loss at which small coefficients go.
COARSE_GAP, NEGLIGIBLE, NEGLIGIBLE_LARGE = 2e-2, 1e-9, 1e-7


def is_for_moment_space(problem: Box) -> bool:
    """Whether the matrix of moments is small, for a problem with many instances."""
    n, d = problem.features.shape
    return (
        problem.coding.name == "one-hot"
        and not problem.marginal.is_known
        and problem.n_components <= MOST_MOMENTS
        and n * d <= MOST_ENTRIES
        and n * problem.coding.n_blocks <= MOST_MASSES
    )


def moment_space(problem: Box, settings: EngineSettings, monitor: Monitor | None = None) -> Solution:
    """Solve as far as rounding allows; the best certified pair, whichever way the loop ends."""
    best = Solution.trivial(problem, problem.objective)
    best.solver = "interior-point"
    try:
        _iterate(problem, settings, best, monitor)
    except KeyboardInterrupt:
        best.interrupted = True
    best.settle(problem, problem.objective)
    best.converged = best.gap <= settings.gap_tol
    is_large = problem.n_components > LARGE_MOMENTS
    drop_small_coefficients(problem, best, max(best.gap, NEGLIGIBLE_LARGE if is_large else NEGLIGIBLE))
    best.stages = [best.stage]
    return best


def _iterate(problem: Box, settings: EngineSettings, best: Solution, monitor: Monitor | None) -> None:
    point, left, m = Point.first(problem), [], problem.n_components
    Z = point.columns.Z
    n_steps = MOST_STEPS if settings.max_iter is None else settings.max_iter
    finished = FINISHED if m <= LARGE_MOMENTS else FINISHED_LARGE
    finished = settings.gap_tol if settings.gap_tol > VERTEX_GAP else min(finished, settings.gap_tol)
    gap = best.gap
    for step in range(n_steps):
        # 1) Certify both sides.
        mu = point.mu
        bound = upper_bound(problem, problem.objective, mu, mu @ Z.T)
        best.offer_stage(Stage.of(mu), bound)
        mass = point.w / point.w.sum()
        moments = mass @ Z
        inside = lower_bound(problem, problem.objective, mass, moments)
        best.offer_distribution(inside.distribution, inside.bound)
        violation = max(0.0, float((np.abs(moments - problem.tau) - problem.lam).max()))
        # On the way in products may grow while what is not feasible shrinks, and the other way round.
        left.append(point.complementarity * (violation + FINISHED) * best.gap)
        # 2) Step, unless the end is near enough.
        is_finished = best.gap <= finished
        is_near = best.gap <= VERTEX_GAP and m <= FEW_MOMENTS
        stands_still = best.gap <= settings.gap_tol and best.gap > 0.5 * gap
        gap = best.gap
        ends = is_finished or is_near or stands_still or is_stuck(left, PATIENCE)
        ends = ends or not point.advance(is_coarse=gap > COARSE_GAP)
        # 3) Look for the vertex, and report.
        way, n_pivots = "", 0
        if ends and not is_finished and (m <= FEW_MOMENTS or FINISHED_LARGE < gap) and m <= LARGE_MOMENTS:
            way, n_pivots = _look_for_vertex(problem, point, best)
        best.report(
            monitor,
            bound,
            n_features=m,
            n_added=0 if step else m,
            max_violation=violation,
            vertex=way,
            n_pivots=n_pivots,
        )
        if best.stopped or ends:
            return


def _look_for_vertex(problem, point, best):
    program = VertexProgram(problem, point, np.inf)
    try:
        return "HiGHS", program.solve(best, FINISHED, MOST_PIVOTS)
    except PivotLimitError as error:
        return "HiGHS gave up", error.n_pivots
    except SolverError:
        return "HiGHS failed", 0
    finally:
        program.close()
