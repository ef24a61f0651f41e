"""Array types, and arrays of other libraries than NumPy, on any device.

With scikit-learn's ``set_config(array_api_dispatch=True)`` such arrays are worked on in their own library and
on their own device. Without it they are converted to NumPy if possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from minimaxrisk._utils.dask_arrays import computed
from minimaxrisk._utils.environment import require

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]

# A validated training matrix: 2-D ndarray, SciPy CSR matrix or array, or a ``Table`` of ``stored_tables``.
DataMatrix: TypeAlias = Any

# By the type of array, because looking them up takes as long as a small operation.
_NAMESPACES: dict[type, Any] = {np.ndarray: np}
# DLPack's number for memory that this process can read as it is.
HOST = 1


def is_foreign(X: Any) -> bool:
    """Whether X is an array of another library which the array API standard describes."""
    return not isinstance(X, np.ndarray) and hasattr(X, "__dlpack_device__") and hasattr(X, "ndim")


def stays_where_it_is(X: Any) -> bool:
    """Whether X is worked on in its own library and on its own device."""
    if not is_foreign(X):
        return False
    if get_config()["array_api_dispatch"]:
        return True
    if int(X.__dlpack_device__()[0]) != HOST:
        raise ValueError(
            f"X is an array of {type(X).__module__.split('.')[0]} on the device {X.device}; switch on "
            "sklearn.set_config(array_api_dispatch=True), with the environment variable SCIPY_ARRAY_API=1, "
            "to work on it there, or pass it as a NumPy array."
        )
    return False


def refuse_elsewhere(X: Any, what: str) -> None:
    """Refuse arrays of other libraries, for methods that need NumPy."""
    if stays_where_it_is(X):
        raise TypeError(
            f"{what} works on NumPy arrays and sparse matrices, got an array of "
            f"{type(X).__module__.split('.')[0]}; convert X to NumPy."
        )


def namespace_of(X: Any) -> Any:
    """The functions of the standard for an array, NumPy's own for NumPy's."""
    kind = type(X)
    if kind not in _NAMESPACES:
        compat = require("array_api_compat", extra="array-api", purpose="arrays of other libraries need")
        _NAMESPACES[kind] = compat.array_namespace(X)
    return _NAMESPACES[kind]


def to_numpy(X: Any) -> np.ndarray:
    """Arrays of other libraries as NumPy arrays; anything else is returned unchanged."""
    if not is_foreign(X):
        return X
    if hasattr(X, "get"):  # CuPy
        return np.asarray(X.get())
    if hasattr(X, "cpu"):  # PyTorch
        return X.detach().cpu().numpy()
    return np.array(np.from_dlpack(X))


def put_columns(target: Any, columns: IntArray, values: Any) -> None:
    """``target[:, columns] = values``, which the standard defines for single columns only."""
    try:
        target[:, asarray_like(target, columns)] = values
    except IndexError:
        for i, column in enumerate(columns.tolist()):
            target[:, column] = values[:, i]


def asarray_like(X: Any, values: np.ndarray) -> Any:
    """Numbers in the library and on the device of X; unchanged if X is a NumPy array, or for text."""
    if not is_foreign(X) or values.dtype.kind not in "biuf":
        return values
    return namespace_of(X).asarray(np.ascontiguousarray(values), device=X.device)


def answer(X: Any, values: np.ndarray) -> Any:
    """Results for a caller who passed X: in the library and on the device of X if X stays there."""
    return asarray_like(X, values) if stays_where_it_is(X) else values


def columns_of(X: Any, columns: IntArray) -> Any:
    """Some columns of a matrix, in the memory of this process."""
    if not is_foreign(X):
        return computed(X[:, columns])
    return to_numpy(namespace_of(X).take(X, asarray_like(X, columns), axis=1))


def dense_columns(X: Any, columns: IntArray) -> FloatArray:
    """Some columns of a matrix, in the memory of this process and in double precision."""
    part = columns_of(X, columns)
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)


def entries_at(places: IntArray, *arrays: Any) -> FloatArray:
    """Entries of arrays of one shape, by their places in all rows behind each other, copied here together."""
    if isinstance(arrays[0], np.ndarray):
        return np.array([array.ravel()[places] for array in arrays])
    xp, place = namespace_of(arrays[0]), asarray_like(arrays[0], places)
    return to_numpy(xp.stack([xp.take(xp.reshape(array, (-1,)), place) for array in arrays]))


def concatenated(arrays: Sequence[Any]) -> Any:
    """Arrays with the same number of rows side by side."""
    if isinstance(arrays[0], np.ndarray):
        return np.concatenate(arrays, axis=1)
    return namespace_of(arrays[0]).concat(arrays, axis=1)


def stacked(arrays: Sequence[FloatArray]) -> FloatArray:
    """``np.stack`` in a quarter of the time where there is only one array, which is then not copied."""
    return arrays[0][None] if len(arrays) == 1 else np.stack(arrays)


def sorted_union(first: IntArray, second: IntArray) -> IntArray:
    """``np.union1d`` in a quarter of the time for a few hundred numbers."""
    both = np.concatenate([first, second])
    both.sort()
    is_first = np.ones(len(both), dtype=np.bool_)
    np.not_equal(both[1:], both[:-1], out=is_first[1:])
    return both[is_first]


def places_of_largest(values: Any, k: int) -> Any:
    """Where the k largest numbers along the last axis are, in any order."""
    xp = namespace_of(values)
    if hasattr(xp, "topk"):  # PyTorch
        return xp.topk(values, k, sorted=False).indices
    if hasattr(xp, "argpartition"):  # CuPy
        return xp.argpartition(values, -k)[..., -k:]
    return xp.argsort(values)[..., values.shape[-1] - k :]
