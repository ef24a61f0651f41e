"""What ``minimaxrisk fit`` does with its options: read, fit, test, and write what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from minimaxrisk._utils.choices import ChosenRadius
from minimaxrisk._utils.rounding import outward
from minimaxrisk.app.cli import INTERRUPTED
from minimaxrisk.app.cli.console import Console, as_json
from minimaxrisk.app.cli.interruption import interruptible
from minimaxrisk.app.cli.options import Outputs, SampleColumns, Source
from minimaxrisk.app.cli.reporting import annotations_of, gather, write_findings
from minimaxrisk.app.cli.results import fit_as_json, fit_as_text
from minimaxrisk.app.cli.stored import worst_case_name
from minimaxrisk.app.cli.training import (
    Together,
    Trained,
    calibration_of,
    cross_validated,
    guarantee_of,
    permutation_of,
    report_on_data,
    report_on_model,
    saved_model,
    together_of,
    train,
    with_prevalence,
)
from minimaxrisk.app.files import Study, read_training_study
from minimaxrisk.app.report.gathering import Stopwatch, Wanted, can_choose_radius
from minimaxrisk.app.storage import FEWEST_VALUES, SavedModel, save_model
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.classifier_cv import MinimaxRiskClassifierCV
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
from minimaxrisk.guarantees.verification import verify


def fit_and_write(
    source: Source,
    *,
    columns: SampleColumns,
    impute: bool,
    scale: str,
    settings: Mapping[str, Any],
    is_ensemble: bool,
    features: str | int | None,
    wanted: Wanted,
    outputs: Outputs,
    recognise: bool,
    command: str,
    console: Console,
    kept: list[Path],
) -> None:
    """Fit a classifier with these ``settings``; exit status 1 if its certificate does not hold.

    The model is written as soon as there is one, and ``kept`` then has its path. What needs further fits is
    added at the end.
    """
    has_report = outputs.report is not None
    clock = Stopwatch()
    clock.begin("reading")
    study = study_of(source, columns, console)
    if recognise:
        refuse_few_columns(study)
    wanted = with_prevalence(wanted, study)
    together = together_of(study, columns, console)
    report_on_data(study, together, console)
    annotations = annotations_of(outputs, study, console)

    clock.begin("fit")
    classifier: Any = MinimaxRiskClassifier(**settings, standardize=scale != "none")
    if is_ensemble:
        classifier = ensemble_of(classifier, wanted)
    elif features is not None:
        classifier = choosing_radius(classifier, features, study, together, wanted)
    scaler = ClippedScaler() if scale == "clip" else None
    learn = partial(
        train, study, classifier, scaler=scaler, together=together, impute=impute, console=console
    )
    to_save = partial(
        saved_model, columns=columns, reading=source.reading, command=command, recognise=recognise
    )
    trained, model = fitted_and_kept(learn, to_save, outputs.model, kept)
    verify(trained.fit)
    report_on_model(trained.fit, study, together, wanted, console)
    clock.begin("permutation test")
    test = permutation_of(trained, wanted, console)
    clock.begin("guarantee")
    guarantee = guarantee_of(trained, wanted, console)
    clock.begin("cross-validation")
    # Members of an ensemble have left samples out already.
    is_judged = is_ensemble or has_report or outputs.model is not None
    folds = cross_validated(trained, wanted, console) if is_judged else None
    seconds = clock.end()

    wanted = replace(wanted, permutation_result=test, cross_validation=folds, guarantee=guarantee or False)
    if not has_report:
        wanted = replace(wanted, n_folds=0, n_radii=0, is_brief=True)
    findings = gather(trained.fit, study, wanted, together, console)
    console.note_unused_answers()
    calibration = None if folds is None else calibration_of(trained, folds, console)
    model = replace(model, calibration=calibration)
    write_findings(findings, model, study, outputs, annotations=annotations, console=console, seconds=seconds)
    if outputs.model is not None:
        save_model(model, outputs.model)
    if outputs.as_json:
        typer.echo(as_json(fit_as_json(trained, test, findings, outputs) | console.told()))
    else:
        typer.echo(fit_as_text(trained, test, findings, outputs))
    if not findings.fit.certificate_valid:
        raise typer.Exit(1)


def study_of(source: Source, columns: SampleColumns, console: Console) -> Study:
    """The samples and labels of a table; the console says what its reader remarked."""
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
        console.note(str(remark))
    return study


def refuse_few_columns(study: Study) -> None:
    """Refuse to store hashes from which values could be found by trying."""
    n_columns = study.X.shape[1]
    if n_columns < FEWEST_VALUES:
        raise ValueError(
            f"{study.source}: --recognise needs at least {FEWEST_VALUES} columns, got {n_columns}, because "
            "values could be found from hashes of fewer. Leave out --recognise."
        )


def fitted_and_kept(
    learn: Callable[..., Trained],
    to_save: Callable[[Trained], SavedModel],
    path: Path | None,
    kept: list[Path],
) -> tuple[Trained, SavedModel]:
    """Fit and write the model at once; after Ctrl-C that is the best one so far, and exit status 130."""
    with interruptible() as interruption:
        trained = learn(interruption=interruption)
        model = to_save(trained)
        if path is not None:
            save_model(model, path)
            kept.append(path)
    if interruption.is_asked:
        fitted = trained.fit.model
        lower, upper = outward(fitted.worst_case_error_lower_, fitted.worst_case_error_, ".6f")
        where = "was not kept, since there is no --out" if path is None else f"is in {path}"
        interval = f"{lower} <= {worst_case_name(fitted)} <= {upper}"
        typer.echo(f"Interrupted. The best model so far, {interval}, {where}.", err=True)
        raise typer.Exit(INTERRUPTED)
    return trained, model


def ensemble_of(single: MinimaxRiskClassifier, wanted: Wanted) -> MinimaxRiskEnsembleClassifier:
    """Return an ensemble of such classifiers; a named radius is that of the certificate alone.

    Members at a radius that covers all means would select hardly any feature.
    """
    radius = single.radius
    if isinstance(radius, str):
        single = single.set_params(radius=1.0)
    return MinimaxRiskEnsembleClassifier(
        single, radius=radius, certify=True, n_jobs=wanted.n_jobs, random_state=single.random_state
    )


def choosing_radius(
    single: MinimaxRiskClassifier, features: str | int, study: Study, together: Together, wanted: Wanted
) -> MinimaxRiskClassifierCV:
    """A classifier whose radius is chosen for its features: few, best, or at most so many."""
    if not isinstance(features, int) and not can_choose_radius(study.y, together.groups):
        raise ValueError(
            f"{study.source}: --features {features} needs three samples of two classes, or groups of them, "
            "to leave some out; pass a number (--features 10)."
        )
    rule: int | ChosenRadius
    rule = features if isinstance(features, int) else "one-se" if features == "few" else "best"
    return MinimaxRiskClassifierCV(single, rule=rule, n_jobs=wanted.n_jobs, random_state=wanted.random_state)
