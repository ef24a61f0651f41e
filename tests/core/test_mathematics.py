"""Moments, codings, threshold, rule and scaling, each against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import reference
from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.problem import rule
from minimaxrisk.problem.rule import LinearRule
from minimaxrisk.samples.validation import check_training_data
from problems import distinct_instances, features_in, problem_of

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("coding", "n_classes"), [("signed", 2), ("one-hot", 2), ("one-hot", 4)])
def test_moments_match_the_definition(as_sparse, standardize, fit_intercept, coding, n_classes):
    rng = np.random.default_rng(1)
    X, labels = reference.random_problem(rng, 30, 8, n_classes)
    X[rng.random(X.shape) < 0.5] = 0.0
    weights = rng.integers(1, 4, 30).astype(float)
    options = {"standardize": standardize, "fit_intercept": fit_intercept}
    matrix = sparse.csr_array(X) if as_sparse else X
    problem, instances = problem_of(
        matrix, labels, n_classes, coding=coding, radius=0.7, weights=weights, **options
    )
    Psi = reference.scaled_columns(X, weights, **options)
    Phi = reference.phi_vectors(Psi, n_classes, coding)
    tau, lam = reference.tau_and_lambda(Phi, labels, 0.7, weights)
    np.testing.assert_allclose(problem.tau.ravel(), tau, atol=1e-13)
    np.testing.assert_allclose(problem.lam.ravel(), lam, atol=1e-13)
    # The three operations, on rows in the library's own order.
    Psi = Psi[instances.rows]
    np.testing.assert_allclose(problem.features.columns(np.arange(Psi.shape[1])), Psi, atol=1e-13)
    V = rng.standard_normal((2, 30))
    np.testing.assert_allclose(problem.features.correlate(V), V @ Psi, atol=1e-12)
    M = rng.standard_normal((2, Psi.shape[1]))
    np.testing.assert_allclose(problem.features.combine(M), M @ Psi.T, atol=1e-12)
    M[:, 2:] = 0.0
    np.testing.assert_allclose(problem.features.combine(M), M @ Psi.T, atol=1e-12)


def test_the_empirical_distribution_has_the_estimated_moments():
    rng = np.random.default_rng(2)
    X, labels = reference.random_problem(rng, 25, 40, 3)
    # Columns whose mean is far above their spread: the shift must not cost digits.
    X += 1e9
    for convert in (np.asarray, sparse.csr_array):
        problem, _ = problem_of(convert(X), labels, 3)
        centred = problem.features.columns(np.arange(1, 41))
        np.testing.assert_allclose(problem.centre.sum(axis=0) @ centred, 0.0, atol=1e-13)
        np.testing.assert_allclose(problem.moments_of(problem.centre), problem.tau, atol=1e-13)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n", [50, 500])
@pytest.mark.parametrize("mean", [1e9, 1e12, 1e14, 5e14])
def test_columns_vary_as_long_as_their_numbers_hold_digits(mean, n, convert):
    """The difference is exact, so that both tables say the same, however many terms a sum has."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    X = rng.standard_normal((n, 30)) + labels[:, None] * (np.arange(30) < 3) + mean
    expected, of_expected = problem_of(X - mean, labels, 2)
    problem, instances = problem_of(convert(X), labels, 2)
    np.testing.assert_allclose(problem.tau, expected.tau, atol=1e-13)
    np.testing.assert_allclose(problem.lam, expected.lam, rtol=1e-12)
    found, wanted = (each.features.columns(np.arange(31)) for each in (problem, expected))
    found, wanted = found[np.argsort(instances.rows)], wanted[np.argsort(of_expected.rows)]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n", [7, 50, 1777, 20_000])
