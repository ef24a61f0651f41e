"""Sets of labels and probabilities from left-out scores."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier, PredictionSets
from minimaxrisk.guarantees.left_out import (
    LeftOutScores,
    dealt_folds,
    in_words,
    is_in_set,
    margins,
    needed_to_exclude,
    weights_of_units,
)

pytestmark = pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.UninformativeRadiusWarning")


def study(n_of_classes, seed=0, effect=1.0, d=30):
    """Every class has informative features of its own."""
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(n_of_classes)), n_of_classes)
    X = random.standard_normal((len(y), d)) + effect * (np.arange(d) // 4 == y[:, None])
    return X, y


def p_values_by_hand(fits, fold, X, y, X_new, n_classes):
    """Sample by sample, label by label."""
    found = np.ones((len(X_new), n_classes))
    for j, x in enumerate(X_new):
        for k in range(n_classes):
            count, size = 0, 0
            for i in np.flatnonzero((y == k) & (fold >= 0)):
                own, new = (margins(fits[fold[i]](one[None])[0])[k] for one in (X[i], x))
                count, size = count + (own <= new), size + 1
            found[j, k] = (1 + count) / (1 + size)
    return found


@pytest.mark.parametrize("sizes", [(12, 15), (10, 12, 14)])
def test_p_values_by_hand(sizes):
    X, y = study(sizes)
    X_new, _ = study([4] * len(sizes), seed=1)
    model = PredictionSets(LogisticRegression(), cv=4, random_state=3).fit(X, y)
    fold = dealt_folds(y, np.arange(len(y)), 4, np.random.RandomState(3))
    fits = [LogisticRegression().fit(X[fold != f], y[fold != f]).decision_function for f in range(4)]
    if len(sizes) == 2:
        fits = [lambda x, f=f: np.column_stack([-f(x), f(x)]) for f in fits]
    expected = p_values_by_hand(fits, fold, X, y, X_new, len(sizes))
    np.testing.assert_allclose(model.p_values(X_new), expected)
    assert len(np.unique(expected)) > 8
    np.testing.assert_array_equal(model.predict_set(X_new), expected > 0.1 + 1e-9)
    np.testing.assert_array_equal(model.predict(X_new), LogisticRegression().fit(X, y).predict(X_new))


def test_members_that_have_not_seen_a_sample_judge_it():
    X, y = study((14, 16), effect=0.6)
    X_new, _ = study((3, 3), seed=1)
    ensemble = MinimaxRiskEnsembleClassifier(n_estimators=20, random_state=0)
    model = PredictionSets(ensemble).fit(X, y)
    fitted = model.estimator_

    def scores_without(i, x):
        members = [
            rule.scores(x)[:, 0]
            for rule, seen in zip(fitted.members_, fitted.in_bag_, strict=True)
            if not seen[i]
        ]
        ball = fitted.ball_without_fold_[fitted.ball_fold_of_sample_[i]].scores(x)[:, 0]
        return (1 - fitted.ball_weight_) * np.mean(members, axis=0) + fitted.ball_weight_ * ball

    expected = p_values_by_hand(
        [lambda x, i=i: scores_without(i, x)[None] for i in range(30)], np.arange(30), X, y, X_new, 2
    )
    np.testing.assert_allclose(model.p_values(X_new), expected)
    # The balls that judge are those that out-of-bag probabilities come from.
    for f, rule in enumerate(fitted.ball_without_fold_):
        rows = fitted.ball_fold_of_sample_ == f
        np.testing.assert_allclose(rule.probabilities(X[rows]).T, fitted.ball_oob_proba_[rows], atol=1e-9)


@pytest.mark.parametrize(
    ("learner", "sizes"),
    [
        (RidgeClassifier(10.0), (30, 30)),
        (RidgeClassifier(10.0), (10, 90)),
        (LogisticRegression(C=0.1), (12, 20, 28)),
        (MinimaxRiskEnsembleClassifier(n_estimators=25, certify=False, random_state=0), (30, 30)),
    ],
)
def test_each_class_is_covered(learner, sizes):
    """Of 20 studies with 100 new samples of each class; standard errors are about 0.015."""
    covered = []
    for seed in range(20):
        X, y = study(sizes, seed)
        X_new, y_new = study([100] * len(sizes), 1000 + seed)
        is_in = PredictionSets(learner, random_state=seed).fit(X, y).predict_set(X_new)
        covered.append([is_in[y_new == k, k].mean() for k in range(len(sizes))])
    assert (np.mean(covered, axis=0) > 0.87).all()
    assert np.mean(covered) < 0.97


def test_groups_are_left_out_together_and_count_once():
    """Patients with copies: without groups a copy judges the sample, and sets are too small."""
    covered = {"groups": [], "none": []}
    for seed in range(15):
        random = np.random.default_rng(seed)
        X, y = random.standard_normal((24, 40)), np.arange(24) % 2
        size = random.integers(1, 5, 24)
        unit = np.repeat(np.arange(24), size)
        X, y = X[unit] + 0.1 * random.standard_normal((len(unit), 40)), y[unit]
        X_new, y_new = random.standard_normal((200, 40)), np.arange(200) % 2
        for name, groups in (("groups", unit), ("none", None)):
            model = PredictionSets(RidgeClassifier(), random_state=0).fit(X, y, groups=groups)
            is_in = model.predict_set(X_new)
            covered[name].append(is_in[np.arange(200), y_new].mean())
    assert np.mean(covered["groups"]) > 0.88
    assert np.mean(covered["none"]) < 0.8
    own, unit = np.array([0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 2])
    np.testing.assert_array_equal(weights_of_units(own, unit), [0.5, 0.5, 1, 1, 1])


def test_folds_keep_groups_whole_and_deal_every_class():
    own = np.repeat([0, 1, 2], [20, 9, 1])
    unit = np.concatenate([np.arange(20) // 2, 10 + np.arange(9), [19]])
    fold = dealt_folds(own, unit, 5, np.random.RandomState(0))
    assert all(len(set(fold[unit == one])) == 1 for one in range(20))
    assert np.bincount(fold[own == 0]).tolist() == [4] * 5
    assert sorted(np.bincount(fold[own == 1])) == [1, 2, 2, 2, 2]
    assert fold[-1] == -1  # a class with one unit is in every fit


def test_classes_that_are_too_small_are_never_excluded_and_said():
    X, y = study((30, 30, 8), effect=3.0)
    with pytest.warns(
        UserWarning, match=r"at confidence 0.9 a class needs 9 samples .* '2' has fewer"
    ) as told:
        model = PredictionSets(RidgeClassifier(), random_state=0).fit(X, y)
    assert "Add samples, or lower confidence" in str(told[0].message)
    assert model.predict_set(X)[:, 2].all()
    assert model.set_params(confidence=0.8).predict_set(X)[:60, 2].mean() < 0.1
    assert (needed_to_exclude(0.9), needed_to_exclude(0.95), needed_to_exclude(0.8)) == (9, 19, 4)


@pytest.mark.filterwarnings("error")
def test_nine_samples_are_enough_at_ninety_percent():
    X, y = study((9, 9), effect=6.0)
    model = PredictionSets(RidgeClassifier(), random_state=0).fit(X, y)
    assert not model.predict_set(10 * X[y == 0])[:, 1].any()


def test_words():
    is_in = np.array([[True, False], [True, True], [False, False]])
    assert in_words(is_in).tolist() == ["sure", "unsure", "unlike all classes"]
    assert is_in_set(np.array([1 - 0.9, 0.1, 0.11]), 0.9).tolist() == [False, False, True]
    X, y = study((30, 30), effect=4.0)
    model = PredictionSets(RidgeClassifier(), random_state=0).fit(X, y)
    assert model.predict_words(np.vstack([3 * X[:1], 0 * X[:1]])).tolist() == ["sure", "unlike all classes"]


@pytest.mark.parametrize(
    "learner",
    [
        make_pipeline(StandardScaler(), MinimaxRiskClassifier()),
        GridSearchCV(RidgeClassifier(), {"alpha": [1.0, 10.0]}, cv=2),
        RandomForestClassifier(20, random_state=0),
        LinearSVC(),
        MinimaxRiskClassifier(),
        None,
    ],
)
def test_any_classifier_with_scores(learner):
    X, y = study((20, 20, 20), effect=2.0)
    names = np.array(["a", "b", "c"])[y]
    model = PredictionSets(learner, cv=3, random_state=0).fit(X, names, groups=np.arange(60) // 2)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_set(X)[np.arange(60), y].mean() > 0.8
    p = model.probabilities(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (np.argmax(p, axis=1) == y).mean() > 0.8


def test_what_has_no_score_for_each_class_is_refused():
    X, y = study((12, 12, 12))
    with pytest.raises(ValueError, match="Pipeline has no score for each class; use a classifier with"):
        PredictionSets(make_pipeline(SVC(decision_function_shape="ovo"))).fit(X, y)
    with pytest.raises(ValueError, match="estimator must be a classifier"):
        PredictionSets(Ridge()).fit(X, y)
    with pytest.raises(
        ValueError, match=r"two samples of a class, .* got 2 samples and 2 classes. Add samples"
    ):
        PredictionSets(LogisticRegression()).fit(X[[0, 12]], y[[0, 12]])


def test_probabilities_are_calibrated():
    """Of a law whose true probabilities are known: those of a sharp learner are far off before."""
    loss = {"before": [], "after": []}
    for seed in range(5):
        X, y = study((60, 60), seed, effect=0.5)
        X_new, _ = study((500, 500), 100 + seed, effect=0.5)
        truth = 1.0 / (1.0 + np.exp(0.5 * (X_new[:, :4].sum(axis=1) - X_new[:, 4:8].sum(axis=1))))
        model = PredictionSets(LogisticRegression(C=100.0), random_state=0).fit(X, y)
        for name, p in (
            ("before", model.estimator_.predict_proba(X_new)),
            ("after", model.probabilities(X_new)),
        ):
            log = np.log(np.clip(p, 1e-3, None))
            loss[name].append(-np.mean(truth * log[:, 1] + (1 - truth) * log[:, 0]))
    assert np.mean(loss["after"]) < 0.7 < np.mean(loss["before"])


def test_scores_that_point_the_wrong_way_say_nothing():
    own = np.repeat([0, 1], [30, 10])
    scores = np.column_stack([own, -own]) + 0.01 * np.arange(40)[:, None] * [1, -1]
    p = LeftOutScores(scores, own, np.ones(40)).calibration().probabilities(scores)
    assert np.ptp(p[:, 1]) == 0.0
    assert p[0, 1] == pytest.approx(0.25, abs=0.03)


def test_left_out_samples_among_themselves():
    """A sample is compared with the others of a class, never with itself."""
    own, f = np.array([0, 0, 0, 1, 1, 1]), np.array([-3.0, -2.0, 1.0, -1.0, 2.0, 3.0])
    found = LeftOutScores(np.column_stack([-f, f]), own, np.ones(6))
    expected = [
        [3 / 3, 1 / 4],
        [2 / 3, 1 / 4],
        [1 / 3, 2 / 4],
        [2 / 4, 1 / 3],
        [1 / 4, 2 / 3],
        [1 / 4, 3 / 3],
    ]
    np.testing.assert_allclose(found.p_values_among_themselves(), expected)
    assert found.counts(0.7).tolist() == [[2, 0, 1, 0], [2, 0, 1, 0]]
    assert found.counts(0.5).tolist() == [[2, 0, 0, 1], [2, 0, 0, 1]]


def test_margins():
    scores = np.array([[3.0, 1.0, -1.0], [2.0, 2.0, 0.5]])
    best_other, mean = [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], [[1.0], [1.5]]
    np.testing.assert_allclose(margins(scores), scores - 0.5 * (np.array(best_other) + mean))
    np.testing.assert_allclose(margins(scores + 7.0), margins(scores))
