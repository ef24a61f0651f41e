"""Mistakes that users make, and the sentence that each of them gets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskSelector, verify


def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((10, 3)), np.arange(10) % 2


def with_value(value):
    X, y = data()
    X[4, 1] = value
    return X, y


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (*with_value(np.nan), "Input X contains NaN"),
        (*with_value(np.inf), "Input X contains infinity"),
        (sparse.csr_array(with_value(np.nan)[0]), data()[1], "Input X contains NaN"),
        (np.empty((0, 3)), np.empty(0), r"Found array with 0 sample\(s\)"),
        (np.empty((10, 0)), data()[1], r"Found array with 0 feature\(s\)"),
        (
            data()[0],
            np.zeros(10),
            r"at least 2 classes \(samples of weight 0 do not count\), got 1 class: 0.0",
        ),
        (data()[0][:1], data()[1][:1], "got 1 class"),
        (data()[0][0], data()[1], "Expected 2D array, got 1D array"),
        (data()[0][None], data()[1], "Found array with dim 3"),
        (data()[0], data()[1][:9], "inconsistent numbers of samples"),
        (data()[0], np.column_stack([data()[1]] * 2), "y should be a 1d array"),
        (data()[0], None, "requires y to be passed, but the target y is None"),
        (
            data()[0],
            np.where(np.arange(10) == 3, np.nan, data()[1]),
            "y has 1 missing label .first at position 3.",
        ),
        (data()[0], ["a", None, "b", "a", "b"] * 2, "y has 2 missing labels .first at position 1."),
        (data()[0], ["a", np.nan, "b", "a", "b"] * 2, "y has 2 missing labels"),
        (data()[0], np.array([["a"], [None]] * 5, dtype=object), "y has 5 missing labels"),
        (
            pd.DataFrame(data()[0]).assign(patient=[f"P{i}" for i in range(10)]),
            data()[1],
            r"its column 'patient' has type \w+ \(first value 'P0'\); drop the column",
        ),
        (
            pd.DataFrame(data()[0], columns=list("abc")).assign(day=pd.date_range("2020-01-01", periods=10)),
            data()[1],
            "its column 'day' has type datetime64",
        ),
        (data()[0], pd.Series(["a", pd.NA, "b", "a", "b"] * 2, dtype="string"), "y has 2 missing labels"),
        (data()[0], np.array(["a", 1, "b", 2, "a"] * 2, dtype=object), "y mixes labels of types"),
        (data()[0], data()[1] + 0.5, "Unknown label type: continuous"),
        (data()[0] + 1j, data()[1], "Complex data not supported"),
        (np.array([["x", "y"], ["z", "w"]] * 5), data()[1], "could not convert string to float"),
    ],
)
def test_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        MinimaxRiskClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "gurobi"}, "The 'solver' parameter of MinimaxRiskClassifier must be a str among"),
        ({"coding": "dummy"}, "The 'coding' parameter .* must be a str among"),
        ({"radius": -1.0}, r"The 'radius' parameter .* must be a float in the range \(0.*Got -1.0"),
        ({"radius": 0}, "The 'radius' parameter"),
        ({"radius": "large"}, "The 'radius' parameter"),
        ({"callback": "print"}, "The 'callback' parameter .* must be a callable"),
        ({"class_weight": "even"}, "The 'class_weight' parameter"),
        ({"class_weight": {0: 0.0, 1: 1.0}}, "class_weight must be positive and finite for every class"),
        ({"class_weight": {0: 1.0, 7: 1.0}}, r"The classes, \[1\], are not in class_weight"),
    ],
)
def test_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        MinimaxRiskClassifier(**parameters).fit(*data())


def test_signed_coding_with_three_classes():
    X, _ = data()
    with pytest.raises(ValueError, match="coding='signed' needs exactly 2 classes, got 3"):
        MinimaxRiskClassifier(coding="signed").fit(X, np.arange(10) % 3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(10), "sample_weight must not be negative, got -1.0 at position 0"),
        (np.ones(9), "sample_weight.shape == "),
        (np.full(10, np.nan), "Input sample_weight contains NaN"),
        (np.arange(10) % 2, "got 1 class"),
    ],
)
def test_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        MinimaxRiskClassifier().fit(*data(), sample_weight=weights)


def test_all_weights_zero():
    with pytest.raises(ValueError, match="zero"):
        MinimaxRiskClassifier().fit(*data(), sample_weight=np.zeros(10))


def test_weights_whose_sum_overflows():
    with pytest.raises(ValueError, match="sample_weight is so large that its sum overflows"):
        MinimaxRiskClassifier().fit(*data(), sample_weight=np.full(10, 1.7e308))


def test_before_fit():
    X, y = data()
    for call in (
        MinimaxRiskClassifier().predict,
        MinimaxRiskClassifier().predict_proba,
        lambda X: next(MinimaxRiskClassifier().staged_predict_proba(X)),
        lambda X: verify(MinimaxRiskClassifier(), X, y),
    ):
        with pytest.raises(NotFittedError):
            call(X)


def test_new_data_of_another_width():
    X, y = data()
    model = MinimaxRiskClassifier().fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but MinimaxRiskClassifier is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="X has 2 features"):
        verify(model, X[:, :2], y)


def test_a_failed_fit_leaves_the_old_model():
    X, y = data()
    model = MinimaxRiskClassifier().fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="Complex data"):
        model.fit(X + 1j, y)
    with pytest.raises(ValueError, match="got 1 class"):
        model.fit(X[:, :2], np.zeros(10))
    np.testing.assert_array_equal(model.predict_proba(X), before)
    selector = MinimaxRiskSelector().fit(X, y)
    with pytest.raises(ValueError, match="got 1 class"):
        selector.fit(X[:, :2], np.zeros(10))
    assert selector.transform(X).shape[0] == 10


def test_a_failed_first_fit_leaves_no_model():
    X, _ = data()
    for model in (MinimaxRiskClassifier(), MinimaxRiskSelector()):
        with pytest.raises(ValueError, match="got 1 class"):
            model.fit(X, np.zeros(10))
        with pytest.raises(NotFittedError):
            getattr(model, "predict" if hasattr(model, "predict") else "transform")(X)


def test_refitting_without_names_forgets_the_old_ones():
    X, y = data()
    model = MinimaxRiskClassifier().fit(pd.DataFrame(X, columns=list("abc")), y)
    assert not hasattr(model.fit(X, y), "feature_names_in_")


def test_something_that_is_no_minimax_classifier():
    X, y = data()
    for model in (LogisticRegression().fit(X, y), MinimaxRiskSelector().fit(X, y)):
        with pytest.raises(ValueError, match="is not supported for "):
            verify(model, X, y)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, sparse.csr_array, np.ndarray.tolist])
def test_samples_in_columns(kind):
    X, y = data()
    with pytest.raises(ValueError, match=r"3 rows and 10 columns, and y has 10 labels: .* pass X\.T\."):
        MinimaxRiskClassifier().fit(kind(X.T), y)
    with pytest.raises(ValueError, match=r"samples: \[9, 10\]$"):
        MinimaxRiskClassifier().fit(kind(X[:9]), y)


def test_columns_of_the_training_data_in_another_order_or_among_others():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abc"))
    model = MinimaxRiskClassifier().fit(frame, y)
    for other in (frame[list("cab")], frame.assign(id=range(10))):
        with pytest.raises(ValueError, match=r"in their order, X\[list\(model\.feature_names_in_\)\]"):
            model.predict(other)
        np.testing.assert_array_equal(
            model.predict(other[list(model.feature_names_in_)]), model.predict(frame)
        )
    with pytest.raises(ValueError, match=r"now missing:\n- c\n*$"):
        model.predict(frame[list("ab")])
