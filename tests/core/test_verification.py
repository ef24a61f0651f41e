"""What verify finds in a model of which one thing is wrong, and what it lets pass as rounding."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse

import reference
from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    verify,
)


@pytest.fixture(scope="module")
def data():
    X, labels = reference.random_problem(np.random.default_rng(1), 30, 8, 3)
    return X, np.array(["a", "b", "c"])[labels]


@pytest.fixture(scope="module")
def fitted(data):
    return MinimaxRiskClassifier(solver="constraint-generation").fit(*data)


@pytest.fixture(scope="module")
def known(data):
    return MinimaxRiskClassifier(marginal="empirical", fit_intercept=False, standardize=False).fit(*data)


def some_ensemble(data, **options):
    parts = {"subsample": 0.5, "n_estimators": 20}
    return MinimaxRiskEnsembleClassifier(
        MinimaxRiskClassifier(**options), random_state=0, **parts, certify=True
    ).fit(*data)


@pytest.fixture(scope="module")
def together(data):
    return some_ensemble(data)


@pytest.fixture(scope="module")
def known_together(data):
    return some_ensemble(data, marginal="empirical", fit_intercept=False, standardize=False)


@pytest.fixture(params=["fitted", "known", "together", "known_together"])
def model(request):
    return copy(request.getfixturevalue(request.param))


@pytest.mark.parametrize("kernel", [None, "linear", "rbf", "poly"])
def test_the_same_data_in_another_container(data, kernel):
    X, y = np.where(np.abs(data[0]) < 0.3, 0.0, data[0]), data[1]
    kind = MinimaxRiskClassifier if kernel is None else partial(MinimaxRiskKernelClassifier, kernel)
    for fitted_on, checked_on in ((X, sparse.csr_array(X)), (sparse.csr_array(X), X)):
        model = kind(radius="bootstrap", random_state=0).fit(fitted_on, y)
        assert verify(model, checked_on, y).problems == ()
        if kernel not in (None, "poly"):  # only a dense X is moved to an origin
            model._products = replace(model._products, origin=1.0 + np.asarray(X.mean(axis=0)))
            assert "the origin of the kernel" in " ".join(verify(model, checked_on, y).problems)


def test_nothing_is_wrong(data, model):
    certificate = verify(model, *data)
    assert certificate.problems == ()
    assert certificate.valid
    assert certificate.upper == pytest.approx(model.worst_case_error_, abs=1e-9)
    assert certificate.lower == pytest.approx(model.worst_case_error_lower_, abs=1e-9)
    assert certificate.gap == certificate.upper - certificate.lower


def test_other_labels(data, model):
    X, y = data
    certificate = verify(model, X, np.where(y == "a", "z", y))
    assert certificate.valid is False
    assert np.isnan([certificate.lower, certificate.upper, certificate.gap]).all()
    assert len(certificate.problems) == 1


def test_all_that_fit_was_given_is_needed(data):
    X, y = data
    given = {
        "sample_weight": np.arange(30) % 3 + 1.0,
        "X_unlabeled": X[:4] + 1.0,
        "groups": np.unique(y, return_inverse=True)[1] * 30 + np.arange(30) // 3,
    }
    model = MinimaxRiskClassifier().fit(X, y, **given)
    assert verify(model, X, y, **given).valid
    for name in given:
        assert not verify(model, X, y, **{**given, name: None}).valid


NUMBERS = [
    "worst_case_error_",
    "worst_case_error_lower_",
    "optimality_gap_",
    "radius_",
]
ARRAYS = ["tau_", "lambda_", "feature_importances_"]


@pytest.mark.parametrize("name", NUMBERS + ARRAYS)
def test_a_billionth_is_rounding_and_ten_are_not(data, model, name):
    right = getattr(model, name)
    setattr(model, name, right + 1e-10)
    assert verify(model, *data).valid
    setattr(model, name, right + 1e-8)
    problems = verify(model, *data).problems
    assert any(problem.startswith(f"{name} is {'not ' if name in ARRAYS else ''}") for problem in problems)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("selected_features_", np.array([7])),
        ("n_features_selected_", -1),
        ("coverage_", 0.9),
        ("coding_", "signed"),
        ("coverage_remarks_", ("all is well",)),
    ],
)
def test_one_thing_is_wrong(data, model, name, wrong):
    setattr(model, name, wrong)
    certificate = verify(model, *data)
    (problem,) = certificate.problems
    assert problem.startswith(name)
    assert not certificate.valid


def test_a_distribution_of_other_samples(data, model):
    model.worst_case_distribution_ = model.worst_case_distribution_[1:]
    certificate = verify(model, *data)
    (problem,) = certificate.problems
    assert problem.startswith("worst_case_distribution_")
    assert np.isnan(certificate.lower)
    assert certificate.upper == pytest.approx(model.worst_case_error_)


@pytest.mark.parametrize(("size", "is_rounding"), [(1e-11, True), (1e-8, False)])
def test_mass_that_moves_or_is_too_much(data, fitted, known, size, is_rounding):
    for model in (fitted, known):
        other = copy(model)
        other.worst_case_distribution_ = model.worst_case_distribution_.copy()
        other.worst_case_distribution_[3, 1] += size
        if model is known:
            other.worst_case_distribution_[4, other.worst_case_distribution_[4].argmax()] -= size
        certificate = verify(other, *data)
        assert certificate.valid == is_rounding
        assert np.isnan(certificate.lower) != is_rounding
        if not is_rounding:
            assert certificate.problems[0].startswith("worst_case_distribution_")


# ---- ensembles


@pytest.mark.parametrize("name", ["coef", "intercept"])
def test_members_and_proofs_that_are_no_numbers(data, together, name):
    model = deepcopy(together)
    getattr(model.members_[1], name)[0] = np.inf
    certificate = verify(model, *data)
    assert certificate.problems[0].startswith("the coefficients in members_")
    assert np.isnan([certificate.lower, certificate.upper]).all()
    model = deepcopy(together)
    getattr(model.worst_case_proof_, name)[0] = np.nan
    certificate = verify(model, *data)
    assert certificate.problems[0].startswith("worst_case_proof_")
    assert np.isnan(certificate.upper)
    assert certificate.lower == pytest.approx(model.worst_case_error_lower_)


# ---- comparisons
