"""Newton steps with small and with sparse working sets: their sums against those of dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk.engines.interior_point.sides import MomentSide
from minimaxrisk.matrices import working_rows
from minimaxrisk.matrices.moment_constraints import MomentConstraints
from minimaxrisk.matrices.working_rows import DenseRows, SparseRows
from problems import problem_of


def sparse_data(seed, n, d, n_classes):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    X = rng.standard_normal((n, d)) + 0.8 * labels[:, None] * (rng.random(d) < 0.4)
    return sparse.csr_array(np.where(rng.random((n, d)) < 0.15, np.abs(X), 0.0)), labels


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
    X, labels = sparse_data(3, 30, 9, max(2, n_blocks))
    problem, _ = problem_of(X, labels, max(2, n_blocks), coding="one-hot" if has_shared else "signed")
    constraints = MomentConstraints([problem.features], [problem.tau], [problem.lam], in_batch=False)
    constraints.begin()
    working = constraints.working_set(0, np.arange(problem.n_components))
    assert isinstance(working.rows, form)
    n = problem.n_instances
    own, shared = rng.random((2, n_blocks, n)) + 0.1
    weights = rng.random(len(working)) + 0.1
    g = rng.standard_normal((n_blocks, n))
    u, rest, moved = MomentSide(working, weights, own, shared if has_shared else None).refined(g)
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
