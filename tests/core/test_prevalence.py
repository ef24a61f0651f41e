"""Limits class by class, for another mixture of classes, and of the most common class."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from minimaxrisk import MinimaxRiskClassifier, error_bound
from minimaxrisk._utils.rounding import at_least
from minimaxrisk.guarantees.counting import clopper_pearson_limit, limit_of_rarer_classes
from minimaxrisk.guarantees.statement import AGREEMENT, HOLDOUT, MAJORITY, NONE, RADII

by_holdout = partial(error_bound, method="holdout", random_state=0)
CLINIC = {"ill": 0.05, "well": 0.95}


def drawn(n, prevalence, rng):
    """Cases and controls, whose variances differ so that one class is misclassified more often."""
    y = np.where(np.arange(n) < round(prevalence * n), "ill", "well")
    X = rng.standard_normal((n, 5)) * np.where(y == "ill", 0.5, 1.3)[:, None]
    X[:, 0] += 1.5 * (y == "ill")
    return X, y


@pytest.fixture(scope="module")
def data():
    return drawn(80, 0.5, np.random.default_rng(0))


@pytest.fixture(scope="module")
def at_clinic(data):
    return by_holdout(LogisticRegression(), *data, prevalence=CLINIC)


def test_limits_class_by_class_are_those_of_the_samples_held_out(data):
    X, y = data
    found = by_holdout(LogisticRegression(), X, y)
    held_out = np.random.RandomState(0).permutation(80)[:40]
    errs = found.model.predict(X[held_out]) != y[held_out]
    for one, label in zip(found.per_class, ("ill", "well"), strict=True):
        of_class = errs[y[held_out] == label]
        assert (one.label, one.n_test, one.n_errors) == (label, len(of_class), of_class.sum())
        assert one.limit == clopper_pearson_limit(one.n_errors, one.n_test, 0.975)
        assert one.confidence == 0.975
    assert found.value == clopper_pearson_limit(found.n_errors, 40, 0.95)
    assert not found.predictive_values
    text = str(found)
    assert "each with probability 0.975, together 0.95, a statement of its own" in text
    ill, well = found.per_class
    sensitivity, specificity = at_least(1 - ill.limit), at_least(1 - well.limit)
    assert f"sensitivity at least {sensitivity}, specificity at least {specificity}" in text


def test_the_first_sentence_says_which_mixture(data, at_clinic):
    X, y = data
    first = by_holdout(LogisticRegression(), X[10:], y[10:]).statement.split(":")
    assert first[0].endswith("on samples of 'ill' and 'well', as common as in these data (30 ")
    assert "on samples of which 5% are 'ill' and 95% are 'well': it erred" in at_clinic.statement
    assert "also where the labels of these were chosen by design" in at_clinic.statement


def test_groups_count_once_in_the_mixture(data):
    X, y = data
    found = by_holdout(LogisticRegression(), X, y, groups=np.arange(80) // 2)
    assert found.class_sizes == {"ill": 20.0, "well": 20.0}
    assert sum(one.n_test for one in found.per_class) == 20


def test_many_classes_and_weights_in_the_mixture():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 9
    found = by_holdout(DummyClassifier(), rng.standard_normal((90, 2)), y)
    assert "of 9 classes, as common as in these data (10 : 10 : 10 : 10 : 10 : 10 : 10 : 10 : ...)" in str(
        found
    )
    assert "sensitivity" not in str(found)
    X, y = drawn(40, 0.5, rng)
    weights = np.where(y == "ill", 0.5, 1.5)
    model = MinimaxRiskClassifier().fit(X, y, sample_weight=weights)
    found = error_bound(model, X, y, method="radii", sample_weight=weights, n_folds=2)
    assert "(10 : 30, by weight)" in found.statement
    assert (
        "as common as in the training data"
        in error_bound(model, method="radii", rule="randomized", X_new=X + 1.0).statement
    )


def test_another_mixture_is_a_sum_over_classes(at_clinic):
    ill, well = at_clinic.per_class
    assert at_clinic.value == pytest.approx(0.05 * ill.limit + 0.95 * well.limit)
    assert at_clinic.prevalence == CLINIC
    sensitivity, specificity = 1 - ill.limit, 1 - well.limit
    named_ill = 0.05 * sensitivity + 0.95 * (1 - specificity)
    named_well = 0.95 * specificity + 0.05 * (1 - sensitivity)
    assert at_clinic.predictive_values["ill"] == pytest.approx(0.05 * sensitivity / named_ill)
    assert at_clinic.predictive_values["well"] == pytest.approx(0.95 * specificity / named_well)
    assert "at once with the bound" in str(at_clinic)
    assert f"named 'ill', at least {at_least(at_clinic.predictive_values['ill'])} are" in str(at_clinic)


def test_predictive_values_of_three_classes_hold_wherever_errors_go():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 40)
    X = rng.standard_normal((120, 2)) + 2.0 * np.eye(3)[np.searchsorted(["a", "b", "c"], y), :2]
    shares = {"c": 0.2, "a": 0.5, "b": 0.3}
    found = by_holdout(LogisticRegression(), X, y, prevalence=shares)
    assert list(found.prevalence) == ["a", "b", "c"]
    limit = {one.label: one.limit for one in found.per_class}
    worst = sum(shares[k] * limit[k] for k in "bc")
    right = shares["a"] * (1 - limit["a"])
    assert found.predictive_values["a"] == pytest.approx(right / (right + worst))


def test_a_class_that_was_left_out_is_always_misclassified(data):
    shares = {"ill": 0.05, "well": 0.85, "rare": 0.1}
    found = by_holdout(LogisticRegression(), *data, prevalence=shares)
    rare = found.per_class[-1]
    assert (rare.label, rare.n_test, rare.limit) == ("rare", 0, 1.0)
    assert found.per_class[0].confidence == 0.975  # two limits may fail
    assert found.value == pytest.approx(sum(shares[one.label] * one.limit for one in found.per_class))
    assert set(found.predictive_values) == {"ill", "well"}
    assert "'rare': at most 1.0000 misclassified (none was held out)" in str(found)


def test_a_class_that_the_model_knows_and_the_data_lack_is_named(data):
    X, y = data
    model = LogisticRegression().fit(np.vstack([X, X[:5]]), [*y, *["rare"] * 5])
    assert "It leaves out samples of 'rare', of which these data have none." in str(by_holdout(model, X, y))


def test_best_for_a_prevalence(data):
    X, y = data
    model = MinimaxRiskClassifier().fit(X, y)
    found = error_bound(model, X, y, prevalence=CLINIC, random_state=0)
    alone = by_holdout(model, X, y, prevalence=CLINIC)
    assert (found.method, found.value, found.per_class) == (HOLDOUT, alone.value, alone.per_class)
    (constant,) = found.alternatives
    assert (constant.method, constant.value) == (MAJORITY, pytest.approx(0.05))
    assert "always naming the most common class ('well')" in str(found)
    assert set(found.left_out) == {AGREEMENT, RADII}
    assert found.says_nothing
    assert "Always naming the most common class errs no more than this bound" in found.statement
    survey = np.linspace(0.5, 1.5, 80)
    weighted = error_bound(
        model.fit(X, y, sample_weight=survey), X, y, sample_weight=survey, prevalence=CLINIC
    )
    assert (weighted.method, weighted.value) == (MAJORITY, pytest.approx(0.05))
    assert "takes no sample_weight" in weighted.left_out[HOLDOUT]


def test_limits_class_by_class_beside_the_best(data):
    """At the whole confidence, whatever the share of the hold-out."""
    X, y = data
    model = MinimaxRiskClassifier().fit(X, y)
    found = error_bound(model, X, y, n_folds=None, random_state=0)
    assert found.per_class == by_holdout(model, X, y).per_class
    assert not any(one.per_class for one in found.alternatives)


def test_copies_leave_no_probability_class_by_class():
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 30)
    X = rng.standard_normal((60, 60))
    X[1] = X[0]
    for found in (
        by_holdout(LogisticRegression(), X, y, prevalence=CLINIC),
        error_bound(LogisticRegression(), X, y, random_state=0),
    ):
        assert {one.confidence for one in found.per_class} == {None}
        assert "Class by class, for the model of the hold-out (if all assumptions were true)" in str(found)
    assert found.method == NONE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prevalence": 0.05}, "prevalence must be a mapping, got 0.05; pass a share for every class"),
        ({"prevalence": {"ill": 1.0}}, "prevalence has no share of class 'well'; pass a share"),
        (
            {"prevalence": {"ill": -0.1, "well": 1.1}},
            "prevalence of class 'ill' must be a positive share, got -0.1",
        ),
        ({"prevalence": {"ill": "5%", "well": 0.95}}, "class 'ill' must be a positive share, got '5%'"),
        ({"prevalence": {"ill": 5, "well": 95}}, "class 'ill' must be a positive share, got 5"),
        ({"prevalence": {"ill": 0.05, "well": 0.9}}, "shares of prevalence must sum to 1, got 0.95"),
        ({"prevalence": CLINIC, "method": "radii"}, "prevalence does not go with method='radii': radii hold"),
        ({"prevalence": CLINIC, "method": "agreement"}, "does not go with method='agreement': new instances"),
    ],
)
def test_bad_input(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        error_bound(LogisticRegression(), *data, **arguments)


def test_cases_and_controls_hold_for_the_clinic_as_often_as_they_say():
    """Where the limit of the sample's own mixture does not."""
    rng = np.random.default_rng(1)
    wrong = np.zeros(4)
    for seed in range(200):
        X, y = drawn(60, 0.5, rng)
        found = error_bound(
            RidgeClassifier(), X, y, method="holdout", prevalence=CLINIC, confidence=0.9, random_state=seed
        )
        plain = error_bound(RidgeClassifier(), X, y, method="holdout", confidence=0.9, random_state=seed)
        T, t = drawn(4000, 0.5, rng)
        errs = found.model.predict(T) != t
        ill, well = errs[t == "ill"].mean(), errs[t == "well"].mean()
        truth = 0.05 * ill + 0.95 * well
        value = 0.05 * (1 - ill) / (0.05 * (1 - ill) + 0.95 * well)
        wrong += [
            found.value < truth,
            plain.value < truth,
            found.per_class[0].limit < ill or found.per_class[1].limit < well,
            found.predictive_values["ill"] > value,
        ]
    in_all, own_mixture, by_class, predictive = wrong / 200
    assert max(in_all, by_class, predictive) <= 0.1 + 3 * np.sqrt(0.09 / 200)
    assert own_mixture > 0.15


