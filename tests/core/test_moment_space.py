"""The interior point with one matrix of moments: against the full linear program, and how it ends."""

from __future__ import annotations

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier, verify
from minimaxrisk.engines import dispatch
from minimaxrisk.engines.linear_programs.constraint_generation import full_lp
from minimaxrisk.engines.moment_space import is_for_moment_space, moment_space
from minimaxrisk.engines.solution import EngineSettings
from minimaxrisk.problem.pose import pose
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.rules import Multiple


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


def test_what_it_is_for(monkeypatch):
    X, y = study(0, 60, 4, 3)
    assert is_for_moment_space(problem_of(X, y, 1.0))
    assert not is_for_moment_space(problem_of(X, y, 1.0, marginal_is_known=True))
    assert not is_for_moment_space(problem_of(X, y % 2, 1.0, coding="signed"))
    for name, most in (("MOST_MOMENTS", 14), ("MOST_ENTRIES", 299), ("MOST_MASSES", 179)):
        with monkeypatch.context() as patch:
            patch.setattr(f"minimaxrisk.engines.moment_space.{name}", most)
            assert not is_for_moment_space(problem_of(X, y, 1.0))


@pytest.mark.parametrize("is_enough", [True, False])
def test_many_instances_take_it_and_the_others_go_on_where_it_does_not_converge(monkeypatch, is_enough):
    X, y = study(1, 3000, 4, 3)
    asked = []

    def spy(problem, settings, monitor):
        found = moment_space(problem, settings, monitor)
        asked.append(found)
        found.converged = is_enough
        return found

    monkeypatch.setattr(dispatch, "moment_space", spy)
    model = MinimaxRiskClassifier().fit(X, y)
    assert len(asked) == 1
    assert verify(model, X, y).valid
    assert model.worst_case_error_ == pytest.approx(asked[0].upper, abs=1e-6)
    assert (len(model.history_) == len(asked[0].history)) == is_enough
