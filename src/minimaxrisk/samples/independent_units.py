"""Independent units, on which the radii and random parts of the samples are based.

A unit is a row, or with groups (measurements of one patient) a group, with the mean of its rows and the sum
of their weights. With p_u the share of unit u in all weight, and Z_u the mean of its Phi(x, y),

    tau = sum_u p_u Z_u,    Var tau = sum_u p_u^2 Var Z_u.

The variance is estimated by ``sum_u p_u^2 (Z_u - tau)^2``, however the weights and sizes of groups depend on
Z. With ``noise_u = p_u^2 / sum p^2`` and ``n = 1 / sum p^2`` that is ``sigma^2 / n``, where sigma is the root
mean square of ``Z_u - tau`` under the noise: for units of equal weight the usual standard error.

This estimate is itself uncertain. As a sum of squares with unequal weights it is as precise as one from
``1 / sum_u noise_u^2`` units of equal weight, and each mean estimated from the same units takes the share
``2 sum_u noise_u p_u - sum_u p_u^2`` of it, which is 1/n for units of equal weight.

With the signed coding of two classes the samples of a group may have both: Phi(x, y) is x or -x, and Z_u of a
matched pair is half of its difference. Such a group stands for one of its classes, and its mean takes the
rows of the other one with the opposite sign, which is the same Z_u.

Random parts keep the shares of the classes: independent draws of units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.samples.groups import labels_of_units
from minimaxrisk.samples.validation import TrainingData


@dataclass(frozen=True)
class Units:
    """Weights of labels x units (K x u), their noise, and the equivalent number of units of equal weight."""

    p_hat: FloatArray
    noise: FloatArray  # equal to p_hat if the weights are counts
    n: float
    n_for_spread: FloatArray  # per class, the equivalent number of units of equal weight for its variance
    lost_per_mean: float = 1.0  # what each estimated mean takes from n when the variance is estimated
    # The share of each instance in the mean of each unit (u x n); None if the instances are the units.
    shares: sparse.csr_array | None = None
    has_mixed_groups: bool = False  # with samples of several classes

    @property
    def has_noise_of_its_own(self) -> bool:
        return not np.array_equal(self.noise, self.p_hat)

    def check_coding(self, coding: str) -> None:
        """Refuse groups of several classes where the coding has no mean for them."""
        if self.has_mixed_groups and coding != "signed":
            raise ValueError(
                "groups with samples of different labels, as matched pairs, have radii for two classes and "
                f"coding='signed' alone, but there are {len(self.p_hat)} classes and coding={coding!r}; take "
                "two classes at a time and coding='auto', or fit without groups, and pass groups to "
                "error_bound and as strata to permutation_test."
            )


def mass_of(
    labels: IntArray, weights: FloatArray, place: IntArray, n_classes: int, n_places: int
) -> FloatArray:
    """Weight of each label at each place (K x places), from rows of positive weight."""
    mass = np.zeros((n_classes, n_places))
    weighted = np.flatnonzero(weights > 0)
    np.add.at(mass, (labels[weighted], place[weighted]), weights[weighted])
    return mass


def units_of_rows(
    p_hat: FloatArray, labels: IntArray, weights: FloatArray, counts: FloatArray | None, place: IntArray
) -> Units:
    """Rows as units, of the instances at ``place``, whose distribution is ``p_hat``.

    ``counts`` is how many samples a row represents, if that is not its weight. The variance of the weighted
    mean of c samples of weight w/c grows with ``w^2 / c``.
    """
    if counts is None:
        total = float(weights.sum())
        return Units(p_hat, p_hat, total, total * p_hat.sum(axis=1))
    used = np.flatnonzero(weights > 0)
    each = weights[used] / counts[used] / weights.sum()
    noise_of_unit, n, n_for_spread, lost = _precision(each, counts[used], labels[used], len(p_hat))
    noise_of_row = np.zeros_like(weights)
    noise_of_row[used] = noise_of_unit * counts[used]
    noise = mass_of(labels, noise_of_row, place, *p_hat.shape)
    return Units(p_hat, noise, n, n_for_spread, lost)


def _precision(
    p: FloatArray, counts: FloatArray, labels: IntArray, n_classes: int
) -> tuple[FloatArray, float, FloatArray, float]:
    """Noise of each unit, and the other numbers of ``Units``, from ``counts`` units of each weight p."""
    n = 1.0 / float(counts @ p**2)
    noise = n * p**2
    of_class, squares = (
        np.bincount(labels, counts * power, minlength=n_classes) for power in (noise, noise**2)
    )
    lost = 2.0 * n * float(counts @ (noise * p)) - 1.0
    return noise, n, of_class**2 / squares, lost


def units_of_groups(
    groups: IntArray, labels: IntArray, weights: FloatArray, place: IntArray, shape: tuple[int, int]
) -> Units:
    """Groups as units, in an order that does not depend on that of the rows; ``shape`` is K x n."""
    n_classes, n_places = shape
    used = np.flatnonzero(weights > 0)
    n_groups = int(groups[used].max()) + 1
    first = np.full(n_groups, n_places)
    np.minimum.at(first, groups[used], place[used])
    rank = np.empty(n_groups, dtype=np.intp)
    rank[np.argsort(first, kind="stable")] = np.arange(n_groups)
    unit = rank[groups]
    weight_of_unit = np.bincount(unit[used], weights[used], minlength=n_groups)
    label = np.zeros(n_groups, dtype=np.intp)  # groups without a row of weight come last, and weigh nothing
    of_used = labels_of_units(unit[used], labels[used], n_classes)
    label[: len(of_used)] = of_used
    is_other = labels[used] != label[unit[used]]
    share = weights[used] / weight_of_unit[unit[used]]
    shares = sparse.csr_array(
        (np.where(is_other, -share, share), (unit[used], place[used])), shape=(n_groups, n_places)
    )
    shares.sum_duplicates()
    p_hat = mass_of(label[unit], weights, unit, n_classes, n_groups) / weights.sum()
    noise, n, n_for_spread, lost = _precision(p_hat.sum(axis=0), np.ones(n_groups), label, n_classes)
    noise = np.where(p_hat > 0.0, noise, 0.0)
    return Units(p_hat, noise, n, n_for_spread, lost, shares, bool(is_other.any()))


# Relative; 0.29 * 100 is a little less than 29.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Strata:
    """The units of the rows and of each class."""

    unit_of_row: IntArray  # the first row of its unit, or -1 for rows of weight zero
    of_class: tuple[IntArray, ...]

    @classmethod
    def of(cls, data: TrainingData) -> Strata:
        unit = unit_of_row(data)
        used = unit >= 0
        first, codes = np.unique(unit[used], return_inverse=True)
        label = labels_of_units(codes, data.labels[used], len(data.classes))
        return cls(unit, tuple(first[label == k] for k in range(len(data.classes))))

    def rows_of(self, units: IntArray) -> IntArray:
        """All rows of some units, in ascending order."""
        chosen = np.zeros(len(self.unit_of_row) + 1, dtype=np.bool_)  # index -1 is the last entry
        chosen[units] = True
        return np.flatnonzero(chosen[self.unit_of_row])


def independent_parts(units: Strata, n_parts: int, fraction: float, random: Any) -> list[IntArray]:
    """Rows of parts that are drawn independently, without replacement within a part.

    A part holds the fraction of each class, rounded down, but at least one unit; so it leaves one out, unless
    a class has no other.
    """
    parts = []
    for _ in range(n_parts):
        chosen = [
            random.permutation(members)[: max(1, int(fraction * len(members) * (1 + ROUNDING)))]
            for members in units.of_class
        ]
        parts.append(units.rows_of(np.concatenate(chosen)))
    return parts


def unit_of_row(data: TrainingData) -> IntArray:
    """For each row the first row of its group, or itself without groups; -1 for rows of weight zero."""
    used = data.weights > 0
    if data.groups is None:
        return np.where(used, np.arange(len(used)), -1)
    rows = np.flatnonzero(used)
    first = rows[np.unique(data.groups[rows], return_index=True)[1]]
    return np.where(used, first[data.groups], -1)


def one_of_each(unit: IntArray, random: Any) -> IntArray:
    """Return a row of each unit, drawn: the first one in a random order of the rows."""
    order = random.permutation(len(unit))
    first: IntArray = order[np.unique(unit[order], return_index=True)[1]]
    return first


def weights_follow_labels(weights: FloatArray, y: np.ndarray) -> bool:
    """Return whether all samples of a class have one weight, and not all classes the same."""
    of_class = [np.unique(weights[y == label]) for label in np.unique(y)]
    return all(len(found) == 1 for found in of_class) and len(np.unique(weights)) > 1
