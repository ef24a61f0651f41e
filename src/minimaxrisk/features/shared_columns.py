"""Parts of one matrix, each with a scale of its own, whose products are taken together.

Problem p has n of the N rows of the matrix, and columns that are its columns, shifted and scaled:

    psi_pij / lambda_pj = (X[rows_pi, j] - shift_pj) factor_pj / lambda_pj.

A product with all columns is one product with X for all problems, and two vectors of each problem. Only the
columns of working sets are ever written down. Where a problem has B blocks of constraints, all on the same d
columns, each block has radii of its own, and m = B d counts them block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.features.working_rows import DenseRows


class PartColumns:
    """The ``Columns`` of parts of one matrix.

    Products are made in tiles of the same shape always, since the answer to one problem must not depend on
    which others are asked with it.
    """

    has_rough_passes = False

    def __init__(self, parts: Sequence[Any], lam: FloatArray) -> None:
        """Of ``DensePart``s."""
        self._matrix, self._d = parts[0].whole, parts[0].shape[1]
        n_blocks = lam.shape[1] // self._d
        self._rows = np.stack([part.rows for part in parts])
        self._factor = np.stack([np.tile(part.factor, n_blocks) for part in parts]) / lam
        self._offset = self._factor * np.stack([np.tile(part.shift, n_blocks) for part in parts])

    def keep(self, places: IntArray) -> None:
        self._rows = self._rows[places]
        self._factor, self._offset = self._factor[places], self._offset[places]

    def products(self, block_weights: FloatArray, *, roughly: bool) -> FloatArray:
        n_problems, n_blocks, _ = block_weights.shape
        lifted = np.zeros((n_problems, n_blocks, self._matrix.shape[0]))
        np.put_along_axis(lifted, self._rows[:, None, :], block_weights, axis=2)
        found = self._matrix.correlate_many(lifted.reshape(n_problems * n_blocks, -1))
        factors, offsets = self._factor.reshape(found.shape), self._offset.reshape(found.shape)
        # Row by row, which stays in cache.
        masses = block_weights.sum(axis=2).ravel()
        for i, mass in enumerate(masses):
            found[i] *= factors[i]
            found[i] -= mass * offsets[i]
        return found.reshape(n_problems, -1)

    def rows(self, problem: int, components: IntArray, radius: FloatArray) -> DenseRows:
        # Whole columns first: half the time of the same numbers by their places.
        columns = self._matrix.values.T.take(components % self._d, axis=0)
        values = columns.take(self._rows[problem], axis=1, mode="clip")
        values *= self._factor[problem, components][:, None]
        values -= self._offset[problem, components][:, None]
        return DenseRows(values)
