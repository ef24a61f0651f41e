"""The columns of several problems whose instances are rows of one array, read together.

Problem p has n of the N rows, and columns that are those of the array, shifted and scaled. Engines ask for
them divided by the radii, as in the moment constraints:

    psi_pij / lambda_pj = (X[rows_pi, j] - shift_pj) factor_pj / lambda_pj.

A product with all columns is one product with X for all problems, and two vectors of each problem. Only the
columns of working sets are ever written down. Where a problem has B blocks of constraints, all on the same d
columns, each block has radii of its own, and m = B d counts them block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray, asarray_like
from minimaxrisk.features.dense import DenseFeatures, DensePart
from minimaxrisk.features.device import DeviceFeatures, taken_columns, weighted_sums


class BatchColumns(Protocol):
    """The columns of all problems, divided by the radii; the first index is the problem."""

    lam: Any  # problems x m

    def keep(self, places: Any) -> None:
        """Forget the other problems."""
        ...

    def products(self, weights: Any) -> Any:
        """Weights of each block (problems B x n) times each of its columns (problems x m)."""
        ...

    def columns(self, chosen: Any) -> Any:
        """Some of the m of each problem (problems x q) as an array (problems x q x n)."""
        ...


def columns_together(features: Sequence[Any], lam: Any) -> BatchColumns:
    """Of features with the same ``shared.key`` and as many instances each."""
    first = features[0]
    if first.location != "device":
        return _MatrixColumns(features, lam)
    if all(each is first for each in features):
        return _SameColumnsOnDevice(first, lam)
    return _OwnColumnsOnDevice(features, lam)


class _MatrixColumns:
    """Columns of a matrix and of parts of it.

    Products are made in tiles of the same shape always, since the answer to one problem must not depend on
    which others are asked with it.
    """

    def __init__(self, features: Sequence[DenseFeatures | DensePart], lam: FloatArray) -> None:
        first, parts = features[0], [each for each in features if isinstance(each, DensePart)]
        self._matrix = first.whole if isinstance(first, DensePart) else first
        self.lam, self._factor = lam, 1.0 / lam
        self._rows: IntArray | None = None
        self._offset = np.zeros((len(lam), 0))
        self._d = first.shape[1]
        if parts:
            n_blocks = lam.shape[1] // self._d
            self._rows = np.stack([part.rows for part in parts])
            self._factor *= np.stack([np.tile(part.factor, n_blocks) for part in parts])
            self._offset = self._factor * np.stack([np.tile(part.shift, n_blocks) for part in parts])

    def keep(self, places: IntArray) -> None:
        self.lam, self._factor, self._offset = self.lam[places], self._factor[places], self._offset[places]
        self._rows = None if self._rows is None else self._rows[places]

    def products(self, weights: FloatArray) -> FloatArray:
        if self._rows is None:
            found = self._matrix.correlate_many(weights).reshape(self.lam.shape)
            found *= self._factor
            return found
        lifted = np.zeros((len(weights), self._matrix.shape[0]))
        rows = np.repeat(self._rows, len(weights) // len(self._rows), axis=0)
        np.put_along_axis(lifted, rows, weights, axis=1)
        found = self._matrix.correlate_many(lifted)
        factors, offsets = self._factor.reshape(found.shape), self._offset.reshape(found.shape)
        # Row by row, which stays in cache.
        masses = weights.sum(axis=1)
        for i, (factor, offset) in enumerate(zip(factors, offsets, strict=True)):
            found[i] *= factor
            found[i] -= masses[i] * offset
        return found.reshape(self.lam.shape)

    def columns(self, chosen: IntArray) -> FloatArray:
        by_column, place = self._matrix.values.T, chosen % self._d
        factor = np.take_along_axis(self._factor, chosen, axis=1)[:, :, None]
        if self._rows is None:
            columns = by_column.take(place, axis=0)
            columns *= factor
            return columns
        columns = np.empty((*chosen.shape, self._rows.shape[1]))
        for found, own, rows in zip(columns, place, self._rows, strict=True):
            # Whole columns first: half the time of the same numbers by their places.
            by_column.take(own, axis=0).take(rows, axis=1, out=found, mode="clip")
        columns *= factor
        columns -= np.take_along_axis(self._offset, chosen, axis=1)[:, :, None]
        return columns


class _SameColumnsOnDevice:
    """All problems have the same features, as those with permuted labels have."""

    def __init__(self, features: DeviceFeatures, lam: Any) -> None:
        self.lam, self._features, self._lead = lam, features, int(features.has_intercept)
        self._instance_of_row = asarray_like(features.data, _instance_of_row(features))

    def keep(self, places: Any) -> None:
        self.lam = self._features.xp.take(self.lam, places, axis=0)

    def products(self, weights: Any) -> Any:
        features, xp = self._features, self._features.xp
        features.n_passes += 1
        lifted = xp.take(_with_zeros(xp, weights), self._instance_of_row, axis=1)
        inner = weighted_sums(features.data, lifted, features.shift) * features.factor
        return (_with_ones(xp, weights, inner) if self._lead else inner) / self.lam

    def columns(self, chosen: Any) -> Any:
        features, xp = self._features, self._features.xp
        flat = xp.reshape(chosen, (-1,))
        place = xp.where(flat < self._lead, 0, flat - self._lead)
        values = xp.take(taken_columns(features.data, place), features.rows_there, axis=0)
        values = xp.astype(values, xp.float64) - xp.take(features.shift, place)
        values = xp.where(flat < self._lead, 1.0, values * xp.take(features.factor, place))
        values = xp.reshape(xp.matrix_transpose(values), (*chosen.shape, -1))
        return values / xp.take_along_axis(self.lam, chosen, axis=1)[:, :, None]


class _OwnColumnsOnDevice:
    """Every problem has rows, shifts and scales of its own."""

    def __init__(self, features: Sequence[DeviceFeatures], lam: Any) -> None:
        self.lam, self._first, self._xp = lam, features[0], features[0].xp
        self._lead = int(self._first.has_intercept)
        self._shift = self._xp.stack([each.shift for each in features])
        self._factor = self._xp.stack([each.factor for each in features])
        self._rows = self._xp.stack([each.rows_there for each in features])
        self._instance_of_row = asarray_like(lam, np.stack([_instance_of_row(each) for each in features]))

    def keep(self, places: Any) -> None:
        for name in ("lam", "_shift", "_factor", "_rows", "_instance_of_row"):
            setattr(self, name, self._xp.take(getattr(self, name), places, axis=0))

    def products(self, weights: Any) -> Any:
        """One product with the shift of the first problem, from which those of the others are not far."""
        first, xp = self._first, self._xp
        first.n_passes += 1
        lifted = xp.take_along_axis(_with_zeros(xp, weights), self._instance_of_row, axis=1)
        further = xp.sum(weights, axis=1, keepdims=True) * (self._shift - first.shift)
        inner = (weighted_sums(first.data, lifted, first.shift) - further) * self._factor
        return (_with_ones(xp, weights, inner) if self._lead else inner) / self.lam

    def columns(self, chosen: Any) -> Any:
        xp, (n_problems, q) = self._xp, chosen.shape
        place = xp.where(chosen < self._lead, 0, chosen - self._lead)
        columns = taken_columns(self._first.data, xp.reshape(place, (-1,)))
        columns = xp.reshape(xp.matrix_transpose(columns), (n_problems, q, -1))
        rows = xp.broadcast_to(self._rows[:, None, :], (n_problems, q, self._rows.shape[1]))
        values = xp.astype(xp.take_along_axis(columns, rows, axis=2), xp.float64)
        values = values - xp.take_along_axis(self._shift, place, axis=1)[:, :, None]
        values = values * xp.take_along_axis(self._factor, place, axis=1)[:, :, None]
        values = xp.where((chosen < self._lead)[:, :, None], 1.0, values)
        return values / xp.take_along_axis(self.lam, chosen, axis=1)[:, :, None]


def _with_zeros(xp: Any, weights: Any) -> Any:
    """Weights of the instances and, behind them, a zero for rows that are no instance."""
    return xp.concat([weights, 0.0 * weights[:, :1]], axis=1)


def _with_ones(xp: Any, weights: Any, inner: Any) -> Any:
    """Products with a column of ones, before those with the others."""
    return xp.concat([xp.sum(weights, axis=1, keepdims=True), inner], axis=1)


def _instance_of_row(features: DeviceFeatures) -> np.ndarray:
    """For each row of the data its instance; rows that are no instance have a place behind all."""
    place = np.full(features.data.shape[0], len(features.rows))
    place[features.rows] = np.arange(len(features.rows))
    return place
