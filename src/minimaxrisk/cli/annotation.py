"""Columns about features: the symbols of probes from a second file, the descriptions of a GCT file."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from minimaxrisk.cli.console import Console
from minimaxrisk.files.cells import is_missing

# The first line of a GCT file; the second one has its sizes.
GCT_MARK = re.compile(r"#1\.[23]\s*$")


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
    about = _by_name(lines, len(header) - 1)
    found = [name for name in feature_names if str(name) in about]
    if not found:
        first = lines[0][0] if lines and lines[0] else ""
        raise ValueError(
            f"{path}: none of its names in the column {header[0]!r}, such as {first!r}, is "
            f"a feature of the data, such as {feature_names[0]!r}."
        )
    if len(found) < len(feature_names):
        console.note(f"{path} tells about {len(found):,} of {len(feature_names):,} features.")
    return _columns(header[1:], about, feature_names)


def own_descriptions(path: Path, feature_names: Sequence[str]) -> dict[str, list[str]]:
    """What a GCT file tells about its genes; nothing for other files, or of columns that say nothing."""
    if not _is_gct(path):
        return {}
    header, *lines = _rows(path)
    columns = _columns(header[1:], _by_name(lines, len(header) - 1), feature_names)
    return {
        title: cells
        for title, cells in columns.items()
        if any(not is_missing(cell) and cell != name for cell, name in zip(cells, feature_names, strict=True))
    }


def _by_name(lines: Sequence[Sequence[str]], width: int) -> dict[str, list[str]]:
    """Entries of a feature; where its name occurs again, such as for probes of a gene, all that differ."""
    entries: dict[str, list[dict[str, None]]] = {}
    for name, *cells in filter(None, lines):
        of_feature = entries.setdefault(name, [{} for _ in range(width)])
        for known, cell in zip(of_feature, cells, strict=False):
            if cell:
                known[cell] = None
    return {name: ["; ".join(known) for known in of_feature] for name, of_feature in entries.items()}


def _columns(
    titles: Sequence[str], about: dict[str, list[str]], feature_names: Sequence[str]
) -> dict[str, list[str]]:
    nothing = [""] * len(titles)
    rows = [about.get(str(name), nothing) for name in feature_names]
    return {title: [row[i] for row in rows] for i, title in enumerate(titles)}


def _is_gct(path: Path) -> bool:
    if not path.is_file():
        return False
    with _opened(path) as file:
        return GCT_MARK.match(file.readline(100)) is not None


@contextmanager
def _opened(path: Path) -> Iterator[io.TextIOWrapper]:
    # Opened as bytes either way, since only text says what its encoding is.
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw:
        yield io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")


def _rows(path: Path) -> Iterator[list[str]]:
    """Lines as cells; of a GCT file the columns about genes alone, without the lines about samples."""
    with _opened(path) as file:
        first, width, n_aside = next(file, ""), None, 0
        if GCT_MARK.match(first):
            sizes = [int(size) for size in next(file, "").split()]
            n_descriptions, n_aside = sizes[2:4] if len(sizes) > 2 else (1, 0)
            first, width = next(file, ""), 1 + n_descriptions
        delimiter = "\t" if "\t" in first else ","
        for i, line in enumerate(csv.reader(chain([first], file), delimiter=delimiter)):
            if not 0 < i <= n_aside:
                yield line[:width]
