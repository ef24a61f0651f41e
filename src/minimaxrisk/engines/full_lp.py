"""MRC-LP of the paper: the whole linear program at once, as the reference the faster engines must meet."""

from __future__ import annotations

import time
from contextlib import closing

import numpy as np

from minimaxrisk.certificate import lower_bound, upper_bound
from minimaxrisk.engines.master import Master, feasibility_tolerance
from minimaxrisk.engines.solution import IterationRecord, Monitor, Solution
from minimaxrisk.objective import Objective
from minimaxrisk.problem import Problem


def full_lp(problem: Problem, objective: Objective, *, monitor: Monitor | None = None) -> Solution:
    """Solve with all m components of Phi, as exactly as HiGHS can."""
    started = time.perf_counter()
    best = Solution.trivial(problem, objective)
    everything = np.arange(problem.n_components)
    tolerance = feasibility_tolerance(0.0)
    with closing(Master(problem, objective, tolerance=tolerance, presolve=True)) as master:
        try:
            master.add(everything)
            found = master.solve()
        except KeyboardInterrupt:
            best.interrupted = True
            return best
    mu = found.stage.expand(*problem.tau.shape)
    moments = problem.moments_of(found.distribution)
    current = upper_bound(problem, objective, mu)
    point = lower_bound(problem, objective, found.distribution, moments)
    best.offer_mu(mu, current)
    best.offer_distribution(point.distribution, point.bound)
    best.stages.append(found.stage)
    record = IterationRecord(
        iteration=1,
        lower=best.lower,
        upper=best.upper,
        worst_case_error=current,
        n_features=problem.n_components,
        n_added=problem.n_components,
        n_removed=0,
        max_violation=max(0.0, float((np.abs(moments - problem.tau) - problem.lam).max())),
        seconds=time.perf_counter() - started,
    )
    best.history.append(record)
    best.converged = True
    if monitor is not None:
        best.stopped = monitor(record.copy())
    return best
