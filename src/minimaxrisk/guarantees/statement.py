"""Statements about an error: what is bounded, by how much, and what the bound rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scipy import stats

HOLDOUT, RADII, MAJORITY = "hold-out", "radii", "majority class"


# The rules of a model as sentences name them.
RULE_NAMES = {"argmax": "predict", "randomized": "the randomized rule (predict_proba)"}


@dataclass(frozen=True)
class ErrorStatement:
    """One upper bound on an error probability, and what it is about.

    ``float(...)`` of it is the bound; printed, it is a sentence.

    Attributes
    ----------
    value : float
        The bound.
    kind : str
        ``"hold-out"``, ``"radii"`` or ``"majority class"``.
    rule : str
        Whose error: ``"argmax"`` (``predict``), ``"randomized"`` (``predict_proba``), or ``"constant"`` for
        always naming one class.
    marginal : str or None
        For radii ``"free"`` or ``"empirical"``: whether the distributions may move instances.
    n_train : int
        How many samples the rule was learned from.
    confidence : float
        The level of this statement alone. All together have that of the ``BestGuarantee``.
    valid : bool
        Whether a probability can be stated at all.
    reason : str
        Why not; empty where it can.
    assumption : str
        What is taken for granted, as a sentence.
    model : estimator or None
        The fitted model that it is about: for radii the one that was passed, for a hold-out that of the part.
    subject, evidence : str
        Whose error it is, and what shows the bound, in words.
    """

    value: float
    kind: str
    rule: str
    marginal: str | None
    n_train: int
    confidence: float
    valid: bool
    reason: str
    assumption: str = field(repr=False)
    model: Any = field(repr=False, compare=False)
    subject: str = field(repr=False)
    evidence: str = field(repr=False)

    @property
    def statement(self) -> str:
        """The bound in words, without the probability."""
        return f"the error of {self.subject} is at most {self.value:.4f}: {self.evidence}"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.statement[0].upper()}{self.statement[1:]}."


@dataclass(frozen=True)
class BestGuarantee:
    """Statements about the error on new samples, the best first.

    ``float(...)`` of it is the best bound; printed, it lists all statements with what is left out.

    Attributes
    ----------
    statements : tuple of ErrorStatement
        Those with a probability, the smallest first; then the others, for comparison.
    left_out : mapping of str to str
        The kinds of statements that are missing, and why.
    confidence : float
        The probability with which all valid statements hold at once, and hence the smallest one.
    n_classes : int
        Number of classes: guessing errs in all but one of so many cases.
    """

    statements: tuple[ErrorStatement, ...]
    left_out: Mapping[str, str]
    confidence: float
    n_classes: int

    @property
    def best(self) -> ErrorStatement | None:
        """The smallest statement that has a probability, if there is one."""
        return next((one for one in self.statements if one.valid), None)

    @property
    def value(self) -> float:
        """The bound of ``best``; 1 where there is none."""
        return 1.0 if self.best is None else self.best.value

    @property
    def says_nothing(self) -> bool:
        """Whether guessing one of the classes does as well."""
        return self.value >= 1.0 - 1.0 / self.n_classes

    @property
    def sentence(self) -> str:
        """The best statement with its probability and what it assumes."""
        if self.best is None:
            return "No bound with a probability can be given for these data."
        text = f"With probability at least {self.confidence:g}, {self.best.statement}."
        if self.says_nothing:
            text += f" That says nothing: guessing one of {self.n_classes} classes does as well."
        return f"{text} {self.best.assumption}"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        others = [one for one in self.statements if one.valid and one is not self.best]
        weaker = [one for one in self.statements if not one.valid]
        lines = [self.sentence]
        if others:
            lines += ["", "At once, with the same probability, bounds on other errors:", *map(_line, others)]
        if weaker:
            lines += ["", "To compare, without a probability:", *map(_line, weaker)]
            lines += [f"  Why: {reason}." for reason in dict.fromkeys(one.reason for one in weaker)]
        if self.left_out:
            lines += ["", "Left out:"]
            lines += [f"  {kind}: {reason}" for kind, reason in self.left_out.items()]
        return "\n".join(lines)


def _line(one: ErrorStatement) -> str:
    return f"  {one.value:.4f}  {one.subject}: {one.evidence}"


def clopper_pearson_limit(n_errors: float, n: float, confidence: float) -> float:
    """The probability of an error at which ``n_errors`` or fewer among n have probability 1 - confidence."""
    if n_errors >= n:
        return 1.0
    return float(stats.beta.ppf(confidence, n_errors + 1, n - n_errors))
