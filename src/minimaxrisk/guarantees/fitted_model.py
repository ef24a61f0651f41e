"""A fitted model read again: what kind it is, the problem it was posed, the rule it stores.

There are two kinds. A classifier stores one linear rule, an ensemble (``members_``) several whose average it
takes. Both store the same about the uncertainty set. What the set is, the parameters of a classifier say: the
model's own, or those of the ``estimator_`` that an ensemble is made of.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arrays import DataMatrix, FloatArray
from minimaxrisk.features.matrix import ColumnScale
from minimaxrisk.problem import rule as rules
from minimaxrisk.problem.average_rule import AverageRule
from minimaxrisk.problem.linear_rule import LinearRule
from minimaxrisk.problem.pose import PosedProblem, pose
from minimaxrisk.samples.validation import TrainingData, check_training_data
from minimaxrisk.uncertainty.given import GivenRadii, Multiple
from minimaxrisk.uncertainty.radius import RadiusRule, split_level
from minimaxrisk.uncertainty.rule_by_name import radius_rule_of


class FittedRule(Protocol):
    """What may be asked of the rule of either kind."""

    def probabilities(self, X: DataMatrix) -> FloatArray:
        """h(y|x) of the randomized rule (K x n)."""
        ...

    def scores(self, X: DataMatrix) -> FloatArray:
        """The numbers of which the arg-max rule takes the largest (K x n)."""
        ...

    def use_of_components(self, scale: ColumnScale) -> FloatArray:
        """Sizes of the coefficients of the inner columns (B x d)."""
        ...


def is_ensemble(model: Any) -> bool:
    return hasattr(model, "members_")


def parameters_of(model: Any) -> Any:
    """The classifier whose parameters say what the uncertainty set is."""
    return model.estimator_ if is_ensemble(model) else model


def check_model(model: Any) -> None:
    check_is_fitted(model)
    if is_ensemble(model) and not hasattr(model, "worst_case_distribution_"):
        raise ValueError("the ensemble was fitted with certify=False: fit it with certify=True for a bound.")
    if not hasattr(model, "worst_case_distribution_"):
        raise ValueError(
            f"model must be a fitted MinimaxRiskClassifier or an ensemble of them, got "
            f"{type(model).__name__}; for a pipeline pass its last step and the transformed X, for a search "
            "its best_estimator_, for a selector or a MinimaxRiskClassifierCV its estimator_."
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
        class_weight=parameters_of(model).class_weight if with_class_weight else None,
        weight_kind=parameters_of(model).weight_kind,
        X_unlabeled=X_unlabeled,
        groups=groups,
        reset=False,
    )


def pose_as_fitted(model: Any, data: TrainingData) -> PosedProblem:
    """The uncertainty set of the data by the factor that the fit has found."""
    rule, is_known = _rule_as_fitted(model), parameters_of(model).marginal == "empirical"
    return _pose(model, data, model.coding_, rule, marginal_is_known=is_known)


def pose_anew(model: Any, data: TrainingData) -> PosedProblem:
    """The problem that a fit would pose: what the parameters say, with the same draws."""
    parameters = parameters_of(model)
    rule, is_known = radius_rule_of(parameters, model.radius_seed_), parameters.marginal == "empirical"
    return _pose(model, data, parameters.coding, rule, marginal_is_known=is_known)


def pose_with(model: Any, data: TrainingData, rule: RadiusRule) -> PosedProblem:
    """An uncertainty set on the features of the model with other radii, and a free marginal."""
    return _pose(model, data, model.coding_, rule, marginal_is_known=False)


def coverage_of(model: Any) -> float | None:
    """The probability that goes with the radius rule."""
    parameters = parameters_of(model)
    return float(parameters.confidence) if isinstance(parameters.radius, str) else None


def _pose(
    model: Any, data: TrainingData, coding: str, rule: RadiusRule, *, marginal_is_known: bool
) -> PosedProblem:
    parameters = parameters_of(model)
    return pose(
        data,
        coding=coding,
        rule=rule,
        standardize=parameters.standardize,
        fit_intercept=parameters.fit_intercept,
        copy=parameters.copy,
        marginal_is_known=marginal_is_known,
    )


def _rule_as_fitted(model: Any) -> RadiusRule:
    """The radii that the model's factor makes, without looking for the factor again."""
    parameters = parameters_of(model)
    if model.radius_ is None:
        return GivenRadii(model.lambda_, parameters.standardize)
    if not isinstance(parameters.radius, str):
        return Multiple(model.radius_)
    _, intercept_level = split_level(parameters.confidence, has_intercept=parameters.fit_intercept)
    return Multiple(model.radius_, intercept_level=intercept_level)


def linear_rule_of(model: Any) -> LinearRule:
    threshold = None if model.marginal == "empirical" else model.threshold_
    return LinearRule.from_full(model.coef_, model.intercept_, threshold)


def fitted_rule_of(model: Any) -> FittedRule:
    return AverageRule(model.members_) if is_ensemble(model) else linear_rule_of(model)


def rule_probabilities(fitted: FittedRule, X: DataMatrix, rule: str) -> FloatArray:
    """h(y|x) of the rule by name (K x n)."""
    if rule == "randomized":
        return fitted.probabilities(X)
    return rules.arg_max_probabilities(fitted.scores(X))
