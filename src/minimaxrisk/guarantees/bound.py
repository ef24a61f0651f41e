"""A bound on an error rate: its value, its level, the counts behind it, and what it assumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, kw_only=True)
class Bound:
    """An upper confidence bound on the error rate of a class, or of a mixture of classes.

    ``float(...)`` of it is its value.

    Attributes
    ----------
    value : float
        The bound. With two classes ``1 - value`` is a lower bound on the sensitivity if this is the class
        that is looked for, else on the specificity. It is 1 if no sample of the class was held out.
    confidence : float or None
        The probability with which the bound holds, on its own. None if no bound can be given.
    n_errors, n_test : int
        Errors, and the held-out samples that they were counted on.
    label : object
        The class; None for a mixture of all classes.
    """

    value: float
    confidence: float | None
    n_errors: int
    n_test: int
    label: Any = None

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, kw_only=True)
class ErrorBound(Bound):
    """An upper confidence bound on the error rate for new samples; ``error_bound`` returns it.

    ``float(...)`` of it is the bound. Printed, it is the statement, with the bounds class by class.

    Attributes
    ----------
    value : float
        The bound, and 1 if none can be given. With groups the error rate is that for a sample drawn from a
        new group.
    confidence : float or None
        The probability with which the bound holds; None if no bound can be given, for the reason in
        ``reason``.
    n_errors, n_test : int
        Errors, and samples they were counted on; of each group that was held out one.
    label : None
        The bound concerns a mixture of all classes.
    n_train : int
        How many samples the model was trained on.
    rule : str
        Whose error rate: ``"predict"`` (the labels that ``predict`` returns) or ``"randomized"`` (labels
        drawn from ``predict_proba``).
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
    per_class : tuple of Bound
        Bounds class by class, each with probability ``confidence`` on its own. Empty without a probability.
    predictive_values : mapping of label to float
        With ``prevalence``: at least this share of the samples that are assigned to a class belong to it.
        Each value holds with probability ``confidence`` on its own.
    reason : str
        Why no bound can be given; empty if one can.
    model : estimator or None
        The model that was trained on the samples that were not held out.
    """

    n_train: int
    rule: str = "predict"
    class_sizes: Mapping[Any, float] = field(repr=False)
    share_not_held_out: float = field(repr=False, default=0.0)
    is_grouped: bool = field(repr=False, default=False)
    unseen: tuple[Any, ...] = field(repr=False, default=())
    prevalence: Mapping[Any, float] | None = field(repr=False, default=None)
    per_class: tuple[Bound, ...] = field(repr=False, default=())
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
        shares = self.prevalence.values() if self.prevalence else [1.0 / len(self.class_sizes)]
        return self.value >= 1.0 - max(shares)

    @property
    def evidence(self) -> str:
        """What was counted, in words."""
        text = f"it erred on {self.n_errors} of {self.n_test} {self._units} held out"
        if self.share_not_held_out:
            text += f", and classes of a single one count as misclassified ({self.share_not_held_out:.1%})"
        return text

    @property
    def assumption(self) -> str:
        """What is taken for granted, in words."""
        text = f"That holds for every distribution if the {self._units} are independent."
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
        text = (
            f"With probability at least {at_least(self.confidence, '.3g')}, the error of "
            f"{RULE_NAMES[self.rule]} of the same method trained on {self.n_train} of the samples is at most "
            f"{at_most(self.value)} on samples {self._mixture}: {self.evidence}."
        )
        if self.says_nothing and self.prevalence is None:
            text += f" Guessing one of {len(self.class_sizes)} classes is as good as this bound."
        elif self.says_nothing:
            text += " Always naming the most common class errs no more than this bound; see class by class."
        return f"{text} {self.assumption} {self.scope}"

    @property
    def statement_per_class(self) -> str:
        """``per_class`` and ``predictive_values`` in words; empty if there are none."""
        if not self.per_class or self.confidence is None:
            return ""
        lines = [f"Class by class (each with probability {at_least(self.confidence, '.4g')} on its own):"]
        for one in self.per_class:
            seen = f"{one.n_errors} of {one.n_test} were" if one.n_test else "none was held out"
            lines.append(f"  {one.label!r}: at most {at_most(one.value)} misclassified ({seen})")
        if len(self.per_class) == 2:
            first, second = self.per_class
            lines.append(
                f"  if {first.label!r} is looked for: sensitivity at least {at_least(1.0 - first.value)}, "
                f"specificity at least {at_least(1.0 - second.value)}; if {second.label!r} is, the other way "
                "round"
            )
        lines += [
            f"  of samples that are named {label!r}, at least {at_least(value)} are (predictive value)"
            for label, value in self.predictive_values.items()
        ]
        return "\n".join(lines)

    @property
    def _units(self) -> str:
        return "groups" if self.is_grouped else "samples"

    @property
    def _mixture(self) -> str:
        """How common the classes are among the samples that the error rate refers to, in words."""
        if self.prevalence is not None:
            shares = [f"{100.0 * share:g}% are {label!r}" for label, share in self.prevalence.items()]
            return f"of which {_joined(shares)}"
        n_classes, sizes = len(self.class_sizes), list(self.class_sizes.values())
        named = f"{n_classes} classes" if n_classes > MOST_NAMED else _joined(map(repr, self.class_sizes))
        shown = " : ".join(f"{size:.4g}" for size in sizes[:MOST_SIZES])
        more = " : ..." if n_classes > MOST_SIZES else ""
        return f"of {named}, as common as in these data ({shown}{more})"

    def __str__(self) -> str:
        return "\n\n".join(filter(None, (self.statement, self.statement_per_class)))


def _joined(words: Any) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
