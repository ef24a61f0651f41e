"""Bounds that need no trust in any solver: one pass over the features each, and no linear program.

Upper. For every mu and every w of the uncertainty set, ``mu'(E_w Phi - tau) >= -lambda'|mu|``, so
``value(w) <= value(w) + mu'E_w Phi - tau'mu + lambda'|mu| <= conjugate(mu) - tau'mu + lambda'|mu|``.

Lower. The centre, for the minimax risk the empirical distribution, has the moments tau exactly. Mixing any
point w of the objective's domain with it, ``w_theta = theta w + (1 - theta) centre``, shrinks every
violation by theta; with the largest theta that brings all of them inside lambda, w_theta is in the set and
its value bounds the maximum from below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.problem.objective import Objective
from minimaxrisk.problem.problem import Problem
from minimaxrisk.uncertainty.radius import SMALLEST_RADIUS

# Moments of columns at unit root mean square are computed to about this accuracy. Without it a
# distribution exactly on the boundary would fall in or out of the set by rounding. Radii smaller than the
# smallest one of the minimax risk (penalties of the support vector machine may be) get a fraction of it.
ROUNDING = 1e-13
ROUNDING_FRACTION = 1e-6


def upper_bound(
    problem: Problem, objective: Objective, mu: FloatArray, scores: FloatArray | None = None
) -> float:
    """U(mu) over the whole uncertainty set, from ``scores = problem.scores_of(mu)`` where they are known."""
    if scores is None:
        scores = problem.scores_of(mu)
    penalty = np.sum(problem.lam * np.abs(mu)) - np.sum(problem.tau * mu)
    return float(penalty) + objective.conjugate(scores)


@dataclass(frozen=True)
class FeasiblePoint:
    """A distribution inside the uncertainty set and the lower bound that it proves."""

    distribution: FloatArray
    bound: float


def lower_bound(
    problem: Problem,
    objective: Objective,
    distribution: FloatArray,
    moments: FloatArray | None = None,
) -> FeasiblePoint:
    """L(w), from ``moments = problem.moments_of(distribution)`` where they are known already."""
    if moments is None:
        moments = problem.moments_of(distribution)
    deviation = np.abs(moments - problem.tau)
    slack = np.where(problem.lam >= SMALLEST_RADIUS, ROUNDING, ROUNDING_FRACTION * problem.lam)
    outside = deviation > problem.lam + slack
    theta = float(np.min(problem.lam[outside] / deviation[outside], initial=1.0))
    mixed = theta * distribution + (1.0 - theta) * problem.centre
    return FeasiblePoint(mixed, objective.value(mixed))
