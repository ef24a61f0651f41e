"""Excel and OpenDocument workbooks, by python-calamine."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from minimaxrisk.files.cell_table import table_of_records
from minimaxrisk.files.cells import text_of
from minimaxrisk.files.layout import find_layout, lines_of_title, said_of_title
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.problems import listed, nearest, needed, parsing
from minimaxrisk.files.raw_table import RawTable


def read_workbook(path: Path, options: ReadOptions) -> RawTable:
    """The first sheet that holds something, or the one named."""
    title, start, rows, others = _rows(path, options.sheet)
    where = f"{path}, sheet {title!r}"

    above = options.skip_lines

    def numbered() -> Iterator[tuple[int, list[str]]]:
        for number, row in enumerate(rows, start):
            cells = [text_of(cell) for cell in row]
            if any(cells) and number > above:
                yield number, cells

    def records() -> Iterator[list[str]]:
        return (cells for _, cells in numbered())

    elsewhere = ""
    if others:
        other = shlex.quote(others[0])
        elsewhere = (
            f" Other sheets: {listed(others)} (--sheet {other}, or --labels-sheet {other} for labels)."
        )
    try:
        last, words = lines_of_title(numbered(), where)
        above = max(above, last)
        layout = find_layout(records, where, options=options)
        table = table_of_records(records, layout, where).said(*said_of_title(words))
        raw = replace(table, elsewhere=elsewhere)
    except ValueError as error:
        raise ValueError(f"{error}{elsewhere}") from error
    if others and options.sheet is None:
        raw = raw.said(f"Read the sheet {title!r}; the workbook also has {listed(others)} (--sheet).")
    return raw


def _rows(path: Path, asked: str | None) -> tuple[str, int, list[list[Any]], list[str]]:
    """Title, number of the first row and rows of the sheet, and the titles of the others."""
    calamine = needed("python_calamine", "Reading workbooks")
    with _calmed(path):
        workbook = calamine.CalamineWorkbook.from_path(str(path))
        titles = list(workbook.sheet_names)
    if asked is not None and asked not in titles:
        raise ValueError(
            f"{path} must hold the sheet {asked!r} that --sheet names, got {listed(titles)}"
            f"{nearest(asked, titles)}"
        )
    for title in titles if asked is None else [asked]:
        with _calmed(path):
            sheet = workbook.get_sheet_by_name(title)
            start, rows = sheet.start, sheet.to_python(skip_empty_area=True)
        if rows:
            return title, start[0] + 1 if start else 1, rows, [other for other in titles if other != title]
    raise ValueError(f"{path} must hold a table, got only empty sheets.")


@contextmanager
def _calmed(path: Path) -> Iterator[None]:
    """The parser may panic at a damaged file, which is no Exception."""
    with parsing(path, "a workbook"):
        try:
            yield
        except BaseException as error:
            if isinstance(error, Exception | KeyboardInterrupt | SystemExit | GeneratorExit):
                raise
            raise ValueError(str(error)) from error
