"""Samples that are nearly copies of others: found where they stand apart, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from minimaxrisk.datasets import make_expression
from minimaxrisk.samples.copies import near_copies

LABELS = np.repeat([0, 1], 20)


def study(n_columns=80, seed=0):
    """Forty samples on scales of their own; those of class 1 vary less, and are far away."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, n_columns))
    X[20:] = 0.1 * X[20:] + 5.0
    return X * rng.uniform(0.1, 100.0, size=n_columns)


def with_copies(X, pairs, noise, seed=1):
    """Row j of each pair is row i measured again, with noise in shares of the deviations in its class."""
    X, rng = X.copy(), np.random.default_rng(seed)
    for i, j in pairs:
        of_class = X[LABELS[i] == LABELS]
        X[j] = X[i] + noise * of_class.std(axis=0) * rng.normal(size=X.shape[1])
    return X


def told(X, y=LABELS, groups=None):
    return {(pair.first, pair.second) for pair in near_copies(X, y, groups)}


PAIRS = {(0, 5), (3, 4), (21, 39)}


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2])
def test_noisy_copies_are_found_and_nothing_else(noise):
    assert told(with_copies(study(), PAIRS, noise)) == PAIRS
    assert told(study()) == set()


def test_samples_that_are_close_by_chance_are_not_told():
    """Few dimensions, however many columns: some pairs are close, and as many nearly so."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 100))
    y = np.zeros(200)
    assert told(X, y) == set()
    factors = make_expression(200, 100, module_size=50, correlation=0.99, random_state=0)
    assert told(factors.data, factors.target) == set()


def subtypes(rng, n):
    centres = 3.0 * rng.normal(size=(12, 100))
    return centres[rng.integers(0, 12, n)] + 0.7 * rng.normal(size=(n, 100))


def factors(rng, n):
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, 100)) + 0.1 * rng.normal(size=(n, 100))


def sizes(rng, n):
    return np.exp(1.5 * rng.normal(size=(n, 1))) * rng.normal(size=(n, 100))


@pytest.mark.parametrize("law", [subtypes, factors, sizes])
@pytest.mark.parametrize("n", [24, 60])
def test_subtypes_factors_and_sizes_are_no_copies(law, n):
    rng = np.random.default_rng(0)
    assert sum(bool(told(law(rng, n), np.arange(n) % 2)) for _ in range(40)) <= 1


@pytest.mark.parametrize("n_each", [2, 3, 10])
def test_replicates_of_all_samples_are_found(n_each):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 300)), n_each, axis=0)
    patient = np.repeat(np.arange(20), n_each)
    found = told(X + 0.25 * rng.normal(size=X.shape), patient % 2)
    assert len(found) == 20 * n_each * (n_each - 1) / 2
    assert all(patient[i] == patient[j] for i, j in found)


def test_copies_that_are_known_are_not_told():
    X = with_copies(study(), [(0, 1), (10, 11)], 0.1)
    groups = np.arange(40)
    groups[1] = 0
    assert told(X, groups=groups) == {(10, 11)}
    groups[11] = 10
    assert told(X, groups=groups) == set()


def test_a_sample_of_the_same_group_is_no_witness():
    """A sample of another class that shares a patient with one of two copies does not explain them."""
    X = with_copies(study(), [(0, 1)], 0.2)
    X[20:] = np.random.default_rng(2).normal(size=(20, 80)) * X[:20].std(axis=0)
    X[20] = X[0]
    assert told(X) == set()
    groups = np.arange(40)
    groups[20] = 0
    assert told(X, groups=groups) == {(0, 1)}


@pytest.mark.parametrize(
    "name", ["Arcene", "Colon", "GLIOMA", "Leukemia", "Lung_1543", "MLL", "Prostate_GE", "TOX_171"]
)
def test_published_samples_are_not_taken_for_copies(name, real_data):
    X, y = real_data(name)
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    assert told(X, y) == set()
    # A sample of the first class, measured again.
    rng = np.random.default_rng(0)
    again = X[:1] + 0.15 * X.std(axis=0) * rng.normal(size=X.shape[1])
    assert told(np.vstack([X, again]), np.append(y, y[0])) == {(0, len(X))}
