"""The interior point: its linear algebra against dense systems, its answers, and what it does in trouble."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from minimaxrisk import MinimaxRiskClassifier, solvers, verify
from minimaxrisk._utils.positive_definite import FactorisationError, cholesky
from minimaxrisk.engines.highs import PivotLimitError, SolverError
from minimaxrisk.engines.interior_point import engine, sides
from minimaxrisk.engines.interior_point.box import BoxPoint
from minimaxrisk.engines.interior_point.sides import BoxCoupling
from minimaxrisk.engines.interior_point.step import step
from minimaxrisk.engines.interior_point.systems import OneHotSystem, SignedSystem
from minimaxrisk.engines.paper import full_lp
from minimaxrisk.engines.solution import EngineSettings
from minimaxrisk.matrices.moment_constraints import MomentConstraints
from minimaxrisk.problem.objective import BayesError
from minimaxrisk.problem.problem import upper_bound
from problems import problem_of, some_problem

SETTINGS = EngineSettings("interior-point")


# --- the Newton systems -------------------------------------------------------------------------------


def all_constraints(problem):
    constraints = MomentConstraints([problem.features], [problem.tau], [problem.lam], in_batch=False)
    constraints.begin()
    return constraints.working_set(0, np.arange(problem.n_components))


def perturbed(system, rng, decades):
    """Pairs with products near each other and values over many decades, as in late iterations."""
    spread = 10.0 ** rng.uniform(-decades, 0.0, system.x.shape)
    swap = rng.random(system.x.shape) < 0.5
    system.x = np.where(swap, spread, 1.0)
    system.z = np.where(swap, 1.0, spread)


def dense_one_hot(working, weights, scores, x, z, target, pull):
    """All equations of the one-hot step in one matrix: dw, dr, dphi."""
    k, n = scores.shape
    w, room = x.reshape(2, k, n)
    a, b = z.reshape(2, k, n)
    pushed = target.reshape(2, k, n) / x.reshape(2, k, n)
    size = k * n
    matrix, right = np.zeros((size + n + 1, size + n + 1)), np.zeros(size + n + 1)
    for c, part in enumerate(working.parts):
        own = slice(c * n, (c + 1) * n)
        rows = working.rows[part]
        matrix[own, own] = rows.T @ (weights[part, None] * rows) + np.diag(a[c] / w[c] + b[c] / room[c])
        matrix[own, size : size + n] = matrix[size : size + n, own] = -np.diag(b[c] / room[c])
        right[own] = scores[c] - b[c] + a[c] + pull[c] + pushed[0, c] - pushed[1, c]
    matrix[size : size + n, size : size + n] = np.diag((b / room).sum(axis=0))
    right[size : size + n] = pushed[1].sum(axis=0) - (1.0 - b.sum(axis=0))
    matrix[:size, -1] = matrix[-1, :size] = 1.0
    right[-1] = 1.0 - w.sum()
    # The matrix spans twelve decades; refinement in longer numbers makes the reference a reference.
    solution = np.linalg.solve(matrix, right)
    for _ in range(5):
        residual = right - matrix.astype(np.longdouble) @ solution.astype(np.longdouble)
        solution = solution + np.linalg.solve(matrix, residual.astype(float))
    return solution


@pytest.mark.parametrize("shape", [(12, 60), (40, 5), (90, 2)], ids=["wide", "square", "tall"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("decades", [1, 6])
@pytest.mark.parametrize("few", [sides.MOMENT_SIDE, 0.0])
def test_one_hot_step_solves_the_dense_system(shape, n_classes, decades, few, monkeypatch):
    monkeypatch.setattr(sides, "MOMENT_SIDE", few)
    rng = np.random.default_rng(2)
    problem = some_problem(3, *shape, n_classes=n_classes, coding="one-hot")
    working = all_constraints(problem)
    system = OneHotSystem(problem.centre[None])
    perturbed(system, rng, decades)
    weights = 10.0 ** rng.uniform(-decades, 1.0, len(working))
    scores, pull = rng.standard_normal((2, *problem.centre.shape))
    target = rng.uniform(-1.0, 1.0, system.x.shape) * system.x * system.z
    coupling = BoxCoupling(1).at([working], weights[None])
    assert not system.factorise(coupling, system.z / system.x, scores[None]).any()
    dx, (moved,) = system.solve(target / system.x, pull[None])
    expected = dense_one_hot(working, weights, scores, system.x[0], system.z[0], target, pull)
    size = problem.centre.size
    dw, dr = expected[:size].reshape(problem.centre.shape), expected[size:-1]
    scale = np.abs(expected[:-1]).max()
    block_weights = system.block_weights(dx)[0]
    np.testing.assert_allclose(block_weights, dw, atol=1e-6 * scale)
    np.testing.assert_allclose(dx.reshape(2, *dw.shape)[1], dr - dw, atol=1e-6 * scale)
    assert system.x[0, :size].sum() + block_weights.sum() == pytest.approx(1.0, abs=1e-9 * np.abs(dw).sum())
    assert moved is None or shape != (12, 60)
    if moved is not None:
        np.testing.assert_allclose(moved, working.moments(dw), atol=1e-6 * scale)


@pytest.mark.parametrize("shape", [(12, 60), (40, 5), (90, 2)], ids=["wide", "square", "tall"])
@pytest.mark.parametrize("decades", [1, 6])
@pytest.mark.parametrize("few", [sides.MOMENT_SIDE, 0.0])
def test_signed_step_satisfies_the_newton_equations(shape, decades, few, monkeypatch):
    monkeypatch.setattr(sides, "MOMENT_SIDE", few)
    rng = np.random.default_rng(4)
    problem = some_problem(5, *shape, n_classes=2)
    working = all_constraints(problem)
    system = SignedSystem(problem.centre[None])
    perturbed(system, rng, decades)
    weights = 10.0 ** rng.uniform(-decades, 1.0, len(working))
    scores, pull = rng.standard_normal((2, 1, shape[0]))
    target = rng.uniform(-1.0, 1.0, system.x.shape) * system.x * system.z
    coupling = BoxCoupling(1).at([working], weights[None])
    assert not system.factorise(coupling, system.z / system.x, scores[None]).any()
    dx, (moved,) = system.solve(target / system.x, pull[None])
    du = system.block_weights(dx)[0, 0]
    assert moved is None or shape != (12, 60)
    if moved is not None:
        np.testing.assert_allclose(moved, working.moments(du[None]), atol=1e-7)
    # Stationarity: z -+ score = 1 afterwards, the scores having moved by pull - G du.
    rows = working.rows[:]
    after = scores[0] + pull[0] - rows.T @ (weights * (rows @ du))
    dz = (target - system.z * dx) / system.x
    dz_p, dz_q = dz.reshape(2, -1)
    z_p, z_q = system.z.reshape(2, -1)
    # How many digits are left depends on the processor's linear algebra.
    scale = max(1.0, np.abs(dz).max())
    np.testing.assert_allclose(z_p + dz_p, 1.0 - after, atol=1e-6 * scale)
    np.testing.assert_allclose(z_q + dz_q, 1.0 + after, atol=1e-6 * scale)


def test_cholesky_regularises_what_it_must_and_says_what_it_cannot():
    singular = np.ones((3, 3), order="F")
    factor = np.tril(cholesky(singular))
    np.testing.assert_allclose(factor @ factor.T, np.ones((3, 3)), atol=1e-6)
    with pytest.raises(FactorisationError):
        cholesky(np.asfortranarray(-np.eye(3)))


# --- the iterates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_every_iterate_proves_its_bounds(coding):
    problem = some_problem(6, n=40, d=300, n_classes=2, coding=coding)
    exact = full_lp(problem, BayesError()).upper
    point = BoxPoint(problem)
    for _ in range(9):
        point.choose_working_sets()
        bound, stage = point.upper_bound()
        assert bound >= exact - 1e-12
        assert bound == pytest.approx(
            upper_bound(problem, BayesError(), stage.expand(*problem.tau.shape)), abs=1e-10
        )
        w = point.distribution()
        assert w.min() >= 0.0
        assert w.sum() == pytest.approx(1.0, abs=1e-12)
        # Inside the set without any mixing.
        assert (np.abs(problem.moments_of(w) - problem.tau) <= problem.lam).all()
        assert BayesError().value(w) <= exact + 1e-12
        step(point)
    assert bound - BayesError().value(w) < 1e-4


# --- the ways in which it ends ------------------------------------------------------------------------


@pytest.mark.parametrize("max_iter", [1, 2, 5, 8])
def test_stopping_early_leaves_a_certified_model(wide, max_iter):
    X, y = wide
    best = MinimaxRiskClassifier().fit(X, y)
    with pytest.warns(ConvergenceWarning, match=f"stopped at max_iter={max_iter}"):
        model = MinimaxRiskClassifier(solver=solvers.InteriorPoint(max_iter=max_iter)).fit(X, y)
    assert model.n_iter_ == max_iter
    assert not model.converged_
    assert verify(model, X, y).valid
    assert model.worst_case_error_lower_ <= best.worst_case_error_ <= model.worst_case_error_
    # What thresholding may cost is the tolerance.
    assert model.worst_case_error_ <= model.history_[-1]["upper"] + 1e-6


def test_bounds_close_in_and_the_records_say_so(wide):
    X, y = wide
    model = MinimaxRiskClassifier().fit(X, y)
    lower = np.array([record["lower"] for record in model.history_])
    upper = np.array([record["upper"] for record in model.history_])
    assert (np.diff(lower) >= 0.0).all()
    assert (np.diff(upper) <= 0.0).all()
    assert upper[-1] - lower[-1] < 1e-6
    sizes = np.cumsum([record["n_added"] - record["n_removed"] for record in model.history_])
    np.testing.assert_array_equal(sizes, [record["n_features"] for record in model.history_])
    assert (np.diff([record["seconds"] for record in model.history_]) >= 0.0).all()
    assert [record["iteration"] for record in model.history_] == list(range(1, model.n_iter_ + 1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_tolerance_means_what_rounding_allows(n_classes):
    problem = some_problem(15, n=40, d=200, n_classes=n_classes)
    solution = engine.interior_point(problem, EngineSettings("interior-point", gap_tol=0.0))
    assert solution.converged
    assert not solution.remark
    assert solution.upper - solution.lower < 1e-12


def broken_factor(matrix):
    raise FactorisationError


def not_a_number(factor, right):
    return np.full_like(right, np.nan)


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
@pytest.mark.parametrize(
    ("name", "fault", "n_good"), [("cholesky", broken_factor, 5), ("cholesky_solve", not_a_number, 10)]
)
def test_a_failing_factorisation_ends_in_constraint_generation(monkeypatch, coding, name, fault, n_good):
    problem = some_problem(9, n=40, d=200, n_classes=2, coding=coding)
    exact = full_lp(problem, BayesError()).upper
    calls = []

    def sometimes(*arguments):
        calls.append(1)
        return (fault if len(calls) > n_good else original)(*arguments)

    original = getattr(sides, name)
    monkeypatch.setattr(sides, name, sometimes)
    solution = engine.interior_point(problem, SETTINGS)
    assert solution.solver == "constraint-generation"
    assert "stuck" in solution.remark
    assert solution.converged
    assert np.isfinite(solution.mu).all()
    assert np.isfinite(solution.distribution).all()
    assert solution.upper == pytest.approx(exact, abs=1e-6)
    assert solution.lower == pytest.approx(exact, abs=1e-6)


def gives_up(*arguments, **options):
    raise PivotLimitError


def test_what_is_reported_is_computed_afresh(monkeypatch):
    """An engine that is wrong about where its iterates are must not get a bound past the certificate."""
    problem = some_problem(9, n=40, d=200, n_classes=2)
    exact = full_lp(problem, BayesError()).upper
    outside = np.full_like(problem.centre, 1.0 / problem.centre.size)
    monkeypatch.setattr(SignedSystem, "distributions", lambda self: outside[None])
    monkeypatch.setattr(engine, "constraint_generation", gives_up)
    solution = engine.interior_point(problem, SETTINGS)
    assert solution.lower <= exact + 1e-12
    assert solution.upper >= exact - 1e-12
    assert not solution.converged


@pytest.mark.parametrize("gap_tol", [0.02, 0.3, 2.0])
def test_a_gap_within_the_tolerance_stays_within_it(gap_tol):
    for n_classes in (2, 3):
        problem = some_problem(17, n=40, d=200, n_classes=n_classes)
        exact = full_lp(problem, BayesError()).upper
        solution = engine.interior_point(problem, EngineSettings("interior-point", gap_tol=gap_tol))
        assert solution.converged
        assert solution.upper - solution.lower <= gap_tol
        assert solution.lower - 1e-12 <= exact <= solution.upper + 1e-12
        assert solution.upper <= 1.0 - 1.0 / n_classes


def nine_classes(seed, n=60, d=400):
    """Expression data cut to three values: many ties, nine small classes, one of two samples."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(9), [2, 4, 6, 7, 7, 8, 8, 9, 9])
    values = rng.standard_normal((n, d)) + 0.7 * rng.standard_normal((9, d))[labels]
    return 2.0 * np.clip(np.round(0.8 * values), -1, 1), labels


