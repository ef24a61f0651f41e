"""The one dealer of folds: against scikit-learn, on random groups, and wherever a number is accepted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskClassifierCV, PredictionSets, compare
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.samples.folds import dealt_folds, folds_of_cv, reason_against_folds

pytestmark = pytest.mark.filterwarnings("error:The least populated class:UserWarning")


def study(sizes, effect=1.5, seed=0):
    """In the order of the classes."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(seed).standard_normal((len(y), 8))
    X[:, : len(sizes)] += effect * np.eye(len(sizes))[y]
    return X, y


@pytest.mark.parametrize("seed", [None, 0, 7])
def test_without_groups_folds_are_those_of_scikit_learn(seed):
    y = np.random.default_rng(1).integers(0, 3, 50)
    expected = StratifiedKFold(4, shuffle=True, random_state=seed or 0).split(y, y)
    found = folds_of_cv(4, y, random_state=seed)
    for (train, test), (train_by_sklearn, test_by_sklearn) in zip(found, expected, strict=True):
        assert np.array_equal(train, train_by_sklearn)
        assert np.array_equal(test, test_by_sklearn)


@pytest.mark.parametrize("seed", range(60))
def test_properties_of_folds_on_random_groups(seed):
    """Groups stay whole; a class of two groups is in every training part, and that of one is in all."""
    random = np.random.default_rng(seed)
    n_units, n_classes = int(random.integers(2, 25)), int(random.integers(2, 5))
    unit = np.r_[np.arange(n_units), random.integers(0, n_units, int(random.integers(0, 20)))]
    of_unit = random.integers(0, n_classes, n_units)
    is_mixed = random.random(len(unit)) < random.choice([0.0, 0.0, 0.3])
    names = np.where(is_mixed, random.integers(0, n_classes, len(unit)), of_unit[unit])
    labels = np.unique(names, return_inverse=True)[1]
    n_folds = int(random.integers(2, 12))
    fold = dealt_folds(labels, unit, n_folds, seed)
    assert fold.max() < n_folds
    assert set(fold[fold >= 0]) == set(range(fold.max() + 1))
    for u in range(n_units):
        assert len(set(fold[unit == u])) == 1
    units_of_class = [set(unit[labels == k]) for k in range(labels.max() + 1)]
    lonely = {u for units in units_of_class if len(units) == 1 for u in units}
    assert set(unit[fold < 0]) == lonely
    for units in () if is_mixed.any() else units_of_class:
        if len(units) > 1:
            counts = np.bincount([fold[unit == u][0] for u in units], minlength=fold.max() + 1)
            assert np.ptp(counts) <= 1
            assert np.count_nonzero(counts) > 1


def test_classes_of_mixed_groups_alone_are_in_every_training_part():
    labels, unit = np.array([0, 0, 1, 0, 1]), np.array([0, 1, 1, 2, 2])
    for seed in range(5):
        assert len(set(dealt_folds(labels, unit, 2, seed)[labels == 1])) == 2


def test_matched_pairs_have_as_many_folds_as_there_are_pairs():
    fold = dealt_folds(np.tile([0, 1], 12), np.repeat(np.arange(12), 2), 12)
    assert sorted(fold) == sorted(np.repeat(np.arange(12), 2))


def test_every_number_of_folds_is_dealt_alike():
    X, y = study((20, 25))
    fold, model = dealt_folds(y, np.arange(45), 4), MinimaxRiskClassifier()
    errors = [
        np.mean(model.fit(X[fold != k], y[fold != k]).predict(X[fold == k]) != y[fold == k]) for k in range(4)
    ]
    assert np.std(errors) > 0.0
    chosen = MinimaxRiskClassifierCV(radii=[1.0], cv=4).fit(X, y)
    np.testing.assert_allclose(chosen.cv_results_["fold_losses"][:, 0], errors)
    np.testing.assert_allclose(compare({"ours": model}, X, y, cv=4).errors[0], errors)
    found = cross_validated_error(model.fit(X, y), X, y, n_folds=4)
    np.testing.assert_allclose(found.fold_errors[1], errors)
    assert np.array_equal(found.left_out.fold, fold)
    assert np.array_equal(PredictionSets(model, cv=4).fit(X, y).left_out_.fold, fold)


@pytest.mark.parametrize("as_groups", [False, True])
def test_a_class_with_a_single_sample_does_not_stop_the_others(as_groups):
    """Its sample or group is in every training part, and the errors are those of the other samples."""
    X, y = study((20, 25, 3 if as_groups else 1))
    groups = np.minimum(np.arange(len(y)), 45) if as_groups else None
    model = MinimaxRiskClassifier().fit(X, y)
    found = cross_validated_error(model, X, y, n_folds=4, groups=groups)
    fold, rest = found.left_out.fold, y < 2
    assert np.array_equal(fold < 0, ~rest)
    predicted = np.full(len(y), -1)
    for k in range(4):
        own = None if groups is None else groups[fold != k]
        part = MinimaxRiskClassifier().fit(X[fold != k], y[fold != k], groups=own)
        predicted[fold == k] = part.predict(X[fold == k])
    wrong = (predicted != y) & rest
    assert wrong.any()
    assert (found.n_judged, found.n_wrong) == (45, wrong.sum())
    assert found.errors[1] == wrong.sum() / 45
    assert found.confusion(3).sum() == 45
    rates = [one.sensitivity for one in found.per_class(3)]
    assert rates[2] is None
    assert found.balanced_accuracy == pytest.approx(np.mean([rates[0].value, rates[1].value]))
    assert found.majority_error == pytest.approx(20 / 45)
    assert np.isnan(found.calibrated_of_own[~rest]).all()
    assert np.isfinite(found.calibrated[rest]).all()
    assert sum(band.n_samples for band in found.by_probability()) == 45
    assert found.left_out.counts(0.9)[2].sum() == 0
    compared = compare({"naive Bayes": GaussianNB()}, X, y, cv=4, groups=groups)
    assert compared.errors.shape == (1, 4)


def test_two_classes_must_have_two_samples():
    labels, unit = np.array([0] * 9 + [1]), np.arange(10)
    assert reason_against_folds(labels, unit, "ab")
    assert not reason_against_folds(np.r_[labels, 2, 2], np.arange(12), "abc")
    for cv in (2, None):
        with pytest.raises(ValueError, match="class 1 has a single sample"):
            folds_of_cv(cv, labels)
