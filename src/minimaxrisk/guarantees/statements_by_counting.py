"""Limits of errors that were counted: on samples left out, and of always naming the most common class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.rows import rows_of
from minimaxrisk.guarantees.error_statement import HOLDOUT, MAJORITY, RULE_NAMES, ErrorStatement
from minimaxrisk.guarantees.holdout import clopper_pearson_limit, holdout_bound, one_of_each
from minimaxrisk.guarantees.judged_sample import JudgedSample


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
