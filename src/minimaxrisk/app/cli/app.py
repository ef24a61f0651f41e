"""The application: its commands, what it forgives on a command line, and its exit statuses.

0: done. 1: the work failed. 2: the command line or an input is wrong. 130: interrupted. 143: terminated.
"""

from __future__ import annotations

import io
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from minimaxrisk import __version__
from minimaxrisk.app.cli import FAILED, INTERRUPTED
from minimaxrisk.app.cli.commands import (
    demo_command,
    evaluate_command,
    fit_command,
    predict_command,
    report_command,
    verify_command,
)
from minimaxrisk.app.cli.console import printable
from minimaxrisk.app.cli.options import Invocation

WRONG_INPUT = 2
# The class of click, which some releases of typer contain under another name.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]
LEFT_OVER = "unexpected extra argument"


class FlagsTakeNoValue:
    """Help that shows flags as flags, without the ``<bool>`` of a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return found


class PlainGroup(FlagsTakeNoValue, TyperGroup):
    """The program with its commands."""


class ForgivingCommand(FlagsTakeNoValue, TyperCommand):
    """Explains words that are left over."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            message = getattr(error, "message", "")
            if LEFT_OVER not in message:
                raise
            hint = (
                'A name with spaces in it needs quotes: --target "disease state". For several columns repeat '
                "the option: --ignore age --ignore sex."
            )
            raise typer.BadParameter(f"{message}. {hint}".replace("..", "."), ctx=ctx) from error


app = typer.Typer(
    cls=PlainGroup, rich_markup_mode="rich", pretty_exceptions_enable=False, no_args_is_help=True
)
app.command("fit", cls=ForgivingCommand)(fit_command)
app.command("predict", cls=ForgivingCommand)(predict_command)
app.command("evaluate", cls=ForgivingCommand)(evaluate_command)
app.command("verify", cls=ForgivingCommand)(verify_command)
app.command("report", cls=ForgivingCommand)(report_command)
app.command("demo", cls=ForgivingCommand)(demo_command)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"minimaxrisk {__version__}")
        raise typer.Exit


@app.callback()
def minimaxrisk(
    context: typer.Context,
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Classifiers with a certified worst-case error, for few samples and very many features.

    \b
    Start with:
      minimaxrisk fit expression.csv --target diagnosis --report report.html
    """
    context.ensure_object(Invocation).debug = debug


@cache
def _command() -> Any:
    """Made once per process: that takes longer than many commands."""
    return get_command(app)


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; errors become messages on standard error."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    invocation = Invocation(command=printable(shlex.join(["minimaxrisk", *given])))
    _print_anything()
    try:
        with _tidy_end():
            _command()(args=given, prog_name="minimaxrisk", obj=invocation)
    except SystemExit as stop:  # the usual end, and that of a wrong command line
        return stop.code if isinstance(stop.code, int) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if invocation.debug:
            raise
        typer.echo(f"minimaxrisk: {_message(error)}", err=True)
        return WRONG_INPUT if isinstance(error, (ValueError, FileNotFoundError)) else FAILED
    return 0


def _print_anything() -> None:
    """Print escapes for characters that the terminal cannot show, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _tidy_end() -> Iterator[None]:
    """Remove half-written files when a batch system or a closed terminal ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), _end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _end(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _message(error: Exception) -> str:
    if isinstance(error, (ValueError, OSError, ImportError)):
        return str(error)
    return f"{type(error).__name__}: {error} (the option --debug shows where)"
