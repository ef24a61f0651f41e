"""A dask array as X, checked: what its description tells first, then its values, on the workers."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimaxrisk._utils.dask_arrays import fetch, is_lost, kept_if_it_fits, lazily, reduce_by_tree

Place = tuple[int, int, float]  # row, column, value


def check_dask_matrix(X: Any, y: np.ndarray | None = None) -> Any:
    """Finite numbers in chunks of known sizes, kept by the workers where they fit; float32 stays float32."""
    X = check_description(X)
    if any(np.isnan(size) for size in X.shape):
        raise ValueError(
            f"X is a dask array with chunks of unknown size (its shape is {X.shape}); call "
            "X = X.compute_chunk_sizes() first, or convert a dask DataFrame by to_dask_array(lengths=True)."
        )
    if min(X.shape) == 0:
        raise ValueError(f"X must have at least one sample and one feature, got shape {X.shape}.")
    if y is not None and len(y) != X.shape[0]:
        raise ValueError(
            f"X and y must have the same number of samples, got {X.shape[0]} rows of a dask array and "
            f"{len(y)} labels."
        )
    X = kept_if_it_fits(X)
    _refuse_not_finite(X)
    return X


def check_description(X: Any) -> Any:
    """What is known without looking at a value; other numbers than float32 become float64, lazily."""
    if X.ndim != 2:
        raise ValueError(f"X must be 2-D, samples x features, got a dask array of {X.ndim} dimensions.")
    if X.dtype.kind not in "biuf":
        raise ValueError(
            f"X must be numeric, got a dask array of dtype {X.dtype}; encode what is no number, and convert "
            "with X.astype(float)."
        )
    if not isinstance(X._meta, np.ndarray):
        raise ValueError(
            f"X must have NumPy arrays as chunks, got a dask array of {type(X._meta).__name__}; convert "
            "them, such as by X.map_blocks(lambda chunk: chunk.toarray()), or pass a SciPy matrix."
        )
    if is_lost(X):
        raise ValueError(
            "X was persisted by a dask client that is closed, so that its chunks are gone; connect again "
            "and make X anew from where the data are."
        )
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def refuse_dask_frame(X: Any) -> None:
    """Its number of rows is not known, and scikit-learn would bring all of it here."""
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "to_dask_array"):
        raise TypeError(
            f"X is a dask {type(X).__name__}; pass X.to_dask_array(lengths=True), which knows how many rows "
            "its chunks have."
        )


def _refuse_not_finite(X: Any) -> None:
    rows, columns = (np.cumsum([0, *sizes]).tolist() for sizes in X.chunks)
    looks = [
        lazily(first_not_finite, chunk, row, column)
        for row, line in zip(rows, X.to_delayed(), strict=False)
        for column, chunk in zip(columns, line, strict=False)
    ]
    (place,) = fetch([reduce_by_tree(looks, first_place)])
    if place is not None:
        i, j, value = place
        raise ValueError(
            f"X must hold finite numbers, but row {i} has {value} in column {j}; drop or impute such entries."
        )


def first_not_finite(chunk: np.ndarray, row: int = 0, column: int = 0) -> Place | None:
    """Place and value of an entry that is no finite number, in a chunk that begins at a row and a column."""
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum of finite numbers that overflows makes a second look necessary, and no more.
        if np.isfinite(chunk.sum(dtype=np.float64)):
            return None
    places = np.argwhere(~np.isfinite(chunk))
    if not len(places):
        return None
    i, j = places[0].tolist()
    return row + i, column + j, float(chunk[i, j])


def first_place(places: list[Place | None]) -> Place | None:
    return min((place for place in places if place is not None), key=lambda place: place[:2], default=None)
