"""Columns of sparse data that hold nothing: no part of a problem, and all that a model says counts them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk import (
    MinimaxRiskClassifier,
    verify,
)
from minimaxrisk.matrices.scale import ColumnScale, KeptColumns

N, FILLED = 60, 40


def table(n_columns, n_classes=2, seed=0):
    """Few filled columns among many, the labels, and where they are."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.choice(np.arange(1, n_columns), FILLED, replace=False))
    y = np.arange(N) % n_classes
    values = rng.random((N, FILLED)) * (rng.random((N, FILLED)) < 0.3)
    values[:, :6] += 0.5 * (y[:, None] == np.arange(6) % n_classes)
    X = sparse.lil_array((N, n_columns))
    X[:, places] = values
    return X.tocsr(), y, places


def test_an_empty_column_is_mapped_to_the_one_that_stands_for_it():
    scale = ColumnScale(np.zeros(3), np.ones(3), True, KeptColumns(np.array([1, 2, 7]), 9, 1))
    np.testing.assert_array_equal(scale.inner_of(np.arange(9)), [1, 0, 1, 1, 1, 1, 1, 2, 1])
    np.testing.assert_array_equal(scale.columns_of(np.arange(3)), [1, 2, 7])
    everywhere = scale.for_columns(np.array([[9.0, 5.0, 6.0, 7.0]]))
    np.testing.assert_array_equal(everywhere, [[9, 6, 5, 6, 6, 6, 6, 6, 7, 6]])
    np.testing.assert_array_equal(scale.of_columns(everywhere), [[9, 5, 6, 7]])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"standardize": False, "radius": "bootstrap"},
        {"radius": "bootstrap"},
        {"marginal": "empirical", "solver": "constraint-generation"},
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_model_is_that_of_the_filled_columns_and_one_that_is_empty(n_classes, options):
    X, y, places = table(500, n_classes)
    few = np.append(0, places)
    found, wanted = (MinimaxRiskClassifier(**options).fit(each, y) for each in (X, X[:, few]))
    for name in ("worst_case_error_", "worst_case_distribution_", "intercept_", "radius_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    np.testing.assert_array_equal(found.selected_features_, few[wanted.selected_features_])
    empty = np.setdiff1d(np.arange(500), places)
    for name, elsewhere in {"coef_": 0.0, "feature_importances_": 0.0, "tau_": 0.0, "lambda_": 1.0}.items():
        own, theirs = (np.atleast_2d(getattr(model, name)) for model in (found, wanted))
        lead = name in ("tau_", "lambda_")
        assert own.shape == (len(theirs), lead + 500)
        np.testing.assert_array_equal(own[:, :lead], theirs[:, :lead])
        np.testing.assert_array_equal(own[:, lead + few], theirs[:, lead:])
        np.testing.assert_array_equal(own[:, lead + empty], elsewhere)
    assert verify(found, X, y).valid
    # The same radii again, given for all columns.
    again = MinimaxRiskClassifier(**(options | {"radius": found.lambda_})).fit(X, y)
    np.testing.assert_allclose(again.lambda_, found.lambda_, rtol=1e-12)
    assert again.worst_case_error_ == pytest.approx(found.worst_case_error_, abs=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.UnderfitWarning")
def test_all_columns_may_be_empty(fit_intercept):
    X, y = sparse.csr_array((6, 5)), np.arange(6) % 2
    model = MinimaxRiskClassifier(fit_intercept=fit_intercept).fit(X, y)
    assert model.worst_case_error_ == pytest.approx(0.5)
    assert model.coef_.shape == (1, 5)
    assert model.lambda_.shape == (1, 5 + fit_intercept)


def test_a_coefficient_of_an_empty_column_is_found():
    """The data cannot tell what it does."""
    X, y, places = table(500)
    model, empty = MinimaxRiskClassifier().fit(X, y), np.setdiff1d(np.arange(1, 500), places)[-1]
    for rule in model.stages_:
        rule.columns[0], model.selected_features_[0] = empty, empty
    model.coef_ = model.stages_[0].full_coef
    assert not verify(model, X, y).valid


def test_empty_columns_take_no_memory_but_that_of_the_answer():
    """Coefficients, importances, means and radii hold a number each, and so do the indices for a moment."""
    n_columns = 200_000
    X, y, _ = table(n_columns)
    MinimaxRiskClassifier().fit(X[:, :200], y)  # what is loaded once
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    MinimaxRiskClassifier().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert peak < 7 * 8 * n_columns  # 19 such vectors, were they part of the problem
