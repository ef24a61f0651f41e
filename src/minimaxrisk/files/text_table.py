"""Comma-separated tables and their kin: numbers by NumPy's parser where all are there, else cell by cell."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat

import numpy as np

from minimaxrisk.files.cell_table import Body, ragged, table_of_body, table_of_records
from minimaxrisk.files.cells import is_missing, is_word
from minimaxrisk.files.layout import (
    TITLES,
    Layout,
    find_delimiter,
    find_layout,
    lines_of_title,
    numbered_records,
    said_of_title,
    split_records,
)
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.problems import brief, counted
from minimaxrisk.files.raw_table import RawTable
from minimaxrisk.files.text_file import TextFile

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
    for number, raw in _below_header(numbered, layout, delimiter):
        line = " ".join(raw.split()) if delimiter == " " else raw.rstrip("\r\n")
        if not line.strip(blank):
            continue
        if '"' in line and line.count('"') % 2:
            raise _NeedsCellsError  # a line break inside a cell
        width = line.count(delimiter) + 1
        if width != layout.width and '"' in line:
            width = len(next(csv.reader([line], delimiter=delimiter)))
        if width != layout.width:
            raise _RaggedError(number, width)
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
