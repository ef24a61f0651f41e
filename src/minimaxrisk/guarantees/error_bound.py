"""An upper confidence bound on the error rate for new samples, from samples that were held out.

Half of every class is held out, the same method is trained on the other half, and its errors are counted.
``docs/learn/error_bound.md`` says how groups, strata and classes of a single sample are divided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from minimaxrisk._utils.arguments import check_confidence, is_number
from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk._utils.sklearn_private import check_classifier, fresh_copy
from minimaxrisk._utils.stored_tables import take_rows
from minimaxrisk.exceptions import TooFewSamplesError
from minimaxrisk.guarantees.bound import Bound, ErrorBound
from minimaxrisk.guarantees.certified import PROOF, Estimator, can, unwrapped
from minimaxrisk.guarantees.limits import buehler_limit, clopper_pearson_limit, limit_of_mean_rate
from minimaxrisk.samples.copies import reason_against_independence
from minimaxrisk.samples.groups import codes_of_groups
from minimaxrisk.samples.independent_units import one_of_each
from minimaxrisk.samples.labels import check_labels
from minimaxrisk.samples.parts import fit_on_rows, is_pairwise

ROUNDING = 1e-6  # of shares that people write down
MOST_CELLS = 20_000  # pairs of counts of the smaller two of three classes that Buehler's limit sums over


def error_bound(
    classifier: Estimator,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    strata: Any = None,
    prevalence: Mapping[Any, float] | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> ErrorBound:
    """Bound the error rate for new samples, with a probability.

    A copy of the classifier is trained on half of the samples of every class and tested on the other half.
    The bound concerns this copy, that is, the same method trained on half of the samples.

    Parameters
    ----------
    classifier : estimator
        Any classifier, of this library or of others, fitted or not. Pass a whole pipeline or search: it then
        chooses again from the training half. Its ``best_estimator_`` carries a choice that has seen all
        labels.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Their labels.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of one group, such as the measurements of a patient, are not independent. Groups are held out
        as a whole, and one sample of each is drawn and counted: the error rate is that for a sample drawn
        from a new group. Classifiers whose ``fit`` takes groups get them, if each group has one label or
        there are two classes.
    strata : array-like of shape (n_samples,) or None, default=None
        Samples with the same entry, such as a hospital, are divided evenly, too.
    prevalence : mapping of label to float or None, default=None
        How common the classes are where the classifier will be used, such as ``{"ill": 0.05, "well": 0.95}``,
        if that differs from the data: in a case-control study the mixture was chosen. The bound then concerns
        this mixture. All classes of y need a share. A class without a sample may have one, too, and its
        samples count as misclassified.
    confidence : float, default=0.95
        The probability with which the bound holds, and on its own each bound of a class and each predictive
        value.
    random_state : int, RandomState instance or None, default=None
        Seed of the division. Choose it before you look at results: the smallest of many bounds is not a
        bound.

    Returns
    -------
    ErrorBound
        The bound with the errors that were counted, the bounds class by class (sensitivity and specificity),
        and with ``prevalence`` predictive values.

    Raises
    ------
    TooFewSamplesError
        If no class has two samples (or groups), or if half of the samples are too few to train the
        classifier. It is a ``ValueError``.
    ValueError
        If there is only one class, if the classifier cannot be trained again, or if an argument is not valid.

    See Also
    --------
    evaluate : The error rate of a fitted model on a second cohort.
    verify : Whether the certificate of a model is valid.
    worst_case : The largest error rate of a rule over the uncertainty set of the fit.

    Notes
    -----
    The bound without ``prevalence`` is the limit of Clopper and Pearson, which holds for the error rate at
    the class frequencies of the data by a theorem of Hoeffding (1956). At a prevalence it is Buehler's limit
    for two and three classes, and a sum of limits for more. :doc:`/learn/error_bound` has the derivations.

    Weights are not used: a hold-out counts errors. Pass every sample as a row of its own.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier, error_bound
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(200, 50, n_informative=10, effect=1.5, random_state=0)
    >>> bound = error_bound(MinimaxRiskClassifier(), study.data, study.target, random_state=0)
    >>> bound.n_train, bound.n_test
    (100, 100)
    >>> shares = {0: 0.9, 1: 0.1}
    >>> at_clinic = error_bound(
    ...     MinimaxRiskClassifier(), study.data, study.target, prevalence=shares, random_state=0
    ... )
    >>> [(one.label, one.n_test) for one in at_clinic.per_class]
    [(0, 48), (1, 52)]
    """
    check_confidence(confidence)
    check_classifier("classifier", classifier)
    _refuse_what_cannot_be_trained(classifier)
    if X is None or y is None:
        raise ValueError("X and y must be passed: samples, and their labels.")
    labels = check_labels(X, y, groups=groups, strata=strata)
    classes = np.unique(labels).tolist()
    if len(classes) < 2:
        raise ValueError(f"y must contain at least 2 classes, got only {classes[0]!r}.")
    shares = None if prevalence is None else checked_prevalence(prevalence, classes)
    unit = None if groups is None else codes_of_groups(groups, len(labels))
    halves = Halves.draw(labels, unit, strata, check_random_state(random_state))
    learner = fresh_copy(classifier, callback=None, verbose=False, certify=False)
    model = fit_on_rows(learner, X, labels, halves.train, groups=unit)
    is_wrong = np.asarray(model.predict(take_rows(X, halves.test))) != labels[halves.test]
    whole = halves.errors(is_wrong)
    of_classes = [halves.errors(is_wrong, label) for label in shares or classes]
    found = ErrorBound(
        value=whole.limit(confidence) if shares is None else limit_at(shares, of_classes, confidence),
        confidence=float(confidence),
        n_errors=whole.n_errors,
        n_test=whole.n_test,
        n_train=len(halves.train),
        rule=_rule_of(model),
        class_sizes=halves.class_sizes(classes),
        share_not_held_out=whole.share_unknown,
        is_grouped=unit is not None,
        unseen=_unseen(classifier, shares or classes),
        prevalence=shares,
        per_class=tuple(one.bound(float(confidence)) for one in of_classes),
        predictive_values={} if shares is None else predictive_values(shares, of_classes, confidence),
        model=model,
    )
    with suitable_threads(len(labels)):
        reason = reason_against_independence(X, labels, unit)
    if not reason:
        return found
    return replace(found, value=1.0, confidence=None, reason=reason, per_class=(), predictive_values={})


@dataclass(frozen=True)
class Halves:
    """The rows to train on, and the rows to count errors on: one of each unit that is held out.

    A unit is a sample or a group. ``stratum`` numbers, for every row, the kind of its unit: the set of labels
    and strata that the unit contains.
    """

    labels: np.ndarray
    unit: IntArray
    stratum: IntArray
    train: IntArray
    test: IntArray

    @classmethod
    def draw(cls, labels: np.ndarray, unit: IntArray | None, strata: Any, random: Any) -> Halves:
        """Hold out half of the units of every stratum, except of those with a single unit."""
        unit = np.arange(len(labels)) if unit is None else unit
        kinds = _kinds_of_units(unit, labels, strata)
        held_out = _half_of_each(kinds, random)
        if not held_out.any():
            raise TooFewSamplesError(
                "no samples can be held out: every class has a single sample or group (within each stratum, "
                "if there are any). Add samples, or use coarser strata."
            )
        drawn = one_of_each(unit, random)  # in the order of units
        return cls(labels, unit, kinds[unit], np.flatnonzero(~held_out[unit]), np.sort(drawn[held_out]))

    @cached_property
    def _row_weights(self) -> FloatArray:
        """Every unit counts once."""
        return 1.0 / np.bincount(self.unit)[self.unit]

    def class_sizes(self, classes: Sequence[Any]) -> dict[Any, float]:
        """Return the number of units of each class; a group with several labels counts in parts."""
        codes = np.unique(self.labels, return_inverse=True)[1]
        return dict(zip(classes, np.bincount(codes, self._row_weights).round(9).tolist(), strict=True))

    def errors(self, is_wrong: BoolArray, label: Any = None) -> Errors:
        """Return the errors among the test samples of a class, or among all of them."""
        if label is None:
            rows, tested = np.ones(len(self.labels), dtype=np.bool_), slice(None)
        else:
            rows = self.labels == label
            tested = rows[self.test]
        strata, weights = self.stratum[self.test], self._row_weights[rows]
        known = float(weights[np.isin(self.stratum[rows], strata)].sum())
        return Errors(
            label=label,
            n_errors=int(is_wrong[tested].sum()),
            n_test=len(is_wrong[tested]),
            share_unknown=1.0 - known / float(weights.sum()) if known else 1.0,
            is_binomial=label is not None and len(np.unique(strata[tested])) == 1,
        )


def _kinds_of_units(unit: IntArray, labels: np.ndarray, strata: Any) -> IntArray:
    """Number the units by the set of labels, and strata, that they contain."""
    _, cell = np.unique(labels, return_inverse=True)
    if strata is not None:
        of_stratum = codes_of_groups(strata, len(labels), argument="strata")
        cell = cell * (int(of_stratum.max()) + 1) + of_stratum
    cells: list[set[int]] = [set() for _ in range(int(unit.max()) + 1)]
    for i, k in zip(unit.tolist(), cell.tolist(), strict=True):
        cells[i].add(k)
    numbers = {kind: number for number, kind in enumerate(sorted({tuple(sorted(one)) for one in cells}))}
    return np.array([numbers[tuple(sorted(one))] for one in cells], dtype=np.intp)


def _half_of_each(kinds: IntArray, random: Any) -> BoolArray:
    """Return which units are held out; of kinds with an odd number of units, half get the larger half."""
    sizes = np.bincount(kinds)
    n_test = sizes // 2
    odd = random.permutation(np.flatnonzero((sizes % 2 == 1) & (sizes > 1)))
    n_test[odd[: len(odd) // 2]] += 1
    held_out = np.zeros(len(kinds), dtype=np.bool_)
    for kind, n in enumerate(n_test):
        held_out[random.permutation(np.flatnonzero(kinds == kind))[:n]] = True
    return held_out


@dataclass(frozen=True)
class Errors:
    """Errors among the test samples of one class, or of all."""

    label: Any
    n_errors: int
    n_test: int
    share_unknown: float  # of the samples, of whose kind none was held out
    is_binomial: bool  # all samples have the same error rate

    def limit(self, confidence: float) -> float:
        """Return the limit of the error rate; samples of unknown error rate count as misclassified."""
        if not self.n_test:
            return 1.0
        limit = clopper_pearson_limit if self.is_binomial else limit_of_mean_rate
        known = limit(self.n_errors, self.n_test, confidence)
        return self.share_unknown + (1.0 - self.share_unknown) * known

    def bound(self, confidence: float) -> Bound:
        """Return the limit as a statement."""
        return Bound(
            value=self.limit(confidence),
            confidence=confidence,
            n_errors=self.n_errors,
            n_test=self.n_test,
            label=self.label,
        )


def limit_at(prevalence: Mapping[Any, float], of_classes: Sequence[Errors], confidence: float) -> float:
    """Return Buehler's limit for two and three classes that were held out, else the sum of the limits."""
    tested = [one for one in of_classes if one.n_test]
    smaller = sorted(one.n_test + 1 for one in tested)[:-1]
    is_few = 1 <= len(smaller) <= 2 and np.prod(smaller) <= MOST_CELLS
    if not (is_few and all(one.is_binomial for one in tested)):
        limits = _joint_limits(of_classes, confidence)
        return min(1.0, sum(prevalence[label] * limit for label, limit in limits.items()))
    weights = [prevalence[one.label] * (1.0 - one.share_unknown) for one in tested]
    limit = buehler_limit(
        [one.n_errors for one in tested], [one.n_test for one in tested], weights, confidence
    )
    return min(1.0, limit + sum(prevalence[one.label] * one.share_unknown for one in of_classes))


