"""The error bound: a hold-out of half of every class, at the frequencies of the data or at a prevalence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskClassifierCV, PredictionSets, error_bound
from minimaxrisk.exceptions import TooFewSamplesError
from minimaxrisk.guarantees.error_bound import Halves, limit_at
from minimaxrisk.guarantees.limits import buehler_limit, clopper_pearson_limit, limit_of_mean_rate

CLINIC = {"ill": 0.05, "well": 0.95}


class Rows(ClassifierMixin, BaseEstimator):
    """Predict the first label, and remember the first column of the rows to train on and to predict."""

    def fit(self, X, y):
        self.classes_, self.trained_ = np.unique(y), X[:, 0].astype(int)
        return self

    def predict(self, X):
        self.tested_ = X[:, 0].astype(int)
        return np.full(len(X), self.classes_[0])


def halves_of(y, **more):
    """Rows to train on and to test on."""
    model = error_bound(Rows(), np.arange(float(len(y)))[:, None], y, random_state=0, **more).model
    return model.trained_, model.tested_


def classes(*sizes):
    return np.repeat([f"class {k}" for k in range(len(sizes))], sizes)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], [30, 50])
    return rng.standard_normal((80, 20)) + 1.0 * (y == "ill")[:, None], y


# ---- the division


@pytest.mark.parametrize("sizes", [(30, 30), (31, 7, 5), (2, 3), (9, 90), (1, 4, 5), (1, 1, 2)])
def test_half_of_every_class_is_held_out(sizes):
    y = classes(*sizes)
    train, test = halves_of(y)
    assert sorted([*train, *test]) == list(range(len(y)))
    of_train, of_test = (
        np.array([(y[rows] == name).sum() for name in np.unique(y)]) for rows in (train, test)
    )
    several = np.array(sizes) > 1
    assert (np.abs(of_train - of_test)[several] <= 1).all()
    assert (of_test[~several] == 0).all()
    assert of_test.sum() == np.array(sizes)[several].sum() // 2


def test_rounding_favours_no_class():
    """Of three odd classes one has the larger half in the test; each as often as the others."""
    larger = np.zeros(3)
    for seed in range(300):
        X, y = np.arange(15.0)[:, None], classes(5, 5, 5)
        larger += [one.n_test == 3 for one in error_bound(Rows(), X, y, random_state=seed).per_class]
    assert larger.sum() == 300
    assert stats.chisquare(larger).pvalue > 1e-3


def test_groups_are_divided_by_the_labels_that_they_contain():
    """Ten matched pairs, ten patients with two ill samples, and ten with two healthy ones."""
    groups = np.repeat(np.arange(30), 2)
    y = np.concatenate([np.tile(["ill", "well"], 10), np.repeat(["ill", "well"], 20)])
    train, test = halves_of(y, groups=groups)
    assert np.bincount(groups[test] // 10).tolist() == [5, 5, 5]
    assert not set(groups[train]) & set(groups[test])
    bound = error_bound(Rows(), np.arange(60.0)[:, None], y, groups=groups)
    assert bound.class_sizes == {"ill": 15.0, "well": 15.0}
    assert (bound.is_grouped, bound.n_train, bound.n_test) == (True, 30, 15)


def test_strata_are_divided_evenly():
    y, hospital = np.tile(["ill", "well"], 20), np.repeat(["A", "B", "C", "D"], 10)
    _, test = halves_of(y, strata=hospital)
    cells = np.unique([*zip(y[test], hospital[test], strict=True)], axis=0, return_counts=True)[1]
    assert sorted(cells) == [2] * 4 + [3] * 4


# ---- the bound


def test_the_bound_is_that_of_the_errors_counted(data):
    X, y = data
    X = np.column_stack([np.arange(80.0), X])
    bound = error_bound(DecisionTreeClassifier(random_state=0), X, y, random_state=1)
    assert (bound.n_train, bound.n_test) == (40, 40)
    assert bound.value == limit_of_mean_rate(bound.n_errors, 40, 0.95) == float(bound)
    assert bound.n_errors == sum(one.n_errors for one in bound.per_class)
    assert [one.n_test for one in bound.per_class] == [15, 25]
    for one in bound.per_class:  # each on its own
        assert one.value == clopper_pearson_limit(one.n_errors, one.n_test, 0.95)
        assert one.confidence == 0.95
    assert bound.class_sizes == {"ill": 30.0, "well": 50.0}
    assert not bound.predictive_values
    # Half of the samples can be learned by heart, the others not.
    seen = bound.model.predict(X) == y
    assert (~seen).sum() == bound.n_errors


def test_any_classifier_and_container(data):
    X, y = data
    model = make_pipeline(StandardScaler(with_mean=False), MinimaxRiskClassifier(marginal="empirical"))
    dense = error_bound(model, X, y, random_state=0)
    assert error_bound(model, sparse.coo_array(X), y, random_state=0).n_errors == dense.n_errors
    assert error_bound(model.fit(X, y), X, y, random_state=0) == dense
    assert dense.value < 0.5
    assert dense.model is not model


def test_a_class_of_one_sample_counts_as_misclassified(data):
    X, y = data
    y = np.where(np.arange(80) == 70, "rare", y)
    bound = error_bound(LogisticRegression(), X, y, random_state=0)
    rare = bound.per_class[1]
    assert (rare.label, rare.n_test, rare.value) == ("rare", 0, 1.0)
    share = bound.share_not_held_out
    assert share == pytest.approx(1 / 80)
    assert bound.value == pytest.approx(share + (1 - share) * limit_of_mean_rate(bound.n_errors, 39, 0.95))
    assert "rare" in bound.model.classes_


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: make_pipeline(StandardScaler(), model),
        lambda model: MinimaxRiskClassifierCV(model, radii=[1.0, 2.0], cv=2),
        lambda model: GridSearchCV(model, {"radius": [1.0, 2.0]}, cv=2),
    ],
)
def test_a_rule_that_draws_its_labels_is_named(data, wrap):
    draws = wrap(MinimaxRiskClassifier(deterministic=False, random_state=0))
    assert error_bound(draws, *data, random_state=0).rule == "randomized"
    assert error_bound(wrap(MinimaxRiskClassifier()), *data, random_state=0).rule == "predict"


# ---- at a prevalence


@pytest.fixture(scope="module")
def at_clinic(data):
    return error_bound(LogisticRegression(), *data, prevalence=CLINIC, random_state=0)


def test_at_a_prevalence_two_classes_have_buehlers_limit(data, at_clinic):
    errors, sizes = ([getattr(one, name) for one in at_clinic.per_class] for name in ("n_errors", "n_test"))
    assert at_clinic.value == buehler_limit(errors, sizes, (0.05, 0.95), 0.95)
    assert at_clinic.prevalence == CLINIC
    assert at_clinic.per_class == error_bound(LogisticRegression(), *data, random_state=0).per_class


def test_predictive_values_of_three_classes_hold_wherever_errors_go():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 40)
    X = rng.standard_normal((120, 2)) + 2.0 * np.eye(3)[np.searchsorted(["a", "b", "c"], y), :2]
    shares = {"c": 0.2, "a": 0.5, "b": 0.3}
    found = error_bound(LogisticRegression(), X, y, prevalence=shares, random_state=0)
    assert list(found.prevalence) == ["a", "b", "c"]
    u = {one.label: clopper_pearson_limit(one.n_errors, one.n_test, 1 - 0.05 / 3) for one in found.per_class}
    right, worst = shares["a"] * (1 - u["a"]), sum(shares[k] * u[k] for k in "bc")
    assert found.predictive_values["a"] == pytest.approx(right / (right + worst))
    assert found.value < sum(shares[k] * u[k] for k in "abc")


def test_a_class_that_was_left_out_is_always_misclassified(data, at_clinic):
    shares = {"ill": 0.05, "well": 0.85, "rare": 0.1}
    found = error_bound(LogisticRegression(), *data, prevalence=shares, random_state=0)
    rare = found.per_class[-1]
    assert (rare.label, rare.n_test, rare.value) == ("rare", 0, 1.0)
    errors, sizes = ([getattr(one, name) for one in at_clinic.per_class] for name in ("n_errors", "n_test"))
    assert found.value == pytest.approx(0.1 + buehler_limit(errors, sizes, (0.05, 0.85), 0.95))
    assert set(found.predictive_values) == {"ill", "well"}


def test_classes_of_several_error_rates_have_no_binomial_limit():
    """Hospitals differ, so the errors of a class are a sum of unequal trials."""
    rng = np.random.default_rng(0)
    y = np.tile(["ill", "well"], 20)
    X, hospital = rng.standard_normal((40, 2)), np.repeat([0, 1], 20)
    found = error_bound(
        DummyClassifier(), X, y, strata=hospital, prevalence={"ill": 0.5, "well": 0.5}, random_state=0
    )
    limits = [limit_of_mean_rate(one.n_errors, one.n_test, 0.975) for one in found.per_class]
    assert found.value == pytest.approx(np.mean(limits))


# ---- how often it is wrong


def failures_by_enumeration(y, prevalence, grid):
    """The largest probability, over error rates of the classes, that the bound is below the truth."""
    names, sizes = np.unique(y, return_counts=True)
    halves = Halves.draw(y, None, None, np.random.RandomState(0))
    own = y[halves.test]
    tested = np.array([(own == name).sum() for name in names])
    counts = np.array(list(product(*(range(n + 1) for n in tested))))
    limits = []
    for one in counts:
        is_wrong = np.concatenate([np.arange(n) < k for k, n in zip(one, tested, strict=True)])
        is_wrong = is_wrong[np.argsort(np.argsort(own, kind="stable"))]
        if prevalence is None:
            limits.append(halves.errors(is_wrong).limit(0.95))
        else:
            limits.append(limit_at(prevalence, [halves.errors(is_wrong, name) for name in names], 0.95))
    shares = tested / tested.sum() if prevalence is None else np.array(list(prevalence.values()))
    found = []
    for rates in product(grid, repeat=len(sizes)):
        mass = np.prod(stats.binom.pmf(counts, tested, rates), axis=1)
        found.append(mass[np.array(limits) < shares @ rates - 1e-9].sum())
    return max(found)


@pytest.mark.parametrize("sizes", [(12, 12), (6, 20), (8, 8, 8)])
@pytest.mark.parametrize("is_given", [False, True])
def test_the_bound_is_exact_for_all_error_rates(sizes, is_given):
    y = classes(*sizes)
    shares = dict(zip(np.unique(y), (0.1, 0.9) if len(sizes) == 2 else (0.1, 0.6, 0.3), strict=True))
    grid = np.linspace(0.0, 1.0, 41 if len(sizes) == 2 else 13)
    worst = failures_by_enumeration(y, shares if is_given else None, grid)
    assert 0.02 < worst <= 0.05 + 1e-9


# ---- arguments


@pytest.mark.parametrize(
    "arguments",
    [
        {"confidence": 1.0},
        {"confidence": "high"},
        {"groups": np.zeros(10)},
        {"strata": [0, 1]},
        {"y": ["ill"] * 80},
        {"y": None},
        {"classifier": object()},
        {"classifier": LogisticRegression},
        {"prevalence": 0.05},
        {"prevalence": {"ill": 1.0}},
        {"prevalence": {"ill": -0.1, "well": 1.1}},
        {"prevalence": {"ill": 0.1, "well": 0.8}},
    ],
)
def test_bad_input(data, arguments):
    X, y = data
    with pytest.raises(ValueError, match=next(iter(arguments))) as refusal:
        error_bound(**{"classifier": LogisticRegression(), "X": X, "y": y, **arguments})
    assert not isinstance(refusal.value, TooFewSamplesError)


@pytest.mark.parametrize(
    ("classifier", "rows", "arguments"),
    [
        (LogisticRegression(), slice(None), {"groups": np.zeros(80)}),
        (LogisticRegression(), slice(None), {"strata": np.arange(80)}),
        (PredictionSets(LogisticRegression(), cv=2), [0, 1, 40, 41], {}),
        (MinimaxRiskClassifierCV(radii=[1.0, 2.0], cv=2), [0, 1, 40, 41], {}),
        (MinimaxRiskClassifier(radius="bootstrap"), [0, 1, 40, 41], {}),
        (MinimaxRiskClassifier(), [0, 1, 40, 41], {"groups": [0, 1, 0, 1]}),
    ],
)
def test_too_few_samples_for_halves_have_an_error_of_their_own(data, classifier, rows, arguments):
    """The program goes on without a bound then, and does not hide any other error."""
    X, y = data
    with pytest.raises(TooFewSamplesError):
        error_bound(classifier, X[rows], y[rows], **arguments)
