"""A bound on the error rate: its value, whose error rate it is, and the counts behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from minimaxrisk._utils.arguments import listed
from minimaxrisk._utils.rounding import at_least, at_most

# For which samples a bound holds, and one for a given mixture of classes.
SAME_LAW = "It holds for new samples drawn like these, not for another cohort."
SAME_CLASSES = (
    "It holds for new samples that are drawn like these class by class, also where the labels of these were "
    "chosen by design (cases and controls), and not for another cohort."
)
UNCHOSEN = (
    "No setting of the method may have been chosen by their labels: pass a whole search, not its "
    "best_estimator_."
)
# Of more classes the statement names their number, and the sizes of so many.
MOST_NAMED, MOST_SIZES = 4, 8
# The rules of a model in sentences.
RULE_NAMES = {"predict": "predict", "randomized": "labels drawn from predict_proba"}


@dataclass(frozen=True)
class ClassLimit:
    """An upper limit of the share of a class that is misclassified; ``error_bound`` makes it.

    Attributes
    ----------
    label : object
        The class.
    n_test, n_errors : int
        Samples of the class that were held out, and how many of them were misclassified.
    limit : float
        The upper limit. With two classes ``1 - limit`` is a lower limit of the sensitivity if this is the
        class that is looked for, else of the specificity. It is 1 where no sample of the class was held out.
    confidence : float
        The probability with which this limit holds, on its own.
    """

    label: Any
    n_test: int
    n_errors: int
    limit: float
    confidence: float


@dataclass(frozen=True)
class ErrorBound:
    """An upper confidence bound on an error rate for new samples; ``error_bound`` makes it.

    ``float(...)`` of it is the bound. Printed, it is the statement, with the limits class by class.

    Attributes
    ----------
    value : float
        The bound, and 1 where none can be given. With groups the error rate is that for a sample drawn from
        a new group.
    confidence : float or None
        The probability with which the bound holds; None where no bound can be given, for the reason in
        ``reason``.
    rule : str
        Whose error rate: ``"predict"`` (the labels that ``predict`` returns) or ``"randomized"`` (labels
        drawn from ``predict_proba``).
    n_errors, n_test : int
        Errors, and samples they were counted on; of each group that was held out one.
    n_train : int
        How many samples the model was trained on.
    n_classes : int
        Number of classes.
    class_sizes : mapping of label to float
        How many samples, or groups of them, the classes have.
    share_not_held_out : float
        The share of the samples (or groups) in classes of a single sample, which count as misclassified.
    is_grouped : bool
        Whether samples were held out by group.
    unseen : tuple of label
        Classes that the classifier was fitted on, and of which these data contain no sample.
    prevalence : mapping of label to float or None
        The shares of the classes that the error rate refers to, if they were given.
    per_class : tuple of ClassLimit
        Limits class by class, each with probability ``confidence`` on its own. Empty without a probability.
    predictive_values : mapping of label to float
        With ``prevalence``: at least this share of the samples that are assigned to a class belong to it.
        Each value holds with probability ``confidence`` on its own.
    reason : str
        Why no bound can be given; empty if one can.
    model : estimator or None
        The model that was trained on the samples that were not held out.
    """

    value: float
    confidence: float | None
    rule: str
    n_errors: int
    n_test: int
    n_train: int
    n_classes: int
    class_sizes: Mapping[Any, float] = field(repr=False, default_factory=dict)
    share_not_held_out: float = field(repr=False, default=0.0)
    is_grouped: bool = field(repr=False, default=False)
    unseen: tuple[Any, ...] = field(repr=False, default=())
    prevalence: Mapping[Any, float] | None = field(repr=False, default=None)
    per_class: tuple[ClassLimit, ...] = field(repr=False, default=())
    predictive_values: Mapping[Any, float] = field(repr=False, default_factory=dict)
    reason: str = field(repr=False, default="")
    model: Any = field(repr=False, compare=False, default=None)

    @property
    def has_probability(self) -> bool:
        """Whether a bound can be given."""
        return self.confidence is not None

    @property
    def says_nothing(self) -> bool:
        """Whether guessing one of the classes, or naming the one of the largest prevalence, does as well."""
        return self.value >= 1.0 - (
            max(self.prevalence.values()) if self.prevalence else 1.0 / self.n_classes
        )

    @property
    def mixture(self) -> str:
        """How common the classes are among the samples that the error rate refers to, in words."""
        if self.prevalence is not None:
            shares = [f"{100.0 * share:g}% are {label!r}" for label, share in self.prevalence.items()]
            return f"of which {_joined(shares)}"
        named = f"{len(self.class_sizes)} classes"
        if len(self.class_sizes) <= MOST_NAMED:
            named = _joined(map(repr, self.class_sizes))
        sizes = " : ".join(f"{size:.4g}" for size in list(self.class_sizes.values())[:MOST_SIZES])
        more = " : ..." if len(self.class_sizes) > MOST_SIZES else ""
        return f"of {named}, as common as in these data ({sizes}{more})"

    @property
    def subject(self) -> str:
        """Whose error rate it is, in words."""
        return f"{RULE_NAMES[self.rule]} of the same method trained on {self.n_train} of the samples"

    @property
    def evidence(self) -> str:
        """What was counted, in words."""
        units = "groups" if self.is_grouped else "samples"
        text = f"it erred on {self.n_errors} of {self.n_test} {units} held out"
        if self.share_not_held_out:
            text += f", and classes of a single one count as misclassified ({self.share_not_held_out:.1%})"
        return text

    @property
    def assumption(self) -> str:
        """What is taken for granted, in words."""
        units = "groups" if self.is_grouped else "samples"
        text = f"That holds for every distribution if the {units} are independent."
        if self.is_grouped:
            text += " The error is that on a sample drawn from a new group."
        text += f" {UNCHOSEN}"
        if self.unseen:
            text += f" It leaves out samples of {listed(self.unseen)}, of which these data have none."
        return text

    @property
    def scope(self) -> str:
        """For which samples it holds, in words."""
        return SAME_LAW if self.prevalence is None else SAME_CLASSES

    @property
    def statement(self) -> str:
        """The bound in words, with its probability and what it assumes."""
        if self.confidence is None:
            return f"No error bound can be given: {self.reason}."
        level = at_least(self.confidence, ".3g")
        text = (
            f"With probability at least {level}, the error of {self.subject} is at most "
            f"{at_most(self.value)} on samples {self.mixture}: {self.evidence}."
        )
        if self.says_nothing and self.prevalence is None:
            text += f" Guessing one of {self.n_classes} classes is as good as this bound."
        elif self.says_nothing:
            text += " Always naming the most common class errs no more than this bound; see class by class."
        return f"{text} {self.assumption} {self.scope}"

    @property
    def statement_per_class(self) -> str:
        """``per_class`` and ``predictive_values`` in words; empty where there are none."""
        if not self.per_class:
            return ""
        level = at_least(self.per_class[0].confidence, ".4g")
        lines = [f"Class by class (each with probability {level} on its own):"]
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
        return "\n\n".join(filter(None, (self.statement, self.statement_per_class)))


def without_probability(bound: ErrorBound, reason: str) -> ErrorBound:
    """Return the bound 1 if there is a reason against independent samples; else the bound as it is."""
    if not reason:
        return bound
    return replace(bound, value=1.0, confidence=None, reason=reason, per_class=(), predictive_values={})


def _joined(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
