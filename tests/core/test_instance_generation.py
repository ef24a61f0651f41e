"""Programs on some instances, certified on all: the same optimum, and what happens when it takes too long."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk.engines import dispatch, instance_generation
from minimaxrisk.engines.instance_generation import ClassMeans, Subprogram
from minimaxrisk.engines.interior_point.engine import interior_point
from minimaxrisk.engines.solution import EngineSettings, Enough
from minimaxrisk.problem.objective import BayesError
from minimaxrisk.problem.problem import lower_bound, upper_bound
from problems import problem_of
from reference import minimax_risk, phi_vectors, scaled_columns, tau_and_lambda

SETTINGS = EngineSettings("interior-point")


@pytest.fixture(autouse=True)
def few_instances(monkeypatch):
    """Sub-programs of a few dozen instances, so that small problems take several."""
    monkeypatch.setattr(instance_generation, "FEWEST_INSTANCES", 10)
    monkeypatch.setattr(instance_generation, "FEWEST_FIRST", 5)
    monkeypatch.setattr(instance_generation, "MOST_NEW", 3.0)


def tall(seed=0, n=160, d=4, n_classes=2, effect=0.8):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    X = rng.standard_normal((n, d)) + effect * labels[:, None] * (np.arange(d) < 2)
    return X, labels


def tall_problem(*args, coding="auto", n_classes=2, **options):
    known = {name: options.pop(name) for name in ("seed", "n", "d", "effect") if name in options}
    X, labels = tall(*args, n_classes=n_classes, **known)
    return problem_of(X, labels, n_classes, coding=coding, **options)[0]


def exact(X, labels, n_classes, coding, *, weights=None, radius=1.0, **scaling):
    Psi = scaled_columns(X, weights, **scaling)
    Phi = phi_vectors(Psi, n_classes, coding)
    return minimax_risk(Phi, *tau_and_lambda(Phi, labels, radius, weights))[0]


class Rounds:
    """What the rounds did."""

    def __init__(self, monkeypatch):
        self.sizes, self.whole = [], 0
        price, solve_whole = instance_generation._Rounds._price, instance_generation._Rounds._solve_whole

        def counted(rounds, program, found):
            self.sizes.append(len(program.instances))
            return price(rounds, program, found)

        def counted_whole(rounds):
            self.whole += 1
            solve_whole(rounds)

        monkeypatch.setattr(instance_generation._Rounds, "_price", counted)
        monkeypatch.setattr(instance_generation._Rounds, "_solve_whole", counted_whole)


@pytest.fixture
def rounds(monkeypatch):
    return Rounds(monkeypatch)


# --- the same optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_classes", "coding"), [(2, "signed"), (2, "one-hot"), (3, "one-hot")], ids=["signed", "two", "three"]
)
@pytest.mark.parametrize("scaling", [(True, True), (False, False)], ids=["standardised", "as it is"])
@pytest.mark.parametrize("kind", ["plain", "weights", "duplicates", "ties", "constant", "wide radius"])
def test_the_optimum_of_all_instances(n_classes, coding, scaling, kind, rounds):
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
    assert solution.solver == "interior-point"
    assert rounds.whole == 0
    assert min(rounds.sizes) < problem.n_instances


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_random_problems_agree_with_all_instances_at_once(n_classes, rounds):
    for seed in range(4):
        problem = tall_problem(seed, n=250, d=3, n_classes=n_classes, effect=0.4 * seed)
        solution = instance_generation.instance_generation(problem, SETTINGS)
        whole = interior_point(problem, SETTINGS)
        assert solution.converged
        assert solution.upper == pytest.approx(whole.upper, abs=1e-9)
        np.testing.assert_array_equal(np.flatnonzero(solution.mu), np.flatnonzero(whole.mu))
        np.testing.assert_allclose(solution.mu, whole.mu, atol=1e-7)
    assert rounds.whole == 0
    assert len(rounds.sizes) > 8  # several rounds each
    assert max(rounds.sizes) < 250


def test_the_instance_that_decides_is_found_wherever_it_is():
    """One far instance bounds the scores; leaving it out would promise too small an error."""
    X, labels = tall(5, n=400, d=3, effect=1.5)
    outside = np.setdiff1d(np.arange(400), instance_generation.first_instances(problem_of(X, labels, 2)[0]))
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
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_features(n_classes, fit_intercept, rounds):
    X, labels = tall(7, n=240, d=6, n_classes=n_classes)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.4, np.abs(X), 0.0)
    dense, _ = problem_of(X, labels, n_classes, fit_intercept=fit_intercept)
    problem, _ = problem_of(sparse.csr_array(X), labels, n_classes, fit_intercept=fit_intercept)
    expected = interior_point(dense, SETTINGS).upper
    assert instance_generation.instance_generation(problem, SETTINGS).upper == pytest.approx(
        expected, abs=1e-9
    )
    assert rounds.whole == 0


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_nothing_selected(coding, rounds):
    problem = tall_problem(3, coding=coding, radius=40.0)
    solution = instance_generation.instance_generation(problem, SETTINGS)
    assert solution.converged
    assert not solution.mu.any()
    assert solution.upper == pytest.approx(0.5, abs=1e-12)
    assert solution.lower == pytest.approx(0.5, abs=1e-7)
    assert rounds.whole == 0


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_classes_that_a_feature_tells_apart(coding):
    X, labels = tall(4, effect=0.0)
    X[:, 1] = labels
    problem, _ = problem_of(X, labels, 2, coding=coding)
    solution = instance_generation.instance_generation(problem, SETTINGS)
    assert solution.converged
    assert solution.upper == pytest.approx(interior_point(problem, SETTINGS).upper, abs=1e-9)
    if coding == "signed":
        assert solution.upper == pytest.approx(0.0, abs=1e-6)


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


@pytest.mark.parametrize(("n_classes", "coding"), [(2, "signed"), (2, "one-hot"), (3, "one-hot")])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_distribution_of_the_sub_program_is_one_of_the_whole(n_classes, coding, is_sparse):
    X, labels = tall(2, n=50, n_classes=n_classes)
    rng = np.random.default_rng(0)
    if is_sparse:
        X = sparse.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0.0))
    problem, _ = problem_of(X, labels, n_classes, coding=coding, weights=rng.random(50))
    means = ClassMeans.of(problem)
    program = Subprogram(problem, means, np.array([3, 4, 20, 41]))
    sub = program.problem
    assert sub.n_instances == n_classes + 4
    np.testing.assert_allclose(sub.moments_of(sub.centre), problem.tau, atol=1e-14)
    np.testing.assert_allclose(program.on_all_instances(sub.centre), problem.centre, atol=1e-16)
    w = rng.dirichlet(np.ones(sub.centre.size)).reshape(sub.centre.shape)
    on_all = program.on_all_instances(w)
    np.testing.assert_allclose(problem.moments_of(on_all), sub.moments_of(w), atol=1e-14)
    # Where an instance has mass of its own and of a mean the error may be larger, never smaller.
    assert BayesError().value(on_all) >= BayesError().value(w) - 1e-15
    alone = w.copy()
    alone[:, n_classes:] = 0.0
    alone /= alone.sum()
    spread = program.on_all_instances(alone)
    assert BayesError().value(spread) >= BayesError().value(alone) - 1e-15
    np.testing.assert_allclose(spread.sum(), 1.0)
    mu = rng.standard_normal(problem.tau.shape)
    assert upper_bound(sub, BayesError(), mu) <= upper_bound(problem, BayesError(), mu) + 1e-13


# --- trouble ------------------------------------------------------------------------------------------


def test_a_sub_program_that_misses_the_optimum_gets_more_instances_not_more_digits(rounds, monkeypatch):
    """Many nearly collinear columns with small radii: the first instances say nothing about the others."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 4))
    y = (X[:, 0] + rng.standard_normal(2000) > 0).astype(int)
    waves = np.cos(X @ (0.4 * rng.standard_normal((4, 40))) + rng.uniform(0.0, 6.3, 40))
    problem, _ = problem_of(waves, y, 2, radius=0.01)
    lengths = {}
    for repeats in (1, 6):
        monkeypatch.setattr(instance_generation, "MOST_REPEATS", repeats)
        solution = instance_generation.instance_generation(problem, SETTINGS)
        assert solution.converged
        lengths[repeats] = len(solution.history)
    assert lengths[6] < lengths[1]
    assert solution.upper == pytest.approx(interior_point(problem, SETTINGS).upper, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounds_without_end_are_followed_by_all_instances(n_classes, rounds, monkeypatch):
    monkeypatch.setattr(instance_generation, "MOST_VERTICES", 1)
    monkeypatch.setattr(instance_generation, "MOST_REPEATS", 1)
    monkeypatch.setattr(instance_generation, "FEWEST", 0.5)
    monkeypatch.setattr(instance_generation, "STAYS", 1.0)
    monkeypatch.setattr(instance_generation, "COMES", 1.3)
    problem = tall_problem(11, n=200, d=4, n_classes=n_classes)
    expected = interior_point(problem, SETTINGS)
    solution = instance_generation.instance_generation(problem, SETTINGS)
    assert rounds.whole == 1
    assert solution.converged
    assert solution.upper == pytest.approx(expected.upper, abs=1e-9)
    np.testing.assert_allclose(solution.mu, expected.mu, atol=1e-9)
    assert_is_one_history(solution, expected.upper)


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


@pytest.mark.parametrize("n_classes", [2, 3])
def test_records_bound_the_whole_problem(n_classes):
    problem = tall_problem(13, n=200, d=4, n_classes=n_classes)
    told = []
    solution = instance_generation.instance_generation(
        problem, SETTINGS, lambda record: bool(told.append(record))
    )
    assert told == solution.history
    assert_is_one_history(solution, interior_point(problem, SETTINGS).upper)
    assert solution.history[-1]["upper"] == pytest.approx(solution.upper, abs=1e-12)


def test_all_instances_are_read_once_a_round(rounds):
    problem = tall_problem(13, n=300, d=6)
    instance_generation.instance_generation(problem, SETTINGS)
    # Besides the class means, and both bounds that are reported.
    assert problem.features.n_passes <= len(rounds.sizes) + 3


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("how", ["max_iter", "stop", "interrupt"])
def test_stopped_anywhere_it_returns_what_is_proven(n_classes, how):
    problem = tall_problem(14, n=200, d=3, n_classes=n_classes)
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
def test_bounds_and_pairs_without_a_vertex(n_classes, rounds):
    problem = tall_problem(15, n=200, d=3, n_classes=n_classes)
    optimum = interior_point(problem, SETTINGS).upper
    records = []

    class Watched(Enough):
        def stops(self, record):
            records.append(record)
            return super().stops(record)

    lower, upper = instance_generation.generated_bounds(problem, SETTINGS, Watched(1e-3))
    assert optimum - 1e-3 <= lower <= optimum + 1e-12 <= upper + 2e-12 <= optimum + 1e-3
    assert len(rounds.sizes) > 2
    assert all(record["lower"] <= optimum + 1e-12 <= record["upper"] + 2e-12 for record in records)
    early = instance_generation.generated_bounds(problem, SETTINGS, Enough(np.inf, optimum - 0.05))
    assert optimum - 0.05 < early.lower <= optimum + 1e-12 <= early.upper + 2e-12
    rounds.sizes.clear()
    mu = instance_generation.generated_approach(problem, replace(SETTINGS, gap_tol=1e-4)).mu
    assert optimum - 1e-12 <= upper_bound(problem, BayesError(), mu) <= optimum + 1e-4
    assert len(rounds.sizes) > 2
    assert rounds.whole == 0

    class Interrupting(Enough):
        def stops(self, record):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        instance_generation.generated_bounds(problem, SETTINGS, Interrupting(1e-3))


def test_bounds_and_pairs_where_rounds_get_nowhere(monkeypatch):
    monkeypatch.setattr(instance_generation, "interior_approach", lambda *args, **options: None)
    calls, whole = [], instance_generation.interior_bounds
    monkeypatch.setattr(
        instance_generation, "interior_bounds", lambda *args: calls.append(args) or whole(*args)
    )
    problem = tall_problem(15)
    optimum = interior_point(problem, SETTINGS).upper
    lower, upper = instance_generation.generated_bounds(problem, SETTINGS, Enough(1e-3))
    assert len(calls) == 1
    assert optimum - 1e-3 <= lower <= optimum + 1e-12 <= upper + 2e-12 <= optimum + 1e-3
    # The vertex, from all instances, is better than what was asked for.
    mu = dispatch.approach_minimax_risks([problem], replace(SETTINGS, gap_tol=1e-2))[0]
    assert upper_bound(problem, BayesError(), mu) <= optimum + 1e-2


def test_where_it_is_used(rounds):
    def n_rounds(problem, solver="auto"):
        rounds.sizes.clear()
        dispatch.solve_minimax_risk(problem, EngineSettings(solver))
        return len(rounds.sizes)

    assert n_rounds(tall_problem(n=160, d=5)) > 0
    assert n_rounds(tall_problem(n=160, d=5), "interior-point") > 0
    assert n_rounds(tall_problem(n=160, d=5), "constraint-generation") == 0
    assert n_rounds(tall_problem(n=60, d=40)) == 0
    assert n_rounds(tall_problem(n=60, d=5, n_classes=3)) == 0
    assert n_rounds(tall_problem(n=160, d=5, marginal_is_known=True)) == 0
