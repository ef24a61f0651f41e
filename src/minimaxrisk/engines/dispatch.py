"""Choose an engine by name and run it on the minimax risk problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk.arrays import IntArray
from minimaxrisk.engines import starts
from minimaxrisk.engines.constraint_generation import constraint_generation
from minimaxrisk.engines.full_lp import full_lp
from minimaxrisk.engines.interior_point import interior_point
from minimaxrisk.engines.solution import Monitor, Solution
from minimaxrisk.objective import BayesError
from minimaxrisk.problem import Problem
from minimaxrisk.uncertainty.radius import THIN_RADIUS


@dataclass(frozen=True)
class EngineSettings:
    """What the caller may choose about the computation, none of which changes the optimum."""

    solver: str
    initial_features: str | IntArray = "correlation"
    n_max: int = 100
    epsilon: float = 1e-4
    gap_tol: float = 1e-6
    max_iter: int | None = None


def solve_minimax_risk(
    problem: Problem, settings: EngineSettings, monitor: Monitor | None = None
) -> Solution:
    """The minimax risk classifier of a problem, by the engine that the settings name."""
    if settings.solver == "full-lp":
        return full_lp(problem, BayesError(), monitor=monitor)
    if settings.solver in ("auto", "interior-point") and not has_thin_constraints(problem):
        return interior_point(
            problem,
            gap_tol=settings.gap_tol,
            epsilon=settings.epsilon,
            n_max=settings.n_max,
            max_iter=settings.max_iter,
            monitor=monitor,
        )
    solution = constraint_generation(
        problem,
        BayesError(),
        _first_components(problem, settings),
        n_max=settings.n_max,
        epsilon=settings.epsilon,
        max_iter=settings.max_iter,
        monitor=monitor,
    )
    if settings.solver == "interior-point":
        solution.remark = (
            "the uncertainty set has no interior: some features do not vary within a class, which makes their "
            "moment constraints equations. Constraint generation did the work"
        )
    return solution


def has_thin_constraints(problem: Problem) -> bool:
    """Whether some constraints are equations up to rounding, so that no point lies well inside the set."""
    return bool((problem.lam < THIN_RADIUS).any())


def _first_components(problem: Problem, settings: EngineSettings) -> IntArray:
    if isinstance(settings.initial_features, str):
        by_name = {"correlation": starts.by_correlation, "first-order": starts.by_first_order}
        return by_name[settings.initial_features](problem, settings.n_max)
    return starts.by_columns(problem, np.asarray(settings.initial_features))
