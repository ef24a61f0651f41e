"""BLAS uses one thread where more would only wait, and what the caller has set afterwards."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn.base import clone
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    PredictionSets,
    error_bound,
    minimax_risk_path,
    permutation_test,
    verify,
    worst_case,
)
from minimaxrisk._utils import environment
from minimaxrisk._utils.environment import ONE_THREAD_BELOW, suitable_threads


@pytest.fixture(autouse=True)
def every_library():
    """Tests before these may have imported packages that bring a BLAS of their own."""
    environment._controller.cache_clear()


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("chosen", [1, 2])
def test_small_problems_use_one_thread_and_leave_the_setting(chosen):
    with threadpool_limits(chosen, user_api="blas"):
        before = blas_threads()
        with suitable_threads(ONE_THREAD_BELOW - 1):
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
        with suitable_threads(ONE_THREAD_BELOW):
            assert blas_threads() == before


def test_fit_leaves_the_setting_also_when_it_fails(wide):
    X, y = wide
    seen = []

    def fail(record):
        seen.extend(blas_threads())
        raise RuntimeError("no")

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(RuntimeError):
            MinimaxRiskClassifier(callback=fail).fit(X, y)
        assert set(seen) == {1}
        assert blas_threads() == before


# What multiplies matrices of a problem or factorises them, in the packages that do so.
WORK = {"combine", "combine_some", "correlate", "largest_loss", "scores", "solve_ball", "solve_minimax_risk"}
BOX, KERNEL = MinimaxRiskClassifier(), MinimaxRiskKernelClassifier("rbf")
ENSEMBLE = MinimaxRiskEnsembleClassifier(n_estimators=4, random_state=0, certify=True)
COMPUTE = {
    "fit": BOX.fit,
    "fit of radii": MinimaxRiskClassifierCV(radii=[1.0, 2.0], cv=2).fit,
    "fit of an ensemble": ENSEMBLE.fit,
    "fit of a kernel": KERNEL.fit,
    "path": lambda X, y: minimax_risk_path(X, y, [1.0, 2.0]),
    "permutation test": lambda X, y: permutation_test(BOX, X, y, 2),
    "verify": lambda X, y: verify(BOX.fit(X, y), X, y),
    "verify a kernel": lambda X, y: verify(KERNEL.fit(X, y), X, y),
    "worst case": lambda X, y: worst_case(BOX.fit(X, y), X, y),
    "worst case of an ensemble": lambda X, y: worst_case(ENSEMBLE.fit(X, y), X, y),
    "error bound": lambda X, y: error_bound(BOX, X, y, random_state=0),
}


@pytest.mark.parametrize("what", COMPUTE)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_that_computes_does_so_in_one_thread(wide, what):
    libraries, seen = ThreadpoolController().select(user_api="blas").lib_controllers, {}

    def watch(frame, event, of):
        package, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if name in WORK and package.startswith(("minimaxrisk.engines", "minimaxrisk.matrices")):
            seen.setdefault(name, set()).update(library.get_num_threads() for library in libraries)

    with threadpool_limits(2, user_api="blas"):
        sys.setprofile(watch)
        try:
            COMPUTE[what](*wide)
        finally:
            sys.setprofile(None)
    assert seen
    assert {name: {1} for name in seen} == seen


OVERLAP = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from threadpoolctl import threadpool_info, threadpool_limits
from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.datasets import make_expression

def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

def first(record):
    if record["iteration"] == 1:
        both_run.wait()

def second(record):
    if record["iteration"] == 1:
        both_run.wait()
        assert first_ended.wait(60)
        print(blas_threads())

study = make_expression(30, 200, random_state=0)
both_run, first_ended = Barrier(2, timeout=60), Event()
with ThreadPoolExecutor(1) as thread:  # ends, so that it keeps no other thread from setting a limit
    thread.submit(threadpool_limits, 2, user_api="blas").result()
with ThreadPoolExecutor(2) as threads:
    models = [MinimaxRiskClassifier(callback=callback) for callback in (first, second)]
    running = [threads.submit(model.fit, study.data, study.target) for model in models]
    running[0].result()
    first_ended.set()
    running[1].result()
    print(blas_threads())
"""


def test_fits_that_overlap_leave_the_setting():
    """In a process of its own, since the main thread of this one holds a limit."""
    command = [sys.executable, "-W", "ignore", "-c", OVERLAP]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert said.split() == ["{1}", "{2}"]  # during the second fit, and after it


CONCURRENT = {
    "box": MinimaxRiskClassifier(radius="bootstrap", random_state=3),
    "known": MinimaxRiskClassifier(marginal="empirical"),
    "first-order": MinimaxRiskClassifier(solver="first-order"),
    "kernel": KERNEL,
    "ensemble": MinimaxRiskEnsembleClassifier(n_estimators=6, random_state=1, certify=True),
    "radii": MinimaxRiskClassifierCV(radii=[0.5, 1.0, 2.0], cv=3),
    "sets": PredictionSets(BOX, cv=3, random_state=0),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_results_do_not_depend_on_other_threads(wide):
    X, y = wide

    def results(name):
        model = clone(CONCURRENT[name]).fit(X, y)
        bounds = () if name == "sets" else (model.worst_case_error_, model.worst_case_error_lower_)
        test = permutation_test(BOX, X, y, 4, random_state=0).null_distribution.tolist()
        return model.predict(X).tolist(), model.decision_function(X).tolist() if bounds else [], bounds, test

    alone = [results(name) for name in CONCURRENT]
    with ThreadPoolExecutor(len(CONCURRENT)) as threads:
        for _ in range(2):
            assert list(threads.map(results, CONCURRENT)) == alone
