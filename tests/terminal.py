"""A command in this process, and what it says on a terminal as running text."""

from __future__ import annotations

import re

from minimaxrisk.app.cli import main

BOX_DRAWING = re.compile("[\u2500-\u257f]")


def unwrapped(said):
    """The words in one line, without the box around them: where a line ends depends on what else it holds."""
    return " ".join(BOX_DRAWING.sub(" ", said).split())


def run(capsys, *arguments):
    """Its exit status, and what it wrote to standard output and standard error."""
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()
