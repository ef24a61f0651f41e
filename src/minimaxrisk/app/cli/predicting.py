"""The work of ``minimaxrisk predict``: apply a stored model, and print or write the result."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.rounding import percent
from minimaxrisk.app.atomic import write_whole
from minimaxrisk.app.cli.console import Console, as_json
from minimaxrisk.app.cli.new_samples import read_new_samples
from minimaxrisk.app.cli.options import Source
from minimaxrisk.app.cli.stored import MOST_NAMED
from minimaxrisk.app.files import Study
from minimaxrisk.app.files.features import are_generated
from minimaxrisk.app.files.labels import spelt_otherwise
from minimaxrisk.app.storage import SavedModel
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.training_scale import ScaleComparison
from minimaxrisk.estimators.prediction_sets import is_calibrated
from minimaxrisk.guarantees.left_out import SURE, UNLIKE, UNSURE, in_words

ON_SCALE = "on_training_scale"
UNLIKE_TRAINING = "unlike the training data"
DIGITS = 4  # of probabilities


@dataclass(frozen=True)
class Predictions:
    """One row per sample.

    ``labels`` are the classes with the largest ``probabilities``, and ``is_possible`` the prediction sets.
    Without a calibrated decision both are None, and the labels are those of the classifier's own rule. A
    model that calibrates itself has no draws.
    """

    samples: np.ndarray
    labels: np.ndarray
    draws: np.ndarray | None
    probabilities: np.ndarray | None
    is_possible: np.ndarray | None
    classes: np.ndarray
    scale: ScaleComparison | None

    def as_csv(self) -> str:
        """Four digits of all probabilities; JSON has those of draws in full."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        header = ["sample", "prediction"]
        columns: list[Any] = [self.samples, self.labels]
        if self.is_possible is not None:
            header += ["certainty", "possible"]
            columns += [
                self._certainty(self.is_possible),
                [" or ".join(one) or "none" for one in self._possible()],
            ]
        for name, table in (("probability", self.probabilities), ("draw", self.draws)):
            if table is not None:
                header += [f"{name}_{c}" for c in self.classes]
                columns += table.round(DIGITS).T.tolist()
        if self.scale is not None:
            header.append(ON_SCALE)
            columns.append(np.where(self.scale.differs, "no", "yes"))
        writer.writerows([header, *zip(*columns, strict=True)])
        return text.getvalue()

    def _certainty(self, is_possible: np.ndarray) -> np.ndarray:
        return certainty(is_possible, self.scale)

    def _possible(self) -> list[list[str]]:
        """The labels of each set."""
        names = np.array([str(label) for label in self.classes], dtype=object)
        return [] if self.is_possible is None else [names[row].tolist() for row in self.is_possible]

    def as_dict(self) -> dict[str, Any]:
        nothing = [None] * len(self.labels)
        columns = {
            "sample": self.samples.tolist(),
            "prediction": self.labels.tolist(),
            "certainty": nothing if self.is_possible is None else self._certainty(self.is_possible).tolist(),
            "possible": nothing if self.is_possible is None else self._possible(),
            "probabilities": nothing if self.probabilities is None else self._by_class(self.probabilities),
            "draws": nothing if self.draws is None else self._by_class(self.draws),
            ON_SCALE: nothing if self.scale is None else (~self.scale.differs).tolist(),
        }
        rows = zip(*columns.values(), strict=True)
        return {"predictions": [dict(zip(columns, row, strict=True)) for row in rows]}

    def _by_class(self, table: np.ndarray) -> list[dict[str, float]]:
        names = [str(label) for label in self.classes]
        return [dict(zip(names, row, strict=True)) for row in table.tolist()]


