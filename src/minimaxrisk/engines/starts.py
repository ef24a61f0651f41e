"""Which components of Phi take part in the first program of constraint generation.

The start decides how many rounds are needed, never the answer.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk.arrays import FloatArray, IntArray
from minimaxrisk.problem import Problem

# Temperature at which the maximum over instances in phi is smoothed, and steps taken.
TEMPERATURE = 0.05
N_STEPS = 30


def by_correlation(problem: Problem, n_components: int) -> IntArray:
    """The components that depart most from independence of the label.

    That is, those whose constraint the uniform distribution, optimal for mu = 0, violates most; for the
    signed coding these are the largest |tau| - lambda.
    """
    violation = _violation(problem, _uniform(problem))
    if n_components >= len(violation):
        return np.arange(len(violation))
    return np.sort(np.argpartition(-violation, n_components - 1)[:n_components])


def by_first_order(problem: Problem, n_components: int) -> IntArray:
    """The largest coefficients after some accelerated proximal gradient steps on a smoothed problem.

    Where fewer than ``n_components`` coefficients are non-zero, the most violated components fill up.
    """
    mu, distribution = _first_order_pair(problem)
    size, violation = np.abs(mu).ravel(), _violation(problem, distribution)
    return np.sort(np.lexsort((-violation, -size))[:n_components])


def by_columns(problem: Problem, columns: IntArray) -> IntArray:
    """All components that belong to columns of the caller."""
    n_blocks, d = problem.tau.shape
    inner = columns + problem.scale.n_leading
    return (np.arange(n_blocks)[:, None] * d + inner).ravel()


def _first_order_pair(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Coefficients, and the distribution at which their last gradient was taken.

    phi is replaced by ``t log mean_i exp(phi_i / t)``, whose gradient is the mean of Phi under a
    distribution w on instances x labels; the step length comes from power iterations on the features.
    """
    mu = previous = np.zeros_like(problem.tau)
    momentum, t = mu, 1.0
    step = TEMPERATURE / _curvature(problem)
    distribution = _uniform(problem)
    for _ in range(N_STEPS):
        distribution = _smoothed_adversary(problem.scores_of(momentum))
        target = momentum - step * (problem.moments_of(distribution) - problem.tau)
        mu = np.sign(target) * np.maximum(np.abs(target) - step * problem.lam, 0.0)
        t_next = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        momentum = mu + (t - 1.0) / t_next * (mu - previous)
        previous, t = mu, t_next
    return mu, distribution


def _uniform(problem: Problem) -> FloatArray:
    return np.full(problem.p_hat.shape, 1.0 / problem.p_hat.size)


def _violation(problem: Problem, distribution: FloatArray) -> FloatArray:
    return (np.abs(problem.moments_of(distribution) - problem.tau) - problem.lam).ravel()


def _smoothed_adversary(scores: FloatArray) -> FloatArray:
    """w proportional to exp(phi_i / t) over instances, uniform over the labels that attain phi_i."""
    order = np.argsort(-scores, axis=0, kind="stable")
    descending = np.take_along_axis(scores, order, axis=0)
    sizes = np.arange(1, len(scores) + 1)[:, None]
    phi_of_size = (np.cumsum(descending, axis=0) - 1.0) / sizes
    best = np.argmax(phi_of_size, axis=0)
    phi = phi_of_size[best, np.arange(scores.shape[1])]
    over_instances = np.exp((phi - phi.max()) / TEMPERATURE)
    over_instances /= over_instances.sum()
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(sizes - 1, order.shape), axis=0)
    return np.where(rank <= best, over_instances / (best + 1.0), 0.0)


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
