"""The engines and the paper's program with 2^K - 1 rows agree; KKT conditions hold."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reference
from minimaxrisk.engines.dispatch import solve_minimax_risk
from minimaxrisk.engines.master import Master
from minimaxrisk.engines.paper import by_correlation, constraint_generation, full_lp
from minimaxrisk.engines.solution import EngineSettings
from minimaxrisk.problem.objective import BayesError
from minimaxrisk.problem.problem import lower_bound, upper_bound
from problems import generated_from, problem_of

ODDITIES = (
    "duplicated columns",
    "constant column",
    "duplicated rows",
    "conflicting rows",
    "label as a feature",
    "zero on one class",
    "class with one member",
    "wild scales",
    "three values",
)


def odd_problem(seed, n, d, n_classes, oddities):
    """Training data with the chosen peculiarities."""
    rng = np.random.default_rng(seed)
    n = max(n, n_classes)
    X, labels = reference.random_problem(rng, n, d, n_classes)
    if "class with one member" in oddities:
        labels[labels == labels[0]] = (labels[0] + 1) % n_classes
        labels[0] = np.setdiff1d(np.arange(n_classes), labels[1:])[0]
    if "three values" in oddities:
        X = np.clip(np.round(X), -1, 1) * 2
    if "zero on one class" in oddities:
        X[labels == 0, 0] = 0.0
    if "label as a feature" in oddities:
        X = np.column_stack([X, np.where(labels == 0, 1.0, -1.0)])
    if "constant column" in oddities:
        X = np.column_stack([np.full(n, 0.3), X])
    if "duplicated columns" in oddities:
        X = np.column_stack([X, X[:, :2], -X[:, :1]])
    if "duplicated rows" in oddities:
        X, labels = np.vstack([X, X[:2]]), np.concatenate([labels, labels[:2]])
    if "conflicting rows" in oddities:
        X = np.vstack([X, X[:1]])
        labels = np.concatenate([labels, [(labels[0] + 1) % n_classes]])
    if "wild scales" in oddities:
        X = X * rng.choice([1e-12, 1.0, 1e12], X.shape[1])
    # A class may have vanished; the labels must be 0, 1, ... without gaps.
    return X, np.unique(labels, return_inverse=True)[1]


problems_at_random = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 14),
    d=st.integers(1, 20),
    n_classes=st.integers(2, 6),
    oddities=st.sets(st.sampled_from(ODDITIES)),
    radius=st.sampled_from([0.1, 0.5, 1.0, 2.5, 5.0]),
    coding=st.sampled_from(["auto", "one-hot"]),
    standardize=st.booleans(),
    fit_intercept=st.booleans(),
)
USUAL = {"coding": "auto", "standardize": True, "fit_intercept": True}


def check_agreement(seed, n, d, n_classes, oddities, radius, coding, standardize, fit_intercept):
    X, labels = odd_problem(seed, n, d, n_classes, oddities)
    n_classes = labels.max() + 1
    if n_classes < 2:
        return
    options = {"standardize": standardize, "fit_intercept": fit_intercept}
    problem, _ = problem_of(X, labels, n_classes, coding=coding, radius=radius, **options)
    Phi = reference.phi_vectors(reference.scaled_columns(X, **options), n_classes, problem.coding.name)
    risk, _ = reference.minimax_risk(Phi, *reference.tau_and_lambda(Phi, labels, radius))

    everything = full_lp(problem, BayesError())
    generated = generated_from(problem, 3, epsilon=1e-9)
    interior = solve_minimax_risk(problem, EngineSettings("auto"))
    assert not interior.remark
    for solution in (everything, generated, interior):
        assert solution.converged
        assert solution.upper == pytest.approx(risk, abs=1e-7)
        assert solution.lower == pytest.approx(risk, abs=1e-7)
        assert solution.lower <= risk + 1e-10
        assert_kkt(problem, solution)
    path = [record["worst_case_error"] for record in generated.history]
    assert (np.diff(path) <= 1e-9).all()


@problems_at_random
# All six labels share an instance, which few random problems ask for.
@example(seed=0, n=12, d=2, n_classes=6, oddities=set(), radius=5.0, **USUAL)
@example(seed=0, n=2, d=1, n_classes=2, oddities=set(), radius=1.0, **USUAL)
@example(seed=0, n=6, d=30, n_classes=2, oddities={"wild scales", "label as a feature"}, radius=1.0, **USUAL)
@example(
    seed=1,
    n=12,
    d=3,
    n_classes=6,
    oddities={"class with one member", "three values"},
    radius=0.1,
    **USUAL | {"standardize": False},
)
def test_engines_and_formulations_agree(**drawn):
    check_agreement(**drawn)


def assert_kkt(problem, solution, tol=1e-6):
    """Feasibility of both sides, complementarity and stationarity of the pair (mu, w)."""
    mu, w = solution.mu, solution.distribution
    deviation = problem.moments_of(w) - problem.tau
    scores = problem.scores_of(mu)
    phi = BayesError().conjugate(scores) - 1.0
    room = 1.0 - np.maximum(scores - phi, 0.0).sum(axis=0)  # 1 - d_x
    r = w.max(axis=0)
    assert w.min() >= 0.0
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.abs(deviation) <= problem.lam + 1e-12).all()
    assert (room >= -1e-9).all()
    # A coefficient needs its constraint at the side of its sign.
    assert np.abs(np.abs(mu) * (problem.lam + np.sign(mu) * deviation)).max() < tol
    # Mass above what every label gets alike needs an instance where the rule has nothing left.
    assert (room * (r - w.min(axis=0))).max() < tol
    # A label that the rule uses is one of the most probable under w.
    assert (np.maximum(scores - phi, 0.0) * (r - w)).max() < tol


@pytest.fixture(scope="module")
def wide_problem():
    """20 samples, 100 features, 3 classes, with the solution of the whole program."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), [7, 7, 6])
    X = rng.standard_normal((20, 100))
    X[:, :10] += 1.5 * (labels[:, None] == np.repeat([0, 1], 5))
    problem, _ = problem_of(X, labels, 3)
    return problem, full_lp(problem, BayesError())


