"""Results into an AnnData file, beside what it holds already."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from minimaxrisk.atomic import whole_file
from minimaxrisk.files.cells import text_array
from minimaxrisk.files.problems import needed


def add_to_h5ad(
    path: Path,
    *,
    obs: Mapping[str, np.ndarray],
    var: Mapping[str, np.ndarray],
    var_names: np.ndarray,
    uns: Mapping[str, Any],
) -> None:
    """Add columns to ``.obs`` and ``.var`` and an entry ``minimaxrisk`` to ``.uns``; older ones are replaced.

    Variables that are not among ``var_names`` get zeros. Only these parts are written, into a copy that takes
    the place of the file at the end.
    """
    h5py, anndata = needed("h5py", "Writing .h5ad"), needed("anndata.io", "Writing .h5ad")
    with whole_file(path) as partial:
        shutil.copyfile(path, partial)
        with h5py.File(partial, "r+") as file:
            for group, columns in (("obs", obs), ("var", var)):
                frame = anndata.read_elem(file[group])
                for name, values in columns.items():
                    frame[name] = values if group == "obs" else _spread(values, var_names, frame.index)
                anndata.write_elem(file, group, frame)
            anndata.write_elem(file.require_group("uns"), "minimaxrisk", dict(uns))


def _spread(values: np.ndarray, names: np.ndarray, index: Any) -> np.ndarray:
    """Values by name, for all that the index names."""
    known = dict(zip(names, values, strict=True))
    zero = values.dtype.type(0)
    return np.array([known.get(name, zero) for name in text_array(index)], dtype=values.dtype)
