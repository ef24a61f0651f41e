"""``minimaxrisk verify``: the bounds of a stored model, recomputed from the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

import minimaxrisk
from minimaxrisk.cli.console import Console, as_json
from minimaxrisk.cli.options import Data, Ignore, Json, Labels, Model, Quiet, Renamed, with_reading_options

if TYPE_CHECKING:
    from minimaxrisk.files import ReadOptions


@with_reading_options
def verify_command(
    model: Model,
    data: Data,
    *,
    json: Json = False,
    quiet: Quiet = False,
    target: Renamed = None,
    labels: Labels = None,
    ignore: Ignore = None,
    reading: ReadOptions,
) -> None:
    """Check the certificate of a model with its training data.

    The bounds are recomputed from the data and the coefficients; no solver is called.

    Exit status 0: the bounds hold. 1: they do not, or these are not the training data.

    \b
    Examples:
      minimaxrisk verify model.skops genes.csv
      minimaxrisk verify model.skops genes.gct --labels patients.tsv --json
    """
    # Here, so that --help need not wait for the numerical packages.
    from minimaxrisk.cli.stored import (  # noqa: PLC0415
        filled,
        groups_of,
        is_training_data,
        load_first,
        not_training_data,
        read_for_model,
        scaler_problems,
    )
    from minimaxrisk.report.phrases import clipping, outward  # noqa: PLC0415

    console = Console(quiet=quiet)
    saved = load_first(model)
    study = read_for_model(saved, data, reading, target=target, labels=labels, ignore=ignore, console=console)
    X = filled(saved, study, console)
    is_training = is_training_data(saved, study, X)
    certificate = minimaxrisk.verify(
        saved.classifier, saved.scaled(X), study.y, groups=groups_of(saved, study)
    )
    problems = [*certificate.problems, *scaler_problems(saved, X)]
    holds = not problems and is_training
    if json:
        verdict = {
            "valid": holds,
            "lower": certificate.lower,
            "upper": certificate.upper,
            "problems": problems,
            "training_data": is_training,
            "notes": console.notes,
        }
        typer.echo(as_json(verdict))
    elif holds:
        lower, upper = outward(certificate.lower, certificate.upper, digits=9)
        is_classifier = isinstance(saved.classifier, minimaxrisk.MinimaxRiskClassifier)
        interval = f"{lower} <= {'R*' if is_classifier else 'worst-case error'} <= {upper}"
        typer.echo(f"the certificate holds: {interval}, recomputed from the data without a solver.")
        if saved.scaler is not None:
            typer.echo(f"It is about the values {clipping(saved.scaler.limit)}.")
    else:
        typer.echo("the certificate does NOT hold for these data:")
        for problem in [*problems, *([] if is_training else [not_training_data(study)])]:
            typer.echo(f"  {problem}")
    if not holds:
        raise typer.Exit(1)
