"""How often an ensemble errs on samples that its members have not seen.

Each sample is judged by the members that did not learn from it; so the estimate is about an ensemble of fewer
members. Errors on different samples are not independent, as members share samples. The interval takes
account of that by the correction of Nadeau and Bengio: with B members that see n_1 samples each and leave n_2
out, the variance of the mean is ``1 / (B n_2) + 1 / n_1`` times that of one error, where B n_2 independent
errors would have the first term alone. It is a rule of thumb, and the interval approximate.

References
----------
C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.guarantees.holdout import clopper_pearson_limit
from minimaxrisk.problem import rule
from minimaxrisk.problem.average_rule import AverageRule
from minimaxrisk.samples.validation import TrainingData

# The probability that the interval is to cover.
LEVEL = 0.95


@dataclass(frozen=True)
class OutOfBag:
    """The fields are fitted attributes of an ensemble, without the underscore."""

    oob_proba: FloatArray  # n x K; NaN for samples that every member has seen
    oob_error: float
    oob_error_interval: tuple[float, float]


def out_of_bag(fitted: AverageRule, data: TrainingData, in_bag: BoolArray, units: IntArray) -> OutOfBag:
    """Judge each sample by the members that have not seen it (``in_bag`` is members x samples).

    ``units`` says which samples belong together (-1: weight zero); the interval counts units, by their
    weight. Parts hold some of every class and leave some out, so that the share seen is neither 0 nor 1.
    """
    total = np.zeros((len(data.classes), len(data.labels)))
    for seen, probabilities in zip(in_bag, fitted.probabilities_of_members(data.X), strict=True):
        total += np.where(seen, 0.0, probabilities)
    n_judges = (~in_bag).sum(axis=0)
    average = np.divide(total, n_judges, out=np.full_like(total, np.nan), where=n_judges > 0)
    judged = np.flatnonzero((n_judges > 0) & (data.weights > 0))
    errs = rule.arg_max(average[:, judged]) != data.labels[judged]
    weights = data.weights[judged]
    if len(judged) == 0:
        return OutOfBag(average.T, np.nan, (0.0, 1.0))
    error = float(weights @ errs / weights.sum())
    unit_weight = np.bincount(units[judged], weights)
    # As many independent samples of equal weight would say as much.
    n_units = float(unit_weight.sum() ** 2 / np.sum(unit_weight**2))
    # A unit has the number of its first sample.
    n_members, share_seen = len(in_bag), float(in_bag[:, np.unique(units[units >= 0])].mean())
    n = n_units / (1.0 / (n_members * (1.0 - share_seen)) + 1.0 / share_seen)
    return OutOfBag(average.T, error, approximate_interval(error, n))


def approximate_interval(error: float, n: float) -> tuple[float, float]:
    """The limits of Clopper and Pearson for a share among n independent samples."""
    one_sided = 0.5 * (1.0 + LEVEL)
    upper = clopper_pearson_limit(error * n, n, one_sided)
    return 1.0 - clopper_pearson_limit((1.0 - error) * n, n, one_sided), upper
