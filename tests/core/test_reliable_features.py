"""Reliable features: brute force, enumeration of all labellings, simulated levels, and kinds of input."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from minimaxrisk import reliable_features
from minimaxrisk.guarantees.reliable_features import _VarianceTest, unrelated_limits
from minimaxrisk.samples.label_permutations import ExchangeableLabels


def some_study(n_samples=40, n_features=12, n_classes=2, n_related=4, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    X = random.normal(size=(n_samples, n_features))
    X[:, :n_related] += y[:, None] * 1.2
    return X, y


def p_values_of(X, y, groups=None, strata=None):
    labels = ExchangeableLabels.check(y, groups, strata)
    test = _VarianceTest.of(X, y, labels)
    return test.p_values([np.arange(len(test.basis))])[0]


# ---- an independent computation


def brute_force(X, y, orders, alpha, lists):
    """Bounds by the definition: p-values of SciPy, and for every k the number of features below l k / d."""
    d = X.shape[1]
    table = []
    for order in orders:
        p = stats.f_oneway(*[X[y[order] == label] for label in np.unique(y)]).pvalue
        table.append(np.where(p > 0.25, 1.0, p))
    smallest = sorted(min(np.sort(p)[k - 1] * d / k for k in range(1, d + 1)) for p in table)
    level = smallest[int(alpha * len(orders) + 1e-9)]
    bounds = []
    for chosen in lists:
        p = table[0][list(chosen)]
        below = [int((p < level * k / d - 1e-12).sum()) - (k - 1) for k in range(1, d + 1)]
        bounds.append(max(0, *below))
    return bounds


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_all_lists_by_brute_force(n_classes, confidence):
    X, y = some_study(30, 8, n_classes, seed=1)
    found = reliable_features(X, y, confidence=confidence, n_permutations=99, random_state=3)
    random = np.random.RandomState(3)
    orders = [np.arange(30), *(random.permutation(30) for _ in range(99))]
    lists = [chosen for size in range(1, 9) for chosen in combinations(range(8), size)]
    expected = brute_force(X, y, orders, 1 - confidence, lists)
    assert [found.at_least(list(chosen)) for chosen in lists] == expected
    assert found.value == expected[-1] > 1
    assert len(set(expected)) > 2


def test_p_values_are_those_of_scipy():
    X, y = some_study(30, 60, 3)
    p = p_values_of(X, y)
    expected = stats.f_oneway(*[X[y == k] for k in range(3)]).pvalue
    np.testing.assert_allclose(p, np.where(expected > 0.25, 1.0, expected), rtol=1e-9)
    expected = stats.ttest_ind(X[y == 0], X[y == 1]).pvalue
    two = p_values_of(X[y < 2], y[y < 2])
    np.testing.assert_allclose(two, np.where(expected > 0.25, 1.0, expected), rtol=1e-9)


def test_pairs_are_compared_by_the_paired_test():
    X, y = some_study(30, 60)
    pairs = np.arange(30) // 2
    X += 10.0 * pairs[:, None]
    expected = stats.ttest_rel(X[y == 0], X[y == 1]).pvalue
    for arguments in ({"groups": pairs}, {"strata": pairs}):
        p = p_values_of(X, y, **arguments)
        np.testing.assert_allclose(p, np.where(expected > 0.25, 1.0, expected), rtol=1e-9)


def test_strata_are_dummies_in_the_analysis_of_variance():
    X, y = some_study(36, 20, 3)
    strata = np.repeat([0, 1, 2], [15, 12, 9])
    dummies = (strata[:, None] == np.arange(3)).astype(float)
    full = np.hstack([dummies, (y[:, None] == np.arange(2)).astype(float)])
    left, left_full = ((X - A @ np.linalg.lstsq(A, X)[0]).var(axis=0) for A in (dummies, full))
    expected = stats.f.sf((left - left_full) / left_full * 31 / 2, 2, 31)
    np.testing.assert_allclose(
        p_values_of(X, y, strata=strata), np.where(expected > 0.25, 1.0, expected), rtol=1e-9
    )


# ---- exact levels, by enumeration of all labellings


def orders_within(strata):
    """All permutations of units that stay in their stratum."""
    n = sum(map(len, strata))
    for parts in product(*(permutations(units) for units in strata)):
        order = np.arange(n)
        for units, part in zip(strata, parts, strict=True):
            order[list(units)] = part
        yield order


def wrong_labellings(unrelated, y, *, related_to, strata=None, confidence=0.9):
    """Count the labellings at which some list has fewer related features than the bound, and all of them."""
    n, n_wrong = len(y), 0
    cells = [np.arange(n)] if strata is None else [np.flatnonzero(strata == s) for s in np.unique(strata)]
    orders = list(orders_within(cells))
    for labels in np.unique([y[order] for order in orders], axis=0):
        X = np.hstack([related_to(labels), unrelated])
        test = _VarianceTest.of(X, labels, ExchangeableLabels.check(labels, None, strata))
        # Each labelling arises from equally many orders, so one of them suffices.
        _, first = np.unique([labels[order] for order in orders], axis=0, return_index=True)
        others = [orders[i] for i in first if not np.array_equal(labels[orders[i]], labels)]
        limits = np.sort(unrelated_limits(test, others, confidence)[-unrelated.shape[1] :])
        # The worst lists hold unrelated features alone: a related one adds at most 1 to the bound.
        n_wrong += bool((np.arange(1, len(limits) + 1) > limits).any())
    return n_wrong, len(first)


def no_features(labels):
    return np.zeros((len(labels), 0))


def test_all_labellings_of_unrelated_features_attain_the_level():
    X = np.random.default_rng(0).normal(size=(7, 5)) @ np.random.default_rng(1).normal(size=(5, 5))
    y = np.array([0, 0, 0, 1, 1, 1, 1])
    assert wrong_labellings(X, y, related_to=no_features) == (3, 35)  # floor(0.1 * 35)
    three = np.array([0, 0, 1, 1, 2, 2])
    # Classes of equal size may change names, so that 6 labellings have one statistic: 6 are below the tenth.
    assert wrong_labellings(X[:6], three, related_to=no_features) == (6, 90)


def test_all_labellings_within_strata():
    random = np.random.default_rng(0)
    strata = np.array([0, 0, 0, 0, 1, 1, 1])
    X = random.normal(size=(7, 4)) + 5.0 * strata[:, None]
    y = np.array([0, 1, 0, 0, 1, 1, 0])
    wrong, n_all = wrong_labellings(X, y, related_to=no_features, strata=strata, confidence=0.75)
    assert (wrong, n_all) == (3, 12)


# ---- simulated levels


def normal(random, n, d):
    return random.normal(size=(n, d))


def correlated(random, n, d):
    return random.normal(size=(n, d)) + 1.5 * random.normal(size=(n, 1))


def heavy(random, n, d):
    return random.standard_t(1.5, size=(n, d)) * (1.0 + 3.0 * random.random((n, 1)))


def counts(random, n, d):
    return random.poisson(random.gamma(0.5, size=(n, 1)) * np.ones(d)).astype(float)


@pytest.mark.parametrize("values", [normal, correlated, heavy, counts])
@pytest.mark.parametrize(("n_related", "n_classes"), [(0, 2), (6, 4)])
def test_simulated_level_of_the_worst_list(values, n_related, n_classes):
    """The list of all unrelated features has a positive bound if any list has fewer related ones."""
    n_studies, n_wrong, d = 250, 0, 40
    random = np.random.default_rng(n_related + n_classes)
    for _ in range(n_studies):
        y = random.integers(n_classes, size=24)
        X = values(random, 24, d)
        X[:, :n_related] += 1.5 * y[:, None]
        found = reliable_features(X, y, n_permutations=39, random_state=random.integers(2**31))
        n_wrong += found.at_least(np.arange(n_related, d)) > 0
    assert n_wrong <= stats.binom(n_studies, 0.05).ppf(0.9999)


@pytest.mark.parametrize("design", ["groups", "pairs", "strata"])
def test_simulated_level_of_study_designs(design):
    """Measurements of a patient are alike, and hospitals differ in values and in labels."""
    n_studies, n_wrong = 250, 0
    random = np.random.default_rng(5)
    for _ in range(n_studies):
        unit = np.arange(30) // (2 if design == "pairs" else 3)
        X = random.normal(size=(30, 20)) + 2.0 * random.normal(size=(15, 20))[unit]
        y = {"groups": random.permutation(10)[unit % 10] % 2, "pairs": np.arange(30) % 2}.get(design)
        arguments = {"groups": unit}
        if design == "strata":
            hospital = np.repeat([0, 1], 15)
            y = (random.random(30) < 0.3 + 0.4 * hospital).astype(int)
            X = random.normal(size=(30, 20)) + 2.0 * hospital[:, None]
            arguments = {"strata": hospital}
        found = reliable_features(X, y, n_permutations=39, random_state=random.integers(2**31), **arguments)
        n_wrong += found.value > 0
    assert n_wrong <= stats.binom(n_studies, 0.05).ppf(0.9999)


# ---- kinds of input


def limits(X, y, **options):
    return reliable_features(X, y, n_permutations=99, random_state=0, **options).unrelated_limits


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_array])
def test_sparse_is_dense(kind):
    X, y = some_study(40, 30)
    X = np.where(X > 0.3, X, 0.0)
    X[:, 20:23] = 0.0
    for options in ({}, {"groups": np.arange(40) % 20}, {"strata": np.arange(40) // 20}):
        np.testing.assert_array_equal(limits(kind(X), y, **options), limits(X, y, **options))


def test_units_of_measurement_and_names_of_classes_do_not_matter():
    X, y = some_study()
    scales = 10.0 ** np.linspace(-200, 200, 12)
    same = limits(X, y)
    np.testing.assert_array_equal(limits(X * scales + 3.0 * scales, np.array(["b", "a"])[y]), same)
    np.testing.assert_array_equal(limits(X.astype(np.float32), y), same)
    np.testing.assert_array_equal(limits(X.tolist(), y.tolist()), same)


def test_a_group_is_the_mean_of_its_samples():
    X, y = some_study(20)
    groups = np.repeat(np.arange(20), np.arange(20) % 3 + 1)
    spread = np.random.default_rng(1).normal(size=(len(groups), 12))
    for g in range(20):
        spread[groups == g] -= spread[groups == g].mean(axis=0)
    np.testing.assert_array_equal(limits(X[groups] + spread, y[groups], groups=groups), limits(X, y))


def test_constant_and_missing_columns_are_unrelated():
    X, y = some_study(40, 12)
    X[:, 8] = 0.1
    X[:, 9] = np.nan
    X[::3, 0] = np.nan
    found = limits(X, y)
    assert found[8] == found[9] == 12
    filled = np.where(np.isnan(X), 0.0, X)
    filled[::3, 0] = np.nanmean(X[:, 0])
    np.testing.assert_array_equal(found, limits(filled, y))
    as_sparse = sparse.csr_array(X)
    assert limits(as_sparse, y)[9] == 12


def test_lists_by_position_mask_and_name():
    X, y = some_study()
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])
    found = reliable_features(frame, y, ["gene 2", "gene 1", "gene 2"], random_state=0)
    assert found.features.tolist() == [1, 2]
    for same in (np.isin(np.arange(12), [1, 2]), [2, 1], frame.columns[[1, 2]]):
        assert found.at_least(same) == found.value == int(found) == 2
    assert found.at_least([]) == 0
    assert reliable_features(X, y, random_state=0).features.tolist() == list(range(12))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": [12]}, "features holds the position 12"),
        ({"features": ["gene"]}, "features has 'gene'"),
        ({"features": [0.5]}, "features must be"),
        ({"features": [True, False]}, "features must be"),
        ({"confidence": 1.0}, "confidence must"),
        ({"n_permutations": 0}, "n_permutations must"),
        ({"strata": np.arange(40) % 2}, "strata holds one class"),
        ({"groups": np.arange(40) // 2, "strata": np.arange(40) % 3}, "strata must be the same"),
        ({"y": np.zeros(40)}, "at least 2 classes"),
    ],
)
def test_refused(arguments, message):
    X, y = some_study()
    with pytest.raises(ValueError, match=message):
        reliable_features(**{"X": X, "y": y, **arguments})
