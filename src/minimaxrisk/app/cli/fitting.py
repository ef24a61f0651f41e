"""What ``minimaxrisk fit`` does with its options: read, fit, test, and write what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from minimaxrisk.app.cli.console import Console, as_json
from minimaxrisk.app.cli.options import Outputs, SampleColumns, Source
from minimaxrisk.app.cli.reporting import annotations_of, gather, write_findings
from minimaxrisk.app.cli.results import fit_as_json, fit_as_text
from minimaxrisk.app.cli.training import (
    Trained,
    guarantee_of,
    permutation_of,
    refuse_too_many,
    saved_model,
    together_of,
    train,
    warn_about_data,
    warn_about_model,
)
from minimaxrisk.app.files import read_training_study
from minimaxrisk.app.files.binary_formats import add_to_h5ad
from minimaxrisk.app.report.gathering import Stopwatch, Wanted
from minimaxrisk.app.storage import save_model
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.clipped_scaler import ClippedScaler


def fit_and_write(
    source: Source,
    *,
    columns: SampleColumns,
    impute: bool,
    scale: str,
    settings: Mapping[str, Any],
    wanted: Wanted,
    outputs: Outputs,
    command: str,
    console: Console,
) -> None:
    """Fit a classifier with these ``settings``; exit status 1 if its certificate does not hold."""
    has_report = outputs.report is not None
    clock = Stopwatch()
    clock.begin("reading")
    with console.progress(f"reading {source.data}"):
        study = read_training_study(
            source.data,
            target=source.target,
            labels=source.labels,
            ignore=source.ignore,
            sample_columns=columns.names,
            options=source.reading,
        )
    for remark in study.remarks:
        console.note(remark)
    refuse_too_many(wanted.n_permutations, len(study.sample_names))
    together = together_of(study, columns, console)
    warn_about_data(study, together, console)
    annotations = annotations_of(outputs, study, console)

    clock.begin("fit")
    classifier = MinimaxRiskClassifier(**settings, standardize=scale != "none")
    scaler = ClippedScaler() if scale == "clip" else None
    trained = train(study, classifier, scaler=scaler, together=together, impute=impute, console=console)
    warn_about_model(trained.fit, study, together, wanted, console)
    clock.begin("permutation test")
    test = permutation_of(trained, wanted, console)
    clock.begin("guarantee")
    guarantee = guarantee_of(trained, wanted, console, has_report=has_report)
    seconds = clock.end()

    wanted = replace(wanted, permutation_result=test, guarantee=guarantee or False)
    if not has_report:
        wanted = replace(wanted, n_folds=0, n_radii=0, is_brief=True)
    findings = gather(trained.fit, study, wanted, together, console)
    model = saved_model(trained, columns=columns, reading=source.reading, command=command)
    write_findings(findings, model, study, outputs, annotations=annotations, console=console, seconds=seconds)
    if outputs.model is not None:
        save_model(model, outputs.model)
    if outputs.write_back:
        write_back_fit(source.data, trained)
    if outputs.as_json:
        typer.echo(as_json(fit_as_json(trained, test, findings, outputs) | console.told()))
    else:
        typer.echo(fit_as_text(trained, test, findings, outputs))
    if not findings.fit.certificate_valid:
        raise typer.Exit(1)


def write_back_fit(path: Path, trained: Trained) -> None:
    """Coefficients and selection by feature; predictions and the weights of the worst case by sample."""
    model, study, y = trained.fit.model, trained.study, trained.fit.y
    features = trained.fit.seen
    probabilities = model.predict_proba(features)
    selected = np.zeros(trained.fit.X.shape[1], dtype=bool)
    selected[model.selected_features_] = True
    towards = model.classes_[-1:] if len(model.coef_) == 1 else model.classes_
    coefficients = {f"coefficient_{c}": row for c, row in zip(towards, model.coef_, strict=True)}
    distribution = model.worst_case_distribution_
    own = distribution[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    add_to_h5ad(
        path,
        obs={
            "prediction": model.predict(features).astype(str).astype(object),
            **{f"probability_{c}": column for c, column in zip(model.classes_, probabilities.T, strict=True)},
            "worst_case_own_label": own,
            "worst_case_other_labels": distribution.sum(axis=1) - own,
        },
        var_names=study.feature_names,
        var={"selected": selected} | coefficients,
        uns={
            "target": study.target,
            "worst_case_error": model.worst_case_error_,
            "worst_case_error_lower": model.worst_case_error_lower_,
        },
    )
