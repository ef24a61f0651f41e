"""Guarantees tested as guarantees, by simulation on laws whose means and errors are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from minimaxrisk import MinimaxRiskClassifier, permutation_test
from minimaxrisk.datasets import make_expression
from problems import excess_on

pytestmark = pytest.mark.slow

INDEPENDENT = {"correlation": 0.0}
CORRELATED = {"correlation": 0.9, "module_size": 200}


def true_moments(law, X):
    """E Phi for the signed coding, as a model fitted on X sees the features."""
    inner = (law.class_means - X.mean(axis=0)) / X.std(axis=0)
    share = np.array([1.0 - law.positive, -law.positive])
    return np.concatenate([[share.sum()], share @ inner])


def covers(model, law, X):
    return bool((np.abs(true_moments(law, X) - model.tau_[0]) <= model.lambda_[0]).all())


# Of some forty new cohorts of the same law one or another looks like another law.
@pytest.mark.filterwarnings("ignore:X_new does not look like instances of the same law")
@pytest.mark.parametrize("shape", [INDEPENDENT, CORRELATED], ids=["independent", "correlated"])
def test_bootstrap_radii_cover_and_the_bounds_bound(shape):
    """1000 data sets of 100 x 2000: coverage, and wherever the set covers, bounds above the true errors."""
    study = make_expression(100, 2000, n_informative=30, effect=1.0, random_state=0, **shape)
    X_large, y_large = study.law.sample(20_000, random_state=1)
    factors, covered = [], []
    for seed in range(1000):
        X, y = study.law.sample(100, random_state=1000 + seed)
        model = MinimaxRiskClassifier(radius="bootstrap", random_state=seed).fit(X, y)
        factors.append(model.radius_)
        covered.append(covers(model, study.law, X))
        if not covered[-1] or seed % 25:
            continue
        X_new, _ = study.law.sample(1000, random_state=5000 + seed)
        error = 1.0 - model.predict_proba(X_large)[np.arange(len(y_large)), y_large].mean()
        assert error <= model.worst_case_error_ + excess_on(model, X_new)
    assert np.mean(covered) >= 0.93
    if shape is CORRELATED:
        union_bound = stats.t.isf(0.045 / (2 * 2000), 98)
        assert np.mean(factors) < union_bound - 0.2


def pvalues(n_tests, **signal):
    found = []
    for seed in range(n_tests):
        study = make_expression(60, 500, random_state=seed, **signal)
        test = permutation_test(MinimaxRiskClassifier(), study.data, study.target, 99, random_state=seed)
        found.append(test.pvalue)
    return np.array(found)


def test_pvalues_are_uniform_without_signal():
    assert stats.kstest(pvalues(200, n_informative=0), "uniform").pvalue > 0.01


def test_power_on_an_informative_study():
    assert np.mean(pvalues(100, n_informative=10, effect=1.0) <= 0.05) > 0.9
