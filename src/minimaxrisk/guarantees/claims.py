"""What a fitted model claims, beside the same recomputed from its data and its proof.

A generator per kind of rule: linear, average, kernel. Bounds follow from the coefficients and the
distribution alone. A claim that cannot be recomputed is a problem in words. ``verify`` compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.guarantees.certified import Certified, Claim
from minimaxrisk.guarantees.posed_fit import coverage_of, loss_of_rule
from minimaxrisk.problem.ball import PosedBall
from minimaxrisk.problem.objective import ExpectedLoss, Objective
from minimaxrisk.problem.pose import PosedBox
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound
from minimaxrisk.problem.rule import LinearRule
from minimaxrisk.problem.sets import Posed
from minimaxrisk.samples.validation import TrainingData

# How far a stored distribution may be from one.
ROUNDING = 1e-9


def moments_in_units_of(parameters: Any, problem: Box) -> tuple[FloatArray, FloatArray]:
    """tau and lambda of standardised columns, or in the units of the caller's."""
    scale, tau, lam = problem.scale, problem.tau, problem.lam
    if not parameters.standardize:
        tau, lam = scale.rescaled(tau), scale.rescaled(lam)
    return scale.for_columns(tau), scale.for_columns(lam)


def claims_of_linear(model: Any, posed: PosedBox) -> Iterator[Claim]:
    """Of a ``MinimaxRiskClassifier``."""
    problem, stored = posed.problem, model._fitted_rule()
    scale = problem.scale
    if stored.is_finite:
        mu = stored.to_mu(scale)
        again = LinearRule.from_mu(mu, None, problem.coding, scale)
        yield Claim("intercept_", stored.intercept, again.intercept)
        yield Claim("threshold_", model.threshold_, problem.threshold_of(mu))
        yield Claim("worst_case_error_", model.worst_case_error_, upper_bound(problem, problem.objective, mu))
        importance = np.abs(scale.for_columns(mu)[:, scale.n_leading :]).sum(axis=0)
        yield from _claims_of_use(model, importance, np.flatnonzero(np.asarray(model.coef_).any(axis=0)))
    else:
        yield Claim(problem="coef_ or intercept_ is not finite")
    yield from _claims_of_distribution(model, posed, problem.objective)
    yield _claim_of_iterations(model)
    is_there = any(np.array_equal(stage.full_coef, model.coef_) for stage in model.stages_)
    if model.converged_ and not is_there:  # a fit that was interrupted may have none
        yield Claim(problem="none of the rules in stages_ is that of the model")
    for number, stage in enumerate(model.stages_):
        again = LinearRule.of_problem(stage.to_mu(scale), problem)
        yield Claim(f"the threshold of stages_[{number}]", stage.threshold, again.threshold)
    yield from _claims_of_box(model, posed)


def claims_of_average(model: Any, posed: PosedBox, data: TrainingData) -> Iterator[Claim]:
    """Of a ``MinimaxRiskEnsembleClassifier``."""
    fitted, scale = model._fitted_rule(), posed.problem.scale
    if fitted.is_finite:
        loss = loss_of_rule(fitted, "randomized", data, posed)
        objective = ExpectedLoss(loss, posed.problem.marginal)
        yield from _claims_of_affine_proof(model, posed, objective)
        yield from _claims_of_distribution(model, posed, objective)
        use = scale.for_columns(fitted.use_of_components(scale))
        importance = use[:, scale.n_leading :].sum(axis=0)
        yield from _claims_of_use(model, importance, fitted.selected)
        frequencies = fitted.selection_frequencies(model.n_features_in_)
        yield Claim("selection_frequencies_", model.selection_frequencies_, frequencies)
    else:
        yield Claim(problem="the coefficients in members_ or ball_ are not finite")
    yield from _claims_of_box(model, posed)


