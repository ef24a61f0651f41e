"""Moderated standard errors of single classes: the formula from Phi, and what has to agree with it."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy import sparse

import reference
from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    verify,
    worst_case,
)
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.problem.pose import pose
from minimaxrisk.samples.validation import check_training_data
from minimaxrisk.uncertainty.rules import Multiple

SIZES = (2, 1, 9, 6)
CHOICES = {"coding": "auto", "standardize": True, "fit_intercept": True}


@pytest.fixture(scope="module")
def small():
    """Four classes, one of them with a single sample; many zeros, columns that are zero in some classes."""
    rng = np.random.default_rng(5)
    y = rng.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
    X = rng.standard_normal((len(y), 30)) + 0.8 * np.eye(4)[y] @ rng.standard_normal((4, 30))
    X[rng.random(X.shape) < 0.4] = 0.0
    X[:, 7] *= y == 3
    return X, y


def moderated_radii(Psi, y, moderation, radius, weights=None, n_blocks=4):
    """Radii by the definition, one component of Phi after the other; weights count samples."""
    weights = np.ones(len(y)) if weights is None else weights
    n, rows = weights.sum(), []
    for k in range(n_blocks):
        own, of_class = weights * (y == k), []
        for psi in Psi.T:
            of_all = (weights * psi**2).sum() / n
            m = ((own * psi**2).sum() + moderation * of_all) / (own.sum() + moderation)
            tau = (own * psi).sum() / n
            of_class.append(radius * np.sqrt(max(own.sum() / n * m - tau**2, 0.0) / n))
        rows.append(of_class)
    return np.maximum(rows, reference.SMALLEST_RADIUS)


def dask_array(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(7, 11))


def torch_tensor(X):
    pytest.importorskip("array_api_compat")
    return pytest.importorskip("torch").asarray(X)


def strict_array(X):
    pytest.importorskip("array_api_compat")
    return pytest.importorskip("array_api_strict").asarray(X)


CONTAINERS = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]


@pytest.mark.parametrize("container", [*CONTAINERS, dask_array, torch_tensor, strict_array])
@pytest.mark.parametrize("moderation", [0.3, 1.0, 40.0])
def test_radii_are_those_of_the_definition(small, container, moderation, monkeypatch):
    X, y = small
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        data = check_training_data(MinimaxRiskClassifier(), container(X), y)
        problem = pose(data, rule=Multiple(0.7, moderation=moderation), **CHOICES).problem
    expected = moderated_radii(reference.scaled_columns(X), y, moderation, 0.7)
    np.testing.assert_allclose(problem.lam, expected, rtol=1e-9)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("options", [{"standardize": False}, {"fit_intercept": False}, {}], ids=str)
def test_weights_are_repetitions(small, container, options):
    X, y = small
    weights = np.random.default_rng(1).integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    model = MinimaxRiskClassifier(radius=0.7, **options)
    weighted = model.fit(container(X), y, sample_weight=weights).lambda_
    np.testing.assert_array_equal(weighted, model.fit(container(X[repeated]), y[repeated]).lambda_)
    if options != {"standardize": False}:  # whose attributes are in units of the columns
        Psi = reference.scaled_columns(X, weights, **options)
        expected = moderated_radii(Psi, y, 1.0, 0.7, weights)
        np.testing.assert_allclose(weighted, expected, rtol=1e-9)


def test_weights_of_importance(small):
    """Noise is proportional to the square of a weight, and n to what samples of equal weight are worth."""
    X, y = small
    w = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    model = MinimaxRiskClassifier(weight_kind="importance", moderation=2.0).fit(X, y, sample_weight=w)
    Psi, p, noise = reference.scaled_columns(X, w), w / w.sum(), w**2 / (w**2).sum()
    n = w.sum() ** 2 / (w**2).sum()
    for k, lam in enumerate(model.lambda_):
        own = y == k
        n_own = noise[own].sum() ** 2 / (noise[own] ** 2).sum()
        second = (noise[own] @ Psi[own] ** 2) / noise[own].sum()
        m = (n_own * second + 2.0 * noise @ Psi**2) / (n_own + 2.0)
        tau, mean = p[own] @ Psi[own], noise[own] @ Psi[own]
        expected = np.sqrt(np.maximum(noise[own].sum() * m - 2.0 * tau * mean + tau**2, 0.0) / n)
        np.testing.assert_allclose(lam, np.maximum(expected, reference.SMALLEST_RADIUS), rtol=1e-9)


@pytest.mark.parametrize("container", CONTAINERS)
def test_groups_are_units(small, container):
    """Groups of three samples count once, with the mean of their features."""
    X, y = small
    rng = np.random.default_rng(3)
    rows, group = np.repeat(X, 3, axis=0), np.repeat(np.arange(len(y)), 3)
    rows = rows + (rows != 0.0) * rng.standard_normal(rows.shape)
    model = MinimaxRiskClassifier(moderation=2.0).fit(container(rows), np.repeat(y, 3), groups=group)
    Psi = reference.scaled_columns(rows).reshape(len(y), 3, -1).mean(axis=1)
    np.testing.assert_allclose(model.lambda_, moderated_radii(Psi, y, 2.0, 1.0), rtol=1e-9)


def test_two_classes_with_a_block_for_each(small):
    X, y = small[0], (small[1] == 2).astype(int)
    model = MinimaxRiskClassifier(coding="one-hot", moderation=3.0).fit(X, y)
    expected = moderated_radii(reference.scaled_columns(X), y, 3.0, 1.0, n_blocks=2)
    np.testing.assert_allclose(model.lambda_, expected, rtol=1e-9)


def test_nothing_else_depends_on_it(small):
    """Not the signed coding, named rules or arrays; and without it radii are plain standard errors."""
    X, y = small
    unlike = [{"coding": "signed"}, {"radius": "bootstrap"}, {"radius": np.full(31, 0.1)}]
    for options, labels in zip(unlike, (y > 1, y, y), strict=True):
        with quiet_fits():
            found = [MinimaxRiskClassifier(moderation=c, **options).fit(X, labels) for c in (0.0, 1.0, 50.0)]
        for model in found[1:]:
            np.testing.assert_array_equal(model.lambda_, found[0].lambda_)
            np.testing.assert_array_equal(model.coef_, found[0].coef_)
    data = check_training_data(MinimaxRiskClassifier(), X, y)
    plain = pose(data, rule=Multiple(0.7), **CHOICES).problem.lam
    np.testing.assert_array_equal(
        pose(data, rule=Multiple(0.7, moderation=0.0), **CHOICES).problem.lam, plain
    )
    model = MinimaxRiskClassifier(radius=0.7, moderation=0).fit(X, y)
    np.testing.assert_array_equal(model.lambda_, plain)


def test_statements_agree_with_the_fit(small):
    """Also after a parameter was set for the next fit."""
    X, y = small
    estimator = MinimaxRiskClassifier(moderation=2.0)
    with quiet_fits():
        models = [
            MinimaxRiskClassifier(moderation=2.0).fit(X, y),
            MinimaxRiskClassifierCV(
                estimator, radii=[0.5, 1.0], cv=[(np.arange(18), np.arange(18))], rule="best"
            ).fit(X, y),
            MinimaxRiskEnsembleClassifier(
                estimator, n_estimators=4, ball=False, random_state=0, certify=True
            ).fit(X, y),
        ]
    Psi = reference.scaled_columns(X)
    Phi = reference.phi_vectors(Psi, 4, "one-hot")
    for model in models:
        expected = moderated_radii(Psi, y, 2.0, model.radius_)
        of_set = model.estimator_ if isinstance(model, MinimaxRiskClassifierCV) else model
        np.testing.assert_allclose(of_set.lambda_, expected, rtol=1e-9)
        tau, _ = reference.tau_and_lambda(Phi, y, 1.0)
        largest = reference.largest_loss(
            1.0 - model._fitted_rule().probabilities(X).T, Phi, tau, expected.ravel()
        )
        assert model.worst_case_error_ == pytest.approx(largest, abs=1e-6)
        before = verify(model, X, y), worst_case(model, X, y, rule="randomized").upper
        assert before[1] == pytest.approx(largest, abs=1e-6)
        deep = "moderation" if isinstance(model, MinimaxRiskClassifier) else "estimator__moderation"
        if deep in model.get_params():
            model.set_params(**{deep: 30.0})
        assert before[0].valid
        assert verify(model, X, y).lower == before[0].lower
        assert worst_case(model, X, y, rule="randomized").upper == before[1]


# ---- what it is for


def test_small_classes_of_simulated_studies():
    """Laws that nothing was chosen by: exponential columns, a tenth of which differ between nine classes."""
    errors = np.zeros(2)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        means = 1.5 * (rng.random((9, 400)) < 0.1) * rng.standard_normal((9, 400))
        y = np.concatenate([np.repeat(np.arange(9), rng.integers(2, 10, 9)), rng.integers(0, 9, 300)])
        X = means[y] + rng.exponential(size=(len(y), 400))
        train, test = np.split(np.arange(len(y)), [len(y) - 300])
        for i, moderation in enumerate((0.0, 1.0)):
            with quiet_fits():
                model = MinimaxRiskClassifier(moderation=moderation).fit(X[train], y[train])
            errors[i] += np.mean(model.predict(X[test]) != y[test])
    assert errors[1] <= 0.9 * errors[0]
