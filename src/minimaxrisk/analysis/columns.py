"""What values of columns give away: an order of lines, codes of labels, one column that carries a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse, stats

from minimaxrisk._utils.arrays import DataMatrix, FloatArray

# Along fewer lines a column may rise by chance.
ENOUGH_LINES = 10
# With so many samples, one in 500,000 columns of two equally frequent values repeats two labels by chance.
ENOUGH_SAMPLES = 20
# A column carries a model with this share of all importance, if it alone orders so many of the pairs of a
# sample in a class and one outside, and any other column has so many times as many pairs in disorder. In
# halves of the leukaemia data genes have 70% of the importance and order all pairs, but others do as well.
CARRIES, TELLS, TIMES_WRONG = 0.4, 0.8, 2.0
# Of a code of the labels so many entries may be wrong, where other columns have many values.
FLIPPED, MOST_LOOKED_AT = 0.1, 200


def rising_columns(X: DataMatrix, names: Sequence[str]) -> list[str]:
    """The columns that rise from line to line, or fall: counters, accession numbers, times."""
    if sparse.issparse(X) or X.shape[0] < ENOUGH_LINES:
        return []
    steps = np.diff(X, axis=0)
    return [names[j] for j in np.flatnonzero((steps > 0.0).all(axis=0) | (steps < 0.0).all(axis=0)).tolist()]


def columns_like_labels(
    X: FloatArray, names: Sequence[str], y: np.ndarray, *, errors: float = 0.0
) -> list[str]:
    """The columns with as many values as there are classes, one for each, but for this share of errors."""
    if len(y) < ENOUGH_SAMPLES:
        return []
    own = np.unique(y, return_inverse=True)[1]
    n_classes, found = int(own.max()) + 1, []
    for j in range(X.shape[1]):
        values, codes = np.unique(X[:, j], return_inverse=True)
        if len(values) != n_classes:
            continue
        counts = np.zeros((n_classes, n_classes), dtype=np.intp)
        np.add.at(counts, (codes, own), 1)
        is_one_to_one = len(set(counts.argmax(axis=1).tolist())) == n_classes
        if is_one_to_one and len(y) - counts.max(axis=1).sum() <= errors * len(y):
            found.append(names[j])
    return found


def have_many_values(X: DataMatrix) -> bool:
    """Whether most columns have many values, so that one with few is something else."""
    if sparse.issparse(X):
        return False
    places = np.linspace(0, X.shape[1] - 1, min(MOST_LOOKED_AT, X.shape[1])).astype(np.intp)
    n_values = 1 + np.count_nonzero(np.diff(np.sort(X[:, places], axis=0), axis=0), axis=0)
    return bool(np.median(n_values) >= X.shape[0] / 2)


def carrying_column(
    importances: FloatArray, values: FloatArray, names: Sequence[str], y: np.ndarray, X: DataMatrix
) -> str | None:
    """The column that carries the model alone: much of its importance, and no other tells a class nearly so.

    ``values`` and ``importances`` are those of the used columns; others are those of X unless it is sparse.
    """
    total = float(np.sum(importances))
    if not total > 0.0 or len(y) < ENOUGH_SAMPLES:
        return None
    best = int(np.argmax(importances))
    if importances[best] < CARRIES * total:
        return None
    compared = values if sparse.issparse(X) else X
    for label in np.unique(y):
        area = float(_areas(values[:, best, None], y == label)[0])
        if area < TELLS:
            continue
        # The first of all is this column, or does better.
        second = np.sort(_areas(compared, y == label))[-2:][0]
        if 1.0 - second > TIMES_WRONG * (1.0 - area):
            return names[best]
    return None


def _areas(X: FloatArray, is_own: np.ndarray) -> FloatArray:
    """The areas under the ROC curves of columns, whichever side the class is on."""
    n_own, n_others = int(is_own.sum()), int((~is_own).sum())
    sums = np.concatenate(
        [stats.rankdata(X[:, j : j + 500], axis=0)[is_own].sum(axis=0) for j in range(0, X.shape[1], 500)]
    )
    area = (sums - n_own * (n_own + 1) / 2) / (n_own * n_others)
    return np.asarray(np.maximum(area, 1.0 - area))
