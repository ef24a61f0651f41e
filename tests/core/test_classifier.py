"""MinimaxRiskClassifier as a scikit-learn user meets it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import reference
from minimaxrisk import (
    MinimaxRiskClassifier,
    verify,
)
from minimaxrisk.solvers import ConstraintGeneration


def reference_risk(X, y, *, coding, radius=1.0, weights=None):
    labels = np.unique(y, return_inverse=True)[1]
    Phi = reference.phi_vectors(reference.scaled_columns(X, weights), labels.max() + 1, coding)
    return reference.minimax_risk(Phi, *reference.tau_and_lambda(Phi, labels, radius, weights))[0]


EXACT = {
    "auto": "interior-point",
    "interior-point": "interior-point",
    ConstraintGeneration(epsilon=1e-8): "constraint-generation",
    "full-lp": "full-lp",
}


@pytest.mark.parametrize(("solver", "name"), EXACT.items(), ids=str)
@pytest.mark.parametrize("radius", [0.3, 1.0])
def test_attributes_hang_together(wide, solver, name, radius):
    X, y = wide
    model = MinimaxRiskClassifier(solver=solver, radius=radius, moderation=0).fit(X, y)
    assert model.worst_case_error_ == pytest.approx(
        reference_risk(X, y, coding="one-hot", radius=radius), abs=1e-7
    )
    assert model.solver_ == name
    assert model.coding_ == "one-hot"
    assert model.converged_
    assert model.classes_.tolist() == ["alpha", "beta", "gamma"]
    assert model.coef_.shape == (3, 300)
    assert model.intercept_.shape == (3,)
    assert model.tau_.shape == model.lambda_.shape == (3, 301)
    assert model.optimality_gap_ == model.worst_case_error_ - model.worst_case_error_lower_
    assert -1e-12 <= model.optimality_gap_ < 1e-7
    np.testing.assert_array_equal(model.selected_features_, np.flatnonzero(model.coef_.any(axis=0)))
    assert model.n_features_selected_ == len(model.selected_features_) < 100
    assert model.radius_ == radius
    assert model.n_iter_ == len(model.history_)
    assert len(model.stages_) == (1 if model.solver_ == "interior-point" else model.n_iter_)
    np.testing.assert_array_equal(model.stages_[-1].scores(X).T, model.decision_function(X))
    w = model.worst_case_distribution_
    assert w.shape == (40, 3)
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1.0)
    assert 1 - w.max(axis=1).sum() == pytest.approx(model.worst_case_error_, abs=1e-7)


def test_the_radius_is_the_only_parameter_by_position():
    assert MinimaxRiskClassifier(0.5).get_params() == MinimaxRiskClassifier(radius=0.5).get_params()
    with pytest.raises(TypeError):
        MinimaxRiskClassifier(0.5, "auto")


def test_two_classes_have_one_row_towards_the_second(cancer):
    X, y = cancer
    model = MinimaxRiskClassifier().fit(X, np.where(y == 1, "sick", "healthy"))
    assert model.coding_ == "signed"
    assert model.coef_.shape == (1, 30)
    decision = model.decision_function(X)
    np.testing.assert_allclose(decision, X @ model.coef_[0] + model.intercept_[0])
    np.testing.assert_array_equal(model.predict(X), np.where(decision > 0, "sick", "healthy"))
    # mu on the problem's own scale: the certificate's formula must give the reported bound.
    Psi = reference.scaled_columns(X)
    Phi = reference.phi_vectors(Psi, 2, "signed")
    tau, lam = reference.tau_and_lambda(Phi, y, 1.0)
    np.testing.assert_allclose(model.tau_[0], tau, atol=1e-12)
    mu = -np.concatenate([[model.intercept_[0] + model.coef_[0] @ X.mean(0)], model.coef_[0] * X.std(0)])
    bound = 1 - tau @ mu + lam @ np.abs(mu) + reference.brute_force_phi(Phi @ mu)
    assert bound == pytest.approx(model.worst_case_error_, abs=1e-10)


def test_probabilities_follow_the_rule_with_the_stored_threshold(wide):
    X, y = wide
    model = MinimaxRiskClassifier().fit(X, y)
    scores = model.decision_function(X)
    assert reference.brute_force_phi(scores) == pytest.approx(model.threshold_, abs=1e-10)
    excess = np.maximum(scores - model.threshold_, 0)
    np.testing.assert_allclose(model.predict_proba(X), excess / excess.sum(1, keepdims=True), atol=1e-9)
    # On the training instances d_x <= 1, so the worst-case distribution's error of h is R*.
    error = (model.worst_case_distribution_ * (1 - model.predict_proba(X))).sum()
    assert error == pytest.approx(model.worst_case_error_, abs=1e-4)


def test_logarithms_of_zeros_come_with_a_warning(wide):
    X, y = wide
    model = MinimaxRiskClassifier().fit(X, y)
    h = model.predict_proba(X)
    n_zeros = int((h == 0.0).sum())
    assert n_zeros > 1
    message = f"{n_zeros} of {h.size} entries are minus infinity.*CalibratedClassifierCV.*clip predict_proba"
    with pytest.warns(UserWarning, match=message) as caught:
        logarithms = model.predict_log_proba(X)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(np.isneginf(logarithms), h == 0.0)
    np.testing.assert_allclose(np.exp(logarithms), h, rtol=1e-14)


def test_randomized_predictions_are_draws_from_predict_proba(wide):
    X, y = wide
    model = MinimaxRiskClassifier(deterministic=False, random_state=0).fit(X, y)
    point = np.full((1, 300), 0.1)
    probability = model.predict_proba(point)[0]
    assert 0.05 < probability.max() < 0.95
    drawn = model.predict(np.repeat(point, 20000, axis=0))
    frequency = [(drawn == label).mean() for label in model.classes_]
    np.testing.assert_allclose(frequency, probability, atol=0.015)
    np.testing.assert_array_equal(model.predict(X), model.predict(X))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_weights_are_repetitions(wide, container):
    X, y = wide
    X = np.round(X, 1)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, 40)
    repeated = np.repeat(np.arange(40), weights)
    weighted = MinimaxRiskClassifier(moderation=0).fit(container(X), y, sample_weight=weights)
    plain = MinimaxRiskClassifier(moderation=0).fit(container(X[repeated]), y[repeated])
    np.testing.assert_array_equal(weighted.coef_, plain.coef_)
    assert weighted.worst_case_error_ == plain.worst_case_error_
    assert weighted.worst_case_error_ == pytest.approx(
        reference_risk(X[repeated], y[repeated], coding="one-hot"), abs=1e-7
    )
    w = weighted.worst_case_distribution_
    np.testing.assert_array_equal(w[weights == 0], 0.0)
    total = np.zeros_like(w)
    np.add.at(total, repeated, plain.worst_case_distribution_)
    np.testing.assert_allclose(total, w, atol=1e-14)


def test_class_weights_multiply_and_keep_the_total(wide):
    X, y = wide
    factor = {"alpha": 2.0, "beta": 1.0, "gamma": 0.5}
    by_class = MinimaxRiskClassifier(class_weight=factor).fit(X, y)
    weights = np.array([factor[label] for label in y])
    weights *= 40 / weights.sum()
    by_sample = MinimaxRiskClassifier().fit(X, y, sample_weight=weights)
    assert by_class.worst_case_error_ == pytest.approx(by_sample.worst_case_error_, abs=1e-9)
    assert verify(by_class, X, y).valid
    balanced = MinimaxRiskClassifier(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.tau_[:, 0], 1 / 3)
