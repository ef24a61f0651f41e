"""What the adversary maximises over the uncertainty set, and how it may lay mass over the instances.

Each objective is a concave function of masses w on labels x instances, on a domain of its own (for the
minimax risk the distributions), together with its conjugate ``max over the domain of value(w) + sum w_yi
s_yi``. With the two, weak duality gives for every mu the bound ``-tau'mu + lambda'|mu| + conjugate(scores
of mu)`` on the maximum.

* ``BayesError``: the minimax risk.
* ``ExpectedLoss``: the largest loss of a fixed rule.
* ``HingeLoss``: the L1 support vector machine in the form of the minimax problem, so that the same engines
  solve it,

      min over beta, b of  sum_yi mass_yi (1 - margin_yi)_+ + sum_j lambda_j |beta_j|

  Its dual is a program over masses on labels x instances, like that of the minimax risk:

      max sum w   s.t.  0 <= w <= mass,  |(C w) Psi| <= lambda,  and sum C w = 0 for the intercept

  The centre of its set is w = 0. The multipliers of the moment constraints are beta: with the signed coding
  C = [1, -1] class 1 is where ``Psi'mu + b`` is positive, and the margins are ``-(s_y + C_y b)``.

The first two have a marginal. ``FreeMarginal`` allows any distribution on labels x instances, as in the
paper. With ``KnownMarginal`` the mass of every instance stays what it is, ``sum_y w_yi = p_i``, and labels
alone change. That set is smaller, so R* can only be smaller (Mazuelas, Romero and Grünwald, "Minimax Risk
Classifiers with 0-1 Loss", Journal of Machine Learning Research 24, 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.problem.rule import best_sets, instance_thresholds


@dataclass(frozen=True)
class FreeMarginal:
    """All distributions on the instances."""

    is_known: ClassVar[bool] = False

    def largest_mean(self, gains: FloatArray) -> float:
        """The largest of ``sum_i m_i gains_i`` over the masses m that are allowed."""
        return float(gains.max())

    def soft_masses(self, gains: FloatArray, temperature: float) -> FloatArray:
        """Masses that nearly attain it and change smoothly with the gains.

        Proportional to exp(gain / t): the gradient of ``t log mean_i exp(gain_i / t)``.
        """
        masses = np.exp((gains - gains.max()) / temperature)
        return masses / masses.sum()

    def repaired(self, w: FloatArray, centre: FloatArray) -> FloatArray:
        """w made non-negative, with masses that are allowed; missing mass is shared alike by all labels."""
        w = np.maximum(w, 0.0)
        left_over = max(0.0, 1.0 - float(w.sum()))
        w += left_over * centre.sum(axis=0) / len(w)
        return w / w.sum()


FREE = FreeMarginal()


@dataclass(frozen=True)
class KnownMarginal:
    """The masses p (n), all positive."""

    is_known: ClassVar[bool] = True

    masses: FloatArray

    def largest_mean(self, gains: FloatArray) -> float:
        return float(self.masses @ gains)

    def soft_masses(self, gains: FloatArray, temperature: float) -> FloatArray:
        return self.masses

    def repaired(self, w: FloatArray, centre: FloatArray) -> FloatArray:
        w = np.maximum(w, 0.0)
        w += np.maximum(0.0, self.masses - w.sum(axis=0)) / len(w)
        return w * (self.masses / w.sum(axis=0))


Marginal: TypeAlias = FreeMarginal | KnownMarginal


@dataclass(frozen=True)
class BayesError:
    """Error of the best rule against w: the minimax risk problem.

    ``value = 1 - sum_i max_y w_yi``; the conjugate is ``1 + phi(mu)``, because mass on one instance, shared
    alike by the labels in C, earns ``(sum_{y in C} s_y - 1)/|C|``. The largest such number is phi_i, and phi
    is the largest or the mean of those, as the marginal has it.
    """

    marginal: Marginal = FREE

    def value(self, distribution: FloatArray) -> float:
        return 1.0 - float(distribution.max(axis=0).sum())

    def conjugate(self, scores: FloatArray) -> float:
        return 1.0 + self.marginal.largest_mean(instance_thresholds(scores))

    def repaired(self, w: FloatArray, centre: FloatArray) -> FloatArray:
        """A point of the domain near w, which a solver returned with rounding errors."""
        return self.marginal.repaired(w, centre)

    def respond(self, scores: FloatArray, temperature: float) -> FloatArray:
        """The gradient of the conjugate, smoothed: masses that nearly attain its maximum (K x n).

        Soft masses over instances, shared alike by the labels that attain phi_i.
        """
        phi, is_in = best_sets(scores)
        over_instances = self.marginal.soft_masses(phi, temperature)
        return np.where(is_in, over_instances / is_in.sum(axis=0), 0.0)


@dataclass(frozen=True)
class ExpectedLoss:
    """Expected loss of a fixed rule, ``loss[y, i]`` being what it loses at instance i with label y."""

    loss: FloatArray
    marginal: Marginal = FREE

    def value(self, distribution: FloatArray) -> float:
        return float(np.sum(self.loss * distribution))

    def conjugate(self, scores: FloatArray) -> float:
        return self.marginal.largest_mean(np.max(self.loss + scores, axis=0))

    def repaired(self, w: FloatArray, centre: FloatArray) -> FloatArray:
        return self.marginal.repaired(w, centre)


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
        shifted = _shifted(scores, self.intercept(scores))
        return float(np.sum(self.mass * np.maximum(1.0 + shifted, 0.0)))

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

    def _rounded(self, scores: FloatArray, temperature: float, intercept: float) -> FloatArray:
        return self.mass * np.clip((1.0 + _shifted(scores, intercept)) / temperature, 0.0, 1.0)

    @staticmethod
    def _balanced(w: FloatArray) -> FloatArray:
        """The heavier class shrunk to the mass of the lighter one."""
        total = w.sum(axis=1, keepdims=True)
        return w * (total.min() / np.where(total > 0.0, total, 1.0))


def _shifted(scores: FloatArray, intercept: float) -> FloatArray:
    return scores + np.array([[intercept], [-intercept]])


Objective: TypeAlias = BayesError | ExpectedLoss | HingeLoss
# Those whose conjugate a first-order method can smooth.
SmoothableObjective: TypeAlias = BayesError | HingeLoss
