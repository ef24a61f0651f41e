"""Radii solved one after the other: each begins at an iterate of the one before, with the same result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import reference
from minimaxrisk import MinimaxRiskClassifierCV
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk.engines.interior_point import engine
from minimaxrisk.engines.interior_point.engine import Relay
from minimaxrisk.engines.radius_path.radii import RadiusFamily, radius_path, solve_afresh
from minimaxrisk.engines.solution import EngineSettings
from problems import problem_of

RADII = 0.6 * 1.15 ** np.arange(5)
SETTINGS = EngineSettings("interior-point", gap_tol=1e-8)


def ordinary(rng, X):
    return X


def tied(rng, X):
    return np.round(X)


def duplicated(rng, X):
    return np.hstack([X, X[:, ::2], np.ones((len(X), 1))])


def mostly_zero(rng, X):
    return sparse.csr_matrix(np.where(rng.random(X.shape) < 0.3, X, 0.0))


def family_of(seed, change=ordinary, *, n_classes=3, n=24, d=30, weighted=False, grid=RADII, **options):
    rng = np.random.default_rng(seed)
    X, y = reference.random_problem(rng, n, d, n_classes)
    weights = 1.0 + rng.integers(0, 3, n) if weighted else None
    options = {"coding": "auto", "weights": weights} | options
    problem, _ = problem_of(change(rng, X), y, n_classes, radius=grid[-1], **options)
    return RadiusFamily(problem, grid[0], grid[-1])


@pytest.fixture(autouse=True)
def one_thread():
    """As the estimators have it: on matrices this small a second thread costs far more than it brings."""
    with suitable_threads(1):
        yield


@pytest.fixture
def starts(monkeypatch):
    """Whether each problem began at an iterate of another one."""
    found, real = [], Relay.start_for

    def record(self, lam):
        start = real(self, lam)
        found.append(start is not None)
        return start

    monkeypatch.setattr(Relay, "start_for", record)
    return found


CASES = [
    {},
    {"change": tied},
    {"change": duplicated},
    {"change": mostly_zero},
    {"weighted": True},
    {"marginal_is_known": True},
    {"marginal_is_known": True, "change": tied, "weighted": True},
    {"n_classes": 2, "coding": "one-hot"},
    {"n_classes": 2, "marginal_is_known": True},
    {"n_classes": 8, "n": 40, "d": 12},
    {"n": 60, "d": 4},
    {"standardize": False, "fit_intercept": False},
]


@pytest.mark.parametrize("options", CASES)
def test_as_from_the_beginning(starts, options):
    family = family_of(1, **options)
    path = radius_path(family, RADII[::-1], everywhere=False)[::-1]
    assert starts == [False, True, True, True, True]
    for radius, warm in zip(RADII, path, strict=True):
        cold = solve_afresh(family, radius)
        assert warm.radius == radius
        assert warm.upper == pytest.approx(cold.upper, abs=1e-9)
        assert warm.lower <= cold.upper + 1e-12
        assert warm.upper - warm.lower <= 1e-8


@pytest.mark.parametrize("change", [ordinary, tied])
def test_iterates_outside_the_set_are_not_believed(change):
    """With known instances rounding makes some of the last iterates claim more than R*."""
    for seed in range(6):
        family = family_of(seed, change, n_classes=4, marginal_is_known=True)
        for radius in (0.2, 0.5):
            found = solve_afresh(replace(family, smallest=0.2), radius)
            assert found.upper - found.lower <= 1e-8


def test_fewer_iterations():
    grid = 0.5 * 1.1 ** np.arange(8)
    family = family_of(0, n=30, d=100, grid=grid)
    relay, warm, cold = Relay(), 0, 0
    relay.growth = 0.1
    for radius in grid:
        warm += len(engine.interior_point(family.at(radius), SETTINGS, relay=relay).history)
        cold += len(engine.interior_point(family.at(radius), SETTINGS).history)
    assert warm < 0.8 * cold


def test_smaller_radii_begin_anew(starts):
    family, relay = family_of(4), Relay()
    relay.growth = 0.1
    for radius in (1.0, 2.0, 1.5, 1.5, 3.0):
        warm = engine.interior_point(family.at(radius), SETTINGS, relay=relay)
        assert warm.upper == pytest.approx(solve_afresh(family, radius).upper, abs=1e-9)
    assert starts == [False, True, False, True, True]


def test_radii_that_are_too_far_away_begin_anew(starts):
    family, relay = family_of(4), Relay()
    for growth in (0.1, 3.0, 0.1):
        relay.growth = growth
        engine.interior_point(family.at(1.0), SETTINGS, relay=relay)
    assert starts == [False, True, False]


def test_radii_that_hardly_differ_and_radii_that_differ_much():
    for grid in (1.0 + 1e-7 * np.arange(4), np.array([1e-3, 0.5, 40.0, 41.0])):
        family = family_of(6, grid=grid)
        for one in radius_path(family, grid[::-1], everywhere=False):
            assert one.upper == pytest.approx(solve_afresh(family, one.radius).upper, abs=1e-9)


def test_radii_that_are_thin_at_first():
    """Where constraints were widened for the small radii, those of the next may be narrower again."""
    grid = np.array([1e-7, 5e-5, 2e-4, 1e-2, 1.0])
    family = family_of(7, n=12, grid=grid)
    assert (family.at(grid[0]).lam < 1e-5).any()
    for one in radius_path(family, grid[::-1], everywhere=False):
        assert one.upper - one.lower <= 1e-6
        assert one.upper == pytest.approx(solve_afresh(family, one.radius).upper, abs=1e-8)


@pytest.fixture(scope="module")
def three_classes():
    return reference.random_problem(np.random.default_rng(8), 30, 40, 3)


@pytest.mark.parametrize("criterion", ["cross-validation", "noise-floor"])
def test_the_choice_of_a_radius_goes_from_one_to_the_next(three_classes, starts, criterion):
    model = MinimaxRiskClassifierCV(
        radii=[0.5, 0.6, 0.7], criterion=criterion, cv=2, n_permutations=1, random_state=0
    )
    model.fit(*three_classes)
    # Two folds, or the labels as they are and permuted.
    assert starts == [False, True, True] * 2
