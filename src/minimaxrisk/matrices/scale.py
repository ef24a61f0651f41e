"""The way between the caller's columns and the columns that solvers work with.

Inside, every column has unit root mean square: R* does not depend on the scale of a column, but solvers and
tolerances do. A leading column of ones stands for the intercept where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray, entries_at, to_numpy

# Python's own floats, the only ones that the array API standard lets meet an array.
EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
# A column that deviates from its mean by no more than this many units in the last place is a constant.
LAST_PLACES = 4.0


def power_of_two(largest: FloatArray) -> FloatArray:
    """Powers of two of the size of ``largest``, 1 where that is zero.

    Dividing by them is exact, and afterwards neither 1e200 nor 1e-200 over- or underflows when squared.
    """
    power = np.ldexp(1.0, np.frexp(largest)[1] - 1)
    power[largest == 0.0] = 1.0
    return power


def is_negligible(deviation: Any, shift: Any) -> Any:
    """Whether columns that are centred to the last digit vary by no more than their own rounding."""
    return (deviation <= LAST_PLACES * EPS * abs(shift)) | (deviation < TINY)


def may_be_constant(deviation: Any, shift: Any, n: int) -> Any:
    """Whether columns vary by no more than a sum of n terms, subtracted once, may leave of a constant."""
    return (deviation <= float(8.0 * n * EPS) * abs(shift)) | (deviation < TINY)


class KeptColumns(NamedTuple):
    """Which of the caller's columns are inner ones, where most are empty.

    Those that hold something, and the first empty one, which stands for all that are empty.
    """

    places: IntArray  # ascending
    n_all: int  # of the caller
    stand_in: int  # position of the empty one among them


@dataclass(frozen=True)
class ColumnScale:
    """The map between the caller's columns x and the inner ones (x - shift)/scale.

    Shift and scale are where the features are; they are copied to this process when somebody asks for them.
    Inner columns are counted without that of the intercept, which stands before them.
    """

    shift_on_device: Any
    scale_on_device: Any
    has_intercept: bool
    kept: KeptColumns | None = None  # all columns

    @cached_property
    def shift(self) -> FloatArray:
        return to_numpy(self.shift_on_device)

    @cached_property
    def scale(self) -> FloatArray:
        return to_numpy(self.scale_on_device)

    @property
    def n_leading(self) -> int:
        """One if there is an intercept, whose inner column stands first."""
        return int(self.has_intercept)

    @property
    def n_columns(self) -> int:
        """How many columns the caller has."""
        return int(self.shift_on_device.shape[0]) if self.kept is None else self.kept.n_all

    def columns_of(self, inner: IntArray) -> IntArray:
        """The caller's columns that some inner ones stand for."""
        return inner if self.kept is None else self.kept.places[inner]

    def inner_of(self, columns: IntArray) -> IntArray:
        """The inner columns of some of the caller's."""
        if self.kept is None:
            return columns
        place = np.minimum(np.searchsorted(self.kept.places, columns), len(self.kept.places) - 1)
        return np.where(self.kept.places[place] == columns, place, self.kept.stand_in)

    def for_columns(self, values: FloatArray) -> FloatArray:
        """Values of the inner columns (B x d), behind those of the intercept, for each of the caller's."""
        if self.kept is None:
            return values
        lead = self.n_leading
        found = np.repeat(values[:, [lead + self.kept.stand_in]], lead + self.kept.n_all, axis=1)
        found[:, :lead] = values[:, :lead]
        found[:, lead + self.kept.places] = values[:, lead:]
        return found

    def of_columns(self, values: FloatArray) -> FloatArray:
        """The inverse of ``for_columns``."""
        if self.kept is None:
            return values
        lead = self.n_leading
        return np.hstack([values[:, :lead], values[:, lead + self.kept.places]])

    def at(self, inner: IntArray) -> tuple[FloatArray, FloatArray]:
        """Shift and scale of some inner columns, copied together."""
        shift, scale = entries_at(inner, self.shift_on_device, self.scale_on_device)
        return shift, scale

    def to_original(self, mu: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """The caller's columns that are used, their coefficients (B x c) and intercepts (B).

        The others do not change the last digits of intercepts, where shifts may be large.
        """
        inner = np.flatnonzero(mu[:, self.n_leading :].any(axis=0))
        shift, scale = self.at(inner)
        coef = np.take(mu, self.n_leading + inner, axis=1) / scale
        intercept = -(coef @ shift)
        if self.has_intercept:
            intercept = intercept + mu[:, 0]
        return self.columns_of(inner), coef, intercept

    def from_original(self, columns: IntArray, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """The inverse of ``to_original``.

        Without an intercept column the constant that ``to_original`` makes has no coefficient of its own.
        """
        inner = self.inner_of(columns)
        shift, scale = self.at(inner)
        mu = np.zeros((len(coef), self.n_leading + self.shift_on_device.shape[0]))
        mu[:, self.n_leading + inner] = coef * scale
        if self.has_intercept:
            mu[:, 0] = intercept + coef @ shift
        return mu

    def rescaled(self, inner: FloatArray) -> FloatArray:
        """Moments of the inner columns as moments of (x - shift)."""
        return inner * self._unit

    def inner_units(self, outer: FloatArray) -> FloatArray:
        """The inverse of ``rescaled``."""
        return outer / self._unit

    @property
    def _unit(self) -> FloatArray:
        return np.concatenate([np.ones(self.n_leading), self.scale])
