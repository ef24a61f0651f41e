"""What somebody writes who checks types; ``test_types.py`` has mypy and pyright check it, and runs it."""

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    MinimaxRiskSelector,
    PredictionSets,
    error_bound,
    evaluate,
    permutation_test,
    reliable_features,
    training_scale,
    verify,
    worst_case,
)
from minimaxrisk.analysis import Estimate
from minimaxrisk.app.storage import SavedModel, fingerprint, load_model, save_model
from minimaxrisk.checks import TrainingScale
from minimaxrisk.datasets import make_expression
from minimaxrisk.guarantees import Certificate, ErrorBound, ReliableFeatures
from minimaxrisk.solvers import InteriorPoint

Numbers = NDArray[np.float64]
study = make_expression(80, 100, effect=2.0, random_state=0)
X, y, X_new, y_new = study.data[:60], study.target[:60], study.data[60:], study.target[60:]

model = MinimaxRiskClassifier(solver=InteriorPoint(max_seconds=60), radius="bootstrap", random_state=0).fit(
    X, y
)
assert_type(model, MinimaxRiskClassifier)
assert_type(model.coef_, Numbers)
assert_type(model.selected_features_, NDArray[np.intp])
assert_type(model.worst_case_error_, float)
assert_type(model.radius_, float | None)
assert_type(model.history_[-1]["upper"], float)
assert_type(model.predict(X_new), np.ndarray)
assert_type(model.predict_proba(X_new), np.ndarray)
assert_type(model.score(X_new, y_new), float)
assert_type(model.set_params(radius=1.0), MinimaxRiskClassifier)

cv = MinimaxRiskClassifierCV(rule="one-se", cv=3).fit(X, y)
assert_type(cv.radius_, float)
assert_type(cv.estimator_, MinimaxRiskClassifier)
ensemble = MinimaxRiskEnsembleClassifier(n_estimators=10, random_state=0, certify=True).fit(X, y)
assert_type(ensemble.oob_error_, float)
assert_type(ensemble.selection_frequencies_, Numbers)
kernel = MinimaxRiskKernelClassifier("rbf", gamma="scale").fit(X, y)
assert_type(kernel.dual_coef_, Numbers)
selector = MinimaxRiskSelector(max_features=10).fit(X, y)
assert_type(selector.get_support(), np.ndarray)
sets = PredictionSets(kernel, cv=5, random_state=0).fit(X, y)
assert_type(sets.predict_set(X_new), NDArray[np.bool_])

bound = error_bound(ensemble, X, y, random_state=0)
assert_type(bound, ErrorBound)
assert_type(bound.value, float)
assert_type(verify(cv, X, y), Certificate)
assert_type(worst_case(ensemble, X, y, rule="predict").upper, float)
assert_type(permutation_test(kernel, X, y, n_permutations=3, random_state=0).pvalue, float)
found = reliable_features(X, y, model.selected_features_, n_permutations=19, random_state=0)
assert_type(found, ReliableFeatures)
assert_type(found.at_least([0, 1]), int)
assert_type(evaluate(ensemble, X_new, y_new).error, Estimate)
scale = training_scale(ensemble, X, y)
assert_type(scale, TrainingScale | None)

names = np.array(study.feature_names)
file = Path("model.skops")
save_model(SavedModel(ensemble, names, "group", fingerprint(X, y, names), training_scale=scale), file)
assert_type(load_model(file).classifier.predict(X_new), np.ndarray)
