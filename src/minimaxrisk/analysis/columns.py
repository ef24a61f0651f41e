"""What names and values of columns give away: counters of lines, codes of the labels, clinical data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray

FEW, MOST = 20, 0.8  # how many other columns, in number and share, make a few remarkable
# Fewer lines may be counted by a column by chance.
ENOUGH_LINES = 10
# With so many samples, one in 500,000 columns of two equally frequent values repeats two labels by chance.
ENOUGH_SAMPLES = 20
# Words in names of columns that describe patients, not genes.
CLINICAL = frozenset(
    """
    age sex gender survival bmi weight height stage grade relapse recurrence metastasis death dead alive vital
    smoking smoker race ethnicity outcome treatment therapy dose followup censored censor status event time
    days months years year gleason ecog karnofsky batch plate rin purity diagnosis
    """.split()  # noqa: SIM905
)
# The same, if the name has no other part: with one, it may be a gene.
CLINICAL_ALONE = frozenset({"os", "pfs", "dfs", "rfs", "efs", "psa", "follow_up", "follow-up"})


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


def clinical_names(names: Sequence[str]) -> list[str]:
    """The columns with names of clinical data, where they are few among many others."""
    odd = [name for name in names if _is_clinical(name)]
    return odd if len(names) - len(odd) >= max(FEW, MOST * len(names)) else []


def _is_clinical(name: str) -> bool:
    lowered = name.strip().lower()
    words = "".join(letter if letter.isalnum() else " " for letter in lowered).split()
    return lowered in CLINICAL_ALONE or not CLINICAL.isdisjoint(words)
