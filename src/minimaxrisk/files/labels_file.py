"""A file of labels beside the data, joined to it by the names of the samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minimaxrisk.files.cells import TextArray, is_identifier
from minimaxrisk.files.options import EVERY, ReadOptions
from minimaxrisk.files.problems import counted, folded, listed, nearest, repeated
from minimaxrisk.files.reading import read_sheet
from minimaxrisk.files.sheet import Sheet, counts_lines
from minimaxrisk.files.wanted import Wanted

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

    def spelt_differently(self, names: Iterable[str]) -> tuple[str, str] | None:
        """One of the names and how this file spells it, if a column of it has most of them otherwise."""
        theirs = {folded(name): name for name in names}
        for column in self.columns.values():
            ours = {folded(name): name for name in column}
            common = [key for key in theirs if key and key in ours]
            if 2 * len(common) >= min(len(theirs), len(ours)):
                return theirs[common[0]], ours[common[0]]
        return None

    def joined(
        self, samples: TextArray, wanted: Wanted, names_column: str | None
    ) -> tuple[TextArray, str, tuple[str, ...]]:
        """Labels in the order of the samples, the name of their column, and remarks."""
        known = set(samples)
        key = self._key(known, names_column)
        target = self._target(wanted, {key})
        names, labels = self.columns[key], self.columns[target]
        twice = [name for name in repeated(names) if name in known]
        if twice:
            raise ValueError(f"{self.path} must have one line per sample, got several for {listed(twice)}.")
        book = dict(zip(names, labels, strict=True))
        without = [name for name in samples if name not in book]
        if without:
            ignore = "" if wanted.for_model else " (--ignore leaves them out if samples are in columns)"
            raise ValueError(
                f"{self.path} must hold a label for every sample, got none for {len(without)} of "
                f"{len(samples)}: {listed(without)}; add them, or remove these samples from the data{ignore}."
            )
        unused = [name for name in names if name not in known]
        remarks: tuple[str, ...] = (f"Labels were joined by the column {key!r} of {self.path.name}.",)
        if unused:
            n_unused = counted(len(unused), "sample")
            remarks += (f"The labels file has {n_unused} that the data lacks: {listed(unused, 3)}.",)
        column = np.empty(len(samples), dtype=object)
        column[:] = [book[name] for name in samples]
        return column, self._shown(target), remarks

    def _key(self, known: set[str], names_column: str | None) -> str:
        """The column with the names: it has most of them, and of several one that is called so."""
        found = {name: len(known.intersection(column)) for name, column in self.columns.items()}
        best = [name for name in found if found[name] == max(found.values())]
        same = [name for name in best if name and name == names_column]
        # R and spreadsheets count lines in a column of its own.
        best = [name for name in best if not counts_lines(self.columns[name])] or best
        for likely in (same, [name for name in best if is_identifier(name)], best):
            if len(likely) == 1:
                return likely[0]
        raise ValueError(
            f"{self.path} must have one column with the names of the samples, got {listed(best)}, which have "
            f"as many of them: call it {names_column or 'sample'!r}, or remove the others."
        )

    def in_order(self, data: Sheet, wanted: Wanted) -> tuple[TextArray, str, tuple[str, ...]]:
        """Labels for data without names: the lines must be as many as the samples."""
        n = data.n_rows
        known = set(data.columns())
        common = [name for name in self.columns if self.named and name in known and name != wanted.target]
        if data.first is not None and len(set(data.first.cells)) == n == self.matches(data.first.cells):
            common = [data.first.name]
        if common:
            raise ValueError(
                f"{self.path} and {wanted.where} may be joined by the column {common[0]!r} of the data: pass "
                f"--samples {common[0]!r} if it names the samples, else --ignore it, or remove it from the "
                "labels file."
            )
        first = next(iter(self.columns.values()))
        target = self._target(wanted, self._name_columns())
        if len(first) != n:
            raise ValueError(
                f"{self.path} must hold {counted(n, 'label')} since the data has {counted(n, 'row')} without "
                f"names, "
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

    def _target(self, wanted: Wanted, keys: set[str]) -> str:
        target = wanted.target
        others = [name for name in self.columns if name not in keys]
        if target is None and len(others) == 1:
            return others[0]
        if target is None:
            got = f"{len(others)}: {listed(others, 8)}" if others else "0"
            advice = "keep only" if wanted.for_model else "name by --target"
            raise ValueError(
                f"{self.path} must have one column beside the sample names, got {got}; "
                f"{advice} the one with the labels."
            )
        if target not in self.columns:
            raise ValueError(
                f"{self.path} must have {wanted.target_shown()}, got {listed(others)}"
                f"{nearest(target, others) or '; rename the one with the labels.'}"
            )
        return target


def read_labels(path: str | Path) -> LabelBook:
    sheet = read_sheet(path, ReadOptions(as_text=frozenset({EVERY})))
    columns: dict[str, TextArray] = {}
    if sheet.samples is not None:
        columns[INDEX] = sheet.samples
    if sheet.first is not None:
        columns[sheet.first.name] = sheet.first.cells
    # A file with labels of its own, such as svmlight, has no other columns that matter.
    for name in (*sheet.texts, *sheet.annotations, *(sheet.names if sheet.label is None else ())):
        column = sheet.column(name)
        if column is not None:
            columns.setdefault(name, column)
    if sheet.lines or not columns:
        raise ValueError(
            f"{path} must hold columns of sample names and labels, got lines of text among lines of numbers; "
            "put each sample in a line of its own."
        )
    return LabelBook(Path(path), columns, sheet.named)
