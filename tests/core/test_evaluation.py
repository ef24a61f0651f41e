"""A model on samples that it has not seen: numbers of scikit-learn and SciPy, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    PredictionSets,
    evaluate,
)
from minimaxrisk.analysis.evaluation import Said, area_interval, evaluation_of
from minimaxrisk.datasets import make_expression


@pytest.fixture(scope="module")
def halves():
    study = make_expression(120, 40, effect=0.5, random_state=0)
    y = np.where(study.target, "ill", "well")
    return study.data[:60], y[:60], study.data[60:], y[60:]


def said(y, predicted, classes=("a", "b")):
    """An evaluation of labels alone."""
    given = Said(list(classes), np.array(predicted))
    return lambda **more: evaluation_of(
        given, np.array(y), **{"prevalence": None, "confidence": 0.95, "groups": None} | more
    )


def is_interval(estimate, n_counted, n, confidence=0.95):
    exact = stats.binomtest(n_counted, n).proportion_ci(confidence, "exact")
    return (estimate.n_counted, estimate.n) == (n_counted, n) and np.allclose(
        [estimate.value, estimate.low, estimate.high], [n_counted / n, exact.low, exact.high]
    )


def test_numbers_are_those_of_scikit_learn_and_scipy(halves):
    X, y, X_new, y_new = halves
    model = PredictionSets(MinimaxRiskClassifier(), random_state=0).fit(X, y)
    found, named = evaluate(model, X_new, y_new, confidence=0.9), model.predict(X_new)
    matrix = confusion_matrix(y_new, named)
    np.testing.assert_array_equal(found.confusion, matrix)
    assert (named != y_new).any()
    assert is_interval(found.error, int((named != y_new).sum()), 60, 0.9)
    assert found.balanced_accuracy.value == pytest.approx(balanced_accuracy_score(y_new, named))
    scores = model.estimator_.decision_function(X_new)
    assert found.area.value == pytest.approx(roc_auc_score(y_new == "well", scores))
    for k, one in enumerate(found.per_class):
        more = {"pos_label": one.label, "zero_division": 0}
        assert one.sensitivity.value == pytest.approx(recall_score(y_new, named, **more))
        assert one.predictive_value.value == pytest.approx(precision_score(y_new, named, **more))
        assert is_interval(one.sensitivity, matrix[k, k], matrix[k].sum(), 0.9)
        assert is_interval(one.specificity, matrix[1 - k, 1 - k], matrix[1 - k].sum(), 0.9)
        assert is_interval(one.predictive_value, matrix[k, k], matrix[:, k].sum(), 0.9)
    probabilities = model.predict_proba(X_new)
    assert found.calibration.brier_score == pytest.approx(
        brier_score_loss(y_new == "well", probabilities[:, 1])
    )
    own = model.predict_set(X_new)
    assert found.kinds_of_sets["unsure"] == (own.sum(axis=1) > 1).sum()
    assert sum(found.kinds_of_sets.values()) == 60
    assert f"errs on {found.error.n_counted}:" in found.statement
    assert str(found).count("sensitivity") == 2


def test_classifiers_of_other_libraries_and_without_probabilities(halves):
    X, y, X_new, y_new = halves
    for model in (LogisticRegression(C=0.01).fit(X, y), RidgeClassifier().fit(X, y)):
        found = evaluate(model, X_new, y_new)
        assert found.area.value == pytest.approx(roc_auc_score(y_new, model.decision_function(X_new)))
        assert found.calibration is None


@pytest.mark.parametrize(
    "model",
    [
        MinimaxRiskClassifier(),
        MinimaxRiskClassifierCV(radii=[1.0, 2.0], cv=2),
        MinimaxRiskEnsembleClassifier(n_estimators=30, random_state=0, certify=True),
        MinimaxRiskKernelClassifier(kernel="rbf"),
        PredictionSets(MinimaxRiskClassifier(), random_state=0),
        make_pipeline(StandardScaler(), MinimaxRiskClassifier()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_training_data_are_refused(halves, model):
    X, y, X_new, _ = halves
    model.fit(X, y)
    with pytest.raises(
        ValueError, match=r"are the training data of the model.*another cohort, or use error_bound"
    ):
        evaluate(model, X, y)
    for other in (X_new, X[::-1], X + 1e-3 * X_new):
        assert evaluate(model, other, y).error.n == 60


def test_the_training_data_of_groups_are_refused(halves):
    X, y, X_new, y_new = halves
    groups = np.arange(60) // 2
    model = MinimaxRiskClassifier().fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="are the training data of the model"):
        evaluate(model, X, y, groups=groups)
    assert evaluate(model, X_new, y_new, groups=groups).error.n == 30


def test_areas_of_several_classes_are_those_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    X, random = X[:, :2], np.random.default_rng(0)
    order = random.permutation(len(y))
    train, new = order[:60], order[60:]
    model = LogisticRegression().fit(X[train], y[train])
    found, scores = evaluate(model, X[new], y[new]), model.decision_function(X[new])
    areas = []
    for k, one in enumerate(found.per_class):
        lead = scores[:, k] - np.delete(scores, k, axis=1).max(axis=1)
        areas.append(roc_auc_score(y[new] == k, lead))
        assert one.area.value == pytest.approx(areas[-1])
        n = int((y[new] == k).sum())
        assert (one.area.low, one.area.high) == area_interval(one.area.value, n, 90 - n, 0.95)
    assert found.area.value == pytest.approx(np.mean(areas))
    assert found.area.low < np.mean([one.area.low for one in found.per_class])
    assert "area under the ROC curve, mean of 3 classes" in str(found)
    # A label that the model does not know has no place in a ranking of its classes.
    strange = evaluate(model, X[new], np.where(np.arange(90) < 5, 7, y[new]))
    assert strange.per_class[3].area is None
    assert strange.per_class[0].area.value == pytest.approx(
        roc_auc_score(y[new][5:] == 0, scores[5:, 0] - scores[5:, 1:].max(axis=1))
    )
    # Without samples of a class the mean is over the others.
    two = evaluate(model, X[new][y[new] < 2], y[new][y[new] < 2])
    assert two.per_class[2].area is None
    assert two.area.value == pytest.approx(np.mean([one.area.value for one in two.per_class[:2]]))


def test_the_interval_of_an_area_holds_it_as_often_as_it_says():
    # Two normal laws at a distance of 1.2: the area is the normal probability of 1.2 / sqrt(2).
    random, truth = np.random.default_rng(0), stats.norm.cdf(1.2 / np.sqrt(2.0))
    inside = 0
    for _ in range(1000):
        a, b = random.normal(size=15), random.normal(1.2, size=25)
        low, high = area_interval(float((b[:, None] > a).mean()), 25, 15, 0.95)
        inside += low <= truth <= high
    assert 930 <= inside <= 985
    low, high = area_interval(1.0, 10, 10, 0.95)
    assert 0.6 < low < 0.9
    assert high == 1.0
    assert area_interval(0.0, 10, 10, 0.95) == pytest.approx((0.0, 1.0 - low))


def test_another_prevalence():
    y, named = ["a"] * 20 + ["b"] * 30, ["a"] * 18 + ["b"] * 2 + ["b"] * 27 + ["a"] * 3
    found = said(y, named)(prevalence={"a": 0.05, "b": 0.95})
    assert found.error_at_prevalence.value == pytest.approx(0.05 * 0.1 + 0.95 * 0.1)
    ill = found.per_class[0].predictive_value
    assert ill.value == pytest.approx(0.05 * 0.9 / (0.05 * 0.9 + 0.95 * 0.1))
    # Each class has half of what may go wrong, and the worst is both at once.
    low, high = (stats.binomtest(*k).proportion_ci(0.975) for k in ((18, 20), (3, 30)))
    assert ill.low == pytest.approx(0.05 * low.low / (0.05 * low.low + 0.95 * high.high))
    assert "0.05 'a', 0.95 'b'" in found.statement


def test_unknown_labels_are_errors_and_are_named():
    found = said(["a", "a", "b", "c"], ["a", "a", "b", "a"])()
    assert is_interval(found.error, 1, 4)
    assert found.unknown == {"c": 1}
    assert "1 is 'c', which the model does not know: counted as wrong" in found.statement
    assert found.balanced_accuracy.value == pytest.approx(2 / 3)
    assert found.balanced_accuracy.high == pytest.approx(2 / 3)  # nobody will be named c
    with pytest.raises(ValueError, match=r"knows none of these labels: its classes are 'a', 'b'.*have 'c'"):
        said(["c", "c"], ["a", "b"])()


def test_one_class_alone():
    found = said(["a", "a", "a"], ["a", "a", "b"])()
    assert "All are 'a': of other classes this says nothing" in found.statement
    assert found.balanced_accuracy is None
    assert found.area is None
    assert is_interval(found.per_class[0].sensitivity, 2, 3)
    assert found.per_class[1].sensitivity is None
    assert found.per_class[0].predictive_value is None
    with pytest.raises(ValueError, match="needs samples of every class, and there are none of 'b'"):
        said(["a"], ["a"])(prevalence={"a": 0.5, "b": 0.5})
    with pytest.raises(ValueError, match="no share of class 'b'"):
        said(["a", "b"], ["a", "b"])(prevalence={"a": 1.0})


def test_of_each_group_one_sample_counts():
    found = said(["a", "a", "b", "b"], ["a", "a", "a", "a"])(groups=[1, 1, 2, 2])
    assert is_interval(found.error, 1, 2)
    assert found.is_counted.sum() == 2
    assert "(one of each of 2 groups)" in found.statement


def test_probabilities_that_are_sure_of_too_much():
    n = 40
    given = Said(["a", "b"], np.array(["a"] * n), None, np.tile([0.98, 0.02], (n, 1)))
    y = np.array(["a"] * 30 + ["b"] * 10)
    found = evaluation_of(given, y, prevalence=None, confidence=0.95, groups=None).calibration
    assert found.expected_errors == pytest.approx(0.8)
    assert "there were 10 (p < 0.001): on these samples the probabilities are sure of too much" in (
        found.statement
    )
    one = replace(found, n_errors=1, p_value=0.01)
    assert "there was 1 (p = 0.01): on these" in one.statement
    calm = evaluation_of(given, np.array(["a"] * n), prevalence=None, confidence=0.95, groups=None)
    assert "they agree" in calm.calibration.statement
