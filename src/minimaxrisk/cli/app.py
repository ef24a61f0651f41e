"""The commands in one application, and the exit statuses.

0: done. 1: the work failed. 2: the command line or an input is wrong. 130: interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from minimaxrisk import __version__
from minimaxrisk.cli import INTERRUPTED, datasets
from minimaxrisk.cli.options import Options
from minimaxrisk.cli.reproduce import reproduce_command

FAILED, WRONG_INPUT = 1, 2

app = typer.Typer(
    rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True, add_completion=False
)
app.add_typer(datasets.app, name="datasets")
app.command("reproduce")(reproduce_command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"minimaxrisk {__version__}")
        raise typer.Exit


@app.callback()
def minimaxrisk(
    context: typer.Context,
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Minimax risk classifiers: the data sets of the paper and its experiments."""
    context.ensure_object(Options).debug = debug


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; errors become messages on standard error."""
    options = Options()
    try:
        app(args=arguments, prog_name="minimaxrisk", obj=options)
    except SystemExit as stop:  # the usual end, and that of a wrong command line
        return stop.code if isinstance(stop.code, int) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if options.debug:
            raise
        typer.echo(f"minimaxrisk: {_message(error)}", err=True)
        return WRONG_INPUT if isinstance(error, (ValueError, FileNotFoundError)) else FAILED
    return 0


def _message(error: Exception) -> str:
    if isinstance(error, (ValueError, OSError, ImportError)):
        return str(error)
    return f"{type(error).__name__}: {error} (the option --debug shows where)"
