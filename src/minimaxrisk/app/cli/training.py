"""From a study to a certified classifier: fit, verify, test, with warnings about data that mislead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from minimaxrisk._utils.arguments import listed
from minimaxrisk._utils.rounding import outward
from minimaxrisk.analysis.batches import check_batches
from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.analysis.data import evidence_of, training_scale
from minimaxrisk.analysis.permutation_test import PermutationTestResult, permutation_test
from minimaxrisk.app.cli.console import Console
from minimaxrisk.app.cli.interruption import Interruption
from minimaxrisk.app.cli.options import SampleColumns
from minimaxrisk.app.cli.stored import as_in_training, filled, groups_of
from minimaxrisk.app.files import ReadOptions, Study
from minimaxrisk.app.files.messages import COMMAND_LINE, spelled
from minimaxrisk.app.report.gathering import (
    Wanted,
    bound_for_new_samples,
    cross_validation_of,
    learner_of,
)
from minimaxrisk.app.storage import (
    SavedModel,
    current_versions,
    fingerprint,
    sample_hashes,
)
from minimaxrisk.checks.findings import CONDITION, Finding
from minimaxrisk.checks.names import BATCH
from minimaxrisk.checks.run import findings_of_model, findings_of_table
from minimaxrisk.checks.table import StudyTable
from minimaxrisk.engines.solution import IterationRecord
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.fit_support import time_left
from minimaxrisk.estimators.prediction_sets import is_calibrated, warn_about_small_classes
from minimaxrisk.guarantees.bound import ErrorBound
from minimaxrisk.guarantees.certified import CHOSEN_RADIUS, HISTORY, can, columns_read_by
from minimaxrisk.guarantees.fitted_problem import FittedProblem
from minimaxrisk.guarantees.left_out import SET_CONFIDENCE, Calibration
from minimaxrisk.guarantees.verification import verify

NO_SETS = "There are no prediction sets {why}."
RULE_ALONE = "The decision is not calibrated either: predictions are those of the classifier's own rule."
IMPUTE_OR_IGNORE = "pass --impute median to fill each with the median of its column, or --ignore the columns"


@dataclass(frozen=True)
class Together:
    """Patients and batches of the samples; ``strata`` are the batches if labels can be permuted within.

    ``named_groups`` are those that the user named, and ``groups`` these with duplicates merged.
    """

    groups: np.ndarray | None = None
    named_groups: np.ndarray | None = None
    batch: np.ndarray | None = None
    strata: np.ndarray | None = None


@dataclass(frozen=True)
class Trained:
    """A classifier with the study that it was learned from.

    ``fit`` is posed and verified once for all that follows. It holds the values without gaps, and as the
    classifier saw them: clipped, where there is a scaler.
    """

    study: Study
    fit: FittedProblem
    imputer: SimpleImputer | None
    together: Together


# The options that do what a remedy asks for, by the code of the finding; columns follow the first ones.
OPTIONS_OF_COLUMNS = {
    "label-copy": "ignore",
    "near-label-copy": "ignore",
    "running-number": "ignore",
    "suspicious-name": "ignore",
    "clinical-name": "ignore",
    "dominant-feature": "ignore",
    "repeated-sources": "groups",
}
OPTIONS = {
    "near-duplicates": "--groups COLUMN",
    "source-names": "--groups COLUMN",
    "missing-code": "--impute median",
}


def on_command_line(finding: Finding) -> Finding:
    """Return the finding with the options of the command line in its remedy."""
    if finding.code == "duplicates":
        return replace(
            finding, remedy="They count as one group: they are in one fold, and are one unit in bounds."
        )
    options = [OPTIONS[finding.code]] if finding.code in OPTIONS else []
    if finding.columns and (option := OPTIONS_OF_COLUMNS.get(finding.code)):
        kind = finding.numbers.get("kind")
        option = "batch" if kind == BATCH or "strata" in str(finding.numbers.get("kept_by")) else option
        options.append(spelled(COMMAND_LINE, option, *finding.columns))
    if finding.severity == CONDITION:
        options.append(f"if the condition holds, --accept {finding.code}")
    if not options:
        return finding
    return replace(finding, remedy=f"{finding.remedy.removesuffix('.')} ({'; '.join(options)}).")


def table_of(study: Study, together: Together) -> StudyTable:
    """Return what the data checks look at."""
    return StudyTable(
        study.X,
        np.asarray(study.y),
        study.feature_names,
        study.sample_names,
        groups=together.named_groups,
        batch=together.batch,
        owners=study.owners,
    )


def report_on_data(study: Study, together: Together, console: Console) -> None:
    """Show what the data checks find without a model."""
    console.report(map(on_command_line, findings_of_table(table_of(study, together))))


def report_on_model(
    fit: FittedProblem, study: Study, together: Together, wanted: Wanted, console: Console
) -> None:
    """Show what the data checks find in the columns that the model uses, and in batches."""
    found = findings_of_model(
        table_of(study, together), evidence_of(fit.model), filled=fit.X, known=console.findings
    )
    console.report(map(on_command_line, found))
    if together.batch is None:
        return
    with console.stages("batches"):
        of_batches = check_batches(
            fit.model,
            fit.X_transformed,
            fit.y,
            together.batch,
            groups=together.groups,
            n_folds=wanted.n_folds or 5,
            random_state=wanted.random_state,
            n_jobs=wanted.n_jobs,
        )
    console.note(of_batches.statement)
    console.report(of_batches.findings)


def train(
    study: Study,
    classifier: Any,
    *,
    scaler: ClippedScaler | None,
    together: Together,
    impute: bool,
    console: Console,
    interruption: Interruption,
) -> Trained:
    """Fit. After an interruption the model is the best one so far, if there is one."""
    # Columns without any value were refused; if one came through, names must not move.
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(study.X) if impute else None
    X = filled(imputer, study, console, advice=IMPUTE_OR_IGNORE)
    seen = X if scaler is None else scaler.fit_transform(X)
    with console.progress("fitting") as show, console.warnings_as_notes():

        def follow(record: IterationRecord) -> bool:
            interruption.has_model = True
            lower, upper = outward(record["lower"], record["upper"], ".6f")
            show(f"iteration {record['iteration']}:  {lower} <= R* <= {upper}{time_left(record)}")
            return interruption.is_asked

        fit_until_interrupted(
            classifier, seen, study.y, groups=together.groups, follow=follow, interruption=interruption
        )
    groups = together.groups
    fit = FittedProblem(classifier, X, study.y, groups=groups, transformer=scaler, X_transformed=seen)
    return Trained(study, fit, imputer, together)


def fit_until_interrupted(
    classifier: Any, *data: Any, groups: Any, follow: Callable[..., bool], interruption: Interruption
) -> None:
    """Fit, with a callback where there are iterations; a second Ctrl-C leaves the best model, too."""
    callback = "estimator__callback" if can(classifier, CHOSEN_RADIUS) else "callback"
    if can(classifier, HISTORY):
        classifier.set_params(**{callback: follow})
    try:
        classifier.fit(*data, groups=groups)
    except KeyboardInterrupt:
        if not getattr(classifier, "history_", None):
            raise
        interruption.is_asked = True
    interruption.has_model = True
    if can(classifier, HISTORY):
        classifier.set_params(**{callback: None})
        classifier._final().set_params(callback=None)


def permutation_of(trained: Trained, wanted: Wanted, console: Console) -> PermutationTestResult | None:
    """What permuted labels give, or None for no permutations; clipping does not depend on labels."""
    if not wanted.n_permutations:
        return None
    with console.stages("permutation test"):
        return permutation_test(
            trained.fit,
            n_permutations=wanted.n_permutations,
            strata=trained.together.strata,
            n_jobs=wanted.n_jobs,
            random_state=wanted.random_state,
        )


def guarantee_of(trained: Trained, wanted: Wanted, console: Console) -> ErrorBound | None:
    """What can be said about new samples."""
    if not (wanted.guarantee and verify(trained.fit).valid):
        return None
    with console.stages("guarantee"), console.warnings_as_notes():
        return bound_for_new_samples(trained.fit, learner_of(trained.fit), wanted)


def with_prevalence(wanted: Wanted, study: Study) -> Wanted:
    """Shares by label in place of names; a single class that is missing has the rest."""
    if wanted.prevalence is None:
        return wanted
    labels = np.unique(np.asarray(study.y)).tolist()
    return replace(wanted, prevalence=shares_by_label(labels, wanted.prevalence, study.source))


def shares_by_label(labels: Sequence[Any], given: Mapping[str, float], source: Path) -> dict[Any, float]:
    """The shares of ``--prevalence``, in which one class may be missing."""
    label_of = {str(label): label for label in labels}
    shares = dict(given)
    missing = [name for name in label_of if name not in shares]
    rest = 1.0 - sum(shares.values())
    if len(missing) > 1 or (missing and not set(shares) < set(label_of)) or (missing and rest <= 0.0):
        raise ValueError(
            f"{source}: --prevalence needs positive shares of {listed(label_of)} with the sum 1, where "
            f"one may be missing; got {', '.join(f'{name}={share:g}' for name, share in shares.items())}."
        )
    shares |= dict.fromkeys(missing, rest)
    return {label_of.get(name, name): share for name, share in shares.items()}


def cross_validated(trained: Trained, wanted: Wanted, console: Console) -> CrossValidatedError | None:
    """The one cross-validation, from which a report and the model file are made; None without folds."""
    with console.stages("cross-validation"), console.warnings_as_notes():
        found, reason = cross_validation_of(trained.fit, learner_of(trained.fit), wanted)
    if found is None:
        why = "without folds" if reason is None else f"because {reason.removesuffix('.')}"
        rule_alone = "" if is_calibrated(trained.fit.learner) else f" {RULE_ALONE}"
        console.note(f"{NO_SETS.format(why=why)}{rule_alone}")
    return found


def calibration_of(trained: Trained, folds: CrossValidatedError, console: Console) -> Calibration:
    """The calibrated decision for a model file, which must not give the values of single samples away."""
    model = trained.fit.model
    found = folds.left_out.calibration(trained.fit.X_transformed[:, columns_read_by(model)])
    with console.warnings_as_notes():
        warn_about_small_classes(found, model.classes_, SET_CONFIDENCE)
    return found


def saved_model(
    trained: Trained,
    *,
    columns: SampleColumns,
    reading: ReadOptions,
    command: str,
    recognise: bool,
) -> SavedModel:
    """What goes into a model file: nothing of a training sample, unless these are to be recognised."""
    study, hashes = trained.study, None
    X, y = trained.fit.X, trained.fit.y
    unlabelled = fingerprint(X, None, study.feature_names)
    if recognise:
        hashes = np.unique(sample_hashes(X, unlabelled))
    model = SavedModel(
        classifier=trained.fit.learner,
        feature_names=study.feature_names,
        target=study.target or "class",
        fingerprint=fingerprint(X, y, study.feature_names),
        unlabelled=unlabelled,
        sample_hashes=hashes,
        imputer=trained.imputer,
        scaler=trained.fit.transformer,
        training_scale=training_scale(
            trained.fit.model, trained.fit.X_transformed, trained.fit.y, before_scaling=trained.fit.X
        ),
        groups=columns.groups,
        batch=columns.batch,
        reading=as_in_training(reading),
        command=command,
        versions=current_versions(),
    )
    return model.detached_from(X, y)


def together_of(study: Study, columns: SampleColumns, console: Console) -> Together:
    """Return the patients and batches of a study, with notes on what cannot be kept together."""
    named = None if columns.groups is None else study.sample_columns[columns.groups]
    batch = None if columns.batch is None else study.sample_columns[columns.batch]
    y = np.asarray(study.y)
    if named is not None:
        mixed = _mixed_groups(named, y, columns, study)
        exchanged = (
            f" Labels are permuted within the {mixed} of them that have both classes." if mixed else ""
        )
        console.note(
            f"{len(set(named))} groups of {len(named)} samples by {columns.groups!r} stay together in "
            f"folds, hold-outs and permutations, and the radii count groups.{exchanged}"
        )
    groups = groups_of(study, columns.groups)
    strata = None
    if batch is not None:
        why = _why_not_within(batch, groups, y)
        strata = batch if why is None else None
        where = "within batches" if why is None else f"over all samples: {why}"
        console.note(f"Batches by {columns.batch!r}. The permutation test permutes labels {where}.")
    return Together(groups, named, batch, strata)


def _mixed_groups(groups: np.ndarray, y: np.ndarray, columns: SampleColumns, study: Study) -> int:
    """How many groups have samples of both classes, as matched pairs; of three classes they are refused."""
    classes = {name: sorted({str(label) for label in y[groups == name]}) for name in dict.fromkeys(groups)}
    mixed = [name for name, labels in classes.items() if len(labels) > 1]
    if len(classes) < 2:
        raise ValueError(
            f"{study.source}: --groups needs two groups or more, but {columns.groups!r} has one."
        )
    if mixed and len(set(y)) > 2:
        raise ValueError(
            f"{study.source}: with more than two classes the samples of a group must have one class, but "
            f"{listed(mixed, 3)} of {columns.groups!r} have several, such as "
            f"{' and '.join(classes[mixed[0]])}. Take two classes at a time, or pass --batch "
            f"{columns.groups}, which permutes labels within patients."
        )
    return len(mixed)


def _why_not_within(batch: np.ndarray, groups: np.ndarray | None, y: np.ndarray) -> str | None:
    """Why labels cannot be permuted within batches, if they cannot."""
    if all(len(set(y[batch == name])) == 1 for name in set(batch)):
        return "every batch holds one class only, so no labels could be exchanged within it"
    if groups is not None and any(len(set(batch[groups == name])) > 1 for name in set(groups)):
        return "some groups have samples in several batches"
    return None
