"""Intervals of shares, mixtures and areas, and the size of a cohort: enumeration, exact tails, simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from minimaxrisk import cohort_size
from minimaxrisk.analysis.intervals import Estimate, area_under_curve, mixture, share


@pytest.mark.parametrize(("n_counted", "n"), [(0, 7), (3, 20), (20, 20)])
def test_a_share_has_the_interval_of_scipy(n_counted, n):
    exact = stats.binomtest(n_counted, n).proportion_ci(0.9)
    assert share(n_counted, n, 0.9) == Estimate(
        n_counted / n, pytest.approx(exact.low), pytest.approx(exact.high), n_counted, n
    )


@pytest.mark.parametrize("sizes", [(6, 6), (15, 15), (4, 25), (10, 40), (4, 5, 6)])
@pytest.mark.parametrize("is_equal", [True, False])
def test_a_mixture_covers_in_every_enumerated_case(sizes, is_equal):
    """The probability of all counts whose interval holds the true mixture, on a grid of rates."""
    weights = np.full(len(sizes), 1 / len(sizes)) if is_equal else np.array([0.05, 0.95, 0.3][: len(sizes)])
    counts = list(product(*(range(n + 1) for n in sizes)))
    found = [
        mixture([share(k, n, 0.95) for k, n in zip(count, sizes, strict=True)], weights, 0.95)
        for count in counts
    ]
    low, high = np.transpose([[one.low, one.high] for one in found])
    rates = (0.02, 0.05, 0.2, 0.5, 0.8, 0.98)
    masses = [stats.binom.pmf(np.arange(n + 1), n, np.array(rates)[:, None]) for n in sizes]
    for which in product(range(len(rates)), repeat=len(sizes)):
        truth = weights @ [rates[i] for i in which]
        mass = np.prod([masses[k][i][np.transpose(counts)[k]] for k, i in enumerate(which)], axis=0)
        assert mass[(low <= truth + 1e-12) & (truth <= high + 1e-12)].sum() > 0.935


def test_areas_are_those_of_scikit_learn_and_of_delong():
    random = np.random.default_rng(0)
    own = random.permutation(np.repeat([0, 1, 2], [40, 60, 90]))
    scores = np.round(random.normal(size=(190, 3)) + 1.0 * (own[:, None] == range(3)), 1)  # with ties
    areas = [roc_auc_score(own == k, scores[:, k]) for k in range(3)]
    assert area_under_curve(scores, own, 0.95).value == pytest.approx(np.mean(areas))
    # Of two classes and many samples the interval is that of DeLong's variance, here pair by pair.
    is_own, lead = own == 2, scores[:, 2]
    pairs = (lead[is_own][:, None] > lead[~is_own]) + 0.5 * (lead[is_own][:, None] == lead[~is_own])
    error = np.sqrt(pairs.mean(1).var(ddof=1) / 90 + pairs.mean(0).var(ddof=1) / 100)
    found = area_under_curve(np.column_stack([-lead, lead]), is_own.astype(int), 0.95)
    assert found.value == pytest.approx(areas[2])
    assert 1.0 <= (found.high - found.low) / (2 * 1.96 * error) <= 1.1


def two_normals(ratio, area):
    """Scores of two classes with standard deviations 1 and ``ratio``."""
    shift = stats.norm.ppf(area) * np.hypot(1.0, ratio)
    return lambda random, y: np.where(
        y, shift + ratio * random.normal(size=len(y)), random.normal(size=len(y))
    )


def mixed(random, y):
    """A tenth of each class looks like the other; the area is .9 · .9 + .1 · .9 = .9 with ties split."""
    return np.where(random.random(len(y)) < 0.1, 1 - y, y)


@pytest.mark.parametrize(
    ("draw", "truth"),
    [(two_normals(1, 0.8), 0.8), (two_normals(5, 0.95), 0.95), (two_normals(0.2, 0.95), 0.95), (mixed, 0.9)],
)
@pytest.mark.parametrize("sizes", [(15, 15), (54, 6), (80, 20)])
def test_the_interval_of_an_area_covers(draw, truth, sizes):
    random, y, inside = np.random.default_rng(1), np.repeat([0, 1], sizes), 0
    for _ in range(300):
        scores = draw(random, y)
        found = area_under_curve(np.column_stack([-scores, scores]), y, 0.95)
        inside += found.low <= truth <= found.high
    assert inside >= 276


def test_an_area_without_a_misplaced_sample_is_not_certain():
    y = np.repeat([0, 1], 10)
    found = area_under_curve(np.column_stack([-y, y]), y, 0.95)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(share(10, 10, 0.95).low)


@pytest.mark.parametrize(
    ("error_rate", "limit", "n"), [(0.05, 0.1, 179), (0.05, 0.15, 59), (0.1, 0.2, 82), (0.2, 0.3, 119)]
)
def test_the_cohort_is_the_smallest_that_suffices(error_rate, limit, n):
    assert cohort_size(error_rate, limit) == n

    def power(size):
        """By the bound of each number of errors."""
        errors = np.arange(size)
        proves = stats.beta.ppf(0.95, errors + 1, size - errors) <= limit
        return stats.binom.pmf(errors[proves], size, error_rate).sum()

    assert power(n) >= 0.8
    assert max(power(size) for size in range(1, n)) < 0.8


@pytest.mark.parametrize(
    "arguments", [(0.1, 0.1), (-0.1, 0.1), (0.1, 1.0), (0.1, 0.1 + 1e-6), (0.1, 0.2, {"power": 1.0})]
)
def test_impossible_cohorts_are_refused(arguments):
    *rates, more = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(ValueError, match=r"limit|power"):
        cohort_size(*rates, **more)
