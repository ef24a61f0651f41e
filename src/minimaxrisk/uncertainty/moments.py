"""Expectation estimates tau and standard deviations sigma of Phi(x, y), and what a radius rule may know.

Both follow from moments per class by sums of non-negative terms. The familiar ``E[z^2] - E[z]^2`` would lose
half of the digits exactly where it matters: for a feature that nearly equals the label.

``broken_assumptions`` says where a sample visibly breaks what the named rules assume, as
``docs/learn/radii.md`` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from minimaxrisk._utils.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    asarray_like,
    namespace_of,
    put_columns,
    to_numpy,
)
from minimaxrisk.exceptions import TooFewSamplesError
from minimaxrisk.matrices.moments import ENOUGH_VARIANCE, ClassMoments, Coding
from minimaxrisk.matrices.scale import ColumnScale
from minimaxrisk.matrices.standardised import Standardised
from minimaxrisk.samples.independent_units import Units

# Columns whose mean is this small, at unit root mean square, were centred.
CENTRED = 1e-9
# Degrees of freedom of a class that has a single sample, or of weights that leave hardly any.
FEWEST_DEGREES = 0.5
# Weight of a class beside the others that may be rounding alone, and tells nothing of how samples weigh.
LOST_BY_ROUNDING = 1e-14
# How many times more frequent skewness may make misses before it is worth a remark.
MORE_MISSES = 1.5
# Samples of half a class that tell its third cumulant.
FEWEST_OF_CUMULANT = 2.5
# Below so many samples of a class, or of all, they tell too little about the tails of studentised means.
FEWEST_OF_CLASS = 8
# Mean kurtosis of the columns beyond which tails are heavy; normal ones have 3, exponential ones 9.
HEAVY_TAILS = 9.0
# Numbers of several blocks that are computed at a time.
SHORT = 1 << 16
# A variance that is a rounding error, of columns at unit root mean square.
STANDS_STILL = 1e-20


def mean_of_phi(moments: ClassMoments, coding: Coding) -> Any:
    """tau, the mean of Phi(x, y) (B x d), where the moments are."""
    xp, rows = namespace_of(moments.mean), []
    for code in coding.matrix.tolist():
        row = xp.zeros_like(moments.mean[0, :])
        for k, (p, c) in enumerate(zip(moments.prior.tolist(), code, strict=True)):
            if c:
                row = row + p * c * moments.mean[k, :]
        rows.append(row)
    return xp.stack(rows)


def deviation_of_phi(tau: Any, moments: ClassMoments, coding: Coding) -> Any:
    """Root mean square of Phi(x, y) - tau (B x d), where they are.

    By the law of total variance
    ``sigma^2 = sum_k P_k C_bk^2 var_k + sum_k P_k (C_bk mean_k - tau)^2``.
    """
    xp, rows = namespace_of(tau), []
    # Rows of several blocks at a time, where they are short: there may be a thousand classes.
    at_a_time = max(1, SHORT // tau.shape[1])
    for first in range(0, len(coding.matrix), at_a_time):
        blocks = slice(first, min(first + at_a_time, len(coding.matrix)))
        own = tau[blocks, :]
        codes = xp.asarray(asarray_like(tau, coding.matrix[blocks]), dtype=tau.dtype)
        square = xp.zeros_like(own)
        for k, p in enumerate(moments.prior.tolist()):
            c = codes[:, k : k + 1]
            off = c * moments.mean[k, :] - own
            square = square + p * (c * c * moments.variance[k, :] + off * off)
        rows += [square[block, :] for block in range(square.shape[0])]
    return xp.sqrt(xp.stack(rows))  # NumPy has concat of the standard from 2.0 on only


def moderated_deviation(sample: MomentSample, moderation: float) -> Any:
    """Return sigma (B x d) after shrinking the second moment of each class towards that of all samples.

    Moments of a class count its n samples, moments of all samples count as ``c = moderation`` further ones.
    With p the frequency of the class, E_k means within it and E means over all samples,

        sigma^2 = p m - tau^2,    m = (n E_k[psi^2] + c E[psi^2]) / (n + c),

    which is the plain variance plus ``p c / (n + c) (E[psi^2] - E_k[psi^2])``. The result is not negative
    and loses few digits: ``E[psi^2] >= p E_k[psi^2]`` leaves at least ``(1 - p) n / (n + c)`` of
    ``p E_k[psi^2]``. A block of the signed coding has samples of both classes and stays as it is.
    """
    sigma = sample.sigma_on_device
    if moderation == 0.0 or sample.coding.n_blocks == 1:
        return sigma
    assert sample.known is not None  # moments of classes are left out for the signed coding alone
    _, spread = sample.known
    xp, square = namespace_of(sigma), spread.variance + spread.mean * spread.mean
    of_all = xp.zeros_like(square[0, :])
    for k, p in enumerate(spread.prior.tolist()):
        of_all = of_all + p * square[k, :]
    share = spread.prior * moderation / (sample.n_of_blocks + moderation)
    variance = sigma * sigma + asarray_like(sigma, share[:, None]) * (of_all - square)
    return xp.sqrt(xp.where(variance > 0.0, variance, 0.0))


def signed_moments(
    features: Standardised, mass: FloatArray, p_hats: Sequence[FloatArray], coding: Coding
) -> tuple[Any, Any]:
    """tau and sigma of the signed coding for many labellings of the same masses (labellings x 1 x d).

    ``Phi^2 = Psi^2`` whatever the label, so that ``sigma^2 = m - tau^2`` with the same m for all labellings.
    Columns where that would lose digits are looked at once more.
    """
    tau = features.correlate_on_device(np.concatenate([coding.encode(p_hat) for p_hat in p_hats]), alike=True)
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

    features: Standardised
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
    def n_of_blocks(self) -> FloatArray:
        """The number of units, or of equally weighted ones, that contribute to each block (B).

        All of them to that of the signed coding, those of one class to a block of the one-hot coding.
        """
        return np.array([self.n]) if self.coding.n_blocks == 1 else self.units.n_for_spread

    @property
    def blocks_are_small(self) -> BoolArray:
        """Which blocks have too few units to tell the tails of a studentised mean (B)."""
        return self.n_of_blocks < FEWEST_OF_CLASS * (1.0 - LOST_BY_ROUNDING)

    @property
    def degrees_of_freedom(self) -> float:
        """How far to trust standard deviations of all classes together; ``n_left`` where they are alike.

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

    def student_factors(self, tail: float) -> FloatArray:
        """What one studentised mean of each block, with sigma from ddof 0, exceeds with ``tail`` (B).

        A mean of ``1{y = k} psi``, given the labels, is that of the samples of class k, whose spread they
        tell alone: Student's law of ``n_k - 1`` degrees. That of the class' frequency, which sigma holds too,
        has lighter tails. A single sample, which tells no spread, counts as two.
        """
        refuse_too_few(self.n, self.n_left)
        if self.coding.n_blocks == 1:
            return np.array([student_factor(tail, self.n, self.n_left, self.degrees_of_freedom)])
        own = np.maximum(self.n_of_blocks, 2.0)
        return np.asarray(stats.t.isf(tail, own - 1.0) * np.sqrt(own / (own - 1.0)))

    @cached_property
    def n_features_varying(self) -> IntArray:
        """Components of each block that vary, without those of the intercept (B)."""
        sigma = self.sigma_on_device[:, self.scale.n_leading :]
        xp = namespace_of(sigma)
        return to_numpy(xp.sum(xp.where(sigma > 0.0, xp.ones_like(sigma), 0.0), axis=1)).astype(np.intp)


