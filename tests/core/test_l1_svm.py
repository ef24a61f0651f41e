"""The L1 support vector machine: equal to the full linear program, and certified without a solver."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

import reference
from minimaxrisk import L1SVMClassifier, MinimaxRiskSelector
from minimaxrisk.problem.objective import HingeLoss
from minimaxrisk.problem.pose import pose_l1_svm
from minimaxrisk.problem.problem import lower_bound
from minimaxrisk.samples.validation import check_training_data
from minimaxrisk.solvers import ConstraintGeneration


def penalty_of(Z, weights):
    return 0.01 * np.max(weights @ np.abs(Z))


def columns_of(X, weights, *, standardize):
    """As the penalty sees them."""
    return reference.scaled_columns(X, weights, fit_intercept=False) if standardize else X


def full_program(Z, sign, alpha, weights, *, fit_intercept=True):
    """The primal linear program in beta+, beta-, b+, b- and the slacks, written down from the definition."""
    n, d = Z.shape
    margin = sign[:, None] * Z
    A = np.hstack([-margin, margin, -sign[:, None], sign[:, None], -np.eye(n)])
    cost = np.concatenate([np.full(2 * d, alpha), [0.0, 0.0], weights])
    bounds = [(0, None)] * (2 * d) + [(0, None if fit_intercept else 0)] * 2 + [(0, None)] * n
    found = linprog(cost, A_ub=A, b_ub=-np.ones(n), bounds=bounds, method="highs")
    assert found.status == 0
    return found.fun


def objective_at(model, X, sign, weights, row=0, *, standardize=True):
    """Hinge loss and penalty of the coefficients that the user sees, on the caller's columns."""
    coef = model.coef_[row]
    loss = weights @ np.maximum(0.0, 1.0 - sign * (X @ coef + model.intercept_[row]))
    size = np.sqrt(np.cov(X.T, aweights=weights, ddof=0).reshape(X.shape[1], -1).diagonal())
    return loss + model.alpha_ * np.abs(coef) @ (size if standardize else np.ones(len(size)))


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 30),
    d=st.integers(1, 40),
    standardize=st.booleans(),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
    start=st.sampled_from(["first-order", "correlation"]),
    strength=st.sampled_from([None, 0.001, 0.1, 10.0]),
)
@example(
    seed=0, n=4, d=1, standardize=True, fit_intercept=True, weighted=True, start="correlation", strength=10.0
)
def test_equals_the_full_linear_program(seed, n, d, standardize, fit_intercept, weighted, start, strength):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 10.0], d)
    y = rng.integers(0, 2, n)
    y[:2] = [0, 1]
    weights = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    Z, sign = columns_of(X, weights, standardize=standardize), 2.0 * y - 1.0
    alpha = penalty_of(Z, weights) if strength is None else strength * n
    model = L1SVMClassifier(
        None if strength is None else alpha,
        standardize=standardize,
        fit_intercept=fit_intercept,
        solver=ConstraintGeneration(initial_features=start, n_max=3, epsilon=1e-8),
    ).fit(X, y, sample_weight=weights)
    best = full_program(Z, sign, alpha, weights, fit_intercept=fit_intercept)
    size = max(1.0, best)
    assert model.alpha_ == pytest.approx(alpha, rel=1e-12)
    assert model.objective_ == pytest.approx(best, abs=1e-7 * size)
    assert model.objective_lower_ <= best + 1e-9 * size
    assert model.optimality_gap_ <= 1e-6 * size
    # What the user can compute from coef_ and intercept_ is what is reported.
    if fit_intercept and d > 1:
        own = objective_at(model, X, sign, weights, standardize=standardize)
        assert own == pytest.approx(model.objective_, abs=1e-8 * size)


