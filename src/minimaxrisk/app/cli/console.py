"""Where the words of a command go: results to standard output, everything else to standard error.

A table from standard input, for the commands that read files: ``-`` in place of a name.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from minimaxrisk._utils.parallel import listening
from minimaxrisk.exceptions import UninformativeRadiusWarning


class Part:
    """The part of some work that goes on now, with the time left where its loop tells how far it is."""

    def __init__(self, show: Callable[[str], object], name: str = "") -> None:
        self._show = show
        self.begin(name)

    def begin(self, name: str) -> None:
        """Another part begins."""
        self._name, self._begun = name, time.monotonic()
        self._show(name)

    def go_on(self, n_done: int, n_all: int) -> None:
        """So many of all pieces of the part are done."""
        left = (time.monotonic() - self._begun) * (n_all / n_done - 1.0)
        self._show(f"{self._name}  {n_done} of {n_all}, {_spoken(left)} left".lstrip())


def _spoken(seconds: float) -> str:
    if seconds < 1.0:
        return "less than a second"
    if seconds < 100.0:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000.0 else f"about {seconds / 3600:.1f} hours"


class Console:
    """Says things once. Notes are kept, since reports and JSON hold them too."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.notes: list[str] = []

    @property
    def shows_progress(self) -> bool:
        """Only a person at a terminal wants to see progress."""
        return sys.stderr.isatty() and not self.quiet

    def note(self, text: str) -> None:
        """Something that the user should know, and that is no reason to stop."""
        text = printable(text)
        if text not in self.notes:
            self.notes.append(text)
            if not self.quiet:
                typer.echo(f"note: {text}", err=True)

    def warn(self, text: str) -> None:
        """A result that is likely to be wrong; --quiet is no reason to hide that."""
        text = printable(text)
        self.notes.append(text)
        typer.secho(f"WARNING: {text}", err=True, fg="red", bold=True)

    def say(self, text: str) -> None:
        """What is going on."""
        if not self.quiet:
            typer.echo(text, err=True)

    @contextmanager
    def progress(self, label: str) -> Iterator[Callable[[str], None]]:
        """A line on the terminal that changes; yields what changes it."""
        if not self.shows_progress:
            yield lambda text: None
            return
        from rich.console import Console as Terminal  # noqa: PLC0415

        with Terminal(stderr=True).status(label, spinner="line") as status:
            # Not as markup: names of columns have brackets.
            yield lambda text: status.update(_unmarked(f"{label}  {text}"))

    @contextmanager
    def parts(self, label: str) -> Iterator[Part]:
        """The same for work in parts, whose loops are listened to."""
        with self.progress(label) as show:
            part = Part(show)
            with listening(part.go_on):
                yield part

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Warnings of the library are notes of the command."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
        for warning in caught:
            # What a radius is worth the result says in words of its own, not in those of Python; what other
            # packages warn about is for developers.
            is_ours = issubclass(warning.category, UserWarning)
            if is_ours and not issubclass(warning.category, UninformativeRadiusWarning):
                self.note(str(warning.message))


def printable(text: str) -> str:
    """Names of files may hold bytes that are no text, which Python keeps as what no encoding has."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _unmarked(text: str) -> Any:
    from rich.text import Text  # noqa: PLC0415

    return Text(text)


def as_json(value: Mapping[str, Any]) -> str:
    """One object; what is not finite is null, since JSON has no word for it."""
    from minimaxrisk.app.report.findings import json_ready  # noqa: PLC0415

    return json.dumps(json_ready(value), indent=2, ensure_ascii=False, allow_nan=False)


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
