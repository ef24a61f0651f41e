"""Some rows of a dense matrix with a scale of their own: read where they are, not copied.

With p the weights of a part, zero outside, the mean and the root mean square of its columns are those of
``p X`` and ``p X^2``, which one pass gives for many parts. Columns of the whole are centred and at unit root
mean square, so that hardly anything cancels; where it does, the columns of the part are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.stored_array import StoredArray
from minimaxrisk.features.class_moments import ClassMoments
from minimaxrisk.features.dense import (
    ENOUGH_VARIANCE,
    DenseFeatures,
    mean_and_variance,
    rescale_in_place,
)
from minimaxrisk.features.implicit import ImplicitFeatures, no_columns
from minimaxrisk.features.matrix import ColumnScale

# Columns that vary less on a part, beside the whole, have lost digits when the whole was scaled.
ENOUGH_DEVIATION = 1e-3


class DensePart(ImplicitFeatures):
    """The features ``(X[rows] - shift) * factor``, where X is the whole matrix, which is a copy already."""

    def __init__(self, whole: DenseFeatures, rows: IntArray, shift: FloatArray, factor: FloatArray) -> None:
        values = StoredArray(whole.values, is_finite=True)
        super().__init__(values, rows, shift, factor, has_intercept=False, held=no_columns(len(rows)))
        self.whole = whole

    def copied(self) -> DenseFeatures:
        """The same as a matrix of its own, which is quicker to read again and again."""
        self.n_passes += 1
        return self.some_rows(np.arange(len(self.rows)), after=np.empty((0, self.shape[1])))


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
