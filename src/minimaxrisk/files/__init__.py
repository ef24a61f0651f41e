"""Readers of users' data files: whatever the format, a study with features, names and labels comes out."""

from minimaxrisk.files.features import are_generated
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.quality import count_missing, looks_like_counts, refuse_missing
from minimaxrisk.files.reading import has_several, read_sheet
from minimaxrisk.files.sheet import Sheet
from minimaxrisk.files.study import Study, read_study_for_model, read_training_study

__all__ = [
    "ReadOptions",
    "Sheet",
    "Study",
    "are_generated",
    "count_missing",
    "has_several",
    "looks_like_counts",
    "read_sheet",
    "read_study_for_model",
    "read_training_study",
    "refuse_missing",
]
