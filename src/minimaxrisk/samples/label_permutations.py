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
from minimaxrisk.samples.validation import codes_of_groups, refuse_differences_within, units_of_labels


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
        refuse_differences_within(
            unit,
            stratum,
            rows,
            what="strata",
            unit="samples of a group",
            advice="correct them, or leave groups out if these samples are independent",
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
