"""The exact optimum next to an iterate of the space of moments, by HiGHS.

Without the masses p of the rule the linear program has the coefficients and nu alone, and a constraint for
every instance and set of labels: ``sum_(y in C) (psi_i'mu_y - nu) <= 1``. At the optimum no more of them are
active than there are coefficients. The iterate shows which; HiGHS solves the program that has those alone,
all instances are priced with what it found, and constraints that it violates come in until there are none. So
the iterate may be one of a few instances only.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.linear_programs.constraint_and_column_generation import SetMaster
from minimaxrisk.engines.moment_space.point import MomentPoint
from minimaxrisk.engines.solution import Solution
from minimaxrisk.problem.problem import Box, lower_bound
from minimaxrisk.problem.rule import best_sets, instance_thresholds

# Sets that an iterate makes nearly active: their slack, and the smallest multiplier of their instances as a
# fraction of the typical one.
NEARLY_ACTIVE, NOTABLE = 0.05, 1e-3
# Sets that may come at a time, the violation that brings one, and how often.
MOST_NEW, VIOLATION, MOST_ROUNDS = 400, 1e-10, 100
TOLERANCE = 1e-9


def active_sets(point: MomentPoint, n_components: int) -> tuple[IntArray, BoolArray]:
    """Instances of the iterate and sets of labels whose constraints are nearly active (K x sets)."""
    scores, (_, r) = point.mu @ point.Z.T, point.masses
    order = np.argsort(-scores, axis=0, kind="stable")
    sums = np.cumsum(np.take_along_axis(scores, order, axis=0) - point.nu, axis=0)
    typical = np.median(np.sort(r)[-n_components:])
    last, instances = np.nonzero((sums > 1.0 - NEARLY_ACTIVE) & (r > NOTABLE * typical))
    is_in = np.zeros((len(scores), len(instances)), dtype=np.bool_)
    np.put_along_axis(is_in, order[:, instances], np.arange(len(scores))[:, None] <= last, axis=0)
    return instances, is_in


def solve_from_sets(
    problem: Box,
    best: Solution,
    instances: IntArray,
    is_in: BoolArray,
    *,
    enough: float,
    most_pivots: int,
    deadline: float,
) -> int:
    """Improve the pair, from these sets on, until its gap is ``enough``; returns the pivots that it took.

    Raises ``SolverError`` where HiGHS does not get there.
    """
    n_pivots, objective = 0, problem.objective
    master = SetMaster(problem, tolerance=TOLERANCE, deadline=deadline)
    try:
        master.limit_pivots(most_pivots)
        master.add(np.arange(problem.n_components))
        master.add_sets(instances, _shares(is_in))
        for _ in range(MOST_ROUNDS):
            found = master.solve()
            n_pivots += found.n_pivots
            stage = found.stage
            penalty, scores = problem.penalty_and_scores(stage.components, stage.values)
            best.offer_stage(stage, penalty + objective.conjugate(scores))
            inside = lower_bound(problem, objective, found.distribution)
            best.offer_distribution(inside.distribution, inside.bound)
            excess = instance_thresholds(scores) - found.nu
            violated = np.flatnonzero(excess > VIOLATION)
            if best.gap <= enough or len(violated) == 0:
                break
            chosen = violated[np.argsort(-excess[violated], kind="stable")[:MOST_NEW]]
            master.add_sets(chosen, _shares(best_sets(scores[:, chosen])[1]))
    finally:
        master.close()
    return n_pivots


def _shares(is_in: BoolArray) -> FloatArray:
    shares: FloatArray = is_in / is_in.sum(axis=0)
    return shares
