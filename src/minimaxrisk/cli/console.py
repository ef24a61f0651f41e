"""Where the words of a command go: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

import minimaxrisk


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
    def warnings_as_notes(self) -> Iterator[None]:
        """Warnings of the library are notes of the command."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
        for warning in caught:
            # What a radius is worth the result says in words of its own, not in those of Python; what other
            # packages warn about is for developers.
            is_ours = issubclass(warning.category, UserWarning)
            if is_ours and not issubclass(warning.category, minimaxrisk.UninformativeRadiusWarning):
                self.note(str(warning.message))


def printable(text: str) -> str:
    """Names of files may hold bytes that are no text, which Python keeps as what no encoding has."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _unmarked(text: str) -> Any:
    from rich.text import Text  # noqa: PLC0415

    return Text(text)


def as_json(value: Mapping[str, Any]) -> str:
    """One object; what is not finite is null, since JSON has no word for it."""
    from minimaxrisk.report.json_values import json_ready  # noqa: PLC0415

    return json.dumps(json_ready(value), indent=2, ensure_ascii=False, allow_nan=False)