def claims_of_ball(model: Any, posed: PosedBall) -> Iterator[Claim]:
    """Of a ``MinimaxRiskKernelClassifier``."""
    problem, dual_coef = posed.problem, np.asarray(model.dual_coef_)
    kernel = model._parameters_of_set().kernel
    if dual_coef.shape != problem.shape:
        yield Claim(problem=f"dual_coef_ has shape {dual_coef.shape}, the data need {problem.shape}")
    elif not np.isfinite(dual_coef).all():
        yield Claim(problem="dual_coef_ is not finite")
    else:
        coefficients = problem.orientation * dual_coef
        upper = upper_bound(problem, problem.objective, coefficients)
        yield Claim("worst_case_error_", model.worst_case_error_, upper)
        yield Claim("threshold_", model.threshold_, problem.threshold_of(coefficients))
        if kernel == "linear":
            coef, intercept = posed.linear(dual_coef)
            yield Claim("coef_", model.coef_, coef)
            yield Claim("intercept_", model.intercept_, intercept)
    yield from _claims_of_distribution(model, posed, problem.objective)
    yield Claim("ball_radius_", model.ball_radius_, problem.radius)
    yield Claim("rows_", model.rows_, posed.instances.rows)
    yield _claim_of_iterations(model)
    yield from _claims_of_set(model, posed)
    # What predicts, besides the coefficients.
    products, space = posed.products_and_space(has_origin=model._products.origin is not None)
    if replace(model._products, gamma=products.gamma) != products:
        yield Claim(problem="the kernel is not the one that the parameters and the data give")
    yield Claim("gamma of the kernel", model._products.gamma, products.gamma)
    yield Claim("the origin of the kernel", model._products.origin, products.origin)
    for stored, again in zip(vars(model._space).values(), vars(space).values(), strict=True):
        yield Claim("the mean of the kernel", stored, again)
    kept, is_kept = model.X_fit_, kernel not in ("linear", "precomputed")
    if (kept is not None) != is_kept or (
        is_kept and not (kept.shape == posed.X.shape and abs(kept - posed.X).max() == 0.0)
    ):
        yield Claim(problem="X_fit_ does not hold the instances of the data")


def _claim_of_iterations(model: Any) -> Claim:
    return Claim("n_iter_", model.n_iter_, model.history_[-1]["iteration"] if model.history_ else 0)


def _claims_of_set(model: Certified, posed: Posed) -> Iterator[Claim]:
    """The radii and the probability that goes with them."""
    yield Claim("radius_", model.radius_, posed.radii.factor)
    yield Claim("coverage_", model.coverage_, coverage_of(model._parameters_of_set()))
    yield Claim("coding_", model.coding_, posed.problem.coding.name)
    if tuple(model.coverage_remarks_) != posed.radii.remarks:
        yield Claim(problem="coverage_remarks_ are not what the sample gives reason for")


def _claims_of_box(model: Any, posed: PosedBox) -> Iterator[Claim]:
    tau, lam = moments_in_units_of(model._parameters_of_set(), posed.problem)
    yield Claim("tau_", model.tau_, tau)
    yield Claim("lambda_", model.lambda_, lam)
    yield from _claims_of_set(model, posed)


def _claims_of_use(model: Any, importance: np.ndarray, columns: np.ndarray) -> Iterator[Claim]:
    """Which columns the rule uses, and how much."""
    yield Claim("feature_importances_", model.feature_importances_, importance)
    yield Claim("selected_features_", model.selected_features_, columns)
    yield Claim("n_features_selected_", model.n_features_selected_, len(columns))


def _claims_of_distribution(model: Certified, posed: Posed, objective: Objective) -> Iterator[Claim]:
    """The lower bound that the stored distribution proves."""
    stored = np.asarray(model.worst_case_distribution_)
    expected = (len(posed.instances.instance_of_row), len(model.classes_))
    if stored.shape != expected:
        yield Claim(problem=f"worst_case_distribution_ has shape {stored.shape}, the data need {expected}")
        return
    distribution, is_known = posed.instances.from_rows(stored), posed.problem.marginal.is_known
    # NaN fails all comparisons.
    if is_known and not (np.abs(distribution.sum(axis=0) - posed.instances.weights) <= ROUNDING).all():
        yield Claim(problem="worst_case_distribution_ moves mass from one sample to another")
    elif not ((distribution >= 0.0).all() and abs(distribution.sum() - 1.0) <= ROUNDING):
        yield Claim(problem="worst_case_distribution_ is not a distribution on these samples")
    else:
        lower = lower_bound(posed.problem, objective, distribution).bound
        yield Claim("worst_case_error_lower_", model.worst_case_error_lower_, lower)


def _claims_of_affine_proof(model: Any, posed: PosedBox, objective: ExpectedLoss) -> Iterator[Claim]:
    """What the stored affine function proves about the loss."""
    problem, stored = posed.problem, model.worst_case_proof_
    if not stored.is_finite:
        yield Claim(problem="worst_case_proof_ is not finite")
        return
    mu = -stored.to_mu(problem.scale)
    constant = None if problem.marginal.is_known else objective.conjugate(problem.scores_of(mu))
    yield Claim("the threshold of worst_case_proof_", stored.threshold, constant)
    again = LinearRule.from_mu(-mu, None, problem.coding, problem.scale)
    yield Claim("the intercept of worst_case_proof_", stored.intercept, again.intercept)
    yield Claim("worst_case_error_", model.worst_case_error_, min(1.0, upper_bound(problem, objective, mu)))


def comparable(values: Any) -> np.ndarray:
    """NaN becomes -1, so that NaNs compare equal."""
    return np.nan_to_num(np.asarray(values, dtype=np.float64), nan=-1.0)
