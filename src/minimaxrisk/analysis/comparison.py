"""Several classifiers on the same folds: errors, paired differences, features and seconds.

Models of different folds share most of their samples, so the errors of folds are not independent, and the
usual standard error of a mean of J differences is too small. Nadeau and Bengio's correction is

    sqrt((1/J + n_test/n_train) s^2),   s^2 the variance of the differences over the J folds.

With K folds the mean difference over this standard error is compared with Student's distribution with K - 1
degrees of freedom, also if the folds are drawn several times, because the differences of repeats are not
independent. The test is conservative for classifiers that change little with the training samples, because
their folds are nearly independent: of equally good ridge regressions 2.6% of the p-values are below 5%
(``experiments/guarantees``, 72 cells).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from minimaxrisk._utils.arguments import check_positive_integer, listed
from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.parallel import parallel_map, progress_bar
from minimaxrisk._utils.sklearn_private import check_classifier
from minimaxrisk.guarantees.certified import SELECTION, Estimator, can, unwrapped
from minimaxrisk.samples.folds import folds_of_cv
from minimaxrisk.samples.groups import codes_of_groups
from minimaxrisk.samples.labels import check_labels
from minimaxrisk.samples.parts import fit_on_rows, part_for


class CannotFitError(ValueError):
    """A classifier failed on a fold."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name, self.reason = name, reason

    def __str__(self) -> str:
        return f"estimators[{self.name!r}] failed on a fold, in fit or predict: {self.reason}"


