"""The classifiers that are compared, ours and others, and how theirs are tuned inside the folds.

Nothing of ours is tuned on the data sets; where a parameter is chosen, it is chosen by cross-validation
within the part that a model learns from, as for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
)
from minimaxrisk.analysis.comparison import l1_logistic_regression

INNER_FOLDS = 3
TREES = 300
STAGES = 200
BOX, BOX_CHOSEN, BALL, ENSEMBLE = "box, s = 1", "box, s chosen", "ball", "ensemble"
# They find thresholds for each column, which are the same for any increasing function of it.
TREES_ALONE = ("random forest, tuned", "gradient boosting, tuned")
OTHERS = (
    "L1 logistic, C = 1",
    "L1 logistic, tuned",
    "ridge logistic, tuned",
    "linear SVM, tuned",
    "RBF SVM, tuned",
    "shrunken centroids, tuned",
    *TREES_ALONE,
)
TUNED = tuple(name for name in OTHERS if name.endswith("tuned"))
# They take so long that folds are drawn once for them.
ONCE = (BOX_CHOSEN, *TREES_ALONE)
# They cannot do with sparse columns.
DENSE_ALONE = ("shrunken centroids, tuned",)


def clips(name: str) -> tuple[bool, ...]:
    """Whether the columns are left as they are, or clipped, or each in turn."""
    return (False,) if name in TREES_ALONE else (False, True)


def make_method(name: str, n_classes: int, *, clip: bool, is_sparse: bool, seed: int) -> Any:
    """The classifier called ``name`` behind the scaler that it is to have."""
    learner = MAKERS[name](n_classes, seed)
    if clip:
        return make_pipeline(ClippedScaler(), learner)
    if name in (BOX, BOX_CHOSEN, ENSEMBLE, *TREES_ALONE):  # they scale themselves, or need no scale
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


def _tuned_ridge(n_classes: int, seed: int) -> Any:
    return _tuned(LogisticRegression(max_iter=2000), "C", np.logspace(-6, 0, 6), seed)


def _tuned_svm(n_classes: int, seed: int) -> Any:
    return _tuned(LinearSVC(random_state=seed), "C", np.logspace(-5, 0, 6), seed)


def _tuned_rbf(n_classes: int, seed: int) -> Any:
    return _tuned(SVC(), "C", np.logspace(-1, 2, 6), seed)


def _tuned_centroids(n_classes: int, seed: int) -> Any:
    return _tuned(NearestCentroid(), "shrink_threshold", (0.01, 0.5, 1.0, 2.0, 3.0, 4.0), seed)


def _tuned_forest(n_classes: int, seed: int) -> Any:
    return _tuned(RandomForestClassifier(TREES, random_state=seed), "max_features", ("sqrt", 0.05), seed)


def _tuned_boosting(n_classes: int, seed: int) -> Any:
    learner = GradientBoostingClassifier(n_estimators=STAGES, max_features="sqrt", random_state=seed)
    return _tuned(learner, "learning_rate", (0.03, 0.1, 0.3), seed)


MAKERS: dict[str, Callable[[int, int], Any]] = {
    BOX: lambda n_classes, seed: MinimaxRiskClassifier(),
    BOX_CHOSEN: lambda n_classes, seed: MinimaxRiskClassifierCV(random_state=seed),
    BALL: lambda n_classes, seed: MinimaxRiskKernelClassifier(),
    ENSEMBLE: lambda n_classes, seed: MinimaxRiskEnsembleClassifier(random_state=seed),
    "L1 logistic, C = 1": _logistic,
    "L1 logistic, tuned": _tuned_logistic,
    "ridge logistic, tuned": _tuned_ridge,
    "linear SVM, tuned": _tuned_svm,
    "RBF SVM, tuned": _tuned_rbf,
    "shrunken centroids, tuned": _tuned_centroids,
    "random forest, tuned": _tuned_forest,
    "gradient boosting, tuned": _tuned_boosting,
}
