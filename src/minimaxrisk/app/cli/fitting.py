"""What ``minimaxrisk fit`` does with its options: read, fit, test, and write what was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from minimaxrisk.app.cli.console import Console, as_json
from minimaxrisk.app.cli.predicting import predicted_columns
from minimaxrisk.app.cli.reporting import annotations_of, gather, render, wanted_by, write_page
from minimaxrisk.app.cli.results import fit_as_json, fit_as_text
from minimaxrisk.app.cli.settings import Effort, GeneOptions, SampleColumns
from minimaxrisk.app.cli.training import (
    Trained,
    describe_batches,
    guarantee_of,
    permutation_of,
    refuse_too_many,
    saved_model,
    together_of,
    train,
    warn_of_copies,
    warn_of_giveaways,
)
from minimaxrisk.app.files import ReadOptions, read_training_study
from minimaxrisk.app.files.binary_formats import add_to_h5ad
from minimaxrisk.app.report.gathering import Stopwatch
from minimaxrisk.app.report.tables import gene_table, write_genes
from minimaxrisk.app.storage import save_model
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.clipped_scaler import ClippedScaler


@dataclass(frozen=True)
class Results:
    """Where the results go, beside the terminal."""

    model: Path | None
    report: Path | None
    write_back: bool
    as_json: bool


def fit_and_write(
    data: Path,
    *,
    target: str | None,
    labels: Path | None,
    ignore: Sequence[str],
    sample_columns: SampleColumns,
    reading: ReadOptions,
    impute: bool,
    scale: str,
    settings: Mapping[str, Any],
    effort: Effort,
    results: Results,
    genes: GeneOptions,
    command: str,
    console: Console,
) -> None:
    """Fit a classifier with these ``settings``; exit status 1 if its certificate does not hold."""
    classifier = MinimaxRiskClassifier(**settings, standardize=scale != "none")
    scaler = ClippedScaler() if scale == "clip" else None
    parts = Stopwatch()
    parts.begin("reading")
    with console.progress(f"reading {data}"):
        study = read_training_study(
            data,
            target=target,
            labels=labels,
            ignore=ignore,
            sample_columns=sample_columns.names,
            options=reading,
        )
    for remark in study.remarks:
        console.note(remark)
    refuse_too_many(effort.n_permutations, len(study.sample_names))
    together = together_of(study, sample_columns, console)
    warn_of_copies(study, together, console)
    annotations = annotations_of(genes, study, console)
    parts.begin("fit")
    trained = train(study, classifier, scaler=scaler, together=together, impute=impute, console=console)
    warn_of_giveaways(trained, console)
    describe_batches(trained, effort, console)
    parts.begin("permutation test")
    test = permutation_of(trained, effort, console)
    parts.begin("guarantee")
    guarantee = guarantee_of(trained, effort, console, has_report=results.report is not None)
    seconds = parts.end()
    model = saved_model(trained, columns=sample_columns, reading=reading, command=command)
    wanted = wanted_by(effort, has_report=results.report is not None)
    wanted = replace(wanted, permutation_result=test, guarantee=guarantee or wanted.guarantee)
    findings = gather(trained.fit, study, wanted, together, console)
    written: dict[str, Path] = {}
    if results.report is not None:
        page = render(
            findings,
            model,
            study,
            command=command,
            console=console,
            genes=genes,
            annotations=annotations,
            seconds=seconds,
        )
        write_page(results.report, page)
        written["report"] = results.report
    if genes.table is not None:
        write_genes(genes.table, gene_table(findings.features, findings.data.classes, annotations))
        written["genes"] = genes.table
    if results.model is not None:
        save_model(model, results.model)
        written["model"] = results.model
    if results.write_back:
        write_back_fit(data, trained)
        written["data"] = data
    typer.echo(
        as_json(fit_as_json(trained, test, findings, written=written, notes=console.notes))
        if results.as_json
        else fit_as_text(trained, test, findings, written=written)
    )
    if not findings.fit.certificate_valid:
        raise typer.Exit(1)


def write_back_fit(path: Path, trained: Trained) -> None:
    """Coefficients and selection by feature; predictions and the weights of the worst case by sample."""
    model, study = trained.classifier, trained.study
    selected = np.zeros(trained.fit.X.shape[1], dtype=bool)
    selected[model.selected_features_] = True
    towards = model.classes_[-1:] if len(model.coef_) == 1 else model.classes_
    coefficients = {f"coefficient_{c}": row for c, row in zip(towards, model.coef_, strict=True)}
    distribution = model.worst_case_distribution_
    own = distribution[np.arange(len(trained.y)), np.searchsorted(model.classes_, trained.y)]
    add_to_h5ad(
        path,
        obs=predicted_columns(model, trained.features)
        | {
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
