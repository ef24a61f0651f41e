"""Lines of a text file, plain or compressed, in the encoding that its bytes show.

Find from its first lines how a table is laid out: delimiter, header, and which columns are text.

Comma-separated tables and their kin: numbers by NumPy's parser where all are there, else cell by cell.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from operator import itemgetter

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.app.files.cells import (
    AS_NAN,
    TextArray,
    is_missing,
    is_word,
    number,
    text_array,
)
from minimaxrisk.app.files.layout import (
    TITLES,
    Layout,
    Records,
    TextFile,
    find_delimiter,
    find_layout,
    is_line_of_words,
    lines_of_title,
    numbered_records,
    said_of_title,
    split_records,
)
from minimaxrisk.app.files.problems import brief, counted, listed, require_unique
from minimaxrisk.app.files.raw_table import FirstColumn, RawTable
from minimaxrisk.app.files.study import ReadOptions

Lines = Callable[[], Iterator[str]]


class _NeedsCellsError(Exception):
    """The table is not one for the quick parser."""


def read_text_table(file: TextFile, options: ReadOptions) -> RawTable:
    """A table of a text file whose delimiter and header are found or given, below any comments."""
    try:
        begin, n_comments = _find_begin(file.lines(), options)

        def lines() -> Iterator[str]:
            # Blank lines in place of comments, so that lines keep their numbers.
            return chain(repeat("\n", begin), islice(file.lines(), begin, None))

        delimiter = options.delimiter or _delimiter_below_title(lines())
        last, title = lines_of_title(numbered_records(lines(), delimiter), file.path)
        begin = max(begin, last)
        raw = table_of_lines(lines, file.path, delimiter=delimiter, options=options)
        skipped = (f"Skipped {counted(n_comments, 'line')} above the table, beginning with #.",)
        return raw.said(*(skipped if n_comments else ()), *said_of_title(title))
    except csv.Error as error:
        raise ValueError(
            f"{file.path} cannot be read as a table ({brief(error)}); a quotation mark may not be closed."
        ) from error


def _find_begin(lines: Iterable[str], options: ReadOptions) -> tuple[int, int]:
    """Where the table begins below what is skipped, comments and blank lines; and how many comments."""
    comments: list[tuple[int, str]] = []
    for i, line in islice(enumerate(lines), options.skip_lines, None):
        if line.startswith("#"):
            comments.append((i, line))
        elif line.strip():
            if comments and _is_header_of(comments[-1][1], line, options.delimiter):
                comments.pop()
            break
    return (comments[-1][0] + 1 if comments else options.skip_lines), len(comments)


def _delimiter_below_title(lines: Iterator[str]) -> str:
    """That of the table: a title has blanks and commas of its own."""
    first = list(islice((line for line in lines if line.strip()), TITLES + 20))
    found = find_delimiter(first)
    below = find_delimiter(first[1:]) if len(first) > 3 else found
    if below != found and find_delimiter(first[2:]) == below:
        return below
    return found


def _is_header_of(comment: str, line: str, delimiter: str | None) -> bool:
    """Whether a line that begins with # names as many columns as the line of values below it has."""
    delimiter = delimiter or find_delimiter([line])
    names, values = (next(split_records([text], delimiter), []) for text in (comment, line))
    holds_numbers = any(not is_word(cell) and not is_missing(cell) for cell in values)
    return len(names) == len(values) > 1 and all(names) and holds_numbers


def table_of_lines(
    lines: Lines,
    where: object,
    *,
    delimiter: str,
    options: ReadOptions,
) -> RawTable:
    """The table in some lines, which may be part of a file."""

    def records() -> Iterator[list[str]]:
        return split_records(lines(), delimiter)

    splits_at_commas = delimiter == ","
    layout = find_layout(records, where, options=options, splits_at_commas=splits_at_commas)
    is_quick = layout.style.is_plain or not splits_at_commas
    if is_quick and not layout.text_rows and layout.number_columns():
        try:
            return table_of_body(_read_quickly(lines, layout, delimiter, where), layout, where)
        except _NeedsCellsError:
            pass
    return table_of_records(records, layout, where)


def _read_quickly(lines: Lines, layout: Layout, delimiter: str, where: object) -> Body:
    """Numbers by np.loadtxt while the cells of text are taken from the lines on their way to it."""
    body = Body(layout.number_columns(), {j: [] for j in {0, *layout.texts}})
    feed = _feed(lines(), layout, delimiter, body)
    columns: Sequence[int] | None = body.columns if len(body.columns) < layout.width else None
    try:
        body.numbers = np.loadtxt(
            feed, delimiter=delimiter, usecols=columns, quotechar='"', comments=None, ndmin=2
        )
    except _RaggedError as error:
        number, width = error.args
        raise ragged(where, f"line {number}", layout.width, width) from None
    except (ValueError, _NeedsCellsError) as error:
        raise _NeedsCellsError from error
    return body


