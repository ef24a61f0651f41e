"""The ways from an interior point to a vertex: what they compute, against full linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import reference
from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.engines.interior_point import engine, vertices
from minimaxrisk.engines.interior_point.parametric_simplex import (
    Atoms,
    Components,
    ParametricSimplexError,
    Vertex,
    optimal_vertex,
)
from minimaxrisk.engines.paper import full_lp
from minimaxrisk.engines.solution import EngineSettings
from minimaxrisk.problem.problem import upper_bound
from problems import problem_of

SETTINGS = EngineSettings("interior-point")


def accurate_point(problem, monkeypatch, n_more=3):
    """An iterate that tells everything apart, and the coefficients of the optimum."""
    monkeypatch.setattr(vertices.VertexSearch, "candidates", lambda self, gap, *, is_near: iter(()))
    found = engine.Search(problem, SETTINGS)
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


def random_program(rng, trial):
    """Rows of features, the moments of a distribution with radii, and a guess of the vertex."""
    m, n = rng.integers(3, 20, 2)
    rows = rng.integers(-2, 3, (m, n)).astype(float) if trial % 3 == 0 else rng.standard_normal((m, n))
    w = rng.dirichlet(np.ones(2 * n)).reshape(2, n)
    tau, lam = rows @ (w[0] - w[1]), rng.uniform(0.05, 0.3) * np.abs(rows).max(axis=1)
    atoms, components = Atoms(np.array([[1.0, -1.0]]), n), Components(np.arange(m), np.zeros(m, int), rows)
    k = int(rng.integers(0, min(m, n) + 1))
    active, chosen = np.sort(rng.permutation(m)[:k]), rng.choice([0, n], k) + rng.permutation(n)[:k]
    chosen = np.append(chosen, 2 * n)
    inverse = atoms.inverse_of(components.block[active], rows[active], chosen)
    guess = Vertex(active, rng.choice([-1.0, 1.0], k), chosen, inverse)
    return atoms, components, np.stack([tau + lam, tau - lam]), guess


def test_parametric_simplex_finds_the_optimum_from_any_guess():
    rng = np.random.default_rng(5)
    n_solved = n_singular = 0
    for trial in range(60):
        try:
            atoms, components, bounds, guess = random_program(rng, trial)
        except ParametricSimplexError:
            n_singular += 1
            continue
        n = atoms.n
        entries = atoms.entries(components.block, components.rows, np.arange(2 * n + 1))
        exact = linprog(
            atoms.cost[: 2 * n + 1],
            A_ub=np.vstack([entries, -entries]),
            b_ub=np.concatenate([bounds[0], -bounds[1]]),
            A_eq=np.ones((1, 2 * n + 1)),
            b_eq=[1.0],
        )
        vertex, n_pivots = optimal_vertex(atoms, components, bounds, guess, 300)
        held = np.where(vertex.side > 0.0, bounds[0, vertex.active], bounds[1, vertex.active])
        mass = vertex.inverse @ np.append(1.0, held)
        moments = entries[:, np.minimum(vertex.atoms, 2 * n)] @ mass
        assert atoms.cost[vertex.atoms] @ mass == pytest.approx(exact.fun, abs=1e-9)
        assert (mass >= -1e-9).all()
        assert ((bounds[1] - 1e-9 <= moments) & (moments <= bounds[0] + 1e-9)).all()
        # From its own optimum it takes no pivot, but for ties.
        assert optimal_vertex(atoms, components, bounds, vertex, 5)[1] <= 2
        if n_pivots > 0:
            with pytest.raises(ParametricSimplexError, match="too many"):
                optimal_vertex(atoms, components, bounds, guess, n_pivots - 1)
        n_solved += 1
    assert n_solved > 40
    assert n_solved + n_singular == 60


@pytest.mark.parametrize("way", ["", "HiGHS gave up", "HiGHS"])
def test_without_a_vertex_next_to_the_iterate_the_gap_is_kept(monkeypatch, way):
    for name in ("candidates", "pushed"):
        monkeypatch.setattr(vertices.VertexSearch, name, lambda self, *given, **options: iter(()))
    X, labels = reference.random_problem(np.random.default_rng(12), 60, 300, 2)
    problem = problem_of(X, labels, 2, marginal_is_known=way != "")[0]
    settings = SETTINGS
    if way == "HiGHS gave up":
        monkeypatch.setattr(engine, "most_pivots", lambda problem: 3)
        monkeypatch.setattr(engine, "EXTRA_ITERATIONS", 0)
        settings = EngineSettings("interior-point", gap_tol=5e-4)
    found = engine.interior_point(problem, settings)
    optimum = full_lp(problem, problem.objective).upper
    assert found.history[-1]["vertex"] == way
    assert found.converged
    assert found.lower <= optimum + 1e-12 <= found.upper + 2e-12
    assert found.upper - found.lower <= settings.gap_tol


def test_records_of_a_model_tell_the_way():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 100)), np.arange(40) % 2
    history = MinimaxRiskClassifier(radius=1.0).fit(X, y).history_
    assert history[-1]["vertex"]
    assert not any(record["vertex"] for record in history[:-1])
    generated = MinimaxRiskClassifier(solver="constraint-generation", radius=1.0).fit(X, y).history_
    assert {record["vertex"] for record in generated} == {"HiGHS"}
    assert sum(record["n_pivots"] for record in generated) > 0


def test_pivots_find_the_vertex_where_every_sample_has_mass():
    """Centred columns have one direction less than samples: a first basis of all masses is singular."""
    X, y = np.random.default_rng(1).standard_normal((40, 4000)), np.arange(40) % 2
    X[y == 1, :10] += 1.0
    ways = []
    model = MinimaxRiskClassifier(callback=lambda record: ways.append(record["vertex"]) and None).fit(X, y)
    assert (model.worst_case_distribution_.sum(axis=1) > 0.0).all()
    assert ways[-1] == "parametric simplex"
    assert model.optimality_gap_ < 1e-12
