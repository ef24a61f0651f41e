"""Data sets of the paper from a folder or the network, and simulated studies whose truth is known."""

from minimaxrisk.datasets.fetching import fetch_dataset
from minimaxrisk.datasets.folder import data_home, list_datasets, load_dataset
from minimaxrisk.datasets.registry import DatasetInfo, dataset_info
from minimaxrisk.datasets.simulation import ExpressionLaw, make_expression
from minimaxrisk.datasets.status import DatasetStatus, dataset_status
from minimaxrisk.datasets.text_simulation import make_text

__all__ = [
    "DatasetInfo",
    "DatasetStatus",
    "ExpressionLaw",
    "data_home",
    "dataset_info",
    "dataset_status",
    "fetch_dataset",
    "list_datasets",
    "load_dataset",
    "make_expression",
    "make_text",
]
