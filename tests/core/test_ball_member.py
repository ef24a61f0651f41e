"""The rule on all columns in an ensemble: it is the kernel classifier's, and its weight is that of errors."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    verify,
)
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.ball_member import fit_ball
from minimaxrisk.problem.pose import pose_by
from minimaxrisk.problem.rule import AverageRule
from minimaxrisk.samples.folds import dealt_folds
from minimaxrisk.samples.independent_units import Strata
from minimaxrisk.samples.validation import check_training_data
from minimaxrisk.uncertainty.rules import Multiple


def ensemble(**parameters):
    """Small, and of parts that leave each sample out of bag."""
    return MinimaxRiskEnsembleClassifier(
        **{"n_estimators": 12, "subsample": 0.4, "random_state": 0, **parameters}
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
    ball = fit_ball(
        posed, data, units, standardize=True, share=0.75, gap_tol=1e-8, random=np.random.RandomState(3)
    )
    fold_of_row = dealt_folds(data.labels, np.arange(45), 4, np.random.RandomState(3))
    assert np.array_equal(ball.fold_of_row, fold_of_row)
    folds = [np.flatnonzero(fold_of_row == i) for i in range(4)]
    weight = np.ones(45) if weights is None else weights
    mean = weight @ X / weight.sum()
    Z = (X - mean) / np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
    for fold in folds:
        rest = np.setdiff1d(np.arange(45), fold)
        given = None if weights is None else weights[rest]
        alone = MinimaxRiskKernelClassifier(gap_tol=1e-8).fit(Z[rest], y[rest], sample_weight=given)
        np.testing.assert_allclose(ball.oob_proba[fold], alone.predict_proba(Z[fold]), atol=1e-6)


def test_groups_are_left_out_together():
    X, y = table(3)
    groups = np.repeat(np.arange(15), 3)
    y = np.repeat(np.arange(15) % 3, 3)
    # A class of two groups is never left out as a whole, and that of one group never.
    few = np.where(groups < 2, 0, np.where(groups < 8, 1, 2))
    one = np.where(groups < 1, 0, np.where(groups < 8, 1, 2))
    for labels, share in ((y, 0.8), (few, 0.5), (one, 0.5)):
        data, units, posed = posed_study(X, labels, groups=groups)
        ball = fit_ball(
            posed, data, units, standardize=True, share=share, gap_tol=1e-2, random=np.random.RandomState(0)
        )
        fold = ball.fold_of_row
        assert len(ball.without_fold) == fold.max() + 1 == round(1 / (1 - share))
        assert all(len(set(fold[groups == one])) == 1 for one in range(15))
        assert all(set(labels[fold != i]) == {0, 1, 2} for i in range(fold.max() + 1))
        assert np.array_equal(np.isnan(ball.oob_proba[:, 0]), fold < 0)
    assert set(fold[one == 0]) == {-1}


def test_the_weight_by_brute_force():
    """Errors of both kinds on samples that they have not seen; each sample is judged without its own."""
    study = make_expression(50, 80, n_informative=20, effect=0.5, random_state=4)
    X, y = study.data, study.target
    model, plain = ensemble(n_estimators=30).fit(X, y), ensemble(n_estimators=30, ball=False).fit(X, y)
    members_err = np.argmax(plain.oob_proba_, axis=1) != y
    ball_errs = np.argmax(model.ball_oob_proba_, axis=1) != y
    assert 0 < ball_errs.sum() != members_err.sum() > 0

    def weight(kept):
        a, b = members_err[kept].sum() + 1, ball_errs[kept].sum() + 1
        return a**2 / (a**2 + b**2)

    assert model.ball_weight_ == pytest.approx(weight(np.ones(50, bool)), abs=1e-14)
    for i in range(50):
        share = weight(np.arange(50) != i)
        mixed = (1 - share) * plain.oob_proba_[i] + share * model.ball_oob_proba_[i]
        np.testing.assert_allclose(model.oob_proba_[i], mixed, atol=1e-14)
    wrong = np.argmax(model.oob_proba_, axis=1) != y
    assert model.oob_error_ == pytest.approx(wrong.mean())


def test_a_row_of_weight_zero_changes_nothing():
    X, y = table(2)
    model = ensemble().fit(X, y)
    more = np.vstack([X, X[:3] + 1.0]), np.append(y, [0, 1, 1])
    again = ensemble().fit(*more, sample_weight=np.append(np.ones(45), np.zeros(3)))
    assert again.ball_weight_ == model.ball_weight_
    np.testing.assert_array_equal(again.ball_.coef, model.ball_.coef)
    assert np.isnan(again.ball_oob_proba_[45:]).all()
    assert verify(again, *more, sample_weight=np.append(np.ones(45), np.zeros(3))).valid


@pytest.mark.parametrize("container", [sparse.csr_array, lambda X: da.from_array(X, chunks=(20, 30))])
def test_other_containers_give_the_same(container):
    X, y = table(3)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    options = {"n_estimators": 6, "certify": False, "gap_tol": 1e-8}
    plain, other = ensemble(**options).fit(X, y), ensemble(**options).fit(container(X), y)
    np.testing.assert_allclose(other.ball_.coef, plain.ball_.coef, atol=1e-7)
    np.testing.assert_allclose(other.ball_oob_proba_, plain.ball_oob_proba_, atol=1e-6)


def test_products_are_those_of_the_columns(monkeypatch):
    X, y = table(2)
    X[np.abs(X) < 0.7] = 0.0
    monkeypatch.setattr("minimaxrisk.matrices.standardised.GROUP_ELEMENTS", 45 * 16)
    for kind in (np.asarray, sparse.csr_array):
        _, _, posed = posed_study(kind(X), y)
        features = posed.problem.features
        inner, unit = features.columns(np.arange(features.shape[1])), np.linspace(0.0, 1.0, features.shape[1])
        np.testing.assert_allclose(features.gram(unit), (inner * unit**2) @ inner.T)


def test_many_samples_are_left_to_the_members(monkeypatch):
    monkeypatch.setattr("minimaxrisk.estimators.ball_member.MOST_EQUATIONS", 90)
    assert ensemble(certify=False).fit(*table(2)).ball_ is not None
    three = ensemble(certify=False).fit(*table(3))
    assert (three.ball_, three.ball_oob_proba_, three.ball_weight_) == (None, None, 0.0)
    assert ensemble(certify=False, ball=True).fit(*table(3)).ball_ is not None


def test_a_stored_ball_without_its_judgements_is_found():
    X, y = table(2)
    model = ensemble().fit(X, y)
    model.ball_oob_proba_ = None
    assert "ball_ and ball_oob_proba_ must both be there or not" in verify(model, X, y).problems


def test_mean_scores_are_those_of_members_and_ball_by_weight():
    study = make_expression(40, 60, effect=1.0, random_state=0)
    halves = {"n_estimators": 8, "subsample": 0.4}
    model = MinimaxRiskEnsembleClassifier(**halves, ball=True, certify=False, random_state=0)
    model.fit(study.data, study.target)
    of_members = np.mean([member.scores(study.data) for member in model.members_], axis=0)
    of_ball = model.ball_.scores(study.data)
    for weight in (0.0, 0.3, 1.0):
        found = AverageRule(model.members_, model.ball_, weight).mean_scores(study.data)
        np.testing.assert_allclose(found, (1.0 - weight) * of_members + weight * of_ball, atol=1e-12)
    np.testing.assert_allclose(AverageRule(model.members_).mean_scores(study.data), of_members, atol=1e-12)
