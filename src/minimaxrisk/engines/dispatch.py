"""Choose an engine by name and run it on the minimax risk problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk.arrays import IntArray
from minimaxrisk.engines import starts
from minimaxrisk.engines.constraint_generation import constraint_generation
from minimaxrisk.engines.full_lp import full_lp
from minimaxrisk.engines.solution import Monitor, Solution
from minimaxrisk.objective import BayesError
from minimaxrisk.problem import Problem


@dataclass(frozen=True)
class EngineSettings:
    """What the caller may choose about the computation, none of which changes the optimum."""

    solver: str
    initial_features: str | IntArray
    n_max: int
    epsilon: float
    max_iter: int | None


def resolve_solver(name: str) -> str:
    """The engine that ``"auto"`` stands for."""
    return "constraint-generation" if name == "auto" else name


def solve_minimax_risk(
    problem: Problem, settings: EngineSettings, monitor: Monitor | None = None
) -> Solution:
    """The minimax risk classifier of a problem, by the engine that the settings name."""
    if resolve_solver(settings.solver) == "full-lp":
        return full_lp(problem, BayesError(), monitor=monitor)
    return constraint_generation(
        problem,
        BayesError(),
        _first_components(problem, settings),
        n_max=settings.n_max,
        epsilon=settings.epsilon,
        max_iter=settings.max_iter,
        monitor=monitor,
    )


def _first_components(problem: Problem, settings: EngineSettings) -> IntArray:
    if isinstance(settings.initial_features, str):
        by_name = {"correlation": starts.by_correlation, "first-order": starts.by_first_order}
        return by_name[settings.initial_features](problem, settings.n_max)
    return starts.by_columns(problem, np.asarray(settings.initial_features))
