"""Known masses of the instances: the adversary changes labels and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference
from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.engines.dispatch import solve_minimax_risk
from minimaxrisk.engines.solution import EngineSettings
from minimaxrisk.problem.problem import lower_bound, upper_bound
from problems import problem_of

SOLVERS = ("interior-point", "constraint-generation", "full-lp")


def some_data(seed, n, d, n_classes, *, ties=False):
    rng = np.random.default_rng(seed)
    X, labels = reference.random_problem(rng, n, d, n_classes)
    if ties:
        X = np.round(X)
    weights = rng.integers(1, 4, n).astype(float)
    return X, labels, weights


problems_at_random = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(8, 24),
    d=st.integers(1, 12),
    n_classes=st.integers(2, 6),
    coding=st.sampled_from(["auto", "one-hot"]),
    radius=st.sampled_from([0.1, 0.5, 1.0, 2.0, 5.0]),
    ties=st.booleans(),
)


def check_risk(seed, n, d, n_classes, coding, radius, ties):
    X, labels, weights = some_data(seed, n, d, n_classes, ties=ties)
    options = {"coding": coding, "radius": radius, "weights": weights}
    problem, instances = problem_of(X, labels, n_classes, marginal_is_known=True, **options)
    Psi = reference.scaled_columns(X, weights)
    Phi = reference.phi_vectors(Psi, n_classes, problem.coding.name)
    tau, lam = reference.tau_and_lambda(Phi, labels, radius, weights)
    masses = np.bincount(instances.instance_of_row, weights / weights.sum())
    Phi = Phi[instances.rows]
    primal, _ = reference.known_minimax_risk(Phi, tau, lam, masses)
    dual = reference.known_worst_case(Phi, tau, lam, masses)
    for solver in SOLVERS:
        solution = solve_minimax_risk(problem, EngineSettings(solver, epsilon=1e-9, gap_tol=1e-8))
        assert solution.upper == pytest.approx(primal, abs=1e-7)
        assert solution.upper == pytest.approx(dual, abs=1e-7)
        # Both bounds follow from the pair alone.
        again = upper_bound(problem, problem.objective, solution.mu)
        assert again == pytest.approx(solution.upper, abs=1e-12)
        inside = lower_bound(problem, problem.objective, solution.distribution)
        assert inside.bound == pytest.approx(solution.lower, abs=1e-12)
        assert solution.lower <= solution.upper + 1e-12
        np.testing.assert_allclose(solution.distribution.sum(axis=0), masses, atol=1e-12)
    # The set is a part of the one in which instances may change too.
    free, _ = problem_of(X, labels, n_classes, **options)
    assert solution.upper <= solve_minimax_risk(free, EngineSettings("auto")).upper + 1e-7


@settings(max_examples=25)
@problems_at_random
# All six labels share an instance, which few random problems ask for.
@example(seed=0, n=12, d=2, n_classes=6, coding="auto", radius=5.0, ties=False)
def test_risk_is_that_of_two_other_formulations(**drawn):
    check_risk(**drawn)


@pytest.mark.slow
@settings(max_examples=150)
@problems_at_random
def test_risk_is_that_of_two_other_formulations_again_and_again(**drawn):
    check_risk(**drawn)


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_a_single_feature_by_hand(coding):
    """One feature that equals the label and a radius that leaves half of it: a quarter of the labels flip."""
    y = np.repeat([0, 1], 4)
    X = np.where(y == 0, 1.0, -1.0)[:, None]
    # E Phi = 1 for the signed coding; labels that flip with probability q have 1 - 2 q, which is 1 - lambda.
    lam = 0.5 if coding == "signed" else 0.25
    model = MinimaxRiskClassifier(
        marginal="empirical", coding=coding, radius=[lam], standardize=False, fit_intercept=False
    ).fit(X, y)
    assert model.worst_case_error_ == pytest.approx(0.25, abs=1e-9)
