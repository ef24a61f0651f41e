"""How far the mean of Phi may lie from its estimate in the norm of a kernel's space: one number.

The estimate tau is a mean over independent units Z_u (``samples.independent_units``), so that

    E ||tau - E tau||^2 = sum_u p_u^2 E ||Z_u - E Z_u||^2,

whatever the number of features. Its estimate is the squared standard error; a factor of 1 is the root mean
square of the distance. For a radius that covers with a given probability, the distribution of the distance is
drawn: given the data, ``||sum_u e_u p_u (Z_u - tau)||`` with independent standard normal e has nearly the law
of ``||tau - E tau||``. There is no union over columns, and correlations count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.features.matrix import Coding
from minimaxrisk.samples.independent_units import Units

# How sure to be that chance in the draws does not make the radius too small.
SURE_OF_QUANTILE = 0.95
# Draws x units held at a time.
MOST_HELD = 1 << 22


@dataclass(frozen=True)
class UnitMeans:
    """Coefficients of ``Z_u - tau`` in the instances: those of Z_u for its label, and of tau."""

    gram: FloatArray  # of the units
    codes: FloatArray  # B x u: the code of each unit's label
    p_hat: FloatArray  # B x u: codes times masses, the coefficients of tau
    noise: FloatArray  # u: shares in the variance of the mean
    n: float  # the number of units of equal weight that are as precise
    n_left: float  # less what estimating the mean takes

    @classmethod
    def of(cls, gram: FloatArray, units: Units, coding: Coding) -> UnitMeans:
        if units.shares is not None:
            gram = units.shares @ gram @ units.shares.T
        label, unit = np.nonzero(units.p_hat)
        gram = gram[np.ix_(unit, unit)]  # an instance with two labels is two units
        codes = coding.matrix[:, label]
        masses = units.p_hat[label, unit]
        return cls(
            gram, codes, codes * masses, units.noise[label, unit], units.n, units.n - units.lost_per_mean
        )

    @property
    def standard_error(self) -> float:
        """The estimated root mean square of ``||tau - E tau||``."""
        seen = self.p_hat @ self.gram
        square = float(np.sum(seen * self.p_hat))
        distance = np.diag(self.gram) - 2.0 * np.sum(self.codes * seen, axis=0) + square
        variance = float(self.noise @ np.maximum(distance, 0.0))
        return float(np.sqrt(variance / max(self.n_left, 1.0)))

    def distances(self, n_draws: int, seed: int) -> FloatArray:
        """Draws of the distance."""
        random, found = np.random.default_rng(seed), []
        size = max(1, MOST_HELD // len(self.noise))
        for start in range(0, n_draws, size):
            e = random.standard_normal((min(size, n_draws - start), len(self.noise))) * np.sqrt(self.noise)
            total, square = e.sum(axis=1)[:, None], np.zeros(len(e))
            for code, tau in zip(self.codes, self.p_hat, strict=True):
                coefficients = e * code - total * tau
                square += np.sum((coefficients @ self.gram) * coefficients, axis=1)
            found.append(np.sqrt(np.maximum(square, 0.0)))
        return np.concatenate(found) / np.sqrt(max(self.n_left, 1.0))

    def covering(self, confidence: float, n_draws: int, seed: int) -> float:
        """A radius that covers the distance with this probability.

        Normal multipliers do not see that the spread itself is estimated; the quantile of Student's law in
        place of the normal one makes up for it.
        """
        distances = np.sort(self.distances(n_draws, seed))
        place = min(n_draws - 1, int(stats.binom.ppf(SURE_OF_QUANTILE, n_draws, confidence)))
        tail = 0.5 * (1.0 - confidence)
        widening = stats.t.isf(tail, max(self.n_left, 1.0)) / stats.norm.isf(tail)
        return float(distances[place] * widening)
