"""The L1 support vector machine in the form of the minimax problem, so that the same engines solve it.

    min over beta, b of  sum_yi mass_yi (1 - margin_yi)_+ + sum_j lambda_j |beta_j|

Its dual is a program over masses on labels x instances, like that of the minimax risk:

    max sum w   s.t.  0 <= w <= mass,  |(C w) Psi| <= lambda,  and sum C w = 0 for the intercept

The centre of its set is w = 0. The multipliers of the moment constraints are beta: with the signed coding
C = [1, -1] class 1 is where ``Psi'mu + b`` is positive, and the margins are ``-(s_y + C_y b)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray

# Bisections for the intercept of a smoothed answer: to full accuracy.
N_BISECTIONS = 60


@dataclass(frozen=True)
class HingeLoss:
    """The dual objective ``sum w`` on ``0 <= w <= mass`` (2 x n), its two classes balanced if asked for."""

    mass: FloatArray
    has_intercept: bool

    def value(self, distribution: FloatArray) -> float:
        return float(distribution.sum())

    def conjugate(self, scores: FloatArray) -> float:
        """The hinge loss ``sum mass (1 + s)_+``, at the best intercept if there is one."""
        return self._loss(scores, self.intercept(scores))

    def intercept(self, scores: FloatArray) -> float:
        """The b that minimises ``sum_i mass_0i (1 + s_0i + b)_+ + mass_1i (1 + s_1i - b)_+``.

        A convex piecewise linear function: its slope, ``-sum mass_1`` at the far left, grows by ``mass`` at
        each kink. Where a whole interval is optimal, its middle is taken.
        """
        if not self.has_intercept:
            return 0.0
        kink = np.concatenate([-(1.0 + scores[0]), 1.0 + scores[1]])
        mass = self.mass.ravel()
        order = np.argsort(kink, kind="stable")
        order = order[mass[order] > 0.0]
        slope = np.cumsum(mass[order]) - self.mass[1].sum()
        # Rounding must not tell a flat piece from one that is nearly flat.
        flat = 1e-14 * mass.sum()
        first = int(np.argmax(slope >= -flat))
        last = first + 1 if slope[first] <= flat and first + 1 < len(order) else first
        return float(0.5 * (kink[order[first]] + kink[order[last]]))

    def repaired(self, w: FloatArray, centre: FloatArray) -> FloatArray:
        w = np.clip(w, 0.0, self.mass)
        return self._balanced(w) if self.has_intercept else w

    def respond(self, scores: FloatArray, temperature: float) -> FloatArray:
        """The gradient of the hinge loss with its kink rounded off over a length of ``temperature``."""
        if not self.has_intercept:
            return self._rounded(scores, temperature, 0.0)
        high = 1.0 + np.abs(scores).max()  # farther out one of the classes has no loss left
        low = -high
        for _ in range(N_BISECTIONS):
            middle = 0.5 * (low + high)
            w = self._rounded(scores, temperature, middle)
            if w[0].sum() > w[1].sum():
                high = middle
            else:
                low = middle
        return self._balanced(self._rounded(scores, temperature, 0.5 * (low + high)))

    def _loss(self, scores: FloatArray, intercept: float) -> float:
        return float(np.sum(self.mass * np.maximum(1.0 + _shifted(scores, intercept), 0.0)))

    def _rounded(self, scores: FloatArray, temperature: float, intercept: float) -> FloatArray:
        return self.mass * np.clip((1.0 + _shifted(scores, intercept)) / temperature, 0.0, 1.0)

    @staticmethod
    def _balanced(w: FloatArray) -> FloatArray:
        """The heavier class shrunk to the mass of the lighter one."""
        total = w.sum(axis=1, keepdims=True)
        return w * (total.min() / np.where(total > 0.0, total, 1.0))


def _shifted(scores: FloatArray, intercept: float) -> FloatArray:
    return scores + np.array([[intercept], [-intercept]])
