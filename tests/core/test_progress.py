"""Following, stopping and interrupting a fit."""

from __future__ import annotations

import logging
import os
import signal
import threading

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier, verify
from minimaxrisk.datasets import make_expression
from minimaxrisk.engines.cost import RATES
from minimaxrisk.engines.forecast import Forecast
from minimaxrisk.engines.highs import RangeProgram


def test_an_error_in_the_callback_reaches_the_caller(wide):
    X, y = wide

    def fail(record):
        raise RuntimeError("my own mistake")

    with pytest.raises(RuntimeError, match="my own mistake"):
        MinimaxRiskClassifier(callback=fail).fit(X, y)


def test_verbose_goes_to_standard_error_where_logging_is_not_set_up(wide, capsys, monkeypatch):
    X, y = wide
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # those of pytest
    MinimaxRiskClassifier().fit(X, y)
    MinimaxRiskClassifier(verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("iteration 1:") == 1


def test_interrupt_inside_the_solver_leaves_a_valid_model(monkeypatch):
    """A real SIGINT while HiGHS works on a program that would take many seconds."""
    study = make_expression(200, 1000, n_informative=10, effect=0.3, random_state=0)
    model = MinimaxRiskClassifier(solver="full-lp", coding="one-hot")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    solve = RangeProgram.solve

    def interrupted(program):
        timer.start()
        return solve(program)

    monkeypatch.setattr(RangeProgram, "solve", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(study.data, study.target)
    finally:
        timer.cancel()  # a late signal must not hit another test
    # Nothing was solved yet, so the model is the one that is valid from the start: guessing.
    assert model.worst_case_error_ == pytest.approx(0.5)
    assert not model.converged_
    assert verify(model, study.data, study.target).valid


@pytest.mark.parametrize("is_geometric", [True, False])
def test_the_forecast_of_a_gap_that_shrinks_evenly_is_right(is_geometric):
    told = []
    forecast = Forecast(lambda record: bool(told.append(record)), aim=1e-3, is_geometric=is_geometric)
    gaps = (
        0.5 ** np.arange(1, 10) if is_geometric else 0.5 * np.arange(1.0, 40.0) ** (-1.0 / RATES.steps_power)
    )
    for k, gap in enumerate(gaps):
        forecast({"lower": 0.0, "upper": gap, "seconds": float(k + 1)})
    assert np.isnan(told[2]["seconds_left"])
    last = 1.0 + np.log2(gaps[-1] / 1e-3) if is_geometric else (0.5 / 1e-3) ** RATES.steps_power - len(gaps)
    assert told[-1]["seconds_left"] == pytest.approx(last)


def test_callbacks_are_told_how_long_it_takes(wide):
    X, y = wide
    told = []
    model = MinimaxRiskClassifier(callback=lambda record: bool(told.append(record))).fit(X, y)
    assert all("seconds_left" in record for record in told)
    assert told[-1]["seconds_left"] >= 0.0
    assert "seconds_left" not in model.history_[-1]
