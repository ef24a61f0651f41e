"""A limit on the error from samples that were held out."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskClassifierCV, error_bound
from minimaxrisk._utils.rounding import at_most
from minimaxrisk.guarantees.limits import clopper_pearson_limit

by_holdout = partial(error_bound, method="holdout")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 30)
    return rng.standard_normal((60, 20)) + 1.0 * (y == "ill")[:, None], y


def test_the_model_has_not_seen_what_it_is_judged_by(data):
    X, y = data
    X = np.column_stack([np.arange(60.0), X])
    bound = by_holdout(DecisionTreeClassifier(random_state=0), X, y, random_state=1)
    assert (bound.n_train, bound.n_test) == (30, 30)
    held_out = np.random.RandomState(1).permutation(60)[:30]
    assert bound.n_errors == int(np.sum(bound.model.predict(X[held_out]) != y[held_out]))
    assert bound.value == clopper_pearson_limit(bound.n_errors, 30, 0.95)
    assert float(bound) == bound.value
    assert f"at most {at_most(bound.value)}" in str(bound)
    assert "erred on" in bound.statement


@pytest.mark.parametrize(
    "estimator",
    [
        MinimaxRiskClassifier(),
        LogisticRegression(),
        make_pipeline(StandardScaler(with_mean=False), MinimaxRiskClassifier(marginal="empirical")),
    ],
)
def test_any_classifier_and_container(data, estimator):
    X, y = data
    dense = by_holdout(estimator, X, y, random_state=0)
    assert by_holdout(estimator, sparse.coo_array(X), y, random_state=0).n_errors == dense.n_errors
    assert dense.value < 0.5
    assert not hasattr(estimator, "classes_") or estimator is not dense.model


def test_limits_hold_as_often_as_they_say():
    """A classifier whose error is known: of 500 limits at 90% at least so many are above it."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(500):
        y = (rng.random(40) < 0.3).astype(int)
        y[:2] = 0, 1
        bound = by_holdout(
            DummyClassifier(strategy="constant", constant=0),
            np.zeros((40, 1)),
            y,
            confidence=0.9,
            random_state=rng.integers(2**31),
        )
        held += bound.value >= 0.3
    assert held / 500 >= 0.9 - 3 * np.sqrt(0.09 / 500)


def test_groups_stay_together_and_count_once():
    groups = np.repeat(np.arange(20), 3)
    labels = np.where(np.arange(20) % 2, "ill", "well")[groups]
    seen = {}

    class Spy(DummyClassifier):
        def fit(self, X, y):
            seen["train"] = X[:, 0].astype(int)
            return super().fit(X, y)

        def predict(self, X):
            seen["test"] = X[:, 0].astype(int)
            return super().predict(X)

    bound = by_holdout(Spy(), np.arange(60.0)[:, None], labels, groups=groups, test_size=0.25, random_state=0)
    assert bound.n_test == len(seen["test"]) == 5
    assert len(np.unique(groups[seen["test"]])) == 5
    assert not set(groups[seen["train"]]) & set(groups[seen["test"]])
    assert len(seen["train"]) == 45
    assert "5 groups held out" in bound.statement


def test_a_class_that_is_held_out_as_a_whole_is_misclassified(data):
    """Leaving it out of the data would make the statement one about the other classes."""
    X, y = data
    y = np.where(np.arange(60) == np.random.RandomState(0).permutation(60)[0], "rare", y)
    bound = by_holdout(LogisticRegression(), X, y, random_state=0)
    (rare,) = [one for one in bound.per_class if one.label == "rare"]
    assert (rare.n_test, rare.n_errors, rare.limit) == (1, 1, 1.0)
    assert bound.n_errors >= 1
    assert "learned nothing of 'rare', which had no sample to fit on" in bound.statement


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        lambda model: make_pipeline(StandardScaler(), model),
        lambda model: MinimaxRiskClassifierCV(model, radii=[1.0, 2.0], cv=2),
        lambda model: GridSearchCV(model, {"radius": [1.0, 2.0]}, cv=2),
    ],
)
def test_a_rule_that_draws_its_labels_is_named(data, wrap):
    draws = wrap(MinimaxRiskClassifier(deterministic=False, random_state=0))
    assert error_bound(draws, *data, method="holdout", random_state=0).rule == "randomized"
    assert error_bound(wrap(MinimaxRiskClassifier()), *data, method="holdout").rule == "predict"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0"),
        ({"confidence": "high"}, "confidence must lie"),
        ({"test_size": 0.0}, "test_size must be a fraction"),
        ({"test_size": 1.5}, "test_size must be a fraction"),
        ({"test_size": 60}, "holds out 60 of 60 samples; at least one"),
        ({"test_size": 0.001}, "holds out 0 of 60 samples"),
        ({"test_size": 59}, "the part to fit on holds samples of class '(ill|well)' alone; use a smaller"),
        ({"groups": np.zeros(10)}, r"one entry for each of the 60 samples, got shape \(10,\)"),
        ({"groups": np.zeros(60)}, "holds out 0 of 1 groups"),
        ({"groups": [None] * 60}, "groups has no entry at position 0"),
        ({"y": ["ill"] * 59}, "one label for each of the 60 samples"),
        ({"y": [None] * 60}, "missing label"),
        ({"y": None}, "X and y must be passed: samples, and their labels"),
        ({"sample_weight": np.ones(60)}, "takes no sample_weight"),
        ({"rule": "predict"}, "rule must be None with method='holdout'"),
        ({"method": "hold-out"}, "method must be 'best', 'holdout', 'agreement' or 'radii', got 'hold-out'"),
    ],
)
def test_bad_input(data, arguments, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        by_holdout(LogisticRegression(), X, arguments.pop("y", y), random_state=0, **arguments)
