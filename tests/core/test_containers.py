"""The same data in every container give the same model, and none is copied that is not to be copied."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    verify,
)
from minimaxrisk._utils import environment
from minimaxrisk._utils.stored_tables import StoredArray, Table
from minimaxrisk.estimators import fit_support
from minimaxrisk.exceptions import LargeFitWarning
from minimaxrisk.matrices import dense
from minimaxrisk.samples.validation import TrainingData

N, D = 60, 900
CONTAINERS = [
    "float64 C",
    "float64 F",
    "float64 strided",
    "float32 C",
    "float32 F",
    "memmap C",
    "memmap F",
    "memmap float32",
    "zarr by columns",
    "zarr by rows",
    "zarr both",
    "whole numbers",
    "CSR",
    "CSC",
]


@pytest.fixture(scope="module")
def study():
    """Numbers that every kind of container holds exactly: multiples of 1/4, some of them zero."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    X = rng.normal(size=(N, D)) + 5.0 * rng.integers(-1, 2, D)
    X[:, :6] += 1.5 * y[:, None]
    X[rng.random((N, D)) < 0.2] = 0.0
    X[:, 11], X[5] = 7.0, X[3]  # a constant column, equal rows
    X = np.round(4.0 * X)
    for shared in (X, y):
        shared.setflags(write=False)  # a test that needs other values takes a copy
    return X, y


@pytest.fixture(scope="module")
def container(study, tmp_path_factory):
    zarr = pytest.importorskip("zarr")
    folder = tmp_path_factory.mktemp("containers")

    def make(name, X=study[0]):
        if name.startswith("memmap"):
            dtype = np.float32 if name.endswith("32") else np.float64
            path = folder / f"{name}-{X[0, 0]}.npy"
            order = name.endswith("F")
            made = np.lib.format.open_memmap(path, "w+", dtype, X.shape, fortran_order=order)
            made[:] = X
            made.flush()
            return np.load(path, mmap_mode="r")
        if name.startswith("zarr"):
            chunks = {"columns": (N, 400), "rows": (45, D), "both": (45, 400)}[name.split()[-1]]
            made = zarr.create_array({}, shape=X.shape, chunks=chunks, dtype="f4")
            made[:] = X
            return made
        return {
            "float64 C": lambda: np.ascontiguousarray(X),
            "float64 F": lambda: np.asfortranarray(X),
            "float64 strided": lambda: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
            "float32 C": lambda: X.astype(np.float32),
            "float32 F": lambda: np.asfortranarray(X, dtype=np.float32),
            "whole numbers": lambda: X.astype(np.int16),
            "CSR": lambda: sparse.csr_array(X),
            "CSC": lambda: sparse.csc_array(X),
        }[name]()

    return make


@pytest.fixture(scope="module")
def expected(study):
    return MinimaxRiskClassifier(copy=True).fit(*study)


@pytest.fixture
def small_blocks(monkeypatch):
    """So that small data have many blocks."""
    monkeypatch.setattr("minimaxrisk._utils.stored_tables.BLOCK_ELEMENTS", 1500)
    monkeypatch.setattr("minimaxrisk._utils.stored_tables.BLOCK_ON_DISK", 2500)
    monkeypatch.setattr("minimaxrisk._utils.stored_tables.FEWEST_ROWS", 13)
    monkeypatch.setattr("minimaxrisk._utils.stored_tables.BLOCK_ON_DISK", 70)


@pytest.fixture
def no_copies(monkeypatch):
    """Whoever copies dense data fails."""
    monkeypatch.setattr(dense, "copy_of", None)


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_fit_is_the_same_without_a_copy(container, study, expected, small_blocks, no_copies, name):
    X, model = container(name), MinimaxRiskClassifier(copy=False).fit(container(name), study[1])
    assert model.worst_case_error_ == pytest.approx(expected.worst_case_error_, abs=1e-7)
    assert np.array_equal(model.selected_features_, expected.selected_features_)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-7)
    assert model.optimality_gap_ < 1e-6
    assert verify(model, X, study[1]).valid
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(study[0]), atol=1e-6)


