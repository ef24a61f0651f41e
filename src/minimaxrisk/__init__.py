"""Minimax risk classifiers for few samples and many features, with certified worst-case errors.

Names are imported when they are first used: scikit-learn takes a second, in which the command line must be
able to stop without a traceback.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from minimaxrisk import datasets, files, inspection, report, storage
    from minimaxrisk._utils.notices import CoverageWarning, LargeFitWarning, UninformativeRadiusWarning
    from minimaxrisk.analysis.batches import BatchCheck, check_batches
    from minimaxrisk.analysis.comparison import Comparison, compare
    from minimaxrisk.analysis.minimax_risk_path import MinimaxRiskPath, minimax_risk_path
    from minimaxrisk.analysis.permutation_test import PermutationTestResult, permutation_test
    from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
    from minimaxrisk.estimators.classifier_cv import MinimaxRiskClassifierCV
    from minimaxrisk.estimators.clipped_scaler import ClippedScaler
    from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
    from minimaxrisk.estimators.fourier import RandomFourierFeatures
    from minimaxrisk.estimators.l1_svm import L1SVMClassifier
    from minimaxrisk.estimators.selector import MinimaxRiskSelector
    from minimaxrisk.guarantees.best_guarantee import best_guarantee
    from minimaxrisk.guarantees.error_bounds import ErrorBounds, error_bounds
    from minimaxrisk.guarantees.error_statement import BestGuarantee, ErrorStatement
    from minimaxrisk.guarantees.false_selections import FalseSelectionBounds
    from minimaxrisk.guarantees.guaranteed_error import Exceedance, GuaranteedError
    from minimaxrisk.guarantees.holdout import HoldoutBound, holdout_bound
    from minimaxrisk.guarantees.training_scale import ScaleComparison, TrainingScale, training_scale
    from minimaxrisk.guarantees.verification import Certificate, verify

__version__ = _version("minimaxrisk")

_MODULE_OF = {
    "BatchCheck": "analysis.batches",
    "BestGuarantee": "guarantees.error_statement",
    "Certificate": "guarantees.verification",
    "ClippedScaler": "estimators.clipped_scaler",
    "Comparison": "analysis.comparison",
    "CoverageWarning": "_utils.notices",
    "ErrorBounds": "guarantees.error_bounds",
    "ErrorStatement": "guarantees.error_statement",
    "Exceedance": "guarantees.guaranteed_error",
    "FalseSelectionBounds": "guarantees.false_selections",
    "GuaranteedError": "guarantees.guaranteed_error",
    "L1SVMClassifier": "estimators.l1_svm",
    "HoldoutBound": "guarantees.holdout",
    "LargeFitWarning": "_utils.notices",
    "MinimaxRiskClassifier": "estimators.classifier",
    "MinimaxRiskClassifierCV": "estimators.classifier_cv",
    "MinimaxRiskEnsembleClassifier": "estimators.ensemble",
    "MinimaxRiskPath": "analysis.minimax_risk_path",
    "MinimaxRiskSelector": "estimators.selector",
    "PermutationTestResult": "analysis.permutation_test",
    "RandomFourierFeatures": "estimators.fourier",
    "ScaleComparison": "guarantees.training_scale",
    "TrainingScale": "guarantees.training_scale",
    "UninformativeRadiusWarning": "_utils.notices",
    "best_guarantee": "guarantees.best_guarantee",
    "check_batches": "analysis.batches",
    "compare": "analysis.comparison",
    "error_bounds": "guarantees.error_bounds",
    "minimax_risk_path": "analysis.minimax_risk_path",
    "permutation_test": "analysis.permutation_test",
    "holdout_bound": "guarantees.holdout",
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
    "RandomFourierFeatures",
    "ScaleComparison",
    "TrainingScale",
    "UninformativeRadiusWarning",
    "best_guarantee",
    "check_batches",
    "compare",
    "datasets",
    "error_bounds",
    "files",
    "holdout_bound",
    "inspection",
    "minimax_risk_path",
    "permutation_test",
    "report",
    "storage",
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
