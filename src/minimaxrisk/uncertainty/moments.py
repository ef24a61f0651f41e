"""Expectation estimates tau and standard deviations sigma of Phi(x, y), and what a radius rule may know.

Both follow from moments per class by sums of non-negative terms. The familiar ``E[z^2] - E[z]^2`` would lose
half of the digits exactly where it matters: for a feature that nearly equals the label.

``broken_assumptions`` says where a sample visibly breaks what the named rules assume: that studentised means
are normal, or have Student's law. A studentised mean of a skewed law has one tail that is heavier than the
normal one by a factor of about ``exp(|gamma| s^3 / (3 sqrt(n)))``, with gamma the skewness, and the other
lighter by as much (the first term of the large deviations of self-normalised sums); and s is large when there
are many components. With the signed coding a feature that is skewed alike in both classes does little harm,
since its sign changes with the label. With the one-hot coding it does. Heavy tails without skewness make the
rules inexact, mostly too careful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from minimaxrisk._utils.arrays import FloatArray, asarray_like, namespace_of, put_columns, to_numpy
from minimaxrisk.features.dense import AveragedFeatures
from minimaxrisk.features.matrix import ENOUGH_VARIANCE, ClassMoments, Coding, ColumnScale, FeatureMatrix
from minimaxrisk.samples.independent_units import Units

# Columns whose mean is this small, at unit root mean square, were centred.
CENTRED = 1e-9
# Degrees of freedom of a class that has a single sample, or of weights that leave hardly any.
FEWEST_DEGREES = 0.5
# Weight of a class beside the others that may be rounding alone, and tells nothing of how samples weigh.
LOST_BY_ROUNDING = 1e-14
# How many times more frequent skewness may make misses before it is worth a remark.
MORE_MISSES = 2.0
# Mean kurtosis of the columns beyond which tails are heavy; normal ones have 3, exponential ones 9.
HEAVY_TAILS = 9.0
# A variance that is a rounding error, of columns at unit root mean square.
STANDS_STILL = 1e-20


def mean_of_phi(moments: ClassMoments, coding: Coding) -> Any:
    """tau, the mean of Phi(x, y) (B x d), where the moments are."""
    xp, rows = namespace_of(moments.mean), []
    for code in coding.matrix.tolist():
        row = xp.zeros_like(moments.mean[0, :])
        for k, (p, c) in enumerate(zip(moments.prior.tolist(), code, strict=True)):
            row = row + p * c * moments.mean[k, :]
        rows.append(row)
    return xp.stack(rows)


def deviation_of_phi(tau: Any, moments: ClassMoments, coding: Coding) -> Any:
    """Root mean square of Phi(x, y) - tau (B x d), where they are.

    By the law of total variance
    ``sigma^2 = sum_k P_k C_bk^2 var_k + sum_k P_k (C_bk mean_k - tau)^2``.
    """
    xp, rows = namespace_of(tau), []
    for b, code in enumerate(coding.matrix.tolist()):
        square = xp.zeros_like(tau[b, :])
        for k, (p, c) in enumerate(zip(moments.prior.tolist(), code, strict=True)):
            off = c * moments.mean[k, :] - tau[b, :]
            square = square + p * (c**2 * moments.variance[k, :] + off * off)
        rows.append(square)
    return xp.sqrt(xp.stack(rows))


def signed_moments(
    features: FeatureMatrix, mass: FloatArray, p_hats: Sequence[FloatArray], coding: Coding
) -> tuple[Any, Any]:
    """tau and sigma of the signed coding for many labellings of the same masses (labellings x 1 x d).

    ``Phi^2 = Psi^2`` whatever the label, so that ``sigma^2 = m - tau^2`` with the same m for all labellings.
    Columns where that would lose digits are looked at once more.
    """
    tau = features.correlate_many(np.concatenate([coding.encode(p_hat) for p_hat in p_hats]))
    square, xp = asarray_like(tau, features.means_of(_square, mass[None])), namespace_of(tau)
    variance = square - tau * tau
    is_lossy = variance < ENOUGH_VARIANCE * square
    sigma = xp.sqrt(xp.where(variance > 0.0, variance, 0.0))
    for i in np.flatnonzero(to_numpy(xp.any(is_lossy, axis=1))).tolist():
        lossy = np.flatnonzero(to_numpy(is_lossy[i, :]))
        own = xp.take(tau[i : i + 1, :], asarray_like(tau, lossy), axis=1)
        accurate = deviation_of_phi(own, features.class_moments_of(lossy, p_hats[i]), coding)
        put_columns(sigma[i : i + 1, :], lossy, accurate)
    return tau[:, None, :], sigma[:, None, :]


@dataclass(frozen=True)
class MomentSample:
    """What a rule may know: the independent units, their features, the estimates tau and sigma (B x d).

    The estimates are where the features are; ``tau`` and ``sigma`` are copies in NumPy.
    """

    features: FeatureMatrix
    units: Units
    coding: Coding
    scale: ColumnScale
    tau_on_device: Any
    sigma_on_device: Any
    known: tuple[ClassMoments, ClassMoments] | None = None  # moments and spread, where sigma came from them

    @cached_property
    def tau(self) -> FloatArray:
        return to_numpy(self.tau_on_device)

    @cached_property
    def sigma(self) -> FloatArray:
        return to_numpy(self.sigma_on_device)

    @property
    def moments(self) -> ClassMoments:
        """Those of the units by weight."""
        return self._of_classes[0]

    @property
    def spread(self) -> ClassMoments:
        """Moments by the share that a unit has in the variance of a mean, from which sigma comes.

        Where units weigh alike, or weights count samples, they are the same.
        """
        return self._of_classes[1]

    @cached_property
    def _of_classes(self) -> tuple[ClassMoments, ClassMoments]:
        found = self.known or self.features.class_moments([self.units.p_hat, self.units.noise])
        moments, spread = (ClassMoments(m.prior, to_numpy(m.mean), to_numpy(m.variance)) for m in found)
        return moments, spread

    @property
    def n(self) -> float:
        """The number of units, or of equally weighted ones that are worth as much."""
        return self.units.n

    @property
    def n_left(self) -> float:
        """What the means leave of n: that of a component, and that of a column which was centred at it."""
        columns = slice(self.scale.n_leading, None)
        overall = self.moments.prior @ self.moments.mean[:, columns]
        n_means = 1 + bool((np.abs(overall) <= CENTRED).any())
        return self.n - n_means * self.units.lost_per_mean

    @property
    def degrees_of_freedom(self) -> float:
        """How far to trust standard deviations; as far as ``n_left`` where classes and units are alike.

        Where the classes vary by different amounts, the larger variance decides, and its class has fewer
        samples: by the formula of Welch and Satterthwaite, for a column in the middle of all.
        """
        spread, of_class = self.spread, self.units.n_for_spread
        together = 1.0 / float(np.sum(spread.prior * (spread.prior / of_class)))
        left = max(together * (self.n_left / self.n), FEWEST_DEGREES)
        parts = spread.prior[:, None] * spread.variance[:, self.scale.n_leading :]
        parts = parts[:, parts.any(axis=0)]
        if parts.size == 0:
            return left
        own = np.maximum(of_class - 1.0, FEWEST_DEGREES)[:, None]
        welch = parts.sum(axis=0) ** 2 / (parts**2 / own).sum(axis=0)
        return min(left, float(np.median(welch)))

    def student_factor(self, tail: float) -> float:
        """What one studentised mean, with sigma from ddof 0, exceeds with probability ``tail``."""
        return student_factor(tail, self.n, self.n_left, self.degrees_of_freedom)

    @property
    def n_features_varying(self) -> int:
        """Components that vary, without those of the intercept."""
        sigma = self.sigma_on_device[:, self.scale.n_leading :]
        xp = namespace_of(sigma)
        return int(xp.sum(xp.where(sigma > 0.0, xp.ones_like(sigma), 0.0)))


def moment_sample(
    features: FeatureMatrix,
    units: Units,
    *,
    coding: Coding,
    scale: ColumnScale,
    moments: ClassMoments,
    tau: Any,
) -> MomentSample:
    """From the features and moments of the instances to those of the units."""
    units.check_coding(coding.name)
    if units.shares is not None:
        # Shares of mixed groups have signs and do not sum to one, which containers count on.
        is_mixed = units.has_mixed_groups
        features = AveragedFeatures(features, units.shares) if is_mixed else features.averaged(units.shares)
        (moments,) = features.class_moments([units.p_hat])
    spread = moments
    if units.has_noise_of_its_own:
        (spread,) = features.class_moments([units.noise])
    on_device = spread
    if units.has_mixed_groups:
        on_device = ClassMoments(
            spread.prior, asarray_like(tau, spread.mean), asarray_like(tau, spread.variance)
        )
    sigma = deviation_of_phi(tau, on_device, coding)
    return MomentSample(features, units, coding, scale, tau, sigma, (moments, spread))


def student_factor(tail: float, n: float, n_left: float, degrees_of_freedom: float) -> float:
    """Student's quantile, for a standard deviation that divides by n where ``n_left`` would be right."""
    refuse_too_few(n, n_left)
    return float(stats.t.isf(tail, degrees_of_freedom) * np.sqrt(n / n_left))


def refuse_too_few(n: float, n_left: float) -> None:
    """Refuse units of which the means leave nothing."""
    if not n_left > 0.0:
        raise ValueError(
            f"a named radius rule needs at least 3 samples (or groups) of similar weight; the weights given "
            f"are worth {n:.3g} samples. Pass samples one by one, or use a number as radius."
        )


def broken_assumptions(sample: MomentSample, factor: float) -> tuple[str, ...]:
    """Remarks on what is visibly wrong."""
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
    weights, varies = sample.units.p_hat.sum(axis=0)[None], (sample.sigma > 0.0).any(axis=0)
    square = sample.features.means_of(_square, weights)
    varies &= square[0] > 0.0  # the intercept of matched pairs is zero, but for rounding
    fourth = sample.features.means_of(lambda values: _square(_square(values)), weights)
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