class _RaggedError(Exception):
    """Number and width of a line of another length: no other parser will like it better."""


def _feed(lines: Iterator[str], layout: Layout, delimiter: str, body: Body) -> Iterator[str]:
    """The lines below the header as NumPy is to see them, their texts appended to ``body``."""
    numbered = enumerate(lines, start=1)
    blank = delimiter + " \t\r\n"
    columns = sorted(body.texts)
    texts = [body.texts[j] for j in columns]
    for line_number, raw in _below_header(numbered, layout, delimiter):
        line = " ".join(raw.split()) if delimiter == " " else raw.rstrip("\r\n")
        if not line.strip(blank):
            continue
        if '"' in line and line.count('"') % 2:
            raise _NeedsCellsError  # a line break inside a cell
        width = line.count(delimiter) + 1
        if width != layout.width and '"' in line:
            width = len(next(csv.reader([line], delimiter=delimiter)))
        if width != layout.width:
            raise _RaggedError(line_number, width)
        for column, cell in zip(texts, _pick(line, delimiter, columns, width), strict=True):
            column.append(cell.strip())
        yield line if layout.style.is_plain else layout.style.plain(line)


def _below_header(
    numbered: Iterator[tuple[int, str]], layout: Layout, delimiter: str
) -> Iterator[tuple[int, str]]:
    """What follows the header, which may have blank lines before it and line breaks inside."""
    if layout.header_rows:
        next(split_records((line for _, line in numbered), delimiter))
    return numbered


def _pick(line: str, delimiter: str, columns: Sequence[int], width: int) -> list[str]:
    """Some cells of a line, splitting no more of it than needed from the nearer end."""
    front = [j for j in columns if 2 * j < width]
    back = columns[len(front) :]
    start = line.split(delimiter, front[-1] + 1) if front else []
    end = line.rsplit(delimiter, width - back[0]) if back else []
    cells = [*(start[j] for j in front), *(end[j - width] for j in back)]
    if '"' not in line:
        return cells
    if any(cell.count('"') % 2 for cell in (*start[:-1], *end[1:])):
        # A delimiter inside quotation marks.
        row = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
        return [row[j] for j in columns]
    return [next(csv.reader([cell], delimiter=delimiter), [""])[0] if '"' in cell else cell for cell in cells]


FEW_TEXT_ROWS = 0.1  # of the rows: as many may hold words, such as diagnoses, among rows of numbers


@dataclass
class Body:
    """The values below the header while they are read."""

    columns: list[int]  # those of numbers
    texts: dict[int, list[str]]  # of the other columns, and always of the first
    numbers: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    text_rows: dict[int, list[str]] = field(default_factory=dict)


def table_of_records(records: Records, layout: Layout, where: object) -> RawTable:
    """The table that ``records`` gives, read twice if a column turns out late to be text."""
    body = Body(layout.number_columns(), {j: [] for j in {0, *layout.texts}})
    late = _read_rows(lambda: islice(records(), layout.header_rows, None), layout, body, where)
    if late:
        _move_to_texts(records, layout, body, late)
    return table_of_body(body, layout, where)


def _read_rows(records: Records, layout: Layout, body: Body, where: object) -> list[int]:
    """Fill ``body``; returns the columns of numbers in which there are words."""
    values = array("d")
    words: list[tuple[int, int]] = []
    pick = _picker(body.columns)
    for i, row in enumerate(records()):
        if len(row) != layout.width:
            raise ragged(where, f"row {i + 1 + layout.header_rows}", layout.width, len(row))
        for j, texts in body.texts.items():
            texts.append(row[j])
        cells = pick(row)
        if not layout.style.is_plain:
            cells = [layout.style.plain(cell) for cell in cells]
        start = len(values)
        try:
            values.extend(map(float, cells))
            wrong = [j for j, cell in enumerate(cells) if "_" in cell] if "_" in "".join(cells) else []
        except ValueError:
            del values[start:]
            wrong = _extend_slowly(values, cells)
        if len(wrong) >= 3 and is_line_of_words(len(wrong), sum(map(is_missing, cells)), len(cells)):
            body.text_rows[i] = list(pick(row))
        else:
            words.extend((i, j) for j in wrong)
    n_rows = len(body.texts[0])
    body.numbers = np.frombuffer(values, dtype=np.float64).reshape(n_rows, len(body.columns))
    if not layout.text_rows and len(body.text_rows) > FEW_TEXT_ROWS * n_rows:
        # Too many lines of words: their columns are text.
        words.extend((i, j) for i in body.text_rows for j in range(len(body.columns)))
        body.text_rows = {}
    return sorted({body.columns[j] for _, j in words})


