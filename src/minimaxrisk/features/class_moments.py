"""Means and variances of the features within each class: all that either coding needs to know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray


@dataclass(frozen=True)
class ClassMoments:
    """Class probabilities (K), and means and population variances within each class (K x d)."""

    prior: FloatArray
    mean: FloatArray
    variance: FloatArray


def within_class_moments(columns: FloatArray, p_hat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and variances of dense columns (n x c) within each class of ``p_hat`` (K x n)."""
    mean = np.empty((p_hat.shape[0], columns.shape[1]))
    variance = np.empty_like(mean)
    for k, mass in enumerate(p_hat):
        members = np.flatnonzero(mass)
        share = mass[members] / mass[members].sum()
        values = columns[members]
        mean[k] = share @ values
        values -= mean[k]
        variance[k] = share @ np.square(values, out=values)
    return mean, variance
