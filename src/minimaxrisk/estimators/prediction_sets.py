"""Sets of labels in place of one: for each instance those that left-out samples do not exclude."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, indexable
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arguments import check_confidence, counted, listed, parameters_by_keyword
from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray, to_numpy
from minimaxrisk._utils.dask_arrays import computed
from minimaxrisk._utils.notices import one_warning, warn
from minimaxrisk._utils.parallel import parallel_map
from minimaxrisk._utils.sklearn_private import (
    HasMethods,
    Interval,
    check_classifier,
    fit_context,
    fit_with,
    fresh_copy,
    num_samples,
)
from minimaxrisk._utils.stored_tables import in_memory
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
from minimaxrisk.exceptions import CoverageWarning
from minimaxrisk.guarantees.certified import MEMBERS, SETS, Estimator, can
from minimaxrisk.guarantees.left_out import (
    LeftOut,
    dealt_folds,
    in_words,
    is_in_set,
    needed_to_exclude,
    weights_of_units,
)
from minimaxrisk.samples.parts import columns_for, fit_on_rows, groups_for_fit
from minimaxrisk.samples.validation import (
    check_labels,
    check_new_data,
    codes_of_groups,
    positions_of_labels,
)


@parameters_by_keyword
class PredictionSets(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""A classifier that says which labels it cannot exclude, and how probable each is.

    One label is left ("sure"), several ("unsure"), or none ("unlike all classes"). The true label is in the
    set with about the probability ``confidence``, in each class by itself, so that rare classes are not
    sacrificed. ::

        model = PredictionSets(MinimaxRiskEnsembleClassifier(random_state=0)).fit(X, y)
        model.predict_set(X_new), model.predict_words(X_new), model.probabilities(X_new)

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any classifier with ``decision_function`` or ``predict_proba``, also a pipeline or a search; it is
        cloned. ``None`` is ``MinimaxRiskEnsembleClassifier()``.
    confidence : float, default=0.9
        How often a set is to hold the true label. It is used by ``predict_set`` alone: fit once, and set
        another one with ``set_params``.
    cv : int, default=10
        Number of folds, at most that of samples or groups; each sample is judged by the fit without its fold.
        An ensemble of this library needs no folds, unless in a pipeline: members that have not seen a sample
        judge it.
    n_jobs : int or None, default=None
        Processes among which the fits are shared, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all samples; ``predict`` is its own.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    left_out_ : LeftOut
        The scores of the samples by fits that have not seen them, and these fits.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    Warns
    -----
    UserWarning
        If a class has too few samples to be excluded at this confidence: 9 are needed at 90%, 19 at 95%.

    See Also
    --------
    error_bound : Bounds how often a classifier errs, over all instances.

    Notes
    -----
    A label y is excluded if its p-value is at most 1 - ``confidence``. The p-value is the share of samples of
    class y, the instance itself among them, whose score for y is no larger than that of the instance; each
    sample is compared by a fit that has not seen it. For a new instance of class y the set holds y

    * with a probability of at least 1 - 2a - (1 - F / n_y) / (F + 1) by a theorem [1]_, where a = 1 -
      ``confidence``, F is the number of folds and n_y the number of samples of the class. It holds for any
      classifier and distribution if samples of a class are independent, folds hold equal numbers of each
      class, and a fit does not depend on the order of its samples. For an ensemble it is approximate;
    * with a probability of about ``confidence`` in simulations: 0.895 or more at 0.9, in each class of 12
      laws of 30 to 200 samples.

    ``probabilities`` come from sigmoids that are fitted to the left-out scores, as by scikit-learn's
    ``CalibratedClassifierCV``. There is no ``predict_proba``, since the label with the largest one need not
    be that of ``predict``.

    There are no sample weights: samples of a class have to be exchangeable.

    References
    ----------
    .. [1] R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani, "Predictive inference with the
       jackknife+", Annals of Statistics 49, 2021. Class by class: ``minimaxrisk.guarantees.left_out``.

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
    left_out_: LeftOut
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
        """Fit the classifier, on all samples and without each fold.

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
        left_out = judged(
            fitted, X, y, groups=groups, n_folds=self.cv, random_state=self.random_state, n_jobs=self.n_jobs
        )
        self.estimator_, self.classes_, self.left_out_ = fitted, fitted.classes_, left_out
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        self._confidence_at_fit = self.confidence
        warn_about_small_classes(left_out, self.classes_, self.confidence)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The labels that the classifier fitted on all samples names.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        check_is_fitted(self)
        named: np.ndarray = self.estimator_.predict(X)
        return named

    def p_values(self, X: Any) -> FloatArray:
        """The p-value of each label: small ones exclude it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        seen = self._seen(X)
        return self.left_out_.p_values(seen)

    def predict_set(self, X: Any) -> BoolArray:
        """Which labels cannot be excluded at ``confidence``.

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
        found = is_in_set(self.p_values(X), self.confidence)
        if self.confidence != self._confidence_at_fit:
            warn_about_small_classes(self.left_out_, self.classes_, self.confidence)
        return found

    def predict_words(self, X: Any) -> np.ndarray:
        """One of "sure", "unsure" and "unlike all classes" for a set of one label, several, or none.

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

    def probabilities(self, X: Any) -> FloatArray:
        """How probable each label is, calibrated with left-out scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        seen = self._seen(X)
        scores = final_scores(self.estimator_, seen)
        return self.left_out_.calibration().probabilities(scores)

    def _seen(self, X: Any) -> Any:
        check_is_fitted(self)
        return as_judges_take_it(self.estimator_, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimator: Any = MinimaxRiskEnsembleClassifier() if self.estimator is None else self.estimator
        inner = estimator.__sklearn_tags__()
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        tags.classifier_tags.multi_label = False
        return tags


def as_judges_take_it(model: Any, X: Any) -> Any:
    """Rules of an ensemble take checked arrays in memory; fitted estimators check for themselves."""
    return check_new_data(model, to_numpy(computed(X))) if can(model, MEMBERS) else X


def final_scores(model: Any, X: Any) -> FloatArray:
    """Scores of the model of all samples, on the scale of those of its judges (n x K)."""
    if can(model, MEMBERS):
        return np.ascontiguousarray(model._fitted_rule().mean_scores(X).T)
    return ScoresOf(model).scores(X).T


def judged(
    model: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    n_folds: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
    keeps_rules: bool = False,
) -> LeftOut:
    """Judges of the samples that a fitted model learned from: its members, or fits without a fold.

    With ``keeps_rules`` the judges of a certified model are rules alone, which are small and can be stored.
    """
    y = check_labels(X, y, groups=groups)
    own = positions_of_labels(y, model.classes_)
    unit = np.arange(len(y)) if groups is None else codes_of_groups(groups, len(y))
    weights = weights_of_units(own, unit)
    if can(model, MEMBERS):
        judges, shares = model._judges()
        return LeftOut.of(judges, shares, as_judges_take_it(model, X), own, weights)
    fold = dealt_folds(own, unit, min(int(n_folds), int(unit.max()) + 1), check_random_state(random_state))
    names = np.unique(fold[fold >= 0])
    if len(model.classes_) < 2 or not len(names):
        kind = "samples" if groups is None else "groups"
        raise ValueError(
            f"prediction sets need two {kind} of a class, one to leave out, and a second class; got "
            f"{counted(int(unit.max()) + 1, kind[:-1])} and {len(model.classes_)} "
            f"class{'es' * (len(model.classes_) != 1)}. Add {kind}."
        )
    without = partial(_judge, model, X, y, None if groups is None else unit, keeps_rules=keeps_rules)
    judges = parallel_map(without, [np.flatnonzero(fold != name) for name in names], n_jobs=n_jobs)
    return LeftOut.of(judges, (fold[:, None] == names).astype(np.float64), X, own, weights)


def _judge(
    model: Any, X: Any, y: np.ndarray, groups: IntArray | None, rest: IntArray, *, keeps_rules: bool
) -> Any:
    """Fitted on the rest of the samples."""
    learner = fresh_copy(model, callback=None, verbose=False, certify=False)
    fitted = fit_on_rows(learner, X, y, rest, groups=groups)
    return fitted._final()._fitted_rule() if keeps_rules else ScoresOf(fitted, rest)


@dataclass(frozen=True)
class ScoresOf:
    """Scores of a fitted classifier: ``decision_function``, which has fewer ties, or ``predict_proba``.

    ``learned`` are the samples that it was fitted on, if these are not all.
    """

    model: Any
    learned: IntArray | None = None

    @property
    def columns(self) -> IntArray:
        """All."""
        return np.arange(self.model.n_features_in_)

    @property
    def _methods(self) -> list[str]:
        return [name for name in ("decision_function", "predict_proba") if hasattr(self.model, name)]

    @property
    def are_known(self) -> bool:
        return bool(self._methods)

    def scores(self, X: Any) -> FloatArray:
        """Scores of every class for every row of X (K x n)."""
        n_classes = len(self.model.classes_)
        if self.learned is not None:
            X = columns_for(self.model, X, self.learned)
        # With three classes there are as many pairs as classes.
        settings = self.model.get_params() if hasattr(self.model, "get_params") else {}
        is_of_pairs = any(
            name.endswith("decision_function_shape") and value == "ovo" for name, value in settings.items()
        )
        for name in self._methods:
            if is_of_pairs and name == "decision_function":
                continue
            found: FloatArray = np.asarray(in_memory(getattr(self.model, name)(X)), dtype=np.float64)
            if found.ndim == 1 and n_classes == 2:
                return np.vstack([-found, found])
            if found.ndim == 2 and found.shape[1] == n_classes:
                return found.T
        raise ValueError(
            f"{type(self.model).__name__} has no score for each class; use a classifier with "
            "decision_function or predict_proba, such as one with decision_function_shape='ovr'."
        )


def warn_about_small_classes(left_out: LeftOut, classes: np.ndarray, confidence: float) -> None:
    """Classes that no set can exclude."""
    small = classes[left_out.too_small(confidence)]
    if len(small):
        has, it = ("has", "it") if len(small) == 1 else ("have", "them")
        warn(
            f"at confidence {confidence:g} a class needs {counted(needed_to_exclude(confidence), 'sample')} "
            f"or groups to be excluded, and {listed(small)} {has} fewer: every set holds {it}. Add samples, "
            "or lower confidence.",
            UserWarning,
        )
