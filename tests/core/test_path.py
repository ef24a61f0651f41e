"""The path over the radius: the same as separate fits, and certified in between."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import reference
from minimaxrisk import MinimaxRiskClassifier, minimax_risk_path
from minimaxrisk.engines.radius_path import radii as engine

RADII = np.geomspace(0.2, 6.0, 4)


def fits(X, y, radii, weights=None, **options):
    return [MinimaxRiskClassifier(radius=s, gap_tol=1e-9, **options).fit(X, y, weights) for s in radii]


def risks(models):
    return np.array([model.worst_case_error_ for model in models])


def check_against_fits(path, models):
    assert np.abs(path.worst_case_error - risks(models)).max() <= 1e-7
    assert (path.worst_case_error - path.lower).max() <= 1e-7
    assert (path.lower <= path.worst_case_error).all()
    assert (path.lower <= risks(models) + 1e-12).all()
    assert path.classes.tolist() == models[0].classes_.tolist()


def random_data(seed, n=30, d=40, n_classes=2):
    return reference.random_problem(np.random.default_rng(seed), n, d, n_classes)


@pytest.fixture
def never_afresh(monkeypatch):
    """Fail where the vertex was not followed all the way."""

    solve = engine.RadiusFamily.solve

    def refuse(family, radius, warm_start=None):
        assert warm_start is not None, f"radius {radius} was solved from scratch"
        return solve(family, radius, warm_start)

    monkeypatch.setattr(engine.RadiusFamily, "solve", refuse)


def test_coefficients_are_those_of_separate_fits(never_afresh, wide):
    X, labels = wide
    y = labels == "alpha"
    path, models = minimax_risk_path(X, y, RADII), fits(X, y, RADII)
    check_against_fits(path, models)
    assert path.coefs.shape == (len(RADII), 1, X.shape[1])
    assert path.intercepts.shape == (len(RADII), 1)
    for i, model in enumerate(models):
        # The optimum is unique.
        assert np.allclose(path.coefs[i], model.coef_, atol=1e-7)
        assert np.allclose(path.intercepts[i], model.intercept_, atol=1e-7)
        assert path.rules[i].threshold == pytest.approx(model.threshold_, abs=1e-7)
        assert path.selected_features[i].tolist() == model.selected_features_.tolist()
        assert path.n_features[i] == model.n_features_selected_


@pytest.mark.parametrize("kind", ["raw", "sparse and tied", "eight classes", "constant and repeated"])
@pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.CoverageWarning")  # it would cover
def test_the_same_as_separate_fits(kind):
    """Also without an intercept, with more classes than sets are enumerated for, and in a data frame."""
    X, y = random_data(3, d=10, n_classes=8 if kind == "eight classes" else 2)
    options = {"standardize": False, "fit_intercept": False} if kind == "raw" else {}
    if kind == "sparse and tied":
        rng = np.random.default_rng(3)
        X = sparse.csr_matrix(np.where(rng.random(X.shape) < 0.4, np.round(X), 0.0))
    elif kind == "constant and repeated":
        X = pd.DataFrame(X, columns=list("abcdefghij")).assign(one=1.0, zero=0.0, copy_of_a=X[:, 0])
    path = minimax_risk_path(X, y, RADII, **options)
    check_against_fits(path, fits(X, y, RADII, **options))
    if kind == "constant and repeated":
        assert not path.coefs[:, :, 10:12].any()


def test_order_and_repetition_are_those_of_the_caller():
    X, y = random_data(8)
    mixed = [2.0, 0.5, 5.0, 0.5, 1.0]
    path, ascending = minimax_risk_path(X, y, mixed), minimax_risk_path(X, y, [0.5, 1.0, 2.0, 5.0])
    assert path.radii.tolist() == mixed
    order = [2, 0, 3, 0, 1]
    assert np.array_equal(path.worst_case_error, ascending.worst_case_error[order])
    assert np.array_equal(path.lower, ascending.lower[order])
    assert np.array_equal(path.coefs, ascending.coefs[order])
    assert np.array_equal(path.n_features, ascending.n_features[order])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("breakpoints", [False, True])
def test_bounds_hold_between_the_radii(n_classes, breakpoints):
    X, y = random_data(10, n_classes=n_classes)
    path = minimax_risk_path(X, y, [0.3, 1.0, 4.0], breakpoints=breakpoints)
    between = np.random.default_rng(0).uniform(0.3, 4.0, 4)
    lower, upper = path.bounds(between)
    models = fits(X, y, between)
    assert (lower <= risks(models) + 1e-12).all()
    assert (upper >= [model.worst_case_error_lower_ - 1e-12 for model in models]).all()
    width = upper - lower
    assert (width <= 1e-8).all() if breakpoints else (width > 1e-4).any()
    assert path.bounds(between[0]) == (lower[0], upper[0])
    assert path.bounds(between.reshape(2, 2))[0].shape == (2, 2)
    # R* is concave in the radius, and never falls.
    risk = minimax_risk_path(X, y, np.linspace(0.3, 4.0, 8)).worst_case_error
    assert (np.diff(risk) >= -1e-9).all()
    assert (np.diff(risk, 2) <= 1e-9).all()


def brute_force_breakpoints(X, y, low, high):
    """Where the slope changes, by bisection with the reference program's own coefficients."""
    Phi = reference.phi_vectors(reference.scaled_columns(X), 2, "signed")
    unit = reference.tau_and_lambda(Phi, y, 1.0)[1]

    def tangent(s):
        value, mu = reference.minimax_risk(Phi, *reference.tau_and_lambda(Phi, y, s))
        slope = float(unit @ np.abs(mu))
        return value - slope * s, slope

    found = []

    def search(left, right):
        if abs(left[1] - right[1]) < 1e-7:
            return
        s = (right[0] - left[0]) / (left[1] - right[1])
        middle = tangent(s)
        if middle[0] + middle[1] * s > left[0] + left[1] * s - 1e-10:
            found.append(s)
            return
        search(left, middle)
        search(middle, right)

    search(tangent(low), tangent(high))
    return np.array(found)


