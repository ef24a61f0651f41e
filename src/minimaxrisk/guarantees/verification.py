"""A fitted model read again: what kind it is, the problem it was posed, the rule it stores.

There are two kinds. A classifier stores one linear rule, an ensemble (``members_``) several whose average it
takes. Both store the same about the uncertainty set. What the set is, the parameters of a classifier say: the
model's own, or those of the ``estimator_`` that an ensemble is made of.

Is what a fitted model claims true? Recomputed from data, coefficients and distribution alone.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.containers import take_rows
from minimaxrisk.features.matrix import ColumnScale
from minimaxrisk.guarantees.false_selections import SelectionStability
from minimaxrisk.guarantees.statement import clopper_pearson_limit
from minimaxrisk.problem import rule
from minimaxrisk.problem import rule as rules
from minimaxrisk.problem.objective import ExpectedLoss, Objective
from minimaxrisk.problem.pose import PosedProblem, pose
from minimaxrisk.problem.problem import lower_bound, upper_bound
from minimaxrisk.problem.rule import AverageRule, LinearRule
from minimaxrisk.samples.units import unit_of_row
from minimaxrisk.samples.validation import TrainingData, check_training_data
from minimaxrisk.uncertainty.radius import RadiusRule, split_level
from minimaxrisk.uncertainty.rules import GivenRadii, Multiple, radius_rule_of


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


# How closely a stored number must agree with the one recomputed.
AGREEMENT = 1e-9


@dataclass(frozen=True)
class Certificate:
    """Bounds on R* recomputed from data, coefficients and distribution, and whether they bear the model out.

    Of an ensemble they are bounds on the worst case of its own rule.

    What the solver did on its way (``solver_``, ``converged_``, ``n_passes_``, ``history_``) no data can
    confirm, and no claim rests on it.

    Attributes
    ----------
    lower, upper : float
        The recomputed bounds. One that cannot be computed, since the data have other labels or another number
        of rows, is NaN.
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
    model: Any, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None, *, groups: Any = None
) -> Certificate:
    """Recompute what a fitted model claims from its training data; no solver is called.

    The radii are set anew by the model's own rule, so that a coverage, a factor or radii that were written by
    hand are found; then everything that rests on them.

    Parameters
    ----------
    model : MinimaxRiskClassifier or MinimaxRiskEnsembleClassifier
        A fitted classifier or ensemble. Of an ensemble's members no more is asked than that all it states
        follows from them; that they have not seen the samples which ``in_bag_`` leaves out, no data can
        confirm.
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        The instances that it was fitted on. With other data the certificate is not valid.
    y : array-like of shape (n_samples,)
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
    error_bounds : The smallest and the largest error of the rule over the same set, by a solver.

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
    check_model(model)
    data = training_data_of(model, X, y, sample_weight, X_unlabeled, groups=groups)
    if not np.array_equal(data.classes, model.classes_):
        problem = f"the labels are {data.classes.tolist()}, the model knows {model.classes_.tolist()}"
        return Certificate(np.nan, np.nan, np.nan, valid=False, problems=(problem,))
    posed = pose_anew(model, data)
    problems: list[str] = []
    if is_ensemble(model):
        upper, lower = _recompute_ensemble(model, data, posed, unit_of_row(data), problems)
    else:
        upper = _recompute_upper(model, posed, problems)
        lower = _recompute_lower(model, posed, posed.problem.objective, problems)
        _check_derived(model, posed, problems)
    if lower > upper + 1e-12:  # rounding may cross the bounds at R*; NaN has its own entry already
        problems.append(f"the lower bound {lower} is not below the upper bound {upper}")
    _check_radii(model, posed, problems)
    _confirm("optimality_gap_", model.optimality_gap_, _stored_gap(model), problems)
    doubled = min(1.0, 2.0 * model.worst_case_error_)
    _confirm("deterministic_error_bound_", model.deterministic_error_bound_, doubled, problems)
    return Certificate(lower, upper, upper - lower, valid=not problems, problems=tuple(problems))


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
    used = np.flatnonzero(coef.any(axis=0))
    _confirm("feature_importances_", model.feature_importances_, importance, problems)
    _confirm("selected_features_", model.selected_features_, used, problems)
    _confirm("n_features_selected_", model.n_features_selected_, len(used), problems)
    n_iter = model.history_[-1]["iteration"] if model.history_ else 0
    _confirm("n_iter_", model.n_iter_, n_iter, problems)
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
    again = LinearRule.from_mu(mu, None, problem.coding, problem.scale)
    if not _agree(stored.intercept, again.intercept):
        problems.append("intercept_ is not the one that goes with coef_ when there is no intercept")
    _confirm("threshold_", model.threshold_, problem.threshold_of(mu), problems)
    upper = upper_bound(problem, problem.objective, mu)
    _confirm("worst_case_error_", model.worst_case_error_, upper, problems)
    return upper


def _recompute_lower(model: Any, posed: PosedProblem, objective: Objective, problems: list[str]) -> float:
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
    lower = lower_bound(posed.problem, objective, distribution).bound
    _confirm("worst_case_error_lower_", model.worst_case_error_lower_, lower, problems)
    return lower


def _recompute_ensemble(
    model: Any, data: TrainingData, posed: PosedProblem, units: IntArray, problems: list[str]
) -> tuple[float, float]:
    """U and L of the average of the members, and whatever else is said of it."""
    fitted, scale = AverageRule(model.members_), posed.problem.scale
    if not all(np.isfinite(rule.coef).all() and np.isfinite(rule.intercept).all() for rule in fitted.members):
        problems.append("the coefficients in members_ are not finite")
        return np.nan, np.nan
    loss = 1.0 - fitted.probabilities(take_rows(data.X, posed.instances.rows))
    objective = ExpectedLoss(loss, posed.problem.marginal)
    upper = _recompute_upper_of_loss(model, posed, objective, problems)
    lower = _recompute_lower(model, posed, objective, problems)
    importance = fitted.use_of_components(scale)[:, scale.n_leading :].sum(axis=0)
    _confirm("feature_importances_", model.feature_importances_, importance, problems)
    _confirm("selected_features_", model.selected_features_, fitted.columns, problems)
    _confirm("n_features_selected_", model.n_features_selected_, len(fitted.columns), problems)
    _check_selections(model, fitted, problems)
    _check_out_of_bag(model, fitted, data, units, problems)
    return upper, lower


def _recompute_upper_of_loss(
    model: Any, posed: PosedProblem, objective: ExpectedLoss, problems: list[str]
) -> float:
    """What the stored affine function proves about the loss."""
    problem, stored = posed.problem, model.worst_case_proof_
    if not (np.isfinite(stored.coef).all() and np.isfinite(stored.intercept).all()):
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


def _check_out_of_bag(
    model: Any, fitted: AverageRule, data: TrainingData, units: IntArray, problems: list[str]
) -> None:
    in_bag, expected = np.asarray(model.in_bag_), (len(fitted.members), len(data.labels))
    if in_bag.shape != expected or in_bag.dtype != np.bool_:
        problems.append(f"in_bag_ has shape {in_bag.shape}, the members and the data need {expected}")
        return
    found = out_of_bag(fitted, data, in_bag, units)
    for field in fields(OutOfBag):
        stored, again = getattr(model, f"{field.name}_"), getattr(found, field.name)
        _confirm(f"{field.name}_", _comparable(stored), _comparable(again), problems)


def _comparable(values: Any) -> np.ndarray:
    """With a number that is none of theirs where there is no number, so that such places agree."""
    return np.nan_to_num(np.asarray(values, dtype=np.float64), nan=-1.0)


def _stored_gap(model: Any) -> float:
    return float(model.worst_case_error_ - model.worst_case_error_lower_)


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


# The probability that the interval is to cover.
LEVEL = 0.95


@dataclass(frozen=True)
class OutOfBag:
    """The fields are fitted attributes of an ensemble, without the underscore."""

    oob_proba: FloatArray  # n x K; NaN for samples that every member has seen
    oob_error: float
    oob_error_interval: tuple[float, float]


def out_of_bag(fitted: AverageRule, data: TrainingData, in_bag: BoolArray, units: IntArray) -> OutOfBag:
    """Judge each sample by the members that have not seen it (``in_bag`` is members x samples).

    ``units`` says which samples belong together (-1: weight zero); the interval counts units, by their
    weight. Parts hold some of every class and leave some out, so that the share seen is neither 0 nor 1.
    """
    total = np.zeros((len(data.classes), len(data.labels)))
    for seen, probabilities in zip(in_bag, fitted.probabilities_of_members(data.X), strict=True):
        total += np.where(seen, 0.0, probabilities)
    n_judges = (~in_bag).sum(axis=0)
    average = np.divide(total, n_judges, out=np.full_like(total, np.nan), where=n_judges > 0)
    judged = np.flatnonzero((n_judges > 0) & (data.weights > 0))
    errs = rule.arg_max(average[:, judged]) != data.labels[judged]
    weights = data.weights[judged]
    if len(judged) == 0:
        return OutOfBag(average.T, np.nan, (0.0, 1.0))
    error = float(weights @ errs / weights.sum())
    unit_weight = np.bincount(units[judged], weights)
    # As many independent samples of equal weight would say as much.
    n_units = float(unit_weight.sum() ** 2 / np.sum(unit_weight**2))
    # A unit has the number of its first sample.
    n_members, share_seen = len(in_bag), float(in_bag[:, np.unique(units[units >= 0])].mean())
    n = n_units / (1.0 / (n_members * (1.0 - share_seen)) + 1.0 / share_seen)
    return OutOfBag(average.T, error, approximate_interval(error, n))


def approximate_interval(error: float, n: float) -> tuple[float, float]:
    """The limits of Clopper and Pearson for a share among n independent samples."""
    one_sided = 0.5 * (1.0 + LEVEL)
    upper = clopper_pearson_limit(error * n, n, one_sided)
    return 1.0 - clopper_pearson_limit((1.0 - error) * n, n, one_sided), upper