def predictive_values(
    prevalence: Mapping[Any, float], of_classes: Sequence[Errors], confidence: float
) -> dict[Any, float]:
    """Return which share of the samples that are assigned to a class belongs to it, at least.

    In the worst case all errors of the other classes are assigned to this class. With two classes they are.
    The limits of all classes together make each of the values.
    """
    limits = _joint_limits(of_classes, confidence)
    right = {label: prevalence[label] * (1.0 - limit) for label, limit in limits.items()}
    wrong = {label: prevalence[label] * limit for label, limit in limits.items()}
    others = {label: sum(wrong.values()) - wrong[label] for label in limits}
    return {
        one.label: right[one.label] / (right[one.label] + others[one.label]) if right[one.label] else 0.0
        for one in of_classes
        if one.n_test
    }


def _joint_limits(of_classes: Sequence[Errors], confidence: float) -> dict[Any, float]:
    """Return limits of all classes that hold at once with the probability ``confidence``."""
    level = 1.0 - (1.0 - confidence) / sum(one.n_test > 0 for one in of_classes)
    return {one.label: one.limit(level) for one in of_classes}


def checked_prevalence(prevalence: Any, classes: list[Any]) -> dict[Any, float]:
    """In the order of the classes, those without a sample at the end."""
    how = "pass a share for every class, such as {'ill': 0.05, 'well': 0.95}"
    if not isinstance(prevalence, Mapping):
        raise ValueError(f"prevalence must be a mapping, got {prevalence!r}; {how}.")
    if missing := [label for label in classes if label not in prevalence]:
        raise ValueError(f"prevalence has no share of class {missing[0]!r}; {how}.")
    for label, share in prevalence.items():
        if not (is_number(share) and 0.0 < share <= 1.0):
            raise ValueError(f"prevalence of class {label!r} must be a positive share, got {share!r}; {how}.")
    total = sum(map(float, prevalence.values()))
    if abs(total - 1.0) > ROUNDING:
        raise ValueError(f"the shares of prevalence must sum to 1, got {total:.6g}; {how}.")
    ordered = [*classes, *(label for label in prevalence if label not in classes)]
    return {label: float(prevalence[label]) for label in ordered}


def _unseen(classifier: Estimator, known: Iterable[Any]) -> tuple[Any, ...]:
    """Return the classes of a fitted classifier that these data do not contain."""
    own = np.asarray(getattr(classifier, "classes_", ())).tolist()
    return tuple(label for label in own if label not in set(known))


def _rule_of(model: Estimator) -> str:
    """Return whether the fitted model predicts a class, or draws it from ``predict_proba``."""
    inner = unwrapped(model)[0]
    last = inner._final() if can(inner, PROOF) else inner
    return "predict" if getattr(last, "deterministic", True) else "randomized"


def _refuse_what_cannot_be_trained(classifier: Estimator) -> None:
    """A copy of it must learn from the samples that are not held out, and from nothing else."""
    parts = [classifier, *classifier.get_params(deep=True).values()]
    if any(type(part).__name__ == "FrozenEstimator" or str(part) == "prefit" for part in parts):
        raise ValueError(
            "a hold-out fits a copy of the model on some of the samples, and part of this one is frozen: it "
            "has seen the others. Pass it without FrozenEstimator, and without cv='prefit'."
        )
    if is_pairwise(classifier):
        raise ValueError(
            "a hold-out needs X, not a precomputed kernel; pass X, and the kernel as a function."
        )