def test_breakpoints_against_brute_force(never_afresh):
    X, y = random_data(11, n=14, d=5)
    path = minimax_risk_path(X, y, [0.3, 4.0], breakpoints=True)
    expected = brute_force_breakpoints(X, y, 0.3, 4.0)
    assert len(expected) >= 5
    assert path.breakpoints == pytest.approx(expected, abs=1e-6)
    assert path.breakpoint_errors == pytest.approx(path.bounds(path.breakpoints)[1], abs=1e-12)


def test_lower_bounds_hold_where_the_radii_pass_their_smallest_value():
    """Below s = 1e-9 sqrt(n) R* stands still, so that it is not concave and a chord would be above it."""
    X, y = random_data(0, n=12, d=30)
    turn = 1e-9 * np.sqrt(12)
    path = minimax_risk_path(X, y, [0.2 * turn, 20.0 * turn])
    between = np.array([0.5, 0.9, 2.0, 5.0]) * turn
    upper = risks(fits(X, y, between))
    chords = np.interp(between, path.radii, path.lower)
    assert (chords > upper + 1e-10).all()
    assert (path.bounds(between)[0] <= upper + 1e-12).all()


@pytest.mark.parametrize("radii", [[], 1.0, [[1.0, 2.0]], ["1"], [1.0, 0.0], [-1], [1.0, np.nan], [np.inf]])
def test_bad_radii(radii):
    with pytest.raises(ValueError, match="radii must be"):
        minimax_risk_path(*random_data(16), radii)


@pytest.mark.parametrize("asked", [0.9, 3.1, np.nan, [1.5, 7.0]])
def test_bounds_outside_the_path(asked):
    path = minimax_risk_path(*random_data(16), [1.0, 3.0])
    with pytest.raises(ValueError, match="radius must lie between"):
        path.bounds(asked)


def test_a_weight_is_so_many_copies():
    X, y = random_data(4)
    weights = np.random.default_rng(4).integers(0, 4, len(y))
    repeated = minimax_risk_path(np.repeat(X, weights, axis=0), np.repeat(y, weights), RADII)
    weighted = minimax_risk_path(X, y, RADII, weights)
    assert repeated.worst_case_error == pytest.approx(weighted.worst_case_error, abs=1e-9)
