"""What an engine may ask of the training features, the scale on which they are held, and class codings.

Inside, every column has unit root mean square (R* does not depend on the scale of a column, solvers and
tolerances do), and a leading column of ones stands for the intercept where there is one.

A coding turns the instance features Psi(x) into ``Phi(x, y) = C[:, y] (x) Psi(x)`` with a matrix ``C`` of B
rows and K columns.

* one-hot (the paper's eq. 1): ``B = K`` and ``C`` is the identity;
* signed, two classes only: ``B = 1`` and ``C = [1, -1]``, which the paper's binary experiments use.

Means and variances within each class are all that either coding needs to know of the features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import FloatArray, IntArray, entries_at, namespace_of, to_numpy
from minimaxrisk.features.moment_constraints import Columns, SameColumns
from minimaxrisk.features.working_rows import DenseRows, Rows

# Entries of the columns that are read at a time for products of instances.
READ_ELEMENTS = 1 << 22
# Where plain formulas for the moments are accurate: sums of squares in this range (and its inverse), and
# within a class a variance of at least this fraction of the squared mean.
SMALLEST_SQUARE, ENOUGH_VARIANCE = 1e-200, 1e-3


@dataclass(frozen=True)
class ClassMoments:
    """Class probabilities (K), and means and population variances within each class (K x d)."""

    prior: FloatArray
    mean: FloatArray
    variance: FloatArray

    @classmethod
    def of(
        cls, p_hat: FloatArray, mean: FloatArray, variance: FloatArray, *, has_intercept: bool
    ) -> ClassMoments:
        """Of the columns given, behind a column of ones if there is an intercept."""
        if has_intercept:
            mean = np.hstack([np.ones((len(mean), 1)), mean])
            variance = np.hstack([np.zeros((len(mean), 1)), variance])
        return cls(p_hat.sum(axis=1), mean, variance)


def within_class_moments(columns: FloatArray, p_hat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and variances of dense columns (n x c) within each class of ``p_hat`` (K x n)."""
    mean = np.empty((p_hat.shape[0], columns.shape[1]))
    variance = np.empty_like(mean)
    for k, mass in enumerate(p_hat):
        members = np.flatnonzero(mass)
        share = mass[members] / mass[members].sum()
        values = columns[members]
        mean[k] = share @ values
        values -= mean[k]
        variance[k] = share @ np.square(values, out=values)
    return mean, variance


@dataclass(frozen=True)
class Coding:
    """A coding matrix ``C`` (B x K) and the name it goes by."""

    name: str
    matrix: FloatArray

    @property
    def n_blocks(self) -> int:
        """B, the number of copies of Psi(x) in Phi(x, y)."""
        return int(self.matrix.shape[0])

    @property
    def n_classes(self) -> int:
        return int(self.matrix.shape[1])

    def encode(self, distribution: FloatArray) -> FloatArray:
        """``C w``: a distribution on labels x instances (K x n) as block weights (B x n)."""
        if self.name == "one-hot":
            return distribution
        return self.matrix @ distribution

    def scores(self, block_scores: FloatArray) -> FloatArray:
        """Scores ``Phi(x, y)' mu`` of every class (K x n) from those of the blocks (B x n)."""
        if self.name == "one-hot":
            return block_scores
        return self.matrix.T @ block_scores


def make_coding(name: str, n_classes: int) -> Coding:
    """The coding called ``name``; ``"auto"`` is signed for two classes and one-hot for more."""
    if name == "auto":
        name = "signed" if n_classes == 2 else "one-hot"
    if name == "signed":
        if n_classes != 2:
            raise ValueError(
                f"coding='signed' needs exactly 2 classes, got {n_classes}; "
                "use coding='one-hot' or coding='auto'."
            )
        return Coding("signed", np.array([[1.0, -1.0]]))
    if name == "one-hot":
        return Coding("one-hot", np.eye(n_classes))
    raise ValueError(f"coding must be 'auto', 'signed' or 'one-hot', got {name!r}.")


def slices_of(whole: slice, width: int) -> Iterator[slice]:
    """Parts of a slice, each of this width but for the last."""
    for start in range(whole.start, whole.stop, width):
        yield slice(start, min(start + width, whole.stop))


def power_of_two(largest: FloatArray) -> FloatArray:
    """Powers of two of the size of ``largest``, 1 where that is zero.

    Dividing by them is exact, and afterwards neither 1e200 nor 1e-200 over- or underflows when squared.
    """
    power = np.ldexp(1.0, np.frexp(largest)[1] - 1)
    power[largest == 0.0] = 1.0
    return power


# Python's own floats, the only ones that the array API standard lets meet an array.
EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)


