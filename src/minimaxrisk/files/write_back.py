"""Results into an AnnData file, beside what it holds already."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from minimaxrisk._utils.atomic import whole_file
from minimaxrisk.files.cells import text_array
from minimaxrisk.files.problems import needed

PREFIX = "minimaxrisk_"


def add_to_h5ad(
    path: Path,
    *,
    obs: Mapping[str, np.ndarray],
    var: Mapping[str, np.ndarray],
    var_names: np.ndarray,
    uns: Mapping[str, Any],
) -> None:
    """Add columns ``minimaxrisk_...`` to ``.obs`` and ``.var`` and an entry to ``.uns``, for older ones.

    A slash would be a path in such a file, and becomes an underscore.

    Variables that are not among ``var_names`` get zeros. Only these parts are written, into a copy that takes
    the place of the file at the end.
    """
    h5py, anndata = needed("h5py", "Writing .h5ad"), needed("anndata.io", "Writing .h5ad")
    with whole_file(path) as partial:
        shutil.copyfile(path, partial)
        with h5py.File(partial, "r+") as file:
            for group, columns in (("obs", obs), ("var", var)):
                frame = anndata.read_elem(file[group])
                frame = frame.loc[:, [not str(name).startswith(PREFIX) for name in frame.columns]].copy()
                for name, values in columns.items():
                    frame[f"{PREFIX}{name.replace('/', '_')}"] = (
                        values if group == "obs" else _matched(values, var_names, frame.index)
                    )
                anndata.write_elem(file, group, frame)
            anndata.write_elem(file.require_group("uns"), "minimaxrisk", dict(uns))


def _matched(values: np.ndarray, names: np.ndarray, index: Any) -> np.ndarray:
    """The value of each name of the index, zero where ``names`` does not have it."""
    known = dict(zip(names, values, strict=True))
    zero = values.dtype.type(0)
    return np.array([known.get(name, zero) for name in text_array(index)], dtype=values.dtype)
