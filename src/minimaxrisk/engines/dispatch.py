"""Choose an engine by name and run it."""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.first_order.engine import first_order, first_order_approach
from minimaxrisk.engines.instance_generation.choice import pays
from minimaxrisk.engines.instance_generation.engine import (
    generated_approach,
    generated_bound,
    instance_generation,
)
from minimaxrisk.engines.interior_point.demands import interior_point_demands, refuse_too_large
from minimaxrisk.engines.interior_point.engine import (
    interior_approach,
    interior_bound,
    interior_point,
)
from minimaxrisk.engines.linear_programs import starts
from minimaxrisk.engines.linear_programs.constraint_generation import constraint_generation
from minimaxrisk.engines.linear_programs.full_lp import full_lp
from minimaxrisk.engines.settings import FIRST_ORDER_GAP_TOL, EngineSettings
from minimaxrisk.engines.solution import Monitor, Solution
from minimaxrisk.problem.objective import SmoothableObjective
from minimaxrisk.problem.problem import Problem


def solve_minimax_risk(
    problem: Problem, settings: EngineSettings, monitor: Monitor | None = None
) -> Solution:
    """The minimax risk classifier of a problem, by the engine that the settings name."""
    solver = _solver_for(problem, settings)
    if solver == "interior-point":
        engine = instance_generation if pays(problem) else interior_point
        return engine(problem, settings, monitor)
    if solver == "first-order":
        solution = first_order(problem, settings, monitor)
        solution.remark = _remark_on_first_order(problem, settings, solution)
        return solution
    return solve_by_simplex(problem, problem.objective, settings, monitor)


def bound_minimax_risk(problem: Problem, settings: EngineSettings, monitor: Monitor) -> float:
    """A certified upper bound on R*, as close as the monitor waits for; cheaper than the classifier."""
    solver = _solver_for(problem, settings)
    if solver == "interior-point":
        engine = generated_bound if pays(problem) else interior_bound
        return engine(problem, settings, monitor)
    if solver == "first-order":
        solution = first_order_approach(problem, settings, monitor)
    else:
        solution = solve_minimax_risk(problem, settings, monitor)
    if solution.interrupted:
        raise KeyboardInterrupt
    return solution.upper


def approach_minimax_risk(problem: Problem, settings: EngineSettings) -> FloatArray:
    """Coefficients whose bound is within ``settings.gap_tol`` of R*, or better where that is not dearer.

    Those of the interior point are at no vertex, and few of them are exactly zero.
    """
    solver = _solver_for(problem, settings)
    if solver == "interior-point":
        engine = generated_approach if pays(problem) else interior_approach
        near = engine(problem, settings)
        if near is not None:
            if near.interrupted:
                raise KeyboardInterrupt
            return near.mu
    if solver == "first-order":
        solution = first_order_approach(problem, settings)
    else:
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


def _solver_for(problem: Problem, settings: EngineSettings) -> str:
    """The engine's name; the interior point where that is not too much for it, unless another is named."""
    if settings.solver == "auto":
        return "first-order" if interior_point_demands(problem).are_too_large else "interior-point"
    if settings.solver == "interior-point":
        refuse_too_large(
            problem,
            "solver='interior-point'",
            "use solver='first-order' or 'auto', which certify a gap of gap_tol (by default "
            f"{FIRST_ORDER_GAP_TOL:g}), or fewer samples or features",
        )
    return settings.solver


def _remark_on_first_order(problem: Problem, settings: EngineSettings, solution: Solution) -> str:
    """What the caller should know: that another solver was taken, that the tolerance was not reached."""
    demands, remarks = interior_point_demands(problem), []
    gap = f"{solution.upper - solution.lower:.2g}"
    if settings.solver == "auto":
        remarks.append(
            f"solver='auto' took 'first-order', here to a certified gap of {gap}, because the interior point "
            f"would take {demands}; naming the solver says that this is known"
        )
    if not (solution.converged or solution.stopped or solution.interrupted):
        exact = "" if demands.are_too_large else f", and solver='interior-point' is exact and takes {demands}"
        remarks.append(
            f"the first-order solver stopped after {solution.history[-1]['iteration']} iterations with an "
            f"optimality gap of {gap}, larger than gap_tol={settings.first_order_gap_tol:g}. The bounds are "
            f"valid; a larger gap_tol or radius is reached sooner, a larger max_iter brings them closer "
            f"together{exact}"
        )
    return ". ".join(remarks)


def _first_components(problem: Problem, objective: SmoothableObjective, settings: EngineSettings) -> IntArray:
    if isinstance(settings.initial_features, str):
        by_name = {"correlation": starts.by_correlation, "first-order": starts.by_first_order}
        return by_name[settings.initial_features](problem, objective, settings.n_max)
    return starts.by_columns(problem, np.asarray(settings.initial_features))
