"""Logarithms of a minimax rule's probabilities, many of which are exactly 0."""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.notices import warn


def log_probabilities(probabilities: FloatArray) -> FloatArray:
    """For ``predict_log_proba``."""
    n_zeros = int((probabilities == 0.0).sum())
    if n_zeros:
        entries = "entry is" if n_zeros == 1 else "entries are"
        warn(
            f"{n_zeros} of {probabilities.size} {entries} minus infinity, where the probability is exactly "
            "0. A minimax rule draws labels with these probabilities; they do not estimate how probable a "
            "label is. For estimates use sklearn.calibration.CalibratedClassifierCV; for finite logarithms "
            "clip predict_proba, as in np.log(np.clip(model.predict_proba(X), 1e-6, 1)).",
            UserWarning,
        )
    with np.errstate(divide="ignore"):
        return np.log(probabilities)
