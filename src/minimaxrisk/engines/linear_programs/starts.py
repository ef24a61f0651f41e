"""Where constraint generation starts: this decides how many rounds are needed, never the answer."""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.matrices.standardised import squared_norm
from minimaxrisk.problem.problem import Box

# Of the start: temperature at which the adversary's answer is smoothed, and steps taken.
TEMPERATURE = 0.05
N_STEPS = 30


def by_correlation(problem: Box, n_components: int) -> IntArray:
    """The components whose constraint the adversary's answer to mu = 0 violates most.

    The answer is the uniform distribution: with the signed coding these are the largest ``|tau| - lambda``.
    """
    if n_components >= problem.tau.size:
        return np.arange(problem.tau.size)
    nothing = np.zeros_like(problem.centre)
    violation = _violation(problem, problem.objective.respond(nothing, TEMPERATURE))
    return np.sort(np.argpartition(-violation, n_components - 1)[:n_components])


def by_first_order(problem: Box, n_components: int) -> IntArray:
    """The largest coefficients after some accelerated proximal gradient steps on a smoothed problem.

    Where fewer than ``n_components`` coefficients are non-zero, the most violated components fill up.
    """
    if n_components >= problem.tau.size:
        return np.arange(problem.tau.size)
    return most_important(problem, *first_order_pair(problem), n_components)


def most_important(problem: Box, mu: FloatArray, answer: FloatArray, n_components: int) -> IntArray:
    """The largest coefficients, and after those the components that the adversary's answer violates most."""
    size, violation = np.abs(mu).ravel(), _violation(problem, answer)
    return np.sort(np.lexsort((-violation, -size))[:n_components])


def by_columns(problem: Box, columns: IntArray) -> IntArray:
    """All components that belong to columns of the caller."""
    n_blocks, d = problem.tau.shape
    inner = np.unique(problem.scale.inner_of(columns)) + problem.scale.n_leading
    return (np.arange(n_blocks)[:, None] * d + inner).ravel()


def first_order_pair(problem: Box) -> tuple[FloatArray, FloatArray]:
    """Coefficients, and the adversary's answer at which their last gradient was taken.

    The gradient of the smoothed conjugate is the moments of that answer, and its curvature is limited by the
    largest eigenvalue of Psi'Psi/n; any step is right where Psi is zero.
    """
    mu = previous = np.zeros_like(problem.tau)
    momentum, t = mu, 1.0
    objective, n = problem.objective, problem.n_instances
    square = squared_norm(problem.features, np.linspace(1.0, 2.0, n)[None, :], 5)
    step = TEMPERATURE / (square / n if square > 0.0 else 1.0)
    answer = objective.respond(np.zeros_like(problem.centre), TEMPERATURE)
    for _ in range(N_STEPS):
        answer = objective.respond(problem.scores_of(momentum), TEMPERATURE)
        target = momentum - step * (problem.moments_of(answer) - problem.tau)
        mu = np.sign(target) * np.maximum(np.abs(target) - step * problem.lam, 0.0)
        t_next = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        momentum = mu + (t - 1.0) / t_next * (mu - previous)
        previous, t = mu, t_next
    return mu, answer


def _violation(problem: Box, distribution: FloatArray) -> FloatArray:
    return (np.abs(problem.moments_of(distribution) - problem.tau) - problem.lam).ravel()
