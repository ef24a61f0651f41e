"""The interior point with one matrix of moments: against the full linear program, and how it ends."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from minimaxrisk import MinimaxRiskClassifier, verify
from minimaxrisk.engines import dispatch
from minimaxrisk.engines.class_blocks import ClassBlocks, blocks_are_cheaper
from minimaxrisk.engines.instance_generation import instance_generation
from minimaxrisk.engines.interior_point.engine import interior_point
from minimaxrisk.engines.linear_programs.constraint_generation import full_lp
from minimaxrisk.engines.moment_space.engine import is_for_moment_space, moment_space
from minimaxrisk.engines.solution import EngineSettings, Enough
from minimaxrisk.problem.pose import pose
from minimaxrisk.problem.problem import upper_bound
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
    few, tall, several = study(0, 40, 60, 3), study(0, 2000, 4, 3), study(0, 300, 50, 10)
    assert not is_for_moment_space(problem_of(*few, 1.0))
    for X, y in (tall, several):
        problem = problem_of(X, y, 1.0)
        assert is_for_moment_space(problem)
        assert not is_for_moment_space(problem_of(X, y, 1.0, marginal_is_known=True))
        assert not is_for_moment_space(problem_of(X, y % 2, 1.0, coding="signed"))
    for name, most in (("MOST_MASSES", 2999), ("MOST_ENTRIES", 15_299), ("PART", 0.1)):
        with monkeypatch.context() as patch:
            patch.setattr(f"minimaxrisk.engines.cost.{name}", most)
            assert not is_for_moment_space(problem)


@pytest.mark.parametrize("radius", [0.01, 1.0])
def test_a_few_of_many_instances_lead_to_the_optimum_of_all(radius):
    X, y = study(4, 2500, 5, 4)
    X = np.column_stack([X, X[:, 0] + 1e-6 * X[:, 1]])
    problem = problem_of(X, y, radius)
    expected = instance_generation(problem_of(X[:, :-1], y, radius), EngineSettings("auto"))
    found = moment_space(problem, EngineSettings("auto"))
    assert found.history[-1]["vertex"] == "HiGHS"
    assert (found.converged, found.gap <= 1e-9) == (True, True)
    assert found.upper <= expected.upper + 1e-6
    # The records hold for all instances, and the last one is of the vertex.
    assert all(record["lower"] <= found.upper <= record["upper"] + 1e-12 for record in found.history)
    stopped = moment_space(problem, EngineSettings("auto"), lambda record: record["iteration"] == 4)
    assert stopped.lower <= found.upper <= stopped.upper


def test_small_coefficients_go_whatever_the_gap(monkeypatch):
    problem, bounds, counts = problem_of(*study(0, 90, 6, 3), 0.5), [], []
    for loss in (0.0, 0.02):
        monkeypatch.setattr("minimaxrisk.engines.moment_space.engine.NEGLIGIBLE", loss)
        found = moment_space(problem, EngineSettings("auto", max_iter=5))
        bounds.append(found.upper)
        counts.append(np.count_nonzero(found.mu))
    assert counts[1] < counts[0]
    assert bounds[0] < bounds[1] <= bounds[0] + 0.02


@pytest.mark.parametrize("kind", ["blocks of rows", "no vertex"])
def test_other_ways_to_the_same_optimum(monkeypatch, kind):
    if kind == "no vertex":
        monkeypatch.setattr("minimaxrisk.engines.moment_space.engine.MOST_PIVOTS", 0)
    else:
        monkeypatch.setattr("minimaxrisk.engines.moment_space.matrix.COLUMNS_PER_PAIR", 0)
        monkeypatch.setattr("minimaxrisk.engines.moment_space.matrix.ROWS_OF_BLOCK", 32)
    for seed, n_classes in enumerate((3, 5)):
        problem = problem_of(*study(seed, 90, 6, n_classes), 0.5)
        found = moment_space(problem, EngineSettings("auto"))
        expected = full_lp(problem, problem.objective)
        assert found.upper == pytest.approx(expected.upper, abs=1e-6 if kind == "no vertex" else 1e-8)
        assert found.lower <= expected.upper + 1e-10
        assert any(record["vertex"] == "HiGHS gave up" for record in found.history) == (kind == "no vertex")


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


def test_class_blocks_solve_the_matrix_that_they_stand_for():
    rng = np.random.default_rng(0)
    Z, (own, share) = rng.standard_normal((30, 4)), rng.random((2, 9, 30))
    # Weights as near an optimum, where the factors alone lose half of the digits.
    own, gamma, of_mu = own**20, 1e8 * rng.random(30), 1e-6 * rng.random((9, 4))
    of_classes = [Z.T @ np.diag(share[k]) for k in range(9)]
    shared = np.vstack(of_classes)
    matrix = shared * gamma @ shared.T + np.diag(of_mu.ravel())
    for k in range(9):
        block = slice(4 * k, 4 * k + 4)
        matrix[block, block] += Z.T @ np.diag(own[k]) @ Z
    right = matrix @ rng.standard_normal(36)
    found = ClassBlocks(Z, own, share, gamma, of_mu).solve(right)
    assert np.abs(matrix @ found - right).max() <= 1e-12 * np.abs(right).max()


@pytest.mark.parametrize("kind", ["plain", "collinear", "no intercept"])
@pytest.mark.parametrize("radius", [0.1, 1.0])
def test_many_classes_have_the_optimum_of_the_linear_program(monkeypatch, kind, radius):
    monkeypatch.setattr("minimaxrisk.engines.class_blocks.TIMES_FEWER", 0)
    monkeypatch.setattr("minimaxrisk.engines.moment_space.engine.FEW_MOMENTS", 0)
    for seed, n_classes in enumerate((6, 8)):
        X, y = study(seed, 24, 6, n_classes)
        if kind == "collinear":
            X = np.column_stack([X, X[:, 0] + 1e-6 * X[:, 1]])
        problem = problem_of(X, y, radius, fit_intercept=kind != "no intercept")
        assert blocks_are_cheaper(*problem.features.shape, n_classes)
        expected = full_lp(problem, problem.objective)
        found = moment_space(problem, EngineSettings("auto"))
        assert found.converged
        assert found.upper == pytest.approx(expected.upper, abs=1e-7)
        assert found.lower <= expected.upper + 1e-9


def test_many_classes_take_one_matrix(monkeypatch):
    X, y = study(2, 120, 5, 50)
    asked = []

    def spy(problem, settings, monitor):
        asked.append(problem)
        return moment_space(problem, settings, monitor)

    monkeypatch.setattr(dispatch, "moment_space", spy)
    model = MinimaxRiskClassifier(radius=0.5).fit(X, y)
    (problem,) = asked
    assert is_for_moment_space(problem)
    assert verify(model, X, y).valid
    assert model.optimality_gap_ <= 1e-9
    settings = EngineSettings("auto", gap_tol=1e-4)
    expected = interior_point(problem, EngineSettings("auto"))
    assert model.worst_case_error_ == pytest.approx(expected.upper, abs=2e-6)
    # Bounds and rough coefficients end where they are enough.
    (bounds,) = dispatch.bound_minimax_risks([problem], settings, Enough(1e-3))
    assert bounds.lower <= expected.upper <= bounds.upper <= expected.upper + 1e-3
    assert bounds.upper > expected.upper + 1e-6
    (near,) = dispatch.approach_minimax_risks([problem], settings)
    assert 1e-6 < upper_bound(problem, problem.objective, near) - expected.upper <= 1e-4
    assert len(asked) == 3
    # Not with as many columns as instances, nor with known masses.
    assert not is_for_moment_space(problem_of(*study(2, 120, 70, 50), 0.5))
    assert not is_for_moment_space(problem_of(X, y, 0.5, marginal_is_known=True))


def test_a_thousand_classes_end_with_the_pair_at_hand(monkeypatch):
    """Other engines would have a matrix for each class."""
    monkeypatch.setattr("minimaxrisk.engines.moment_space.engine.MOST_MASSES_MOVED", 0)
    monkeypatch.setattr("minimaxrisk.engines.moment_space.engine.FEWEST_STEPS", 9)
    X, y = study(3, 200, 4, 80)
    with pytest.warns(
        ConvergenceWarning, match=r"stopped with an optimality gap of .*; the bounds are valid"
    ):
        model = MinimaxRiskClassifier(radius=0.5).fit(X, y)
    assert (len(model.history_), model.converged_) == (9, False)
    assert 1e-4 < model.optimality_gap_ < 0.2
    assert verify(model, X, y).valid
