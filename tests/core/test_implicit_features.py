"""Float32 without a copy: the answers of the container are those of the float64 copy."""

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk._utils.stored_tables import as_table
from minimaxrisk.features import dense
from minimaxrisk.features.dense import ImplicitFeatures, dense_features, implicit_features
from minimaxrisk.features.moment_constraints import MomentConstraintsInMemory
from minimaxrisk.samples.instances import distinct_instances
from minimaxrisk.samples.validation import check_training_data


@pytest.fixture
def no_copies(monkeypatch):
    monkeypatch.setattr(dense, "LARGE", 0)


def a_study(rng, n=30, d=70, n_classes=2, order="C"):
    """Repeated rows, a constant column, weights of zero, columns of all sizes."""
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 30.0, d) + rng.uniform(-50.0, 50.0, d)
    X[:, 5], X[7] = 3.0, X[3]
    y = np.arange(n) % n_classes
    X[y == 1, :4] += 20.0
    weights = rng.integers(0, 3, n).astype(float)
    weights[:6] = 1.0
    return np.asarray(X, dtype=np.float32, order=order), y, weights


def instances_of(X, y, weights):
    return distinct_instances(check_training_data(MinimaxRiskClassifier(), X, y, sample_weight=weights))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_answers_are_those_of_the_copy(no_copies, order, fit_intercept, standardize):
    rng = np.random.default_rng(0)
    X, y, weights = a_study(rng, n_classes=3, order=order)
    instances = instances_of(X, y, weights)
    options = {"standardize": standardize, "fit_intercept": fit_intercept}
    copied, moments, scale = dense_features(as_table(X), instances, **options)
    plain, plain_moments, plain_scale = implicit_features(as_table(X), instances, **options)
    assert np.shares_memory(plain.data.values, X)
    assert plain.shape == copied.shape
    for found, expected in ((plain_scale.shift, scale.shift), (plain_scale.scale, scale.scale)):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    n, d = copied.shape
    v, mu = rng.normal(size=(3, n)), rng.normal(size=(3, d))
    few = np.where(np.arange(d) % 9 == 0, mu, 0.0)
    shares = np.asarray(instances.p_hat / instances.p_hat.sum(axis=1, keepdims=True))
    pairs = [
        (plain.correlate(v), copied.correlate(v)),
        (plain.combine(mu), copied.combine(mu)),
        (plain.combine(few), copied.combine(few)),
        (plain.means_of(np.abs, v), copied.means_of(np.abs, v)),
        (plain.columns(np.array([0, 3, d - 1])), copied.columns(np.array([0, 3, d - 1]))),
        (plain.averaged(sparse.csr_array(shares)).columns(np.arange(d)), shares @ copied.values),
        (plain_moments.mean, moments.mean),
        (plain_moments.variance, moments.variance),
        (plain.class_moments([instances.p_hat])[0].variance, moments.variance),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)
    assert plain.n_passes == 4  # a few columns are no pass
    rough, exact = plain.correlate_roughly(v), copied.correlate(v)
    assert 0.0 < np.abs(rough - exact).max() < 1e-3


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
@pytest.mark.parametrize("marginal", ["free", "empirical"])
def test_a_fit_is_the_same(no_copies, monkeypatch, coding, marginal):
    became_exact = []
    original = MomentConstraintsInMemory.make_exact
    monkeypatch.setattr(
        MomentConstraintsInMemory,
        "make_exact",
        lambda self, weights: (became_exact.append(self), original(self, weights))[1],
    )
    for seed in range(4):
        X, y, weights = a_study(np.random.default_rng(seed), n=40, d=200)
        model = MinimaxRiskClassifier(coding=coding, marginal=marginal)
        copied = model.fit(X.astype(np.float64), y, weights).worst_case_error_
        assert not became_exact
        plain = model.fit(X, y, weights)
        assert plain.worst_case_error_ == pytest.approx(copied, abs=1e-9)
        assert plain.converged_
        for record in plain.history_:
            assert record["lower"] <= copied + 1e-12
            assert record["upper"] >= copied - 1e-12
        assert len(became_exact) == 1
        became_exact.clear()


def test_what_was_proven_roughly_does_not_count(no_copies, monkeypatch):
    """Passes that are wrong by a fifth lead astray, but nothing that they say is reported."""
    rough = ImplicitFeatures.correlate_roughly
    monkeypatch.setattr(ImplicitFeatures, "correlate_roughly", lambda self, v: 0.8 * rough(self, v))
    X, y, _ = a_study(np.random.default_rng(0), n=40, d=200)
    exact = MinimaxRiskClassifier().fit(X.astype(np.float64), y).worst_case_error_
    misled = MinimaxRiskClassifier().fit(X, y)
    assert misled.worst_case_error_ == pytest.approx(exact, abs=1e-7)
    assert all(record["lower"] <= exact + 1e-12 for record in misled.history_)


def test_a_wide_tolerance_ends_with_proven_bounds(no_copies):
    X, y, _ = a_study(np.random.default_rng(1), n=40, d=200)
    rough = MinimaxRiskClassifier(gap_tol=0.05).fit(X, y)
    assert rough.converged_
    assert rough.optimality_gap_ <= 0.05