def _extend_slowly(values: array[float], cells: Sequence[str]) -> list[int]:
    """As ``values.extend(map(float, cells))`` with NaN for missing cells; returns where words are."""
    start = len(values)
    spelled = [AS_NAN.get(cell, cell) for cell in cells]
    try:
        values.extend(map(float, spelled))
    except ValueError:
        del values[start:]
        found = [number(cell) for cell in spelled]
        values.extend(np.nan if value is None else value for value in found)
        return [j for j, value in enumerate(found) if value is None]
    return [j for j, cell in enumerate(spelled) if "_" in cell]


def _picker(columns: Sequence[int]) -> Callable[[Sequence[str]], Sequence[str]]:
    if not columns:
        return lambda row: ()
    if list(columns) == list(range(columns[0], columns[-1] + 1)):
        return itemgetter(slice(columns[0], columns[-1] + 1))
    return itemgetter(*columns)


def _move_to_texts(records: Records, layout: Layout, body: Body, late: Sequence[int]) -> None:
    for j in late:
        body.texts[j] = []
    for row in islice(records(), layout.header_rows, None):
        for j in late:
            body.texts[j].append(row[j])
    keep = [k for k, j in enumerate(body.columns) if j not in set(late)]
    body.numbers = body.numbers[:, keep]
    body.columns = [body.columns[k] for k in keep]
    body.text_rows = {i: [cells[k] for k in keep] for i, cells in body.text_rows.items()}


def ragged(where: object, line: str, expected: int, got: int) -> ValueError:
    return ValueError(
        f"{where}: {line} must have {counted(expected, 'cell')} like the first, got {got}; "
        "correct it, or pass --delimiter if the cells are split at the wrong character."
    )


def table_of_body(body: Body, layout: Layout, where: object) -> RawTable:
    """The table once its values are read: empty columns dropped, lines of words apart."""
    if not body.texts[0]:
        raise ValueError(f"{where} must hold lines of values, got none.")
    remarks = _drop_empty_columns(body, layout)
    names = layout.names
    late = [names[j] for j in body.texts if names[j]]  # some columns turn out late to be text
    require_unique(late, where, what="the names of columns of text", remedy="rename them")
    nameless = [j for j in sorted(body.texts) if j and not names[j]]
    if nameless:
        raise ValueError(
            f"{where}: every column after the first must have a name, got none for column {nameless[0] + 1}; "
            "name it in the header, or pass --no-header if the first line holds values."
        )
    if not layout.named:
        remarks.append(
            f"The table has no header: its columns are called column_1 to column_{layout.width}, "
            "counting those of names and labels; pass --header if the first line holds names."
        )
    if (how := layout.style.remark()) is not None:
        remarks.append(how)
        if 0 in body.columns:  # no words, although they are kept as they were written
            body.texts[0] = [layout.style.plain(cell) for cell in body.texts[0]]
    texts = {j: text_array(cells) for j, cells in sorted(body.texts.items())}
    aside = sorted(body.text_rows)
    lines = _text_lines(body, texts[0][aside], where) if aside else {}
    texts = {j: np.delete(column, aside) for j, column in texts.items()}
    return RawTable(
        np.delete(body.numbers, aside, axis=0) if aside else body.numbers,
        [names[j] for j in body.columns],
        texts={names[j]: column for j, column in texts.items() if j not in set(body.columns)},
        lines=lines,
        first=FirstColumn(names[0], texts[0]),
        named=layout.named,
        remarks=tuple(remarks),
    )


def _drop_empty_columns(body: Body, layout: Layout) -> list[str]:
    """Forget the empty columns without a name that spreadsheets leave behind; returns remarks."""
    empty = [j for j, cells in body.texts.items() if j and not any(cells) and _is_dropped(j, layout)]
    for j in empty:
        del body.texts[j]
    if not empty:
        return []
    return [f"Left out {counted(len(empty), 'empty column')} without a name at the end of the table."]


def _text_lines(body: Body, names: TextArray, where: object) -> dict[str, TextArray]:
    """The lines of words, by name."""
    cells = (text_array(body.text_rows[i]) for i in sorted(body.text_rows))
    lines = dict(zip(names, cells, strict=True))
    if len(lines) < len(names):
        raise ValueError(
            f"{where}: rows of text must have different names in the first column, got {listed(names)}; "
            "give each a name of its own or remove them."
        )
    return lines


def _is_dropped(j: int, layout: Layout) -> bool:
    return not layout.names[j] if layout.named else j in layout.texts
