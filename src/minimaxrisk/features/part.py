"""Some rows of a dense matrix with a scale of their own: read where they are, not copied.

With p the weights of a part, zero outside, the mean and the root mean square of its columns are those of
``p X`` and ``p X^2``, which one pass gives for many parts. Columns of the whole are centred and at unit root
mean square, so that hardly anything cancels; where it does, the columns of the part are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.features.class_moments import ClassMoments
from minimaxrisk.features.dense import (
    ENOUGH_VARIANCE,
    DenseFeatures,
    blocks_by_column,
    mean_and_variance,
    rescale_in_place,
)
from minimaxrisk.features.matrix import ColumnScale

# Columns that vary less on a part, beside the whole, have lost digits when the whole was scaled.
ENOUGH_DEVIATION = 1e-3


@dataclass
class DensePart:
    """The features ``(X[rows] - shift) * factor``, where X is the whole matrix."""

    is_sparse: ClassVar[bool] = False
    has_rough_passes: ClassVar[bool] = False

    whole: DenseFeatures
    rows: IntArray
    shift: FloatArray
    factor: FloatArray  # zero for columns that do not vary
    n_passes: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.whole.shape[1]

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        lifted = np.zeros((len(block_weights), self.whole.shape[0]))
        lifted[:, self.rows] = block_weights
        found = self.whole.correlate(lifted)
        found -= block_weights.sum(axis=1, keepdims=True) * self.shift
        found *= self.factor
        return found

    correlate_roughly = correlate

    def combine(self, coefficients: FloatArray) -> FloatArray:
        used = np.flatnonzero(coefficients.any(axis=0))
        if 2 * len(used) > self.shape[1]:
            self.n_passes += 1
        return coefficients[:, used] @ self.columns(used).T

    def means_of(self, function: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        n, d = self.shape
        parts = [weights @ function(self._block(part)) for part in blocks_by_column(slice(0, d), n)]
        return np.concatenate(parts, axis=1)

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        return self.copied().class_moments(p_hats)

    def averaged(self, shares: sparse.csr_array) -> DenseFeatures:
        return self.copied().averaged(shares)

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> DenseFeatures:
        return self.copied().some_rows(indices, after=after)

    def columns(self, indices: IntArray) -> FloatArray:
        chosen = self.whole.values.T[indices][:, self.rows]
        chosen -= self.shift[indices, None]
        chosen *= self.factor[indices, None]
        return chosen.T

    def shifted_columns(self, indices: IntArray) -> tuple[sparse.csc_array, FloatArray]:
        return sparse.csc_array(self.columns(indices)), np.zeros(len(indices))

    def _block(self, part: slice) -> FloatArray:
        return (self.whole.values[:, part][self.rows] - self.shift[part]) * self.factor[part]

    def copied(self) -> DenseFeatures:
        """The same as a matrix of its own, which is quicker to read again and again."""
        self.n_passes += 1
        n, d = self.shape
        values = np.empty((n, d), order="F")
        for part in blocks_by_column(slice(0, d), n):
            values[:, part] = self._block(part)
        return DenseFeatures(values)


@dataclass(frozen=True)
class PartOfRows:
    """Which rows of the whole a part has, and its distribution on all of them (K x N)."""

    rows: IntArray
    p_hat: FloatArray
    columns: Callable[[IntArray], FloatArray]  # the caller's columns on the rows, as they were before scaling


def scaled_parts(
    whole: DenseFeatures, scale: ColumnScale, parts: Sequence[PartOfRows], *, centre: bool
) -> list[tuple[DensePart, ClassMoments, ColumnScale] | None]:
    """Parts of a matrix, scaled by their own moments, which one pass gives for all of them.

    None stands for a part with columns that vary so little there that the whole does not tell how.
    """
    first, second = whole.sums_within_classes([part.p_hat for part in parts])
    return [
        _scaled(whole, scale, part, sums, squares, centre=centre)
        for part, sums, squares in zip(parts, first, second, strict=True)
    ]


def _scaled(
    whole: DenseFeatures,
    scale: ColumnScale,
    part: PartOfRows,
    sums: FloatArray,
    squares: FloatArray,
    *,
    centre: bool,
) -> tuple[DensePart, ClassMoments, ColumnScale] | None:
    lead, square = scale.n_leading, squares.sum(axis=0)
    shift = sums.sum(axis=0) if centre else np.zeros_like(square)
    shift[:lead] = 0.0
    variance = square - shift**2
    doubtful = np.flatnonzero(variance < np.maximum(ENOUGH_VARIANCE * square, ENOUGH_DEVIATION**2))
    is_empty = np.zeros(len(shift), dtype=np.bool_)
    if len(doubtful):
        given = part.columns(doubtful - lead)
        is_empty[doubtful] = (given == given[0]).all(axis=0) if centre else ~given.any(axis=0)
        doubtful = doubtful[~is_empty[doubtful]]
    if len(doubtful):
        block = whole.columns(doubtful)[part.rows]
        shift[doubtful], deviation = rescale_in_place(block, part.p_hat.sum(axis=0)[part.rows], centre=centre)
        if (deviation < ENOUGH_DEVIATION).any() or not block.any(axis=0).all():
            return None
        variance[doubtful] = deviation**2
    variance[is_empty] = 1.0
    deviation = np.sqrt(variance)
    factor = np.where(is_empty, 0.0, 1.0 / deviation)
    mean, spread = mean_and_variance(sums, squares, part.p_hat, whole.columns)
    moments = ClassMoments(part.p_hat.sum(axis=1), (mean - shift) * factor, spread * factor**2)
    own = ColumnScale(
        scale.shift + scale.scale * shift[lead:],
        np.where(is_empty[lead:], 1.0, scale.scale * deviation[lead:]),
        scale.has_intercept,
    )
    return DensePart(whole, part.rows, shift, factor), moments, own
