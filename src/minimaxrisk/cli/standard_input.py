"""A table from standard input, for the commands that read files: ``-`` in place of a name."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

STDIN = Path("-")
# How files of formats that are no text begin.
BEGINNINGS = {
    b"\x1f\x8b": ".csv.gz",
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"\x89HDF": ".h5ad",
    b"\x93NUMPY": ".npy",
    b"MATLAB": ".mat",
    b"\xd0\xcf\x11\xe0": ".xls",
}
# What a zip holds that is no arrays of NumPy.
WITHIN_ZIP = {b"xl/": ".xlsx", b"opendocument.spreadsheet": ".ods"}


@contextmanager
def as_file(data: Path) -> Iterator[Path]:
    """The file itself, or one that holds what comes through standard input until the command ends."""
    if data != STDIN:
        yield data
        return
    if sys.stdin.isatty():
        raise typer.BadParameter("- reads standard input, and nothing is piped in.", param_hint="DATA")
    content = sys.stdin.buffer.read()
    with tempfile.TemporaryDirectory(prefix="minimaxrisk-") as folder:
        path = Path(folder, f"standard_input{_ending(content)}")
        path.write_bytes(content)
        yield path


def _ending(content: bytes) -> str:
    """By the first bytes; a zip is a workbook or arrays of NumPy."""
    if content.startswith(b"PK"):
        return next((ending for mark, ending in WITHIN_ZIP.items() if mark in content), ".npz")
    return next((ending for begin, ending in BEGINNINGS.items() if content.startswith(begin)), ".csv")
