"""What a user may say about a data file when it does not speak for itself.

What the caller asks a file for: it decides how the table is read, and what errors advise.

A study: features, names and labels, ready for a classifier.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.app.files.cells import (
    TextArray,
)
from minimaxrisk.app.files.problems import (
    folded,
    listed,
)

SPOKEN_DELIMITERS = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "space": " ",
    "whitespace": " ",
    "pipe": "|",
}


EVERY = "*"
AUTO = "auto"
ERROR, MEAN, MAX, SUFFIX = "error", "mean", "max", "suffix"  # what --duplicates may say


@dataclass(frozen=True)
class ReadOptions:
    """What a user says about a data file that does not speak for itself.

    All but ``as_text`` are options of the command line, by the same names. None leaves the matter to what the
    file shows.

    Parameters
    ----------
    delimiter : str or None, default=None
        What stands between the cells of a text file: one character, or a word such as ``"tab"``.
    header : bool or None, default=None
        Whether the first line names the columns.
    samples : str or None, default=None
        The column with the names of the samples.
    transpose : bool, "auto" or None, default=None
        Whether the file has features in rows and samples in columns; ``"auto"`` goes by what the file shows,
        as None does, and says what it decided.
    sheet : str or None, default=None
        The sheet of a workbook.
    labels_sheet : str or None, default=None
        The sheet with the labels.
    layer : str or None, default=None
        The layer of an ``.h5ad`` file, or the variable of an ``.npz`` or ``.mat`` file.
    skip_lines : int, default=0
        Lines above the table, of text files and workbooks.
    duplicates : {"error", "mean", "max", "suffix"}, default="error"
        What features of the same name become.
    as_text : frozenset of str, default=frozenset()
        Columns to keep as they are written, so that 01 and 1 are two values; ``"*"`` means all.

    Raises
    ------
    ValueError
        If ``delimiter`` is neither one character nor a known word, or ``transpose`` something else.

    Examples
    --------
    >>> from minimaxrisk.app.files import ReadOptions
    >>> ReadOptions(delimiter="tab").delimiter
    '\\t'
    """

    delimiter: str | None = None
    header: bool | None = None
    samples: str | None = None
    transpose: bool | str | None = None
    sheet: str | None = None
    labels_sheet: str | None = None
    layer: str | None = None
    skip_lines: int = 0
    duplicates: str = ERROR
    as_text: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.transpose not in (None, AUTO, True, False):
            raise ValueError(f"transpose must be True, False, {AUTO!r} or None, got {self.transpose!r}.")
        if self.delimiter is None:
            return
        delimiter = SPOKEN_DELIMITERS.get(self.delimiter.lower(), self.delimiter)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise ValueError(
                f"--delimiter must be one character or a word such as tab, got {self.delimiter!r}; "
                f"the words are {', '.join(name for name in SPOKEN_DELIMITERS if name.isalpha())}."
            )
        object.__setattr__(self, "delimiter", delimiter)

    @property
    def finds_orientation(self) -> bool:
        """Whether the table decides if features are in rows."""
        return self.transpose in (None, AUTO)


@dataclass(frozen=True)
class LabelTable:
    """The columns of a labels file as text."""

    path: Path
    columns: dict[str, TextArray]
    named: bool = True  # whether the columns have names of their own
    sheet: str | None = None  # that they are on, where it was named

    def __str__(self) -> str:
        return str(self.path) if self.sheet is None else f"{self.path}, sheet {self.sheet!r}"

    @property
    def name(self) -> str:
        """Without the folder."""
        return self.path.name if self.sheet is None else f"the sheet {self.sheet!r}"

    def matches(self, names: Collection[str]) -> int:
        """How many of the names the best column has."""
        asked = set(names)
        return max(len(asked.intersection(column)) for column in self.columns.values())

    def spelt_differently(self, names: Iterable[str]) -> tuple[str, str] | None:
        """One of the names and how this file spells it, if a column of it has most of them otherwise."""
        theirs = {folded(name): name for name in names}
        for column in self.columns.values():
            ours = {folded(name): name for name in column}
            common = [key for key in theirs if key and key in ours]
            if 2 * len(common) >= min(len(theirs), len(ours)):
                return theirs[common[0]], ours[common[0]]
        return None


@dataclass(frozen=True)
class ReadRequest:
    """Names that the caller gives; only commands that make a model have --target and --ignore."""

    where: Path
    target: str | None
    ignore: Sequence[str]
    options: ReadOptions
    labels: LabelTable | None = None
    features: Collection[str] = ()  # of the model that the table is for
    beside: Sequence[str] = ()  # columns about the samples, such as their patients, that are no features

    @property
    def for_model(self) -> bool:
        return bool(self.features)

    def refuse_ignored_features(self) -> None:
        clash = [name for name in self.ignore if name in self.features]
        if clash:
            raise ValueError(f"--ignore cannot leave out a feature of the model, got {listed(clash)}.")

    def target_shown(self) -> str:
        if self.for_model:
            return f"the model's target {self.target!r}"
        return f"the column {self.target!r} that --target names"


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
