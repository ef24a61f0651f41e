"""``minimaxrisk report``: the report of a stored model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from minimaxrisk.atomic import checked_destination, write_whole
from minimaxrisk.cli.console import Console
from minimaxrisk.cli.options import (
    Data,
    Delimiter,
    Header,
    Jobs,
    Labels,
    Layer,
    Model,
    Options,
    Quiet,
    Samples,
    Seed,
    Sheet,
    Transpose,
)
from minimaxrisk.cli.reporting import FOLDS, PANEL, PERMUTATIONS, RADII, Effort, Folds, Radii, report_page
from minimaxrisk.cli.stored import prepared, read_for_model, training_data_problem
from minimaxrisk.files import ReadOptions
from minimaxrisk.model_file import load_model


def report_command(
    context: typer.Context,
    model: Model,
    data: Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page, else MODEL with the ending .html: --out report.html"),
    ] = None,
    permutations: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Compare R* with that of permuted labels, 0 for no such test: --permutations 999",
            rich_help_panel=PANEL,
        ),
    ] = PERMUTATIONS,
    folds: Folds = FOLDS,
    radii: Radii = RADII,
    jobs: Jobs = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    labels: Labels = None,
    samples: Samples = None,
    transpose: Transpose = None,
    delimiter: Delimiter = None,
    header: Header = None,
    sheet: Sheet = None,
    layer: Layer = None,
) -> None:
    """Write the report of a stored model and its training data: one page that opens in any browser, offline.

    \b
    Examples:
      minimaxrisk report model.skops expression.csv
      minimaxrisk report model.skops expression.csv --out report.html --permutations 999 --jobs -1
    """
    console = Console(quiet=quiet)
    page = model.with_suffix(".html") if out is None else out
    checked_destination(page)
    saved = load_model(model)
    reading = ReadOptions(
        delimiter=delimiter, header=header, samples=samples, transpose=transpose, sheet=sheet, layer=layer
    )
    study = read_for_model(saved, data, reading, labels=labels, needs_labels=True, console=console)
    X = prepared(saved, study)
    stranger = training_data_problem(saved, study, X)
    if stranger:
        typer.echo(f"minimaxrisk: {stranger} A report is about a model and its training data.", err=True)
        raise typer.Exit(1)
    effort = Effort(permutations, folds, radii, jobs, seed)
    command = context.ensure_object(Options).command
    write_whole(page, report_page(saved, study, X, effort, command=command, console=console))
    typer.echo(str(page))