def test_a_copy_that_memory_does_not_hold_is_refused(study, monkeypatch):
    monkeypatch.setattr(dense, "memory_short_of", lambda n_bytes: 1000)
    with pytest.raises(
        ValueError, match=r"a float64 copy of X takes .* GB, but 1e-06 GB of memory are free; use copy=False"
    ):
        MinimaxRiskClassifier(copy=True).fit(*study)


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("name", ["memmap C", "memmap F", "zarr by rows", "zarr both"])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_what_is_no_number_is_refused_with_its_place(container, study, small_blocks, name, copy, bad):
    X = study[0].copy()
    X[0, 0] = 100.0 + copy  # a file of its own
    X[37, 561] = X[38, 2] = bad
    weights = np.ones(N)
    weights[37:39] = 0.0  # also where rows take no part
    kind = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(
        ValueError, match=rf"X contains {kind} at row (37, column 561|38, column 2), but all entries"
    ):
        MinimaxRiskClassifier(copy=copy).fit(container(name, X), study[1], weights)


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.csc_matrix])
def test_the_place_is_told_of_data_in_memory_too(study, make):
    X = study[0].copy()
    X[37, 561] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN(.|\n)*at row 37, column 561"):
        MinimaxRiskClassifier().fit(make(X), study[1])
    model = MinimaxRiskClassifier().fit(study[0], study[1])
    with pytest.raises(ValueError, match=r"contains NaN(.|\n)*at row 37, column 561"):
        model.predict(make(X))


def test_other_bad_input(container, study):
    X, y = container("zarr both"), study[1]
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[60, 59\]"):
        MinimaxRiskClassifier().fit(X, y[:-1])
    with pytest.raises(ValueError, match="array of real numbers, got one of type complex64"):
        MinimaxRiskClassifier().fit(container("memmap C").view(np.complex64)[:, :D], y)
    model = MinimaxRiskClassifier().fit(X, y)
    with pytest.raises(ValueError, match="X has 899 features, but MinimaxRiskClassifier is expecting 900"):
        model.predict(container("memmap C")[:, 1:])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        model.predict(container("memmap C")[0])


class Watched:
    """An array in chunks that remembers which of its entries were read."""

    def __init__(self, values, chunks):
        self.values, self.chunks, self.shape, self.dtype = values, chunks, values.shape, values.dtype
        self.seen = np.zeros(values.shape, dtype=bool)
        self.largest = 0

    def __getitem__(self, key):
        self.seen[key] = True
        self.largest = max(self.largest, self.values[key].size)
        return self.values[key]


def test_prediction_reads_only_columns_that_are_used(study, expected, small_blocks):
    X = Watched(study[0].copy(), (10, 1))
    assert np.array_equal(expected.predict(X), expected.predict(study[0]))
    np.testing.assert_allclose(
        expected.decision_function(X), expected.decision_function(study[0]), atol=1e-12
    )
    assert np.array_equal(np.flatnonzero(X.seen.any(axis=0)), expected.selected_features_)
    assert X.largest <= 2500
    X.values[3, expected.selected_features_[1]] = np.nan
    with pytest.raises(ValueError, match=rf"NaN at row 3, column {expected.selected_features_[1]}"):
        expected.predict(X)


def test_an_ensemble_predicts_some_rows_at_a_time(study, small_blocks):
    options = {"n_estimators": 8, "subsample": 0.4, "random_state": 0, "ball": False}
    model = MinimaxRiskEnsembleClassifier(certify=False, **options).fit(*study)
    X = Watched(study[0], (10, 1))
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, model.predict_proba(study[0]))
    assert np.array_equal(np.flatnonzero(X.seen.any(axis=0)), model.selected_features_)
    assert X.largest <= 10


