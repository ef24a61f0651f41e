"""Ctrl-C, and what fails after the fit: the model is written first."""

from __future__ import annotations

import errno
import os
import signal
import time

import pytest

pytest.importorskip("skops", reason="comes with the extra 'app'")

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.app import atomic
from minimaxrisk.app.atomic import PARTIAL, checked_destination, write_whole
from minimaxrisk.app.cli import fitting, training
from minimaxrisk.app.storage import load_model
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators import classifier_cv, ensemble
from tests.study_files import write_rows
from tests.terminal import run


@pytest.fixture
def fit(tmp_path, capsys):
    study = make_expression(40, 100, effect=1.0, random_state=0)
    rows = [
        [f"s{i}", "ab"[y], *row]
        for i, (y, row) in enumerate(zip(study.target, study.data.tolist(), strict=True))
    ]
    table = write_rows(tmp_path / "t.csv", [["id", "class", *study.feature_names], *rows])

    def fit(*options):
        before = signal.getsignal(signal.SIGINT)
        status, out, err = run(
            capsys, "fit", table, "--target", "class", "--out", tmp_path / "m.skops", *options
        )
        assert signal.getsignal(signal.SIGINT) is before
        assert not list(tmp_path.glob(f"{PARTIAL}*"))
        return status, out, err

    return fit


@pytest.fixture
def press(monkeypatch):
    """Have Ctrl-C pressed whenever a function is called, or at some of the calls."""

    def press(place, name, times=(1,), *, after=False):
        original, calls = getattr(place, name), []

        def pressed(*arguments, **options):
            calls.append(None)
            found = original(*arguments, **options) if after else None
            for _ in range(times.count(len(calls))):
                signal.raise_signal(signal.SIGINT)
            return found if after else original(*arguments, **options)

        monkeypatch.setattr(place, name, pressed)

    return press


def kept(tmp_path, capsys):
    """The model of an interrupted fit, which must verify."""
    status, out, _ = run(capsys, "verify", tmp_path / "m.skops", tmp_path / "t.csv")
    assert status == 0, out
    return load_model(tmp_path / "m.skops").classifier


class TestDuringTheFit:
    def test_the_best_model_so_far_is_written(self, fit, press, tmp_path, capsys):
        press(training, "outward")  # of the first record
        status, out, err = fit("--model", "single")
        assert (status, out) == (130, "")
        assert "m.skops" in err
        model = kept(tmp_path, capsys)
        assert len(model.history_) == 1
        assert model.optimality_gap_ > 1e-3

    def test_a_second_time(self, fit, press, tmp_path, capsys):
        press(training, "outward", times=(1, 1))
        assert fit("--model", "single", "--solver", "constraint-generation")[0] == 130
        kept(tmp_path, capsys)

    @pytest.mark.parametrize("after", [False, True])
    def test_between_solver_and_file(self, after, fit, press, tmp_path, capsys):
        press(MinimaxRiskClassifier, "_store", after=after)
        status, _, err = fit("--model", "single")
        assert status == 130
        assert "m.skops" in err
        assert kept(tmp_path, capsys).converged_

    @pytest.mark.parametrize("name", ["saved_model", "save_model"])
    def test_while_it_is_written(self, name, fit, press, tmp_path, capsys):
        press(fitting, name)
        assert fit()[0] == 130
        kept(tmp_path, capsys)

    def test_the_last_fit_of_a_chosen_radius(self, fit, press, tmp_path, capsys):
        press(training, "outward")
        assert fit("--features", "5")[0] == 130
        kept(tmp_path, capsys)

    @pytest.mark.parametrize(
        ("place", "name", "options"),
        [
            (training, "filled", []),
            (classifier_cv, "solve_path", ["--features", "few"]),
            (ensemble, "pose_parts", []),
        ],
    )
    def test_before_there_is_a_model(self, place, name, options, fit, press, tmp_path):
        press(place, name)
        status, out, err = fit(*options)
        assert (status, out) == (130, "")
        assert "Nothing was written" in err
        assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


class TestAfterTheFit:
    @pytest.mark.parametrize(
        "name", ["report_on_model", "permutation_of", "guarantee_of", "cross_validated", "gather"]
    )
    def test_ctrl_c(self, name, fit, press, tmp_path, capsys):
        press(fitting, name)
        status, out, err = fit("--permutations", "3")
        assert (status, out) == (130, "")
        assert "m.skops" in err
        kept(tmp_path, capsys)
        assert load_model(tmp_path / "m.skops").calibration is None

    def test_a_report_that_cannot_be_written(self, fit, monkeypatch, tmp_path, capsys):
        def full(*arguments, **options):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(fitting, "write_findings", full)
        status, _, err = fit()
        assert status == 1
        assert "m.skops" in err
        kept(tmp_path, capsys)

    def test_in_the_end_the_file_is_complete(self, fit, tmp_path):
        assert fit()[0] == 0
        assert load_model(tmp_path / "m.skops").calibration is not None


class TestPartialFiles:
    def test_long_names(self, tmp_path):
        path = tmp_path / f"{'m' * 249}.skops"
        write_whole(path, "text")
        assert path.read_text() == "text"
        with pytest.raises(ValueError, match="mmm"):
            checked_destination(tmp_path / f"{'m' * 250}.skops")

    def test_abandoned_ones_are_removed_after_a_day(self, tmp_path):
        old, new, other = (tmp_path / name for name in (f"{PARTIAL}old", f"{PARTIAL}new", ".other-old"))
        for path in (old, new, other):
            path.write_text("part")
        past = time.time() - 2 * atomic.SECONDS_OF_A_DAY
        for path in (old, other):
            os.utime(path, (past, past))
        write_whole(tmp_path / "file", "text")
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([new.name, other.name, "file"])

    def test_content_is_on_the_disk_before_it_has_the_name(self, tmp_path, monkeypatch):
        done = []
        monkeypatch.setattr(os, "fsync", lambda file: done.append(os.fstat(file).st_size))
        monkeypatch.setattr(os, "replace", lambda partial, final: done.append(final.name))
        write_whole(tmp_path / "file", "text")
        assert done == [4, "file"]
