r"""Confidence intervals of shares, of mixtures of shares, and of areas under the ROC curve.

**One share** has the exact interval of Clopper and Pearson.

**Worth in samples.** An estimate v with variance V is worth :math:`\tilde n = v (1 - v) / V` independent
samples, because a share of so many has this variance. Its approximate interval is that of Clopper and Pearson
for :math:`v \tilde n` of :math:`\tilde n`. If few samples are wrong, V is often estimated as too small.
Therefore one right and one wrong sample are added to each class for V, and :math:`\tilde n` is at least its
smallest value for any rates.

**A mixture** :math:`v = \sum_k w_k p_k` of independent shares has the variance
:math:`\sum_k w_k^2 p_k (1 - p_k) / n_k`, and :math:`\tilde n \ge \min_k n_k / w_k`, because
:math:`v (1 - v) \ge \sum_k w_k p_k (1 - p_k)`.
If rates or sizes differ much, this interval can be too narrow. If they are alike, the MOVER interval [1]_ can
be, whose lower end is

.. math:: v - \sqrt{\sum_k w_k^2 (p_k - l_k)^2}

with the limits :math:`l_k` of the shares. The outer ends of both are taken.

**An area** under the ROC curve is the mean over samples of their placements, the share of the other side on
the right side of a sample. DeLong's variance [2]_ is the sum over classes of the variance of placements over
the number of samples, and :math:`\tilde n` is at least the size of the smallest class [3]_. The mean of
several areas is a mean of placements too.

References
----------
.. [1] G. Y. Zou, A. Donner, "Construction of confidence limits about effect measures: a general approach",
   Statistics in Medicine 27, 2008.
.. [2] E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson, "Comparing the areas under two or more correlated
   receiver operating characteristic curves", Biometrics 44, 1988.
.. [3] Z. W. Birnbaum, O. M. Klose, "Bounds for the variance of the Mann-Whitney statistic", Annals of
   Mathematical Statistics 28, 1957.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from minimaxrisk._utils.arguments import check_confidence
from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.rounding import outward
from minimaxrisk.guarantees.limits import clopper_pearson_limit

MOST_SAMPLES = 100_000  # of a cohort
PEOPLE = 1000  # among whom errors are counted at a prevalence


@dataclass(frozen=True)
class Estimate:
    """A share or an area, with its interval.

    Attributes
    ----------
    value, low, high : float
        The estimate and the ends of its interval.
    n_counted, n : int or None
        For a share: how many were counted, among how many.
    """

    value: float
    low: float
    high: float
    n_counted: int | None = None
    n: int | None = None

    @property
    def interval(self) -> str:
        """The interval in percent, its ends rounded outwards."""
        return " to ".join(outward(self.low, self.high, ".1%"))

    def __str__(self) -> str:
        of = "" if self.n is None else f"; {self.n_counted:,} of {self.n:,}"
        return f"{self.value:.1%} ({self.interval}{of})"


@dataclass(frozen=True)
class ClassRates:
    """Error rates of one class against all others.

    Attributes
    ----------
    sensitivity : Estimate or None
        Share of the samples of the class that are predicted correctly; None without samples.
    specificity : Estimate or None
        Share of the samples of other classes that are not predicted to be of it; None without samples.
    predictive_value : Estimate or None
        Share of the samples predicted to be of it that are, at the given prevalence or at the observed one;
        None if there are none, or all samples are of one class.
    label : object
        The class; None if the rates are a list in the order of the classes.
    area : Estimate or None
        Area under the ROC curve of the class against all others, by how far its score is above the best of
        the others; None without scores, and without samples of it or of others.
    n_people : float or None
        With a prevalence: how many of 1,000 people are of the class.
    n_found, n_false : Estimate or None
        How many of these people are predicted correctly, and how many others are predicted to be of it.
    """

    sensitivity: Estimate | None
    specificity: Estimate | None
    predictive_value: Estimate | None
    label: Any = None
    area: Estimate | None = None
    n_people: float | None = None
    n_found: Estimate | None = None
    n_false: Estimate | None = None

    @property
    def people(self) -> str:
        """The expected numbers among 1,000 people in words; empty without a prevalence."""
        if self.n_found is None or self.n_false is None:
            return ""
        found, false = (
            f"{one.value:,.0f} ({' to '.join(outward(one.low, one.high, ',.0f'))})"
            for one in (self.n_found, self.n_false)
        )
        return (
            f"{self.n_people:,.0f} of {PEOPLE:,} people are {self.label!r}: {found} are predicted correctly. "
            f"{false} others are predicted to be {self.label!r}."
        )


def share(n_counted: int, n: int, confidence: float, *, precision: float = 1.0) -> Estimate:
    """Return the share ``n_counted`` of n with its interval.

    Each sample is worth ``precision`` independent samples. The interval is exact at 1.
    """
    n_counted, n = int(n_counted), int(n)
    return Estimate(n_counted / n, *_limits(n_counted / n, precision * n, confidence), n_counted, n)


def class_rates(confusion: IntArray, confidence: float, *, precision: float = 1.0) -> list[ClassRates]:
    """Return the rates by class, from numbers by own class (rows) and predicted class (columns)."""
    own, predicted, right = confusion.sum(axis=1), confusion.sum(axis=0), confusion.diagonal()
    others = own.sum() - own
    counts = zip((right, others - (predicted - right), right), (own, others, predicted), strict=True)
    shares = [
        [share(k, n, confidence, precision=precision) if n else None for k, n in zip(*pair, strict=True)]
        for pair in counts
    ]
    return [ClassRates(*rates) for rates in zip(*shares, strict=True)]


def _limits(value: float, n: float, confidence: float) -> tuple[float, float]:
    """Return Clopper and Pearson's interval; n need not be whole."""
    one_sided = 0.5 * (1.0 + confidence)
    low = 1.0 - clopper_pearson_limit((1.0 - value) * n, n, one_sided)
    return low, clopper_pearson_limit(value * n, n, one_sided)


