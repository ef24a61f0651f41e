"""Between what bounds the error of a fixed rule lies: two linear programs over the uncertainty set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.engines.linear_programs.constraint_generation import constraint_generation
from minimaxrisk.engines.solution import Solution
from minimaxrisk.guarantees.fitted_model import (
    check_classes,
    check_model,
    check_rule,
    linear_rule_of,
    pose_as_fitted,
    rule_probabilities,
    training_data_of,
)
from minimaxrisk.problem.linear_rule import LinearRule
from minimaxrisk.problem.objective import ExpectedLoss
from minimaxrisk.problem.pose import PosedProblem
from minimaxrisk.samples.validation import TrainingData


@dataclass(frozen=True)
class ErrorBounds:
    """Smallest and largest error probability of a fixed rule over the uncertainty set.

    ``lower`` and ``upper`` are valid whatever the solver did; the true extremes lie within
    ``lower_gap`` above and ``upper_gap`` below them.
    """

    lower: float
    upper: float
    lower_gap: float
    upper_gap: float


def error_bounds(
    model: Any,
    X: Any,
    y: Any,
    rule: str = "randomized",
    sample_weight: Any = None,
    *,
    X_unlabeled: Any = None,
    groups: Any = None,
) -> ErrorBounds:
    """Between what bounds the error of a fitted rule lies for all distributions in the uncertainty set.

    Two linear programs over the same set as the fit, solved by the same constraint generation.

    Parameters
    ----------
    model : MinimaxRiskClassifier
        A fitted classifier.
    X, y, sample_weight, X_unlabeled, groups
        The data that define the uncertainty set, normally those that the model was fitted on.
    rule : {"randomized", "argmax"}, default="randomized"
        The rule of ``predict_proba`` or that of ``predict``.

    Returns
    -------
    ErrorBounds
    """
    check_model(model)
    check_rule(rule)
    data = training_data_of(model, X, y, sample_weight, X_unlabeled, groups=groups)
    check_classes(model, data)
    posed = pose_as_fitted(model, data)
    loss = _loss(model, data, posed, rule)
    largest, smallest = _worst_case(model, posed, loss), _worst_case(model, posed, -loss)
    return ErrorBounds(
        lower=max(0.0, -smallest.upper),
        upper=min(1.0, largest.upper),
        lower_gap=smallest.upper - smallest.lower,
        upper_gap=largest.upper - largest.lower,
    )


@dataclass(frozen=True)
class WorstCaseOfRule:
    """The largest expected loss of a fixed rule over the set, and the affine function that proves it.

    On every instance of the program ``loss(y|x) <= affine.threshold + affine.scores(x)[y]``, and the mean of
    the right-hand side is at most ``upper`` for every distribution of the set. Where the masses of instances
    are known, the threshold is None: every instance has the smallest one for which that holds.
    """

    upper: float
    lower: float
    affine: LinearRule
    constant: float  # the threshold, or the mean of those of the instances
    smallest: float  # of the thresholds that instances of the program need


def worst_case_of_rule(
    model: Any, data: TrainingData, rule: str, posed: PosedProblem | None = None
) -> WorstCaseOfRule:
    """The largest error of the rule over the model's uncertainty set, or over another one of ``data``."""
    check_classes(model, data)
    posed = pose_as_fitted(model, data) if posed is None else posed
    return _worst_case(model, posed, _loss(model, data, posed, rule))


def _loss(model: Any, data: TrainingData, posed: PosedProblem, rule: str) -> FloatArray:
    """What the rule loses at each instance of the set with each label (K x n)."""
    # The scores that predict sees, not those of the inner scale: rounding decides ties.
    return 1.0 - rule_probabilities(linear_rule_of(model), data.X[posed.instances.rows], rule)


def _worst_case(model: Any, posed: PosedProblem, loss: FloatArray) -> WorstCaseOfRule:
    problem = posed.problem
    solution = _extreme_loss(model, posed, loss, linear_rule_of(model).to_mu(problem.scale))
    # loss + scores of mu <= conjugate, so the function with coefficients -mu and that constant is above it.
    needed = np.max(loss + problem.scores_of(solution.mu), axis=0)
    constant = problem.marginal.largest_mean(needed)
    threshold = None if problem.marginal.is_known else constant
    affine = LinearRule.from_mu(-solution.mu, threshold, problem.coding, problem.scale)
    return WorstCaseOfRule(solution.upper, solution.lower, affine, constant, float(needed.min()))


def _extreme_loss(model: Any, posed: PosedProblem, loss: FloatArray, mu: FloatArray) -> Solution:
    """The largest expected loss over the set, from the features that the model uses."""
    solution = constraint_generation(
        posed.problem,
        ExpectedLoss(loss, posed.problem.marginal),
        np.flatnonzero(mu),
        n_max=model.max_features_per_iter,
        epsilon=model.tol,
    )
    if solution.interrupted:
        raise KeyboardInterrupt
    return solution
