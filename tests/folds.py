"""The folds of the library, for tests that compute what it computes by other means."""

import numpy as np
from sklearn.model_selection import PredefinedSplit

from minimaxrisk.samples.folds import dealt_folds
from minimaxrisk.samples.validation import codes_of_groups


def folds_of(y, n_folds, seed=0, groups=None):
    """A splitter of scikit-learn with the folds of the one dealer."""
    labels = np.unique(y, return_inverse=True)[1]
    unit = np.arange(len(y)) if groups is None else codes_of_groups(groups, len(y))
    return PredefinedSplit(dealt_folds(labels, unit, n_folds, seed))
