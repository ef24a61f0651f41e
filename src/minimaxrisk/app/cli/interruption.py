"""Ctrl-C during a fit: the solver ends with its best model so far, and the model is kept."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import typer


class Interruption:
    """Whether somebody pressed Ctrl-C, and whether there is something to keep.

    Attributes
    ----------
    is_asked : bool
        Whether the fit is to end.
    has_model : bool
        Whether the fit can end with a model. Until then Ctrl-C ends the program at once.
    """

    def __init__(self) -> None:
        self.is_asked = self.has_model = False

    def _handle(self, number: int, frame: object) -> None:
        """Note the first Ctrl-C where there is something to keep; any other one ends the program."""
        if self.is_asked or not self.has_model:
            raise KeyboardInterrupt
        self.is_asked = True
        with suppress(OSError):  # no stream, since this may come while one is written to
            os.write(2, b"Interrupted. The model is finished and written; Ctrl-C again stops at once.\n")


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Watch for Ctrl-C, until the model is written."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = signal.signal(signal.SIGINT, interruption._handle)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def telling_where() -> Iterator[list[Path]]:
    """Say where the fitted model is if what comes after the fit fails or is interrupted.

    Yields the list to put its path into.
    """
    kept: list[Path] = []
    try:
        yield kept
    except typer.Exit:
        raise
    except BaseException as error:
        if kept:
            typer.echo(f"The fitted model is in {kept[0]}. What follows the fit is not complete.", err=True)
        elif isinstance(error, KeyboardInterrupt):
            typer.echo("Interrupted before there was a model. Nothing was written.", err=True)
        raise
