"""Sets of labels and probabilities from left-out scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier, PredictionSets
from minimaxrisk.guarantees.calibrated_decision import CalibratedDecision
from minimaxrisk.guarantees.left_out import (
    COARSEST,
    FINEST,
    LeftOutScores,
    hiding_step,
    is_in_set,
    margins,
    needed_to_exclude,
    weights_of_units,
)
from minimaxrisk.samples.folds import dealt_folds


def study(n_of_classes, seed=0, effect=1.0, d=30):
    """Every class has informative features of its own."""
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(n_of_classes)), n_of_classes)
    X = random.standard_normal((len(y), d)) + effect * (np.arange(d) // 4 == y[:, None])
    return X, y


def p_values_by_hand(decision, left_out, own, new):
    """Sample by sample, class by class; a rounded margin counts by the part of its step below the new one."""
    logits, new_logits = decision.logits(left_out), decision.logits(new)
    n_classes = logits.shape[1]
    pairs = [(a, b) for a in range(n_classes) for b in range(a)]
    step = FINEST * max(np.std(logits[:, a] - logits[:, b]) for a, b in pairs)
    found = np.ones((len(new), n_classes))
    for j, row in enumerate(new_logits):
        for k in range(n_classes):
            count = 0.0
            for of_sample in logits[own == k]:
                low = np.floor((of_sample[k] - max(np.delete(of_sample, k))) / step) * step
                count += np.clip((row[k] - max(np.delete(row, k)) - low) / step, 0, 1)
            found[j, k] = (1 + count) / (1 + np.sum(own == k))
    return found


@pytest.mark.parametrize("sizes", [(12, 15), (10, 12, 14)])
def test_sets_and_probabilities_by_hand(sizes):
    X, y = study(sizes, effect=0.6)
    X_new, _ = study([8] * len(sizes), seed=1, effect=0.6)
    model = PredictionSets(LogisticRegression(), cv=4, random_state=3).fit(X, y)
    fold = dealt_folds(y, np.arange(len(y)), 4, 3)

    def scores(fitted, rows):
        found = fitted.decision_function(rows)
        return np.column_stack([-found, found]) if found.ndim == 1 else found

    left_out = np.zeros((len(y), len(sizes)))
    for f in range(4):
        left_out[fold == f] = scores(LogisticRegression().fit(X[fold != f], y[fold != f]), X[fold == f])
    decision, new = CalibratedDecision.fit(left_out, y), scores(LogisticRegression().fit(X, y), X_new)
    expected = p_values_by_hand(decision, left_out, y, new)
    np.testing.assert_allclose(model.p_values(X_new), expected)
    assert len(np.unique(expected)) > 8
    np.testing.assert_allclose(model.predict_proba(X_new), decision.probabilities(new))
    predicted = np.argmax(decision.probabilities(new), axis=1)
    np.testing.assert_array_equal(model.predict(X_new), predicted)
    is_in = expected > 0.1 + 1e-9
    is_in[np.arange(len(new)), predicted] |= is_in.any(axis=1)
    np.testing.assert_array_equal(model.predict_set(X_new), is_in)


def test_an_estimator_that_calibrates_itself_is_taken_as_it_is():
    """Its out-of-bag probabilities, and its predictions for new samples."""
    X, y = study((14, 16), effect=0.6)
    ensemble = MinimaxRiskEnsembleClassifier(n_estimators=20, random_state=0)
    model = PredictionSets(make_pipeline(StandardScaler(), ensemble)).fit(X, y)
    fitted = model.estimator_[-1]
    np.testing.assert_allclose(np.exp(model.left_out_.scores), fitted.oob_proba_, atol=1e-12)
    np.testing.assert_allclose(model.left_out_.probabilities, fitted.oob_proba_, atol=1e-12)
    X_new, _ = study((8, 8), seed=1, effect=0.6)
    np.testing.assert_allclose(model.predict_proba(X_new), model.estimator_.predict_proba(X_new), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X_new), model.estimator_.predict(X_new))


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


def test_classes_that_are_too_small_are_never_excluded_and_said():
    X, y = study((30, 30, 8), effect=3.0)
    model = PredictionSets(RidgeClassifier(), random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="needs 9 samples"):
        assert model.predict_set(X)[:, 2].all()
    assert model.set_params(confidence=0.8).predict_set(X)[:60, 2].mean() < 0.1
    assert (needed_to_exclude(0.9), needed_to_exclude(0.95), needed_to_exclude(0.8)) == (9, 19, 4)


@pytest.mark.parametrize(
    "learner",
    [
        make_pipeline(StandardScaler(), MinimaxRiskClassifier()),
        GridSearchCV(RidgeClassifier(), {"alpha": [1.0, 10.0]}, cv=2),
        RandomForestClassifier(20, random_state=0),
        None,
    ],
)
def test_any_classifier_with_scores(learner):
    X, y = study((20, 20, 20), effect=2.0)
    names = np.array(["a", "b", "c"])[y]
    model = PredictionSets(learner, cv=3, random_state=0).fit(X, names, groups=np.arange(60) // 2)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_set(X)[np.arange(60), y].mean() > 0.8
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (np.argmax(p, axis=1) == y).mean() > 0.8


def test_a_sample_is_decided_by_the_other_folds():
    own, fold = np.repeat([0, 1], 20), np.tile(np.arange(5), 8)
    scores = np.random.default_rng(0).normal(size=(40, 2)) + np.eye(2)[own]
    found = LeftOutScores(scores, own, np.ones(40), fold)
    for f in range(5):
        rest = fold != f
        expected = CalibratedDecision.fit(scores[rest], own[rest]).probabilities(scores[~rest])
        np.testing.assert_allclose(found.probabilities[~rest], expected, atol=1e-9)
    changed = LeftOutScores(scores, np.where(fold == 2, 1 - own, own), np.ones(40), fold)
    np.testing.assert_array_equal(changed.predicted[fold == 2], found.predicted[fold == 2])


def test_the_predicted_class_joins_a_set_of_others():
    """Class 1 is frequent and rarely scores below 1, where a tenth of class 0 lies."""
    own = np.repeat([0, 1], [20, 200])
    f = np.concatenate([np.linspace(-2.0, 1.9, 20), np.linspace(0.6, 5.0, 200)])
    scores = np.column_stack([-f, f])
    calibration = LeftOutScores(scores, own, np.ones(220), np.arange(220) % 10).calibration()
    new = np.column_stack([-np.linspace(-2, 4, 200), np.linspace(-2, 4, 200)])
    plain, is_in = is_in_set(calibration.p_values(new), 0.9), calibration.sets(new, 0.9)
    predicted = calibration.predict(new)
    odd = plain.any(axis=1) & ~plain[np.arange(200), predicted]
    assert odd.any()
    assert is_in[odd].all()
    np.testing.assert_array_equal(is_in[~odd], plain[~odd])


def test_no_order_of_the_samples_is_kept():
    rng = np.random.default_rng(0)
    own, scores = rng.integers(0, 3, 60), rng.normal(size=(60, 3))
    found = LeftOutScores(scores + 2 * np.eye(3)[own], own, np.ones(60), np.arange(60) % 5).calibration()
    order = rng.permutation(60)
    again = LeftOutScores(
        (scores + 2 * np.eye(3)[own])[order], own[order], np.ones(60), (np.arange(60) % 5)[order]
    ).calibration()
    for name, value in vars(found).items():
        np.testing.assert_allclose(getattr(again, name), value)
    assert (np.diff(found.own) >= 0).all()
    assert all((np.diff(found.own_margins[found.own == k]) >= 0).all() for k in range(3))
    np.testing.assert_allclose(found.own_margins / found.step, np.rint(found.own_margins / found.step))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_margins_of_few_features_are_rounded_more_coarsely(kind):
    x = np.random.default_rng(0).normal(size=(200, 40))
    for used, expected in ((1, COARSEST), (2, FINEST), (40, FINEST)):
        f = x[:, :used].sum(axis=1)
        logits = np.column_stack([-f, f])
        step = hiding_step(logits, kind(x[:, :used])) / np.std(2 * f)
        assert step == pytest.approx(expected, rel=1e-6)
    uneven = x[:, 0] + 0.2 * x[:, 1]
    assert FINEST < hiding_step(np.column_stack([0 * uneven, uneven]), kind(x)) / np.std(uneven) < COARSEST


@pytest.mark.parametrize("coefficients", [[1.0], [1.0, 0.1], [[3.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]])
def test_a_calibration_does_not_tell_a_value(coefficients):
    """To a rival who has the rules of the folds, and knows which of the margins is that of a sample."""
    rng = np.random.default_rng(1)
    own = np.arange(300) % (2 if np.ndim(coefficients) == 1 else 3)
    beta = np.atleast_2d(coefficients)
    x = rng.normal(size=(300, beta.shape[1])) + np.eye(3)[own][:, : beta.shape[1]]
    scores = x @ beta.T
    scores = np.hstack([scores, -scores]) if len(beta) == 1 else scores
    found = LeftOutScores(scores, own, np.ones(300), np.arange(300) % 10)
    stored, logits = found.calibration(x), found.decision.logits(scores)
    own_margin = margins(logits)[np.arange(300), own]
    told = np.floor(own_margin / stored.step)  # as the file has it, were it not sorted
    np.testing.assert_allclose(
        np.sort(told[own == 0] * stored.step), stored.own_margins[stored.own == 0], atol=1e-9
    )
    for feature in x.T:
        spread = feature.std()
        for k in range(logits.shape[1]):
            # The best guess: the mean of the samples that have the same class and rounded margin.
            mine = own == k
            guess = np.zeros(mine.sum())
            for one in np.unique(told[mine]):
                guess[told[mine] == one] = feature[mine][told[mine] == one].mean()
            assert np.sqrt(np.mean((feature[mine] - guess) ** 2)) > 0.25 * spread
