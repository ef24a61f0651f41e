"""Primal-dual steps: their closed forms, the bounds they prove, and where they are taken."""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import reference
from experiments.datasets.registry import REGISTRY
from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    minimax_risk_path,
    permutation_test,
    verify,
)
from minimaxrisk.datasets import make_expression
from minimaxrisk.engines import cost, dispatch, first_order
from minimaxrisk.engines.first_order import OneHotMasses, SignedMasses, on_simplex
from minimaxrisk.engines.solution import EngineSettings, StoppingRule
from minimaxrisk.problem.problem import lower_bound, upper_bound
from minimaxrisk.solvers import FirstOrder
from problems import problem_of, without_forecast

SETTINGS = EngineSettings("first-order")


def bayes_loss(v):
    """f of masses.py: half the absolute values of one block, or the largest masses of several."""
    return np.abs(v).sum() / 2 if len(v) == 1 else v.max(axis=0).sum()


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 6),
    n_classes=st.integers(2, 5),
    known=st.booleans(),
    signed=st.booleans(),
    t=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    ties=st.booleans(),
)
def test_proximal_maps_minimise_what_they_should(seed, n, n_classes, known, signed, t, ties):
    """No direction to any feasible point leads down: for convex functions that is a minimum."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n)) + 0.01
    p /= p.sum()
    z = rng.standard_normal((1 if signed else n_classes, n)) * rng.choice([0.01, 1.0])
    t = t * (np.ones(n) if ties else rng.choice([0.2, 1.0, 7.0], n))
    if ties:
        z = np.round(z)
    if signed:
        v = SignedMasses(p, known).nearest(z, t)
        others = [rng.uniform(-1, 1, z.shape) * (p if known else 1.0) for _ in range(40)]
    else:
        v = OneHotMasses(p if known else None).nearest(z, t)
        assert v.min() >= 0.0
        given_masses = v.sum(axis=0) if known else v.sum()
        np.testing.assert_allclose(given_masses, p if known else 1.0, atol=1e-12)
        others = [
            p * rng.dirichlet(np.full(n_classes, 0.5), n).T
            if known
            else rng.dirichlet(np.full(z.size, 0.3)).reshape(z.shape)
            for _ in range(40)
        ]

    def value(at):
        return bayes_loss(at) + np.sum((at - z) ** 2 / (2 * t))

    for other in [*others, np.clip(z, v - 1e-3, v + 1e-3) if signed and not known else others[0]]:
        for step in (1e-4, 0.1):
            assert value(v + step * (other - v)) >= value(v) - 1e-12


def test_projection_on_the_simplex_of_numbers_far_apart():
    for c in ([1e16, 0.0, -1e16], [5e-324, 0.0], [-7.0], [0.1] * 10, [1e8, 1e8 - 1e-8, 3.0]):
        w = on_simplex(np.array([c]), np.ones(len(c)))
        assert w.sum() == pytest.approx(1.0, abs=1e-6)
        assert w.min() >= 0.0


def exact_risk(X, labels, n_classes, problem, instances, *, known, radius, weights, **options):
    """R* by SciPy, from formulas that share nothing with the library."""
    Psi = reference.scaled_columns(X, weights, **options)
    Phi = reference.phi_vectors(Psi, n_classes, problem.coding.name)
    tau, lam = reference.tau_and_lambda(Phi, labels, radius, weights)
    Phi = Phi[instances.rows]
    if not known:
        return reference.minimax_risk(Phi, tau, lam)[0]
    masses = np.bincount(instances.instance_of_row, weights / weights.sum())
    return reference.known_worst_case(Phi, tau, lam, masses)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(8, 20),
    d=st.integers(1, 10),
    n_classes=st.integers(2, 4),
    coding=st.sampled_from(["auto", "one-hot"]),
    known=st.booleans(),
    radius=st.sampled_from([1e-6, 0.1, 1.0, 3.0]),
    kind=st.sampled_from(["plain", "ties", "duplicates", "constant"]),
    is_sparse=st.booleans(),
    options=st.fixed_dictionaries({"standardize": st.booleans(), "fit_intercept": st.booleans()}),
    max_iter=st.sampled_from([1, 30, 300]),
)
def test_bounds_hold_the_risk_of_another_formulation(
    seed, n, d, n_classes, coding, known, radius, kind, is_sparse, options, max_iter
):
    rng = np.random.default_rng(seed)
    X, labels = reference.random_problem(rng, n, d, n_classes)
    if kind == "ties":
        X = np.round(X)
    if kind == "duplicates":
        X, labels = np.vstack([X[:4], X]), np.concatenate([labels[:4], labels])
        X = np.hstack([X, X[:, :1]])
    if kind == "constant":
        X[:, 0] = 3.0
    weights = rng.integers(1, 4, len(labels)).astype(float)
    problem, instances = problem_of(
        sparse.csr_array(X) if is_sparse else X,
        labels,
        n_classes,
        coding=coding,
        radius=radius,
        weights=weights,
        marginal_is_known=known,
        **options,
    )
    risk = exact_risk(
        X, labels, n_classes, problem, instances, known=known, radius=radius, weights=weights, **options
    )
    solution = first_order.first_order(problem, replace(SETTINGS, max_iter=max_iter))
    assert solution.lower - 1e-7 <= risk <= solution.upper + 1e-7
    assert solution.converged == (solution.upper - solution.lower <= 1e-3)
    for record in solution.history:
        assert record["lower"] - 1e-7 <= risk <= record["upper"] + 1e-7
    # What the loop computed from products at hand is what the certificate finds afresh.
    bare = first_order.first_order(problem, replace(SETTINGS, max_iter=max_iter), clears=False)
    assert bare.upper == pytest.approx(bare.history[-1]["upper"], abs=1e-9)
    assert bare.lower == pytest.approx(bare.history[-1]["lower"], abs=1e-9)
    # Both follow from the pair alone, and the pair is what it says.
    assert solution.upper == upper_bound(problem, problem.objective, solution.mu)
    again = lower_bound(problem, problem.objective, solution.distribution)
    assert again.bound == pytest.approx(solution.lower, abs=1e-12)
    assert solution.distribution.min() >= 0.0
    assert solution.distribution.sum() == pytest.approx(1.0, abs=1e-12)


def test_where_nothing_can_be_learnt_one_step_says_so():
    rng = np.random.default_rng(0)
    problem, _ = problem_of(rng.standard_normal((40, 5)), np.arange(40) % 2, 2, radius=50.0)
    solution = first_order.first_order(problem, SETTINGS)
    assert (solution.upper, len(solution.history)) == (0.5, 1)
    assert not solution.mu.any()
    zero, _ = problem_of(np.zeros((6, 2)), np.arange(6) % 2, 2, fit_intercept=False)
    assert first_order.first_order(zero, SETTINGS).upper == 0.5


def test_the_classifier_and_what_is_built_on_it():
    study = make_expression(60, 150, n_informative=10, effect=1.5, random_state=0)
    X, y = sparse.csr_array(study.data), study.target
    fast = MinimaxRiskClassifier(solver="first-order").fit(X, y)
    exact = MinimaxRiskClassifier(solver="interior-point").fit(X, y)
    assert fast.solver_ == "first-order"
    assert fast.converged_
    assert fast.optimality_gap_ <= 1e-3
    assert fast.worst_case_error_lower_ <= exact.worst_case_error_ <= fast.worst_case_error_
    assert verify(fast, X, y).valid
    assert fast.n_iter_ == fast.history_[-1]["iteration"] > len(fast.history_)
    joined = MinimaxRiskClassifier(solver="first-order").fit(study.data, y, X_unlabeled=study.data[:5] + 1.0)
    assert verify(joined, study.data, y, X_unlabeled=study.data[:5] + 1.0).valid
    test = permutation_test(fast, X, y, 5, random_state=0, gap_tol=1e-2)
    assert fast.worst_case_error_lower_ <= test.statistic <= fast.worst_case_error_ + 1e-2
    ensemble = MinimaxRiskEnsembleClassifier(
        MinimaxRiskClassifier(solver="first-order"),
        n_estimators=8,
        subsample=0.4,
        gap_tol=1e-2,
        certify=False,
        random_state=0,
    )
    assert ensemble.fit(study.data, y).score(study.data, y) > 0.8


def test_a_tolerance_out_of_reach_ends_with_a_warning_and_valid_bounds():
    study = make_expression(40, 60, random_state=0)
    model = MinimaxRiskClassifier(solver=FirstOrder(max_iter=33), gap_tol=0.0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(study.data, study.target)
    (message,) = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    for part in ("stopped at max_iter=33", "bounds are valid", "larger gap_tol or radius"):
        assert part in message
    assert not model.converged_
    assert model.n_iter_ == 33
    exact = MinimaxRiskClassifier().fit(study.data, study.target).worst_case_error_
    assert model.worst_case_error_lower_ <= exact <= model.worst_case_error_
    assert verify(model, study.data, study.target).valid


def test_followed_stopped_and_interrupted(caplog):
    study = make_expression(50, 200, random_state=0)
    seen = []

    def stop_at_a_tenth(record):
        seen.append(record)
        return record["upper"] - record["lower"] <= 0.1

    with caplog.at_level(logging.INFO, logger="minimaxrisk"):
        model = MinimaxRiskClassifier(solver="first-order", callback=stop_at_a_tenth, verbose=1)
        model.fit(study.data, study.target)
    assert 1e-3 < model.optimality_gap_ <= 0.1 + 1e-6
    assert [without_forecast(record) for record in seen] == model.history_
    assert [record["iteration"] for record in seen[:3]] == [1, 10, 20]
    assert len(caplog.records) == len(seen)
    assert (np.diff([record["upper"] for record in seen]) <= 0.0).all()
    assert (np.diff([record["lower"] for record in seen]) >= 0.0).all()
    used = np.cumsum([record["n_added"] - record["n_removed"] for record in seen])
    assert used.tolist() == [record["n_features"] for record in seen]

    def interrupt(record):
        if record["iteration"] == 30:
            raise KeyboardInterrupt

    model = MinimaxRiskClassifier(solver="first-order", callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(study.data, study.target)
    assert model.worst_case_error_ <= model.history_[-1]["upper"] + 1e-6
    assert len(model.history_) == 4
    assert verify(model, study.data, study.target).valid


def problem_of_size(n, d, n_blocks=1):
    return SimpleNamespace(features=SimpleNamespace(shape=(n, d)), coding=SimpleNamespace(n_blocks=n_blocks))


def test_what_is_too_much_for_the_interior_point():
    def is_too_large(*sizes):
        return cost.interior_point_demands(problem_of_size(*sizes)).are_too_large

    assert is_too_large(20_000, 50_001)
    assert not is_too_large(10_000, 50_001)
    assert not is_too_large(20_000, 2001)
    assert not is_too_large(100_000, 201)
    assert not is_too_large(2000, 10**7)
    assert not is_too_large(2000, 10**5, 200)
    # A matrix for each class, unless they share one.
    assert is_too_large(2000, 5001, 1000)
    assert is_too_large(3000, 6, 1000)
    assert not is_too_large(2000, 6, 1000)
    for info in REGISTRY.values():
        for n_blocks in (1, info.n_classes):
            assert not is_too_large(info.n_samples, info.n_features + 1, n_blocks)
    assert "about 9.6 GB and 52 minutes" in str(cost.interior_point_demands(problem_of_size(20_000, 50_001)))


@pytest.fixture
def nothing_is_small(monkeypatch):
    monkeypatch.setattr(cost, "LIMITS", replace(cost.LIMITS, few_instances=0, most_seconds=0.0))


@pytest.mark.parametrize("is_correlated", [False, True])
def test_steps_that_hardly_advance_make_way_for_an_exact_solution(is_correlated, monkeypatch):
    """As on pixels; where they advance they are kept."""
    monkeypatch.setattr(cost, "LIMITS", replace(cost.LIMITS, few_seconds=0.0, worth_of_exactness=0.0))
    if is_correlated:
        X, y = load_digits(return_X_y=True)
    else:
        study = make_expression(40, 60, random_state=0)
        X, y = study.data, study.target
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MinimaxRiskClassifier().fit(X, y)
    assert model.solver_ == ("interior-point" if is_correlated else "first-order")
    assert model.optimality_gap_ <= (1e-6 if is_correlated else 1e-3)


def test_auto_takes_it_where_the_interior_point_is_too_much(nothing_is_small):
    study = make_expression(40, 60, random_state=0)
    X, y = study.data, study.target
    with pytest.warns(ConvergenceWarning, match="solver='auto' took 'first-order', .* would take about"):
        model = MinimaxRiskClassifier().fit(X, y)
    assert model.solver_ == "first-order"
    assert model.converged_
    with pytest.raises(ValueError, match=r"solver='interior-point' would take .* use solver='first-order'"):
        MinimaxRiskClassifier(solver="interior-point").fit(X, y)
    with pytest.raises(ValueError, match=r"the path over the radius would take .* one by one"):
        minimax_risk_path(X, y, radii=[0.5, 1.0])
    problem, _ = problem_of(X, y, 2)
    (found,) = dispatch.approach_minimax_risks([problem], EngineSettings("auto"), StoppingRule(0.0))
    bound = found.bounds.upper
    assert model.worst_case_error_lower_ <= bound <= model.worst_case_error_lower_ + 1e-3
    near = upper_bound(problem, problem.objective, found.stage.expand(*problem.shape))
    assert near == pytest.approx(bound, abs=1e-12)


def test_a_round_in_which_one_side_hardly_moved_does_not_stop_the_steps():
    """The weight between the sides follows how far both moved, and rounding is no movement."""
    X, y = make_expression(60, 200, effect=1.0, random_state=0).data, np.arange(60) % 3
    exact = MinimaxRiskClassifier(marginal="empirical").fit(X, y)
    found = MinimaxRiskClassifier(solver=FirstOrder(max_iter=1000), marginal="empirical").fit(X, y)
    assert found.converged_
    assert found.worst_case_error_lower_ <= exact.worst_case_error_ <= found.worst_case_error_
