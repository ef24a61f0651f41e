"""New samples that a stored model is applied to, compared with its training data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import typer
from scipy import sparse

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray
from minimaxrisk.app.cli.console import Console
from minimaxrisk.app.cli.options import Source
from minimaxrisk.app.cli.stored import (
    MOST_NAMED,
    filled,
    groups_of,
    load_first,
    read_for_model,
    scaled,
)
from minimaxrisk.app.files import Study
from minimaxrisk.app.files.features import are_generated
from minimaxrisk.app.storage import SavedModel, fingerprint, sample_hashes
from minimaxrisk.checks.findings import NOTE, VETO, Finding
from minimaxrisk.checks.training_scale import ScaleComparison
from minimaxrisk.estimators.prediction_sets import decision_scores, is_calibrated, scores_of
from minimaxrisk.guarantees.certified import columns_read_by

REFUSES = "--strict refuses such files."
FOLDS_STORE = "minimaxrisk fit --out stores them, unless --folds is 0 or too few classes have two samples."
# Samples of a cohort for each odd one, below which these cast doubt on all: a few odd patients are part of a
# cohort, many were measured otherwise.
MOST_ODD = 5


@dataclass(frozen=True)
class Decided:
    """Predicted labels and the scores behind them; the rest is None without a calibrated decision."""

    labels: np.ndarray
    scores: FloatArray
    probabilities: FloatArray | None = None
    is_possible: BoolArray | None = None


@dataclass(frozen=True)
class NewSamples:
    """Samples, and the model that is to judge them."""

    saved: SavedModel
    study: Study
    X: DataMatrix  # without gaps
    features: DataMatrix  # as the classifier takes them: scaled and clipped, if the model does that
    columns: np.ndarray | None  # those that were read; None for all
    named_groups: np.ndarray | None  # which samples belong together, if that was said
    groups: np.ndarray | None  # these, with duplicates merged
    is_cohort: bool  # judged together, so that a few odd samples do not matter

    def compared(self, *, strict: bool, undone: str) -> tuple[ScaleComparison | None, list[Finding]]:
        """Compare the samples with the training data; return findings about those that differ, or an error.

        Samples without measurements differ, though imputed they look alike. ``undone`` is what the command
        did not do if ``strict`` makes findings errors.
        """
        trained, empty = self.saved.training_scale, self.saved.mostly_missing(self.study.X)
        scale = None if trained is None else trained.compare(self.X)
        found = [self._of_measurements(empty)] if empty.any() else []
        if scale is not None and not scale.agrees:
            found.append(self._of_scale(scale))
        if strict and found:
            raise ValueError(f"{' '.join(finding.message for finding in found)} {undone} (--strict).")
        return scale and replace(scale, differs=scale.differs | empty), found

    def _of_measurements(self, empty: BoolArray) -> Finding:
        """Return the finding about samples whose values are mostly imputed."""
        n_read = counted(len(columns_read_by(self.saved.classifier)), "column")
        return self._finding(
            "empty-samples",
            empty,
            f"more than half of the {n_read} that the model uses are empty for "
            f"{listed(self._names(empty), MOST_NAMED)}. Medians of the training data are used instead, so "
            "that their predictions do not depend on measurements.",
            f"Measure these samples again, or leave them out; {REFUSES}",
            "have hardly any measurement",
        )

    def _of_scale(self, scale: ScaleComparison) -> Finding:
        """Return the finding about samples on another scale."""
        which = "" if scale.whole else f" These are {listed(self._names(scale.differs), MOST_NAMED)}."
        return self._finding(
            "scale-mismatch",
            scale.differs,
            f"{scale.statement}{which}",
            REFUSES,
            "are unlike the training data",
        )

    def _finding(self, code: str, which: BoolArray, what: str, remedy: str, claim: str) -> Finding:
        """Return a finding: a note about a few samples of a cohort, and a veto otherwise."""
        n, n_odd = len(which), int(which.sum())
        is_about_all = not self.is_cohort or MOST_ODD * n_odd >= n
        return Finding(
            code,
            message=f"{self.study.source}: {what}",
            remedy=remedy,
            claim=f"{n_odd} of {counted(n, 'sample')} {claim}",
            severity=VETO if is_about_all else NOTE,
            samples=tuple(self._names(which)),
            rows=tuple(np.flatnonzero(which).tolist()),
            numbers={"n_samples": n_odd},
        )

    def _names(self, which: BoolArray) -> list[str]:
        return [str(name) for name in self.study.sample_names[which]]

    def decided(self, confidence: float, console: Console) -> Decided:
        """Labels, probabilities and possible classes by the calibrated decision.

        Without folds a model file has no prediction sets. It has probabilities if the classifier
        calibrates itself, else the labels of its own rule alone.
        """
        classifier, calibration = self.saved.classifier, self.saved.calibration
        if calibration is None and is_calibrated(classifier):
            console.note(f"The model file has no prediction sets and no certainty. {FOLDS_STORE}")
            probabilities = classifier.predict_proba(self.features)
            scores = decision_scores(classifier, self.features)
            return Decided(classifier.predict(self.features), scores, probabilities)
        if calibration is None:
            console.note(
                "The model file has no calibrated decision: predictions are those of the classifier's own "
                f"rule, without probabilities and possible classes. {FOLDS_STORE}"
            )
            scores = scores_of(classifier, self.features)
            return Decided(classifier.predict(self.features), scores)
        scores = decision_scores(classifier, self.features)
        return Decided(
            labels=np.asarray(classifier.classes_)[calibration.predict(scores)],
            scores=calibration.logits(scores),
            probabilities=calibration.probabilities(scores),
            is_possible=calibration.sets(scores, confidence),
        )

    def are_known(self) -> BoolArray:
        """Which samples are training samples.

        Without ``fit --recognise``, or without all columns, only the training data as a whole are recognised.
        """
        saved, hashes, known = self.saved, self.saved.sample_hashes, np.zeros(self.X.shape[0], dtype=bool)
        if self.columns is not None:
            return known
        if hashes is not None:
            known = np.isin(sample_hashes(self.X, saved.unlabelled), hashes[hashes > 0])
        if fingerprint(self.X, None, saved.feature_names) == saved.unlabelled:
            known[:] = True
        return known


def read_new_samples(
    model: Path,
    source: Source,
    console: Console,
    *,
    only_used: bool,
    groups: str | None = None,
    baseline: str | None = None,
    needs_labels: bool = True,
) -> NewSamples:
    """All columns of the model, or zeros in those that it does not use; gaps filled as in training."""
    saved = load_first(model)
    columns = _columns_to_read(saved, only_used=only_used)
    study = read_for_model(
        saved,
        source,
        console,
        needs_labels=needs_labels,
        offers_only_used=True,
        columns=columns,
        sample_columns=[
            column
            for column in dict.fromkeys((groups, baseline))
            if column is not None and (column == groups or column not in saved.feature_names)
        ],
    )
    if columns is not None:
        study = _with_all_columns(saved, study, columns)
    X = filled(saved.imputer, study, console)
    named = None if groups is None else study.sample_columns[groups]
    merged = groups_of(study, groups) if needs_labels else None
    return NewSamples(saved, study, X, scaled(saved, X), columns, named, merged, is_cohort=needs_labels)


def _columns_to_read(saved: SavedModel, *, only_used: bool) -> np.ndarray | None:
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
