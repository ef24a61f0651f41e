"""The uncertainty set of a fitted model, posed again from its data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    verify,
)
from minimaxrisk.guarantees.certified import columns_read_by, columns_used_by, has_proof
from minimaxrisk.guarantees.fitted_problem import (
    FittedProblem,
    as_fitted_problem,
    is_label_free,
)

TOGETHER, TWICE = np.r_[:3, 2, 4:30], np.repeat([1.0, 2.0], 15)


@pytest.fixture(scope="module")
def study():
    X, y = reference.random_problem(np.random.default_rng(7), 30, 5, 2)
    return 3.0 * X + 0.5, y


@pytest.mark.parametrize(
    "options",
    [
        {"radius": 1.7},
        {"radius": "bootstrap", "confidence": 0.9, "fit_intercept": False},
        {"radius": np.linspace(0.1, 0.3, 6)},
        {"radius": np.linspace(0.1, 0.3, 6), "standardize": False},
        {"radius": 0.6, "marginal": "empirical"},
    ],
)
def test_the_set_is_the_one_of_the_fit(study, options):
    X, y = study
    model = MinimaxRiskClassifier(**options).fit(X, y)
    problem = FittedProblem(model, X, y).posed_by_stored_radius.problem
    own = problem.lam if model.standardize else problem.scale.rescaled(problem.lam)
    np.testing.assert_allclose(own, model.lambda_, rtol=1e-12)
    assert problem.coding.name == model.coding_
    assert problem.scale.has_intercept == model.fit_intercept
    assert problem.marginal.is_known == (model.marginal == "empirical")


def test_what_is_refused(study):
    X, y = study
    model = MinimaxRiskClassifier().fit(X, y)
    fit = as_fitted_problem(model, X, y)
    assert as_fitted_problem(fit) is fit
    with pytest.raises(ValueError, match=r"leave out X, y, groups\.$"):
        as_fitted_problem(fit, X, y, groups=y, sample_weight=None)
    ensemble = MinimaxRiskEnsembleClassifier(
        n_estimators=8, subsample=0.5, certify=False, random_state=0
    ).fit(X, y)
    foreign = LogisticRegression().fit(X, y)
    for arguments in ((model, None, y), (model, X, None), (foreign, X, y), (ensemble, X, y)):
        with pytest.raises(ValueError, match=r"must be passed|not supported|certify=True"):
            FittedProblem(*arguments)
    with pytest.raises(NotFittedError):
        FittedProblem(model, X, y, transformer=StandardScaler())
    refused = [MinimaxRiskClassifier(), foreign, ensemble]
    assert [has_proof(each) for each in (model, *refused)] == [True, False, False, False]


def test_the_stored_radius_is_taken_even_if_another_one_was_posed(study):
    X, y = study
    fit = FittedProblem(MinimaxRiskClassifier(radius=1.5).fit(X, y), X, y)
    assert fit.posed_by_parameters is fit.posed_by_stored_radius
    changed = FittedProblem(fit.model, X, y)
    assert changed.posed_by_parameters.radii.factor == 1.5
    fit.model.radius_ = 2.0
    assert changed.posed_by_stored_radius.radii.factor == 2.0


def test_columns_that_are_used_are_those_selected_or_else_all_that_are_read(study):
    X, y = study
    member = MinimaxRiskClassifier(radius=2.0)
    ensemble = MinimaxRiskEnsembleClassifier(member, n_estimators=8, subsample=0.5, random_state=0).fit(X, y)
    assert set(columns_used_by(ensemble)) == set(ensemble.selected_features_) < set(columns_read_by(ensemble))
    assert columns_used_by(MinimaxRiskKernelClassifier().fit(X, y)).tolist() == [0, 1, 2, 3, 4]


def test_data_are_checked_as_the_model_wants_them(study):
    X, y = study
    names = [f"g{j}" for j in range(X.shape[1])]
    frame = pytest.importorskip("pandas").DataFrame(X, columns=names)
    model = MinimaxRiskClassifier(class_weight={0: 1.0, 1: 3.0}, weight_kind="importance").fit(frame, y)
    weighted = FittedProblem(model, frame, y, sample_weight=TWICE).data
    expected = TWICE * np.where(y == 1, 3.0, 1.0)
    np.testing.assert_allclose(weighted.weights / weighted.weights.sum(), expected / expected.sum())
    assert weighted.counts.tolist() == [1.0] * len(y)  # a weight of 3 is one sample
    with pytest.raises(ValueError, match="feature names"):
        verify(model, frame.rename(columns={"g0": "other"}), y)


class Normalizer(StandardScaler):
    """By the name of one that is known, and yet another."""


@pytest.mark.parametrize(
    ("transformer", "is_free"),
    [
        (None, True),
        ("passthrough", True),
        (StandardScaler(), True),
        (ClippedScaler(), True),
        (PCA(2, random_state=0), True),
        (PCA(2), False),  # draws without a seed
        (SelectKBest(), False),
        (Normalizer(), False),
        (make_pipeline(StandardScaler(), "passthrough", ClippedScaler()), True),
        (make_pipeline(StandardScaler(), SelectKBest()), False),
    ],
)
def test_what_is_known_not_to_look_at_labels(transformer, is_free):
    assert is_label_free(transformer) is is_free


def test_the_model_within_a_search_over_a_pipeline(study):
    X, y = study
    pipe = make_pipeline(StandardScaler(), ClippedScaler(), MinimaxRiskClassifier())
    search = GridSearchCV(pipe, {"minimaxriskclassifier__radius": [1.0]}, cv=2).fit(X, y)
    fit, best = FittedProblem(search, X, y), search.best_estimator_
    assert fit.model is best[-1]
    assert list(fit.transformer) == list(best[:-1])
    with pytest.raises(ValueError, match=r"^transformer must be None for a pipeline, which has steps"):
        FittedProblem(search, X, y, transformer=best[0])


@pytest.mark.parametrize(("name", "value"), [("coef_", None), ("stages_", []), ("history_", None)])
def test_what_cannot_be_read_is_a_problem_and_no_error(study, name, value):
    X, y = study
    model = MinimaxRiskClassifier().fit(X, y)
    setattr(model, name, value)
    certificate = verify(model, X, y)
    assert not certificate.valid
    assert certificate.problems
