"""What larger values of a feature say about the classes, in the same words on the page and on the terminal.

With one row of coefficients a positive one speaks for the second class, and so against the first. With a row
per class each coefficient is about its own class: many features have negative ones only, and speak for no
class at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.report.phrases import isolate, listed

# Classes named of each kind; a column of a table has no room for more.
MOST_NAMED = 2


@dataclass(frozen=True)
class Direction:
    """The classes that larger values speak for and against, by the size of the coefficients."""

    speaks_for: tuple[str, ...]
    speaks_against: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """``for ALL, against AML``; of many classes the first ones."""
        parts = (("for", self.speaks_for), ("against", self.speaks_against))
        return ", ".join(f"{kind} {_some(names)}" for kind, names in parts if names)


def direction(coefficients: FloatArray, classes: Sequence[str]) -> Direction:
    """Of one feature: a single coefficient, or one for each class."""
    if len(coefficients) == 1:
        second = int(coefficients[0] > 0)
        return Direction((classes[second],), (classes[1 - second],))
    order = np.argsort(-np.abs(coefficients), kind="stable").tolist()
    return Direction(
        tuple(classes[k] for k in order if coefficients[k] > 0),
        tuple(classes[k] for k in order if coefficients[k] < 0),
    )


def _some(names: tuple[str, ...]) -> str:
    shown = [isolate(name) for name in names[:MOST_NAMED]]
    left = len(names) - len(shown)
    return listed([*shown, f"{left} more"] if left else shown)
