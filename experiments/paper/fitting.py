"""The methods of the experiments by name, and one fit of one of them, measured."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from experiments.harness.memory import peak_memory, reset_peak, resident_memory
from experiments.paper.l1_svm import L1SVM
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.exceptions import CoverageWarning
from minimaxrisk.solvers import ConstraintGeneration

MRC_CG, MRC_LP, MRC_IP, SVM_CG = "MRC-CG", "MRC-LP", "MRC-IP", "SVM-CG"
# What MRC-CG and MRC-IP may be told besides; the library's defaults where a cell says nothing.
OF_THE_SOLVER, OF_THE_MODEL = ("initial_features", "select"), ("coding", "fit_intercept")


def make_method(name: str, settings: Mapping[str, Any]) -> Any:
    """The estimator of a method; MRC-CG takes ``n_max``, ``epsilon`` and ``k_max`` from the settings.

    SVM-CG takes the first two and runs until its own tolerance is met.
    """
    model = {parameter: settings[parameter] for parameter in OF_THE_MODEL if parameter in settings}
    model |= {"moderation": 0.0}  # the paper's standard errors
    if name == MRC_CG:
        own = {parameter: settings[parameter] for parameter in ("n_max", "epsilon", "k_max")}
        own |= {parameter: settings[parameter] for parameter in OF_THE_SOLVER if parameter in settings}
        return MinimaxRiskClassifier(solver=ConstraintGeneration(**own), **model)
    if name == SVM_CG:
        return L1SVM(n_max=settings["n_max"], epsilon=settings["epsilon"])
    # Ignored and not retyped: results know this module by all but its comments.
    return MinimaxRiskClassifier(solver={MRC_LP: "full-lp", MRC_IP: "interior-point"}[name], **model)  # type: ignore[arg-type]


def settings_of(name: str, n_max: int, epsilon: float, k_max: int | None) -> dict[str, Any]:
    """Those settings that the method depends on, as part of a cell's identity."""
    if name == MRC_CG:
        return {"method": name, "n_max": n_max, "epsilon": epsilon, "k_max": k_max}
    if name == SVM_CG:
        return {"method": name, "n_max": n_max, "epsilon": epsilon}
    return {"method": name}


def fit_measured(settings: Mapping[str, Any], X: Any, y: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """The fitted method and a row: seconds from raw X, passes over X, peak memory beyond what was there."""
    estimator = make_method(settings["method"], settings)
    reset_peak()
    before = resident_memory()
    # That k_max was reached is in the row, and what the paper's radius is worth in the report.
    with quiet_fits():
        start = time.perf_counter()
        model = estimator.fit(X, y)
        seconds = time.perf_counter() - start
    row = {
        "seconds": seconds,
        "n_features_selected": model.n_features_selected_,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "gap": model.optimality_gap_,
        "n_passes": model.n_passes_,
        "peak_bytes": peak_memory() - before,
    }
    if isinstance(model, MinimaxRiskClassifier):
        row |= {"worst_case_error": model.worst_case_error_, "lower": model.worst_case_error_lower_}
    return model, row


def fit_quietly(estimator: MinimaxRiskClassifier, X: Any, y: np.ndarray) -> tuple[Any, bool]:
    """The fitted classifier, and whether it warned about the coverage of its radii; nothing is printed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CoverageWarning)
        model = estimator.fit(X, y)
    return model, any(issubclass(warning.category, CoverageWarning) for warning in caught)


def randomized_error(model: Any, X: Any, y: np.ndarray) -> float:
    """Error probability of the rule of ``predict_proba``; a class absent from the training is never said."""
    is_right = y[:, None] == model.classes_
    return float(1.0 - np.mean(np.sum(model.predict_proba(X) * is_right, axis=1)))


def fold_of(y: np.ndarray, fold: int, n_folds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of one fold of a stratified cross-validation, the same for all methods."""
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Where a class has fewer members than there are folds, some folds go without it.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(folds.split(np.zeros(len(y)), y))[fold]


def warm_up() -> None:
    """Fit each method once on small data, so that imports and first calls are not measured."""
    X = np.random.default_rng(0).standard_normal((20, 30))
    y = np.arange(20) % 2
    for name in (MRC_CG, MRC_LP, MRC_IP, SVM_CG):
        fit_measured(settings_of(name, 10, 1e-4, 10), X, y)
