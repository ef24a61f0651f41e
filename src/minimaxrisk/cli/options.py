"""What the commands share: the global options and the option that names the data folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


@dataclass
class Options:
    """Global options, as the context of a command holds them."""

    debug: bool = False


Folder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="PATH",
        help="Data folder; else the one of the variable MINIMAXRISK_DATA, else ~/.cache/minimaxrisk.",
    ),
]
