"""What values of columns give away: counters of lines, codes of the labels, a column that carries a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score

from minimaxrisk._utils.arrays import DataMatrix, FloatArray

# Fewer lines may be counted by a column by chance.
ENOUGH_LINES = 10
# With so many samples, one in 500,000 columns of two equally frequent values repeats two labels by chance.
ENOUGH_SAMPLES = 20
# A column carries a model with this share of all importance, if it alone orders so many of the pairs of a
# sample in a class and one outside. In the data sets of the paper, their stand-ins, halves and bootstraps the
# largest share is 0.30.
CARRIES, TELLS = 0.5, 0.95


def line_counters(X: DataMatrix, names: Sequence[str]) -> list[str]:
    """The columns that rise by one from line to line."""
    n = X.shape[0]
    if sparse.issparse(X) or n < ENOUGH_LINES:
        return []
    rises = np.flatnonzero(np.isfinite(X[0]) & (X[1] == X[0] + 1) & (X[-1] == X[0] + n - 1)).tolist()
    return [names[j] for j in rises if np.array_equal(X[:, j], X[0, j] + np.arange(n))]


def columns_like_labels(X: FloatArray, names: Sequence[str], y: np.ndarray) -> list[str]:
    """The columns with one value per class, different for all classes."""
    if len(y) < ENOUGH_SAMPLES:
        return []
    _, first, codes = np.unique(y, return_index=True, return_inverse=True)
    of_class = X[first]
    is_constant = (of_class[codes] == X).all(axis=0)
    is_told_apart = (np.diff(np.sort(of_class, axis=0), axis=0) > 0).all(axis=0)
    return [names[j] for j in np.flatnonzero(is_constant & is_told_apart).tolist()]


def carrying_column(
    importances: FloatArray, values: FloatArray, names: Sequence[str], y: np.ndarray
) -> str | None:
    """The column that carries the model alone: most of its importance, and a class told by it alone.

    ``values`` and ``importances`` are those of the used columns.
    """
    total = float(np.sum(importances))
    if not total > 0.0 or len(y) < ENOUGH_SAMPLES:
        return None
    best = int(np.argmax(importances))
    if importances[best] < CARRIES * total:
        return None
    for label in np.unique(y):
        area = roc_auc_score(y == label, values[:, best])
        if max(area, 1.0 - area) >= TELLS:
            return names[best]
    return None
