"""Which components of Phi take part in the first program of constraint generation.

The start decides how many rounds are needed, never the answer.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.problem.objective import SmoothableObjective
from minimaxrisk.problem.problem import Problem

# Temperature at which the adversary's answer is smoothed, and steps taken.
TEMPERATURE = 0.05
N_STEPS = 30


def by_correlation(problem: Problem, objective: SmoothableObjective, n_components: int) -> IntArray:
    """The components that depart most from independence of the label.

    That is, those whose constraint the adversary's answer to mu = 0 violates most. For the minimax risk
    this is the uniform distribution; with the signed coding these are the largest ``|tau| - lambda``.
    """
    if n_components >= problem.tau.size:
        return np.arange(problem.tau.size)
    nothing = np.zeros_like(problem.centre)
    violation = _violation(problem, objective.respond(nothing, TEMPERATURE))
    return np.sort(np.argpartition(-violation, n_components - 1)[:n_components])


def by_first_order(problem: Problem, objective: SmoothableObjective, n_components: int) -> IntArray:
    """The largest coefficients after some accelerated proximal gradient steps on a smoothed problem.

    Where fewer than ``n_components`` coefficients are non-zero, the most violated components fill up.
    """
    if n_components >= problem.tau.size:
        return np.arange(problem.tau.size)
    mu, answer = _first_order_pair(problem, objective)
    size, violation = np.abs(mu).ravel(), _violation(problem, answer)
    return np.sort(np.lexsort((-violation, -size))[:n_components])


def by_columns(problem: Problem, columns: IntArray) -> IntArray:
    """All components that belong to columns of the caller."""
    n_blocks, d = problem.tau.shape
    inner = columns + problem.scale.n_leading
    return (np.arange(n_blocks)[:, None] * d + inner).ravel()


def _first_order_pair(problem: Problem, objective: SmoothableObjective) -> tuple[FloatArray, FloatArray]:
    """Coefficients, and the adversary's answer at which their last gradient was taken.

    The gradient of the smoothed conjugate is the moments of that answer; the step length comes from power
    iterations on the features.
    """
    mu = previous = np.zeros_like(problem.tau)
    momentum, t = mu, 1.0
    step = TEMPERATURE / _curvature(problem)
    answer = objective.respond(np.zeros_like(problem.centre), TEMPERATURE)
    for _ in range(N_STEPS):
        answer = objective.respond(problem.scores_of(momentum), TEMPERATURE)
        target = momentum - step * (problem.moments_of(answer) - problem.tau)
        mu = np.sign(target) * np.maximum(np.abs(target) - step * problem.lam, 0.0)
        t_next = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        momentum = mu + (t - 1.0) / t_next * (mu - previous)
        previous, t = mu, t_next
    return mu, answer


def _violation(problem: Problem, distribution: FloatArray) -> FloatArray:
    return (np.abs(problem.moments_of(distribution) - problem.tau) - problem.lam).ravel()


def _curvature(problem: Problem) -> float:
    """Largest eigenvalue of Psi'Psi/n by a few power iterations from a fixed start."""
    n = problem.n_instances
    v = np.linspace(1.0, 2.0, n)[None, :]
    value = 1.0
    for _ in range(5):
        if value == 0.0:
            return 1.0  # all columns are zero, and any step will do
        v = v / np.linalg.norm(v)
        v = problem.features.combine(problem.features.correlate(v))
        value = float(np.linalg.norm(v))
    return value / n if value > 0.0 else 1.0
