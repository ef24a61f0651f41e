"""Errors that were counted: on a hold-out, of always naming the most common class, and out of bag.

With k errors among n independent samples the error probability is below the limit of Clopper and Pearson,

    the p at which k errors or fewer have probability 1 - confidence,

with the probability asked for, whatever the classifier and whatever the distribution. A hold-out needs
samples that the model does not learn from; its limit is about the model that was fitted on the others.

From one model to another it takes no labels: a model errs only where the other one errs or the two differ, so
that ``R(full) <= R(half) + P(full differs from half)``. New instances show how often they differ.

Out of bag each sample is judged by the members of an ensemble that did not learn from it; so the estimate is
about an ensemble of fewer members. The ball is judged by folds. Errors on different samples are not
independent, as members share samples. The interval takes account of that by the correction of Nadeau and
Bengio: with B members that see n_1 samples each and leave n_2 out, the variance of the mean is ``1 / (B n_2)
+ 1 / n_1`` times that of one error, where B n_2 independent errors would have the first term alone. Simulated
studies say that this is still too little, hence ``PRECISION``. The interval is approximate.

References
----------
C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
binomial", Biometrika 26, 1934.
C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from minimaxrisk._utils.arguments import is_integer, is_number, listed
from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.rounding import at_most
from minimaxrisk._utils.stored_tables import take_rows
from minimaxrisk.guarantees.certified import PROOF, can, unwrapped
from minimaxrisk.guarantees.limits import clopper_pearson_limit
from minimaxrisk.guarantees.statement import AGREEMENT, HOLDOUT, MAJORITY, RULE_NAMES, ClassLimit, ErrorBound
from minimaxrisk.problem import rule
from minimaxrisk.problem.rule import AverageRule
from minimaxrisk.samples.parts import fit_on_rows
from minimaxrisk.samples.validation import TrainingData, check_labels, codes_of_groups

UNCHOSEN = (
    "No setting of the method may have been chosen by their labels: pass a whole search, not its "
    "best_estimator_."
)
# The probability that the interval of the out-of-bag error aims at.
OUT_OF_BAG_LEVEL = 0.95
# What is left of the corrected number of samples: errors move together by more than the correction says. Of
# 400 simulated studies (30 to 120 samples, 5 effects) the interval missed the true error in 24 without this,
# in 10 with it.
PRECISION = 0.7


def holdout_bound(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    test_size: Any,
    groups: Any,
    confidence: float,
    random: Any,
    learns_groups: bool = True,
    class_confidence: float | None = None,
    prevalence: Mapping[Any, float] | None = None,
) -> ErrorBound:
    """Fit a copy of a classifier on one part of the samples, count its errors on the other.

    Its fit gets the groups if it ``learns_groups`` and takes them.
    ``class_confidence`` is what the limits of all classes have together, by default ``confidence``. With
    ``prevalence`` they make the bound, too.
    """
    y = check_labels(X, y, groups=groups)
    unit = None if groups is None else codes_of_groups(groups, len(y))
    train, test = _split(y, unit, test_size, random)
    model = fit_on_rows(estimator, X, y, train, groups=unit if learns_groups else None)
    errs = np.asarray(model.predict(take_rows(X, test))) != y[test]
    n_errors = int(errs.sum())
    per_class = limits_per_class(
        y[test],
        errs,
        prevalence or np.unique(y).tolist(),
        confidence if class_confidence is None else class_confidence,
    )
    if prevalence is None:
        value = clopper_pearson_limit(n_errors, len(test), confidence)
    else:
        value = min(1.0, sum(prevalence[one.label] * one.limit for one in per_class))
    inner = unwrapped(model)[0]
    last = inner._final() if can(inner, PROOF) else inner
    name = "predict" if getattr(last, "deterministic", True) else "randomized"
    return ErrorBound(
        value=value,
        method=HOLDOUT,
        rule=name,
        confidence=float(confidence),
        n_train=len(train),
        n_classes=len(np.unique(y)),
        subject=f"{RULE_NAMES[name]} of the same method trained on {len(train)} of the samples",
        evidence=f"it erred on {n_errors} of {len(test)} {_kind(unit)} held out{_of_unknown(y, train)}",
        assumption=f"{_independence(unit)} {UNCHOSEN}",
        n_errors=n_errors,
        n_test=len(test),
        prevalence=prevalence,
        per_class=per_class,
        predictive_values={} if prevalence is None else _predictive_values(per_class, prevalence),
        model=model,
    )


def _of_unknown(y: np.ndarray, train: IntArray) -> str:
    """In words, if the model has seen no sample of some classes, and misclassifies all of them."""
    unknown = np.setdiff1d(y, y[train]).tolist()
    return f", and learned nothing of {listed(unknown)}, which had no sample to fit on" if unknown else ""


def limits_per_class(
    y: np.ndarray, errs: BoolArray, labels: Iterable[Any], confidence: float
) -> tuple[ClassLimit, ...]:
    """Limits of the errors within each class, all of which hold with probability ``confidence``.

    Given the labels, errors within a class are independent and equally probable, whether labels were drawn
    or chosen by design. Of K classes that were held out each has the K-th part of what may go wrong; of the
    others nothing is known, and the limit is 1.
    """
    each = 1.0 - (1.0 - confidence) / len(np.unique(y))
    found = []
    for label in labels:
        of_class = errs[y == label]
        n_errors, n = int(of_class.sum()), len(of_class)
        found.append(ClassLimit(label, n, n_errors, clopper_pearson_limit(n_errors, n, each), each))
    return tuple(found)


def _predictive_values(per_class: Sequence[ClassLimit], prevalence: Mapping[Any, float]) -> dict[Any, float]:
    """At least so many of those that are named a class are of it.

    The worst is that all errors of the other classes go to this one; with two classes they do.
    """
    right = {one.label: prevalence[one.label] * (1.0 - one.limit) for one in per_class}
    wrong = {one.label: prevalence[one.label] * one.limit for one in per_class}
    all_wrong = sum(wrong.values())
    return {
        one.label: right[one.label] / (right[one.label] + all_wrong - wrong[one.label])
        for one in per_class
        if one.n_test
    }


def agreement_bound(full: Any, half: ErrorBound, X_new: Any, named: Any, *, confidence: float) -> ErrorBound:
    """The error of ``full`` by that of the model of a hold-out, and by how often the two differ.

    ``named`` are the labels that ``full`` gives to ``X_new``. What may go wrong is split by the numbers of
    samples that the two limits are counted on: fewer get more, which is close to the smallest sum.
    """
    assert half.n_test is not None
    assert half.n_errors is not None
    differ = np.asarray(half.model.predict(X_new)) != np.asarray(named)
    delta, n_all = 1.0 - confidence, half.n_test + len(differ)
    of_half = clopper_pearson_limit(half.n_errors, half.n_test, 1.0 - delta * len(differ) / n_all)
    limit = clopper_pearson_limit(int(differ.sum()), len(differ), 1.0 - delta * half.n_test / n_all)
    of_half_told = at_most(of_half)
    return replace(
        half,
        value=min(1.0, of_half + limit),
        method=AGREEMENT,
        confidence=float(confidence),
        subject=f"{RULE_NAMES[half.rule]} of this model",
        evidence=(
            f"one that {half.evidence.removeprefix('it ')} errs on at most {of_half_told}, and on "
            f"{int(differ.sum())} of {len(differ)} new instances the two differ. Where they agree, at most "
            f"{of_half_told} of all samples are named wrongly"
        ),
        assumption=f"{half.assumption} New instances are taken for independent, too.",
        n_errors=int(differ.sum()),
        n_test=len(differ),
        per_class=(),
        model=full,
    )


def _split(y: np.ndarray, groups: IntArray | None, test_size: Any, random: Any) -> tuple[IntArray, IntArray]:
    """Rows to fit on, and rows to count errors on: one of each unit that is held out."""
    unit = np.arange(len(y)) if groups is None else groups
    n_units = int(unit.max()) + 1
    n_test = n_held_out(test_size, n_units, _kind(groups))
    held_out = np.zeros(n_units, dtype=np.bool_)
    held_out[random.permutation(n_units)[:n_test]] = True
    train = np.flatnonzero(~held_out[unit])
    first = one_of_each(unit, random)
    test = np.sort(first[held_out[unit[first]]])
    if len(np.unique(y[train])) < 2:
        raise ValueError(
            f"the part to fit on holds samples of class {y[train].tolist()[0]!r} alone; use a smaller "
            "test_size, or add samples of the other classes."
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
class JudgedSample:
    """The samples that errors are counted on: as they are, without the class weights of the fit.

    ``unit`` says which of them belong together, if any do.
    """

    data: TrainingData
    unit: IntArray | None

    @property
    def are_alike(self) -> bool:
        """Whether every row of weight counts as one sample."""
        weights = self.data.weights[self.data.weights > 0]
        return bool(
            (weights == 1.0).all() or (self.data.counts is not None and (weights == weights[0]).all())
        )

    @property
    def units(self) -> str:
        return _kind(self.unit)

    @property
    def rows(self) -> IntArray:
        return np.flatnonzero(self.data.weights > 0)

    @property
    def class_sizes(self) -> dict[Any, float]:
        """How many samples, or groups of them, each class has; of a group with several labels a part."""
        rows = self.rows
        weights = np.ones(len(rows)) if self.are_alike else self.data.weights[rows]
        if self.unit is not None and self.are_alike:
            unit = self.unit[rows]
            weights = 1.0 / np.bincount(unit)[unit]
        sizes = np.bincount(self.data.labels[rows], weights, minlength=len(self.data.classes))
        return dict(zip(self.data.classes.tolist(), sizes.tolist(), strict=True))

    @property
    def n_units(self) -> int:
        return len(self.rows) if self.unit is None else len(np.unique(self.unit[self.rows]))


def majority_bound(sample: JudgedSample, delta: float, random: np.random.RandomState) -> ErrorBound:
    """The limit at ``delta / K``: the class is chosen by the samples that judge it, and K could have been."""
    sizes = _sizes_of_drawn(sample, random)
    n_others, n = sizes.sum() - sizes.max(), sizes.sum()
    named = repr(sample.data.classes.tolist()[np.argmax(sizes)])
    return _of_one_class(
        sample, sizes, delta, named, clopper_pearson_limit(n_others, n, 1.0 - delta / len(sizes))
    )


def most_common_bound(sample: JudgedSample, delta: float, random: np.random.RandomState) -> ErrorBound:
    """The same for the class that is most common in truth: an error q that is smaller, as its limit is.

    The m samples that are not of the class that is most common among n are few either because those that
    are not of the true one are, which are binomial with q; or because a class of probability 1/2 or less has
    n - m samples. For m < n/2 the latter has the largest probability, F, where two classes are equally
    common, so that one binomial limit at ``delta - F`` will do. F is tiny unless the limit is near 1/2.
    """
    sizes = _sizes_of_drawn(sample, random)
    named = f"here {sample.data.classes.tolist()[np.argmax(sizes)]!r}"
    value = limit_of_rarer_classes(sizes.sum() - sizes.max(), sizes.sum(), delta, len(sizes))
    return _of_one_class(sample, sizes, delta, named, value)


def _sizes_of_drawn(sample: JudgedSample, random: np.random.RandomState) -> FloatArray:
    """How many samples each class has, of each group one."""
    data, rows = sample.data, sample.rows
    if sample.unit is not None:
        rows = rows[one_of_each(sample.unit[rows], random)]
    counts = np.ones(len(rows)) if sample.are_alike else data.weights[rows]
    return np.asarray(np.bincount(data.labels[rows], counts, minlength=len(data.classes)), dtype=np.float64)


def _of_one_class(
    sample: JudgedSample, sizes: FloatArray, delta: float, named: str, value: float
) -> ErrorBound:
    n = sizes.sum()
    drawn = f"{n:g} samples" if sample.unit is None else f"{n:g} samples, one of each group,"
    return ErrorBound(
        value=value,
        method=MAJORITY,
        rule="constant",
        confidence=1.0 - delta,
        n_train=int(n),
        n_classes=len(sizes),
        subject=f"always naming the most common class ({named})",
        evidence=f"{n - sizes.max():g} of {drawn} are of another one",
        assumption=_independence(sample.unit),
    )


def limit_of_rarer_classes(n_others: float, n: float, delta: float, n_classes: int) -> float:
    """The limit of ``most_common_bound``; the largest error is that of equally common classes."""
    largest = 1.0 - 1.0 / n_classes
    by_chance = float(stats.beta.sf(0.5, n_others + 1, n - n_others)) if 2 * n_others < n else 1.0
    if by_chance >= min(delta, 0.5):
        return largest
    return min(largest, clopper_pearson_limit(n_others, n, 1.0 - delta + by_chance))


def majority_error(sample: JudgedSample, prevalence: Mapping[Any, float], confidence: float) -> ErrorBound:
    """Where the shares of the classes are known, so is the error of naming the most common one."""
    named = max(prevalence, key=lambda label: prevalence[label])
    return ErrorBound(
        value=1.0 - prevalence[named],
        method=MAJORITY,
        rule="constant",
        confidence=confidence,
        n_train=sample.n_units,
        n_classes=len(prevalence),
        subject=f"always naming the most common class ({named!r})",
        evidence="so many are of another one",
        assumption="That is exact, for the given prevalence.",
        prevalence=prevalence,
    )


def _kind(unit: IntArray | None) -> str:
    return "samples" if unit is None else "groups"


def _independence(unit: IntArray | None) -> str:
    if unit is None:
        return "That holds for every distribution if the samples are independent."
    return (
        "That holds for every distribution if the groups are independent. The error is that on a sample "
        "drawn from a new group."
    )


@dataclass(frozen=True)
class OutOfBag:
    """The fields are fitted attributes of an ensemble, without the underscore."""

    oob_proba: FloatArray  # n x K; NaN for samples that every member has seen
    oob_error: float
    oob_error_interval: tuple[float, float]
    ball_weight: float


def out_of_bag(
    members: AverageRule,
    data: TrainingData,
    in_bag: BoolArray,
    units: IntArray,
    of_ball: FloatArray | None = None,
) -> OutOfBag:
    """Judge each sample by the members that have not seen it (``in_bag`` is members x samples).

    ``units`` says which samples belong together (-1: weight zero); the interval counts units, by their
    weight. Parts hold some of every class and leave some out, so that the share seen is neither 0 nor 1.
    ``of_ball`` has the probabilities of balls that have not seen the sample (n x K).
    """
    total = np.zeros((len(data.classes), len(data.labels)))
    for seen, probabilities in zip(in_bag, members.probabilities_of_members(data.X), strict=True):
        total += np.where(seen, 0.0, probabilities)
    n_judges = (~in_bag).sum(axis=0)
    average = np.divide(total, n_judges, out=np.full_like(total, np.nan), where=n_judges > 0)
    judged = np.flatnonzero((n_judges > 0) & (data.weights > 0))
    if len(judged) == 0:
        return OutOfBag(average.T, np.nan, (0.0, 1.0), 0.0 if of_ball is None else 0.5)
    own, weights = data.labels[judged], data.weights[judged]
    unit_weight = np.bincount(units[judged], weights)
    # As many independent samples of equal weight would say as much.
    n_units = float(unit_weight.sum() ** 2 / np.sum(unit_weight**2))
    ball_weight = 0.0
    if of_ball is not None:
        ball_weight, without_own = _ball_weights(
            rule.arg_max(average[:, judged]) != own,
            rule.arg_max(of_ball[judged].T) != own,
            weights * (n_units / weights.sum()),
            units[judged],
        )
        share = np.full(len(data.labels), ball_weight)
        share[judged] = without_own
        average = (1.0 - share) * average + share * of_ball.T
    errs = rule.arg_max(average[:, judged]) != own
    error = float(weights @ errs / weights.sum())
    # A unit has the number of its first sample.
    n_members, share_seen = len(in_bag), float(in_bag[:, np.unique(units[units >= 0])].mean())
    n = PRECISION * n_units / (1.0 / (n_members * (1.0 - share_seen)) + 1.0 / share_seen)
    one_sided = 0.5 * (1.0 + OUT_OF_BAG_LEVEL)
    low = 1.0 - clopper_pearson_limit((1.0 - error) * n, n, one_sided)
    interval = (low, clopper_pearson_limit(error * n, n, one_sided))
    return OutOfBag(average.T, error, interval, ball_weight)


def _ball_weights(
    members_err: BoolArray, ball_errs: BoolArray, weights: FloatArray, units: IntArray
) -> tuple[float, FloatArray]:
    """The probability with which the ball decides, and for each sample the one without its own unit.

    So that the label of a sample has no part in how it is judged.
    """
    of_members, of_ball = (np.bincount(units, weights * errs) for errs in (members_err, ball_errs))

    def weight(a: Any, b: Any) -> Any:
        return (a + 1.0) ** 2 / ((a + 1.0) ** 2 + (b + 1.0) ** 2)

    a, b = of_members.sum(), of_ball.sum()
    return float(weight(a, b)), weight(a - of_members[units], b - of_ball[units])
