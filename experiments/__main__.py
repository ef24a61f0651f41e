"""The command ``python -m experiments``: runs a suite or an item of one, or fills the page of the benchmark.

Exit statuses are those of ``minimaxrisk``: 0 for done, 1 for work that failed, 2 for a wrong command line or
input, 130 for an interrupt.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from experiments.harness.extras import advice

try:
    import typer
    from typer.main import get_command

    from experiments.accelerators.page import fill_accelerators
    from experiments.datasets.command import Folder
    from experiments.datasets.command import app as datasets_app
    from experiments.harness.reproduce import Reproduction, reproduce
    from experiments.harness.settings import CHOICES, QUICK, Settings, with_texts
    from experiments.harness.summary import write_summary
    from experiments.rivals.page import fill_large_data, fill_page
    from experiments.suites import EVERY_ITEM, SUITES
    from minimaxrisk.app.cli import FAILED, INTERRUPTED
    from minimaxrisk.app.cli.app import WRONG_INPUT
except ImportError as error:
    sys.exit(f"experiments: {advice(error)}")

RESULTS = Path(__file__).parent / "results"

app = typer.Typer(
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    add_completion=False,
    help="Experiments around the library: the paper's, on the guarantees, and against other software.",
)


def run(
    context: typer.Context,
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, in minutes, into a folder of its own.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Folder of the results, else in experiments/results."),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting; several values with commas between."),
    ] = None,
    folder: Folder = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes; else one for items that measure times, and all cores."),
    ] = None,
) -> None:
    name = str(context.info_name)
    settings = with_texts(QUICK if quick else Settings(), assignments or [])
    names = list(SUITES[name].items) if name in SUITES else [name]
    try:
        done = reproduce(
            names, out or default_folder(name, quick=quick), settings, folder=folder, jobs=jobs, say=_say
        )
    except KeyboardInterrupt:
        _say("interrupted; the same command goes on where it stopped.")
        raise
    typer.echo(str(done.summary))
    _tell_failures(done)


def page(
    out: Annotated[Path, typer.Option(metavar="PATH", help="Folder of the results.")] = RESULTS / "rivals",
) -> None:
    """Fill docs/results/benchmarks.md from the results of the suite "rivals"."""
    fill_page(out)


def large_data_page(
    out: Annotated[Path, typer.Option(metavar="PATH", help="Folder of the results.")] = RESULTS / "scale",
) -> None:
    """Fill docs/results/large_data.md from the results of the suite "scale"."""
    fill_large_data(out)


def accelerators_page() -> None:
    """Fill docs/results/accelerators.md from what `make bench-gpu` measured."""
    fill_accelerators()


def summaries() -> None:
    """Write the summaries of all kept results anew; they tell which results are older than the code."""
    for folder in sorted(path for path in RESULTS.iterdir() if path.name in SUITES):
        write_summary(folder, SUITES.values())
        _say(str(folder / "summary.md"))


def default_folder(name: str, *, quick: bool) -> Path:
    """Where the results of a suite, or of an item of one, are kept; those of a quick run are not."""
    suite = next(key for key, suite in SUITES.items() if name == key or name in suite.items)
    return RESULTS / "quick" / suite if quick else RESULTS / suite


def _tell_failures(done: Reproduction) -> None:
    if done.failed:
        _say(f"{len(done.failed)} cells failed; the same command tries them again:")
        for reason in done.reasons():
            _say(f"  {reason}")
        raise typer.Exit(FAILED)


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _add_commands() -> None:
    settings = ", ".join(f"{name}={_as_text(value)}" for name, value in CHOICES.items())
    epilog = (
        "Started again with the same folder, it goes on where it stopped. Settings and their defaults: "
        f"{settings}."
    )
    for name, suite in SUITES.items():
        words = f"All of: {', '.join(suite.items)}."
        app.command(name, help=words, epilog=epilog, rich_help_panel="Suites")(run)
    for name, item in EVERY_ITEM.items():
        app.command(name, help=f"{item.title}.", epilog=epilog, rich_help_panel="Items")(run)
    app.command("page")(page)
    app.command("summaries")(summaries)
    app.add_typer(datasets_app, name="datasets")
    app.command("large-data-page")(large_data_page)
    app.command("accelerators-page")(accelerators_page)


def _as_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


_add_commands()


@cache
def _command() -> Any:
    """Made once for all calls of a process: there are many items, and each has all options."""
    return get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; errors become messages on standard error."""
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        _command()(args=given, prog_name="python -m experiments")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ValueError, FileNotFoundError) as error:
        _say(f"experiments: {error}")
        return WRONG_INPUT
    except (OSError, ImportError, RuntimeError) as error:
        _say(f"experiments: {error}")
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
