"""What estimators share besides their data: parameters that need a look at X, and columns written down."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from minimaxrisk._utils.notices import CoverageWarning, UninformativeRadiusWarning, warn
from minimaxrisk.engines.settings import FIRST_ORDER_GAP_TOL, GAP_TOL, EngineSettings
from minimaxrisk.guarantees.fitted_model import coverage_of, parameters_of
from minimaxrisk.problem.pose import PosedProblem, pose
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.radius import Radii, RadiusRule

# Whole numbers as weights that make more samples of a row than this, on average, may be no counts.
MANY_COPIES = 10
SCORE = (
    "worst_case_error_ is a score and not a bound on the error: it can be small even if the labels are pure "
    "noise. Use radius='bootstrap' for a bound, or minimaxrisk.permutation_test to see what noise would "
    "score."
)


def radius_seed_of(model: Any) -> int:
    """The seed of the draws of a radius rule: a number has to be computed, without a seed always the same."""
    drawn = model.random_state is not None and isinstance(model.radius, str)
    return int(check_random_state(model.random_state).randint(2**31 - 1)) if drawn else 0


def engine_settings_of(model: Any, n_features: int) -> EngineSettings:
    """What the parameters of a ``MinimaxRiskClassifier`` say about the computation."""
    named = model.gap_tol is not None
    return EngineSettings(
        solver=model.solver,
        initial_features=check_initial_features(model.initial_features, n_features),
        n_max=model.max_features_per_iter,
        epsilon=model.tol,
        max_iter=model.max_iter,
        gap_tol=model.gap_tol if named else GAP_TOL,
        first_order_gap_tol=model.gap_tol if named else FIRST_ORDER_GAP_TOL,
    )


def pose_by(model: Any, data: TrainingData, rule: RadiusRule) -> PosedProblem:
    """The problem that the parameters of a ``MinimaxRiskClassifier`` pose, with radii by this rule."""
    return pose(
        data,
        coding=model.coding,
        rule=rule,
        standardize=model.standardize,
        fit_intercept=model.fit_intercept,
        copy=model.copy,
        marginal_is_known=model.marginal == "empirical",
    )


def refuse_unlabeled_of_known_marginal(marginal: str, X_unlabeled: Any) -> None:
    if marginal == "empirical" and X_unlabeled is not None:
        raise ValueError(
            "X_unlabeled must be None with marginal='empirical', where the adversary cannot move mass to "
            "other instances; pass new instances to guaranteed_error instead, or use marginal='free'."
        )


def describe_set(model: Any, posed: PosedProblem) -> None:
    """Store what the uncertainty set is."""
    problem = posed.problem
    model.tau_, model.lambda_ = problem.tau, problem.lam
    if not parameters_of(model).standardize:
        model.tau_, model.lambda_ = problem.scale.rescaled(problem.tau), problem.scale.rescaled(problem.lam)
    model.radius_ = posed.radii.factor
    model.coverage_ = coverage_of(model)
    model.coverage_remarks_ = posed.radii.remarks
    model.coding_ = problem.coding.name


def warn_about_radius(parameters: Any, n_features: int, data: TrainingData, radii: Radii) -> None:
    """What a caller should know about the radii of the set that a bound is about."""
    for remark in radii.remarks:
        warn(f"{remark}.", CoverageWarning)
    n_samples = int((data.weights > 0).sum())
    n_counted = data.weights.sum() if data.counts is None else n_samples
    if parameters.weight_kind == "auto" and n_counted > MANY_COPIES * n_samples:
        warn(
            f"sample_weight holds whole numbers, so that {n_samples} rows count as {n_counted:.4g} samples. "
            "If they say how much a sample matters, as survey weights do, pass weight_kind='importance': the "
            "radii are far too small otherwise. weight_kind='counts' says that they are counts.",
            CoverageWarning,
        )
    radius = parameters.radius
    is_plain = np.ndim(radius) == 0 and not isinstance(radius, str)
    if is_plain and not radii.covers:
        warn(
            f"with {n_features} features, {n_samples} samples and the plain number "
            f"{radius:g} as radius, {SCORE}",
            UninformativeRadiusWarning,
            in_searches=f"with plain numbers as radii, {SCORE}",
        )


def check_initial_features(value: Any, n_features: int) -> Any:
    """A name as it is, or column indices as an integer array."""
    if isinstance(value, str):
        return value
    columns = np.asarray(value)
    if columns.ndim != 1 or (columns.size and columns.dtype.kind not in "iu"):
        raise ValueError(
            "initial_features must be 'correlation', 'first-order' or a 1-D array of column indices, got an "
            f"array of shape {columns.shape} and type {columns.dtype}."
        )
    outside = columns[(columns < 0) | (columns >= n_features)]
    if outside.size:
        raise ValueError(
            f"initial_features holds the column index {outside[0]}, but X has {n_features} columns "
            f"(0 to {n_features - 1})."
        )
    return columns.astype(np.intp)


def take_over_columns(estimator: Any, checked: Any) -> None:
    """Number and names of the columns, from the copy that validated them."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(checked, name):
            setattr(estimator, name, getattr(checked, name))
    if hasattr(estimator, "feature_names_in_") and not hasattr(checked, "feature_names_in_"):
        del estimator.feature_names_in_
