"""The columns of many problems whose data are rows of one array on a device; see ``shared_columns``.

Problem p has n of the rows and the columns ``(X - shift_p) factor_p``, behind ones if there is an intercept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from minimaxrisk._utils.arrays import beside
from minimaxrisk.features.device import DeviceFeatures, taken_columns, weighted_sums


class DeviceColumns(Protocol):
    """What the loop asks about the columns of all problems; the first index is the problem."""

    def keep(self, places: Any) -> None:
        """Forget the other problems."""
        ...

    def products(self, weights: Any) -> Any:
        """Each problem's own weights (problems x n) times each of its columns (problems x d)."""
        ...

    def gathered(self, chosen: Any) -> Any:
        """Some columns of each problem (problems x q), written down (problems x q x n)."""
        ...


def columns_of(features: Sequence[DeviceFeatures]) -> DeviceColumns:
    """Of problems on one array, with as many instances each."""
    if all(each is features[0] for each in features):
        return SameColumns(features[0])
    return OwnColumns(features)


class SameColumns:
    """All problems have the same features, as those with other labels have."""

    def __init__(self, features: DeviceFeatures) -> None:
        self._features, self._lead = features, int(features.has_intercept)
        self._instance_of_row = beside(features.data, instance_of_row(features))

    def keep(self, places: Any) -> None:
        pass

    def products(self, weights: Any) -> Any:
        features, xp = self._features, self._features.xp
        features.n_passes += 1
        lifted = xp.take(xp.concat([weights, 0.0 * weights[:, :1]], axis=1), self._instance_of_row, axis=1)
        inner = weighted_sums(features.data, lifted, features.shift) * features.factor
        return with_ones(xp, weights, inner) if self._lead else inner

    def gathered(self, chosen: Any) -> Any:
        features, xp = self._features, self._features.xp
        flat = xp.reshape(chosen, (-1,))
        place = xp.where(flat < self._lead, 0, flat - self._lead)
        values = xp.take(taken_columns(features.data, place), features.rows_there, axis=0)
        values = xp.astype(values, xp.float64) - xp.take(features.shift, place)
        values = xp.where(flat < self._lead, 1.0, values * xp.take(features.factor, place))
        return xp.reshape(xp.matrix_transpose(values), (*chosen.shape, -1))


class OwnColumns:
    """Every problem has rows, shifts and scales of its own."""

    def __init__(self, features: Sequence[DeviceFeatures]) -> None:
        self._first, self._xp = features[0], features[0].xp
        self._lead = int(self._first.has_intercept)
        xp, data = self._xp, self._first.data
        self._shift = xp.stack([each.shift for each in features])
        self._factor = xp.stack([each.factor for each in features])
        self._rows = xp.stack([each.rows_there for each in features])
        self._instance_of_row = beside(data, np.stack([instance_of_row(each) for each in features]))

    def keep(self, places: Any) -> None:
        for name in ("_shift", "_factor", "_rows", "_instance_of_row"):
            setattr(self, name, self._xp.take(getattr(self, name), places, axis=0))

    def products(self, weights: Any) -> Any:
        """One product with the shift of the first problem, from which those of the others are not far."""
        first, xp = self._first, self._xp
        first.n_passes += 1
        padded = xp.concat([weights, 0.0 * weights[:, :1]], axis=1)
        lifted = xp.take_along_axis(padded, self._instance_of_row, axis=1)
        further = xp.sum(weights, axis=1, keepdims=True) * (self._shift - first.shift)
        inner = (weighted_sums(first.data, lifted, first.shift) - further) * self._factor
        return with_ones(xp, weights, inner) if self._lead else inner

    def gathered(self, chosen: Any) -> Any:
        xp, (n_problems, q) = self._xp, chosen.shape
        place = xp.where(chosen < self._lead, 0, chosen - self._lead)
        columns = taken_columns(self._first.data, xp.reshape(place, (-1,)))
        columns = xp.reshape(xp.matrix_transpose(columns), (n_problems, q, -1))
        rows = xp.broadcast_to(self._rows[:, None, :], (n_problems, q, self._rows.shape[1]))
        values = xp.astype(xp.take_along_axis(columns, rows, axis=2), xp.float64)
        values = values - xp.take_along_axis(self._shift, place, axis=1)[:, :, None]
        values = values * xp.take_along_axis(self._factor, place, axis=1)[:, :, None]
        return xp.where((chosen < self._lead)[:, :, None], 1.0, values)


def with_ones(xp: Any, weights: Any, inner: Any) -> Any:
    """Products with a column of ones, before those with the others."""
    return xp.concat([xp.sum(weights, axis=1, keepdims=True), inner], axis=1)


def instance_of_row(features: DeviceFeatures) -> np.ndarray:
    """For each row of the data its instance; those that are none have a place behind all."""
    place = np.full(features.data.shape[0], len(features.rows))
    place[features.rows] = np.arange(len(features.rows))
    return place
