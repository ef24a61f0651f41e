"""Is what a fitted model claims true? Recomputed from data, coefficients and distribution alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk.guarantees.certified import (
    MEMBERS,
    Estimator,
    can,
    has_proof,
    meaning_of_set,
    unwrapped,
)
from minimaxrisk.guarantees.fitted_problem import FittedProblem, as_fitted_problem

# How closely a stored number must agree with the one recomputed.
AGREEMENT = 1e-9
LOWER, UPPER = "worst_case_error_lower_", "worst_case_error_"


@dataclass(frozen=True)
class Certificate:
    """Bounds on R* recomputed from data, coefficients and distribution, and whether the model agrees.

    For an ensemble they bound the worst case of its own rule. What the solver did (``solver_``,
    ``converged_``, ``n_passes_``, ``history_``) is not checked, and no claim depends on it.

    Attributes
    ----------
    lower, upper, gap : float
        The recomputed bounds and their difference; NaN where one cannot be computed, since the data have
        other labels or another number of rows.
    valid : bool
        True when everything is finite, the stored distribution is one, ``lower <= upper``, and the stored
        bounds, radii, coverage and all that is derived from them are confirmed.
    problems : tuple of str
        What is wrong where ``valid`` is False.
    coverage : float or None
        The confidence that goes with the radii, ``coverage_`` of the model. None if none is stated:
        R* is then not a bound on the error. ``print`` shows which it is.
    """

    lower: float
    upper: float
    gap: float
    valid: bool
    problems: tuple[str, ...] = ()
    coverage: float | None = None

    def __str__(self) -> str:
        if not self.valid:
            return f"The certificate is not valid: {'; '.join(self.problems)}."
        return (
            f"The certificate is valid: {self.lower:.6f} <= R* <= {self.upper:.6f}. "
            f"{meaning_of_set(self.coverage)}"
        )


def verify(
    model: Estimator | FittedProblem,
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
    model : estimator or FittedProblem
        A fitted classifier of this library that has a certificate, alone, at the end of a pipeline or in a
        search; or a ``FittedProblem``, which has the data and keeps the certificate. That the members of
        an ensemble have not seen the samples outside ``in_bag_`` is not checked.
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features) or None, default=None
        The instances that it was fitted on. With other data the certificate is not valid.
    y : array-like of shape (n_samples,) or None, default=None
        Their labels.
    sample_weight, X_unlabeled, groups : array-like or None, default=None
        What else ``fit`` was given.

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
    fit = as_fitted_problem(model, X, y, sample_weight=sample_weight, X_unlabeled=X_unlabeled, groups=groups)
    if fit.certificate is None:
        with suitable_threads(len(fit.data.labels)):
            fit.certificate = _recompute(fit)
    return fit.certificate


def was_fitted_on(model: Estimator, X: Any, y: Any, groups: Any = None) -> bool:
    """Whether these are the data of the fit, all of them in their order, by its proof.

    An ensemble without a proof has importances in its place. Other models without a proof, and models of
    samples with weights, do not tell.
    """
    inner, before = unwrapped(model)
    if can(inner, MEMBERS) and not has_proof(inner):
        return bool(inner._was_fitted_on(X if before is None else before.transform(X), y))
    if not has_proof(inner) or len(inner.worst_case_distribution_) != len(y):
        return False
    if not np.array_equal(np.unique(y), inner.classes_):
        return False
    return any(
        verify(model, X, y, groups=units).valid for units in ([None] if groups is None else [None, groups])
    )


def _recompute(fit: FittedProblem) -> Certificate:
    model, problems = fit.model, list[str]()
    if not np.array_equal(fit.data.classes, model.classes_):
        problem = f"the labels are {fit.data.classes.tolist()}, the model knows {model.classes_.tolist()}"
        return Certificate(np.nan, np.nan, np.nan, valid=False, problems=(problem,))
    bounds, posed = {LOWER: np.nan, UPPER: np.nan}, fit.posed_by_parameters
    try:
        for name, stored, recomputed in model._claims(posed, fit.data):
            _confirm(name, stored, recomputed, problems)
            if name in bounds:
                bounds[name] = recomputed
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # What a fit has not stored can be anything.
        problems.append(f"what the model stores cannot be read ({type(error).__name__}: {error})")
    lower, upper = bounds[LOWER], bounds[UPPER]
    if lower > upper + 1e-12:  # rounding may cross the bounds at R*; NaN has its own entry already
        problems.append(f"the lower bound {lower} is not below the upper bound {upper}")
    gap = float(model.worst_case_error_ - model.worst_case_error_lower_)
    _confirm("optimality_gap_", model.optimality_gap_, gap, problems)
    return Certificate(lower, upper, upper - lower, not problems, tuple(problems), model.coverage_)


def _confirm(name: str, stored: Any, recomputed: Any, problems: list[str]) -> None:
    if _agree(stored, recomputed):
        return
    if recomputed is True:
        problems.append(f"{name}: this is false")
    elif np.ndim(stored) or np.ndim(recomputed):
        problems.append(f"{name} is not what the data and the parameters make of it")
    else:
        plain, again = np.asarray(stored).item(), np.asarray(recomputed).item()
        problems.append(f"{name} is {plain!r}, recomputed {again!r}")


def _agree(stored: Any, recomputed: Any) -> bool:
    if stored is None or recomputed is None or isinstance(recomputed, str | bool):
        return isinstance(stored, type(recomputed)) and bool(stored == recomputed)
    stored, recomputed = np.asarray(stored), np.asarray(recomputed)
    if stored.shape != recomputed.shape or stored.dtype.kind not in "fiu":
        return False
    # NaN fails the comparison.
    return bool((np.abs(stored - recomputed) <= AGREEMENT * np.maximum(1.0, np.abs(recomputed))).all())
