"""Questions that take many fits: the path over radii, permuted labels, cross-validation."""

from typing import TYPE_CHECKING

from minimaxrisk._utils.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from minimaxrisk.analysis.batches import BatchCheck
    from minimaxrisk.analysis.comparison import Comparison
    from minimaxrisk.analysis.evaluation import (
        BaselineComparison,
        Evaluation,
        ProbabilityCheck,
    )
    from minimaxrisk.analysis.intervals import ClassRates, Estimate
    from minimaxrisk.analysis.minimax_risk_path import MinimaxRiskPath
    from minimaxrisk.analysis.permutation_test import PermutationTestResult

__all__ = [
    "BaselineComparison",
    "BatchCheck",
    "ClassRates",
    "Comparison",
    "Estimate",
    "Evaluation",
    "MinimaxRiskPath",
    "PermutationTestResult",
    "ProbabilityCheck",
]

_MODULE_OF = {
    "BaselineComparison": "evaluation",
    "BatchCheck": "batches",
    "ClassRates": "intervals",
    "Comparison": "comparison",
    "Estimate": "intervals",
    "Evaluation": "evaluation",
    "MinimaxRiskPath": "minimax_risk_path",
    "PermutationTestResult": "permutation_test",
    "ProbabilityCheck": "evaluation",
}
__getattr__, __dir__ = _lazy_names(__name__, _MODULE_OF)
