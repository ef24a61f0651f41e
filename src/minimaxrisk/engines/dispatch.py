"""Choose an engine by name and run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from minimaxrisk._utils.interrupts import let_through
from minimaxrisk.engines.cost import interior_point_demands, is_worth_exactness, refuse_too_large
from minimaxrisk.engines.first_order import StandstillError, Steps, first_order
from minimaxrisk.engines.forecast import Forecast
from minimaxrisk.engines.instance_generation import generates_instances, instance_generation
from minimaxrisk.engines.interior_point.batch import Found, batch_size, can_share, solve_together
from minimaxrisk.engines.interior_point.engine import interior_approach, interior_point, most_pivots
from minimaxrisk.engines.moment_space import is_for_moment_space, moment_space
from minimaxrisk.engines.paper import (
    by_columns,
    by_correlation,
    by_first_order,
    constraint_and_column_generation,
    constraint_generation,
    full_lp,
)
from minimaxrisk.engines.solution import (
    FIRST_ORDER_GAP_TOL,
    EngineSettings,
    Monitor,
    Solution,
    StoppingRule,
    TimeLimit,
)
from minimaxrisk.problem.problem import Box


def solve_minimax_risk(problem: Box, settings: EngineSettings, monitor: Monitor | None = None) -> Solution:
    """Solve a problem by the engine that the settings name.

    If the engine ends before it converges, the remark of the solution says why.
    """
    solver, solution = _solver_for(problem, settings), None
    limit = TimeLimit(settings.max_seconds, monitor)
    settings = replace(settings, deadline=limit.deadline)
    if solver == "first-order":
        solution = _by_steps(problem, settings, limit)
    if solution is None:
        told = Forecast(limit, aim=settings.gap_tol, is_geometric=True)
        if solver in ("interior-point", "first-order"):
            solution = _by_interior_point(problem, settings, told)
        elif solver == "full-lp":
            solution = full_lp(problem, problem.objective, monitor=told, deadline=limit.deadline)
        elif solver == "constraint-and-column-generation":
            solution = constraint_and_column_generation(problem, settings, told)
        else:
            solution = _by_constraint_generation(problem, settings, told)
    # A linear program ends at the limit without a call of the monitor.
    solution.out_of_time |= limit.has_stopped or (limit.is_over and not solution.stopped)
    remarks = [solution.remark, _remark_on_auto(problem, settings, solution)]
    solution.remark = ". ".join(filter(None, [*remarks, _remark_on_end(settings, solution)]))
    return solution


def _by_steps(problem: Box, settings: EngineSettings, monitor: Monitor) -> Solution | None:
    """Take first-order steps; return None if nobody asked for them and they hardly advance.

    Then an exact solution is worth more time than was predicted.
    """
    is_free = settings.solver == "auto" and not interior_point_demands(problem).are_too_large
    told = Forecast(monitor, aim=settings.first_order_gap_tol, is_geometric=False)
    try:
        return first_order(problem, settings, told, gives_up=is_free)
    except StandstillError:
        return None


def _by_interior_point(problem: Box, settings: EngineSettings, monitor: Monitor) -> Solution:
    """Factorise the smallest matrices, and if rounding ends that too early, the other ones.

    If the other ones would take much longer, return what was found.
    """
    if is_for_moment_space(problem):
        found = moment_space(problem, settings, monitor)
        is_last = found.out_of_time or most_pivots(problem) == 0
        if found.converged or found.stopped or found.interrupted or is_last:
            return found
    return (instance_generation if generates_instances(problem) else interior_point)(
        problem, settings, monitor
    )


def _by_constraint_generation(problem: Box, settings: EngineSettings, monitor: Monitor) -> Solution:
    first = settings.initial_features
    with let_through():  # nothing is found yet
        if isinstance(first, str):
            start = (by_first_order if first == "first-order" else by_correlation)(problem, settings.n_max)
        else:
            start = by_columns(problem, np.asarray(first))
    return constraint_generation(
        problem,
        problem.objective,
        start,
        n_max=settings.n_max,
        epsilon=settings.epsilon,
        select=settings.select,
        max_iter=settings.max_iter,
        monitor=monitor,
        deadline=settings.deadline,
    )


def approach_minimax_risks(
    problems: Sequence[Box], settings: EngineSettings, enough: StoppingRule | None = None
) -> list[Found]:
    """For each problem, find coefficients with bounds on R* that are ``enough``; cheaper than the classifier.

    By default bounds within ``settings.gap_tol`` are enough. A limit of the settings may end the search
    earlier. Results do not depend on the other problems. Few coefficients of the interior point are exactly
    zero. It widens radii of zero a little, and the bounds are those of the wider set.
    """
    enough = enough or StoppingRule(settings.gap_tol)
    settings = replace(settings, is_gap_given=True)
    # 1) Solve problems on the same array and of the same shape side by side.
    found: list[Found | None] = [None] * len(problems)
    alike: dict[tuple[int | None, int, int], list[int]] = {}
    for i, problem in enumerate(problems):
        if can_share(problem, settings):
            key = problem.features.shared_key, problem.n_instances, problem.coding.n_blocks
            alike.setdefault(key, []).append(i)
    for places in alike.values():
        for i, of_one in zip(places, solve_together([problems[i] for i in places], enough), strict=True):
            found[i] = of_one
    # 2) Solve the others one by one, and those that got stuck.
    return [
        _solved_alone(problem, settings, enough) if of_one is None else of_one
        for problem, of_one in zip(problems, found, strict=True)
    ]


def problems_at_a_time(problem: Box, settings: EngineSettings) -> int:
    """Return how many problems like this one are best given to ``approach_minimax_risks`` together."""
    if can_share(problem, settings):
        return batch_size(problem)
    # Problems that are solved one by one may still share the pass that takes their moments.
    return problem.features.matrix.hints.labellings_per_pass


def _solved_alone(problem: Box, settings: EngineSettings, enough: StoppingRule) -> Found:
    """Find bounds that are ``enough`` by the cheapest way."""
    features = problem.features.copied()  # as they are quickest to read for this problem alone
    if features is not problem.features:
        problem = replace(problem, features=features)
    solver, found = _solver_for(problem, settings), None
    limit = TimeLimit(settings.max_seconds, enough.stops)
    if solver == "interior-point" and not is_for_moment_space(problem):
        if generates_instances(problem):
            found = instance_generation(problem, settings, limit, enough)
        else:
            found = interior_approach(problem, settings, TimeLimit(settings.max_seconds), enough=enough)
    elif solver == "first-order":
        found = first_order(problem, settings, limit, clears=False)
    if found is None:
        found = solve_minimax_risk(problem, settings, limit)
    if found.interrupted:
        raise KeyboardInterrupt
    return Found.of(found.stage, problem, found.lower)


def _solver_for(problem: Box, settings: EngineSettings) -> str:
    """Return the name of the engine.

    By default it is the interior point, unless that is too much work. If no gap was asked for either, the
    exact solution must also be worth its time.
    """
    if settings.solver == "interior-point":
        refuse_too_large(
            problem,
            "solver='interior-point'",
            "use solver='first-order' or 'auto', which certify a gap of gap_tol (by default "
            f"{FIRST_ORDER_GAP_TOL:g}), or fewer samples or features",
        )
    if settings.solver != "auto":
        return settings.solver
    if settings.is_gap_given:
        is_exact = not interior_point_demands(problem).are_too_large
    else:
        is_exact = is_worth_exactness(problem, settings.first_order_gap_tol)
    return "interior-point" if is_exact else "first-order"


def _remark_on_auto(problem: Box, settings: EngineSettings, solution: Solution) -> str:
    """Say that another solver was taken than the exact one."""
    if settings.solver != "auto" or solution.solver != "first-order":
        return ""
    return (
        f"solver='auto' took 'first-order', here to a certified gap of {solution.gap:.2g}, because the "
        f"interior point would take {interior_point_demands(problem)}; set gap_tol={settings.gap_tol:g} for "
        "an exact solution, or solver='first-order' to silence this warning"
    )


def ended_early(solution: Solution) -> bool:
    """Return whether an engine ended before it converged, although the caller did not stop it."""
    is_stopped = solution.interrupted or (solution.stopped and not solution.out_of_time)
    return not (solution.converged or is_stopped)


def _remark_on_end(settings: EngineSettings, solution: Solution) -> str:
    """Say why the engine stopped, and what brings the bounds closer together."""
    if not ended_early(solution):
        return ""
    name = "k_max" if settings.solver.startswith("constraint-") else "max_iter"
    value: float | None = settings.max_iter
    if solution.out_of_time:
        name, value = "max_seconds", settings.max_seconds
    elif value is None and solution.solver == "first-order":
        value = Steps.BUDGET
    reached = "" if value is None else f" at {name}={value:g}"
    remedy = "" if value is None else f", and a larger {name} brings them closer together"
    if solution.solver == "first-order":
        remedy += ". A larger gap_tol or radius is reached sooner"
    return f"stopped{reached} with an optimality gap of {solution.gap:.2g}; the bounds are valid{remedy}"
