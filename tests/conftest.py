"""Shared fixtures: the data sets of the paper where they are, and an easy problem."""

from __future__ import annotations

import gc
import os
import signal
import time
import uuid
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

# Deadlines would fail on a busy machine; derandomized runs are the same everywhere.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("repeatable")

# Typer reads these once, on import. Boxes of errors are as wide as this and not as the terminal, so that the
# length of a path breaks no sentence; and there are no colours, which GitHub's runners would ask for.
os.environ.update(TERMINAL_WIDTH="1000", _TYPER_FORCE_DISABLE_TERMINAL="1")


def pytest_configure(config):
    """What only starts processes that run tests need not import for them."""
    # A shell that starts the tests in the background makes them ignore Ctrl-C, which some of them are about.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    runs_tests = hasattr(config, "workerinput") or not config.getoption("numprocesses", None)
    if runs_tests:
        # Few tests are about small classes or classes that a rule loses, and these ask for the warning.
        for name in ("FewSamplesWarning", "UnderfitWarning"):
            config.addinivalue_line("filterwarnings", f"ignore::minimaxrisk.exceptions.{name}")


# Their tests share what takes seconds to set up: a browser, a cluster, processes, runs of experiments.
# Among several processes one has all of them: the others take tests from its end, and would set it up again.
SHARED_SETUP = (
    *("test_report_browser", "test_dask", "test_guarantee_experiments", "test_reproduce", "test_rivals"),
    *("test_cli_fit", "test_report", "test_classifier_cv", "test_ensemble", "test_permutation"),
    "test_stability",
)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.stem not in SHARED_SETUP)


def pytest_collection_finish():
    """Modules stay, so none of their objects is garbage; looking for it there took a third of some tests."""
    gc.collect()
    gc.freeze()


# Helpers that stay for later calls and end with the process that they serve.
STAY = ("loky", "multiprocessing.resource_tracker", "multiprocessing.forkserver")


def processes_with(mark):
    """Command lines of all processes with this in their environment, but for those that may stay."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found += [f"{folder.name}: {command}"] if command else []  # a zombie has none
        except OSError:  # it has just ended, or is another user's
            continue
    return [line for line in found if not any(name in line for name in STAY)]


@pytest.fixture(scope="session", autouse=True)
def no_process_outlives_its_test():
    """Whatever tests start inherits a mark, also where its own parent is gone."""
    name, value = "MINIMAXRISK_TESTS", uuid.uuid4().hex
    os.environ[name] = value
    yield
    del os.environ[name]
    mark, deadline = f"{name}={value}".encode(), time.monotonic() + 60.0
    while (left := processes_with(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, f"tests left processes behind: {left}"


@pytest.fixture(scope="session", autouse=True)
def one_thread_for_linear_algebra():
    """On matrices this small others only wait for each other, which takes three times the processor time."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def real_data():
    """A function that loads a data set by name, or skips the test where it is not at hand."""
    from experiments import datasets  # noqa: PLC0415

    def load(name):
        if name not in datasets.list_datasets():
            pytest.skip(f"data set {name} is not in {datasets.data_home()} (set MINIMAXRISK_DATA)")
        return datasets.load_dataset(name, return_X_y=True)

    return load


@pytest.fixture
def eager_processes(monkeypatch):
    """Work goes to other processes from the first item on, however short it is."""
    monkeypatch.setattr("minimaxrisk._utils.parallel.START_UP", -1.0)


@pytest.fixture
def array_api(monkeypatch):
    """A library whose arrays are worked on where they are, in functions of the standard alone."""
    pytest.importorskip("array_api_compat")
    pytest.importorskip("scipy", minversion="1.14.0")  # as scikit-learn asks for
    library = pytest.importorskip("array_api_strict")
    from sklearn import config_context  # noqa: PLC0415

    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # SciPy's own switch
    with config_context(array_api_dispatch=True):
        yield library


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
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415

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
