"""Is the certificate of a fitted model true? Recomputed from data, coefficients and distribution alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk.guarantees.fitted_model import check_model, linear_rule_of, pose_as_fitted, training_data_of
from minimaxrisk.problem.certificate import lower_bound, upper_bound
from minimaxrisk.problem.linear_rule import LinearRule
from minimaxrisk.problem.pose import PosedProblem

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
    posed = pose_as_fitted(model, data)
    problems: list[str] = []
    upper = _recompute_upper(model, posed, problems)
    lower = _recompute_lower(model, posed, problems)
    if lower > upper + 1e-12:  # rounding may cross the bounds at R*; NaN has its own entry already
        problems.append(f"the lower bound {lower} is not below the upper bound {upper}")
    return Certificate(lower, upper, upper - lower, valid=not problems, problems=tuple(problems))


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


def _confirm(name: str, stored: float, recomputed: float, problems: list[str]) -> None:
    if not abs(stored - recomputed) <= AGREEMENT:
        problems.append(f"{name} is {stored!r}, recomputed {recomputed!r}")
