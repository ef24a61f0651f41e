"""Formats that other packages read: AnnData, NumPy, svmlight, Parquet and workbooks."""

from __future__ import annotations

import csv
import math
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from minimaxrisk._utils.arguments import listed
from minimaxrisk.app.files.cells import TextArray, generated_names, text_array, text_of
from minimaxrisk.app.files.guards import (
    check_hdf5,
    check_workbook,
    checked_csr,
    refuse_damaged_text,
    refuse_fractions,
    refuse_shape,
    refuse_unpacked,
)
from minimaxrisk.app.files.messages import nearest, needed, parsing, require_unique
from minimaxrisk.app.files.remarks import Remark
from minimaxrisk.app.files.study import EVERY, ReadOptions, spell
from minimaxrisk.app.files.table import FirstColumn, Table
from minimaxrisk.app.files.text import numbered, opened
from minimaxrisk.app.files.text_tables import table_below_title

# Names of arrays in NumPy files.
DATA = ("X", "data", "x")
LABELS = ("y", "Y", "target", "labels", "label")
FEATURE_NAMES = ("feature_names", "features", "columns", "var_names", "gene_names", "genes")
SAMPLE_NAMES = ("sample_names", "samples", "index", "obs_names", "sample_ids")
SPARSE_MEMBERS = {"format", "shape", "data"}
NUMPY = b"PK"  # how its files begin


def read_h5ad(path: Path, options: ReadOptions) -> Table:
    """X or a layer of an AnnData file, with the columns of obs as annotations."""
    h5py = needed("h5py", "Reading .h5ad")
    read_elem = needed("anndata.io", "Reading .h5ad").read_elem
    place = "X" if options.layer in {None, "X"} else f"layers/{options.layer}"
    with parsing(path, "an AnnData file"), warnings.catch_warnings(), h5py.File(path, "r") as file:
        warnings.simplefilter("ignore")
        check_hdf5(file, path)
        layers, found = list(file.get("layers", ())), place in file
        if found:
            # Only what is needed: a file may hold many layers, each as large as X.
            obs, var, X = (read_elem(file[key]) for key in ("obs", "var", place))
            annotations = {str(name).strip(): text_array(obs[name]) for name in obs.columns}
            if sparse.issparse(X):
                refuse_fractions(file[place])
                numbers = checked_csr(X, path)
            else:
                numbers = np.ascontiguousarray(X, dtype=np.float64)
    if not found:
        advice = f"; pass one of them as {spell(options, 'layer')}."
        raise ValueError(
            f"{path} must hold {place}, got the layers {listed(layers) or 'none'}"
            f"{nearest(options.layer or '', layers) or advice}"
        )
    if 0 in numbers.shape or numbers.shape != (len(obs), len(var)):
        raise ValueError(
            f"{path}: {place} must be a matrix of {len(obs)} observations and {len(var)} variables, "
            f"got shape {numbers.shape}."
        )
    return Table(
        numbers.astype(np.float64, copy=False),
        list(text_array(var.index)),
        annotations=annotations,
        samples=text_array(obs.index),
        settled=True,
    )


def read_npz(path: Path, options: ReadOptions) -> Table:
    """Return a matrix of SciPy, or several arrays with names."""
    with parsing(path, "NumPy arrays"), path.open("rb") as file:
        if not file.read(4).startswith(NUMPY):
            raise ValueError("it does not begin like an .npz file")
        with zipfile.ZipFile(path) as archive:
            refuse_unpacked(sum(info.file_size for info in archive.infolist()), path.stat().st_size, path)
        try:
            with np.load(path, allow_pickle=False) as loaded:
                arrays: dict[str, Any] = {name: loaded[name] for name in loaded.files}
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
            advice = "save numbers, and names as arrays of dtype str"
            raise ValueError(f"pickled objects are never loaded: {advice}") from error
        for name, value in arrays.items():
            refuse_damaged_text(value, name)
        if arrays.keys() >= SPARSE_MEMBERS:
            refuse_fractions(arrays)
            arrays = {"X": checked_csr(sparse.load_npz(path), path)}
    return _table_of_arrays(arrays, path, options)


