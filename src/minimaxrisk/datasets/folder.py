"""Read data sets from a folder of ``.npz`` files that a MANIFEST.csv describes.

The folder is the one named by the environment variable ``MINIMAXRISK_DATA``, or a cache folder in the
user's home. The manifest has one line per data set with at least the columns name, file, n_samples,
n_features, n_classes, sha256 and notes. A file holds ``X``, or the parts ``data``, ``indices``, ``indptr``
and ``shape`` of a CSR matrix, with ``y`` (integers) and, where the labels have names, ``classes``.
"""

from __future__ import annotations

import csv
import hashlib
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

VARIABLE = "MINIMAXRISK_DATA"
COLUMNS = ("name", "file", "n_samples", "n_features", "n_classes", "sha256", "notes")


def data_home(folder: str | os.PathLike[str] | None = None) -> Path:
    """The data folder: the argument, else ``MINIMAXRISK_DATA``, else ``~/.cache/minimaxrisk``."""
    chosen = folder or os.environ.get(VARIABLE)
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "minimaxrisk"


def list_datasets(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Names of the data sets whose file is present in the data folder; none if there is no folder."""
    home = data_home(folder)
    if not (home / "MANIFEST.csv").exists():
        return []
    return [row["name"] for row in _manifest(home) if (home / row["file"]).exists()]


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None, *, return_X_y: bool = False) -> Any:
    """Load a data set by name, after comparing its file with the checksum in the manifest.

    Returns
    -------
    Bunch with ``data`` (ndarray or CSR matrix), ``target`` (labels by name where names are known),
    ``target_names`` and ``DESCR``; or the pair ``(data, target)``.
    """
    home = data_home(folder)
    row = _manifest_row(home, name)
    path = home / row["file"]
    if not path.exists():
        raise FileNotFoundError(
            f"data set {name!r} is in the manifest of {home}, but its file {row['file']} is not there."
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != row["sha256"].lower():
        raise ValueError(
            f"{path} does not match its checksum in MANIFEST.csv; the file is damaged or was changed: "
            "get it again."
        )
    with np.load(BytesIO(content), allow_pickle=False) as archive:
        try:
            data, target = _matrix(archive), archive["y"]
        except KeyError as error:
            raise ValueError(f"{path} lacks an array that a data set needs: {error}.") from error
        names = archive["classes"] if "classes" in archive.files else None
    if data.shape[0] != len(target):
        raise ValueError(f"{path} holds {data.shape[0]} rows of X and {len(target)} labels.")
    if names is not None:
        if target.min() < 0 or target.max() >= len(names):
            raise ValueError(
                f"{path} names {len(names)} classes; y must hold numbers from 0 to {len(names) - 1}."
            )
        target = names[target]
    if return_X_y:
        return data, target
    target_names = np.unique(target) if names is None else names
    description = f"{name}: {row['n_samples']} samples, {row['n_features']} features. {row['notes']}"
    return Bunch(data=data, target=target, target_names=target_names, DESCR=description)


def _matrix(archive: Any) -> Any:
    if "X" in archive.files:
        return archive["X"]
    parts = (archive["data"], archive["indices"], archive["indptr"])
    return sparse.csr_matrix(parts, shape=tuple(archive["shape"]))


def _manifest(home: Path) -> list[dict[str, str]]:
    with (home / "MANIFEST.csv").open(newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file, restval="")
        missing = [column for column in COLUMNS if column not in (table.fieldnames or [])]
        if missing:
            raise ValueError(f"{home / 'MANIFEST.csv'} lacks the columns {', '.join(missing)}.")
        return list(table)


def _manifest_row(home: Path, name: str) -> dict[str, str]:
    if not (home / "MANIFEST.csv").exists():
        raise FileNotFoundError(
            f"no data folder with a MANIFEST.csv at {home}; set the environment variable {VARIABLE} to the "
            "folder that holds the data sets, or pass folder=. The package ships and downloads none."
        )
    rows = {row["name"]: row for row in _manifest(home)}
    if name not in rows:
        raise ValueError(f"unknown data set {name!r}; {home} has {', '.join(sorted(rows)) or 'none'}.")
    return rows[name]
