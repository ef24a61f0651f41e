"""Matched pairs: groups whose samples have different labels, as tumour and normal tissue of one patient."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    PredictionSets,
    error_bound,
    permutation_test,
)
from minimaxrisk.samples.folds import without_each_fold
from minimaxrisk.samples.groups import labels_of_units
from minimaxrisk.samples.label_permutations import units_of_labels
from tests.folds import folds_of

N = 24


def pairs(seed=0, n=N, d=12, correlation=0.8, effect=0.0):
    """Two samples of each patient, of class 0 and of class 1, in a random order."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n), 2)
    X = np.sqrt(correlation) * rng.normal(size=(n, d))[patient]
    X += np.sqrt(1.0 - correlation) * rng.normal(size=X.shape)
    y = np.tile([0, 1], n)
    X[y == 1, :3] += effect
    order = rng.permutation(2 * n)
    return X[order], y[order], patient[order]


def differences(X, y, patient):
    """Half of class 0 less class 1, for each patient."""
    zero, one = (X[y == k][np.argsort(patient[y == k])] for k in (0, 1))
    return (zero - one) / 2.0


def test_radii_are_standard_errors_of_differences_within_pairs():
    X, y, patient = pairs(effect=0.5)
    model = MinimaxRiskClassifier(radius=1.0, standardize=False, fit_intercept=False)
    model.fit(X, y, groups=patient)
    within = differences(X, y, patient)
    assert model.tau_[0] == pytest.approx(within.mean(axis=0), rel=1e-10, abs=1e-14)
    assert model.lambda_[0] == pytest.approx(within.std(axis=0) / np.sqrt(N), rel=1e-10)
    # The shares of the classes are known by design.
    with_intercept = MinimaxRiskClassifier(radius=1.0).fit(X, y, groups=patient)
    assert with_intercept.lambda_[0, 0] == pytest.approx(0.0, abs=1e-8)


