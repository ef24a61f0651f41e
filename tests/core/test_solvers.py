"""Solver objects: their parameters, what reaches the engines, and limits of time."""

from __future__ import annotations

import pickle
import signal
import time
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    permutation_test,
    verify,
)
from minimaxrisk.datasets import make_expression
from minimaxrisk.engines.solution import EngineSettings, TimeLimit
from minimaxrisk.estimators.fit_support import engine_settings_of
from minimaxrisk.solvers import (
    ConstraintAndColumnGeneration,
    ConstraintGeneration,
    FirstOrder,
    FullLP,
    InteriorPoint,
)

SOLVERS = {
    "interior-point": InteriorPoint(),
    "first-order": FirstOrder(),
    "constraint-generation": ConstraintGeneration(),
    "constraint-and-column-generation": ConstraintAndColumnGeneration(),
    "full-lp": FullLP(),
}


@pytest.fixture(scope="module")
def study():
    found = make_expression(60, 300, effect=1.2, random_state=0)
    return found.data, found.target


@pytest.mark.parametrize(("name", "solver"), SOLVERS.items(), ids=SOLVERS)
def test_a_name_is_the_object_with_its_defaults(study, name, solver):
    by_name, by_object = (MinimaxRiskClassifier(solver=each).fit(*study) for each in (name, solver))
    assert by_name.solver_ == by_object.solver_ == name
    np.testing.assert_array_equal(by_name.coef_, by_object.coef_)
    assert repr(by_object) == f"MinimaxRiskClassifier(solver={type(solver).__name__}())"
    copied = pickle.loads(pickle.dumps(clone(by_object)))
    assert copied.solver is not solver
    assert copied.get_params()["solver__max_seconds"] is None


def test_parameters_reach_the_engine():
    solver = ConstraintGeneration(
        initial_features=[3, 1], n_max=7, epsilon=0.5, k_max=2, select="as-printed", max_seconds=9.0
    )
    found = engine_settings_of(MinimaxRiskClassifier(solver=solver, gap_tol=0.1), n_features=4)
    np.testing.assert_array_equal(found.initial_features, [3, 1])
    assert (found.n_max, found.epsilon, found.max_iter, found.select) == (7, 0.5, 2, "as-printed")
    assert (found.max_seconds, found.gap_tol, found.first_order_gap_tol) == (9.0, 0.1, 0.1)
    solver = ConstraintAndColumnGeneration(epsilon_1=0.2, epsilon_2=0.3, n_max=7, k_max=2, max_seconds=9.0)
    found = engine_settings_of(MinimaxRiskClassifier(solver=solver), n_features=4)
    assert (found.n_max, found.epsilon_1, found.epsilon, found.max_iter) == (7, 0.2, 0.3, 2)
    for solver in (InteriorPoint(max_iter=3, max_seconds=1.0), FirstOrder(max_iter=3, max_seconds=1.0)):
        found = engine_settings_of(MinimaxRiskClassifier(solver=solver), n_features=4)
        assert found == EngineSettings(found.solver, max_iter=3, max_seconds=1.0)
    assert engine_settings_of(MinimaxRiskClassifier(), n_features=4) == EngineSettings("auto")


