"""New samples that a stored model is applied to, compared with its training data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import typer
from scipy import sparse

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray
from minimaxrisk.analysis.doubts import Doubt
from minimaxrisk.analysis.training_scale import ScaleComparison
from minimaxrisk.app.cli.console import Console
from minimaxrisk.app.cli.options import Source
from minimaxrisk.app.cli.stored import MOST_NAMED, filled, load_first, read_for_model, scaled
from minimaxrisk.app.files import Study
from minimaxrisk.app.files.features import are_generated
from minimaxrisk.app.storage import SavedModel, checksums
from minimaxrisk.estimators.prediction_sets import decision_scores, scores_of
from minimaxrisk.guarantees.certified import columns_read_by

REFUSES = "--strict refuses such files."
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
    groups: np.ndarray | None  # which samples belong together, if that was said
    is_cohort: bool  # judged together, so that a few odd samples do not matter

    def compared(self, *, strict: bool, undone: str) -> tuple[ScaleComparison | None, list[Doubt]]:
        """Whether samples are like the training data; doubts about those that are not, or an error.

        Samples without measurements are not, though filled they look so. ``undone`` says what the command
        did not do where ``strict`` makes doubts errors.
        """
        trained, empty = self.saved.training_scale, self.saved.mostly_missing(self.study.X)
        scale = None if trained is None else trained.compare(self.X)
        doubts = [self._of_measurements(empty)] if empty.any() else []
        if scale is not None and not scale.agrees:
            doubts.append(self._of_scale(scale))
        if strict and doubts:
            raise ValueError(f"{' '.join(doubt.text for doubt in doubts)} {undone} (--strict).")
        return scale and replace(scale, differs=scale.differs | empty), doubts

    def _of_measurements(self, empty: BoolArray) -> Doubt:
        """Samples whose values are mostly those of the imputer."""
        n, n_empty = len(empty), int(empty.sum())
        what = (
            f"{n_empty} of {counted(n, 'sample')} {'has' if n_empty == 1 else 'have'} hardly any measurement"
        )
        says = "its prediction says nothing about it" if n_empty == 1 else "predictions for them say nothing"
        named = listed(self.study.sample_names[empty], MOST_NAMED)
        n_read = counted(len(columns_read_by(self.saved.classifier)), "column")
        return Doubt(
            kind="missing",
            brief=what,
            text=f"{self.study.source}: {what}, {named}: more than half of the {n_read} that the model uses "
            f"are empty there. Medians of the training data stand in for them, so {says}.",
            remedy=f"Measure again, or leave such samples out; {REFUSES}",
            is_about_validity=self._is_about_all(n_empty),
        )

    def _of_scale(self, scale: ScaleComparison) -> Doubt:
        """Samples on another scale."""
        study, n, n_differing = self.study, len(scale.differs), int(scale.differs.sum())
        which = "" if scale.whole else f" These are {listed(study.sample_names[scale.differs], MOST_NAMED)}."
        return Doubt(
            kind="scale",
            brief=f"{n_differing} of {counted(n, 'sample')} unlike the training data",
            text=f"{study.source}: {scale.statement}{which}",
            remedy=REFUSES,
            is_about_validity=self._is_about_all(n_differing),
        )

    def _is_about_all(self, n_odd: int) -> bool:
        """Whether so many odd samples cast doubt on what is said; always where each is told by itself."""
        return not self.is_cohort or MOST_ODD * n_odd >= self.X.shape[0]

    def decided(self, confidence: float, console: Console) -> Decided:
        """Labels, probabilities and possible classes by the calibrated decision.

        A model file without one gives the labels of the classifier's own rule alone.
        """
        classifier, calibration = self.saved.classifier, self.saved.calibration
        if calibration is None:
            console.note(
                "The model file has no calibrated decision: predictions are those of the classifier's own "
                "rule, without probabilities and possible classes. minimaxrisk fit --out stores "
                "the decision, unless --folds is 0 or a class has a single sample."
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
        """Which samples are training samples, by the columns that the model uses or, rounded, by all columns.

        By the former none are where training samples that differ agree in these columns: new samples may then
        do so by chance.
        """
        saved, X = self.saved, self.X
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


def read_new_samples(
    model: Path,
    source: Source,
    console: Console,
    *,
    only_used: bool,
    groups: str | None,
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
        sample_columns=() if groups is None else (groups,),
    )
    if columns is not None:
        study = _with_all_columns(saved, study, columns)
    X = filled(saved.imputer, study, console)
    unit = None if groups is None else study.sample_columns[groups]
    return NewSamples(saved, study, X, scaled(saved, X), columns, unit, is_cohort=needs_labels)


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