@pytest.mark.parametrize("delta", [0.002, 0.05, 0.3])
@pytest.mark.parametrize("n", [5, 12, 33])
def test_limit_of_the_most_common_of_two_classes_by_enumeration(n, delta):
    for q in np.linspace(0.01, 0.5, 50):
        counts = np.arange(n + 1)
        limits = np.array([limit_of_rarer_classes(min(k, n - k), n, delta, 2) for k in counts])
        assert stats.binom.pmf(counts, n, q)[limits < q].sum() <= delta + 1e-12


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.4])
@pytest.mark.parametrize("n", [6, 15])
def test_limit_of_the_most_common_of_three_classes_by_enumeration(n, delta):
    counts = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    limits = np.array([limit_of_rarer_classes(n - row.max(), n, delta, 3) for row in counts])
    assert limits.max() == pytest.approx(2 / 3)
    for first in np.linspace(0.34, 0.98, 17):
        for share in np.linspace(0.02, 0.98, 25):
            p = np.array([first, (1 - first) * share, (1 - first) * (1 - share)])
            if p.max() == first:
                mass = stats.multinomial.pmf(counts, n, p)
                assert mass[limits < 1 - first].sum() <= delta + 1e-12


def test_the_most_common_class_has_its_own_level_where_it_is_not_chosen():
    """4 of 40: a share of the level would make it 0.31."""
    y = np.where(np.arange(40) < 4, "ill", "well")
    X = np.random.default_rng(0).standard_normal((40, 3)) + 9.0 * (y == "ill")[:, None]
    found = error_bound(LogisticRegression(), X, y, test_size=0.6, random_state=1)
    (majority,) = found.alternatives
    assert found.method == HOLDOUT
    assert majority.stands_alone
    assert majority.value == pytest.approx(clopper_pearson_limit(4, 40, 0.95), abs=1e-5)
    assert "With the same probability, each by itself:" in str(found)
