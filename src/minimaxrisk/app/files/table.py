"""A table as a file has it: numbers, text, and what the format knows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.app.files.cells import (
    TextArray,
    generated_names,
    is_identifier,
    is_missing,
    is_word,
    text_array,
)
from minimaxrisk.app.files.remarks import Remark


class FirstColumn(NamedTuple):
    """The first column of a table as it is written: it may name the rows."""

    name: str
    cells: TextArray


@dataclass(frozen=True)
class Table:
    """A table as a file has it: columns of numbers and of text, before it is known which are features.

    ``numbers`` are float64, NaN where a value is missing.
    """

    numbers: DataMatrix
    names: list[str]  # of the columns of numbers
    texts: dict[str, TextArray] = field(default_factory=dict)  # columns that are not numbers, by name
    lines: dict[str, TextArray] = field(default_factory=dict)  # rows of text: a cell for each of ``names``
    annotations: dict[str, TextArray] = field(default_factory=dict)  # about the rows, outside of the table
    descriptions: dict[str, TextArray] = field(default_factory=dict)  # about ``names``, such as genes
    samples: TextArray | None = None  # names of the rows, if the format has a place for them
    first: FirstColumn | None = None
    named: bool = True  # whether the names come from the file
    settled: bool = False  # whether the format says that samples are in rows
    label: str | None = None  # the annotation that the format itself calls the label
    zeros_left_out: bool = False  # whether an absent column is one of zeros
    elsewhere: str = ""  # where else in the file to look, for messages
    remarks: tuple[Remark, ...] = ()  # what a user should know

    @property
    def n_rows(self) -> int:
        return int(self.numbers.shape[0])

    def columns(self) -> list[str]:
        """Return names of all columns of the table, those of text first since they are few."""
        return [*self.texts, *self.names]

    def column(self, name: str) -> TextArray | None:
        """Return a column or an annotation as text; None if there is none of this name."""
        # Annotations first: they are meant to be labels, and a gene may have the same name.
        if name in self.annotations:
            return self.annotations[name]
        if name in self.texts:
            return self.texts[name]
        if self.first is not None and name == self.first.name and name in self.names:
            return self.first.cells
        if name in self.names:
            column = self.numbers[:, [self.names.index(name)]]
            return text_array(np.ravel(column if isinstance(column, np.ndarray) else column.toarray()))
        return None

    def with_remarks(self, *remarks: Remark) -> Table:
        """Return the same table with more remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))

    def row_names(self) -> TextArray | None:
        """Return what may be names of the rows, unique or not."""
        if self.samples is not None:
            return self.samples
        return None if self.first is None else self.first.cells

    def names_its_rows(self) -> bool:
        """Return whether the first column only names the rows: unique words, or a count."""
        if self.first is None:
            return False
        name, cells = self.first
        if len(set(cells)) < len(cells) or any(map(is_missing, cells)):
            return False
        if self.named and is_identifier(name):
            # Names may be numbers, but measurements have fractions.
            return 2 * sum("." in cell and not is_word(cell) for cell in cells) <= len(cells)
        return all(map(is_word, cells)) or (not self.named and len(cells) >= 5 and counts_lines(cells))


def could_name_rows(name: str, cells: TextArray | None) -> bool:
    """Return whether a column holds unique words, or unique values under the name of an identifier."""
    if cells is None or len(set(cells)) < len(cells) or any(map(is_missing, cells)):
        return False
    return is_identifier(name) or (len(cells) > 1 and all(map(is_word, cells)))


def counts_lines(cells: TextArray) -> bool:
    return any(list(cells) == [str(start + i) for i in range(len(cells))] for start in (0, 1))


def transposed(table: Table) -> Table:
    """Return the table with rows and columns exchanged; the first column gives the new names."""
    names, numbers, columns, texts = table.row_names(), table.numbers, table.names, dict(table.texts)
    if table.samples is None and table.first is not None:
        texts.pop(table.first.name, None)
        keep = [j for j, name in enumerate(columns) if name != table.first.name]
        if len(keep) < len(columns):
            numbers, columns = numbers[:, keep], [columns[j] for j in keep]
    return Table(
        numbers.T if isinstance(numbers, np.ndarray) else numbers.T.tocsr(),
        generated_names(table.n_rows) if names is None else list(names),
        texts=dict(table.lines),
        lines=texts,
        samples=text_array(columns) if table.named else None,
        named=names is not None,
        settled=True,
        elsewhere=table.elsewhere,
        remarks=table.remarks,
    )
