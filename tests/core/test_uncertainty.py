"""The uncertainty set on samples at hand: each rule, and each formula that it is made of, by definition."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import reference
from minimaxrisk.matrices.matrix import MatrixHints
from minimaxrisk.matrices.moments import make_coding
from minimaxrisk.samples.instances import distinct_instances
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty import rules
from minimaxrisk.uncertainty.moments import (
    broken_assumptions,
    deviation_of_phi,
    features_that_stand_still,
    mean_of_phi,
    moment_sample,
    signed_moments,
)
from minimaxrisk.uncertainty.radius import (
    SMALLEST_RADIUS,
    frequency_radii,
    union_bound_tail,
)
from minimaxrisk.uncertainty.rules import (
    GivenRadii,
    MultiplierBootstrap,
)
from problems import features_in

N = 20


def sample_of(X, labels, *, coding="auto", weights=None, standardize=True, fit_intercept=True, **more):
    n_classes = int(labels.max()) + 1
    weights = np.ones(len(labels)) if weights is None else weights
    instances = distinct_instances(TrainingData(X, np.arange(n_classes), labels, weights, **more))
    features, moments, scale = features_in(X, instances, standardize=standardize, fit_intercept=fit_intercept)
    chosen = make_coding(coding, n_classes)
    tau = mean_of_phi(moments, chosen)
    return moment_sample(features, instances.units, coding=chosen, scale=scale, moments=moments, tau=tau)


@pytest.fixture(scope="module")
def data():
    """Six features, the last of which is constant."""
    X, labels = reference.random_problem(np.random.default_rng(3), N, 6, 2)
    X += 0.3 * X[:, :1]
    X[:, 5] = 2.0
    return X, labels


@pytest.fixture(scope="module", params=["signed", "one-hot"])
def sample(request, data):
    return sample_of(*data, coding=request.param)


# ---- factors and levels


def union_factors(sample, level):
    return sample.student_factors(union_bound_tail(sample, level))


def test_the_union_bound_counts_what_varies(sample):
    n_varying = 5 * len(sample.tau)  # neither the intercept nor the constant
    assert union_bound_tail(sample, 0.8) == pytest.approx(0.2 / (2 * n_varying), rel=1e-12)
    nothing = sample_of(np.ones((N, 2)), np.arange(N) % 2)
    assert union_bound_tail(nothing, 0.8) == pytest.approx(0.1, rel=1e-12)


def test_a_block_of_one_class_is_known_by_its_samples(data):
    """Student's law of the class' own degrees; a single sample counts as two."""
    X, labels = data[0], np.repeat([0, 1, 2], [1, 4, N - 5])
    sample = sample_of(X, labels)
    n = np.array([2.0, 4.0, N - 5.0])
    expected = stats.t.isf(0.001, n - 1.0) * np.sqrt(n / (n - 1.0))
    np.testing.assert_allclose(sample.student_factors(0.001), expected, rtol=1e-12)
    np.testing.assert_allclose(sample.n_of_blocks, [1.0, 4.0, N - 5.0])
    counted = sample_of(X, labels, weights=np.full(N, 2.0))
    np.testing.assert_allclose(counted.n_of_blocks, [2.0, 8.0, 2.0 * N - 10.0])
    found = MultiplierBootstrap(0.9, 0, 0).radii(sample)
    np.testing.assert_allclose(found.factors, union_factors(sample, 0.91), rtol=1e-12)
    assert found.factor == found.factors[0]
    standard_errors = sample.sigma[:, 1:6] / np.sqrt(N)
    np.testing.assert_allclose(found.lam[:, 1:6], found.factors[:, None] * standard_errors, rtol=1e-12)
    assert found.remarks[-1].startswith("2 of 3 classes have fewer than 8 samples")


def frequencies(prior, n, *, n_blocks, noise=None):
    """What ``frequency_radii`` asks of a sample."""
    prior, noise = np.array(prior), np.array(prior if noise is None else noise)
    return SimpleNamespace(
        coding=SimpleNamespace(n_blocks=n_blocks),
        n=n,
        moments=SimpleNamespace(prior=prior),
        spread=SimpleNamespace(prior=noise),
    )


def limits(hits, n, tail):
    """The frequencies at which so many hits or more, or fewer, have just the probability ``tail``."""
    low = stats.beta.ppf(tail, hits, n - hits + 1) if hits else 0.0
    high = stats.beta.isf(tail, hits + 1, n - hits) if hits < n else 1.0
    return low, high


def test_limits_of_frequencies():
    found = frequency_radii(frequencies([0.0, 0.4, 0.6], 10.0, n_blocks=3), 0.94)
    for radius, hits in zip(found, (0, 4, 6), strict=True):
        low, high = limits(hits, 10, 0.01)
        assert radius == pytest.approx(max(high - hits / 10, hits / 10 - low), rel=1e-12)
    low, _ = limits(10, 10, 0.015)
    found = frequency_radii(frequencies([1.0, 0.0], 10.0, n_blocks=2), 0.94)
    assert found == pytest.approx([1.0 - low, 1.0 - low], rel=1e-12)
    few = frequency_radii(frequencies([0.9, 0.1], 10.0, n_blocks=2), 0.94)
    low, high = limits(1, 10, 0.015)
    assert few == pytest.approx(np.full(2, max(high - 0.1, 0.1 - low)), rel=1e-9)
    # The difference of two frequencies is twice the first, less one.
    (signed,) = frequency_radii(frequencies([0.3, 0.7], 10.0, n_blocks=1), 0.94)
    low, high = limits(3, 10, 0.03)
    assert signed == pytest.approx(2.0 * max(high - 0.3, 0.3 - low), rel=1e-12)


def test_limits_of_frequencies_where_samples_weigh_differently():
    """As many samples as a frequency has whose variance is that of the weighted one."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(15))
    is_first = np.arange(15) < 6
    f, n = p[is_first].sum(), 1.0 / np.sum(p**2)
    noise = np.array([np.sum(p[is_first] ** 2), np.sum(p[~is_first] ** 2)]) * n
    (found,) = frequency_radii(frequencies([f, 1.0 - f], n, n_blocks=1, noise=noise), 0.9)
    worth = f * (1.0 - f) / np.sum(p**2 * (is_first - f) ** 2)
    low, high = limits(worth * f, worth, 0.05)
    assert found == pytest.approx(2.0 * max(high - f, f - low), rel=1e-9)


