"""From scores to decisions: the threshold phi, the randomized rule h(y|x) and the deterministic one.

Scores come with one row per class and one column per instance (K x n).
"""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray


def threshold(scores: FloatArray) -> float:
    """phi(mu): the smallest phi with ``sum_y (s_y(x) - phi)_+ <= 1`` for every instance."""
    return float(instance_thresholds(scores).max())


def instance_thresholds(scores: FloatArray) -> FloatArray:
    """phi_x for each instance, with ``sum_y (s_y(x) - phi_x)_+ = 1``.

    The paper maximises ``(sum_{y in C} s_y - 1)/|C|`` over all label subsets C. For a given size the
    best subset holds the largest scores, so sorting replaces the 2^K - 1 subsets.
    """
    descending = -np.sort(-scores, axis=0)
    sizes = np.arange(1, scores.shape[0] + 1)[:, None]
    best: FloatArray = np.max((np.cumsum(descending, axis=0) - 1.0) / sizes, axis=0)
    return best


def total_excess(scores: FloatArray, phi: float) -> FloatArray:
    """d_x = sum_y (s_y(x) - phi)_+ for each instance; at most one where the bound's proof holds."""
    return np.maximum(scores - phi, 0.0).sum(axis=0)


def probabilities(scores: FloatArray, phi: float | None) -> FloatArray:
    """h(y|x) = (s_y - phi)_+ / d_x with d_x the sum over y, and 1/K where d_x is zero (K x n).

    Where phi is None every instance has its own, at which d_x is one.
    """
    excess = np.maximum(scores - (instance_thresholds(scores) if phi is None else phi), 0.0)
    d_x = excess.sum(axis=0)
    uniform = np.full_like(excess, 1.0 / scores.shape[0])
    # A subnormal d_x would make the division overflow; it is as good as zero.
    return np.divide(excess, d_x, out=uniform, where=d_x > np.finfo(np.float64).tiny)


def arg_max(scores: FloatArray) -> IntArray:
    """The deterministic rule: the class with the largest score, the first one in a tie."""
    return np.argmax(scores, axis=0)


def arg_max_probabilities(scores: FloatArray) -> FloatArray:
    """The deterministic rule written as h(y|x), with entries 0 and 1 (K x n)."""
    rule = np.zeros_like(scores)
    rule[arg_max(scores), np.arange(scores.shape[1])] = 1.0
    return rule
