"""The two kinds of uncertainty set, a box and a ball, behind one face.

A model names the kind of its set. Whoever poses its problem again, or bounds R* for other labels, asks the
kind and need not know which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

from minimaxrisk.engines.ball import solve_ball
from minimaxrisk.engines.dispatch import bound_minimax_risks, problems_at_a_time
from minimaxrisk.engines.solution import Bounds, EngineSettings, Enough
from minimaxrisk.problem.ball import Ball, PosedBall, pose_ball
from minimaxrisk.problem.pose import PosedProblem, pose_by
from minimaxrisk.problem.problem import Problem
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.ball_radius import ball_radius_rule_of
from minimaxrisk.uncertainty.rules import radius_rule_of, without_coverage

Posed: TypeAlias = PosedProblem | PosedBall


class SetKind(ABC):
    """What is done with a set: its radii chosen, its problem posed, R* over it bounded."""

    @abstractmethod
    def radius_rule(self, parameters: Any, seed: int, *, is_checked: bool = True) -> Any:
        """How the parameters of an estimator set the radii; remarks on coverage only if ``is_checked``."""

    @abstractmethod
    def pose(self, parameters: Any, data: TrainingData, rule: Any) -> Any:
        """The problem of the data, with radii by the rule."""

    @abstractmethod
    def bounds(self, problems: Sequence[Any], settings: EngineSettings, enough: Enough) -> list[Bounds]:
        """For each problem bounds on R* that are ``enough``, or as near as the solver comes."""

    @abstractmethod
    def problems_at_a_time(self, problem: Any, settings: EngineSettings) -> int:
        """How many problems like this one are best bounded together."""


class _Boxes(SetKind):
    """An interval for the mean of each feature."""

    def radius_rule(self, parameters: Any, seed: int, *, is_checked: bool = True) -> Any:
        rule = radius_rule_of(parameters, seed)
        return rule if is_checked else without_coverage(rule)

    def pose(self, parameters: Any, data: TrainingData, rule: Any) -> PosedProblem:
        return pose_by(parameters, data, rule)

    def bounds(self, problems: Sequence[Problem], settings: EngineSettings, enough: Enough) -> list[Bounds]:
        return bound_minimax_risks(problems, settings, enough)

    def problems_at_a_time(self, problem: Problem, settings: EngineSettings) -> int:
        return problems_at_a_time(problem, settings)


class _Balls(SetKind):
    """One distance for the mean of all features together."""

    def radius_rule(self, parameters: Any, seed: int, *, is_checked: bool = True) -> Any:
        return ball_radius_rule_of(parameters, seed, is_checked=is_checked)

    def pose(self, parameters: Any, data: TrainingData, rule: Any) -> PosedBall:
        return pose_ball(parameters, data, rule)

    def bounds(self, problems: Sequence[Ball], settings: EngineSettings, enough: Enough) -> list[Bounds]:
        found = [solve_ball(problem, enough) for problem in problems]
        if any(each.interrupted for each in found):
            raise KeyboardInterrupt
        return [Bounds(each.lower, each.upper) for each in found]

    def problems_at_a_time(self, problem: Ball, settings: EngineSettings) -> int:
        return 1


BOX: SetKind = _Boxes()
BALL: SetKind = _Balls()
