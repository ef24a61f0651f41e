"""Programs on some instances, certified on all: the same optimum, and what happens when it takes too long."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk.datasets import make_text
from minimaxrisk.engines import dispatch, instance_generation
from minimaxrisk.engines.generation import some_at_random
from minimaxrisk.engines.instance_generation import (
    InstanceGeneration,
)
from minimaxrisk.engines.interior_point.engine import interior_point
from minimaxrisk.engines.solution import EngineSettings, StoppingRule
from minimaxrisk.problem.objective import BayesError
from minimaxrisk.problem.problem import lower_bound, upper_bound
from problems import bounds_of, coefficients_of, problem_of
from reference import minimax_risk, phi_vectors, random_problem, scaled_columns, tau_and_lambda

SETTINGS = EngineSettings("interior-point")


@pytest.fixture(autouse=True)
def few_instances(monkeypatch):
    """Sub-programs of a few dozen instances, so that small problems take several."""
    monkeypatch.setattr(InstanceGeneration, "FEWEST", 10)
    monkeypatch.setattr(InstanceGeneration, "MOST_PER_COMPONENT", 3.0)


@pytest.fixture
def alone(monkeypatch):
    """Small problems are not solved in a batch."""
    monkeypatch.setattr(dispatch, "can_share", lambda *_: False)


def tall(seed=0, n=160, d=4, n_classes=2, effect=0.8):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    X = rng.standard_normal((n, d)) + effect * labels[:, None] * (np.arange(d) < 2)
    return X, labels


def tall_problem(*args, coding="auto", n_classes=2, **options):
    known = {name: options.pop(name) for name in ("seed", "n", "d", "effect") if name in options}
    X, labels = tall(*args, n_classes=n_classes, **known)
    return problem_of(X, labels, n_classes, coding=coding, **options)[0]


def text_problem(n=150, d=400, seed=0, **options):
    text = make_text(n, d, random_state=seed)
    return problem_of(text.data, text.target, 2, **options)[0]


def exact(X, labels, n_classes, coding, *, weights=None, radius=1.0, **scaling):
    Psi = scaled_columns(X, weights, **scaling)
    Phi = phi_vectors(Psi, n_classes, coding)
    return minimax_risk(Phi, *tau_and_lambda(Phi, labels, radius, weights))[0]


# --- the same optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_classes", "coding"), [(2, "signed"), (2, "one-hot"), (3, "one-hot")], ids=["signed", "two", "three"]
)
@pytest.mark.parametrize("scaling", [(True, True), (False, False)], ids=["standardised", "as it is"])
@pytest.mark.parametrize("kind", ["plain", "weights", "duplicates", "ties", "constant", "wide radius"])
def test_the_optimum_of_all_instances(n_classes, coding, scaling, kind):
    X, labels = tall(seed=len(kind), n=120, d=3, n_classes=n_classes, effect=1.2)
    rng, radius, weights = np.random.default_rng(1), 1.0, None
    if kind == "weights":
        weights = rng.choice([0.5, 1.0, 2.5], len(labels))
    elif kind == "duplicates":
        X, labels = np.repeat(X, 2, axis=0)[: len(X)], np.repeat(labels, 2)[: len(X)]
        labels[::7] = (labels[::7] + 1) % n_classes  # equal rows with unequal labels
    elif kind == "ties":
        X = np.round(X)
    elif kind == "constant":
        X = np.column_stack([X[:, :2], np.full(len(X), 3.0), np.zeros(len(X)), X[:, 0]])
    elif kind == "wide radius":
        radius = 4.0
    options = dict(zip(("standardize", "fit_intercept"), scaling, strict=True))
    problem, _ = problem_of(X, labels, n_classes, coding=coding, radius=radius, weights=weights, **options)
    solution = instance_generation.instance_generation(problem, SETTINGS)
    reference = exact(X, labels, n_classes, coding, weights=weights, radius=radius, **options)
    assert solution.converged
    assert solution.upper == pytest.approx(reference, abs=1e-9)
    assert solution.lower == pytest.approx(reference, abs=1e-7)
    assert solution.lower <= solution.upper + 1e-14
    assert upper_bound(problem, BayesError(), solution.mu) == solution.upper
    assert lower_bound(problem, BayesError(), solution.distribution).bound == solution.lower
    assert solution.distribution.min() >= 0.0
    assert solution.distribution.sum() == pytest.approx(1.0)


def test_the_instance_that_decides_is_found_wherever_it_is():
    """One far instance bounds the scores; leaving it out would promise too small an error."""
    X, labels = tall(5, n=400, d=3, effect=1.5)
    outside = np.setdiff1d(np.arange(400), some_at_random(400, 12))
    without = exact(X, labels, 2, "signed")
    for i in outside[:4]:
        far = X.copy()
        # Instances are ordered by their values: the first column keeps this one in its place.
        order = np.argsort(X[:, 0])
        far[order[i], 1:] = 25.0
        problem, _ = problem_of(far, labels, 2)
        solution = instance_generation.instance_generation(problem, SETTINGS)
        expected = exact(far, labels, 2, "signed")
        assert expected > without + 1e-3
        assert solution.upper == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("radius", [0.0, 1e-6, 1e-3])
def test_thin_sets(n_classes, radius):
    X, labels = tall(6, n_classes=n_classes)
    coding = "signed" if n_classes == 2 else "one-hot"
    problem, _ = problem_of(X, labels, n_classes, radius=radius)
    solution = instance_generation.instance_generation(problem, SETTINGS)
    assert solution.upper == pytest.approx(exact(X, labels, n_classes, coding, radius=radius), abs=1e-8)
    assert solution.converged


def test_instances_without_labels_may_get_mass():
    """Instances in which the empirical distribution has no mass are priced like the others."""
    problem = tall_problem(9, n=200)
    far = problem.features.some_rows(np.arange(200), after=3.0 * problem.features.columns(np.arange(5))[:20])
    wider = replace(problem, features=far, centre=np.hstack([np.zeros((2, 20)), problem.centre]))
    solution = instance_generation.instance_generation(wider, SETTINGS)
    assert solution.upper == pytest.approx(interior_point(wider, SETTINGS).upper, abs=1e-9)
    assert solution.upper > interior_point(problem, SETTINGS).upper + 1e-3
    assert solution.distribution[:, :20].sum() > 0.01


# --- the sub-program ----------------------------------------------------------------------------------


def test_a_program_that_gets_stuck_is_followed_by_all_instances(alone, monkeypatch):
    monkeypatch.setattr(instance_generation, "interior_approach", lambda *args, **options: None)
    problem = tall_problem(15)
    optimum = interior_point(problem, SETTINGS).upper
    (bounds,) = bounds_of([problem], SETTINGS, StoppingRule(1e-3))
    assert optimum - 1e-3 <= bounds.lower <= optimum + 1e-12 <= bounds.upper + 2e-12 <= optimum + 1e-3
    (mu,) = coefficients_of([problem], replace(SETTINGS, gap_tol=1e-2))
    assert upper_bound(problem, BayesError(), mu) <= optimum + 1e-2


# --- the history of the whole problem -----------------------------------------------------------------


def assert_is_one_history(solution, optimum):
    history = solution.history
    assert [record["iteration"] for record in history] == list(range(1, len(history) + 1))
    for record in history:
        assert record["lower"] <= optimum + 1e-12
        assert record["upper"] >= optimum - 1e-12
        assert record["worst_case_error"] >= record["upper"]
    for one, next_one in pairwise(history):
        assert next_one["lower"] >= one["lower"]
        assert next_one["upper"] <= one["upper"]
        assert next_one["seconds"] >= one["seconds"]


@pytest.fixture(params=["two classes", "three classes", "texts"])
def many(request, monkeypatch):
    """A problem whose instances are generated, after first-order steps if they are texts."""
    if request.param == "texts":
        monkeypatch.setattr(InstanceGeneration, "WORTH_STEPS", np.inf)
        return text_problem(200, 150)
    return tall_problem(13, n=200, d=4, n_classes=2 + (request.param == "three classes"))


def test_records_bound_the_whole_problem(many):
    problem, told = many, []
    solution = instance_generation.instance_generation(
        problem, SETTINGS, lambda record: bool(told.append(record))
    )
    assert told == solution.history
    assert_is_one_history(solution, interior_point(problem, SETTINGS).upper)
    assert solution.history[-1]["upper"] == pytest.approx(solution.upper, abs=1e-12)


@pytest.mark.parametrize("how", ["max_iter", "stop", "interrupt"])
def test_stopped_anywhere_it_returns_what_is_proven(many, how):
    problem = many
    finished = instance_generation.instance_generation(problem, SETTINGS)
    n_all = len(finished.history)
    for k in range(1, n_all, 4):

        def at_k(record, k=k):
            if how == "interrupt" and record["iteration"] == k:
                raise KeyboardInterrupt
            return how == "stop" and record["iteration"] == k

        settings = replace(SETTINGS, max_iter=k) if how == "max_iter" else SETTINGS
        solution = instance_generation.instance_generation(problem, settings, at_k)
        assert len(solution.history) == k
        assert solution.interrupted == (how == "interrupt")
        assert solution.stopped == (how == "stop")
        assert solution.lower <= finished.upper + 1e-12
        assert solution.upper >= finished.lower - 1e-12
        assert solution.lower >= solution.history[-1]["lower"] - 1e-9
        assert solution.upper <= solution.history[-1]["upper"] + 1e-12
        assert solution.converged == (solution.upper - solution.lower <= SETTINGS.gap_tol)


@pytest.mark.parametrize("gap_tol", [0.1, 2e-2])
def test_no_more_than_was_asked_for(gap_tol):
    problem = tall_problem(13, n=300, d=6)
    solution = instance_generation.instance_generation(problem, replace(SETTINGS, gap_tol=gap_tol))
    finished = instance_generation.instance_generation(problem, SETTINGS)
    assert solution.converged
    assert solution.upper - solution.lower <= gap_tol
    assert len(solution.history) < len(finished.history)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bounds_and_pairs_without_a_vertex(n_classes, alone):
    problem = tall_problem(15, n=200, d=3, n_classes=n_classes)
    optimum = interior_point(problem, SETTINGS).upper
    records = []

    class Watched(StoppingRule):
        def stops(self, record):
            records.append(record)
            return super().stops(record)

    (bounds,) = bounds_of([problem], SETTINGS, Watched(1e-3))
    assert optimum - 1e-3 <= bounds.lower <= optimum + 1e-12 <= bounds.upper + 2e-12 <= optimum + 1e-3
    assert len(records) > 3
    assert all(record["lower"] <= optimum + 1e-12 <= record["upper"] + 2e-12 for record in records)
    (early,) = bounds_of([problem], SETTINGS, StoppingRule(np.inf, optimum - 0.05))
    assert optimum - 0.05 < early.lower <= optimum + 1e-12 <= early.upper + 2e-12
    (mu,) = coefficients_of([problem], replace(SETTINGS, gap_tol=1e-4))
    assert optimum - 1e-12 <= upper_bound(problem, BayesError(), mu) <= optimum + 1e-4

    class Interrupting(StoppingRule):
        def stops(self, record):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bounds_of([problem], SETTINGS, Interrupting(1e-3))


# --- first-order steps before the interior point ------------------------------------------------------


@pytest.fixture
def always(monkeypatch):
    """Small problems are worth some steps as well."""
    monkeypatch.setattr(InstanceGeneration, "WORTH_STEPS", np.inf)


def check_random_problem(rng):
    """A sparse problem of two classes against SciPy's answer to the paper's program."""
    n, d = int(rng.integers(4, 40)), int(rng.integers(1, 30))
    X, labels = random_problem(rng, n, d, 2)
    X = np.where(rng.random(X.shape) < rng.choice([0.2, 0.6]), np.round(X, int(rng.integers(0, 3))), 0.0)
    radius, intercept = float(rng.choice([0.1, 0.5, 1.0, 2.5])), bool(rng.random() < 0.7)
    problem, _ = problem_of(sparse.csr_array(X), labels, 2, radius=radius, fit_intercept=intercept)
    if not InstanceGeneration.begins_with_steps(problem):
        return  # a radius of zero
    risk = exact(X, labels, 2, "signed", radius=radius, fit_intercept=intercept)
    solution = dispatch.solve_minimax_risk(problem, EngineSettings("auto"))
    assert solution.converged
    assert solution.upper == pytest.approx(risk, abs=1e-7)
    assert solution.lower == pytest.approx(risk, abs=1e-7)
    assert solution.lower <= risk + 1e-10
    assert upper_bound(problem, problem.objective, solution.mu) == pytest.approx(solution.upper, abs=1e-14)
    assert lower_bound(problem, problem.objective, solution.distribution).bound == solution.lower


def test_random_sparse_problems_have_the_same_optimum(always):
    for i in range(60):
        check_random_problem(np.random.default_rng([1, i]))


def test_instances_left_out_wrongly_come_back(always, monkeypatch):
    monkeypatch.setattr(InstanceGeneration, "NEAR_AFTER_STEPS", 0.999)
    problem = text_problem(200, 150)
    solution = dispatch.solve_minimax_risk(problem, SETTINGS)
    assert solution.upper == pytest.approx(interior_point(problem, SETTINGS).upper, abs=1e-9)


def test_a_wide_tolerance_ends_with_bounds_within_it():
    """So many words that steps alone are cheaper."""
    problem = text_problem(2500, 3000)
    solution = dispatch.solve_minimax_risk(problem, EngineSettings("auto", gap_tol=1e-3))
    assert solution.converged
    assert solution.upper - solution.lower <= 1e-3
    assert solution.upper == upper_bound(problem, problem.objective, solution.mu)
    assert lower_bound(problem, problem.objective, solution.distribution).bound == solution.lower


def test_nothing_to_learn(always):
    solution = dispatch.solve_minimax_risk(text_problem(radius=60.0), EngineSettings("auto"))
    assert solution.converged
    assert solution.upper == 0.5
    assert not solution.mu.any()