def read_svmlight(path: Path, options: ReadOptions) -> Table:
    """Columns have the indices of the file, whether it counts from 0 or 1: files of one study agree."""
    with parsing(path, "svmlight (label index:value ...)"), warnings.catch_warnings(), opened(path) as file:
        warnings.simplefilter("ignore")
        X, y = load_svmlight_file(file, zero_based=True, dtype=np.float64)
    if not X.shape[0]:
        raise ValueError(f"{path} must hold lines 'label index:value ...', got none.")
    X = checked_csr(X, path)
    from_zero = bool((X.indices == 0).any())
    X = sparse.csr_matrix(X if from_zero else X[:, 1:])
    start = 0 if from_zero else 1
    return Table(
        X,
        [f"column_{j + start}" for j in range(X.shape[1])],
        annotations={"label": text_array(y)},
        named=False,
        settled=True,
        label="label",
        zeros_left_out=True,
        remarks=(Remark.of("from-zero"),) * from_zero,
    )


def _table_of_arrays(arrays: Mapping[str, Any], where: Path, options: ReadOptions) -> Table:
    """Return the matrix among the arrays, with the labels, names and annotations that go with it."""
    key = _matrix_key(arrays, where, options)
    X = _matrix(arrays[key], key, where)
    n, p = X.shape
    rest = {name: value for name, value in arrays.items() if name != key}
    label = next((name for name in LABELS if name in rest), None)
    features = _vector(rest, FEATURE_NAMES, p, where)
    samples = _vector(rest, SAMPLE_NAMES, n, where)
    if label is not None and np.size(rest[label]) != n:
        raise ValueError(
            f"{where}: {label} must hold one label for each of {n} rows of {key}, "
            f"got {np.size(rest[label])}; if samples are in columns of {key}, save it transposed."
        )
    annotations = {
        name: text_array(np.ravel(value))
        for name, value in rest.items()
        if name not in {*FEATURE_NAMES, *SAMPLE_NAMES} and np.size(value) == n and _is_vector(value)
    }
    used = {*annotations, *(name for name in (*FEATURE_NAMES, *SAMPLE_NAMES) if name in rest)}
    unused = [name for name in rest if name not in used]
    return Table(
        X,
        generated_names(p) if features is None else list(features),
        annotations=annotations,
        samples=samples,
        named=features is not None,
        settled=label is not None,
        label=label,
        remarks=(Remark.of("variables", names=listed(unused)),) * bool(unused),
    )


def _matrix_key(arrays: Mapping[str, Any], where: Path, options: ReadOptions) -> str:
    """Return the name of the array with the data."""
    layer = options.layer
    if layer is not None:
        if layer not in arrays:
            raise ValueError(
                f"{where} must hold the variable {layer!r} that {spell(options, 'layer')} names, got "
                f"{listed(arrays)}{nearest(layer, arrays)}"
            )
        return layer
    known = next((name for name in DATA if name in arrays), None)
    tables = [name for name, value in arrays.items() if not _is_vector(value) and np.ndim(value) == 2]
    if known is None and len(tables) != 1:
        raise ValueError(
            f"{where} must hold the data as X, got {listed(arrays) or 'no variable'}; "
            f"name it X, or pass the name of the variable as {spell(options, 'layer')}."
        )
    return tables[0] if known is None else known


def _matrix(value: Any, key: str, where: Path) -> Any:
    if value.dtype.kind not in "buif" or np.ndim(value) != 2 or 0 in value.shape:
        raise ValueError(
            f"{where}: {key} must be a matrix of real numbers with samples in rows, got shape {value.shape} "
            f"of {value.dtype}; save it as a two-dimensional array of numbers."
        )
    refuse_shape(value.shape, where)
    return value.astype(np.float64, copy=False)


def _is_vector(value: Any) -> bool:
    return not sparse.issparse(value) and np.ndim(value) >= 1 and np.size(value) == max(np.shape(value))


def _vector(rest: Mapping[str, Any], names: Sequence[str], n: int, where: Path) -> TextArray | None:
    name = next((name for name in names if name in rest), None)
    if name is None:
        return None
    values = text_array(np.ravel(rest[name]))
    if len(values) != n:
        raise ValueError(f"{where}: {name} must hold {n} names to match the matrix, got {len(values)}.")
    return values


