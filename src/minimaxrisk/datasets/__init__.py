"""Data sets of the paper from a folder, and simulated studies whose truth is known."""

from minimaxrisk.datasets.folder import data_home, list_datasets, load_dataset
from minimaxrisk.datasets.simulation import ExpressionLaw, make_expression

__all__ = ["ExpressionLaw", "data_home", "list_datasets", "load_dataset", "make_expression"]
