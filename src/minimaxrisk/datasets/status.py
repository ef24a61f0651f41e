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
    """A data set of the paper (with its number in Table 1), or a stand-in (number None).

    ``path`` is the file, or None where it is missing. ``difference`` says how a stand-in departs from the
    paper's table, where the manifest says so. Sizes that the manifest leaves out are None.
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
        return self.number is None


def dataset_status(folder: str | os.PathLike[str] | None = None) -> list[DatasetStatus]:
    """The thirteen data sets of the paper in the order of Table 1, then the others of the manifest."""
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
