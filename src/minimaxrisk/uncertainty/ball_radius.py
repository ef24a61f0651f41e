"""How far the mean of Phi may lie from its estimate in the norm of a kernel's space: one number.

The estimate tau is a mean over independent units Z_u (``samples.independent_units``), so that

    E ||tau - E tau||^2 = sum_u p_u^2 E ||Z_u - E Z_u||^2,

whatever the number of features. Its estimate is the squared standard error; a factor of 1 is the root mean
square of the distance. For a radius that covers with a given probability, the distribution of the distance is
drawn: given the data, ``||sum_u e_u p_u (Z_u - tau)||`` with independent standard normal e has nearly the law
of ``||tau - E tau||``. There is no union over columns, and correlations count. ``broken_assumptions`` says
where the sample visibly has too few units for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.matrices.moments import Coding
from minimaxrisk.samples.independent_units import Units
from minimaxrisk.uncertainty.moments import refuse_too_few
from minimaxrisk.uncertainty.radius import SURE_OF_QUANTILE, Radii

# Draws x units held at a time.
MOST_HELD = 1 << 22
# Fewer units than this, or a variance that is as uncertain as one of so few, tell too little about the tails.
FEWEST_UNITS = 8


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
        units.check_coding(coding.name)
        if units.shares is not None:
            gram = units.shares @ gram @ units.shares.T
        label, unit = np.nonzero(units.p_hat)
        gram = gram[np.ix_(unit, unit)]  # an instance with two labels is two units
        codes = coding.matrix[:, label]
        masses = units.p_hat[label, unit]
        return cls(
            gram, codes, codes * masses, units.noise[label, unit], units.n, units.n - units.lost_per_mean
        )

    @cached_property
    def variances(self) -> FloatArray:
        """What each unit adds to the variance: ``noise_u ||Z_u - tau||^2``."""
        seen = self.p_hat @ self.gram
        square = float(np.sum(seen * self.p_hat))
        distance = np.diag(self.gram) - 2.0 * np.sum(self.codes * seen, axis=0) + square
        return self.noise * np.maximum(distance, 0.0)

    @property
    def standard_error(self) -> float:
        """The estimated root mean square of ``||tau - E tau||``."""
        return float(np.sqrt(self.variances.sum() / max(self.n_left, 1.0)))

    @property
    def n_in_variance(self) -> float:
        """The number of units of equal variance whose sum is as uncertain."""
        squares = float(np.sum(self.variances**2))
        return float(self.variances.sum() ** 2 / squares) if squares > 0.0 else self.n

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
        refuse_too_few(self.n, 2.0 * self.n_left - self.n)
        distances = np.sort(self.distances(n_draws, seed))
        place = min(n_draws - 1, int(stats.binom.ppf(SURE_OF_QUANTILE, n_draws, confidence)))
        tail = 0.5 * (1.0 - confidence)
        widening = stats.t.isf(tail, max(self.n_left, 1.0)) / stats.norm.isf(tail)
        return float(distances[place] * widening)


@dataclass(frozen=True)
class BallMultiple:
    """A number of standard errors."""

    factor: float

    def radii(self, sample: UnitMeans) -> Radii:
        return Radii(self.factor * sample.standard_error, self.factor)


@dataclass(frozen=True)
class BallBootstrap:
    """The radius that covers with a probability."""

    confidence: float
    n_draws: int
    seed: int

    def radii(self, sample: UnitMeans) -> Radii:
        error, covering = sample.standard_error, sample.covering(self.confidence, self.n_draws, self.seed)
        factor = covering / error if error > 0.0 else 1.0
        return Radii(factor * error, factor, broken_assumptions(sample), self.seed)


BallRadiusRule: TypeAlias = BallMultiple | BallBootstrap


def ball_radius_rule_of(parameters: Any, seed: int) -> BallRadiusRule:
    """Return the rule that the parameters of a ``MinimaxRiskKernelClassifier`` name."""
    if isinstance(parameters.radius, str):
        return BallBootstrap(parameters.confidence, parameters.n_bootstrap, seed)
    return BallMultiple(float(parameters.radius))


def broken_assumptions(sample: UnitMeans) -> tuple[str, ...]:
    """Remarks on what is visibly wrong."""
    if sample.n < FEWEST_UNITS:
        return (
            f"{sample.n:.3g} samples (or groups) are too few to tell how far their mean may be from the "
            f"truth: the radius cannot promise its coverage; it takes {FEWEST_UNITS} or more",
        )
    if sample.n_in_variance < FEWEST_UNITS:
        return (
            "a few samples lie so far from the others that they alone decide how large the radius is: it "
            "cannot promise its coverage; look at the outlying samples, or use ClippedScaler",
        )
    return ()
