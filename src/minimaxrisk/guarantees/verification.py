"""Is what a fitted model claims true? Recomputed from data, coefficients and distribution alone."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.stored_tables import take_rows
from minimaxrisk.guarantees.counting import OutOfBag, out_of_bag
from minimaxrisk.guarantees.false_selections import SelectionStability
from minimaxrisk.guarantees.posed_fit import (
    PosedFit,
    as_posed_fit,
    average_rule_of,
    coverage_of,
    is_ball,
    is_ensemble,
    linear_rule_of,
    parameters_of,
)
from minimaxrisk.problem.ball import PosedBall, pose_ball
from minimaxrisk.problem.objective import ExpectedLoss, Objective
from minimaxrisk.problem.pose import PosedProblem
from minimaxrisk.problem.problem import lower_bound, upper_bound
from minimaxrisk.problem.rule import AverageRule, LinearRule
from minimaxrisk.samples.independent_units import unit_of_row
from minimaxrisk.samples.validation import TrainingData

# How closely a stored number must agree with the one recomputed.
AGREEMENT = 1e-9


@dataclass(frozen=True)
class Certificate:
    """Bounds on R* recomputed from data, coefficients and distribution, and whether the model agrees.

    For an ensemble they bound the worst case of its own rule. What the solver did (``solver_``,
    ``converged_``, ``n_passes_``, ``history_``) is not checked, and no claim depends on it.

    Attributes
    ----------
    lower, upper : float
        The recomputed bounds; NaN where one cannot be computed, since the data have other labels or another
        number of rows.
    gap : float
        The difference of the two.
    valid : bool
        True when everything is finite, the stored distribution is one, ``lower <= upper``, and the stored
        bounds, radii, coverage and all that is derived from them are confirmed.
    problems : tuple of str
        What is wrong where ``valid`` is False.
    """

    lower: float
    upper: float
    gap: float
    valid: bool
    problems: tuple[str, ...] = ()


def verify(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    X_unlabeled: Any = None,
    groups: Any = None,
) -> Certificate:
    """Is what a fitted model claims true? Recomputed from its training data; no solver is called.

    The radii are set again by the model's own rule, and then everything that depends on them is recomputed.

    Parameters
    ----------
    model : MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier, MinimaxRiskKernelClassifier or PosedFit
        A fitted classifier or ensemble; or a ``PosedFit``, which has the data and keeps the certificate.
        That the members of an ensemble have not seen the samples outside ``in_bag_`` is not checked.
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features) or None, default=None
        The instances that it was fitted on. With other data the certificate is not valid.
    y : array-like of shape (n_samples,) or None, default=None
        Their labels.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        The weights that ``fit`` was given.
    X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features) or None, default=None
        The instances without a label that it was given.
    groups : array-like of shape (n_samples,) or None, default=None
        The groups that it was given.

    Returns
    -------
    Certificate
        The recomputed bounds, and whether all is as the model says.

    See Also
    --------
    worst_case : The smallest and the largest error of a rule over the same set, by a solver.
    error_bound : A bound on the error for new samples that holds with a probability.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import MinimaxRiskClassifier, verify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimaxRiskClassifier().fit(X, y)
    >>> verify(model, X, y).valid
    True
    >>> verify(model, X[:-1], y[:-1]).valid
    False
    """
    fit = as_posed_fit(model, X, y, sample_weight=sample_weight, X_unlabeled=X_unlabeled, groups=groups)
    if fit.certificate is None:
        fit.certificate = _recompute(fit)
    return fit.certificate


def check_same_data(fit: PosedFit) -> None:
    """Refuse data that the model was not fitted on."""
    certificate = verify(fit)
    if not certificate.valid:
        raise ValueError(
            "X and y must be the data that the model was fitted on, in the same order of rows, with "
            "sample_weight, X_unlabeled and groups if fit was given them; checked against them, "
            f"{certificate.problems[0]}."
        )


def _recompute(fit: PosedFit) -> Certificate:
    model = fit.model
    if not np.array_equal(fit.data.classes, model.classes_):
        problem = f"the labels are {fit.data.classes.tolist()}, the model knows {model.classes_.tolist()}"
        return Certificate(np.nan, np.nan, np.nan, valid=False, problems=(problem,))
    if is_ball(model):
        return _recompute_ball(fit)
    posed = fit.posed_anew
    problems: list[str] = []
    if is_ensemble(model):
        upper, lower = _recompute_ensemble(model, fit.data, posed, problems)
    else:
        upper = _recompute_upper(model, posed, problems)
        lower = _recompute_lower(model, posed, posed.problem.objective, problems)
        _check_derived(model, posed, problems)
    if lower > upper + 1e-12:  # rounding may cross the bounds at R*; NaN has its own entry already
        problems.append(f"the lower bound {lower} is not below the upper bound {upper}")
    _check_radii(model, posed, problems)
    gap = float(model.worst_case_error_ - model.worst_case_error_lower_)
    _confirm("optimality_gap_", model.optimality_gap_, gap, problems)
    return Certificate(lower, upper, upper - lower, valid=not problems, problems=tuple(problems))


def _check_use(model: Any, importance: np.ndarray, columns: np.ndarray, problems: list[str]) -> None:
    """Which columns the rule uses, and how much."""
    _confirm("feature_importances_", model.feature_importances_, importance, problems)
    _confirm("selected_features_", model.selected_features_, columns, problems)
    _confirm("n_features_selected_", model.n_features_selected_, len(columns), problems)


def _check_radii(model: Any, posed: PosedProblem, problems: list[str]) -> None:
    """Moments, radii and the probability that goes with them."""
    problem, scale = posed.problem, posed.problem.scale
    tau, lam = problem.tau, problem.lam
    if not parameters_of(model).standardize:
        tau, lam = scale.rescaled(tau), scale.rescaled(lam)
    _confirm("tau_", model.tau_, tau, problems)
    _confirm("lambda_", model.lambda_, lam, problems)
    _confirm("radius_", model.radius_, posed.radii.factor, problems)
    _confirm("coverage_", model.coverage_, coverage_of(model), problems)
    _confirm("coding_", model.coding_, problem.coding.name, problems)
    if tuple(model.coverage_remarks_) != posed.radii.remarks:
        problems.append("coverage_remarks_ are not what the sample gives reason for")


def _check_derived(model: Any, posed: PosedProblem, problems: list[str]) -> None:
    """What follows from the coefficients and the bounds."""
    scale, coef = posed.problem.scale, np.asarray(model.coef_)
    importance = np.abs(linear_rule_of(model).to_mu(scale)[:, scale.n_leading :]).sum(axis=0)
    _check_use(model, importance, np.flatnonzero(coef.any(axis=0)), problems)
    n_iter = model.history_[-1]["iteration"] if model.history_ else 0
    _confirm("n_iter_", model.n_iter_, n_iter, problems)
    for number, stage in enumerate(model.stages_):
        again = LinearRule.of_problem(stage.to_mu(scale), posed.problem)
        _confirm(f"the threshold of stages_[{number}]", stage.threshold, again.threshold, problems)


def _recompute_upper(model: Any, posed: PosedProblem, problems: list[str]) -> float:
    """U of the stored coefficients; whatever does not fit is added to ``problems``."""
    problem, stored = posed.problem, linear_rule_of(model)
    if not stored.is_finite:
        problems.append("coef_ or intercept_ is not finite")
        return np.nan
    mu = stored.to_mu(problem.scale)
    again = LinearRule.from_mu(mu, None, problem.coding, problem.scale)
    if not _agree(stored.intercept, again.intercept):
        problems.append("intercept_ is not the one that goes with coef_ when there is no intercept")
    _confirm("threshold_", model.threshold_, problem.threshold_of(mu), problems)
    upper = upper_bound(problem, problem.objective, mu)
    _confirm("worst_case_error_", model.worst_case_error_, upper, problems)
    return upper


def _recompute_lower(model: Any, posed: PosedProblem, objective: Objective, problems: list[str]) -> float:
    """L of the stored distribution."""
    distribution = _stored_distribution(model, posed, problems)
    if distribution is None:
        return np.nan
    lower = lower_bound(posed.problem, objective, distribution).bound
    _confirm("worst_case_error_lower_", model.worst_case_error_lower_, lower, problems)
    return lower


def _stored_distribution(
    model: Any, posed: PosedProblem | PosedBall, problems: list[str]
) -> FloatArray | None:
    """On the instances; None where it is none."""
    stored = np.asarray(model.worst_case_distribution_)
    expected = (len(posed.instances.instance_of_row), len(model.classes_))
    if stored.shape != expected:
        problems.append(f"worst_case_distribution_ has shape {stored.shape}, the data need {expected}")
        return None
    distribution = posed.instances.from_rows(stored)
    # NaN fails all comparisons.
    if (
        posed.problem.marginal.is_known
        and not (np.abs(distribution.sum(axis=0) - posed.instances.weights) <= AGREEMENT).all()
    ):
        problems.append("worst_case_distribution_ moves mass from one sample to another")
        return None
    if not ((distribution >= 0.0).all() and abs(distribution.sum() - 1.0) <= AGREEMENT):
        problems.append("worst_case_distribution_ is not a distribution on these samples")
        return None
    return distribution


def _recompute_ball(fit: PosedFit) -> Certificate:
    """The bounds of a ``MinimaxRiskKernelClassifier``, from its coefficients and distribution."""
    model, problems = fit.model, list[str]()
    posed = pose_ball(model, fit.data, model.radius_seed_)
    problem, upper, lower = posed.problem, np.nan, np.nan
    dual_coef = np.asarray(model.dual_coef_)
    expected = (problem.coding.n_blocks, problem.n_instances)
    if dual_coef.shape != expected:
        problems.append(f"dual_coef_ has shape {dual_coef.shape}, the data need {expected}")
    elif not np.isfinite(dual_coef).all():
        problems.append("dual_coef_ is not finite")
    else:
        coefficients = problem.orientation * dual_coef
        upper = problem.upper_bound(coefficients)
        _confirm("worst_case_error_", model.worst_case_error_, upper, problems)
        threshold = problem.threshold_of(problem.scores_of(coefficients))
        _confirm("threshold_", model.threshold_, threshold, problems)
        if hasattr(model, "coef_"):
            coef, intercept = posed.linear(dual_coef)
            _confirm("coef_", model.coef_, coef, problems)
            _confirm("intercept_", model.intercept_, intercept, problems)
    distribution = _stored_distribution(model, posed, problems)
    if distribution is not None:
        lower = problem.lower_bound(distribution).bound
        _confirm("worst_case_error_lower_", model.worst_case_error_lower_, lower, problems)
    if lower > upper + 1e-12:
        problems.append(f"the lower bound {lower} is not below the upper bound {upper}")
    _confirm("radius_", model.radius_, posed.factor, problems)
    _confirm("ball_radius_", model.ball_radius_, problem.radius, problems)
    _confirm("coverage_", model.coverage_, coverage_of(model), problems)
    _confirm("coding_", model.coding_, problem.coding.name, problems)
    _confirm("rows_", model.rows_, posed.instances.rows, problems)
    gap = float(model.worst_case_error_ - model.worst_case_error_lower_)
    _confirm("optimality_gap_", model.optimality_gap_, gap, problems)
    # What predicts, besides the coefficients.
    if model._products != posed.products:
        problems.append("the kernel is not the one that the parameters and the data give")
    for stored, again in zip(vars(model._space).values(), vars(posed.space).values(), strict=True):
        _confirm("the mean of the kernel", stored, again, problems)
    kept = model.X_fit_
    if kept is not None and not (kept.shape == posed.X.shape and abs(kept - posed.X).max() == 0.0):
        problems.append("X_fit_ does not hold the instances of the data")
    return Certificate(lower, upper, upper - lower, valid=not problems, problems=tuple(problems))


def _recompute_ensemble(
    model: Any, data: TrainingData, posed: PosedProblem, problems: list[str]
) -> tuple[float, float]:
    """U and L of the average of the members, and whatever else is said of it."""
    fitted, scale = average_rule_of(model), posed.problem.scale
    if not fitted.is_finite:
        problems.append("the coefficients in members_ or ball_ are not finite")
        return np.nan, np.nan
    loss = 1.0 - fitted.probabilities(take_rows(data.X, posed.instances.rows))
    objective = ExpectedLoss(loss, posed.problem.marginal)
    upper = _recompute_upper_of_loss(model, posed, objective, problems)
    lower = _recompute_lower(model, posed, objective, problems)
    importance = fitted.use_of_components(scale)[:, scale.n_leading :].sum(axis=0)
    _check_use(model, importance, fitted.selected, problems)
    _check_selections(model, fitted, problems)
    _check_out_of_bag(model, fitted, data, problems)
    return upper, lower


def _recompute_upper_of_loss(
    model: Any, posed: PosedProblem, objective: ExpectedLoss, problems: list[str]
) -> float:
    """What the stored affine function proves about the loss."""
    problem, stored = posed.problem, model.worst_case_proof_
    if not stored.is_finite:
        problems.append("worst_case_proof_ is not finite")
        return np.nan
    mu = -stored.to_mu(problem.scale)
    constant = None if problem.marginal.is_known else objective.conjugate(problem.scores_of(mu))
    _confirm("the threshold of worst_case_proof_", stored.threshold, constant, problems)
    again = LinearRule.from_mu(-mu, None, problem.coding, problem.scale)
    _confirm("the intercept of worst_case_proof_", stored.intercept, again.intercept, problems)
    upper = min(1.0, upper_bound(problem, objective, mu))
    _confirm("worst_case_error_", model.worst_case_error_, upper, problems)
    return upper


def _check_selections(model: Any, fitted: AverageRule, problems: list[str]) -> None:
    selections = [rule.columns for rule in fitted.members]
    found = SelectionStability.of(selections, model.n_features_in_, threshold=model.threshold)
    for name in ("selection_frequencies", "n_selected_per_subsample", "average_selected"):
        _confirm(f"{name}_", getattr(model, f"{name}_"), getattr(found, name), problems)
    if hasattr(model, "false_selection_bounds_"):
        stored, again = (
            _comparable(list(vars(bounds).values()))
            for bounds in (model.false_selection_bounds_, found.false_selection_bounds)
        )
        _confirm("false_selection_bounds_", stored, again, problems)


def _check_out_of_bag(model: Any, fitted: AverageRule, data: TrainingData, problems: list[str]) -> None:
    in_bag, expected = np.asarray(model.in_bag_), (len(fitted.members), len(data.labels))
    if in_bag.shape != expected or in_bag.dtype != np.bool_:
        problems.append(f"in_bag_ has shape {in_bag.shape}, the members and the data need {expected}")
        return
    of_ball = model.ball_oob_proba_
    if (of_ball is None) != (fitted.ball is None):
        problems.append("ball_ and ball_oob_proba_ must both be there or not")
        return
    found = out_of_bag(fitted, data, in_bag, unit_of_row(data), of_ball)
    for field in fields(OutOfBag):
        stored, again = getattr(model, f"{field.name}_"), getattr(found, field.name)
        _confirm(f"{field.name}_", _comparable(stored), _comparable(again), problems)


def _comparable(values: Any) -> np.ndarray:
    """NaN becomes -1, so that NaNs compare equal."""
    return np.nan_to_num(np.asarray(values, dtype=np.float64), nan=-1.0)


def _confirm(name: str, stored: Any, recomputed: Any, problems: list[str]) -> None:
    if _agree(stored, recomputed):
        return
    if np.ndim(stored) or np.ndim(recomputed):
        problems.append(f"{name} is not what the data and the parameters make of it")
    else:
        plain, again = np.asarray(stored).item(), np.asarray(recomputed).item()
        problems.append(f"{name} is {plain!r}, recomputed {again!r}")


def _agree(stored: Any, recomputed: Any) -> bool:
    if stored is None or recomputed is None or isinstance(recomputed, str):
        return isinstance(stored, type(recomputed)) and bool(stored == recomputed)
    stored, recomputed = np.asarray(stored), np.asarray(recomputed)
    if stored.shape != recomputed.shape or stored.dtype.kind not in "fiu":
        return False
    # NaN fails the comparison.
    return bool((np.abs(stored - recomputed) <= AGREEMENT * np.maximum(1.0, np.abs(recomputed))).all())