def predict_and_write(
    model: Path,
    source: Source,
    *,
    only_used: bool,
    confidence: float,
    strict: bool,
    out: Path | None,
    json: bool,
    console: Console,
) -> None:
    """Predict, with notes on how far the predictions can be trusted."""
    new = read_new_samples(model, source, console, only_used=only_used, needs_labels=False)
    study, classifier, features = new.study, new.saved.classifier, new.features
    scale, found_in_values = new.compared(strict=strict, undone="No predictions were written")
    console.report(found_in_values)
    known = new.are_known()
    if known.any():
        console.report([_already_known(study, known)])
    decided = new.decided(confidence, console)
    if decided.is_possible is not None:
        console.note(_how_many_are_sure(decided.is_possible, scale, confidence))
    found = Predictions(
        samples=study.sample_names,
        labels=decided.labels,
        draws=None if is_calibrated(classifier) else classifier.predict_proba(features),
        probabilities=None if decided.probabilities is None else decided.probabilities.round(DIGITS),
        is_possible=decided.is_possible,
        classes=classifier.classes_,
        scale=scale,
    )
    if study.y is not None:
        console.note(_comparison(new.saved, study, found.labels))
    text = as_json(found.as_dict() | console.told()) if json else found.as_csv()
    if out is None:
        typer.echo(text, nl=json)
    else:
        write_whole(out, text)
        console.say(f"{len(found.labels)} predictions in {out}")


def certainty(is_possible: np.ndarray, scale: ScaleComparison | None) -> np.ndarray:
    """How sure each prediction is, in words; nothing is said of samples unlike the training data."""
    words = in_words(is_possible)
    return words if scale is None else np.where(scale.differs, UNLIKE_TRAINING, words)


def _how_many_are_sure(is_possible: np.ndarray, scale: ScaleComparison | None, confidence: float) -> str:
    words, n = certainty(is_possible, scale), len(is_possible)
    kinds = [SURE, UNSURE, UNLIKE, *[UNLIKE_TRAINING] * (UNLIKE_TRAINING in words)]
    told = ", ".join(f"{int((words == kind).sum())} {kind}" for kind in kinds)
    return f"Of {counted(n, 'sample')}, at {percent(confidence)}: {told}."


def _already_known(study: Study, known: np.ndarray) -> Finding:
    """Return the finding about training samples among those that are to be predicted."""
    n, n_known = len(known), int(known.sum())
    names = [str(name) for name in study.sample_names[known]]
    return Finding(
        "training-samples",
        message=f"{study.source}: {n_known} of {counted(n, 'sample')} {'is' if n_known == 1 else 'are'} in "
        f"the training data ({listed(names, MOST_NAMED)}). Predictions for them do not show how the model "
        "works on new samples.",
        remedy="Leave them out before errors are counted.",
        claim=f"{n_known} of {counted(n, 'sample')} were in the training data",
        samples=tuple(names),
        rows=tuple(np.flatnonzero(known).tolist()),
        numbers={"n_samples": n_known},
    )


def _comparison(saved: SavedModel, study: Study, predictions: np.ndarray) -> str:
    """How many predictions differ from the labels of the file, compared as text.

    A label that the model does not know cannot be predicted, so such samples are wrong, as in ``evaluate``;
    where it knows none, there is nothing to compare.
    """
    known = [str(label) for label in saved.classifier.classes_]
    own = np.asarray(study.y).astype(str)
    is_strange = ~np.isin(own, known)
    n, n_strange = len(own), int(is_strange.sum())
    strange = listed(np.unique(own[is_strange]).tolist(), MOST_NAMED)
    if n_strange == n and are_generated(list(saved.feature_names)):
        raise ValueError(
            f"{study.source}: columns without names are matched by position, and {study.target!r} must hold "
            f"labels of the model ({', '.join(sorted(known))}), got {strange}. Is a column missing?"
        )
    wrong = int((predictions.astype(str) != own).sum())
    told = f"The file has the column {study.target!r}"
    compared = f"{told}: {wrong} of {n} predictions differ from it ({wrong / n:.1%})"
    if not n_strange:
        return f"{compared}."
    knows = f"({strange}; it knows {listed(known)})"
    if n_strange == n:
        text = f"{told}, but the model knows none of its labels {knows}, so nothing was compared."
    else:
        has = "1 sample has a label" if n_strange == 1 else f"{n_strange} samples have labels"
        text = f"{compared}. {has} that the model does not know {knows}: counted as wrong."
    return " ".join([text, *spelt_otherwise(known, own.tolist())])
