"""Exact upper confidence limits of error rates, derived in ``docs/learn/error_bound.md``.

The limit of Clopper and Pearson is that of one rate. Hoeffding's theorem makes it a limit of the mean rate of
unequal trials. Buehler's limit is that of a weighted sum of rates: branch and bound is rigorous wherever it
stops, because on a box of rates the probability of the observed statistic is at most that of the lowest
corner, and the sum at most that of the highest corner.

References
----------
C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
binomial", Biometrika 26, 1934.
W. Hoeffding, "On the distribution of the number of successes in independent trials", Annals of Mathematical
Statistics 27, 1956.
R. J. Buehler, "Confidence intervals for the product of two binomial parameters", Journal of the American
Statistical Association 52, 1957.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count

import numpy as np
from scipy import special, stats

from minimaxrisk._utils.arrays import FloatArray

MOST_BOXES = 4000  # of branch and bound; what is left then is part of the limit
GAP = 2e-4  # between the limit and the largest value that was found
TIE = 1e-12  # values of the statistic this close are equal; probabilities this close to the level exceed it

Corner = tuple[float, ...]


def clopper_pearson_limit(n_errors: float, n: float, confidence: float) -> float:
    """Return the rate at which ``n_errors`` or fewer among n have probability ``1 - confidence``."""
    if n_errors >= n:
        return 1.0
    return float(stats.beta.ppf(confidence, n_errors + 1, n - n_errors))


def limit_of_mean_rate(n_errors: int, n: int, confidence: float) -> float:
    """Return the limit of the mean rate of n independent trials whose rates may differ."""
    if n_errors >= n - 1:
        return 1.0
    return max(clopper_pearson_limit(n_errors, n, confidence), (n_errors + 1) / n)


def buehler_limit(
    n_errors: Sequence[int], sizes: Sequence[int], weights: Sequence[float], confidence: float
) -> float:
    """Return Buehler's limit of a weighted sum of the error rates of two or three classes.

    Parameters
    ----------
    n_errors, sizes : sequence of int
        Errors and samples of each class. All samples of a class have the same error rate.
    weights : sequence of float
        The weight of each class, which is not negative.
    confidence : float
        The probability with which the limit holds.

    Returns
    -------
    float
        An upper bound on Buehler's limit, which exceeds it by at most ``GAP`` unless ``MOST_BOXES`` boxes do
        not suffice.
    """
    order = np.argsort(sizes, kind="stable").tolist()  # the counts of the largest class are summed in advance
    n_errors, sizes, w = ([values[k] for k in order] for values in (n_errors, sizes, weights))
    probability, level = _probability_below(n_errors, sizes, w), 1.0 - confidence - TIE
    tick, largest, n_classes = count(), 0.0, len(sizes)
    boxes = [(-sum(w), next(tick), (0.0,) * n_classes, (1.0,) * n_classes)]
    for _ in range(MOST_BOXES):
        if -boxes[0][0] <= largest + GAP:
            break
        _, _, low, high = heapq.heappop(boxes)
        for start, end in _halves(low, high, w):
            if probability(start) > level:
                largest = max(largest, float(np.dot(w, start)))
                heapq.heappush(boxes, (-float(np.dot(w, end)), next(tick), start, end))
    return -boxes[0][0]


def _halves(low: Corner, high: Corner, weights: Sequence[float]) -> list[tuple[Corner, Corner]]:
    """Return the two halves of a box, cut along the class that matters most for the sum."""
    k = int(np.argmax(np.multiply(weights, np.subtract(high, low))))
    middle = (0.5 * (low[k] + high[k]),)
    return [(low, high[:k] + middle + high[k + 1 :]), (low[:k] + middle + low[k + 1 :], high)]


def _probability_below(
    n_errors: Sequence[int], sizes: Sequence[int], weights: Sequence[float]
) -> Callable[[Corner], float]:
    """Return the probability, as a function of the rates, that the statistic is at most the observed one."""
    parts = [w * (np.arange(n + 1) + 0.5) / (n + 1.0) for w, n in zip(weights, sizes, strict=True)]
    observed = sum(part[k] for part, k in zip(parts, n_errors, strict=True)) + TIE
    *first, last = parts
    others = np.add.outer(first[0], first[1]) if len(first) == 2 else first[0]
    n_allowed = np.searchsorted(last, observed - others, side="right")  # counts of the last class

    @cache
    def masses(k: int, rate: float) -> FloatArray:
        j, n = np.arange(sizes[k] + 1), sizes[k]
        ways = special.gammaln(n + 1) - special.gammaln(j + 1) - special.gammaln(n - j + 1)
        return np.asarray(np.exp(ways + special.xlogy(j, rate) + special.xlog1py(n - j, -rate)))

    @cache
    def sums_of_last(rate: float) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(masses(len(first), rate))])

    def probability(rates: Corner) -> float:
        found = sums_of_last(rates[-1])[n_allowed]
        for k in reversed(range(len(first))):
            found = found @ masses(k, rates[k])
        return float(found)

    return probability
