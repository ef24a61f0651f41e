"""The ball against a conic solver, its bounds against their definitions, its radius in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from minimaxrisk.engines.ball import solve_ball
from minimaxrisk.matrices.moments import make_coding
from minimaxrisk.problem.ball import Ball
from minimaxrisk.problem.objective import FREE, KnownMarginal
from minimaxrisk.problem.problem import lower_bound, upper_bound
from minimaxrisk.samples.independent_units import units_of_groups, units_of_rows
from minimaxrisk.uncertainty import ball_radius
from minimaxrisk.uncertainty.ball_radius import UnitMeans


def random_problem(seed, *, is_known, kernel="linear", coding="auto"):
    """Two to five classes, an instance with two labels, radii from tiny to so large that nothing is told."""
    random = np.random.default_rng(seed)
    n_classes = 2 + seed % 4
    n, d = int(random.integers(6, 36)), int(random.integers(1, 50))
    y = np.concatenate([np.arange(n_classes), random.integers(0, n_classes, n - n_classes)])
    X = random.normal(size=(n, d))
    X[:, 0] += y
    gram = X @ X.T / d
    if kernel == "rbf":
        square = np.diag(gram)
        gram = np.exp(-(square[:, None] + square - 2.0 * gram))
    p_hat = np.zeros((n_classes, n))
    np.add.at(p_hat, (y, np.arange(n)), random.integers(1, 4, n))
    p_hat[(y[0] + 1) % n_classes, 0] += 1.0
    p_hat /= p_hat.sum()
    gram = gram + np.mean(np.diag(gram))
    radius = float(random.choice([0.02, 0.2, 0.6, 1.5]) * np.sqrt(np.trace(gram)) / n)
    marginal = KnownMarginal(p_hat.sum(axis=0)) if is_known else FREE
    return Ball(gram, make_coding(coding, n_classes), p_hat, radius, marginal)


def by_conic_solver(problem):
    """R* from the program as it stands: masses w, their maxima r, and a second-order cone."""
    clarabel = pytest.importorskip("clarabel")
    n_classes, n = problem.centre.shape
    size = n_classes * n
    values, vectors = np.linalg.eigh(problem.gram)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    code = np.kron(problem.coding.matrix, np.eye(n))  # w label by label
    root = np.kron(np.eye(problem.coding.n_blocks), root.T)
    none = sparse.csc_matrix((size, n))
    maxima = sparse.csc_matrix(np.tile(np.eye(n), (n_classes, 1)))
    if problem.marginal.is_known:
        totals, masses = np.tile(np.eye(n), (1, n_classes)), problem.marginal.masses
    else:
        totals, masses = np.ones((1, size)), np.ones(1)
    seen = root @ code
    A = sparse.vstack(
        [
            sparse.hstack([sparse.csc_matrix(totals), sparse.csc_matrix((len(totals), n))]),
            sparse.hstack([-sparse.eye(size), none]),
            sparse.hstack([sparse.eye(size), -maxima]),
            sparse.csc_matrix((1, size + n)),
            sparse.hstack([sparse.csc_matrix(-seen), sparse.csc_matrix((len(seen), n))]),
        ],
        format="csc",
    )
    b = np.concatenate([masses, np.zeros(2 * size), [problem.radius], -seen @ problem.centre.ravel()])
    cones = [
        clarabel.ZeroConeT(len(totals)),
        clarabel.NonnegativeConeT(2 * size),
        clarabel.SecondOrderConeT(1 + len(seen)),
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    q = np.concatenate([np.zeros(size), np.ones(n)])
    P = sparse.csc_matrix((size + n, size + n))
    return 1.0 - clarabel.DefaultSolver(P, q, A, b, cones, settings).solve().obj_val


def certified_point(problem, masses):
    return lower_bound(problem, problem.objective, problem.objective.repaired(masses, problem.centre))


# 200 problems in all; a quarter of them is enough to see a fault.
SEEDS = [pytest.param(seed, marks=[pytest.mark.slow] if seed >= 12 else []) for seed in range(50)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("is_known", [True, False])
def test_risk_is_that_of_a_conic_solver(seed, kernel, is_known):
    problem = random_problem(seed, is_known=is_known, kernel=kernel)
    expected = by_conic_solver(problem)
    found = solve_ball(problem)
    assert found.lower <= found.upper + 1e-12
    assert found.gap <= 1e-6
    assert found.lower - 1e-6 <= expected <= found.upper + 1e-6


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_for_any_coefficients_and_any_masses(seed, is_known):
    problem = random_problem(seed, is_known=is_known)
    best, random = solve_ball(problem), np.random.default_rng(seed)
    for _ in range(5):
        noise = random.normal(size=best.mu.shape)
        coefficients = best.mu + random.choice([1e-3, 1.0]) * noise
        assert upper_bound(problem, problem.objective, coefficients) >= best.lower - 1e-12
        point = certified_point(problem, random.random(problem.centre.shape))
        assert point.bound <= best.upper + 1e-12
        # The distribution that proves it is one, and inside.
        assert point.distribution.min() >= 0.0
        assert point.distribution.sum() == pytest.approx(1.0)
        if is_known:
            np.testing.assert_allclose(point.distribution.sum(axis=0), problem.marginal.masses)
        deviation = problem.coding.encode(point.distribution - problem.centre)
        assert np.sum((deviation @ problem.gram) * deviation) <= problem.radius**2 * (1.0 + 1e-9)
        assert point.bound == pytest.approx(1.0 - point.distribution.max(axis=0).sum())


def test_known_instances_of_two_classes_are_a_machine_with_two_hinges():
    problem = random_problem(8, is_known=True)
    assert problem.coding.name == "signed"
    coefficients = np.random.default_rng(0).normal(size=(1, problem.n_instances))
    score = (coefficients @ problem.gram)[0]
    losses = sum(
        masses @ (np.maximum(0.5 - side * score, 0.0) + np.maximum(-0.5 - side * score, 0.0))
        for masses, side in zip(problem.centre, (1.0, -1.0), strict=True)
    )
    norm = np.sqrt(coefficients[0] @ problem.gram @ coefficients[0])
    assert upper_bound(problem, problem.objective, coefficients) == pytest.approx(
        losses + problem.radius * norm
    )


def test_a_ball_so_large_that_nothing_is_learned():
    problem = random_problem(1, is_known=True)
    found = solve_ball(Ball(problem.gram, problem.coding, problem.centre, 1e3, problem.marginal))
    assert found.upper == pytest.approx(1 - 1 / 3)
    assert found.gap == pytest.approx(0.0, abs=1e-12)
    assert not found.mu.any()
    assert found.converged
    assert not found.history


# ---- the radius


def simulated(random, n, d=30, n_classes=2):
    y = np.concatenate([np.arange(n_classes), random.integers(0, n_classes, n - n_classes)])
    return random.normal(size=(n, d)) @ np.diag(np.linspace(0.2, 2.0, d)) + y[:, None] * 0.3, y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_standard_error_is_that_of_the_mean_of_phi(n_classes):
    random = np.random.default_rng(0)
    X, y = simulated(random, 25, n_classes=n_classes)
    coding = make_coding("auto", n_classes)
    phi = np.einsum("bi,ij->ibj", coding.matrix[:, y], X).reshape(25, -1)
    expected = np.sqrt(phi.var(axis=0, ddof=1).sum() / 25)
    p_hat = np.zeros((n_classes, 25))
    p_hat[y, np.arange(25)] = 1 / 25
    units = units_of_rows(p_hat, y, np.ones(25), None, np.arange(25))
    means = UnitMeans.of(X @ X.T, units, coding)
    assert means.standard_error == pytest.approx(expected)
    draws = means.distances(4000, 0)
    assert np.sqrt(np.mean(draws**2)) == pytest.approx(expected, rel=0.05)


def test_the_covering_radius_is_a_draw_surely_above_the_quantile_widened_by_students_law(monkeypatch):
    X, y = simulated(np.random.default_rng(2), 15)
    p_hat = np.zeros((2, 15))
    p_hat[y, np.arange(15)] = 1 / 15
    units = units_of_rows(p_hat, y, np.ones(15), None, np.arange(15))
    means = UnitMeans.of(X @ X.T, units, make_coding("signed", 2))
    draws = np.sort(means.distances(100, 3))
    place = int(stats.binom.ppf(0.95, 100, 0.8))
    widening = stats.t.ppf(0.9, 14) / stats.norm.ppf(0.9)
    assert means.covering(0.8, 100, 3) == pytest.approx(draws[place] * widening)
    assert means.covering(0.999, 20, 3) == pytest.approx(  # too few draws to be sure
        np.max(means.distances(20, 3)) * stats.t.ppf(0.9995, 14) / stats.norm.ppf(0.9995)
    )
    # The draws are the same, however many are held at a time; by their definition.
    monkeypatch.setattr(ball_radius, "MOST_HELD", 40)
    np.testing.assert_allclose(np.sort(means.distances(100, 3)), draws, rtol=1e-14)
    e = np.random.default_rng(3).standard_normal((100, 15))
    phi = ((1.0 - 2.0 * y)[:, None] * X)[np.argsort(y, kind="stable")]  # units come class by class
    expected = np.linalg.norm(e @ (phi - phi.mean(axis=0)), axis=1) / np.sqrt(15 * 14)
    np.testing.assert_allclose(np.sort(expected), draws)


def test_rows_of_a_group_are_one_unit():
    random = np.random.default_rng(1)
    X, y = simulated(random, 12)
    groups = np.repeat(np.arange(12), 2)
    p_hat = np.zeros((2, 24))
    labels = np.repeat(y, 2)
    p_hat[labels, np.arange(24)] = 1 / 24
    coding = make_coding("auto", 2)
    twice = np.repeat(X, 2, axis=0) + np.tile([[0.1], [-0.1]], (12, X.shape[1]))
    grouped = units_of_groups(groups, labels, np.ones(24), np.arange(24), p_hat.shape)
    alone = np.zeros((2, 12))
    alone[y, np.arange(12)] = 1 / 12
    of_means = UnitMeans.of(X @ X.T, units_of_rows(alone, y, np.ones(12), None, np.arange(12)), coding)
    found = UnitMeans.of(twice @ twice.T, grouped, coding)
    assert found.standard_error == pytest.approx(of_means.standard_error)


@pytest.mark.parametrize("n", [20, 60])
def test_the_ball_holds_the_true_mean_as_often_as_it_says(n):
    random, n_inside = np.random.default_rng(n), 0
    for _ in range(200):
        y = (random.random(n) < 0.5).astype(int)
        y[:2] = 0, 1
        X = random.normal(size=(n, 40)) * np.linspace(0.2, 2.0, 40) + 0.3 * (2 * y[:, None] - 1)
        sign = 1.0 - 2.0 * y
        p_hat = np.zeros((2, n))
        p_hat[y, np.arange(n)] = 1 / n
        units = units_of_rows(p_hat, y, np.ones(n), None, np.arange(n))
        radius = UnitMeans.of(X @ X.T, units, make_coding("signed", 2)).covering(0.9, 300, 0)
        n_inside += np.linalg.norm(sign @ X / n + 0.3) <= radius
    assert n_inside >= 0.9 * 200 - 3 * np.sqrt(200 * 0.9 * 0.1)
    assert n_inside < 200