# ---- moments


def test_moments_of_other_labels_lose_no_digits(data):
    """A feature that equals the labels up to little, in one labelling and not in the other."""
    X, labels = data
    X = np.column_stack([X, np.where(labels == 0, 1.0, -1.0) + 1e-7 * X[:, 0]])
    instances = distinct_instances(TrainingData(X, np.arange(2), labels, np.ones(N)))
    features, moments, _ = features_in(X, instances, standardize=False, fit_intercept=True)
    coding = make_coding("signed", 2)
    other = instances.p_hat[:, np.random.default_rng(0).permutation(N)]
    tau, sigma = signed_moments(features, instances.weights, [instances.p_hat, other], coding)
    assert tau.shape == sigma.shape == (2, 1, 8)
    exact = deviation_of_phi(mean_of_phi(moments, coding), moments, coding)
    assert 0.0 < exact[0, 7] < 1e-6
    np.testing.assert_allclose(sigma[0], exact, rtol=1e-8, atol=1e-15)
    Z = (coding.matrix @ np.sign(other)).T * features.columns(np.arange(8))
    np.testing.assert_allclose(tau[1, 0], Z.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(sigma[1, 0], Z.std(axis=0), rtol=1e-9)


def test_groups_have_the_moments_of_their_means(data):
    X, labels = data
    rows = np.repeat(np.arange(N), np.arange(N) % 3 + 1)
    X = X[rows] + 0.1 * np.random.default_rng(1).standard_normal((len(rows), 6))
    sample = sample_of(X, labels[rows], groups=rows)
    Psi = reference.scaled_columns(X)
    share = np.bincount(rows) / len(rows)
    means = np.array([Psi[rows == group].mean(axis=0) for group in range(N)])
    Z = np.where(labels == 0, 1.0, -1.0)[:, None] * means
    tau = share @ Z
    np.testing.assert_allclose(sample.tau[0], tau, atol=1e-12)
    np.testing.assert_allclose(sample.sigma[0] ** 2 / sample.n, share**2 @ (Z - tau) ** 2, atol=1e-12)
    assert sample.n == pytest.approx(1.0 / np.sum(share**2))
    for k in (0, 1):
        own = share * (labels == k)
        assert sample.moments.prior[k] == pytest.approx(own.sum())
        np.testing.assert_allclose(sample.moments.mean[k], own @ means / own.sum(), atol=1e-12)
        np.testing.assert_allclose(sample.spread.mean[k], own**2 @ means / np.sum(own**2), atol=1e-12)


# ---- rules


def test_given_radii(data):
    X, labels = data
    sample = sample_of(X, labels, coding="one-hot", standardize=False)
    row = np.arange(7)
    found = GivenRadii(row, True).radii(sample)
    assert found.lam.dtype == np.float64
    np.testing.assert_array_equal(found.lam, [[SMALLEST_RADIUS, 1, 2, 3, 4, 5, 6]] * 2)
    assert (found.factor, found.remarks) == (None, ())
    outer = GivenRadii(np.stack([row, 2.0 * row]), False).radii(sample).lam
    size = np.append(1.0, np.sqrt(np.mean(X**2, axis=0)))
    np.testing.assert_allclose(outer[:, 1:], (np.stack([row, 2.0 * row]) / size)[:, 1:], rtol=1e-12)


# ---- the bootstrap


def largest_sums(sample, multipliers):
    """max in each block of |sum_u e_u root noise_u (Z_u - tau)| / sigma, units in the order of labels."""
    label, unit = np.nonzero(sample.units.p_hat)
    Psi = sample.features.columns(np.arange(sample.scale.n_leading, sample.tau.shape[1]))[unit]
    tau, sigma = (values[:, sample.scale.n_leading :] for values in (sample.tau, sample.sigma))
    root = np.sqrt(sample.units.noise[label, unit])
    found = []
    for e in multipliers:
        sums = [
            (e * root) @ (code[label, None] * Psi - mean)
            for code, mean in zip(sample.coding.matrix, tau, strict=True)
        ]
        ratios = np.divide(np.abs(sums), sigma, out=np.zeros_like(sigma), where=sigma > 0.0)
        found.append(ratios.max(axis=1))
    return np.array(found)


def lengths_within(sample, multipliers):
    """Of their projections on all the deviations that a column could have in each block."""
    label, unit = np.nonzero(sample.units.p_hat)
    noise, found = sample.units.noise[label, unit], []
    for code in sample.coding.matrix:
        Z = np.diag(code[label])  # a column for every unit
        left, size, _ = np.linalg.svd(np.sqrt(noise)[:, None] * (Z - noise @ Z))
        found.append(np.linalg.norm(multipliers @ left[:, : np.sum(size > 1e-9)], axis=1))
    return np.column_stack(found)


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
@pytest.mark.parametrize("kind", ["plain", "repeated", "importance", "groups", "unlabeled"])
def test_draws_of_the_bootstrap(data, monkeypatch, coding, kind):
    X, labels = data
    more = {
        "plain": {},
        "repeated": {"weights": np.arange(1.0, N + 1.0)},
        "importance": {"weights": np.arange(1.0, N + 1.0), "counts": np.ones(N)},
        "groups": {"groups": np.arange(N)},
        "unlabeled": {"weights": (np.arange(N) < 8).astype(float), "n_unlabeled": N - 8},
    }[kind]
    if kind == "plain":
        X = X.copy()
        X[labels.argmin()] = X[labels.argmax()]  # an instance with two labels
    sample = sample_of(X, labels, coding=coding, **more)
    rule = MultiplierBootstrap(0.9, 150, 4)
    n_units = np.count_nonzero(sample.units.p_hat)
    e, draws = np.random.default_rng(4).standard_normal((150, n_units)), rules.Draws.of(sample)
    np.testing.assert_allclose(draws.lengths(e), lengths_within(sample, e), rtol=1e-9)
    expected = largest_sums(sample, e) / draws.lengths(e)
    np.testing.assert_allclose(rule._cosines(draws), expected, rtol=1e-10)
    monkeypatch.setattr(rules, "BLOCK_ELEMENTS", 70)
    monkeypatch.setattr(sample.features.matrix, "hints", MatrixHints(drawn_elements=70))
    np.testing.assert_allclose(rule._cosines(draws), expected, rtol=1e-10)


def test_labellings_share_their_draws(data, monkeypatch):
    X, labels = data
    sample = sample_of(X, labels)
    rule = MultiplierBootstrap(0.9, 150, 4)
    shared = rule.sharing(sample)
    assert shared == rule
    expected = rule._cosines(rules.Draws.of(sample))
    np.testing.assert_allclose(shared.shared.cosines(sample), expected, rtol=1e-10)
    np.testing.assert_allclose(shared.radii(sample).lam, rule.radii(sample).lam, rtol=1e-10)
    with monkeypatch.context() as patch:
        patch.delattr(MultiplierBootstrap, "_cosines")
        assert shared.radii(sample).factor is not None
    # Another labelling of the same instances: multipliers that its codes turn round, by the definition.
    other = sample_of(X, np.random.default_rng(0).permutation(labels))
    code = other.coding.matrix[0] @ (other.units.p_hat > 0.0)
    unit = np.nonzero(other.units.p_hat)[1]
    drawn = (shared.shared.multipliers * code)[:, unit] * np.sqrt(N)
    expected = largest_sums(other, drawn) / lengths_within(other, drawn)
    for n_largest in (rules.FEWEST_LARGEST, 3, 1):
        monkeypatch.setattr(rules, "FEWEST_LARGEST", n_largest)
        np.testing.assert_allclose(rule.sharing(sample).shared.cosines(other), expected, rtol=1e-10)


def test_small_classes_have_the_union_bound_and_their_share_of_the_level(monkeypatch):
    """Of 7, 10 and 13 samples: a third of what may be missed is that of the first."""
    labels = np.repeat([0, 1, 2], [7, 10, 13])
    X = np.random.default_rng(0).standard_normal((30, 6))
    sample = sample_of(X, labels, fit_intercept=False)
    drawn = np.random.default_rng(1).uniform(0.1, 0.6, (500, 3))
    monkeypatch.setattr(MultiplierBootstrap, "_cosines", lambda rule, draws: drawn)
    found = MultiplierBootstrap(0.7, 500, 0).radii(sample)
    assert found.factors[0] == union_factors(sample, 0.7)[0]
    tails = rules.Draws.of(sample).tails(drawn)[:, 1:].min(axis=1)
    (k, *_) = (k for k in range(500) if stats.binom.cdf(k, 500, 0.8) >= 0.95)
    tail = np.sort(tails)[::-1][k]
    np.testing.assert_allclose(found.factors[1:], sample.student_factors(tail)[1:], rtol=1e-12)


# ---- assumptions


def test_features_that_stand_still_within_a_class():
    """The first varies in both classes, the next two in one, the fourth between them, the last nowhere."""
    rng = np.random.default_rng(0)
    labels = np.arange(N) % 2
    X = rng.standard_normal((N, 5)) + 3.0
    X[labels == 0, 1] = 0.0
    X[labels == 1, 2] = 5.0
    X[:, 3] = labels
    X[:, 4] = 7.0
    for options in ({}, {"coding": "one-hot"}, {"fit_intercept": False}, {"standardize": False}):
        assert features_that_stand_still(sample_of(X, labels, **options)) == 3
    (told, *_) = broken_assumptions(sample_of(X, labels), 0.1)
    assert told.startswith("3 features do not vary within a class")
