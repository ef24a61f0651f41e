"""Dense training features: a scaled copy, the data as they are, a part of a copy, or means of instances.

* ``DenseFeatures``: one float64 copy of the data, centred and scaled.
* ``ImplicitFeatures``: no copy. The data stay where and what they are: float32, float64 or whole numbers, in
  either order, in memory, in a memory map or in chunks on disk. A block at a time becomes float64, and every
  sum is one of float64. ``(X - 1 shift') diag(factor)`` is never written down: products are taken with X, and
  what the shift adds is subtracted. That leaves thirteen digits where means are at most a thousand
  deviations. Columns with larger means, or with numbers whose squares leave the range, are held centred
  beside the data. For float32 a rough pass multiplies in float32, which takes half the time; engines use it
  as long as they are far from the optimum.
* ``DensePart``: some rows of a copy with a scale of their own, read where they are. With p the weights of the
  part, zero outside, mean and root mean square of its columns are those of ``p X`` and ``p X^2``, which one
  pass gives for many parts. Where digits cancel, the columns of the part are looked at.
* ``AveragedFeatures``: means of instances, ``S Psi`` with the shares S of the instances in each mean.

``copy="auto"`` copies tables of up to ``LARGE`` entries, of float32 half as many: the copy is at most half a
gigabyte, and many small problems can share it. A pass over a larger table in memory takes up to twice as long
as one over a copy, and a fit takes some twenty of them, about as long as making the copy; of float32, whose
copy would be twice as large as X, it takes less (200 x 200,000: 0.9 s in place of 1.25). On disk a pass takes
as long as the disk does; with memory to spare ``True`` may be worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.environment import memory_short_of
from minimaxrisk._utils.stored_tables import BLOCK_ELEMENTS, LARGE, StoredArray, Table
from minimaxrisk.features.matrix import (
    ENOUGH_VARIANCE,
    SMALLEST_SQUARE,
    ClassMoments,
    ColumnScale,
    FeatureMatrix,
    PartOfRows,
    is_negligible,
    may_be_constant,
    power_of_two,
    slices_of,
    within_class_moments,
)
from minimaxrisk.features.moment_constraints import Columns
from minimaxrisk.features.shared_columns import PartColumns
from minimaxrisk.samples.instances import Instances

# Columns copied at a time at least. Rows are gathered in another order than they have in X, and fewer
# columns would read its cache lines several times: 100,000 x 200 took 1.04 s with one, 0.35 s with these.
FEWEST_COLUMNS = 32
# Labellings that are posed together.
TILE = 8
# Entries of which a copy is made on the way, small enough for it to stay in the cache beside the original: to
# scale 72 x 7129 takes 4.2 ms with these, 4.5 with half as many, 5.5 with four times as many.
PIECE_ELEMENTS = 1 << 15
# Entries gathered at a time, where columns are looked at once more.
GROUP_ELEMENTS = 1 << 21
# Rows that are multiplied with the data at a time. With 72 x 12,582 a product of 24 rows takes 1.9 ms, one of
# 8 1.8, one of 3 1.4; with 50 x 4434 0.56, 0.36 and 0.34.
ROWS = 24
# Plain formulas for the moments are accurate if one subtraction leaves this share of the deviation as mean.
MEAN_LEFT_OVER = 1e-12
# Columns that vary less on a part, beside the whole, have lost digits when the whole was scaled.
ENOUGH_DEVIATION = 1e-3
# Columns with a mean of more deviations than this are held beside the data; so are those whose deviation is
# not in the range of the data's kind (float32 or not), where products with weights and squares stay numbers.
LARGEST_MEAN = 1e3
DEVIATIONS = {True: (1e-25, 1e25), False: (1e-100, 1e100)}
# The share of the columns that may be held beside the data, and a number that is never too many.
MOST_BESIDE, FEW_BESIDE = 1 / 16, 64
BYTES = np.dtype(np.float64).itemsize
# Beside the values of the parameter ``copy``: only where the data cannot be read as they are.
WHERE_NEEDED = "where needed"


@dataclass
class DenseFeatures(FeatureMatrix):
    """A feature matrix held as one array, column by column: engines gather few columns of many."""

    can_relabel: ClassVar[bool] = True
    labellings_per_pass: ClassVar[int] = TILE

    values: FloatArray
    n_passes: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def whole(self) -> DenseFeatures:
        """The matrix that this one is a part of."""
        return self

    @property
    def shared_key(self) -> int:
        return id(self)

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        return block_weights @ self.values

    def correlate_many(self, weights: FloatArray) -> FloatArray:
        """No row of the answer depends on the others, to the last bit."""
        self.n_passes += 1
        padded = padded_to_tiles(weights)
        found = np.empty((len(padded), self.shape[1]))
        multiply_in_tiles(padded, self.values, found)
        return found[: len(weights)]

    def combine(self, coefficients: FloatArray) -> FloatArray:
        used = np.flatnonzero(coefficients.any(axis=0))
        if 2 * len(used) > self.shape[1]:
            self.n_passes += 1
            return coefficients @ self.values.T
        return coefficients[:, used] @ self.values.T[used]

    def combine_some(self, columns: IntArray, coefficients: FloatArray) -> FloatArray:
        if 2 * len(columns) > self.shape[1]:
            return super().combine_some(columns, coefficients)
        return coefficients @ self.values.T[columns]

    def means_of(self, function: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        n, d = self.shape
        parts = [weights @ function(self.values[:, part]) for part in blocks_by_column(slice(0, d), n)]
        return np.concatenate(parts, axis=1)

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        return [
            ClassMoments(p_hat.sum(axis=1), *mean_and_variance(sums, squares, p_hat, self.columns))
            for p_hat, sums, squares in zip(p_hats, *self.sums_within_classes(p_hats), strict=True)
        ]

    def sums_within_classes(self, p_hats: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Each distribution (K x n) times the columns, and times their squares (distributions x K x d)."""
        self.n_passes += 1
        n, d = self.shape
        weights = padded_to_tiles(np.concatenate(p_hats))
        first, second = np.empty((len(weights), d)), np.empty((len(weights), d))
        for part in blocks_by_column(slice(0, d), n):
            block = self.values[:, part]
            multiply_in_tiles(weights, block, first[:, part])
            multiply_in_tiles(weights, np.square(block), second[:, part])
        n_classes = len(p_hats[0])
        used, shape = n_classes * len(p_hats), (len(p_hats), n_classes, d)
        return first[:used].reshape(shape), second[:used].reshape(shape)

    def has_parts(self, *, of_groups: bool) -> bool:
        return not of_groups

    def parts(
        self, scale: ColumnScale, parts: Sequence[PartOfRows], *, centre: bool
    ) -> Sequence[tuple[DensePart, ClassMoments, ColumnScale] | None]:
        """One pass for all; None for a part with columns that vary too little there, beside the whole."""
        sums = self.sums_within_classes([part.p_hat for part in parts])
        return [_scaled(self, scale, *of_part, centre=centre) for of_part in zip(parts, *sums, strict=True)]

    def averaged(self, shares: sparse.csr_array) -> DenseFeatures:
        self.n_passes += 1
        return DenseFeatures(np.asfortranarray(shares @ self.values))

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> DenseFeatures:
        values = np.empty((len(after) + len(indices), self.shape[1]), order="F")
        values[: len(after)] = after
        values[len(after) :] = self.values[indices]
        return DenseFeatures(values)

    def columns(self, indices: IntArray) -> FloatArray:
        return self.values.T[indices].T


