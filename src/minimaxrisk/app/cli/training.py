"""From a study to a certified classifier: fit, verify, test, with warnings about data that mislead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.rounding import outward
from minimaxrisk.analysis.batches import check_batches
from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.analysis.doubts import Doubt, doubt_about_batches, doubts_about_data, doubts_about_model
from minimaxrisk.analysis.permutation_test import PermutationTestResult, permutation_test
from minimaxrisk.analysis.recognition import sketched
from minimaxrisk.analysis.training_scale import training_scale
from minimaxrisk.app.cli.console import Console
from minimaxrisk.app.cli.options import SampleColumns
from minimaxrisk.app.cli.stored import as_in_training, filled
from minimaxrisk.app.files import ReadOptions, Study
from minimaxrisk.app.files.labels import alike
from minimaxrisk.app.files.messages import COMMAND_LINE, spelled
from minimaxrisk.app.report.gathering import (
    Wanted,
    bound_for_new_samples,
    cross_validation_of,
    learner_of,
)
from minimaxrisk.app.storage import (
    MOST_MISSING,
    SavedModel,
    checksums,
    current_versions,
    fingerprint,
    share_missing,
)
from minimaxrisk.engines.solution import IterationRecord
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.prediction_sets import warn_about_small_classes
from minimaxrisk.guarantees.certified import columns_read_by
from minimaxrisk.guarantees.left_out import SET_CONFIDENCE, Calibration
from minimaxrisk.guarantees.posed_fit import PosedFit
from minimaxrisk.guarantees.statement import ErrorBound
from minimaxrisk.guarantees.verification import verify

NOT_CALIBRATED = "The decision is not calibrated {why}."
RULE_ALONE = "Predictions are those of the classifier's own rule, without probabilities and possible classes."
IMPUTE_OR_IGNORE = "pass --impute median to fill each with the median of its column, or --ignore the columns"


@dataclass(frozen=True)
class Together:
    """Patients and batches of the samples; ``strata`` are the batches if labels can be permuted within."""

    groups: np.ndarray | None = None
    batch: np.ndarray | None = None
    strata: np.ndarray | None = None


@dataclass(frozen=True)
class Trained:
    """A classifier with the study that it was learned from.

    ``fit`` is posed and verified once for all that follows. It holds the values without gaps, and as the
    classifier saw them: clipped, where there is a scaler.
    """

    study: Study
    fit: PosedFit
    imputer: SimpleImputer | None
    together: Together


# What a remedy is on the command line, by the kind of doubt.
OPTIONS = {
    "copies": "--groups COLUMN",
    "groups": "--groups COLUMN",
    "strata": "--batch COLUMN",
    "missing": "--impute median",
}
# The same, for doubts about columns.
OPTIONS_OF_COLUMNS = {
    "leak": "ignore",
    "clinical": "ignore",
    "batch": "batch",
    "groups": "groups",
    "strata": "batch",
}


def on_command_line(doubt: Doubt) -> Doubt:
    """The doubt, its remedy with the option that does it."""
    option = OPTIONS.get(doubt.kind)
    if doubt.columns and doubt.kind in OPTIONS_OF_COLUMNS:
        option = spelled(COMMAND_LINE, OPTIONS_OF_COLUMNS[doubt.kind], *doubt.columns)
    if option is None:
        return doubt
    return replace(doubt, remedy=f"{doubt.remedy.removesuffix('.')} ({option}).")


def warn_about_data(study: Study, together: Together, console: Console) -> None:
    """Warn of what the data alone cast doubt on."""
    y, groups = np.asarray(study.y), together.groups
    warn_about_empty_samples(study, console)
    warn_about_spellings(study, console)
    names = {"feature_names": study.feature_names, "sample_names": study.sample_names}
    for doubt in doubts_about_data(
        study.X, y, groups=groups, batch=together.batch, owners=study.owners, **names
    ):
        console.warn(on_command_line(doubt))


def warn_about_spellings(study: Study, console: Console) -> None:
    """Warn of classes that are likely to be one."""
    for names in alike(np.unique(np.asarray(study.y))):
        what = f"{listed(names[:-1])} and {names[-1]!r}"
        console.warn(
            Doubt(
                kind="labels",
                brief=f"{what} may be one class",
                text=f"{study.source}: {what} are taken as different classes, and may be spellings of one.",
                remedy="If they are one class, write them alike; if not, give them names that differ more.",
            )
        )


def warn_about_empty_samples(study: Study, console: Console) -> None:
    """Warn of samples that an imputer would make up."""
    empty = share_missing(study.X) > MOST_MISSING
    if empty.any():
        n, n_empty = len(empty), int(empty.sum())
        what = f"{n_empty} of {counted(n, 'sample')} {'has' if n_empty == 1 else 'have'} hardly any value"
        console.warn(
            Doubt(
                kind="missing",
                brief=what,
                text=f"{what}, {listed(study.sample_names[empty])}: more than half of the columns are empty "
                "there, and medians in their place say nothing about the class.",
                remedy="Measure again, or leave such samples out.",
                is_about_validity=False,
            )
        )


def warn_about_model(
    fit: PosedFit, study: Study, together: Together, wanted: Wanted, console: Console
) -> None:
    """Warn of what the columns that the model uses give away, and of batches."""
    for doubt in doubts_about_model(fit.model, fit.X, fit.y, feature_names=study.feature_names):
        console.warn(on_command_line(doubt))
    if together.batch is None:
        return
    with console.stages("batches"):
        found = check_batches(
            fit.model,
            fit.X_transformed,
            fit.y,
            together.batch,
            groups=together.groups,
            n_folds=wanted.n_folds or 5,
            random_state=wanted.random_state,
            n_jobs=wanted.n_jobs,
        )
    of_batches = doubt_about_batches(found)
    if of_batches is None:
        console.note(found.statement)
    else:
        console.warn(of_batches)


def train(
    study: Study,
    classifier: Any,
    *,
    scaler: ClippedScaler | None,
    together: Together,
    impute: bool,
    console: Console,
) -> Trained:
    """Fit, and confirm the bounds without the solver."""
    # Columns without any value were refused; if one came through, names must not move.
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(study.X) if impute else None
    X = filled(imputer, study, console, advice=IMPUTE_OR_IGNORE)
    seen = X if scaler is None else scaler.fit_transform(X)
    with console.progress("fitting") as show, console.warnings_as_notes():

        def follow(record: IterationRecord) -> None:
            lower, upper = outward(record["lower"], record["upper"], ".6f")
            show(f"iteration {record['iteration']}:  {lower} <= R* <= {upper}")

        has_iterations = "callback" in classifier.get_params(deep=False)
        if has_iterations:
            classifier.set_params(callback=follow)
        classifier.fit(seen, study.y, groups=together.groups)
    if has_iterations:
        classifier.set_params(callback=None)
    groups = together.groups
    fit = PosedFit(classifier, X, study.y, groups=groups, transformer=scaler, X_transformed=seen)
    verify(fit)
    return Trained(study, fit, imputer, together)


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
    with console.stages("guarantee"):
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
        console.note(f"{NOT_CALIBRATED.format(why=why)} {RULE_ALONE}")
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
    calibration: Calibration | None,
) -> SavedModel:
    """What goes into a model file."""
    study = trained.study
    return SavedModel(
        classifier=trained.fit.learner,
        feature_names=study.feature_names,
        target=study.target or "class",
        fingerprint=fingerprint(trained.fit.X, trained.fit.y, study.feature_names),
        rows=checksums(trained.fit.X, trained.fit.y).sums,
        used_rows=checksums(trained.fit.X[:, columns_read_by(trained.fit.model)]).sums,
        sketches=sketched(trained.fit.X),
        imputer=trained.imputer,
        scaler=trained.fit.transformer,
        calibration=calibration,
        training_scale=training_scale(
            trained.fit.model, trained.fit.X_transformed, trained.fit.y, before_scaling=trained.fit.X
        ),
        groups=columns.groups,
        batch=columns.batch,
        reading=as_in_training(reading),
        command=command,
        versions=current_versions(),
    )


def together_of(study: Study, columns: SampleColumns, console: Console) -> Together:
    """The patients and batches of a study, with notes on what cannot be kept together."""
    groups = None if columns.groups is None else study.sample_columns[columns.groups]
    batch = None if columns.batch is None else study.sample_columns[columns.batch]
    y = np.asarray(study.y)
    if groups is not None:
        mixed = _mixed_groups(groups, y, columns, study)
        exchanged = (
            f" Labels are permuted within the {mixed} of them that have both classes." if mixed else ""
        )
        console.note(
            f"{len(set(groups))} groups of {len(groups)} samples by {columns.groups!r} stay together in "
            f"folds, hold-outs and permutations, and the radii count groups.{exchanged}"
        )
    strata = None
    if batch is not None:
        why = _why_not_within(batch, groups, y)
        strata = batch if why is None else None
        where = "within batches" if why is None else f"over all samples: {why}"
        console.note(f"Batches by {columns.batch!r}. The permutation test permutes labels {where}.")
    return Together(groups, batch, strata)


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
