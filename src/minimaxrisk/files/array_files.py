"""Files of arrays: NumPy's .npy and .npz, MATLAB's .mat, and the sparse rows of svmlight."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import loadmat
from sklearn.datasets import load_svmlight_file

from minimaxrisk.files.cells import TextArray, generated_names, text_array
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.problems import brief, listed, nearest, parsing
from minimaxrisk.files.raw_table import RawTable

DATA = ("X", "data", "x")
LABELS = ("y", "Y", "target", "labels", "label")
FEATURE_NAMES = ("feature_names", "features", "columns", "var_names", "gene_names", "genes")
SAMPLE_NAMES = ("sample_names", "samples", "index", "obs_names", "sample_ids")
MOST_COLUMNS = 10_000_000  # each has a name
NUMPY = (b"\x93NUMPY", b"PK")
SPARSE_MEMBERS = {"format", "shape", "data"}


def read_npy(path: Path, options: ReadOptions) -> RawTable:
    """One array, which has no name that --layer could give."""
    return read_npz(path, ReadOptions())


def read_npz(path: Path, options: ReadOptions) -> RawTable:
    """One array of NumPy, a matrix of SciPy, or several arrays with names."""
    # NumPy leaves the file open at some errors.
    with _unpickled(path), path.open("rb") as file:
        if not file.read(6).startswith(NUMPY):
            raise ValueError("it does not begin like a NumPy file")
        file.seek(0)
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            arrays = {"X": loaded}
        elif set(loaded.files) >= SPARSE_MEMBERS:
            arrays = {"X": sparse.load_npz(path)}
        else:
            arrays = {name: loaded[name] for name in loaded.files}
    return _table_of_arrays(arrays, path, layer=options.layer)


def read_mat(path: Path, options: ReadOptions) -> RawTable:
    return _table_of_arrays(matlab_variables(path, path), path, layer=options.layer)


def matlab_variables(source: Any, where: object) -> dict[str, Any]:
    """The variables of a file or its bytes; cell arrays of strings come as arrays of str."""
    try:
        found: dict[str, Any] = loadmat(source)
    except NotImplementedError as error:
        raise ValueError(
            f"{where} is a MATLAB file of version 7.3, which cannot be read; "
            "save it again in MATLAB by save(..., '-v7')."
        ) from error
    except Exception as error:  # SciPy raises whatever the damaged bytes lead it to
        raise ValueError(
            f"{where} cannot be read as a MATLAB file of version 7 or older ({brief(error)}); "
            "get it again, or save it in MATLAB by save(..., '-v7')."
        ) from error
    return {name: _uncelled(value) for name, value in found.items() if not name.startswith("__")}


def _uncelled(value: Any) -> Any:
    """A cell array of names comes as arrays of one string each."""
    if not isinstance(value, np.ndarray) or value.dtype != object:
        return value
    cells = [np.ravel(cell) for cell in np.ravel(value)]
    return np.array([str(cell[0]) if cell.size else "" for cell in cells])


def read_svmlight(path: Path, options: ReadOptions) -> RawTable:
    """Columns bear the indices of the file, so that files of one study agree whatever they count from."""
    with parsing(path, "svmlight (label index:value ...)"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = load_svmlight_file(str(path), zero_based=True, dtype=np.float64)
    if not X.shape[0]:
        raise ValueError(f"{path} must hold lines 'label index:value ...', got none.")
    if X.shape[1] > MOST_COLUMNS:
        raise ValueError(
            f"{path}: indices must be at most {MOST_COLUMNS}, got {X.shape[1] - 1}; the file may be damaged; "
            "if not, renumber its columns."
        )
    from_zero = bool((X.indices == 0).any())
    X = sparse.csr_matrix(X if from_zero else X[:, 1:])
    start = 0 if from_zero else 1
    return RawTable(
        X,
        [f"column_{j + start}" for j in range(X.shape[1])],
        annotations={"label": text_array(y)},
        named=False,
        settled=True,
        label="label",
        zeros_left_out=True,
        remarks=("Indices count from 0: column_0 is the first.",) if from_zero else (),
    )


@contextmanager
def _unpickled(path: Path) -> Iterator[None]:
    """Pickles are programs: a file that holds one is refused."""
    try:
        with parsing(path, "NumPy arrays"):
            yield
    except ValueError as error:
        if "pickle" not in str(error):
            raise
        raise ValueError(
            f"{path} must hold arrays of numbers or strings, got pickled objects, which are never loaded; "
            "save numbers, and names as arrays of dtype str."
        ) from error


def _table_of_arrays(arrays: Mapping[str, Any], where: Path, *, layer: str | None) -> RawTable:
    """The matrix among the arrays, with the labels, names and annotations that go with it."""
    key = _matrix_key(arrays, where, layer)
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
    return RawTable(
        X,
        generated_names(p) if features is None else list(features),
        annotations=annotations,
        samples=samples,
        named=features is not None,
        settled=label is not None,
        label=label,
        remarks=(f"Left out the variables {listed(unused)} of the file.",) if unused else (),
    )


def _matrix_key(arrays: Mapping[str, Any], where: Path, layer: str | None) -> str:
    if layer is not None:
        if layer not in arrays:
            raise ValueError(
                f"{where} must hold the variable {layer!r} that --layer names, got {listed(arrays)}"
                f"{nearest(layer, arrays)}"
            )
        return layer
    known = next((name for name in DATA if name in arrays), None)
    tables = [name for name, value in arrays.items() if not _is_vector(value) and np.ndim(value) == 2]
    if known is None and len(tables) != 1:
        raise ValueError(
            f"{where} must hold the data as X, got {listed(arrays) or 'no variable'}; "
            "name it X, or pass the name of the variable as --layer."
        )
    return tables[0] if known is None else known


def _matrix(value: Any, key: str, where: Path) -> Any:
    is_sparse = sparse.issparse(value)
    kind = value.dtype.kind if is_sparse else np.asarray(value).dtype.kind
    if kind not in "buif" or np.ndim(value) != 2 or 0 in value.shape:
        got = f"shape {tuple(value.shape)} of {value.dtype}" if hasattr(value, "shape") else repr(value)
        raise ValueError(
            f"{where}: {key} must be a matrix of real numbers with samples in rows, got {got}; "
            "save it as a two-dimensional array of numbers."
        )
    return sparse.csr_matrix(value).astype(np.float64) if is_sparse else np.asarray(value, dtype=np.float64)


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
