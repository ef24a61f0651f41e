"""Features in the chunks of dask arrays: threads of this process, and a cluster of two processes."""

from __future__ import annotations

import os
import signal
import sys
import tracemalloc
import warnings
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
from scipy import sparse

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskSelector,
    permutation_test,
    verify,
)
from minimaxrisk._utils import dask_arrays
from minimaxrisk.datasets import make_expression
from minimaxrisk.samples.instances import distinct_instances
from minimaxrisk.samples.validation import check_training_data
from minimaxrisk.solvers import InteriorPoint
from problems import features_in

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

STUDY = make_expression(60, 500, n_informative=20, effect=1.0, random_state=0)
X, Y = STUDY.data, STUDY.target


# Of two chunks by two, as few as there can be in both directions; each costs dask more than the work on it.
FOUR = (35, 300)
# What workers run.
PRELOADED = ["distributed", "minimaxrisk.matrices.chunked", "minimaxrisk.analysis.permutation_test"]


@pytest.fixture(scope="module")
def in_memory():
    return MinimaxRiskClassifier().fit(X, Y)


@contextmanager
def forked_workers():
    """On Linux workers are forks of one process that has imported what they need, which takes seconds."""
    if sys.platform != "linux":
        yield
        return
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context().set_forkserver_preload(PRELOADED)
        yield


@pytest.fixture(scope="module")
def cluster():
    """Two processes on loopback, as a cluster elsewhere would be; the current one in ``on_cluster`` alone."""
    with warnings.catch_warnings(action="ignore"), forked_workers():
        workers = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit="2GB"
        )
        client = distributed.Client(workers, set_as_default=False)
        yield client
        client.close()
        workers.close()


@pytest.fixture
def on_cluster(cluster):
    cluster.wait_for_workers(2, timeout=60)
    with cluster.as_current():
        yield cluster


def test_a_missing_package_is_named():
    with pytest.raises(ImportError, match=r"Dask arrays need .*minimaxrisk\[dask\]"):
        dask_arrays.dask_module("dask.no_such_module")


# Equal results.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_optimum_is_that_in_memory(in_memory, dtype):
    """Also where chunks are empty, as selections leave them."""
    chunks = ((25, 0, 35), (0, 200, 300, 0))
    model = MinimaxRiskClassifier().fit(da.from_array(X.astype(dtype), chunks=chunks), Y)
    tolerance = 1e-7 if dtype == np.float64 else 1e-5
    assert model.worst_case_error_ == pytest.approx(in_memory.worst_case_error_, abs=tolerance)
    assert model.worst_case_error_lower_ == pytest.approx(model.worst_case_error_, abs=1e-9)
    np.testing.assert_array_equal(model.selected_features_, in_memory.selected_features_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"standardize": False},
        {"fit_intercept": False},
        {"radius": "bootstrap", "n_bootstrap": 100},
        {"solver": "constraint-generation"},
        {"solver": "first-order", "gap_tol": 0.1},
    ],
    ids=str,
)
def test_every_setting_gives_what_it_gives_in_memory(parameters):
    of_chunks, of_array = (
        MinimaxRiskClassifier(**parameters).fit(data, Y) for data in (da.from_array(X, chunks=FOUR), X)
    )
    assert of_chunks.worst_case_error_ == pytest.approx(of_array.worst_case_error_, abs=1e-7)
    np.testing.assert_allclose(of_chunks.lambda_, of_array.lambda_, rtol=1e-12)
    assert of_chunks.coverage_remarks_ == of_array.coverage_remarks_


def test_labels_weights_and_groups_may_be_dask_arrays():
    labels, weights, groups = Y[::2].repeat(2), np.arange(60) % 3 + 0.5, np.arange(60) // 2
    arrays = [da.from_array(each, chunks=20) for each in (labels, weights, groups)]
    chunked, plain = (
        MinimaxRiskClassifier().fit(data, y, sample_weight=w, groups=g)
        for data, (y, w, g) in ((da.from_array(X, chunks=FOUR), arrays), (X, (labels, weights, groups)))
    )
    assert chunked.worst_case_error_ == pytest.approx(plain.worst_case_error_, abs=1e-9)


def test_equal_rows_instances_without_label_and_weights_of_zero():
    rows = np.r_[np.arange(60), np.arange(10)]
    weights, more = (
        np.where(np.arange(70) % 9 == 0, 0.0, 1.0),
        np.random.default_rng(0).normal(8, 1, (5, 500)),
    )
    plain = MinimaxRiskClassifier().fit(X[rows], Y[rows], weights, more)
    for unlabeled in (more, da.from_array(more, chunks=(5, 300))):
        data = da.from_array(X[rows], chunks=FOUR)
        chunked = MinimaxRiskClassifier().fit(data, Y[rows], weights, unlabeled)
        assert chunked.worst_case_error_ == pytest.approx(plain.worst_case_error_, abs=1e-9)
        np.testing.assert_allclose(
            chunked.worst_case_distribution_.sum(), plain.worst_case_distribution_.sum(), rtol=1e-12
        )


