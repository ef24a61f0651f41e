"""What may be claimed of a fitted model: its certificate recomputed, its error bounded."""

from typing import TYPE_CHECKING

from minimaxrisk._utils.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from minimaxrisk.guarantees.bound import Bound, ErrorBound
    from minimaxrisk.guarantees.fitted_problem import FittedProblem
    from minimaxrisk.guarantees.reliable_features import ReliableFeatures
    from minimaxrisk.guarantees.verification import Certificate
    from minimaxrisk.guarantees.worst_case import WorstCase

__all__ = [
    "Bound",
    "Certificate",
    "ErrorBound",
    "FittedProblem",
    "ReliableFeatures",
    "WorstCase",
]

_MODULE_OF = {
    "Bound": "bound",
    "Certificate": "verification",
    "ErrorBound": "bound",
    "FittedProblem": "fitted_problem",
    "ReliableFeatures": "reliable_features",
    "WorstCase": "worst_case",
}
__getattr__, __dir__ = _lazy_names(__name__, _MODULE_OF)
