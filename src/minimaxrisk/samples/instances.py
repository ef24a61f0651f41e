"""From rows of a table to distinct instances and the empirical distribution on them.

A repeated row and a row of weight 2 describe the same data, and they must give the same model even if the
optimum is not unique. So rows of weight zero are left out, equal rows become one instance, and instances are
sorted by their values. Merging does not change the optimum: splitting the worst-case mass of an instance
between copies keeps every moment and the error.

Instances without a label have no mass in the empirical distribution; the adversary may put some there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray, is_foreign, to_numpy
from minimaxrisk.samples.independent_units import Units, mass_of, units_of_groups, units_of_rows
from minimaxrisk.samples.validation import TrainingData

# Entries of tied rows that are compared at a time.
MOST_COMPARED = 1 << 21


@dataclass(frozen=True)
class Instances:
    """Distinct instances of a training set and the empirical distribution ``p_hat`` (K x n) on them."""

    rows: IntArray  # for each instance, one row of X that holds it
    instance_of_row: IntArray  # for each row of X its instance, -1 for labelled rows of weight zero
    share_of_row: FloatArray  # weight of the row over the weight of its instance
    p_hat: FloatArray
    total_weight: float
    units: Units  # the independent samples that the radii count

    @property
    def n_instances(self) -> int:
        return len(self.rows)

    @property
    def weights(self) -> FloatArray:
        """Probability of each instance under the empirical distribution."""
        return self.p_hat.sum(axis=0)

    def of_part(self, part: TrainingData, rows: IntArray) -> tuple[Instances, IntArray]:
        """Instances of some rows, all of positive weight, and their positions among these instances.

        They keep their order; ``part`` needs no X.
        """
        present, codes = np.unique(self.instance_of_row[rows], return_inverse=True)
        return _merged(part, np.arange(len(rows)), codes), present

    def relabelled(self, data: TrainingData) -> Instances:
        """The same instances and row weights with other labels."""
        p_hat, units = _distribution(data, self.instance_of_row, self.n_instances)
        return replace(self, p_hat=p_hat, units=units)

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


def distinct_instances(data: TrainingData) -> Instances:
    """Merge equal rows and order the instances canonically.

    Rows of weight zero are left out, except the last ``n_unlabeled``, which are instances without a label.
    """
    X, weights = data.X, data.weights
    is_kept = weights > 0
    is_kept[len(weights) - data.n_unlabeled :] = True
    kept = np.flatnonzero(is_kept)
    codes = _sparse_row_codes(X, kept) if sparse.issparse(X) else _dense_row_codes(X, kept)
    return _merged(data, kept, codes)


def _merged(data: TrainingData, kept: IntArray, codes: IntArray) -> Instances:
    """The instances of the rows ``kept``; rows with the same code are equal."""
    weights, n_instances = data.weights, int(codes.max()) + 1
    rows = np.empty(n_instances, dtype=np.intp)
    rows[codes[::-1]] = kept[::-1]  # the first row of each group stays
    instance_of_row = np.full(len(weights), -1, dtype=np.intp)
    instance_of_row[kept] = codes

    p_hat, units = _distribution(data, instance_of_row, n_instances)
    # Copies of an instance without any weight have equal shares.
    row_weight, instance_weight = weights[kept], np.bincount(codes, weights[kept], minlength=n_instances)
    row_weight = np.where((instance_weight == 0.0)[codes], 1.0, row_weight)
    instance_weight = np.where(instance_weight == 0.0, np.bincount(codes), instance_weight)
    share = np.zeros(len(weights))
    share[kept] = row_weight / instance_weight[codes]
    return Instances(rows, instance_of_row, share, p_hat, float(weights.sum()), units)


def _distribution(data: TrainingData, place: IntArray, n_instances: int) -> tuple[FloatArray, Units]:
    """The empirical distribution on labels x instances, and its independent units."""
    labels, weights, shape = data.labels, data.weights, (len(data.classes), n_instances)
    p_hat = mass_of(labels, weights, place, *shape)
    p_hat /= weights.sum()
    if data.groups is None:
        return p_hat, units_of_rows(p_hat, labels, weights, data.counts, place)
    return p_hat, units_of_groups(data.groups, labels, weights, place, shape)


def _dense_row_codes(X: DataMatrix, kept: IntArray) -> IntArray:
    """Rank of each kept row among the distinct ones, comparing bytes.

    All rows usually differ in the first few columns. More columns are read only of rows that are still tied.
    """
    codes, tied = np.zeros(len(kept), dtype=np.intp), np.arange(len(kept))
    start, width = 0, 1
    while start < X.shape[1] and len(tied) > 1:
        stop = min(start + max(1, min(width, MOST_COMPARED // len(tied))), X.shape[1])
        ranks = _ranks(_bytes_at(X, kept[tied], start, stop), codes[tied])
        if len(tied) < len(kept):
            # The rank among the tied rows breaks ties; the others keep their rank.
            within = np.zeros(len(kept), dtype=np.intp)
            within[tied] = ranks
            ranks = _ranks(within[:, None], codes)
        codes = ranks
        tied = np.flatnonzero(np.bincount(codes)[codes] > 1)
        start, width = stop, 4 * width
    return codes


def _bytes_at(X: DataMatrix, rows: IntArray, start: int, stop: int) -> np.ndarray:
    """Some rows and columns as float64, viewed as integers in the order of their bytes."""
    found = to_numpy(X[:, start:stop])[rows] if is_foreign(X) else X[rows, start:stop]
    # Adding 0.0 turns -0.0 into 0.0.
    values = np.asarray(found, dtype=np.float64) + 0.0
    return values.view(">u8").astype(np.uint64)


def _ranks(keys: np.ndarray, codes: IntArray) -> IntArray:
    """Ranks of rows by code, then by the columns of their keys."""
    order = np.lexsort((*keys.T[::-1], codes) if codes.any() else keys.T[::-1])
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = codes[order[1:]] != codes[order[:-1]]
    for key in keys.T:
        is_new[1:] |= key[order[1:]] != key[order[:-1]]
    ranks = np.empty(len(order), dtype=np.intp)
    ranks[order] = np.cumsum(is_new) - 1
    return ranks


def _sparse_row_codes(X: DataMatrix, kept: IntArray) -> IntArray:
    """The same ranks for CSR rows with sorted indices and no stored zeros.

    Of two rows that differ first in a column, the one with a zero there comes first. So a stored entry counts
    by how early its column is, then by its bytes, and a row that goes on comes after one that ends.
    """
    big_endian = X.indices.dtype.newbyteorder(">")  # whose bytes are in the order of the numbers
    entries = np.empty(X.nnz, dtype=[("earliness", big_endian), ("value", np.float64)])
    entries["earliness"], entries["value"] = X.shape[1] - X.indices, X.data
    keys = [entries[a:b].tobytes() for a, b in zip(X.indptr[kept], X.indptr[kept + 1], strict=True)]
    rank = {key: i for i, key in enumerate(sorted(set(keys)))}
    return np.array([rank[key] for key in keys], dtype=np.intp)
