"""The clipped scaler: against the definition, sparse beside dense, in pipelines, under permuted labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskSelector,
    permutation_test,
    verify,
)
from minimaxrisk.analysis import permutation_test as permutation_module
from minimaxrisk.analysis.permutation_test import ignores_labels


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


def test_normal_columns_keep_their_standard_deviation():
    x = np.random.default_rng(0).normal(5.0, 3.0, (200_000, 1))
    scaler = ClippedScaler().fit(x)
    assert abs(scaler.scale_[0] - 3.0) < 0.03
    assert abs(scaler.centre_[0] - 5.0) < 0.03


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


def test_sparse_data_that_are_mostly_not_zero_are_scaled_by_their_size():
    X = counts(41, 20, 0.9)
    scaler = ClippedScaler().fit(sparse.csc_array(X))
    assert np.array_equal(scaler.scale_, 1.4826 * np.median(np.abs(X), axis=0))
    assert scaler.transform(sparse.csc_array(X)).nnz == np.count_nonzero(X)


def test_stored_zeros_and_duplicates_count_as_what_they_are():
    plain = sparse.csr_array(np.array([[0.0, 3.0], [0.0, 1.0], [2.0, 0.0]]))
    entries = [0.0, 1.5, 1.5, 1.0, 2.0]
    odd = sparse.csr_array((entries, [0, 1, 1, 1, 0], [0, 3, 4, 5]), shape=(3, 2))
    assert not odd.has_canonical_format
    before = odd.copy()
    assert np.array_equal(ClippedScaler().fit(odd).scale_, ClippedScaler().fit(plain).scale_)
    assert np.array_equal(odd.data, before.data)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_single_precision_stays(container):
    X = container(counts(41, 10, 0.4).astype(np.float32))
    scaler = ClippedScaler().fit(X)
    assert scaler.transform(X).dtype == np.float32
    assert scaler.inverse_transform(scaler.transform(X)).dtype == np.float32
    assert ClippedScaler().fit_transform(container(np.eye(4, dtype=int))).dtype == np.float64


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_what_was_not_clipped_comes_back(heavy_tails, container):
    X = container(np.where(np.abs(heavy_tails[0]) > 0.01, heavy_tails[0], 0.0))
    scaler = ClippedScaler().fit(X)
    scaled = scaler.transform(X)
    back = scaler.inverse_transform(scaled)
    X, scaled, back = (value.toarray() if sparse.issparse(value) else value for value in (X, scaled, back))
    inside = np.abs(scaled) < 2.0
    assert 0 < (~inside).sum() < inside.sum()
    assert np.allclose(back[inside], X[inside], rtol=1e-12, atol=1e-15)
    ends = np.where(scaled > 0, scaler.centre_ + 2 * scaler.scale_, scaler.centre_ - 2 * scaler.scale_)
    assert np.allclose(back[~inside], ends[~inside], rtol=1e-12)


@pytest.mark.parametrize("limit", [0, -1.0, np.nan, None, "2", [2.0]])
def test_bad_limits(limit):
    with pytest.raises(ValueError, match="'limit' parameter of ClippedScaler must be a float in the range"):
        ClippedScaler(limit=limit).fit(np.eye(3))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_what_is_not_a_number_is_refused(value, container):
    X = counts(10, 3, 0.5)
    scaler = ClippedScaler().fit(container(X))
    X[0, 0] = value
    for method in (ClippedScaler().fit, scaler.transform, scaler.inverse_transform):
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            method(container(X))


def test_bad_data():
    X = counts(11, 3, 0.9)
    scaler = ClippedScaler().fit(X)
    for method in (scaler.transform, scaler.inverse_transform):
        with pytest.raises(ValueError, match="X must be dense, because the scaler was fitted on dense data"):
            method(sparse.csr_array(X))
    with pytest.raises(ValueError, match="the 3 columns that were fitted, got 2"):
        scaler.inverse_transform(X[:, :2])
    with pytest.raises(ValueError, match="those of column 1 overflow"):
        ClippedScaler().fit(np.array([[0.0, -1.7e308], [1.0, 1.7e308], [2.0, -1.7e308], [2.0, 1.7e308]]))


@pytest.mark.parametrize(
    "last",
    [
        MinimaxRiskClassifier(),
        MinimaxRiskSelector(),
        make_pipeline(RBFSampler(random_state=0), MinimaxRiskClassifier()),
    ],
)
def test_before_every_estimator(heavy_tails, last):
    X, y = heavy_tails
    fitted = make_pipeline(ClippedScaler(), last).fit(X, y)
    alone = clone(last).fit(ClippedScaler().fit_transform(X), y)
    method = "predict" if hasattr(fitted, "predict") else "transform"
    expected = getattr(alone, method)(ClippedScaler().fit(X).transform(X))
    assert np.array_equal(getattr(fitted, method)(X), expected)


def test_the_certificate_is_about_clipped_columns(heavy_tails):
    X, y = heavy_tails
    fitted = make_pipeline(ClippedScaler(), MinimaxRiskClassifier()).fit(X, y)
    assert verify(fitted[-1], fitted[:-1].transform(X), y).valid
    assert not verify(fitted[-1], X, y).valid


class CentredByLabel(TransformerMixin, BaseEstimator):
    """Looks at labels without saying so."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0) if y is None else X[np.asarray(y) == y[0]].mean(axis=0)
        return self

    def transform(self, X):
        return np.abs(X - self.mean_)


