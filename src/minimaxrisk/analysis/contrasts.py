"""Features one by one, each class against all others: differences of means, Welch's t and q-values.

They are descriptive; the classifier does not use them. With m and v the means and variances of the two sides,

    t = (m_1 - m_0) / sqrt(v_1/n_1 + v_0/n_0),

and p is that of Welch's test. q is Benjamini
and Hochberg's adjusted p over all features that vary, selected or not. Over the selected features alone,
which were chosen with the same labels, it would be far too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse, stats
from sklearn.utils.sparsefuncs import mean_variance_axis

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray


@dataclass(frozen=True)
class Contrasts:
    """One row for each class against the rest; for two classes one row, the second against the first.

    t, p and q are NaN if a side has a single sample, or nothing varies; all are if a side has none.
    """

    labels: IntArray  # positions of the classes that the rows are about
    class_means: FloatArray  # n_classes x n_features
    difference: FloatArray  # mean of the class minus that of the rest: the log fold change of logarithms
    log2_ratio: FloatArray  # of these means, for other values; NaN unless both are positive
    t: FloatArray
    p: FloatArray
    q: FloatArray


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # of values near the largest number
def class_contrasts(X: DataMatrix, own: IntArray, n_classes: int) -> Contrasts:
    """Contrasts of all features; ``own`` is the class of each sample, as a number."""
    sizes = np.bincount(own, minlength=n_classes).astype(float)
    means, squares = _moments(X, own, n_classes)
    labels = np.array([1]) if n_classes == 2 else np.arange(n_classes)
    shape = len(labels), means.shape[1]
    difference, log2_ratio, t, p, q = (np.full(shape, np.nan) for _ in range(5))
    for row, k in enumerate(labels):
        rest = np.arange(n_classes) != k
        n_1, n_0 = sizes[k], sizes[rest].sum()
        if not min(n_1, n_0):
            continue
        mean_1, mean_0 = means[k], sizes[rest] @ means[rest] / n_0
        square_0 = squares[rest].sum(axis=0) + sizes[rest] @ (means[rest] - mean_0) ** 2
        difference[row] = mean_1 - mean_0
        both = (mean_1 > 0) & (mean_0 > 0)
        log2_ratio[row, both] = np.log2(mean_1[both] / mean_0[both])
        if min(n_1, n_0) < 2:
            continue
        spread_1, spread_0 = np.sqrt(squares[k] / (n_1 - 1)), np.sqrt(square_0 / (n_0 - 1))
        varies = spread_1 + spread_0 > 0
        sides = (means[k], spread_1, n_1), (mean_0, spread_0, n_0)
        welch = stats.ttest_ind_from_stats(*sides[0], *sides[1], equal_var=False)
        t[row, varies], p[row, varies] = welch.statistic[varies], welch.pvalue[varies]
        known = np.isfinite(p[row])
        q[row, known] = stats.false_discovery_control(p[row, known])
    return Contrasts(labels, means, difference, log2_ratio, t, p, q)


def _moments(X: DataMatrix, own: IntArray, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Means within the classes, and sums of squares around them."""
    means, squares = [], []
    for k in range(n_classes):
        rows = X[own == k]
        if sparse.issparse(rows):
            mean, variance = mean_variance_axis(sparse.csr_matrix(rows, dtype=np.float64), axis=0)
        else:
            mean, variance = rows.mean(axis=0, dtype=float), rows.var(axis=0, dtype=float)
        means.append(mean)
        squares.append(variance * rows.shape[0])
    return np.array(means), np.array(squares)
