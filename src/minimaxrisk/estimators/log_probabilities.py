"""Logarithms of a minimax rule's probabilities, many of which are exactly 0."""

from __future__ import annotations

import sys

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.notices import warn


def log_probabilities(probabilities: FloatArray) -> FloatArray:
    """For ``predict_log_proba``; a warning points at the line outside this package that called that."""
    n_zeros = int((probabilities == 0.0).sum())
    if n_zeros:
        entries = "entry is" if n_zeros == 1 else "entries are"
        warn(
            f"{n_zeros} of {probabilities.size} {entries} minus infinity, where the probability is exactly "
            "0. A minimax rule draws labels with these probabilities; they do not estimate how probable a "
            "label is. For estimates use sklearn.calibration.CalibratedClassifierCV; for finite logarithms "
            "clip predict_proba, as in np.log(np.clip(model.predict_proba(X), 1e-6, 1)).",
            UserWarning,
            stacklevel=_level_of_caller(),
        )
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def _level_of_caller() -> int:
    """As ``stacklevel`` of a warning of the function that calls this one."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("minimaxrisk."):
        level, frame = level + 1, frame.f_back
    return level
