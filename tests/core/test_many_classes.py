"""Three and more classes: the optimum, and the bound of always naming one class."""

from __future__ import annotations

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier, permutation_test
from minimaxrisk.engines.dispatch import bound_minimax_risks
from minimaxrisk.engines.interior_point import engine
from minimaxrisk.engines.linear_programs.constraint_generation import full_lp
from minimaxrisk.engines.solution import EngineSettings, Enough, Solution
from minimaxrisk.problem.objective import BayesError
from problems import problem_of

SETTINGS = EngineSettings("interior-point")
KINDS = ["plain", "tied", "duplicated", "tiny class", "zero radius"]


def study(kind, seed=0, n=36, d=50):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 4
    if kind == "tiny class":
        labels = np.where(np.arange(n) < 2, 3, np.arange(n) % 3)
    X = rng.standard_normal((n, d)) + 0.8 * labels[:, None] * (rng.random(d) < 0.4)
    if kind == "tied":
        X = np.clip(np.round(X), -1.0, 1.0)
    elif kind == "duplicated":
        X = np.hstack([X, X[:, : d // 2]])[np.repeat(np.arange(n // 2), 2)]
        labels = labels[: n // 2].repeat(2)
    elif kind == "zero radius":
        X[labels == 1, :3] = 0.0
    return X, labels


def one_hot_problem(kind, seed=0, **options):
    return problem_of(*study(kind, seed), 4, coding="one-hot", **options)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_that_of_the_linear_program(kind):
    for seed, radius in enumerate((0.3, 1.0)):
        problem = one_hot_problem(kind, seed, radius=radius)
        exact = full_lp(problem, BayesError()).upper
        solution = engine.interior_point(problem, SETTINGS)
        assert solution.upper == pytest.approx(exact, abs=1e-9 if kind != "zero radius" else 1e-6)
        assert solution.lower - 1e-12 <= exact <= solution.upper + 1e-9
        (bounds,) = bound_minimax_risks([problem], SETTINGS, Enough(1e-3))
        assert exact - 1e-9 <= bounds.upper <= exact + 1e-3
        # Radii of zero are widened, and the lower bound is that of the wider set.
        assert bounds.upper - 1e-3 <= bounds.lower <= exact + (1e-9 if kind != "zero radius" else 1e-3)


def test_bounds_do_not_depend_on_the_problems_beside():
    problems = [one_hot_problem(kind, seed=4) for kind in KINDS]
    for enough in (Enough(1e-3), Enough(np.inf, 0.2)):
        together = bound_minimax_risks(problems, SETTINGS, enough)
        assert together == [bound_minimax_risks([problem], SETTINGS, enough)[0] for problem in problems]


# --- always naming one class --------------------------------------------------------------------------


def unequal(seed, n=60, d=20):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), np.repeat([0, 1, 2], [n - 15, 9, 6])


@pytest.mark.parametrize("is_known", [False, True])
def test_the_first_bound_is_that_of_the_most_common_class(is_known):
    X, labels = unequal(0)
    problem, _ = problem_of(X, labels, 3, coding="one-hot", marginal_is_known=is_known)
    best = Solution.trivial(problem, problem.objective)
    search = engine._Search(problem, SETTINGS, best)
    share = 45 / 60
    assert search.upper == pytest.approx(1.0 - share + np.sqrt(share * (1.0 - share) / 60), abs=1e-12)
    best.settle(problem, problem.objective)
    assert best.upper == pytest.approx(search.upper, abs=1e-12)


@pytest.mark.parametrize(("coding", "has_intercept"), [("one-hot", False), ("signed", True)])
def test_without_an_intercept_per_class_nothing_is_offered(coding, has_intercept):
    X, labels = unequal(0)
    labels = np.minimum(labels, 1)
    problem, _ = problem_of(X, labels, 2, coding=coding, fit_intercept=has_intercept)
    best = Solution.trivial(problem, problem.objective)
    assert engine._Search(problem, SETTINGS, best).upper == pytest.approx(0.5)


def test_noise_of_unequal_classes_is_bounded_by_the_most_common_one():
    X, labels = unequal(1)
    found = permutation_test(MinimaxRiskClassifier(radius=3.0), X, labels, 19, random_state=0)
    share = 45 / 60
    nothing_learned = 1.0 - share + 3.0 * np.sqrt(share * (1.0 - share) / 60)
    np.testing.assert_allclose([found.statistic, *found.null_distribution], nothing_learned, atol=1e-12)
    assert found.pvalue == 1.0
