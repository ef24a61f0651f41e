"""Parquet and Feather files, by pyarrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from minimaxrisk.files.cells import TextArray, text_array
from minimaxrisk.files.options import EVERY, ReadOptions
from minimaxrisk.files.problems import needed, parsing, require_unique
from minimaxrisk.files.raw_table import FirstColumn, RawTable


def read_parquet(path: Path, options: ReadOptions) -> RawTable:
    parquet = needed("pyarrow.parquet", "Reading Parquet")
    with parsing(path, "a Parquet file"):
        # As a file, not a data set, whose folders' names would become columns.
        table = parquet.ParquetFile(path).read()
    return _table_of_columns(table, path, options.as_text)


def read_feather(path: Path, options: ReadOptions) -> RawTable:
    feather = needed("pyarrow.feather", "Reading Feather")
    with parsing(path, "a Feather file"):
        table = feather.read_table(path, memory_map=False)
    return _table_of_columns(table, path, options.as_text)


def _table_of_columns(table: Any, where: Path, as_text: frozenset[str]) -> RawTable:
    if not table.num_rows or not table.num_columns:
        raise ValueError(f"{where} must hold rows and columns, got {table.num_rows} x {table.num_columns}.")
    with parsing(where, "a table of columns"):
        index, shown = _pandas_index(table)
    table = table.rename_columns([name.strip() for name in table.column_names])
    require_unique(table.column_names, where, what="the names of columns", remedy="rename them")
    with parsing(where, "a table of columns"):
        table.validate(full=True)  # offsets of damaged files lead outside of memory
        columns = [name for name in table.column_names if name not in index]
        numeric = [name for name in columns if _holds_numbers(table, name, as_text)]
        numbers = np.empty((table.num_rows, len(numeric)))
        for k, name in enumerate(numeric):
            numbers[:, k] = _floats(table.column(name))
        texts = {name: _texts(table, name) for name in columns if name not in set(numeric)}
        levels = {shown[name]: _texts(table, name) for name in index}
        first = FirstColumn(columns[0], _texts(table, columns[0])) if columns else None
    if len(levels) == len(index) == 1:
        ((title, samples),) = levels.items()
        remark = f"Took the index {title!r} of the table as sample names."
        return RawTable(numbers, numeric, texts=texts, samples=samples, remarks=(remark,))
    return RawTable(numbers, numeric, texts={**levels, **texts}, first=first)


def _holds_numbers(table: Any, name: str, as_text: frozenset[str]) -> bool:
    is_kept = EVERY in as_text or name in as_text
    return not is_kept and _is_numeric(table.schema.field(name).type)


def _texts(table: Any, name: str) -> TextArray:
    return text_array(table.column(name).to_pylist())


def _pandas_index(table: Any) -> tuple[list[str], dict[str, str]]:
    """Columns that are the index of a pandas DataFrame, and the names that they had there."""
    metadata = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
    index = [name.strip() for name in metadata.get("index_columns", ()) if isinstance(name, str)]
    titles = {
        str(column.get("field_name")).strip(): column.get("name") for column in metadata.get("columns", ())
    }
    return index, {name: str(titles.get(name) or "") for name in index}


def _is_numeric(kind: Any) -> bool:
    types = needed("pyarrow.types", "Reading columns")
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _floats(column: Any) -> Any:
    return column.cast("float64", safe=False).to_numpy()
