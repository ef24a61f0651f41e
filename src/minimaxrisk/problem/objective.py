"""What the adversary maximises over the uncertainty set.

Each objective is a concave function of masses w on labels x instances, on a domain of its own (for the
minimax risk the distributions), together with its conjugate ``max over the domain of value(w) + sum w_yi
s_yi``. With the two, weak duality gives for every mu the bound ``-tau'mu + lambda'|mu| + conjugate(scores
of mu)`` on the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.problem.marginal import FREE, Marginal
from minimaxrisk.problem.rule import instance_thresholds


class Objective(Protocol):
    """A concave function of w (K x n), its domain and its conjugate."""

    def value(self, distribution: FloatArray) -> float: ...

    def conjugate(self, scores: FloatArray) -> float: ...

    def repaired(self, w: FloatArray, centre: FloatArray) -> FloatArray:
        """What a solver returned, cleared of rounding: a point of the domain."""
        ...


class SmoothableObjective(Objective, Protocol):
    """An objective whose conjugate a first-order method can smooth."""

    def respond(self, scores: FloatArray, temperature: float) -> FloatArray:
        """The gradient of the conjugate, smoothed: masses that nearly attain its maximum (K x n)."""
        ...


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
        return self.marginal.repaired(w, centre)

    def respond(self, scores: FloatArray, temperature: float) -> FloatArray:
        """Soft masses over instances, shared alike by the labels that attain phi_i."""
        order = np.argsort(-scores, axis=0, kind="stable")
        descending = np.take_along_axis(scores, order, axis=0)
        sizes = np.arange(1, len(scores) + 1)[:, None]
        phi_of_size = (np.cumsum(descending, axis=0) - 1.0) / sizes
        best = np.argmax(phi_of_size, axis=0)
        phi = phi_of_size[best, np.arange(scores.shape[1])]
        over_instances = self.marginal.soft_masses(phi, temperature)
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.broadcast_to(sizes - 1, order.shape), axis=0)
        return np.where(rank <= best, over_instances / (best + 1.0), 0.0)


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
