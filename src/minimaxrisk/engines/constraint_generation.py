"""MRC-CG, Algorithm 1 of the paper: solve with few features, add those that the solution violates.

Why it ends: the bound R^k never rises, and components are dropped only after it fell strictly. While it
stands still the set only grows, and once it has fallen no earlier set can come back, so no set of
components is ever solved twice.
"""

from __future__ import annotations

import time

import numpy as np

from minimaxrisk.arrays import FloatArray, IntArray
from minimaxrisk.certificate import lower_bound, upper_bound
from minimaxrisk.engines.master import Master, MasterSolution, feasibility_tolerance
from minimaxrisk.engines.solution import IterationRecord, Monitor, Solution
from minimaxrisk.objective import Objective
from minimaxrisk.problem import Problem

# A fall of R^k by less than this may be rounding, and must not count as progress.
STRICT_DECREASE = 1e-10
# A constraint is over-satisfied (the paper's v_i < 0) when it has at least this much room.
ROOM = 1e-9


def constraint_generation(
    problem: Problem,
    objective: Objective,
    start: IntArray,
    *,
    n_max: int,
    epsilon: float,
    max_iter: int | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Solve to violations of at most ``epsilon``, or until ``max_iter`` rounds of SELECT (k_max).

    ``start`` holds the components of Phi of the first program, at most ``n_max`` enter per round. The
    pair returned is the best one certified, whichever way the loop ends.
    """
    started = time.perf_counter()
    best = Solution.trivial(problem, objective)
    tolerance = feasibility_tolerance(epsilon)
    incoming, outgoing = np.unique(start), np.empty(0, dtype=np.intp)
    previous = np.inf
    with Master(problem, objective, tolerance=tolerance) as master:
        try:
            for iteration in range(1, 2 + max_iter) if max_iter is not None else _count_up():
                # 1) Update the set of components and solve, hot from the last basis.
                master.drop(outgoing)
                master.add(incoming)
                found = master.solve()
                n_added, n_removed = len(incoming), len(outgoing)
                # 2) Price all components with one product, and certify the pair.
                moments = problem.moments_of(found.distribution)
                violation = (np.abs(moments - problem.tau) - problem.lam).ravel()
                current = _certify(problem, objective, found, moments, best)
                # 3) SELECT.
                incoming = _most_violated(violation, master.components, n_max, epsilon)
                fell = current < previous - STRICT_DECREASE
                outgoing = _over_satisfied(violation, master.components, found) if fell else outgoing[:0]
                previous = min(previous, current)
                best.converged = len(incoming) == 0
                # 4) Report.
                record = IterationRecord(
                    iteration=iteration,
                    lower=best.lower,
                    upper=best.upper,
                    worst_case_error=current,
                    n_features=len(master.components),
                    n_added=n_added,
                    n_removed=n_removed,
                    max_violation=max(0.0, float(violation.max())),
                    seconds=time.perf_counter() - started,
                )
                best.history.append(record)
                if monitor is not None and monitor(record):
                    best.stopped = True
                if best.converged or best.stopped:
                    break
        except KeyboardInterrupt:
            best.interrupted = True
    return best


def _count_up() -> range:
    """1, 2, 3, ... for as long as anyone could wait."""
    return range(1, 1 << 62)


def _certify(
    problem: Problem,
    objective: Objective,
    found: MasterSolution,
    moments: FloatArray,
    best: Solution,
) -> float:
    """Bounds of the new pair; the better of old and new is kept. Returns R^k."""
    mu = found.stage.expand(*problem.tau.shape)
    current = upper_bound(problem, objective, mu)
    best.offer_mu(mu, current)
    point = lower_bound(problem, objective, found.distribution, moments)
    best.offer_distribution(point.distribution, point.bound)
    best.stages.append(found.stage)
    return current


def _most_violated(
    violation: FloatArray, present: IntArray, n_max: int, epsilon: float
) -> IntArray:
    """The (at most) ``n_max`` components outside the program with the largest violations above epsilon."""
    outside = violation.copy()
    outside[present] = -np.inf
    candidates = np.flatnonzero(outside > epsilon)
    if len(candidates) > n_max:
        largest = np.argpartition(-outside[candidates], n_max - 1)[:n_max]
        candidates = np.sort(candidates[largest])
    return candidates


def _over_satisfied(violation: FloatArray, present: IntArray, found: MasterSolution) -> IntArray:
    """Positions of components whose constraint has room and whose multiplier is zero."""
    return np.flatnonzero(found.is_basic & (violation[present] < -ROOM))
