"""Tables in text files: comma-separated tables and their kin, GCT files, series matrices of GEO.

A table is read line by line: NumPy takes all numbers of a line at once, and a line with words is looked at
cell by cell.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat

import numpy as np

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk.app.files.cells import TextArray, is_missing, is_word, numbers_of, text_array
from minimaxrisk.app.files.layout import (
    TITLES,
    Layout,
    Record,
    Records,
    TextFile,
    find_delimiter,
    find_layout,
    lines_of_title,
    n_looked_at,
    records_of,
    split_records,
)
from minimaxrisk.app.files.messages import brief, require_unique
from minimaxrisk.app.files.raw_table import FirstColumn, RawTable, transposed
from minimaxrisk.app.files.study import ReadOptions, spell

Lines = Callable[[], Iterator[str]]

TABLE_BEGIN, TABLE_END = "!series_matrix_table_begin", "!series_matrix_table_end"  # of GEO


def read_text_table(file: TextFile, options: ReadOptions) -> RawTable:
    """The table of a text file, below comments and a title."""
    try:
        begin, n_comments = _find_begin(file.lines(), options)

        def lines() -> Iterator[str]:
            # Blank lines in place of comments, so that lines keep their numbers.
            return chain(repeat("\n", begin), islice(file.lines(), begin, None))

        delimiter = options.delimiter or _delimiter_below_title(lines())
        last, title = lines_of_title(records_of(lines(), delimiter), file.path, options)
        begin = max(begin, last)
        raw = table_of_lines(lines, file.path, delimiter=delimiter, options=options)
        skipped = (f"Skipped {counted(n_comments, 'line')} above the table, beginning with #.",)
        return raw.with_remarks(*(skipped if n_comments else ()), *title)
    except csv.Error as error:
        raise ValueError(
            f"{file.path} cannot be read as a table ({brief(error)}); a quotation mark may not be closed."
        ) from error


def _find_begin(lines: Iterable[str], options: ReadOptions) -> tuple[int, int]:
    """The line at which the table begins below skipped lines and comments, and the number of comments."""
    begin, before, n_comments, comment = options.skip_lines, options.skip_lines, 0, ""
    for i, line in islice(enumerate(lines), options.skip_lines, None):
        if line.startswith("#"):
            before, begin, n_comments, comment = begin, i + 1, n_comments + 1, line
        elif line.strip():
            if comment and _is_header_of(comment, line, options.delimiter):
                return before, n_comments - 1
            break
    return begin, n_comments


def _delimiter_below_title(lines: Iterator[str]) -> str:
    """The delimiter of the table, not of a title, which has blanks and commas of its own."""
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


def table_of_lines(lines: Lines, where: object, *, delimiter: str, options: ReadOptions) -> RawTable:
    """The table in some lines, which may be part of a file."""

    def records() -> Iterator[Record]:
        return records_of(lines(), delimiter)

    layout = find_layout(records, where, options=options, splits_at_commas=delimiter == ",")
    return table_of_records(records, layout, where)


@dataclass
class _Body:
    """The values below the header while they are read."""

    texts: dict[int, list[str]]  # of the columns that are no numbers, and always of the first
    numbers: array[float] = field(default_factory=lambda: array("d"))
    text_rows: dict[int, list[str]] = field(default_factory=dict)  # words alone, such as diagnoses
    late: set[int] = field(default_factory=set)  # columns of numbers in which there are words


def table_of_records(records: Records, layout: Layout, where: object) -> RawTable:
    """The table that ``records`` gives, read again if a column turns out late to be text."""
    late = _read_rows(islice(records(), n_looked_at(layout.width)), layout, where).late
    while True:
        layout = replace(layout, texts=layout.texts.union(late))
        body = _read_rows(records(), layout, where)
        if not body.late:
            return _table_of_body(body, layout, where)
        late = body.late


def _read_rows(records: Iterator[Record], layout: Layout, where: object) -> _Body:
    columns, texts = layout.number_columns(), sorted(layout.texts)
    is_range = not columns or columns[-1] - columns[0] == len(columns) - 1
    kept = slice(columns[0], columns[-1] + 1) if columns and is_range else slice(0)
    n_names = int(columns[:1] == [0])  # the first cell of a row of words names it
    body = _Body({j: [] for j in sorted({0, *layout.texts})})
    for i, (line, row, n_underscores) in enumerate(islice(records, int(layout.named), None)):
        if len(row) != layout.width:
            raise ValueError(
                f"{where}: line {line} must have {counted(layout.width, 'cell')} like the first, got "
                f"{len(row)}; correct it, or pass {spell(layout.options, 'delimiter')} if the cells are "
                "split at the wrong character."
            )
        for j, column in body.texts.items():
            column.append(row[j])
        cells = row[kept] if is_range else [row[j] for j in columns]
        has_underscore = n_underscores > 0 and n_underscores > sum(row[j].count("_") for j in texts)
        numbers, words = numbers_of(layout.style.plain_row(cells), cell_by_cell=has_underscore)
        body.numbers.frombytes(numbers.tobytes())
        if len(words) >= 3 and _are_words(cells[n_names:], sum(j >= n_names for j in words)):
            body.text_rows[i] = cells
        else:
            body.late.update(columns[j] for j in words)
    if body.late:  # rows of words are those in which the other columns hold words
        return body
    if 2 * len(body.text_rows) > len(body.texts[0]):  # not rows of words, but columns
        for row in body.text_rows.values():
            body.late.update(j for j, cell in zip(columns, row, strict=True) if is_word(cell))
    elif body.text_rows and n_names:
        body.late.add(0)
    return body


def _are_words(cells: Sequence[str], n_words: int) -> bool:
    """Whether a row holds words alone, such as the diagnoses of samples in columns."""
    n_filled = len(cells) - sum(map(is_missing, cells))
    # Words for missing values, such as - and None, may be diagnoses too.
    return n_words >= max(3, 0.9 * n_filled) and 2 * sum(map(bool, cells)) >= len(cells)


def _table_of_body(body: _Body, layout: Layout, where: object) -> RawTable:
    """The table without the empty columns that spreadsheets leave behind, its lines of words apart."""
    names, columns, style, n_rows = layout.names, layout.number_columns(), layout.style, len(body.texts[0])
    if not n_rows:
        raise ValueError(f"{where} must hold lines of values, got none.")
    nameless = [j for j in body.texts if j and (not names[j] or not layout.named)]
    empty = [j for j in nameless if not any(cell.strip() for cell in body.texts[j])]
    remarks = []
    if empty:
        n_empty = counted(len(empty), "empty column")
        remarks.append(f"Left out {n_empty} without a name at the end of the table.")
    if layout.named and len(nameless) > len(empty):
        place = next(j for j in nameless if j not in empty) + 1
        raise ValueError(
            f"{where}: every column after the first must have a name, got none for column {place}; "
            f"name it in the header, or pass {spell(layout.options, 'header', False)} if the first line "
            "holds values."
        )
    if not layout.named:
        remarks.append(
            f"The table has no header: its columns are called column_1 to column_{layout.width}, "
            f"counting those of names and labels; pass {spell(layout.options, 'header', True)} if the first "
            "line holds names."
        )
    if (how := style.remark()) is not None:
        remarks.append(how)
        if 0 in columns:  # numbers, although the cells are kept as text too
            body.texts[0] = [style.plain(cell) for cell in body.texts[0]]
    aside = sorted(body.text_rows)
    texts = {j: text_array(column) for j, column in body.texts.items() if j not in empty}
    known = [names[j] for j in texts if names[j]]  # some columns turn out late to be text
    require_unique(known, where, what="the names of columns of text", remedy="rename them")
    lines = _text_lines(body.text_rows, texts[0][aside], where) if aside else {}
    texts = {j: np.delete(column, aside) for j, column in texts.items()}
    numbers = np.frombuffer(body.numbers, dtype=np.float64).reshape(n_rows, len(columns))
    return RawTable(
        np.delete(numbers, aside, axis=0) if aside else numbers,
        [names[j] for j in columns],
        texts={names[j]: column for j, column in texts.items() if j in layout.texts},
        lines=lines,
        first=FirstColumn(names[0], texts[0]),
        named=layout.named,
        remarks=tuple(remarks),
    )


def _text_lines(rows: dict[int, list[str]], names: TextArray, where: object) -> dict[str, TextArray]:
    """The lines of words, by name."""
    lines = {name: text_array(rows[i]) for name, i in zip(names, sorted(rows), strict=True)}
    if len(lines) < len(names):
        raise ValueError(
            f"{where}: rows of text must have different names in the first column, got {listed(names)}; "
            "give each a name of its own or remove them."
        )
    return lines


def read_gct(file: TextFile, options: ReadOptions) -> RawTable:
    """A GCT file of version 1.2 or 1.3, which has genes in rows."""
    n_genes, n_samples, row_notes, column_notes = gct_sizes(file)
    header, *notes = list(islice(split_records(_after(file, 2), "\t"), 1 + column_notes)) or [[]]
    expected = 1 + row_notes + n_samples
    uneven = next((row for row in (header, *notes) if len(row) != expected), None)
    if uneven is not None:
        raise ValueError(
            f"{file.path}: lines must have {expected} cells as the second line says ({1 + row_notes} of the "
            f"gene and {n_samples} of samples), got {len(uneven)}; get or export it again."
        )

    def body() -> Iterator[str]:
        return (line for i, line in enumerate(_after(file, 2)) if i == 0 or i > column_notes)

    aside = header[1 : 1 + row_notes]
    raw = _genes_to_columns(body, file, options, aside)
    if len(raw.names) != n_genes:
        raise ValueError(
            f"{file.path} must hold {n_genes} genes as its second line says, got {len(raw.names)}; "
            "it may be incomplete: get or export it again."
        )
    annotations = {row[0]: text_array(row[1 + row_notes :]) for row in notes}
    remark = (f"Columns that describe the genes are not samples: {listed(aside)}.",) if aside else ()
    return replace(raw, annotations=annotations).with_remarks(*remark)


def gct_sizes(file: TextFile) -> tuple[int, int, int, int]:
    """Numbers of genes, samples, columns about genes and lines about samples."""
    first, second = ([*islice(file.lines(), 2), "", ""])[:2]
    n_sizes = {"#1.2": 2, "#1.3": 4}.get(first.strip())
    if n_sizes is None:
        raise ValueError(f"{file.path}: a GCT file must begin with #1.2 or #1.3, got {first.strip()[:20]!r}.")
    sizes = second.split()
    if len(sizes) < n_sizes or not all(size.isdecimal() and len(size) < 10 for size in sizes[:n_sizes]):
        raise ValueError(
            f"{file.path}: the second line of a GCT file must hold {n_sizes} whole numbers, its sizes, "
            f"got {second.strip()[:40]!r}."
        )
    n_genes, n_samples, *notes = (int(size) for size in sizes[:n_sizes])
    return n_genes, n_samples, *(notes or (1, 0))


def _after(file: TextFile, n_lines: int) -> Iterator[str]:
    return islice(file.lines(), n_lines, None)


def _genes_to_columns(
    body: Lines, file: TextFile, options: ReadOptions, aside: Sequence[str] = ()
) -> RawTable:
    """The table transposed; the columns ``aside`` describe genes."""
    with_header = ReadOptions(header=True, spelling=options.spelling, as_text=frozenset(aside))
    raw = table_of_lines(body, file.path, delimiter="\t", options=with_header)
    first = raw.first
    assert first is not None
    words = [name for name in raw.texts if name not in {first.name, *aside}]
    if words or raw.lines:
        where = f"sample {words[0]!r}" if words else f"line {next(iter(raw.lines))!r}"
        cells = raw.texts[words[0]] if words else next(iter(raw.lines.values()))
        word = next(cell for cell in cells if is_word(cell))
        raise ValueError(f"{file.path}: {where} must hold numbers, got {word!r}; correct the file.")
    descriptions = {name: raw.texts[name] for name in aside if name in raw.texts}
    return replace(transposed(replace(raw, texts={})), descriptions=descriptions)


def read_series_matrix(file: TextFile, options: ReadOptions) -> RawTable:
    """A series matrix of the Gene Expression Omnibus, with its lines about samples as annotations."""
    about: list[list[str]] = []
    begin = None
    for i, line in enumerate(file.lines()):
        if line.lower().startswith(TABLE_BEGIN):
            begin = i + 1
            break
        if line.lower().startswith("!sample_"):
            about.extend(split_records([line], "\t"))
    if begin is None:
        raise ValueError(
            f"{file.path}: a GEO series matrix must have a line {TABLE_BEGIN}, got none; "
            "it may be incomplete: get it again."
        )

    def body() -> Iterator[str]:
        for line in _after(file, begin):
            if line.lower().startswith(TABLE_END):
                return
            yield line
        raise ValueError(f"{file.path} must end in a line {TABLE_END}: it is incomplete, get it again.")

    if len(list(islice(body(), 2))) < 2:
        raise ValueError(
            f"{file.path} must hold a table of values, got none: this series has its values in supplementary "
            f"files of GEO; get those and pass them as a table with {spell(options, 'transpose', True)}."
        )
    raw = _genes_to_columns(body, file, options)
    return replace(raw, annotations=_sample_annotations(about, raw.n_rows, file))


def _sample_annotations(about: Iterable[list[str]], n: int, file: TextFile) -> dict[str, TextArray]:
    """Lines about samples by name; ``age: 5`` under characteristics is a value of ``age``."""
    found: dict[str, list[str]] = {}
    for title, *cells in about:
        if len(cells) != n:
            raise ValueError(
                f"{file.path}: the line {title} must have an entry for each of {n} samples, got {len(cells)}."
            )
        name = title[len("!Sample_") :]
        pairs = [cell.partition(": ") for cell in cells]
        if name.startswith("characteristics_ch") and any(colon for _, colon, _ in pairs):
            # Submitters do not always keep the order, so that one line may hold several things.
            entries = [(key.strip(), value) if colon else (name, key) for key, colon, value in pairs]
        else:
            entries = [(name, cell) for cell in cells]
        for key in dict.fromkeys(key for key, _ in entries):
            _add(found, key, [value if other == key else "" for other, value in entries])
    return {name: text_array(column) for name, column in found.items()}


def _add(found: dict[str, list[str]], name: str, column: list[str]) -> None:
    """Add a column under a free name, or to one of its name that has values for other samples alone."""
    unique, i = name, 1
    while unique in found:
        pairs = list(zip(found[unique], column, strict=True))
        if not any(a and b for a, b in pairs):
            found[unique] = [a or b for a, b in pairs]
            return
        i += 1
        unique = f"{name}.{i}"
    found[unique] = column
