"""SVM-CG: equal to the full linear program, and bounded by its dual solution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import reference
from experiments.paper.l1_svm import L1SVM


def full_program(Z, sign, alpha):
    """The primal linear program in beta+, beta-, b+, b- and the slacks, written down from the definition."""
    n, d = Z.shape
    margin = sign[:, None] * np.hstack([Z, -Z, np.ones((n, 1)), -np.ones((n, 1))])
    cost = np.concatenate([np.full(2 * d, alpha), [0.0, 0.0], np.ones(n)])
    return linprog(cost, A_ub=-np.hstack([margin, np.eye(n)]), b_ub=-np.ones(n), method="highs").fun


def objective_at(model, X, sign, row):
    """Hinge loss and penalty of the coefficients of the columns as they were passed."""
    coef = model.coef_[row]
    losses = np.maximum(0.0, 1.0 - sign * (X @ coef + model.intercept_[row]))
    return losses.sum() + model.alpha_ * np.abs(coef) @ X.std(axis=0)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(6, 30),
    d=st.integers(2, 40),
    n_classes=st.integers(2, 3),
    has_equal_rows=st.booleans(),
)
def test_the_objective_is_that_of_the_full_linear_program(seed, n, d, n_classes, has_equal_rows):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 10.0], d)
    y = rng.permutation(np.arange(n) % n_classes)
    if has_equal_rows:  # of several labels
        X[: n // 2] = X[0]
    model = L1SVM(n_max=3, epsilon=1e-8).fit(X, y)
    Z = reference.scaled_columns(X, fit_intercept=False)
    assert model.alpha_ == pytest.approx(0.01 * np.abs(Z).sum(axis=0).max(), rel=1e-12)
    signs = [np.where(y == k, 1.0, -1.0) for k in (range(1, 2) if n_classes == 2 else range(n_classes))]
    best = sum(full_program(Z, sign, model.alpha_) for sign in signs)
    assert model.objective_ == pytest.approx(best, rel=1e-7)
    assert model.objective_lower_ <= best * (1.0 + 1e-9)
    assert model.converged_
    own = sum(objective_at(model, X, sign, row) for row, sign in enumerate(signs))
    assert own == pytest.approx(model.objective_, rel=1e-8)


def test_an_accepted_violation_leaves_a_gap_that_is_certified():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 200)), np.arange(60) % 2
    best = L1SVM(epsilon=1e-8).fit(X, y)
    rough = L1SVM(n_max=5, epsilon=0.3).fit(X, y)
    assert rough.objective_lower_ < best.objective_ < rough.objective_
    assert rough.optimality_gap_ <= 0.3 * rough.objective_
    assert rough.converged_
    assert rough.n_iter_ > 1
    # Scaling, the penalty, the start, and two products for each program.
    assert rough.n_passes_ >= 2 * rough.n_iter_


def test_sparse_and_dense_agree_and_predict():
    rng = np.random.default_rng(1)
    X = rng.poisson(0.3, size=(50, 120)).astype(float)
    y = np.array(["a", "b", "c"])[(X[:, :4].sum(axis=1) > 0).astype(int) + (X[:, 4:8].sum(axis=1) > 1)]
    for labels in (y, y == "a"):
        dense = L1SVM(epsilon=1e-9).fit(X, labels)
        thin = L1SVM(epsilon=1e-9).fit(sparse.csr_array(X), labels)
        np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-8)
        np.testing.assert_allclose(thin.intercept_, dense.intercept_, atol=1e-8)
        np.testing.assert_array_equal(dense.selected_features_, np.flatnonzero(dense.coef_.any(axis=0)))
        assert dense.n_features_selected_ == len(dense.selected_features_)
        for model, form in ((dense, X), (thin, sparse.csr_array(X))):
            np.testing.assert_array_equal(model.predict(form), labels)
