"""The exact optimum next to an iterate of the space of moments, by HiGHS.

Without the masses p of the rule the linear program has the coefficients and nu alone, and a constraint for
every instance and set of labels: ``sum_(y in C) (psi_i'mu_y - nu) <= 1``. At the optimum no more of them are
active than there are coefficients. The iterate shows which; HiGHS solves the program that has those alone,
all instances are priced with what it found, and constraints that it violates come in until there are none. So
the iterate may be one of a few instances only.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, IntArray
from minimaxrisk.engines.moment_space.point import MomentPoint

# Sets that an iterate makes nearly active: their slack, and the smallest multiplier of their instances as a
# fraction of the typical one.
NEARLY_ACTIVE, NOTABLE = 0.05, 1e-3


def active_sets(point: MomentPoint, n_components: int) -> tuple[IntArray, BoolArray]:
    """Instances of the iterate and sets of labels whose constraints are nearly active (K x sets)."""
    scores, (_, r) = point.mu @ point.Z.T, point.masses
    order = np.argsort(-scores, axis=0, kind="stable")
    sums = np.cumsum(np.take_along_axis(scores, order, axis=0) - point.nu, axis=0)
    typical = np.median(np.sort(r)[-n_components:])
    last, instances = np.nonzero((sums > 1.0 - NEARLY_ACTIVE) & (r > NOTABLE * typical))
    is_in = np.zeros((len(scores), len(instances)), dtype=np.bool_)
    np.put_along_axis(is_in, order[:, instances], np.arange(len(scores))[:, None] <= last, axis=0)
    return instances, is_in
