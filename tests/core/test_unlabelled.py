"""Instances without labels, and what R* misses on instances that take no part."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import reference
from minimaxrisk import MinimaxRiskClassifier, verify, worst_case
from minimaxrisk.solvers import ConstraintGeneration
from problems import distinct_instances, excess_on, features_in

# Training pairs (1, "a") and (-1, "b"), but in truth x is 2 or 0 in class a and -2 or 0 in class b: the same
# moments, and an error that R* = 0 knows nothing of.
TWO_POINTS = np.array([[1.0]] * 10 + [[-1.0]] * 10)
TWO_LABELS = np.array(["a"] * 10 + ["b"] * 10)
BEYOND = np.array([[2.0], [0.0], [-2.0], [0.0]])
BEYOND_LABELS = np.array(["a", "a", "b", "b"])


@pytest.fixture
def two_points():
    return MinimaxRiskClassifier(radius=0.01, standardize=False, fit_intercept=False).fit(
        TWO_POINTS, TWO_LABELS
    )


def randomized_error(model, X, y):
    right = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return 1.0 - right.mean()


def test_exceedance_is_what_the_bound_misses(two_points):
    """The law has the moments of the sample: R* plus the exceedance bounds its error, R* alone does not."""
    error = randomized_error(two_points, BEYOND, BEYOND_LABELS)
    assert error == pytest.approx(0.25)
    assert two_points.worst_case_error_ < 1e-6
    assert excess_on(two_points, TWO_POINTS) < 1e-9
    assert error <= two_points.worst_case_error_ + excess_on(two_points, BEYOND) + 1e-9


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_exceedance_from_the_definition(cancer, coding):
    X, y = cancer
    model = MinimaxRiskClassifier(coding=coding).fit(X[:100], y[:100])
    scores = X @ model.coef_.T + model.intercept_
    if coding == "signed":
        scores = np.hstack([-scores, scores])
    d_x = np.maximum(scores - model.threshold_, 0.0).sum(axis=1)
    assert excess_on(model, X) == pytest.approx(np.maximum(d_x - 1.0, 0.0).mean(), rel=1e-9)
    assert excess_on(model, X) > 0.0
    assert excess_on(model, sparse.csr_array(X)) == pytest.approx(excess_on(model, X))
    assert excess_on(model, X[:100]) < 1e-12


def test_unlabelled_instances_close_the_gap_for_them(two_points):
    model = MinimaxRiskClassifier(radius=0.01, standardize=False, fit_intercept=False)
    model.fit(TWO_POINTS, TWO_LABELS, X_unlabeled=BEYOND)
    assert excess_on(model, BEYOND) < 1e-12
    assert model.worst_case_error_ >= randomized_error(model, BEYOND, BEYOND_LABELS) - 1e-9
    assert model.worst_case_distribution_.shape == (24, 2)
    assert model.worst_case_distribution_[20:].sum() > 0.4


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
@pytest.mark.parametrize("solver", ["interior-point", ConstraintGeneration(epsilon=1e-8), "full-lp"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_unlabelled_instances_against_the_full_program(coding, solver, container):
    rng = np.random.default_rng(3)
    X, labels = reference.random_problem(rng, 18, 6, 2)
    X = np.where(np.abs(X) < 0.4, 0.0, X)
    X[:, 4], X_new = 0.0, rng.standard_normal((9, 6)) * 2.0
    X_new[:, 4] = 50.0  # in a column that says nothing where there are labels
    X_new[0] = X[0]  # one that has a label already
    model = MinimaxRiskClassifier(solver=solver, coding=coding, radius=0.7)
    model.fit(container(X), labels, X_unlabeled=container(X_new))

    mean, sd = X.mean(axis=0), X.std(axis=0)
    inside = np.where(sd > 0, (np.vstack([X, X_new]) - mean) / np.where(sd > 0, sd, 1.0), 0.0)
    Phi = reference.phi_vectors(np.column_stack([np.ones(27), inside]), 2, coding)
    tau, lam = reference.tau_and_lambda(Phi[:18], labels, 0.7)
    value, _ = reference.minimax_risk(Phi, tau, lam)
    assert model.worst_case_error_ == pytest.approx(value, abs=1e-7)
    assert (
        model.worst_case_error_ >= MinimaxRiskClassifier(radius=0.7).fit(X, labels).worst_case_error_ - 1e-9
    )
    assert model.optimality_gap_ < 1e-6
    assert excess_on(model, X_new) < 1e-9
    certificate = verify(model, X, labels, X_unlabeled=X_new)
    assert certificate.valid, certificate.problems
    assert not verify(model, X, labels).valid


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("standardize", [True, False])
def test_a_column_without_information_on_labels_is_none_elsewhere(container, standardize):
    X = container([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0], [50.0, 3.0]])
    instances = distinct_instances(
        X, np.array([0, 1, 0, 0]), np.array([1.0, 1.0, 1.0, 0.0]), 2, n_unlabeled=1
    )
    features, _, scale = features_in(X, instances, standardize=standardize, fit_intercept=False)
    values = features.columns(np.arange(2))
    assert (values[:, 0] == 0.0).all()
    labelled = np.array([1.0, 2.0, 4.0])
    assert scale.scale[1] == pytest.approx(labelled.std() if standardize else np.sqrt(np.mean(labelled**2)))


def test_unlabelled_instances_do_not_change_the_estimates(wide):
    X, y = wide
    alone = MinimaxRiskClassifier().fit(X, y)
    joined = MinimaxRiskClassifier().fit(X, y, X_unlabeled=3.0 * X[::-1] + 1.0)
    assert np.allclose(alone.tau_, joined.tau_, atol=1e-12)
    assert np.allclose(alone.lambda_, joined.lambda_, atol=1e-12)
    same = MinimaxRiskClassifier().fit(X, y, X_unlabeled=X)
    assert same.worst_case_error_ == alone.worst_case_error_
    bounds = worst_case(joined, X, y, X_unlabeled=3.0 * X[::-1] + 1.0, rule="randomized")
    assert bounds.upper == pytest.approx(joined.worst_case_error_, abs=1e-6)
