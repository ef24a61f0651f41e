"""What the adversary maximises over the uncertainty set.

Each objective is a concave function of a distribution w on labels x instances together with its
conjugate ``max over distributions w of value(w) + sum w_yi s_yi``. With the two, weak duality gives for
every mu the bound ``-tau'mu + lambda'|mu| + conjugate(scores of mu)`` on the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from minimaxrisk.arrays import FloatArray
from minimaxrisk.rule import threshold


class Objective(Protocol):
    """A concave function of w (K x n) and its conjugate."""

    def value(self, distribution: FloatArray) -> float: ...

    def conjugate(self, scores: FloatArray) -> float: ...


@dataclass(frozen=True)
class BayesError:
    """Error of the best rule against w: the minimax risk problem.

    ``value = 1 - sum_i max_y w_yi``; the conjugate is ``1 + phi(mu)``, because spreading mass over the
    labels in C at one instance earns ``(sum_{y in C} s_y - 1)/|C|`` and phi is the largest such number.
    """

    def value(self, distribution: FloatArray) -> float:
        return 1.0 - float(distribution.max(axis=0).sum())

    def conjugate(self, scores: FloatArray) -> float:
        return 1.0 + threshold(scores)


@dataclass(frozen=True)
class ExpectedLoss:
    """Expected loss of a fixed rule, ``loss[y, i]`` being what it loses at instance i with label y."""

    loss: FloatArray

    def value(self, distribution: FloatArray) -> float:
        return float(np.sum(self.loss * distribution))

    def conjugate(self, scores: FloatArray) -> float:
        return float(np.max(self.loss + scores))
