"""From validated training data to the problem that the engines solve and the certificates check."""

from __future__ import annotations

from dataclasses import dataclass

from minimaxrisk.coding import make_coding
from minimaxrisk.instances import Instances, distinct_instances
from minimaxrisk.problem import Problem, build_problem
from minimaxrisk.validation import TrainingData


@dataclass(frozen=True)
class PosedProblem:
    """The problem together with the way back to the caller's rows."""

    problem: Problem
    instances: Instances


def pose(
    data: TrainingData, *, coding: str, radius: float, standardize: bool, fit_intercept: bool
) -> PosedProblem:
    """Merge equal rows, scale the columns, estimate moments, set the radii."""
    n_classes = len(data.classes)
    instances = distinct_instances(data.X, data.labels, data.weights, n_classes)
    problem = build_problem(
        data.X,
        instances,
        make_coding(coding, n_classes),
        radius=radius,
        standardize=standardize,
        fit_intercept=fit_intercept,
    )
    return PosedProblem(problem, instances)