def test_no_more_is_read_at_a_time_than_a_block(study, small_blocks, no_copies):
    X = Watched(study[0], (13, 31))
    MinimaxRiskClassifier(copy=False).fit(X, study[1])
    assert X.seen.all()
    assert X.largest <= 2500


def test_the_example_of_the_page_runs(study, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "large_data.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((N, 40), dtype=np.float32)
    np.save("variants.npy", X)
    names = {"y": study[1], "X_new": X}
    exec(code, names)
    assert names["verify"](names["model"], names["X"], names["y"]).valid


@pytest.mark.parametrize(
    ("n", "d", "chunks", "says"),
    [
        (1000, 400_000, None, ""),
        (1_000_000, 200, None, ""),
        (
            2000,
            30_000_000,
            (100, 1_000_000),
            r"2000 x 30000000 entries takes about 4\.4 hours",
        ),
        (
            100,
            200_000_000,
            None,
            r"takes about \d+ GB of memory beside X, but 8 GB are free; leave out columns",
        ),
    ],
)
def test_much_work_is_told_of_before_it_begins(monkeypatch, n, d, chunks, says):
    """Arrays that take no memory; nothing of them is read."""
    monkeypatch.setattr(environment, "free_memory", lambda: 8e9)
    X = np.broadcast_to(np.float32(0.0), (n, d))
    table = Table(StoredArray(X if chunks is None else Watched(np.zeros((1, 1), np.float32), chunks)))
    if chunks is not None:
        table.stored.values.shape = (n, d)
    data = TrainingData(table, np.arange(2), np.arange(n) % 2, np.ones(n))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_support.warn_about_work(data, "auto", "auto")
    assert [one.category for one in caught] == [LargeFitWarning] * (says != "")
    assert re.search(says, " ".join(str(one.message) for one in caught))


@pytest.mark.parametrize(
    "model",
    [
        MinimaxRiskClassifier(),
        MinimaxRiskClassifierCV(radii=[1.0, 2.0], cv=2),
        MinimaxRiskEnsembleClassifier(n_estimators=8, subsample=0.4, random_state=0),
    ],
)
def test_a_fit_warns_once_before_it_begins(study, monkeypatch, model):
    monkeypatch.setattr(fit_support, "LONG", 0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*study)
    assert [one.category for one in caught].count(LargeFitWarning) == 1
    assert "a fit of 60 x 900 entries takes about" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_a_kernel_warns_of_its_matrices(study, monkeypatch):
    monkeypatch.setattr(environment, "ALWAYS_FREE", 0.0)
    monkeypatch.setattr(environment, "free_memory", lambda: 1e5)
    with pytest.warns(LargeFitWarning, match=r"60 samples takes about 0\.00017 GB .* leave out samples"):
        MinimaxRiskKernelClassifier().fit(*study)


PEAK = """
import numpy as np, sys
from minimaxrisk import MinimaxRiskClassifier
from experiments.harness.memory import peak_memory, reset_peak, resident_memory

X = np.load(sys.argv[1])
y = np.arange(len(X)) % 2
for copy in (False, True):
    MinimaxRiskClassifier(copy=copy).fit(X[:, :300], y)  # what is imported and allocated once
    reset_peak()
    before = resident_memory()
    MinimaxRiskClassifier(copy=copy, gap_tol=0.1).fit(X, y)
    print((peak_memory() - before) / X.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak is that of the whole process")
def test_peak_memory(tmp_path):
    """In a process of its own, beside the size of the data (52 MB)."""
    X = np.random.default_rng(0).standard_normal((130, 50_000))
    X[::2, :20] += 2.0
    np.save(tmp_path / "x.npy", X)

    command = [sys.executable, "-W", "ignore", "-c", PEAK, str(tmp_path / "x.npy")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    without_copy, with_copy = map(float, printed.split())
    assert without_copy < 0.3
    assert 0.9 < with_copy < 1.2
