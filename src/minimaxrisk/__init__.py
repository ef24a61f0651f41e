"""Minimax risk classifiers for few samples and many features, with certified worst-case errors.

Names are imported when they are first used: scikit-learn takes a second, in which the command line must be
able to stop without a traceback.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_MODULES = {
    "Certificate": "assessment",
    "CoverageWarning": "notices",
    "ErrorBounds": "assessment",
    "Exceedance": "guarantee",
    "FalseSelectionBounds": "stability",
    "GuaranteedError": "guarantee",
    "L1SVMClassifier": "l1_svm",
    "MinimaxRiskClassifier": "estimators",
    "MinimaxRiskPath": "path",
    "MinimaxRiskSelector": "selector",
    "PermutationTestResult": "permutation",
    "RandomFourierFeatures": "features.fourier",
    "UninformativeRadiusWarning": "notices",
    "error_bounds": "assessment",
    "minimax_risk_path": "path",
    "permutation_test": "permutation",
    "verify": "assessment",
}

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


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
