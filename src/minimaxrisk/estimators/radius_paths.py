"""The models of a classifier's parameters at many radii, on one sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.threads import suitable_threads
from minimaxrisk.engines.radius_path.radii import RadiusFamily, Report, SolvedRadius, radius_path
from minimaxrisk.estimators.parameters import pose_by
from minimaxrisk.problem.linear_rule import LinearRule
from minimaxrisk.problem.problem import Problem
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.given import Multiple


@dataclass(frozen=True)
class SolvedPath:
    """What was solved, radii ascending: those asked for, and others where they were met."""

    problem: Problem
    solved: list[SolvedRadius]
    is_concave: bool

    def rule(self, solved: SolvedRadius) -> LinearRule:
        return LinearRule.of_problem(solved.stage.expand(*self.problem.tau.shape), self.problem)


def check_radii(radii: Any) -> FloatArray:
    """Positive numbers, in any order."""
    given = np.asarray(radii)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "fiu":
        raise ValueError(
            "radii must be a 1-D array of at least one number, got shape "
            f"{given.shape} and type {given.dtype}; pass a list of factors such as [0.5, 1, 2]."
        )
    values = given.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
    if len(wrong):
        raise ValueError(
            f"radii must be positive and finite, got {values[wrong[0]]} at position {wrong[0]}; leave it out."
        )
    return values


def solve_path(
    model: Any,
    data: TrainingData,
    ascending: FloatArray,
    *,
    everywhere: bool = False,
    report: Report = lambda solved: None,
) -> SolvedPath:
    """Solve for the radii, which ascend strictly, with the parameters of a ``MinimaxRiskClassifier``."""
    with suitable_threads(len(data.labels)):
        problem = pose_by(model, data, Multiple(ascending[-1])).problem
        family = RadiusFamily(problem, ascending[0], ascending[-1])
        solved = radius_path(family, ascending[::-1], everywhere=everywhere, report=report)
    return SolvedPath(problem, solved[::-1], family.is_concave)
