"""Columns about features: the symbols of probes from a second file, the descriptions of a GCT file."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from minimaxrisk.cli.console import Console
from minimaxrisk.files.cells import is_missing
from minimaxrisk.files.gene_tables import gct_sizes
from minimaxrisk.files.layout import find_delimiter
from minimaxrisk.files.text_file import TextFile, head, read_text

# The first line of a GCT file.
GCT_MARK = re.compile(r"#1\.[23]\s*$")


def read_annotation(path: Path, feature_names: Sequence[str], console: Console) -> dict[str, list[str]]:
    """A column for each one of the file but the first, with an entry for every feature, empty without any.

    The first column has the names of the features as they are in the data.
    """
    header, *lines = _rows(path)
    if len(header) < 2:
        raise ValueError(
            f"{path} must have the names of features in its first column and columns about them after it, "
            f"separated by commas, semicolons or tabs; got the header {', '.join(header)!r}."
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
    first, *_ = head(path, 100).decode("utf-8-sig", "replace").splitlines() or [""]
    return GCT_MARK.match(first) is not None


def _rows(path: Path) -> list[list[str]]:
    rows, _ = read_text(path, lambda file: list(_cells(file)))
    return rows


def _cells(file: TextFile) -> Iterator[list[str]]:
    """Lines as cells; of a GCT file the columns about genes alone, without the lines about samples."""
    n_above, width, n_aside = 0, None, 0
    if GCT_MARK.match(next(file.lines(), "")):
        _, _, n_descriptions, n_aside = gct_sizes(file)
        n_above, width = 2, 1 + n_descriptions
    lines = islice(file.lines(), n_above, None)
    first = list(islice(lines, 20))
    delimiter = "\t" if width is not None else find_delimiter(first)
    for i, row in enumerate(csv.reader(chain(first, lines), delimiter=delimiter)):
        if not 0 < i <= n_aside:
            yield [cell.strip() for cell in row[:width]]
