"""The ways from an interior point to a vertex: what they compute, against full linear programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.engines.interior_point import engine, vertices
from minimaxrisk.engines.interior_point.parametric_simplex import (
    Basis,
    ParametricSimplexError,
    optimal_basis,
)
from minimaxrisk.engines.interior_point.vertices import (
    DependentColumnsError,
    first_basis,
    independent_rows,
)
from minimaxrisk.engines.paper import full_lp
from minimaxrisk.engines.solution import EngineSettings, Solution
from minimaxrisk.problem.problem import lower_bound, upper_bound, upper_bound_of_some
from problems import problem_of, some_problem

SETTINGS = EngineSettings("interior-point")


def accurate_point(problem, monkeypatch, n_more=3):
    """An iterate that tells everything apart, and the coefficients of the optimum."""
    monkeypatch.setattr(vertices.VertexSearch, "candidates", lambda self, gap, *, is_near: iter(()))
    found = engine._Search(problem, SETTINGS, Solution.trivial(problem, problem.objective))
    assert found.run(None) == "near"
    return found.point, full_lp(problem, problem.objective).mu


@pytest.mark.parametrize("n_classes", [2, 4])
def test_push_leaves_as_many_coefficients_as_masses(n_classes, monkeypatch):
    """Every column twice: the interior point shares a coefficient between the two, a vertex does not."""
    rng = np.random.default_rng(3)
    labels = np.arange(40) % n_classes
    X = rng.standard_normal((40, 60)) + 0.6 * labels[:, None] * (rng.random(60) < 0.4)
    once = problem_of(X, labels, n_classes)[0]
    twice = problem_of(np.hstack([X, X]), labels, n_classes)[0]
    exact = full_lp(once, once.objective)
    point, _ = accurate_point(twice, monkeypatch)
    face = point.face()
    assert len(face.components) > 1.5 * np.count_nonzero(exact.mu)
    vertex = vertices.pushed_vertex(point, face)
    mu = vertex.stage.expand(*twice.tau.shape)
    assert np.count_nonzero(mu) == np.count_nonzero(exact.mu)
    assert upper_bound(twice, twice.objective, mu) == pytest.approx(exact.upper, abs=1e-10)
    assert twice.objective.value(vertex.distribution) == pytest.approx(exact.upper, abs=1e-10)


def test_push_keeps_signs_and_lets_places_change():
    """A basis too small for what is pushed: some columns must take the place of others."""
    rng = np.random.default_rng(0)
    n_pivots = 0
    for _ in range(50):
        m, n = 6, 15
        columns, start = rng.standard_normal((m, n)), rng.random(n)
        is_free = np.arange(n) == n - 1
        cost = columns @ start
        _, basis = vertices._bases(columns, np.where(is_free, 10.0, start))
        assert n - 1 in basis
        found, more = vertices._push(columns, cost, start, is_free, basis)
        x = np.linalg.solve(columns[:, found], cost)
        assert (x[~is_free[found]] >= -1e-9).all()
        n_pivots += more
    assert n_pivots > 50


def test_dependent_masses_are_found():
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((5, 12))
    columns[3] = columns[0] - 2.0 * columns[1]
    rows, basis = vertices._bases(columns, np.ones(12))
    assert len(rows) == len(basis) == 4
    assert np.linalg.matrix_rank(columns[np.ix_(rows, basis)]) == 4
    columns[2] = 0.0
    assert len(vertices._bases(columns, np.ones(12))[0]) == 0


def random_program(rng, trial):
    m, n = rng.integers(3, 20, 2)
    A = rng.integers(-2, 3, (m, n)).astype(float) if trial % 3 == 0 else rng.standard_normal((m, n))
    b = A @ rng.standard_normal(n) if trial % 2 else 2.0 * rng.standard_normal(m)
    k = rng.integers(1, min(m, n) + 1)
    guess = Basis(
        rng.permutation(m)[:k], rng.choice([-1.0, 1.0], k), rng.permutation(n)[:k], rng.choice([-1.0, 1.0], k)
    )
    return A, b, guess


def test_parametric_simplex_finds_the_optimum_from_any_basis():
    rng = np.random.default_rng(5)
    n_solved, failed = 0, []
    for trial in range(45):
        A, b, guess = random_program(rng, trial)
        n = A.shape[1]
        rows = np.block([[A, -A], [-A, A]])
        exact = linprog(np.ones(2 * n), A_ub=rows, b_ub=np.concatenate([b + 1.0, 1.0 - b]))
        try:
            found, n_pivots = optimal_basis(A, b, guess, 300)
        except ParametricSimplexError as error:
            failed.append((exact.status, str(error)))
            continue
        assert exact.status == 0
        n_solved += 1
        u, v = np.zeros(n), np.zeros(len(b))
        square = A[np.ix_(found.rows, found.columns)]
        u[found.columns] = np.linalg.solve(square, b[found.rows] + found.row_signs)
        v[found.rows] = np.linalg.solve(square.T, found.column_signs)
        assert np.abs(u).sum() == pytest.approx(exact.fun, abs=1e-7)
        assert (np.abs(A @ u - b) <= 1.0 + 1e-8).all()
        assert (np.abs(v @ A) <= 1.0 + 1e-8).all()
        # From its own optimum it takes no pivot.
        assert optimal_basis(A, b, found, 0)[1] == 0
        if n_pivots > 0:
            with pytest.raises(ParametricSimplexError, match="too many"):
                optimal_basis(A, b, guess, n_pivots - 1)
    assert n_solved > 25
    # The others have no optimum, or a first basis that is none.
    assert len(failed) > 3
    assert all(status == 2 or "singular" in message for status, message in failed)


def test_where_highs_takes_too_many_pivots_the_gap_is_kept(monkeypatch):
    """The history says that there is no vertex, and why."""
    for way in ("candidates", "pushed"):
        monkeypatch.setattr(vertices.VertexSearch, way, lambda self, *given, **options: iter(()))
    problem = some_problem(12, n=60, d=300)
    optimum = engine.interior_point(problem, SETTINGS)
    assert optimum.history[-1]["vertex"] == "HiGHS"
    monkeypatch.setattr(engine, "MOST_PIVOTS", 3)
    monkeypatch.setattr(engine, "EXTRA_ITERATIONS", 0)
    stopped = engine.interior_point(problem, replace(SETTINGS, gap_tol=5e-4))
    last = stopped.history[-1]
    assert (last["vertex"], last["n_pivots"]) == ("HiGHS gave up", 3)
    assert stopped.converged
    assert stopped.upper - stopped.lower <= 5e-4
    assert stopped.lower <= optimum.upper + 1e-12 <= stopped.upper + 2e-12


def test_records_of_a_model_tell_the_way():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 100)), np.arange(40) % 2
    history = MinimaxRiskClassifier(radius=1.0).fit(X, y).history_
    assert history[-1]["vertex"]
    assert not any(record["vertex"] for record in history[:-1])
    generated = MinimaxRiskClassifier("constraint-generation", radius=1.0).fit(X, y).history_
    assert {record["vertex"] for record in generated} == {"HiGHS"}
    assert sum(record["n_pivots"] for record in generated) > 0


def test_independent_rows_are_independent():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((9, 4))
    matrix[:5] = 0.0
    assert independent_rows(matrix).tolist() == [5, 6, 7, 8]


def test_columns_that_depend_on_each_other_have_no_basis():
    with pytest.raises(DependentColumnsError):
        independent_rows(np.ones((5, 2)))


def test_a_first_basis_leaves_out_the_mass_that_vanishes_first():
    """Columns that sum to zero, as centred data have them: all masses may move by the same amount."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((9, 6))
    matrix -= matrix.mean(axis=1, keepdims=True)
    masses = np.array([0.3, -0.2, 0.4, -0.05, 0.1, 0.6])
    rows, columns = first_basis(matrix, masses)
    assert columns.tolist() == [0, 1, 2, 4, 5]
    assert np.linalg.cond(matrix[np.ix_(rows, columns)]) < 1e3
    for size in range(1, 6):
        with pytest.raises(DependentColumnsError):
            first_basis(np.zeros((7, size)), np.ones(size))


def test_where_every_instance_carries_mass_the_crossover_finds_a_vertex(monkeypatch):
    """With many features and classes of equal size the masses of the optimum are not unique."""
    rng = np.random.default_rng(0)
    labels = np.arange(16) % 2
    problem = problem_of(rng.standard_normal((16, 800)), labels, 2, coding="signed")[0]
    point, exact = accurate_point(problem, monkeypatch)
    assert point.face().is_positive.any(axis=0).all()
    assert 0 not in point.face().components  # the intercept's column would make the matrix regular
    vertex = vertices.crossed_vertex(point)
    stage = vertex.stage
    assert len(stage.components) == 15
    upper = upper_bound_of_some(problem, problem.objective, stage.components, stage.values)
    inside = lower_bound(problem, problem.objective, vertex.distribution)
    assert upper == pytest.approx(upper_bound(problem, problem.objective, exact), abs=1e-9)
    assert inside.bound == pytest.approx(upper, abs=1e-9)
