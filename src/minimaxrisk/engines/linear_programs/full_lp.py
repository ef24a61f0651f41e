"""MRC-LP of the paper: the whole linear program at once, as the reference the faster engines must meet."""

from __future__ import annotations

import numpy as np

from minimaxrisk.engines.linear_programs.constraint_generation import constraint_generation
from minimaxrisk.engines.solution import Monitor, Solution
from minimaxrisk.problem.objective import Objective
from minimaxrisk.problem.problem import Problem


def full_lp(problem: Problem, objective: Objective, *, monitor: Monitor | None = None) -> Solution:
    """Constraint generation that starts with all m components of Phi: its first program is its last."""
    everything = np.arange(problem.n_components)
    solution = constraint_generation(
        problem,
        objective,
        everything,
        n_max=problem.n_components,
        epsilon=0.0,
        presolve=True,
        monitor=monitor,
    )
    solution.solver = "full-lp"
    return solution
