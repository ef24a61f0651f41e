"""A fitted model on samples that it has not seen: what it gets wrong, with intervals.

Nothing is fitted here, so the errors are those of this very model, and their number is binomial if samples
are independent. Shares have the exact interval of Clopper and Pearson, each by itself. What is put together
from the shares of K classes (balanced accuracy, and what is computed for another prevalence) takes the limits
of all of them at once, each with the K-th part of what may go wrong: at least the probability asked for.

The area under the ROC curve has Newcombe's score interval [1]_: the areas whose distance from the estimate is
at most z standard deviations, by the variance of Hanley and McNeil [2]_ at that area, with both numbers of
samples in it replaced by their mean. It is approximate, and does not shrink to a point where the classes are
separated without an error, as DeLong's does. Of more classes than two each has an area against all others, by
how far its score is above the best of the others; their mean takes the limits of all of them at once.

References
----------
.. [1] R. G. Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic.
   Part 2", Statistics in Medicine 25, 2006.
.. [2] J. A. Hanley, B. J. McNeil, "The meaning and use of the area under a receiver operating characteristic
   (ROC) curve", Radiology 143, 1982.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import optimize, stats
from sklearn.metrics import roc_auc_score

from minimaxrisk._utils.arguments import check_confidence, counted, listed
from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.rounding import outward, percent
from minimaxrisk._utils.sklearn_private import check_classifier
from minimaxrisk._utils.stored_tables import in_memory
from minimaxrisk.analysis.cross_validation import ProbabilityBand, bands_of
from minimaxrisk.estimators.prediction_sets import has_scores, scores_of
from minimaxrisk.guarantees.certified import SETS, can
from minimaxrisk.guarantees.counting import one_of_each
from minimaxrisk.guarantees.error_bound import checked_prevalence
from minimaxrisk.guarantees.left_out import SURE, UNLIKE, UNSURE, in_words
from minimaxrisk.guarantees.limits import clopper_pearson_limit
from minimaxrisk.guarantees.verification import was_fitted_on
from minimaxrisk.samples.groups import codes_of_groups
from minimaxrisk.samples.labels import check_labels

# The seed by which one sample of each group is drawn.
SEED = 0
# Below it the number of errors is not one that the probabilities let expect.
UNUSUAL = 0.05
# Limits of an area this close to 0 or 1 are that.
TINY = 1e-9


@dataclass(frozen=True)
class Estimate:
    """A share or an area, with its interval.

    Attributes
    ----------
    value, low, high : float
        The estimate and the ends of its interval.
    n_counted, n : int or None
        For a share: how many were counted, among how many.
    """

    value: float
    low: float
    high: float
    n_counted: int | None = None
    n: int | None = None

    @property
    def interval(self) -> str:
        """The interval in percent, its ends rounded outwards."""
        return " to ".join(outward(self.low, self.high, ".1%"))

    def __str__(self) -> str:
        of = "" if self.n is None else f"; {self.n_counted:,} of {self.n:,}"
        return f"{self.value:.1%} ({self.interval}{of})"


@dataclass(frozen=True)
class ClassEvaluation:
    """How the samples of one class fared.

    Attributes
    ----------
    label : object
        The class.
    is_known : bool
        Whether the model can name it. All samples of other classes are errors.
    sensitivity : Estimate or None
        Share of the samples of the class that are named it; None without samples.
    specificity : Estimate or None
        Share of the samples of other classes that are not named it; None without samples.
    predictive_value : Estimate or None
        Share of the samples named it that are of the class, at the given prevalence or at that of the
        samples; None if none is named it, or all samples are of one class.
    area : Estimate or None
        Area under the ROC curve of the class against all others, by how far its score is above the best of
        the others; None without scores, and without samples of it or of others.
    """

    label: Any
    is_known: bool
    sensitivity: Estimate | None
    specificity: Estimate | None
    predictive_value: Estimate | None
    area: Estimate | None = None


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
class Evaluation:
    """A model on samples that it has not seen; ``evaluate`` makes it. Printed, it says everything in words.

    Attributes
    ----------
    confidence : float
        The probability with which each interval by itself is to hold the true value.
    labels : tuple
        The classes of the model, and after them labels of the samples that it does not know.
    own, predicted : ndarray of int of shape (n_samples,)
        Positions in ``labels`` of each sample's own label and of the one that the model names.
    is_counted : ndarray of bool of shape (n_samples,)
        The samples that count: all, or of each group one.
    confusion : ndarray of int of shape (n_labels, n_labels)
        Samples that count by own label (rows) and predicted label (columns).
    error : Estimate
        Share of wrong predictions.
    balanced_accuracy : Estimate or None
        Mean sensitivity of the classes that have samples; None for one class alone.
    area : Estimate or None
        Area under the ROC curve of two classes, and the mean over classes of more; None unless the model has
        scores, and two classes that it knows have samples.
    per_class : tuple of ClassEvaluation
        One for each of ``labels``.
    prevalence : mapping of label to float or None
        The shares of the classes that were given.
    error_at_prevalence : Estimate or None
        The error where the classes are as common as ``prevalence`` says.
    probabilities : ndarray of shape (n_samples, n_classes) or None
        Calibrated probabilities of the labels, if the model has any.
    calibration : ProbabilityCheck or None
        What they are worth.
    is_possible : ndarray of bool of shape (n_samples, n_classes) or None
        The labels that left-out samples do not exclude, if the model has such sets.
    set_confidence : float or None
        How often these are to hold the right label.
    scores : ndarray of shape (n_samples, n_classes) or None
        What the model ranks samples by.
    n_groups : int or None
        How many groups the samples have, if they have any.
    doubt : str
        What has to be settled before the numbers mean anything; empty if nothing has.
    """

    confidence: float
    labels: tuple[Any, ...]
    own: IntArray = field(repr=False)
    predicted: IntArray = field(repr=False)
    is_counted: BoolArray = field(repr=False)
    confusion: IntArray = field(repr=False)
    error: Estimate
    balanced_accuracy: Estimate | None
    area: Estimate | None
    per_class: tuple[ClassEvaluation, ...] = field(repr=False)
    prevalence: Mapping[Any, float] | None = None
    error_at_prevalence: Estimate | None = None
    probabilities: FloatArray | None = field(repr=False, default=None)
    calibration: ProbabilityCheck | None = field(repr=False, default=None)
    is_possible: BoolArray | None = field(repr=False, default=None)
    set_confidence: float | None = None
    scores: FloatArray | None = field(repr=False, default=None)
    n_groups: int | None = None
    doubt: str = ""

    @property
    def sizes(self) -> dict[Any, int]:
        """How many samples of each label count."""
        return dict(zip(self.labels, self.confusion.sum(axis=1).tolist(), strict=True))

    @property
    def unknown(self) -> dict[Any, int]:
        """Labels that the model does not know, and how many samples have them."""
        return {one.label: self.sizes[one.label] for one in self.per_class if not one.is_known}

    @property
    def is_pair(self) -> bool:
        """Whether the model knows two classes."""
        return sum(one.is_known for one in self.per_class) == 2

    @property
    def name_of_area(self) -> str:
        """What ``area`` is, in words."""
        n = sum(one.area is not None for one in self.per_class)
        return f"area under the ROC curve{'' if self.is_pair else f', mean of {n} classes'}"

    @property
    def majority_error(self) -> float:
        """The error of always naming the most common class of these samples."""
        sizes = list(self.sizes.values())
        return 1.0 - max(sizes) / sum(sizes)

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
    def statement(self) -> str:
        """How often it errs, how sure that is, and for which samples, in words."""
        n, wrong = self.error.n, self.error.n_counted
        drawn = "" if self.n_groups is None else f" (one of each of {counted(self.n_groups, 'group')})"
        errs = f"On {n:,} sample{'s' * (n != 1)}{drawn} this model errs on {wrong:,}"
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
            shares = ", ".join(f"{share:.4g} {label!r}" for label, share in self.prevalence.items())
            text += f" Where the shares of the classes are {shares}, it errs on {self.error_at_prevalence}."
        return f"{text} {self.assumption}"

    @property
    def assumption(self) -> str:
        """What is taken for granted, in words."""
        of_what = "samples" if self.n_groups is None else "groups"
        return (
            "That holds for any classifier if it has learned from none of them, nothing about it was chosen "
            f"by their labels, and the {of_what} are independent and drawn like those that it will meet."
        )

    def _compared(self) -> str:
        """With naming one class."""
        common = max(self.sizes, key=lambda label: self.sizes[label])
        if self.majority_error == 0.0:
            return f"All are {common!r}: of other classes this says nothing."
        better = (
            "errs less than" if self.error.high < self.majority_error else "is not shown to err less than"
        )
        return f"It {better} always naming {common!r} ({self.majority_error:.1%})."

    def __str__(self) -> str:
        lines = [
            self.statement,
            "",
            f"Class by class ({percent(self.confidence)} intervals, each by itself):",
        ]
        for one in self.per_class:
            if not one.is_known:
                continue
            parts = {
                "sensitivity": one.sensitivity,
                "specificity": one.specificity,
                "predictive value": one.predictive_value,
                "area under the ROC curve": None if self.is_pair else one.area,
            }
            told = [f"{name} {each}" for name, each in parts.items() if each is not None]
            lines.append(f"  {one.label!r}: {', '.join(told) or 'no sample, and never named'}")
        more = {
            "balanced accuracy": self.balanced_accuracy,
            self.name_of_area: self.area,
        }
        lines += [f"  {name}: {each}" for name, each in more.items() if each is not None]
        if self.kinds_of_sets is not None:
            told = [f"{n} {kind}" for kind, n in self.kinds_of_sets.items()]
            lines.append(f"  at {percent(self.set_confidence or 0.0)}: {', '.join(told)}")
        if self.calibration is not None:
            lines.append(f"  {self.calibration.statement}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Said:
    """What a model says about samples: labels, and scores, probabilities and sets where it has them."""

    classes: Sequence[Any]
    predicted: np.ndarray
    scores: FloatArray | None = None
    probabilities: FloatArray | None = None
    is_possible: BoolArray | None = None
    set_confidence: float | None = None


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    prevalence: Mapping[Any, float] | None = None,
    confidence: float = 0.95,
    groups: Any = None,
) -> Evaluation:
    """Count the errors of this very model on samples that it has not seen, such as a second cohort.

    No statement about a model is stronger: nothing is fitted, and no bound is needed, since errors are
    counted on samples that had no part in making it. Errors on training samples mean nothing: the training
    data of a model with a proof are refused, and ``minimaxrisk evaluate`` recognizes each of its samples by
    the model file. Arrays do not tell the scale of the training data: ask
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

    Returns
    -------
    Evaluation
        Error, sensitivities, specificities, predictive values, balanced accuracy and area under the ROC curve
        with intervals, and the confusion matrix; ``print`` shows it in words.

    Raises
    ------
    ValueError
        If these are the data that the model was fitted on, it knows none of the labels, or ``prevalence`` is
        not a share for every class, each of which has samples.

    See Also
    --------
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
    93.6% (83.5% to 98.3%)
    """
    check_confidence(confidence)
    check_classifier("model", model)
    y = check_labels(X, y, groups=groups)
    named = np.asarray(in_memory(model.predict(X)))
    has_sets = can(model, SETS)
    judged = model.estimator_ if has_sets else model
    if was_fitted_on(judged, X, y, groups):
        raise ValueError(
            "X and y are the training data of the model, and errors on them say nothing about new samples; "
            "pass samples of another cohort, or use error_bound(model, X, y) for what these can tell."
        )
    scores = scores_of(judged, X) if has_scores(judged) else None
    said = Said(np.asarray(judged.classes_).tolist(), named, scores)
    if has_sets:
        said = replace(
            said,
            probabilities=model.predict_proba(X),
            is_possible=model.predict_set(X),
            set_confidence=model.confidence,
        )
    return evaluation_of(said, y, prevalence=prevalence, confidence=confidence, groups=groups)


def evaluation_of(
    said: Said, y: np.ndarray, *, prevalence: Mapping[Any, float] | None, confidence: float, groups: Any
) -> Evaluation:
    """The same for what a model said."""
    seen = _counted(said, y, groups)
    shares = None if prevalence is None else _shares_of(prevalence, seen.labels, seen.sizes)
    error = _share(seen.sizes.sum() - seen.right.sum(), seen.sizes.sum(), confidence)
    assert error is not None  # there are samples
    areas, area = _areas(said, seen, confidence)
    return Evaluation(
        confidence=float(confidence),
        labels=tuple(seen.labels),
        own=seen.own,
        predicted=seen.predicted,
        is_counted=seen.is_counted,
        confusion=seen.confusion,
        error=error,
        balanced_accuracy=_balanced_accuracy(seen, confidence),
        area=area,
        per_class=tuple(
            _of_class(k, seen, shares, areas.get(k), confidence) for k in range(len(seen.labels))
        ),
        prevalence=None if shares is None else dict(zip(seen.labels, shares.tolist(), strict=True)),
        error_at_prevalence=None
        if shares is None
        else _mixed(seen.sizes - seen.right, seen.sizes, shares, confidence, seen.is_known),
        probabilities=said.probabilities,
        calibration=_calibration(said, seen),
        is_possible=said.is_possible,
        set_confidence=said.set_confidence,
        scores=said.scores,
        n_groups=seen.n_groups,
    )


@dataclass(frozen=True)
class _Counted:
    """Samples by own and predicted label; ``labels`` are the classes of the model and then other labels."""

    labels: Sequence[Any]
    n_known: int
    own: IntArray
    predicted: IntArray
    is_counted: BoolArray
    n_groups: int | None
    confusion: IntArray

    @property
    def sizes(self) -> IntArray:
        return self.confusion.sum(axis=1)

    @property
    def right(self) -> IntArray:
        return self.confusion.diagonal()

    @property
    def is_known(self) -> BoolArray:
        return np.arange(len(self.labels)) < self.n_known

    @property
    def present(self) -> IntArray:
        return np.flatnonzero(self.sizes)


def _counted(said: Said, y: np.ndarray, groups: Any) -> _Counted:
    """The samples that count, all or one of each group."""
    strange = [label for label in np.unique(y).tolist() if label not in said.classes]
    labels = [*said.classes, *strange]
    position = {label: k for k, label in enumerate(labels)}
    own, predicted = (np.array([position[label] for label in each.tolist()]) for each in (y, said.predicted))
    is_counted, n_groups = np.ones(len(own), dtype=np.bool_), None
    if groups is not None:
        unit = codes_of_groups(groups, len(own))
        is_counted[:], n_groups = False, int(unit.max()) + 1
        is_counted[one_of_each(unit, np.random.RandomState(SEED))] = True
    if (own[is_counted] >= len(said.classes)).all():
        kinds = [type(each[0]).__name__ for each in (said.classes, strange)]
        are_other = "" if kinds[0] == kinds[1] else f" ({kinds[0]}, not {kinds[1]})"
        raise ValueError(
            f"the model knows none of these labels: its classes are {listed(said.classes)}{are_other}, and "
            f"the samples have {listed(strange)}. Give the labels the names that the model has."
        )
    confusion = np.zeros((len(labels), len(labels)), dtype=np.intp)
    np.add.at(confusion, (own[is_counted], predicted[is_counted]), 1)
    return _Counted(labels, len(said.classes), own, predicted, is_counted, n_groups, confusion)


def _balanced_accuracy(seen: _Counted, confidence: float) -> Estimate | None:
    present, sizes = seen.present, seen.sizes
    if len(present) < 2:
        return None
    equal = np.full(len(present), 1.0 / len(present))
    return _mixed(seen.right[present], sizes[present], equal, confidence, seen.is_known[present])


def _of_class(
    k: int, seen: _Counted, shares: FloatArray | None, area: Estimate | None, confidence: float
) -> ClassEvaluation:
    sizes, right, named = seen.sizes, seen.right[k], seen.confusion[:, k]
    n_others = sizes.sum() - sizes[k]
    if shares is None:
        value = _share(right, named.sum() if len(seen.present) > 1 else 0, confidence)
    else:
        value = _predictive_value(named, sizes, shares, k, confidence)
    return ClassEvaluation(
        label=seen.labels[k],
        is_known=bool(seen.is_known[k]),
        sensitivity=_share(right, sizes[k], confidence),
        specificity=_share(n_others - (named.sum() - right), n_others, confidence),
        predictive_value=value,
        area=area,
    )


def _shares_of(prevalence: Mapping[Any, float], labels: Sequence[Any], sizes: IntArray) -> FloatArray:
    shares = checked_prevalence(prevalence, list(labels))
    absent = [label for label, size in zip(labels, sizes, strict=True) if not size]
    absent += [label for label in shares if label not in labels]
    if absent:
        raise ValueError(
            f"prevalence needs samples of every class, and there are none of {listed(absent)}; leave out "
            "prevalence, or add such samples."
        )
    return np.array([shares[label] for label in labels])


def clopper_pearson_interval(n_counted: int, n: int, confidence: float) -> tuple[float, float]:
    """The exact two-sided interval of a share."""
    one_sided = 0.5 * (1.0 + confidence)
    low = 1.0 - clopper_pearson_limit(n - n_counted, n, one_sided)
    return low, clopper_pearson_limit(n_counted, n, one_sided)


def _share(n_counted: Any, n: Any, confidence: float) -> Estimate | None:
    n_counted, n = int(n_counted), int(n)
    if not n:
        return None
    return Estimate(n_counted / n, *clopper_pearson_interval(n_counted, n, confidence), n_counted, n)


def _at_once(counts: IntArray, sizes: IntArray, confidence: float) -> FloatArray:
    """Values, lower and upper limits of shares (rows), where all limits hold at once."""
    each = 1.0 - (1.0 - confidence) / len(sizes)
    limits = [clopper_pearson_interval(int(k), int(n), each) for k, n in zip(counts, sizes, strict=True)]
    return np.vstack([counts / sizes, np.transpose(limits)])


def _mixed(
    counts: IntArray, sizes: IntArray, shares: FloatArray, confidence: float, is_known: BoolArray
) -> Estimate:
    """The mean of the shares of classes that are so common; labels that are not known are always wrong."""
    found = np.tile(counts / sizes, (3, 1))
    found[:, is_known] = _at_once(counts[is_known], sizes[is_known], confidence)
    return Estimate(*(found @ shares).tolist())


def _predictive_value(
    named: IntArray, sizes: IntArray, shares: FloatArray, k: int, confidence: float
) -> Estimate | None:
    """Of those named class k, the share that is of it; it grows with k's own rate and falls with the others'.

    ``named`` are the samples of each class that are named k.
    """
    if not named.any():
        return None
    value, low, high = _at_once(named, sizes, confidence) * shares

    def of(own: float, others: FloatArray) -> float:
        total = own + others.sum() - others[k]
        return float(own / total) if total else 0.0

    return Estimate(of(value[k], value), of(low[k], high), of(high[k], low))


def lead_of(scores: FloatArray, k: int) -> FloatArray:
    """How far the score of class k is above the best of the others (n x K)."""
    lead: FloatArray = scores[:, k] - np.delete(scores, k, axis=1).max(axis=1)
    return lead


def _areas(said: Said, seen: _Counted, confidence: float) -> tuple[dict[int, Estimate], Estimate | None]:
    """Areas by class, and their mean; samples of labels that the model does not know are left out."""
    own = seen.own
    used = seen.is_counted & (own < seen.n_known)
    sizes = np.bincount(own[used], minlength=len(said.classes))
    present = np.flatnonzero(sizes).tolist()
    if said.scores is None or len(present) < 2:
        return {}, None
    values = {k: float(roc_auc_score(own[used] == k, lead_of(said.scores[used], k))) for k in present}

    def interval(k: int, level: float) -> tuple[float, float]:
        return area_interval(values[k], int(sizes[k]), int(sizes.sum() - sizes[k]), level)

    areas = {k: Estimate(values[k], *interval(k, confidence)) for k in present}
    if len(said.classes) == 2:
        return areas, areas[1]
    at_once = 1.0 - (1.0 - confidence) / len(present)
    low, high = np.mean([interval(k, at_once) for k in present], axis=0).tolist()
    return areas, Estimate(float(np.mean(list(values.values()))), low, high)


def area_interval(value: float, n_positive: int, n_negative: int, confidence: float) -> tuple[float, float]:
    """Newcombe's score interval of an area under the ROC curve."""
    z, half = stats.norm.ppf(0.5 * (1.0 + confidence)), 0.5 * (n_positive + n_negative) - 1.0

    def beyond(area: float) -> float:
        variance = area * (1.0 - area) * (1.0 + half * ((1.0 - area) / (2.0 - area) + area / (1.0 + area)))
        return float((value - area) ** 2 - z**2 * variance / (n_positive * n_negative))

    low = optimize.brentq(beyond, 0.0, value) if 0.0 < value < 1.0 else 0.0
    high = optimize.brentq(beyond, value, 1.0) if 0.0 < value < 1.0 else 1.0
    if value == 1.0:
        low = optimize.brentq(beyond, 0.0, 1.0 - TINY) if beyond(1.0 - TINY) < 0.0 else 1.0
    if value == 0.0:
        high = optimize.brentq(beyond, TINY, 1.0) if beyond(TINY) < 0.0 else 0.0
    return float(low), float(high)


def _calibration(said: Said, seen: _Counted) -> ProbabilityCheck | None:
    if said.probabilities is None:
        return None
    counts = seen.is_counted
    table, truth, named = said.probabilities[counts], seen.own[counts], seen.predicted[counts]
    stated = table[np.arange(len(named)), named]
    expected, n_errors = float((1.0 - stated).sum()), int((named != truth).sum())
    is_true = truth[:, None] == np.arange(table.shape[1])
    return ProbabilityCheck(
        expected_errors=expected,
        n_errors=n_errors,
        n=len(truth),
        p_value=float(stats.binomtest(n_errors, len(truth), min(1.0, expected / len(truth))).pvalue),
        brier_score=float(0.5 * ((table - is_true) ** 2).sum(axis=1).mean()),
        bands=bands_of(stated, named == truth),
    )
