"""The data sets of the paper: what is known of them, where to get them, and how to load them."""

from experiments.datasets.fetching import fetch_dataset
from experiments.datasets.folder import DatasetStatus, data_home, dataset_status, list_datasets, load_dataset
from experiments.datasets.registry import DatasetInfo, dataset_info

__all__ = [
    "DatasetInfo",
    "DatasetStatus",
    "data_home",
    "dataset_info",
    "dataset_status",
    "fetch_dataset",
    "list_datasets",
    "load_dataset",
]
