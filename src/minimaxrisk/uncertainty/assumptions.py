"""Where a sample visibly breaks what the named radius rules assume.

Both take the studentised means for normal, or Student's. A studentised mean of a skewed law has one tail
that is heavier than the normal one by a factor of about ``exp(|gamma| s^3 / (3 sqrt(n)))``, with gamma the
skewness, and the other lighter by as much (the first term of the large deviations of self-normalised sums);
and s is large when there are many components. With the signed coding a feature that is skewed alike in both
classes does little harm, since its sign changes with the label. With the one-hot coding it does. Heavy tails
without skewness make the rules inexact, mostly too careful.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.uncertainty.radius import MomentSample

# How many times more frequent skewness may make misses before it is worth a remark.
MORE_MISSES = 2.0
# Mean kurtosis of the columns beyond which tails are heavy; normal ones have 3, exponential ones 9.
HEAVY_TAILS = 9.0
# A variance that is a rounding error, of columns at unit root mean square.
STANDS_STILL = 1e-20


def broken_assumptions(sample: MomentSample, factor: float) -> tuple[str, ...]:
    """What is visibly wrong, in words; nothing where nothing is."""
    remarks = []
    frozen = features_that_stand_still(sample)
    if frozen:
        remarks.append(
            f"{frozen} features do not vary within a class of the sample (they are zero there, for example), "
            "so their means may be far from the truth without any sign of it in the sample; the named radius "
            "rules cannot promise their coverage: leave these features out"
        )
    exponent = typical_skewness(sample) * factor**3 / (3.0 * np.sqrt(sample.n))
    if np.cosh(min(exponent, 700.0)) > MORE_MISSES:
        remarks.append(
            f"the features are too skewed for {sample.n:.0f} samples (heavy tails, or binary features that "
            "are rarely one): the named radius rules cannot promise their coverage; transform them "
            "(ranks, logarithm), leave out rare ones, or choose a larger radius"
        )
    elif mean_kurtosis(sample) > HEAVY_TAILS:
        remarks.append(
            "the features have heavy tails, or are binary and rarely one: the coverage of the named radius "
            "rules is less exact than their level says; transforming them (ranks, logarithm) would help"
        )
    return tuple(remarks)


def features_that_stand_still(sample: MomentSample) -> int:
    """How many columns vary in the sample but, up to rounding, not within one of its classes."""
    columns = slice(sample.scale.n_leading, None)
    within, between = sample.moments.variance[:, columns], np.ptp(sample.moments.mean[:, columns], axis=0)
    varies = (within > STANDS_STILL).any(axis=0) | (between > STANDS_STILL)
    return int(((within <= STANDS_STILL).any(axis=0) & varies).sum())


def mean_kurtosis(sample: MomentSample) -> float:
    """Mean over the columns that vary, of ``E psi^4 / (E psi^2)^2``; standardised columns are centred."""
    weights = sample.units.p_hat.sum(axis=0)[None]
    square = sample.features.means_of(_square, weights)
    fourth = sample.features.means_of(lambda values: _square(_square(values)), weights)
    varies = (sample.sigma > 0.0).any(axis=0)
    return float((fourth[0, varies] / square[0, varies] ** 2).mean()) if varies.any() else 0.0


# In operators alone, which arrays of all libraries have. A power would be ten times slower.
def _square(values: FloatArray) -> FloatArray:
    return values * values


def _cube(values: FloatArray) -> FloatArray:
    return values * values * values


def typical_skewness(sample: MomentSample) -> float:
    """Root mean square of the skewness over components.

    The square of a sample skewness is mostly chance, the more so the heavier the tails. The product of the
    third moments of two halves of the sample is not: its mean over many samples is the square of the true
    one.
    """
    p_hat, matrix, tau = sample.units.p_hat, sample.coding.matrix, sample.tau
    is_even = np.arange(p_hat.shape[1]) % 2 == 0
    halves = np.vstack([p_hat * is_even, p_hat * ~is_even])
    first = sample.features.correlate(halves)
    second, third = (sample.features.means_of(power, halves) for power in (_square, _cube))
    varies, cubes = sample.sigma > 0.0, []
    for part in (slice(0, len(p_hat)), slice(len(p_hat), None)):
        mass = float(halves[part].sum())
        # E (c psi - tau)^3, summed over classes with their codes c
        cube = matrix**3 @ third[part] - 3.0 * tau * (matrix**2 @ second[part])
        cube += 3.0 * tau**2 * (matrix @ first[part]) - mass * tau**3
        cubes.append(cube[varies] / (max(mass, np.finfo(float).tiny) * sample.sigma[varies] ** 3))
    product = cubes[0] * cubes[1]
    return float(np.sqrt(max(0.0, float(product.mean())))) if product.size else 0.0