@dataclass(frozen=True)
class Comparison:
    """Errors of several classifiers on the same folds; printed, it is a table.

    Below the table stands which classes a classifier names for no sample: it errs on all of these.

    Attributes
    ----------
    names : tuple of str
        The classifiers in the given order; the others are compared with the first.
    errors, n_features, seconds : ndarray of shape (n_estimators, n_fits)
        Of each fit the share of wrong predictions on the left-out fold, the columns that the model uses (of
        an ensemble those that its members select; NaN if unknown), and the time.
    test_share : float
        Samples in a fold over samples in the others.
    n_repeats : int
        How often the folds were drawn.
    never_predicted : tuple of tuple
        For each classifier the labels of left-out samples that it predicts on no fold.
    """

    names: tuple[str, ...]
    errors: FloatArray = field(repr=False)
    n_features: FloatArray = field(repr=False)
    seconds: FloatArray = field(repr=False)
    test_share: float = field(repr=False)
    never_predicted: tuple[tuple[Any, ...], ...] = field(repr=False)
    n_repeats: int = 1

    @property
    def mean_errors(self) -> FloatArray:
        """Mean error over the folds, one for each classifier."""
        return self.errors.mean(axis=1)

    @property
    def differences(self) -> FloatArray:
        """Mean error of each minus that of the first: negative where it errs less."""
        return self.mean_errors - self.mean_errors[0]

    @property
    def difference_errors(self) -> FloatArray:
        """Approximate standard errors of the differences, which are paired by folds; zero for the first."""
        spread: FloatArray = (self.errors - self.errors[0]).std(axis=1, ddof=1)
        return spread * np.sqrt(1.0 / self.errors.shape[1] + self.test_share)

    @property
    def p_values(self) -> FloatArray:
        """Two-sided p-values of the differences by Student's distribution; 1 for the first."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(self.differences) / self.difference_errors
        return np.where(self.differences == 0.0, 1.0, 2.0 * stats.t.sf(t, self._freedom))

    @property
    def intervals(self) -> FloatArray:
        """Approximate 95% confidence intervals of the differences, shape (n_estimators, 2)."""
        half = stats.t.ppf(0.975, self._freedom) * self.difference_errors
        return np.column_stack([self.differences - half, self.differences + half])

    @property
    def _freedom(self) -> int:
        return self.errors.shape[1] // self.n_repeats - 1

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        head = f"less {self.names[0]}, 95% interval"
        lines = [f"{'':{width}}   error    {head:>23}    columns    seconds"]
        for i, name in enumerate(self.names):
            low, high = self.intervals[i]
            difference = f"{self.differences[i]:+.3f}, {low:+.3f} to {high:+.3f}" if i else ""
            used = np.median(self.n_features[i])
            columns = f"{used:,.0f}" if np.isfinite(used) else "–"
            lines.append(
                f"{name:{width}}   {self.mean_errors[i]:.3f}    {difference:>{max(23, len(head))}}    "
                f"{columns:>7}    {np.median(self.seconds[i]):7.3f}"
            )
        lost = zip(self.names, self.never_predicted, strict=True)
        lines += [f"{name} never predicts {listed(labels)}." for name, labels in lost if labels]
        return "\n".join(lines)


def compare(
    estimators: Mapping[str, Estimator],
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    n_repeats: int = 1,
    groups: Any = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Comparison:
    """Cross-validate several classifiers on the same folds and compare their error rates.

    Differences come with intervals and p-values that take account of the samples that folds share. They are
    conservative for stable learners: of equally good ridge regressions 2.6% of the p-values are below 5%.

    Parameters
    ----------
    estimators : mapping of str to classifier
        Any scikit-learn classifiers, pipelines and searches included, by names of your choice. The others are
        compared with the first. They are cloned.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Instances. Put scaling and selection into pipelines, so that they happen inside each fold.
    y : array-like of shape (n_samples,)
        Their labels.
    cv : int, splitter, iterable or None, default=5
        Number of shuffled, stratified folds, at most as many as the largest class has samples or groups;
        ``None`` is 5. A class with a single sample is in every training part, so its error is unknown. A
        splitter is used as it is.
    n_repeats : int, default=1
        How often the folds are drawn, if ``cv`` is a number.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of one group, such as the measurements of a patient, are not independent and stay in one fold.
        Classifiers whose ``fit`` takes groups get them, and with metadata routing searches that request them.
    n_jobs : int or None, default=None
        Processes, as in scikit-learn. Fits that run at the same time take longer.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds, if ``cv`` is a number. ``None`` is 0.
    verbose : int, default=0
        If positive, a progress bar on standard error.

    Returns
    -------
    Comparison
        Errors, columns and seconds of every fit, with means, differences and their intervals.

    Raises
    ------
    ValueError
        If an entry of ``estimators`` is not a classifier, or fails on a fold.

    See Also
    --------
    error_bound : A bound on the error of one of them that holds with a probability.

    References
    ----------
    C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from minimaxrisk import MinimaxRiskClassifier, compare
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(60, 300, n_informative=10, effect=1.5, random_state=0)
    >>> ours, naive = MinimaxRiskClassifier(), GaussianNB()
    >>> compared = compare({"minimax risk": ours, "naive Bayes": naive}, study.data, study.target)
    >>> compared.errors.shape
    (2, 5)
    """
    if not isinstance(estimators, Mapping) or not estimators:
        raise ValueError(
            "estimators must be a mapping from names to classifiers, such as {'minimax risk': "
            f"MinimaxRiskClassifier()}}, got {estimators!r}."
        )
    for name, estimator in estimators.items():
        check_classifier(f"estimators[{name!r}]", estimator)
    estimators = {str(name): estimator for name, estimator in estimators.items()}
    y = check_labels(X, y, groups=groups)
    unit = None if groups is None else codes_of_groups(groups, len(y))
    check_positive_integer("n_repeats", n_repeats)
    folds = folds_of_cv(cv, y, unit, n_repeats=n_repeats, random_state=random_state)
    if len(folds) < 2:
        raise ValueError(f"cv must make at least 2 folds to judge differences; got {len(folds)}.")
    tasks = [(name, *fold) for fold in folds for name in estimators]
    with progress_bar(len(tasks), "fits", verbose=verbose) as progress:
        one_fit = partial(_one_fit, dict(estimators), X, y, unit)
        found = parallel_map(one_fit, tasks, n_jobs=n_jobs, progress=progress)
    n = len(estimators)
    numbers = np.array([one[:3] for one in found]).reshape(len(folds), n, 3)
    errors, n_features, seconds = numbers.transpose(2, 1, 0)
    judged = np.unique(y[np.concatenate([test for _, test in folds])])
    predicted = [np.concatenate([one[3] for one in found[i::n]]) for i in range(n)]
    return Comparison(
        tuple(estimators),
        errors,
        n_features,
        seconds,
        test_share=float(np.mean([len(test) / len(train) for train, test in folds])),
        never_predicted=tuple(tuple(np.setdiff1d(judged, each).tolist()) for each in predicted),
        n_repeats=int(n_repeats),
    )


def usual_rivals(n_classes: int, *, is_sparse: bool = False, random_state: int = 0) -> dict[str, Any]:
    """Common classifiers for such data, untuned. Sparse columns are not centred, so no shrunken centroids."""
    logistic = l1_logistic_regression(n_classes, random_state=random_state)
    scaler = StandardScaler(with_mean=not is_sparse)
    centroids = {"nearest shrunken centroids": make_pipeline(scaler, NearestCentroid(shrink_threshold=0.5))}
    return {
        "L1 logistic regression": make_pipeline(scaler, logistic),
        "linear SVM": make_pipeline(scaler, LinearSVC(C=0.01, random_state=random_state)),
        **({} if is_sparse else centroids),
        "random forest": RandomForestClassifier(500, random_state=random_state),
    }


def l1_logistic_regression(n_classes: int, *, random_state: int = 0) -> Any:
    """With scikit-learn's liblinear; more than two classes one against the rest."""
    # Before scikit-learn 1.8 the penalty was chosen by name.
    lasso = {"penalty": "l1"} if LogisticRegression().penalty == "l2" else {"l1_ratio": 1.0}
    learner = LogisticRegression(**lasso, solver="liblinear", random_state=random_state)
    return learner if n_classes == 2 else OneVsRestClassifier(learner)


def _one_fit(
    estimators: Mapping[str, Any],
    X: Any,
    y: np.ndarray,
    unit: IntArray | None,
    task: tuple[str, IntArray, IntArray],
) -> tuple[float, float, float, np.ndarray]:
    """Error, columns and seconds of a classifier on a fold, and the labels that it predicts there."""
    name, train, test = task
    begun = perf_counter()
    try:
        fitted = fit_on_rows(estimators[name], X, y, train, groups=unit)
        seconds = perf_counter() - begun
        predicted = np.asarray(fitted.predict(part_for(estimators[name], X, test, train)))
    except ValueError as problem:
        raise CannotFitError(name, str(problem)) from problem
    return float(np.mean(predicted != y[test])), _n_used(fitted), seconds, np.unique(predicted)


def _n_used(fitted: Any) -> float:
    """How many of its columns a fitted classifier uses; NaN if unknown."""
    last, _ = unwrapped(fitted)
    if can(last, SELECTION):
        return float(len(last.selected_features_))
    parts = [last] if hasattr(last, "coef_") else list(getattr(last, "estimators_", ()))
    if parts and all(hasattr(part, "coef_") for part in parts):
        return float(np.vstack([part.coef_ for part in parts]).any(axis=0).sum())
    if hasattr(last, "centroids_"):
        return float(np.any(last.centroids_ != last.centroids_[0], axis=0).sum())
    return float("nan")
