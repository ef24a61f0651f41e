"""What error bounds assume, as far as the data can show it: independent samples.

A copy of a sample is not a new sample. Errors on copies of training samples are too few, and limits that
count copies as samples are too tight.

"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.notices import warn
from minimaxrisk.samples.equal_rows import duplicate_rows, numbers_of
from minimaxrisk.samples.near_rows import near_copies


def reason_against_independence(X: Any, y: np.ndarray, groups: IntArray | None) -> str:
    """In words, if some samples look like copies of others that no group holds together; else empty.

    A warning tells where samples cannot be looked at.
    """
    values = numbers_of(X)
    if values is None:
        warn(
            "X holds no table of numbers, so it was not checked whether samples are copies of each other; if "
            "they are, no probability holds.",
            UserWarning,
        )
        return ""
    pairs = [pair for pair in duplicate_rows(values) if groups is None or groups[pair[0]] != groups[pair[1]]]
    pairs += [(pair.first, pair.second) for pair in near_copies(values, y, groups)]
    if not pairs:
        return ""
    i, j = pairs[0]
    more = f", and so do {len(pairs) - 1} other pairs" if len(pairs) > 1 else ""
    return (
        f"rows {i} and {j} look like one sample measured twice{more}; pass groups with one entry for all "
        "measurements of a patient, or keep one of each"
    )
