"""Coefficients on the caller's columns, in scikit-learn's orientation, and what they say about new data.

The signed coding gives class 0 the plus sign; scikit-learn wants positive decisions to mean class 1.
So one row of coefficients is minus mu, and one row per class is mu itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.table import product_with_columns
from minimaxrisk.features.coding import Coding
from minimaxrisk.features.matrix import ColumnScale
from minimaxrisk.problem import rule
from minimaxrisk.problem.problem import Problem


@dataclass(frozen=True)
class LinearRule:
    """A rule: its columns, their coefficients (1 or K rows), intercepts, and the threshold phi.

    The threshold is None where every instance has its own.
    """

    n_features: int
    columns: IntArray
    coef: FloatArray
    intercept: FloatArray
    threshold: float | None

    @classmethod
    def from_full(cls, coef: FloatArray, intercept: FloatArray, threshold: float | None) -> LinearRule:
        """From coefficients of all columns, most of them zero."""
        columns = np.flatnonzero(coef.any(axis=0))
        return cls(coef.shape[1], columns, coef[:, columns], intercept, threshold)

    @classmethod
    def of_problem(cls, mu: FloatArray, problem: Problem) -> LinearRule:
        """The randomized rule that goes with coefficients of a problem."""
        threshold = None if problem.marginal.is_known else problem.threshold_of(mu)
        return cls.from_mu(mu, threshold, problem.coding, problem.scale)

    @classmethod
    def from_mu(
        cls, mu: FloatArray, threshold: float | None, coding: Coding, scale: ColumnScale
    ) -> LinearRule:
        coef, intercept = scale.to_original(mu)
        sign = _orientation(coding.n_blocks)
        # Adding 0.0 turns -0.0 into 0.0, which prints better.
        return cls.from_full(sign * coef + 0.0, sign * intercept + 0.0, threshold)

    @classmethod
    def of_some(cls, components: IntArray, values: FloatArray, problem: Problem) -> LinearRule:
        """``of_problem`` from the coefficients that are not zero."""
        (n_blocks, d), lead = problem.shape, problem.scale.n_leading
        used = np.flatnonzero(values)
        components, values = components[used], values[used]
        columns = np.unique(components % d)
        mu = np.zeros((n_blocks, len(columns)))
        mu[components // d, np.searchsorted(columns, components % d)] = values
        is_feature = columns >= lead
        columns, constant = columns[is_feature] - lead, mu[:, ~is_feature].sum(axis=1)
        shift, scale = problem.scale.at(columns)
        coef, sign = mu[:, is_feature] / scale, _orientation(n_blocks)
        threshold = None if problem.marginal.is_known else problem.threshold_of_some(components, values)
        # Adding 0.0 turns -0.0 into 0.0, which prints better.
        intercept = sign * (constant - coef @ shift) + 0.0
        return cls(d - lead, columns, sign * coef, intercept, threshold)

    @property
    def full_coef(self) -> FloatArray:
        """Coefficients of all columns."""
        full = np.zeros((len(self.coef), self.n_features))
        full[:, self.columns] = self.coef
        return full

    def to_mu(self, scale: ColumnScale) -> FloatArray:
        sign = _orientation(len(self.coef))
        return scale.from_original(sign * self.full_coef, sign * self.intercept)

    def use_of_components(self, scale: ColumnScale) -> FloatArray:
        """Sizes of the coefficients of the inner columns (B x d)."""
        return np.abs(self.to_mu(scale))

    def scores(self, X: DataMatrix) -> FloatArray:
        """Scores of every class for every row of X (K x n)."""
        decision = product_with_columns(X, self.columns, self.coef.T) + self.intercept
        if len(self.coef) == 1:
            return np.vstack([-decision[:, 0], decision[:, 0]])
        return np.ascontiguousarray(decision.T)

    def probabilities(self, X: DataMatrix) -> FloatArray:
        """h(y|x) of the randomized rule for every row of X (K x n)."""
        return rule.probabilities(self.scores(X), self.threshold)


def _orientation(n_blocks: int) -> float:
    return -1.0 if n_blocks == 1 else 1.0
