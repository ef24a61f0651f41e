"""Stability selection: halves, frequencies, and the features that it keeps where the truth is known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskSelector
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.selector import most_important


def stable(estimator=None, **parameters):
    return MinimaxRiskSelector(
        estimator, **{"stability": True, "n_subsamples": 4, "random_state": 0, **parameters}
    )


def study(n_samples=80, n_features=150, **parameters):
    """Independent columns, of which few are informative: those that are not are exchangeable."""
    return make_expression(n_samples, n_features, correlation=0.0, **parameters)


def same_result(a, b):
    np.testing.assert_array_equal(a.selection_frequencies_, b.selection_frequencies_)
    np.testing.assert_array_equal(a.get_support(), b.get_support())


# ---- the selection


@pytest.mark.parametrize("max_features", [None, 3])
def test_frequencies_by_brute_force(max_features):
    data = study(40, 60, n_informative=4, effect=2.0, random_state=1)
    X, y = data.data, data.target
    options = {"max_features": max_features, "threshold": 0.7, "n_subsamples": 10}
    selector = stable(MinimaxRiskClassifier(radius=2.0), **options).fit(X, y)
    random = np.random.RandomState(0)
    votes = np.zeros(60)
    for _ in range(10):
        members = [np.flatnonzero(y == k) for k in (0, 1)]
        rows = np.concatenate([random.permutation(own)[: len(own) // 2] for own in members])
        model = MinimaxRiskClassifier(radius=2.0).fit(X[np.sort(rows)], y[np.sort(rows)])
        order = sorted(model.selected_features_, key=lambda j, m=model: -m.feature_importances_[j])
        votes[order[:max_features]] += 1
    np.testing.assert_array_equal(selector.selection_frequencies_, votes / 10)
    np.testing.assert_array_equal(selector.get_support(indices=True), np.flatnonzero(votes >= 7))
    assert 0 < selector.get_support().sum() < 60
    assert selector.threshold_ == 0.7


def test_of_equally_important_columns_the_first_ones_stay():
    fitted = SimpleNamespace(
        selected_features_=np.array([1, 3, 4, 6]), feature_importances_=np.array([0.0, 2, 0, 2, 5, 0, 2])
    )
    assert sorted(most_important(fitted, 3)) == [1, 3, 4]
    assert sorted(most_important(fitted, 4)) == [1, 3, 4, 6]


@pytest.mark.usefixtures("eager_processes")
def test_same_seed_same_bits_whatever_the_number_of_processes(wide):
    X, y = wide
    one = stable(n_jobs=1, n_subsamples=8).fit(X, y)
    same_result(one, stable(n_jobs=2, n_subsamples=8).fit(X, y))
    same_result(one, clone(one).fit(X, y))
    other = stable(n_subsamples=8, random_state=1).fit(X, y)
    assert (one.selection_frequencies_ != other.selection_frequencies_).any()


def test_weights_go_with_the_rows_and_zero_is_no_row(wide):
    X, y = wide
    weights = np.where(np.arange(40) % 4 == 0, 0.0, 1.0 + np.arange(40) % 3)
    used = weights > 0
    selector = stable().fit(X, y, sample_weight=weights)
    same_result(selector, stable().fit(X[used], y[used], sample_weight=weights[used]))
    assert (selector.selection_frequencies_ != stable().fit(X[used], y[used]).selection_frequencies_).any()


# ---- mistakes


def test_a_class_with_one_sample_is_in_every_half(wide):
    X, y = wide
    rows = [*np.flatnonzero(y != "gamma"), 39]
    selector = stable(n_subsamples=3).fit(X[rows], y[rows])
    assert set(selector.estimator_.classes_) == {"alpha", "beta", "gamma"}


# ---- where the truth is known


def test_strong_columns_are_found_and_hardly_any_others():
    for seed in range(4):
        data = study(80, 150, n_informative=4, effect=2.0, random_state=seed)
        selector = stable(MinimaxRiskClassifier(radius=2.0), n_subsamples=10, threshold=0.6)
        selector.fit(data.data, data.target)
        frequencies = selector.selection_frequencies_[data.informative]
        assert frequencies.mean() >= 0.9
        assert frequencies.min() >= 0.6
        assert len(set(selector.get_support(indices=True)) - set(data.informative)) <= 2
