"""A stored model, its training data, and the check of its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import typer
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk._utils.rounding import outward
from minimaxrisk.app.cli.console import Console, as_json
from minimaxrisk.app.cli.options import SampleColumns, Source
from minimaxrisk.app.files import ReadOptions, Study, read_study_for_model, refuse_missing
from minimaxrisk.app.files.read import has_several
from minimaxrisk.app.report.phrases import clipping
from minimaxrisk.app.storage import SavedModel, fingerprint, load_model
from minimaxrisk.guarantees.certified import MEMBERS, Estimator, can, columns_read_by
from minimaxrisk.guarantees.fitted_problem import FittedProblem
from minimaxrisk.guarantees.verification import verify
from minimaxrisk.samples.copies import duplicate_rows, groups_with_duplicates

REMEMBERED = ("layer", "sheet", "duplicates")  # options of reading that a model file keeps
MOST_NAMED = 5  # samples, columns or labels in a message
NO_MEDIANS = "the model was fitted without --impute: complete the values, or fit again with --impute median"


def load_first(model: Path) -> SavedModel:
    """The model file, which commands take before the data."""
    try:
        return _for_arrays(load_model(model))
    except ValueError as error:
        if model.suffix == ".skops":
            raise
        raise ValueError(
            f"{error} The model file, such as model.skops, comes first, then the data."
        ) from error


def _for_arrays(saved: SavedModel) -> SavedModel:
    """Without names of columns that steps fitted on a data frame ask for: files are matched by name here."""
    steps = {name: copy(getattr(saved, name)) for name in ("classifier", "imputer", "scaler")}
    for step in steps.values():
        if hasattr(step, "feature_names_in_"):
            del step.feature_names_in_
    return replace(saved, **steps)


def read_for_model(
    saved: SavedModel,
    source: Source,
    console: Console,
    *,
    needs_labels: bool = True,
    offers_only_used: bool = False,
    columns: np.ndarray | None = None,
    sample_columns: Sequence[str] | None = None,
) -> Study:
    """The columns that the model knows, or some of them, in its order.

    ``sample_columns`` are those about samples, by default the ones of the training data.
    """
    if sample_columns is None:
        sample_columns = SampleColumns(saved.groups, saved.batch).names
    names = saved.feature_names if columns is None else saved.feature_names[columns]
    options = _as_remembered(saved, source, console)
    with console.progress(f"reading {source.data}"):
        study = read_study_for_model(
            source.data,
            feature_names=list(names),
            used=set(saved.feature_names[columns_read_by(saved.classifier)]) if offers_only_used else (),
            target=saved.target if source.target is None else source.target,
            labels=source.labels,
            ignore=source.ignore,
            sample_columns=sample_columns,
            options=options,
            needs_labels=needs_labels,
            classes=list(map(str, saved.classifier.classes_)),
        )
    for remark in study.remarks:
        console.note(str(remark))
    return study


def as_in_training(reading: ReadOptions) -> dict[str, str]:
    """The options of reading that a model file keeps, so that new samples are read in the same way."""
    default = ReadOptions()
    values = {key: getattr(reading, key) for key in REMEMBERED}
    return {key: value for key, value in values.items() if value != getattr(default, key)}


def _as_remembered(saved: SavedModel, source: Source, console: Console) -> ReadOptions:
    """The options with layer, sheet and duplicates of the training data, unless the caller names others."""
    default, reading = ReadOptions(), source.reading
    for key, value in saved.reading.items():
        if getattr(reading, key) != getattr(default, key):
            continue
        if key == "duplicates":
            reading = replace(reading, duplicates=value)
        elif has_several(source.data, key):
            console.note(f"Read the {key} {value!r}, as for the training data; use --{key} for another one.")
            reading = replace(reading, layer=value) if key == "layer" else replace(reading, sheet=value)
    return reading


def filled(
    imputer: SimpleImputer | None, study: Study, console: Console, *, advice: str = NO_MEDIANS
) -> DataMatrix:
    """Values without gaps: filled as in training, or refused where nothing fills them."""
    if imputer is None:
        refuse_missing(study, advice=advice)
        return study.X
    if (gaps := filled_gaps(study)) is not None:
        console.note(gaps)
    return imputer.transform(study.X)


def scaled(saved: SavedModel, X: DataMatrix) -> DataMatrix:
    """Filled values as the classifier takes them: scaled and clipped, if the model does that."""
    return X if saved.scaler is None else saved.scaler.transform(X)


def filled_gaps(study: Study) -> str | None:
    """A note on the missing values that were filled, if there were any."""
    n = int(np.isnan(study.values).sum())
    if not n:
        return None
    return f"{n} missing value{'s' * (n > 1)} replaced by the median of the column in the training data."


def scaler_problems(saved: SavedModel, X: DataMatrix) -> list[str]:
    """What is wrong with the stored medians and scales, compared with those computed from the data."""
    if saved.scaler is None:
        return []
    anew = clone(saved.scaler).fit(X)
    agree = all(
        np.allclose(getattr(saved.scaler, name), getattr(anew, name), rtol=1e-9, atol=0.0)
        for name in ("centre_", "scale_")
    )
    return [] if agree else ["the stored medians and scales of the columns are not those of the data"]


def as_trained(saved: SavedModel, study: Study, X: DataMatrix) -> FittedProblem:
    """The stored classifier on its training data, or on what is taken for these, in the order of the file."""
    groups = groups_of(study, saved.groups)
    classifier = saved.classifier_of(X, study.y, groups)
    return FittedProblem(classifier, X, study.y, groups=groups, transformer=saved.scaler)


def difference_from_training(saved: SavedModel, study: Study, X: DataMatrix) -> str | None:
    """Why these are not the training data, whose rows may come in any order; None if they are."""
    if fingerprint(X, study.y, study.feature_names) == saved.fingerprint:
        return None
    return f"{study.source} does not hold the training data of the model: values, labels or samples differ."


def groups_of(study: Study, column: str | None) -> np.ndarray | None:
    """Return the groups of a column, with duplicates of one class merged; None without either."""
    named = None if column is None else study.sample_columns[column]
    y = np.asarray(study.y)
    pairs = [(i, j) for i, j in duplicate_rows(study.X) if y[i] == y[j]]
    return groups_with_duplicates(len(y), pairs, named) if pairs else named


def worst_case_name(model: Estimator) -> str:
    """Return what a certificate bounds; of an ensemble this is not the rule that predicts."""
    return "worst-case error of the mean rule" if can(model, MEMBERS) else "R*"


def verify_and_print(model: Path, source: Source, *, json: bool, console: Console) -> None:
    """Recompute the bounds of a stored model from its training data; exit status 1 if they do not hold."""
    saved = load_first(model)
    study = read_for_model(saved, source, console)
    X = filled(saved.imputer, study, console)
    fit = as_trained(saved, study, X)
    difference, certificate = difference_from_training(saved, study, X), verify(fit)
    problems = [*certificate.problems, *scaler_problems(saved, X)]
    holds = not problems and difference is None
    if json:
        verdict = {
            "valid": holds,
            "lower": certificate.lower,
            "upper": certificate.upper,
            "problems": problems,
            "training_data": difference is None,
            **console.told(),
        }
        typer.echo(as_json(verdict))
    elif holds:
        lower, upper = outward(certificate.lower, certificate.upper, ".9f")
        bounded = worst_case_name(saved.classifier)
        interval = f"{lower} <= {bounded} <= {upper}"
        typer.echo(f"the certificate holds: {interval}, recomputed from the data without a solver.")
        if certificate.coverage is None:
            typer.echo("It is a score, not a bound on the error rate: no confidence is stated for the radii.")
        if saved.scaler is not None:
            typer.echo(f"It is about the values {clipping(saved.scaler.limit)}.")
    else:
        typer.echo("the certificate does NOT hold for these data:")
        for problem in [*problems, *([] if difference is None else [difference])]:
            typer.echo(f"  {problem}")
    if not holds:
        raise typer.Exit(1)
