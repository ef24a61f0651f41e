"""The benchmark harness: its arithmetic, its tables, and its processes. No test asserts a time."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.__main__ import main
from experiments.rivals.files import fill_page, measure_files
from experiments.rivals.measure import Effort, follow
from experiments.rivals.records import (
    FAILED,
    OK,
    REFUSED,
    SKIPPED,
    TIME_LIMIT,
    Record,
    append_record,
    read_records,
)
from experiments.rivals.report import fill, render_losses, render_results
from experiments.rivals.workloads import OVER_FEATURES, Workload, workloads
from scipy import sparse

from experiments.rivals import ROOT, runner
from experiments.rivals.adapters import RIVALS, RefusedError, Rival
from experiments.rivals.growth import fit_growth, sweep_curve

ENVIRONMENT = {
    "processor": "Abacus",
    "cores": 1,
    "memory_gb": 1,
    "system": "Table",
    "python": "3.11",
    "packages": {"numpy": "2.0"},
    "mrcpy_environment": {},
    "thread_pools": [],
    "revision": "abc",
}


def record(rival, seconds=None, *, status=OK, d=1000, **fields):
    known = {"n_samples": 50, "n_features": d, "n_classes": 2, "x_bytes": 8 * 50 * d, "limit_seconds": 60.0}
    known |= {"workload": f"study-{d}", "sweep": OVER_FEATURES, "median_seconds": seconds} | fields
    return Record(rival=rival, status=status, **known)


@pytest.fixture
def study():
    """One workload on which every kind of result occurs."""
    return [
        record("interior-point", 0.1, converged=True, accuracy=0.8, peak_bytes=50_000_000, gap=1e-8),
        record("full-lp", 2.0, converged=True),
        record("highs-full-lp", status=TIME_LIMIT),
        record("mrcpy-gurobi", status=REFUSED, detail="licence size"),
        record("liblinear-svm", 0.02, converged=False, accuracy=0.9, peak_bytes=1_000_000),
        record("skglm-logistic", status=SKIPPED),
    ]


def test_records_survive_the_csv(tmp_path, study):
    for row in study:
        append_record(tmp_path / "results.csv", row)
    assert read_records(tmp_path / "results.csv") == study
    assert read_records(tmp_path / "nothing.csv") == []


def test_exponents_of_a_power_law_are_found(tmp_path):
    for d in (100_000, 10_000, 1_000_000):
        append_record(tmp_path / "results.csv", record("full-lp", 3e-7 * d**1.25, d=d))
    append_record(tmp_path / "results.csv", record("full-lp", status=TIME_LIMIT, d=10_000_000))
    growth = fit_growth(*sweep_curve(read_records(tmp_path / "results.csv"), OVER_FEATURES, "full-lp"))
    assert growth.exponent == pytest.approx(1.25)
    assert growth.factor == pytest.approx(3e-7)
    assert (growth.smallest, growth.largest, growth.n_points) == (10_000, 1_000_000, 3)


def test_two_points_are_no_growth():
    assert fit_growth([10, 100], [1.0, 2.0]) is None


def test_ratios_tell_killed_refused_and_unconverged_apart(study):
    text = render_results(study, ENVIRONMENT, pictures=[])
    row = next(line for line in text.splitlines() if line.startswith("| study-1000"))
    assert row == "| study-1000 (50 x 1000) | 100 ms | 20.0 | ≥ 600 | refused | 0.20† | skipped |"
    assert "| > 60.0 s | ≥ 600 |" in text
    assert "refused: licence size" in text


def test_losses_name_who_is_better_and_nobody_else(study):
    faster, accurate, leaner = render_losses(study).split("\n\n")[1::2]
    assert faster == "- study-1000 (50 x 1000), ours 100 ms: `liblinear-svm`† 20.0 ms"
    assert accurate == "- study-1000 (50 x 1000), ours 80.0%: `liblinear-svm`† 90.0%"
    assert leaner.strip() == "- study-1000 (50 x 1000), ours 50.0 MB: `liblinear-svm`† 1.00 MB"
    assert render_losses(study[:1]).count("Nobody, on no workload.") == 3


def test_another_solver_of_ours_stands_in_as_baseline(study):
    assert "divided by that of `full-lp`" in render_results(study[1:], ENVIRONMENT, pictures=[])


def test_the_page_in_the_docs_can_be_filled(study):
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    once = fill(fill(page, "results", "new results"), "losses", "new losses")
    assert "new results" in once
    assert "new losses" in once
    assert fill(once, "results", "new results") == once
    with pytest.raises(ValueError, match="needs the markers <!-- prices:begin -->"):
        fill(page, "prices", "")


def test_plots_are_drawn(tmp_path, study):
    pytest.importorskip("matplotlib", reason="comes with the extra 'bench'")
    from experiments.rivals.plots import plot_growth, plot_ratios  # noqa: PLC0415

    more = [replace(row, n_features=n, workload=f"study-{n}") for n in (2000, 4000) for row in study]
    plot_ratios(study + more, "interior-point", tmp_path / "ratios.svg")
    plot_growth(study + more, list(RIVALS), tmp_path / "growth.svg")
    drawn = (tmp_path / "growth.svg").read_bytes()
    plot_growth(study + more, list(RIVALS), tmp_path / "growth.svg")
    assert drawn == (tmp_path / "growth.svg").read_bytes()
    assert (tmp_path / "ratios.svg").stat().st_size < 200_000


def worker(script):
    return [sys.executable, "-c", "import json, os, sys, time\n" + script]


def test_a_fit_over_the_limit_is_killed():
    script = 'print(json.dumps({"event": "ready", "pid": os.getpid()}), flush=True)\ntime.sleep(600)'
    story = follow(worker(script), time_limit=0.2)
    assert story.status == TIME_LIMIT
    with pytest.raises(ProcessLookupError):
        os.kill(story.events[0]["pid"], 0)


def test_what_ends_a_worker_is_told():
    refused = follow(worker('print(json.dumps({"event": "refused", "detail": "no"}))'), time_limit=10)
    assert (refused.status, refused.detail) == (REFUSED, "no")
    crashed = follow(worker("os.abort()"), time_limit=10)
    assert (crashed.status, crashed.detail) == (FAILED, "ended by SIGABRT")
    raised = follow(worker("raise RuntimeError('bad luck')"), time_limit=10)
    assert (raised.status, raised.detail) == (FAILED, "RuntimeError: bad luck")


def test_run_and_resume(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MINIMAXRISK_DATA", str(tmp_path / "empty"))
    arguments = ["run", "--quick", "--repeats", "1", "--out", str(tmp_path), "--workloads", "expression-n20"]
    assert main([*arguments, "--rivals", "constraint-generation"]) == 0
    assert "Simulated data only" in capsys.readouterr().err
    assert main([*arguments, "--rivals", "constraint-generation", "liblinear-svm", "--resume"]) == 0
    ours, theirs = read_records(tmp_path / "results.csv")
    assert (ours.rival, ours.status, ours.n_samples, ours.repeats) == ("constraint-generation", OK, 20, 1)
    assert ours.converged
    assert ours.gap < 1e-3
    assert ours.n_passes > 1
    assert ours.peak_bytes > 0
    assert 0 <= ours.accuracy <= 1
    assert (theirs.rival, theirs.status, theirs.worst_case_error) == ("liblinear-svm", OK, None)
    assert "`liblinear-svm`" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert str(tmp_path) not in (tmp_path / "environment.json").read_text(encoding="utf-8")


def test_results_of_other_conditions_are_not_resumed(tmp_path, capsys):
    append_record(tmp_path / "results.csv", record("full-lp", 1.0))
    (tmp_path / "environment.json").write_text('{"processor": "Abacus"}', encoding="utf-8")
    assert main(["run", "--quick", "--resume", "--out", str(tmp_path), "--workloads", "expression-n20"]) == 2
    assert "cannot resume: changed since" in capsys.readouterr().err


def test_no_workload_and_no_results_are_said(tmp_path, capsys):
    assert main(["run", "--workloads", "nonsense*", "--out", str(tmp_path)]) == 2
    assert "no workload matches nonsense*" in capsys.readouterr().err
    assert main(["report", "--out", str(tmp_path)]) == 2
    assert "there are no results" in capsys.readouterr().err


def test_a_rival_killed_once_is_skipped_at_larger_sizes(tmp_path, monkeypatch):
    asked = []

    def slow(rival, folder, effort):
        asked.append(rival)
        return {"status": TIME_LIMIT, "limit_seconds": 1.0}

    monkeypatch.setattr(runner, "measure", slow)
    loads = [
        Workload(f"study-{d}", OVER_FEATURES, lambda d=d: (np.zeros((4, d)), np.arange(4) % 2))
        for d in (10, 20)
    ]
    runner.measure_all(loads, ["full-lp"], Effort(), tmp_path / "results.csv", lambda text: None)
    assert [row.status for row in read_records(tmp_path / "results.csv")] == [TIME_LIMIT, SKIPPED]
    assert asked == ["full-lp"]


def test_sweeps_grow():
    for quick in (True, False):
        names = [load.name for load in workloads(quick=quick, patterns=["expression-d*"])]
        sizes = [int(name.removeprefix("expression-d")) for name in names]
        assert sizes == sorted(sizes)
        assert len(sizes) >= 3


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_the_linear_program_written_down_anew_agrees_with_ours(n_classes, container):
    rng = np.random.default_rng(0)
    y = np.arange(36) % n_classes
    X = np.where(rng.random((36, 40)) < 0.4, rng.standard_normal((36, 40)) + (y[:, None] == 1), 0.0)
    X = container(X)
    ours, theirs = (RIVALS[name].fit(X, y) for name in ("constraint-generation", "highs-full-lp"))
    # Below ours at most by what constraint generation leaves open.
    assert ours.worst_case_error - ours.gap - 1e-9 <= theirs.worst_case_error <= ours.worst_case_error + 1e-9
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.9


def test_what_a_rival_does_not_take_is_refused_in_words():
    with pytest.raises(RefusedError, match="no sparse input"):
        RIVALS["mrcpy-gurobi"].fit(sparse.csr_matrix(np.eye(4)), np.arange(4) % 2)


def test_reading_is_measured_and_goes_into_the_docs(tmp_path):
    pytest.importorskip("pyarrow", reason="comes with the extra 'app'")
    measured = measure_files(n_samples=20, n_features=30, repeats=1)
    assert all(found["seconds"] > 0 for found in measured["readers"].values())
    assert measured["command"] > measured["fit"]["seconds"]
    page = tmp_path / "page.md"
    page.write_text("before <!-- files:begin --> old <!-- files:end --> after")
    fill_page(measured, page)
    assert "| `minimaxrisk.files` |" in page.read_text()
    assert "old" not in page.read_text()


def test_a_rival_that_is_not_there_says_how_to_get_it():
    away = Rival("away", RIVALS["full-lp"].fit, "no_such_module")
    assert away.missing() == "no_such_module is not installed; the extra 'bench' brings it"
    assert "make_mrcpy_env.sh" in replace(away, interpreter=lambda: "/no/such/python").missing()
    assert RIVALS["full-lp"].missing() is None
