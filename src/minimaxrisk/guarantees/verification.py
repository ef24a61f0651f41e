"""Is what a fitted model claims true? Recomputed from data, coefficients and distribution alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk.guarantees.fitted_model import (
    check_model,
    coverage_of,
    linear_rule_of,
    pose_anew,
    training_data_of,
)
from minimaxrisk.problem.certificate import lower_bound, upper_bound
from minimaxrisk.problem.linear_rule import LinearRule
from minimaxrisk.problem.pose import PosedProblem

# How closely a stored number must agree with the one recomputed.
AGREEMENT = 1e-9


@dataclass(frozen=True)
class Certificate:
    """Bounds on R* recomputed from data, coefficients and distribution, and whether they bear the model out.

    ``valid`` is True when everything is finite, the stored distribution is one, ``lower <= upper``, and the
    stored bounds, radii, coverage and all that is derived from them are confirmed; ``problems`` says what is
    wrong otherwise. A bound that cannot be computed (the data have other labels or another number of rows) is
    NaN. What the solver did on its way (``solver_``, ``converged_``, ``n_passes_``, ``history_``) no data can
    confirm, and no claim rests on it.
    """

    lower: float
    upper: float
    gap: float
    valid: bool
    problems: tuple[str, ...] = ()


def verify(
    model: Any, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None, *, groups: Any = None
) -> Certificate:
    """Recompute what a fitted model claims from its training data; no solver is called.

    The radii are set anew by the model's own rule, so that a coverage, a factor or radii that were written by
    hand are found; then everything that rests on them.

    Parameters
    ----------
    model : MinimaxRiskClassifier
        A fitted classifier.
    X, y, sample_weight, X_unlabeled, groups
        The data that it was fitted on. With other data the certificate is not valid.

    Returns
    -------
    Certificate
    """
    check_model(model)
    data = training_data_of(model, X, y, sample_weight, X_unlabeled, groups=groups)
    if not np.array_equal(data.classes, model.classes_):
        problem = f"the labels are {data.classes.tolist()}, the model knows {model.classes_.tolist()}"
        return Certificate(np.nan, np.nan, np.nan, valid=False, problems=(problem,))
    posed = pose_anew(model, data)
    problems: list[str] = []
    upper = _recompute_upper(model, posed, problems)
    lower = _recompute_lower(model, posed, problems)
    if lower > upper + 1e-12:  # rounding may cross the bounds at R*; NaN has its own entry already
        problems.append(f"the lower bound {lower} is not below the upper bound {upper}")
    _check_radii(model, posed, problems)
    _check_derived(model, posed, problems)
    return Certificate(lower, upper, upper - lower, valid=not problems, problems=tuple(problems))


def _check_radii(model: Any, posed: PosedProblem, problems: list[str]) -> None:
    """Moments, radii and the probability that goes with them."""
    problem, scale = posed.problem, posed.problem.scale
    tau, lam = problem.tau, problem.lam
    if not model.standardize:
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
    used = np.flatnonzero(coef.any(axis=0))
    gap = model.worst_case_error_ - model.worst_case_error_lower_
    _confirm("feature_importances_", model.feature_importances_, importance, problems)
    _confirm("selected_features_", model.selected_features_, used, problems)
    _confirm("n_features_selected_", model.n_features_selected_, len(used), problems)
    _confirm("optimality_gap_", model.optimality_gap_, gap, problems)
    doubled = min(1.0, 2.0 * model.worst_case_error_)
    _confirm("deterministic_error_bound_", model.deterministic_error_bound_, doubled, problems)
    _confirm("n_iter_", model.n_iter_, len(model.history_), problems)
    for number, stage in enumerate(model.stages_):
        again = LinearRule.of_problem(stage.to_mu(scale), posed.problem)
        _confirm(f"the threshold of stages_[{number}]", stage.threshold, again.threshold, problems)


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
    _confirm("threshold_", model.threshold_, problem.threshold_of(mu), problems)
    upper = upper_bound(problem, problem.objective, mu)
    _confirm("worst_case_error_", model.worst_case_error_, upper, problems)
    return upper


def _recompute_lower(model: Any, posed: PosedProblem, problems: list[str]) -> float:
    """L of the stored distribution."""
    stored = np.asarray(model.worst_case_distribution_)
    expected = (len(posed.instances.instance_of_row), len(model.classes_))
    if stored.shape != expected:
        problems.append(f"worst_case_distribution_ has shape {stored.shape}, the data need {expected}")
        return np.nan
    distribution = posed.instances.from_rows(stored)
    # NaN fails all comparisons.
    if (
        posed.problem.marginal.is_known
        and not (np.abs(distribution.sum(axis=0) - posed.instances.weights) <= AGREEMENT).all()
    ):
        problems.append("worst_case_distribution_ moves mass from one sample to another")
        return np.nan
    if not ((distribution >= 0.0).all() and abs(distribution.sum() - 1.0) <= AGREEMENT):
        problems.append("worst_case_distribution_ is not a distribution on these samples")
        return np.nan
    lower = lower_bound(posed.problem, posed.problem.objective, distribution).bound
    _confirm("worst_case_error_lower_", model.worst_case_error_lower_, lower, problems)
    return lower


def _confirm(name: str, stored: Any, recomputed: Any, problems: list[str]) -> None:
    if _agree(stored, recomputed):
        return
    if np.ndim(stored) or np.ndim(recomputed):
        problems.append(f"{name} is not what the data and the parameters make of it")
    else:
        problems.append(f"{name} is {stored!r}, recomputed {recomputed!r}")


def _agree(stored: Any, recomputed: Any) -> bool:
    if stored is None or recomputed is None or isinstance(recomputed, str):
        return bool(stored is recomputed or stored == recomputed)
    stored, recomputed = np.asarray(stored), np.asarray(recomputed)
    if stored.shape != recomputed.shape or stored.dtype.kind not in "fiu":
        return False
    # NaN fails the comparison.
    return bool((np.abs(stored - recomputed) <= AGREEMENT * np.maximum(1.0, np.abs(recomputed))).all())
