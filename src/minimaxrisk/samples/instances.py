"""From rows of a table to distinct instances and the empirical distribution on them.

A row repeated and a row of weight 2 describe the same data, and they must give the same model even
where the optimum is not unique. So rows of weight zero are left out, equal rows become one instance,
and instances are put into an order that depends on their values alone. Merging changes nothing in
the optimum: splitting an instance's worst-case mass between copies keeps every moment and the error.

Instances without a label have no mass in the empirical distribution; the adversary may put some there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray


@dataclass(frozen=True)
class Instances:
    """Distinct instances of a training set and the empirical distribution ``p_hat`` (K x n) on them."""

    rows: IntArray  # for each instance, one row of X that holds it
    instance_of_row: IntArray  # for each row of X its instance, -1 for labelled rows of weight zero
    share_of_row: FloatArray  # weight of the row over the weight of its instance
    p_hat: FloatArray
    total_weight: float
    noise_of_row: FloatArray  # the row's share of the variance of a weighted mean
    noise: FloatArray  # the same of labels x instances (K x n); with weights that count samples it is p_hat
    n_effective: float  # so many samples of equal weight have means as exact: what the radii call n

    @property
    def n_instances(self) -> int:
        return len(self.rows)

    @property
    def weights(self) -> FloatArray:
        """Probability of each instance under the empirical distribution."""
        return self.p_hat.sum(axis=0)

    def relabelled(self, labels: IntArray, weights: FloatArray, n_classes: int) -> Instances:
        """The same instances and row weights with other labels."""
        mass, noise = (
            _mass(labels, of_row, self.instance_of_row, n_classes, self.n_instances)
            for of_row in (weights, self.noise_of_row)
        )
        return replace(self, p_hat=mass / self.total_weight, noise=noise)

    def to_rows(self, distribution: FloatArray) -> FloatArray:
        """A distribution on labels x instances (K x n) as one on rows x labels, by weight of the row."""
        known = self.instance_of_row >= 0
        per_row = np.zeros((len(known), distribution.shape[0]))
        per_row[known] = distribution.T[self.instance_of_row[known]] * self.share_of_row[known, None]
        return per_row

    def from_rows(self, per_row: FloatArray) -> FloatArray:
        """The inverse of ``to_rows``: sum the rows of each instance."""
        known = self.instance_of_row >= 0
        total = np.zeros((self.n_instances, per_row.shape[1]))
        np.add.at(total, self.instance_of_row[known], per_row[known])
        return np.ascontiguousarray(total.T)


def distinct_instances(
    X: DataMatrix,
    labels: IntArray,
    weights: FloatArray,
    n_classes: int,
    *,
    counts: FloatArray | None = None,
    n_unlabeled: int = 0,
) -> Instances:
    """Merge equal rows and order the instances canonically.

    Rows of weight zero take no part but for the last ``n_unlabeled``, which are instances without a label.
    ``counts`` says for how many samples a row stands, where that is not its weight. c samples of weight w/c
    have a weighted mean whose variance grows with ``w^2 / c``, so that all rows together are as good as
    ``(sum w)^2 / sum (w^2 / c)`` samples of equal weight.
    """
    takes_part = weights > 0
    takes_part[len(weights) - n_unlabeled :] = True
    kept = np.flatnonzero(takes_part)
    codes = _sparse_row_codes(X, kept) if sparse.issparse(X) else _dense_row_codes(X, kept)
    n_instances = int(codes.max()) + 1

    rows = np.empty(n_instances, dtype=np.intp)
    rows[codes[::-1]] = kept[::-1]  # the first row of each group stays
    instance_of_row = np.full(len(weights), -1, dtype=np.intp)
    instance_of_row[kept] = codes

    mass = _mass(labels, weights, instance_of_row, n_classes, n_instances)
    # Copies of an instance that has no weight at all share alike.
    row_weight, instance_weight = weights[kept], mass.sum(axis=0)
    alike = (instance_weight == 0.0)[codes]
    row_weight = np.where(alike, 1.0, row_weight)
    instance_weight = np.where(instance_weight == 0.0, np.bincount(codes), instance_weight)
    share = np.zeros(len(weights))
    share[kept] = row_weight / instance_weight[codes]
    total = float(mass.sum())
    if counts is None:
        noise_of_row, n_effective = weights / total, total
    else:
        squares = np.divide(weights**2, counts, out=np.zeros_like(weights), where=weights > 0)
        noise_of_row, n_effective = squares / squares.sum(), float(total**2 / squares.sum())
    noise = _mass(labels, noise_of_row, instance_of_row, n_classes, n_instances)
    return Instances(rows, instance_of_row, share, mass / total, total, noise_of_row, noise, n_effective)


def _mass(
    labels: IntArray, weights: FloatArray, instance_of_row: IntArray, n_classes: int, n_instances: int
) -> FloatArray:
    """Weight of each label at each instance (K x n)."""
    mass = np.zeros((n_classes, n_instances))
    weighted = np.flatnonzero(weights > 0)
    np.add.at(mass, (labels[weighted], instance_of_row[weighted]), weights[weighted])
    return mass


def _dense_row_codes(X: FloatArray, kept: IntArray) -> IntArray:
    """Rank of each kept row among the distinct ones, comparing bytes.

    A few columns usually tell all rows apart; more are read only while ties remain.
    """
    codes = np.zeros(len(kept), dtype=np.int64)
    start, width = 0, 16
    while start < X.shape[1]:
        block = np.ascontiguousarray(X[:, start : start + width][kept])
        block = block + 0.0  # -0.0 and 0.0 are the same value
        # Big-endian, so that the order of the bytes is that of the numbers and earlier columns decide first.
        keys = np.hstack([_as_bytes(codes[:, None].astype(">i8")), _as_bytes(block)])
        void = np.dtype((np.void, keys.shape[1]))
        distinct, codes = np.unique(keys.view(void).ravel(), return_inverse=True)
        if len(distinct) == len(kept):
            break
        start, width = start + width, 4 * width
    return codes.astype(np.intp)


def _as_bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)


def _sparse_row_codes(X: DataMatrix, kept: IntArray) -> IntArray:
    """The same for CSR rows with sorted indices and no stored zeros."""
    keys = [
        (X.indices[a:b].tobytes(), X.data[a:b].tobytes())
        for a, b in zip(X.indptr[kept], X.indptr[kept + 1], strict=True)
    ]
    rank = {key: i for i, key in enumerate(sorted(set(keys)))}
    return np.array([rank[key] for key in keys], dtype=np.intp)
