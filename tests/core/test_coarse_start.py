"""First-order steps before the interior point: the same optimum, from a beginning that is feasible."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk import MinimaxRiskClassifier, solvers, verify
from minimaxrisk.datasets import make_expression, make_text
from minimaxrisk.engines import coarse_start, dispatch
from minimaxrisk.engines.interior_point import engine
from minimaxrisk.engines.interior_point.engine import interior_point
from minimaxrisk.engines.solution import EngineSettings
from minimaxrisk.problem.problem import lower_bound, upper_bound
from problems import problem_of
from reference import minimax_risk, phi_vectors, random_problem, scaled_columns, tau_and_lambda

SETTINGS = EngineSettings("auto")


@pytest.fixture
def always(monkeypatch):
    """Small problems are worth a coarse start as well."""
    monkeypatch.setattr(coarse_start, "WORTH_IT", 0.0)


def text_problem(n=150, d=400, seed=0, **options):
    text = make_text(n, d, random_state=seed)
    return problem_of(text.data, text.target, 2, **options)[0]


def check_random_problem(rng):
    """A sparse problem of two classes against SciPy's answer to the paper's program."""
    n, d = int(rng.integers(4, 40)), int(rng.integers(1, 30))
    X, labels = random_problem(rng, n, d, 2)
    X = np.where(rng.random(X.shape) < rng.choice([0.2, 0.6]), np.round(X, int(rng.integers(0, 3))), 0.0)
    radius, intercept = float(rng.choice([0.1, 0.5, 1.0, 2.5])), bool(rng.random() < 0.7)
    problem, _ = problem_of(sparse.csr_array(X), labels, 2, radius=radius, fit_intercept=intercept)
    if not coarse_start.is_worth_a_coarse_start(problem):
        return  # a radius of zero
    Phi = phi_vectors(scaled_columns(X, fit_intercept=intercept), 2, "signed")
    risk, _ = minimax_risk(Phi, *tau_and_lambda(Phi, labels, radius))
    solution = dispatch.solve_minimax_risk(problem, SETTINGS)
    assert solution.converged
    assert solution.upper == pytest.approx(risk, abs=1e-7)
    assert solution.lower == pytest.approx(risk, abs=1e-7)
    assert solution.lower <= risk + 1e-10
    assert upper_bound(problem, problem.objective, solution.mu) == pytest.approx(solution.upper, abs=1e-14)
    assert lower_bound(problem, problem.objective, solution.distribution).bound == solution.lower


def test_random_problems_have_the_same_optimum(always):
    for i in range(60):
        check_random_problem(np.random.default_rng([1, i]))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(20))
def test_two_thousand_random_problems_have_the_same_optimum(batch, always):
    for i in range(100):
        check_random_problem(np.random.default_rng([2, batch, i]))


@pytest.mark.parametrize("size", [(200, 150), (60, 600)])
def test_instances_near_to_the_largest_score_take_part(size):
    problem = text_problem(*size)
    start = coarse_start.coarse_start(problem, SETTINGS, None)
    scores = np.abs(problem.scores_of(start.found.mu)[0])
    near = np.flatnonzero(scores >= (coarse_start.NEAR + 0.05) * scores.max())
    assert len(near) > 10
    assert np.isin(near, start.instances).all()


def test_instances_left_out_wrongly_come_back(always, monkeypatch):
    monkeypatch.setattr(coarse_start, "NEAR", 0.999)
    problem = text_problem(200, 150)
    solution = dispatch.solve_minimax_risk(problem, SETTINGS)
    assert solution.upper == pytest.approx(interior_point(problem, SETTINGS).upper, abs=1e-9)


def test_a_beginning_that_gets_stuck_is_left(monkeypatch):
    """It starts again without one, and finds the optimum."""
    problem = text_problem()
    start, plain, calls = coarse_start.coarse_start(problem, SETTINGS, None), engine.is_stuck, []
    monkeypatch.setattr(engine, "is_stuck", lambda gaps: calls.append(gaps) or len(calls) == 1 or plain(gaps))
    solution = interior_point(problem, SETTINGS, start=start.on_all(problem))
    assert len(calls) > 5
    assert solution.solver == "interior-point"
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
    solution = dispatch.solve_minimax_risk(text_problem(radius=60.0), SETTINGS)
    assert solution.converged
    assert solution.upper == 0.5
    assert not solution.mu.any()


def test_the_steps_are_for_sparse_free_problems_with_one_block_and_no_radius_of_zero(always):
    study = make_expression(40, 60, random_state=0)
    three = np.arange(40) % 3
    for X, y, n_classes, options in (
        (study.data, study.target, 2, {}),
        (sparse.csr_array(study.data), three, 3, {}),
        (sparse.csr_array(study.data), study.target, 2, {"marginal_is_known": True}),
        (sparse.csr_array(study.data), study.target, 2, {"radius": 0.0}),
    ):
        problem, _ = problem_of(X, y, n_classes, **options)
        assert not coarse_start.is_worth_a_coarse_start(problem)


@pytest.mark.parametrize("max_iter", [1, 5, 15])
def test_stopped_early_it_leaves_a_certified_model(max_iter, always):
    text = make_text(150, 300, random_state=2)
    model = MinimaxRiskClassifier(solvers.InteriorPoint(max_iter=max_iter))
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(text.data, text.target)
    assert verify(model, text.data, text.target).valid
    assert len(model.history_) == max_iter
    exact = MinimaxRiskClassifier().fit(text.data.toarray(), text.target)
    assert model.worst_case_error_lower_ <= exact.worst_case_error_ <= model.worst_case_error_


def test_the_history_is_one_and_ends_with_the_answer(always):
    problem = text_problem(200, 150)
    seen = []
    solution = dispatch.solve_minimax_risk(problem, SETTINGS, lambda record: bool(seen.append(record)))
    assert [record["iteration"] for record in solution.history] == list(range(1, len(seen) + 1))
    uppers, lowers = ([record[name] for record in solution.history] for name in ("upper", "lower"))
    assert (np.diff(uppers) <= 0.0).all()
    assert (np.diff(lowers) >= 0.0).all()
    assert uppers[-1] == pytest.approx(solution.upper, abs=1e-12)
