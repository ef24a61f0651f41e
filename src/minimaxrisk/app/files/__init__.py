"""Readers of users' data files: whatever the format, a study with features, names and labels comes out."""

from minimaxrisk.app.files.features import are_generated
from minimaxrisk.app.files.quality import count_missing, looks_like_counts, refuse_missing
from minimaxrisk.app.files.raw_table import RawTable
from minimaxrisk.app.files.read_study import (
    has_several,
    read_raw_table,
    read_study_for_model,
    read_training_study,
)
from minimaxrisk.app.files.study import ReadOptions, Study

__all__ = [
    "RawTable",
    "ReadOptions",
    "Study",
    "are_generated",
    "count_missing",
    "has_several",
    "looks_like_counts",
    "read_raw_table",
    "read_study_for_model",
    "read_training_study",
    "refuse_missing",
]