# What stays where.


def test_chunks_are_kept_where_they_fit():
    data, n_reads = da.from_array(X, chunks=(60, 250)), 0

    def read(chunk):
        nonlocal n_reads
        n_reads += 1
        return chunk

    lazy = data.map_blocks(read, meta=X[:0])
    with dask.config.set({"minimaxrisk.persist": True}):
        n_passes = MinimaxRiskClassifier().fit(lazy, Y).n_passes_
    assert n_reads == 2 < n_passes


def test_a_worker_that_is_killed_is_survived(on_cluster, in_memory):
    """With SIGKILL, in the middle of a fit, together with the chunks that it held."""
    killed = []

    def kill(record):
        if record["iteration"] == 4:
            address, pid = min(on_cluster.run(os.getpid).items())
            held = on_cluster.run(lambda dask_worker: len(dask_worker.data))[address]
            os.kill(pid, signal.SIGKILL)
            killed.append((pid, held))

    model = MinimaxRiskClassifier(callback=kill).fit(da.from_array(X, chunks=(60, 100)), Y)
    assert killed[0][1] > 0
    assert model.n_iter_ > 5
    assert killed[0][0] not in on_cluster.run(os.getpid).values()
    assert model.worst_case_error_ == pytest.approx(in_memory.worst_case_error_, abs=1e-7)
    np.testing.assert_array_equal(model.selected_features_, in_memory.selected_features_)


def simulated(block_info=None):
    """A chunk made by the worker that holds it: 200 rows, the first columns tell the classes apart."""
    (_, _), (start, stop) = block_info[None]["array-location"]
    values = np.random.default_rng(start).normal(size=(200, stop - start))
    if start == 0:
        values[:, :40] += 0.7 * (np.arange(200) % 2)[:, None]
    return values


def peak_of_fit(n_chunks):
    data = da.map_blocks(simulated, chunks=((200,), (1000,) * n_chunks), dtype=np.float64)
    tracemalloc.start()
    model = MinimaxRiskClassifier(solver=InteriorPoint(max_iter=2)).fit(data, np.arange(200) % 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.n_iter_ == 2
    return peak


@pytest.mark.filterwarnings("ignore:stopped at max_iter")
def test_memory_of_the_client_does_not_hold_columns(on_cluster):
    """It grows by vectors with an entry per column, of which there are some dozens, and not by columns."""
    # With fewer columns the working set, which is here, would grow too.
    grown = peak_of_fit(5) - peak_of_fit(2)
    assert grown < 0.5 * 3 * 1000 * 200 * 8


# Predictions.


def test_predictions_stay_lazy(in_memory):
    data = da.from_array(X, chunks=(25, 170))
    for name in ("predict", "predict_proba", "decision_function"):
        lazy, expected = getattr(in_memory, name)(data), getattr(in_memory, name)(X)
        assert isinstance(lazy, da.Array)
        assert lazy.shape == expected.shape
        assert lazy.dtype == expected.dtype
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-12, atol=1e-13)
    random = MinimaxRiskClassifier(deterministic=False, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(random.predict(data).compute(), random.predict(X))
    ensemble = MinimaxRiskEnsembleClassifier(
        n_estimators=8, subsample=0.4, certify=False, random_state=0
    ).fit(X, Y)
    np.testing.assert_allclose(ensemble.predict_proba(data).compute(), ensemble.predict_proba(X))
    chosen = MinimaxRiskClassifierCV(radii=[0.7, 2.0], cv=2).fit(X, Y)
    for name in ("predict", "decision_function"):
        lazy = getattr(chosen, name)(data)
        assert isinstance(lazy, da.Array)
        expected = getattr(chosen, name)(X)
        if name == "predict":
            np.testing.assert_array_equal(lazy.compute(), expected)
        else:
            np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-12, atol=1e-13)
    selector = MinimaxRiskSelector().fit(X, Y)
    np.testing.assert_array_equal(selector.transform(data).compute(), selector.transform(X))


def test_predictions_read_the_selected_columns_of_a_million_rows():
    labels, random = np.arange(40) % 2, np.random.default_rng(0)
    values = random.normal(size=(40, 30))
    values[:, 2] += 3 * labels
    model = MinimaxRiskClassifier(radius=2.0).fit(values, labels)
    first = int(model.selected_features_.max()) + 1
    assert first < 30

    def refuse(chunk):
        raise AssertionError("nobody selected these columns")

    rows = da.ones((10**6, first), chunks=(250_000, first))
    others = da.zeros((10**6, 30 - first), chunks=(250_000, 10)).map_blocks(refuse, meta=np.empty((0, 0)))
    new = da.concatenate([rows, others], axis=1)
    assert set(np.unique(model.predict(new).compute())) == set(model.predict(np.ones((1, 30))))


