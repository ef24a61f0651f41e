"""Features in the chunks of a dask array: shift and scale stand beside them, every answer is computed there.

A chunk is a block of rows and columns. What is a sum over instances is added up over chunks of rows, what has
an entry per column is put together over chunks of columns; both in float64, whatever the data are.
This process holds vectors with an entry per column or per instance, and the few columns last asked for.

The functions at the end are what workers do with one chunk, an array. They change none of their arguments,
since workers keep these for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import getitem
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.dask_arrays import (
    Chained,
    dask_module,
    fetch,
    keep_values,
    kept_if_it_fits,
    lazily,
    reduce_by_tree,
    shared,
    total,
)
from minimaxrisk.features.dense import DenseFeatures, column_blocks
from minimaxrisk.features.matrix import (
    ClassMoments,
    ColumnScale,
    FeatureMatrix,
    is_negligible,
    power_of_two,
)
from minimaxrisk.features.working_rows import DenseRows
from minimaxrisk.samples.instances import Instances

# Where means are larger than this many deviations, products with columns that are not centred lose more than
# three of sixteen digits; and where the scale is outside of this range, or of its inverse, squares leave that
# of numbers. Chunks are then centred and scaled for good.
LARGEST_MEAN = 1e3
SMALLEST_SCALE = 1e-100


@dataclass
class DaskFeatures(FeatureMatrix):
    """The matrix ``(X - 1 shift') diag(factor)`` of some rows of X, behind ones if there is an intercept."""

    data: Any  # a dask array of real numbers
    rows: IntArray
    shift: FloatArray
    factor: FloatArray  # zero for columns that do not vary
    has_intercept: bool
    n_passes: int = 0
    # Inner columns that this process holds, ascending, and their values (columns x n).
    held: tuple[IntArray, FloatArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.held = np.empty(0, dtype=np.intp), np.empty((0, len(self.rows)))

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "X is a dask array, whose chunks cannot be sent to other processes; leave n_jobs at 1 and use no "
            "joblib backend: every single fit uses all workers of dask."
        )

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.data.shape[1] + self.lead

    @property
    def lead(self) -> int:
        """How many columns stand before those of X."""
        return int(self.has_intercept)

    @cached_property
    def chunks(self) -> np.ndarray:
        """The chunks as tasks (chunks of rows x chunks of columns)."""
        chunks: np.ndarray = self.data.to_delayed()
        return chunks

    @cached_property
    def row_parts(self) -> list[slice]:
        """The rows of X in each chunk."""
        return _parts(self.data.chunks[0])

    @cached_property
    def column_parts(self) -> list[slice]:
        return _parts(self.data.chunks[1])

    @cached_property
    def scales(self) -> list[Any]:
        """Shift and factor of each chunk of columns, where the chunks are."""
        return keep_values([ChunkScale(self.shift[part], self.factor[part]) for part in self.column_parts])

    def on_rows(self, block_weights: FloatArray) -> list[Any]:
        """Weights of instances (B x n) as weights of the rows of X, for each chunk of rows."""
        everywhere = np.zeros((len(block_weights), len(self.data)))
        everywhere[:, self.rows] = block_weights
        parts = [np.ascontiguousarray(everywhere[:, part]) for part in self.row_parts]
        return [shared(part, part.nbytes) for part in parts]

    def over_rows(
        self,
        function: Callable[..., Any],
        weights: Sequence[Any],
        *others: Sequence[Any],
        merge: Callable[[list[Any]], Any] = total,
        then: tuple[Callable[..., Any], list[tuple[Any, ...]]] | None = None,
    ) -> list[Any]:
        """``function(chunk, weights, ...)`` merged over chunks of rows: a task for each chunk of columns.

        ``weights`` has an entry per chunk of rows, the others one per chunk of columns. ``then`` is what to
        do with what was merged, and further arguments of it for each chunk of columns.
        """
        found = []
        for j, (column, *own) in enumerate(zip(self.chunks.T, *others, strict=True)):
            calls = [(chunk, mass, *own) for chunk, mass in zip(column, weights, strict=True)]
            if then is not None and len(calls) == 1:  # one task instead of two, and no message between them
                both = Chained(function, len(calls[0]), then[0])
                found.append(lazily(both, *calls[0], *then[1][j]))
                continue
            merged = reduce_by_tree([lazily(function, *call) for call in calls], merge)
            found.append(merged if then is None else lazily(then[0], merged, *then[1][j]))
        return found

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        products = np.hstack(fetch(self.over_rows(product, self.on_rows(block_weights))))
        mass = block_weights.sum(axis=1, keepdims=True)
        products -= mass * self.shift
        products *= self.factor
        return np.hstack([mass, products]) if self.has_intercept else products

    def largest_deviations(
        self, weights: FloatArray, sums: FloatArray, tau: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """Of the columns of X: a column of ones has limits of its own."""
        self.n_passes += 1
        flat = weights.reshape(-1, weights.shape[2])
        mass, lead = flat.sum(axis=1, keepdims=True), self.lead
        arguments: list[tuple[Any, ...]] = [
            (scale, mass, sums, tau[:, lead:][:, part], inverse[:, lead:][:, part])
            for scale, part in zip(self.scales, self.column_parts, strict=True)
        ]
        found = self.over_rows(product, self.on_rows(flat), then=(largest_of_draws, arguments))
        return np.max(fetch(found), axis=0)

    def combine(self, coefficients: FloatArray) -> FloatArray:
        used = np.flatnonzero(coefficients.any(axis=0))
        self.n_passes += 2 * len(used) > self.shape[1]
        if self._are_held(used).all():
            return coefficients[:, used] @ self.columns(used).T
        inner = coefficients[:, self.lead :] * self.factor
        constant = coefficients[:, : self.lead].sum(axis=1) - inner @ self.shift
        touched = [j for j, part in enumerate(self.column_parts) if inner[:, part].any()]
        parts = [inner[:, self.column_parts[j]] for j in touched]
        weights = [shared(part, part.nbytes) for part in parts]
        scored = [
            [lazily(scores_of, chunk, own) for chunk, own in zip(row, weights, strict=True)]
            for row in self.chunks[:, touched]
        ]
        rows = [reduce_by_tree(row, total) for row in scored]
        scores: FloatArray = np.hstack(fetch(rows))[:, self.rows] + constant[:, None]
        return scores

    def means_of(self, function: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
        self.n_passes += 1
        functions = [function] * len(self.column_parts)
        found = self.over_rows(means_of_inner, self.on_rows(weights), self.scales, functions)
        lead = weights.sum(axis=1, keepdims=True) * function(np.ones((1, self.lead)))
        return np.hstack([lead, *fetch(found)])

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        """In two steps and one graph: means, then deviations from them, which also correct the means."""
        self.n_passes += 2
        masses = np.concatenate(p_hats)
        prior = masses.sum(axis=1, keepdims=True)
        on_rows = self.on_rows(masses)
        arguments: list[tuple[Any, ...]] = [(prior, scale) for scale in self.scales]
        means = self.over_rows(product, on_rows, then=(class_means, arguments))
        arguments = [(mean, prior) for mean in means]
        found = self.over_rows(
            deviations_from, on_rows, self.scales, means, then=(mean_and_variance_from, arguments)
        )
        ends = np.cumsum([len(p_hat) for p_hat in p_hats])[:-1]
        parts = np.split(np.concatenate(fetch(found), axis=2), ends, axis=1)
        return [
            ClassMoments.of(p_hat, *moments, has_intercept=self.has_intercept)
            for p_hat, moments in zip(p_hats, parts, strict=True)
        ]

    def averaged(self, shares: sparse.csr_array) -> DaskFeatures:
        """Shares sum to one, so that the mean of inner columns is the inner one of the mean."""
        arrays = dask_module("dask.array")
        self.n_passes += 1
        entries = (shares.data, self.rows[shares.indices], shares.indptr)
        everywhere = sparse.csc_array(sparse.csr_array(entries, shape=(shares.shape[0], len(self.data))))
        parts = [sparse.csr_array(everywhere[:, part]) for part in self.row_parts]
        weights = [shared(part, part.data.nbytes) for part in parts]
        means = [
            arrays.from_delayed(each, (shares.shape[0], part.stop - part.start), dtype=np.float64)
            for each, part in zip(self.over_rows(product, weights), self.column_parts, strict=True)
        ]
        data = kept_if_it_fits(arrays.concatenate(means, axis=1))
        return DaskFeatures(data, np.arange(len(data)), self.shift, self.factor, self.has_intercept)

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> DenseFeatures:
        """In this process: engines ask for few instances, and only where columns are fewer still."""
        self.n_passes += 1
        wanted = self.rows[indices]
        order = np.argsort(wanted, kind="stable")
        ends = np.searchsorted(wanted[order], [part.stop for part in self.row_parts]).tolist()
        inside = [
            wanted[order[start:stop]] - part.start
            for (start, stop), part in zip(pairwise([0, *ends]), self.row_parts, strict=True)
        ]
        blocks = [
            lazily(getitem, chunk, rows)
            for row, rows in zip(self.chunks, inside, strict=True)
            for chunk in row
        ]
        values = np.empty((len(after) + len(indices), self.shape[1]), order="F")
        values[: len(after)] = after
        values[len(after) :, : self.lead] = 1.0
        found = np.block(_in_lines(fetch(blocks), len(self.column_parts)))
        values[len(after) + order, self.lead :] = (found - self.shift) * self.factor
        return DenseFeatures(values)

    def columns(self, indices: IntArray) -> FloatArray:
        missing = np.unique(indices[~self._are_held(indices)])
        fetched = np.empty((0, len(self.rows)))
        if len(missing):
            outer = missing - self.lead
            inside = [
                outer[slice(*np.searchsorted(outer, [part.start, part.stop]))] - part.start
                for part in self.column_parts
            ]
            tasks = [
                lazily(some_columns, *each) for row in self.chunks for each in zip(row, inside, strict=True)
            ]
            pieces = [piece.T for piece in fetch(tasks)]
            columns = np.block(_in_lines(pieces, len(self.column_parts))).T
            fetched = (columns[:, self.rows] - self.shift[outer, None]) * self.factor[outer, None]
        values = np.ones((len(indices), len(self.rows)))
        for known, rows in (self.held, (missing, fetched)):
            is_known = np.isin(indices, known)
            values[is_known] = rows[np.searchsorted(known, indices[is_known])]
        return values.T

    def working_rows(self, indices: IntArray) -> DenseRows:
        """Fetches what the last ones did not have, and holds these."""
        columns, place = np.unique(indices, return_inverse=True)
        values = np.ascontiguousarray(self.columns(columns).T)
        self.held = columns, values
        return DenseRows(values[place])

    def _are_held(self, columns: IntArray) -> BoolArray:
        """Whether this process holds inner columns; it always has the one of ones."""
        return np.isin(columns, self.held[0]) | (columns < self.lead)


def dask_features(
    X: Any, instances: Instances, *, standardize: bool, fit_intercept: bool
) -> tuple[DaskFeatures, ClassMoments, ColumnScale]:
    """Moments and scale of the columns, to rounding, from three reads of the chunks.

    With c about the mean and p a power of two about the size of a column, ``(x - c)/p`` has moments from
    which nothing cancels, and neither they nor their squares leave the range of numbers.
    """
    mass, p_hat, d = instances.weights, instances.p_hat, X.shape[1]
    plain = DaskFeatures(X, instances.rows, np.zeros(d), np.ones(d), has_intercept=False)
    looked_at = plain.over_rows(mean_and_largest, plain.on_rows(mass[None]), merge=merge_mean_and_largest)
    centre, largest = np.hstack(fetch(looked_at))
    power = np.maximum(power_of_two(largest), np.finfo(np.float64).tiny)
    centred = DaskFeatures(X, instances.rows, centre, 1.0 / power, has_intercept=False)
    (about,) = centred.class_moments([p_hat])

    step = about.prior @ about.mean if standardize else -centre / power
    mean = about.mean - step
    deviation = np.sqrt(about.prior @ (about.variance + mean**2))
    shift, scale = (centre + step * power if standardize else np.zeros(d)), deviation * power
    negligible = is_negligible(scale, shift)
    deviation[negligible], scale[negligible] = np.inf, 1.0
    factor = np.where(negligible, 0.0, 1.0 / scale)
    is_moderate = (scale > SMALLEST_SCALE) & (scale < 1.0 / SMALLEST_SCALE)
    if (is_moderate & (np.abs(shift) <= LARGEST_MEAN * scale) | negligible).all():
        features = DaskFeatures(X, instances.rows, shift, factor, fit_intercept)
    else:
        data = kept_if_it_fits(_standardised(X, centre, power, step, deviation))
        factor = np.where(negligible, 0.0, 1.0)
        features = DaskFeatures(data, instances.rows, np.zeros(d), factor, fit_intercept)
    variance = about.variance / deviation**2
    moments = ClassMoments.of(p_hat, mean / deviation, variance, has_intercept=fit_intercept)
    return features, moments, ColumnScale(shift, scale, fit_intercept)


def _standardised(X: Any, centre: FloatArray, power: FloatArray, step: FloatArray, unit: FloatArray) -> Any:
    """``((x - centre)/power - step)/unit``: two subtractions, so that the second sees what the first left."""
    arrays = dask_module("dask.array")
    centre, power, step, unit = (
        arrays.from_array(values, chunks=(X.chunks[1],)) for values in (centre, power, step, unit)
    )
    return ((X.astype(np.float64) - centre) / power - step) / unit


def _parts(sizes: Sequence[int]) -> list[slice]:
    return [slice(start, stop) for start, stop in pairwise(np.cumsum([0, *sizes]).tolist())]


def _in_lines(pieces: list[np.ndarray], n_in_line: int) -> list[list[np.ndarray]]:
    return [pieces[i : i + n_in_line] for i in range(0, len(pieces), n_in_line)]


@dataclass(frozen=True)
class ChunkScale:
    """Shift and factor of the columns of a chunk: inner columns are ``(x - shift) * factor``."""

    shift: FloatArray
    factor: FloatArray

    def inner(self, products: FloatArray, mass: FloatArray) -> FloatArray:
        """Products with columns as they are, as those with inner ones; ``mass`` (B x 1) is their weight."""
        return (products - mass * self.shift) * self.factor


def product(chunk: np.ndarray, weights: FloatArray | sparse.csr_array) -> FloatArray:
    """``weights @ chunk`` in float64; other numbers are converted a block at a time, which stays in cache."""
    if chunk.dtype == np.float64 or sparse.issparse(weights):
        return weights @ chunk.astype(np.float64, copy=False)
    found = np.empty((len(weights), chunk.shape[1]))
    for part in _blocks(chunk.shape[1], len(chunk)):
        np.matmul(weights, chunk[:, part].astype(np.float64), out=found[:, part])
    return found


def scores_of(chunk: np.ndarray, coefficients: FloatArray) -> FloatArray:
    """``coefficients @ chunk'`` in float64, from the columns that have a coefficient."""
    used = np.flatnonzero(coefficients.any(axis=0))
    scores = np.zeros((len(coefficients), len(chunk)))
    for part in _blocks(len(used), len(chunk)):
        scores += coefficients[:, used[part]] @ chunk[:, used[part]].astype(np.float64, copy=False).T
    return scores


def mean_and_largest(chunk: np.ndarray, weights: FloatArray) -> FloatArray:
    """``weights @ chunk`` (one row) above the largest absolute values of the columns (2 x c)."""
    largest = np.maximum(chunk.max(axis=0, initial=0.0), -chunk.min(axis=0, initial=0.0))
    return np.vstack([product(chunk, weights), largest])


def merge_mean_and_largest(parts: list[FloatArray]) -> FloatArray:
    together = np.stack(parts)
    return np.vstack([together[:, 0].sum(axis=0), together[:, 1].max(axis=0)])


def means_of_inner(
    chunk: np.ndarray, weights: FloatArray, scale: ChunkScale, function: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """``weights @ function(inner columns)``."""
    found = np.empty((len(weights), chunk.shape[1]))
    for part, block in _inner_blocks(chunk, scale):
        found[:, part] = weights @ function(block)
    return found


def class_means(sums: FloatArray, prior: FloatArray, scale: ChunkScale) -> FloatArray:
    """Means of inner columns within classes from sums over the columns as they are, but for rounding."""
    return (sums / prior - scale.shift) * scale.factor


def deviations_from(
    chunk: np.ndarray, masses: FloatArray, scale: ChunkScale, means: FloatArray
) -> FloatArray:
    """Within each class (rows of ``masses``), sums of deviations and of their squares (2 x K x c)."""
    found = np.zeros((2, len(masses), chunk.shape[1]))
    members = [np.flatnonzero(mass) for mass in masses]
    for part, block in _inner_blocks(chunk, scale):
        for k, (rows, mass) in enumerate(zip(members, masses, strict=True)):
            deviation = block[rows] - means[k, part]
            found[0, k, part] = mass[rows] @ deviation
            found[1, k, part] = mass[rows] @ np.square(deviation, out=deviation)
    return found


def mean_and_variance_from(deviations: FloatArray, means: FloatArray, prior: FloatArray) -> FloatArray:
    """Deviations from means that are slightly wrong correct these, and the variance by as much.

    Of columns that do not vary rounding may leave more of the correction than of the variance.
    """
    correction = deviations[0] / prior
    return np.stack([means + correction, np.maximum(deviations[1] / prior - correction**2, 0.0)])


def largest_of_draws(  # noqa: PLR0917 - tasks take no names
    products: FloatArray,
    scale: ChunkScale,
    mass: FloatArray,
    sums: FloatArray,
    tau: FloatArray,
    inverse: FloatArray,
) -> FloatArray:
    """The largest ``|moment - sum tau| inverse`` (draws x B), with a row of ``products`` for each."""
    moments = scale.inner(products, mass).reshape(-1, *tau.shape)
    moments -= sums[:, None, None] * tau
    moments *= inverse
    largest: FloatArray = np.abs(moments, out=moments).max(axis=2, initial=0.0)
    return largest


def some_columns(chunk: np.ndarray, columns: IntArray) -> np.ndarray:
    """Columns as rows (c x rows), in the precision that they have."""
    return np.ascontiguousarray(chunk.T[columns])


def _inner_blocks(chunk: np.ndarray, scale: ChunkScale) -> Iterator[tuple[slice, FloatArray]]:
    for part in _blocks(chunk.shape[1], len(chunk)):
        block = chunk[:, part] - scale.shift[part]
        block *= scale.factor[part]
        yield part, block


def _blocks(n_columns: int, n_rows: int) -> Iterator[slice]:
    """Slices of columns that stay in cache; selections leave chunks without rows."""
    return column_blocks(n_columns, max(1, n_rows))
