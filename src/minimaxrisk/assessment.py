"""Questions to ask of a fitted model: is its certificate true, and between what bounds is its error?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from minimaxrisk import rule as rules
from minimaxrisk.arrays import DataMatrix, FloatArray
from minimaxrisk.certificate import lower_bound, upper_bound
from minimaxrisk.engines.constraint_generation import constraint_generation
from minimaxrisk.engines.solution import Solution
from minimaxrisk.linear_rule import LinearRule
from minimaxrisk.objective import BayesError, ExpectedLoss
from minimaxrisk.posing import PosedProblem, pose
from minimaxrisk.uncertainty.radius import GivenRadii, Multiple
from minimaxrisk.validation import TrainingData, check_training_data

# How closely a stored number must agree with the one recomputed.
AGREEMENT = 1e-9


@dataclass(frozen=True)
class Certificate:
    """Bounds on R* recomputed from data, coefficients and distribution, and whether they bear the model out.

    ``valid`` is True when everything is finite, the stored distribution is one, ``lower <= upper``, and
    the stored bounds and threshold are confirmed; ``problems`` says what is wrong otherwise. A bound
    that cannot be computed (the data have other labels or another number of rows) is NaN.
    """

    lower: float
    upper: float
    gap: float
    valid: bool
    problems: tuple[str, ...] = ()


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


def verify(model: Any, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> Certificate:
    """Recompute the bounds of a fitted model from its training data; no solver is called.

    Parameters
    ----------
    model : MinimaxRiskClassifier
        A fitted classifier.
    X, y, sample_weight, X_unlabeled
        The data that it was fitted on. With other data the certificate is not valid.

    Returns
    -------
    Certificate
    """
    check_model(model)
    data = training_data_of(model, X, y, sample_weight, X_unlabeled)
    if not np.array_equal(data.classes, model.classes_):
        problem = f"the labels are {data.classes.tolist()}, the model knows {model.classes_.tolist()}"
        return Certificate(np.nan, np.nan, np.nan, valid=False, problems=(problem,))
    posed = _pose_as_fitted(model, data)
    problems: list[str] = []
    upper = _recompute_upper(model, posed, problems)
    lower = _recompute_lower(model, posed, problems)
    if lower > upper + 1e-12:  # rounding may cross the bounds at R*; NaN has its own entry already
        problems.append(f"the lower bound {lower} is not below the upper bound {upper}")
    return Certificate(lower, upper, upper - lower, valid=not problems, problems=tuple(problems))


def error_bounds(
    model: Any,
    X: Any,
    y: Any,
    rule: str = "randomized",
    sample_weight: Any = None,
    *,
    X_unlabeled: Any = None,
) -> ErrorBounds:
    """Between what bounds the error of a fitted rule lies for all distributions in the uncertainty set.

    Two linear programs over the same set as the fit, solved by the same constraint generation.

    Parameters
    ----------
    model : MinimaxRiskClassifier
        A fitted classifier.
    X, y, sample_weight, X_unlabeled
        The data that define the uncertainty set, normally those that the model was fitted on.
    rule : {"randomized", "argmax"}, default="randomized"
        The rule of ``predict_proba`` or that of ``predict``.

    Returns
    -------
    ErrorBounds
    """
    check_model(model)
    check_rule(rule)
    data = training_data_of(model, X, y, sample_weight, X_unlabeled)
    posed, loss = _posed_with_loss(model, data, rule)
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
    the right-hand side is at most ``upper`` for every distribution of the set.
    """

    upper: float
    lower: float
    affine: LinearRule


def worst_case_of_rule(model: Any, data: TrainingData, rule: str) -> WorstCaseOfRule:
    """The largest error of the rule over the uncertainty set of ``data``."""
    return _worst_case(model, *_posed_with_loss(model, data, rule))


def _posed_with_loss(model: Any, data: TrainingData, rule: str) -> tuple[PosedProblem, FloatArray]:
    """The uncertainty set, and what the rule loses at each of its instances with each label (K x n)."""
    check_classes(model, data)
    posed = _pose_as_fitted(model, data)
    # The scores that predict sees, not those of the inner scale: rounding decides ties.
    return posed, 1.0 - rule_probabilities(linear_rule_of(model), data.X[posed.instances.rows], rule)


