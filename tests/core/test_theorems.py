"""The paper's theorems, as statements about what the library computes."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from minimaxrisk.engines.paper import full_lp
from minimaxrisk.problem import rule
from minimaxrisk.problem.objective import BayesError
from minimaxrisk.problem.problem import upper_bound
from problems import generated_from, problem_of


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_convergence_theorem(seed, n_classes):
    """R* <= R^k <= R* + epsilon ||mu*||_1 once no feature is added."""
    X, labels = reference.random_problem(np.random.default_rng(seed), 40, 100, n_classes)
    problem, _ = problem_of(X, labels, n_classes)
    exact = full_lp(problem, BayesError())
    for epsilon in (1e-2, 1e-3):
        approximate = generated_from(problem, 5, epsilon=epsilon)
        assert approximate.converged
        last = approximate.history[-1]["worst_case_error"]
        assert exact.upper - 1e-9 <= last <= exact.upper + epsilon * np.abs(exact.mu).sum() + 1e-9
        path = [record["worst_case_error"] for record in approximate.history]
        assert len(path) > 5
        assert (np.diff(path) <= 1e-9).all()
        assert min(path) >= exact.lower - 1e-9


def test_all_features_at_once_need_one_select():
    X, labels = reference.random_problem(np.random.default_rng(1), 30, 60, 3)
    problem, _ = problem_of(X, labels, 3)
    m = problem.n_components
    solution = generated_from(problem, m, epsilon=0.0)
    assert solution.converged
    assert len(solution.history) == 1
    assert solution.upper == pytest.approx(full_lp(problem, BayesError()).upper, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("radius", [0.05, 1.0])
def test_monotonicity_theorem_bounds_the_true_risk_of_every_stage(seed, radius):
    """R(h^k) <= R^k + (|E Phi_J - tau_J| - lambda_J)' |mu^k_J| when the support is in the training set."""
    rng = np.random.default_rng(seed)
    n_classes, n_points = 3, 12
    points = rng.standard_normal((n_points, 25))
    law = rng.dirichlet(np.full(n_points * n_classes, 0.4)).reshape(n_points, n_classes)
    drawn = rng.choice(law.size, 60, p=law.ravel())
    # Every point of the support appears in the training set, whatever the draw.
    where = np.concatenate([drawn // n_classes, np.arange(n_points)])
    labels = np.concatenate([drawn % n_classes, law.argmax(axis=1)])
    labels[:n_classes] = np.arange(n_classes)
    problem, instances = problem_of(points[where], labels, n_classes, radius=radius)
    solution = generated_from(problem, 3, epsilon=1e-6)
    # The true law on the library's instances.
    truth = law[where[instances.rows]].T
    assert truth.sum() == pytest.approx(1.0)
    excess = np.abs(problem.moments_of(truth) - problem.tau) - problem.lam
    assert len(solution.stages) > 3
    for stage, record in zip(solution.stages, solution.history, strict=True):
        mu = stage.expand(*problem.tau.shape)
        assert upper_bound(problem, BayesError(), mu) == pytest.approx(record["worst_case_error"], abs=1e-12)
        scores = problem.scores_of(mu)
        h = rule.probabilities(scores, rule.threshold(scores))
        true_risk = float((truth * (1 - h)).sum())
        assert true_risk <= record["worst_case_error"] + (excess * np.abs(mu)).sum() + 1e-9


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_scaling_a_column_changes_nothing_and_shifting_does(coding):
    rng = np.random.default_rng(9)
    X, labels = reference.random_problem(rng, 30, 10, 2)

    def risk(matrix):
        problem, _ = problem_of(matrix, labels, 2, coding=coding, standardize=False)
        return full_lp(problem, BayesError()).upper

    assert risk(X * rng.uniform(1e-6, 1e6, 10)) == pytest.approx(risk(X), abs=1e-9)
    assert abs(risk(X + 1.0) - risk(X)) > 1e-4
