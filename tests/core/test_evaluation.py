"""A model on samples that it has not seen: numbers of scikit-learn and SciPy, and what cannot be told."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    precision_score,
    recall_score,
    roc_auc_score,
)

from minimaxrisk import (
    MinimaxRiskClassifier,
    PredictionSets,
    evaluate,
)
from minimaxrisk.analysis.evaluation import Predictions, evaluation_of
from minimaxrisk.analysis.intervals import mixture, share
from minimaxrisk.datasets import make_expression


@pytest.fixture(scope="module")
def halves():
    study = make_expression(120, 40, effect=0.5, random_state=0)
    y = np.where(study.target, "ill", "well")
    return study.data[:60], y[:60], study.data[60:], y[60:]


def of_labels(y, predicted, **more):
    """An evaluation of labels alone."""
    return evaluation_of(Predictions(["a", "b"], np.array(predicted)), np.array(y), **more)


def test_numbers_are_those_of_scikit_learn_and_scipy(halves):
    X, y, X_new, y_new = halves
    model = PredictionSets(MinimaxRiskClassifier(), random_state=0).fit(X, y)
    found, predicted = evaluate(model, X_new, y_new, confidence=0.9), model.predict(X_new)
    matrix = confusion_matrix(y_new, predicted)
    np.testing.assert_array_equal(found.confusion, matrix)
    n_wrong = int((predicted != y_new).sum())
    assert n_wrong > 0
    assert found.error == share(n_wrong, 60, 0.9)
    assert found.balanced_accuracy.value == pytest.approx(balanced_accuracy_score(y_new, predicted))
    scores = model.estimator_.decision_function(X_new)
    assert found.area.value == pytest.approx(roc_auc_score(y_new == "well", scores))
    for k, one in enumerate(found.per_class):
        more = {"pos_label": one.label, "zero_division": 0}
        assert one.sensitivity.value == pytest.approx(recall_score(y_new, predicted, **more))
        assert one.predictive_value.value == pytest.approx(precision_score(y_new, predicted, **more))
        assert one.sensitivity == share(matrix[k, k], matrix[k].sum(), 0.9)
        assert one.specificity == share(matrix[1 - k, 1 - k], matrix[1 - k].sum(), 0.9)
        assert one.predictive_value == share(matrix[k, k], matrix[:, k].sum(), 0.9)
        assert (one.area.value, one.area.low) == pytest.approx((found.area.value, found.area.low))
    probabilities, sets = model.predict_proba(X_new), model.predict_set(X_new)
    brier = brier_score_loss(y_new == "well", probabilities[:, 1])
    assert found.calibration.brier_score == pytest.approx(brier)
    assert found.kinds_of_sets["unsure"] == (sets.sum(axis=1) > 1).sum()
    is_certain = sets.sum(axis=1) == 1
    n_certain_wrong = int((is_certain & (predicted != y_new)).sum())
    assert found.certain_error == share(n_certain_wrong, is_certain.sum(), 0.9)


@pytest.mark.parametrize("by_group", [False, True])
def test_the_training_data_are_refused(halves, by_group):
    X, y, X_new, y_new = halves
    groups = {"groups": np.arange(60) // 2} if by_group else {}
    model = MinimaxRiskClassifier().fit(X, y, **groups)
    with pytest.raises(ValueError, match="training data of the model"):
        evaluate(model, X, y, **groups)
    # Of each group one sample counts.
    assert evaluate(model, X_new, y_new, **groups).error.n == (30 if by_group else 60)
    if not by_group:
        sets = PredictionSets(MinimaxRiskClassifier(), random_state=0).fit(X, y)
        with pytest.raises(ValueError, match="training data of the model"):
            evaluate(sets, X, y)


def test_areas_of_several_classes_are_those_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    X, order = X[:, :2], np.random.default_rng(0).permutation(len(y))
    train, new = order[:60], order[60:]
    model = LogisticRegression().fit(X[train], y[train])
    found, scores = evaluate(model, X[new], y[new]), model.decision_function(X[new])
    leads = [scores[:, k] - np.delete(scores, k, axis=1).max(axis=1) for k in range(3)]
    areas = [roc_auc_score(y[new] == k, leads[k]) for k in range(3)]
    assert [one.area.value for one in found.per_class] == pytest.approx(areas)
    assert found.area.value == pytest.approx(np.mean(areas))
    # A label that the model does not know has no place in a ranking of its classes.
    strange = evaluate(model, X[new], np.where(np.arange(90) < 5, 7, y[new]))
    assert len(strange.per_class) == 3
    assert strange.per_class[0].area.value == pytest.approx(roc_auc_score(y[new][5:] == 0, leads[0][5:]))
    # Without samples of a class the mean is over the others.
    two = evaluate(model, X[new][y[new] < 2], y[new][y[new] < 2])
    assert two.per_class[2].area is None
    assert two.area.value == pytest.approx(np.mean([one.area.value for one in two.per_class[:2]]))


def test_another_prevalence():
    y, predicted = ["a"] * 20 + ["b"] * 30, ["a"] * 18 + ["b"] * 2 + ["b"] * 27 + ["a"] * 3
    found = of_labels(y, predicted, prevalence={"a": 0.05, "b": 0.95})
    wrong = [share(2, 20, 0.95), share(3, 30, 0.95)]
    expected = mixture(wrong, [0.05, 0.95], 0.95)
    errors = found.error_at_prevalence
    assert (errors.value, errors.low, errors.high) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )
    ill = found.per_class[0]
    assert ill.predictive_value.value == pytest.approx(0.05 * 0.9 / (0.05 * 0.9 + 0.95 * 0.1))
    # Each class has half of what may go wrong, and the worst is both at once.
    low, high = share(18, 20, 0.975).low, share(3, 30, 0.975).high
    assert ill.predictive_value.low == pytest.approx(0.05 * low / (0.05 * low + 0.95 * high))
    # Of 1,000 people 50 are of class a; 45 of these are found, and 95 of the others are predicted to be.
    right = share(18, 20, 0.95)
    assert ill.n_people == pytest.approx(50)
    for one, expected in (
        (ill.n_found, (45, 50 * right.low, 50 * right.high)),
        (ill.n_false, (95, 950 * wrong[1].low, 950 * wrong[1].high)),
    ):
        assert (one.value, one.low, one.high) == pytest.approx(expected)
    assert of_labels(y, predicted).per_class[0].n_found is None


def test_unknown_labels_are_errors_and_are_named():
    found = of_labels(["a", "a", "b", "c"], ["a", "a", "b", "a"])
    assert found.error == share(1, 4, 0.95)
    assert found.unknown == {"c": 1}
    assert found.balanced_accuracy.value == pytest.approx(2 / 3)
    assert found.balanced_accuracy.high == pytest.approx(2 / 3)  # no sample will be predicted to be c
    with pytest.raises(ValueError, match="none of these labels"):
        of_labels(["c", "c"], ["a", "b"])


def test_one_class_alone():
    found = of_labels(["a", "a", "a"], ["a", "a", "b"])
    assert found.majority_error == 0.0
    assert found.balanced_accuracy is found.area is found.calibration is found.certain_error is None
    assert found.per_class[0].sensitivity == share(2, 3, 0.95)
    assert found.per_class[1].sensitivity is found.per_class[0].predictive_value is None
    with pytest.raises(ValueError, match="'b'"):
        of_labels(["a"], ["a"], prevalence={"a": 0.5, "b": 0.5})


def test_too_many_errors_contradict_the_probabilities():
    n = 40
    given = Predictions(["a", "b"], np.array(["a"] * n), None, np.tile([0.98, 0.02], (n, 1)))
    found = evaluation_of(given, np.array(["a"] * 30 + ["b"] * 10)).calibration
    assert found.expected_errors == pytest.approx(0.8)
    assert (found.n_errors, found.p_value < 0.001) == (10, True)
    assert evaluation_of(given, np.array(["a"] * n)).calibration.p_value > 0.05


def test_a_baseline_of_labels_is_compared_by_mcnemars_exact_test():
    y = np.array(["a", "b"] * 20)
    other = np.where(y == "a", "b", "a")
    rows = np.arange(40)
    predicted, baseline = np.where(rows < 3, other, y), np.where((rows > 0) & (rows < 14), other, y)
    found = of_labels(y, predicted, baseline=baseline).baseline
    assert (found.n_model_alone, found.n_baseline_alone) == (1, 11)
    assert found.p_value == pytest.approx(stats.binomtest(1, 12).pvalue)
    assert found.error == share(13, 40, 0.95)
    assert of_labels(y, predicted, baseline=predicted).baseline.p_value == 1.0
    # Of each group one sample counts.
    assert of_labels(y, predicted, baseline=baseline, groups=rows // 20).baseline.error.n == 2


def test_a_baseline_of_numbers_is_compared_at_its_hardest_threshold():
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    values = np.round(y + random.normal(size=60), 1)
    labels, predicted = np.array(["a", "b"])[y], np.array(["a", "b"])[np.where(np.arange(60) < 1, 1 - y, y)]
    found = of_labels(labels, predicted, baseline=values).baseline
    p_values = []
    for threshold, above in product(np.unique(values), (0, 1)):
        wrong = np.where(values >= threshold, above, 1 - above) != y
        alone = [(wrong & (np.arange(60) >= 1)).sum(), (~wrong & (np.arange(60) < 1)).sum()]
        p_values.append(stats.binomtest(alone[1], sum(alone), alternative="less").pvalue)
    assert found.p_value == pytest.approx(2 * max(p_values))
    assert 0 < found.p_value < 0.05
    assert (found.above, np.mean(values >= found.threshold) < 1) == ("b", True)
    # Where a threshold is as good as the model, nothing is shown, even if others are worse.
    assert of_labels(labels, predicted, baseline=10 * y).baseline.p_value == 1.0
    poor = np.array(["a", "b"])[np.where(np.arange(60) < 15, 1 - y, y)]
    assert of_labels(labels, poor, baseline=10 * y).baseline.p_value == 1.0


@pytest.mark.parametrize("baseline", [["a"], ["a", "c"], [1.0, np.nan], [None, "a"]])
def test_a_baseline_that_predicts_nothing_is_refused(baseline):
    with pytest.raises(ValueError, match="baseline must hold"):
        of_labels(["a", "b"], ["a", "b"], baseline=baseline)
