"""``minimaxrisk verify``: the bounds of a stored model, recomputed from the data."""

from __future__ import annotations

import typer

from minimaxrisk.assessment import verify
from minimaxrisk.cli.console import Console, as_json
from minimaxrisk.cli.options import (
    Data,
    Delimiter,
    Header,
    Json,
    Labels,
    Layer,
    Model,
    Quiet,
    Samples,
    Sheet,
    Transpose,
)
from minimaxrisk.cli.stored import prepared, read_for_model, training_data_problem
from minimaxrisk.files import ReadOptions
from minimaxrisk.model_file import load_model


def verify_command(
    model: Model,
    data: Data,
    *,
    json: Json = False,
    quiet: Quiet = False,
    labels: Labels = None,
    samples: Samples = None,
    transpose: Transpose = None,
    delimiter: Delimiter = None,
    header: Header = None,
    sheet: Sheet = None,
    layer: Layer = None,
) -> None:
    """Check the certificate of a model with its training data; no solver is called.

    Exit status 0: the bounds hold. 1: they do not, or these are not the training data.

    \b
    Examples:
      minimaxrisk verify model.skops expression.csv
      minimaxrisk verify model.skops expression.gct --labels patients.tsv --json
    """
    console = Console(quiet=quiet)
    saved = load_model(model)
    reading = ReadOptions(
        delimiter=delimiter, header=header, samples=samples, transpose=transpose, sheet=sheet, layer=layer
    )
    study = read_for_model(saved, data, reading, labels=labels, needs_labels=True, console=console)
    X = prepared(saved, study)
    stranger = training_data_problem(saved, study, X)
    if stranger:
        console.note(stranger)
    certificate = verify(saved.classifier, X, study.y)
    if json:
        verdict = {
            "valid": certificate.valid,
            "lower": certificate.lower,
            "upper": certificate.upper,
            "problems": list(certificate.problems),
            "training_data": stranger is None,
            "notes": console.notes,
        }
        typer.echo(as_json(verdict))
    elif certificate.valid:
        interval = f"{certificate.lower:.9f} <= R* <= {certificate.upper:.9f}"
        typer.echo(f"the certificate holds: {interval}, recomputed from the data without a solver.")
    else:
        typer.echo("the certificate does NOT hold for these data:")
        for problem in certificate.problems:
            typer.echo(f"  {problem}")
    if not certificate.valid:
        raise typer.Exit(1)
