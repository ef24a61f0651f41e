"""Rules for the radii lambda: how far the moments of a distribution may lie from the estimates tau.

All but one set ``lambda = s sigma / sqrt(n)`` and differ in the factor s. With Z_ij component j of
Phi(x_i, y_i), the set contains the true moments exactly when

    T = max_j |sqrt(n) (tau_j - E Z_j) / sigma_j| <= s.

* ``Multiple``: s as given. The paper takes 1, which with many components is far below the usual size of T.
* ``UnionBound`` (``union_bound.py``): the m events separately. If the components are normal,
  sqrt((n - 1)/n) times each of the ratios has Student's law with n - 1 degrees of freedom, hence
  ``s = t_{n-1}^{-1}(1 - delta/(2m)) sqrt(n/(n-1))``.
* ``MultiplierBootstrap`` (``bootstrap.py``): the law of the maximum itself, correlations included.
* ``GivenRadii``: lambda as given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import stats

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.features.class_moments import ClassMoments
from minimaxrisk.features.coding import Coding
from minimaxrisk.features.matrix import ColumnScale, FeatureMatrix
from minimaxrisk.samples.instances import Instances

# Where the sample standard deviation is zero, the set would have no thickness in that direction and
# rounding alone could make the empirical distribution fall outside. In units of the column's root
# mean square this much is always allowed; it moves R* by at most 1e-9 times the norm of mu.
SMALLEST_RADIUS = 1e-9
# Constraints thinner than this are too thin for a solver's absolute tolerances, and no violation that a
# caller would accept elsewhere can be accepted there.
THIN_RADIUS = 1e-5


@dataclass(frozen=True)
class MomentSample:
    """What a rule may know: the features, the sample on them, and its estimates tau and sigma (B x d)."""

    features: FeatureMatrix
    moments: ClassMoments
    instances: Instances
    coding: Coding
    scale: ColumnScale
    tau: FloatArray
    sigma: FloatArray

    @property
    def n(self) -> float:
        """The number of samples, or the sum of their weights."""
        return self.instances.n_effective


@dataclass(frozen=True)
class Radii:
    """lambda (B x d), the factor s where there is one, and what the caller should know about the rule."""

    lam: FloatArray
    factor: float | None
    remarks: tuple[str, ...] = ()


class RadiusRule(Protocol):
    """From a sample to radii."""

    def radii(self, sample: MomentSample) -> Radii: ...


@dataclass(frozen=True)
class Multiple:
    """The paper's rule, with the factor given."""

    factor: float

    def radii(self, sample: MomentSample) -> Radii:
        return multiples_of_standard_errors(sample, self.factor)


@dataclass(frozen=True)
class GivenRadii:
    """The caller's lambda; one row for all blocks, or one for each.

    For standardised columns they are in the units of the features inside, else in those of the caller.
    """

    lam: Any
    is_standardized: bool

    def radii(self, sample: MomentSample) -> Radii:
        given = np.asarray(self.lam)
        n_blocks, d = sample.tau.shape
        if given.dtype.kind not in "fiu" or given.shape not in ((d,), (n_blocks, d)):
            columns = "the columns of X" + ", the intercept first" * sample.scale.has_intercept
            raise ValueError(
                f"radius as an array of lambda must hold numbers, one for each of {columns}: shape ({d},), "
                f"or ({n_blocks}, {d}) with a row per block of coefficients, as in lambda_ of a fitted "
                f"model; got shape {given.shape} and type {given.dtype}."
            )
        if not (np.isfinite(given).all() and (given >= 0.0).all()):
            wrong = given[~(np.isfinite(given) & (given >= 0.0))]
            raise ValueError(
                f"radius as an array of lambda must be finite and not negative, got {wrong[0]} among its "
                "entries."
            )
        lam = np.broadcast_to(given, sample.tau.shape).astype(np.float64)
        if not self.is_standardized:
            lam = sample.scale.inner_units(lam)
        return Radii(np.maximum(lam, SMALLEST_RADIUS), None)


def multiples_of_standard_errors(sample: MomentSample, factor: float, remarks: tuple[str, ...] = ()) -> Radii:
    """``lambda = s sigma / sqrt(n)`` for columns at unit root mean square."""
    return Radii(np.maximum(factor * sample.sigma / np.sqrt(sample.n), SMALLEST_RADIUS), factor, remarks)


def student_factor(tail: float, n: float) -> float:
    """What one studentised mean, with sigma from ddof 0, exceeds with probability ``tail``."""
    if not n > 1.0:
        raise ValueError(
            f"a named radius rule needs more than one sample, but the sample weights add up to {n:g}; "
            "weights count samples, so do not scale them to a sum of 1."
        )
    return float(stats.t.isf(tail, n - 1.0) * np.sqrt(n / (n - 1.0)))
