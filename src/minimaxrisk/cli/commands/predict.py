"""``minimaxrisk predict``: labels for new samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minimaxrisk._utils.atomic import checked_destinations
from minimaxrisk.cli.console import Console
from minimaxrisk.cli.options import Data, Ignore, Json, Labels, Model, Quiet, with_reading_options

if TYPE_CHECKING:
    from minimaxrisk.files import ReadOptions


@with_reading_options
def predict_command(
    model: Model,
    data: Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the table to this file instead of printing it: --out new.csv"
        ),
    ] = None,
    only_used: Annotated[
        bool,
        typer.Option(
            "--only-used",
            help="Require only the columns that have a coefficient in the model; others may be absent.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse samples that are not on the scale of the training data, instead of a warning.",
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    labels: Labels = None,
    ignore: Ignore = None,
    reading: ReadOptions,
) -> None:
    """Predict the classes of new samples, as CSV.

    A line per sample: its name, the prediction, one probability per class, and
    whether its values are on the scale of the training data.

    Columns are matched by name, in any order.

    The probabilities are those with which the randomized rule picks a label,
    not how probable a label is.

    \b
    Examples:
      minimaxrisk predict model.skops new_patients.csv
      minimaxrisk predict model.skops new_patients.gct --out predictions.csv
      minimaxrisk predict model.skops few_genes.csv --only-used
      minimaxrisk predict model.skops new_patients.csv --strict
      minimaxrisk predict model.skops new.h5ad --layer logcounts --json
    """
    console = Console(quiet=quiet)
    checked_destinations([out], sources=[model, data, labels])
    # Here, so that --help need not wait for the numerical packages.
    from minimaxrisk.cli.predicting import predict_and_write  # noqa: PLC0415

    predict_and_write(
        model,
        data,
        labels=labels,
        ignore=ignore,
        reading=reading,
        only_used=only_used,
        strict=strict,
        out=out,
        json=json,
        console=console,
    )