def read_parquet(path: Path, options: ReadOptions) -> Table:
    """Read a Parquet file; an index that pandas saved has the names of the samples."""
    parquet = needed("pyarrow.parquet", "Reading Parquet")
    with parsing(path, "a Parquet file"):
        # As a data set, names of folders would become columns.
        file = parquet.ParquetFile(path)
        shape = file.metadata.num_rows, file.metadata.num_columns
        if 0 in shape:
            raise ValueError(f"{path} must hold rows and columns, got {shape[0]} x {shape[1]}.")
        refuse_shape(shape, path)
        refuse_unpacked(8 * math.prod(shape), path.stat().st_size, path)
        content = file.read()
        content.validate(full=True)  # offsets of damaged files lead outside of memory
        frame = content.to_pandas(integer_object_nulls=True)
    frame.columns = [str(name).strip() for name in frame.columns]
    require_unique(list(frame.columns), path, what="the names of columns", remedy="rename them")
    remarks, samples, levels = [], None, {}
    if frame.index.nlevels > 1:
        levels = {
            str(name or ""): text_array(frame.index.get_level_values(name)) for name in frame.index.names
        }
    elif not hasattr(frame.index, "step"):  # a RangeIndex counts the rows
        samples = text_array(frame.index)
        remarks = [Remark.of("index", index=str(frame.index.name or ""))]
    as_text = {name for name in frame.columns if name in options.as_text or EVERY in options.as_text}
    numbers = frame.drop(columns=list(as_text)).select_dtypes("number", exclude="timedelta")
    is_number = set(numbers.columns)
    texts = {name: text_array(frame[name]) for name in frame.columns if name not in is_number}
    first = None
    if samples is None and len(frame.columns):
        first = FirstColumn(frame.columns[0], text_array(frame.iloc[:, 0]))
    return Table(
        np.ascontiguousarray(numbers.to_numpy(np.float64, na_value=np.nan)),
        list(numbers.columns),
        texts={**levels, **texts},
        samples=samples,
        first=first,
        remarks=tuple(remarks),
    )


def read_workbook(path: Path, options: ReadOptions) -> Table:
    """Read the sheet that the options name, or the first one that is not empty."""
    title, lines, others = _sheet(path, options)
    where = f"{path}, sheet {title!r}"
    elsewhere = ""
    if others:
        data, labels = (spell(options, name, others[0]) for name in ("sheet", "labels_sheet"))
        elsewhere = f" Other sheets: {listed(others)} ({data}, or {labels} for labels)."
    try:
        table = table_below_title(lambda: numbered(lines, options.skip_lines), where, ",", options)
    except ValueError as error:
        raise ValueError(f"{error}{elsewhere}") from error
    remark = Remark.of("sheet", sheet=title, others=listed(others), option=spell(options, "sheet"))
    is_choice = bool(others) and options.sheet is None
    return replace(table, elsewhere=elsewhere).with_remarks(*[remark] * is_choice)


def _sheet(path: Path, options: ReadOptions) -> tuple[str, list[str], list[str]]:
    """Return the title of the sheet, its rows as lines of text, and the titles of the others."""
    asked = options.sheet
    calamine = needed("python_calamine", "Reading workbooks")
    with parsing(path, "a workbook"):
        check_workbook(path)
        workbook = calamine.CalamineWorkbook.from_path(str(path))
        titles = list(workbook.sheet_names)
    if asked is not None and asked not in titles:
        raise ValueError(
            f"{path} must hold the sheet {asked!r} that {spell(options, 'sheet')} names, got {listed(titles)}"
            f"{nearest(asked, titles)}"
        )
    for title in titles if asked is None else [asked]:
        with parsing(path, "a workbook"):
            sheet = workbook.get_sheet_by_name(title)
            rows = sheet.to_python(skip_empty_area=True)
        if rows:
            above = ["\n"] * (sheet.start[0] if sheet.start else 0)
            return title, above + list(map(_line_of, rows)), [other for other in titles if other != title]
    raise ValueError(f"{path} must hold a table, got only empty sheets.")


def _line_of(row: Sequence[Any]) -> str:
    """Return the row of a sheet as a line of text."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerow(map(text_of, row))
    return text.getvalue()
