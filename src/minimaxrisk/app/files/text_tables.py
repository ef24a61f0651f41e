"""Tables in text files: comma-separated tables and their kin, below comments and a title."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import mode

import numpy as np

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk.app.files.cells import (
    TextArray,
    generated_names,
    is_identifier,
    is_missing,
    is_word,
    numbers_of,
    text_array,
)
from minimaxrisk.app.files.messages import brief, require_unique
from minimaxrisk.app.files.number_style import PLAIN, NumberStyle, find_number_style
from minimaxrisk.app.files.remarks import Remark
from minimaxrisk.app.files.study import ERROR, EVERY, ReadOptions, merge_advice, spell
from minimaxrisk.app.files.table import FirstColumn, Table
from minimaxrisk.app.files.text import (
    Record,
    TextFile,
    cells_of,
    find_delimiter,
    numbered,
    records_of,
    split_records,
)

Lines = Callable[[], Iterator[str]]  # the lines from the start

LABELS = ("class", "label", "target", "type", "diagnosis", "y")
LOOKED_AT = 100_000  # cells that show the layout
TITLES = 8  # lines that may be a title
MOST_WORDS = 1000  # of the first line, compared with the lines below it
SHARE_OF_WORDS = 0.9  # of the cells of a row of words
FEWEST_WORDS = 3


def read_text_table(file: TextFile, options: ReadOptions) -> Table:
    """Read the table of a text file, below comments and a title."""
    begin, n_comments = _find_begin(file.lines(), options)
    below = islice(file.lines(), begin, None)
    delimiter = options.delimiter or find_delimiter(below)
    remarks = [Remark.of("comments", lines=counted(n_comments, "line"))] * (n_comments > 0)
    try:
        return table_below_title(
            lambda: numbered(file.lines(), begin), file.path, delimiter, options
        ).with_remarks(*remarks)
    except csv.Error as error:
        raise ValueError(
            f"{file.path} cannot be read as a table ({brief(error)}); a quotation mark may not be closed."
        ) from error


def table_below_title(lines: Lines, where: object, delimiter: str, options: ReadOptions) -> Table:
    """Read the table in some lines, the first of which may be a title."""
    last, title = _end_of_title(records_of(lines(), delimiter), delimiter, where, options)
    raw = table_of_lines(lambda: numbered(lines(), last), where, delimiter, options)
    return raw.with_remarks(*title)


def _find_begin(lines: Iterable[str], options: ReadOptions) -> tuple[int, int]:
    """Return the line at which the table begins below skipped lines and comments, and their number."""
    begin, before, n_comments, comment = options.skip_lines, options.skip_lines, 0, ""
    for i, line in islice(enumerate(lines), options.skip_lines, None):
        if line.startswith("#"):
            before, begin, n_comments, comment = begin, i + 1, n_comments + 1, line
        elif line.strip():
            if comment and _is_header_of(comment, line, options.delimiter):
                return before, n_comments - 1
            break
    return begin, n_comments


def _is_header_of(comment: str, line: str, delimiter: str | None) -> bool:
    """Return whether a line that begins with # names as many columns as the values below it have."""
    delimiter = delimiter or find_delimiter([line])
    names, values = (next(split_records([text], delimiter), []) for text in (comment, line))
    holds_numbers = any(not is_word(cell) and not is_missing(cell) for cell in values)
    return len(names) == len(values) > 1 and all(names) and holds_numbers


def _end_of_title(
    records: Iterable[Record], delimiter: str, where: object, options: ReadOptions
) -> tuple[int, list[Remark]]:
    """Return the number of the last line of a title above the table, 0 for none, and a remark on it.

    A title is one cell of words above a table of three columns or more. A first line below it that has far
    fewer cells than most lines is refused.
    """
    lines = [(record.line, cells_of(record.text, delimiter)) for record in islice(records, TITLES)]
    widths = [_filled_width(cells) for _, cells in lines]
    if len(lines) < 2:
        return 0, []
    usual = mode(widths[1:])
    words: list[str] = []
    while len(words) < len(lines) - 1 and widths[len(words)] == 1 and usual > 2:
        cell = next(cell.strip() for cell in lines[len(words)][1] if cell.strip())
        if not is_word(cell):
            break
        words.append(cell)
    first, width = lines[len(words)][0], widths[len(words)]
    if 2 * width < usual:
        wide = lines[widths.index(usual)][0]
        raise ValueError(
            f"{where}: line {first} has {counted(width, 'cell')} and line {wide} has {usual}. "
            "If the lines above the header are a title or comment, pass "
            f"{spell(options, 'skip_lines', wide - 1)}."
        )
    if not words:
        return 0, []
    return lines[len(words) - 1][0], [
        Remark.of("title", lines=counted(len(words), "line"), title=listed(words, 2))
    ]


