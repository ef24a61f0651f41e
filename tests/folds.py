"""The folds of the library, for tests that compute what it computes by other means."""

import numpy as np
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from minimaxrisk.guarantees.calibrated_decision import CalibratedDecision
from minimaxrisk.samples.folds import dealt_folds
from minimaxrisk.samples.groups import codes_of_groups


def folds_of(y, n_folds, seed=0, groups=None):
    """A splitter of scikit-learn with the folds of the one dealer."""
    labels = np.unique(y, return_inverse=True)[1]
    unit = np.arange(len(y)) if groups is None else codes_of_groups(groups, len(y))
    return PredefinedSplit(dealt_folds(labels, unit, n_folds, seed))


def decided(learner, X, y, n_folds, seed=0, groups=None):
    """Cross-validated labels and calibrated scores: each fold is decided by scores of the others."""
    classes, labels = np.unique(y, return_inverse=True)
    folds = folds_of(y, n_folds, seed, groups)
    scores = cross_val_predict(learner, X, y, cv=folds, method="decision_function")
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    logits = np.empty_like(scores)
    for others, inside in folds.split():
        logits[inside] = CalibratedDecision.fit(scores[others], labels[others]).logits(scores[inside])
    return classes[np.argmax(logits, axis=1)], logits
