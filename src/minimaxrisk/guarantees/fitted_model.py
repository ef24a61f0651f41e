"""A fitted model read again: what kind it is, the problem it was posed, the rule it stores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arrays import DataMatrix, FloatArray
from minimaxrisk.problem import rule as rules
from minimaxrisk.problem.linear_rule import LinearRule
from minimaxrisk.problem.pose import PosedProblem, pose
from minimaxrisk.samples.validation import TrainingData, check_training_data
from minimaxrisk.uncertainty.given import GivenRadii, Multiple
from minimaxrisk.uncertainty.radius import RadiusRule, split_level
from minimaxrisk.uncertainty.rule_by_name import radius_rule_of


def check_model(model: Any) -> None:
    check_is_fitted(model)
    if not hasattr(model, "worst_case_distribution_"):
        raise ValueError(
            f"model must be a fitted MinimaxRiskClassifier, got {type(model).__name__}; for a pipeline pass "
            "its last step and the transformed X, for a search its best_estimator_, for a selector or "
            "a MinimaxRiskClassifierCV its estimator_."
        )


def check_classes(model: Any, data: TrainingData) -> None:
    if not np.array_equal(data.classes, model.classes_):
        raise ValueError(
            f"y must hold the classes of the model, {model.classes_.tolist()}, got {data.classes.tolist()}."
        )


def check_rule(rule: str) -> None:
    if rule not in ("randomized", "argmax"):
        raise ValueError(f"rule must be 'randomized' or 'argmax', got {rule!r}.")


def training_data_of(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_unlabeled: Any = None,
    *,
    groups: Any = None,
    with_class_weight: bool = True,
) -> TrainingData:
    """The data, checked against the columns and with the class weights of a fitted model."""
    return check_training_data(
        model,
        X,
        y,
        sample_weight=sample_weight,
        class_weight=model.class_weight if with_class_weight else None,
        weight_kind=model.weight_kind,
        X_unlabeled=X_unlabeled,
        groups=groups,
        reset=False,
    )


def pose_as_fitted(model: Any, data: TrainingData) -> PosedProblem:
    """The uncertainty set of the data by the factor that the fit has found."""
    rule, is_known = _rule_as_fitted(model), model.marginal == "empirical"
    return _pose(model, data, model.coding_, rule, marginal_is_known=is_known)


def pose_anew(model: Any, data: TrainingData) -> PosedProblem:
    """The problem that a fit would pose: what the parameters say, with the same draws."""
    rule, is_known = radius_rule_of(model, model.radius_seed_), model.marginal == "empirical"
    return _pose(model, data, model.coding, rule, marginal_is_known=is_known)


def pose_with(model: Any, data: TrainingData, rule: RadiusRule) -> PosedProblem:
    """An uncertainty set on the features of the model with other radii, and a free marginal."""
    return _pose(model, data, model.coding_, rule, marginal_is_known=False)


def coverage_of(model: Any) -> float | None:
    """The probability that goes with the radius rule."""
    return float(model.confidence) if isinstance(model.radius, str) else None


def _pose(
    model: Any, data: TrainingData, coding: str, rule: RadiusRule, *, marginal_is_known: bool
) -> PosedProblem:
    return pose(
        data,
        coding=coding,
        rule=rule,
        standardize=model.standardize,
        fit_intercept=model.fit_intercept,
        marginal_is_known=marginal_is_known,
    )


def _rule_as_fitted(model: Any) -> RadiusRule:
    """The radii that the model's factor makes, without looking for the factor again."""
    if model.radius_ is None:
        return GivenRadii(model.lambda_, model.standardize)
    if not isinstance(model.radius, str):
        return Multiple(model.radius_)
    _, intercept_level = split_level(model.confidence, has_intercept=model.fit_intercept)
    return Multiple(model.radius_, intercept_level=intercept_level)


def linear_rule_of(model: Any) -> LinearRule:
    threshold = None if model.marginal == "empirical" else model.threshold_
    return LinearRule.from_full(model.coef_, model.intercept_, threshold)


def rule_probabilities(fitted: LinearRule, X: DataMatrix, rule: str) -> FloatArray:
    """h(y|x) of the rule by name (K x n)."""
    scores = fitted.scores(X)
    if rule == "randomized":
        return rules.probabilities(scores, fitted.threshold)
    return rules.arg_max_probabilities(scores)