def moment_sample(
    features: Standardised,
    units: Units,
    *,
    coding: Coding,
    scale: ColumnScale,
    moments: ClassMoments,
    tau: Any,
) -> MomentSample:
    """From the features and moments of the instances to those of the units."""
    units.check_coding(coding.name)
    of_units = features
    if units.shares is not None:
        # Shares of mixed groups have signs and do not sum to one.
        of_units = features.averaged(units.shares, are_means=not units.has_mixed_groups)
        (moments,) = of_units.class_moments([units.p_hat])
    spread = moments
    if units.has_noise_of_its_own:
        (spread,) = of_units.class_moments([units.noise])
    on_device = spread
    if units.has_mixed_groups:
        on_device = ClassMoments(
            spread.prior, asarray_like(tau, spread.mean), asarray_like(tau, spread.variance)
        )
    sigma = deviation_of_phi(tau, on_device, coding)
    return MomentSample(of_units, units, coding, scale, tau, sigma, (moments, spread))


def student_factor(tail: float, n: float, n_left: float, degrees_of_freedom: float) -> float:
    """Student's quantile, for a standard deviation that divides by n where ``n_left`` would be right."""
    refuse_too_few(n, n_left)
    return float(stats.t.isf(tail, degrees_of_freedom) * np.sqrt(n / n_left))


