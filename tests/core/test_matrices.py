"""Every container answers what the definition says, and a new one is a class of seven operations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier, permutation_test, verify
from minimaxrisk._utils.arrays import to_numpy
from minimaxrisk.matrices import scaling
from minimaxrisk.matrices.dense import StoredMatrix
from minimaxrisk.matrices.device import DeviceMatrix
from minimaxrisk.matrices.matrix import Matrix
from minimaxrisk.matrices.scaling import PartOfRows, features_of, standardise, standardise_parts

N, D, K = 60, 40, 3


class ListOfRows(Matrix):
    """A container that the library does not know: a list of arrays, one for each row."""

    def __init__(self, rows):
        self.rows = list(rows)

    @property
    def shape(self):
        return len(self.rows), len(self.rows[0])

    def left(self, weights, shift=None, *, alike=False):
        shift = 0.0 if shift is None else shift
        return sum(np.outer(mass, row - shift) for mass, row in zip(weights.T, self.rows, strict=True))

    def right(self, coefficients, columns, shift):
        shift = 0.0 if shift is None else shift
        return np.stack([coefficients @ (row[columns] - shift) for row in self.rows], axis=1)

    def columns(self, indices):
        return np.stack([row[indices] for row in self.rows])

    def rows_at(self, indices):
        return np.stack([self.rows[i] for i in indices])

    def reduce(self, functions, weights, shift, factor, *, alike=False):
        inner = [(row - shift) * factor for row in self.rows]
        return [ListOfRows(map(function, inner)).left(weights) for function in functions]


KINDS = {
    "plain": lambda noise, labels: noise + np.arange(D),
    "mean of 1e5 deviations": lambda noise, labels: noise + 1e5,
    "mean of 1e9 deviations": lambda noise, labels: noise + 1e9,
    "huge": lambda noise, labels: 1e200 * noise,
    "tiny": lambda noise, labels: 1e-170 * noise,
    "nearly the label": lambda noise, labels: labels[:, None] + 1e-7 * noise,
    "constants": lambda noise, labels: np.where(np.arange(D) % 3 == 0, 5.1, noise),
    "zeros": lambda noise, labels: np.where(np.abs(noise) < 1.0, 0.0, noise),
    "one of each": lambda noise, labels: np.column_stack(
        [noise[:, :3], 1e200 * noise[:, 3:5], noise[:, 5:8] + 1e6, 0.0 * noise[:, 8:9], noise[:, 9:]]
    ),
}


def copied(X, rows, p_hat, **options):
    return features_of(X, rows, p_hat, copy=True, **options)


def in_place(X, rows, p_hat, **options):
    return features_of(X, rows, p_hat, copy=False, **options)


def by_rows(X, rows, p_hat, *, standardize, fit_intercept):
    return standardise(
        ListOfRows(X), PartOfRows(rows, p_hat), centre=standardize, fit_intercept=fit_intercept
    )


def of_sparse(X, rows, p_hat, **options):
    return features_of(sparse.csr_array(X), rows, p_hat, **options)


def of_dask(X, rows, p_hat, **options):
    arrays = pytest.importorskip("dask.array")
    return features_of(arrays.from_array(X, chunks=(25, 17)), rows, p_hat, **options)


def on_device(library):
    def container(X, rows, p_hat, *, standardize, fit_intercept):
        pytest.importorskip("array_api_compat")
        matrix = DeviceMatrix(pytest.importorskip(library).asarray(X))
        return standardise(matrix, PartOfRows(rows, p_hat), centre=standardize, fit_intercept=fit_intercept)

    return container


CONTAINERS = [
    copied,
    in_place,
    by_rows,
    of_sparse,
    of_dask,
    on_device("array_api_strict"),
    on_device("torch"),
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that small data have many blocks."""
    for name in ("BLOCK_ELEMENTS", "BLOCK_ON_DISK"):
        monkeypatch.setattr(f"minimaxrisk._utils.stored_tables.{name}", 700)
    monkeypatch.setattr("minimaxrisk._utils.stored_tables.FEWEST_ROWS", 13)


def a_sample(seed=0):
    """Rows of weight zero among others, and the distribution of labels on the rest."""
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % K
    rows = np.flatnonzero(rng.random(N) < 0.8)
    p_hat = np.zeros((K, len(rows)))
    p_hat[labels[rows], np.arange(len(rows))] = rng.dirichlet(np.ones(len(rows)))
    return rng, labels, rows, p_hat