def test_searches_reach_the_parameters_of_a_solver(study):
    model = MinimaxRiskClassifier(solver=ConstraintGeneration(k_max=1))
    grid = {"solver__n_max": [1, 50], "solver__epsilon": [1e-4]}
    with pytest.warns(ConvergenceWarning, match="stopped at k_max=1 "):
        search = GridSearchCV(model, grid, cv=3).fit(*study)
    # One component more than at the start is not enough to classify by.
    assert np.diff(search.cv_results_["mean_test_score"]) > 0.1
    assert search.best_params_["solver__n_max"] == 50
    assert model.solver.n_max == 100


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (ConstraintGeneration(epsilon=-1e-3), "The 'epsilon' parameter of ConstraintGeneration"),
        (ConstraintGeneration(n_max=0), "The 'n_max' parameter"),
        (ConstraintGeneration(n_max=2.5), "The 'n_max' parameter"),
        (ConstraintGeneration(k_max=0), "The 'k_max' parameter"),
        (ConstraintGeneration(select="printed"), "The 'select' parameter .* must be a str among"),
        (
            ConstraintGeneration(select="as-printed"),
            "select='as-printed' needs k_max.* Pass a k_max such as 10",
        ),
        (ConstraintGeneration(initial_features="random"), "The 'initial_features' parameter"),
        (ConstraintGeneration(initial_features=[0, 3]), r"column index 3, but X has 3 columns \(0 to 2\)"),
        (ConstraintGeneration(initial_features=[-1]), "column index -1"),
        (ConstraintGeneration(initial_features=[0.5]), "must be 'correlation', 'first-order' or a 1-D array"),
        (ConstraintGeneration(initial_features=[[0]]), "must be 'correlation', 'first-order' or a 1-D array"),
        (ConstraintAndColumnGeneration(epsilon_1=-1.0), "The 'epsilon_1' parameter"),
        (ConstraintAndColumnGeneration(epsilon_2=-1.0), "The 'epsilon_2' parameter"),
        (ConstraintAndColumnGeneration(n_max=0), "The 'n_max' parameter of ConstraintAndColumn"),
        (ConstraintAndColumnGeneration(k_max=0), "The 'k_max' parameter of ConstraintAndColumn"),
        (InteriorPoint(max_iter=0), "The 'max_iter' parameter of InteriorPoint"),
        (FirstOrder(max_iter=1.5), "The 'max_iter' parameter of FirstOrder"),
        (FullLP(max_seconds=0.0), "The 'max_seconds' parameter of FullLP"),
        (
            InteriorPoint,
            "The 'solver' parameter of MinimaxRiskClassifier must be a str among .* or an instance",
        ),
    ],
)
def test_wrong_parameters(solver, message):
    X, y = np.random.default_rng(0).standard_normal((10, 3)), np.arange(10) % 2
    with pytest.raises(ValueError, match=message):
        MinimaxRiskClassifier(solver=solver).fit(X, y)


# Limits of time.

AT_ONCE = 1e-9


@pytest.mark.parametrize(
    ("solver", "n_iter"),
    [
        (InteriorPoint(max_seconds=AT_ONCE), 1),
        (FirstOrder(max_seconds=AT_ONCE), 1),
        (ConstraintGeneration(n_max=5, max_seconds=AT_ONCE), 1),
        (ConstraintAndColumnGeneration(n_max=5, max_seconds=AT_ONCE), 1),
    ],
)
def test_out_of_time_the_bounds_are_valid_and_a_warning_names_the_gap(study, solver, n_iter):
    X, y = study
    with pytest.warns(ConvergenceWarning) as caught:
        model = MinimaxRiskClassifier(solver=solver).fit(X, y)
    (message,) = [str(each.message) for each in caught]
    assert (
        f"stopped at max_seconds=1e-09 with an optimality gap of {model.optimality_gap_:.2g}; the bounds are "
        "valid, and a larger max_seconds brings them closer together."
    ) in message
    assert not model.converged_
    assert model.n_iter_ == n_iter
    assert verify(model, X, y).valid
    best = MinimaxRiskClassifier().fit(X, y).worst_case_error_
    assert model.worst_case_error_lower_ <= best <= model.worst_case_error_


def test_a_long_linear_program_is_stopped_between_two_pivots():
    """All of 120 x 4000 at once takes HiGHS many seconds."""
    large = make_expression(120, 4000, random_state=0)
    X, y = large.data, large.target
    told = r"stopped at max_seconds=0\.3 with an optimality gap of"
    with pytest.warns(ConvergenceWarning, match=told):
        model = MinimaxRiskClassifier(solver=FullLP(max_seconds=0.3)).fit(X, y)
    assert not model.converged_
    assert (model.worst_case_error_, model.n_features_selected_) == (0.5, 0)
    assert (model.worst_case_errors_.tolist(), model.subset_sizes_.tolist()) == ([0.5], [0])
    assert len(model.stages_) == model.n_iter_ == 1
    assert verify(model, X, y).valid


