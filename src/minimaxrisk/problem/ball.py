"""The learning problem with a ball of means in place of a box, known through scalar products alone.

    R* = min over mu of  1 - tau'mu + rho ||mu|| + phi(mu)
       = max 1 - sum_i max_y w_yi   s.t.  w a distribution,  ||E_w Phi - tau|| <= rho

The optimal mu lies in the span of the instances, ``mu_b = sum_i A_bi psi(x_i)``. With the kernel matrix G of
the instances, scores are ``A G``, ``||mu||^2 = sum (A G) * A``, and the distance of a distribution from the
centre is ``||C (w - centre)||_G``. Features are never formed, so psi may have infinitely many.

Bounds that need no trust in a solver. Upper: for every A and every w of the set, by Cauchy and Schwarz's
inequality ``mu'(E_w Phi - tau) >= -rho ||mu||``. Lower: mixing a distribution with the centre shrinks its
distance; the largest share that is inside gives a distribution of the set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.features.matrix import Coding
from minimaxrisk.problem.objective import FREE, BayesError, Marginal
from minimaxrisk.problem.problem import FeasiblePoint
from minimaxrisk.problem.rule import instance_thresholds


@dataclass(frozen=True)
class BallProblem:
    """Scalar products of the instances, their labels, and the radius of the ball around their mean."""

    gram: FloatArray  # n x n
    coding: Coding
    centre: FloatArray  # K x n: the empirical distribution
    radius: float
    marginal: Marginal = FREE

    @property
    def objective(self) -> BayesError:
        return BayesError(self.marginal)

    @property
    def n_instances(self) -> int:
        return len(self.gram)

    def norm(self, coefficients: FloatArray) -> float:
        """Of ``sum_i A_bi psi(x_i)``, all blocks together."""
        return float(np.sqrt(max(0.0, float(np.sum((coefficients @ self.gram) * coefficients)))))

    def scores_of(self, coefficients: FloatArray) -> FloatArray:
        """Scores of every class for every instance (K x n), from coefficients (B x n)."""
        return self.coding.scores(coefficients @ self.gram)

    def threshold_of(self, scores: FloatArray) -> float:
        """phi: the largest phi_i, or their mean where the masses of instances are known."""
        return self.marginal.largest_mean(instance_thresholds(scores))

    def upper_bound(self, coefficients: FloatArray) -> float:
        """U(A), which no distribution of the set exceeds."""
        scores = self.scores_of(coefficients)
        gain = float(np.sum(self.centre * scores))
        return self.objective.conjugate(scores) - gain + self.radius * self.norm(coefficients)

    def lower_bound(self, distribution: FloatArray) -> FeasiblePoint:
        """L(w), and the mixture of w with the centre that proves it."""
        w = self.objective.repaired(distribution, self.centre)
        distance = self.norm(self.coding.encode(w - self.centre))
        share = 1.0 if distance <= self.radius else self.radius / distance
        mixed = share * w + (1.0 - share) * self.centre
        return FeasiblePoint(mixed, self.objective.value(mixed))
