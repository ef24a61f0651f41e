"""Exact confidence limits, compared with enumeration of all outcomes and all rates of a grid."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats

from minimaxrisk.guarantees.limits import GAP, buehler_limit, clopper_pearson_limit, limit_of_mean_rate

ROUNDING = 1e-9


@pytest.mark.parametrize(("n_errors", "n"), [(0, 40), (3, 50), (49, 50), (1, 2)])
def test_clopper_pearson_from_the_definition(n_errors, n):
    p = clopper_pearson_limit(n_errors, n, 0.95)
    assert stats.binom.cdf(n_errors, n, p) == pytest.approx(0.05)


def masses_of_sum(rates):
    """Distribution of a sum of independent trials with these rates."""
    found = np.ones(1)
    for rate in rates:
        found = np.convolve(found, [1.0 - rate, rate])
    return found


def largest_failure(rates_of_trials, n, confidence):
    limits = np.array([limit_of_mean_rate(k, n, confidence) for k in range(n + 1)])
    assert (np.diff(limits) >= 0.0).all()
    return max(
        float(masses_of_sum(rates)[limits < np.mean(rates) - ROUNDING].sum()) for rates in rates_of_trials
    )


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_limit_of_a_mean_rate_holds_for_all_rates(n, confidence):
    rates = combinations_with_replacement(np.linspace(0.0, 1.0, 11), n)
    assert largest_failure(rates, n, confidence) <= 1.0 - confidence + ROUNDING


@pytest.mark.parametrize(("first", "second"), [(10, 10), (3, 20)])
def test_limit_of_a_mean_rate_holds_for_two_classes(first, second):
    grid = np.linspace(0.0, 1.0, 41)
    rates = ([a] * first + [b] * second for a, b in product(grid, grid))
    worst = largest_failure(rates, first + second, 0.95)
    assert 0.03 < worst <= 0.05 + ROUNDING  # valid, and not wider than it must be


def by_definition(n_errors, sizes, weights, grid):
    """Buehler's limit over a grid of rates."""
    counts = np.array(list(product(*(range(n + 1) for n in sizes))))
    statistic = ((counts + 0.5) / (np.array(sizes) + 1.0)) @ weights
    own = ((np.array(n_errors) + 0.5) / (np.array(sizes) + 1.0)) @ np.array(weights)
    below = counts[statistic <= own + 1e-12]
    rates = np.array(list(product(*[grid] * len(sizes))))
    probability = np.zeros(len(rates))
    for one in below:
        probability += np.prod(stats.binom.pmf(one, sizes, rates), axis=1)
    return float((rates @ weights)[probability > 0.05].max())


@pytest.mark.parametrize(
    ("n_errors", "sizes", "weights", "n_grid"),
    [
        ((0, 0), (5, 8), (0.1, 0.9), 301),
        ((0, 2), (8, 5), (0.5, 0.5), 301),
        ((7, 2), (7, 3), (0.7, 0.3), 301),
        ((1, 0, 2), (4, 5, 3), (0.2, 0.5, 0.3), 41),
    ],
)
def test_buehler_is_the_largest_value_on_a_grid(n_errors, sizes, weights, n_grid):
    expected = by_definition(n_errors, sizes, weights, np.linspace(0.0, 1.0, n_grid))
    found = buehler_limit(n_errors, sizes, weights, 0.95)
    assert expected - ROUNDING <= found <= expected + 1 / (n_grid - 1) + GAP


def test_buehler_is_at_most_four_fifths_of_the_sum_of_limits():
    """Few errors among balanced classes, where a report is read."""
    ratios = []
    for one in product(range(4), repeat=2):
        apart = sum(w * clopper_pearson_limit(k, 30, 0.975) for w, k in zip((0.1, 0.9), one, strict=True))
        ratios.append(buehler_limit(one, (30, 30), (0.1, 0.9), 0.95) / apart)
    assert np.mean(ratios) < 0.8
