"""Stability selection: halves, frequencies, bounds, and what they are worth where the truth is known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskSelector
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.selector import most_important
from minimaxrisk.guarantees.false_selections import false_selection_bounds
from minimaxrisk.samples.independent_units import Strata, complementary_halves
from minimaxrisk.samples.validation import TrainingData


def stable(estimator=None, **parameters):
    return MinimaxRiskSelector(
        estimator, **{"stability": True, "n_subsamples": 4, "random_state": 0, **parameters}
    )


def study(n_samples=80, n_features=150, **parameters):
    """Independent columns, of which few are informative: those that are not are exchangeable."""
    return make_expression(n_samples, n_features, correlation=0.0, **parameters)


def halves_of(labels, n_halves, weights=None):
    labels = np.asarray(labels)
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    data = TrainingData(np.zeros((len(labels), 1)), np.unique(labels), labels, weights)
    return complementary_halves(Strata.of(data), n_halves, np.random.RandomState(0))


def same_result(a, b):
    np.testing.assert_array_equal(a.selection_frequencies_, b.selection_frequencies_)
    np.testing.assert_array_equal(a.n_selected_per_subsample_, b.n_selected_per_subsample_)
    np.testing.assert_array_equal(a.get_support(), b.get_support())


# ---- halves


def test_halves_come_in_disjoint_pairs_with_equal_shares_of_each_class():
    labels = np.repeat([0, 1, 2], [10, 7, 2])
    halves = halves_of(labels, 6)
    assert len(halves) == 6
    for half in halves:
        assert np.bincount(labels[half]).tolist() == [5, 3, 1]
        assert (np.diff(half) > 0).all()
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert not set(first) & set(second)
    assert len({tuple(half) for half in halves}) == 6


# ---- the selection


@pytest.mark.parametrize("max_features", [None, 3])
def test_frequencies_by_brute_force(max_features):
    data = study(40, 60, n_informative=4, effect=2.0, random_state=1)
    X, y = data.data, data.target
    options = {"max_features": max_features, "threshold": 0.7, "n_subsamples": 10}
    selector = stable(MinimaxRiskClassifier(radius=2.0), **options).fit(X, y)
    random = np.random.RandomState(0)
    votes, sizes = np.zeros(60), []
    for _ in range(5):
        shuffled = [random.permutation(np.flatnonzero(y == k)) for k in (0, 1)]
        for side in (0, 1):
            rows = [part[side * (len(part) // 2) :][: len(part) // 2] for part in shuffled]
            rows = np.sort(np.concatenate(rows))
            model = MinimaxRiskClassifier(radius=2.0).fit(X[rows], y[rows])
            order = sorted(model.selected_features_, key=lambda j, m=model: -m.feature_importances_[j])
            votes[order[:max_features]] += 1
            sizes.append(len(order[:max_features]))
    np.testing.assert_array_equal(selector.selection_frequencies_, votes / 10)
    np.testing.assert_array_equal(selector.n_selected_per_subsample_, sizes)
    assert selector.average_selected_ == pytest.approx(np.mean(sizes))
    np.testing.assert_array_equal(selector.get_support(indices=True), np.flatnonzero(votes >= 7))
    assert 0 < selector.get_support().sum() < 60
    q = np.mean(sizes)
    assert selector.false_selection_bounds_.meinshausen_buhlmann == pytest.approx(q**2 / 0.4 / 60)


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


def test_kinds_of_input(wide):
    X, y = wide
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = stable(threshold=0.8).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(300)])
    named = stable(threshold=0.8).set_output(transform="pandas").fit(frame, y)
    same_result(dense, named)
    assert named.transform(frame).columns.tolist() == frame.columns[dense.get_support()].tolist()
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_matrix):
        other = stable(threshold=0.8).fit(kind(X), y)
        # One of the halves may end at another vertex.
        np.testing.assert_allclose(other.selection_frequencies_, dense.selection_frequencies_, atol=0.26)


def test_weights_go_with_the_rows_and_zero_is_no_row(wide):
    X, y = wide
    weights = np.where(np.arange(40) % 4 == 0, 0.0, 1.0 + np.arange(40) % 3)
    used = weights > 0
    selector = stable().fit(X, y, sample_weight=weights)
    same_result(selector, stable().fit(X[used], y[used], sample_weight=weights[used]))
    assert (selector.selection_frequencies_ != stable().fit(X[used], y[used]).selection_frequencies_).any()


def test_a_fit_without_stability_forgets_the_frequencies(wide):
    selector = stable().fit(*wide)
    selector.set_params(stability=False).fit(*wide)
    assert not hasattr(selector, "selection_frequencies_")
    assert not hasattr(selector, "false_selection_bounds_")
    np.testing.assert_array_equal(selector.get_support(indices=True), selector.estimator_.selected_features_)


def test_a_failed_fit_leaves_the_old_selection(wide):
    X, y = wide
    selector = stable().fit(X, y)
    before = selector.get_support()
    selector.set_params(n_subsamples=3)
    with pytest.raises(ValueError, match="even"):
        selector.fit(X[:, :5], y)
    np.testing.assert_array_equal(selector.get_support(), before)


# ---- mistakes


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"threshold": 0.5},
            r"The 'threshold' parameter .* in the range \(0.5, 1.0\]. Got 0.5",
        ),
        ({"threshold": 1.01}, "The 'threshold' parameter"),
        ({"threshold": "high"}, "The 'threshold' parameter"),
        ({"n_subsamples": 0}, r"The 'n_subsamples' parameter .* in the range \[2, inf\). Got 0"),
        ({"n_subsamples": 10.0}, "The 'n_subsamples' parameter"),
        ({"n_subsamples": 7}, "n_subsamples must be even, because halves .* got 7. Use 8."),
        ({"stability": "yes"}, "The 'stability' parameter .* must be .*bool"),
        ({"n_jobs": 1.5}, "The 'n_jobs' parameter"),
        ({"random_state": "seed"}, "The 'random_state' parameter"),
    ],
)
def test_parameters(parameters, message, wide):
    with pytest.raises(ValueError, match=message):
        stable(**parameters).fit(*wide)


def test_a_class_that_cannot_be_in_both_halves(wide):
    X, y = wide
    rows = [*np.flatnonzero(y != "gamma"), 39]
    message = (
        r"at least 2 samples of every class, .* class 'gamma' has 1; .* use stability=False, or leave out "
        "the class: every statement is then about samples of the other classes alone"
    )
    with pytest.raises(ValueError, match=message):
        stable().fit(X[rows], y[rows])
    weights = np.ones(40)
    weights[np.flatnonzero(y == "beta")[1:]] = 0.0
    with pytest.raises(ValueError, match=r"weight 0 do not count\), but class 'beta' has 1"):
        stable().fit(X, y, sample_weight=weights)


# ---- the bounds


def largest_unimodal_tail(n_pairs, k, mean):
    """The largest P(share >= k / n_pairs) of a unimodal share on {0, 1 / n_pairs, ..., 1} with that mean.

    Unimodal with mode m are the mixtures of uniform distributions on intervals that hold m.
    """
    largest = 0.0
    for mode in range(n_pairs + 1):
        intervals = [(a, b) for a in range(mode + 1) for b in range(mode, n_pairs + 1)]
        tails = np.array([max(0, b - max(a, k) + 1) / (b - a + 1) for a, b in intervals])
        means = [(a + b) / 2 for a, b in intervals]
        found = linprog(-tails, A_eq=[np.ones(len(tails)), means], b_eq=[1, mean * n_pairs])
        if found.success:
            largest = max(largest, -found.fun)
    return largest


@pytest.mark.parametrize("n_pairs", [1, 2, 3, 8])
def test_the_unimodal_bound_is_what_the_worst_unimodal_distribution_attains(n_pairs):
    n_features, n_checked = 1000, 0
    for n_votes in range(n_pairs + 1, 2 * n_pairs + 1):
        for p in (0.02, 0.1, 0.3, 0.5, 0.577):
            bounds = false_selection_bounds(
                p * n_features, n_features, threshold=n_votes / (2 * n_pairs), n_subsamples=2 * n_pairs
            )
            if np.isnan(bounds.shah_samworth):
                continue
            # Frequency >= threshold needs both halves of at least n_votes - n_pairs pairs; P(both) = p^2.
            worst = n_features * largest_unimodal_tail(n_pairs, n_votes - n_pairs, p**2)
            assert bounds.shah_samworth == pytest.approx(worst, rel=1e-6)
            assert bounds.shah_samworth <= bounds.meinshausen_buhlmann * (1 + 1e-12)
            n_checked += 1
    assert n_checked >= 3 * n_pairs


def test_the_unimodal_bound_reaches_as_low_as_the_theorem():
    """Where thresholds are dense the theorem begins at 1/2 + 1/(2B) + 3/4 p^2, below 1/2 + p^2."""
    bounds = [
        false_selection_bounds(400.0, 1000, threshold=votes / 40, n_subsamples=40).shah_samworth
        for votes in (25, 26)
    ]
    assert np.isnan(bounds[0])
    assert bounds[1] == pytest.approx(1000 * largest_unimodal_tail(20, 6, 0.4**2), rel=1e-6)


def test_bounds_by_hand():
    bounds = false_selection_bounds(20.0, 2000, threshold=0.6, n_subsamples=100)
    assert bounds.threshold == 0.6
    assert bounds.low_probability == 0.01
    assert bounds.meinshausen_buhlmann == pytest.approx(0.2 / 0.2)
    assert bounds.shah_samworth == pytest.approx(0.2 / (2 * (0.2 - 0.01)))
    bounds = false_selection_bounds(20.0, 2000, threshold=0.9, n_subsamples=100)
    assert bounds.meinshausen_buhlmann == pytest.approx(0.2 / 0.8)
    assert bounds.shah_samworth == pytest.approx(0.2 * 4 * 0.11 / 1.02)


@pytest.mark.parametrize(
    ("asked", "attained"), [(0.55, 0.55), (0.57, 0.57), (0.551, 0.56), (0.5 + 1e-14, 0.51), (1, 1.0)]
)
def test_the_threshold_is_rounded_up_to_a_share_of_halves(asked, attained):
    assert false_selection_bounds(1.0, 10, threshold=asked, n_subsamples=100).threshold == attained


def test_where_the_theorem_says_nothing():
    assert np.isnan(false_selection_bounds(58.0, 100, threshold=0.9, n_subsamples=100).shah_samworth)
    assert np.isfinite(false_selection_bounds(57.0, 100, threshold=0.9, n_subsamples=100).shah_samworth)
    assert np.isnan(false_selection_bounds(50.0, 100, threshold=0.6, n_subsamples=100).shah_samworth)
    # The theorem begins above 1/2 + (q/d)^2, here 3/4.
    assert np.isnan(false_selection_bounds(50.0, 100, threshold=0.75, n_subsamples=4).shah_samworth)
    nothing = false_selection_bounds(0.0, 100, threshold=0.6, n_subsamples=100)
    assert nothing.shah_samworth == nothing.meinshausen_buhlmann == 0.0


# ---- where the truth is known


def test_strong_columns_are_found_and_false_ones_are_within_the_bounds():
    false, bounds = [], []
    for seed in range(4):
        data = study(80, 150, n_informative=4, effect=2.0, random_state=seed)
        selector = stable(MinimaxRiskClassifier(radius=2.0), n_subsamples=10, threshold=0.6)
        selector.fit(data.data, data.target)
        frequencies = selector.selection_frequencies_[data.informative]
        assert frequencies.mean() >= 0.9
        assert frequencies.min() >= 0.6
        false.append(len(set(selector.get_support(indices=True)) - set(data.informative)))
        bounds.append(selector.false_selection_bounds_.shah_samworth)
    assert np.mean(false) <= np.mean(bounds)


@pytest.mark.filterwarnings("ignore:no column was selected:UserWarning")
def test_pure_noise_selects_next_to_nothing():
    found = []
    for seed in range(3):
        data = study(60, 300, n_informative=0, random_state=seed)
        selector = stable(max_features=10, n_subsamples=10).fit(data.data, data.target)
        assert selector.average_selected_ == 10.0
        found.append(selector.get_support().sum())
    assert np.mean(found) <= selector.false_selection_bounds_.shah_samworth
