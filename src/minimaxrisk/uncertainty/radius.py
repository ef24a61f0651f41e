"""Confidence radii lambda: how far the moments of a distribution may lie from the estimates tau."""

from __future__ import annotations

import numpy as np

from minimaxrisk.arrays import FloatArray

# Where the sample standard deviation is zero, the set would have no thickness in that direction and
# rounding alone could make the empirical distribution fall outside. In units of the column's root
# mean square this much is always allowed; it moves R* by at most 1e-9 times the norm of mu.
SMALLEST_RADIUS = 1e-9
# Constraints thinner than this are too thin for a solver's absolute tolerances, and no violation that a
# caller would accept elsewhere can be accepted there.
THIN_RADIUS = 1e-5


def confidence_radii(sigma: FloatArray, n_effective: float, radius: float) -> FloatArray:
    """The paper's lambda = s * sigma / sqrt(n) for columns at unit root mean square."""
    return np.maximum(radius * sigma / np.sqrt(n_effective), SMALLEST_RADIUS)
