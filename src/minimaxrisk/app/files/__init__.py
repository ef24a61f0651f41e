"""Readers of data files: whatever the format, a study with features, names and labels comes out."""

from minimaxrisk.app.files.quality import refuse_missing
from minimaxrisk.app.files.read_study import read_study_for_model, read_training_study
from minimaxrisk.app.files.study import ReadOptions, Study

__all__ = ["ReadOptions", "Study", "read_study_for_model", "read_training_study", "refuse_missing"]
