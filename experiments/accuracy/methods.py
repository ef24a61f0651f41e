"""The classifiers that are compared, ours and others, and how theirs are tuned inside the folds.

Nothing of ours is tuned on the data sets; where a parameter is chosen, it is chosen by cross-validation
within the part that a model learns from, as for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
)
from minimaxrisk.analysis.comparison import l1_logistic_regression

INNER_FOLDS = 3
TREES = 300
OURS = ("s = 1", "s chosen", "ensemble")
OTHERS = (
    "L1 logistic, C = 1",
    "L1 logistic, tuned",
    "linear SVM, tuned",
    "shrunken centroids, tuned",
    "random forest",
)
TUNED = tuple(name for name in OTHERS if name.endswith("tuned"))
# They cannot do with sparse columns.
DENSE_ALONE = ("shrunken centroids, tuned",)


def make_method(name: str, n_classes: int, *, clip: bool, is_sparse: bool, seed: int) -> Any:
    """The classifier called ``name`` behind the scaler that it is to have."""
    learner = MAKERS[name](n_classes, seed)
    if clip:
        return make_pipeline(ClippedScaler(), learner)
    if name in OURS or name == "random forest":  # they scale themselves, or need no scale
        return learner
    return make_pipeline(StandardScaler(with_mean=not is_sparse), learner)


def _logistic(n_classes: int, seed: int) -> Any:
    return l1_logistic_regression(n_classes, random_state=seed)


def _tuned(learner: Any, name: str, values: Any, seed: int) -> Any:
    folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed)
    return GridSearchCV(learner, {name: list(values)}, cv=folds)


def _tuned_logistic(n_classes: int, seed: int) -> Any:
    name = "C" if n_classes == 2 else "estimator__C"
    return _tuned(_logistic(n_classes, seed), name, np.logspace(-1.5, 1.5, 6), seed)


def _tuned_svm(n_classes: int, seed: int) -> Any:
    return _tuned(LinearSVC(random_state=seed), "C", np.logspace(-5, 0, 6), seed)


def _tuned_centroids(n_classes: int, seed: int) -> Any:
    return _tuned(NearestCentroid(), "shrink_threshold", (0.01, 0.5, 1.0, 2.0, 3.0, 4.0), seed)


MAKERS: dict[str, Callable[[int, int], Any]] = {
    "s = 1": lambda n_classes, seed: MinimaxRiskClassifier(),
    "s chosen": lambda n_classes, seed: MinimaxRiskClassifierCV(random_state=seed),
    "ensemble": lambda n_classes, seed: MinimaxRiskEnsembleClassifier(random_state=seed),
    "L1 logistic, C = 1": _logistic,
    "L1 logistic, tuned": _tuned_logistic,
    "linear SVM, tuned": _tuned_svm,
    "shrunken centroids, tuned": _tuned_centroids,
    "random forest": lambda n_classes, seed: RandomForestClassifier(TREES, random_state=seed),
}
