"""What became of samples when they were left out: named classes, errors over repeats, and ROC curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.analysis.cross_validation import CrossValidatedError


@dataclass(frozen=True)
class WronglyNamed:
    """A sample that was given another class when it was left out, in any of the repeats.

    ``named`` and ``own_probability`` are those of the first one.
    """

    name: str
    own: str
    named: str
    own_probability: float
    n_times: int


@dataclass(frozen=True)
class RocCurve:
    """A class against all others, by the scores of left-out samples."""

    name: str
    false_positive: FloatArray
    true_positive: FloatArray
    area: float


@dataclass(frozen=True)
class LeftOut:
    """``confusion`` counts samples by their own class (rows) and the class named (columns)."""

    confusion: IntArray
    n_repeats: int
    errors: tuple[WronglyNamed, ...]
    curves: tuple[RocCurve, ...]


def summarise_left_out(found: CrossValidatedError, model: Any, sample_names: list[str]) -> LeftOut:
    """Errors come with those first that were wrong most often, and then the most surely."""
    classes = [str(label) for label in model.classes_]
    times = found.times_wrong
    order = np.lexsort((found.own_probability, -times))
    return LeftOut(
        confusion=found.confusion(len(classes)),
        n_repeats=found.n_repeats,
        errors=tuple(
            WronglyNamed(
                name=sample_names[i],
                own=classes[found.own[i]],
                named=classes[found.predicted[i]],
                own_probability=float(found.own_probability[i]),
                n_times=int(times[i]),
            )
            for i in order
            if times[i] > 0
        ),
        curves=() if found.scores is None else _curves(found.scores, found.own, classes),
    )


def _curves(scores: FloatArray, own: IntArray, classes: list[str]) -> tuple[RocCurve, ...]:
    """Of two classes the second one; of more each, by how far its score is above the best of the others."""
    if scores.ndim == 1:
        return (_curve(scores, own == 1, classes[1]),)
    margins = []
    for k in range(len(classes)):
        others = np.delete(scores, k, axis=1).max(axis=1)
        margins.append(scores[:, k] - others)
    return tuple(_curve(margin, own == k, classes[k]) for k, margin in enumerate(margins))


def _curve(score: FloatArray, is_positive: np.ndarray, name: str) -> RocCurve:
    false_positive, true_positive, _ = roc_curve(is_positive, score)
    return RocCurve(name, false_positive, true_positive, float(roc_auc_score(is_positive, score)))
