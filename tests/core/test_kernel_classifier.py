"""The kernel classifier: kernels, weights, groups and new instances, its certificate, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk import MinimaxRiskKernelClassifier, permutation_test, verify, worst_case
from minimaxrisk.datasets import make_expression
from minimaxrisk.problem import ball


@pytest.fixture(scope="module")
def study():
    random = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = random.normal(size=(45, 12))
    X[:, :3] += 1.2 * np.eye(3)[y]
    return X, np.array(["a", "b", "c"])[y]


@pytest.fixture(params=[2, 3])
def data(request, study):
    X, y = study
    rows = slice(None) if request.param == 3 else y != "c"
    return X[rows], y[rows]


def same(one, other, X, Z):
    assert one.worst_case_error_ == pytest.approx(other.worst_case_error_, abs=1e-7)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(Z), atol=1e-6)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(Z), atol=1e-5)


@pytest.mark.parametrize("marginal", ["free", "empirical"])
def test_ways_to_give_the_same_kernel(data, marginal):
    X, y = data
    options = {"marginal": marginal, "gap_tol": 1e-9}
    plain = MinimaxRiskKernelClassifier(**options).fit(X, y)
    assert plain.coef_.shape == (1 if len(plain.classes_) == 2 else 3, 12)
    assert plain.X_fit_ is None
    made = MinimaxRiskKernelClassifier("precomputed", **options).fit(X @ X.T, y)
    same(plain, made, X, X @ X.T)
    own = MinimaxRiskKernelClassifier(lambda A, B: A @ B.T, **options).fit(X, y)
    same(plain, own, X, X)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_columns_far_from_zero_lose_no_digits(data, kernel):
    """All columns far away, or one, as times in seconds are."""
    X, y = data
    X = np.round(X * 2**20) / 2**20  # so that the sums below are exact
    time = X + np.where(np.arange(12) == 4, 1.7e9, 0.0)
    plain = MinimaxRiskKernelClassifier(kernel, gap_tol=1e-9).fit(X, y)
    for Z in (X + 2.0**24, time):
        moved = MinimaxRiskKernelClassifier(kernel, gap_tol=1e-9).fit(Z, y)
        assert moved.worst_case_error_ == pytest.approx(plain.worst_case_error_, abs=1e-7)
        np.testing.assert_allclose(moved.decision_function(Z), plain.decision_function(X), atol=1e-4)
        assert verify(moved, Z, y).valid
        assert not verify(moved, X, y).valid


def test_weights_that_count_are_rows_given_again(data):
    X, y = data
    weights = np.arange(len(y)) % 3
    weights[:6] = 1
    again = np.repeat(np.arange(len(y)), weights)
    for options in (
        {},
        {"kernel": "rbf", "gamma": 0.1},
        {"radius": "bootstrap", "random_state": 0, "weight_kind": "counts"},
    ):
        weighted = MinimaxRiskKernelClassifier(**options, gap_tol=1e-9).fit(X, y, sample_weight=weights)
        repeated = MinimaxRiskKernelClassifier(**options, gap_tol=1e-9).fit(X[again], y[again])
        same(weighted, repeated, X, X)
        assert verify(weighted, X, y, sample_weight=weights).valid


def test_groups_widen_the_ball(data):
    X, y = data
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    groups = np.arange(len(y)) // 3
    alone = MinimaxRiskKernelClassifier().fit(X, y)
    grouped = MinimaxRiskKernelClassifier().fit(X, y, groups=groups)
    copies = np.repeat(X[::3], 3, axis=0)
    many = MinimaxRiskKernelClassifier().fit(copies, y, groups=groups)
    few = MinimaxRiskKernelClassifier().fit(X[::3], y[::3])
    assert grouped.ball_radius_ != alone.ball_radius_
    assert many.ball_radius_ == pytest.approx(few.ball_radius_)
    assert many.worst_case_error_ == pytest.approx(few.worst_case_error_, abs=1e-6)
    assert verify(grouped, X, y, groups=groups).valid
    assert not verify(grouped, X, y).valid


# What is said of the others begins with their names.
FOUND_BY = {
    "_products": "the kernel is the one",
    "_space": "the mean of the kernel",
    "dual_coef_": "worst_case_error_",
    "worst_case_distribution_": "worst_case_error_lower_",
}


@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": "rbf"}, {"kernel": "precomputed"}, {"radius": 0.5, "marginal": "empirical"}],
)
def test_the_certificate(data, options):
    X, y = data
    is_precomputed = options.get("kernel") == "precomputed"
    if is_precomputed:
        X = X @ X.T
    model = MinimaxRiskKernelClassifier(**options).fit(X, y)
    found = verify(model, X, y)
    assert found.valid, found.problems
    assert found.gap <= 1e-6
    if is_precomputed:
        assert not verify(model, X[::-1, ::-1], y[::-1]).valid
    else:
        assert not verify(model, X[:-1], y[:-1]).valid
        assert not verify(model, X[::-1], y[::-1]).valid
    kept = dict(vars(model))
    wrong = {
        "dual_coef_": 1.1 * model.dual_coef_,
        "worst_case_error_": model.worst_case_error_ - 1e-3,
        "worst_case_error_lower_": model.worst_case_error_lower_ + 1e-3,
        "worst_case_distribution_": model.worst_case_distribution_[::-1],
        "threshold_": model.threshold_ + 1e-3,
        "radius_": 2.0 * model.radius_,
        "ball_radius_": 2.0 * model.ball_radius_,
        "coverage_": 0.5,
        "optimality_gap_": 0.5,
        "rows_": model.rows_[::-1],
        "coding_": "other",
        "_products": replace(model._products, degree=7),
        "_space": replace(model._space, constant=2.0 * model._space.constant),
    }
    wrong |= {"coef_": 2.0 * model.coef_, "intercept_": model.intercept_ + 1.0} if "coef_" in kept else {}
    wrong |= {"X_fit_": 2.0 * model.X_fit_} if model.X_fit_ is not None else {}
    for name, value in wrong.items():
        setattr(model, name, value)
        if name != "dual_coef_" or value.any():
            found, begins = verify(model, X, y), f"{FOUND_BY.get(name, name)} "
            assert not found.valid, name
            assert any(problem.startswith(begins) for problem in found.problems), (name, found.problems)
        setattr(model, name, kept[name])
    model.dual_coef_ = np.full_like(model.dual_coef_, np.nan)
    assert np.isnan(verify(model, X, y).upper)


def test_the_randomized_rule_errs_no_more_than_it_says(data):
    X, y = data
    for marginal in ("free", "empirical"):
        model = MinimaxRiskKernelClassifier(marginal=marginal, gap_tol=1e-9).fit(X, y)
        error = np.sum(model.worst_case_distribution_ * (1.0 - model.predict_proba(X)))
        assert model.worst_case_error_lower_ - 1e-9 <= error <= model.worst_case_error_ + 1e-6


def test_what_is_refused(data, monkeypatch):
    X, y = data
    with monkeypatch.context() as patch:
        patch.setattr(ball, "MOST_ROWS", len(y) - 1)
        with pytest.raises(ValueError, match=f"X has {len(y)} rows.*use at most {len(y) - 1}, or Mini"):
            MinimaxRiskKernelClassifier().fit(X, y)
        patch.setattr(ball, "MOST_ROWS", len(y))
        MinimaxRiskKernelClassifier().fit(X, y)
    cases = [
        ("precomputed", X, "with kernel='precomputed' X must be square"),
        (lambda A, B: A[:, :1] @ B[:, 1:2].T, X, "the kernel must be symmetric"),
        (lambda A, B: A, X, "kernel must return a matrix of shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), X, "the kernel must give finite numbers"),
    ]
    for kernel, Z, message in cases:
        with pytest.raises(ValueError, match=message):
            MinimaxRiskKernelClassifier(kernel).fit(Z, y)
    model = MinimaxRiskKernelClassifier().fit(X, y)
    with pytest.raises(
        ValueError,
        match=r"worst_case is not supported for MinimaxRiskKernelClassifier; use verify",
    ):
        worst_case(model, X, y)
    dask = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"got a dask array; pass X.compute\(\)"):
        MinimaxRiskKernelClassifier("rbf").fit(X, y).predict(dask.from_array(X))
    lazy = model.predict(dask.from_array(X, chunks=(20, 12)))
    np.testing.assert_array_equal(lazy.compute(), model.predict(X))


# ---- permuted labels


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf", "radius": "bootstrap", "random_state": 0}])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_permutations_are_those_of_fits(options, class_weight):
    study = make_expression(30, 40, n_informative=10, effect=1.0, random_state=1)
    X, y = study.data, study.target
    groups = np.arange(30)
    model = MinimaxRiskKernelClassifier(**options, class_weight=class_weight)
    found = permutation_test(model, X, y, 12, n_null=None, gap_tol=1e-6, random_state=0)
    random = np.random.RandomState(0)
    values = []
    for _ in range(12):
        values.append(clone(model).fit(X, y[random.permutation(30)]).worst_case_error_)
    np.testing.assert_allclose(found.null_distribution, values, atol=2e-6)
    assert found.statistic == pytest.approx(clone(model).fit(X, y).worst_case_error_, abs=2e-6)
    assert found.n_no_larger == sum(value <= found.statistic + 1e-5 for value in values)
    assert found.pvalue == (1 + found.n_no_larger) / 13
    pipeline = make_pipeline(StandardScaler(), model)
    again = permutation_test(pipeline, X, y, 12, groups=groups, random_state=0)
    scaled = permutation_test(model, StandardScaler().fit_transform(X), y, 12, random_state=0)
    np.testing.assert_allclose(again.null_distribution, scaled.null_distribution, atol=1e-9)
