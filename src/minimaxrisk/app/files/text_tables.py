"""Tables in text files: comma-separated tables and their kin, GCT files, series matrices of GEO.

NumPy's parser reads tables without missing numbers quickly; others are read cell by cell, and columns may
turn out late to be text.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat
from operator import itemgetter

import numpy as np

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.app.files.cells import AS_NAN, TextArray, is_missing, is_word, number, text_array
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
    split_records,
)
from minimaxrisk.app.files.messages import brief, require_unique
from minimaxrisk.app.files.raw_table import FirstColumn, RawTable, check_names, transposed
from minimaxrisk.app.files.study import ReadOptions, spell

Lines = Callable[[], Iterator[str]]

TABLE_BEGIN, TABLE_END = "!series_matrix_table_begin", "!series_matrix_table_end"  # of GEO


class _NeedsCellsError(Exception):
    """The quick parser cannot read the table."""


def read_text_table(file: TextFile, options: ReadOptions) -> RawTable:
    """The table of a text file, below comments and a title."""
    try:
        begin, n_comments = _find_begin(file.lines(), options)

        def lines() -> Iterator[str]:
            # Blank lines in place of comments, so that lines keep their numbers.
            return chain(repeat("\n", begin), islice(file.lines(), begin, None))

        delimiter = options.delimiter or _delimiter_below_title(lines())
        last, title = lines_of_title(numbered_records(lines(), delimiter), file.path, options)
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

    def records() -> Iterator[list[str]]:
        return split_records(lines(), delimiter)

    splits_at_commas = delimiter == ","
    layout = find_layout(records, where, options=options, splits_at_commas=splits_at_commas)
    if options.early_check is not None and layout.named and options.early_check.target not in layout.names:
        rows = text_array(islice(_first_cells(lines(), delimiter), 1, None))
        first = FirstColumn(layout.names[0], rows)
        check_names(layout.names, [layout.names[j] for j in layout.texts], options, first=first)
    is_quick = layout.style.is_plain or not splits_at_commas
    if is_quick and not layout.text_rows and layout.number_columns():
        try:
            return table_of_body(_read_quickly(lines, layout, delimiter, where), layout, where)
        except _NeedsCellsError:
            pass
    return table_of_records(records, layout, where)


def _first_cells(lines: Iterator[str], delimiter: str) -> Iterator[str]:
    """The first cell of each line that is not blank, without splitting the rest."""
    for line in lines:
        if line.strip():
            cell = line.lstrip().partition(delimiter)[0]
            yield (next(csv.reader([line], delimiter=delimiter))[0] if '"' in cell else cell).strip()


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
        raise _ragged(where, f"line {number}", layout, width) from None
    except (ValueError, _NeedsCellsError) as error:
        raise _NeedsCellsError from error
    return body


class _RaggedError(Exception):
    """Number and width of a line of another length, which no parser can read."""


def _feed(lines: Iterator[str], layout: Layout, delimiter: str, body: Body) -> Iterator[str]:
    """The lines below the header as NumPy is to see them, their texts appended to ``body``."""
    numbered = enumerate(lines, start=1)
    blank = delimiter + " \t\r\n"
    columns = sorted(body.texts)
    texts = [body.texts[j] for j in columns]
    if layout.named:  # the header may have blank lines before it and line breaks inside
        next(split_records((line for _, line in numbered), delimiter))
    for line_number, raw in numbered:
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
            raise _ragged(where, f"row {i + 1 + layout.header_rows}", layout, len(row))
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


def _ragged(where: object, line: str, layout: Layout, got: int) -> ValueError:
    return ValueError(
        f"{where}: {line} must have {counted(layout.width, 'cell')} like the first, got {got}; correct it, "
        f"or pass {spell(layout.options, 'delimiter')} if the cells are split at the wrong character."
    )


def table_of_body(body: Body, layout: Layout, where: object) -> RawTable:
    """The table without empty columns, and with its lines of words apart."""
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
            f"name it in the header, or pass {spell(layout.options, 'header', False)} if the first line "
            "holds values."
        )
    if not layout.named:
        remarks.append(
            f"The table has no header: its columns are called column_1 to column_{layout.width}, "
            f"counting those of names and labels; pass {spell(layout.options, 'header', True)} if the first "
            "line holds names."
        )
    if (how := layout.style.remark()) is not None:
        remarks.append(how)
        if 0 in body.columns:  # numbers, although the cells are kept as text too
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
    """Drop the empty columns without a name that spreadsheets leave behind; returns remarks."""
    nameless = [j for j in body.texts if j and (not layout.names[j] if layout.named else j in layout.texts)]
    empty = [j for j in nameless if not any(body.texts[j])]
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
    if len(sizes) < n_sizes or not all(size.isdecimal() for size in sizes[:n_sizes]):
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
    """The table transposed, without the columns ``aside``."""
    with_header = ReadOptions(header=True, spelling=options.spelling)
    raw = table_of_lines(body, file.path, delimiter="\t", options=with_header)
    first = raw.first
    assert first is not None
    words = [name for name in raw.texts if name not in {first.name, *aside}]
    if words or raw.lines:
        where = f"sample {words[0]!r}" if words else f"line {next(iter(raw.lines))!r}"
        cells = raw.texts[words[0]] if words else next(iter(raw.lines.values()))
        word = next(cell for cell in cells if is_word(cell))
        raise ValueError(f"{file.path}: {where} must hold numbers, got {word!r}; correct the file.")
    left_out = set(aside) - {first.name}
    keep = [j for j, name in enumerate(raw.names) if name not in left_out]
    numbers = raw.numbers if len(keep) == len(raw.names) else raw.numbers[:, keep]
    return transposed(replace(raw, numbers=numbers, names=[raw.names[j] for j in keep], texts={}))


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