@dataclass(frozen=True)
class HeldColumns:
    """Columns of the features that are written down, centred and scaled (n x c)."""

    indices: IntArray
    values: FloatArray


@dataclass
class ImplicitFeatures(FeatureMatrix):
    """The matrix ``(X - 1 shift') diag(factor)`` of some rows of X, behind ones if there is an intercept."""

    is_read_in_place: ClassVar[bool] = True

    data: StoredArray
    rows: IntArray
    shift: FloatArray
    factor: FloatArray  # zero for columns that do not vary, and for those that are held
    has_intercept: bool
    held: HeldColumns
    n_passes: int = 0
    _instance_of_row: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._instance_of_row = np.full(self.data.shape[0], -1, dtype=np.intp)
        self._instance_of_row[self.rows] = np.arange(len(self.rows))

    @property
    def has_rough_passes(self) -> bool:
        return self.data.dtype == np.float32

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.data.shape[1] + self._lead

    @property
    def _lead(self) -> int:
        return int(self.has_intercept)

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        return self._products(block_weights, np.float64)

    def correlate_roughly(self, block_weights: FloatArray) -> FloatArray:
        return self._products(block_weights, np.float32 if self.has_rough_passes else np.float64)

    def _products(self, block_weights: FloatArray, dtype: Any) -> FloatArray:
        self.n_passes += 1
        everywhere = np.zeros((len(block_weights), self.data.shape[0]), dtype=dtype)
        everywhere[:, self.rows] = block_weights
        found, mass = np.zeros((len(block_weights), self.shape[1])), block_weights.sum(axis=1, keepdims=True)
        found[:, : self._lead], inner = mass, found[:, self._lead :]
        for rows, columns, block in self.data.blocks():
            inner[:, columns] += everywhere[:, rows] @ block.astype(dtype, copy=False)
            if rows.stop == self.data.shape[0]:
                inner[:, columns] -= mass * self.shift[columns]
                inner[:, columns] *= self.factor[columns]
        if len(self.held.indices):
            inner[:, self.held.indices] = block_weights @ self.held.values
        return found

    def combine(self, coefficients: FloatArray) -> FloatArray:
        inner = coefficients[:, self._lead :]
        used = np.flatnonzero(inner.any(axis=0))
        self.n_passes += 2 * len(used) > self.shape[1]
        coef = inner[:, used] * self.factor[used]
        everywhere = np.zeros((len(coef), self.data.shape[0]))
        for rows, places, block in self.data.blocks_of(used):
            everywhere[:, rows] += coef[:, places] @ block.astype(np.float64, copy=False).T
        scores = everywhere[:, self.rows] - (coef @ self.shift[used])[:, None]
        if len(self.held.indices):
            scores += inner[:, self.held.indices] @ self.held.values.T
        return scores + coefficients[:, :1] if self.has_intercept else scores

    def means_of(self, function: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        found = np.zeros((len(weights), self.shape[1]))
        for instances, columns, block in self._blocks():
            found[:, columns] += weights[:, instances] @ function(block)
        return found

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        self.n_passes += 1
        shape = (len(p_hats[0]), self.shape[1])
        sums = [(np.zeros(shape), np.zeros(shape)) for _ in p_hats]
        for instances, columns, block in self._blocks():
            square = np.square(block)
            for p_hat, (first, second) in zip(p_hats, sums, strict=True):
                first[:, columns] += p_hat[:, instances] @ block
                second[:, columns] += p_hat[:, instances] @ square
        return [
            ClassMoments(p_hat.sum(axis=1), *mean_and_variance(first, second, p_hat, self.columns))
            for p_hat, (first, second) in zip(p_hats, sums, strict=True)
        ]

    def averaged(self, shares: sparse.csr_array) -> AveragedFeatures:
        return AveragedFeatures(self, shares)

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> DenseFeatures:
        values = np.ones((len(after) + len(indices), self.shape[1]), order="F")
        values[: len(after)] = after
        inner = values[len(after) :, self._lead :]
        inner[:] = self.data.rows_at(self.rows[indices])
        inner -= self.shift
        inner *= self.factor
        inner[:, self.held.indices] = self.held.values[indices]
        return DenseFeatures(values)

    def columns(self, indices: IntArray) -> FloatArray:
        is_inner = indices >= self._lead
        inner = indices[is_inner] - self._lead
        values = np.ones((len(indices), len(self.rows)))
        gathered = self.data.columns_at(inner).T[:, self.rows] - self.shift[inner, None]
        gathered *= self.factor[inner, None]
        if len(self.held.indices):
            place = np.searchsorted(self.held.indices, inner)
            is_held = self.held.indices[np.minimum(place, len(self.held.indices) - 1)] == inner
            gathered[is_held] = self.held.values.T[place[is_held]]
        values[is_inner] = gathered
        return values.T

    def _blocks(self) -> Iterator[tuple[IntArray, slice, FloatArray]]:
        """Instances, columns and the values there: float64, centred and scaled."""
        lead, held = self._lead, self.held
        if lead:
            yield np.arange(len(self.rows)), slice(0, 1), np.ones((len(self.rows), 1))
        for rows, columns, block in self.data.blocks():
            instances, values = self._instance_of_row[rows], block
            if (instances < 0).any():
                instances, values = instances[instances >= 0], block[instances >= 0]
            centred = values - self.shift[columns]
            centred *= self.factor[columns]
            own = slice(*np.searchsorted(held.indices, [columns.start, columns.stop]))
            centred[:, held.indices[own] - columns.start] = held.values[instances, own]
            yield instances, slice(columns.start + lead, columns.stop + lead), centred


class DensePart(ImplicitFeatures):
    """The features ``(X[rows] - shift) * factor``, where X is the whole matrix, which is a copy already."""

    labellings_per_pass: ClassVar[int] = TILE

    def __init__(self, whole: DenseFeatures, rows: IntArray, shift: FloatArray, factor: FloatArray) -> None:
        values = StoredArray(whole.values, is_finite=True)
        nothing = HeldColumns(np.zeros(0, dtype=np.intp), np.zeros((len(rows), 0)))
        super().__init__(values, rows, shift, factor, has_intercept=False, held=nothing)
        self.whole = whole

    @property
    def shared_key(self) -> int:
        return self.whole.shared_key

    @property
    def n_rows_of_pass(self) -> int:
        return self.whole.shape[0]

    def columns_together(self, features: Sequence[FeatureMatrix], lam: Any, *, in_batch: bool) -> Columns:
        if in_batch:
            return PartColumns(features, lam)
        return super().columns_together(features, lam, in_batch=False)

    def combine_some(self, columns: IntArray, coefficients: FloatArray) -> FloatArray:
        coef = coefficients * self.factor[columns]
        return self.whole.combine_some(columns, coef)[:, self.rows] - (coef @ self.shift[columns])[:, None]

    def copied(self) -> DenseFeatures:
        self.n_passes += 1
        by_column, rows = self.whole.values.T, np.ascontiguousarray(self.rows)
        copy = np.empty((self.shape[1], len(rows)))
        # Whole columns lie together: pieces of them stay in the cache until they are scaled.
        for some in slices_of(slice(0, len(copy)), max(1, PIECE_ELEMENTS // by_column.shape[1])):
            piece = copy[some]
            by_column[some].take(rows, axis=1, out=piece, mode="clip")
            piece -= self.shift[some, None]
            piece *= self.factor[some, None]
        return DenseFeatures(copy.T)


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


@dataclass
class AveragedFeatures(FeatureMatrix):
    """Features of means, each of which is a row of ``shares`` (u x n) times the features of the instances."""

    features: FeatureMatrix
    shares: sparse.csr_array
    n_passes: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.shares.shape[0], self.features.shape[1]

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        return self.features.correlate(block_weights @ self.shares)

    def combine(self, coefficients: FloatArray) -> FloatArray:
        return (self.shares @ self.features.combine(coefficients).T).T

    def means_of(self, function: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
        return np.concatenate([weights @ function(block) for _, block in self._groups()], axis=1)

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        shape = (len(p_hats[0]), self.shape[1])
        found = [ClassMoments(p_hat.sum(axis=1), np.empty(shape), np.empty(shape)) for p_hat in p_hats]
        for part, block in self._groups():
            for p_hat, moments in zip(p_hats, found, strict=True):
                moments.mean[:, part], moments.variance[:, part] = within_class_moments(block, p_hat)
        return found

    def averaged(self, shares: sparse.csr_array) -> AveragedFeatures:
        return AveragedFeatures(self.features, sparse.csr_array(shares @ self.shares))

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> DenseFeatures:
        chosen = AveragedFeatures(self.features, self.shares[indices])
        values = np.empty((len(after) + len(indices), self.shape[1]), order="F")
        values[: len(after)] = after
        for part, block in chosen._groups():
            values[len(after) :, part] = block
        return DenseFeatures(values)

    def columns(self, indices: IntArray) -> FloatArray:
        return np.asarray(self.shares @ self.features.columns(indices))

    def _groups(self) -> Iterator[tuple[slice, FloatArray]]:
        self.n_passes += 1
        for part in column_groups(self.shape[1], self.features.shape[0]):
            yield part, self.columns(np.arange(part.start, part.stop))


def features_of_table(
    X: Table, instances: Instances, *, standardize: bool, fit_intercept: bool, copy: bool | str
) -> tuple[DenseFeatures | ImplicitFeatures, ClassMoments, ColumnScale]:
    """The scaled features of the instances, with or without a copy."""
    what, advice = "a float64 copy of X", "use copy=False, which reads X where it is"
    if not is_copied(instances.n_instances, X.shape[1], copy, X.dtype):
        try:
            return implicit_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)
        except TooManyHeldColumnsError as error:
            advice = "subtract column means from X, or use columns of the same size"
            if copy is False:
                message = f"copy=False is not possible: {error}; {advice}, or use copy=True."
                raise ValueError(message) from error
            what = f"{error}, and {what}, which they need,"
    n_bytes = BYTES * instances.n_instances * X.shape[1]
    free = memory_short_of(n_bytes)
    if free is not None:
        raise ValueError(
            f"{what} takes {n_bytes / 1e9:.2g} GB, but {free / 1e9:.2g} GB of memory are free; {advice}."
        )
    return dense_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)


def is_copied(n_instances: int, n_columns: int, copy: bool | str, dtype: np.dtype[Any]) -> bool:
    """What the parameter ``copy`` means for a dense table of this size."""
    most = LARGE // 2 if dtype == np.float32 else LARGE
    return copy is True or (copy == "auto" and n_instances * n_columns <= most)


class TooManyHeldColumnsError(Exception):
    """So many columns would have to be held beside the data that it would be a copy."""


def implicit_features(
    X: Table, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[ImplicitFeatures, ClassMoments, ColumnScale]:
    """The data as they are and their moments, in one pass, which also checks that all entries are finite.

    Means and variances follow by plain formulas from sums about a pilot, the mean of the first rows. Where
    the formulas lose digits, the columns are read once more.
    """
    data, rows, p_hat = X.stored, X.all_rows[instances.rows], instances.p_hat
    prior, weights = p_hat.sum(axis=1)[:, None], p_hat.sum(axis=0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        pilot, first, second = _sums_about_pilot(data, rows, p_hat, centre=standardize)
        off, square = first.sum(axis=0) if standardize else np.zeros(data.shape[1]), second.sum(axis=0)
        shift, variance = pilot + off, square - off**2
        scale = np.sqrt(np.maximum(variance, 0.0))
        in_range = (square > SMALLEST_SQUARE) & (square < 1.0 / SMALLEST_SQUARE)
        # Squares of float64 may have underflowed.
        is_empty = (square == 0.0) & (data.dtype != np.float64)
        # No less than the deviation, so that a pilot that is far off makes no column unclear.
        is_unclear = may_be_constant(np.sqrt(square), shift, int(np.count_nonzero(weights)))
        is_far = ~is_empty & _asks_to_be_held(shift, scale, data.dtype)
        doubtful = np.flatnonzero(~is_empty & (~in_range | (variance < ENOUGH_VARIANCE * square) | is_far))
        _refuse_too_many(int((is_far & in_range & ~is_unclear).sum()), data.shape[1])
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
        shift[j], scale[j] = rescale_in_place(block, weights, centre=standardize)
        first[:, j], second[:, j] = within_class_moments(block, p_hat)
        varies = block.any(axis=0)
        is_held[j] = varies & _asks_to_be_held(shift[j], scale[j], data.dtype)
        factor[j] = np.where(varies & ~is_held[j], 1.0, 0.0) / scale[j]
        kept.append(block[:, is_held[j]])
        _refuse_too_many(int(is_held.sum()), data.shape[1])
    held = HeldColumns(np.flatnonzero(is_held), np.concatenate(kept, axis=1))
    features = ImplicitFeatures(data, rows, shift, factor, fit_intercept, held)
    moments = ClassMoments.of(p_hat, first, second, has_intercept=fit_intercept)
    return features, moments, ColumnScale(shift, scale, fit_intercept)


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


def dense_features(
    X: Table, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[DenseFeatures, ClassMoments, ColumnScale]:
    """Copy the distinct instances, scale the copy and take its moments, all in one pass over X."""
    d, lead = X.shape[1], int(fit_intercept)
    n, n_classes = instances.n_instances, instances.p_hat.shape[0]
    values = np.empty((n, lead + d), order="F")
    shift, scale = np.zeros(d), np.ones(d)
    mean, variance = np.zeros((n_classes, lead + d)), np.zeros((n_classes, lead + d))
    values[:, :lead], mean[:, :lead] = 1.0, 1.0
    rows = X.all_rows[instances.rows]

    for copied in _copied_columns(X.stored, rows, values[:, lead:]):
        for outer in blocks_by_column(copied, n):
            inner = slice(outer.start + lead, outer.stop + lead)
            block = values[:, inner]
            quick = rescale_quickly(block, instances.p_hat, centre=standardize)
            if quick is None:
                block[:] = X.stored.columns_at(np.arange(outer.start, outer.stop))[rows]
                shift[outer], scale[outer] = rescale_in_place(block, instances.weights, centre=standardize)
                mean[:, inner], variance[:, inner] = within_class_moments(block, instances.p_hat)
            else:
                shift[outer], scale[outer], mean[:, inner], variance[:, inner] = quick
    moments = ClassMoments(instances.p_hat.sum(axis=1), mean, variance)
    return DenseFeatures(values), moments, ColumnScale(shift, scale, fit_intercept)


def _copied_columns(data: StoredArray, rows: IntArray, out: FloatArray) -> Iterator[slice]:
    """Copy some rows; tells which columns have just been copied."""
    if data.is_on_disk:
        yield from _copied_from_disk(data, rows, out)
        return
    data.check_finite()
    for columns in column_blocks(data.shape[1], len(rows)):
        height = max(1, PIECE_ELEMENTS // (columns.stop - columns.start))
        for some in slices_of(slice(0, len(rows)), height):
            out[some, columns] = data.values[:, columns][rows[some]]
        yield columns


def _copied_from_disk(data: StoredArray, rows: IntArray, out: FloatArray) -> Iterator[slice]:
    """The same in the order in which the data are stored, each block read and checked once."""
    place = np.full(data.shape[0], -1, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    for part, columns, block in data.blocks():
        data.refuse_infinite(part, columns, block)
        used = place[part] >= 0
        out[place[part][used], columns] = block[used]
        if part.stop == data.shape[0]:
            yield columns
    data.is_finite = True


def rescale_quickly(
    block: FloatArray, p_hat: FloatArray, *, centre: bool
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Scale columns in place in few passes; return shift, scale, class means and variances.

    None, with the columns changed, where plain formulas are not accurate: squares leave the range of numbers,
    or one subtraction of the mean leaves some of it.
    """
    weights, (n, d) = p_hat.sum(axis=0), block.shape
    shift, first, second = np.zeros(d), np.empty((len(p_hat), d)), np.empty((len(p_hat), d))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for part in slices_of(slice(0, d), max(1, PIECE_ELEMENTS // n)):
            piece = block[:, part]
            if centre:
                shift[part] = weights @ piece
                piece -= shift[part]
            first[:, part], second[:, part] = p_hat @ piece, p_hat @ np.square(piece)
        square = second.sum(axis=0)
        deviation = np.sqrt(square)
        left_over = np.abs(first.sum(axis=0)) if centre else np.zeros_like(deviation)
    in_range = (square == 0.0) | ((square > SMALLEST_SQUARE) & (square < 1.0 / SMALLEST_SQUARE))
    negligible = is_negligible(deviation, shift)
    accurate = in_range & (left_over <= MEAN_LEFT_OVER * deviation)
    odd = np.flatnonzero(~(accurate | negligible))
    if centre:  # one subtraction leaves a constant, which rounding makes other than zero
        negligible[odd] = (block.T[odd] == block[0, odd, None]).all(axis=1)
    # A sum of squares that is zero may be one that has underflowed.
    if not (accurate | negligible).all() or block[:, square == 0.0].any():
        return None
    scale = np.where(negligible, 1.0, deviation)
    factor = np.where(negligible, 0.0, 1.0 / scale)
    block *= factor
    moments = mean_and_variance(first * factor, second * factor**2, p_hat, lambda j: block[:, j])
    return shift, scale, *moments


def mean_and_variance(
    first: FloatArray, second: FloatArray, p_hat: FloatArray, columns: Callable[[IntArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Within each class, from ``p_hat`` times all columns and times their squares."""
    prior = p_hat.sum(axis=1)[:, None]
    mean = first / prior
    variance = second / prior - mean**2
    # The subtraction loses digits where a column hardly varies within a class.
    lossy = np.flatnonzero((variance < ENOUGH_VARIANCE * mean**2).any(axis=0))
    for part in column_groups(len(lossy), p_hat.shape[1]):
        j = lossy[part]
        mean[:, j], variance[:, j] = within_class_moments(columns(j), p_hat)
    return mean, variance


def padded_to_tiles(weights: FloatArray) -> FloatArray:
    """Empty rows added until they make whole tiles."""
    padded = np.zeros((-(-len(weights) // ROWS) * ROWS, weights.shape[1]))
    padded[: len(weights)] = weights
    return padded


def multiply_in_tiles(weights: FloatArray, values: FloatArray, out: FloatArray) -> None:
    """``weights @ values``, always as many rows at a time.

    Kernels of linear algebra add up in an order that depends on shapes, and what one row gives must not
    depend on how many others are asked for with it.
    """
    for start in range(0, len(weights), ROWS):
        np.matmul(weights[start : start + ROWS], values, out=out[start : start + ROWS])


def column_blocks(n_columns: int, n_rows: int) -> Iterator[slice]:
    """Slices of columns, each about ``BLOCK_ELEMENTS`` entries or ``FEWEST_COLUMNS`` wide."""
    return slices_of(slice(0, n_columns), max(FEWEST_COLUMNS, BLOCK_ELEMENTS // n_rows))


def blocks_by_column(columns: slice, n_rows: int) -> Iterator[slice]:
    """The same of columns that lie together in memory, of which one alone may be a block."""
    return slices_of(columns, max(1, BLOCK_ELEMENTS // n_rows))


def column_groups(n_columns: int, n_rows: int) -> Iterator[slice]:
    """Slices of columns that are gathered together: about ``GROUP_ELEMENTS`` entries."""
    return slices_of(slice(0, n_columns), max(1, GROUP_ELEMENTS // n_rows))


def rescale_in_place(
    block: FloatArray, weights: FloatArray, *, centre: bool
) -> tuple[FloatArray, FloatArray]:
    """Bring columns to unit root mean square, after centring if asked for; return shift and scale.

    Columns that do not vary beyond rounding (or are zero, without centring) become zero, scale 1.
    """
    power = power_of_two(np.maximum(block.max(axis=0), -block.min(axis=0)))
    block /= power
    shift = np.zeros(block.shape[1])
    if centre:
        for _ in range(2):  # the second time subtracts what rounding left of the mean
            step = weights @ block
            block -= step
            shift += step
    deviation = np.sqrt(weights @ np.square(block))
    shift, scale = shift * power, deviation * power
    negligible = is_negligible(scale, shift)
    block[:, negligible] = 0.0
    deviation[negligible], scale[negligible] = 1.0, 1.0
    block /= deviation
    return shift, scale
