"""What ``minimaxrisk fit`` does with its options: read, fit, test, and write what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from minimaxrisk.app.cli.console import Console, as_json
from minimaxrisk.app.cli.options import Kind, Outputs, SampleColumns, Source
from minimaxrisk.app.cli.predicting import DRAW
from minimaxrisk.app.cli.reporting import annotations_of, gather, write_findings
from minimaxrisk.app.cli.results import fit_as_json, fit_as_text
from minimaxrisk.app.cli.training import (
    Together,
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
from minimaxrisk.app.files import Study, read_training_study
from minimaxrisk.app.files.binary_formats import add_to_h5ad
from minimaxrisk.app.report.gathering import FOLDS_OF_CHOICE, Stopwatch, Wanted, n_folds_of_choice
from minimaxrisk.app.storage import save_model
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.classifier_cv import MinimaxRiskClassifierCV
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier


def fit_and_write(
    source: Source,
    *,
    columns: SampleColumns,
    impute: bool,
    scale: str,
    settings: Mapping[str, Any],
    kind: Kind,
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
    classifier = classifier_of(
        MinimaxRiskClassifier(**settings, standardize=scale != "none"), kind, study, together, wanted
    )
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


def classifier_of(
    single: MinimaxRiskClassifier, kind: Kind, study: Study, together: Together, wanted: Wanted
) -> Any:
    """A classifier, one whose radius is chosen for its features, or an ensemble."""
    if kind.has_members:
        return MinimaxRiskEnsembleClassifier(single, n_jobs=wanted.n_jobs, random_state=wanted.random_state)
    if kind.features is None:
        return single
    n_folds = FOLDS_OF_CHOICE
    if not isinstance(kind.features, int):
        n_folds = n_folds_of_choice(study.y, together.groups)
        if n_folds < 2:
            raise ValueError(
                f"{study.source}: --features {kind.features} needs three samples of every class, or "
                "groups of them, to leave some out; leave out rare classes, or pass a number: --features 10"
            )
    rule = {"few": "one-se"}.get(str(kind.features), kind.features)
    return MinimaxRiskClassifierCV(single, rule=rule, cv=n_folds, n_jobs=wanted.n_jobs)


def write_back_fit(path: Path, trained: Trained) -> None:
    """Coefficients and selection by feature; predictions and the weights of the worst case by sample."""
    model, study, y = trained.fit.model, trained.study, trained.fit.y
    features = trained.fit.X_transformed
    probabilities = model.predict_proba(features)
    selected = np.zeros(trained.fit.X.shape[1], dtype=bool)
    selected[model.selected_features_] = True
    coef = model._fitted_rule().full_coef
    towards = model.classes_[-1:] if len(coef) == 1 else model.classes_
    coefficients = {f"coefficient_{c}": row for c, row in zip(towards, coef, strict=True)}
    distribution = model.worst_case_distribution_
    own = distribution[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    add_to_h5ad(
        path,
        obs={
            "prediction": model.predict(features).astype(str).astype(object),
            **{f"{DRAW}_{c}": column for c, column in zip(model.classes_, probabilities.T, strict=True)},
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
