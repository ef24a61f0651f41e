"""The clipped scaler: against the definition, sparse beside dense, in pipelines, under permuted labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.pipeline import make_pipeline

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    verify,
)


@pytest.fixture
def heavy_tails():
    rng = np.random.default_rng(0)
    return rng.standard_t(2, (41, 30)) * np.geomspace(1e-3, 1e3, 30) + rng.normal(size=30), np.arange(41) % 2


def counts(n, d, share, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < share, rng.poisson(4.0, (n, d)) + 1.0, 0.0)


def by_definition(column, limit=2.0):
    deviation = stats.median_abs_deviation(column)
    if deviation == 0.0:
        apart = column[column != np.median(column)]
        deviation = np.median(np.abs(apart - np.median(column))) if len(apart) else 1.0 / 1.4826
    return np.clip((column - np.median(column)) / (1.4826 * deviation), -limit, limit)


@pytest.mark.parametrize("n", [40, 41])
@pytest.mark.parametrize("limit", [0.5, 2, np.inf])
def test_values_are_those_of_the_definition(heavy_tails, n, limit):
    X = np.hstack([heavy_tails[0], counts(41, 5, 0.3), np.full((41, 1), 7.0)])[:n]
    found = ClippedScaler(limit=limit).fit_transform(X)
    assert np.allclose(found, np.column_stack([by_definition(x, limit) for x in X.T]), rtol=1e-12)
    assert np.abs(found).max() <= limit


def test_rounding_errors_of_a_constant_are_no_values():
    """Scaled up they would be columns of noise, which the classifier takes for a constant otherwise."""
    x = np.repeat([[0.1 + 0.2], [0.3], [0.3 + 2e-16]], 5, axis=0)
    assert len(np.unique(x)) > 1
    scaler = ClippedScaler().fit(x)
    assert scaler.scale_.tolist() == [1.0]
    assert not scaler.transform(x).any()


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("n", [40, 41])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.45])
def test_sparse_data_give_what_dense_ones_do_where_the_median_is_zero(container, n, share):
    X = counts(n, 50, share)
    X[:, ::2] *= -1.0
    at_zero = np.median(X, axis=0) == 0.0
    scaler = ClippedScaler().fit(container(X))
    found = scaler.transform(container(X))
    assert sparse.issparse(found)
    assert found.format == container(X).format
    assert not scaler.centre_.any()
    expected = ClippedScaler().fit_transform(X)
    assert at_zero.sum() > 25
    assert np.array_equal(found.toarray()[:, at_zero], expected[:, at_zero])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_single_precision_stays(container):
    X = container(counts(41, 10, 0.4).astype(np.float32))
    scaler = ClippedScaler().fit(X)
    assert scaler.transform(X).dtype == np.float32
    assert ClippedScaler().fit_transform(container(np.eye(4, dtype=int))).dtype == np.float64


def test_bad_data():
    X = counts(11, 3, 0.9)
    scaler = ClippedScaler().fit(X)
    with pytest.raises(ValueError, match="X must be dense"):
        scaler.transform(sparse.csr_array(X))
    with pytest.raises(ValueError, match="those of column 1 overflow"):
        ClippedScaler().fit(np.array([[0.0, -1.7e308], [1.0, 1.7e308], [2.0, -1.7e308], [2.0, 1.7e308]]))


def test_the_certificate_is_about_clipped_columns(heavy_tails):
    X, y = heavy_tails
    fitted = make_pipeline(ClippedScaler(), MinimaxRiskClassifier()).fit(X, y)
    assert verify(fitted[-1], fitted[:-1].transform(X), y).valid
    assert not verify(fitted[-1], X, y).valid
