"""Features that stay in an array on a device, of PyTorch, CuPy or whatever follows the array API standard.

Shift and scale stand beside the data, on the device too, as for ``implicit``. Every sum is added up in
float64 from centred numbers, so that the answers are those of a centred copy in float64 to rounding. What is
asked in NumPy's terms is answered in them, and works for every engine; the methods that end with ``_there``
answer on the device, and nothing of the length of a row crosses the bus for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import assert_all_finite

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.namespaces import beside, namespace_of, put_columns, to_numpy
from minimaxrisk.features.class_moments import ClassMoments
from minimaxrisk.features.dense import ENOUGH_VARIANCE, SMALLEST_SQUARE, DenseFeatures
from minimaxrisk.features.device_sums import (
    BLOCK_ELEMENTS,
    centred_blocks,
    weighted_sums,
    weighted_sums_and_squares,
)
from minimaxrisk.features.matrix import ColumnScale
from minimaxrisk.features.streamed import streamed_if_asked, taken_columns
from minimaxrisk.samples.instances import Instances

# Python's own floats, the only ones that the standard lets meet an array.
EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)


@dataclass
class DeviceFeatures:
    """The matrix ``(X - 1 shift') diag(factor)`` of some rows of X, behind ones if there is an intercept."""

    is_sparse: ClassVar[bool] = False
    # With the kernel an exact pass takes as long as one in float32: both wait for memory.
    has_rough_passes: ClassVar[bool] = False

    data: Any  # float32 or float64
    rows: IntArray
    shift: Any  # float64 on the device, as all vectors here
    factor: Any  # zero for columns that do not vary
    has_intercept: bool
    n_passes: int = 0
    rows_there: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.rows_there = beside(self.data, self.rows)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.data.shape[1] + int(self.has_intercept)

    @property
    def xp(self) -> Any:
        return namespace_of(self.data)

    def correlate_there(self, block_weights: FloatArray) -> Any:
        """``correlate`` on the device."""
        self.n_passes += 1
        inner = weighted_sums(self.data, self.on_rows(block_weights), self.shift) * self.factor
        if not self.has_intercept:
            return inner
        mass = beside(self.data, block_weights.sum(axis=1, keepdims=True))
        return self.xp.concat([mass, inner], axis=1)

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        return to_numpy(self.correlate_there(block_weights))

    correlate_roughly = correlate

    def combine(self, coefficients: FloatArray) -> FloatArray:
        used = np.flatnonzero(coefficients.any(axis=0))
        self.n_passes += 2 * len(used) > self.shape[1]
        return self.combine_some(used, coefficients[:, used])

    def combine_some(self, indices: IntArray, coefficients: FloatArray) -> FloatArray:
        """``combine`` from the columns whose coefficients (B x c) are not zero."""
        scores = np.zeros((len(coefficients), self.shape[0]))
        width = max(1, BLOCK_ELEMENTS // self.shape[0])
        for start in range(0, len(indices), width):
            part = slice(start, start + width)
            columns = self.columns_there(indices[part])
            scores += to_numpy(beside(self.data, coefficients[:, part]) @ self.xp.matrix_transpose(columns))
        return scores

    def means_of(self, function: Callable[[Any], Any], weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        there = beside(self.data, weights)
        return to_numpy(self.xp.concat([there @ function(block) for block in self._blocks()], axis=1))

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        """Means and variances stay on the device; the shares of the classes do not."""
        return list(map(self._class_moments, p_hats))

    def _class_moments(self, p_hat: FloatArray) -> ClassMoments:
        self.n_passes += 1
        first, second = weighted_sums_and_squares(self.data, self.on_rows(p_hat), self.shift)
        return self._moments(p_hat, first, second)

    def _moments(self, p_hat: FloatArray, first: Any, second: Any) -> ClassMoments:
        """From ``p_hat`` times the centred columns and times their squares."""
        xp, prior = self.xp, p_hat.sum(axis=1)
        share = beside(self.data, prior[:, None])
        mean = first / share * self.factor
        variance = second / share * self.factor**2 - mean**2
        # The subtraction loses digits where a column hardly varies within a class.
        lossy = np.flatnonzero(to_numpy(xp.any(variance < ENOUGH_VARIANCE * mean**2, axis=0)))
        width = max(1, BLOCK_ELEMENTS // self.shape[0])
        for start in range(0, len(lossy), width):
            columns, lead = lossy[start : start + width], int(self.has_intercept)
            own_mean, own_variance = within_classes(self.columns_there(columns + lead), p_hat)
            put_columns(mean, columns, own_mean)
            put_columns(variance, columns, own_variance)
        if self.has_intercept:
            one = xp.ones_like(mean[:, :1])
            mean, variance = xp.concat([one, mean], axis=1), xp.concat([0.0 * one, variance], axis=1)
        return ClassMoments(prior, mean, variance)

    def averaged(self, shares: sparse.csr_array) -> DeviceFeatures:
        self.n_passes += 1
        there = beside(self.data, shares.toarray())
        blocks = self._blocks()
        if self.has_intercept:
            next(blocks)
        means = self.xp.concat([there @ block for block in blocks], axis=1)
        rows, unit = np.arange(shares.shape[0]), self.xp.ones_like(self.factor)
        return DeviceFeatures(means, rows, 0.0 * unit, unit, self.has_intercept)

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> DenseFeatures:
        self.n_passes += 1
        chosen = beside(self.data, indices)
        rows = self.xp.concat([self.xp.take(block, chosen, axis=0) for block in self._blocks()], axis=1)
        return DenseFeatures(np.asfortranarray(np.vstack([after, to_numpy(rows)])))

    def columns_there(self, indices: IntArray) -> Any:
        """Some columns on the device (n x c)."""
        xp, lead = self.xp, int(self.has_intercept)
        inner = np.maximum(indices - lead, 0)
        place = beside(self.data, inner)
        gathered = xp.take(taken_columns(self.data, inner), self.rows_there, axis=0)
        values = xp.astype(gathered, xp.float64) - xp.take(self.shift, place)
        values = values * xp.take(self.factor, place)
        if not lead or (indices > 0).all():
            return values
        return xp.where(beside(self.data, indices == 0), 1.0, values)

    def columns(self, indices: IntArray) -> FloatArray:
        return to_numpy(self.columns_there(indices))

    def shifted_columns(self, indices: IntArray) -> tuple[sparse.csc_array, FloatArray]:
        return sparse.csc_array(self.columns(indices)), np.zeros(len(indices))

    def on_rows(self, block_weights: FloatArray) -> Any:
        """Weights of the rows of the data from those of the instances, on the device."""
        everywhere = np.zeros((len(block_weights), self.data.shape[0]))
        everywhere[:, self.rows] = block_weights
        return beside(self.data, everywhere)

    def _blocks(self) -> Iterator[Any]:
        """Columns of the instances in float64, centred and scaled, a block at a time."""
        xp = self.xp
        if self.has_intercept:
            yield xp.ones((len(self.rows), 1), dtype=xp.float64, device=self.data.device)
        for part, block in centred_blocks(self.data, self.shift):
            yield xp.take(block, self.rows_there, axis=0) * self.factor[part]


@dataclass(frozen=True)
class DeviceColumnScale(ColumnScale):
    """Shift and scale on the device; a copy here is made when somebody asks for them."""

    def __init__(self, shift: Any, scale: Any, has_intercept: bool) -> None:
        self.__dict__.update(_there=(shift, scale), has_intercept=has_intercept)

    def __getattr__(self, name: str) -> FloatArray:
        if name not in ("shift", "scale"):
            raise AttributeError(name)
        self.__dict__["shift"], self.__dict__["scale"] = map(to_numpy, self.__dict__["_there"])
        found: FloatArray = self.__dict__[name]
        return found

    def at(self, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        shift, scale = self.__dict__["_there"]
        xp, place = namespace_of(shift), beside(shift, columns)
        both = to_numpy(xp.stack([xp.take(shift, place), xp.take(scale, place)]))
        return both[0], both[1]


def within_classes(columns: Any, p_hat: FloatArray) -> tuple[Any, Any]:
    """Means and variances of columns (n x c) within each class of ``p_hat`` (K x n), as they are in NumPy."""
    xp, means, variances = namespace_of(columns), [], []
    for mass in p_hat:
        members = np.flatnonzero(mass)
        share = beside(columns, (mass[members] / mass[members].sum())[None])
        values = xp.take(columns, beside(columns, members), axis=0)
        mean = share @ values
        means.append(mean)
        variances.append(share @ (values - mean) ** 2)
    return xp.concat(means, axis=0), xp.concat(variances, axis=0)


def device_features(
    X: Any, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[DeviceFeatures, ClassMoments, DeviceColumnScale]:
    """The data where they are and their moments."""
    return features_of_rows(
        streamed_if_asked(X), instances, standardize=standardize, fit_intercept=fit_intercept
    )


def features_of_rows(
    X: Any, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[DeviceFeatures, ClassMoments, DeviceColumnScale]:
    """One pass for the means, one for everything about them; instances are some rows of X."""
    xp, d = namespace_of(X), X.shape[1]
    rows, p_hat = instances.rows, instances.p_hat
    nothing = xp.zeros(d, dtype=xp.float64, device=X.device)
    features = DeviceFeatures(X, rows, nothing, nothing + 1.0, fit_intercept)
    # Weights of zero times what is no number are no number either: all rows are looked at.
    mean = weighted_sums(X, features.on_rows(instances.weights[None]), nothing)[0, :]
    if not bool(xp.all(xp.isfinite(mean))):
        assert_all_finite(getattr(X, "host", X), input_name="X")
        _refuse_sizes()
    shift = mean if standardize else nothing
    features.shift = shift
    first, second = weighted_sums_and_squares(X, features.on_rows(p_hat), shift)
    square = xp.sum(second, axis=0)
    deviation = xp.sqrt(square)
    noise = float(8.0 * np.count_nonzero(instances.weights) * EPS) * xp.abs(shift)
    negligible = (deviation <= noise) | (deviation < TINY)
    in_range = (square > SMALLEST_SQUARE) & (square < 1.0 / SMALLEST_SQUARE)
    # A sum of squares that is zero may be one that has underflowed; float32 has no such numbers.
    if not bool(xp.all(in_range | negligible)) or (
        X.dtype == xp.float64 and _hides_something(features, square)
    ):
        _refuse_sizes()
    scale = xp.where(negligible, 1.0, deviation)
    features.factor = xp.where(negligible, 0.0, 1.0 / scale)
    moments = features._moments(p_hat, first, second)
    return features, moments, DeviceColumnScale(shift, scale, fit_intercept)


def _hides_something(features: DeviceFeatures, square: Any) -> bool:
    """Whether columns whose squares add up to zero hold other numbers than zero."""
    if bool(features.xp.all(square > 0.0)):
        return False
    empty = np.flatnonzero(to_numpy(square) == 0.0) + int(features.has_intercept)
    return bool(features.xp.any(features.columns_there(empty) != 0.0))


def _refuse_sizes() -> None:
    raise ValueError(
        "X has columns with numbers so large or so small that their squares leave the range of float64; "
        "divide or multiply these columns, or pass X as a NumPy array, which is scaled column by column."
    )