def _filled_width(cells: Sequence[str]) -> int:
    """Return the number of cells without the empty ones at the end, which spreadsheets leave behind."""
    return next((j for j in range(len(cells), 0, -1) if cells[j - 1].strip()), 0)


@dataclass(frozen=True)
class Layout:
    """Names of the columns, places of those with text, and how cells and numbers are written."""

    names: list[str]
    named: bool  # by a header
    texts: frozenset[int]  # those known so far
    nameless: list[int]
    style: NumberStyle
    delimiter: str
    where: object
    options: ReadOptions
    n_looked_at: int  # rows that show the layout

    def number_columns(self) -> list[int]:
        return [j for j in range(len(self.names)) if j not in self.texts]

    def cells(self, record: Record) -> list[str]:
        """Return the cells of a record; ValueError if there are more or fewer than names."""
        if record.width != len(self.names):
            raise ValueError(
                f"{self.where}: line {record.line} must have {counted(len(self.names), 'cell')} like the "
                f"first, got {record.width}; correct it, or pass {spell(self.options, 'delimiter')} if the "
                "cells are split at the wrong character."
            )
        return cells_of(record.text, self.delimiter)


def table_of_lines(lines: Lines, where: object, delimiter: str, options: ReadOptions) -> Table:
    """Read the table in some lines, which may be part of a file.

    The first lines are read twice, and all lines again if a column turns out late to be text.
    """
    layout = _find_layout(lines, where, delimiter, options)
    late = _read_rows(islice(records_of(lines(), delimiter), layout.n_looked_at), layout).late
    while True:
        layout = replace(layout, texts=layout.texts.union(late))
        body = _read_rows(records_of(lines(), delimiter), layout)
        if not body.late:
            return _table_of_body(body, layout)
        late = body.late


@dataclass
class _Body:
    """The values below the header while they are read."""

    texts: dict[int, list[str]]  # of the columns that are no numbers, and always of the first
    numbers: array[float] = field(default_factory=lambda: array("d"))
    text_rows: dict[int, list[str]] = field(default_factory=dict)  # words alone, such as diagnoses
    late: set[int] = field(default_factory=set)  # columns of numbers in which there are words


def _read_rows(records: Iterator[Record], layout: Layout) -> _Body:
    """Read rows: NumPy takes all numbers of a row at once, and a row with words is read cell by cell."""
    columns = layout.number_columns()
    after_first = int(columns[:1] == [0])  # the first cell of a row of words names it
    body = _Body({j: [] for j in sorted({0, *layout.texts})})
    for i, record in enumerate(islice(records, int(layout.named), None)):
        row = layout.cells(record)
        for j, column in body.texts.items():
            column.append(row[j])
        cells = [row[j] for j in columns] if layout.texts else row
        numbers, words = numbers_of(layout.style.plain_row(cells))
        body.numbers.frombytes(numbers.tobytes())
        n_words = sum(j >= after_first for j in words)
        if len(words) >= FEWEST_WORDS and _are_words(cells[after_first:], n_words):
            body.text_rows[i] = cells
        else:
            body.late.update(columns[j] for j in words)
    if body.late:  # rows of words are those in which the other columns hold words
        return body
    if 2 * len(body.text_rows) > len(body.texts[0]):  # not rows of words, but columns
        for row in body.text_rows.values():
            body.late.update(j for j, cell in zip(columns, row, strict=True) if is_word(cell))
    elif body.text_rows and after_first:
        body.late.add(0)
    return body


def _are_words(cells: Sequence[str], n_words: int) -> bool:
    """Return whether a row holds words alone, such as the diagnoses of samples in columns."""
    n_filled = len(cells) - sum(map(is_missing, cells))
    # Words for missing values, such as - and None, may be diagnoses too.
    return n_words >= max(FEWEST_WORDS, SHARE_OF_WORDS * n_filled) and 2 * sum(map(bool, cells)) >= len(cells)


