"""What somebody who checks types writes: ``test_types.py`` runs mypy --strict and pyright on it."""

from pathlib import Path

import numpy as np

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    MinimaxRiskSelector,
    PredictionSets,
    error_bound,
    evaluate,
    permutation_test,
    training_scale,
    verify,
    worst_case,
)
from minimaxrisk.app.storage import SavedModel, fingerprint, load_model, save_model
from minimaxrisk.datasets import make_expression
from minimaxrisk.solvers import InteriorPoint

study = make_expression(80, 200, effect=2.0, random_state=0)
names = np.array([f"gene_{j}" for j in range(200)])
X, y, X_new, y_new = study.data[:40], study.target[:40], study.data[40:], study.target[40:]

scaled = ClippedScaler().fit(X).transform(X)
model = MinimaxRiskClassifier(InteriorPoint(max_seconds=60), radius="bootstrap", random_state=0).fit(X, y)
cv = MinimaxRiskClassifierCV(model, criterion="cross-validation", rule="one-se").fit(X, y)
ensemble = MinimaxRiskEnsembleClassifier(n_estimators=10, random_state=0).fit(X, y)
kernel = MinimaxRiskKernelClassifier("rbf", gamma="scale").fit(X, y)
selector = MinimaxRiskSelector(max_features=10).fit(X, y)
sets = PredictionSets(ensemble, random_state=0).fit(X, y)

bound = error_bound(ensemble, X, y, method="holdout")
verified = verify(model, X, y)
worst = worst_case(model, X, y, rule="predict")
tested = permutation_test(model, X, y, n_permutations=19, random_state=0)
counted = evaluate(ensemble, X_new, y_new)
scale = training_scale(model, X, y)

file = Path("model.skops")
save_model(SavedModel(ensemble, names, "group", fingerprint(X, y, names), training_scale=scale), file)
again = load_model(file).classifier