def test_dual_solution_proves_the_lower_bound_by_itself(wide):
    X, y = wide
    model = L1SVMClassifier(solver=ConstraintGeneration(epsilon=1e-3)).fit(X, y)
    assert model.coef_.shape == (3, 300)
    assert model.dual_coef_.shape == (3, 40)
    Z = reference.scaled_columns(X, fit_intercept=False)
    for k, dual in enumerate(model.dual_coef_):
        sign = np.where(y == model.classes_[k], 1.0, -1.0)
        assert (sign * dual >= 0.0).all()
        assert np.abs(dual).max() <= 1.0 + 1e-12
        assert abs(dual.sum()) < 1e-12
        assert np.abs(dual @ Z).max() <= model.alpha_ * (1.0 + 1e-11)
    assert np.abs(model.dual_coef_).sum() == pytest.approx(model.objective_lower_, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_dual_solution_of_equal_rows_with_different_labels(n_classes):
    """Each row has the share of its own label, in proportion to its weight."""
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, (60, 3)).astype(float)
    y = rng.integers(0, n_classes, 60)
    weights = rng.integers(0, 3, 60).astype(float)
    model = L1SVMClassifier(0.1).fit(X, y, sample_weight=weights)
    Z = reference.scaled_columns(X, weights, fit_intercept=False)
    for k, dual in enumerate(model.dual_coef_):
        sign = np.where(y == (k if n_classes > 2 else 1), 1.0, -1.0)
        assert (sign * dual >= 0.0).all()
        assert (np.abs(dual) <= weights + 1e-12).all()
        assert abs(dual.sum()) < 1e-11
        assert np.abs(dual @ Z).max() <= model.alpha_ * (1.0 + 1e-9)
    assert np.abs(model.dual_coef_).sum() == pytest.approx(model.objective_lower_, rel=1e-11)


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("options", [{}, {"solver": ConstraintGeneration(n_max=5, k_max=1)}])
def test_lower_bound_is_one_for_penalties_that_are_tiny(scale, options):
    """Separable data without scaling: the optimum is the hard margin's norm, tiny beside rounding."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 40)) * scale
    y = np.arange(20) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = L1SVMClassifier(1.0, standardize=False, **options).fit(X, y)
    # For X / scale the coefficients are larger by that factor.
    hard = linprog_hard_margin(X / scale, 2.0 * y - 1.0) / scale
    assert model.objective_lower_ <= hard * (1.0 + 1e-5)
    assert model.objective_ >= hard * (1.0 - 1e-9)
    assert not model.converged_ or model.optimality_gap_ <= 1e-3 * model.objective_


def linprog_hard_margin(Z, sign):
    """The smallest L1 norm of coefficients with all margins at least one."""
    d = Z.shape[1]
    margin = sign[:, None] * np.column_stack([Z, -Z, np.ones(len(Z)), -np.ones(len(Z))])
    cost = np.concatenate([np.ones(2 * d), [0.0, 0.0]])
    return linprog(cost, A_ub=-margin, b_ub=-np.ones(len(Z)), method="highs").fun


def test_a_gap_that_the_solver_cannot_close_is_said(wide):
    with pytest.warns(ConvergenceWarning, match="the penalty is too small for the solver"):
        model = L1SVMClassifier(1e-300).fit(*wide)
    assert not model.converged_


def test_classes_against_the_rest_are_the_binary_machines(wide):
    X, y = wide
    model = L1SVMClassifier(solver=ConstraintGeneration(epsilon=1e-9)).fit(X, y)
    total = 0.0
    for k, name in enumerate(model.classes_):
        binary = L1SVMClassifier(solver=ConstraintGeneration(epsilon=1e-9)).fit(X, y == name)
        np.testing.assert_allclose(model.coef_[k], binary.coef_[0], atol=1e-9)
        assert model.intercept_[k] == pytest.approx(binary.intercept_[0], abs=1e-9)
        total += binary.objective_
    assert model.objective_ == pytest.approx(total, rel=1e-10)
    assert {record["problem"] for record in model.history_} == {0, 1, 2}
    assert model.score(X, y) == 1.0


def test_solvers_agree_and_stages_bound_the_objective(wide):
    X, y = wide
    whole = L1SVMClassifier(solver="full-lp").fit(X, y)
    few = L1SVMClassifier(solver=ConstraintGeneration(n_max=5, epsilon=1e-9)).fit(X, y)
    assert whole.solver_ == "full-lp"
    assert few.solver_ == "constraint-generation"
    assert whole.objective_ == pytest.approx(few.objective_, rel=1e-9)
    first = [record for record in few.history_ if record["problem"] == 0]
    for earlier, later in pairwise(first):
        assert later["upper"] <= earlier["upper"]
        assert later["lower"] >= earlier["lower"]


def test_sparse_and_dense_agree():
    rng = np.random.default_rng(1)
    X = rng.poisson(0.3, size=(50, 120)).astype(float)
    y = (X[:, :4].sum(axis=1) + 0.5 * rng.normal(size=50) > 1).astype(int)
    for standardize in (True, False):
        dense = L1SVMClassifier(solver=ConstraintGeneration(epsilon=1e-9), standardize=standardize).fit(X, y)
        thin = L1SVMClassifier(solver=ConstraintGeneration(epsilon=1e-9), standardize=standardize).fit(
            sparse.csr_array(X), y
        )
        assert thin.alpha_ == pytest.approx(dense.alpha_, rel=1e-12)
        assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-9)
        np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-8)


@pytest.mark.parametrize("flat", [False, True])
def test_intercept_minimises_the_hinge_loss(flat):
    rng = np.random.default_rng(3)
    mass = rng.integers(0, 3, (2, 9)) / 20.0
    if flat:  # equal masses: a whole interval is optimal
        mass = np.where(np.arange(18).reshape(2, 9) % 2, 0.1, 0.0)
        mass[0, 0] = 0.1
    loss = HingeLoss(mass, has_intercept=True)
    score = rng.normal(size=9)
    scores = np.stack([score, -score])
    grid = np.linspace(-6.0, 6.0, 24_001)
    shifted = scores[:, None] + np.stack([grid, -grid])[:, :, None]  # classes x grid x instances
    smallest = np.sum(mass[:, None] * np.maximum(1.0 + shifted, 0.0), axis=(0, 2)).min()
    assert loss.conjugate(scores) <= smallest + 1e-12
    assert loss.conjugate(scores) == pytest.approx(smallest, abs=1e-3)


def test_intercept_is_the_middle_of_what_is_optimal():
    """One sample per class, scores that separate them: all b between -1 + 2 and 3 - 1 have no loss."""
    loss = HingeLoss(np.array([[0.5, 0.0], [0.0, 0.5]]), has_intercept=True)
    score = np.array([-4.0, 3.0])
    # Margins: 4 - b at the first, 3 + b at the second; both at least one for b from -2 to 3.
    assert loss.intercept(np.stack([score, -score])) == pytest.approx(0.5)


def test_a_solver_s_answer_is_brought_back_into_the_domain():
    mass = np.array([[0.3, 0.0, 0.2], [0.0, 0.5, 0.0]])
    w = np.array([[0.4, -1e-9, 0.1], [1e-9, 0.2, -0.1]])
    free = HingeLoss(mass, has_intercept=False).repaired(w, np.zeros_like(w))
    np.testing.assert_array_equal(free, [[0.3, 0.0, 0.1], [0.0, 0.2, 0.0]])
    balanced = HingeLoss(mass, has_intercept=True).repaired(w, np.zeros_like(w))
    np.testing.assert_allclose(balanced, [[0.15, 0.0, 0.05], [0.0, 0.2, 0.0]])


def test_what_the_model_says_about_its_own_work(wide):
    X, y = wide
    model = L1SVMClassifier(solver=ConstraintGeneration(epsilon=1e-2)).fit(X, y)
    last = [max(r["iteration"] for r in model.history_ if r["problem"] == k) for k in range(3)]
    ends = [r for r in model.history_ if r["iteration"] == last[r["problem"]]]
    assert len(ends) == 3
    # In units of the penalty; a tolerance a hundred times larger than it would stop far above.
    assert all(record["max_violation"] <= 1e-2 for record in ends)
    assert any(record["max_violation"] > 1e-2 for record in model.history_)
    np.testing.assert_allclose(model.feature_importances_, np.abs(model.coef_ * X.std(axis=0)).sum(axis=0))
    assert model.n_iter_ == len(model.history_)
    # Scaling, the default penalty, and at least one product for each program and each certificate.
    assert model.n_passes_ >= 2 + model.n_iter_


def test_interrupt_keeps_the_model_and_is_raised_again(wide):
    def interrupt(record):
        raise KeyboardInterrupt

    model = L1SVMClassifier(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*wide)
    assert model.objective_lower_ <= model.objective_
    assert model.predict(wide[0]).shape == (40,)


def test_smoothed_answer_is_the_gradient_of_a_smoothed_hinge_loss():
    rng = np.random.default_rng(4)
    mass, scores, t = rng.random((2, 6)) / 10.0, rng.normal(size=(2, 6)), 0.3
    free = HingeLoss(mass, has_intercept=False)

    def smoothed(s):
        excess = np.maximum(1.0 + s, 0.0)
        return np.sum(mass * np.where(excess < t, excess**2 / (2 * t), excess - t / 2))

    w = free.respond(scores, t)
    for index in np.ndindex(*scores.shape):
        step = np.zeros_like(scores)
        step[index] = 1e-6
        slope = (smoothed(scores + step) - smoothed(scores - step)) / 2e-6
        assert w[index] == pytest.approx(slope, abs=1e-7)
    balanced = HingeLoss(mass, has_intercept=True).respond(scores, t)
    assert balanced[0].sum() == pytest.approx(balanced[1].sum(), rel=1e-12)
    assert ((balanced >= 0.0) & (balanced <= mass)).all()


def posed_machine(X, y, alpha=None):
    data = check_training_data(L1SVMClassifier(), X, y)
    ((problem, loss),) = pose_l1_svm(data, alpha=alpha, standardize=True, fit_intercept=True).binary
    return problem, loss


@pytest.mark.parametrize("times", [1.001, 2.0])
def test_lower_bound_allows_no_violation_that_is_large_beside_the_penalty(wide, times):
    """Rounding is forgiven in proportion, or a dual point outside its set would prove too much."""
    X, y = wide
    problem, loss = posed_machine(X, y == "alpha", alpha=40 * 1e-13)
    w = loss.repaired(np.random.default_rng(0).random((2, 40)), problem.centre)
    # Outside by less than the rounding of moments that do not shrink with the penalty.
    w *= times * 1e-13 / np.abs(problem.moments_of(w)).max()
    inside = lower_bound(problem, loss, w)
    assert np.abs(problem.moments_of(inside.distribution)).max() <= 1e-13 * (1.0 + 1e-5)
    assert inside.bound == pytest.approx(w.sum() / times, rel=1e-5)


def test_selector_takes_it_and_constant_columns_are_never_selected(wide):
    X, y = wide
    X = np.column_stack([np.ones(len(X)), X])
    selector = MinimaxRiskSelector(L1SVMClassifier(), max_features=7).fit(X, y)
    assert selector.transform(X).shape == (40, 7)
    assert 0 not in selector.get_support(indices=True)


def test_all_columns_constant_gives_the_majority():
    model = L1SVMClassifier().fit(np.ones((6, 3)), [0, 0, 0, 0, 1, 1])
    assert not model.coef_.any()
    assert model.predict(np.ones((2, 3))).tolist() == [0, 0]
    assert model.objective_ == pytest.approx(4.0)
    assert model.optimality_gap_ == pytest.approx(0.0, abs=1e-12)


def test_early_stops_keep_valid_bounds(wide):
    X, y = wide
    best = L1SVMClassifier(solver=ConstraintGeneration(epsilon=1e-9)).fit(X, y).objective_
    with pytest.warns(ConvergenceWarning, match="stopped at k_max=1 with an optimality gap"):
        short = L1SVMClassifier(solver=ConstraintGeneration(k_max=1, n_max=2)).fit(X, y)
    assert not short.converged_
    assert short.objective_lower_ <= best + 1e-9
    assert short.objective_ >= best - 1e-9
    seen = []

    def stop(record):
        seen.append(record)
        return len(seen) == 2

    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        stopped = L1SVMClassifier(solver=ConstraintGeneration(n_max=2), callback=stop).fit(X, y)
    assert len(stopped.history_) == 2
    assert seen == stopped.history_
    assert stopped.objective_lower_ <= best + 1e-9 <= stopped.objective_ + 2e-9


def test_verbose_logs_the_objective(wide, caplog):
    X, y = wide
    with caplog.at_level("INFO", logger="minimaxrisk"):
        L1SVMClassifier(verbose=1).fit(X, y == "alpha")
    assert "<= objective <=" in caplog.text


def test_bad_penalty_is_refused(wide):
    with pytest.raises(ValueError, match="'alpha' parameter of L1SVMClassifier must be a float in the range"):
        L1SVMClassifier(-1.0).fit(*wide)
