"""Labels that may be exchanged if labels and features are independent.

A label belongs to a unit: a sample, or a group of samples that share one label. Labels are exchanged among
the units of a stratum. A group with several labels, such as tumour and normal tissue of one patient, is a
stratum of its own, and its samples are units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk.samples.groups import codes_of_groups, differences_within


@dataclass(frozen=True)
class ExchangeableLabels:
    """The units that hold a label, and the strata within which labels may be exchanged."""

    unit_of_row: IntArray
    row_of_unit: IntArray  # one sample of each unit
    strata: Sequence[IntArray]  # the units of each stratum in which labels differ
    groups: IntArray | None  # of the rows; None if each row is a group of its own

    @classmethod
    def check(
        cls, y: np.ndarray, groups: Any, strata: Any, rows: IntArray | None = None
    ) -> ExchangeableLabels:
        """Return the exchangeable labels of some rows of y, or of all rows; refuse strata that split a group.

        ``groups`` and ``strata`` have an entry for each entry of y, or are None.
        """
        rows = np.arange(len(y)) if rows is None else rows
        unit = np.arange(len(y)) if groups is None else codes_of_groups(groups, len(y))
        stratum = np.zeros(len(y), dtype=np.intp)
        if strata is not None:
            stratum = codes_of_groups(strata, len(y), argument="strata")
        y, stratum, unit = y[rows], stratum[rows], np.unique(unit[rows], return_inverse=True)[1]
        differs = differences_within(unit, stratum)
        if len(differs):
            i, j = rows[np.argmax(unit == unit[differs[0]])], rows[differs[0]]
            raise ValueError(
                f"strata must be the same for all samples of a group, but those at positions {i} and {j} "
                "differ; correct them, or leave groups out if these samples are independent."
            )
        own_groups = None if unit.max() + 1 == len(y) else unit
        unit, row_of_unit, members = units_of_labels(unit, y, stratum)
        movable = [units for units in members if len(np.unique(y[row_of_unit[units]])) > 1]
        if strata is not None and not movable:
            raise ValueError(
                f"each of the {len(members)} strata holds one class only, so exchanging labels within strata "
                "changes nothing; if a stratum is a patient whose samples share a label, pass it as groups."
            )
        return cls(unit, row_of_unit, movable, own_groups)

    def orders_of_units(self, n: int, random_state: Any) -> Iterator[IntArray]:
        """Yield n permutations: for each unit the unit from which its label is taken."""
        random = check_random_state(random_state)
        for _ in range(n):
            order = np.arange(len(self.row_of_unit))
            for units in self.strata:
                order[units] = random.permutation(units)
            yield order

    def orders_of_rows(self, n: int, random_state: Any) -> list[IntArray]:
        """Return n permutations: for each row the row from which its label is taken."""
        return [self.row_of_unit[order[self.unit_of_row]] for order in self.orders_of_units(n, random_state)]


def units_of_labels(
    groups: IntArray, labels: np.ndarray, stratum: IntArray | None = None
) -> tuple[IntArray, IntArray, list[IntArray]]:
    """Return the unit that each label belongs to, a row of each unit, and the units that exchange labels.

    A label belongs to a group whose samples share it, and moves from group to group of a stratum. In a group
    with several labels each belongs to its sample, and they are exchanged within the group.
    """
    stratum = np.zeros(len(labels), dtype=np.intp) if stratum is None else stratum
    is_mixed = np.isin(groups, groups[differences_within(groups, labels)])
    stratum = np.where(is_mixed, stratum.max() + 1 + groups, stratum)
    unit = np.where(is_mixed, groups.max() + 1 + np.arange(len(labels)), groups)
    _, first, unit = np.unique(unit, return_index=True, return_inverse=True)
    return unit, first, [np.flatnonzero(stratum[first] == name) for name in np.unique(stratum)]
