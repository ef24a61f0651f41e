"""A stored model and data for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minimaxrisk.arrays import DataMatrix
from minimaxrisk.cli.console import Console
from minimaxrisk.files import ReadOptions, Study, read_study_for_model, refuse_missing
from minimaxrisk.model_file import SavedModel, fingerprint


def read_for_model(
    saved: SavedModel,
    data: Path,
    reading: ReadOptions,
    *,
    labels: Path | None,
    needs_labels: bool,
    console: Console,
) -> Study:
    """The columns that the model knows, in its order."""
    with console.progress(f"reading {data}"):
        study = read_study_for_model(
            data,
            feature_names=list(saved.feature_names),
            target=saved.target,
            labels=labels,
            options=reading,
            needs_labels=needs_labels,
        )
    for remark in study.remarks:
        console.note(remark)
    return study


def prepared(saved: SavedModel, study: Study) -> DataMatrix:
    """Without gaps: filled as in training, or refused if the model has learned nothing about filling."""
    if saved.imputer is None:
        refuse_missing(study)
    return saved.prepared(study.X)


def training_data_problem(saved: SavedModel, study: Study, X: DataMatrix) -> str | None:
    """What is wrong if these are not the data that the model was learned from, in the same order."""
    if fingerprint(X, np.asarray(study.y), study.feature_names) == saved.fingerprint:
        return None
    return (
        f"{study.source} does not hold the data that the model was learned from (or not in that order): "
        "values, labels or names differ."
    )
