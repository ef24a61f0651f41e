"""Data checks: findings about a table, with codes, numbers and severities.

The checks know no model. What they need of one, such as importances and predictions of validation folds, is
passed as arrays.
"""

from typing import TYPE_CHECKING

from minimaxrisk._utils.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from minimaxrisk.checks.findings import Finding
    from minimaxrisk.checks.training_scale import ScaleComparison, TrainingScale

__all__ = ["Finding", "ScaleComparison", "TrainingScale"]

_MODULE_OF = {"Finding": "findings", "ScaleComparison": "training_scale", "TrainingScale": "training_scale"}
__getattr__, __dir__ = _lazy_names(__name__, _MODULE_OF)
