"""Simultaneous coverage by Bonferroni's inequality: exact for normal components, blind to correlations."""

from __future__ import annotations

from dataclasses import dataclass

from minimaxrisk.uncertainty.assumptions import broken_assumptions
from minimaxrisk.uncertainty.radius import (
    MomentSample,
    Radii,
    multiples_of_standard_errors,
    split_level,
    union_bound_factor,
)


@dataclass(frozen=True)
class UnionBound:
    """``s = t_k^{-1}(1 - delta/(2m)) sqrt(n/n')`` with m the number of components that vary."""

    confidence: float

    def radii(self, sample: MomentSample) -> Radii:
        level, intercept_level = split_level(self.confidence, has_intercept=sample.scale.has_intercept)
        factor = union_bound_factor(sample, level)
        lam = multiples_of_standard_errors(sample, factor, intercept_level=intercept_level)
        return Radii(lam, factor, broken_assumptions(sample, factor), covers=True)