def _find_layout(lines: Lines, where: object, delimiter: str, options: ReadOptions) -> Layout:
    """Return the layout that the first lines show."""
    rows = split_records(lines(), delimiter)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{where} must hold a table, got only blank lines.")
    n_looked_at = max(10, min(100, LOOKED_AT // len(first)))
    body = list(islice(rows, n_looked_at))
    style = find_number_style(body or [first], where, delimiter, options)
    plain = body if style == PLAIN else [list(map(style.plain, row)) for row in body]
    named = is_header(first, plain) if options.header is None else options.header
    if named and not body:
        raise ValueError(
            f"{where} must hold lines of values below its header, got only the header; "
            f"if that line holds values, pass {spell(options, 'header', False)}."
        )
    names = _completed(first, body) if named else generated_names(len(first))
    filled = max(_filled_width(row) for row in ([] if named else [first]) + body)
    nameless = [j for j in range(1, len(names)) if (not names[j] if named else j >= filled)]
    texts = {j for j, name in enumerate(names) if name in options.as_text or EVERY in options.as_text}
    # Names of rows may be numbers, but they have no fractions.
    if named and is_identifier(names[0]) and not any("." in row[0] for row in plain):
        texts.add(0)
    if named and options.duplicates == ERROR:
        remedy = f"rename them, {merge_advice(options)}"
        require_unique([name for name in names if name], where, what="the names in the header", remedy=remedy)
    return Layout(
        names, named, frozenset({*texts, *nameless}), nameless, style, delimiter, where, options, n_looked_at
    )


def _completed(header: list[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Return the header, completed if it is one name short.

    R leaves out the name of the column of row names; other programs end all lines but the header in a
    delimiter.
    """
    if len(body[0]) != len(header) + 1:
        return header
    return ["", *header] if any(row[-1] for row in body) else [*header, ""]


def is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line holds names and not values."""
    if len(first) > 10 and list(first[:-1]) == [str(j) for j in range(len(first) - 1)]:
        return True  # it numbers the columns
    words = list(islice((j for j, cell in enumerate(first) if is_word(cell)), MOST_WORDS))
    if not words:
        return False
    return (
        (bool(body) and len(body[0]) == len(first) + 1)  # as R writes it
        or any(_is_above_numbers(j, body) for j in words)
        or _has_usual_name(first)
        or _has_only_new_words(first, words, body)
    )


def _is_above_numbers(j: int, body: Sequence[Sequence[str]]) -> bool:
    """Return whether most cells of a column below the first line are numbers."""
    below = [row[j] for row in body if j < len(row) and not is_missing(row[j])]
    return 2 * sum(map(is_word, below)) < len(below)


def _has_usual_name(first: Sequence[str]) -> bool:
    # A lone y may be a label itself, for yes.
    is_label = any(cell.lower() in LABELS and cell.lower() != "y" for cell in first)
    return is_label or (first[0] != "" and is_identifier(first[0]))


def _has_only_new_words(first: Sequence[str], words: Sequence[int], body: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line holds words alone, and none of them occurs again below it."""
    again = any(row[j] == first[j] for row in body for j in words if j < len(row))
    return not again and all(is_word(cell) or not cell for cell in first)


def _table_of_body(body: _Body, layout: Layout) -> Table:
    """Return the table without empty columns at its end, its rows of words apart."""
    names, columns, style, n_rows = layout.names, layout.number_columns(), layout.style, len(body.texts[0])
    if not n_rows:
        raise ValueError(f"{layout.where} must hold lines of values, got none.")
    empty = {j for j in layout.nameless if not any(cell.strip() for cell in body.texts[j])}
    remarks = _check_columns(layout, empty)
    if 0 in columns:  # numbers, although the cells are kept as text too
        body.texts[0] = list(map(style.plain, body.texts[0]))
    texts = {j: text_array(column) for j, column in body.texts.items() if j not in empty}
    numbers = np.frombuffer(body.numbers, dtype=np.float64).reshape(n_rows, len(columns))
    lines: dict[str, TextArray] = {}
    if aside := sorted(body.text_rows):
        lines = _text_lines(body.text_rows, texts[0][aside], layout.where)
        numbers = np.delete(numbers, aside, axis=0)
        texts = {j: np.delete(column, aside) for j, column in texts.items()}
    return Table(
        numbers,
        [names[j] for j in columns],
        texts={names[j]: column for j, column in texts.items() if j in layout.texts},
        lines=lines,
        first=FirstColumn(names[0], texts[0]),
        named=layout.named,
        remarks=tuple(remarks),
    )


def _check_columns(layout: Layout, empty: set[int]) -> list[Remark]:
    """Refuse columns without a name or with the name of another; return remarks on the layout."""
    where, options = layout.where, layout.options
    unnamed = [j for j in layout.nameless if j not in empty]
    if layout.named and unnamed:
        raise ValueError(
            f"{where}: every column after the first must have a name, got none for column {unnamed[0] + 1}; "
            f"name it in the header, or pass {spell(options, 'header', False)} if that line holds values."
        )
    # Columns of text are known by their names; those of numbers may be merged.
    known = [layout.names[j] for j in sorted(layout.texts - empty) if layout.names[j]]
    require_unique(known, where, what="the names of columns of text", remedy="rename them")
    remarks = [Remark.of("empty-columns", columns=counted(len(empty), "empty column"))] * bool(empty)
    if not layout.named:
        option = spell(options, "header", True)
        remarks.append(Remark.of("no-header", width=len(layout.names), option=option))
    return remarks + layout.style.remarks()


def _text_lines(rows: dict[int, list[str]], names: TextArray, where: object) -> dict[str, TextArray]:
    """Return the lines of words, by name."""
    lines = {name: text_array(rows[i]) for name, i in zip(names, sorted(rows), strict=True)}
    if len(lines) < len(names):
        raise ValueError(
            f"{where}: rows of text must have different names in the first column, got {listed(names)}; "
            "give each a name of its own or remove them."
        )
    return lines
