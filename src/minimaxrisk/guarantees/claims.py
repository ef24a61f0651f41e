"""What a fitted model claims, with the same recomputed from its data and its certificate.

There is a generator for each kind of rule: linear, average, kernel. Bounds follow from the coefficients and
the distribution alone. Before a value that cannot be recomputed from any model comes a statement about the
model, which must be true. ``verify`` compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.guarantees.certified import Certified, Claim
from minimaxrisk.guarantees.fitted_problem import coverage_of, loss_of_rule
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
    yield "coef_ and intercept_ are finite", stored.is_finite, True
    if stored.is_finite:
        mu = stored.to_mu(scale)
        again = LinearRule.from_mu(mu, None, problem.coding, scale)
        yield "intercept_", stored.intercept, again.intercept
        yield "threshold_", model.threshold_, problem.threshold_of(mu)
        yield "worst_case_error_", model.worst_case_error_, upper_bound(problem, problem.objective, mu)
        importance = np.abs(scale.for_columns(mu)[:, scale.n_leading :]).sum(axis=0)
        yield from _claims_of_use(model, importance, np.flatnonzero(np.asarray(model.coef_).any(axis=0)))
    yield from _claims_of_distribution(model, posed, problem.objective)
    yield _claim_of_iterations(model)
    is_there = any(np.array_equal(stage.full_coef, model.coef_) for stage in model.stages_)
    # A fit that was interrupted may have none.
    yield "one of the rules in stages_ is that of the model", is_there or not model.converged_, True
    for number, stage in enumerate(model.stages_):
        again = LinearRule.of_problem(stage.to_mu(scale), problem)
        yield f"the threshold of stages_[{number}]", stage.threshold, again.threshold
    yield from _claims_of_box(model, posed)


def claims_of_average(model: Any, posed: PosedBox, data: TrainingData) -> Iterator[Claim]:
    """Of a ``MinimaxRiskEnsembleClassifier``."""
    fitted = model._fitted_rule()
    yield "the coefficients in members_ and ball_ are finite", fitted.is_finite, True
    if fitted.is_finite:
        loss = loss_of_rule(fitted, "randomized", data, posed)
        objective = ExpectedLoss(loss, posed.problem.marginal)
        yield from _claims_of_affine_proof(model, posed, objective)
        yield from _claims_of_distribution(model, posed, objective)
        yield from _claims_of_use(model, fitted.importances(posed.problem.scale), fitted.selected)
        frequencies = fitted.selection_frequencies(model.n_features_in_)
        yield "selection_frequencies_", model.selection_frequencies_, frequencies
    yield from _claims_of_box(model, posed)


def claims_of_ball(model: Any, posed: PosedBall) -> Iterator[Claim]:
    """Of a ``MinimaxRiskKernelClassifier``."""
    problem, dual_coef = posed.problem, np.asarray(model.dual_coef_)
    kernel = model._parameters_of_set().kernel
    is_usable = dual_coef.shape == problem.shape and bool(np.isfinite(dual_coef).all())
    yield f"dual_coef_ has finite values of shape {problem.shape}", is_usable, True
    if is_usable:
        coefficients = problem.orientation * dual_coef
        upper = upper_bound(problem, problem.objective, coefficients)
        yield "worst_case_error_", model.worst_case_error_, upper
        yield "threshold_", model.threshold_, problem.threshold_of(coefficients)
        if kernel == "linear":
            coef, intercept = posed.linear(dual_coef)
            yield "coef_", model.coef_, coef
            yield "intercept_", model.intercept_, intercept
    yield from _claims_of_distribution(model, posed, problem.objective)
    yield "ball_radius_", model.ball_radius_, problem.radius
    yield "rows_", model.rows_, posed.instances.rows
    yield _claim_of_iterations(model)
    yield from _claims_of_set(model, posed)
    # What predicts, besides the coefficients.
    products, space = posed.products_and_space(has_origin=model._products.origin is not None)
    is_kernel = replace(model._products, gamma=products.gamma) == products
    yield "the kernel is the one of the parameters and the data", is_kernel, True
    yield "gamma of the kernel", model._products.gamma, products.gamma
    yield "the origin of the kernel", model._products.origin, products.origin
    for stored, again in zip(vars(model._space).values(), vars(space).values(), strict=True):
        yield "the mean of the kernel", stored, again
    has_rows, X = kernel not in ("linear", "precomputed"), model.X_fit_
    is_kept = X is not None and X.shape == posed.X.shape and abs(X - posed.X).max() == 0.0
    yield "X_fit_ holds the instances of the data", bool(is_kept) if has_rows else X is None, True


def _claim_of_iterations(model: Any) -> Claim:
    return "n_iter_", model.n_iter_, model.history_[-1]["iteration"] if model.history_ else 0


def _claims_of_set(model: Certified, posed: Posed) -> Iterator[Claim]:
    """The radii and the probability that goes with them."""
    yield "radius_", model.radius_, posed.radii.factor
    yield "coverage_", model.coverage_, coverage_of(model._parameters_of_set())
    yield "coding_", model.coding_, posed.problem.coding.name
    yield "coverage_remarks_ are the sample's", tuple(model.coverage_remarks_) == posed.radii.remarks, True


def _claims_of_box(model: Any, posed: PosedBox) -> Iterator[Claim]:
    tau, lam = moments_in_units_of(model._parameters_of_set(), posed.problem)
    yield "tau_", model.tau_, tau
    yield "lambda_", model.lambda_, lam
    yield from _claims_of_set(model, posed)


def _claims_of_use(model: Any, importance: np.ndarray, columns: np.ndarray) -> Iterator[Claim]:
    """Which columns the rule uses, and how much."""
    yield "feature_importances_", model.feature_importances_, importance
    yield "selected_features_", model.selected_features_, columns
    yield "n_features_selected_", model.n_features_selected_, len(columns)


def _claims_of_distribution(model: Certified, posed: Posed, objective: Objective) -> Iterator[Claim]:
    """The lower bound that the stored distribution proves."""
    stored, problem = np.asarray(model.worst_case_distribution_), posed.problem
    expected = (len(posed.instances.instance_of_row), len(model.classes_))
    yield f"worst_case_distribution_ has shape {expected}", stored.shape == expected, True
    if stored.shape != expected:
        return
    distribution = posed.instances.from_rows(stored)
    # NaN fails all comparisons.
    is_one = bool((distribution >= 0.0).all() and abs(distribution.sum() - 1.0) <= ROUNDING)
    if problem.marginal.is_known:
        moved = np.abs(distribution.sum(axis=0) - posed.instances.weights)
        is_one = is_one and bool((moved <= ROUNDING).all())
    yield "worst_case_distribution_ is a distribution on these samples", is_one, True
    if is_one:
        lower = lower_bound(problem, objective, distribution).bound
        yield "worst_case_error_lower_", model.worst_case_error_lower_, lower


def _claims_of_affine_proof(model: Any, posed: PosedBox, objective: ExpectedLoss) -> Iterator[Claim]:
    """What the stored affine function proves about the loss."""
    problem, stored = posed.problem, model.worst_case_proof_
    yield "worst_case_proof_ is finite", stored.is_finite, True
    if not stored.is_finite:
        return
    mu = -stored.to_mu(problem.scale)
    constant = None if problem.marginal.is_known else objective.conjugate(problem.scores_of(mu))
    yield "the threshold of worst_case_proof_", stored.threshold, constant
    again = LinearRule.from_mu(-mu, None, problem.coding, problem.scale)
    yield "the intercept of worst_case_proof_", stored.intercept, again.intercept
    yield "worst_case_error_", model.worst_case_error_, min(1.0, upper_bound(problem, objective, mu))
