"""Read the MANIFEST.csv of a data folder: one line per data set, with its file and checksum."""

from __future__ import annotations

import csv
from pathlib import Path

COLUMNS = ("name", "file", "n_samples", "n_features", "n_classes", "sha256", "notes")


def manifest_rows(home: Path) -> dict[str, dict[str, str]]:
    """The lines of the manifest by name; none if the folder has no manifest."""
    path = home / "MANIFEST.csv"
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file, restval="")
        missing = [column for column in COLUMNS if column not in (table.fieldnames or [])]
        if missing:
            raise ValueError(f"{path} lacks the columns {', '.join(missing)}.")
        return {row["name"]: row for row in table}
