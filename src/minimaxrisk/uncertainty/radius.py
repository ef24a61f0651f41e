"""Radii lambda, what a rule for them is, and the formulas that the rules share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import stats

from minimaxrisk._utils.arrays import FloatArray, asarray_like, namespace_of
from minimaxrisk.uncertainty.moments import LOST_BY_ROUNDING, MomentSample, moderated_deviation

# Where the sample standard deviation is zero, the set would have no thickness in that direction and
# rounding alone could make the empirical distribution fall outside. In units of the column's root
# mean square this much is always allowed; it moves R* by at most 1e-9 times the norm of mu.
SMALLEST_RADIUS = 1e-9
# Constraints thinner than this are too thin for a solver's absolute tolerances, and no violation that a
# caller would accept elsewhere can be accepted there.
THIN_RADIUS = 1e-5
# How sure to be that chance in the draws does not make the radii too small.
SURE_OF_QUANTILE = 0.95
# The share of delta that the named rules give to the intercept.
INTERCEPT_SHARE = 0.1


@dataclass(frozen=True)
class Radii:
    """lambda (B x d), of a ball one radius; the factors s; what the caller should know about the rule."""

    lam: Any  # a NumPy array, or an array where the features are
    factors: float | FloatArray | None  # one for all, or one for each block
    remarks: tuple[str, ...] = ()
    seed: int = 0  # of the draws, where there were any

    @property
    def factor(self) -> float | None:
        """The largest factor: that of the class with the fewest samples, where blocks differ."""
        return None if self.factors is None else float(np.max(self.factors))


class RadiusRule(Protocol):
    """From a sample to radii."""

    def radii(self, sample: MomentSample) -> Radii: ...


def multiples_of_standard_errors(
    sample: MomentSample,
    factors: float | FloatArray,
    *,
    intercept_level: float | None = None,
    moderation: float = 0.0,
) -> Any:
    """``lambda = s sigma / sqrt(n)``, where sigma is, for columns at unit root mean square.

    One s for all, or one for each block. The intercept's radius follows from its level, if that is given.
    Blocks of single classes have the ``moderated_deviation`` as sigma.
    """
    sigma = moderated_deviation(sample, moderation)
    if not isinstance(factors, float):
        factors = asarray_like(sigma, np.asarray(factors)[:, None])
    plain = factors * sigma / float(np.sqrt(sample.n))
    lam = namespace_of(plain).where(plain > SMALLEST_RADIUS, plain, SMALLEST_RADIUS)
    if intercept_level is not None and sample.scale.has_intercept:
        lam[:, 0] = asarray_like(lam, np.maximum(frequency_radii(sample, intercept_level), SMALLEST_RADIUS))
    return lam


def frequency_radii(sample: MomentSample, level: float) -> FloatArray:
    """Radii (B) that hold the frequencies of all classes at once with probability ``level``.

    Blocks of the one-hot coding are frequencies; the signed block is the first one less the second, which is
    twice the first less one. Where units weigh differently, n is that of a binomial frequency with the
    variance which this one has (Korn and Graubard).
    """
    n_blocks = sample.coding.n_blocks
    frequency, noise, unit = sample.moments.prior, sample.spread.prior, 1.0
    if n_blocks == 1:
        frequency, noise, unit = frequency[:1], noise[:1], 2.0
    variance = noise * (1.0 - frequency) ** 2 + (1.0 - noise) * frequency**2
    binomial, alike = frequency * (1.0 - frequency), np.ones_like(frequency)
    n = sample.n * np.divide(binomial, variance, out=alike, where=binomial > LOST_BY_ROUNDING)
    tail, hits = (1.0 - level) / (2.0 * n_blocks), n * frequency
    misses = n - hits
    # Without misses, or hits, nothing is known on that side.
    high = np.where(misses > 0.0, stats.beta.isf(tail, hits + 1.0, misses), 1.0)
    low = np.where(hits > 0.0, stats.beta.ppf(tail, hits, misses + 1.0), 0.0)
    radii: FloatArray = unit * np.maximum(high - frequency, frequency - low)
    return radii


def split_level(confidence: float, *, has_intercept: bool) -> tuple[float, float | None]:
    """The level left for the features, and that of the intercept if there is one."""
    delta = 1.0 - confidence
    if not has_intercept:
        return confidence, None
    return 1.0 - (1.0 - INTERCEPT_SHARE) * delta, 1.0 - INTERCEPT_SHARE * delta


def union_bound_tail(sample: MomentSample, level: float) -> float:
    """What each feature that varies may exceed its radius with, on one side, if all must hold at once."""
    return (1.0 - level) / (2.0 * max(1, int(sample.n_features_varying.sum())))