class Definition:
    """The features from their definition, in long numbers."""

    def __init__(self, X, p_hat, *, standardize, fit_intercept):
        Z, weights = X.astype(np.longdouble), p_hat.sum(axis=0).astype(np.longdouble)
        mean = weights @ Z
        constant = np.ptp(X, axis=0) == 0.0 if standardize else ~X.any(axis=0)
        Z = np.where(constant, 0.0, Z - mean if standardize else Z)
        deviation = np.sqrt(weights @ Z**2)
        # Digits are lost where a mean that is large beside the spread is subtracted, or stays.
        varies = ~constant
        spread = np.sqrt(weights @ (X.astype(np.longdouble) - mean) ** 2)
        self.lost = 1.0 + float(np.max(np.abs(mean[varies]) / spread[varies], initial=0.0))
        Z = Z / np.where(constant, 1.0, deviation)
        self.Z = np.hstack([np.ones((len(Z), int(fit_intercept))), Z])
        self.mean = np.stack([mass @ self.Z / mass.sum() for mass in p_hat])
        self.variance = np.stack(
            [mass @ (self.Z - mean) ** 2 / mass.sum() for mass, mean in zip(p_hat, self.mean, strict=True)]
        )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_moments_and_columns_are_those_of_the_definition(container, kind, standardize, fit_intercept):
    rng, labels, rows, p_hat = a_sample()
    X = KINDS[kind](rng.standard_normal((N, D)), labels)
    options = {"standardize": standardize, "fit_intercept": fit_intercept}
    features, moments, scale = container(X, rows, p_hat, **options)
    wanted = Definition(X[rows], p_hat, **options)
    accuracy = 1e-13 * wanted.lost
    mean, variance = to_numpy(moments.mean), to_numpy(moments.variance)
    every = np.arange(features.shape[1])
    Z = wanted.Z.astype(float)
    np.testing.assert_allclose(features.columns(every), Z, atol=10 * accuracy)
    np.testing.assert_allclose(mean, wanted.mean.astype(float), atol=10 * accuracy)
    relative = 1e-8 if kind == "nearly the label" else 1e-10 * wanted.lost
    deviation = np.sqrt(wanted.variance).astype(float)
    np.testing.assert_allclose(np.sqrt(variance), deviation, rtol=relative, atol=1e-15 * wanted.lost)
    inner = (X[rows] - scale.shift) / scale.scale
    varies = Z[:, features.lead :].any(axis=0)
    np.testing.assert_allclose(inner[:, varies], Z[:, features.lead :][:, varies], atol=10 * accuracy)