@pytest.mark.parametrize("solver", [FullLP, ConstraintGeneration, ConstraintAndColumnGeneration])
def test_limits_hold_also_while_a_program_is_written_or_presolved(solver):
    """One program of ten classes takes seconds to write, and as many to presolve."""
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 10
    X = rng.standard_normal((4000, 60)) + rng.standard_normal((10, 60))[y]
    start = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="stopped at max_seconds=1 "):
        MinimaxRiskClassifier(solver=solver(max_seconds=1.0)).fit(X, y)
    assert time.perf_counter() - start < 3.0  # the limit, a second more, and a busy machine


@contextmanager
def alarm(error, seconds):
    """Raise an error from a signal handler after some seconds."""

    def strike(number, frame):
        raise error

    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarms")
@pytest.mark.parametrize("error", [TimeoutError, KeyboardInterrupt, ValueError])
def test_what_a_signal_handler_raises_ends_a_long_linear_program(error):
    """HiGHS works when the alarm strikes: all of 120 x 4000 at once takes it many seconds."""
    large = make_expression(120, 4000, random_state=0)
    start = time.perf_counter()
    with pytest.raises(error), alarm(error, 1.5):
        MinimaxRiskClassifier(solver=FullLP()).fit(large.data, large.target)
    assert time.perf_counter() - start < 3.5


@pytest.mark.parametrize("error", [TimeoutError, KeyboardInterrupt, ArithmeticError])
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_what_a_callback_raises_ends_the_fit(study, solver, error):
    def callback(record):
        raise error

    with pytest.raises(error):
        MinimaxRiskClassifier(solver=solver, callback=callback).fit(*study)


def test_with_time_enough_nothing_changes(study):
    for solver in SOLVERS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            limited = MinimaxRiskClassifier(solver=clone(solver).set_params(max_seconds=1000.0)).fit(*study)
        np.testing.assert_array_equal(limited.coef_, MinimaxRiskClassifier(solver=solver).fit(*study).coef_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("solver", "shape"), [(InteriorPoint, (60, 300)), (InteriorPoint, (4000, 5)), (FirstOrder, (60, 300))]
)
def test_each_problem_of_an_ensemble_or_a_permutation_test_has_the_limit(solver, shape):
    """Out of time at once, each ends where one that is allowed a single iteration does."""
    simulated = make_expression(*shape, effect=1.2, n_informative=5, random_state=0)
    X, y = simulated.data, simulated.target
    late, short, full = (
        MinimaxRiskClassifier(solver=each)
        for each in (solver(max_seconds=AT_ONCE), solver(max_iter=1), solver(max_seconds=1000.0))
    )
    ensemble = MinimaxRiskEnsembleClassifier(n_estimators=8, subsample=0.4, certify=False, random_state=0)
    probabilities = [
        clone(ensemble).set_params(estimator=each).fit(X, y).predict_proba(X) for each in (late, short, full)
    ]
    np.testing.assert_array_equal(probabilities[0], probabilities[1])
    assert not np.array_equal(probabilities[0], probabilities[2])
    risks = [permutation_test(each, X, y, 2, random_state=0).statistic for each in (late, short, full)]
    assert risks[0] == risks[1] > risks[2] + 0.01


@pytest.mark.parametrize(("calls", "stops"), [((1.0, 5.0), False), ((1.0, 7.0), True), ((7.0,), False)])
def test_an_iteration_that_would_end_long_after_the_limit_is_not_begun(monkeypatch, calls, stops):
    times = iter([0.0, *calls])
    monkeypatch.setattr("minimaxrisk.engines.solution.time.perf_counter", lambda: next(times))
    limit = TimeLimit(10.0)
    assert [limit({}) for _ in calls][-1] is stops
    assert limit.has_stopped is stops
