"""The bounds hold for every mu and every w, whatever produced them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from minimaxrisk.engines.solution import Solution
from minimaxrisk.problem.objective import BayesError, ExpectedLoss
from minimaxrisk.problem.problem import lower_bound, upper_bound, upper_bound_of_some
from problems import problem_of


def reference_risk(X, labels, n_classes, coding, radius):
    Phi = reference.phi_vectors(reference.scaled_columns(X), n_classes, coding)
    tau, lam = reference.tau_and_lambda(Phi, labels, radius)
    return reference.minimax_risk(Phi, tau, lam)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    radius=st.sampled_from([0.2, 1.0, 3.0]),
)
def test_random_mu_and_w_enclose_the_optimum(seed, n_classes, radius):
    rng = np.random.default_rng(seed)
    X, labels = reference.random_problem(rng, 9, 5, n_classes)
    risk, best_mu = reference_risk(X, labels, n_classes, "one-hot", radius)
    problem, _ = problem_of(X, labels, n_classes, coding="one-hot", radius=radius)
    objective = BayesError()
    best_mu = best_mu.reshape(problem.tau.shape)
    for size in (0.0, 1e-3, 0.1, 1.0, 10.0):
        mu = best_mu + size * rng.standard_normal(problem.tau.shape)
        assert upper_bound(problem, objective, mu) >= risk - 1e-9
    for concentration in (0.05, 1.0, 50.0):
        w = rng.dirichlet(np.full(problem.centre.size, concentration)).reshape(problem.centre.shape)
        point = lower_bound(problem, objective, w)
        assert point.bound <= risk + 1e-9
        assert point.distribution.min() >= 0.0
        assert point.distribution.sum() == pytest.approx(1.0, abs=1e-12)
        deviation = np.abs(problem.moments_of(point.distribution) - problem.tau)
        assert (deviation <= problem.lam + 1e-12).all()


@given(seed=st.integers(0, 2**32 - 1))
def test_upper_bound_is_the_optimum_at_the_optimum(seed):
    rng = np.random.default_rng(seed)
    X, labels = reference.random_problem(rng, 10, 6, 3)
    risk, mu = reference_risk(X, labels, 3, "one-hot", 1.0)
    problem, _ = problem_of(X, labels, 3, radius=1.0)
    assert upper_bound(problem, BayesError(), mu.reshape(problem.tau.shape)) == pytest.approx(risk, abs=1e-10)


def test_coefficients_that_are_zero_need_not_be_given():
    rng = np.random.default_rng(5)
    X, labels = reference.random_problem(rng, 12, 4, 3)
    problem, _ = problem_of(X, labels, 3)
    components, values = np.array([0, 3, 11]), rng.standard_normal(3)
    mu = np.zeros(problem.n_components)
    mu[components] = values
    whole = upper_bound(problem, BayesError(), mu.reshape(problem.shape))
    assert upper_bound_of_some(problem, BayesError(), components, values) == pytest.approx(whole, abs=1e-12)


def test_no_coefficients_is_guessing():
    X, labels = reference.random_problem(np.random.default_rng(5), 12, 4, 4)
    problem, _ = problem_of(X, labels, 4)
    assert upper_bound(problem, BayesError(), np.zeros_like(problem.tau)) == pytest.approx(0.75)
    first = Solution.trivial(problem, BayesError())
    assert not first.mu.any()
    assert first.upper == pytest.approx(0.75)


def test_empirical_distribution_proves_the_training_bayes_error():
    X = np.array([[0.0], [0.0], [1.0], [2.0]])
    labels = np.array([0, 1, 0, 1])  # the first two rows conflict
    problem, _ = problem_of(X, labels, 2)
    point = lower_bound(problem, BayesError(), problem.centre)
    assert point.bound == pytest.approx(0.25)


def just_outside(problem, excess, rng):
    """A distribution that the farthest of its moments puts out of the set by ``excess``."""
    other = rng.dirichlet(np.ones(problem.centre.size)).reshape(problem.centre.shape)
    deviation = np.abs(problem.moments_of(other) - problem.tau)
    step = float(np.min((problem.lam + excess) / deviation))
    assert step < 1.0
    return problem.centre + step * (other - problem.centre)


def farthest_outside(problem, distribution):
    return float((np.abs(problem.moments_of(distribution) - problem.tau) - problem.lam).max())


def test_no_larger_share_would_be_inside():
    rng = np.random.default_rng(1)
    X, labels = reference.random_problem(rng, 12, 5, 3)
    problem, _ = problem_of(X, labels, 3, radius=0.2)
    w = rng.dirichlet(np.ones(problem.centre.size)).reshape(problem.centre.shape)
    share = problem.share_inside(w)
    assert share < 0.9
    assert farthest_outside(problem, share * w + (1.0 - share) * problem.centre) == pytest.approx(
        0.0, abs=1e-13
    )


@pytest.mark.parametrize("excess", [1e-12, 1e-11, 1e-9, 1e-6])
def test_what_is_outside_by_more_than_rounding_is_brought_inside(excess):
    rng = np.random.default_rng(1)
    X, labels = reference.random_problem(rng, 12, 5, 3)
    problem, _ = problem_of(X, labels, 3, radius=0.2)
    w = just_outside(problem, excess, rng)
    assert farthest_outside(problem, w) == pytest.approx(excess, rel=1e-2)
    assert farthest_outside(problem, lower_bound(problem, BayesError(), w).distribution) <= 2e-13


def test_rounding_on_a_thin_constraint_costs_nothing():
    """Beside a radius of 1e-9 a rounding error is large; mixing it away would cost digits of the bound."""
    rng = np.random.default_rng(1)
    X, labels = reference.random_problem(rng, 12, 5, 2)
    X[:, 0] = np.where(labels == 0, 1.0, -1.0)
    problem, _ = problem_of(X, labels, 2, standardize=False, fit_intercept=False, radius=100.0)
    assert problem.lam[0, 0] == reference.SMALLEST_RADIUS
    w = just_outside(problem, 5e-14, rng)
    assert lower_bound(problem, BayesError(), w).bound == pytest.approx(BayesError().value(w), abs=1e-14)


def test_expected_loss_bounds_enclose_the_loss_of_every_member_of_the_set():
    rng = np.random.default_rng(6)
    X, labels = reference.random_problem(rng, 12, 5, 3)
    problem, _ = problem_of(X, labels, 3)
    loss = rng.random(problem.centre.shape)
    objective = ExpectedLoss(loss)
    inside = float((loss * problem.centre).sum())
    for _ in range(50):
        mu = rng.standard_normal(problem.tau.shape)
        assert upper_bound(problem, objective, mu) >= inside
