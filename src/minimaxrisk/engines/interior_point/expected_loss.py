"""The largest expected loss of a fixed rule: by the interior point, and for few masses HiGHS for the vertex.

    max sum_yi loss_yi w_yi   s.t.  w >= 0,  sum w = 1,  |(C w) Psi - tau| <= lambda

With phi the multiplier of the mass, and s the scores of the coefficients mu, ``z = phi - loss - s`` are the
multipliers of ``w >= 0``, and ``max(loss + s) - tau'mu + lambda'|mu|`` bounds the maximum for every mu.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from minimaxrisk.engines.highs import SolverError
from minimaxrisk.engines.interior_point.box import BoxPoint
from minimaxrisk.engines.interior_point.engine import notable_components
from minimaxrisk.engines.interior_point.step import step
from minimaxrisk.engines.interior_point.systems import ExpectedLossSystem
from minimaxrisk.engines.paper import WarmStart, constraint_generation
from minimaxrisk.engines.solution import Solution, drop_small_coefficients, is_stuck
from minimaxrisk.problem.objective import ExpectedLoss
from minimaxrisk.problem.problem import Box
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# The gap at which HiGHS goes on, from the constraints and masses that matter then. Measured on Arcene: 373 ms
# from a gap of 1e-2, 354 from 1e-4, 237 from 1e-6, and 1771 by constraint generation from the rule's columns.
NEAR = 1e-6
MOST_ITERATIONS = 60
# Columns that HiGHS takes in a round, and violations that it leaves. Where the interior point has been, few
# are left. Without it they must be far less than a radius: the proof is a distribution of the set, and one
# that is outside must move by as much of a radius as it is outside.
N_MAX, EPSILON, EPSILON_ALONE = 100, 1e-4, 1e-9
# Masses up to which the vertex is worth its time. Beyond, the interior point's own pair is the certificate.
# It goes on to a smaller gap, if it can, and then small coefficients are cleared as long as the gap is at
# most NEAR. That leaves as many as the vertex has: 449 and 447 on Lung_1543, 199 and 199 on Arcene.
MOST_MASSES_OF_VERTEX, INTERIOR_GAP = 500, 1e-8
# For more instances the factors of the one-hot coding, n x n for each class, would be too large.
MOST_INSTANCES_ONE_HOT = 1000


def largest_loss(problem: Box, objective: ExpectedLoss) -> Solution | None:
    """The optimum; None where the interior point does not get near it.

    Beyond ``MOST_MASSES_OF_VERTEX`` a pair with a gap of at most ``NEAR``. An interrupt of the interior point
    is raised, and one of HiGHS noted in the solution: part of a proof is none.
    """
    is_large = problem.coding.n_blocks > 1 and problem.n_instances > MOST_INSTANCES_ONE_HOT
    if problem.marginal.is_known or is_large or problem.smallest_radius < THIN_RADIUS:
        return None
    best = Solution.trivial(problem, objective)
    point = BoxPoint(
        problem,
        is_exact=True,
        make_system=lambda start: ExpectedLossSystem(objective.loss, problem.coding, start),
    )
    has_vertex = problem.centre.size <= MOST_MASSES_OF_VERTEX
    if not _approach(point, objective, best, NEAR if has_vertex else INTERIOR_GAP):
        return None
    if not has_vertex:
        best.settle(problem, objective)
        drop_small_coefficients(problem, best, NEAR, objective)
        best.converged = best.gap <= NEAR
        return best if best.converged else None
    guess = replace(point.face(), n_masses_known=1)
    # The coefficients begin anew: a vertex is better than a point inside a face, if it is as good.
    finished = Solution.trivial(problem, objective)
    finished.offer_distribution(best.distribution, best.lower)
    try:
        return constraint_generation(
            problem,
            objective,
            np.union1d(guess.components, notable_components(point)),
            n_max=N_MAX,
            epsilon=EPSILON,
            warm_start=WarmStart(finished, guess),
        )
    except SolverError:
        return None


def _approach(point: BoxPoint, objective: ExpectedLoss, best: Solution, gap: float) -> bool:
    """Iterate to a gap, or as near as the numbers allow; False where that is not below ``NEAR``."""
    gaps: list[float] = []
    while True:
        # 1) Choose the working set and certify the iterate.
        point.choose_working_sets()
        upper, stage = point.upper_bound()
        best.offer_stage(stage, upper)
        w = point.distribution()
        best.offer_distribution(w, objective.value(w))
        gaps.append(best.gap)
        # 2) Stop where the gap is small, or no longer shrinks.
        if gaps[-1] <= gap:
            return True
        if is_stuck(gaps) or len(gaps) == MOST_ITERATIONS:
            return gaps[-1] <= NEAR
        # 3) Take a Newton step.
        step(point)
        if point.failed[0]:
            return gaps[-1] <= NEAR