# A column that deviates from its mean by no more than this many units in the last place of it is taken for a
# constant. Centring twice leaves far less of a constant: the square of what rounding adds to a sum.
LAST_PLACES = 4.0


def is_negligible(deviation: Any, shift: Any) -> Any:
    """Whether columns that are centred to the last digit vary by no more than their own rounding."""
    return (deviation <= LAST_PLACES * EPS * abs(shift)) | (deviation < TINY)


def may_be_constant(deviation: Any, shift: Any, n: int) -> Any:
    """Whether columns vary by no more than a sum of n terms, subtracted once, may leave of a constant."""
    return (deviation <= float(8.0 * n * EPS) * abs(shift)) | (deviation < TINY)


@dataclass(frozen=True)
class PartOfRows:
    """Some of the instances of a matrix, and their distribution lifted to all of them (K x N)."""

    rows: IntArray
    p_hat: FloatArray
    columns: Callable[[IntArray], FloatArray]  # the caller's columns on the rows, before scaling


class PassRates(NamedTuple):
    """Seconds that the two products of a first-order step take on one core."""

    latency: float  # alone
    entry: float  # for each stored entry
    product: float  # for each stored entry and block


class Products(Protocol):
    """The two products of the features, as ``FeatureMatrix`` has them."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def correlate(self, block_weights: FloatArray, /) -> FloatArray: ...

    def combine(self, coefficients: FloatArray, /) -> FloatArray: ...


class RowProducts(Products, Protocol):
    """Products of features of which some rows can be taken."""

    def some(self, rows: IntArray, /) -> RowProducts: ...


class FeatureMatrix(Protocol):
    """The n x d matrix Psi, known only by the operations below.

    A container inherits from this class, answers what has no body here, and overrides what it does better.
    What ends with ``_on_device`` is where the features are, in memory or on a device.
    """

    n_passes: int
    """How often all of the matrix was read."""

    is_sparse: ClassVar[bool] = False
    """Whether only entries that are not zero are stored."""

    is_read_in_place: ClassVar[bool] = False
    """Whether the numbers are those of the caller's array, of which there is no copy."""

    can_relabel: ClassVar[bool] = False
    """Whether ``correlate_many`` takes the moments of many labellings faster than ``class_moments``."""

    pass_rates: ClassVar[PassRates] = PassRates(0.0, 1e-9, 3e-10)
    """What a first-order step costs: 2000 x 5000 in memory took 15 ms with one block, 35 with ten."""

    drawn_elements: ClassVar[int] = 1 << 21
    """Numbers held at a time where draws of weights are multiplied: draws x components."""

    labellings_per_pass: ClassVar[int] = 1
    """How many labellings are best posed together, even if they are solved one by one."""

    @property
    def has_rough_passes(self) -> bool:
        """Whether ``correlate_roughly`` differs from ``correlate``."""
        return False

    @property
    def shared_key(self) -> int | None:
        """Equal for features on the same data, whose problems can be solved together; None if they cannot."""
        return None

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def n_rows_of_pass(self) -> int:
        """How many rows the data have that a pass reads."""
        return self.shape[0]

    @property
    def n_stored(self) -> int:
        """How many entries a pass reads."""
        return self.shape[0] * self.shape[1]

    def columns_together(self, features: Sequence[FeatureMatrix], lam: Any, *, in_batch: bool) -> Columns:
        """The columns of problems with these features, of which these are the first, in units of lambda."""
        return SameColumns(self, lam, in_batch=in_batch)

    def on_device(self, values: FloatArray) -> Any:
        """An array of this process, copied to where the features are."""
        return values

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        """``V Psi``: every column's product with each row of ``V`` (B x n), in one pass (B x d)."""
        ...

    def correlate_on_device(self, block_weights: FloatArray) -> Any:
        return self.correlate(block_weights)

    def correlate_roughly(self, block_weights: FloatArray) -> FloatArray:
        """``correlate`` with no more digits than the data have, if that is faster."""
        return self.correlate(block_weights)

    def correlate_many(self, weights: FloatArray) -> Any:
        """``correlate_on_device`` for any number of rows of weights."""
        return self.correlate_on_device(weights)

    def combine(self, coefficients: FloatArray) -> FloatArray:
        """``M Psi'``: block scores of every instance (B x n), from the non-zero columns of M (B x d)."""
        ...

    def combine_some(self, columns: IntArray, coefficients: FloatArray) -> FloatArray:
        """``combine`` for coefficients (B x c) of some columns; the others are zero."""
        everywhere = np.zeros((len(coefficients), self.shape[1]))
        everywhere[:, columns] = coefficients
        return self.combine(everywhere)

    def means_of(self, function: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
        """``sum_i weights_ri function(psi_ij)`` for each row of weights (R x n), in one pass (R x d)."""
        ...

    def largest_deviations(
        self, weights: FloatArray, sums: FloatArray, tau: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """The largest ``|weights Psi - sum tau| inverse`` of each block (draws x B), from draws x B x n."""
        centre, unit, found = self.on_device(tau), self.on_device(inverse), []
        n_at_a_time = max(1, self.drawn_elements // max(tau.size, weights.shape[2]))
        for part in slices_of(slice(0, len(weights)), n_at_a_time):
            products = self.correlate_on_device(weights[part].reshape(-1, weights.shape[2]))
            xp = namespace_of(products)
            draws = xp.reshape(products, (-1, *tau.shape))
            draws -= self.on_device(sums[part, None, None]) * centre
            draws *= unit
            # Without a copy of the absolute values.
            found.append(xp.maximum(xp.max(draws, axis=2), -xp.min(draws, axis=2)))
        return np.concatenate([to_numpy(each) for each in found])

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        """Moments within the classes of other distributions of labels (K x n each), in one pass."""
        ...

    def class_moments_of(self, columns: IntArray, p_hat: FloatArray) -> ClassMoments:
        """Accurate moments of some columns, which are gathered."""
        return ClassMoments(p_hat.sum(axis=1), *within_class_moments(self.columns(columns), p_hat))

    def has_parts(self, *, of_groups: bool) -> bool:
        """Whether ``parts`` answers; ``of_groups`` says that the radii will ask for means of instances."""
        return False

    def parts(
        self, scale: ColumnScale, parts: Sequence[PartOfRows], *, centre: bool
    ) -> Sequence[Scaled | None]:
        """Parts with a scale of their own, read where the whole is; None for a part to be built anew."""
        return [None] * len(parts)

    def copied(self) -> FeatureMatrix:
        """These features in the form that is fastest to read again and again."""
        return self

    def by_row(self) -> RowProducts | None:
        """The same features held row by row; None where that is no faster to choose rows from."""
        return None

    def lengths_of_instances(self) -> FloatArray:
        """The length of every row psi_i (n), where they may differ much; else ones."""
        return np.ones(self.shape[0])

    def averaged(self, shares: sparse.csr_array) -> FeatureMatrix:
        """Means of instances (u x d): each row of ``shares`` (u x n) sums to one."""
        ...

    def some_rows(self, indices: IntArray, *, after: FloatArray) -> FeatureMatrix:
        """Some instances, behind others whose features are given (k x d): a matrix of its own."""
        ...

    def columns(self, indices: IntArray) -> FloatArray:
        """Some columns as a dense n x c array."""
        ...

    def shifted_columns(self, indices: IntArray) -> tuple[sparse.csc_array, FloatArray]:
        """Some columns as ``V - 1 c'``: V has few entries where the data have few, c one per column."""
        return sparse.csc_array(self.columns(indices)), np.zeros(len(indices))

    def working_rows(self, indices: IntArray) -> Rows:
        """Some columns as the rows of a working set."""
        return DenseRows(self.columns(indices).T)


def products_of_instances(features: FeatureMatrix, unit: FloatArray) -> FloatArray:
    """``Psi D^2 Psi'`` (n x n) in one pass, with D the diagonal matrix of ``unit``."""
    n, d = features.shape
    total, width = np.zeros((n, n)), max(1, READ_ELEMENTS // n)
    features.n_passes += 1
    for part in slices_of(slice(0, d), width):
        columns = np.arange(part.start, part.stop)
        if features.is_sparse:
            values, shift = features.shifted_columns(columns)
            values, shift = values @ sparse.diags_array(unit[columns]), shift * unit[columns]
            across = values @ shift
            total += (values @ values.T).toarray() - across[:, None] - across + shift @ shift
        else:
            scaled = features.columns(columns) * unit[columns]
            total += scaled @ scaled.T
    return total


def squared_norm(
    features: Products, start: FloatArray, n_iterations: int, weights: FloatArray | float = 1.0
) -> float:
    """The largest eigenvalue of ``D Psi Psi'D``, by power iterations from ``start`` (1 x n).

    D is the diagonal matrix of the weights.
    """
    v, square = start, 0.0
    for _ in range(n_iterations):
        v = weights * features.combine(features.correlate(weights * v / np.linalg.norm(v)))
        square = float(np.linalg.norm(v))
        if square == 0.0:
            break
    return square


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
        """How many inner columns stand before the caller's: one if there is an intercept."""
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


# What a container makes of the data: its features, their moments within classes, and how they were scaled.
Scaled: TypeAlias = tuple[FeatureMatrix, ClassMoments, ColumnScale]
