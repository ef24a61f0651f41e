"""What data checks look at: a table with labels and names, and what a model makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray

Names: TypeAlias = Sequence[Any] | np.ndarray


@dataclass(frozen=True)
class StudyTable:
    """A table of numbers, which may have gaps, with labels and names.

    Attributes
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        The values; NaN where a value is missing.
    y : ndarray of shape (n_samples,)
        The labels.
    feature_names, sample_names : sequence of str
        The names of the columns and of the samples.
    groups, batch : ndarray of shape (n_samples,) or None
        Samples that are not independent, and samples that were measured together.
    owners : mapping of str to ndarray
        Columns that name the sources of the samples, such as patients.
    """

    X: DataMatrix
    y: np.ndarray
    feature_names: Names
    sample_names: Names
    groups: np.ndarray | None = None
    batch: np.ndarray | None = None
    owners: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def own(self) -> IntArray:
        """The class of each sample, as a position."""
        return np.unique(self.y, return_inverse=True)[1]

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return [str(label) for label in np.unique(self.y)]

    def names_of(self, rows: Sequence[int] | IntArray) -> tuple[str, ...]:
        """Return the names of some samples."""
        return tuple(str(self.sample_names[int(i)]) for i in rows)

    def places_of(self, rows: Sequence[int] | IntArray) -> list[str]:
        """Return the names of some samples with their places in the table, counted from 1."""
        names = zip(self.names_of(rows), rows, strict=True)
        return [name if name.isdigit() else f"{name} (sample {int(i) + 1})" for name, i in names]


@dataclass(frozen=True)
class Evidence:
    """What a model makes of a table.

    Attributes
    ----------
    columns : ndarray of int of shape (n_used,)
        The columns that the model uses.
    importances : ndarray of shape (n_used,)
        Their importances.
    predicted : ndarray of int of shape (n_samples,) or None
        The classes, as positions, that were predicted for the samples in cross-validation.
    scores : ndarray of shape (n_samples,) or (n_samples, n_classes), or None
        The decision scores of the samples in cross-validation.
    """

    columns: IntArray
    importances: FloatArray
    predicted: IntArray | None = None
    scores: FloatArray | None = None
