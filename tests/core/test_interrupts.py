"""Ctrl-C at any moment: what a fit has found is kept whole, or the model before stays as it was."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    permutation_test,
    verify,
)
from minimaxrisk._utils.interrupts import held_back, let_through
from minimaxrisk.datasets import make_expression, make_text
from minimaxrisk.engines import ball, first_order, instance_generation, moment_space
from minimaxrisk.engines.interior_point import batch, engine
from minimaxrisk.engines.interior_point.engine import interior_point
from minimaxrisk.engines.solution import EngineSettings, Solution
from minimaxrisk.estimators import skeleton
from minimaxrisk.guarantees.worst_case import largest_expected_loss
from problems import problem_of

STUDY = make_expression(40, 60, random_state=0)
X, Y = STUDY.data, STUDY.target


def interrupt():
    signal.raise_signal(signal.SIGINT)


class TestHeldBack:
    def test_it_comes_after_the_block(self):
        before, seen = signal.getsignal(signal.SIGINT), []

        def work():
            with held_back():
                interrupt()
                seen.append("work")
                with held_back():
                    interrupt()
                    seen.append("more")
                seen.append("end")

        with pytest.raises(KeyboardInterrupt):
            work()
        assert seen == ["work", "more", "end"]
        assert signal.getsignal(signal.SIGINT) is before
        with held_back():
            pass

    def test_it_comes_at_once_where_it_is_let_through(self):
        seen = []

        def inner():
            with held_back():
                interrupt()
                seen.append("inner")

        def loop():
            with let_through():
                with suppress(KeyboardInterrupt):
                    inner()
                with let_through():
                    interrupt()
                seen.append("never")

        with held_back():
            for _ in range(2):
                with pytest.raises(KeyboardInterrupt):
                    loop()
            seen.append("outer")
        assert seen == ["inner", "inner", "outer"]

    def test_one_that_has_waited_comes_where_it_is_let_through(self):
        seen = []
        with held_back():
            interrupt()
            with pytest.raises(KeyboardInterrupt), let_through():
                seen.append("never")
        assert not seen

    def test_another_handler_is_asked(self):
        seen = []
        before = signal.signal(signal.SIGINT, lambda *_: seen.append("asked"))
        try:
            with held_back():
                interrupt()
                assert not seen
                with let_through():
                    interrupt()
                    interrupt()
                assert seen == ["asked"] * 3
                interrupt()
            assert seen == ["asked"] * 4
        finally:
            signal.signal(signal.SIGINT, before)

    @pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
    def test_what_raises_nothing_stays(self, handler):
        before = signal.signal(signal.SIGINT, handler)
        try:
            with held_back(), let_through():
                assert signal.getsignal(signal.SIGINT) is handler
        finally:
            signal.signal(signal.SIGINT, before)

    def test_another_thread_changes_nothing(self):
        seen = []

        def work():
            with held_back(), let_through():
                seen.append(signal.getsignal(signal.SIGINT))

        before = signal.getsignal(signal.SIGINT)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert seen == [before]

    def test_an_error_inside_is_not_lost(self):
        def fail():
            with held_back():
                interrupt()
                raise ValueError("my own mistake")

        with pytest.raises(KeyboardInterrupt) as raised:
            fail()
        assert isinstance(raised.value.__context__, ValueError)


TALL = np.random.default_rng(0).standard_normal((2000, 3))
TEXT = make_text(300, 500, random_state=0)
FITS = {
    "interior point": (MinimaxRiskClassifier(), X, Y),
    "three classes": (MinimaxRiskClassifier(), X, np.arange(40) % 3),
    "first-order": (MinimaxRiskClassifier(solver="first-order"), X, Y),
    "constraint generation": (MinimaxRiskClassifier(solver="constraint-generation"), X, Y),
    "constraint and column generation": (
        MinimaxRiskClassifier(solver="constraint-and-column-generation"),
        X,
        Y,
    ),
    "full-lp": (MinimaxRiskClassifier(solver="full-lp"), X, Y),
    "instance generation": (MinimaxRiskClassifier(), TALL, (TALL[:, 0] + TALL[:, 1] ** 2 > 0.5).astype(int)),
    "moment space": (MinimaxRiskClassifier(), TALL[:1000], np.arange(1000) % 3),
    "sparse": (MinimaxRiskClassifier(), TEXT.data, TEXT.target),
    "ball": (MinimaxRiskKernelClassifier(), X, Y),
}
PLACES = {
    "settle": [(Solution, "settle")],
    "small coefficients": [(each, "drop_small_coefficients") for each in (engine, first_order, moment_space)],
    "between": [(skeleton, "start_over")],
    "store": [(skeleton.CertifiedClassifier, "_store_bounds")],
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_what_was_found_is_stored(fit, place, monkeypatch):
    """The interrupt comes before and after the last call of what follows the loop of the solver."""
    model, data, labels = fit
    n_calls, last = [], [0]

    def watch(plain):
        def watched(*args, **kwargs):
            n_calls.append(plain)
            is_now = len(n_calls) == last[0]
            if is_now:
                interrupt()
            found = plain(*args, **kwargs)
            if is_now:
                interrupt()
            return found

        return watched

    for owner, name in place:
        monkeypatch.setattr(owner, name, watch(getattr(owner, name)))
    model.fit(data, labels)
    if not n_calls:
        pytest.skip("this solver does not go there")
    expected, converged, n_records = model.worst_case_error_, model.converged_, len(model.history_)
    last[0] = len(n_calls)
    n_calls.clear()
    before, model = signal.getsignal(signal.SIGINT), clone(model)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data, labels)
    assert signal.getsignal(signal.SIGINT) is before
    assert (model.worst_case_error_, model.converged_) == (expected, converged)
    assert len(model.history_) == n_records
    monkeypatch.undo()
    assert verify(model, data, labels).valid


def test_a_second_one_waits_for_the_first(monkeypatch):
    """Pressed again because nothing seems to happen: what was found up to the first is stored."""
    settle = Solution.settle

    def interrupted(solution, *args):
        interrupt()
        settle(solution, *args)

    monkeypatch.setattr(Solution, "settle", interrupted)
    model = MinimaxRiskClassifier(callback=lambda record: record["iteration"] == 3 and interrupt())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert len(model.history_) == 3
    assert verify(model, X, Y).valid


def test_programs_inside_programs_are_kept(monkeypatch):
    """The last program, with all instances, after rounds with some that came to nothing."""
    problem, _ = problem_of(X, Y, 2)
    plain = interior_point(problem, EngineSettings("auto"))
    monkeypatch.setattr(instance_generation, "interior_approach", lambda *_: None)
    settle, n_calls = Solution.settle, []

    def interrupted(solution, *args):
        n_calls.append(1)
        if len(n_calls) == 1:
            interrupt()
        settle(solution, *args)

    monkeypatch.setattr(Solution, "settle", interrupted)
    found = instance_generation.instance_generation(problem, EngineSettings("auto"))
    assert found.interrupted
    assert found.upper == pytest.approx(plain.upper, abs=1e-12)
    assert found.lower == pytest.approx(plain.lower, abs=1e-12)


def test_first_steps_that_find_nothing_do_not_lose_it(monkeypatch):
    problem, _ = problem_of(sparse.csr_array(TEXT.data), TEXT.target, 2)
    monkeypatch.setattr(first_order.Steps, "_run", lambda *_: interrupt())
    monkeypatch.setattr(instance_generation.InstanceGeneration, "WORTH_STEPS", np.inf)
    found = instance_generation.instance_generation(problem, EngineSettings("auto"))
    assert found.interrupted
    assert (found.lower, found.upper) == pytest.approx((0.0, 0.5), abs=1e-15)


def test_a_proof_is_not_finished(monkeypatch):
    problem, _ = problem_of(X, Y, 2)
    monkeypatch.setattr(engine, "step", lambda *_: interrupt())
    with pytest.raises(KeyboardInterrupt):
        largest_expected_loss(problem, np.eye(2)[:, Y], np.arange(3))


@pytest.mark.parametrize("owner", [batch, ball], ids=["members", "ball"])
def test_an_ensemble_stops(owner, monkeypatch):
    monkeypatch.setattr(owner, "step", lambda *_: interrupt())
    model = MinimaxRiskEnsembleClassifier(n_estimators=3, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "members_")


def test_a_permutation_test_stops(monkeypatch):
    n_steps = []
    monkeypatch.setattr(batch, "step", lambda *_: n_steps.append(1) or interrupt())
    with pytest.raises(KeyboardInterrupt):
        permutation_test(MinimaxRiskClassifier(), X, Y, 5)
    assert n_steps == [1]