@pytest.mark.parametrize("initial", ["correlation", "first-order", np.array([0, 7]), np.empty(0, int)])
@pytest.mark.parametrize("n_max", [1, 10, 1000])
def test_the_start_does_not_change_the_answer(wide_problem, initial, n_max):
    problem, exact = wide_problem
    settings = EngineSettings("constraint-generation", initial, n_max, epsilon=1e-8)
    solution = solve_minimax_risk(problem, settings)
    assert solution.upper == pytest.approx(exact.upper, abs=1e-7)
    if isinstance(initial, np.ndarray):
        assert solution.history[0]["n_features"] == 3 * len(initial)
    else:
        assert solution.history[0]["n_features"] == min(n_max, problem.n_components)


def test_the_next_program_goes_on_from_the_last_basis(wide_problem):
    """Which rows that leave and rows that enter keep: a program from nothing needs far more pivots."""
    (problem, _), nothing = wide_problem, np.empty(0, dtype=np.intp)
    masters = [Master(problem, BayesError(), tolerance=1e-9) for _ in range(2)]
    with closing(masters[0]) as hot, closing(masters[1]) as cold:
        hot.exchange(nothing, np.arange(0, 300, 5))
        before = hot.solve()
        leaves = np.flatnonzero(before.is_basic)
        assert len(leaves) > 10
        hot.exchange(leaves, np.array([1, 102, 203]))
        after = hot.solve()
        kept = np.delete(before.stage.components, leaves)
        assert hot.components.tolist() == [*kept, 1, 102, 203]
        cold.exchange(nothing, hot.components)
        anew = cold.solve()
    np.testing.assert_allclose(after.distribution.max(axis=0).sum(), anew.distribution.max(axis=0).sum())
    assert 0 < 3 * after.n_pivots < anew.n_pivots


def test_stopping_early_keeps_a_certified_pair(wide):
    X, y = wide
    labels = np.unique(y, return_inverse=True)[1]
    problem, _ = problem_of(X, labels, 3)
    solution = generated_from(problem, 5, epsilon=1e-8, monitor=lambda record: record["iteration"] == 3)
    best = full_lp(problem, BayesError()).upper
    assert solution.stopped
    assert not solution.converged
    assert len(solution.history) == 3
    assert solution.lower <= best <= solution.upper
    assert lower_bound(problem, BayesError(), solution.distribution).bound == pytest.approx(solution.lower)
    assert upper_bound(problem, BayesError(), solution.mu) == pytest.approx(solution.upper, abs=1e-12)
    assert solution.upper == pytest.approx(min(r["worst_case_error"] for r in solution.history), abs=1e-12)


def counts_absent_from_classes(rng):
    labels = np.concatenate([np.arange(5), rng.integers(0, 5, 20)])
    return rng.poisson(0.5, (25, 20)) * (rng.random((5, 20)) < 0.6)[labels].astype(float), labels


def lognormal_columns(rng):
    labels = np.concatenate([np.arange(3), rng.integers(0, 3, 12)])
    return np.exp(4 * rng.standard_normal((15, 12))), labels


