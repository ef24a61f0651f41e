"""Checks of X, for fitting and for predicting.

Errors name the place and what to do. Dask arrays are checked by their metadata first, and then by their
values, on the workers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import validate_data

from minimaxrisk._utils.arrays import DataMatrix, namespace_of, stays_where_it_is, to_numpy
from minimaxrisk._utils.dask_arrays import (
    computed,
    fetch,
    is_dask_array,
    is_lost,
    kept_if_it_fits,
    lazily,
    reduce_by_tree,
)
from minimaxrisk._utils.sklearn_private import check_n_features
from minimaxrisk._utils.stored_tables import (
    LARGE,
    StoredArray,
    Table,
    is_in_chunks,
    is_memory_map,
    not_finite,
)
from minimaxrisk.samples.labels import without_mask

Place = tuple[int, int, float]  # row, column, value
# Numbers with a decimal comma, and in how many cells of a column to look for them.
DECIMAL_COMMA, LOOKED_AT = re.compile(r"\s*[-+]?\d+,\d+\s*"), 5
# How pandas, polars and pyarrow call types of numbers and of dates, in small letters.
NUMBERS = re.compile(r"u?int\d|float|double|half|bool|decimal|sparse")
DATES = ("date", "time", "duration")
FILL = (
    " Missing values (NaN, null, NA) must be filled before, such as by SimpleImputer(strategy='median') as "
    "the first step of a pipeline, or their rows or columns dropped."
)


def validated(estimator: Any, X: Any, *y: Any, reset: bool) -> Any:
    """Return X after scikit-learn's checks, and ``y`` if it is given; errors say where and what to do."""
    try:
        return _validated(estimator, X, *y, reset=reset)
    except (TypeError, ValueError) as error:
        _explain(X, error)
        raise


def _validated(estimator: Any, X: Any, *y: Any, reset: bool) -> Any:
    """Run scikit-learn's checks.

    They would read and copy large arrays. For these an array of the same shape that takes no memory is
    checked instead, and whether entries are finite is checked when they are first read.
    """
    if is_dask_array(X):
        labels = [validate_data(estimator, "no_validation", *y)] if y else []
        X = check_dask_matrix(X, *labels)
        validate_data(estimator, X, *labels, reset=reset, skip_check_array=True)
        return (X, *labels) if y else X
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "to_dask_array"):
        # Its number of rows is not known, and scikit-learn would load all of it.
        raise TypeError(
            f"X is a dask {type(X).__name__}; pass X.to_dask_array(lengths=True), whose chunks have known "
            "sizes."
        )
    table = _as_it_is(X)
    if table is None:
        stays = stays_where_it_is(X)
        xp = namespace_of(X) if stays else np
        return validate_data(
            estimator,
            X,
            *y,
            reset=reset,
            accept_sparse="csr",
            dtype=[xp.float64, xp.float32],
            ensure_all_finite=not (stays and y),
        )
    if table.dtype.kind not in "biuf":
        raise ValueError(f"X must be an array of real numbers, got one of type {table.dtype}.")
    stand_in = np.broadcast_to(np.float32(0.0), X.shape)
    checked = validate_data(estimator, stand_in, *y, reset=reset, dtype=None, ensure_all_finite=False)
    return (table, checked[1]) if y else table


def _as_it_is(X: Any) -> Table | None:
    """Return a table on disk or a large array as a ``Table``; None for anything that may be copied."""
    if isinstance(X, Table):
        return X
    is_array = type(X) in (np.ndarray, np.memmap)
    is_large = is_array and X.size > LARGE and X.dtype.kind in "biuf"
    if is_in_chunks(X) or is_large or (is_array and is_memory_map(X)):
        return Table(StoredArray(X))
    return None


def check_new_data(estimator: Any, X: Any) -> DataMatrix:
    """Return new instances, whose columns must be those of the training data.

    Arrays on disk are checked when the columns that the model uses are read.
    """
    X = validated(estimator, readable(X), reset=False)
    if isinstance(X, Table) and not X.stored.is_on_disk:
        X.stored.check_finite()
    return X


