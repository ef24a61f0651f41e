"""``minimaxrisk predict``: labels for new samples."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from minimaxrisk.atomic import checked_destination, write_whole
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
from minimaxrisk.cli.stored import prepared, read_for_model
from minimaxrisk.files import ReadOptions, Study
from minimaxrisk.model_file import load_model


def predict_command(
    model: Model,
    data: Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the table there: --out predictions.csv; else it is printed."
        ),
    ] = None,
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
    """Predict the classes of new samples: CSV with sample, prediction and one probability per class.

    Columns are matched by name, in any order. The probabilities are those with which the randomized rule
    picks a label, not how probable a label is.

    \b
    Examples:
      minimaxrisk predict model.skops new_patients.csv
      minimaxrisk predict model.skops new_patients.gct --out predictions.csv
      minimaxrisk predict model.skops new_cells.h5ad --layer logcounts --json
    """
    console = Console(quiet=quiet)
    if out is not None:
        checked_destination(out)
    saved = load_model(model)
    reading = ReadOptions(
        delimiter=delimiter, header=header, samples=samples, transpose=transpose, sheet=sheet, layer=layer
    )
    study = read_for_model(saved, data, reading, labels=labels, needs_labels=False, console=console)
    X = prepared(saved, study)
    predictions, probabilities = saved.classifier.predict(X), saved.classifier.predict_proba(X)
    if study.y is not None:
        _note_error(study, predictions, console)
    table = (study.sample_names, predictions, probabilities, saved.classifier.classes_)
    text = as_json({"predictions": _records(*table), "notes": console.notes}) if json else _csv(*table)
    if out is None:
        typer.echo(text, nl=json)
    else:
        write_whole(out, text)
        console.say(f"{len(predictions)} predictions in {out}")


def _csv(names: np.ndarray, predictions: np.ndarray, probabilities: np.ndarray, classes: np.ndarray) -> str:
    """Probabilities in full, so that reading them gives the same numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["sample", "prediction", *(f"probability_{c}" for c in classes)])
    writer.writerows(
        [name, label, *map(repr, row)]
        for name, label, row in zip(names, predictions, probabilities.tolist(), strict=True)
    )
    return text.getvalue()


def _records(
    names: np.ndarray, predictions: np.ndarray, probabilities: np.ndarray, classes: np.ndarray
) -> list[dict[str, Any]]:
    return [
        {"sample": name, "prediction": label, "probabilities": dict(zip(map(str, classes), row, strict=True))}
        for name, label, row in zip(names, predictions.tolist(), probabilities.tolist(), strict=True)
    ]


def _note_error(study: Study, predictions: np.ndarray, console: Console) -> None:
    """The data have labels too: say how many were predicted wrongly."""
    wrong = int((predictions != study.y).sum())
    console.note(
        f"the file has the column {study.target!r}: {wrong} of {len(predictions)} predictions differ from it "
        f"({wrong / len(predictions):.1%})."
    )
