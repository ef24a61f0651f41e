"""The samples by which errors are judged: as they are, without class weights, and what belongs together.

What a hold-out says: errors counted on samples that took no part in the fit.

With k errors among n independent samples the error probability is below the limit of Clopper and Pearson,

    the p at which k errors or fewer have probability 1 - confidence,

with the probability asked for, whatever the classifier and whatever the distribution. The limit is exact, it
needs no radii and no assumption but independent samples; its price are the samples that the model does not
learn from. It is about the model that was fitted on the others.

Limits of errors that were counted: on samples left out, and of always naming the most common class.

How often an ensemble errs on samples that its members have not seen.

Each sample is judged by the members that did not learn from it; so the estimate is about an ensemble of fewer
members. Errors on different samples are not independent, as members share samples. The interval takes
account of that by the correction of Nadeau and Bengio: with B members that see n_1 samples each and leave n_2
out, the variance of the mean is ``1 / (B n_2) + 1 / n_1`` times that of one error, where B n_2 independent
errors would have the first term alone. It is a rule of thumb, and the interval approximate.

References
----------
C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from minimaxrisk._utils.arguments import check_confidence, is_integer, is_number
from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.containers import rows_of
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk._utils.sklearn_private import fit_with
from minimaxrisk.guarantees.statement import (
    HOLDOUT,
    MAJORITY,
    RULE_NAMES,
    ErrorStatement,
    clopper_pearson_limit,
)
from minimaxrisk.guarantees.verification import training_data_of
from minimaxrisk.samples.validation import TrainingData, check_labels, codes_of_groups


@dataclass(frozen=True)
class JudgedSample:
    """The samples without class weights; ``unit`` says which of them belong together, if any do."""

    data: TrainingData
    unit: IntArray | None
    are_alike: bool  # whether every row of weight counts as one sample

    @property
    def units(self) -> str:
        return "samples" if self.unit is None else "groups"

    @property
    def rows(self) -> IntArray:
        return np.flatnonzero(self.data.weights > 0)

    @property
    def n_units(self) -> int:
        return len(self.rows) if self.unit is None else len(np.unique(self.unit[self.rows]))


def judged_sample(model: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> JudgedSample:
    data = training_data_of(model, X, y, sample_weight, with_class_weight=False)
    unit = None if groups is None else codes_of_groups(groups, len(data.labels))
    weights = data.weights[data.weights > 0]
    are_alike = bool((weights == 1.0).all() or (data.counts is not None and (weights == weights[0]).all()))
    return JudgedSample(data, unit, are_alike)


@dataclass(frozen=True)
class HoldoutBound:
    """An upper limit on the error of a model, from samples that it has not seen.

    ``float(...)`` of it is the limit; printed, it is the statement.

    Attributes
    ----------
    value : float
        The limit on the probability that ``model.predict`` errs on a new sample. With groups: on a sample
        drawn from a new group.
    n_errors, n_test : int
        Errors, and samples they were counted on: of each group that was held out one, drawn at random.
    n_train : int
        Samples that the model was fitted on.
    confidence : float
        The probability with which the limit holds.
    model : estimator
        The fitted model that it is about.
    statement : str
        All of it in words.
    """

    value: float
    n_errors: int
    n_test: int
    n_train: int
    confidence: float
    model: Any = field(repr=False)
    statement: str = field(repr=False)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return self.statement


def holdout_bound(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    test_size: float | int = 0.5,
    groups: Any = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> HoldoutBound:
    """Fit a copy of a classifier on one part of the samples, count its errors on the other.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Any one, pipelines and searches included; it is cloned.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Instances. Samples must be independent; where several belong together, say so with ``groups``.
    y : array-like of shape (n_samples,)
        Their labels.
    test_size : float or int, default=0.5
        The part that is held out, as a fraction of the samples (or groups) or as their number. It is drawn at
        random, without regard to the labels, since the limit is exact then.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of one group, such as the measurements of a patient, are not independent. They go to one part
        together, a classifier whose ``fit`` takes groups gets them, and of each group that is held out one
        sample is drawn and counted.
    confidence : float, default=0.95
        The probability with which the limit is to hold.
    random_state : int, RandomState instance or None, default=None
        Seed of the split. Choose it before you look at results: the best of many splits is no limit.

    Returns
    -------
    HoldoutBound
        The limit, what it rests on, and the model that it is about.

    Raises
    ------
    ValueError
        If nothing is left to fit on or to count on, or if the part to fit on lacks a class.

    See Also
    --------
    best_guarantee : Puts such a limit beside those that need no samples to spare.

    Notes
    -----
    The limit is that of Clopper and Pearson: the p at which so few errors among the samples held out, or
    fewer, have probability ``1 - confidence``. It is exact for every classifier and every distribution.

    References
    ----------
    C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from minimaxrisk import holdout_bound
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(200, 100, n_informative=10, effect=1.5, random_state=0)
    >>> bound = holdout_bound(LogisticRegression(), study.data, study.target, random_state=0)
    >>> bound.n_test
    100
    """
    check_confidence(confidence)
    y = check_labels(X, y)
    random = check_random_state(random_state)
    train, test = _split(y, groups, test_size, random)
    with quiet_fits():
        learned = None if groups is None else codes_of_groups(groups, len(y))[train]
        model = fit_with(clone(estimator), rows_of(X, train), y[train], groups=learned)
    n_errors = int(np.sum(np.asarray(model.predict(rows_of(X, test))) != y[test]))
    value = clopper_pearson_limit(n_errors, len(test), confidence)
    kind = "samples" if groups is None else "groups"
    statement = (
        f"With probability at least {confidence:g}, the error of predict of this {type(model).__name__}, "
        f"fitted on {len(train)} samples, is at most {value:.4f}: it erred on {n_errors} of {len(test)} "
        f"{kind} held out. That holds for every distribution if the {kind} are independent."
    )
    return HoldoutBound(value, n_errors, len(test), len(train), float(confidence), model, statement)


def _split(y: np.ndarray, groups: Any, test_size: Any, random: Any) -> tuple[IntArray, IntArray]:
    """Rows to fit on, and rows to count errors on: one of each unit that is held out."""
    unit = np.arange(len(y)) if groups is None else codes_of_groups(groups, len(y))
    n_units = int(unit.max()) + 1
    n_test = n_held_out(test_size, n_units, "samples" if groups is None else "groups")
    held_out = np.zeros(n_units, dtype=np.bool_)
    held_out[random.permutation(n_units)[:n_test]] = True
    train = np.flatnonzero(~held_out[unit])
    first = one_of_each(unit, random)
    test = np.sort(first[held_out[unit[first]]])
    absent = np.setdiff1d(y, y[train])
    if len(absent):
        raise ValueError(
            f"the part to fit on holds no sample of class {absent.tolist()[0]!r}; use a smaller test_size, "
            "or leave out classes with so few samples."
        )
    return train, test


def one_of_each(unit: IntArray, random: Any) -> IntArray:
    """A row of each unit, drawn: the first one in a random order of the rows."""
    order = random.permutation(len(unit))
    first: IntArray = order[np.unique(unit[order], return_index=True)[1]]
    return first


def n_held_out(test_size: Any, n_units: int, kind: str) -> int:
    """How many of ``n_units`` samples or groups ``test_size`` means."""
    if is_integer(test_size):
        n_test = int(test_size)
    elif is_number(test_size) and 0.0 < test_size < 1.0:
        n_test = round(float(test_size) * n_units)
    else:
        raise ValueError(
            f"test_size must be a fraction between 0 and 1 or a number of {kind}, got {test_size!r}."
        )
    if not 1 <= n_test < n_units:
        raise ValueError(
            f"test_size={test_size!r} holds out {n_test} of {n_units} {kind}; at least one must be held out "
            "and one left to fit on."
        )
    return n_test


@dataclass(frozen=True)
class Holdout:
    """A learner for part of the samples, given as they were before it."""

    learner: Any
    X: Any
    rule: str
    test_size: Any
    confidence: float

    def statement(self, sample: JudgedSample, random: np.random.RandomState) -> ErrorStatement:
        rows, data = sample.rows, sample.data
        found = holdout_bound(
            self.learner,
            rows_of(self.X, rows),
            data.classes[data.labels[rows]],
            test_size=self.test_size,
            groups=None if sample.unit is None else sample.unit[rows],
            confidence=self.confidence,
            random_state=random,
        )
        subject = f"{RULE_NAMES[self.rule]} of a model fitted like this one on {found.n_train} of the samples"
        return ErrorStatement(
            value=found.value,
            kind=HOLDOUT,
            rule=self.rule,
            marginal=None,
            n_train=found.n_train,
            confidence=self.confidence,
            valid=True,
            reason="",
            assumption=independence(sample),
            model=found.model,
            subject=subject,
            evidence=f"it erred on {found.n_errors} of {found.n_test} {sample.units} held out",
        )


def statement_of_majority(
    sample: JudgedSample, delta: float, random: np.random.RandomState
) -> ErrorStatement:
    """The limit at ``delta / K``: the class is chosen by the samples that judge it, and K could have been."""
    data, rows = sample.data, sample.rows
    if sample.unit is not None:
        rows = rows[one_of_each(sample.unit[rows], random)]
    counts = np.ones(len(rows)) if sample.are_alike else data.weights[rows]
    sizes = np.bincount(data.labels[rows], counts, minlength=len(data.classes))
    n, n_errors = sizes.sum(), sizes.sum() - sizes.max()
    value = clopper_pearson_limit(n_errors, n, 1.0 - delta / len(sizes))
    named = data.classes.tolist()[int(np.argmax(sizes))]
    drawn = f"{n:g} samples" if sample.unit is None else f"{n:g} samples, one of each group,"
    return ErrorStatement(
        value=value,
        kind=MAJORITY,
        rule="constant",
        marginal=None,
        n_train=int(n),
        confidence=1.0 - delta,
        valid=True,
        reason="",
        assumption=independence(sample),
        model=None,
        subject=f"always naming {named!r}, the most common class",
        evidence=f"{n_errors:g} of {drawn} are of another one",
    )


def independence(sample: JudgedSample) -> str:
    if sample.unit is None:
        return "That holds for every distribution if the samples are independent."
    return (
        "That holds for every distribution if the groups are independent. The error is that on a sample "
        "drawn from a new group."
    )