def test_groups_of_one_and_of_both_classes_together():
    """Against tau and its standard error from sums over groups."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 5)), rng.integers(0, 2, 40)
    group = rng.integers(0, 15, 40)
    weight = rng.uniform(0.5, 2.0, 40)
    model = MinimaxRiskClassifier(radius=1.0, standardize=False, fit_intercept=False)
    model.fit(X, y, groups=group, sample_weight=weight)
    phi = np.where(y == 0, 1.0, -1.0)[:, None] * X
    tau = weight @ phi / weight.sum()
    names = np.unique(group)
    p = np.array([weight[group == u].sum() for u in names]) / weight.sum()
    Z = np.array([weight[group == u] @ phi[group == u] / weight[group == u].sum() for u in names])
    assert model.tau_[0] == pytest.approx(tau, rel=1e-10)
    assert model.lambda_[0] == pytest.approx(np.sqrt(p**2 @ (Z - tau) ** 2), rel=1e-9)


def test_the_ball_has_the_standard_error_of_differences():
    X, y, patient = pairs(effect=0.5)
    model = MinimaxRiskKernelClassifier(kernel="linear", radius=1.0, fit_intercept=False)
    model.fit(X, y, groups=patient)
    within = differences(X, y, patient)
    size = np.sqrt(np.sum((within - within.mean(axis=0)) ** 2) / N / (N - 1))
    assert model.ball_radius_ == pytest.approx(size, rel=1e-6)


def test_named_radii_cover():
    hits = 0
    for seed in range(60):
        X, y, patient = pairs(seed, effect=0.5)
        model = MinimaxRiskClassifier(radius="bootstrap", standardize=False, gap_tol=1.0, random_state=0)
        model.fit(X, y, groups=patient)
        true = np.where(np.arange(12) < 3, -0.25, 0.0)
        hits += bool((np.abs(model.tau_[0, 1:] - true) <= model.lambda_[0, 1:]).all())
    assert stats.binomtest(hits, 60, 0.95, alternative="less").pvalue > 1e-3


def test_labels_are_exchanged_within_pairs_and_between_groups_of_one_label():
    groups, labels = np.array([0, 0, 1, 1, 2, 2, 3]), np.array([0, 1, 1, 0, 1, 1, 0])
    unit, first, strata = units_of_labels(groups, labels)
    assert [sorted(first[members].tolist()) for members in strata] == [[4, 6], [0, 1], [2, 3]]
    assert unit[4] == unit[5]


def test_the_permutation_test_keeps_its_level_and_knows_of_pairs():
    small = 0
    for seed in range(40):
        X, y, patient = pairs(seed)
        test = permutation_test(MinimaxRiskClassifier(), X, y, 19, groups=patient, random_state=seed)
        small += test.pvalue <= 0.05
    assert small <= 6  # 2 expected
    X, y, patient = pairs(effect=0.6)
    with_pairs = permutation_test(MinimaxRiskClassifier(), X, y, 39, groups=patient, random_state=0)
    alone = permutation_test(MinimaxRiskClassifier(), X, y, 39, random_state=0)
    assert with_pairs.pvalue == 1 / 40
    assert with_pairs.statistic < alone.statistic


def test_a_pair_stays_whole():
    X, y, patient = pairs(effect=1.0)
    model = MinimaxRiskClassifier().fit(X, y, groups=patient)
    for train, test in folds_of(y, 5, 0, patient).split():
        assert not set(patient[train]) & set(patient[test])
        assert set(y[train]) == set(y[test]) == {0, 1}
    ensemble = MinimaxRiskEnsembleClassifier(n_estimators=2, subsample=0.5, random_state=0)
    with pytest.warns(UserWarning, match="seen by all members"):
        ensemble.fit(X, y, groups=patient)
    unseen = np.isnan(ensemble.oob_proba_[:, 0])
    assert 0 < unseen.sum() < 2 * N
    assert all(len(set(unseen[patient == p])) == 1 for p in range(N))
    bound = error_bound(model, X, y, groups=patient, random_state=0)
    assert (bound.n_train, bound.n_test) == (N, N // 2)


def test_fits_without_a_fold_learn_from_pairs():
    X, y, patient = pairs(effect=1.0)
    learner, fold = MinimaxRiskClassifier(), folds_of(y, 3, 0, patient).test_fold
    radii = without_each_fold(lambda fitted, _: fitted.lambda_, learner, X, y, fold, groups=patient)
    for f, found in enumerate(radii):
        rest = fold != f
        alike = MinimaxRiskClassifier().fit(X[rest], y[rest], groups=patient[rest])
        np.testing.assert_allclose(found, alike.lambda_)
    sets = PredictionSets(learner, cv=3, random_state=0).fit(X, y, groups=patient)
    np.testing.assert_array_equal(sets.left_out_.fold, fold)


def test_three_classes_and_other_codings_are_refused():
    X, y, patient = pairs()
    three = np.where(patient < 4, 2, y)
    message = r"matched pairs, have radii for two classes and coding='signed' alone, .* 3 classes"
    with pytest.raises(ValueError, match=message):
        MinimaxRiskClassifier().fit(X, three, groups=patient)
    with pytest.raises(ValueError, match=message):
        MinimaxRiskKernelClassifier().fit(X, three, groups=patient)
    with pytest.raises(ValueError, match="2 classes and coding='one-hot'; take two classes at a time"):
        MinimaxRiskClassifier(coding="one-hot").fit(X, y, groups=patient)
    # A hold-out fits without groups then.
    fitted = MinimaxRiskClassifier().fit(X, three)
    assert error_bound(fitted, X, three, groups=patient, random_state=0).n_test == N // 2


def test_the_class_that_a_unit_counts_for():
    units, labels = np.array([0, 0, 1, 1, 2, 2, 3]), np.array([0, 1, 0, 1, 0, 1, 0])
    assert labels_of_units(units, labels, 2).tolist() == [1, 0, 1, 0]
    assert labels_of_units(np.arange(3), np.array([2, 0, 1]), 3).tolist() == [2, 0, 1]
