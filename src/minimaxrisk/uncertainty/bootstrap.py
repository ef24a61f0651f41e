"""The factor s at which all moments lie within s standard errors at once, by a multiplier bootstrap.

Let Z_ij be component j of Phi(x_i, y_i), and tau_j, sigma_j its mean and standard deviation. Given the data,

    T* = max_j |n^-1/2 sum_i e_i (Z_ij - tau_j) / sigma_j|,   e_i independent standard normal,

has nearly the law of T = max_j |sqrt(n) (tau_j - E Z_j) / sigma_j|, whatever the correlations between
components and also when there are many more of them than samples (Chernozhukov, Chetverikov and Kato 2013).
Let q be its quantile.

For few samples sigma_j is itself uncertain, which normal multipliers do not see. As for a single mean, the
normal quantile is exchanged for that of Student's law at the same level:
``s = t_{n-1}^{-1}(Phi(q)) sqrt(n/(n-1))``.

The theory is asymptotic. A studentised mean of a skewed law has one tail that is heavier than the normal
one, by a factor of about ``exp(|gamma| s^3 / (3 sqrt(n)))`` with gamma the skewness (the first term of the
large deviations of self-normalised sums), and s is large when there are many components. Where that factor is
large for the typical component, or a component does not vary at all in the sample, a remark says so.

A weight of 2 is the sum of two independent multipliers, so that a row of weight 2 and the row twice draw
the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse, stats

from minimaxrisk.arrays import FloatArray
from minimaxrisk.uncertainty.radius import MomentSample, Radii, multiples_of_standard_errors, student_factor

# Numbers held at a time: draws x components.
BLOCK_ELEMENTS = 1 << 21
# The factor by which skewness may make one tail heavier before it is worth a remark.
HEAVIER_TAIL = 3.0


@dataclass(frozen=True)
class MultiplierBootstrap:
    """Simultaneous coverage by the Gaussian multiplier bootstrap."""

    confidence: float
    n_draws: int
    seed: int

    def radii(self, sample: MomentSample) -> Radii:
        # The smallest draw that at least a fraction ``confidence`` of them does not exceed.
        quantile = float(np.quantile(self._maxima(sample), self.confidence, method="higher"))
        factor = student_factor(float(stats.norm.sf(quantile)), sample.n)
        return multiples_of_standard_errors(sample, factor, _remarks(sample, factor))

    def _maxima(self, sample: MomentSample) -> FloatArray:
        """Draws of T*."""
        random = np.random.default_rng(self.seed)
        p_hat, coding = sample.instances.p_hat, sample.coding
        label, instance = np.nonzero(p_hat)
        spread = np.sqrt(p_hat[label, instance])  # of e_i / sqrt(n), a weighted sample being several
        # From multipliers of samples to weights of instances, once per block.
        shape = p_hat.shape[1], len(label)
        place = sparse.csr_array((np.ones(len(label)), (instance, np.arange(len(label)))), shape=shape)
        coded = [place @ sparse.diags_array(code[label]) for code in coding.matrix]
        varies = sample.sigma > 0.0
        inverse = np.divide(1.0, sample.sigma, out=np.zeros_like(sample.sigma), where=varies)
        n_at_a_time = max(1, BLOCK_ELEMENTS // sample.tau.size)
        maxima = np.empty(self.n_draws)
        for start in range(0, self.n_draws, n_at_a_time):
            stop = min(start + n_at_a_time, self.n_draws)
            multipliers = spread * random.standard_normal((stop - start, len(spread)))
            weights = np.stack([(matrix @ multipliers.T).T for matrix in coded], axis=1)
            draws = sample.features.correlate(weights.reshape(-1, p_hat.shape[1]))
            draws = draws.reshape(stop - start, *sample.tau.shape)
            draws -= multipliers.sum(axis=1)[:, None, None] * sample.tau
            draws *= inverse
            maxima[start:stop] = np.abs(draws, out=draws).max(axis=(1, 2))
        return maxima


def _remarks(sample: MomentSample, factor: float) -> tuple[str, ...]:
    """What is visibly wrong with the assumptions."""
    remarks = []
    # A column that is constant in all of the sample is no feature; one that is constant within a block is.
    is_feature = (sample.tau != 0.0).any(axis=0) | (sample.sigma > 0.0).any(axis=0)
    frozen = int(((sample.sigma == 0.0) & is_feature).sum())
    if frozen:
        remarks.append(
            f"{frozen} of {sample.tau.size} components of the feature map do not vary in the sample "
            "(for example a feature that is zero in a whole class), so that nothing is known about how far "
            "their means are from the truth; radius='bootstrap' cannot promise its coverage"
        )
    exponent = typical_skewness(sample) * factor**3 / (3.0 * np.sqrt(sample.n))
    if exponent > np.log(HEAVIER_TAIL):
        remarks.append(
            f"the features are so skewed for {sample.n:g} samples (heavy tails, or binary features that are "
            "rarely one) that radius='bootstrap' cannot promise its coverage; transform them (logarithm, "
            "ranks), leave out rare ones, or choose a larger radius"
        )
    return tuple(remarks)


def _cube(values: FloatArray) -> FloatArray:
    return values**3


def typical_skewness(sample: MomentSample) -> float:
    """Root mean square, over components, of the skewness, less what chance makes of no skewness (6/n)."""
    p_hat, matrix = sample.instances.p_hat, sample.coding.matrix
    first = sample.features.correlate(p_hat)
    second, third = (sample.features.means_of(power, p_hat) for power in (np.square, _cube))
    tau, varies = sample.tau, sample.sigma > 0.0
    # E (c psi - tau)^3, summed over classes with their codes c
    cube = matrix**3 @ third - 3.0 * tau * (matrix**2 @ second) + 3.0 * tau**2 * (matrix @ first) - tau**3
    skewness = cube[varies] / sample.sigma[varies] ** 3
    if skewness.size == 0:
        return 0.0
    return float(np.sqrt(max(0.0, float(np.mean(skewness**2)) - 6.0 / sample.n)))
