"""Write a table as the ``.npz`` file of a data folder, and read it back.

A file holds ``X``, or the parts ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix, with ``y``
(integers) and, where the labels have names, ``classes``.
"""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk._utils.atomic import whole_file
from minimaxrisk.datasets.labelled_table import LabelledTable


def read_archive(content: bytes, path: Path) -> tuple[DataMatrix, Any, Any]:
    """X, y and the names of the classes (None where there are none); ``path`` is for the messages."""
    try:
        with np.load(BytesIO(content), allow_pickle=False) as archive:
            data, target = _matrix(archive), archive["y"]
            names = archive["classes"] if "classes" in archive.files else None
    except KeyError as error:
        raise ValueError(f"{path} lacks an array that a data set needs ({error}); get it again.") from error
    except (ValueError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not an .npz file of arrays ({error}); get it again.") from error
    if data.shape[0] != len(target):
        raise ValueError(f"{path} must hold a label for each of {data.shape[0]} rows, got {len(target)}.")
    if names is not None and (target.min() < 0 or target.max() >= len(names)):
        raise ValueError(
            f"{path} names {len(names)} classes, so y must hold numbers from 0 to {len(names) - 1}, got "
            f"{target.min()} to {target.max()}."
        )
    return data, target, names


def write_archive(table: LabelledTable, path: Path) -> None:
    """Write the file under its name only when it is complete: a broken-off run leaves nothing behind."""
    X = table.X
    arrays = {"X": X}
    if sparse.issparse(X):
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    with whole_file(path) as partial:
        np.savez_compressed(partial, y=table.y, classes=table.classes, **arrays)


def _matrix(archive: Any) -> DataMatrix:
    if "X" in archive.files:
        return archive["X"]
    parts = (archive["data"], archive["indices"], archive["indptr"])
    return sparse.csr_matrix(parts, shape=tuple(archive["shape"]))
