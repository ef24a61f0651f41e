"""The rule on all columns in an ensemble: it is the kernel classifier's, and its weight is that of errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
)
from minimaxrisk.estimators import ball_member
from minimaxrisk.estimators.ball_member import BallFitter, orthogonal_frequencies
from minimaxrisk.estimators.out_of_bag import ball_weight
from minimaxrisk.problem.pose import pose_by
from minimaxrisk.problem.rule import fourier_features
from minimaxrisk.samples.folds import dealt_folds
from minimaxrisk.samples.independent_units import Strata
from minimaxrisk.samples.validation import check_training_data
from minimaxrisk.uncertainty.rules import Multiple


def ensemble(**parameters):
    """Small, and of parts that leave each sample out of bag."""
    return MinimaxRiskEnsembleClassifier(
        **{"n_estimators": 12, "subsample": 0.4, "random_state": 0, "certify": True, **parameters}
    )


def table(n_classes, n=45, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = random.standard_normal((n, 70)) * np.exp(random.standard_normal(70)) + random.standard_normal(70)
    return X + 0.6 * random.standard_normal((n_classes, 70))[y], y


def posed_study(X, y, **given):
    parameters = MinimaxRiskClassifier()
    data = check_training_data(
        parameters,
        X,
        y,
        sample_weight=given.get("sample_weight"),
        class_weight=None,
        weight_kind="auto",
        groups=given.get("groups"),
    )
    return data, Strata.of(data), pose_by(parameters, data, Multiple(1.0))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("marginal", ["free", "empirical"])
def test_it_is_the_kernel_classifier_on_standardised_columns(n_classes, marginal):
    X, y = table(n_classes)
    model = ensemble(estimator=MinimaxRiskClassifier(marginal=marginal), gap_tol=1e-8, ball=True).fit(X, y)
    scaler = StandardScaler().fit(X)
    alone = MinimaxRiskKernelClassifier(marginal=marginal, gap_tol=1e-8).fit(scaler.transform(X), y)
    X_new, _ = table(n_classes, seed=1)
    expected = alone.predict_proba(scaler.transform(X_new))
    np.testing.assert_allclose(model.ball_.probabilities(X_new).T, expected, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_columns_as_they_are(fit_intercept):
    X, y = table(3)
    X[:, :20] += 100.0
    options = {"fit_intercept": fit_intercept}
    estimator = MinimaxRiskClassifier(standardize=False, **options)
    model = ensemble(estimator=estimator, gap_tol=1e-8, certify=False).fit(X, y)
    alone = MinimaxRiskKernelClassifier(gap_tol=1e-8, **options).fit(X, y)
    np.testing.assert_allclose(model.ball_.probabilities(X).T, alone.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_samples_are_judged_by_fits_without_them(weighted):
    X, y = table(3)
    weights = np.where(np.arange(45) % 5 == 0, 2.0, 1.0) if weighted else None
    data, units, posed = posed_study(X, y, sample_weight=weights)
    _, left_out = BallFitter(posed, data, units, True, 0.75, 1e-8).linear(np.random.RandomState(3))
    fold_of_row = dealt_folds(data.labels, np.arange(45), 4, np.random.RandomState(3))
    folds = [np.flatnonzero(fold_of_row == i) for i in range(4)]
    weight = np.ones(45) if weights is None else weights
    mean = weight @ X / weight.sum()
    Z = (X - mean) / np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
    for fold in folds:
        rest = np.setdiff1d(np.arange(45), fold)
        given = None if weights is None else weights[rest]
        alone = MinimaxRiskKernelClassifier(gap_tol=1e-8).fit(Z[rest], y[rest], sample_weight=given)
        np.testing.assert_allclose(left_out[fold], alone.decision_function(Z[fold]), atol=1e-6)


def test_a_class_of_one_group_is_never_left_out():
    X, _ = table(3)
    groups = np.repeat(np.arange(15), 3)
    labels = np.where(groups < 1, 0, np.where(groups < 8, 1, 2))
    data, units, posed = posed_study(X, labels, groups=groups)
    _, left_out = BallFitter(posed, data, units, True, 0.5, 1e-2).linear(np.random.RandomState(0))
    assert np.array_equal(np.isnan(left_out[:, 0]), labels == 0)


def test_the_curved_ball_is_the_kernel_classifier_on_its_features(monkeypatch):
    """Cosines and sines of all samples, written down, with a linear kernel."""
    monkeypatch.setattr(ball_member, "N_FREQUENCIES", 40)
    X, y = table(3, n=120)
    X[:, 3] = 5.0  # a constant column, which may take other values later
    X_new, _ = table(3, n=20, seed=1)
    data, units, posed = posed_study(X, y)
    rule, left_out = BallFitter(posed, data, units, True, 0.8, 1e-8).curved(np.random.RandomState(0))

    def features(values):
        phases = values @ rule.phases.full_coef.T + rule.phases.intercept
        return np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(40)

    alone = MinimaxRiskKernelClassifier(gap_tol=1e-8).fit(features(X), y)
    np.testing.assert_allclose(rule.scores(X_new).T, alone.decision_function(features(X_new)), atol=1e-5)
    fold = dealt_folds(y, np.arange(120), 5, np.random.RandomState(0))
    assert np.isfinite(left_out).all()
    assert len(np.unique(fold)) == 5


@pytest.mark.parametrize("n_columns", [3, 40])
def test_features_have_the_products_of_the_kernel(n_columns):
    X = np.random.default_rng(0).standard_normal((30, n_columns))
    gamma = 1.0 / n_columns
    W = np.sqrt(2.0 * gamma) * orthogonal_frequencies(4096, n_columns, np.random.RandomState(0))
    assert W.shape == (4096, n_columns)
    features = fourier_features(W @ X.T)
    np.testing.assert_allclose(features.T @ features, rbf_kernel(X, gamma=gamma), atol=0.06)


def test_the_weight_by_brute_force():
    """Squares of the errors on samples that neither has seen, plus one."""
    X, y = table(3)
    data, _, _ = posed_study(X, y, sample_weight=1.0 + np.arange(45) % 2)
    random = np.random.default_rng(0)
    of_members, of_ball = random.standard_normal((2, 45, 3)) + np.eye(3)[y]
    of_members[0] = np.nan
    weight, errors = data.weights[1:], []
    for scores in (of_members, of_ball):
        errors.append(sum(w for w, row, label in zip(weight, scores[1:], y[1:], strict=True)
                          if row.argmax() != label) + 1)  # fmt: skip
    expected = errors[0] ** 2 / (errors[0] ** 2 + errors[1] ** 2)
    assert ball_weight(of_members, of_ball, data) == pytest.approx(expected, abs=1e-14)


def test_few_columns_have_a_curved_ball_and_many_have_not():
    """A ring around a point: a linear rule is no better than the most common class."""
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 4))
    y = (np.sum(X**2, axis=1) > 3.4).astype(int)
    model = ensemble(certify=False).fit(X[:120], y[:120])
    assert np.mean(model.predict(X[120:]) != y[120:]) < 0.2
    assert model.decision_.slopes[2] > 0.0
    wide = ensemble(certify=False).fit(*table(2))
    assert wide.rbf_ball_ is None
    assert len(wide.decision_.slopes) == 2


def test_many_samples_are_left_to_the_members(monkeypatch):
    monkeypatch.setattr("minimaxrisk.estimators.ball_member.MOST_INSTANCES", 90)
    assert ensemble(certify=False).fit(*table(2)).ball_ is not None
    three = ensemble(certify=False).fit(*table(3))
    assert (three.ball_, three.rbf_ball_, three.ball_weight_) == (None, None, 0.0)
    assert ensemble(certify=False, ball=True).fit(*table(3)).ball_ is not None
