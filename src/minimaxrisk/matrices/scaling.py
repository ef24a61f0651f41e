"""From raw data to standardised features and their moments within classes, to rounding.

One pass gives sums of the columns and of their squares about a pilot, something near their means. From those,
means and deviations follow by plain formulas. Where these lose digits, or where squares leave the range of
numbers, the columns themselves are looked at. Parts of the rows, each with a scale of its own, take this pass
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import (
    DataMatrix,
    FloatArray,
    IntArray,
    entries_at,
    namespace_of,
    put_columns,
    stays_where_it_is,
    to_numpy,
)
from minimaxrisk._utils.dask_arrays import is_dask_array
from minimaxrisk._utils.stored_tables import as_table
from minimaxrisk.matrices.chunked import DaskMatrix
from minimaxrisk.matrices.dense import matrix_of_table
from minimaxrisk.matrices.device import DeviceMatrix
from minimaxrisk.matrices.matrix import Matrix
from minimaxrisk.matrices.moments import ENOUGH_VARIANCE, ClassMoments, within_class_moments
from minimaxrisk.matrices.scale import ColumnScale, is_negligible, may_be_constant, power_of_two
from minimaxrisk.matrices.sparse import sparse_matrix
from minimaxrisk.matrices.standardised import (
    Standardised,
    column_groups,
    itself,
    lifted_to_rows,
    square,
)

# Plain formulas for the moments are accurate where sums of squares are in this range (and its inverse).
SMALLEST_SQUARE = 1e-200
# Beyond so many deviations, means are subtracted before products are taken.
LARGEST_MEAN = 1e3

# What is made of the data: features, their moments within classes, and how they were scaled.
Scaled: TypeAlias = tuple[Standardised, ClassMoments, ColumnScale]


@dataclass(frozen=True)
class PartOfRows:
    """Some rows of a matrix, None for all of them, and the distribution of labels on them (K x n)."""

    rows: IntArray | None
    p_hat: FloatArray


def features_of(
    X: DataMatrix,
    rows: IntArray,
    p_hat: FloatArray,
    *,
    standardize: bool,
    fit_intercept: bool,
    copy: bool | str = "auto",
) -> Scaled:
    """The scaled features of some rows of validated data, in the form that the data have.

    ``p_hat`` is the distribution of labels on these rows (K x n).
    """
    options = {"centre": standardize, "fit_intercept": fit_intercept}
    if sparse.issparse(X):
        matrix, origin, power, kept = sparse_matrix(X, rows, centre=standardize)
        features, moments, scale = standardise(matrix, PartOfRows(None, p_hat), **options)
        shift = (origin + scale.shift) * power
        return features, moments, ColumnScale(shift, scale.scale * power, fit_intercept, kept)
    if is_dask_array(X):
        return standardise(DaskMatrix(X), PartOfRows(rows, p_hat), **options)
    if stays_where_it_is(X):
        return standardise(DeviceMatrix.of(X), PartOfRows(rows, p_hat), **options)
    stored, places = matrix_of_table(as_table(X), rows, copy=copy)
    return standardise(stored, PartOfRows(places, p_hat), **options)


def standardise(matrix: Matrix, part: PartOfRows, *, centre: bool, fit_intercept: bool) -> Scaled:
    """The features of some rows of a matrix in two passes at most."""
    lifted = lifted_to_rows(part.p_hat, part.rows, matrix.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        pilot = matrix.pilot(lifted.sum(axis=0))
    pilot = pilot if centre else 0.0 * pilot
    sums = _sums_about(pilot, matrix, lifted, alike=False)
    return _scaled(part, matrix, (pilot, *sums), centre=centre, fit_intercept=fit_intercept)


def standardise_parts(whole: Standardised, parts: Sequence[PartOfRows], *, centre: bool) -> list[Scaled]:
    """Features of some of the instances of the whole, each part with a scale of its own.

    They are read where the whole is.
    """
    matrix, found = whole.matrix, []
    pilot = whole.mean if centre else 0.0 * whole.mean
    n_classes, at_a_time = len(parts[0].p_hat), matrix.hints.labellings_per_pass
    if whole.rows is not None:
        parts = [PartOfRows(whole.rows[part.rows], part.p_hat) for part in parts]
    for first in range(0, len(parts), at_a_time):
        group = parts[first : first + at_a_time]
        lifted = np.concatenate([lifted_to_rows(part.p_hat, part.rows, matrix.shape[0]) for part in group])
        whole.n_passes += 1
        mean, spread = _sums_about(pilot, matrix, lifted, alike=True)
        for i, part in enumerate(group):
            own = slice(i * n_classes, (i + 1) * n_classes)
            sums = pilot, mean[own, :], spread[own, :]
            options = {"centre": centre, "fit_intercept": whole.has_intercept}
            found.append(_scaled(part, matrix, sums, **options, of_whole=whole))
    return found


def _sums_about(pilot: Any, matrix: Matrix, weights: FloatArray, *, alike: bool) -> list[Any]:
    """Weights (R x N) times the columns less a pilot, and times their squares (R x d each)."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        ones = 0.0 * pilot + 1.0
        return matrix.reduce([itself, square], matrix.on_device(weights), pilot, ones, alike=alike)