class SupervisedScaler(StandardScaler):
    """Of a known kind, and yet another."""


def refitted_for_every_permutation(pipeline, X, y, monkeypatch, **options):
    with monkeypatch.context() as patch:
        patch.setattr(permutation_module, "ignores_labels", lambda *_, **__: False)
        return permutation_test(pipeline, X, y, 5, random_state=0, **options)


LABEL_FREE_STEPS = [
    [ClippedScaler()],
    [StandardScaler()],
    [FunctionTransformer(np.cbrt), "passthrough", ClippedScaler(limit=1.0)],
    [PCA(5, random_state=0)],
]


@pytest.mark.parametrize("steps", LABEL_FREE_STEPS)
@pytest.mark.parametrize("weights", [None, 1.0 + np.arange(41) % 3])
def test_steps_without_labels_are_fitted_once(heavy_tails, monkeypatch, steps, weights):
    """And then the classifier alone is tested: bit for bit as on columns that were transformed beforehand."""
    X, y = heavy_tails
    options = {"sample_weight": weights}
    transformed = Pipeline([(str(i), step) for i, step in enumerate(steps)]).fit_transform(X)
    for classifier in (MinimaxRiskClassifier(), MinimaxRiskClassifier(class_weight="balanced")):
        pipeline = make_pipeline(*steps, classifier)
        found = permutation_test(pipeline, X, y, 5, random_state=0, **options)
        alone = permutation_test(classifier, transformed, y, 5, random_state=0, **options)
        assert np.array_equal(found.null_distribution, alone.null_distribution)
        assert found.statistic == alone.statistic
        again = refitted_for_every_permutation(pipeline, X, y, monkeypatch, **options)
        assert np.allclose(found.null_distribution, again.null_distribution, atol=1e-3)
    # With class weights the classifier is fitted for every permutation either way.
    assert np.array_equal(found.null_distribution, again.null_distribution)
    assert found.statistic == again.statistic


@pytest.mark.parametrize(
    "step",
    [SelectKBest(k=5), MinimaxRiskSelector(), CentredByLabel(), SupervisedScaler(), PCA(5)],
)
def test_other_steps_are_fitted_for_every_permutation(step):
    pipeline = make_pipeline(ClippedScaler(), step, MinimaxRiskClassifier())
    assert not ignores_labels(pipeline, has_weights=False)


def test_a_step_that_looks_at_labels_unasked_changes_with_them(heavy_tails, monkeypatch):
    X, y = heavy_tails
    pipeline = make_pipeline(CentredByLabel(), MinimaxRiskClassifier())
    found = permutation_test(pipeline, X, y, 5, random_state=0)
    again = refitted_for_every_permutation(pipeline, X, y, monkeypatch)
    assert np.array_equal(found.null_distribution, again.null_distribution)


def test_weights_that_are_routed_to_a_step_reach_it(heavy_tails, monkeypatch):
    X, y = heavy_tails
    weights = 1.0 + np.arange(41) % 5
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(
            scaler, FunctionTransformer(np.abs), MinimaxRiskClassifier(standardize=False)
        )
        found = permutation_test(pipeline, X, y, 5, random_state=0, sample_weight=weights)
        again = refitted_for_every_permutation(pipeline, X, y, monkeypatch, sample_weight=weights)
    transformed = np.abs(StandardScaler().fit_transform(X, sample_weight=weights))
    alone = permutation_test(
        MinimaxRiskClassifier(standardize=False), transformed, y, 5, random_state=0, sample_weight=weights
    )
    assert np.array_equal(found.null_distribution, again.null_distribution)
    assert np.allclose(found.null_distribution, alone.null_distribution, atol=1e-3)