def fails(*arguments, **options):
    raise SolverError("HiGHS did not reach an optimum")


@pytest.mark.parametrize("is_finished", [True, False])
def test_the_user_is_told_of_other_engines_and_of_their_failures(wide, monkeypatch, is_finished):
    X, y = wide
    monkeypatch.setattr(sides, "cholesky", broken_factor)
    if not is_finished:
        monkeypatch.setattr(engine, "constraint_generation", fails)
    with pytest.warns(ConvergenceWarning) as caught:
        model = MinimaxRiskClassifier().fit(X, y)
    told = (
        "the interior point got stuck after" if is_finished else "could not be finished: HiGHS did not reach"
    )
    assert any(told in str(w.message) for w in caught)
    assert not is_finished or model.solver_ == "constraint-generation"
    assert model.converged_ == is_finished
    assert verify(model, X, y).valid


@pytest.mark.parametrize("standardize", [True, False])
def test_ties_nine_classes_and_a_class_of_two(standardize):
    """Features that are zero on a whole class have a radius of zero there: the set has no interior."""
    X, y = nine_classes(0)
    problem, _ = problem_of(X, y, 9, standardize=standardize)
    assert (problem.lam == 1e-9).sum() > (3 if standardize else 50)
    model, exact = (
        MinimaxRiskClassifier(solver=solver, standardize=standardize).fit(X, y)
        for solver in ("auto", solvers.ConstraintGeneration(epsilon=1e-9))
    )
    assert model.converged_
    assert model.optimality_gap_ < 1e-9
    assert model.worst_case_error_ == pytest.approx(exact.worst_case_error_, abs=1e-7)
    # Lower bounds of the widened problem, which is the easier one for the adversary, prove nothing.
    assert all(r["lower"] <= model.worst_case_error_ + 1e-9 for r in model.history_)
    assert all(r["upper"] >= model.worst_case_error_ - 1e-9 for r in model.history_)
    # Wherever it stops, it stops there, and the pair is certified for the problem itself.
    for last in (12, model.n_iter_ - 4, model.n_iter_ - 1):
        stopped = MinimaxRiskClassifier(
            standardize=standardize, callback=lambda r, last=last: r["iteration"] == last
        ).fit(X, y)
        assert stopped.n_iter_ == last
        assert verify(stopped, X, y).valid
        assert stopped.worst_case_error_lower_ <= model.worst_case_error_ + 1e-9
        assert model.worst_case_error_ <= stopped.worst_case_error_ + 1e-9
