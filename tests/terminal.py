"""What a command says on a terminal, as running text."""

from __future__ import annotations

import re

BOX_DRAWING = re.compile("[\u2500-\u257f]")


def unwrapped(said):
    """The words in one line, without the box around them: where a line ends depends on what else it holds."""
    return " ".join(BOX_DRAWING.sub(" ", said).split())
