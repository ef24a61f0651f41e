"""Parts of a sample with the same shares of the classes: halves in complementary pairs, or single draws.

What is drawn are units: samples, or groups of samples that stay together. Rows of weight zero are in no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk.samples.validation import TrainingData

# Relative; 0.29 * 100 is a little less than 29.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Purpose:
    """What the parts are for, and what to do where there are too few samples; for messages."""

    name: str
    otherwise: str


@dataclass(frozen=True)
class Strata:
    """Which rows stay together, and which units each class has; at least two."""

    unit_of_row: IntArray  # the first row of its unit, or -1 for rows of weight zero
    of_class: tuple[IntArray, ...]

    @classmethod
    def of(cls, data: TrainingData, purpose: Purpose) -> Strata:
        unit = unit_of_row(data)
        first = np.unique(unit[unit >= 0])
        of_class = tuple(first[data.labels[first] == k] for k in range(len(data.classes)))
        kind = "samples" if data.groups is None else "groups"
        for label, members in zip(data.classes.tolist(), of_class, strict=True):
            if len(members) < 2:
                raise ValueError(
                    f"{purpose.name} needs at least 2 {kind} of every class, since each part is to hold one "
                    f"and to leave one out (samples of weight 0 do not count), but class {label!r} has "
                    f"{len(members)}; add samples, leave the class out, or {purpose.otherwise}."
                )
        return cls(unit, of_class)

    def rows_of(self, units: IntArray) -> IntArray:
        """All rows of some units, in ascending order."""
        chosen = np.zeros(len(self.unit_of_row) + 1, dtype=np.bool_)  # the last entry is asked for by -1
        chosen[units] = True
        return np.flatnonzero(chosen[self.unit_of_row])


def check_pairs(argument: str, n_halves: int) -> None:
    """Refuse an odd number of halves."""
    if n_halves % 2:
        raise ValueError(
            f"{argument} must be even, since halves come in complementary pairs; got {n_halves}. Use "
            f"{n_halves + 1}."
        )


def complementary_halves(units: Strata, n_halves: int, random: Any) -> list[IntArray]:
    """Rows of an even number of halves, the two of a pair one after the other.

    Both halves of a pair hold the same number of units of each class. Of an odd number one unit, another one
    each time, is in neither: halves of different sizes would not select with the same probabilities.
    """
    halves = []
    for _ in range(n_halves // 2):
        shuffled = [random.permutation(members) for members in units.of_class]
        sizes = [len(members) // 2 for members in shuffled]
        first = [members[:size] for members, size in zip(shuffled, sizes, strict=True)]
        second = [members[size : 2 * size] for members, size in zip(shuffled, sizes, strict=True)]
        halves += [units.rows_of(np.concatenate(half)) for half in (first, second)]
    return halves


def independent_parts(units: Strata, n_parts: int, fraction: float, random: Any) -> list[IntArray]:
    """Rows of parts that are drawn one by one, without replacement within a part.

    Of each class a part holds the fraction, rounded down, and at least one unit; so it leaves one out.
    """
    parts = []
    for _ in range(n_parts):
        chosen = [
            random.permutation(members)[: max(1, int(fraction * len(members) * (1 + ROUNDING)))]
            for members in units.of_class
        ]
        parts.append(units.rows_of(np.concatenate(chosen)))
    return parts


def unit_of_row(data: TrainingData) -> IntArray:
    """For each row the first one of its group, itself without groups; -1 for rows of weight zero."""
    used = data.weights > 0
    if data.groups is None:
        return np.where(used, np.arange(len(used)), -1)
    rows = np.flatnonzero(used)
    first = rows[np.unique(data.groups[rows], return_index=True)[1]]
    return np.where(used, first[data.groups], -1)
