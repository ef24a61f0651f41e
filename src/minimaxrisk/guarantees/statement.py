"""A bound on an error: its value, whose error it is, how it was found and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# How a bound was found; "none" is the bound 1, where no other has a probability.
HOLDOUT, AGREEMENT, RADII, MAJORITY, NONE = "holdout", "agreement", "radii", "majority", "none"
# What every bound is about.
SAME_LAW = "It holds for new samples drawn like these, not for another cohort."
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
        The probability with which it holds, together with all alternatives that have one. None where no
        probability can be stated, for the reason in ``reason``.
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
        """Whether guessing one of the classes does as well."""
        return self.value >= 1.0 - 1.0 / self.n_classes

    @property
    def statement(self) -> str:
        """The bound in words, with its probability and what it assumes."""
        if self.method == NONE:
            return "No bound with a probability can be given for these data."
        when = "If the true means lie within the radii, and the samples are as assumed"
        if self.confidence is not None:
            when = f"With probability at least {self.confidence:.3g}"
        elif self.method != RADII:
            when = "If all assumptions were true"
        text = f"{when}, the error of {self.subject} is at most {self.value:.4f}: {self.evidence}."
        if self.says_nothing:
            text += f" Guessing one of {self.n_classes} classes is as good as this bound."
        if self.reason:
            text += f" It has no probability: {self.reason}."
        return f"{text} {self.assumption} {SAME_LAW}"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        others = [one for one in self.alternatives if one.has_probability]
        weaker = [one for one in self.alternatives if not one.has_probability]
        lines = [self.statement]
        if others:
            lines += ["", "At once, with the same probability, bounds on other errors:", *map(_line, others)]
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
    return replace(bound, confidence=None, reason="; ".join(filter(None, (bound.reason, reason))))


def _line(one: ErrorBound) -> str:
    return f"  {one.value:.4f}  {one.subject}: {one.evidence}"
