"""Parquet and Feather files, by pyarrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from minimaxrisk.files.cells import text_array
from minimaxrisk.files.options import EVERY, ReadOptions
from minimaxrisk.files.problems import needed, parsing, require_unique
from minimaxrisk.files.sheet import FirstColumn, Sheet


def read_parquet(path: Path, options: ReadOptions) -> Sheet:
    parquet = needed("pyarrow.parquet", "Reading Parquet")
    with parsing(path, "a Parquet file"):
        # As a file, not a data set, whose folders' names would become columns.
        table = parquet.ParquetFile(path).read()
    return _sheet_of_table(table, path, options.as_text)


def read_feather(path: Path, options: ReadOptions) -> Sheet:
    feather = needed("pyarrow.feather", "Reading Feather")
    with parsing(path, "a Feather file"):
        table = feather.read_table(path, memory_map=False)
    return _sheet_of_table(table, path, options.as_text)


def _sheet_of_table(table: Any, where: Path, as_text: frozenset[str]) -> Sheet:
    if not table.num_rows or not table.num_columns:
        raise ValueError(f"{where} must hold rows and columns, got {table.num_rows} x {table.num_columns}.")
    with parsing(where, "a table of columns"):
        index, shown = _pandas_index(table)
    table = table.rename_columns([name.strip() for name in table.column_names])
    require_unique(table.column_names, where, what="the names of columns", remedy="rename them")
    with parsing(where, "a table of columns"):
        table.validate(full=True)  # offsets of damaged files lead outside of memory
        columns = [j for j, name in enumerate(table.column_names) if name not in index]
        kept = {j for j in columns if EVERY in as_text or table.column_names[j] in as_text}
        numeric = [j for j in columns if j not in kept and _is_numeric(table.schema.types[j])]
        numbers = np.empty((table.num_rows, len(numeric)))
        for k, j in enumerate(numeric):
            numbers[:, k] = _floats(table.column(j))
        texts = {
            table.column_names[j]: text_array(table.column(j).to_pylist())
            for j in sorted(set(columns) - set(numeric))
        }
        samples = text_array(table.column(index[0]).to_pylist()) if len(index) == 1 else None
        levels = {shown[name]: text_array(table.column(name).to_pylist()) for name in index}
    if samples is not None:
        remarks: tuple[str, ...] = (f"Took the index {shown[index[0]]!r} of the table as sample names.",)
    else:
        texts, remarks = {**levels, **texts}, ()
    names = [table.column_names[j] for j in numeric]
    first = None
    if samples is None and columns:
        name = table.column_names[columns[0]]
        cells = texts[name] if name in texts else text_array(table.column(columns[0]).to_pylist())
        first = FirstColumn(name, cells)
    return Sheet(numbers, names, texts=texts, samples=samples, first=first, remarks=remarks)


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
