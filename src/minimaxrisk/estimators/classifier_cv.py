"""The classifier with a radius chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import check_scoring, get_scorer_names

from minimaxrisk._utils import choices
from minimaxrisk._utils.arguments import counted, is_integer, parameters_by_keyword
from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk._utils.notices import is_silenced, one_warning, silenced
from minimaxrisk._utils.parallel import parallel_map, progress_bar
from minimaxrisk._utils.sklearn_private import HasMethods, Interval, StrOptions, fit_context
from minimaxrisk._utils.stored_tables import in_memory, take_rows
from minimaxrisk.engines.radius_path.radii import (
    GAP,
    Envelope,
    RadiusFamily,
    Report,
    SolvedRadius,
    radius_path,
)
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.fit_support import (
    CURVED,
    start_over,
    warn_about_lost_classes,
    warn_about_work,
)
from minimaxrisk.estimators.out_of_bag import calibration_weights
from minimaxrisk.estimators.prediction import PredictionMixin, predicted_labels
from minimaxrisk.exceptions import LargeFitWarning, UnderfitWarning
from minimaxrisk.guarantees.calibrated_decision import CalibratedDecision, CalibratedRule
from minimaxrisk.guarantees.certified import CALIBRATED, CHOSEN_RADIUS, OTHER_LABELS, Certified, Claim
from minimaxrisk.guarantees.fitted_problem import data_for_fit
from minimaxrisk.problem.pose import PosedBox, pose_by
from minimaxrisk.problem.problem import Box
from minimaxrisk.problem.rule import LinearRule
from minimaxrisk.problem.sets import BOX
from minimaxrisk.samples.folds import Fold, folds_of_cv
from minimaxrisk.samples.groups import codes_of_groups
from minimaxrisk.samples.validation import TrainingData, check_training_data
from minimaxrisk.uncertainty.radius import SMALLEST_RADIUS
from minimaxrisk.uncertainty.rules import Multiple


@dataclass(frozen=True)
class SolvedPath:
    """What was solved, radii ascending: those asked for, and others where they were met."""

    problem: Box
    solved: list[SolvedRadius]
    envelope: Envelope

    def rule(self, solved: SolvedRadius) -> LinearRule:
        return LinearRule.of_some(solved.stage.components, solved.stage.values, self.problem)


def check_radii(radii: Any) -> FloatArray:
    """Positive numbers, in any order."""
    given = np.asarray(radii)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "fiu":
        raise ValueError(
            "radii must be a 1-D array of at least one number, got shape "
            f"{given.shape} and type {given.dtype}; pass a list of factors such as [0.5, 1, 2]."
        )
    values = given.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
    if len(wrong):
        raise ValueError(
            f"radii must be positive and finite, got {values[wrong[0]]} at position {wrong[0]}; leave it out."
        )
    return values


def solve_path(
    model: MinimaxRiskClassifier,
    data: TrainingData,
    ascending: FloatArray,
    *,
    posed: PosedBox | None = None,
    everywhere: bool = False,
    gap: float = GAP,
    report: Report = lambda solved: None,
) -> SolvedPath:
    """Solve for the radii, which ascend strictly, with the parameters of a ``MinimaxRiskClassifier``.

    On features that were ``posed`` before, if they are given. Where a vertex is followed, the bounds are
    nearer to each other than ``gap``.
    """
    rule = Multiple(ascending[-1], moderation=model.moderation)
    with suitable_threads(len(data.labels)):
        problem = (pose_by(model, data, rule) if posed is None else posed.with_radii(rule)).problem
        family = RadiusFamily(problem, ascending[0], ascending[-1], gap)
        solved = radius_path(family, ascending[::-1], everywhere=everywhere, report=report)
    return SolvedPath(problem, solved[::-1], family.envelope(solved[::-1]))


# The default grid: so many radii, from this fraction of the largest one up to it.
N_RADII, SMALLEST_FRACTION = 20, 0.01
# Radii tried between two of the grid for a number of columns.
N_BETWEEN = 9
# A little beyond the radius at which nothing is selected, where rounding has no say.
BEYOND = 1.001
# The gap of folds with several classes, whose vertices take half of the time. With 1e-3 another radius is
# chosen on Lung_1543; with 1e-4 the same as with 1e-8 on ten of eleven real sets, and on CLL_SUB_111 the next
# smaller one, whose loss is within a standard error. Two classes have theirs at little cost.
FOLD_GAP_OF_SEVERAL = 1e-4
# Losses closer than this are equal: folds may be added up in another order.
TIE = 1e-12

WHOSE = " of estimator"  # the parameters that advice names


@dataclass(frozen=True)
class Sample:
    """Checked rows, their labels and, where any were given, weights and groups."""

    X: DataMatrix
    y: np.ndarray
    weights: FloatArray | None
    groups: IntArray | None

    def rows(self, rows: IntArray) -> Sample:
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        return Sample(take_rows(self.X, rows), self.y[rows], weights, groups)

    def checked_by(self, estimator: MinimaxRiskClassifier) -> TrainingData:
        """With the class weights of the estimator."""
        weights, groups = self.weights, self.groups
        return data_for_fit(clone(estimator), estimator, self.X, self.y, sample_weight=weights, groups=groups)


def ascending_radii(radii: Any) -> FloatArray:
    """The same, ascending strictly."""
    values = check_radii(radii)
    wrong = np.flatnonzero(np.diff(values) <= 0.0)
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(
            f"radii must ascend, but {values[i + 1]:g} at position {i + 1} follows {values[i]:g}; pass "
            "np.unique(radii)."
        )
    return values


def default_radii(
    estimator: MinimaxRiskClassifier, data: TrainingData, posed: PosedBox | None = None
) -> FloatArray:
    r"""Evenly spaced by ratio, up to a radius at which nothing is learned.

    If every instance has its labels with the same probability, no rule errs less than 1 - 1/K. That
    distribution, on the instances as they are, lies within the radii from the factor
    :math:`\max_j |\tau_j - m_j| / \lambda_j(1)` on, with its moments m; there R* is 1 - 1/K. With the signed
    coding m is zero whatever the instances, and it is the smallest such factor. Components without variance
    are left out: their radii stay as they are.
    """
    with suitable_threads(len(data.labels)):
        one = Multiple(1.0, moderation=estimator.moderation)
        posed = pose_by(estimator, data, one) if posed is None else posed.with_radii(one)
        problem, n_classes = posed.problem, len(data.classes)
        even = np.tile(posed.instances.p_hat.sum(axis=0) / n_classes, (n_classes, 1))
        deviation = np.abs(problem.features.correlate(problem.coding.encode(even)) - problem.tau)
    varies = problem.lam > SMALLEST_RADIUS
    largest = float((deviation[varies] / problem.lam[varies]).max(initial=0.0))
    largest = BEYOND * largest if largest > 0.0 else 1.0
    return np.geomspace(SMALLEST_FRACTION * largest, largest, N_RADII)


def folds_of(cv: Any, data: TrainingData, groups: IntArray | None, random_state: Any) -> list[Fold]:
    """Return the folds of ``cv``, without samples of weight zero, and with every class to learn from."""
    labels, used = data.classes[data.labels], np.flatnonzero(data.weights > 0)
    if cv is None or is_integer(cv) or hasattr(cv, "split"):
        of_used = None if groups is None else groups[used]
        dealt = folds_of_cv(cv, labels[used], of_used, random_state=random_state)
        folds = [(used[train], used[left_out]) for train, left_out in dealt]
    else:
        given = folds_of_cv(cv, labels)
        folds = [(train[data.weights[train] > 0], test[data.weights[test] > 0]) for train, test in given]
    for i, (train, test) in enumerate(folds):
        missing = np.setdiff1d(np.arange(len(data.classes)), data.labels[train])
        if len(missing):
            raise ValueError(
                f"cv must leave samples of every class to learn from, but those of class "
                f"{data.classes.tolist()[missing[0]]!r} are all in fold {i}; pass a number of folds as cv."
            )
        if len(test) == 0:
            raise ValueError(f"cv must leave samples to test on, but fold {i} has none of positive weight.")
    return folds


@dataclass(frozen=True)
class FoldOutcome:
    """A fold judged by models learned without it, one for each radius."""

    losses: FloatArray
    n_features: IntArray  # how many columns they select
    scores: FloatArray  # n_radii x n_left_out x K


@dataclass(frozen=True)
class LossOfRadii:
    """Losses and scores on a fold of models learned without it."""

    estimator: MinimaxRiskClassifier
    sample: Sample
    radii: FloatArray
    scoring: str | Callable[..., float] | None

    def __call__(self, fold: Fold) -> FoldOutcome:
        train, test = fold
        data = self.sample.rows(train).checked_by(self.estimator)
        gap = GAP if len(data.classes) == 2 else FOLD_GAP_OF_SEVERAL
        with suitable_threads(len(data.labels)):
            path = solve_path(self.estimator, data, self.radii, gap=gap)
            rules = [path.rule(one) for one in path.solved]
        left_out = self.sample.rows(test)
        loss = self._share_of_errors if self.scoring is None else self._minus_score
        return FoldOutcome(
            np.array([loss(rule, data.classes, left_out) for rule in rules]),
            np.array([len(rule.columns) for rule in rules], dtype=np.intp),
            np.array([rule.scores(in_memory(left_out.X)).T for rule in rules]),
        )

    def _share_of_errors(self, rule: LinearRule, classes: np.ndarray, on: Sample) -> float:
        """By the class with the largest score, also where the classifier itself draws labels."""
        return float(np.average(predicted_labels(rule, classes, on.X) != on.y, weights=on.weights))

    def _minus_score(self, rule: LinearRule, classes: np.ndarray, on: Sample) -> float:
        model = clone(self.estimator).set_params(deterministic=True)
        model.classes_, model.n_features_in_, model._fitted_parameters = classes, on.X.shape[1], model
        model.coef_, model.intercept_, model.threshold_ = rule.full_coef, rule.intercept, rule.threshold
        weights = {} if on.weights is None else {"sample_weight": on.weights}
        return -check_scoring(model, self.scoring)(model, on.X, on.y, **weights)


def decision_of_folds(
    folds: list[Fold], outcomes: list[FoldOutcome], position: int, data: TrainingData
) -> CalibratedDecision:
    """Calibrate by the mean score of each sample over the folds that leave it out, at one of the radii."""
    total, n_scores = np.zeros((len(data.labels), len(data.classes))), np.zeros(len(data.labels))
    for (_, left_out), outcome in zip(folds, outcomes, strict=True):
        np.add.at(total, left_out, outcome.scores[position])
        np.add.at(n_scores, left_out, 1.0)
    weights = np.where(n_scores > 0.0, calibration_weights(data), 0.0)
    scores = total / np.maximum(n_scores, 1.0)[:, None]
    if not np.ptp(scores, axis=1).any():  # the models of folds select nothing at a radius that selects little
        return CalibratedDecision.identity(len(data.classes))
    return CalibratedDecision.fit(scores, data.labels, weights)


def last_smallest(values: FloatArray) -> int:
    """Of equal ones the last: the larger radius, which selects fewer columns."""
    return int(np.flatnonzero(values <= values.min() + TIE)[-1])


def within_one_standard_error(mean: FloatArray, standard_error: FloatArray) -> int:
    """The last value that is no further above the smallest one than the standard error of that one."""
    best = last_smallest(mean)
    return int(np.flatnonzero(mean <= mean[best] + standard_error[best] + TIE)[-1])


def n_features_at(
    estimator: MinimaxRiskClassifier, data: TrainingData, radii: FloatArray, posed: PosedBox | None = None
) -> IntArray:
    """How many columns the fit at each radius selects."""
    with suitable_threads(len(data.labels)):
        path = solve_path(estimator, data, radii, posed=posed)
        selected = {one.radius: len(path.rule(one).columns) for one in path.solved}
    return np.array([selected[s] for s in radii], dtype=np.intp)


def radius_of_at_most(
    n_wanted: int,
    estimator: MinimaxRiskClassifier,
    data: TrainingData,
    radii: FloatArray,
    n_features: IntArray,
) -> float:
    """Of the radii with at most so many columns the one with the most, looked for between radii, too."""
    found = _most_within(n_wanted, n_features)
    if found is None:
        raise ValueError(
            f"rule={n_wanted} asks for at most {n_wanted} columns, but the largest radius, {radii[-1]:g}, "
            f"has {n_features[-1]}; pass larger radii, or radii=None for a grid that ends where nothing is "
            "selected."
        )
    if found == 0 or n_features[found] == n_wanted:
        return float(radii[found])
    between = np.geomspace(radii[found - 1], radii[found], N_BETWEEN + 2)[1:]
    among = _most_within(n_wanted, n_features_at(estimator, data, between))
    return float(radii[found] if among is None else between[among])


def _most_within(n_wanted: int, n_features: IntArray) -> int | None:
    """The place of the largest number that is not above; of equal ones the first, the smallest radius."""
    allowed = np.where(n_features <= n_wanted, n_features, -1)
    return int(np.argmax(allowed)) if allowed.max() >= 0 else None


def _of_estimator(name: str) -> Any:
    def of_estimator(self: MinimaxRiskClassifierCV) -> Any:
        return getattr(self.estimator_, name)

    return property(of_estimator, doc=f"``{name}`` of ``estimator_``.")


@parameters_by_keyword
class MinimaxRiskClassifierCV(PredictionMixin, BaseEstimator, Certified):
    r"""Minimax risk classifier with few columns: the largest radius that loses little on left-out samples.

    For short lists, not for accuracy: radius 1 usually errs less, and an ensemble less still. A larger radius
    selects fewer columns. R* grows with it whatever the data, so left-out samples have to choose. ::

        model = MinimaxRiskClassifierCV().fit(X, y)
        model.radius_, model.selected_features_

    Parameters
    ----------
    estimator : MinimaxRiskClassifier or None, default=None
        Whose radius is chosen; it is cloned, and its own ``radius`` and ``deterministic`` are not
        used. ``None`` is ``MinimaxRiskClassifier()``. Its ``solver`` and tolerances, ``verbose`` and
        ``callback`` are for the last fit; on the way there all radii are solved to a certified gap of 1e-8,
        those of folds with three and more classes to one of 1e-4.
    radii : array-like of shape (n_radii,) or None, default=None
        The grid, ascending. ``None`` takes 20 radii, evenly spaced by ratio, from a hundredth of the largest
        one up to that, where R* is 1 - 1/K and nothing is learned from all of the samples.
    cv : int, splitter, iterable or None, default=5
        Folds. An integer is the number of shuffled, stratified folds, at most as many as the largest class
        has samples; with ``groups`` whole groups are dealt out. ``None`` is 5. A class with a single sample
        is in every training part, so its error is unknown. A splitter is used as it is.
    rule : {"one-se", "best"} or int, default="one-se"
        ``"best"``: the radius with the smallest mean loss, of equal ones the largest. ``"one-se"``: the
        largest radius whose mean loss is within one standard error of that; it has fewer columns. A number:
        the radius with that many columns, or the next smaller number, of all samples; between radii of the
        grid some more are tried, and folds only calibrate the decision.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn; the loss is minus the score. ``None``: the loss is the share of left-out
        samples that ``predict`` with ``deterministic=True`` gets wrong.
    n_jobs : int or None, default=None
        Processes for folds, as in joblib: None is 1 unless a context says otherwise, -1 all
        cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, if ``cv`` is a number or None. ``None`` is 0, so that results repeat.
    verbose : int, default=0
        If positive, a progress bar on standard error.

    Attributes
    ----------
    estimator_ : MinimaxRiskClassifier
        Fitted on all samples with the chosen radius; ``verify``, ``permutation_test`` and the model file
        take this one.
    radius_ : float
        The chosen radius.
    decision_ : CalibratedDecision
        The calibrated decision: what the scores of ``estimator_`` are multiplied by, and the offset of each
        class, fitted to the scores of left-out samples at the chosen radius.
    cv_results_ : dict
        ``radii``; ``mean_loss``, ``std_loss`` and ``standard_error`` (the
        standard deviation of the folds over the root of their number) of each radius; ``fold_losses`` and
        ``n_features``, the number of selected columns, of shape (n_folds, n_radii); with three and more
        classes a few too many, since folds end short of a vertex. If ``rule`` is a number: ``radii`` and
        ``n_features_of_fit``, the number of columns that the fit on all samples selects at each.
        ``FeatureCountDisplay`` has these for the other rules.
    classes_, coef_, intercept_ : ndarray
        The labels, and coefficients and constants of ``estimator_``.
    worst_case_error_, worst_case_error_lower_ : float
        Its certified bounds on R* at the chosen radius; see the notes.
    optimality_gap_, worst_case_distribution_ : float and ndarray
        The difference of the two, and a distribution that proves the lower one.
    coverage_, coverage_remarks_, radius_seed_, coding_ : object
        What the uncertainty set is, as for ``estimator_``; a chosen radius has no coverage.
    selected_features_, n_features_selected_, feature_importances_ : ndarray or int
        Its selected columns, their number, and the importances of all columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    See Also
    --------
    MinimaxRiskClassifier : The classifier at one radius.
    minimax_risk_path : R* and the features at all radii.
    MinimaxRiskEnsembleClassifier : Usually errs less, with more columns.
    minimaxrisk.inspection.FeatureCountDisplay : Draws the losses over the number of columns.

    Notes
    -----
    The radius was chosen by the same samples, so ``worst_case_error_`` is a score and not a bound on the
    error; for a bound use ``MinimaxRiskClassifier(radius="bootstrap")``. The smallest of many cross-validated
    losses is too small as well: to know the error, cross-validate this estimator as a whole.

    ``predict_proba`` estimates how probable each class is, ``decision_function`` gives the logarithms, and
    ``predict`` names the class with the largest probability. ``verify`` and ``worst_case`` are about the
    randomized rule of ``estimator_``.

    Samples of weight 0 take no part. A weight of 2 is not the same as the row twice, whose copies could get
    into two folds. Losses are weighted, within folds.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifierCV
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(80, 300, n_informative=10, effect=1.5, random_state=0)
    >>> model = MinimaxRiskClassifierCV(radii=[0.5, 1, 2, 4]).fit(study.data, study.target)
    >>> model.radius_
    2.0
    """

    classes_: np.ndarray = _of_estimator("classes_")
    coef_: FloatArray = _of_estimator("coef_")
    intercept_: FloatArray = _of_estimator("intercept_")
    radius_: float = _of_estimator("radius_")
    worst_case_error_: float = _of_estimator("worst_case_error_")
    worst_case_error_lower_: float = _of_estimator("worst_case_error_lower_")
    optimality_gap_: float = _of_estimator("optimality_gap_")
    worst_case_distribution_: FloatArray = _of_estimator("worst_case_distribution_")
    coverage_: float | None = _of_estimator("coverage_")
    coverage_remarks_: tuple[str, ...] = _of_estimator("coverage_remarks_")
    radius_seed_: int = _of_estimator("radius_seed_")
    coding_: str = _of_estimator("coding_")
    selected_features_: IntArray = _of_estimator("selected_features_")
    n_features_selected_: int = _of_estimator("n_features_selected_")
    feature_importances_: FloatArray = _of_estimator("feature_importances_")
    _fitted_parameters: Any = _of_estimator("_fitted_parameters")

    estimator_: MinimaxRiskClassifier
    cv_results_: dict[str, Any]

    _set_kind = BOX
    _capabilities = MinimaxRiskClassifier._capabilities - {OTHER_LABELS} | {CHOSEN_RADIUS, CALIBRATED}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"]), None],
        "radii": ["array-like", None],
        "cv": ["cv_object"],
        "rule": [choices.one_of(choices.ChosenRadius), Interval(Integral, 1, None, closed="left")],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: MinimaxRiskClassifier | None = None,
        *,
        radii: choices.Numbers | None = None,
        cv: Any = 5,
        rule: choices.ChosenRadius | int = "one-se",
        scoring: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.radii = radii
        self.cv = cv
        self.rule = rule
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    @one_warning()
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the radius, and fit with it.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Training instances.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, as for ``MinimaxRiskClassifier``, and of the losses.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group, such as the measurements of a patient, are not independent. They stay in one
            fold, and the radii of all fits, that of ``estimator_`` included, count groups, as for
            ``MinimaxRiskClassifier``.

        Returns
        -------
        self
            The fitted classifier.
        """
        estimator = self._checked_estimator()
        callback = estimator.callback  # for the last fit, and need not go to other processes
        estimator.set_params(callback=None)
        data = check_training_data(copy(self), X, y, sample_weight=sample_weight, groups=groups)
        warn_about_work(data, estimator.coding, estimator.copy)
        labels = data.classes[data.labels]
        codes = None if groups is None else codes_of_groups(groups, len(labels))
        sample = Sample(data.X, labels, None if sample_weight is None else data.weights, codes)
        used = sample.rows(np.flatnonzero(data.weights > 0))
        if self.radii is None:
            radii = default_radii(estimator, used.checked_by(estimator))
        else:
            radii = ascending_radii(self.radii)
        results: dict[str, Any] = {"radii": radii}
        if is_integer(self.rule):
            whole = used.checked_by(estimator)
            results["n_features_of_fit"] = counts = n_features_at(estimator, whole, radii)
            radius = radius_of_at_most(int(self.rule), estimator, whole, radii, counts)
            folds, position = self._folds(data, codes), 0
            outcomes = self._outcomes(estimator, sample, np.array([radius]), folds, scoring=None)
        else:
            folds = self._folds(data, codes)
            outcomes = self._outcomes(estimator, sample, radii, folds, self.scoring)
            results |= self._losses(folds, outcomes)
            mean, error = results["mean_loss"], results["standard_error"]
            position = last_smallest(mean) if self.rule == "best" else within_one_standard_error(mean, error)
            radius = float(radii[position])
        decision = decision_of_folds(folds, outcomes, position, data)
        fitted = estimator.set_params(radius=radius, callback=callback)
        # About a number that the caller did not choose, what was said before, and parameters of another.
        with silenced(LargeFitWarning, UnderfitWarning):
            fitted.fit(X, y, sample_weight=sample_weight, groups=groups)
        if not is_silenced(UnderfitWarning):
            learned = sample.checked_by(fitted)
            rule = CalibratedRule([fitted._fitted_rule()], decision)
            predicted = predicted_labels(rule, np.arange(len(learned.classes)), learned.X)
            warn_about_lost_classes(learned, predicted, self._remedies(fitted, learned), WHOSE)
        start_over(self, fitted)
        self.estimator_, self.decision_ = fitted, decision
        self.cv_results_ = results
        return self

    def _remedies(self, fitted: MinimaxRiskClassifier, learned: TrainingData) -> list[str]:
        """What to try where a class is lost, the best first."""
        known = {
            CURVED: fitted.n_features_in_ < len(learned.labels),
            f"marginal='empirical'{WHOSE}": fitted.marginal == "free",
            "rule='best'": self.rule != "best",
            "smaller radii": self.radii is not None,
        }
        return [what for what, is_open in known.items() if is_open] or ["more samples"]

    def _checked_estimator(self) -> MinimaxRiskClassifier:
        if self.estimator is None:
            return MinimaxRiskClassifier()
        if not isinstance(self.estimator, MinimaxRiskClassifier):
            raise ValueError(
                f"estimator must be a MinimaxRiskClassifier or None, got {type(self.estimator).__name__}; "
                "put steps that prepare X before this estimator in a pipeline, and choose the parameters of "
                "others with GridSearchCV."
            )
        estimator = clone(self.estimator)
        estimator.set_params(radius=1.0)._validate_params()
        return estimator

    def _results_of_folds(self, data: TrainingData, groups: Any) -> dict[str, Any]:
        """``cv_results_`` for the radii given, on data that are checked; without a last fit."""
        estimator, radii = self._checked_estimator(), ascending_radii(self.radii)
        codes = None if groups is None else codes_of_groups(groups, len(data.labels))
        sample = Sample(data.X, data.classes[data.labels], None, codes)
        folds = self._folds(data, codes)
        outcomes = self._outcomes(estimator, sample, radii, folds, self.scoring)
        return {"radii": radii, **self._losses(folds, outcomes)}

    def _folds(self, data: TrainingData, groups: IntArray | None) -> list[Fold]:
        return folds_of(self.cv, data, groups, self.random_state)

    def _outcomes(
        self,
        estimator: MinimaxRiskClassifier,
        sample: Sample,
        radii: FloatArray,
        folds: list[Fold],
        scoring: Any,
    ) -> list[FoldOutcome]:
        if self.rule == "one-se" and len(folds) < 2:
            raise ValueError("rule='one-se' needs at least 2 folds; use more of them, or rule='best'.")
        loss = LossOfRadii(estimator, sample, radii, scoring)
        with progress_bar(len(folds), "folds", verbose=self.verbose) as progress:
            return parallel_map(loss, folds, n_jobs=self.n_jobs, progress=progress)

    def _losses(self, folds: list[Fold], outcomes: list[FoldOutcome]) -> dict[str, Any]:
        """Return what folds add to ``cv_results_``."""
        losses = np.array([outcome.losses for outcome in outcomes])
        unknown = np.flatnonzero(~np.isfinite(losses).all(axis=1))
        if len(unknown):
            raise ValueError(
                f"scoring={self.scoring!r} is not a number on fold {unknown[0]}, which has "
                f"{counted(len(folds[unknown[0]][1]), 'sample')}, perhaps of one class; use fewer folds, or "
                "another scoring."
            )
        spread = losses.std(axis=0, ddof=1) if len(losses) > 1 else np.full(losses.shape[1], np.nan)
        return {
            "fold_losses": losses,
            "mean_loss": losses.mean(axis=0),
            "std_loss": spread,
            "standard_error": spread / np.sqrt(len(losses)),
            "n_features": np.array([outcome.n_features for outcome in outcomes]),
        }

    def _deciding_rule(self) -> CalibratedRule:
        return CalibratedRule([self._fitted_rule()], self.decision_)

    def _final(self) -> MinimaxRiskClassifier:
        return self.estimator_

    def _fitted_rule(self) -> LinearRule:
        return self.estimator_._fitted_rule()

    def _claims(self, posed: Any, data: TrainingData) -> Iterator[Claim]:
        return self.estimator_._claims(posed, data)
