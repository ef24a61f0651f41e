"""Tables as dense features, with or without a float64 copy: time against memory.

``copy="auto"`` copies tables of up to ``LARGE`` entries, whatever they are: the copy is at most half a
gigabyte, and many small problems can share it. Larger ones are not copied. A pass over a table in memory
takes up to twice as long as one over a copy, and a fit takes some twenty of them, about as long as making the
copy: 1000 x 400,000 of float64 were fitted as fast without one. On disk a pass takes as long as the disk
does; with memory to spare ``True`` may be worth it. ``True`` copies in any case, or says how much memory is
missing; ``False`` never copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.containers import LARGE, StoredArray, Table
from minimaxrisk._utils.environment import free_memory
from minimaxrisk.features.dense import (
    DenseFeatures,
    HeldColumns,
    ImplicitFeatures,
    column_groups,
    dense_features,
    rescale_in_place,
)
from minimaxrisk.features.matrix import (
    ENOUGH_VARIANCE,
    SMALLEST_SQUARE,
    ClassMoments,
    ColumnScale,
    is_negligible,
    within_class_moments,
)
from minimaxrisk.samples.instances import Instances

# Columns with a mean of more deviations than this are held beside the data; so are those whose deviation is
# not in the range of the data's kind (float32 or not), where products with weights and squares stay numbers.
LARGEST_MEAN = 1e3
DEVIATIONS = {True: (1e-25, 1e25), False: (1e-100, 1e100)}
# The share of the columns that may be held beside the data, since more of them would be a copy; and a number
# that is never too many.
MOST_BESIDE, FEW_BESIDE = 1 / 16, 64
BYTES = np.dtype(np.float64).itemsize


def features_of_table(
    X: Table, instances: Instances, *, standardize: bool, fit_intercept: bool, copy: bool | str
) -> tuple[DenseFeatures | ImplicitFeatures, ClassMoments, ColumnScale]:
    """The scaled features of the instances, with or without a copy."""
    n_bytes = BYTES * instances.n_instances * X.shape[1]
    if is_copied(instances.n_instances, X.shape[1], copy):
        _refuse_large_copy(n_bytes, "a float64 copy of X", "use copy=False, which reads X where it is")
        return dense_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)
    try:
        return implicit_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)
    except TooManyHeldColumnsError as error:
        advice = "subtract column means from X, or use columns of the same size"
        if copy is False:
            raise ValueError(f"copy=False is not possible: {error}; {advice}, or use copy=True.") from error
        _refuse_large_copy(n_bytes, f"{error}, and a float64 copy of X, which they need,", advice)
    return dense_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)


def is_copied(n_instances: int, n_columns: int, copy: bool | str) -> bool:
    """What the parameter ``copy`` means for a dense table of this size."""
    return copy is True or (copy == "auto" and n_instances * n_columns <= LARGE)


def _refuse_large_copy(n_bytes: float, what: str, advice: str) -> None:
    free = free_memory()
    if free is not None and n_bytes > free:
        raise ValueError(
            f"{what} takes {n_bytes / 1e9:.2g} GB, but {free / 1e9:.2g} GB of memory are free; {advice}."
        )


class TooManyHeldColumnsError(Exception):
    """So many columns would have to be held beside the data that it would be a copy."""


def implicit_features(
    X: Table, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[ImplicitFeatures, ClassMoments, ColumnScale]:
    """The data as they are and their moments, in one pass, which also checks that all entries are finite."""
    found = _scaled_moments(X.stored, X.all_rows[instances.rows], instances.p_hat, centre=standardize)
    lead, (n_classes, d) = int(fit_intercept), found.mean.shape
    mean, variance = np.ones((n_classes, lead + d)), np.zeros((n_classes, lead + d))
    mean[:, lead:], variance[:, lead:] = found.mean, found.variance
    features = ImplicitFeatures(
        X.stored, X.all_rows[instances.rows], found.shift, found.factor, fit_intercept, found.held
    )
    moments = ClassMoments(instances.p_hat.sum(axis=1), mean, variance)
    return features, moments, ColumnScale(found.shift, found.scale, fit_intercept)


@dataclass(frozen=True)
class _ScaledMoments:
    shift: FloatArray
    scale: FloatArray
    factor: FloatArray
    mean: FloatArray  # K x d, within the classes, of the columns centred and scaled
    variance: FloatArray
    held: HeldColumns


def _scaled_moments(data: StoredArray, rows: IntArray, p_hat: FloatArray, *, centre: bool) -> _ScaledMoments:
    """Sums about a pilot, the mean of the first rows, from which means and variances follow.

    Plain formulas, and so where they would lose digits the columns are looked at once more.
    """
    prior, weights = p_hat.sum(axis=1)[:, None], p_hat.sum(axis=0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        pilot, first, second = _sums_about_pilot(data, rows, p_hat, centre=centre)
        off, square = first.sum(axis=0) if centre else np.zeros(data.shape[1]), second.sum(axis=0)
        shift, variance = pilot + off, square - off**2
        scale = np.sqrt(np.maximum(variance, 0.0))
        # No less than the deviation, so that a pilot that is far off makes no column negligible.
        is_empty = is_negligible(np.sqrt(square), shift, int(np.count_nonzero(weights)))
        in_range = (square > SMALLEST_SQUARE) & (square < 1.0 / SMALLEST_SQUARE)
        if data.dtype == np.float64:
            is_empty &= square > 0.0  # or squares have underflowed
        is_far = ~is_empty & _asks_to_be_held(shift, scale, data.dtype)
        doubtful = np.flatnonzero(~is_empty & (~in_range | (variance < ENOUGH_VARIANCE * square) | is_far))
        _refuse_too_many(int((is_far & in_range).sum()), data.shape[1])
        scale[is_empty] = 1.0
        factor = np.where(is_empty, 0.0, 1.0) / scale
        first /= prior
        second /= prior
        second -= first**2
        is_lossy = (second < ENOUGH_VARIANCE * first**2).any(axis=0) & ~is_empty
        first -= off
        first *= factor
        second *= factor**2
    is_lossy[doubtful] = False
    for part in column_groups(int(is_lossy.sum()), len(rows)):
        j = np.flatnonzero(is_lossy)[part]
        block = (data.columns_at(j)[rows] - shift[j]) * factor[j]
        first[:, j], second[:, j] = within_class_moments(block, p_hat)

    kept: list[FloatArray] = [np.zeros((len(rows), 0))]
    is_held = np.zeros(data.shape[1], dtype=np.bool_)
    for part in column_groups(len(doubtful), len(rows)):
        j = doubtful[part]
        block = data.columns_at(j)[rows].astype(np.float64)
        shift[j], scale[j] = rescale_in_place(block, weights, centre=centre)
        first[:, j], second[:, j] = within_class_moments(block, p_hat)
        varies = block.any(axis=0)
        is_held[j] = varies & _asks_to_be_held(shift[j], scale[j], data.dtype)
        factor[j] = np.where(varies & ~is_held[j], 1.0, 0.0) / scale[j]
        kept.append(block[:, is_held[j]])
        _refuse_too_many(int(is_held.sum()), data.shape[1])
    held = HeldColumns(np.flatnonzero(is_held), np.concatenate(kept, axis=1))
    return _ScaledMoments(shift, scale, factor, first, second, held)


def _sums_about_pilot(
    data: StoredArray, rows: IntArray, p_hat: FloatArray, *, centre: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The pilot, and ``p_hat`` times what is left of the columns and times its squares (K x d)."""
    n, d = data.shape
    everywhere = np.zeros((len(p_hat), n))
    everywhere[:, rows] = p_hat
    weights = everywhere.sum(axis=0)
    pilot, first, second = np.zeros(d), np.zeros((len(p_hat), d)), np.zeros((len(p_hat), d))
    for part, columns, block in data.blocks():
        values = block.astype(np.float64)
        if centre and part.start == 0:
            share = weights[part] if weights[part].any() else np.ones(len(values))
            pilot[columns] = (share / share.sum()) @ values
        values -= pilot[columns]
        first[:, columns] += everywhere[:, part] @ values
        squares = everywhere[:, part] @ np.square(values, out=values)
        # NaN and infinity stay what they are in sums, or infinity becomes NaN, also at weight zero.
        if not np.isfinite(squares).all():
            data.refuse_infinite(part, columns, block)
        second[:, columns] += squares
    data.is_finite = True
    return pilot, first, second


def _asks_to_be_held(shift: FloatArray, scale: FloatArray, dtype: np.dtype[Any]) -> BoolArray:
    least, most = DEVIATIONS[dtype == np.float32]
    return (np.abs(shift) > LARGEST_MEAN * scale) | (scale < least) | (scale > most)


def _refuse_too_many(n_held: int, n_columns: int) -> None:
    if n_held > max(MOST_BESIDE * n_columns, FEW_BESIDE):
        raise TooManyHeldColumnsError(
            f"{n_held} of {n_columns} columns have a mean of more than {LARGEST_MEAN:g} standard deviations, "
            "or values so large or small that squares leave the range of numbers"
        )
