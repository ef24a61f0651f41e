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
    """Samples in rows; NaN where a value is missing."""

    X: DataMatrix  # float64: a C-ordered ndarray or a CSR matrix
    feature_names: np.ndarray  # of str, dtype object
    sample_names: np.ndarray  # of str, dtype object; "1", "2", ... where the file has none
    has_sample_names: bool
    y: np.ndarray | None  # int64 if all labels are whole numbers, else str
    target: str | None
    source: Path
    remarks: tuple[str, ...]  # what a user should be told
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)  # columns asked for that are no features

    @property
    def values(self) -> np.ndarray:
        """The numbers that are stored: all, or those of a sparse matrix."""
        return self.X.data if sparse.issparse(self.X) else self.X
