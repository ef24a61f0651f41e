"""What a fit warns of: one warning at most, at the line of the caller, and none from fits that are many."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    permutation_test_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskKernelClassifier,
    MinimaxRiskSelector,
    PredictionSets,
)
from minimaxrisk.estimators.fit_support import warn_about_lost_classes
from minimaxrisk.exceptions import UnderfitWarning
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.solvers import InteriorPoint

IRIS = load_iris(return_X_y=True)
RADII = {"minimaxriskclassifier__radius": [0.5, 1.0]}
PIPELINE = make_pipeline(StandardScaler(), MinimaxRiskClassifier())


def told_by(fit):
    """All warnings, as a user sees them whose filters are those of Python."""
    with warnings.catch_warnings(record=True) as told:
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)
        fit()
    return told


# The class in the middle is lost by each: the estimator, and what it advises.
LOSING = {
    "box": (MinimaxRiskClassifier(), r"MinimaxRiskKernelClassifier\(kernel='rbf'\) or marginal='empirical'"),
    "ball": (MinimaxRiskKernelClassifier(), "kernel='rbf' on scaled columns or marginal='empirical'"),
    "selector": (MinimaxRiskSelector(), "a smaller radius"),
    "sets": (PredictionSets(MinimaxRiskClassifier(), random_state=0), "a smaller radius"),
    "pipeline": (PIPELINE, "a smaller radius"),
    "search": (GridSearchCV(PIPELINE, RADII, cv=3), "a smaller radius"),
    "search in processes": (GridSearchCV(PIPELINE, RADII, cv=3, n_jobs=2), "a smaller radius"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSING)
def test_a_class_that_is_never_predicted_is_told_in_one_warning(name):
    model, advice = LOSING[name]
    (told,) = told_by(lambda: model.fit(*IRIS))
    assert issubclass(told.category, UnderfitWarning)
    assert re.search(f"^on the training data the model never predicts '1'; try .*{advice}", str(told.message))
    assert told.filename == __file__


def test_what_is_advised_finds_the_class():
    X, y = IRIS
    curved = make_pipeline(ClippedScaler(), MinimaxRiskKernelClassifier(kernel="rbf"))
    for model in (curved, MinimaxRiskClassifier(marginal="empirical"), MinimaxRiskClassifierCV()):
        told = told_by(lambda model=model: model.fit(X, y))
        assert not any(issubclass(each.category, UnderfitWarning) for each in told)
        assert set(model.predict(X)) == {0, 1, 2}


def test_other_ways_to_learn_nothing():
    X, _ = IRIS
    (told,) = told_by(lambda: MinimaxRiskClassifier(radius="bootstrap").fit(X[:20], np.arange(20) % 2))
    assert str(told.message).endswith("for every sample; try more samples or a number as radius.")
    rare = np.arange(150) < 8
    told = told_by(lambda: MinimaxRiskClassifier(radius=3.0).fit(X, rare))
    assert "predicts 'False' for every sample; try class_weight='balanced' or " in str(told[0].message)
    # Both classes are predicted, but not better than by always naming the larger one.
    predicted = np.array([0, 1, 0, 0, 1])
    data = TrainingData(X[:5], np.array(["a", "b"]), np.array([0, 0, 0, 1, 1]), np.ones(5))
    (told,) = told_by(lambda: warn_about_lost_classes(data, predicted, ["more columns"]))
    assert str(told.message).endswith("the model is no better than 'a' for every sample; try more columns.")
    assert not told_by(lambda: warn_about_lost_classes(data, data.labels, ["more columns"]))
    # No class is the most common one of two that are as large.
    equal = TrainingData(X[:4], np.array(["a", "b"]), np.array([0, 0, 1, 1]), np.ones(4))
    (told,) = told_by(lambda: warn_about_lost_classes(equal, np.array([0, 1, 0, 1]), ["more columns"]))
    assert "'" not in str(told.message)
    # Rows of weight zero do not count.
    only_first = TrainingData(data.X, data.classes, data.labels, np.array([1.0, 0.0, 1.0, 1.0, 1.0]))
    assert not told_by(lambda: warn_about_lost_classes(only_first, np.array([0, 1, 0, 0, 1]), []))


FOLDS = {
    "score": lambda model: cross_val_score(model, *IRIS, cv=3),
    "predict": lambda model: cross_val_predict(model, *IRIS, cv=3),
    "of a search": lambda model: cross_val_score(GridSearchCV(model, RADIUS, cv=2), *IRIS, cv=3),
}
RADIUS = {"radius": [1.0, 1.1]}


@pytest.mark.parametrize("name", FOLDS)
def test_one_fold_says_that_a_class_is_lost(name):
    """The first that somebody tries is a cross-validation; each of them tells it once."""
    for _ in range(2):
        (told,) = told_by(lambda: FOLDS[name](MinimaxRiskClassifier()))
        assert told.category is UnderfitWarning
        assert str(told.message).startswith("on the training data the model never predicts '1'; try ")
        assert told.filename == __file__
    assert not told_by(lambda: FOLDS[name](MinimaxRiskClassifier(marginal="empirical")))


MANY = {
    "folds in processes": lambda model: cross_val_score(model, *IRIS, cv=3, n_jobs=2),
    "other labels": lambda model: permutation_test_score(model, *IRIS, cv=3, n_permutations=2),
    "calibration": lambda model: CalibratedClassifierCV(model, cv=3).fit(*IRIS),
    "steps of a selection": lambda model: SequentialFeatureSelector(model, n_features_to_select=1, cv=2).fit(
        *IRIS
    ),
    "calibration on folds": lambda model: cross_val_score(CalibratedClassifierCV(model, cv=2), *IRIS, cv=3),
    "other sizes": lambda model: learning_curve(model, *IRIS, train_sizes=[80], cv=3, shuffle=True),
    "one against the rest": lambda model: OneVsRestClassifier(model).fit(*IRIS),
    "members": lambda model: BaggingClassifier(model, n_estimators=2).fit(*IRIS),
}


@pytest.mark.parametrize("name", MANY)
def test_fits_that_are_many_are_silent(name):
    assert not told_by(lambda: MANY[name](MinimaxRiskClassifier()))


def test_one_warning_says_everything_and_filters_take_it_for_each():
    X, y = IRIS
    short = MinimaxRiskClassifier(solver=InteriorPoint(max_iter=1))
    (told,) = told_by(lambda: short.fit(X, y))
    for category in (ConvergenceWarning, UnderfitWarning):
        assert issubclass(told.category, category)
    assert str(told.message).count(" Also: ") == 1
    # What a user does not want to hear is left out, and the rest is told.
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", UnderfitWarning)
        short.fit(X, y)
    assert [each.category for each in told] == [ConvergenceWarning]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnderfitWarning)
        with pytest.raises(UnderfitWarning):
            short.fit(X, y)
