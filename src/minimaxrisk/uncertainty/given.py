"""Radii that the caller gives: as a factor of the standard errors, or one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from minimaxrisk.uncertainty.assumptions import broken_assumptions
from minimaxrisk.uncertainty.radius import (
    SMALLEST_RADIUS,
    MomentSample,
    Radii,
    multiples_of_standard_errors,
    split_level,
    union_bound_factor,
)


@dataclass(frozen=True)
class Multiple:
    """The paper's rule, with the factor given.

    ``confidence`` is the level at which the factor may be large enough for all true means; only then the
    sample is looked at for what would break it. ``intercept_level`` gives the intercept limits of its own.
    """

    factor: float
    confidence: float | None = None
    intercept_level: float | None = None

    def radii(self, sample: MomentSample) -> Radii:
        lam = multiples_of_standard_errors(sample, self.factor, intercept_level=self.intercept_level)
        needed = np.inf if self.is_too_small(sample) else self._needed(sample)
        covers = self.factor >= needed
        # A larger factor than needed makes what is broken no worse.
        return Radii(lam, self.factor, broken_assumptions(sample, needed) if covers else (), covers)

    def is_too_small(self, sample: MomentSample) -> bool:
        """Whether the factor is below the normal law's quantile, which is smaller than any of Student's."""
        if self.confidence is None:
            return True
        tail = (1.0 - self._level(sample)) / (2.0 * max(1, sample.n_features_varying))
        return bool(self.factor < stats.norm.isf(tail))

    def _needed(self, sample: MomentSample) -> float:
        """The smallest factor that covers."""
        return union_bound_factor(sample, self._level(sample)) if sample.n_left > 0.0 else np.inf

    def _level(self, sample: MomentSample) -> float:
        assert self.confidence is not None
        return split_level(self.confidence, has_intercept=sample.scale.has_intercept)[0]


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
