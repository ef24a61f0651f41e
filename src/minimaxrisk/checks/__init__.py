"""Data checks: findings about a table, with codes, numbers and severities.

The checks know no model. What they need of one, such as importances and predictions of validation folds, is
passed as arrays.
"""

from minimaxrisk.checks.findings import (
    CODES,
    CONDITION,
    NOTE,
    VETO,
    Finding,
    open_conditions,
    veto_text,
    vetoes,
    with_answers,
)
from minimaxrisk.checks.run import findings_of_folds, findings_of_model, findings_of_table
from minimaxrisk.checks.table import Evidence, StudyTable
from minimaxrisk.checks.training_scale import ScaleComparison, TrainingScale

__all__ = [
    "CODES",
    "CONDITION",
    "NOTE",
    "VETO",
    "Evidence",
    "Finding",
    "ScaleComparison",
    "StudyTable",
    "TrainingScale",
    "findings_of_folds",
    "findings_of_model",
    "findings_of_table",
    "open_conditions",
    "veto_text",
    "vetoes",
    "with_answers",
]
