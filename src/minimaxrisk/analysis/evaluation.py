"""A fitted model on samples that it has not seen: how often it is wrong, with intervals.

Nothing is fitted here, so the errors are those of this very model, and their number is binomial if samples
are independent. Intervals are those of ``intervals.py``.

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
from minimaxrisk._utils.rounding import outward, percent
from minimaxrisk._utils.sklearn_private import check_classifier
from minimaxrisk._utils.stored_tables import in_memory
from minimaxrisk.analysis.cross_validation import ProbabilityBand, bands_of
from minimaxrisk.analysis.intervals import Estimate, area_under_curve, class_rates, mixture, share
from minimaxrisk.estimators.prediction_sets import has_scores, scores_of
from minimaxrisk.guarantees.certified import SETS, Estimator, can
from minimaxrisk.guarantees.counting import one_of_each
from minimaxrisk.guarantees.error_bound import checked_prevalence
from minimaxrisk.guarantees.left_out import SURE, UNLIKE, UNSURE, in_words
from minimaxrisk.guarantees.verification import was_fitted_on
from minimaxrisk.samples.groups import codes_of_groups
from minimaxrisk.samples.labels import check_labels

# The seed by which one sample of each group is drawn.
SEED = 0
# Below it the number of errors is not one that the probabilities let expect, and a baseline is not as good.
UNUSUAL = 0.05
PEOPLE = 1000  # among whom errors are counted at a prevalence


@dataclass(frozen=True)
class ClassEvaluation:
    """How the samples of one class fared.

    Attributes
    ----------
    label : object
        The class.
    is_known : bool
        Whether the model can predict it. All samples of other classes are errors.
    sensitivity : Estimate or None
        Share of the samples of the class that are predicted correctly; None without samples.
    specificity : Estimate or None
        Share of the samples of other classes that are not predicted to be of it; None without samples.
    predictive_value : Estimate or None
        Share of the samples predicted to be of it that are, at the given prevalence or at that of the
        samples; None if there are none, or all samples are of one class.
    area : Estimate or None
        Area under the ROC curve of the class against all others, by how far its score is above the best of
        the others; None without scores, and without samples of it or of others.
    people : ExpectedPeople or None
        Expected numbers among 1,000 people, if a prevalence was given.
    """

    label: Any
    is_known: bool
    sensitivity: Estimate | None
    specificity: Estimate | None
    predictive_value: Estimate | None
    area: Estimate | None = None
    people: ExpectedPeople | None = None


@dataclass(frozen=True)
class ExpectedPeople:
    """Expected numbers among 1,000 people, where classes are as common as the given prevalence says.

    Attributes
    ----------
    label : object
        The class.
    n : float
        How many people are of the class.
    n_found, n_false : tuple of float
        How many of them are predicted correctly, and how many of the others are predicted to be of the class:
        the number, and the ends of its interval.
    """

    label: Any
    n: float
    n_found: tuple[float, float, float]
    n_false: tuple[float, float, float]

    @property
    def statement(self) -> str:
        """The numbers in words."""
        found, false = (
            f"{value:,.0f} ({' to '.join(outward(low, high, ',.0f'))})"
            for value, low, high in (self.n_found, self.n_false)
        )
        return (
            f"{self.n:,.0f} of {PEOPLE:,} people are {self.label!r}: {found} are predicted correctly. "
            f"{false} others are predicted to be {self.label!r}."
        )


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
        text = (
            f"By the probabilities {self.expected_errors:.1f} errors were to be expected among "
            f"{counted(self.n, 'sample')}, and there {'was' if self.n_errors == 1 else 'were'} "
            f"{self.n_errors}"
        )
        if self.p_value >= UNUSUAL:
            return f"{text}: they agree, as far as so many samples can tell."
        known = "sure of too much" if self.n_errors > self.expected_errors else "more cautious than need be"
        p = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"
        return f"{text} ({p}): on these samples the probabilities are {known}."


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
            self.own[self.is_counted], self.predicted[self.is_counted], labels=range(len(self.labels))
        )
        return counts

    @property
    def error(self) -> Estimate:
        """Share of wrong predictions."""
        n, n_right = self.confusion.sum(), self.confusion.trace()
        return self._of(n - n_right, n)

    @property
    def certain_error(self) -> Estimate | None:
        """Share of wrong predictions among those whose prediction set holds one class; None without any."""
        kinds = self.kinds_of_sets
        if kinds is None:
            return None
        n_wrong = kinds["sure and wrong"]
        return share(n_wrong, n_wrong + kinds["sure and right"], self.confidence)

    @property
    def balanced_accuracy(self) -> Estimate | None:
        """Mean sensitivity of the classes that have samples; None for one class alone."""
        present = self._present
        if len(present) < 2:
            return None
        equal = np.full(len(present), 1.0 / len(present))
        return mixture([self._predicted_as(k, k) for k in present], equal, self.confidence)

    @property
    def error_at_prevalence(self) -> Estimate | None:
        """Share of wrong predictions where the classes are as common as ``prevalence`` says."""
        if self.prevalence is None:
            return None
        sizes, wrong = self.confusion.sum(axis=1), self.confusion.sum(axis=1) - self.confusion.diagonal()
        certain = [k >= self.n_known for k in range(len(self.labels))]
        shares = [
            Estimate(1.0, 1.0, 1.0) if is_wrong else self._of(n_wrong, n)
            for is_wrong, n_wrong, n in zip(certain, wrong, sizes, strict=True)
        ]
        return mixture(shares, list(self.prevalence.values()), self.confidence)

    @cached_property
    def area(self) -> Estimate | None:
        """Area under the ROC curve of two classes, and the mean over classes of more.

        None unless the model has scores, and two classes that it knows have samples.
        """
        ranked = self._ranked
        if ranked is None:
            return None
        leads, own = ranked
        return area_under_curve(leads, own, self.confidence)

    @cached_property
    def per_class(self) -> tuple[ClassEvaluation, ...]:
        """The evaluation of each of ``labels``."""
        return tuple(self._of_class(k) for k in range(len(self.labels)))

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
    def _present(self) -> list[int]:
        return np.flatnonzero(self.confusion.sum(axis=1)).tolist()

    def _of(self, n_counted: int, n: int) -> Estimate:
        """Return a share of samples that there are."""
        found = share(n_counted, n, self.confidence)
        assert found is not None
        return found

    def _predicted_as(self, k: int, own: int) -> Estimate:
        """Return the share of a class that is predicted to be of class k, which is zero if k is not known."""
        if k >= self.n_known:
            return Estimate(0.0, 0.0, 0.0)
        return self._of(self.confusion[own, k], self.confusion[own].sum())

    @property
    def _ranked(self) -> tuple[FloatArray, IntArray] | None:
        """Leads of the scores (n x K) and classes of the samples that count and are of a known class."""
        used = self.is_counted & (self.own < self.n_known)
        if self.scores is None or len(np.unique(self.own[used])) < 2:
            return None
        leads = [lead_of(self.scores[used], k) for k in range(self.n_known)]
        return np.column_stack(leads), self.own[used]

    def _of_class(self, k: int) -> ClassEvaluation:
        rates = class_rates(self.confusion, self.confidence)[k]
        people, value = None, rates.predictive_value if len(self._present) > 1 else None
        if self.prevalence is not None:
            people, value = self._people(k), self._predictive_value(k)
        area, ranked = None, self._ranked
        if ranked is not None and k in ranked[1]:
            lead = ranked[0][:, k]
            area = area_under_curve(
                np.column_stack([-lead, lead]), (ranked[1] == k).astype(np.intp), self.confidence
            )
        return ClassEvaluation(
            label=self.labels[k],
            is_known=k < self.n_known,
            sensitivity=rates.sensitivity,
            specificity=rates.specificity,
            predictive_value=value,
            area=area,
            people=people,
        )

    def _people(self, k: int) -> ExpectedPeople:
        """Return expected numbers of people of class k, and of others that are predicted to be of it."""
        weights = PEOPLE * np.array(list((self.prevalence or {}).values()))
        found = mixture([self._predicted_as(k, k)], weights[[k]], self.confidence)
        others = [j for j in range(len(weights)) if j != k]
        false = mixture([self._predicted_as(k, j) for j in others], weights[others], self.confidence)
        as_tuple = [(one.value, one.low, one.high) for one in (found, false)]
        return ExpectedPeople(self.labels[k], float(weights[k]), *as_tuple)

    def _predictive_value(self, k: int) -> Estimate | None:
        """Return the share of those predicted to be of class k that are, at the prevalence.

        It rises in the rate of class k and falls in those of the others. The limits of all rates hold at
        once.
        """
        if not self.confusion[:, k].any():
            return None
        each = 1.0 - (1.0 - self.confidence) / len(self.labels)
        rates = [share(row[k], row.sum(), each) for row in self.confusion]
        value, low, high = (
            np.array([getattr(rate, name) for rate in rates]) * list((self.prevalence or {}).values())
            for name in ("value", "low", "high")
        )

        def of(own: float, others: FloatArray) -> float:
            total = own + others.sum() - others[k]
            return float(own / total) if total else 0.0

        return Estimate(of(value[k], value), of(low[k], high), of(high[k], low))

    @property
    def statement(self) -> str:
        """How often it errs, how sure that is, and for which samples, in words."""
        n, wrong = int(self.confusion.sum()), self.error.n_counted
        drawn = "" if self.n_groups is None else f" (one of each of {counted(self.n_groups, 'group')})"
        errs = f"On {counted(n, 'sample')}{drawn} this model errs on {wrong:,}"
        if self.doubt:
            text = f"{self.doubt} {errs}; until then that may mean nothing."
        else:
            text = (
                f"{errs}: {self.error.value:.1%}, and with {percent(self.confidence)} confidence between "
                f"{self.error.interval.replace(' to ', ' and ')}. {self._compared()}"
            )
        for label, size in self.unknown.items():
            are = "is" if size == 1 else "are"
            text += f" {size:,} {are} {label!r}, which the model does not know: counted as wrong."
        if self.doubt:
            return text
        if self.prevalence is not None:
            shares = ", ".join(f"{part:.4g} {label!r}" for label, part in self.prevalence.items())
            text += f" Where the shares of the classes are {shares}, it errs on {self.error_at_prevalence}."
        of_what = "samples" if self.n_groups is None else "groups"
        return (
            f"{text} That holds for any classifier if it has learned from none of them, nothing about it was "
            f"chosen by their labels, and the {of_what} are independent and drawn like those that it will "
            "meet."
        )

    def _compared(self) -> str:
        """Compare the model with predicting one class."""
        common = max(self.sizes, key=lambda label: self.sizes[label])
        if self.majority_error == 0.0:
            return f"All are {common!r}: of other classes this says nothing."
        is_better = self.error.high < self.majority_error
        better = "errs less than" if is_better else "is not shown to err less than"
        return f"It {better} always naming {common!r} ({self.majority_error:.1%})."

    def __str__(self) -> str:
        return "\n".join([self.statement, "", *self._lines()])

    def _lines(self) -> Iterator[str]:
        yield f"Class by class ({percent(self.confidence)} intervals, each by itself):"
        for one in self.per_class[: self.n_known]:
            parts = {
                "sensitivity": one.sensitivity,
                "specificity": one.specificity,
                "predictive value": one.predictive_value,
                "area under the ROC curve": None if self.is_pair else one.area,
            }
            told = [f"{name} {each}" for name, each in parts.items() if each is not None]
            yield f"  {one.label!r}: {', '.join(told) or 'no sample, and never named'}"
        for one in self.per_class[: self.n_known]:
            if one.people is not None:
                yield f"  {one.people.statement}"
        more = {
            "balanced accuracy": self.balanced_accuracy,
            self.name_of_area: self.area,
            "error rate of certain predictions": self.certain_error,
        }
        yield from (f"  {name}: {each}" for name, each in more.items() if each is not None)
        if self.kinds_of_sets is not None:
            told = [f"{n} {kind}" for kind, n in self.kinds_of_sets.items()]
            yield f"  at {percent(self.set_confidence or 0.0)}: {', '.join(told)}"
        for part in (self.calibration, self.baseline):
            if part is not None:
                yield f"  {part.statement}"


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

    No statement about a model is stronger: nothing is fitted, and no bound is needed, since errors are
    counted on samples that had no part in making it. Errors on training samples mean nothing: the training
    data of a model with a certificate and of an ensemble are refused, and ``minimaxrisk evaluate`` recognizes
    each of its samples by the model file. Arrays do not tell the scale of the training data: ask
    ``training_scale(model, X_train, y_train).compare(X)`` first, as the command does, because errors on
    another scale mean nothing either.

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
        Error, sensitivities, specificities, predictive values, balanced accuracy and area under the ROC curve
        with intervals, the confusion matrix, and the comparison with the baseline; ``print`` shows it in
        words.

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
    error = share(baseline_errs.sum(), len(baseline_errs), confidence)
    assert error is not None
    return BaselineComparison(
        error,
        n_model_alone=int((model_errs & ~baseline_errs).sum()),
        n_baseline_alone=int((baseline_errs & ~model_errs).sum()),
        p_value=float(_p_values(model_errs, baseline_errs)),
    )


def _p_values(model_errs: BoolArray, baseline_errs: BoolArray, *, is_one_sided: bool = False) -> FloatArray:
    """Return twice the smaller tail of McNemar's test, or the one that is small if the model is better."""
    n_model, n_baseline = (
        (first & ~second).sum(axis=-1)
        for first, second in ((model_errs, baseline_errs), (baseline_errs, model_errs))
    )
    fewer = n_model if is_one_sided else np.minimum(n_model, n_baseline)
    return np.minimum(1.0, 2.0 * stats.binom.cdf(fewer, n_model + n_baseline, 0.5))


def lead_of(scores: FloatArray, k: int) -> FloatArray:
    """How far the score of class k is above the best of the others (n x K)."""
    lead: FloatArray = scores[:, k] - np.delete(scores, k, axis=1).max(axis=1)
    return lead