def refuse_too_few(n: float, n_left: float) -> None:
    """Refuse units of which the means leave nothing."""
    if not n_left > 0.0:
        raise TooFewSamplesError(
            f"a named radius rule needs at least 3 samples (or groups) of similar weight; the weights given "
            f"are worth {n:.3g} samples. Pass samples one by one, or use a number as radius."
        )


def broken_assumptions(sample: MomentSample, tail: float) -> tuple[str, ...]:
    """Remarks on what is visibly wrong, where each mean may miss its radius with probability ``tail``."""
    remarks = []
    frozen = features_that_stand_still(sample)
    if frozen:
        remarks.append(
            f"{frozen} features do not vary within a class of the sample (they are zero there, for example), "
            "so their means may be far from the truth without any sign of it in the sample; the named radius "
            "rules cannot promise their coverage: leave these features out"
        )
    small = sample.blocks_are_small
    if small.any() and len(small) > 1:
        remarks.append(
            f"{small.sum()} of {len(small)} classes have fewer than {FEWEST_OF_CLASS} samples "
            "(or groups), too few to tell how far the means of a class may be from the truth: the named "
            "radius rules cannot promise their coverage; add samples, or leave out these classes, and "
            "every statement is about the others alone"
        )
    exponents, of = skewness_exponents(sample, tail), "" if sample.coding.n_blocks == 1 else " of a class"
    worst = int(np.argmax(exponents))
    if np.cosh(min(exponents[worst], 700.0)) > MORE_MISSES:
        remarks.append(
            f"the features are too skewed for {sample.n_of_blocks[worst]:.0f} samples{of} (heavy tails, or "
            "binary features that are rarely one): the named radius rules cannot promise their coverage; "
            "transform them (ranks, logarithm), leave out rare ones, or choose a larger radius"
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
def _itself(values: FloatArray) -> FloatArray:
    return values


def _square(values: FloatArray) -> FloatArray:
    return values * values


def _cube(values: FloatArray) -> FloatArray:
    return values * values * values


def skewness_exponents(sample: MomentSample, tail: float) -> FloatArray:
    """By which exponent skewness makes one tail of a studentised mean heavier, for each block (B).

    Student's quantile s of few degrees is far above the normal one z, and makes up for much of it: by about
    ``(z/s)^3`` in simulated studies of 8 to 200 samples.
    """
    factors, normal = sample.student_factors(tail), float(stats.norm.isf(tail))
    exponents: FloatArray = normal**6 / factors**3 / (3.0 * np.sqrt(sample.n_of_blocks))
    return typical_skewness(sample) * exponents


def typical_skewness(sample: MomentSample) -> float:
    """Root mean square over the columns, of the skewness around the means of the classes.

    With the signed coding the skewness of the classes has their signs. The square of a sample skewness is
    mostly chance, the more so the heavier the tails. The product of the third cumulants of two halves of the
    sample, each around its own means, is not: its mean over many samples is the square of the true one.
    """
    p_hat, moments = sample.units.p_hat, sample.moments
    sign = sample.coding.matrix[0] if sample.coding.n_blocks == 1 else np.ones(len(p_hat))
    is_even = np.arange(p_hat.shape[1]) % 2 == 0
    halves = np.stack([p_hat * is_even, p_hat * ~is_even])
    mass = halves.sum(axis=2)
    n = sample.units.n_for_spread * mass / moments.prior
    used = (n > FEWEST_OF_CUMULANT).all(axis=0)
    if not used.any():
        return 0.0
    flat, shape = halves[:, used].reshape(-1, p_hat.shape[1]), (2, int(used.sum()), -1)
    first, second, third = (
        (sample.features.means_of(power, flat) / mass[:, used].reshape(-1, 1)).reshape(shape)
        for power in (_itself, _square, _cube)
    )
    n = n[:, used]
    # The unbiased estimate of the third cumulant, for each half and class.
    cumulants = (third - 3.0 * first * second + 2.0 * first**3) * (n**2 / ((n - 1.0) * (n - 2.0)))[..., None]
    share = (moments.prior * sign)[used] / moments.prior[used].sum()
    spread = moments.prior[used] @ moments.variance[used] / moments.prior[used].sum()
    varies = spread > STANDS_STILL
    varies[: sample.scale.n_leading] = False
    one, other = (share @ half[:, varies] / spread[varies] ** 1.5 for half in cumulants)
    return float(np.sqrt(max(0.0, float((one * other).mean())))) if varies.any() else 0.0
