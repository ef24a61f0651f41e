"""Find data sets in the data folder and load them.

The folder is the one named by the environment variable ``MINIMAXRISK_DATA``, or a cache folder in the
user's home. It may hold a MANIFEST.csv, with one line per data set and at least the columns name, file,
n_samples, n_features, n_classes, sha256 and notes; and for the names of the paper's Table 1 a fetched
``NAME.npz`` or a raw file that was put there by hand. ``experiments.datasets.tables`` says what an
``.npz`` file holds.

Which data sets are at hand, which are missing, and which others only stand in for them.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from experiments.datasets.registry import REGISTRY, DatasetInfo, near_match
from experiments.datasets.tables import manifest_rows, read_archive, read_table
from minimaxrisk._utils.arrays import DataMatrix

VARIABLE = "MINIMAXRISK_DATA"
# What messages tell to type.
COMMAND = "python -m experiments datasets"
SUFFIXES = (".npz", ".mat", ".mat.zip", ".csv", ".csv.zip", ".zip")


class Found(NamedTuple):
    """The file of a data set, and its line in the manifest unless it was found by its name."""

    path: Path
    row: dict[str, str] | None = None


def data_home(folder: str | os.PathLike[str] | None = None) -> Path:
    """The data folder: the argument, else ``MINIMAXRISK_DATA``, else ``~/.cache/minimaxrisk``.

    Parameters
    ----------
    folder : str, Path or None, default=None
        The folder; None takes that of the environment variable ``MINIMAXRISK_DATA``, or if it is not set a
        cache folder in the user's home.

    Returns
    -------
    Path
        The folder, which need not exist.
    """
    chosen = folder or os.environ.get(VARIABLE)
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "minimaxrisk"


def list_datasets(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Names of the data sets whose file is present in the data folder.

    Parameters
    ----------
    folder : str, Path or None, default=None
        The data folder; see ``data_home``.

    Returns
    -------
    list of str
        The names, those of the manifest first; none if there is no folder.

    See Also
    --------
    dataset_status : Tells of missing ones too.
    """
    home = data_home(folder)
    names = dict.fromkeys((*manifest_rows(home), *REGISTRY))
    return [name for name in names if find_dataset(name, home) is not None]


def find_dataset(name: str, home: Path) -> Found | None:
    """Where a data set is: the file that the manifest gives it, else one that bears its name."""
    rows = manifest_rows(home)
    if name in rows and (home / rows[name]["file"]).exists():
        return Found(home / rows[name]["file"], rows[name])
    if name not in REGISTRY:
        return None
    # A file that the manifest gives to another name is a stand-in, whatever it is called.
    others = {home / row["file"] for other, row in rows.items() if other != name}
    path = _file_by_name(REGISTRY[name], home, others)
    return None if path is None else Found(path)


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None, *, return_X_y: bool = False) -> Any:
    """Load a data set by name.

    A file of the manifest is compared with its checksum, and a data set of the paper with the shape that
    the paper gives.

    Parameters
    ----------
    name : str
        A name of the manifest of the data folder, or one of the paper's Table 1.
    folder : str, Path or None, default=None
        The data folder; see ``data_home``.
    return_X_y : bool, default=False
        Whether to return the pair of data and labels alone.

    Returns
    -------
    Bunch or tuple
        With ``data`` (ndarray or CSR matrix), ``target`` (labels by name where names are known),
        ``target_names`` and ``DESCR``; or the pair ``(data, target)``.

    Raises
    ------
    FileNotFoundError
        If the file of the data set is not in the folder; the message says how to get it.
    ValueError
        If the name is unknown, or the file is not what it should be.

    See Also
    --------
    fetch_dataset : Downloads one that is missing.
    """
    home = data_home(folder)
    found = find_dataset(name, home)
    if found is None:
        raise _missing(name, home)
    data, target, names = _read(found, REGISTRY.get(name))
    if names is not None:
        target = names[target]
    target_names = np.unique(target) if names is None else names
    if name in REGISTRY:
        REGISTRY[name].check(data, len(np.unique(target)), found.path)
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, target_names=target_names, DESCR=_description(name, found))


def _file_by_name(info: DatasetInfo, home: Path, others: set[Path]) -> Path | None:
    if not home.is_dir():
        return None
    present = {path.name.lower(): path for path in sorted(home.iterdir()) if path not in others}
    stems = (info.name.lower(), info.file.split(".")[0].lower())
    for suffix in SUFFIXES:
        for stem in stems:
            path = present.get(stem + suffix)
            if path is not None and path.is_file():
                return path
    folders = (present.get(stem) for stem in stems if info.format == "nips2003")
    return next((path for path in folders if path is not None and path.is_dir()), None)


