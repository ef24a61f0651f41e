"""The average of randomized rules: with probability 1/B each, one of B rules decides.

Its expected loss is linear in each of the rules, so that its largest over any set of distributions is at most
the average of theirs: the largest of a sum is at most the sum of the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.namespaces import columns_of
from minimaxrisk._utils.table import some_rows_at_a_time
from minimaxrisk.features.matrix import ColumnScale
from minimaxrisk.problem.linear_rule import LinearRule


@dataclass(frozen=True)
class AverageRule:
    """Rules on the same columns that decide with equal probabilities."""

    members: Sequence[LinearRule]

    @property
    def columns(self) -> IntArray:
        """The columns that any member uses."""
        return np.unique(np.concatenate([member.columns for member in self.members]))

    def probabilities_of_members(self, X: DataMatrix) -> Iterator[FloatArray]:
        """h_b(y|x) of each member in turn, for every row of X (K x n)."""
        columns = self.columns
        used = columns_of(X, columns)  # once for all members: sparse columns are dear
        for member in self.members:
            yield replace(member, columns=np.searchsorted(columns, member.columns)).probabilities(used)

    def probabilities(self, X: DataMatrix) -> FloatArray:
        """h(y|x) for every row of X (K x n)."""
        parts = [self._mean_probabilities(part) for _, part in some_rows_at_a_time(X, len(self.columns))]
        return np.concatenate(parts, axis=1)

    def _mean_probabilities(self, X: DataMatrix) -> FloatArray:
        each = self.probabilities_of_members(X)
        total = next(each)
        for other in each:
            total += other
        return total / len(self.members)

    def use_of_components(self, scale: ColumnScale) -> FloatArray:
        """Sizes of coefficients of the inner columns, on average (B x d)."""
        total = np.zeros_like(self.members[0].to_mu(scale))
        for member in self.members:
            total += member.use_of_components(scale)
        return total / len(self.members)

    def scores(self, X: DataMatrix) -> FloatArray:
        """What the arg-max rule decides by: the probabilities themselves."""
        return self.probabilities(X)
