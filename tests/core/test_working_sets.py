"""Newton steps with small and with sparse working sets: their sums, their answers, and their ways out."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk.engines.interior_point import engine, sides
from minimaxrisk.engines.interior_point.sides import MomentSide
from minimaxrisk.engines.linear_programs.constraint_generation import full_lp
from minimaxrisk.engines.solution import EngineSettings
from minimaxrisk.features import working_rows
from minimaxrisk.features.moment_constraints import moment_constraints_of
from minimaxrisk.features.working_rows import DenseRows, SparseRows
from minimaxrisk.problem.objective import BayesError
from problems import problem_of

SETTINGS = EngineSettings("interior-point")


def data(seed, n=40, d=12, n_classes=2, *, kind="plain"):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    X = rng.standard_normal((n, d)) + 0.8 * labels[:, None] * (rng.random(d) < 0.4)
    if kind == "sparse":
        X = sparse.csr_array(np.where(rng.random((n, d)) < 0.15, np.abs(X), 0.0))
    elif kind == "tied":
        X = np.clip(np.round(X), -1.0, 1.0)
    elif kind == "duplicated":
        X = np.hstack([X, X[:, : d // 2]])[np.repeat(np.arange(n // 2), 2)]
        labels = labels[: n // 2].repeat(2)
    return X, labels


# --- the rows -----------------------------------------------------------------------------------------


def test_sums_of_sparse_rows_are_those_of_dense_ones():
    rng = np.random.default_rng(0)
    values = sparse.csc_array(rng.standard_normal((9, 7)) * (rng.random((9, 7)) < 0.3))
    shift = rng.standard_normal(7)
    rows = SparseRows(values, shift)
    array = values.toarray().T - shift[:, None]
    dense = DenseRows(array.copy())
    parts = (slice(0, 3), slice(3, 3), slice(3, 7))
    weights = rng.random((3, 9))
    assert rows.shape == dense.shape == (7, 9)
    np.testing.assert_allclose(rows[np.array([4, 2])], array[[4, 2]], atol=1e-14)
    np.testing.assert_allclose(rows[:], array, atol=1e-14)
    for form in (rows, dense):
        for part in (*parts, slice(0, 7)):
            own = array[part]
            mu = rng.random(len(own))
            np.testing.assert_allclose(form.combine(part, mu), mu @ own, atol=1e-13)
            np.testing.assert_allclose(form.correlate(part, weights[0]), own @ weights[0], atol=1e-13)
            expected = np.tril((own.T * mu) @ own)
            np.testing.assert_allclose(np.tril(form.gram(part, mu)), expected, atol=1e-13)
            expected = np.tril((own * weights[1]) @ own.T)
            np.testing.assert_allclose(np.tril(form.cross(part, part, weights[1])), expected, atol=1e-13)
        expected = (array[parts[2]] * weights[1]) @ array[parts[0]].T
        np.testing.assert_allclose(form.cross(parts[2], parts[0], weights[1]), expected, atol=1e-13)
        coupled = np.vstack([array[part] * row for part, row in zip(parts, weights, strict=True)])
        expected = np.tril(coupled @ coupled.T)
        np.testing.assert_allclose(np.tril(form.coupled(parts, weights)), expected, atol=1e-13)
        factors = rng.random(7)
        np.testing.assert_allclose(form.scaled(factors)[:], array * factors[:, None], atol=1e-14)
        array = array.copy() if form is rows else array


# --- the moment side -----------------------------------------------------------------------------


@pytest.mark.parametrize("has_shared", [False, True])
@pytest.mark.parametrize("form", [SparseRows, DenseRows])
def test_the_moment_side_solves_its_system(has_shared, form, monkeypatch):
    monkeypatch.setattr(working_rows, "COST_OF_A_PAIR", 0.0 if form is SparseRows else np.inf)
    rng = np.random.default_rng(2)
    n_blocks = 3 if has_shared else 1
    X, labels = data(3, n=30, d=9, n_classes=max(2, n_blocks), kind="sparse")
    problem, _ = problem_of(X, labels, max(2, n_blocks), coding="one-hot" if has_shared else "signed")
    constraints = moment_constraints_of([problem.features], [problem.tau], [problem.lam], in_batch=False)
    constraints.begin()
    working = constraints.working_set(0, np.arange(problem.n_components))
    assert isinstance(working.rows, form)
    n = problem.n_instances
    own, shared = rng.random((2, n_blocks, n)) + 0.1
    weights = rng.random(len(working)) + 0.1
    g = rng.standard_normal((n_blocks, n))
    u, rest, moved = MomentSide(working, weights, own, shared if has_shared else None).solve(g)
    stiffness = np.zeros((n_blocks, n, n_blocks, n))
    for i in range(n):
        block = np.diag(own[:, i]) + (np.outer(shared[:, i], shared[:, i]) if has_shared else 0.0)
        stiffness[:, i, :, i] = np.linalg.inv(block)
    R = np.zeros((len(working), n_blocks, n))
    for b, part in enumerate(working.parts):
        R[part, b] = working.rows[part]
    R = R.reshape(len(working), -1)
    matrix = stiffness.reshape(n_blocks * n, -1) + R.T @ (weights[:, None] * R)
    expected = np.linalg.solve(matrix, g.ravel())
    np.testing.assert_allclose(u.ravel(), expected, atol=1e-9)
    np.testing.assert_allclose(moved, R @ expected, atol=1e-9)
    np.testing.assert_allclose(rest.ravel(), g.ravel() - R.T @ (weights * moved), atol=1e-9)


# --- answers on every way -----------------------------------------------------------------------------

WAYS = ["moments", "instances"]


@pytest.fixture
def take(monkeypatch):
    """Makes every Newton step take one way, and counts what was used."""

    def choose(way, form=None):
        used = {}
        for few, classes in (
            ("MOMENT_SIDE_SIGNED", ("DiagonalMomentSide", "DiagonalInstanceSide")),
            ("MOMENT_SIDE_ONE_HOT", ("EpigraphMomentSide", "EpigraphInstanceSide")),
        ):
            monkeypatch.setattr(sides, few, np.inf if way == "moments" else 0.0)
            for name, cls in zip(WAYS, classes, strict=True):
                original = getattr(sides, cls)

                def counted(*arguments, original=original, name=name):
                    used[name] = used.get(name, 0) + 1
                    return original(*arguments)

                monkeypatch.setattr(sides, cls, counted)
        if form is not None:
            monkeypatch.setattr(working_rows, "COST_OF_A_PAIR", 0.0 if form == "sparse" else np.inf)
        return used

    return choose


@cache
def problems_with_risks(coding, kind):
    """Two and one with more features than samples, and R* by the linear program."""
    found = []
    for seed, radius in enumerate((0.05, 1.0, 3.0)):
        X, labels = data(seed, n=36, d=8 if seed else 50, kind=kind)
        problem, _ = problem_of(X, labels, 2, coding=coding, radius=radius)
        found.append((problem, full_lp(problem, BayesError()).upper))
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", ["signed", "one-hot"])
@pytest.mark.parametrize("kind", ["plain", "tied", "duplicated", "sparse rows", "dense rows"])
def test_every_way_finds_the_optimum(way, coding, kind, take):
    form = kind.split()[0] if "rows" in kind else None
    used = take(way, form)
    for problem, exact in problems_with_risks(coding, "sparse" if form else kind):
        solution = engine.interior_point(problem, SETTINGS)
        assert solution.converged
        assert solution.lower - 1e-12 <= exact <= solution.upper + 1e-12
        assert solution.upper == pytest.approx(exact, abs=1e-9)
    others = set(used) - {way}
    # The moment side alone has a way out.
    assert used[way] > 0
    assert not others or way == "moments"


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_lost_digits_lead_to_the_instance_side(coding, take, monkeypatch):
    used = take("moments")
    # Rounding alone exceeds this from some iteration on.
    monkeypatch.setattr(sides, "LARGEST_DISAGREEMENT", 1e-14)
    monkeypatch.setattr(sides, "SMALL", 1e-15)
    monkeypatch.setattr(engine.VertexSearch, "candidates", lambda self, gap, *, is_near: iter(()))
    X, labels = data(7, n=60, d=10)
    problem, _ = problem_of(X, labels, 2, coding=coding)
    exact = full_lp(problem, BayesError()).upper
    solution = engine.interior_point(problem, SETTINGS)
    assert used["moments"] > 2
    assert used["instances"] > 1
    assert solution.solver == "interior-point"
    assert solution.upper == pytest.approx(exact, abs=1e-9)
