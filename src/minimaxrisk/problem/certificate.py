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

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.problem.objective import Objective
from minimaxrisk.problem.problem import Problem


def upper_bound(
    problem: Problem, objective: Objective, mu: FloatArray, scores: FloatArray | None = None
) -> float:
    """U(mu) over the whole uncertainty set, from ``scores = problem.scores_of(mu)`` where they are known."""
    if scores is None:
        scores = problem.scores_of(mu)
    return problem.penalty_of(mu) + objective.conjugate(scores)


def upper_bound_of_some(
    problem: Problem, objective: Objective, components: IntArray, values: FloatArray
) -> float:
    """U of the coefficients that are ``values`` at some components and zero elsewhere."""
    penalty, scores = problem.penalty_and_scores(components, values)
    return penalty + objective.conjugate(scores)


@dataclass(frozen=True)
class FeasiblePoint:
    """A distribution inside the uncertainty set and the lower bound that it proves."""

    distribution: FloatArray
    bound: float


def lower_bound(
    problem: Problem,
    objective: Objective,
    distribution: FloatArray,
    moments: FloatArray | float | None = None,
) -> FeasiblePoint:
    """L(w), from ``moments = problem.moments_of(distribution)`` where they are known already."""
    theta = problem.share_inside(distribution, moments)
    mixed = theta * distribution + (1.0 - theta) * problem.centre
    return FeasiblePoint(mixed, objective.value(mixed))
