"""Minimax risk classifiers for few samples and many features, with certified worst-case errors."""

from importlib.metadata import version

from minimaxrisk.assessment import Certificate, ErrorBounds, error_bounds, verify
from minimaxrisk.estimators import MinimaxRiskClassifier
from minimaxrisk.features.fourier import RandomFourierFeatures
from minimaxrisk.guarantee import Exceedance, GuaranteedError
from minimaxrisk.l1_svm import L1SVMClassifier
from minimaxrisk.notices import CoverageWarning, UninformativeRadiusWarning
from minimaxrisk.path import MinimaxRiskPath, minimax_risk_path
from minimaxrisk.permutation import PermutationTestResult, permutation_test
from minimaxrisk.selector import MinimaxRiskSelector
from minimaxrisk.stability import FalseSelectionBounds

__version__ = version("minimaxrisk")

__all__ = [
    "Certificate",
    "CoverageWarning",
    "ErrorBounds",
    "Exceedance",
    "FalseSelectionBounds",
    "GuaranteedError",
    "L1SVMClassifier",
    "MinimaxRiskClassifier",
    "MinimaxRiskPath",
    "MinimaxRiskSelector",
    "PermutationTestResult",
    "RandomFourierFeatures",
    "UninformativeRadiusWarning",
    "error_bounds",
    "minimax_risk_path",
    "permutation_test",
    "verify",
]
