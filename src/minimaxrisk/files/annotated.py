"""AnnData files (.h5ad), as the single-cell tools write them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk.files.cells import TextArray, text_array
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.problems import listed, nearest, needed, parsing
from minimaxrisk.files.raw_table import RawTable


def read_h5ad(path: Path, options: ReadOptions) -> RawTable:
    """X or a layer; the columns of obs are annotations and never features."""
    h5py = needed("h5py", "Reading .h5ad")
    read_elem = needed("anndata.io", "Reading .h5ad").read_elem
    with parsing(path, "an AnnData file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Only what is needed: a file may hold many layers, each as large as X.
        with h5py.File(path, "r") as file:
            layers = list(file["layers"]) if "layers" in file else []
            place = "X" if options.layer in {None, "X"} else f"layers/{options.layer}"
            found = place in file
            if found:
                X, obs, var = (read_elem(file[key]) for key in (place, "obs", "var"))
                numbers = _float_matrix(X)
                annotations = {str(name).strip(): _texts(obs[name]) for name in obs.columns}
    if not found:
        raise ValueError(
            f"{path} must hold {place}, got the layers {listed(layers) or 'none'}"
            f"{nearest(options.layer or '', layers) or '; pass one of them as --layer.'}"
        )
    if 0 in numbers.shape or numbers.shape != (len(obs), len(var)):
        raise ValueError(
            f"{path}: {place} must be a matrix of {len(obs)} observations and {len(var)} variables, "
            f"got shape {numbers.shape}."
        )
    return RawTable(
        numbers,
        list(text_array(var.index)),
        annotations=annotations,
        samples=text_array(obs.index),
        settled=True,
    )


def _float_matrix(X: Any) -> Any:
    if sparse.issparse(X):
        return sparse.csr_matrix(X).astype(np.float64, copy=False)
    return np.ascontiguousarray(X, dtype=np.float64)


def _texts(column: Any) -> TextArray:
    missing = np.asarray(column.isna())
    return text_array(None if gone else value for value, gone in zip(column, missing, strict=True))
