"""A study: features, names and labels, ready for a classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix


@dataclass(frozen=True)
class Study:
    """Features, names and labels that were read from a file, ready for a classifier.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Samples in rows, float64, NaN where a value is missing.
    feature_names : ndarray of str of shape (n_features,)
        Names of the columns.
    sample_names : ndarray of str of shape (n_samples,)
        Names of the samples; ``"1"``, ``"2"``, ... where the file has none.
    has_sample_names : bool
        Whether the file has names of samples.
    y : ndarray of shape (n_samples,) or None
        Labels: int64 if all are whole numbers, else str. None where the file has none.
    target : str or None
        What the labels are called.
    source : Path
        The file.
    remarks : tuple of str
        What a user should be told about the file.
    beside : mapping of str to ndarray of shape (n_samples,)
        Columns that were asked for and are no features, such as patients and batches.
    """

    X: DataMatrix
    feature_names: np.ndarray
    sample_names: np.ndarray
    has_sample_names: bool
    y: np.ndarray | None
    target: str | None
    source: Path
    remarks: tuple[str, ...]
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def values(self) -> np.ndarray:
        """The numbers that are stored: all, or those of a sparse matrix."""
        return self.X.data if sparse.issparse(self.X) else self.X
