"""The calibrated decision of any classifier, with sets of the classes that it cannot exclude."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arguments import check_confidence, counted, listed, parameters_by_keyword
from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk._utils.notices import one_warning, warn
from minimaxrisk._utils.sklearn_private import (
    HasMethods,
    Interval,
    check_classifier,
    fit_context,
    fit_with,
    fresh_copy,
    num_samples,
    steps_of,
)
from minimaxrisk._utils.stored_tables import in_memory
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
from minimaxrisk.exceptions import CoverageWarning, TooFewSamplesError
from minimaxrisk.guarantees.certified import CALIBRATED, MEMBERS, SETS, Estimator, can
from minimaxrisk.guarantees.fitted_problem import is_label_free
from minimaxrisk.guarantees.left_out import (
    Calibration,
    LeftOutScores,
    in_words,
    needed_to_exclude,
    weights_of_units,
)
from minimaxrisk.samples.folds import dealt_folds, in_order_of_samples, without_each_fold
from minimaxrisk.samples.groups import codes_of_groups
from minimaxrisk.samples.labels import check_labels, positions_of_labels
from minimaxrisk.samples.parts import groups_for_fit

SCORES = ("decision_function", "predict_proba")


@parameters_by_keyword
class PredictionSets(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""A classifier with calibrated probabilities, and with the classes that it cannot exclude.

    It fits any classifier, calibrates its scores with samples that a fit has not seen, and predicts the class
    with the largest probability. In the prediction set one class is left ("sure"), several ("unsure"), or
    none ("unlike all classes"). The true class is in the set with about the probability ``confidence``, in
    each class by itself, so that rare classes are not sacrificed. Estimators of this library that calibrate
    themselves, such as the ensemble, are taken as they are. ::

        model = PredictionSets(MinimaxRiskEnsembleClassifier(random_state=0)).fit(X, y)
        model.predict(X_new), model.predict_proba(X_new)
        model.predict_set(X_new), model.predict_words(X_new)

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any classifier with ``decision_function`` or ``predict_proba``, also a pipeline or a search; it is
        cloned. ``None`` is ``MinimaxRiskEnsembleClassifier()``.
    confidence : float, default=0.9
        How often a set is to hold the true label. It is used by ``predict_set`` alone: fit once, and set
        another one with ``set_params``.
    cv : int, default=10
        Number of shuffled, stratified folds, at most as many as the largest class has samples or groups; each
        sample is scored by the fit without its fold.
        An ensemble of this library needs no folds, alone or behind steps that do not look at labels: members
        that have not seen a sample score it.
    n_jobs : int or None, default=None
        Processes among which the fits are shared, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds. ``None`` is 0, so that results repeat.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all samples.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    left_out_ : LeftOutScores
        The scores of the samples by fits that have not seen them.
    calibration_ : Calibration
        The decision and the margins that new samples are compared with.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    Warns
    -----
    UserWarning
        By ``predict_set``, if a class has too few samples to be excluded at this confidence: 9 are needed at
        90%, 19 at 95%.

    See Also
    --------
    error_bound : Bounds how often a classifier errs, over all instances.

    Notes
    -----
    The probability of a class is proportional to the exponential of its score times a slope, which all
    classes share, plus an offset of the class. Slope and offsets are fitted to the scores of samples that a
    fit has not seen.

    A class y is excluded if its p-value is at most 1 - ``confidence``. The p-value is the share of samples of
    class y, the new one among them, whose margin is no larger than that of the new one [1]_. The margin is
    the calibrated score of y less the largest one of the other classes. In simulations the set holds the true
    class with a probability of 0.89 or more at 0.9. The predicted class joins a set of other classes.

    There are no sample weights: samples of a class have to be exchangeable.

    References
    ----------
    .. [1] V. Vovk, "Conditional validity of inductive conformal predictors", Machine Learning 92, 2013.

    Examples
    --------
    >>> from minimaxrisk import PredictionSets
    >>> from minimaxrisk.datasets import make_expression
    >>> from sklearn.linear_model import RidgeClassifier
    >>> study = make_expression(80, 200, effect=0.6, random_state=0)
    >>> X, y = study.data, study.target
    >>> model = PredictionSets(RidgeClassifier(100.0), random_state=0).fit(X[:60], y[:60])
    >>> model.predict_set(X[60:63])
    array([[ True,  True],
           [ True,  True],
           [ True, False]])
    """

    classes_: np.ndarray
    left_out_: LeftOutScores
    calibration_: Calibration
    n_features_in_: int
    feature_names_in_: np.ndarray

    _capabilities = frozenset({SETS})
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        confidence: float = 0.9,
        cv: int = 10,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.confidence = confidence
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    @one_warning()
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the classifier on all samples and without each fold, and calibrate its scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training instances.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group, such as those of a patient, are left out together, and count as one.

        Returns
        -------
        self
            The fitted estimator.
        """
        estimator = MinimaxRiskEnsembleClassifier() if self.estimator is None else self.estimator
        check_classifier("estimator", estimator)
        X, y = indexable(X, y)
        unit = known = None
        if groups is not None:
            unit = codes_of_groups(groups, num_samples(X))
            known = groups_for_fit(estimator, unit, check_labels(X, y, groups=groups))
        fitted = fit_with(clone(estimator), X, y, groups=known)
        if unit is not None and known is None:
            warn(
                "groups hold samples of several classes: radii and R* of estimator_ count samples and not "
                "groups. Sets and probabilities keep groups whole.",
                CoverageWarning,
            )
        left_out = left_out_scores(
            fitted, X, y, groups=groups, n_folds=self.cv, random_state=self.random_state, n_jobs=self.n_jobs
        )
        self.estimator_, self.classes_ = fitted, fitted.classes_
        self.left_out_, self.calibration_ = left_out, left_out.calibration()
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class with the largest calibrated probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        scores = self._scores(X)
        return np.asarray(self.classes_[self.calibration_.predict(scores)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Estimate how probable each class is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        scores = self._scores(X)
        return self.calibration_.probabilities(scores)

    def p_values(self, X: Any) -> FloatArray:
        """Return the p-value of each label: small ones exclude it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        scores = self._scores(X)
        return self.calibration_.p_values(scores)

    def predict_set(self, X: Any) -> BoolArray:
        """Return which labels cannot be excluded at ``confidence``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            True for labels in the set, in the order of ``classes_``.
        """
        check_confidence(self.confidence)  # which may have been set after the fit
        scores = self._scores(X)
        found = self.calibration_.sets(scores, self.confidence)
        warn_about_small_classes(self.calibration_, self.classes_, self.confidence)
        return found

    def predict_words(self, X: Any) -> np.ndarray:
        """Return "sure", "unsure" or "unlike all classes" for a set of one label, several, or none.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        ndarray of str of shape (n_samples,)
            The words.
        """
        return in_words(self.predict_set(X))

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return decision_scores(self.estimator_, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimator: Any = MinimaxRiskEnsembleClassifier() if self.estimator is None else self.estimator
        inner = estimator.__sklearn_tags__()
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        tags.classifier_tags.multi_label = False
        return tags


def left_out_scores(
    model: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    n_folds: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LeftOutScores:
    """Score the samples of a fitted model by members or fits that have not seen them."""
    y = check_labels(X, y, groups=groups)
    own = positions_of_labels(y, model.classes_)
    unit = np.arange(len(y)) if groups is None else codes_of_groups(groups, len(y))
    fold, weights = dealt_folds(own, unit, int(n_folds), random_state), weights_of_units(own, unit)
    scores = out_of_bag_scores(model)
    if scores is None:
        if len(model.classes_) < 2 or not (fold >= 0).any():
            kind = "sample" if groups is None else "group"
            raise TooFewSamplesError(
                f"prediction sets need two {kind}s of a class, one to leave out, and a second class; got "
                f"{counted(len(np.unique(unit)), kind)}. Add {kind}s."
            )
        learner = fresh_copy(model, callback=None, verbose=False, certify=False)
        known = None if groups is None else unit
        parts = without_each_fold(decision_scores, learner, X, y, fold, groups=known, n_jobs=n_jobs)
        scores = np.where(fold[:, None] < 0, np.nan, in_order_of_samples(fold, parts))
    is_scored = np.isfinite(scores[:, 0])
    scores = np.where(is_scored[:, None], scores, 0.0)
    return LeftOutScores(scores, own, np.where(is_scored, weights, 0.0), fold, is_calibrated(model))


def out_of_bag_scores(model: Estimator) -> FloatArray | None:
    """Return calibrated scores by members of an ensemble that did not see a sample (n x K), NaN if all did.

    None for other models, and for ensembles behind steps that may have looked at the labels.
    """
    *before, ensemble = steps_of(model)
    if not (can(ensemble, MEMBERS) and all(map(is_label_free, before))):
        return None
    return np.asarray(np.log(ensemble.oob_proba_))


def is_calibrated(model: Estimator) -> bool:
    """Whether the last step of a model calibrates itself."""
    return can(steps_of(model)[-1], CALIBRATED)


def decision_scores(model: Any, X: Any) -> FloatArray:
    """The score of each class; of models that calibrate themselves the log-probability (n x K)."""
    if is_calibrated(model):
        return np.asarray(np.log(in_memory(model.predict_proba(X))), dtype=np.float64)
    return scores_of(model, X)


def has_scores(model: Estimator) -> bool:
    """Whether a fitted classifier has ``decision_function`` or ``predict_proba``."""
    return any(hasattr(model, name) for name in SCORES)


def scores_of(model: Any, X: Any) -> FloatArray:
    """Return ``decision_function``, which has fewer ties, or else ``predict_proba`` (n x K)."""
    n_classes, settings = len(model.classes_), model.get_params() if hasattr(model, "get_params") else {}
    # With three classes there are as many pairs as classes.
    is_of_pairs = any(
        name.endswith("decision_function_shape") and value == "ovo" for name, value in settings.items()
    )
    for name in SCORES:
        if not hasattr(model, name) or (is_of_pairs and name == "decision_function"):
            continue
        found: FloatArray = np.asarray(in_memory(getattr(model, name)(X)), dtype=np.float64)
        if found.ndim == 1 and n_classes == 2:
            return np.column_stack([-found, found])
        if found.ndim == 2 and found.shape[1] == n_classes:
            return found
    raise ValueError(
        f"{type(model).__name__} has no score for each class; use a classifier with decision_function or "
        "predict_proba, such as one with decision_function_shape='ovr'."
    )


def warn_about_small_classes(calibration: Calibration, classes: np.ndarray, confidence: float) -> None:
    """Warn about classes that no set can exclude."""
    small = classes[calibration.too_small(confidence)]
    if len(small):
        warn(
            f"at confidence {confidence:g} a class needs {counted(needed_to_exclude(confidence), 'sample')} "
            f"or groups to be excluded; every set holds {listed(small)}. Add samples, or lower confidence.",
            UserWarning,
        )
