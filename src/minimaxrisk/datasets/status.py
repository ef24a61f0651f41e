"""Which data sets are at hand, which are missing, and which others only stand in for them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from minimaxrisk.datasets.folder import data_home, find_dataset
from minimaxrisk.datasets.manifest import manifest_rows
from minimaxrisk.datasets.registry import REGISTRY


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
