"""Any table of cells as numbers and texts, row by row: cells may be missing, columns turn out to be text."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.files.cells import AS_NAN, TextArray, is_missing, number, text_array
from minimaxrisk.files.layout import Layout, Records, is_line_of_words
from minimaxrisk.files.problems import counted, listed, require_unique
from minimaxrisk.files.raw_table import FirstColumn, RawTable

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
