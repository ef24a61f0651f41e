"""Codings of the classes, and means and variances of columns within each class.

A coding turns the instance features Psi(x) into ``Phi(x, y) = C[:, y] (x) Psi(x)`` with a matrix ``C`` of B
rows and K columns.

* one-hot (the paper's eq. 1): ``B = K`` and ``C`` is the identity;
* signed, two classes only: ``B = 1`` and ``C = [1, -1]``, which the paper's binary experiments use.

Means and variances within each class are all that either coding needs to know of the features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, concatenated, namespace_of

# Within a class plain formulas for the variance are accurate where it is this fraction of the squared mean.
ENOUGH_VARIANCE = 1e-3


@dataclass(frozen=True)
class ClassMoments:
    """Class probabilities (K), and means and population variances within each class (K x d)."""

    prior: FloatArray
    mean: Any
    variance: Any

    def with_intercept(self) -> ClassMoments:
        """These moments behind those of a column of ones."""
        one = namespace_of(self.mean).ones_like(self.mean[:, :1])
        mean, variance = concatenated([one, self.mean]), concatenated([0.0 * one, self.variance])
        return ClassMoments(self.prior, mean, variance)


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
