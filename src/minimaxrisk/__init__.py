"""Minimax risk classifiers for few samples and many features, with certified worst-case errors.

Names are imported when they are first used: scikit-learn takes a second, in which the command line must be
able to stop without a traceback.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from minimaxrisk import datasets, inspection
    from minimaxrisk._utils.notices import CoverageWarning, LargeFitWarning, UninformativeRadiusWarning
    from minimaxrisk.analysis.comparison import Comparison, compare
    from minimaxrisk.analysis.data_checks import BatchCheck, check_batches
    from minimaxrisk.analysis.minimax_risk_path import MinimaxRiskPath, minimax_risk_path
    from minimaxrisk.analysis.permutation_test import PermutationTestResult, permutation_test
    from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
    from minimaxrisk.estimators.classifier_cv import MinimaxRiskClassifierCV
    from minimaxrisk.estimators.clipped_scaler import ClippedScaler
    from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
    from minimaxrisk.estimators.l1_svm import L1SVMClassifier
    from minimaxrisk.estimators.selector import MinimaxRiskSelector
    from minimaxrisk.guarantees.counting import HoldoutBound, holdout_bound
    from minimaxrisk.guarantees.covering_radii import Exceedance, GuaranteedError
    from minimaxrisk.guarantees.error_bound import best_guarantee
    from minimaxrisk.guarantees.false_selections import FalseSelectionBounds
    from minimaxrisk.guarantees.statement import BestGuarantee, ErrorStatement
    from minimaxrisk.guarantees.training_scale import ScaleComparison, TrainingScale, training_scale
    from minimaxrisk.guarantees.verification import Certificate, verify
    from minimaxrisk.guarantees.worst_case import ErrorBounds, error_bounds

__version__ = _version("minimaxrisk")

_MODULE_OF = {
    "BatchCheck": "analysis.data_checks",
    "BestGuarantee": "guarantees.error_bound",
    "Certificate": "guarantees.verification",
    "ClippedScaler": "estimators.clipped_scaler",
    "Comparison": "analysis.comparison",
    "CoverageWarning": "_utils.notices",
    "ErrorBounds": "guarantees.worst_case",
    "ErrorStatement": "guarantees.error_bound",
    "Exceedance": "guarantees.covering_radii",
    "FalseSelectionBounds": "guarantees.false_selections",
    "GuaranteedError": "guarantees.covering_radii",
    "L1SVMClassifier": "estimators.l1_svm",
    "HoldoutBound": "guarantees.counting",
    "LargeFitWarning": "_utils.notices",
    "MinimaxRiskClassifier": "estimators.classifier",
    "MinimaxRiskClassifierCV": "estimators.classifier_cv",
    "MinimaxRiskEnsembleClassifier": "estimators.ensemble",
    "MinimaxRiskPath": "analysis.minimax_risk_path",
    "MinimaxRiskSelector": "estimators.selector",
    "PermutationTestResult": "analysis.permutation_test",
    "ScaleComparison": "guarantees.training_scale",
    "TrainingScale": "guarantees.training_scale",
    "UninformativeRadiusWarning": "_utils.notices",
    "best_guarantee": "guarantees.error_bound",
    "check_batches": "analysis.data_checks",
    "compare": "analysis.comparison",
    "error_bounds": "guarantees.worst_case",
    "minimax_risk_path": "analysis.minimax_risk_path",
    "permutation_test": "analysis.permutation_test",
    "holdout_bound": "guarantees.counting",
    "training_scale": "guarantees.training_scale",
    "verify": "guarantees.verification",
}

__all__ = [
    "BatchCheck",
    "BestGuarantee",
    "Certificate",
    "ClippedScaler",
    "Comparison",
    "CoverageWarning",
    "ErrorBounds",
    "ErrorStatement",
    "Exceedance",
    "FalseSelectionBounds",
    "GuaranteedError",
    "HoldoutBound",
    "L1SVMClassifier",
    "LargeFitWarning",
    "MinimaxRiskClassifier",
    "MinimaxRiskClassifierCV",
    "MinimaxRiskEnsembleClassifier",
    "MinimaxRiskPath",
    "MinimaxRiskSelector",
    "PermutationTestResult",
    "ScaleComparison",
    "TrainingScale",
    "UninformativeRadiusWarning",
    "app.files",
    "app.report",
    "app.storage",
    "best_guarantee",
    "check_batches",
    "compare",
    "datasets",
    "error_bounds",
    "holdout_bound",
    "inspection",
    "minimax_risk_path",
    "permutation_test",
    "training_scale",
    "verify",
]


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _MODULE_OF:  # one of the public packages
        return _import_module(f"{__name__}.{name}")
    value = globals()[name] = getattr(_import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
