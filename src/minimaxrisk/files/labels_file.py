"""A file of labels beside the data, joined to it by the names of the samples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minimaxrisk.files.cells import TextArray
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.problems import listed, nearest, repeated
from minimaxrisk.files.reading import read_sheet
from minimaxrisk.files.sheet import Sheet

INDEX = "(index)"


@dataclass(frozen=True)
class LabelBook:
    """The columns of a labels file as text."""

    path: Path
    columns: dict[str, TextArray]
    named: bool = True  # whether the columns have names of their own

    def matches(self, names: Collection[str]) -> int:
        """How many of the names the best column has."""
        wanted = set(names)
        return max(len(wanted.intersection(column)) for column in self.columns.values())

    def joined(self, samples: TextArray, target: str | None) -> tuple[TextArray, str, tuple[str, ...]]:
        """Labels in the order of the samples, the name of their column, and remarks."""
        wanted = set(samples)
        key = max(self.columns, key=lambda name: len(wanted.intersection(self.columns[name])))
        if not wanted.intersection(self.columns[key]):
            raise ValueError(
                f"{self.path} must name the samples of the data in one of its columns, got none of "
                f"{listed(samples, 3)}: its first column begins with "
                f"{listed(next(iter(self.columns.values()))[:3])}."
            )
        target = self._target(target, {key})
        names, labels = self.columns[key], self.columns[target]
        twice = [name for name in repeated(names) if name in wanted]
        if twice:
            raise ValueError(f"{self.path} must have one line per sample, got several for {listed(twice)}.")
        book = dict(zip(names, labels, strict=True))
        without = [name for name in samples if name not in book]
        if without:
            raise ValueError(
                f"{self.path} must hold a label for every sample, got none for {len(without)} of "
                f"{len(samples)}: {listed(without)}; add them, or remove these samples from the data "
                "(--ignore leaves them out if samples are in columns)."
            )
        unused = [name for name in names if name not in wanted]
        remarks: tuple[str, ...] = ()
        if unused:
            remarks = (
                f"The labels file has {len(unused)} samples that the data lacks: {listed(unused, 3)}.",
            )
        column = np.empty(len(samples), dtype=object)
        column[:] = [book[name] for name in samples]
        return column, self._shown(target), remarks

    def in_order(self, n: int, target: str | None) -> tuple[TextArray, str, tuple[str, ...]]:
        """Labels for data without names: the lines must be as many as the samples."""
        first = next(iter(self.columns.values()))
        target = self._target(target, self._name_columns())
        if len(first) != n:
            raise ValueError(
                f"{self.path} must hold {n} labels since the data has {n} rows without names, "
                f"got {len(first)}; if samples are in columns of the data, pass --transpose."
            )
        remark = (
            f"The data has no sample names: labels of {self.path.name} were joined in the order of lines."
        )
        return self.columns[target], self._shown(target), (remark,)

    def _shown(self, target: str) -> str:
        """A name made for a column of this file may be that of a feature in the data."""
        return target if self.named else "label"

    def _name_columns(self) -> set[str]:
        """The first column if it has a value of its own in every line and is not the only one."""
        name, first = next(iter(self.columns.items()))
        return {name} if len(self.columns) > 1 and len(set(first)) == len(first) else set()

    def _target(self, target: str | None, keys: set[str]) -> str:
        others = [name for name in self.columns if name not in keys]
        if target is None and len(others) == 1:
            return others[0]
        if target is None:
            raise ValueError(
                f"{self.path} must have one column beside the sample names, got {len(others)}: "
                f"{listed(others, 8)}; pass the one with the labels as --target."
            )
        if target not in self.columns:
            raise ValueError(
                f"{self.path} must have the column {target!r} of --target, got {listed(others)}"
                f"{nearest(target, others)}"
            )
        return target


def read_labels(path: str | Path) -> LabelBook:
    sheet = read_sheet(path, ReadOptions())
    columns: dict[str, TextArray] = {}
    if sheet.samples is not None:
        columns[INDEX] = sheet.samples
    if sheet.first is not None:
        columns[sheet.first.name] = sheet.first.cells
    for name in (*sheet.texts, *sheet.annotations, *_unless_generated(sheet)):
        column = sheet.column(name)
        if column is not None:
            columns.setdefault(name, column)
    if sheet.lines or not columns:
        raise ValueError(
            f"{path} must hold columns of sample names and labels, got lines of text among lines of numbers; "
            "put each sample in a line of its own."
        )
    return LabelBook(Path(path), columns, sheet.named)


def _unless_generated(sheet: Sheet) -> list[str]:
    """Columns of numbers; a file with labels of its own has no others that matter."""
    return [] if sheet.label is not None else sheet.names
