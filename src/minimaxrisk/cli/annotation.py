"""Columns about features from a second file: the symbols of probes, the descriptions of a GCT file."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from minimaxrisk.cli.console import Console

# Lines of a GCT file before its header, and its columns about genes.
GCT_LINES, GCT_COLUMNS = 2, 2


def read_annotation(path: Path, feature_names: Sequence[str], console: Console) -> dict[str, list[str]]:
    """A column for each one of the file but the first, with an entry for every feature, empty without any.

    The first column has the names of the features as they are in the data.
    """
    header, *lines = _rows(path)
    if len(header) < 2:
        raise ValueError(
            f"{path} must have the names of features in its first column and columns about them after it, "
            f"separated by commas or tabs; got the header {', '.join(header)!r}."
        )
    about = {line[0]: line[1:] for line in lines if line}
    found = [name for name in feature_names if str(name) in about]
    if not found:
        first = lines[0][0] if lines and lines[0] else ""
        raise ValueError(
            f"{path}: none of its names in the column {header[0]!r}, such as {first!r}, is "
            f"a feature of the data, such as {feature_names[0]!r}."
        )
    if len(found) < len(feature_names):
        console.note(f"{path} tells about {len(found):,} of {len(feature_names):,} features.")
    width = len(header) - 1
    nothing = [""] * width
    rows = [(about.get(str(name), nothing) + nothing)[:width] for name in feature_names]
    return {title: [row[i] for row in rows] for i, title in enumerate(header[1:])}


def _rows(path: Path) -> Iterator[list[str]]:
    # Opened as bytes either way, since only text says what its encoding is.
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        is_gct = ".gct" in path.suffixes
        for _ in range(GCT_LINES if is_gct else 0):
            next(file, None)
        first = next(file, "")
        delimiter = "\t" if "\t" in first else ","
        yield next(csv.reader([first], delimiter=delimiter), [])[: GCT_COLUMNS if is_gct else None]
        for line in csv.reader(file, delimiter=delimiter):
            yield line[: GCT_COLUMNS if is_gct else None]