def _scaled(
    part: PartOfRows,
    matrix: Matrix,
    sums: tuple[Any, Any, Any],
    *,
    centre: bool,
    fit_intercept: bool,
    of_whole: Standardised | None = None,
) -> Scaled:
    """From a pilot and the sums about it with weights ``p_hat``, which are changed."""
    weights, (pilot, mean, spread) = part.p_hat.sum(axis=0), sums
    xp = namespace_of(pilot)
    prior = matrix.on_device(part.p_hat.sum(axis=1)[:, None])
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        # 1) Shift and scale.
        squares = xp.sum(spread, axis=0)
        off = xp.sum(mean, axis=0) if centre else 0.0 * pilot
        variance = squares - off * off
        is_accurate = (squares > SMALLEST_SQUARE) & (squares < 1.0 / SMALLEST_SQUARE)
        is_accurate &= variance >= ENOUGH_VARIANCE * squares
        # No less than the deviation, so that a pilot that is far off makes no column unclear.
        is_accurate &= ~may_be_constant(xp.sqrt(squares), pilot + off, int(np.count_nonzero(weights)))
        scale = xp.sqrt(xp.where(is_accurate, variance, 1.0))
        factor = xp.where(is_accurate, 1.0 / scale, 0.0)
        # 2) Moments of the standardised columns.
        mean /= prior
        spread /= prior
        spread -= mean * mean
        is_lossy = xp.any(spread < ENOUGH_VARIANCE * mean * mean, axis=0)
        mean -= off
        mean *= factor
        spread *= factor * factor
    # 3) Columns of which sums are not enough. Sparse columns of zeros, which may be many, are clear.
    is_empty = (squares == 0.0) & matrix.hints.is_sparse
    again = np.flatnonzero(to_numpy((is_lossy | ~is_accurate) & ~is_empty))
    pilot = pilot + 0.0 if len(again) else pilot
    moments = ClassMoments(part.p_hat.sum(axis=1), mean, spread)
    _look_again(part, matrix, (pilot, off, scale, factor), moments, again, centre=centre)
    # 4) What is subtracted before products are taken. The mean is a sum of two numbers, the second of which
    # tells what rounding leaves of the first.
    inside = None
    if of_whole is not None:
        inside = of_whole.inside
    elif not matrix.hints.is_sparse:
        is_large = abs(pilot) * factor > LARGEST_MEAN
        inside = xp.where(is_large, pilot, 0.0) if bool(xp.any(is_large)) else None
    mean = pilot + off
    shift = mean if inside is None else (pilot - inside) + off
    features = Standardised(matrix, part.rows, shift, factor, fit_intercept, inside)
    moments = moments.with_intercept() if fit_intercept else moments
    return features, moments, ColumnScale(mean, scale, fit_intercept)


def _look_again(
    part: PartOfRows,
    matrix: Matrix,
    found: tuple[Any, Any, Any, Any],
    moments: ClassMoments,
    again: IntArray,
    *,
    centre: bool,
) -> None:
    """Take mean, what rounding leaves of it, scale, factor and moments of columns from the columns."""
    weights = part.p_hat.sum(axis=0)
    for group in column_groups(len(again), matrix.shape[0]):
        columns = again[group]
        raw = matrix.columns(columns)
        block = raw.toarray() if sparse.issparse(raw) else to_numpy(raw)
        block = np.array(block if part.rows is None else block[part.rows], dtype=np.float64, order="F")
        mean, off, scale, factor = entries_at(columns, *found)
        fresh = factor == 0.0
        inner = block[:, fresh]
        mean[fresh], scale[fresh] = rescale_in_place(inner, weights, centre=centre)
        factor[fresh] = np.where(inner.any(axis=0), 1.0 / scale[fresh], 0.0)
        block -= mean
        off[fresh] = np.where(factor[fresh] == 0.0, 0.0, (weights @ block[:, fresh]) * centre)
        block -= off
        block *= factor
        for vector, values in zip(found, (mean, off, scale, factor), strict=True):
            put_columns(vector[None, :], columns, matrix.on_device(values[None]))
        of_classes, spread = within_class_moments(block, part.p_hat)
        put_columns(moments.mean, columns, matrix.on_device(of_classes))
        put_columns(moments.variance, columns, matrix.on_device(spread))


def rescale_in_place(
    block: FloatArray, weights: FloatArray, *, centre: bool
) -> tuple[FloatArray, FloatArray]:
    """Bring columns to unit root mean square, after centring if asked for; return shift and scale.

    Columns that do not vary beyond rounding (or are zero, without centring) become zero, scale 1.
    """
    power = power_of_two(np.abs(block).max(axis=0, initial=0.0))
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