def check_table(X: Any, model: Any = None) -> Any:
    """Return a table as an array or a CSR matrix, to look at; it may have gaps, which are NaN.

    It must have the columns of a fitted ``model``, in their order where both have names.
    """
    X = readable(X)
    try:
        values = check_array(
            to_numpy(computed(X)),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            input_name="X",
        )
        if model is not None and hasattr(model, "feature_names_in_") and columns_of_frame(X)[0]:
            validate_data(model, X, reset=False, skip_check_array=True)
        elif model is not None:
            check_n_features(model, values, reset=False)
    except (TypeError, ValueError) as error:
        _explain(X, error)
        raise
    return values


def readable(X: Any) -> Any:
    """Return X without what scikit-learn would misread: queries, dates as numbers, masked entries."""
    if type(X).__name__ == "LazyFrame" and type(X).__module__.startswith("polars"):
        raise TypeError("X is a polars LazyFrame, which holds no values yet; pass X.collect().")
    _refuse_columns(X, lambda kind: not kind.startswith(DATES))
    cell, column = X, 0
    while isinstance(cell, list | tuple) and cell:
        cell = cell[0]
    if isinstance(cell, np.ndarray) and cell.dtype == object:  # where NumPy's dates would become numbers, too
        dates = (i for i, each in enumerate(cell.flat) if isinstance(each, np.datetime64 | np.timedelta64))
        place = next(dates, None)
        if place is not None:
            cell, column = cell.flat[place], place % cell.shape[-1]
    if isinstance(cell, np.ndarray | np.generic) and cell.dtype.kind in "mM":
        raise _not_numeric(column, cell.dtype, cell.ravel()[:1].tolist())
    return without_mask(X)


def check_dask_matrix(X: Any, y: np.ndarray | None = None) -> Any:
    """Return finite numbers in chunks of known sizes, kept by the workers if they fit."""
    X = check_description(X)
    if any(np.isnan(size) for size in X.shape):
        raise ValueError(
            f"X is a dask array with chunks of unknown size (its shape is {X.shape}); call "
            "X = X.compute_chunk_sizes() first, or convert a dask DataFrame by to_dask_array(lengths=True)."
        )
    if min(X.shape) == 0:
        raise ValueError(f"X must have at least one sample and one feature, got shape {X.shape}.")
    check_consistent_length(X, y)
    X = kept_if_it_fits(X)
    rows, columns = (np.cumsum([0, *sizes]).tolist() for sizes in X.chunks)
    looks = [
        lazily(first_not_finite, chunk, row, column)
        for row, line in zip(rows, X.to_delayed(), strict=False)
        for column, chunk in zip(columns, line, strict=False)
    ]
    (place,) = fetch([reduce_by_tree(looks, first_place)])
    if place is not None:
        raise not_finite(f"row {place[0]}", *place[1:])
    return X


def check_description(X: Any) -> Any:
    """Check what is known without computing; numbers other than float32 become float64, lazily."""
    if X.ndim != 2:
        raise ValueError(f"X must be 2-D, samples x features, got a dask array of {X.ndim} dimensions.")
    if X.dtype.kind not in "biuf":
        raise ValueError(
            f"X must be numeric, got a dask array of dtype {X.dtype}; encode non-numeric columns, and "
            "convert with X.astype(float)."
        )
    if not isinstance(X._meta, np.ndarray):
        raise ValueError(
            f"X must have NumPy arrays as chunks, got a dask array of {type(X._meta).__name__}; convert "
            "them, for example with X.map_blocks(lambda chunk: chunk.toarray()), or pass a SciPy matrix."
        )
    if is_lost(X):
        raise ValueError(
            "X was persisted by a dask client that is closed, and its chunks are lost; connect again and "
            "load X again."
        )
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def first_not_finite(chunk: np.ndarray, row: int = 0, column: int = 0) -> Place | None:
    """Return place and value of the first NaN or infinity in a chunk that begins at this row and column."""
    with np.errstate(over="ignore", invalid="ignore"):
        # If the sum of finite numbers overflows, the entries are checked one by one.
        if np.isfinite(chunk.sum(dtype=np.float64)):
            return None
    places = np.argwhere(~np.isfinite(chunk))
    if not len(places):
        return None
    i, j = places[0].tolist()
    return row + i, column + j, float(chunk[i, j])


