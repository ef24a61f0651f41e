"""Parameters that are set after a fit count for the next fit, and change nothing about this one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    MinimaxRiskSelector,
    PredictionSets,
    verify,
    worst_case,
)
from minimaxrisk.guarantees.certified import BOX_OF_MEANS, PROOF, can

MODELS = [
    MinimaxRiskClassifier(),
    MinimaxRiskClassifier(marginal="empirical", radius="bootstrap", n_bootstrap=50),
    MinimaxRiskClassifierCV(radii=[0.5, 1.0], cv=2),
    MinimaxRiskEnsembleClassifier(n_estimators=4, random_state=0, certify=True),
    MinimaxRiskEnsembleClassifier(n_estimators=8, subsample=0.4, random_state=0, certify=True),
    MinimaxRiskKernelClassifier(),
    MinimaxRiskKernelClassifier("poly"),
    PredictionSets(MinimaxRiskClassifier(), cv=3, random_state=0),
    MinimaxRiskSelector(),
    MinimaxRiskSelector(stability=True, n_subsamples=4, random_state=0),
    ClippedScaler(),
]
# Said to be about predictions, not about the fit.
OF_PREDICTIONS = {("MinimaxRiskClassifier", "deterministic"), ("PredictionSets", "confidence")}
METHODS = ("predict", "predict_proba", "decision_function", "predict_set", "probabilities", "transform")
OTHERS = {
    "callback": lambda record: True,
    "class_weight": "balanced",
    "copy": False,
    "estimator": MinimaxRiskClassifier(radius=3.0, marginal="empirical"),
    "gamma": 0.7,
    "kernel": "rbf",
    "max_features": 2,
    "radii": [3.0, 4.0],
    "radius": 2.5,
    "rule": "best",
    "scoring": "accuracy",
    "solver": "first-order",
    "weight_kind": "importance",
}


def another(name, value):
    """A value that the parameter may have, and does not."""
    if name in OTHERS:
        return OTHERS[name]
    if isinstance(value, str):
        return {"free": "empirical", "empirical": "free", "auto": "one-hot"}[value]
    if isinstance(value, bool):
        return not value
    if value is None:
        return 5
    return value + 1 if isinstance(value, int) else 0.5 * (value + 1.0)


def behaviour(model, X, y):
    found = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
    if can(model, PROOF):
        certificate = verify(model, X, y)
        found["verify"] = [certificate.lower, certificate.upper, certificate.valid]
    if can(model, BOX_OF_MEANS):
        worst = worst_case(model, X, y)
        found["worst_case"] = [worst.lower, worst.upper]
    return found


@pytest.fixture(scope="module")
def data():
    y = np.arange(45) % 3
    return np.random.default_rng(0).normal(size=(45, 20)) + 0.8 * (y[:, None] == np.arange(20) % 5), y


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_no_parameter_changes_what_was_fitted(data, model):
    fitted = clone(model).fit(*data)
    before = behaviour(fitted, *data)
    for name, value in fitted.get_params(deep=False).items():
        if (type(model).__name__, name) in OF_PREDICTIONS:
            continue
        fitted.set_params(**{name: another(name, value)})
        for what, found in behaviour(fitted, *data).items():
            np.testing.assert_array_equal(found, before[what], err_msg=f"{name}: {what}")
        fitted.set_params(**{name: value})


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_parameter_of_the_chosen_estimator_changes_nothing(data):
    model = MinimaxRiskClassifierCV(radii=[0.5, 1.0], cv=2).fit(*data)
    before = behaviour(model, *data)
    model.estimator_.set_params(marginal="empirical", radius=2.0)
    for what, found in behaviour(model, *data).items():
        np.testing.assert_array_equal(found, before[what], err_msg=what)
