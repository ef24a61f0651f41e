"""The columns of a labels file, as text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from minimaxrisk.files.cells import TextArray
from minimaxrisk.files.options import EVERY, ReadOptions
from minimaxrisk.files.problems import folded
from minimaxrisk.files.reader_by_format import read_raw_table

INDEX = "(index)"


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


def read_labels(path: str | Path, sheet: str | None = None) -> LabelTable:
    """All columns of the file, or of a sheet of a workbook, as text."""
    raw = read_raw_table(path, ReadOptions(sheet=sheet, as_text=frozenset({EVERY})))
    columns: dict[str, TextArray] = {}
    if raw.samples is not None:
        columns[INDEX] = raw.samples
    if raw.first is not None:
        columns[raw.first.name] = raw.first.cells
    # A file with labels of its own, such as svmlight, has no other columns that matter.
    for name in (*raw.texts, *raw.annotations, *(raw.names if raw.label is None else ())):
        column = raw.column(name)
        if column is not None:
            columns.setdefault(name, column)
    if raw.lines or not columns:
        raise ValueError(
            f"{path} must hold columns of sample names and labels, got rows of text among rows of numbers; "
            "put each sample on a line of its own."
        )
    return LabelTable(Path(path), columns, raw.named, sheet)