def mixture(shares: Sequence[Estimate], weights: Sequence[float] | FloatArray, confidence: float) -> Estimate:
    """Return the weighted sum of independent shares."""
    total = float(np.sum(weights))
    w = np.array(weights) / total
    value, low, high, n = np.transpose([[one.value, one.low, one.high, one.n or 0] for one in shares])
    mean, rates = float(w @ value), (n * value + 1.0) / (n + 2.0)
    variance = float(np.sum(w**2 * rates * (1.0 - rates) / n))
    first, last = _limits(mean, _worth(float(w @ rates), variance, float(np.min(n / w))), confidence)
    first = min(first, mean - float(np.linalg.norm(w * (value - low))))
    last = max(last, mean + float(np.linalg.norm(w * (high - value))))
    return Estimate(total * mean, total * max(0.0, first), total * min(1.0, last))


def _worth(rate: float, variance: float, fewest: float) -> float:
    """Return the number of independent samples whose share has this variance, at least ``fewest``."""
    return max(rate * (1.0 - rate) / variance, fewest)


def area_under_curve(scores: FloatArray, own: IntArray, confidence: float) -> Estimate:
    """Return the area under the ROC curve, of several classes the mean of each against all others.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        Large values speak for the class.
    own : ndarray of shape (n_samples,)
        The position of each sample's class. At least two classes have samples.
    confidence : float
        Of the interval.
    """
    sizes = np.bincount(own, minlength=scores.shape[1])
    present = np.flatnonzero(sizes)
    placements, largest = np.zeros(len(own)), np.zeros(len(own))
    for k in present:
        is_own, n_others = own == k, len(own) - sizes[k]
        ranks, inside = stats.rankdata(scores[:, k]), np.empty(len(own))
        for side in (is_own, ~is_own):
            inside[side] = stats.rankdata(scores[side, k])
        n_below = ranks - inside  # of the other side
        placement = np.where(is_own, n_below / n_others, 1.0 - n_below / sizes[k])
        # Means over classes make the mean over all others by their sizes.
        weight = np.where(is_own, 1.0, sizes[own] / n_others) / len(present)
        placements += weight * placement
        largest += weight
    value = variance = 0.0
    for c in present:
        found, most = placements[own == c], largest[own == c][0]
        value += 0.5 * found.mean()  # every area counts twice, by its own class and by the others
        variance += np.var([0.0, most, *found], ddof=1) / (sizes[c] + 2)
    smallest = sizes[present].min()
    n_worth = _worth((value * smallest + 1.0) / (smallest + 2.0), float(variance), float(smallest))
    return Estimate(float(value), *_limits(float(value), n_worth, confidence))


def cohort_size(error_rate: float, limit: float, *, power: float = 0.8, confidence: float = 0.95) -> int:
    """Return how many samples a second cohort needs to show that an error rate is below a limit.

    With k errors among n samples the error rate is below the limit, with the given confidence, if Clopper and
    Pearson's one-sided upper bound is. The result is the smallest n for which that happens with probability
    ``power``. Both probabilities are exact.

    Parameters
    ----------
    error_rate : float
        The true error rate, for example the cross-validated one.
    limit : float
        What the upper bound on the error rate is to be at most. It is larger than ``error_rate``.
    power : float, default=0.8
        The probability with which the cohort is to succeed.
    confidence : float, default=0.95
        Of the one-sided bound.

    Returns
    -------
    int
        The number of independent samples.

    Raises
    ------
    ValueError
        If the limit is not above the error rate, or so near that 100,000 samples do not suffice.

    See Also
    --------
    evaluate : Counts the errors on the cohort.

    Examples
    --------
    >>> from minimaxrisk import cohort_size
    >>> cohort_size(0.05, 0.10), cohort_size(0.05, 0.15)
    (179, 59)
    """
    check_confidence(confidence)
    if not 0.0 <= error_rate < limit < 1.0:
        raise ValueError(
            f"limit must lie between error_rate and 1, got error_rate={error_rate!r} and limit={limit!r}."
        )
    if not 0.0 < power < 1.0:
        raise ValueError(f"power must lie between 0 and 1, got {power!r}.")
    sizes = np.arange(1, MOST_SAMPLES + 1)
    # The bound is at most the limit if so many errors or fewer have at most 5% probability at the limit.
    most_errors = stats.binom.ppf(1.0 - confidence, sizes, limit)
    most_errors -= stats.binom.cdf(most_errors, sizes, limit) > 1.0 - confidence
    enough = np.flatnonzero(stats.binom.cdf(most_errors, sizes, error_rate) >= power)
    if not len(enough):
        raise ValueError(f"limit is so near to error_rate that {MOST_SAMPLES:,} samples do not suffice.")
    return int(sizes[enough[0]])
