"""Feature selection as a scikit-learn transformer, with stability selection over halves of the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from minimaxrisk._utils.arguments import parameters_by_keyword
from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.dask_arrays import is_dask_array
from minimaxrisk._utils.notices import one_warning, quiet_fits, silenced, warn
from minimaxrisk._utils.parallel import parallel_map, progress_bar
from minimaxrisk._utils.sklearn_private import HasMethods, Interval, fit_context, fit_with
from minimaxrisk._utils.stored_tables import take_rows
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.fit_support import start_over
from minimaxrisk.exceptions import CoverageWarning
from minimaxrisk.guarantees.certified import DASK, ELSEWHERE, STABILITY, Capable, Estimator
from minimaxrisk.samples.independent_units import Strata, independent_parts
from minimaxrisk.samples.validation import TrainingData, check_training_data


def selection_from_rows(
    estimator: Estimator,
    data: TrainingData,
    max_features: int | None,
    more: Mapping[str, Any],
    rows: IntArray,
) -> IntArray:
    """What the estimator selects from some of the rows; ``more`` goes to its fit, if it is not None."""
    own = {name: None if each is None else each[rows] for name, each in more.items()}
    with quiet_fits():
        X, y = take_rows(data.X, rows), data.classes[data.labels[rows]]
        fitted = fit_with(clone(estimator), X, y, **own)
    return most_important(fitted, max_features)


def most_important(fitted: Any, max_features: int | None) -> IntArray:
    """The selected columns of a fitted estimator, at most ``max_features`` of them."""
    selected: IntArray = fitted.selected_features_
    if max_features is None or len(selected) <= max_features:
        return selected
    # Stable, so that of two equally important columns the first one stays.
    order = np.argsort(-fitted.feature_importances_[selected], kind="stable")
    return selected[order[:max_features]]


@parameters_by_keyword
class MinimaxRiskSelector(Capable, SelectorMixin, BaseEstimator):
    """Keep the columns that a minimax risk classifier gives a non-zero coefficient.

    For another learner that is to work on few columns. With ``stability=True``, keep those that are selected
    from most random halves of the samples. ::

        model = make_pipeline(MinimaxRiskSelector(max_features=30), LogisticRegression()).fit(X, y)

    Parameters
    ----------
    estimator : MinimaxRiskClassifier or None, default=None
        The classifier that selects; it is cloned. ``None`` is ``MinimaxRiskClassifier()``.
    max_features : int or None, default=None
        Keep at most this many, those with the largest ``feature_importances_``. With ``stability=True``
        each half selects at most this many, and all that reach the threshold are kept.
    stability : bool, default=False
        Stability selection: a copy of the estimator selects from each of ``n_subsamples`` random halves of
        the samples of each class, and the columns that enough halves select are kept.
    threshold : float, default=0.6
        The share of halves, above 1/2 and at most 1, that have to select a column. Used with
        ``stability=True`` only, like all parameters below.
    n_subsamples : int, default=100
        Number of halves.
    n_jobs : int or None, default=None
        Number of processes, as in joblib: None is 1 unless a context sets another number, -1 all cores. The
        result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the halves; an int gives the same ones every time.
    verbose : int, default=0
        If positive, a progress bar on standard error.

    Attributes
    ----------
    estimator_ : MinimaxRiskClassifier
        The classifier fitted on all samples. With ``stability=True`` the kept columns do not depend on it.
    selection_frequencies_ : ndarray of shape (n_features,)
        With ``stability=True``: the share of halves that select each column.
    threshold_ : float
        With ``stability=True``: the threshold of the fit.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    See Also
    --------
    reliable_features : Bounds from below how many of the kept columns are related to the label.
    minimaxrisk.inspection.StabilityDisplay : Draws how often columns were selected.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import MinimaxRiskSelector
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> MinimaxRiskSelector(max_features=2).fit(X, y).get_feature_names_out()
    array(['worst radius', 'worst concavity'], dtype=object)
    >>> selector = MinimaxRiskSelector(max_features=4, stability=True, n_subsamples=20, random_state=0)
    >>> selector.fit(X, y).get_feature_names_out()
    array(['worst radius', 'worst concavity'], dtype=object)
    """

    selection_frequencies_: FloatArray
    threshold_: float

    _capabilities = frozenset({STABILITY, DASK, ELSEWHERE})
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"]), None],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "stability": ["boolean"],
        "threshold": [Interval(Real, 0.5, 1, closed="right")],
        "n_subsamples": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        max_features: int | None = None,
        stability: bool = False,
        threshold: float = 0.6,
        n_subsamples: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.max_features = max_features
        self.stability = stability
        self.threshold = threshold
        self.n_subsamples = n_subsamples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    @one_warning()
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the classifier that selects.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Training instances.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, passed to the classifier. With ``stability=True`` a half has a sample with its
            whole weight.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group, such as the measurements of a patient, are not independent. They are passed
            to an estimator whose ``fit`` takes groups. With ``stability=True`` a half has all or none of
            them.

        Returns
        -------
        self
            The fitted selector.

        Raises
        ------
        ValueError
            If the estimator has no ``selected_features_`` after its fit.
        """
        estimator = MinimaxRiskClassifier() if self.estimator is None else self.estimator
        work = self._halve(estimator, X, y, sample_weight, groups) if self.stability else None
        with silenced(CoverageWarning):
            fitted = fit_with(clone(estimator), X, y, sample_weight=sample_weight, groups=groups)
        if not hasattr(fitted, "selected_features_"):
            raise ValueError(
                "estimator must have selected_features_ after fit, such as MinimaxRiskClassifier; got "
                f"{type(estimator).__name__}."
            )
        selections = None
        if work is not None:
            select, halves = work
            with progress_bar(len(halves), "halves", verbose=self.verbose) as progress:
                selections = parallel_map(select, halves, n_jobs=self.n_jobs, progress=progress)
        start_over(self, fitted)
        self.estimator_, self._most_features = fitted, self.max_features
        if selections is not None:
            votes = np.bincount(np.concatenate(selections), minlength=self.n_features_in_)
            self.selection_frequencies_, self.threshold_ = votes / len(selections), float(self.threshold)
            if not self._get_support_mask().any():
                most = float(self.selection_frequencies_.max())
                warn(
                    f"no column was selected from {self.threshold:.0%} of the halves, so none is kept; the "
                    f"most stable one was selected from {most:.0%}. Lower the threshold or the radius to "
                    "keep more columns, which are then less reliable.",
                    UserWarning,
                )
        return self

    def _halve(
        self, estimator: Estimator, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> tuple[Callable[[IntArray], IntArray], list[IntArray]]:
        """The selection to run on each half, and the halves."""
        data = check_training_data(copy(self), X, y, sample_weight=sample_weight, groups=groups)
        random = check_random_state(self.random_state)
        halves = independent_parts(Strata.of(data), self.n_subsamples, 0.5, random)
        weights = None if sample_weight is None else data.weights
        more = {"sample_weight": weights, "groups": data.groups}
        return partial(selection_from_rows, estimator, data, self.max_features, more), halves

    def transform(self, X: Any) -> Any:
        """Keep the selected columns.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array, sparse matrix or dask array of shape (n_samples, n_kept)
            The selected columns; those of a dask array lazily.
        """
        if not is_dask_array(X):
            return super().transform(X)
        check_is_fitted(self, "estimator_")
        validate_data(self, X, reset=False, skip_check_array=True)
        return X[:, self.get_support(indices=True)]

    if TYPE_CHECKING:  # of scikit-learn, which has no types

        def get_support(self, indices: bool = False) -> np.ndarray: ...

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        if hasattr(self, "selection_frequencies_"):
            return self.selection_frequencies_ >= self.threshold_
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[most_important(self.estimator_, self._most_features)] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
