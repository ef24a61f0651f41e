"""RandomFourierFeatures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk import RandomFourierFeatures


def test_columns_are_cosines_and_sines_of_the_same_projections():
    X = np.random.default_rng(0).standard_normal((7, 3))
    model = RandomFourierFeatures(10, gamma=0.3, random_state=1).fit(X)
    projection = X @ model.directions_
    np.testing.assert_allclose(model.transform(X), np.hstack([np.cos(projection), np.sin(projection)]))
    np.testing.assert_allclose(model.transform(sparse.csr_array(X)), model.transform(X))
    assert RandomFourierFeatures(7, random_state=1).fit_transform(X).shape == (7, 7)


@pytest.mark.parametrize("gamma", ["scale", 0.5])
def test_products_approximate_the_gaussian_kernel(gamma):
    X = np.random.default_rng(0).standard_normal((5, 4))
    model = RandomFourierFeatures(40000, gamma=gamma, random_state=0).fit(X)
    variance = 2 / 4 if gamma == "scale" else gamma
    assert model.gamma_ == variance
    assert model.directions_.var() == pytest.approx(variance, rel=0.02)
    Z = model.transform(X)
    distance = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(Z @ Z.T / 20000, np.exp(-variance * distance / 2), atol=0.03)


def test_seed_decides():
    X = np.zeros((1, 3))
    one, two, other = (RandomFourierFeatures(6, random_state=s).fit(X).directions_ for s in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert (one != other).all()


def test_names_out():
    names = RandomFourierFeatures(4).fit(np.zeros((2, 2))).get_feature_names_out()
    assert names.tolist() == [f"randomfourierfeatures{j}" for j in range(4)]


@pytest.mark.parametrize("parameters", [{"gamma": 0.0}, {"gamma": "auto"}, {"n_components": 0}])
def test_bad_parameters(parameters):
    with pytest.raises(ValueError, match=f"The '{next(iter(parameters))}' parameter"):
        RandomFourierFeatures(**parameters).fit(np.zeros((2, 2)))
