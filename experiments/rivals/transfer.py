"""A problem as a file, so that the process of each rival reads the same bytes."""

from __future__ import annotations

from typing import IO, Any

import numpy as np
from scipy import sparse


def save_problem(file: IO[bytes], X: Any, y: np.ndarray) -> None:
    """Arrays one after the other; a sparse X is four of them."""
    for part in (y, X.data, X.indices, X.indptr, np.array(X.shape)) if sparse.issparse(X) else (y, X):
        np.save(file, part)


def load_problem(file: IO[bytes]) -> tuple[Any, np.ndarray]:
    y, X = np.load(file), np.load(file)
    if X.ndim == 1:
        indices, indptr, shape = (np.load(file) for _ in range(3))
        X = sparse.csr_matrix((X, indices, indptr), shape=tuple(shape))
    return X, y


def size_in_memory(X: Any) -> int:
    """Bytes that X takes."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return sum(part.nbytes for part in parts)
