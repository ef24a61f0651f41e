"""What the caller says about a file (``ReadOptions``), asks of it (``ReadRequest``) and gets (``Study``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.app.files.cells import TextArray
from minimaxrisk.app.files.messages import COMMAND_LINE, PYTHON, other_spellings, spelled
from minimaxrisk.app.files.remarks import Remark

DELIMITER_WORDS = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "space": " ",
    "whitespace": " ",
    "pipe": "|",
}
EVERY = "*"
ERROR, MEAN, MAX = "error", "mean", "max"  # values of ``duplicates``


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read, where the file itself does not say.

    None means that the file decides.

    Parameters
    ----------
    delimiter : str or None, default=None
        The character between the cells of a text file, or a word for it such as ``"tab"``.
    header : bool or None, default=None
        Whether the first line names the columns.
    samples : str or None, default=None
        The column with the names of the samples.
    transpose : bool or None, default=None
        Whether the file has features in rows and samples in columns.
    sheet : str or None, default=None
        The sheet of a workbook.
    labels_sheet : str or None, default=None
        The sheet with the labels.
    layer : str or None, default=None
        The layer of an ``.h5ad`` file, or the variable of an ``.npz`` file.
    decimal : str or None, default=None
        The decimal sign of a text file, such as ``","``. None means that the file shows it.
    thousands : str or None, default=None
        What separates thousands in a text file. None means that the file shows it.
    skip_lines : int, default=0
        Lines above the table to skip, in text files and workbooks.
    duplicates : {"error", "mean", "max"}, default="error"
        What to do with features of the same name.
    as_text : frozenset of str, default=frozenset()
        Columns to keep as they are written, so that 01 and 1 are two values; ``"*"`` means all.
    spelling : {"python", "command line"}, default="python"
        How messages write options: ``target="x"`` or ``--target x``.

    Raises
    ------
    ValueError
        If ``delimiter`` is neither one character nor a known word.

    Examples
    --------
    >>> from minimaxrisk.app.files import ReadOptions
    >>> ReadOptions(delimiter="tab").delimiter
    '\\t'
    """

    delimiter: str | None = None
    header: bool | None = None
    samples: str | None = None
    transpose: bool | None = None
    sheet: str | None = None
    labels_sheet: str | None = None
    layer: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    skip_lines: int = 0
    duplicates: str = ERROR
    as_text: frozenset[str] = frozenset()
    spelling: str = PYTHON

    def __post_init__(self) -> None:
        if self.delimiter is None:
            return
        delimiter = DELIMITER_WORDS.get(self.delimiter.lower(), self.delimiter)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            option = "--delimiter" if self.spelling == COMMAND_LINE else "delimiter"
            raise ValueError(
                f"{option} must be one character or a word such as tab, got {self.delimiter!r}; "
                f"the words are {', '.join(name for name in DELIMITER_WORDS if name.isalpha())}."
            )
        object.__setattr__(self, "delimiter", delimiter)


def spell(options: ReadOptions, name: str, *values: str | bool | int) -> str:
    """An option as the caller writes it: ``--skip-lines 3``, or ``ReadOptions(skip_lines=3)`` in Python."""
    text = spelled(options.spelling, name, *values)
    if options.spelling == COMMAND_LINE or not hasattr(options, name):
        return text
    return f"ReadOptions({text if values else f'{name}=...'})"


def merge_advice(options: ReadOptions) -> str:
    """Return what to do about features of the same name."""
    return f"or pass {spell(options, 'duplicates', MEAN)} (or {MAX}) if they are measurements of one gene"


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

    @property
    def n_lines(self) -> int:
        """How many samples it may be about."""
        return len(next(iter(self.columns.values())))

    def matches(self, names: Collection[str]) -> int:
        """Return how many of the names the best column has."""
        asked = set(names)
        return max(len(asked.intersection(column)) for column in self.columns.values())

    def other_spellings(self, names: Collection[str]) -> dict[str, str]:
        """Return names of the column that has most of these names in another spelling, by these."""
        return max((other_spellings(names, column) for column in self.columns.values()), key=len)


@dataclass(frozen=True)
class ReadRequest:
    """What the caller asks a file for."""

    where: Path
    target: str | None
    ignore: Sequence[str]
    options: ReadOptions
    labels: LabelTable | None = None
    features: Collection[str] = ()  # of the model that the table is for
    sample_columns: Sequence[str] = ()  # columns about the samples, such as their patients
    classes: Collection[str] = ()  # of the model

    @property
    def for_model(self) -> bool:
        return bool(self.features)

    def target_shown(self) -> str:
        if self.for_model:
            return f"the model's target {self.target!r}"
        return f"the column {self.target!r} that {spell(self.options, 'target')} names"


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
        The name of the column with the labels.
    source : Path
        The file.
    remarks : tuple of Remark
        What a user should know about the file: codes and values, and as text sentences.
    sample_columns : mapping of str to ndarray of shape (n_samples,)
        Columns about the samples that were asked for, such as patients and batches.
    owners : mapping of str to ndarray of shape (n_samples,)
        Columns that were not asked for and, by their names, say what the samples were taken from, where some
        were taken from the same.
    descriptions : mapping of str to list of str
        What the file tells about the features beside their names, an entry for each, empty without any.
    """

    X: DataMatrix
    feature_names: np.ndarray
    sample_names: np.ndarray
    has_sample_names: bool
    y: np.ndarray | None
    target: str | None
    source: Path
    remarks: tuple[Remark, ...]
    sample_columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    owners: Mapping[str, np.ndarray] = field(default_factory=dict)
    descriptions: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def values(self) -> np.ndarray:
        """The numbers that are stored: all, or those of a sparse matrix."""
        return self.X.data if sparse.issparse(self.X) else self.X
