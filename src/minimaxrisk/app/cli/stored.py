"""A stored model, the data that it is applied to, and the check of its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import typer
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.analysis.doubts import Doubt
from minimaxrisk.analysis.training_scale import ScaleComparison
from minimaxrisk.app.cli.console import Console, as_json
from minimaxrisk.app.cli.options import SampleColumns, Source
from minimaxrisk.app.files import ReadOptions, Study, read_study_for_model, refuse_missing
from minimaxrisk.app.files.features import are_generated
from minimaxrisk.app.files.read_study import has_several
from minimaxrisk.app.report.phrases import clipping, outward
from minimaxrisk.app.storage import SavedModel, checksums, fingerprint, load_model
from minimaxrisk.guarantees.certified import MEMBERS, can, columns_read_by
from minimaxrisk.guarantees.left_out import LeftOut, is_in_set
from minimaxrisk.guarantees.verification import verify

REMEMBERED = ("layer", "sheet", "duplicates")  # options of reading that a model file keeps
MOST_NAMED = 5  # samples, columns or labels in a message
NO_MEDIANS = "the model was fitted without --impute: complete the values, or fit again with --impute median"


def load_first(model: Path) -> SavedModel:
    """The model file, which commands take before the data."""
    try:
        return load_model(model)
    except ValueError as error:
        if model.suffix == ".skops":
            raise
        raise ValueError(
            f"{error} The model file, such as model.skops, comes first, then the data."
        ) from error


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
    """The columns that the model knows, in its order; where only some are read, zeros in the others.

    ``sample_columns`` are those about samples, by default the ones of the training data.
    """
    if sample_columns is None:
        sample_columns = SampleColumns(saved.groups, saved.batch).names if needs_labels else ()
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
        )
    for remark in study.remarks:
        console.note(remark)
    return study if columns is None else _with_all_columns(saved, study, columns)


def columns_to_read(saved: SavedModel, *, only_used: bool) -> np.ndarray | None:
    """The columns that the model needs; None for all of them, also where it needs none."""
    if not only_used:
        return None
    if are_generated(list(saved.feature_names)):
        raise typer.BadParameter(
            "needs a model whose columns have names; those of this one are matched by position.",
            param_hint="--only-used",
        )
    used = columns_read_by(saved.classifier)
    return used if len(used) else None


def _with_all_columns(saved: SavedModel, study: Study, columns: np.ndarray) -> Study:
    """The study with all columns of the model, zeros in those that it does not use."""
    n_features = len(saved.feature_names)
    if sparse.issparse(study.X):
        places = (np.ones(len(columns)), (np.arange(len(columns)), columns))
        full = sparse.csr_matrix(study.X @ sparse.csr_matrix(places, (len(columns), n_features)))
    else:
        full = np.zeros((study.X.shape[0], n_features))
        full[:, columns] = study.X
    return replace(study, X=full, feature_names=saved.feature_names)


def compared(
    saved: SavedModel, study: Study, X: DataMatrix, *, strict: bool, undone: str
) -> tuple[ScaleComparison | None, Doubt | None]:
    """Whether samples are on the scale of the training data; a doubt, or with ``strict`` an error, if not.

    ``undone`` says what the command did not do.
    """
    if saved.training_scale is None:
        return None, None
    scale = saved.training_scale.compare(X)
    if scale.agrees:
        return scale, None
    n, n_differing = len(scale.differs), int(scale.differs.sum())
    which = "" if scale.whole else f" These are {listed(study.sample_names[scale.differs], MOST_NAMED)}."
    text = f"{study.source}: {scale.statement}{which}"
    if strict:
        raise ValueError(f"{text} {undone} (--strict).")
    return scale, Doubt(
        kind="scale",
        brief=f"{n_differing} of {counted(n, 'sample')} unlike the training data",
        text=text,
        remedy="--strict refuses such files.",
    )


def possible_classes(
    left_out: LeftOut, features: DataMatrix, read: np.ndarray | None, confidence: float, console: Console
) -> np.ndarray | None:
    """Which classes are possible; None, with a note, where ``read`` lacks columns that tell it."""
    others = [] if read is None else [np.setdiff1d(judge.columns, read) for judge in left_out.judges]
    missing = len(np.unique(np.concatenate(others))) if others else 0
    if missing:
        console.note(
            f"Which classes are possible is not told: fits without a fold use {counted(missing, 'column')} "
            "that the model does not. Leave out --only-used for it."
        )
        return None
    return is_in_set(left_out.p_values(features), confidence)


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


def as_trained(saved: SavedModel, study: Study, X: DataMatrix) -> tuple[Study, DataMatrix, str | None]:
    """The study and its filled values in the order of training, or as they are and why they are not those.

    Values that agree to 15 digits are the same: programs that save a table again keep no more.
    """
    y = np.asarray(study.y)
    if saved.rows is None:
        is_same = fingerprint(X, y, study.feature_names) == saved.fingerprint
        differ = f"{_not_those(study)}values, labels or names differ."
        return study, X, None if is_same else differ
    places = checksums(X, y).places_in(saved.rows)
    if (places < 0).any() or len(places) != len(saved.rows):
        return study, X, _not_trained(study, places, len(saved.rows))
    order = np.argsort(places)
    columns = {name: column[order] for name, column in study.sample_columns.items()}
    names = study.sample_names[order]
    ordered = replace(study, X=study.X[order], y=y[order], sample_names=names, sample_columns=columns)
    return ordered, X[order], None


def known_samples(saved: SavedModel, X: DataMatrix) -> np.ndarray:
    """Which samples are training samples, by the columns that the model uses or, rounded, by all columns.

    By the former none are where training samples that differ agree in these columns: new samples may then do
    so by chance.
    """
    used, rows = saved.used_rows, saved.rows
    columns = columns_read_by(saved.classifier)
    n = X.shape[0]
    known = np.zeros(n, dtype=bool) if saved.sketches is None else saved.sketches.recognize(X)
    if used is None or rows is None or not len(columns):
        return known
    found = checksums(X[:, columns])
    if n == len(used) and (found.places_in(used) >= 0).all():
        return np.ones(n, dtype=bool)
    if len(set(used.tolist())) < len(set(rows.tolist())):
        return known
    return known | found.are_in(used)


def _not_those(study: Study) -> str:
    return f"{study.source} does not hold the training data of the model: "


def _not_trained(study: Study, places: np.ndarray, n_trained: int) -> str:
    """The message where a command needs the training data, with the samples that are not among them."""
    told = []
    if len(strange := study.sample_names[places < 0]):
        told.append(
            f"{len(strange)} of its {counted(len(places), 'sample')} are not among them, or have other "
            f"values or labels there ({listed(strange)})"
        )
    if n_missing := n_trained - int((places >= 0).sum()):
        told.append(f"{n_missing} of {counted(n_trained, 'training sample')} are missing")
    return f"{_not_those(study)}{'; '.join(told)}."


def verify_and_print(model: Path, source: Source, *, json: bool, console: Console) -> None:
    """Recompute the bounds of a stored model from its training data; exit status 1 if they do not hold."""
    saved = load_first(model)
    study = read_for_model(saved, source, console)
    X = filled(saved.imputer, study, console)
    study, X, difference = as_trained(saved, study, X)
    groups = None if saved.groups is None else study.sample_columns[saved.groups]
    certificate = verify(saved.classifier, scaled(saved, X), study.y, groups=groups)
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
        lower, upper = outward(certificate.lower, certificate.upper, digits=9)
        bounded = "worst-case error" if can(saved.classifier, MEMBERS) else "R*"
        interval = f"{lower} <= {bounded} <= {upper}"
        typer.echo(f"the certificate holds: {interval}, recomputed from the data without a solver.")
        if saved.scaler is not None:
            typer.echo(f"It is about the values {clipping(saved.scaler.limit)}.")
    else:
        typer.echo("the certificate does NOT hold for these data:")
        for problem in [*problems, *([] if difference is None else [difference])]:
            typer.echo(f"  {problem}")
    if not holds:
        raise typer.Exit(1)
