"""The interior point with one matrix of moments: against the full linear program, and how it ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier, verify
from minimaxrisk.engines import dispatch
from minimaxrisk.engines.moment_space import MomentSpace, is_for_moment_space, moment_space
from minimaxrisk.engines.paper import full_lp
from minimaxrisk.engines.solution import EngineSettings, StoppingRule
from minimaxrisk.problem.pose import pose
from minimaxrisk.problem.problem import upper_bound
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.rules import Multiple
from problems import bounds_of, coefficients_of


def study(seed, n, d, n_classes):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    return rng.standard_normal((n, d)) + 1.5 * (y[:, None] == np.arange(d)), y


def problem_of(X, y, radius, **options):
    data = TrainingData(X, np.arange(y.max() + 1), y, options.pop("weights", np.ones(len(y))))
    choices = {"coding": "one-hot", "standardize": True, "fit_intercept": True} | options
    return pose(data, rule=Multiple(radius), **choices).problem


@pytest.mark.parametrize("kind", ["plain", "collinear", "constant", "repeated", "no intercept"])
@pytest.mark.parametrize("radius", [0.05, 1.0])
def test_it_finds_the_optimum_of_the_linear_program(kind, radius):
    for seed, n_classes in enumerate((2, 3, 5)):
        X, y = study(seed, 90, 6, n_classes)
        options = {}
        if kind == "collinear":
            X = np.column_stack([X, X[:, 0] + 1e-6 * X[:, 1], X[:, 2]])
        elif kind == "constant":
            X = np.column_stack([X, np.full(90, 3.0)])
        elif kind == "repeated":
            X, y = np.vstack([X, X[:30]]), np.append(y, y[:30])
        elif kind == "no intercept":
            options = {"fit_intercept": False}
        problem = problem_of(X, y, radius, **options)
        expected = full_lp(problem, problem.objective)
        found = moment_space(problem, EngineSettings("auto"))
        assert found.converged
        assert found.lower <= expected.upper + 1e-9
        assert found.upper == pytest.approx(expected.upper, abs=1e-7)
        assert found.gap <= 1e-6


def test_how_it_ends():
    problem = problem_of(*study(0, 60, 4, 3), 1.0)
    one = moment_space(problem, EngineSettings("auto", max_iter=3))
    assert len(one.history) == 3
    assert not one.converged
    stopped = moment_space(problem, EngineSettings("auto"), lambda record: record["iteration"] == 2)
    assert (stopped.stopped, len(stopped.history)) == (True, 2)
    assert stopped.lower <= moment_space(problem, EngineSettings("auto")).upper <= stopped.upper

    def interrupt(record):
        raise KeyboardInterrupt

    assert moment_space(problem, EngineSettings("auto"), interrupt).interrupted


@pytest.mark.parametrize("radius", [0.1, 1.0])
def test_rough_answers_are_as_near_as_asked_for(radius):
    """Bounds and coefficients without a vertex end where they are enough."""
    problem = problem_of(*study(2, 120, 5, 50), radius)
    assert is_for_moment_space(problem)
    expected = moment_space(problem, EngineSettings("auto"))
    (bounds,) = bounds_of([problem], EngineSettings("auto"), StoppingRule(1e-3))
    assert bounds.lower <= expected.upper <= bounds.upper <= expected.lower + 1e-3
    (near,) = coefficients_of([problem], EngineSettings("auto", gap_tol=1e-4))
    assert -1e-12 <= upper_bound(problem, problem.objective, near) - expected.upper <= 1e-4


def test_without_a_vertex_bounds_hold(monkeypatch):
    monkeypatch.setattr(MomentSpace, "MOST_PIVOTS", 0)
    problem = problem_of(*study(0, 90, 6, 3), 0.5)
    found, expected = moment_space(problem, EngineSettings("auto")), full_lp(problem, problem.objective)
    assert found.upper == pytest.approx(expected.upper, abs=1e-6)
    assert found.lower <= expected.upper + 1e-10


def test_others_go_on_where_it_does_not_converge(monkeypatch):
    X, y = study(1, 3000, 4, 3)
    expected = MinimaxRiskClassifier().fit(X, y)

    def short_of_it(*given):
        return replace(moment_space(*given), converged=False)

    monkeypatch.setattr(dispatch, "moment_space", short_of_it)
    model = MinimaxRiskClassifier().fit(X, y)
    assert model.converged_
    assert model.optimality_gap_ <= 1e-6
    assert model.worst_case_error_ == pytest.approx(expected.worst_case_error_, abs=1e-6)
    assert verify(model, X, y).valid
