"""A table as the file has it, before it is known which columns are features, labels and names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.files.cells import TextArray, generated_names, is_identifier, is_missing, is_word, text_array


class FirstColumn(NamedTuple):
    """The first column of a table as it is written, since it may name the rows."""

    name: str
    cells: TextArray


@dataclass(frozen=True)
class RawTable:
    """A table as a file has it: columns of numbers and of text, before it is known which are features.

    ``read_raw_table`` makes it.

    Attributes
    ----------
    numbers : ndarray or CSR matrix of shape (n_rows, n_names)
        The columns of numbers, float64, NaN where a value is missing.
    names : list of str
        Their names.
    texts : dict of str to ndarray of str
        Columns that are not numbers, by name.
    lines : dict of str to ndarray of str
        Rows that are not numbers, by name: one text for each column of numbers.
    annotations : dict of str to ndarray of str
        What the file tells of the rows beside the table.
    samples : ndarray of str or None
        Names of the rows, if the format has a place for them.
    first : FirstColumn or None
        Name and cells of the first column as it is written, since it may name the rows.
    named : bool
        Whether the names come from the file.
    settled : bool
        Whether the format says that samples are in rows.
    label : str or None
        The annotation that the format itself calls the label.
    zeros_left_out : bool
        Whether an absent column is one of zeros.
    elsewhere : str
        Where else in the file to look for what is not here, for messages.
    remarks : tuple of str
        What a user should be told.
    """

    numbers: DataMatrix
    names: list[str]
    texts: dict[str, TextArray] = field(default_factory=dict)
    lines: dict[str, TextArray] = field(default_factory=dict)
    annotations: dict[str, TextArray] = field(default_factory=dict)
    samples: TextArray | None = None
    first: FirstColumn | None = None
    named: bool = True
    settled: bool = False
    label: str | None = None
    zeros_left_out: bool = False
    elsewhere: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])

    def columns(self) -> list[str]:
        """Names of all columns of the table, those of text first since they are few.

        Returns
        -------
        list of str
            The names.
        """
        return [*self.texts, *self.names]

    def columns_after_first(self) -> list[str]:
        """Names of all columns but the first one of the file.

        Returns
        -------
        list of str
            The names, in the order of ``columns``.
        """
        return [name for name in self.columns() if self.first is None or name != self.first.name]

    def column(self, name: str) -> TextArray | None:
        """A column or an annotation as text.

        Parameters
        ----------
        name : str
            Its name. Annotations come before columns.

        Returns
        -------
        ndarray of str or None
            Its cells; None if there is none so named.
        """
        # What a format tells beside its table was written to be a label; a gene may have the same name.
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

    def said(self, *remarks: str) -> RawTable:
        """The same table with more remarks.

        Parameters
        ----------
        *remarks : str
            What a user should be told besides.

        Returns
        -------
        RawTable
            A copy; the numbers are not copied.
        """
        return replace(self, remarks=(*self.remarks, *remarks))

    def row_names(self) -> TextArray | None:
        """Names of the rows if something in the file may be that, unique or not.

        Returns
        -------
        ndarray of str or None
            The names, or None.
        """
        if self.samples is not None:
            return self.samples
        return None if self.first is None else self.first.cells

    def names_its_rows(self) -> bool:
        """Whether the first column does nothing but name the rows: unique words, or a count.

        Returns
        -------
        bool
            True if so.
        """
        if self.first is None:
            return False
        name, cells = self.first
        if len(set(cells)) < len(cells) or any(map(is_missing, cells)):
            return False
        if self.named and is_identifier(name):
            # Names may be numbers, but measurements have fractions.
            return 2 * sum(map(_is_fraction, cells)) <= len(cells)
        return all(map(is_word, cells)) or (not self.named and len(cells) >= 5 and counts_lines(cells))


def _is_fraction(cell: str) -> bool:
    return "." in cell and not is_word(cell)


def could_name_rows(name: str, cells: TextArray | None) -> bool:
    """Whether a column, wherever it stands, holds unique words, or anything unique under such a header."""
    if cells is None or len(set(cells)) < len(cells) or any(map(is_missing, cells)):
        return False
    return is_identifier(name) or (len(cells) > 1 and all(map(is_word, cells)))


def counts_lines(cells: TextArray) -> bool:
    return any(list(cells) == [str(start + i) for i in range(len(cells))] for start in (0, 1))


def transposed(raw: RawTable) -> RawTable:
    """Rows for columns: the first column held the names of what are columns now."""
    names = raw.row_names()
    numbers, columns = raw.numbers, raw.names
    texts = dict(raw.texts)
    if raw.samples is None and raw.first is not None:
        texts.pop(raw.first.name, None)
        if raw.first.name in columns:
            place = columns.index(raw.first.name)
            keep = [j for j in range(len(columns)) if j != place]
            numbers, columns = numbers[:, keep], [columns[j] for j in keep]
    turned = numbers.T if isinstance(numbers, np.ndarray) else numbers.T.tocsr()
    return RawTable(
        turned,
        generated_names(raw.n_rows) if names is None else list(names),
        texts=dict(raw.lines),
        lines=texts,
        annotations={},
        samples=text_array(columns) if raw.named else None,
        named=names is not None,
        settled=True,
        elsewhere=raw.elsewhere,
        remarks=raw.remarks,
    )
