"""Three and more classes: the same bounds in any company, and the bound of always naming one class."""

from __future__ import annotations

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier, permutation_test
from minimaxrisk.engines.dispatch import bound_minimax_risks
from minimaxrisk.engines.interior_point import engine
from minimaxrisk.engines.solution import EngineSettings, Enough, Solution
from problems import problem_of, some_problem

SETTINGS = EngineSettings("interior-point")


@pytest.mark.parametrize("enough", [Enough(1e-3), Enough(np.inf, 0.2)])
def test_bounds_do_not_depend_on_the_problems_beside(enough):
    problems = [some_problem(seed, 36, 50, 4, radius=radius) for seed, radius in enumerate((0.3, 1.0, 2.0))]
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
