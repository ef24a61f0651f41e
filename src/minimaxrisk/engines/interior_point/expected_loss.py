"""The largest expected loss of a fixed rule, by the interior point.

    max sum_yi loss_yi w_yi   s.t.  w >= 0,  sum w = 1,  |(C w) Psi - tau| <= lambda

With phi the multiplier of the mass, and s the scores of the coefficients mu, ``z = phi - loss - s`` are the
multipliers of ``w >= 0``, and ``max(loss + s) - tau'mu + lambda'|mu|`` bounds the maximum for every mu.
"""

from __future__ import annotations

from minimaxrisk.engines.interior_point.engine import Search
from minimaxrisk.engines.interior_point.systems import ExpectedLossSystem
from minimaxrisk.engines.solution import EngineSettings, Solution, StoppingRule, drop_small_coefficients
from minimaxrisk.problem.objective import ExpectedLoss
from minimaxrisk.problem.problem import Box
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# The gap at which the iterations end, and up to which small coefficients are cleared. That leaves about as
# many as the vertex has: 449 and 447 on Lung_1543, 199 and 199 on Arcene.
GAP = 1e-8
# The gap that a proof may have where rounding ends the iterations sooner.
LARGEST_GAP = 1e-6
# For more instances the factors of the one-hot coding, n x n for each class, would be too large.
MOST_INSTANCES_ONE_HOT = 1000


def largest_loss(problem: Box, objective: ExpectedLoss) -> Solution | None:
    """The optimum to a gap of 1e-8, or where numbers do not allow it 1e-6; None where they do not that.

    An interrupt is raised: part of a proof is none.
    """
    is_large = problem.coding.n_blocks > 1 and problem.n_instances > MOST_INSTANCES_ONE_HOT
    if problem.marginal.is_known or is_large or problem.smallest_radius < THIN_RADIUS:
        return None
    search = Search(
        problem,
        EngineSettings("interior-point", gap_tol=GAP),
        objective=objective,
        make_system=lambda start: ExpectedLossSystem(objective.loss, problem.coding, start),
        enough=StoppingRule(GAP),
    )
    search.run(None)
    best = search.best
    best.settle(problem, objective)
    drop_small_coefficients(problem, best, GAP, objective)
    best.converged = best.gap <= LARGEST_GAP
    return best if best.converged else None