def test_constants_of_any_size_do_not_vary(n, convert):
    """Nor do those that differ in the last place."""
    rng = np.random.default_rng(n)
    values = rng.standard_normal(60) * 10.0 ** rng.integers(-15, 15, 60)
    X = np.tile(values, (n, 1))
    X[: n // 2, :20] = np.nextafter(X[: n // 2, :20], np.inf)
    X = np.column_stack([np.arange(n), X])  # no two rows are alike
    weights = rng.uniform(0.1, 3.0, n)
    for more in ({}, {"weights": weights}):
        problem, _ = problem_of(convert(X), np.arange(n) % 2, 2, **more)
        np.testing.assert_array_equal(problem.features.columns(np.arange(2, 62)), 0.0)


def test_extreme_magnitudes_neither_overflow_nor_vanish():
    rng = np.random.default_rng(3)
    X, labels = reference.random_problem(rng, 12, 1, 2)
    expected, _ = problem_of(X, labels, 2)
    for factor in (1e-300, 1e-200, 1e200, 1e307):
        for convert in (np.asarray, sparse.csr_array):
            problem, _ = problem_of(convert(X * factor), labels, 2)
            np.testing.assert_allclose(problem.tau, expected.tau, atol=1e-13)
            np.testing.assert_allclose(problem.lam, expected.lam, atol=1e-13)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_columns_far_from_zero_are_centred_by_weight(convert):
    rng = np.random.default_rng(4)
    X, labels = reference.random_problem(rng, 30, 3, 2)
    X += 1e5  # sparse columns so far away are centred for good
    weights = rng.integers(1, 9, 30).astype(float)
    problem, _ = problem_of(convert(X), labels, 2, weights=weights)
    Phi = reference.phi_vectors(reference.scaled_columns(X, weights), 2, "signed")
    tau, lam = reference.tau_and_lambda(Phi, labels, 1.0, weights)
    np.testing.assert_allclose(problem.tau.ravel(), tau, atol=1e-9)
    np.testing.assert_allclose(problem.lam.ravel(), lam, atol=1e-9)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_zeros_of_one_class_leave_no_variance_in_another(convert):
    """A column that is constant within a class has none there, whatever the others hold."""
    for n_constant in range(3, 40):
        labels = np.repeat([0, 1], [n_constant, 10])
        X = np.column_stack([np.where(labels == 0, 0.3, np.arange(len(labels)) % 2), np.arange(len(labels))])
        instances = distinct_instances(convert(X), labels, np.ones(len(labels)), 2)
        _, moments, _ = features_in(convert(X), instances, standardize=True, fit_intercept=False)
        assert moments.variance[0, 0] < 1e-25
        assert moments.variance[1, 0] > 0.1


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("standardize", [True, False])
def test_columns_of_subnormal_numbers_count_as_zero(convert, standardize):
    """Their coefficients would overflow."""
    rng = np.random.default_rng(3)
    X, labels = reference.random_problem(rng, 12, 3, 2)
    faint = X.copy()
    faint[:, 0] = np.where(labels == 0, 1e-310, -3e-310)
    X[:, 0] = 0.0
    expected, model = (
        MinimaxRiskClassifier(standardize=standardize).fit(convert(matrix), labels) for matrix in (X, faint)
    )
    assert model.worst_case_error_ == pytest.approx(expected.worst_case_error_, abs=1e-14)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-12)


@given(seed=SEEDS, n=st.integers(1, 6), n_classes=st.integers(2, 6))
def test_threshold_by_sorting_equals_all_subsets(seed, n, n_classes):
    scores = np.random.default_rng(seed).normal(scale=2.0, size=(n, n_classes))
    assert rule.threshold(scores.T) == pytest.approx(reference.brute_force_phi(scores), abs=1e-13)


@given(seed=SEEDS, n_classes=st.integers(2, 6))
def test_rule_is_the_papers_formula(seed, n_classes):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_classes, 20))
    phi = float(rng.normal())
    h = rule.probabilities(scores, phi)
    for i in range(20):
        excess = np.maximum(scores[:, i] - phi, 0.0)
        expected = excess / excess.sum() if excess.sum() > 0 else np.full(n_classes, 1 / n_classes)
        np.testing.assert_allclose(h[:, i], expected, atol=1e-14)


def test_without_a_threshold_every_instance_has_its_own():
    """2 and -0.35: what is above them adds up to one."""
    scores = np.array([[3.0, 0.2], [1.0, 0.1], [0.0, -0.5]])
    np.testing.assert_allclose(rule.instance_thresholds(scores), [2.0, -0.35])
    np.testing.assert_allclose(
        rule.probabilities(scores, None), [[1.0, 0.55], [0.0, 0.45], [0.0, 0.0]], atol=1e-15
    )


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("coding", "n_classes"), [("signed", 2), ("one-hot", 3)])
def test_coefficients_on_the_columns_of_the_caller_give_the_same_scores(
    coding, n_classes, fit_intercept, known
):
    """From all components or from some, the first of which is that of the intercept if there is one."""
    rng = np.random.default_rng(7)
    X, labels = reference.random_problem(rng, 20, 6, n_classes)
    X = 3.0 * X + rng.standard_normal(6)
    problem, instances = problem_of(
        X, labels, n_classes, coding=coding, fit_intercept=fit_intercept, marginal_is_known=known
    )
    components = np.append(0, 1 + rng.choice(problem.n_components - 1, 4, replace=False))
    values = rng.standard_normal(5)
    values[4] = 0.0
    mu = np.zeros(problem.n_components)
    mu[components] = values
    mu = mu.reshape(problem.shape)
    expected = problem.scores_of(mu)
    for found in (LinearRule.of_problem(mu, problem), LinearRule.of_some(components, values, problem)):
        assert found.n_features == 6
        np.testing.assert_allclose(found.scores(X[instances.rows]), expected, atol=1e-12)
        np.testing.assert_allclose(found.to_mu(problem.scale), mu, atol=1e-12)
        np.testing.assert_array_equal(found.columns, np.flatnonzero(mu[:, fit_intercept:].any(axis=0)))
        if known:
            assert found.threshold is None
        else:
            assert found.threshold == pytest.approx(rule.threshold(expected), abs=1e-12)


