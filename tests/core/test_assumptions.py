"""Bounds for any classifier, for the very model, and what they say where the data are not as they assume."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk import MinimaxRiskEnsembleClassifier, error_bound
from minimaxrisk.datasets import make_expression
from minimaxrisk.guarantees.assumptions import same_law_pvalue
from minimaxrisk.guarantees.counting import clopper_pearson_limit
from minimaxrisk.guarantees.error_bound import SHARES
from minimaxrisk.guarantees.statement import AGREEMENT, HOLDOUT, MAJORITY, NONE, RADII


@pytest.fixture(scope="module")
def study():
    return make_expression(80, 100, n_informative=10, effect=1.2, random_state=0)


@pytest.fixture(scope="module")
def X_new(study):
    return study.law.sample(300, random_state=1)[0]


def by_method(found):
    return {one.method: one for one in found.side_by_side}


LEARNERS = [
    RandomForestClassifier(20, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)),
    GridSearchCV(LogisticRegression(max_iter=5000), {"C": [0.01, 1.0]}, cv=3),
    MinimaxRiskEnsembleClassifier(n_estimators=4, certify=False, complementary=True, subsample=0.5),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_any_classifier_has_a_best_bound(learner, study, X_new):
    X, y = study.data, study.target
    found = error_bound(learner.fit(X, y), X, y, X_new=X_new, random_state=0)
    bounds = by_method(found)
    assert set(bounds) == {HOLDOUT, AGREEMENT, MAJORITY}
    assert "for a MinimaxRiskClassifier alone" in found.left_out[RADII]
    assert all(one.confidence == 0.95 for one in bounds.values())
    half = bounds[HOLDOUT]
    together = SHARES[HOLDOUT] + SHARES[AGREEMENT] + SHARES[MAJORITY]
    expected = clopper_pearson_limit(half.n_errors, 40, 1.0 - 0.05 * SHARES[HOLDOUT] / together)
    assert half.value == pytest.approx(expected, abs=1e-14)
    differ = int(np.sum(half.model.predict(X_new) != learner.predict(X_new)))
    limit = clopper_pearson_limit(differ, 300, 1.0 - 0.05 * SHARES[AGREEMENT] / together)
    assert bounds[AGREEMENT].value == pytest.approx(half.value + limit, abs=1e-14)
    assert f"on {differ} of 300 new instances the two differ" in bounds[AGREEMENT].statement
    assert "not of another cohort" in found.statement
    assert "of a search pass the search" in found.statement
    without = error_bound(learner, X, y, random_state=0)
    assert set(by_method(without)) == {HOLDOUT, MAJORITY}
    alone = error_bound(learner, X, y, X_new=X_new, method="agreement", random_state=0)
    assert (alone.confidence, alone.model) == (0.95, learner)
    assert alone.value < bounds[AGREEMENT].value


def test_agreement_holds_as_often_as_it_says():
    """The model of all samples, with labels that are partly noise."""
    missed, n = 0, 60
    for seed in range(n):
        data = make_expression(40, 30, n_informative=6, effect=0.5, random_state=seed)
        new, _ = data.law.sample(200, random_state=seed + 1000)
        model = LogisticRegression(max_iter=5000).fit(data.data, data.target)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # in one of a hundred the new ones look odd
            bound = error_bound(
                model,
                data.data,
                data.target,
                X_new=new,
                method="agreement",
                confidence=0.8,
                random_state=seed,
            )
        X_test, y_test = data.law.sample(4000, random_state=seed + 2000)
        missed += np.mean(model.predict(X_test) != y_test) > bound.value
    assert missed <= 0.2 * n


def test_replicates_without_groups_leave_no_probability():
    random = np.random.default_rng(0)
    X = np.repeat(random.standard_normal((15, 200)), 4, axis=0) + 0.1 * random.standard_normal((60, 200))
    y, patient = np.repeat(np.arange(15) % 2, 4), np.repeat(np.arange(15), 4)
    forest = RandomForestClassifier(20, random_state=0)
    alone = error_bound(forest, X, y, method="holdout", random_state=0)
    assert alone.value < 0.3  # the labels are noise
    assert alone.confidence is None
    assert "look like one sample measured twice" in alone.reason
    assert "pass groups" in alone.statement
    found = error_bound(forest, pd.DataFrame(X), y, random_state=0)
    assert (found.method, found.value) == (NONE, 1.0)
    assert all(not one.has_probability for one in found.alternatives)
    with_groups = error_bound(forest, X, y, groups=patient, random_state=0)
    assert with_groups.has_probability
    assert with_groups.value > 0.5
    one_pair = X[::4].repeat(2, axis=0)[:16]
    assert "rows 0 and 1 " in error_bound(forest, one_pair, np.arange(16) // 8, method="holdout").reason
    assert not error_bound(forest, X[::4], y[::4], method="holdout", random_state=0).reason


def test_instances_of_another_law_are_told(study, X_new):
    X, y = study.data, study.target
    model = LogisticRegression(max_iter=5000).fit(X, y)
    random = np.random.default_rng(0)
    moved = X_new * np.exp(0.3 * random.standard_normal(100)) + 0.5 * random.standard_normal(100)
    with pytest.warns(UserWarning, match="does not look like instances of the same law as X"):
        found = error_bound(model, X, y, X_new=moved, random_state=0)
    bounds = by_method(found)
    assert bounds[HOLDOUT].has_probability
    assert not bounds[AGREEMENT].has_probability
    with pytest.warns(UserWarning, match="same law"):
        assert not error_bound(model, X, y, X_new=moved, method="agreement", random_state=0).has_probability


def test_the_test_of_one_law_is_exact_and_sees_locations_and_scales():
    random, n = np.random.default_rng(0), 60
    found, moved, stretched = [], [], []
    for _ in range(n):
        X, other = random.standard_t(3, (30, 40)), random.standard_t(3, (12, 40))
        found.append(same_law_pvalue(X, other))
        moved.append(same_law_pvalue(X, other + 1.2 * random.standard_normal(40)))
        stretched.append(same_law_pvalue(X, other * 3.0))
    assert abs(np.mean(np.array(found) < 0.5) - 0.5) < 3.5 * 0.5 / np.sqrt(n)
    assert np.mean(np.array(found) < 0.01) < 0.07
    assert np.median(moved) < 0.01
    assert np.median(stretched) < 0.01
    # Copies of a patient are one; and where nothing can be compared, nothing is said.
    rows = np.repeat(X, 5, axis=0)
    assert same_law_pvalue(rows, other, np.repeat(np.arange(30), 5)) == same_law_pvalue(X, other)
    assert same_law_pvalue(sparse.csr_array(X), other) == same_law_pvalue(X, other)
    assert same_law_pvalue(pd.DataFrame({"a": ["x", "y"]}), other) is None
    assert same_law_pvalue(X, other[:, :3]) is None
