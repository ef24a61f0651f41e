"""The columns of several problems whose data are rows of one matrix: what is shared, and what is each one's.

Problem b has n of the N rows and columns ``psi_j`` that are those of the matrix, shifted and scaled. Divided
by the radius, as the constraints are,

    psi_bij / lambda_bj = factor_bj X[rows_bi, j] - offset_bj,

so that a product with all columns is one with X, which is read once for all problems, and two vectors of each
problem. Only the columns of working sets are ever written down.

Products are made in tiles of the same shape always, since the answer to one problem must not depend on which
others are asked with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.features.dense import DenseFeatures, DensePart
from minimaxrisk.problem.problem import Problem


@dataclass
class SharedColumns:
    """For each problem (first index) its rows, and the map from the matrix to its columns."""

    features: DenseFeatures  # N x d
    rows: IntArray | None  # problems x n; None where all have all rows
    factor: FloatArray  # problems x d
    offset: FloatArray | None  # None where it is zero

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> SharedColumns:
        """Of problems for which ``shared_matrix`` is the same."""
        matrix = shared_matrix(problems[0])
        assert matrix is not None
        inverse = 1.0 / np.concatenate([problem.lam for problem in problems])
        parts = [problem.features for problem in problems if isinstance(problem.features, DensePart)]
        if not parts:
            return cls(matrix, None, inverse, None)
        inverse *= np.stack([part.factor for part in parts])
        offset = inverse * np.stack([part.shift for part in parts])
        return cls(matrix, np.stack([part.rows for part in parts]), inverse, offset)

    def keep(self, kept: BoolArray) -> None:
        """Forget the other problems."""
        self.factor = self.factor[kept]
        if self.rows is not None and self.offset is not None:
            self.rows, self.offset = self.rows[kept], self.offset[kept]

    def products(self, weights: FloatArray) -> FloatArray:
        """Each problem's own weights (problems x n) times each of its columns (problems x d)."""
        lifted = weights
        if self.rows is not None:
            lifted = np.zeros((len(weights), len(self.features.values)))
            np.put_along_axis(lifted, self.rows, weights, axis=1)
        found = self.features.correlate_many(lifted)
        found *= self.factor
        if self.offset is not None:
            found -= weights.sum(axis=1, keepdims=True) * self.offset
        return found

    def columns(self, chosen: IntArray) -> FloatArray:
        """Some columns of each problem (problems x q), written down (problems x q x n)."""
        factor = np.take_along_axis(self.factor, chosen, axis=1)[:, :, None]
        if self.rows is None or self.offset is None:
            columns = self.features.values.T.take(chosen, axis=0)
            columns *= factor
            return columns
        place = (chosen * len(self.features.values))[:, :, None] + self.rows[:, None, :]
        columns = self.features.values.T.ravel().take(place)
        columns *= factor
        columns -= np.take_along_axis(self.offset, chosen, axis=1)[:, :, None]
        return columns


def with_features_of_its_own(problem: Problem) -> Problem:
    """The problem as the single engine likes it best."""
    if isinstance(problem.features, DensePart):
        return replace(problem, features=problem.features.copied())
    return problem


def shared_matrix(problem: Problem) -> DenseFeatures | None:
    """The matrix that holds the data of a problem; None where there is none, as for sparse data."""
    features = problem.features
    if isinstance(features, DensePart):
        return features.whole
    return features if isinstance(features, DenseFeatures) else None
