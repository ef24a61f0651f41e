"""A fitted model on samples that it has not seen: error rates with intervals.

**Comparison with a baseline.** Of the samples that either the model or the baseline alone misclassifies, the
baseline misclassifies half if both have the same error rate. McNemar's exact test is the binomial test of
this. A baseline of numbers, such as age, becomes a prediction by a threshold. A threshold that was chosen on
these samples would be too good, and one that was not chosen at all may be too bad. Therefore p is the largest
one over all thresholds in both directions: the model is better than each of them, or p is large. This is
valid, because the hypothesis that some threshold is as good as the model is the union of the hypotheses that
each is, and p exceeds the p-value of the true one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import confusion_matrix

from minimaxrisk._utils.arguments import check_confidence, counted, listed
from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.rounding import percent
from minimaxrisk._utils.sklearn_private import check_classifier
from minimaxrisk._utils.stored_tables import in_memory
from minimaxrisk.analysis.cross_validation import ProbabilityBand, bands_of
from minimaxrisk.analysis.intervals import (
    PEOPLE,
    ClassRates,
    Estimate,
    area_under_curve,
    class_rates,
    mixture,
    share,
)
from minimaxrisk.estimators.prediction_sets import has_scores, scores_of
from minimaxrisk.guarantees.certified import SETS, Estimator, can
from minimaxrisk.guarantees.error_bound import checked_prevalence
from minimaxrisk.guarantees.left_out import SURE, UNLIKE, UNSURE, in_words, margins
from minimaxrisk.guarantees.verification import was_fitted_on
from minimaxrisk.samples.groups import codes_of_groups
from minimaxrisk.samples.independent_units import one_of_each
from minimaxrisk.samples.labels import check_labels

# The seed by which one sample of each group is drawn.
SEED = 0
# Below it the number of errors is not one that the probabilities let expect, and a baseline is not as good.
UNUSUAL = 0.05


@dataclass(frozen=True)
class ProbabilityCheck:
    """Whether calibrated probabilities were right about these samples.

    Attributes
    ----------
    expected_errors : float
        How many errors the probabilities of the predicted labels let expect.
    n_errors, n : int
        How many there were, among how many samples.
    p_value : float
        How probable a number of errors at least as unusual is, if the probabilities are right (a binomial
        test, in which it is not too small).
    brier_score : float
        Mean over samples of half the squared distance between probabilities and truth; 0 is perfect.
    bands : tuple of ProbabilityBand
        How many predictions were right, by the probability of the predicted label, the highest first.
    """

    expected_errors: float
    n_errors: int
    n: int
    p_value: float
    brier_score: float
    bands: tuple[ProbabilityBand, ...]

    @property
    def statement(self) -> str:
        """The outcome in words."""
        text = f"Calibration: {self.n_errors:,} errors, {self.expected_errors:.1f} expected"
        if self.p_value >= UNUSUAL:
            return f"{text} by the probabilities: no difference is shown."
        known = "too certain" if self.n_errors > self.expected_errors else "too cautious"
        return f"{text} (p = {self.p_value:.2g}): on these samples the probabilities are {known}."


@dataclass(frozen=True)
class BaselineComparison:
    """The model beside another prediction of the same samples, by McNemar's exact test.

    Attributes
    ----------
    error : Estimate
        Share of wrong predictions of the baseline; of a baseline of numbers, at ``threshold``.
    n_model_alone, n_baseline_alone : int
        How many samples the model alone misclassifies, and how many the baseline alone.
    p_value : float
        Two-sided and exact. For a baseline of numbers it is the largest one over all thresholds, and 1 if any
        threshold is at least as good as the model.
    threshold : float or None
        Of a baseline of numbers the one with the largest p-value. Values of at least ``threshold`` are
        predicted to be of class ``above``.
    above : object
        The class of large values; None for a baseline of labels.
    """

    error: Estimate
    n_model_alone: int
    n_baseline_alone: int
    p_value: float
    threshold: float | None = None
    above: Any = None

    @property
    def statement(self) -> str:
        """The outcome in words."""
        rule = "" if self.threshold is None else f" at the threshold {self.threshold:.4g}"
        text = (
            f"Baseline{rule}: error rate {self.error}. The model alone misclassifies {self.n_model_alone:,}, "
            f"the baseline alone {self.n_baseline_alone:,} (McNemar's exact test, p = {self.p_value:.2g})"
        )
        if self.p_value >= UNUSUAL:
            return f"{text}: no difference is shown."
        return (
            f"{text}: the {'model' if self.n_model_alone < self.n_baseline_alone else 'baseline'} is better."
        )


@dataclass(frozen=True)
class Predictions:
    """Labels that a model predicts, and scores, probabilities and sets where it has them."""

    classes: Sequence[Any]
    predicted: np.ndarray
    scores: FloatArray | None = None
    probabilities: FloatArray | None = None
    is_possible: BoolArray | None = None
    set_confidence: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """A model on samples that it has not seen; ``evaluate`` makes it. Printed, it is a summary in words.

    Attributes
    ----------
    confidence : float
        The probability with which each interval by itself is to hold the true value.
    labels : tuple
        The classes of the model, and after them labels of the samples that it does not know.
    n_known : int
        How many classes the model has.
    own, predicted : ndarray of int of shape (n_samples,)
        Positions in ``labels`` of each sample's own label and of the predicted one.
    is_counted : ndarray of bool of shape (n_samples,)
        The samples that count: all, or one of each group.
    n_groups : int or None
        How many groups the samples have, if they have any.
    prevalence : mapping of label to float or None
        The shares of the classes that were given.
    scores : ndarray of shape (n_samples, n_classes) or None
        What the model ranks samples by.
    probabilities : ndarray of shape (n_samples, n_classes) or None
        Calibrated probabilities of the labels, if the model has any.
    is_possible : ndarray of bool of shape (n_samples, n_classes) or None
        The prediction sets, if the model has any.
    set_confidence : float or None
        How often these are to hold the right label.
    baseline : BaselineComparison or None
        The comparison with the baseline that was given.
    doubt : str
        What has to be settled before the numbers mean anything; empty if nothing has.
    """

    confidence: float
    labels: tuple[Any, ...]
    n_known: int
    own: IntArray = field(repr=False)
    predicted: IntArray = field(repr=False)
    is_counted: BoolArray = field(repr=False)
    n_groups: int | None = None
    prevalence: Mapping[Any, float] | None = None
    scores: FloatArray | None = field(repr=False, default=None)
    probabilities: FloatArray | None = field(repr=False, default=None)
    is_possible: BoolArray | None = field(repr=False, default=None)
    set_confidence: float | None = None
    baseline: BaselineComparison | None = None
    doubt: str = ""

    @cached_property
    def confusion(self) -> IntArray:
        """Numbers of samples that count by own label (rows) and predicted label (columns)."""
        counts: IntArray = confusion_matrix(
            self.own[self.is_counted], self.predicted[self.is_counted], labels=np.arange(len(self.labels))
        )
        return counts

    @property
    def error(self) -> Estimate:
        """Share of wrong predictions."""
        n = self.confusion.sum()
        return share(n - self.confusion.trace(), n, self.confidence)

    @property
    def certain_error(self) -> Estimate | None:
        """Share of wrong predictions among those whose prediction set holds one class; None without any."""
        kinds = self.kinds_of_sets or {"sure and right": 0, "sure and wrong": 0}
        n_wrong = kinds["sure and wrong"]
        n = n_wrong + kinds["sure and right"]
        return share(n_wrong, n, self.confidence) if n else None

    @property
    def balanced_accuracy(self) -> Estimate | None:
        """Mean sensitivity of the classes that have samples; None for one class alone."""
        present = self.confusion.any(axis=1)
        return self._right_at(present / present.sum()) if present.sum() > 1 else None

    @property
    def error_at_prevalence(self) -> Estimate | None:
        """Share of wrong predictions where the classes are as common as ``prevalence`` says."""
        if self.prevalence is None:
            return None
        right = self._right_at(self._shares)
        return Estimate(1.0 - right.value, 1.0 - right.high, 1.0 - right.low)

    @cached_property
    def area(self) -> Estimate | None:
        """Area under the ROC curve of two classes, and the mean over classes of more.

        None unless the model has scores, and two classes that it knows have samples.
        """
        ranked = self._ranked
        if ranked is None:
            return None
        return area_under_curve(*ranked, self.confidence)

    @cached_property
    def per_class(self) -> tuple[ClassRates, ...]:
        """The rates of each class that the model knows."""
        rates = class_rates(self.confusion, self.confidence)
        return tuple(replace(rates[k], **self._more_of_class(k)) for k in range(self.n_known))

    @cached_property
    def calibration(self) -> ProbabilityCheck | None:
        """Whether the probabilities were right; None without any."""
        if self.probabilities is None:
            return None
        counts = self.is_counted
        table, own, predicted = self.probabilities[counts], self.own[counts], self.predicted[counts]
        stated = table[np.arange(len(own)), predicted]
        expected, n_errors = float((1.0 - stated).sum()), int((predicted != own).sum())
        is_true = own[:, None] == np.arange(table.shape[1])
        return ProbabilityCheck(
            expected_errors=expected,
            n_errors=n_errors,
            n=len(own),
            p_value=float(stats.binomtest(n_errors, len(own), min(1.0, expected / len(own))).pvalue),
            brier_score=float(0.5 * ((table - is_true) ** 2).sum(axis=1).mean()),
            bands=bands_of(stated, predicted == own),
        )

    @property
    def sizes(self) -> dict[Any, int]:
        """How many samples of each label count."""
        return dict(zip(self.labels, self.confusion.sum(axis=1).tolist(), strict=True))

    @property
    def unknown(self) -> dict[Any, int]:
        """Labels that the model does not know, and how many samples have them."""
        return {label: self.sizes[label] for label in self.labels[self.n_known :]}

    @property
    def is_pair(self) -> bool:
        """Whether the model knows two classes."""
        return self.n_known == 2

    @property
    def name_of_area(self) -> str:
        """What ``area`` is, in words."""
        n = sum(one.area is not None for one in self.per_class)
        return f"area under the ROC curve{'' if self.is_pair else f', mean of {n} classes'}"

    @property
    def majority_error(self) -> float:
        """The error of always predicting the most common class of these samples."""
        sizes = self.confusion.sum(axis=1)
        return 1.0 - float(sizes.max() / sizes.sum())

    @property
    def kinds_of_sets(self) -> dict[str, int] | None:
        """How many samples that count are sure and right, sure and wrong, unsure, and unlike all classes."""
        if self.is_possible is None:
            return None
        words = in_words(self.is_possible)[self.is_counted]
        named = np.where(self.is_possible.any(axis=1), self.is_possible.argmax(axis=1), -1)
        is_right = (named == self.own)[self.is_counted]
        return {
            "sure and right": int(((words == SURE) & is_right).sum()),
            "sure and wrong": int(((words == SURE) & ~is_right).sum()),
            UNSURE: int((words == UNSURE).sum()),
            UNLIKE: int((words == UNLIKE).sum()),
        }

    @property
    def _shares(self) -> FloatArray:
        """The prevalence of each label."""
        return np.array(list((self.prevalence or {}).values()))

    def _mixture(self, predicted: IntArray, weights: FloatArray) -> Estimate:
        """Return the weighted sum over the labels of the shares that are predicted to be of given classes."""
        used = np.flatnonzero(weights)
        counts = zip(self.confusion[used, predicted[used]], self.confusion[used].sum(axis=1), strict=True)
        return mixture([share(k, n, self.confidence) for k, n in counts], weights[used], self.confidence)

    def _right_at(self, weights: FloatArray) -> Estimate:
        """Return the share of right predictions where labels have these weights; unknown ones are wrong."""
        every = np.arange(len(weights))
        return self._mixture(every, np.where(every < self.n_known, weights, 0.0))

    @property
    def _ranked(self) -> tuple[FloatArray, IntArray] | None:
        """Margins of the scores (n x K) and classes of the samples that count and are of a known class."""
        used = self.is_counted & (self.own < self.n_known)
        if self.scores is None or len(np.unique(self.own[used])) < 2:
            return None
        return margins(self.scores[used]), self.own[used]

    def _more_of_class(self, k: int) -> dict[str, Any]:
        """Return what a class has beside its rates."""
        found: dict[str, Any] = {"label": self.labels[k]}
        if self.prevalence is not None:
            people, is_own = PEOPLE * self._shares, np.arange(len(self.labels)) == k
            of_class = np.full(len(people), k)
            found["n_people"] = float(people[k])
            found["n_found"] = self._mixture(of_class, people * is_own)
            found["n_false"] = self._mixture(of_class, people * ~is_own)
            found["predictive_value"] = self._predictive_value(k)
        elif np.count_nonzero(self.confusion.sum(axis=1)) == 1:
            found["predictive_value"] = None
        ranked = self._ranked
        if ranked is not None and k in ranked[1]:
            margin, is_own = ranked[0][:, k], ranked[1] == k
            both = np.column_stack([-margin, margin])
            found["area"] = area_under_curve(both, is_own.astype(np.intp), self.confidence)
        return found

    def _predictive_value(self, k: int) -> Estimate | None:
        """Return the share of those predicted to be of class k that are, at the prevalence.

        It rises in the rate of class k and falls in those of the others. The limits of all rates hold at
        once.
        """
        if not self.confusion[:, k].any():
            return None
        each = 1.0 - (1.0 - self.confidence) / len(self.labels)
        rates = [share(row[k], row.sum(), each) for row in self.confusion]
        value, low, high = self._shares * np.transpose([[one.value, one.low, one.high] for one in rates])

        def of(own: FloatArray, others: FloatArray) -> float:
            total = own[k] + others.sum() - others[k]
            return float(own[k] / total) if total else 0.0

        return Estimate(of(value, value), of(low, high), of(high, low))

    @property
    def statement(self) -> str:
        """The error rate and its interval, what it is compared with and what it assumes, in words."""
        drawn = "" if self.n_groups is None else f" (one of each of {counted(self.n_groups, 'group')})"
        wrong = f"{self.error.n_counted:,} of {counted(self.error.n or 0, 'sample')}{drawn}"
        unknown = [
            f"{counted(size, 'sample')} of {label!r}, which the model does not know, counted as wrong."
            for label, size in self.unknown.items()
        ]
        if self.doubt:
            found = f"The model misclassifies {wrong}, which may mean nothing until this is resolved."
            return " ".join([self.doubt, found, *unknown])
        error, of_what = self.error, "samples" if self.n_groups is None else "groups"
        level = percent(self.confidence)
        parts = [
            f"Error rate: {error.value:.1%} ({wrong}, {level} CI {error.interval}).",
            self._compared(),
            *unknown,
        ]
        if self.prevalence is not None:
            shares = ", ".join(f"{part:.4g} {label!r}" for label, part in self.prevalence.items())
            parts.append(
                f"Error rate where the classes have the shares {shares}: {self.error_at_prevalence}."
            )
        assumed = f"The interval assumes independent {of_what} that had no part in making the model."
        return " ".join([*parts, assumed])

    def _compared(self) -> str:
        """Compare the model with predicting one class."""
        common = max(self.sizes, key=lambda label: self.sizes[label])
        if self.majority_error == 0.0:
            return f"All samples are of {common!r}, so the error rate of other classes is unknown."
        is_better = "is" if self.error.high < self.majority_error else "is not shown to be"
        return f"This {is_better} below always predicting {common!r} ({self.majority_error:.1%})."

    def __str__(self) -> str:
        return "\n".join([self.statement, "", *self._lines()])

    def _lines(self) -> Iterator[str]:
        yield f"By class ({percent(self.confidence)} intervals, each by itself):"
        for one in self.per_class:
            parts = {
                "sensitivity": one.sensitivity,
                "specificity": one.specificity,
                "predictive value": one.predictive_value,
                "area under the ROC curve": None if self.is_pair else one.area,
            }
            rates = [f"{name} {each}" for name, each in parts.items() if each is not None]
            yield f"  {one.label!r}: {', '.join(rates) or 'no sample, and never predicted'}"
        yield from (f"  {one.people}" for one in self.per_class if one.people)
        more = {
            "balanced accuracy": self.balanced_accuracy,
            self.name_of_area: self.area,
            "error rate of certain predictions": self.certain_error,
        }
        yield from (f"  {name}: {each}" for name, each in more.items() if each is not None)
        if self.kinds_of_sets is not None:
            kinds = ", ".join(f"{n} {kind}" for kind, n in self.kinds_of_sets.items())
            yield f"  prediction sets at {percent(self.set_confidence or 0.0)}: {kinds}"
        yield from (f"  {part.statement}" for part in (self.calibration, self.baseline) if part is not None)


def evaluate(
    model: Estimator,
    X: Any,
    y: Any,
    *,
    prevalence: Mapping[Any, float] | None = None,
    confidence: float = 0.95,
    groups: Any = None,
    baseline: Any = None,
) -> Evaluation:
    """Count the errors of this very model on samples that it has not seen, such as a second cohort.

    Nothing is fitted. Errors on training samples or on another scale mean nothing: the training data of an
    ensemble and of a model with a certificate are refused, and
    ``training_scale(model, X_train, y_train).compare(X)`` compares scales, as the command does.

    Parameters
    ----------
    model : estimator
        Any fitted classifier. A ``PredictionSets`` also has probabilities and sets of labels to judge.
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        Samples that it was not fitted on.
    y : array-like of shape (n_samples,)
        Their labels. Those that the model does not know are errors.
    prevalence : mapping of label to float or None, default=None
        How common each class is where the model will be used; predictive values are for it. None takes the
        shares of these samples.
    confidence : float, default=0.95
        Of the intervals, each by itself.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples that are not independent, such as those of one patient: of each group one is drawn and
        counted.
    baseline : array-like of shape (n_samples,) or None, default=None
        Another prediction of the same samples, with which McNemar's exact test compares the model: labels, or
        for two classes numbers such as age or a marker. Of numbers the threshold counts that is hardest to
        beat on these samples, in either direction.

    Returns
    -------
    Evaluation
        Error rates and areas under the ROC curve with intervals, the confusion matrix, and the comparison
        with the baseline; ``print`` shows it in words.

    Raises
    ------
    ValueError
        If these are the data that the model was fitted on, it knows none of the labels, or ``prevalence`` is
        not a share for every class, each of which has samples; or if ``baseline`` holds neither labels nor,
        for two classes, numbers.

    See Also
    --------
    cohort_size : How many samples the cohort needs.
    error_bound : What can be said without a second cohort.
    training_scale : Compares new samples with the scale of the training data.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier, evaluate
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimaxRiskClassifier().fit(X[:400], y[:400])
    >>> found = evaluate(model, X[400:], y[400:])
    >>> print(found.error)
    3.0% (0.9% to 6.8%; 5 of 169)
    >>> print(found.balanced_accuracy)
    93.6% (86.1% to 97.9%)
    """
    check_confidence(confidence)
    check_classifier("model", model)
    fitted: Any = model  # with what its capabilities say
    y = check_labels(X, y, groups=groups)
    named = np.asarray(in_memory(fitted.predict(X)))
    has_sets = can(fitted, SETS)
    judged = fitted.estimator_ if has_sets else fitted
    if was_fitted_on(judged, X, y, groups):
        raise ValueError(
            "X and y are the training data of the model, and errors on them say nothing about new samples; "
            "pass samples of another cohort, or use error_bound(model, X, y) for what these can tell."
        )
    scores = scores_of(judged, X) if has_scores(judged) else None
    predictions = Predictions(np.asarray(judged.classes_).tolist(), named, scores)
    if has_sets:
        predictions = replace(
            predictions,
            probabilities=fitted.predict_proba(X),
            is_possible=fitted.predict_set(X),
            set_confidence=fitted.confidence,
        )
    return evaluation_of(
        predictions, y, prevalence=prevalence, confidence=confidence, groups=groups, baseline=baseline
    )


def evaluation_of(
    predictions: Predictions,
    y: np.ndarray,
    *,
    prevalence: Mapping[Any, float] | None = None,
    confidence: float = 0.95,
    groups: Any = None,
    baseline: Any = None,
) -> Evaluation:
    """Evaluate predictions that have already been computed."""
    classes = list(predictions.classes)
    strange = [label for label in np.unique(y).tolist() if label not in classes]
    labels = [*classes, *strange]
    position = {label: k for k, label in enumerate(labels)}
    own, predicted = (
        np.array([position[label] for label in each.tolist()]) for each in (y, predictions.predicted)
    )
    is_counted, n_groups = np.ones(len(own), dtype=np.bool_), None
    if groups is not None:
        unit = codes_of_groups(groups, len(own))
        n_groups = int(unit.max()) + 1
        is_counted = np.isin(np.arange(len(own)), one_of_each(unit, np.random.RandomState(SEED)))
    if (own[is_counted] >= len(classes)).all():
        kinds = [type(each[0]).__name__ for each in (classes, strange)]
        are_other = "" if kinds[0] == kinds[1] else f" ({kinds[0]}, not {kinds[1]})"
        raise ValueError(
            f"the model knows none of these labels: its classes are {listed(classes)}{are_other}, and "
            f"the samples have {listed(strange)}. Give the labels the names that the model has."
        )
    found = Evaluation(
        confidence=float(confidence),
        labels=tuple(labels),
        n_known=len(classes),
        own=own,
        predicted=predicted,
        is_counted=is_counted,
        n_groups=n_groups,
        scores=predictions.scores,
        probabilities=predictions.probabilities,
        is_possible=predictions.is_possible,
        set_confidence=predictions.set_confidence,
    )
    if baseline is not None:
        found = replace(found, baseline=_compared_with(baseline, found))
    return found if prevalence is None else replace(found, prevalence=_checked(prevalence, found.sizes))


def _checked(prevalence: Mapping[Any, float], sizes: Mapping[Any, int]) -> dict[Any, float]:
    """Return the share of each label, in the order of the labels, all of which have samples."""
    shares = checked_prevalence(prevalence, list(sizes))
    absent = [label for label in {**sizes, **shares} if not sizes.get(label)]
    if absent:
        raise ValueError(
            f"prevalence needs samples of every class, and there are none of {listed(absent)}; leave out "
            "prevalence, or add such samples."
        )
    return {label: float(shares[label]) for label in sizes}


def _compared_with(baseline: Any, found: Evaluation) -> BaselineComparison:
    """Return the comparison with labels, or with numbers at the threshold that is hardest to beat."""
    values, n = np.asarray(baseline), len(found.own)
    if values.shape != (n,):
        raise ValueError(f"baseline must hold one entry for each of the {n} samples, got {values.shape}.")
    used = found.is_counted
    own, model_errs, given = found.own[used], (found.predicted != found.own)[used], values[used].tolist()
    if all(value in found.labels for value in given):
        is_wrong = np.array([found.labels.index(value) for value in given]) != own
        return _mcnemar(model_errs, is_wrong, found.confidence)
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.full(1, np.nan)
    if found.n_known != 2 or not np.isfinite(numbers).all():
        strange = [value for value in dict.fromkeys(given) if value not in found.labels]
        raise ValueError(
            f"baseline must hold labels of the samples ({listed(found.labels)}), or for two classes numbers "
            f"without gaps, got {listed(strange)}. Make labels of it by a rule that does not depend on "
            "these samples."
        )
    thresholds, above = np.repeat(np.unique(numbers), 2)[:, None], np.tile([0, 1], len(np.unique(numbers)))
    errs = np.where(numbers >= thresholds, above[:, None], 1 - above[:, None]) != own
    p_values = _p_values(model_errs, errs, is_one_sided=True)
    hardest = np.lexsort((errs.sum(axis=1), -p_values))[0]
    return replace(
        _mcnemar(model_errs, errs[hardest], found.confidence),
        p_value=float(p_values[hardest]),
        threshold=float(thresholds[hardest, 0]),
        above=found.labels[above[hardest]],
    )


def _mcnemar(model_errs: BoolArray, baseline_errs: BoolArray, confidence: float) -> BaselineComparison:
    return BaselineComparison(
        share(baseline_errs.sum(), len(baseline_errs), confidence),
        n_model_alone=int((model_errs & ~baseline_errs).sum()),
        n_baseline_alone=int((baseline_errs & ~model_errs).sum()),
        p_value=float(_p_values(model_errs, baseline_errs)),
    )


def _p_values(model_errs: BoolArray, baseline_errs: BoolArray, *, is_one_sided: bool = False) -> FloatArray:
    """Return twice the smaller tail of McNemar's test, or the one that is small if the model is better."""
    n_model = (model_errs & ~baseline_errs).sum(axis=-1)
    n_baseline = (baseline_errs & ~model_errs).sum(axis=-1)
    fewer = n_model if is_one_sided else np.minimum(n_model, n_baseline)
    return np.minimum(1.0, 2.0 * stats.binom.cdf(fewer, n_model + n_baseline, 0.5))
