"""Expectation estimates tau and standard deviations sigma of Phi(x, y), from moments per class.

The formulas from moments per class add non-negative terms only. The familiar ``E[z^2] - E[z]^2`` would lose
half of the digits exactly where it matters: for a feature that nearly equals the label.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.features.class_moments import ClassMoments, within_class_moments
from minimaxrisk.features.coding import Coding
from minimaxrisk.features.dense import ENOUGH_VARIANCE, DenseFeatures


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


def signed_moments(
    features: DenseFeatures, mass: FloatArray, p_hats: Sequence[FloatArray], coding: Coding
) -> tuple[FloatArray, FloatArray]:
    """tau and sigma of the signed coding for many labellings of the same masses (labellings x 1 x d).

    ``Phi^2 = Psi^2`` whatever the label, so that ``sigma^2 = m - tau^2`` with the same m for all labellings.
    Where that would lose digits, the formula above takes its place.
    """
    square = features.means_of(np.square, mass[None])[0]
    tau = features.correlate_many(np.concatenate([coding.encode(p_hat) for p_hat in p_hats]))
    sigma = np.empty_like(tau)
    for p_hat, mean, deviation in zip(p_hats, tau, sigma, strict=True):
        np.subtract(square, np.square(mean), out=deviation)
        lossy = np.flatnonzero(deviation < ENOUGH_VARIANCE * square)
        np.sqrt(deviation, out=deviation, where=deviation > 0.0)
        if len(lossy):
            within = within_class_moments(features.columns(lossy), p_hat)
            moments = ClassMoments(p_hat.sum(axis=1), *within)
            deviation[lossy] = deviation_of_phi(mean[None, lossy], moments, coding)[0]
    return tau[:, None], sigma[:, None]