def first_place(places: list[Place | None]) -> Place | None:
    """Return the first of some places, by row and column."""
    return min((place for place in places if place is not None), key=lambda place: place[:2], default=None)


def columns_of_frame(X: Any) -> tuple[list[Any], list[Any]]:
    """Return names and types of the columns of a frame of pandas or polars or a table of pyarrow."""
    if hasattr(X, "column_names"):
        return list(X.column_names), list(X.schema.types)
    return (list(X.columns), list(X.dtypes)) if hasattr(X, "dtypes") and hasattr(X, "columns") else ([], [])


def are_numbers(kind: Any) -> bool:
    """Return whether a type of a column is one of numbers."""
    return NUMBERS.match(str(kind).lower()) is not None


def as_floats(X: Any) -> np.ndarray:
    """Return an array, a list or a data frame as an array in which missing values are NaN."""
    if hasattr(X, "isna"):  # pandas, whose NA is no number
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(to_numpy(X), dtype=np.float64)


def canonical(X: DataMatrix) -> DataMatrix:
    """Return a copy in CSR with sorted indices, no duplicates and no stored zeros."""
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def _explain(X: Any, error: Exception) -> None:
    """Raise an error with the place of the fault, if scikit-learn's error is about entries."""
    text = str(error).partition("\n")[0]  # then scikit-learn names classifiers that take missing values
    if "contains NaN" in text or "contains infinity" in text:
        is_bad = np.isnan if "contains NaN" in text else np.isinf
        if sparse.issparse(X):
            entries = sparse.coo_array(X)
            bad = np.flatnonzero(is_bad(entries.data))
            row, column = entries.row[bad], entries.col[bad]
        else:
            row, column = np.nonzero(is_bad(as_floats(X)))
        if len(row):
            first = np.lexsort((column, row))[0]
            names, _ = columns_of_frame(X)
            name = repr(names[column[first]]) if names else column[first]
            place = f"The first one is at row {row[first]}, column {name}."
            raise ValueError(f"{text} {place}{FILL if is_bad is np.isnan else ''}") from error
    elif "Complex data" not in text:
        _refuse_columns(X, NUMBERS.match, error)


def _refuse_columns(X: Any, is_wanted: Callable[[str], object], cause: Exception | None = None) -> None:
    """Refuse a frame with a column whose type, in small letters, is not wanted."""
    names, kinds = columns_of_frame(X)
    unwanted = {kind for kind in set(kinds) if not is_wanted(str(kind).lower())}
    for name, kind in zip(names, kinds, strict=True) if unwanted else ():
        if kind in unwanted:
            values = [cell.as_py() if hasattr(cell, "as_py") else cell for cell in islice(X[name], LOOKED_AT)]
            raise _not_numeric(name, kind, values) from cause


def _not_numeric(name: Any, kind: Any, values: list[Any]) -> ValueError:
    """Return the error for a column that does not hold numbers, with its first value."""
    advice = "drop the column or encode it as numbers"
    if values and all(DECIMAL_COMMA.fullmatch(str(value)) for value in values):
        advice = "if that is a decimal comma, read the file with decimal=','; else encode it as numbers"
    shown = f" (first value {values[0]!r})" if values else ""
    return ValueError(f"X must be numeric, but its column {name!r} has type {kind}{shown}; {advice}.")
