"""Rules for the radii: factors against their definitions, coverage on laws with known means, warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone

import reference
from minimaxrisk import MinimaxRiskClassifier, verify
from minimaxrisk.datasets import make_expression
from minimaxrisk.exceptions import CoverageWarning, UnderfitWarning
from minimaxrisk.problem.pose import pose
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.moments import mean_kurtosis, typical_skewness
from minimaxrisk.uncertainty.rules import Multiple


@pytest.fixture
def study():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    return rng.standard_normal((40, 150)) + y[:, None] * (np.arange(150) < 5) * 1.5, y


def components(X, y, coding):
    """Phi(x_i, y_i) from the definition (n x m)."""
    n_classes = len(np.unique(y))
    Phi = reference.phi_vectors(reference.scaled_columns(X), n_classes, coding)
    return Phi[np.arange(len(y)), y]


def bootstrap_tail(Z, level, n_draws, rng):
    """Tail of the largest cosine between a column and a direction, by its quantile in n - 1 dimensions."""
    n, centred = len(Z), Z - Z.mean(axis=0)
    e = rng.standard_normal((n_draws, n))
    e -= e.mean(axis=1, keepdims=True)
    products = np.abs(e @ (centred / np.linalg.norm(centred, axis=0))).max(axis=1)
    cosine = np.quantile(products / np.linalg.norm(e, axis=1), level)
    return stats.t.sf(cosine * np.sqrt((n - 2) / (1.0 - cosine**2)), n - 2)


def student(tail, X, y):
    """Student's factor with the degrees of freedom that centring and unequal variances leave."""
    n, inner = len(y), X / X.std(axis=0)
    parts = np.array([np.mean(y == k) * inner[y == k].var(axis=0) for k in (0, 1)])
    own = np.array([[np.sum(y == k) - 1.0] for k in (0, 1)])
    welch = np.median(parts.sum(axis=0) ** 2 / (parts**2 / own).sum(axis=0))
    return stats.t.isf(tail, min(n - 2, welch)) * np.sqrt(n / (n - 2))


def features_level(confidence):
    """A tenth of what is left to one is the intercept's."""
    return 1.0 - 0.9 * (1.0 - confidence)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_bootstrap_is_the_quantile_of_the_largest_deviation(study, container):
    X, y = study
    X = X + X[:, :1]  # correlated, or the union bound would take over
    draws = 20_000
    model = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=draws).fit(container(X), y)
    Z = components(X, y, "signed")
    expected = student(bootstrap_tail(Z, features_level(0.95), draws, np.random.default_rng(5)), X, y)
    # Two quantiles of 20,000 draws each; their standard error is about 0.01.
    assert model.radius_ == pytest.approx(expected, abs=0.05)


def test_bootstrap_is_seeded_and_the_same_for_dense_and_sparse(study):
    X, y = study
    X = X + 2.0 * X[:, :1]  # correlated, or the union bound would take over
    estimator = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=400)
    factor = estimator.fit(X, y).radius_
    assert clone(estimator).fit(X, y).radius_ == factor
    assert clone(estimator).fit(sparse.csr_array(X), y).radius_ == pytest.approx(factor, abs=1e-9)
    assert clone(estimator).set_params(random_state=1).fit(X, y).radius_ != factor
    seeded = [clone(estimator).set_params(random_state=1).fit(X, y).radius_ for _ in range(2)]
    assert seeded[0] == seeded[1]


def test_bootstrap_radius_is_at_most_that_of_the_union_bound(study):
    X, y = study

    def union_bound(X, confidence=0.95):
        return student((1.0 - features_level(confidence)) / (2 * X.shape[1]), X, y)

    union = pytest.approx(union_bound(X))
    # Too few draws for a level tell nothing about it.
    assert MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=58).fit(X, y).radius_ == union
    strict = MinimaxRiskClassifier(radius="bootstrap", confidence=0.999).fit(X, y)
    assert strict.radius_ == pytest.approx(union_bound(X, 0.999))
    # The largest of 59 draws is usually far above the quantile, and more than is needed.
    few = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=59)
    found = [clone(few).set_params(random_state=seed).fit(X, y).radius_ for seed in range(5)]
    assert max(found) == union
    X = X + 0.5 * X[:, :1]
    union = union_bound(X)
    many = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=4000).fit(X, y).radius_
    assert union - 0.2 < many < union


