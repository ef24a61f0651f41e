"""Means and variances of the features within each class: all that either coding needs to know.

Class codings: how a label turns the instance features Psi(x) into Phi(x, y).

``Phi(x, y) = C[:, y] (x) Psi(x)`` with a coding matrix ``C`` of B rows and K columns.

* one-hot (the paper's eq. 1): ``B = K`` and ``C`` is the identity;
* signed, two classes only: ``B = 1`` and ``C = [1, -1]``, which the paper's binary experiments use.

What an engine may ask of the training features, and the scale on which they are held.

Inside, every column has unit root mean square (R* does not depend on the scale of a column, solvers
and tolerances do), and a leading column of ones stands for the intercept where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class ClassMoments:
    """Class probabilities (K), and means and population variances within each class (K x d)."""

    prior: FloatArray
    mean: FloatArray
    variance: FloatArray


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

    @property
    def classes_of_block(self) -> IntArray:
        """For each block the classes that it sees (B x classes per block)."""
        return np.array([np.flatnonzero(row) for row in self.matrix], dtype=np.intp)

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


def power_of_two(largest: FloatArray) -> FloatArray:
    """Powers of two of the size of ``largest``, 1 where that is zero.

    Dividing by them is exact, and afterwards neither 1e200 nor 1e-200 over- or underflows when squared.
    """
    power = np.ldexp(1.0, np.frexp(largest)[1] - 1)
    power[largest == 0.0] = 1.0
    return power


def is_negligible(deviation: FloatArray, shift: FloatArray, n: int) -> BoolArray:
    """Whether columns vary by no more than rounding in n operations leaves of a constant ``shift``."""
    noise = 8.0 * n * np.finfo(np.float64).eps * np.abs(shift)
    return (deviation <= noise) | (deviation < np.finfo(np.float64).tiny)


class FeatureMatrix(Protocol):
    """The n x d matrix Psi, known only by the operations below."""

    n_passes: int
    """How often all of the matrix was read."""

    is_sparse: ClassVar[bool]
    """Whether only entries that are not zero are stored."""

    @property
    def has_rough_passes(self) -> bool:
        """Whether ``correlate_roughly`` is another thing than ``correlate``."""
        ...

    @property
    def shape(self) -> tuple[int, int]: ...

    def correlate(self, block_weights: FloatArray) -> FloatArray:
        """``V Psi``: every column's product with each row of ``V`` (B x n), in one pass (B x d)."""
        ...

    def correlate_roughly(self, block_weights: FloatArray) -> FloatArray:
        """The same with no more digits than the data have themselves, where that is quicker."""
        ...

    def combine(self, coefficients: FloatArray) -> FloatArray:
        """``M Psi'``: block scores of every instance (B x n), from the non-zero columns of M (B x d)."""
        ...

    def means_of(self, function: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
        """``sum_i weights_ri function(psi_ij)`` for each row of weights (R x n), in one pass (R x d)."""
        ...

    def class_moments(self, p_hats: Sequence[FloatArray]) -> list[ClassMoments]:
        """Moments within the classes of other distributions of labels (K x n each), in one pass."""
        ...

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
        ...


@dataclass(frozen=True)
class ColumnScale:
    """The map between the caller's columns x and the inner ones (x - shift)/scale."""

    shift: FloatArray
    scale: FloatArray
    has_intercept: bool

    @property
    def n_leading(self) -> int:
        """How many inner columns stand before the caller's: one if there is an intercept."""
        return int(self.has_intercept)

    def at(self, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """Shift and scale of some of the caller's columns."""
        return self.shift[columns], self.scale[columns]

    def to_original(self, mu: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (B x d) and intercepts (B) on the caller's columns."""
        coef = mu[:, self.n_leading :] / self.scale
        intercept = -self._constant(coef)
        if self.has_intercept:
            intercept = intercept + mu[:, 0]
        return coef, intercept

    def from_original(self, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """The inverse of ``to_original``.

        Without an intercept column the constant that ``to_original`` makes has no coefficient of its own.
        """
        inner = coef * self.scale
        if not self.has_intercept:
            return inner
        return np.column_stack([intercept + self._constant(coef), inner])

    def _constant(self, coef: FloatArray) -> FloatArray:
        """``coef @ shift`` over the columns that are used, so that the others do not change its last digits.

        Shifts may be large, and what one way subtracts the other has to add.
        """
        used = np.flatnonzero(coef.any(axis=0))
        return np.take(coef, used, axis=1) @ self.at(used)[0]

    def rescaled(self, inner: FloatArray) -> FloatArray:
        """Moments of the inner columns as moments of (x - shift)."""
        return inner * self._unit

    def inner_units(self, outer: FloatArray) -> FloatArray:
        """The inverse of ``rescaled``."""
        return outer / self._unit

    @property
    def _unit(self) -> FloatArray:
        return np.concatenate([np.ones(self.n_leading), self.scale])
