"""The work of ``minimaxrisk predict``: apply a stored model, and print or write the result."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from scipy import sparse

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.analysis.doubts import Doubt
from minimaxrisk.analysis.training_scale import ScaleComparison
from minimaxrisk.app.atomic import write_whole
from minimaxrisk.app.cli.console import Console, as_json
from minimaxrisk.app.cli.options import Source
from minimaxrisk.app.cli.stored import filled, known_samples, load_first, read_for_model, scaled
from minimaxrisk.app.files import Study
from minimaxrisk.app.files.features import are_generated
from minimaxrisk.app.storage import SavedModel
from minimaxrisk.guarantees.certified import OWN_RADII, can, columns_read_by
from minimaxrisk.guarantees.error_bound import error_bound
from minimaxrisk.guarantees.statement import ErrorBound

ON_SCALE = "on_training_scale"
DRAW = "draw_probability"  # with which the randomized rule draws a label
MOST_NAMED = 5  # samples in a message


@dataclass(frozen=True)
class Predictions:
    """One row per sample, and a bound on the error of the randomized rule where the radii allow one."""

    samples: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    classes: np.ndarray
    scale: ScaleComparison | None
    bound: ErrorBound | None

    def as_csv(self) -> str:
        """Probabilities in full, so that reading them gives the same numbers."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        header = ["sample", "prediction", *(f"{DRAW}_{c}" for c in self.classes)]
        writer.writerow([*header, ON_SCALE] if self.scale is not None else header)
        agreed: list[list[str]] = [[]] * len(self.labels)
        if self.scale is not None:
            agreed = [["no" if differs else "yes"] for differs in self.scale.differs]
        rows = zip(self.samples, self.labels, self.probabilities.tolist(), agreed, strict=True)
        writer.writerows([name, label, *map(repr, row), *agrees] for name, label, row, agrees in rows)
        return text.getvalue()

    def as_dict(self) -> dict[str, Any]:
        names = [str(label) for label in self.classes]
        agreed = [None] * len(self.labels) if self.scale is None else (~self.scale.differs).tolist()
        rows = zip(self.samples, self.labels.tolist(), self.probabilities.tolist(), agreed, strict=True)
        return {
            "predictions": [
                {
                    "sample": name,
                    "prediction": label,
                    "draw_probabilities": dict(zip(names, row, strict=True)),
                    ON_SCALE: agrees,
                }
                for name, label, row, agrees in rows
            ],
            "error_bound": self.bound and self.bound.value,
        }


def predict_and_write(
    model: Path,
    source: Source,
    *,
    only_used: bool,
    strict: bool,
    out: Path | None,
    json: bool,
    console: Console,
) -> None:
    """Predict, with notes on how far the predictions can be trusted."""
    saved = load_first(model)
    columns = _used_columns(saved) if only_used else None
    study = read_for_model(saved, source, console, needs_labels=False, columns=columns)
    if columns is not None:
        study = _with_all_columns(saved, study, columns)
    X = filled(saved.imputer, study, console)
    scale = _compared(saved, study, X, console, strict=strict)
    known = known_samples(saved, X)
    if known.any():
        console.warn(_already_known(study, known))
    classifier, features = saved.classifier, scaled(saved, X)
    found = Predictions(
        samples=study.sample_names,
        labels=classifier.predict(features),
        probabilities=classifier.predict_proba(features),
        classes=classifier.classes_,
        scale=scale,
        bound=_bound(classifier, features, scale, known, console),
    )
    if study.y is not None:
        console.note(_comparison(saved, study, found.labels))
    if found.bound is not None:
        console.say(found.bound.statement)
    text = as_json(found.as_dict() | console.told()) if json else found.as_csv()
    if out is None:
        typer.echo(text, nl=json)
    else:
        write_whole(out, text)
        console.say(f"{len(found.labels)} predictions in {out}")


def _used_columns(saved: SavedModel) -> np.ndarray | None:
    """The columns that the model needs; None for one that needs none, which reads all columns."""
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


def _compared(
    saved: SavedModel, study: Study, X: DataMatrix, console: Console, *, strict: bool
) -> ScaleComparison | None:
    """Whether the samples are on the scale of the training data; a warning or an error if not."""
    if saved.training_scale is None:
        return None
    scale = saved.training_scale.compare(X)
    if scale.agrees:
        return scale
    which = ""
    if not scale.whole:
        which = f" These are {listed(study.sample_names[scale.differs], MOST_NAMED)}."
    if strict:
        raise ValueError(f"{study.source}: {scale.statement}{which} No predictions were written (--strict).")
    n, n_differing = len(scale.differs), int(scale.differs.sum())
    console.warn(
        Doubt(
            kind="scale",
            brief=f"{n_differing} of {counted(n, 'sample')} unlike the training data",
            text=f"{study.source}: {scale.statement}{which}",
            remedy="--strict refuses such files.",
        )
    )
    return scale


def _already_known(study: Study, known: np.ndarray) -> Doubt:
    """Training samples among those that are to be predicted."""
    n, n_known = len(known), int(known.sum())
    if n_known == n:
        which = "All samples are samples of the training data"
    else:
        are = "is a sample" if n_known == 1 else "are samples"
        named = listed(study.sample_names[known], MOST_NAMED)
        which = f"{n_known} of {n} samples {are} of the training data ({named})"
    return Doubt(
        kind="copies",
        brief=f"{n_known} of {counted(n, 'sample')} were in the training data",
        text=f"{study.source}: {which}: what is predicted for them says little about new samples.",
        remedy="Leave them out before errors are counted.",
    )


def _bound(
    classifier: Any, features: DataMatrix, scale: ScaleComparison | None, known: np.ndarray, console: Console
) -> ErrorBound | None:
    """A bound on the error for samples like these, where the radii allow one and the scale agrees.

    Training samples do not exceed their own bounds: a bound for new samples needs new samples.
    """
    if not can(classifier, OWN_RADII) or classifier._final().coverage_ is None:
        return None
    taken = ~known
    if scale is not None and not scale.agrees:
        if scale.whole:
            return None
        taken &= ~scale.differs
        console.note("The bound on the error is about the samples on the scale of the training data alone.")
    if not taken.any():
        return None
    features = features[np.flatnonzero(taken)]
    if features.shape[0] < 2:
        console.note(
            "No bound on the error is given: a single new sample does not show how much new samples differ "
            "from the training data. The prediction does not depend on that."
        )
        return None
    return error_bound(
        classifier, method="radii", rule="randomized", X_new=features, confidence=classifier.confidence
    )


def _comparison(saved: SavedModel, study: Study, predictions: np.ndarray) -> str:
    """How many predictions differ from the labels of the file, compared as text."""
    known = {str(label) for label in saved.classifier.classes_}
    own = np.asarray(study.y).astype(str)
    wrong = int((predictions.astype(str) != own).sum())
    comparison = (
        f"The file has the column {study.target!r}: {wrong} of {len(predictions)} predictions differ from it "
        f"({wrong / len(predictions):.1%})."
    )
    strange = sorted(set(own) - known)
    if not known.intersection(own) and are_generated(list(saved.feature_names)):
        raise ValueError(
            f"{study.source}: columns without names are matched by position, and {study.target!r} must hold "
            f"labels of the model ({', '.join(sorted(known))}), got {', '.join(strange[:3])}. "
            "Is a column missing?"
        )
    if strange:
        comparison += f" It has labels that the model does not know: {', '.join(strange[:5])}."
    return comparison