def test_bootstrap_covers_the_true_means_of_a_normal_law():
    """At 80%, so that few data sets tell: 60 of them, binomial standard error 5%."""
    study = make_expression(50, 200, n_informative=10, effect=1.0, random_state=1)
    covered = []
    for seed in range(60):
        X, y = study.law.sample(50, random_state=seed)
        model = MinimaxRiskClassifier(radius="bootstrap", confidence=0.8, n_bootstrap=200).fit(X, y)
        inner = (study.law.class_means - X.mean(axis=0)) / X.std(axis=0)
        truth = np.concatenate([[0.0], (inner[0] - inner[1]) / 2])  # both classes have probability 1/2
        covered.append((np.abs(truth - model.tau_[0]) <= model.lambda_[0]).all())
    assert 0.66 <= np.mean(covered) <= 0.95


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_an_array_of_lambda_gives_the_model_it_was_taken_from(study, standardize, coding):
    X, y = study
    options = {"standardize": standardize, "coding": coding}
    model = MinimaxRiskClassifier(radius=1.7, **options).fit(X * 3.0 + 1.0, y)
    again = MinimaxRiskClassifier(radius=model.lambda_, **options).fit(X * 3.0 + 1.0, y)
    assert again.radius_ is None
    assert again.worst_case_error_ == pytest.approx(model.worst_case_error_, abs=1e-12)
    assert np.allclose(again.lambda_, model.lambda_, rtol=1e-14)
    assert verify(again, X * 3.0 + 1.0, y).valid


def test_weights_that_are_no_counts_are_worth_fewer_samples(study):
    """The variance of a weighted sum, whatever the scale; class weights are no counts either."""
    X, y = study
    w = np.random.default_rng(0).exponential(size=40)
    expected = weighted_radii(X, y, w)
    for scale in (1.0, 1e-3, 40.0):
        model = MinimaxRiskClassifier(radius=2.0).fit(X, y, sample_weight=scale * w)
        np.testing.assert_allclose(model.lambda_[0, 1:], 2.0 * expected, rtol=1e-9)
    whole = np.array([1.0, 3.0] * 20)
    counted = MinimaxRiskClassifier(radius=2.0).fit(X, y, sample_weight=whole)
    np.testing.assert_allclose(counted.lambda_[0, 1:], 2.0 * counted_radii(X, y, whole), rtol=1e-9)
    told = MinimaxRiskClassifier(radius=2.0, weight_kind="importance").fit(X, y, sample_weight=whole)
    np.testing.assert_allclose(told.lambda_[0, 1:], 2.0 * weighted_radii(X, y, whole), rtol=1e-9)
    lopsided = MinimaxRiskClassifier(radius=2.0, class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    by_class = np.where(y == 1, 3.0, 1.0)
    np.testing.assert_allclose(lopsided.lambda_[0, 1:], 2.0 * weighted_radii(X, y, by_class), rtol=1e-9)


def test_whole_numbers_are_importance_where_a_probability_is_stated(study):
    """And a notice says so; they are counts for a number as radius, or where the user says it."""
    X, y = study
    survey = np.random.default_rng(0).integers(500, 3000, 40)
    named, plain = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=1), MinimaxRiskClassifier(radius=5.0)
    with pytest.warns(CoverageWarning, match="importance"):
        guessed = clone(named).fit(X, y, sample_weight=survey)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CoverageWarning)
        weighted = clone(named).set_params(weight_kind="importance").fit(X, y, sample_weight=survey)
        counted = clone(named).set_params(weight_kind="counts").fit(X, y, sample_weight=survey)
    assert np.array_equal(guessed.lambda_, weighted.lambda_)
    assert counted.lambda_.max() < 0.1 * guessed.lambda_.max()
    score = clone(plain).fit(X, y, sample_weight=survey)
    said = clone(plain).set_params(weight_kind="counts").fit(X, y, sample_weight=survey)
    assert np.array_equal(score.lambda_, said.lambda_)


def weighted_radii(X, y, w):
    """Standard errors of sums over samples with these weights."""
    p = w / w.sum()
    inner = (X - p @ X) / np.sqrt(p @ (X - p @ X) ** 2)
    Z = np.where(y == 0, 1.0, -1.0)[:, None] * inner
    return np.sqrt(p**2 @ (Z - p @ Z) ** 2)


