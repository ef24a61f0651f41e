"""The uncertainty set of a fitted model, posed again from its data."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.guarantees.posed_fit import pose_as_fitted, pose_with, training_data_of
from minimaxrisk.uncertainty.rules import Multiple

pytestmark = pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.UninformativeRadiusWarning")


@pytest.fixture(scope="module")
def study():
    X, y = reference.random_problem(np.random.default_rng(7), 30, 5, 2)
    return 3.0 * X + 0.5, y


@pytest.mark.parametrize(
    "options",
    [
        {"radius": 1.7},
        {"radius": "bonferroni", "confidence": 0.9},
        {"radius": "bonferroni", "confidence": 0.9, "fit_intercept": False},
        {"radius": "bootstrap", "n_bootstrap": 50, "random_state": 0},
        {"radius": np.linspace(0.1, 0.3, 6)},
        {"radius": np.linspace(0.1, 0.3, 6), "standardize": False},
        {"radius": 0.6, "coding": "one-hot"},
        {"radius": 0.6, "marginal": "empirical"},
    ],
)
def test_the_set_is_the_one_of_the_fit(study, options):
    X, y = study
    model = MinimaxRiskClassifier(**options).fit(X, y)
    problem = pose_as_fitted(model, training_data_of(model, X, y)).problem
    own = problem.lam if model.standardize else problem.scale.rescaled(problem.lam)
    np.testing.assert_allclose(own, model.lambda_, rtol=1e-12)
    assert problem.coding.name == model.coding_
    assert problem.scale.has_intercept == model.fit_intercept
    assert problem.marginal.is_known == (model.marginal == "empirical")


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_other_radii_on_the_features_of_the_model(study, coding):
    X, y = study
    model = MinimaxRiskClassifier(radius=1.0, coding=coding, marginal="empirical", standardize=False).fit(
        X, y
    )
    posed = pose_with(model, training_data_of(model, X, y), Multiple(2.5))
    problem = posed.problem
    np.testing.assert_allclose(problem.scale.rescaled(problem.lam), 2.5 * model.lambda_, rtol=1e-12)
    np.testing.assert_allclose(problem.scale.rescaled(problem.tau), model.tau_, rtol=1e-12, atol=1e-12)
    assert posed.radii.factor == 2.5
    assert problem.coding.name == coding
    assert not problem.marginal.is_known
