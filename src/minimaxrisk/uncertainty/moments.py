"""Expectation estimates tau and standard deviations sigma of Phi(x, y), from moments per class.

Every formula below adds non-negative terms only. The familiar ``E[z^2] - E[z]^2`` would lose half of
the digits exactly where it matters: for a feature that nearly equals the label.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.features.class_moments import ClassMoments
from minimaxrisk.features.coding import Coding


def mean_of_phi(moments: ClassMoments, coding: Coding) -> FloatArray:
    """tau, the mean of Phi(x, y) (B x d)."""
    tau = np.zeros((coding.n_blocks, moments.mean.shape[1]))
    for b, code in enumerate(coding.matrix):
        for p, c, mean in zip(moments.prior, code, moments.mean, strict=True):
            tau[b] += p * c * mean
    return tau


def deviation_of_phi(tau: FloatArray, moments: ClassMoments, coding: Coding) -> FloatArray:
    """Root mean square of Phi(x, y) - tau (B x d).

    By the law of total variance
    ``sigma^2 = sum_k P_k C_bk^2 var_k + sum_k P_k (C_bk mean_k - tau)^2``.
    """
    square = np.zeros_like(tau)
    for b, code in enumerate(coding.matrix):
        for p, c, mean, var in zip(moments.prior, code, moments.mean, moments.variance, strict=True):
            square[b] += p * (c**2 * var + (c * mean - tau[b]) ** 2)
    return np.sqrt(square)