def counted_radii(X, y, w):
    """The same of as many samples as the weights say."""
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    return weighted_radii(X[rows], y[rows], np.ones(len(rows)))


@pytest.mark.parametrize(("coding", "n_blocks"), [("signed", 1), ("one-hot", 2)])
def test_the_intercept_has_the_limits_of_a_frequency(coding, n_blocks):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [11, 29])
    model = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=1, coding=coding).fit(
        rng.standard_normal((40, 60)), y
    )
    tail = 0.005 / (2 * n_blocks)
    for block, hits in enumerate([11, 29][:n_blocks]):
        # The frequencies at which so many hits or more, or fewer, have just that probability.
        limits = model.tau_[block, 0] + np.array([-1.0, 1.0]) * model.lambda_[block, 0]
        low, high = (limits + 1.0) / 2.0 if coding == "signed" else limits
        tails = [stats.binom.sf(hits - 1, 40, max(low, 0.0)), stats.binom.cdf(hits, 40, min(high, 1.0))]
        assert max(tails) == pytest.approx(tail, rel=1e-6)
    # Without an intercept all of delta is left to the features.
    without = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=1, fit_intercept=False)
    assert without.fit(rng.standard_normal((40, 60)), y).lambda_.shape[1] == 60


def coverage_warnings(X, y, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", UnderfitWarning)
        model = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=50, **options).fit(X, y)
    assert len(caught) == bool(model.coverage_remarks_)
    assert all(str(w.message) == ". Also: ".join([*model.coverage_remarks_]) + "." for w in caught)
    return list(model.coverage_remarks_)


def test_warnings_where_assumptions_fail():
    rng = np.random.default_rng(2)
    y = np.arange(80) % 2
    normal = rng.standard_normal((80, 500))
    assert coverage_warnings(normal, y) == []
    assert coverage_warnings(normal, y, coding="one-hot") == []
    assert "heavy tails" in coverage_warnings(np.exp(1.5 * normal), y)[0]
    assert "too skewed" in coverage_warnings(np.exp(1.5 * normal), y, coding="one-hot")[0]
    rare = (rng.random((80, 500)) < 0.02).astype(float)
    assert "do not vary within a class" in coverage_warnings(rare, y)[0]
    assert "rarely one" in coverage_warnings(rare, y)[1]
    # A feature that is zero on a class has no spread there.
    some = np.where((y == 0)[:, None] & (np.arange(500) < 3), 0.0, normal)
    for options in ({}, {"standardize": False}, {"coding": "one-hot"}):
        assert coverage_warnings(some, y, **options)[0].startswith("3 features do not vary within a class")


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_typical_skewness_from_the_definition(coding):
    """Third cumulants of two halves of each class, by SciPy; signed, with the sign of the code."""
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], [48, 12])
    X = rng.gamma(np.where(y == 0, 0.5, 2.0)[:, None], size=(60, 25)) + 2.0 * y[:, None]
    data = TrainingData(X, np.arange(2), y, np.ones(60))
    seen = []

    class Spy(Multiple):
        def radii(self, sample):
            seen.append(sample)
            return super().radii(sample)

    posed = pose(data, coding=coding, rule=Spy(1.0), standardize=False, fit_intercept=False)
    order = posed.instances.rows
    scaled = X[order] / np.sqrt(np.mean(X**2, axis=0))
    share = np.array([48.0, -12.0 if coding == "signed" else 12.0]) / 60.0
    spread = sum(np.mean(y == k) * scaled[y[order] == k].var(axis=0) for k in (0, 1))
    cubes = [
        sum(
            share[k] * np.apply_along_axis(stats.kstat, 0, scaled[half][y[order][half] == k], 3)
            for k in (0, 1)
        )
        for half in (slice(None, None, 2), slice(1, None, 2))
    ]
    expected = np.sqrt(np.mean(cubes[0] * cubes[1] / spread**3))
    assert typical_skewness(seen[0]) == pytest.approx(expected, rel=1e-9)
    assert mean_kurtosis(seen[0]) == pytest.approx(np.mean(np.mean(scaled**4, axis=0)), rel=1e-9)