@pytest.mark.parametrize(("coding", "n_classes"), [("signed", 2), ("one-hot", 3)])
def test_zeros_have_no_sign(coding, n_classes):
    X, labels = reference.random_problem(np.random.default_rng(7), 20, 6, n_classes)
    problem, _ = problem_of(X, labels, n_classes, coding=coding, standardize=False, fit_intercept=False)
    mu = np.full(problem.shape, -0.0)
    mu[0, 2] = 1.0
    for found in (
        LinearRule.of_problem(mu, problem),
        LinearRule.of_some(np.array([2, 3]), np.array([1.0, -0.0]), problem),
    ):
        assert found.columns.tolist() == [2]
        for values in (found.coef, found.intercept):
            assert not np.signbit(values[values == 0.0]).any()


def test_of_equal_scores_the_first_class_is_taken():
    scores = np.array([[1.0, 0.0, 2.0], [1.0, 3.0, 2.0], [0.0, 3.0, 2.0]])
    assert rule.arg_max(scores).tolist() == [0, 1, 0]
    np.testing.assert_array_equal(
        rule.arg_max_probabilities(scores), [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    )


@given(seed=SEEDS, n_classes=st.integers(2, 6))
def test_deterministic_rule_errs_at_most_twice_as_much(seed, n_classes):
    """1 - h^d(y|x) <= 2 (1 - h(y|x)) for every x, y and every mu (eq. 6 of the paper)."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=rng.choice([0.1, 1.0, 10.0]), size=(n_classes, 50))
    h = rule.probabilities(scores, rule.threshold(scores))
    assert (1 - rule.arg_max_probabilities(scores) <= 2 * (1 - h) + 1e-12).all()


def test_equal_rows_become_one_instance_in_an_order_of_their_own():
    X = np.array([[2.0, 1.0], [0.0, 5.0], [2.0, 1.0], [2.0, 1.0], [9.0, 9.0]])
    labels, weights = np.array([0, 1, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 4.0, 0.0])
    for matrix in (X, X.astype(np.float32), np.asfortranarray(X), sparse.csr_array(X)):
        instances = distinct_instances(matrix, labels, weights, 2)
        assert instances.rows.tolist() == [1, 0]  # the same in every container
        assert instances.units.n == 10.0
        (i,), (j,) = {instances.instance_of_row[0]}, {instances.instance_of_row[1]}
        assert instances.instance_of_row.tolist() == [i, j, i, i, -1]
        assert instances.p_hat[:, i].tolist() == [0.4, 0.4]
        assert instances.p_hat[:, j].tolist() == [0.0, 0.2]
        w = np.array([[0.1, 0.2], [0.3, 0.4]])
        spread = instances.to_rows(w)
        np.testing.assert_allclose(spread[4], 0.0)
        np.testing.assert_allclose(spread[2], 3 / 8 * w[:, i])
        np.testing.assert_allclose(instances.from_rows(spread), w)


@pytest.mark.parametrize("column", [0, 1, 20])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_differ_in_the_sign_of_zero_are_equal(column, dtype):
    """As the first value, in the same block of columns, and in one that is read only while ties remain."""
    X = np.ones((4, 30), dtype=dtype)
    X[:, column] = [0.0, -0.0, -0.0, 0.0]
    X[3, 29] = 5.0
    y = np.array([0, 1, 1, 0])
    expected = MinimaxRiskClassifier().fit(np.abs(X), y)
    # All entries stored, zeros among them.
    stored = sparse.csr_array((X.ravel(), np.tile(np.arange(30), 4), np.arange(0, 121, 30)), shape=X.shape)
    assert stored.nnz == 120
    for matrix in (X, stored):
        model = MinimaxRiskClassifier()
        instances = distinct_instances(check_training_data(model, matrix, y).X, y, np.ones(4), 2)
        assert instances.n_instances == 2
        assert len(set(instances.instance_of_row[:3])) == 1
        assert model.fit(matrix, y).worst_case_error_ == pytest.approx(expected.worst_case_error_, abs=1e-12)


@pytest.mark.parametrize("n", [20, 700])
def test_order_and_repetition_of_rows_do_not_matter(n):
    rng = np.random.default_rng(4)
    X, labels = reference.random_problem(rng, n, 30, 3)
    doubled = np.concatenate([np.arange(n), np.arange(n)])
    for convert in (np.asarray, sparse.csr_array):
        _, once = problem_of(convert(X), labels, 3, weights=np.full(n, 2.0))
        _, twice = problem_of(convert(X[doubled]), labels[doubled], 3)
        np.testing.assert_array_equal(X[once.rows], X[doubled][twice.rows])
        np.testing.assert_array_equal(once.p_hat, twice.p_hat)
    order = rng.permutation(n)
    for convert in (np.asarray, sparse.csr_array):
        one, _ = problem_of(convert(X), labels, 3)
        two, _ = problem_of(convert(X[order]), labels[order], 3)
        np.testing.assert_array_equal(one.tau, two.tau)
        np.testing.assert_array_equal(one.lam, two.lam)


def test_rule_is_uniform_where_no_score_passes_the_threshold():
    scores = np.array([[-1.0, 0.5], [-2.0, 0.5], [-3.0, 0.0]])
    np.testing.assert_allclose(rule.probabilities(scores, 0.2), [[1 / 3, 0.5], [1 / 3, 0.5], [1 / 3, 0.0]])
