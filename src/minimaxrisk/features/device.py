"""Features that stay in an array on a device, of PyTorch, CuPy or whatever follows the array API standard.

Shift and scale stand beside the data, on the device too. Every sum is added up in float64 from centred
numbers, whatever the precision of the data. A block of columns at a time becomes float64, so that no second
copy of the data is ever made. The methods that end with ``_on_device`` answer there; the others answer in
NumPy arrays.

Data larger than the memory of the device come from the host in blocks of columns as they are needed: a tensor
on the host whose memory is pinned, or any one while PyTorch's default device is another. Two blocks are on
the device at a time, one that is worked on and one that is being copied. Memory that is not pinned (a memory
map, for example) goes through a pinned block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import assert_all_finite

from minimaxrisk._utils.arrays import FloatArray, IntArray, asarray_like, namespace_of, put_columns, to_numpy
from minimaxrisk.features.dense import DenseFeatures
from minimaxrisk.features.matrix import (
    ENOUGH_VARIANCE,
    SMALLEST_SQUARE,
    ClassMoments,
    ColumnScale,
    FeatureMatrix,
    PartOfRows,
    PassRates,
    is_negligible,
    may_be_constant,
    slices_of,
)
from minimaxrisk.samples.instances import Instances

# Bytes of a block: long enough for rows of it to be copied at full speed, and two of them fit everywhere.
BLOCK_BYTES = 1 << 29


class StreamedArray:
    """A tensor on the host that is worked on elsewhere; what the standard asks of an array, where needed."""

    ndim = 2

    def __init__(self, host: Any, device: Any) -> None:
        self.host, self.device = host, device
        self.shape, self.dtype = tuple(host.shape), host.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0) if self.device.type == "cpu" else (2, self.device.index or 0)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return namespace_of(self.host)

    def __getitem__(self, key: Any) -> Any:
        return self.host[key].to(self.device)

    def columns(self, indices: IntArray) -> Any:
        """Some columns on the device, gathered here."""
        return self.host.index_select(1, asarray_like(self.host, indices)).to(self.device)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """All columns, a block after the other, each on the device until the next is asked for."""
        n, d = self.shape
        width = max(1, BLOCK_BYTES // (n * self.host.element_size()))
        parts = list(slices_of(slice(0, d), width))
        if self.device.type == "cpu":
            yield from ((part, self.host[:, part]) for part in parts)
        else:
            yield from self._overlapped(parts)

    def _overlapped(self, parts: list[slice]) -> Iterator[tuple[slice, Any]]:
        import torch  # noqa: PLC0415

        width, n = parts[0].stop, self.shape[0]
        copier, worker = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        # The memory of a column-major block is contiguous as a whole, that of the others row by row.
        by_rows = self.host.stride(1) == 1
        buffers = [torch.empty(n * width, dtype=self.dtype, device=self.device) for _ in range(2)]
        staging = []
        if not self.host.is_pinned():
            staging = [torch.empty(n * width, dtype=self.dtype).pin_memory() for _ in range(2)]
        arrived, finished = ([torch.cuda.Event() for _ in range(2)] for _ in range(2))
        copier.wait_stream(worker)

        def view(buffer: Any, part: slice) -> Any:
            shape = (n, part.stop - part.start) if by_rows else (part.stop - part.start, n)
            whole = buffer[: shape[0] * shape[1]].view(shape)
            return whole if by_rows else whole.T

        def send(i: int) -> None:
            part, k = parts[i], i % 2
            source = self.host[:, part]
            copier.wait_event(finished[k])
            if staging:
                arrived[k].synchronize()
                source = view(staging[k], part).copy_(source)
            target = view(buffers[k], part)
            with torch.cuda.stream(copier):
                if staging or not by_rows:
                    target.copy_(source, non_blocking=True)
                else:
                    for to, row in zip(target, source, strict=True):
                        to.copy_(row, non_blocking=True)
                arrived[k].record(copier)

        send(0)
        for i, part in enumerate(parts):
            if i + 1 < len(parts):
                send(i + 1)
            worker.wait_event(arrived[i % 2])
            yield part, view(buffers[i % 2], part)
            finished[i % 2].record(worker)
        worker.wait_stream(copier)


def streamed_if_asked(X: Any) -> Any:
    """X itself, or the way to stream it, where it is on the host and meant for another device."""
    if type(X).__module__ != "torch" or X.device.type != "cpu":
        return X
    import torch  # noqa: PLC0415

    if torch.get_default_device().type == "cuda":
        return StreamedArray(X, torch.get_default_device())
    return StreamedArray(X, torch.device("cuda")) if X.is_pinned() else X


def taken_columns(data: Any, place: Any) -> Any:
    """Some columns of the data on the device, by indices here or there."""
    if isinstance(data, StreamedArray):
        return data.columns(to_numpy(place))
    there = asarray_like(data, place) if isinstance(place, np.ndarray) else place
    return namespace_of(data).take(data, there, axis=1)


# Numbers that are float64 at a time: half a gigabyte. With 2^23 a pass over 200 x 10^7 took 18 ms, with these
# 14.
BLOCK_ELEMENTS = 1 << 26


def weighted_sums(data: Any, weights: Any, shift: Any) -> Any:
    """``weights (data - 1 shift')``: weights are R x n, the result R x d."""
    return _sums(data, weights, shift, with_squares=False)[0]


def _sums(data: Any, weights: Any, shift: Any, *, with_squares: bool) -> Sequence[Any]:
    """``weighted_sums``, and those of the squares of the centred data if asked for."""
    if isinstance(data, StreamedArray):
        found = [
            _sums(block, weights, shift[part], with_squares=with_squares) for part, block in data.blocks()
        ]
    else:
        found = [
            (weights @ block, weights @ (block * block)) if with_squares else (weights @ block,)
            for _, block in centred_blocks(data, shift)
        ]
    return [namespace_of(data).concat(parts, axis=1) for parts in zip(*found, strict=True)]


def centred_blocks(data: Any, shift: Any) -> Iterator[tuple[slice, Any]]:
    """Columns less their shift in float64, a block at a time."""
    if isinstance(data, StreamedArray):
        for outer, streamed in data.blocks():
            for inner, block in centred_blocks(streamed, shift[outer]):
                yield slice(outer.start + inner.start, outer.start + inner.stop), block
        return
    n, d = data.shape
    for part in slices_of(slice(0, d), max(1, BLOCK_ELEMENTS // n)):
        # One operation: float32 less float64 is float64.
        yield part, data[:, part] - shift[part]


@dataclass
class DeviceFeatures(FeatureMatrix):
    """The matrix ``(X - 1 shift') diag(factor)`` of some rows of X, behind ones if there is an intercept."""

    can_relabel: ClassVar[bool] = True
    pass_rates: ClassVar[PassRates] = PassRates(2e-4, 3e-11, 3e-12)
    drawn_elements: ClassVar[int] = 1 << 26

    data: Any  # float32 or float64
    rows: IntArray
    shift: Any  # float64 on the device, as all vectors here
    factor: Any  # zero for columns that do not vary
    has_intercept: bool
    n_passes: int = 0
    rows_on_device: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.rows_on_device = asarray_like(self.data, self.rows)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.data.shape[1] + int(self.has_intercept)

    @property
    def shared_key(self) -> int:
        return id(self)

    @property
    def xp(self) -> Any:
        return namespace_of(self.data)

    def on_device(self, values: FloatArray) -> Any:
        return asarray_like(self.data, values)

    def correlate_on_device(self, block_weights: FloatArray) -> Any:
        self.n_passes += 1
        inner = weighted_sums(self.data, self.on_rows(block_weights), self.shift) * self.factor
        if not self.has_intercept:
            return inner
        mass = asarray_like(self.data, block_weights.sum(axis=1, keepdims=True))
        return self.xp.concat([mass, inner], axis=1)

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        return to_numpy(self.correlate_on_device(block_weights))

    def combine(self, coefficients: FloatArray) -> FloatArray:
        used = np.flatnonzero(coefficients.any(axis=0))
        self.n_passes += 2 * len(used) > self.shape[1]
        return self.combine_some(used, coefficients[:, used])

    def combine_some(self, columns: IntArray, coefficients: FloatArray) -> FloatArray:
        scores = np.zeros((len(coefficients), self.shape[0]))
        for part in slices_of(slice(0, len(columns)), max(1, BLOCK_ELEMENTS // self.shape[0])):
            values = self.columns_on_device(columns[part])
            scores += to_numpy(
                asarray_like(self.data, coefficients[:, part]) @ self.xp.matrix_transpose(values)
            )
        return scores

    def means_of(self, function: Callable[[Any], Any], weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        there = asarray_like(self.data, weights)
        return to_numpy(self.xp.concat([there @ function(block) for block in self._blocks()], axis=1))

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        """Means and variances stay on the device; the shares of the classes do not."""
        self.n_passes += len(p_hats)
        return [
            self._moments(p_hat, *_sums(self.data, self.on_rows(p_hat), self.shift, with_squares=True))
            for p_hat in p_hats
        ]

    def _moments(self, p_hat: FloatArray, first: Any, second: Any) -> ClassMoments:
        """From ``p_hat`` times the centred columns and times their squares."""
        xp, prior = self.xp, p_hat.sum(axis=1)
        share = asarray_like(self.data, prior[:, None])
        mean = first / share * self.factor
        variance = second / share * self.factor**2 - mean**2
        # The subtraction loses digits where a column hardly varies within a class.
        is_lossy = xp.any(variance < ENOUGH_VARIANCE * mean**2, axis=0)
        lossy = np.flatnonzero(to_numpy(is_lossy)) if bool(xp.any(is_lossy)) else np.empty(0, np.intp)
        for part in slices_of(slice(0, len(lossy)), max(1, BLOCK_ELEMENTS // self.shape[0])):
            columns = lossy[part]
            own = self.class_moments_of(columns + int(self.has_intercept), p_hat)
            put_columns(mean, columns, own.mean)
            put_columns(variance, columns, own.variance)
        if self.has_intercept:
            one = xp.ones_like(mean[:, :1])
            mean, variance = xp.concat([one, mean], axis=1), xp.concat([0.0 * one, variance], axis=1)
        return ClassMoments(prior, mean, variance)

    def class_moments_of(self, columns: IntArray, p_hat: FloatArray) -> ClassMoments:
        return ClassMoments(p_hat.sum(axis=1), *within_classes(self.columns_on_device(columns), p_hat))

    def has_parts(self, *, of_groups: bool) -> bool:
        return True

    def parts(
        self, scale: ColumnScale, parts: Sequence[PartOfRows], *, centre: bool
    ) -> list[tuple[DeviceFeatures, ClassMoments, ColumnScale]]:
        return [
            features_of_rows(
                self.data,
                self.rows[part.rows],
                part.p_hat[:, part.rows],
                standardize=centre,
                fit_intercept=scale.has_intercept,
            )
            for part in parts
        ]

    def averaged(self, shares: sparse.csr_array) -> DeviceFeatures:
        self.n_passes += 1
        there = asarray_like(self.data, shares.toarray())
        blocks = self._blocks()
        if self.has_intercept:
            next(blocks)
        means = self.xp.concat([there @ block for block in blocks], axis=1)
        rows, unit = np.arange(shares.shape[0]), self.xp.ones_like(self.factor)
        return DeviceFeatures(means, rows, 0.0 * unit, unit, self.has_intercept)

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> DenseFeatures:
        self.n_passes += 1
        chosen = asarray_like(self.data, indices)
        rows = self.xp.concat([self.xp.take(block, chosen, axis=0) for block in self._blocks()], axis=1)
        return DenseFeatures(np.asfortranarray(np.vstack([after, to_numpy(rows)])))

    def columns_on_device(self, indices: IntArray) -> Any:
        """Some columns on the device (n x c)."""
        xp, lead = self.xp, int(self.has_intercept)
        inner = np.maximum(indices - lead, 0)
        place = asarray_like(self.data, inner)
        gathered = xp.take(taken_columns(self.data, inner), self.rows_on_device, axis=0)
        values = xp.astype(gathered, xp.float64) - xp.take(self.shift, place)
        values = values * xp.take(self.factor, place)
        if not lead or (indices > 0).all():
            return values
        return xp.where(asarray_like(self.data, indices == 0), 1.0, values)

    def columns(self, indices: IntArray) -> FloatArray:
        return to_numpy(self.columns_on_device(indices))

    def on_rows(self, block_weights: FloatArray) -> Any:
        """Weights of the rows of the data from those of the instances, on the device."""
        everywhere = np.zeros((len(block_weights), self.data.shape[0]))
        everywhere[:, self.rows] = block_weights
        return asarray_like(self.data, everywhere)

    def _blocks(self) -> Iterator[Any]:
        """Columns of the instances in float64, centred and scaled, a block at a time."""
        xp = self.xp
        if self.has_intercept:
            yield xp.ones((len(self.rows), 1), dtype=xp.float64, device=self.data.device)
        for part, block in centred_blocks(self.data, self.shift):
            yield xp.take(block, self.rows_on_device, axis=0) * self.factor[part]


def within_classes(columns: Any, p_hat: FloatArray) -> tuple[Any, Any]:
    """Means and variances of columns (n x c) within each class of ``p_hat`` (K x n), as they are in NumPy."""
    xp, means, variances = namespace_of(columns), [], []
    for mass in p_hat:
        members = np.flatnonzero(mass)
        share = asarray_like(columns, (mass[members] / mass[members].sum())[None])
        values = xp.take(columns, asarray_like(columns, members), axis=0)
        mean = share @ values
        means.append(mean)
        variances.append(share @ (values - mean) ** 2)
    return xp.concat(means, axis=0), xp.concat(variances, axis=0)


def device_features(
    X: Any, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[DeviceFeatures, ClassMoments, ColumnScale]:
    """The data where they are and their moments."""
    return features_of_rows(
        streamed_if_asked(X),
        instances.rows,
        instances.p_hat,
        standardize=standardize,
        fit_intercept=fit_intercept,
    )


def features_of_rows(
    X: Any, rows: IntArray, p_hat: FloatArray, *, standardize: bool, fit_intercept: bool
) -> tuple[DeviceFeatures, ClassMoments, ColumnScale]:
    """Of instances that are some rows of X: one pass for the means, one for everything about them."""
    xp, d, weights = namespace_of(X), X.shape[1], p_hat.sum(axis=0)
    nothing = xp.zeros(d, dtype=xp.float64, device=X.device)
    features = DeviceFeatures(X, rows, nothing, nothing + 1.0, fit_intercept)
    # 0 * NaN is NaN, so that rows of weight zero are checked as well.
    mean = weighted_sums(X, features.on_rows(weights[None]), nothing)[0, :]
    if not bool(xp.all(xp.isfinite(mean))):
        assert_all_finite(getattr(X, "host", X), input_name="X")
        _refuse_sizes()
    shift = mean if standardize else nothing
    features.shift = shift
    first, second = _sums(X, features.on_rows(p_hat), shift, with_squares=True)
    square = xp.sum(second, axis=0)
    deviation = xp.sqrt(square)
    negligible = is_negligible(deviation, shift)
    is_unclear = may_be_constant(deviation, shift, int(np.count_nonzero(weights))) & ~negligible
    if bool(xp.any(is_unclear)):  # they are centred once more, so that a constant is one
        features.shift = shift = shift + xp.where(is_unclear, xp.sum(first, axis=0), 0.0)
        first, second = _sums(X, features.on_rows(p_hat), shift, with_squares=True)
        square = xp.sum(second, axis=0)
        deviation = xp.sqrt(square)
        negligible = is_negligible(deviation, shift)
    in_range = (square > SMALLEST_SQUARE) & (square < 1.0 / SMALLEST_SQUARE)
    # A sum of squares that is zero may be one that has underflowed; float32 has no such numbers.
    if not bool(xp.all(in_range | negligible)) or (
        X.dtype == xp.float64 and _hides_something(features, square)
    ):
        _refuse_sizes()
    scale = xp.where(negligible, 1.0, deviation)
    features.factor = xp.where(negligible, 0.0, 1.0 / scale)
    moments = features._moments(p_hat, first, second)
    return features, moments, ColumnScale(shift, scale, fit_intercept)


def _hides_something(features: DeviceFeatures, square: Any) -> bool:
    """Whether columns whose squares add up to zero hold other numbers than zero."""
    if bool(features.xp.all(square > 0.0)):
        return False
    empty = np.flatnonzero(to_numpy(square) == 0.0) + int(features.has_intercept)
    return bool(features.xp.any(features.columns_on_device(empty) != 0.0))


def _refuse_sizes() -> None:
    raise ValueError(
        "X has columns with numbers so large or so small that their squares leave the range of float64; "
        "divide or multiply these columns, or pass X as a NumPy array, which is scaled column by column."
    )