def test_predictions_of_rows_whose_number_is_not_known(in_memory):
    data = da.from_array(X, chunks=(25, 170))
    some = data[da.from_array(Y[0] == Y, chunks=25)]
    np.testing.assert_array_equal(in_memory.predict(some).compute(), in_memory.predict(X[Y[0] == Y]))
    random = MinimaxRiskClassifier(deterministic=False).fit(X, Y)
    with pytest.raises(ValueError, match=r"deterministic=False .*compute_chunk_sizes"):
        random.predict(some)


def test_a_missing_value_shows_at_its_chunk(in_memory):
    spoiled = X.copy()
    spoiled[33, in_memory.selected_features_[0]] = np.nan
    lazy = in_memory.predict(da.from_array(spoiled, chunks=(25, 170)))
    lazy[:25].compute()
    with pytest.raises(ValueError, match=rf"NaN at row 33, column {in_memory.selected_features_[0]},"):
        lazy.compute()


# Many fits on a cluster.


def test_a_permutation_test_is_spread_over_the_workers(on_cluster):
    alone = permutation_test(MinimaxRiskClassifier(), X, Y, 300, random_state=0)
    workers = set()
    for _ in range(5):  # dask may leave all of so little work to one of them
        with (
            joblib.parallel_config(backend="dask"),
            distributed.get_task_stream(client=on_cluster, plot=False) as stream,
        ):
            spread = permutation_test(MinimaxRiskClassifier(), X, Y, 300, random_state=0)
        np.testing.assert_array_equal(spread.null_distribution, alone.null_distribution)
        workers |= {task["worker"] for task in stream.data if "_work_through" in str(task["key"])}
        if len(workers) == 2:
            break
    assert len(workers) == 2


def test_chunks_do_not_go_to_other_processes():
    data = check_training_data(MinimaxRiskClassifier(), da.from_array(X, chunks=(60, 250)), Y)
    features = features_in(data.X, distinct_instances(data), standardize=True, fit_intercept=True)[0]
    with pytest.raises(TypeError, match="leave n_jobs at 1"):
        joblib.hash(features)


# Bad input, refused before the work.


def with_nan():
    spoiled = X.copy()
    spoiled[41, 317] = np.inf
    return da.from_array(spoiled, chunks=(25, 170))


WRONG = {
    "unknown chunk sizes": (
        lambda: da.from_array(X, chunks=(25, 170))[da.from_array(X[:, 0] > 0, chunks=25)],
        r"unknown size .* call X = X.compute_chunk_sizes\(\)",
    ),
    "infinity in one chunk": (with_nan, "X contains infinity at row 41, column 317, but all entries"),
    "too few rows": (lambda: da.from_array(X[:50]), "inconsistent numbers of samples"),
    "text": (lambda: da.from_array(X.astype(str)), r"must be numeric, got a dask array of dtype <U"),
    "objects": (
        lambda: da.from_array(X.astype(object), chunks=(60, 500)),
        r"must be numeric.*dtype object.*astype\(float\)",
    ),
    "complex": (lambda: da.from_array(X + 1j), r"must be numeric.*dtype complex128"),
    "one dimension": (lambda: da.from_array(X[:, 0]), "must be 2-D, .* of 1 dimensions"),
    "no columns": (lambda: da.from_array(X[:, :0]), r"at least one sample and one feature"),
    "sparse chunks": (
        lambda: da.from_array(X).map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0))),
        r"NumPy arrays as chunks, got a dask array of csr_array; .*toarray\(\)",
    ),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        MinimaxRiskClassifier().fit(make(), Y)


def test_columns_must_be_those_of_the_fit(in_memory):
    with pytest.raises(ValueError, match="X has 499 features, but MinimaxRiskClassifier is expecting 500"):
        in_memory.predict(da.from_array(X[:, 1:]))
    with pytest.raises(ValueError, match="X has 499 features"):
        verify(in_memory, da.from_array(X[:, 1:]), Y)


def test_a_data_frame_is_refused_with_the_remedy():
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pandas.DataFrame(X[:, :5]), npartitions=2)
    with pytest.raises(TypeError, match=r"to_dask_array\(lengths=True\)"):
        MinimaxRiskClassifier().fit(frame, Y)
    MinimaxRiskClassifier().fit(frame.to_dask_array(lengths=True), Y)


def test_a_closed_client_is_named(cluster):
    other = distributed.Client(cluster.cluster, set_as_default=False)
    data = other.persist(da.from_array(X, chunks=(60, 250)))
    other.close()
    with pytest.raises(ValueError, match="persisted by a dask client that is closed"):
        MinimaxRiskClassifier().fit(data, Y)
