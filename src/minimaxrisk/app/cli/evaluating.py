"""The work of ``minimaxrisk evaluate``: count the errors of a stored model on a second cohort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import dense_columns
from minimaxrisk.analysis.evaluation import Evaluation, Predictions, evaluation_of
from minimaxrisk.app.atomic import write_whole
from minimaxrisk.app.cli.console import Console, as_json, printable
from minimaxrisk.app.cli.new_samples import NewSamples, read_new_samples
from minimaxrisk.app.cli.options import Source
from minimaxrisk.app.cli.stored import MOST_NAMED
from minimaxrisk.app.cli.training import on_command_line, shares_by_label
from minimaxrisk.app.files import Study
from minimaxrisk.app.files.labels import refuse_other_spellings
from minimaxrisk.app.report.cohort import Cohort, render_cohort
from minimaxrisk.app.storage import SavedModel
from minimaxrisk.checks.duplicates import duplicate_findings
from minimaxrisk.checks.findings import veto_text
from minimaxrisk.checks.names import source_findings
from minimaxrisk.checks.table import StudyTable
from minimaxrisk.checks.training_scale import ScaleComparison
from minimaxrisk.guarantees.certified import SELECTION, can, columns_read_by, columns_used_by
from minimaxrisk.guarantees.left_out import SET_CONFIDENCE, in_words
from minimaxrisk.inspection.canvas import by_importance

MOST_WRONG = 30  # the page and --json have all
# Farther from the means of the training data, in their standard deviations, is worth a line.
FAR = 1.0
NOT_COMPARED = (
    "The samples were compared with the training data as a whole, and not with each training sample. A model "
    "of 'minimaxrisk fit --recognise' recognises single samples if all columns are there."
)


def evaluate_and_write(
    model: Path,
    source: Source,
    *,
    groups: str | None,
    baseline: str | None,
    prevalence: Mapping[str, float] | None,
    confidence: float,
    only_used: bool,
    strict: bool,
    report: Path | None,
    json: bool,
    command: str,
    console: Console,
) -> None:
    """Count errors, print them, and write the page where it is asked for."""
    new = read_new_samples(model, source, console, only_used=only_used, groups=groups, baseline=baseline)
    saved, study = new.saved, new.study
    _refuse_training_samples(new)
    if saved.sample_hashes is None or only_used:
        console.note(NOT_COMPARED)
    scale, found_in_values = new.compared(strict=strict, undone="No errors were counted")
    console.report(found_in_values)
    drift = _drift(new)
    if drift:
        console.note(drift)
    predictions = _predictions(new, console)
    y = np.asarray(study.y).astype(str).astype(object)
    labels = [*predictions.classes, *np.setdiff1d(y, predictions.classes).tolist()]
    refuse_other_spellings(predictions.classes, y, study.source)
    shares = None if prevalence is None else shares_by_label(labels, prevalence, study.source)
    _report_dependence(new, y, console)
    found = evaluation_of(
        predictions,
        y,
        prevalence=shares,
        confidence=confidence,
        groups=new.groups,
        baseline=None if baseline is None else _baseline(new, baseline, labels),
    )
    found = replace(found, doubt=veto_text(console.findings))
    if report is not None:
        cohort = Cohort(
            evaluation=found,
            source=printable(study.source.name),
            model=printable(model.name),
            target=study.target or saved.target,
            sample_names=tuple(map(str, study.sample_names)),
            features=_by_importance(saved),
            n_used=len(columns_read_by(saved.classifier)),
            n_features=len(saved.feature_names),
            is_on_scale=None if scale is None else ~scale.differs,
            drift=drift,
            warnings=tuple(console.findings),
            remarks=tuple(console.notes),
            command=command,
            versions=saved.versions,
        )
        write_whole(report, render_cohort(cohort))
    if json:
        typer.echo(as_json(_as_dict(found, study, scale) | console.told()))
        return
    typer.echo(str(found))
    wrong = study.sample_names[found.own != found.predicted]
    if len(wrong):
        of_all = "" if groups is None else " (of all samples)"
        typer.echo(f"  misclassified{of_all}: {listed(wrong, MOST_WRONG)}")
    if report is not None:
        console.say(f"report: {report}")


def _baseline(new: NewSamples, column: str, labels: list[str]) -> np.ndarray:
    """Return the values of a column, which may be a feature: as text if these are labels, else as numbers."""
    if column in new.study.sample_columns:
        text = np.asarray(new.study.sample_columns[column]).astype(str).astype(object)
        return text if np.isin(text, labels).all() else np.array([*map(_number, text)], dtype=object)
    return dense_columns(new.X, np.flatnonzero(new.saved.feature_names == column))[:, 0]


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _by_importance(saved: SavedModel) -> list[str]:
    """The names of the features that the model selects, the most important first where it can tell."""
    model = saved.classifier
    columns = by_importance(model) if can(model, SELECTION) else columns_used_by(model)
    return [str(saved.feature_names[j]) for j in columns]


def _refuse_training_samples(new: NewSamples) -> None:
    study, known = new.study, new.are_known()
    n, n_known = len(known), int(known.sum())
    if n_known == n:
        raise ValueError(
            f"{study.source} holds the training data of the model, and errors on them say nothing about "
            "new samples. Pass samples of another cohort; 'minimaxrisk report' has the errors on left-out "
            "training samples."
        )
    if n_known:
        are = "is" if n_known == 1 else "are"
        raise ValueError(
            f"{study.source}: {n_known} of {n} samples {are} in the training data of the model "
            f"({listed(study.sample_names[known], MOST_NAMED)}), and errors on them say nothing about new "
            "samples. Remove their lines from the file."
        )


def _report_dependence(new: NewSamples, y: np.ndarray, console: Console) -> None:
    """Show the findings about samples of the cohort that are not independent of each other."""
    study = new.study
    table = StudyTable(
        study.X, y, study.feature_names, study.sample_names, groups=new.named_groups, owners=study.owners
    )
    found = [*duplicate_findings(table), *source_findings(table)]
    console.report(map(on_command_line, found))


def _drift(new: NewSamples) -> str:
    """How far the means of the used columns are from those of the training data, in words."""
    saved, trained = new.saved, new.saved.training_scale
    if trained is None:
        return ""
    shift = (dense_columns(new.X, trained.columns).mean(axis=0) - trained.means) / trained.spread
    order = np.argsort(-np.abs(shift), kind="stable")[:MOST_NAMED]
    far = [f"{saved.feature_names[trained.columns[j]]} ({shift[j]:+.1f})" for j in order]
    n_far = int((np.abs(shift) > FAR).sum())
    middle = np.median(np.abs(shift))
    return (
        f"In the {counted(len(shift), 'column')} that the model uses, means differ from those of the "
        f"training data by {middle:.2f} of their standard deviations (the median over columns), in {n_far} "
        f"by more than {FAR:g}; farthest: {', '.join(far)}. Another batch moves them, and so does another "
        "mixture of classes."
    )


def _predictions(new: NewSamples, console: Console) -> Predictions:
    """What the model says, its labels as text, as the file has them."""
    decided = new.decided(SET_CONFIDENCE, console)
    return Predictions(
        [str(label) for label in new.saved.classifier.classes_.tolist()],
        decided.labels.astype(str).astype(object),
        decided.scores,
        decided.probabilities,
        decided.is_possible,
        None if decided.is_possible is None else SET_CONFIDENCE,
    )


def _as_dict(found: Evaluation, study: Study, scale: ScaleComparison | None) -> dict[str, Any]:
    nothing = [None] * len(found.own)
    names = [str(label) for label in found.labels]
    table = found.probabilities
    columns = {
        "sample": study.sample_names.tolist(),
        "class": [names[k] for k in found.own],
        "prediction": [names[k] for k in found.predicted],
        "counts": found.is_counted.tolist(),
        "certainty": nothing if found.is_possible is None else in_words(found.is_possible).tolist(),
        "probabilities": nothing
        if table is None
        else [dict(zip(names, row, strict=False)) for row in table.tolist()],
        "on_training_scale": nothing if scale is None else (~scale.differs).tolist(),
    }
    return {
        "statement": found.statement,
        "confidence": found.confidence,
        "error": found.error,
        "majority_error": found.majority_error,
        "balanced_accuracy": found.balanced_accuracy,
        "area_under_roc_curve": found.area,
        "classes": found.per_class,
        "labels": names,
        "confusion": found.confusion,
        "prevalence": found.prevalence,
        "error_at_prevalence": found.error_at_prevalence,
        "unknown_labels": found.unknown,
        "sets": found.kinds_of_sets,
        "certain_error": found.certain_error,
        "baseline": found.baseline,
        "calibration": found.calibration,
        "samples": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }
