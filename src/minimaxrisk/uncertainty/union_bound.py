"""Simultaneous coverage by Bonferroni's inequality: exact for normal components, blind to correlations."""

from __future__ import annotations

from dataclasses import dataclass

from minimaxrisk.uncertainty.assumptions import broken_assumptions
from minimaxrisk.uncertainty.radius import MomentSample, Radii, multiples_of_standard_errors, student_factor


@dataclass(frozen=True)
class UnionBound:
    """``s = t_{n-1}^{-1}(1 - delta/(2m)) sqrt(n/(n-1))`` with m the number of components that vary."""

    confidence: float

    def radii(self, sample: MomentSample) -> Radii:
        factor = union_bound_factor(sample, self.confidence)
        return multiples_of_standard_errors(sample, factor, broken_assumptions(sample, factor))


def union_bound_factor(sample: MomentSample, confidence: float) -> float:
    n_components = max(1, int((sample.sigma > 0.0).sum()))
    return student_factor((1.0 - confidence) / (2.0 * n_components), sample.n)