def _read(found: Found, info: DatasetInfo | None) -> tuple[DataMatrix, Any, Any]:
    if found.row is None and found.path.suffix.lower() != ".npz":
        table = read_table(found.path, n_features=info.n_features if info else None)
        return table.X, table.y, table.classes
    content = found.path.read_bytes()
    if found.row is not None and hashlib.sha256(content).hexdigest() != found.row["sha256"].lower():
        raise ValueError(
            f"{found.path} does not match its checksum in MANIFEST.csv; the file is damaged or was changed: "
            "get it again."
        )
    return read_archive(content, found.path)


def _description(name: str, found: Found) -> str:
    if found.row is not None:
        row = found.row
        return f"{name}: {row['n_samples']} samples, {row['n_features']} features. {row['notes']}"
    info = REGISTRY[name]
    shape = f"{info.n_samples} samples, {info.n_features} features, {info.n_classes} classes"
    return f"{name}: {shape}. Source: {info.source}. {info.reference}. {info.note}".rstrip()


def _missing(name: str, home: Path) -> Exception:
    """The error that says what there is, and how to get what is not there."""
    rows = manifest_rows(home)
    fetch = f"`{COMMAND} fetch {name}` downloads it or says where to look."
    if name in rows:
        hint = f" {fetch}" if name in REGISTRY else ""
        return FileNotFoundError(
            f"data set {name!r} is in the manifest of {home}, but its file {rows[name]['file']} is not there."
            f"{hint}"
        )
    if name in REGISTRY:
        return FileNotFoundError(
            f"data set {name!r} is not in {home}: {fetch} If you have it elsewhere, set the environment "
            f"variable {VARIABLE} to its folder, or pass folder=."
        )
    close = near_match(name, (*rows, *REGISTRY))
    if rows or (home / "MANIFEST.csv").exists():
        return ValueError(
            f"unknown data set {name!r}; {home} has {', '.join(sorted(rows)) or 'none'}, and the paper has "
            f"{', '.join(REGISTRY)}.{close}"
        )
    return FileNotFoundError(
        f"unknown data set {name!r}: the paper has {', '.join(REGISTRY)}.{close} For others there is no "
        f"MANIFEST.csv at {home}; set the environment variable {VARIABLE} to the folder that holds the data "
        "sets, or pass folder=."
    )


@dataclass(frozen=True)
class DatasetStatus:
    """A data set of the paper, or one that stands in for it, and whether its file is at hand.

    Attributes
    ----------
    name : str
        Its name.
    number : int or None
        Its line in the paper's Table 1; None for a stand-in.
    n_samples, n_features, n_classes : int or None
        Its shape; None where the manifest leaves it out.
    path : Path or None
        Its file; None where it is missing.
    note : str
        What one should know before using it.
    difference : str
        How a stand-in departs from the paper's table, where the manifest says so.
    """

    name: str
    number: int | None
    n_samples: int | None
    n_features: int | None
    n_classes: int | None
    path: Path | None
    note: str
    difference: str = ""

    @property
    def stand_in(self) -> bool:
        """Whether it only stands in for a data set of the paper."""
        return self.number is None


def dataset_status(folder: str | os.PathLike[str] | None = None) -> list[DatasetStatus]:
    """Tell which data sets are at hand and which are missing.

    Parameters
    ----------
    folder : str, Path or None, default=None
        The data folder; see ``data_home``.

    Returns
    -------
    list of DatasetStatus
        The thirteen data sets of the paper in the order of Table 1, then the others of the manifest.
    """
    home = data_home(folder)
    rows = manifest_rows(home)
    paper = [
        DatasetStatus(
            name, info.number, info.n_samples, info.n_features, info.n_classes, _path(name, home), info.note
        )
        for name, info in REGISTRY.items()
    ]
    others = [
        DatasetStatus(
            name=name,
            number=None,
            n_samples=_count(row["n_samples"]),
            n_features=_count(row["n_features"]),
            n_classes=_count(row["n_classes"]),
            path=_path(name, home),
            note=row["notes"],
            difference=row.get("matches_paper_shape", "").removeprefix("no:").strip(),
        )
        for name, row in rows.items()
        if name not in REGISTRY
    ]
    return paper + others


def _path(name: str, home: Path) -> Path | None:
    found = find_dataset(name, home)
    return None if found is None else found.path


def _count(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None
