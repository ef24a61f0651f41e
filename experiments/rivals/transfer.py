"""A workload as files: made once, read by the process of each rival, so that all see the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


def save_workload(folder: Path, X: Any, y: np.ndarray) -> None:
    """Write raw X and integer labels; the labels' names are lost, since one rival takes none."""
    if sparse.issparse(X):
        sparse.save_npz(folder / "X.npz", X, compressed=False)
    else:
        np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", np.unique(y, return_inverse=True)[1].astype(np.intp))


def load_workload(folder: Path) -> tuple[Any, np.ndarray]:
    X = sparse.load_npz(folder / "X.npz") if (folder / "X.npz").exists() else np.load(folder / "X.npy")
    return X, np.load(folder / "y.npy")


def size_in_memory(X: Any) -> int:
    """Bytes that X takes."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return sum(part.nbytes for part in parts)
