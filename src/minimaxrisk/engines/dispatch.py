"""Choose an engine by name and run it."""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.instance_generation.choice import pays
from minimaxrisk.engines.instance_generation.engine import (
    generated_approach,
    generated_bound,
    instance_generation,
)
from minimaxrisk.engines.interior_point.engine import (
    interior_approach,
    interior_bound,
    interior_point,
)
from minimaxrisk.engines.linear_programs import starts
from minimaxrisk.engines.linear_programs.constraint_generation import constraint_generation
from minimaxrisk.engines.linear_programs.full_lp import full_lp
from minimaxrisk.engines.settings import EngineSettings
from minimaxrisk.engines.solution import Monitor, Solution
from minimaxrisk.problem.objective import SmoothableObjective
from minimaxrisk.problem.problem import Problem


def solve_minimax_risk(
    problem: Problem, settings: EngineSettings, monitor: Monitor | None = None
) -> Solution:
    """The minimax risk classifier of a problem, by the engine that the settings name."""
    if settings.solver in ("auto", "interior-point"):
        engine = instance_generation if pays(problem) else interior_point
        return engine(problem, settings, monitor)
    return solve_by_simplex(problem, problem.objective, settings, monitor)


def bound_minimax_risk(problem: Problem, settings: EngineSettings, monitor: Monitor) -> float:
    """A certified upper bound on R*, as close as the monitor waits for; cheaper than the classifier."""
    if settings.solver in ("auto", "interior-point"):
        engine = generated_bound if pays(problem) else interior_bound
        return engine(problem, settings, monitor)
    solution = solve_minimax_risk(problem, settings, monitor)
    if solution.interrupted:
        raise KeyboardInterrupt
    return solution.upper


def approach_minimax_risk(problem: Problem, settings: EngineSettings) -> FloatArray:
    """Coefficients whose bound is within ``settings.gap_tol`` of R*, or better where that is not dearer.

    Those of the interior point are at no vertex, and few of them are exactly zero.
    """
    if settings.solver in ("auto", "interior-point"):
        engine = generated_approach if pays(problem) else interior_approach
        near = engine(problem, settings)
        if near is not None:
            if near.interrupted:
                raise KeyboardInterrupt
            return near.mu
    solution = solve_minimax_risk(problem, settings)
    if solution.interrupted:
        raise KeyboardInterrupt
    return solution.mu


def solve_by_simplex(
    problem: Problem,
    objective: SmoothableObjective,
    settings: EngineSettings,
    monitor: Monitor | None = None,
) -> Solution:
    """Any objective that HiGHS knows, with all components at once (``"full-lp"``) or generated."""
    if settings.solver == "full-lp":
        return full_lp(problem, objective, monitor=monitor)
    return constraint_generation(
        problem,
        objective,
        _first_components(problem, objective, settings),
        n_max=settings.n_max,
        epsilon=settings.epsilon,
        max_iter=settings.max_iter,
        monitor=monitor,
    )


def _first_components(problem: Problem, objective: SmoothableObjective, settings: EngineSettings) -> IntArray:
    if isinstance(settings.initial_features, str):
        by_name = {"correlation": starts.by_correlation, "first-order": starts.by_first_order}
        return by_name[settings.initial_features](problem, objective, settings.n_max)
    return starts.by_columns(problem, np.asarray(settings.initial_features))
