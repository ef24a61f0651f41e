"""Radii solved one after the other: each begins at an iterate of the one before, with the same result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import reference
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk.engines.radius_path.radii import RadiusFamily, radius_path
from problems import problem_of

RADII = 0.6 * 1.15 ** np.arange(5)


def family_of(seed, *, n_classes=3, n=24, d=30, weighted=False, grid=RADII, **options):
    rng = np.random.default_rng(seed)
    X, y = reference.random_problem(rng, n, d, n_classes)
    weights = 1.0 + rng.integers(0, 3, n) if weighted else None
    options = {"coding": "auto", "weights": weights} | options
    problem, _ = problem_of(X, y, n_classes, radius=grid[-1], **options)
    return RadiusFamily(problem, grid[0], grid[-1])


@pytest.fixture(autouse=True)
def one_thread():
    """As the estimators have it: on matrices this small a second thread costs far more than it brings."""
    with suitable_threads(1):
        yield


CASES = [
    {},
    {"marginal_is_known": True, "weighted": True},
    {"n_classes": 2, "coding": "one-hot"},
    {"n_classes": 8, "n": 40, "d": 12},
    {"n": 60, "d": 4},
]


@pytest.mark.parametrize("options", CASES)
def test_as_from_the_beginning(options):
    family = family_of(1, **options)
    path = radius_path(family, RADII[::-1], everywhere=False)[::-1]
    for radius, warm in zip(RADII, path, strict=True):
        cold = family.solve(radius)
        assert warm.radius == radius
        assert warm.upper == pytest.approx(cold.upper, abs=1e-9)
        assert warm.lower <= cold.upper + 1e-12
        assert warm.upper - warm.lower <= 1e-8


@pytest.mark.parametrize("gap", [1e-2, 1e-4])
def test_wide_gaps_are_kept(gap):
    family = replace(family_of(3), gap=gap)
    for one in radius_path(family, RADII[::-1], everywhere=False):
        exact = family.solve(one.radius).upper
        assert one.lower - 1e-12 <= exact <= one.upper + 1e-9
        assert one.upper - one.lower <= gap


def test_radii_that_hardly_differ_and_radii_that_differ_much():
    for grid in (1.0 + 1e-7 * np.arange(4), np.array([1e-3, 0.5, 40.0, 41.0])):
        family = family_of(6, grid=grid)
        for one in radius_path(family, grid[::-1], everywhere=False):
            assert one.upper == pytest.approx(family.solve(one.radius).upper, abs=1e-9)


def test_radii_that_are_thin_at_first():
    """Where constraints were widened for the small radii, those of the next may be narrower again."""
    grid = np.array([1e-7, 5e-5, 2e-4, 1e-2, 1.0])
    family = family_of(7, n=12, grid=grid)
    assert (family.at(grid[0]).lam < 1e-5).any()
    for one in radius_path(family, grid[::-1], everywhere=False):
        assert one.upper - one.lower <= 1e-6
        assert one.upper == pytest.approx(family.solve(one.radius).upper, abs=1e-8)