@pytest.mark.parametrize("kind", ["plain", "mean of 1e5 deviations", "huge", "zeros", "one of each"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_answers_are_those_of_the_definition(container, kind):
    rng, labels, rows, p_hat = a_sample(1)
    X = KINDS[kind](rng.standard_normal((N, D)), labels)
    options = {"standardize": True, "fit_intercept": True}
    features, _, _ = container(X, rows, p_hat, **options)
    wanted = Definition(X[rows], p_hat, **options)
    Z, n, atol = wanted.Z.astype(float), len(rows), 1e-14 * wanted.lost
    V, M, few = rng.standard_normal((K, n)), rng.standard_normal((2, D + 1)), np.array([0, 3, 17, 30])
    signed = rng.standard_normal((5, n))
    mixed = features.averaged(sparse.csr_array(signed), are_means=False)
    sparse_M = M * (rng.random(D + 1) < 0.2)
    shares = sparse.csr_array(rng.dirichlet(np.ones(n), 5))
    other = rng.dirichlet(np.ones(K * n)).reshape(K, n)
    units = rng.uniform(1.0, 2.0, len(few))
    V_shifted, shift = features.shifted_columns(few)
    first = rng.standard_normal((2, D + 1))
    first[:, 0] = 1.0
    pairs = {
        "correlate": (features.correlate(V), V @ Z),
        "correlate many": (to_numpy(features.correlate_on_device(V, alike=True)), V @ Z),
        "combine": (features.combine(M), M @ Z.T),
        "combine few": (features.combine(sparse_M), sparse_M @ Z.T),
        "combine some": (features.combine_some(few, M[:, few]), M[:, few] @ Z[:, few].T),
        "means": (features.means_of(lambda values: values * values * values, V), V @ Z**3),
        "shifted": (V_shifted.toarray() - shift, Z[:, few]),
        "columns": (features.columns(few[::-1]), Z[:, few[::-1]]),
        "working rows": (features.working_rows(few, units)[np.arange(4)], (Z[:, few] * units).T),
        "gram": (features.gram(np.linspace(0, 1, D + 1)), (Z * np.linspace(0, 1, D + 1) ** 2) @ Z.T),
        "averaged": (features.averaged(shares).correlate(V[:, :5]), V[:, :5] @ shares @ Z),
        "mixed": (mixed.correlate(V[:, :5]), V[:, :5] @ signed @ Z),
        "scores of mixed": (mixed.combine(M), M @ (signed @ Z).T),
        "means of mixed": (
            mixed.means_of(lambda values: values * values, V[:, :5]),
            V[:, :5] @ (signed @ Z) ** 2,
        ),
        "some mixed rows": (
            mixed.some_rows(few[:2], after=M).columns(few)[2:],
            (signed @ Z)[few[:2]][:, few],
        ),
        "some rows": (
            features.some_rows(np.array([2, 0]), after=first).columns(np.arange(D + 1)),
            np.vstack([first, Z[[2, 0]]]),
        ),
        "deviations": (
            features.largest_deviations(V[None], np.ones(1), wanted.mean.astype(float), np.ones((K, D + 1))),
            np.abs(V @ Z - wanted.mean.astype(float)).max(axis=1)[None],
        ),
    }
    varies = Z.any(axis=0)
    pairs["some rows"] = tuple(each[:, varies] for each in pairs["some rows"])
    for name, (found, expected) in pairs.items():
        np.testing.assert_allclose(found, expected, atol=100 * atol, rtol=1e-10, err_msg=name)
    (moments,) = features.class_moments([other])
    mean = other @ Z / other.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(to_numpy(moments.mean), mean, atol=100 * atol)
    assert features.n_passes > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("container", [copied, in_place])
def test_parts_are_scaled_as_if_they_were_all(container, kind):
    """Where the whole is, and with what one sample hides: a wild value, a constant column."""
    rng, labels, rows, p_hat = a_sample(2)
    X = KINDS[kind](rng.standard_normal((N, D)), labels)
    X[rows[0], 4] = 1e7 * (1.0 + np.abs(X[:, 4]).max())
    X[rows[1:], 7] = 3.3
    whole, _, _ = container(X, rows, p_hat, standardize=True, fit_intercept=True)
    parts = []
    for _ in range(3):
        places = np.sort(rng.choice(np.arange(1, len(rows)), 30, replace=False))
        own = p_hat[:, places]
        parts.append(PartOfRows(places, own / own.sum()))
    found = standardise_parts(whole, parts, centre=True)
    for part, (features, moments, scale) in zip(parts, found, strict=True):
        options = {"standardize": True, "fit_intercept": True}
        wanted = Definition(X[rows[part.rows]], part.p_hat, **options)
        atol = 1e-12 * wanted.lost
        np.testing.assert_allclose(
            features.columns(np.arange(D + 1)), wanted.Z.astype(float), atol=atol, err_msg=kind
        )
        np.testing.assert_allclose(moments.mean, wanted.mean.astype(float), atol=atol)
        V = rng.standard_normal((2, 30))
        np.testing.assert_allclose(features.correlate(V), V @ wanted.Z.astype(float), atol=1e3 * atol)
        np.testing.assert_allclose(features.copied().correlate(V), features.correlate(V), atol=1e3 * atol)
        assert scale.shift[7] == pytest.approx(3.3)
        assert not features.columns(np.array([8])).any()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_new_container_needs_no_change_of_a_solver(n_classes, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((N, 300)), np.arange(N) % n_classes
    X[:, :6] += 1.5 * (y[:, None] == np.arange(6) % n_classes)
    learners = [
        lambda: MinimaxRiskClassifier().fit(X, y),
        lambda: MinimaxRiskClassifier(radius="bootstrap").fit(X, y),
        lambda: MinimaxRiskEnsembleClassifier(n_estimators=3, random_state=0, ball=False, certify=True).fit(
            X, y
        ),
    ]
    options = {"n_permutations": 2, "random_state": 0}
    expected = [fit() for fit in learners]
    null_distribution = permutation_test(MinimaxRiskClassifier(), X, y, **options).null_distribution
    made = []

    def lists_of_rows(X, rows, *, copy):
        made.append(ListOfRows(np.asarray(X[:, :])))
        return made[-1], rows

    monkeypatch.setattr(scaling, "matrix_of_table", lists_of_rows)
    for fit, wanted in zip(learners, expected, strict=True):
        model = fit()
        is_exact = isinstance(model, MinimaxRiskClassifier)
        accuracy = 1e-7 if is_exact else 5e-3
        assert model.worst_case_error_ == pytest.approx(wanted.worst_case_error_, abs=accuracy)
        if is_exact:
            np.testing.assert_array_equal(model.selected_features_, wanted.selected_features_)
    assert made
    assert verify(learners[0](), X, y).valid
    found = permutation_test(MinimaxRiskClassifier(), X, y, **options).null_distribution
    np.testing.assert_allclose(found, null_distribution, atol=1e-3)


def test_rough_passes_have_the_digits_of_the_data():
    rng, _, rows, p_hat = a_sample()
    X = rng.standard_normal((N, D)).astype(np.float32)
    features, _, _ = in_place(X, rows, p_hat, standardize=True, fit_intercept=True)
    V = rng.standard_normal((1, len(rows)))
    difference = np.abs(features.correlate_on_device(V, roughly=True) - features.correlate(V)).max()
    assert features.has_rough_passes
    assert 0.0 < difference < 1e-4


def test_a_row_of_many_does_not_depend_on_the_others():
    rng, _, rows, p_hat = a_sample()
    features, _, _ = copied(rng.standard_normal((N, D)), rows, p_hat, standardize=True, fit_intercept=True)
    V = rng.standard_normal((50, len(rows)))
    every = features.correlate_on_device(V, alike=True)
    for i in (0, 7, 31):
        np.testing.assert_array_equal(
            features.correlate_on_device(V[i : i + 3], alike=True), every[i : i + 3]
        )
    assert isinstance(features.matrix, StoredMatrix)
