"""A bound on an error: its value, whose error it is, how it was found and what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from minimaxrisk._utils.rounding import at_least, at_most

# How a bound was found; "none" is the bound 1, where no other has a probability.
HOLDOUT, AGREEMENT, RADII, MAJORITY, NONE = "holdout", "agreement", "radii", "majority", "none"
# What every bound is about, and one for a given mixture of classes.
SAME_LAW = "It holds for new samples drawn like these, not for another cohort."
SAME_CLASSES = (
    "It holds for new samples that are drawn like these class by class, also where the labels of these were "
    "chosen by design (cases and controls), and not for another cohort."
)
# Of more classes the statement names their number, and the sizes of so many.
MOST_NAMED, MOST_SIZES = 4, 8
# The rules of a model in sentences.
RULE_NAMES = {"predict": "predict", "randomized": "labels drawn from predict_proba"}


@dataclass(frozen=True)
class Exceedance:
    """An estimate of the mean excess: how much error the proof of a worst case misses on new instances.

    Attributes
    ----------
    mean, standard_error : float
        The estimate and its standard error.
    upper : float
        Its upper confidence limit, by a Gamma law with the estimated mean and variance. That is approximate,
        and says nothing about rare excesses that are larger than any seen. Zero if there was no excess.
    confidence : float
        The level of ``upper``.
    n_instances, n_exceeding : int
        How many instances were looked at, and on how many of them there was an excess.
    source : str
        ``"new instances"`` or ``"cross-fitting"``.
    """

    mean: float
    standard_error: float
    upper: float
    confidence: float
    n_instances: int
    n_exceeding: int
    source: str


@dataclass(frozen=True)
class ClassLimit:
    """How often samples of one class are misclassified at most; ``error_bound`` makes it.

    Attributes
    ----------
    label : object
        The class.
    n_test, n_errors : int
        Samples of it that were held out, and how many of them were misclassified. No model names a class
        that ``prevalence`` has and the data have not: all of its samples are misclassified.
    limit : float
        The upper limit of the share of its samples that are misclassified. With two classes ``1 - limit`` is
        a lower limit of the sensitivity if this is the class that is looked for, else of the specificity.
    confidence : float or None
        The probability with which the limit holds; all of a hold-out hold at once with ``confidence`` of the
        call. None where no probability can be stated.
    """

    label: Any
    n_test: int
    n_errors: int
    limit: float
    confidence: float | None


@dataclass(frozen=True)
class ErrorBound:
    """An upper bound on the error of a rule for new samples; ``error_bound`` makes it.

    ``float(...)`` of it is the bound; printed, it is the statement, and the alternatives.

    Attributes
    ----------
    value : float
        The bound. With groups the error is that on a sample drawn from a new group.
    method : str
        How it was found: ``"holdout"``, ``"agreement"``, ``"radii"``, ``"majority"`` (always naming the most
        common class), or ``"none"`` where no bound has a probability; ``value`` is then 1.
    rule : str
        Whose error: ``"predict"`` (the labels that ``predict`` names), ``"randomized"`` (labels drawn from
        ``predict_proba``), or ``"constant"`` (always naming one class).
    confidence : float or None
        The probability with which it holds, together with all alternatives that have one and do not stand
        alone. None where no probability can be stated, for the reason in ``reason``.
    stands_alone : bool
        Whether the probability is its own. With ``method="best"`` those of agreement, and of the majority
        where it is not the smallest, are: they are no part of what the smallest was chosen from.
    n_train : int or None
        How many samples the rule was learned from; None where no training data were passed.
    n_classes : int
        Number of classes.
    subject, evidence, assumption, reason : str
        Whose error it is, what shows the bound, what is taken for granted, and why no probability can be
        stated (empty where one can), in words.
    marginal : str or None
        For radii ``"free"`` or ``"empirical"``: whether the distributions may move instances.
    worst_case_error : float or None
        For radii: the rule's certified worst case within them.
    exceedance : Exceedance or None
        For radii: what instances unlike those of the training data add.
    n_errors, n_test : int or None
        For a hold-out: errors, and samples they were counted on; of each group that was held out one. For
        agreement: new instances that the two models name differently, and new instances.
    model : estimator or None
        The fitted model that it is about: for radii the one that was passed, for a hold-out one that was
        fitted on the other samples.
    class_sizes : mapping of label to float
        How many samples, or groups of them, the classes have: the mixture that the error is about, unless
        there is a ``prevalence``. Empty where no data were passed.
    is_weighted : bool
        Whether ``class_sizes`` are sums of weights that are not all alike.
    prevalence : mapping of label to float or None
        The shares of the classes that the error is about, if they were given.
    per_class : tuple of ClassLimit
        Limits of the model of a hold-out class by class, which hold at once. Without ``prevalence`` they are
        a statement of their own, beside the bound.
    predictive_values : mapping of label to float
        With ``prevalence``: of the samples that the model of the hold-out gives a label, at least this share
        are of that class. It holds at once with the bound and ``per_class``.
    alternatives : tuple of ErrorBound
        With ``method="best"``: the other bounds, those with a probability first, the smallest first.
    left_out : mapping of str to str
        With ``method="best"``: methods that gave no bound, and why.
    """

    value: float
    method: str
    rule: str
    confidence: float | None
    n_train: int | None
    n_classes: int
    subject: str = field(repr=False, default="")
    evidence: str = field(repr=False, default="")
    assumption: str = field(repr=False, default="")
    reason: str = field(repr=False, default="")
    marginal: str | None = None
    worst_case_error: float | None = None
    exceedance: Exceedance | None = field(repr=False, default=None)
    n_errors: int | None = None
    n_test: int | None = None
    stands_alone: bool = field(repr=False, default=False)
    class_sizes: Mapping[Any, float] = field(repr=False, default_factory=dict)
    is_weighted: bool = field(repr=False, default=False)
    prevalence: Mapping[Any, float] | None = field(repr=False, default=None)
    per_class: tuple[ClassLimit, ...] = field(repr=False, default=())
    predictive_values: Mapping[Any, float] = field(repr=False, default_factory=dict)
    model: Any = field(repr=False, compare=False, default=None)
    alternatives: tuple[ErrorBound, ...] = field(repr=False, compare=False, default=())
    left_out: Mapping[str, str] = field(repr=False, compare=False, default_factory=dict)

    @property
    def has_probability(self) -> bool:
        """Whether it comes with a probability."""
        return self.confidence is not None

    @property
    def side_by_side(self) -> tuple[ErrorBound, ...]:
        """This bound and its alternatives, without the bound 1 of the method ``"none"``."""
        return self.alternatives if self.method == NONE else (self, *self.alternatives)

    @property
    def says_nothing(self) -> bool:
        """Whether guessing one of the classes, or naming the one of the largest prevalence, does as well."""
        return self.value >= 1.0 - (
            max(self.prevalence.values()) if self.prevalence else 1.0 / self.n_classes
        )

    @property
    def mixture(self) -> str:
        """How common the classes are among the samples that the error is about, in words."""
        if self.prevalence is not None:
            shares = [f"{100.0 * share:g}% are {label!r}" for label, share in self.prevalence.items()]
            return f"of which {_joined(shares)}"
        if not self.class_sizes:
            return "with the classes as common as in the training data"
        named = f"{len(self.class_sizes)} classes"
        if len(self.class_sizes) <= MOST_NAMED:
            named = _joined(map(repr, self.class_sizes))
        sizes = " : ".join(f"{size:.4g}" for size in list(self.class_sizes.values())[:MOST_SIZES])
        more = " : ..." if len(self.class_sizes) > MOST_SIZES else ""
        weighted = ", by weight" if self.is_weighted else ""
        return f"of {named}, as common as in these data ({sizes}{more}{weighted})"

    @property
    def scope(self) -> str:
        """For which samples it holds, in words."""
        return SAME_LAW if self.prevalence is None else SAME_CLASSES

    @property
    def statement(self) -> str:
        """The bound in words, with its probability and what it assumes."""
        if self.method == NONE:
            return "No bound with a probability can be given for these data."
        when = "If the true means lie within the radii, and the samples are as assumed"
        if self.confidence is not None:
            when = f"With probability at least {at_least(self.confidence, '.3g')}"
        elif self.method != RADII:
            when = "If all assumptions were true"
        text = (
            f"{when}, the error of {self.subject} is at most {at_most(self.value)} on samples "
            f"{self.mixture}: {self.evidence}."
        )
        if self.says_nothing and self.prevalence is None:
            text += f" Guessing one of {self.n_classes} classes is as good as this bound."
        elif self.says_nothing and self.rule != "constant":
            text += " Always naming the most common class errs no more than this bound; see class by class."
        if self.reason:
            text += f" It has no probability: {self.reason}."
        return f"{text} {self.assumption} {self.scope}"

    @property
    def confidence_per_class(self) -> float | None:
        """The probability with which all of ``per_class`` hold at once, if there is one."""
        levels = [one.confidence for one in self.per_class if one.n_test]
        failing = [1.0 - level for level in levels if level is not None]
        return round(1.0 - sum(failing), 12) if failing else None

    @property
    def statement_per_class(self) -> str:
        """``per_class`` and ``predictive_values`` in words; empty where there are none."""
        if not self.per_class:
            return ""
        when, together = "if all assumptions were true", self.confidence_per_class
        if together is not None:
            own = "at once with the bound" if self.prevalence else "a statement of its own"
            each, both = (at_least(level or 0.0, ".4g") for level in (self.per_class[0].confidence, together))
            when = f"each with probability {each}, together {both}, {own}"
        lines = [f"Class by class, for the model of the hold-out ({when}):"]
        for one in self.per_class:
            seen = f"{one.n_errors} of {one.n_test} were" if one.n_test else "none was held out"
            lines.append(f"  {one.label!r}: at most {at_most(one.limit)} misclassified ({seen})")
        if len(self.per_class) == 2:
            first, second = self.per_class
            found = [at_least(1.0 - one.limit) for one in self.per_class]
            lines.append(
                f"  if {first.label!r} is looked for: sensitivity at least {found[0]}, specificity at least "
                f"{found[1]}; if {second.label!r} is, the other way round"
            )
        lines += [
            f"  of samples that are named {label!r}, at least {at_least(value)} are (predictive value)"
            for label, value in self.predictive_values.items()
        ]
        return "\n".join(lines)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        others = [one for one in self.alternatives if one.has_probability and not one.stands_alone]
        alone = [one for one in self.alternatives if one.has_probability and one.stands_alone]
        weaker = [one for one in self.alternatives if not one.has_probability]
        lines = [self.statement]
        if self.per_class:
            lines += ["", self.statement_per_class]
        if others:
            lines += ["", "At once, with the same probability, bounds on other errors:", *map(_line, others)]
        if alone:
            lines += ["", "With the same probability, each by itself:", *map(_line, alone)]
        if weaker:
            lines += ["", "To compare, without a probability:", *map(_line, weaker)]
            lines += [f"  Why: {reason}." for reason in dict.fromkeys(one.reason for one in weaker)]
        if self.left_out:
            lines += ["", "Left out:"]
            lines += [f"  {method}: {reason}" for method, reason in self.left_out.items()]
        return "\n".join(lines)


def without_probability(bound: ErrorBound, reason: str) -> ErrorBound:
    """The same bound where something that it takes for granted is not so; as it is without a reason."""
    if not reason:
        return bound
    return replace(
        bound,
        confidence=None,
        reason="; ".join(filter(None, (bound.reason, reason))),
        per_class=tuple(replace(one, confidence=None) for one in bound.per_class),
    )


def _joined(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _line(one: ErrorBound) -> str:
    return f"  {at_most(one.value)}  {one.subject}: {one.evidence}"
