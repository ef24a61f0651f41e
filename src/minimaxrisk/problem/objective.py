"""What the adversary maximises over the uncertainty set, and how it may lay mass over the instances.

Each objective is a concave function of distributions w on labels x instances, together with its conjugate
``max over w of value(w) + sum w_yi s_yi``. With the two, weak duality gives for every mu the bound ``-tau'mu
+ lambda'|mu| + conjugate(scores of mu)`` on the maximum.

* ``BayesError``: the minimax risk.
* ``ExpectedLoss``: the largest loss of a fixed rule.

Both have a marginal. ``FreeMarginal`` allows any distribution on labels x instances, as in the paper. With
``KnownMarginal`` the mass of every instance stays what it is, ``sum_y w_yi = p_i``, and labels alone change.
That set is smaller, so R* can only be smaller (Mazuelas, Romero and Grünwald, "Minimax Risk Classifiers with
0-1 Loss", Journal of Machine Learning Research 24, 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.problem.rule import instance_thresholds


@dataclass(frozen=True)
class FreeMarginal:
    """All distributions on the instances."""

    is_known: ClassVar[bool] = False

    def largest_mean(self, gains: FloatArray) -> float:
        """The largest of ``sum_i m_i gains_i`` over the masses m that are allowed."""
        return float(gains.max())

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

    def costs(self) -> FloatArray | None:
        """Return what each mass costs the adversary in a linear program (K x n).

        None where it pays the largest mass of each instance instead.
        """
        return None


@dataclass(frozen=True)
class ExpectedLoss:
    """Expected loss of a fixed rule, ``loss[y, i]`` being what it loses at instance i with label y."""

    loss: FloatArray
    marginal: Marginal = FREE

    def value(self, distribution: FloatArray) -> float:
        return float(np.sum(self.loss * distribution))

    def conjugate(self, scores: FloatArray) -> float:
        return self.marginal.largest_mean(np.max(self.loss + scores, axis=0))

    def costs(self) -> FloatArray | None:
        return -self.loss

    def repaired(self, w: FloatArray, centre: FloatArray) -> FloatArray:
        return self.marginal.repaired(w, centre)


Objective: TypeAlias = BayesError | ExpectedLoss
