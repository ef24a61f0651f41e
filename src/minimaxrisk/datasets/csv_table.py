"""Comma-separated tables: one line per instance, with a column of labels and perhaps one of identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from minimaxrisk.datasets.labelled_table import LabelledTable, labelled_table
from minimaxrisk.files.cell_table import table_of_records
from minimaxrisk.files.cells import TextArray, generated_names, is_identifier, is_missing, is_word
from minimaxrisk.files.layout import LABELS, find_layout, is_header, split_records
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.raw_table import RawTable, counts_lines

LOOKED_AT = 100  # lines below the first, to tell whether that is a header


def parse_csv(lines: Iterable[str], where: object) -> LabelledTable:
    """The label is the column named like one, else the last; ``where`` is what the messages call the file.

    Blank lines, a header, a column of identifiers and columns without any value are left out.
    """
    rows = list(split_records(lines, ","))
    if not rows:
        raise ValueError(f"{where} must hold at least one line of values, got none.")
    header = rows.pop(0) if is_header(rows[0], rows[1:LOOKED_AT]) else None
    width = len(header or rows[0])
    uneven = next((row for row in rows if len(row) != width), None)
    if uneven is not None or not rows or width < 2:
        got = len(uneven) if uneven is not None else width
        raise ValueError(f"{where} must have lines of one length, at least 2: expected {width}, got {got}.")
    # Names of genes may occur more than once, so that columns go by their numbers.
    columns = generated_names(width)
    shown = dict(zip(columns, header or (f"number {j + 1}" for j in range(width)), strict=True))
    label = columns[_label_place(header, width)]
    layout = find_layout(
        lambda: iter(rows), where, options=ReadOptions(header=False, as_text=frozenset({label}))
    )
    raw = table_of_records(lambda: iter(rows), layout, where)
    labels = raw.texts.get(label)
    if labels is None or any(map(is_missing, labels)):
        raise ValueError(f"{where}: the label, column {shown[label]!r}, must have a value in every line.")
    first = next(name for name in columns if name != label)
    is_aside = _is_identifier(raw.column(first), shown[first] if header else None)
    return labelled_table(_numbers(raw, {label, first} if is_aside else {label}, shown, where), labels, where)


def _label_place(header: Sequence[str] | None, width: int) -> int:
    lower = [name.lower() for name in header or ()]
    return next((lower.index(name) for name in LABELS if name in lower), width - 1)


def _is_identifier(cells: TextArray | None, name: str | None) -> bool:
    """Whether a column only names the lines: unique words, or a count, or a header that says so."""
    if cells is None or len(set(cells)) < len(cells):
        return False
    is_named = name is not None and is_identifier(name)
    return is_named or counts_lines(cells) or all(map(is_word, cells))


def _numbers(raw: RawTable, aside: set[str], shown: dict[str, str], where: object) -> np.ndarray:
    """The columns that hold values, but those aside."""
    if raw.lines:
        raise ValueError(f"{where} must hold numbers, got lines of text such as {next(iter(raw.lines))!r}.")
    words = next((name for name in raw.texts if name not in aside), None)
    if words is not None:
        got = next(cell for cell in raw.texts[words] if is_word(cell))
        raise ValueError(f"{where}: column {shown[words]!r} must hold finite numbers, got {got!r}.")
    is_empty = np.isnan(raw.numbers).all(axis=0)
    keep = [j for j, name in enumerate(raw.names) if name not in aside and not is_empty[j]]
    X = raw.numbers[:, keep]
    if not keep:
        raise ValueError(f"{where} must have a column of numbers besides the label, got none.")
    wrong = np.argwhere(~np.isfinite(X))
    if len(wrong):
        row, column = wrong[0]
        name, value = shown[raw.names[keep[column]]], X[row, column]
        got = "a missing value" if np.isnan(value) else f"{value}"
        raise ValueError(f"{where}: column {name!r} must hold finite numbers, got {got}.")
    return X
