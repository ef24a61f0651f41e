"""The calibrated decision, compared with independent computations."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from minimaxrisk.guarantees.calibrated_decision import CalibratedDecision


def scores_of_law(n=200, n_classes=3, seed=0, effect=1.0):
    random = np.random.default_rng(seed)
    labels = random.choice(n_classes, n, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum())
    return random.normal(size=(n, n_classes)) + effect * np.eye(n_classes)[labels], labels


def targets_of(labels, weights, n_classes):
    sizes = np.array([weights[labels == k].sum() for k in range(n_classes)])
    right = (sizes[labels] + 1) / (sizes[labels] + 2)
    return np.array(
        [[right[i] if k == labels[i] else (1 - right[i]) / (n_classes - 1) for k in range(n_classes)]
         for i in range(len(labels))]
    )  # fmt: skip


def limited(scores, weights):
    """None farther below the largest one of its sample than nine in ten of the second largest are."""
    lead = np.repeat([max(row) - sorted(row)[-2] for row in scores], (2 * weights).astype(int))
    return np.maximum(
        scores - scores.max(axis=1, keepdims=True), -np.quantile(lead, 0.9, method="inverted_cdf")
    )


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_slope_and_offsets_maximise_the_penalised_likelihood(n_classes, weighted):
    """An optimum without derivatives, of the likelihood written down for each sample."""
    scores, labels = scores_of_law(n_classes=n_classes)
    weights = (
        np.random.default_rng(1).choice([0.5, 1.0, 0.0], len(labels)) if weighted else np.ones(len(labels))
    )
    found = CalibratedDecision.fit(scores, labels, weights)
    targets = targets_of(labels, weights, n_classes)
    scores = limited(scores, weights)

    def loss(parameters):
        odds = np.exp(parameters[0] * scores + parameters[1:])
        logarithms = np.log(odds / odds.sum(axis=1, keepdims=True))
        return -np.sum(weights[:, None] * targets * logarithms) + 0.5 * np.sum(parameters[1:] ** 2)

    start = np.array([0.5, *np.zeros(n_classes)])
    best = minimize(loss, start, method="Powell", options={"xtol": 1e-8, "ftol": 1e-14, "maxiter": 50_000})
    ours = np.array([found.slopes[0], *found.offsets])
    assert loss(ours) <= best.fun + 1e-6
    np.testing.assert_allclose(ours, best.x, atol=2e-3)
    assert found.offsets.sum() == pytest.approx(0.0, abs=1e-5)


def test_two_classes_are_scikit_learns_logistic_regression():
    """With samples of both labels and the weights of smoothed labels; a ridge of 1/2 on the difference."""
    f = np.random.default_rng(0).normal(size=300)
    labels = (f + np.random.default_rng(1).normal(size=300) > 0.8).astype(int)
    found = CalibratedDecision.fit(np.column_stack([-f, f]), labels)
    targets = targets_of(labels, np.ones(300), 2)
    scores = limited(np.column_stack([-f, f]), np.ones(300))
    f = (scores[:, 1] - scores[:, 0]) / 2.0
    # scikit-learn does not penalise an intercept, so a column that is large for a small coefficient is it.
    large = 1e3
    columns = np.column_stack([np.tile(large * f, 2), np.ones(600)])
    other = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    other.fit(columns, np.repeat([0, 1], 300), sample_weight=np.concatenate([targets[:, 0], targets[:, 1]]))
    slope, offset = other.coef_[0] * [large, 1.0]
    assert 2 * found.slopes[0] == pytest.approx(slope, rel=1e-4)
    assert found.offsets[1] - found.offsets[0] == pytest.approx(offset, rel=1e-3)


def test_separable_scores_have_a_finite_slope():
    labels = np.repeat([0, 1, 2], [10, 20, 5])
    scores = 1e6 * np.eye(3)[labels]
    found = CalibratedDecision.fit(scores, labels)
    p = found.probabilities(scores)
    assert (found.predict(scores) == labels).all()
    assert 0.5 < p.max() < 0.99
    assert found.slopes[0] * 1e6 < 20.0


def test_scores_that_point_the_wrong_way_say_nothing():
    scores, labels = scores_of_law(effect=-2.0)
    found = CalibratedDecision.fit(scores, labels)
    assert found.slopes.tolist() == [0.0]
    shares = np.bincount(labels) / len(labels)
    np.testing.assert_allclose(found.probabilities(scores)[0], shares, atol=0.03)
    assert CalibratedDecision.fit(np.zeros((6, 2)), np.array([0, 1] * 3)).slopes[0] == 0.0


def test_a_few_wild_scores_do_not_decide_the_slope():
    """Of classes that hardly any fit knows: a tenth of a single score is a million too low."""
    scores, labels = scores_of_law(effect=2.0)
    wild = scores.copy()
    wild[::10, 0] -= 1e6
    plain, found = CalibratedDecision.fit(scores, labels), CalibratedDecision.fit(wild, labels)
    assert found.slopes[0] == pytest.approx(plain.slopes[0], rel=0.3)
    rest = np.arange(len(labels)) % 10 > 0
    assert np.mean(found.predict(wild)[rest] == plain.predict(scores)[rest]) > 0.95


def test_the_units_of_scores_do_not_matter():
    scores, labels = scores_of_law()
    found, scaled = (CalibratedDecision.fit(factor * scores + 5.0, labels) for factor in (1.0, 1e-9))
    np.testing.assert_allclose(scaled.offsets, found.offsets, atol=1e-5)
    assert scaled.slopes[0] == pytest.approx(1e9 * found.slopes[0], rel=1e-4)


def test_the_predicted_class_has_the_largest_probability():
    scores, labels = scores_of_law(effect=0.8)
    found = CalibratedDecision.fit(scores, labels)
    np.testing.assert_array_equal(found.predict(scores), np.argmax(found.probabilities(scores), axis=1))
    assert len(set(found.predict(scores).tolist())) > 1
    # Offsets move the decision of a rare class away from the largest score.
    assert (found.predict(scores) != np.argmax(scores, axis=1)).any()
