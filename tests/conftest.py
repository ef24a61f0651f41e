"""Shared fixtures: the data sets of the paper where they are, and an easy problem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_breast_cancer

from minimaxrisk._utils import parallel
from minimaxrisk.datasets import data_home, list_datasets, load_dataset

# Deadlines would fail on a busy machine; derandomized runs are the same everywhere.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture
def real_data():
    """A function that loads a data set by name, or skips the test where it is not at hand."""

    def load(name):
        if name not in list_datasets():
            pytest.skip(f"data set {name} is not in {data_home()} (set MINIMAXRISK_DATA)")
        return load_dataset(name, return_X_y=True)

    return load


@pytest.fixture
def eager_processes(monkeypatch):
    """Work goes to other processes from the first item on, however short it is."""
    monkeypatch.setattr(parallel, "START_UP", -1.0)


@pytest.fixture
def pyplot():
    """matplotlib.pyplot without a screen; afterwards it has no figures and the backend that it had before."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="comes with the extra 'plot'")
    before = plt.get_backend()
    plt.switch_backend("Agg")
    yield plt
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="session")
def cancer():
    """Breast cancer data: 569 x 30, two classes."""
    return load_breast_cancer(return_X_y=True)


@pytest.fixture
def wide():
    """40 samples, 300 features, 3 classes with names; some features tell the classes apart."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["alpha", "beta", "gamma"], [14, 13, 13])
    X = rng.standard_normal((40, 300))
    X[:, :5] += (labels == "alpha")[:, None] * 1.5
    X[:, 5:10] += (labels == "beta")[:, None] * 1.5
    return X, labels
