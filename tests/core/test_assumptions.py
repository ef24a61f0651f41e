"""What an error bound assumes, as far as the data can show it."""

from __future__ import annotations

import dask.array
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from minimaxrisk import MinimaxRiskClassifier, error_bound
from minimaxrisk._utils.row_digests import row_digests
from minimaxrisk._utils.stored_tables import StoredArray, Table
from minimaxrisk.samples import copies
from minimaxrisk.samples.columns import canonical
from minimaxrisk.samples.copies import (
    duplicate_rows,
    reason_against_independence,
)


def test_replicates_without_groups_leave_no_probability():
    random = np.random.default_rng(0)
    X = np.repeat(random.standard_normal((15, 200)), 4, axis=0) + 0.1 * random.standard_normal((60, 200))
    y, patient = np.repeat(np.arange(15) % 2, 4), np.repeat(np.arange(15), 4)
    forest = RandomForestClassifier(20, random_state=0)
    for values in (X, pd.DataFrame(X)):
        alone = error_bound(forest, values, y, random_state=0)
        assert alone.n_errors < 0.3 * alone.n_test  # the labels are noise
        assert (alone.value, alone.confidence) == (1.0, None)
        assert alone.per_class == ()
        assert alone.reason in alone.statement
    with_groups = error_bound(forest, X, y, groups=patient, random_state=0)
    assert with_groups.has_probability
    assert with_groups.value > 0.5
    one_pair = X[::4].repeat(2, axis=0)[:16]
    assert "rows 0 and 1 " in error_bound(forest, one_pair, np.arange(16) // 8).reason
    assert not error_bound(forest, X[::4], y[::4], random_state=0).reason


def test_parts_that_are_not_fitted_again_are_refused():
    """A forest on noise that has seen the samples held out would seem to be without error."""
    random = np.random.default_rng(0)
    X, y = random.standard_normal((80, 6)), random.integers(0, 2, 80)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    for frozen in (
        FrozenEstimator(forest),
        make_pipeline(FrozenEstimator(forest)),
        CalibratedClassifierCV(FrozenEstimator(forest)),
    ):
        with pytest.raises(ValueError, match="part of this one is frozen"):
            error_bound(frozen, X, y, random_state=0)
    with pytest.raises(ValueError, match="a hold-out needs X, not a precomputed kernel"):
        error_bound(SVC(kernel="precomputed"), X @ X.T, y)


def test_equal_rows_of_few_values_are_no_copies():
    random = np.random.default_rng(0)
    answers = (random.random((200, 25)) < 0.08).astype(float)
    y = random.integers(0, 2, 200)
    for X in (answers, StandardScaler().fit_transform(answers), answers + 0.5):
        assert not reason_against_independence(X, y, None)
    gaps = np.where(random.random((200, 25)) < 0.9, np.nan, answers)
    assert not reason_against_independence(gaps, y, None)
    measured = random.standard_normal((60, 25))
    assert "and so do 119 other pairs" in reason_against_independence(
        measured.repeat(3, axis=0), y[:180], None
    )


def as_memory_map(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def as_frame(library):
    return lambda X, folder: library({f"c{j}": X[:, j] for j in range(X.shape[1])})


CONTAINERS = {
    "array": lambda X, folder: X,
    "single": lambda X, folder: X.astype(np.float32),
    "list": lambda X, folder: X.tolist(),
    "csr": lambda X, folder: sparse.csr_array(X),
    "coo": lambda X, folder: sparse.coo_matrix(X),
    "memory map": as_memory_map,
    "pandas": as_frame(pd.DataFrame),
    "nullable": lambda X, folder: as_frame(pd.DataFrame)(X, folder).astype("Float64"),
    "polars": as_frame(polars.DataFrame),
    "pyarrow": as_frame(pyarrow.table),
}


@pytest.fixture(scope="module")
def few():
    y = np.arange(60) % 2
    return np.random.default_rng(0).normal(size=(60, 20)) + y[:, None], y


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("large", [None, 0], ids=["in memory", "by blocks"])
def test_copies_are_found_in_every_container(kind, large, few, tmp_path, monkeypatch):
    X, y = few
    if large is not None:
        monkeypatch.setattr(copies, "LARGE", large)
    make = CONTAINERS[kind]
    twice = make(np.vstack([X, X]), tmp_path)
    found = error_bound(MinimaxRiskClassifier(), twice, np.r_[y, y])
    assert not found.has_probability
    assert "and so do 59 other pairs" in found.reason
    assert not reason_against_independence(make(X, tmp_path), y, None)


def test_copies_in_columns_of_numbers_beside_texts(few):
    X, _ = few
    frame = pd.DataFrame(X).assign(sex=["f", "m"] * 30)
    twice = pd.concat([frame, frame], ignore_index=True)
    assert "rows 0 and 60 look" in reason_against_independence(twice, np.arange(120) % 2, None)


def test_where_rows_cannot_be_looked_at_that_is_said(few):
    texts = np.array(["a b", "c d"] * 30, dtype=object)[:, None]
    with pytest.warns(
        UserWarning, match="X holds no table of numbers, so it was not checked whether samples"
    ):
        assert not reason_against_independence(texts, few[1], None)


def test_sparse_texts_are_no_copies_unless_they_are(few):
    """Counts of words: empty texts, short ones, and some with the same words."""
    random, y = np.random.default_rng(0), np.arange(400) % 2
    shares = random.zipf(1.5, 3000).astype(float)
    lengths = random.poisson(random.choice([1, 8, 80], 400))
    counts = np.array([random.multinomial(length, shares / shares.sum()) for length in lengths])
    assert (counts.sum(axis=1) == 0).any()
    assert len(np.unique(counts, axis=0)) < 400
    weighted = TfidfTransformer().fit_transform(sparse.csr_array(counts))
    for rows in (counts[:200], weighted[:200]):
        assert not reason_against_independence(sparse.csr_array(rows), y[:200], None)
    # A dense table says the same: no column has many values, but rows of so many decimals are no chance.
    long = TfidfTransformer().fit_transform(sparse.csr_array(random.poisson(0.02, (100, 3000))))
    twice = sparse.vstack([long, long]).tocsr()
    for rows in (twice, twice.toarray()):
        assert not duplicate_rows(rows)


def test_digests_depend_on_rows_alone(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 40)) * (random.random((50, 40)) < 0.3)
    X[3], X[4], X[5, 0], X[6, :3] = 0.0, X[7], -0.0, [np.nan, np.inf, -np.inf]
    of_rows, n_decimals = row_digests(X)
    assert len(np.unique(of_rows)) == 49
    assert n_decimals.tolist() == [sum(x != np.trunc(x) for x in row if np.isfinite(x)) for row in X]
    stored = sparse.csr_array(X)
    stored.data[:2], X[np.nonzero(X[:1])[0][:2], np.nonzero(X[:1])[1][:2]] = 0.0, 0.0
    order = random.permutation(50)
    for each in (canonical(stored), Table(StoredArray(as_memory_map(np.asfortranarray(X), tmp_path)))):
        np.testing.assert_array_equal(row_digests(each), row_digests(X))
        np.testing.assert_array_equal(row_digests(each[order])[0], row_digests(X)[0][order])
    in_chunks = dask.array.from_array(X, chunks=(17, 11))
    np.testing.assert_array_equal(row_digests(in_chunks), row_digests(X))
    np.testing.assert_array_equal(row_digests(X.astype(np.float32)), row_digests(X))
    assert len(np.unique(row_digests(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 4.0], [0.0, 3.0]]))[0])) == 4
