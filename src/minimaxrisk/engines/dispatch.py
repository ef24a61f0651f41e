"""Choose an engine by name and run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.interrupts import let_through
from minimaxrisk.engines.coarse_start import is_worth_a_coarse_start
from minimaxrisk.engines.cost import interior_point_demands, is_worth_exactness, refuse_too_large
from minimaxrisk.engines.first_order import first_order, first_order_approach
from minimaxrisk.engines.forecast import Forecast
from minimaxrisk.engines.instance_generation import has_many_instances, instance_generation
from minimaxrisk.engines.interior_point.batch import Found, batch_size, can_share, solve_together
from minimaxrisk.engines.interior_point.engine import interior_approach, interior_point, most_pivots
from minimaxrisk.engines.linear_programs.constraint_and_column_generation import (
    constraint_and_column_generation,
)
from minimaxrisk.engines.linear_programs.constraint_generation import constraint_generation, full_lp
from minimaxrisk.engines.linear_programs.starts import by_columns, by_correlation, by_first_order
from minimaxrisk.engines.moment_space.engine import is_for_moment_space, moment_space
from minimaxrisk.engines.solution import (
    FIRST_ORDER_GAP_TOL,
    Bounds,
    EngineSettings,
    Monitor,
    Solution,
    StoppingRule,
    TimeLimit,
)
from minimaxrisk.problem.problem import Box


def solve_minimax_risk(problem: Box, settings: EngineSettings, monitor: Monitor | None = None) -> Solution:
    """The minimax risk classifier of a problem, by the engine that the settings name.

    Where the engine ended before it converged, the solution's remark says why.
    """
    solver = _solver_for(problem, settings)
    if monitor is not None:
        is_first_order = solver == "first-order"
        aim = settings.first_order_gap_tol if is_first_order else settings.gap_tol
        monitor = Forecast(monitor, aim=aim, is_geometric=not is_first_order)
    limit = TimeLimit(settings.max_seconds, monitor)
    settings = replace(settings, deadline=limit.deadline)
    if solver == "interior-point":
        solution = _by_interior_point(problem, settings, limit)
    elif solver == "first-order":
        solution = first_order(problem, settings, limit)
    elif solver == "constraint-and-column-generation":
        solution = constraint_and_column_generation(problem, settings, limit)
    else:
        solution = _by_linear_programs(problem, settings, limit)
    # A linear program ends at the limit without a call of the monitor.
    solution.out_of_time |= limit.has_stopped or (limit.is_over and not solution.stopped)
    remarks = [solution.remark, _remark_on_auto(problem, settings, solution)]
    remarks += [_remark_on_first_order(problem, settings, solution) or remark_on_end(settings, solution)]
    solution.remark = ". ".join(remark for remark in remarks if remark)
    return solution


def _by_interior_point(problem: Box, settings: EngineSettings, limit: TimeLimit) -> Solution:
    """By the matrices that are smallest, and where rounding ends that too soon by the others.

    Not where those would take much longer; then the pair at hand is what there is.
    """
    if is_for_moment_space(problem):
        found = moment_space(problem, settings, limit)
        is_last = found.out_of_time or most_pivots(problem) == 0
        if found.converged or found.stopped or found.interrupted or is_last:
            return found
    is_generated = has_many_instances(problem) or is_worth_a_coarse_start(problem)
    return (instance_generation if is_generated else interior_point)(problem, settings, limit)


def _by_linear_programs(problem: Box, settings: EngineSettings, limit: TimeLimit) -> Solution:
    """With all components at once (``"full-lp"``) or generated."""
    if settings.solver == "full-lp":
        return full_lp(problem, problem.objective, monitor=limit, deadline=limit.deadline)
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
        monitor=limit,
        deadline=limit.deadline,
    )


def remark_on_end(settings: EngineSettings, solution: Solution) -> str:
    """Why the engine stopped, with the gap that it leaves; empty if it converged or the caller stopped it."""
    if solution.converged or solution.interrupted or (solution.stopped and not solution.out_of_time):
        return ""
    name = "k_max" if settings.solver.startswith("constraint-") else "max_iter"
    name = "max_seconds" if solution.out_of_time else name
    value = settings.max_seconds if solution.out_of_time else settings.max_iter
    reached = "" if value is None else f" at {name}={value:g}"
    remedy = "" if value is None else f", and a larger {name} brings them closer together"
    return f"stopped{reached} with an optimality gap of {solution.gap:.2g}; the bounds are valid{remedy}"


def bound_minimax_risks(
    problems: Sequence[Box], settings: EngineSettings, enough: StoppingRule
) -> list[Bounds]:
    """For each problem bounds on R* that are ``enough``; cheaper than the classifier.

    Or as near as the settings let the solver come. Bounds do not depend on the other problems. Radii of zero
    are widened a little by the interior point, and the bounds are those of the wider set.
    """
    return [found.bounds for found in _approached(problems, settings, enough)]


def approach_minimax_risks(problems: Sequence[Box], settings: EngineSettings) -> list[FloatArray]:
    """For each problem coefficients whose bound is within ``settings.gap_tol`` of R*, or nearer.

    They do not depend on the other problems. Few of those of the interior point are exactly zero.
    """
    found = _approached(problems, settings, StoppingRule(settings.gap_tol))
    return [one.stage.expand(*problem.shape) for one, problem in zip(found, problems, strict=True)]


def _approached(problems: Sequence[Box], settings: EngineSettings, enough: StoppingRule) -> list[Found]:
    settings = replace(settings, is_gap_given=True)
    return [
        _solved_alone(_with_own_values(problem), settings, enough) if found is None else found
        for problem, found in zip(problems, _together(problems, settings, enough), strict=True)
    ]


def problems_at_a_time(problem: Box, settings: EngineSettings) -> int:
    """How many problems like this one are best given to the functions above together."""
    if can_share(problem, settings):
        return batch_size(problem)
    # Problems that are solved one by one may still share the pass that takes their moments.
    return problem.features.labellings_per_pass


def _together(problems: Sequence[Box], settings: EngineSettings, enough: StoppingRule) -> list[Found | None]:
    """What the batched engine finds, for problems on the same array and of the same shape; else None."""
    found: list[Found | None] = [None] * len(problems)
    alike: dict[tuple[int, int, int], list[int]] = {}
    for i, problem in enumerate(problems):
        shared = problem.features.shared_key
        if shared is not None and can_share(problem, settings):
            key = shared, problem.n_instances, problem.coding.n_blocks
            alike.setdefault(key, []).append(i)
    for places in alike.values():
        chosen = [problems[i] for i in places]
        for i, of_one in zip(places, solve_together(chosen, enough), strict=True):
            found[i] = of_one
    return found


def _with_own_values(problem: Box) -> Box:
    """The problem on features that are quickest to read for it alone."""
    features = problem.features.copied()
    return problem if features is problem.features else replace(problem, features=features)


def _solved_alone(problem: Box, settings: EngineSettings, enough: StoppingRule) -> Found:
    """A pair whose bounds are ``enough``, by the cheapest way there."""
    solver, found, limit = _solver_for(problem, settings), None, TimeLimit(settings.max_seconds)
    if solver == "interior-point" and not (is_for_moment_space(problem) or has_many_instances(problem)):
        found = interior_approach(problem, settings, limit, enough=enough)
    if found is None:
        engine = first_order_approach if solver == "first-order" else solve_minimax_risk
        found = engine(problem, settings, TimeLimit(settings.max_seconds, enough.stops))
    if found.interrupted:
        raise KeyboardInterrupt
    return Found.of(found.stage, problem, found.lower)


def _solver_for(problem: Box, settings: EngineSettings) -> str:
    """The engine's name.

    Where none is asked for it is the interior point, unless that is too much for it, or takes longer than an
    exact solution is worth where no gap is asked for either.
    """
    if settings.solver == "auto":
        if settings.is_gap_given:
            return "first-order" if interior_point_demands(problem).are_too_large else "interior-point"
        is_exact = is_worth_exactness(problem, settings.first_order_gap_tol)
        return "interior-point" if is_exact else "first-order"
    if settings.solver == "interior-point":
        refuse_too_large(
            problem,
            "solver='interior-point'",
            "use solver='first-order' or 'auto', which certify a gap of gap_tol (by default "
            f"{FIRST_ORDER_GAP_TOL:g}), or fewer samples or features",
        )
    return settings.solver


def _remark_on_auto(problem: Box, settings: EngineSettings, solution: Solution) -> str:
    """That another solver was taken than the exact one."""
    if settings.solver != "auto" or solution.solver != "first-order":
        return ""
    return (
        f"solver='auto' took 'first-order', here to a certified gap of {solution.gap:.2g}, because the "
        f"interior point would take {interior_point_demands(problem)}; set gap_tol={settings.gap_tol:g} for "
        "an exact solution, or solver='first-order' to silence this warning"
    )


def _remark_on_first_order(problem: Box, settings: EngineSettings, solution: Solution) -> str:
    """That the steps did not reach the tolerance."""
    if solution.solver != "first-order" or solution.converged or solution.stopped or solution.interrupted:
        return ""
    demands = interior_point_demands(problem)
    exact = "" if demands.are_too_large else f", and solver='interior-point' is exact and takes {demands}"
    return (
        f"the first-order solver stopped after {solution.history[-1]['iteration']} iterations with an "
        f"optimality gap of {solution.gap:.2g}, larger than gap_tol={settings.first_order_gap_tol:g}. The "
        "bounds are valid; a larger gap_tol or radius is reached sooner, a larger max_iter brings them "
        f"closer together{exact}"
    )
