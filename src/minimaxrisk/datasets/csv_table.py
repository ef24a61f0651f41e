"""Comma-separated tables: one line per instance, with a column of labels and perhaps one of identifiers."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.datasets.table import Table, make_table
from minimaxrisk.files.cells import is_identifier, is_missing, is_word, number

LABELS = ("class", "label", "target", "type", "diagnosis", "y")  # the first that occurs


def parse_csv(lines: Iterable[str], where: object) -> Table:
    """The label is the column named like one, else the last; ``where`` is what the messages call the file.

    Blank lines, a header, a column of identifiers and columns without any value are left out.
    """
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if any(cell.strip() for cell in row)]
    if not rows:
        raise ValueError(f"{where} must hold at least one line of values, got none.")
    header = rows.pop(0) if _is_header(rows[0]) else None
    width = len(header or rows[0])
    uneven = next((row for row in rows if len(row) != width), None)
    if uneven is not None or not rows or width < 2:
        got = len(uneven) if uneven is not None else width
        raise ValueError(f"{where} must have lines of one length, at least 2: expected {width}, got {got}.")
    names = header or [f"number {j + 1}" for j in range(width)]
    label = _label_column(header, width)
    features = [j for j in range(width) if j != label]
    columns = {j: [row[j] for row in rows] for j in (label, *features)}
    if any(is_missing(cell) for cell in columns[label]):
        raise ValueError(f"{where}: the label, column {names[label]!r}, must have a value in every line.")
    if _is_identifier(columns[features[0]], header[features[0]] if header else None):
        features = features[1:]
    numbers = [_numbers(columns[j], names[j], where) for j in features]
    kept = [column for column in numbers if not np.isnan(column).all()]
    if not kept:
        raise ValueError(f"{where} must have a column of numbers beside the label, got none.")
    return make_table(np.column_stack(kept), columns[label], where)


def _is_header(row: Sequence[str]) -> bool:
    """Whether the first line holds names: one of a label, or mostly words, or the numbers of the columns."""
    # A lone y may be a label itself, for yes.
    if any(cell.lower() in LABELS and cell.lower() != "y" for cell in row):
        return True
    counted = len(row) > 10 and list(row[:-1]) == [str(j) for j in range(len(row) - 1)]
    return counted or 2 * sum(is_word(cell) for cell in row) > len(row)


def _label_column(header: Sequence[str] | None, width: int) -> int:
    lower = [name.lower() for name in header or ()]
    return next((lower.index(name) for name in LABELS if name in lower), width - 1)


def _is_identifier(cells: Sequence[str], name: str | None) -> bool:
    """Whether the first column only names the lines: unique words, or a count, or a header that says so."""
    if len(set(cells)) < len(cells):
        return False
    if name is not None and is_identifier(name):
        return True
    counted = any(list(cells) == [str(start + i) for i in range(len(cells))] for start in (0, 1))
    return counted or all(is_word(cell) for cell in cells)


def _numbers(cells: Sequence[str], name: str, where: object) -> FloatArray:
    """The numbers of a column, or NaN throughout if it has no value at all."""
    try:
        # All at once: the tables have a million cells and more.
        column = np.array(cells, dtype=np.str_).astype(np.float64)
    except ValueError:
        column = np.array([number(cell) for cell in cells], dtype=np.float64)  # None becomes NaN
    if np.isfinite(column).all():
        return column
    if all(is_missing(cell) for cell in cells):
        return np.full(len(cells), np.nan)
    wrong = next(cell for cell, number in zip(cells, column, strict=True) if not np.isfinite(number))
    got = repr(wrong) if wrong else "an empty cell"
    raise ValueError(f"{where}: column {name!r} must hold finite numbers, got {got}.")
