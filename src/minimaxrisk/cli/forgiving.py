"""Command lines as people type them: ``--transpose`` without a value, names with spaces without quotes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from minimaxrisk.cli.options import Transpose

# That of click, which some releases of typer bring along under another name.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]
LEFT_OVER = "unexpected extra argument"


class ForgivingCommand(TyperCommand):
    """Takes ``--transpose`` alone, and says what may be wrong with words that are left over."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, with_transpose_value(args))
        except UsageError as error:
            message = getattr(error, "message", "")
            if LEFT_OVER not in message:
                raise
            hint = (
                'A name with spaces in it needs quotes: --target "disease state". For several columns repeat '
                "the option: --ignore age --ignore sex."
            )
            raise typer.BadParameter(f"{message}. {hint}".replace("..", "."), ctx=ctx) from error


def with_transpose_value(arguments: Sequence[str]) -> list[str]:
    """``--transpose`` alone means yes, and ``--no-transpose`` no; a file after it is no value."""
    found: list[str] = []
    for i, argument in enumerate(arguments):
        if argument == "--":
            return [*found, *arguments[i:]]
        if argument == "--no-transpose":
            found.append(f"--transpose={Transpose.NO}")
        elif argument == "--transpose" and arguments[i + 1 : i + 2] not in [[one] for one in Transpose]:
            found.append(f"--transpose={Transpose.YES}")
        else:
            found.append(argument)
    return found
