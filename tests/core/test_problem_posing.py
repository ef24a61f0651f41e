"""From training data to problems: what each choice of the caller makes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import reference
from minimaxrisk.problem import rule
from minimaxrisk.problem.pose import pose
from minimaxrisk.problem.rule import AverageRule, LinearRule
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.rules import Multiple

CHOICES = {"coding": "auto", "rule": Multiple(1.0), "standardize": True, "fit_intercept": True}


def some_data(n_classes, n=24, d=6, **more):
    rng = np.random.default_rng(5)
    X, labels = reference.random_problem(rng, n, d, n_classes)
    return TrainingData(X + 0.5, np.arange(n_classes), labels, rng.integers(1, 4, n).astype(float), **more)


# ---- the minimax risk


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("coding", ["signed", "one-hot"])
@pytest.mark.parametrize("is_known", [True, False])
def test_choices_of_the_caller(coding, standardize, fit_intercept, is_known):
    data = some_data(2)
    options = {"standardize": standardize, "fit_intercept": fit_intercept}
    posed = pose(data, coding=coding, rule=Multiple(1.7), marginal_is_known=is_known, **options)
    Phi = reference.phi_vectors(reference.scaled_columns(data.X, data.weights, **options), 2, coding)
    tau, lam = reference.tau_and_lambda(Phi, data.labels, 1.7, data.weights)
    np.testing.assert_allclose(posed.problem.tau.ravel(), tau, atol=1e-13)
    np.testing.assert_allclose(posed.problem.lam.ravel(), lam, atol=1e-13)
    assert posed.problem.coding.name == coding
    assert posed.problem.scale.has_intercept == fit_intercept
    assert posed.problem.marginal.is_known == is_known
    assert posed.radii.factor == 1.7
    np.testing.assert_array_equal(posed.problem.centre, posed.instances.p_hat)


def test_columns_that_are_empty_whatever_the_labels():
    """A constant is; the intercept is not, though classes of the same weight leave it a mean of zero."""
    data = replace(some_data(2, n=16), labels=np.arange(16) % 2, weights=np.ones(16))
    data.X[:, 2] = 7.0
    (found,) = pose(data, **CHOICES).relabelled([data], Multiple(1.5))
    assert found.problem.tau[0, 0] == 0.0
    assert found.problem.lam[0, 3] == 1.0
    np.testing.assert_allclose(found.problem.lam, pose(data, **CHOICES | {"rule": Multiple(1.5)}).problem.lam)


# ---- rules


def test_an_average_of_rules(monkeypatch):
    data = some_data(3)
    problem = pose(data, **CHOICES).problem
    rng = np.random.default_rng(0)
    members = []
    for used in ([1, 4], [4, 6], [0, 2]):
        mu = np.zeros(problem.shape)
        mu[:, used] = rng.standard_normal((3, 2))
        members.append(LinearRule.of_problem(mu, problem))
    average = AverageRule(members)
    assert average.columns.tolist() == [0, 1, 3, 5]
    each = [rule.probabilities(member.scores(data.X), member.threshold) for member in members]
    np.testing.assert_allclose(average.probabilities(data.X), np.mean(each, axis=0), atol=1e-14)
    np.testing.assert_array_equal(average.scores(data.X), average.probabilities(data.X))
    np.testing.assert_allclose(average.full_coef, np.mean([member.full_coef for member in members], axis=0))
    monkeypatch.setattr(rule, "some_rows_at_a_time", lambda X, _: [(None, X[:9]), (None, X[9:])])
    np.testing.assert_allclose(average.probabilities(data.X), np.mean(each, axis=0), atol=1e-14)
    use = np.mean([np.abs(member.to_mu(problem.scale)) for member in members], axis=0)
    np.testing.assert_allclose(average.use_of_components(problem.scale), use, atol=1e-14)


def test_a_rule_on_the_columns_that_it_uses():
    coef = np.zeros((1, 6))
    coef[0, [1, 4]] = 2.0, -3.0
    one = LinearRule.from_full(coef, np.array([0.5]), 0.1)
    columns = np.array([1, 3, 4])
    X = np.random.default_rng(0).normal(size=(5, 6))
    part = one.restricted_to(columns)
    assert part.n_features == 3
    np.testing.assert_array_equal(part.full_coef, coef[:, columns])
    np.testing.assert_allclose(part.scores(X[:, columns]), one.scores(X))
    both = AverageRule([one, replace(one, intercept=np.array([-0.5]))])
    np.testing.assert_allclose(
        both.restricted_to(columns).probabilities(X[:, columns]), both.probabilities(X)
    )