def _worst_case(model: Any, posed: PosedProblem, loss: FloatArray) -> WorstCaseOfRule:
    problem = posed.problem
    solution = _extreme_loss(model, posed, loss, linear_rule_of(model).to_mu(problem.scale))
    # loss + scores of mu <= conjugate, so the function with coefficients -mu and that constant is above it.
    constant = ExpectedLoss(loss).conjugate(problem.scores_of(solution.mu))
    affine = LinearRule.from_mu(-solution.mu, constant, problem.coding, problem.scale)
    return WorstCaseOfRule(solution.upper, solution.lower, affine)


def rule_probabilities(fitted: LinearRule, X: DataMatrix, rule: str) -> FloatArray:
    """h(y|x) of the rule by name (K x n)."""
    scores = fitted.scores(X)
    if rule == "randomized":
        return rules.probabilities(scores, fitted.threshold)
    return rules.arg_max_probabilities(scores)


def _extreme_loss(model: Any, posed: PosedProblem, loss: FloatArray, mu: FloatArray) -> Solution:
    """The largest expected loss over the set, from the features that the model uses."""
    solution = constraint_generation(
        posed.problem,
        ExpectedLoss(loss),
        np.flatnonzero(mu),
        n_max=model.max_features_per_iter,
        epsilon=model.tol,
    )
    if solution.interrupted:
        raise KeyboardInterrupt
    return solution


def check_model(model: Any) -> None:
    check_is_fitted(model)
    if not hasattr(model, "worst_case_distribution_"):
        raise ValueError(
            f"model must be a fitted MinimaxRiskClassifier, got {type(model).__name__}; of a pipeline pass "
            "the last step and the transformed X, of a search best_estimator_, of a selector estimator_."
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
    model: Any, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None
) -> TrainingData:
    """The data, checked against the columns and with the class weights of a fitted model."""
    return check_training_data(
        model,
        X,
        y,
        sample_weight=sample_weight,
        class_weight=model.class_weight,
        X_unlabeled=X_unlabeled,
        reset=False,
    )


def _pose_as_fitted(model: Any, data: TrainingData) -> PosedProblem:
    rule = GivenRadii(model.lambda_, model.standardize) if model.radius_ is None else Multiple(model.radius_)
    return pose(
        data,
        coding=model.coding_,
        rule=rule,
        standardize=model.standardize,
        fit_intercept=model.fit_intercept,
    )


def linear_rule_of(model: Any) -> LinearRule:
    return LinearRule.from_full(model.coef_, model.intercept_, model.threshold_)


def _recompute_upper(model: Any, posed: PosedProblem, problems: list[str]) -> float:
    """U of the stored coefficients; whatever does not fit is added to ``problems``."""
    problem, stored = posed.problem, linear_rule_of(model)
    if not (np.isfinite(stored.coef).all() and np.isfinite(stored.intercept).all()):
        problems.append("coef_ or intercept_ is not finite")
        return np.nan
    mu = stored.to_mu(problem.scale)
    again = LinearRule.from_mu(mu, stored.threshold, problem.coding, problem.scale)
    if not np.allclose(again.intercept, stored.intercept, rtol=AGREEMENT, atol=AGREEMENT):
        problems.append("intercept_ is not the one that goes with coef_ when there is no intercept")
    _confirm("threshold_", stored.threshold, rules.threshold(problem.scores_of(mu)), problems)
    upper = upper_bound(problem, BayesError(), mu)
    _confirm("worst_case_error_", model.worst_case_error_, upper, problems)
    return upper


def _recompute_lower(model: Any, posed: PosedProblem, problems: list[str]) -> float:
    """L of the stored distribution."""
    stored = np.asarray(model.worst_case_distribution_)
    expected = (len(posed.instances.instance_of_row), len(model.classes_))
    if stored.shape != expected:
        problems.append(f"worst_case_distribution_ has shape {stored.shape}, the data need {expected}")
        return np.nan
    distribution = posed.instances.gather(stored)
    # NaN fails both comparisons.
    if not ((distribution >= 0.0).all() and abs(distribution.sum() - 1.0) <= AGREEMENT):
        problems.append("worst_case_distribution_ is not a distribution on these samples")
        return np.nan
    lower = lower_bound(posed.problem, BayesError(), distribution).bound
    _confirm("worst_case_error_lower_", model.worst_case_error_lower_, lower, problems)
    return lower


def _confirm(name: str, stored: float, recomputed: float, problems: list[str]) -> None:
    if not abs(stored - recomputed) <= AGREEMENT:
        problems.append(f"{name} is {stored!r}, recomputed {recomputed!r}")