@pytest.mark.parametrize("make", [counts_absent_from_classes, lognormal_columns])
@pytest.mark.parametrize("radius", [1e-6, 1.0, 3.0])
@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 60), marks=pytest.mark.slow)])
def test_thin_constraints_leave_no_gap(make, radius, seeds):
    """Unstandardised and one-hot, a class may see nothing of a column, or values far below its size.

    The radii are then zero or tiny, their multipliers large, and a solver's tolerance or an accepted
    violation that is harmless elsewhere would leave a useless lower bound.
    """
    for seed in seeds:
        X, labels = make(np.random.default_rng(seed))
        problem, _ = problem_of(X, labels, labels.max() + 1, standardize=False, radius=radius)
        exact = full_lp(problem, BayesError())
        assert exact.upper - exact.lower < 1e-6
        generated = generated_from(problem, 5, epsilon=1e-7)
        assert generated.upper - generated.lower < 1e-5
        assert generated.upper == pytest.approx(exact.upper, abs=1e-6)


@pytest.mark.parametrize("seed", [0, 3])
def test_it_ends_when_no_component_is_violated_by_more_than_epsilon(seed):
    """Neither a round before nor after, although the limit is near the smallest violation on the way."""
    X, labels = reference.random_problem(np.random.default_rng(seed), 30, 120, 2)
    problem, _ = problem_of(X, labels, 2)

    def violations(epsilon):
        start = by_correlation(problem, 2)
        solution = constraint_generation(problem, BayesError(), start, n_max=1, epsilon=epsilon)
        assert solution.converged
        return [record["max_violation"] for record in solution.history]

    *on_the_way, last = violations(1e-9)
    smallest = min(on_the_way)
    assert last < 1e-9 < smallest < problem.lam.min()
    assert len(violations(1.001 * smallest)) == on_the_way.index(smallest) + 1
    assert violations(0.999 * smallest)[-1] < 0.999 * smallest


def test_a_violation_above_the_radius_is_never_accepted():
    problem, _ = problem_of(*lognormal_columns(np.random.default_rng(126)), 3, standardize=False)
    assert (problem.lam < 1e-2).sum() > 5
    coarse = generated_from(problem, 5, epsilon=1e-2)
    assert coarse.converged
    assert coarse.upper - coarse.lower < 0.05


@pytest.mark.parametrize("seed", range(4))
def test_a_tolerance_above_all_radii_leaves_a_gap_of_one_per_cent(seed):
    """A hundredth of each radius is accepted, so that 1 / 1.01 of the way to the distribution is inside.

    Its value is R^k, and values are concave: the lower bound is at least R^k / 1.01.
    """
    problem, _ = problem_of(*lognormal_columns(np.random.default_rng(seed)), 3)
    coarse = constraint_generation(problem, BayesError(), np.empty(0, int), n_max=1, epsilon=10.0)
    assert (problem.lam < 10.0).all()
    assert coarse.converged
    assert coarse.upper * (1.0 - 1.0 / 1.01) + 1e-9 >= coarse.upper - coarse.lower


def rare_binary_features(seed, n, d, rate):
    """Degenerate programs: many distributions are optimal, and the bound stands still for many rounds."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    rates = rate + 2.0 * rate * labels[:, None] * (rng.random(d) < 0.1)
    return problem_of((rng.random((n, d)) < rates).astype(float), labels, 2)[0]


@pytest.mark.parametrize("seed", range(3))
def test_components_leave_only_after_the_bound_fell(seed):
    """Else a set of components could come back, and the rounds could go in a circle."""
    problem = rare_binary_features(seed, 60, 400, 0.05)
    solution = generated_from(problem, 2, epsilon=1e-8)
    bounds = [record["worst_case_error"] for record in solution.history]
    n_still = 0
    for k in range(2, len(bounds)):
        fell = bounds[k - 1] < min(bounds[: k - 1])
        n_still += not fell
        assert fell or solution.history[k]["n_removed"] == 0
    assert n_still > 2
    assert np.cumsum([r["n_added"] - r["n_removed"] for r in solution.history]).tolist() == [
        r["n_features"] for r in solution.history
    ]
    assert sum(record["n_removed"] for record in solution.history) > 0
    assert (np.diff(bounds) <= 1e-9).all()
    assert (np.diff([record["lower"] for record in solution.history]) >= 0).all()
    solved = [frozenset(stage.components.tolist()) for stage in solution.stages]
    assert len(set(solved)) == len(solved)


def test_multipliers_that_are_rounding_errors_are_no_coefficients():
    """Rare binary features make degenerate programs, where HiGHS returns multipliers of 1e-17 for zero."""
    for seed in (0, 2, 5):
        solution = generated_from(rare_binary_features(seed, 60, 400, 0.05), 20, epsilon=1e-8)
        for stage in solution.stages:
            used = np.abs(stage.values[stage.values != 0.0])
            assert used.min(initial=1.0) > 1e-9
