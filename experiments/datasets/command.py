"""``python -m experiments datasets``: what is at hand, what is known of it, and how to get the rest."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from experiments import datasets
from experiments.datasets.folder import COMMAND

if TYPE_CHECKING:
    from experiments.datasets import DatasetInfo, DatasetStatus

WIDTH = 100
Folder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="PATH",
        help="Data folder; by default that of the variable MINIMAXRISK_DATA, or ~/.cache/minimaxrisk.",
    ),
]

app = typer.Typer(no_args_is_help=True, help="The data sets of the paper's Table 1.")


@app.command("list")
def list_command(*, folder: Folder = None) -> None:
    """List the data sets of the paper with their files or as missing, and the stand-ins."""
    home, entries = datasets.data_home(folder), datasets.dataset_status(folder)
    paper = [entry for entry in entries if not entry.stand_in]
    others = [entry for entry in entries if entry.stand_in]
    widest = max(len(entry.name) for entry in entries)
    typer.echo(f"{'no':>2}  {'name':<{widest}}  {'samples':>7}  {'features':>8}  {'classes':>7}  where")
    for entry in paper:
        typer.echo(_line(entry, widest, home))
    if others:
        typer.echo("\nStand-ins: other tables of the data folder, never used in place of those above")
    for entry in others:
        typer.echo(_line(entry, widest, home))
        typer.echo(_wrapped(textwrap.shorten(entry.difference or entry.note, 220), indent=8))
    typer.echo(f"\ndata folder: {home}{'' if home.is_dir() else ' (does not exist yet)'}")
    missing = sum(entry.path is None for entry in paper)
    if missing:
        typer.echo(f"{missing} of {len(paper)} missing: {COMMAND} fetch NAME", err=True)


@app.command("info")
def info_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As the command list shows it.")],
    *,
    folder: Folder = None,
) -> None:
    """Print what is known about a data set: size, source, licence, study and file."""
    entries = {entry.name: entry for entry in datasets.dataset_status(folder)}
    if name not in entries:
        from experiments.datasets.registry import near_match  # noqa: PLC0415

        raise typer.BadParameter(
            f"unknown data set {name!r}; there are {', '.join(entries)}.{near_match(name, entries)}"
        )
    entry = entries[name]
    about = None if entry.stand_in else datasets.dataset_info(name)
    for key, value in _facts(entry, about):
        typer.echo(f"{key + ':':<11}{_wrapped(str(value), indent=11).lstrip()}")


@app.command("fetch")
def fetch_command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="As the command list shows them.")
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All thirteen.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Download again what is there.")] = False,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="A file you have, or a folder: --from ~/Downloads"),
    ] = None,
    folder: Folder = None,
) -> None:
    """Download data sets of the paper into the data folder; what is there is not downloaded again.

    With --from nothing is downloaded: a file that you have is checked and converted.
    """
    if bool(names) == everything:
        raise typer.BadParameter("give the names of data sets, or --all for all of them.")
    if source is not None and source.expanduser().is_file() and (everything or len(set(names or ())) > 1):
        raise typer.BadParameter(f"--from names one file, {source}; give one data set with it, or a folder.")
    wanted = [_known(name).name for name in names or _paper_names(folder)]
    failed = []
    for name in dict.fromkeys(wanted):
        try:
            path = datasets.fetch_dataset(
                name, folder, force=force, progressbar=sys.stderr.isatty(), source=source
            )
        except (ValueError, OSError) as error:
            # The others may work all the same.
            typer.echo(f"{name}: {error}", err=True)
            failed.append(name)
        else:
            typer.echo(f"{name}: {path}")
    if failed:
        typer.echo(f"not fetched: {', '.join(failed)}", err=True)
        raise typer.Exit(1)


def _known(name: str) -> DatasetInfo:
    try:
        return datasets.dataset_info(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _paper_names(folder: Path | None) -> list[str]:
    return [entry.name for entry in datasets.dataset_status(folder) if not entry.stand_in]


def _line(entry: DatasetStatus, widest: int, home: Path) -> str:
    number, *sizes = (
        "" if value is None else str(value)
        for value in (entry.number, entry.n_samples, entry.n_features, entry.n_classes)
    )
    where = "missing" if entry.path is None else str(entry.path).removeprefix(f"{home}/")
    return f"{number:>2}  {entry.name:<{widest}}  {sizes[0]:>7}  {sizes[1]:>8}  {sizes[2]:>7}  {where}"


def _facts(entry: DatasetStatus, about: DatasetInfo | None) -> list[tuple[str, object]]:
    """What to print, by key; what is not known is left out."""
    size = f"{entry.n_samples} samples, {entry.n_features} features, {entry.n_classes} classes"
    facts: list[tuple[str, object]] = [("name", entry.name), ("size", size)]
    if about is None:
        facts += [("stand-in", entry.difference or "not a table of the paper")]
    else:
        facts[:1] = [("name", f"{entry.name} (number {entry.number} of Table 1)")]
        facts += [("study", about.reference), ("source", about.source)]
        facts += [("address", about.url or "none known"), ("homepage", about.homepage)]
        facts += [("checked", about.checked), ("licence", about.licence)]
    facts += [("note", entry.note), ("file", entry.path or "missing")]
    return [(key, value) for key, value in facts if value]


def _wrapped(text: str, *, indent: int) -> str:
    margin = " " * indent
    # An address or a path must stay whole.
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
