"""The classifier with a radius chosen from the data."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.keywords import parameters_by_keyword
from minimaxrisk._utils.parallel import parallel_map, progress_bar
from minimaxrisk._utils.sklearn_private import HasMethods, Interval, StrOptions, fit_context
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.parameters import take_over_columns
from minimaxrisk.estimators.radius_choice import (
    LossOfRadii,
    MinimaxRisks,
    Sample,
    ascending_radii,
    default_radii,
    folds_of,
    last_smallest,
    summary_of_folds,
    summary_of_noise,
    within_one_standard_error,
)
from minimaxrisk.estimators.stability_selection import fit_clone
from minimaxrisk.samples.validation import check_training_data, codes_of_groups

# What each criterion leaves behind.
RESULTS = {"cross-validation": "cv_results_", "noise-floor": "noise_results_"}


def _of_estimator(name: str) -> property:
    def of_estimator(self: MinimaxRiskClassifierCV) -> Any:
        return getattr(self.estimator_, name)

    return property(of_estimator, doc=f"``{name}`` of ``estimator_``.")


@parameters_by_keyword
class MinimaxRiskClassifierCV(ClassifierMixin, BaseEstimator):
    r"""Minimax risk classifier whose radius is chosen from a grid, by cross-validation or by the noise floor.

    R* grows with the radius whatever the data, so that it cannot choose one. What samples that were left out
    say can, and so can the distance of R* from what it is on permuted labels. With two classes all radii of
    the grid are followed at once, exactly (``minimax_risk_path``): a fold costs little more than a fit. With
    more classes each radius goes on from the smaller one before it.

    Parameters
    ----------
    estimator : MinimaxRiskClassifier or None, default=None
        Whose radius is chosen; it is cloned, and its own ``radius`` is not used. ``None`` is
        ``MinimaxRiskClassifier()``. Its ``solver`` and tolerances, ``verbose`` and ``callback`` are for the
        last fit; on the way there all radii are solved to a certified gap of 1e-8.
    radii : array-like of shape (n_radii,) or None, default=None
        The grid, ascending. ``None`` takes 20 radii, evenly spaced by ratio, from a hundredth of the largest
        one up to that, where R* is 1 - 1/K and nothing is learned from all of the samples.
    criterion : {"cross-validation", "noise-floor"}, default="cross-validation"
        ``"cross-validation"``: the loss on left-out folds. ``"noise-floor"``: the radius at which R* is
        furthest below its mean over permuted labels, of equal ones the largest; nothing is left out, and the
        parameters of cross-validation are not used.
    cv : int, splitter, iterable or None, default=5
        Folds. An integer is that many stratified folds in the order of the samples, as in scikit-learn, and
        with ``groups`` stratified folds that keep groups together; ``None`` is 5. For shuffled ones pass
        ``StratifiedKFold(5, shuffle=True, random_state=0)``. As there, a class with fewer samples than folds
        is warned about, and missing in some of the tests; one with a single sample is refused.
    rule : {"one-se", "best"}, default="one-se"
        ``"best"``: the radius with the smallest mean loss, of equal ones the largest. ``"one-se"``: the
        largest radius whose mean loss is within one standard error of that; it has fewer features.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn; the loss is minus the score. ``None``: the loss is the share of left-out
        samples that ``predict`` with ``deterministic=True`` gets wrong.
    n_permutations : int, default=20
        Permutations of the labels for ``"noise-floor"``.
    n_jobs : int or None, default=None
        Processes for folds or permutations, as in joblib: None is 1 unless a context says otherwise, -1 all
        cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    verbose : int, default=0
        If positive, a progress bar on standard error.

    Attributes
    ----------
    estimator_ : MinimaxRiskClassifier
        Fitted on all samples with the chosen radius; ``verify``, ``permutation_test`` and the model file
        take this one.
    radius_ : float
        The chosen radius.
    cv_results_ : dict
        With ``"cross-validation"``: ``radii``; ``mean_loss``, ``std_loss`` and ``standard_error`` (the
        standard deviation of the folds over the root of their number) of each radius; ``fold_losses`` and
        ``n_features``, the number of selected columns, of shape (n_folds, n_radii).
    noise_results_ : dict
        With ``"noise-floor"``: ``radii``; ``worst_case_error``, R* of each radius on the labels as they are;
        ``permuted_worst_case_errors`` of shape (n_permutations, n_radii); ``distance``, the mean of these
        less R*.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of ``estimator_``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Its constants.
    worst_case_error_ : float
        Its certified upper bound on R* at the chosen radius; see the notes.
    worst_case_error_lower_ : float
        Its certified lower bound on R*.
    selected_features_ : ndarray of int
        Indices of the columns with a non-zero coefficient.
    n_features_selected_ : int
        Their number.
    feature_importances_ : ndarray of shape (n_features,)
        Absolute coefficients times the scale of their columns, as for ``MinimaxRiskClassifier``.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    See Also
    --------
    MinimaxRiskClassifier : The classifier at one radius.
    minimax_risk_path : R* and the features at all radii.
    minimaxrisk.inspection.RadiusChoiceDisplay : Draws the losses and the chosen radius.

    Notes
    -----
    The radius has looked at the labels, and it is a plain number: at such a radius ``worst_case_error_`` is a
    score and not a bound on the error, and the fit says so (``UninformativeRadiusWarning``) as for any number
    that is below the union bound's. Even a chosen radius above that has no coverage of its own, since it was
    chosen by the same samples. For a bound use ``MinimaxRiskClassifier(radius="bootstrap")``. The smallest of
    many cross-validated losses is too small as well: to know the error, cross-validate this estimator as a
    whole.

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

    classes_ = _of_estimator("classes_")
    coef_ = _of_estimator("coef_")
    intercept_ = _of_estimator("intercept_")
    radius_ = _of_estimator("radius_")
    worst_case_error_ = _of_estimator("worst_case_error_")
    worst_case_error_lower_ = _of_estimator("worst_case_error_lower_")
    selected_features_ = _of_estimator("selected_features_")
    n_features_selected_ = _of_estimator("n_features_selected_")
    feature_importances_ = _of_estimator("feature_importances_")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"]), None],
        "radii": ["array-like", None],
        "criterion": [StrOptions(set(RESULTS))],
        "cv": ["cv_object"],
        "rule": [StrOptions({"one-se", "best"})],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "n_permutations": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        radii: Any = None,
        criterion: str = "cross-validation",
        cv: Any = 5,
        rule: str = "one-se",
        scoring: Any = None,
        n_permutations: int = 20,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.radii = radii
        self.criterion = criterion
        self.cv = cv
        self.rule = rule
        self.scoring = scoring
        self.n_permutations = n_permutations
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> MinimaxRiskClassifierCV:
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
            Samples of one group stay in one fold. The radii count samples all the same.

        Returns
        -------
        self
            The fitted classifier.
        """
        estimator = self._checked_estimator()
        data = check_training_data(copy(self), X, y, sample_weight=sample_weight)
        labels = data.classes[data.labels]
        sample = Sample(data.X, labels, None if sample_weight is None else data.weights)
        used = sample.rows(np.flatnonzero(data.weights > 0))
        if self.radii is None:
            radii = default_radii(estimator, used.checked_by(estimator))
        else:
            radii = ascending_radii(self.radii)
        if self.criterion == "noise-floor":
            results, chosen = self._by_noise_floor(estimator, used, radii, groups)
        else:
            codes = None if groups is None else codes_of_groups(groups, len(labels))
            folds = folds_of(self.cv, data, codes)
            results, chosen = self._by_cross_validation(estimator, sample, radii, folds)
        fitted = fit_clone(estimator.set_params(radius=float(radii[chosen])), X, y, sample_weight)
        take_over_columns(self, fitted)
        self.estimator_ = fitted
        for criterion, name in RESULTS.items():
            self.__dict__.pop(name, None)
            if criterion == self.criterion:
                setattr(self, name, results)
        return self

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

    def _by_cross_validation(
        self, estimator: Any, sample: Sample, radii: np.ndarray, folds: list[Any]
    ) -> tuple[dict[str, Any], int]:
        if self.rule == "one-se" and len(folds) < 2:
            raise ValueError("rule='one-se' needs at least 2 folds; use more of them, or rule='best'.")
        loss = LossOfRadii(estimator, sample, radii, self.scoring)
        with progress_bar(len(folds), "folds", verbose=self.verbose) as progress:
            outcomes = parallel_map(loss, folds, n_jobs=self.n_jobs, progress=progress)
        results = summary_of_folds(radii, outcomes)
        mean = results["mean_loss"]
        if self.rule == "best":
            return results, last_smallest(mean)
        return results, within_one_standard_error(mean, results["standard_error"])

    def _by_noise_floor(
        self, estimator: Any, sample: Sample, radii: np.ndarray, groups: Any
    ) -> tuple[dict[str, Any], int]:
        if groups is not None:
            raise ValueError(
                "groups must be None with criterion='noise-floor', which has no folds to keep them in; leave "
                "them out, or use criterion='cross-validation'."
            )
        random, n = check_random_state(self.random_state), len(sample.y)
        orders = [np.arange(n), *(random.permutation(n) for _ in range(self.n_permutations))]
        risks = MinimaxRisks(estimator, sample, radii)
        with progress_bar(len(orders), "permutations", verbose=self.verbose) as progress:
            observed, *permuted = parallel_map(risks, orders, n_jobs=self.n_jobs, progress=progress)
        results = summary_of_noise(radii, observed, permuted)
        return results, last_smallest(-results["distance"])

    def predict(self, X: Any) -> np.ndarray:
        """As ``MinimaxRiskClassifier.predict`` at the chosen radius.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        return self._fitted().predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """As ``MinimaxRiskClassifier.predict_proba`` at the chosen radius.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities of the randomized rule, in the order of ``classes_``.
        """
        return self._fitted().predict_proba(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """As ``MinimaxRiskClassifier.predict_log_proba`` at the chosen radius.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The logarithms, in the order of ``classes_``.
        """
        return self._fitted().predict_log_proba(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """As ``MinimaxRiskClassifier.decision_function`` at the chosen radius.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The scores; for two classes one number, positive for ``classes_[1]``.
        """
        return self._fitted().decision_function(X)

    def _fitted(self) -> MinimaxRiskClassifier:
        check_is_fitted(self, "estimator_")
        fitted: MinimaxRiskClassifier = self.estimator_
        return fitted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
