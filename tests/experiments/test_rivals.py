"""The benchmark: its arithmetic, its tables, and the processes of the rivals. No test asserts a time."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.utils.fixes import parse_version

from experiments.__main__ import main
from experiments.harness.cells import FAILED, OK, REFUSED, SKIPPED, TIME_LIMIT, EndedError
from experiments.harness.child import ROOT, Story, run_module
from experiments.harness.reproduce import reproduce
from experiments.harness.settings import QUICK, Settings
from experiments.harness.sources import Sources
from experiments.harness.summary import read_csv, text_again
from experiments.rivals import reading, report_times, searches, speed, throughput
from experiments.rivals.adapters import RIVALS, Rival
from experiments.rivals.comparison import report
from experiments.rivals.growth import fit_growth, sweep_curve
from experiments.rivals.page import PAGE, fill, fill_page
from experiments.rivals.problems import OVER_FEATURES
from tests.in_process import (
    cells_in_this_process,
    command_in_this_process,
    figures_without_layout,
    module_in_this_process,
    wine_with_few_samples,
    without_figures,
)

TINY = replace(QUICK, fit_repetitions=1, sample_sweep=(20,), problems=("expression-n*",))


def row(rival, seconds=None, *, status=OK, d=1000, **fields):
    known = {
        "problem": f"study-{d}",
        "sweep": OVER_FEATURES.name,
        "rival": rival,
        "status": status,
        "detail": "",
    }
    known |= {"n_samples": 50, "n_features": d, "n_classes": 2, "limit": 60.0, "median_seconds": seconds}
    return known | fields


@pytest.fixture
def study():
    """One problem on which every kind of result occurs."""
    return [
        row("auto", 0.1, converged=True, accuracy=0.8, peak_bytes=50_000_000, gap=1e-8),
        row("full-lp", 2.0, converged=True),
        row("highs-full-lp", status=TIME_LIMIT),
        row("mrcpy-gurobi", status=REFUSED, detail="licence size"),
        row("liblinear-svm", 0.02, converged=False, accuracy=0.9, peak_bytes=1_000_000),
        row("skglm-logistic", status=SKIPPED),
    ]


def tables(rows):
    return report(Settings(), Sources(()), rows).tables


# Arithmetic and tables


def test_exponents_of_a_power_law_are_found():
    rows = [row("full-lp", 3e-7 * d**1.25, d=d) for d in (100_000, 10_000, 1_000_000)]
    rows.append(row("full-lp", status=TIME_LIMIT, d=10_000_000))
    growth = fit_growth(*sweep_curve(rows, OVER_FEATURES, "full-lp"))
    assert growth.exponent == pytest.approx(1.25)
    assert (growth.smallest, growth.largest) == (10_000, 1_000_000)


def test_two_points_are_no_growth():
    assert fit_growth([10, 100], [1.0, 2.0]) is None


def test_ratios_tell_killed_refused_and_unconverged_apart(study):
    expected = [
        "study-1000 (50 x 1000)",
        "100 ms",
        "20.0",
        "≥ 600",
        "refused: licence size",
        "0.20†",
        "skipped",
    ]
    assert tables(study)[0].lines == [expected]
    assert tables([study[2], study[0] | {"status": REFUSED, "median_seconds": None}])[0].lines[0][1:] == [
        "refused: ",
        "time limit",
    ]


def test_rivals_without_a_row_are_named(study):
    notes = report(Settings(), Sources(()), study).notes
    missing = next(note for note in notes if note.startswith("Not measured in this run: "))
    measured = {row["rival"] for row in study}
    assert missing.split(": ")[1].split(", ") == [name for name in RIVALS if name not in measured]
    partly = report(Settings(), Sources(()), [*study, row("auto", 0.1, d=2000)]).notes
    assert "full-lp was not measured on study-2000" in partly


def test_risks_stand_beside_each_other_or_the_reason_why_not():
    rows = [
        row("auto", 0.1, worst_case_error=0.2),
        row("full-lp", 0.5, worst_case_error=0.2 + 1e-9),
        row("first-order", 1.0, worst_case_error=0.2003),
        row("highs-full-lp", status=TIME_LIMIT),
        row("mrcpy-gurobi", status=REFUSED, detail="licence size"),
    ]
    table = tables(rows)[1]
    assert table.header[2:] == ["`full-lp`", "`first-order`", "`highs-full-lp`", "`mrcpy-gurobi`"]
    ((_, risk, *cells),) = table.lines
    assert risk == "0.200000"
    assert cells == ["0, 5.00 times", "+3.0e-04, 10.0 times", "> 60 s", "refused: licence size"]


def test_losses_name_who_is_better_and_nobody_else(study):
    assert tables(study)[-1].lines == [["`liblinear-svm`", "1: study-1000", "1: study-1000", "1: study-1000"]]
    assert tables(study[:1])[-1].lines == [["none", "-", "-", "-"]]


def test_what_a_tolerance_leaves_undone(study):
    svm = [
        row("liblinear-svm", 0.02, converged=False, objective=11.0),
        row("liblinear-svm-converged", 0.05, objective=10.001),
        row("liblinear-svm-tight", 0.8, objective=10.0),
    ]
    assert tables([study[0], *svm])[3].lines == [["study-1000 (50 x 1000)", "1.0e-01", "1.0e-04", "8.00"]]
    assert tables([study[0], *svm[:2]])[3].lines == [["-"] * 4]


def test_losses_name_problems_on_which_we_were_stopped(study):
    """Whoever has a time is faster than a fit that was killed; of accuracy and memory nothing is known."""
    ours = {"problem": "larger", "status": TIME_LIMIT, "limit": 60.0, "detail": "", "median_seconds": None}
    unknown = dict.fromkeys(("accuracy", "peak_bytes"))
    larger = [row | {"problem": "larger"} for row in study]
    larger[0] = larger[0] | ours | unknown
    assert tables([*study, *larger])[-1].lines == [
        ["`full-lp`", "1: larger", "-", "-"],
        ["`liblinear-svm`", "2: study-1000, larger", "1: study-1000", "1: study-1000"],
    ]


def test_the_page_needs_its_markers():
    page = PAGE.read_text(encoding="utf-8")
    once = fill(fill(page, "results", ["new results"]), "losses", ["new", "losses"])
    assert "new results" in once
    assert "new\nlosses" in once
    assert fill(once, "results", ["new results"]) == once
    with pytest.raises(ValueError, match="needs the markers <!-- prices:begin -->"):
        fill(page, "prices", [])


# Plans


def test_a_rival_that_is_not_there_says_how_to_get_it(monkeypatch):
    away = Rival("away", RIVALS["full-lp"].fit, "no_such_module")
    assert away.missing() == "no_such_module is not installed; the group 'bench' brings it"
    assert "make_mrcpy_env.sh" in replace(away, interpreter=lambda: "/no/such/python").missing()
    assert RIVALS["full-lp"].missing() is None
    monkeypatch.setitem(RIVALS, "full-lp", away)
    assert speed.missing_rivals(replace(QUICK, rivals=("full-lp",)))[0].startswith("full-lp is left out: no_")
    assert speed.plan(replace(QUICK, rivals=("full-lp",)), Sources(())) == []


@pytest.mark.parametrize(
    ("setting", "message"),
    [("problems=nonsense*", "no problem matches nonsense*"), ("rivals=nobody", "there is no rival 'nobody'")],
)
def test_wrong_choices_are_explained_before_any_work(tmp_path, capsys, setting, message):
    assert main(["speed", "--quick", "--out", str(tmp_path / "out"), "--set", setting]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# Processes of the rivals; the cells that start them are in this one


def in_process_unless_elsewhere(module, *arguments, interpreter=sys.executable, **options):
    """Only the rivals of another interpreter get a process."""
    run = module_in_this_process if interpreter == sys.executable else run_module
    return run(module, *arguments, interpreter=interpreter, **options)


@pytest.fixture
def in_this_process(monkeypatch):
    """Even what the rivals do, for tests of what becomes of it."""
    for module in (speed, reading, report_times):
        monkeypatch.setattr(module, "run_module", in_process_unless_elsewhere)
    command = SimpleNamespace(run=command_in_this_process, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr(reading, "subprocess", command)
    with cells_in_this_process():
        yield


@pytest.fixture
def no_figures():
    with without_figures():
        yield


@pytest.fixture(scope="module")
def growing_sweep(tmp_path_factory):
    """The linear program of 20 samples gets through, that of 4000 takes far longer than the limit."""
    out = tmp_path_factory.mktemp("sweep")
    settings = replace(TINY, rivals=("full-lp",), sample_sweep=(20, 4000, 8000))
    settings = replace(settings, sample_sweep_features=500, fit_limit=2.0)
    with cells_in_this_process(), without_figures():
        done = reproduce(["speed"], out, settings, say=lambda text: None)
    assert done.failed == ()
    return read_csv(out / "speed" / "speed.csv")


def test_a_rival_is_measured_in_full(growing_sweep):
    ours = growing_sweep[0]
    assert (ours["n_samples"], ours["n_features"], ours["n_classes"]) == (20, 500, 2)
    assert (ours["n_fits"], ours["converged"], ours["detail"]) == (1, True, None)
    assert ours["gap"] < 1e-3
    assert ours["n_passes"] > 1
    assert ours["peak_bytes"] >= 0
    assert 0 <= ours["accuracy"] <= 1
    assert ours["x_bytes"] == 20 * 500 * 8


def test_a_slow_fit_is_killed_and_larger_studies_are_skipped(growing_sweep):
    assert [one["status"] for one in growing_sweep] == [OK, TIME_LIMIT, SKIPPED]
    assert growing_sweep[1]["detail"] == "stopped after 2 s"
    assert growing_sweep[1]["n_features"] == 500


def test_a_rival_that_the_system_kills_for_its_memory_is_not_tried_again():
    with pytest.raises(EndedError, match="more memory than there is") as ended:
        speed._reached(Story([{"ready": True}], -signal.SIGKILL, ""), {"n_samples": 300}, 60.0)
    assert ended.value.status == REFUSED
    some = speed._reached(Story([{"ready": True}, {"seconds": 1.0}], -signal.SIGKILL, ""), {}, 60.0)
    assert (some["n_fits"], some["detail"]) == (1, "ended by SIGKILL")


def test_a_run_goes_on_with_what_is_missing(tmp_path, capsys, monkeypatch, in_this_process, no_figures):
    monkeypatch.setenv("MINIMAXRISK_DATA", str(tmp_path / "empty"))
    arguments = ["speed", "--quick", "--out", str(tmp_path), "--set", "problems=expression-n20"]
    arguments += ["--set", "fit_repetitions=1", "--set"]
    assert main([*arguments, "rivals=constraint-generation"]) == 0
    first = (tmp_path / "speed" / "cells.jsonl").read_bytes()
    assert "left out: Colon" in capsys.readouterr().err
    assert main([*arguments, "rivals=constraint-generation,liblinear-svm"]) == 0
    assert "[2/2] speed problem=expression-n20" in capsys.readouterr().err
    whole = (tmp_path / "speed" / "cells.jsonl").read_bytes()
    assert whole.startswith(first)
    assert whole.count(b"\n") == 2
    ours, theirs = read_csv(tmp_path / "speed" / "speed.csv")
    assert (ours["rival"], ours["status"], ours["n_fits"]) == ("constraint-generation", OK, 1)
    assert (theirs["rival"], theirs["status"], theirs["worst_case_error"]) == ("liblinear-svm", OK, None)
    assert text_again(tmp_path / "speed", speed.ITEM) in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert str(tmp_path) not in (tmp_path / "environment.json").read_text(encoding="utf-8")


@pytest.fixture
def other_interpreter(tmp_path, monkeypatch):
    """This interpreter, under another name, in the place of the one that has MRCpy."""
    path = tmp_path / "venv" / "bin" / "python"
    path.parent.mkdir(parents=True)
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("MRCPY_VENV", str(path.parents[1]))
    assert RIVALS["mrcpy-gurobi"].missing() is None


def test_a_rival_that_raises_is_a_failure_and_the_run_goes_on(
    tmp_path, capsys, other_interpreter, in_this_process, no_figures
):
    arguments = ["speed", "--quick", "--out", str(tmp_path), "--set", "problems=expression-n20"]
    assert main([*arguments, "--set", "rivals=mrcpy-gurobi,liblinear-svm"]) == 1
    said = capsys.readouterr().err
    assert "1 cells failed; the same command tries them again:" in said
    assert "speed, 1 cells: ModuleNotFoundError: No module named 'MRCpy'" in said
    rows = read_csv(tmp_path / "speed" / "speed.csv")
    assert [one["status"] for one in rows] == [FAILED, OK]
    assert rows[0]["n_features"] == 200


def test_a_refusal_comes_from_another_interpreter_with_its_reason(monkeypatch, other_interpreter):
    X = sparse.csr_matrix(np.eye(20))
    monkeypatch.setattr(speed, "make_problem", lambda settings: (X, np.arange(20) % 2))
    (cell,) = speed.plan(replace(TINY, rivals=("mrcpy-gurobi",)), Sources(()))
    with pytest.raises(EndedError, match="no sparse input") as ended:
        speed.work(dict(cell.settings) | {"limit": 60.0})
    assert ended.value.status == REFUSED
    assert ended.value.rows[0]["n_features"] == 20


def test_the_process_of_a_rival_needs_neither_the_library_nor_the_harness():
    """MRCpy's environment has none of this; None in its place makes Python raise ImportError."""
    away = ["minimaxrisk", "typer", "pebble", "tqdm", "matplotlib"]
    script = f"import sys; sys.modules.update(dict.fromkeys({away})); import experiments.rivals.clock"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def test_a_process_that_fails_says_why():
    story = run_module("experiments.rivals.reading_clock", "nothing", "nowhere.csv")
    assert story.exit_code == 1
    with pytest.raises(RuntimeError, match="the measuring process ended with 1: KeyError: 'nothing'"):
        story.answer()


# Rivals


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


# Reading, and the page


def test_the_page_is_filled_from_the_results(tmp_path, capsys, monkeypatch, in_this_process):
    pytest.importorskip("pyarrow", reason="comes with the extra 'app'")
    out, docs = tmp_path / "out", tmp_path / "docs"
    docs.mkdir()
    (docs / "page.md").write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["page", "--out", str(out)]) == 2
    assert "there are no results of speed" in capsys.readouterr().err
    settings = replace(TINY, rivals=("auto", "liblinear-svm"), table_features=30, data_permutations=9)
    settings = replace(settings, report_wide=(20, 30), datasets=("wine",))
    monkeypatch.setattr(report_times, "STUDIES", report_times.STUDIES[-1:])
    monkeypatch.setattr(throughput, "N_FITS", 1)
    monkeypatch.setattr(throughput, "N_MEMBERS", 24)
    monkeypatch.setattr(throughput, "RADII", throughput.RADII[::20])
    if parse_version(sklearn.__version__) < parse_version("1.8"):  # which the group "bench" asks for
        others = {name: each for name, each in searches.LEARNERS.items() if name != "LogisticRegressionCV"}
        monkeypatch.setattr(searches, "LEARNERS", others)
    monkeypatch.setattr(searches, "N_FOLDS", 2)
    monkeypatch.setattr(searches, "N_MEMBERS", 2)
    with wine_with_few_samples(), figures_without_layout():
        names = ["speed", "throughput", "searches", "reading", "reports"]
        done = reproduce(names, out, settings, say=lambda text: None)
    assert done.failed == ()
    found = {one["what"]: one for one in read_csv(out / "reading" / "reading.csv")}
    assert set(found) == {*reading.READERS, reading.FIT, reading.COMMAND}
    assert found[reading.COMMAND]["model_bytes"] > 0
    (whole,) = read_csv(out / "reports" / "reports.csv")
    assert whole["cpu"] > 0
    assert whole["bytes"] > 0
    fill_page(out, docs / "page.md")
    page = (docs / "page.md").read_text(encoding="utf-8")
    assert "| problem | `auto` | `liblinear-svm` |" in page
    assert "| expression-n20 (20 x 200) |" in page
    assert "| `minimaxrisk.app.files` |" in page
    assert "| two classes, simulated | 20 x 30, 2 |" in page
    assert "| data set | one fit | 9 permutations | ensemble of 24 | path of 2 radii |" in page
    searched = [line for line in page.splitlines() if line.startswith("| wine |") and "error 0" in line]
    assert len(searched) == 1
    assert searched[0].count("error") >= len(searches.LEARNERS) - 1  # skglm may be missing
    assert "Colon" not in page.split("## Results")[1].split("## ")[0]
    figures = re.findall(r"!\[.*\]\((.*)\)", page)
    assert {Path(name).name for name in figures} == {"benchmark-growth.svg", "benchmark-ratios.svg"}
    assert all((docs / name).exists() for name in figures)
    assert json.loads((out / "environment.json").read_text(encoding="utf-8"))


def test_a_baseline_that_is_no_source_tree_is_refused(tmp_path, capsys):
    assert main(["reports", "--quick", "--out", str(tmp_path), "--set", f"baseline={tmp_path}"]) == 2
    assert "baseline must name a folder with the package minimaxrisk in it" in capsys.readouterr().err


def test_reports_beside_a_baseline_are_ratios():
    shape = {"study": "Leukemia", "status": OK, "n_samples": 72, "n_features": 7129, "n_classes": 2}
    rows = [
        shape | {"is_baseline": False, "cpu": 2.0, "bytes": 1e8},
        shape | {"is_baseline": True, "cpu": 9.0, "bytes": 2e8},
        {"study": "Lung_1543", "status": TIME_LIMIT},
    ]
    table = report_times.report(Settings(baseline="there"), Sources(("Leukemia",)), rows).tables[0]
    assert table.lines[0][2:] == ["2.00 s", "100 MB", "9.00 s", "200 MB", "4.50"]
    assert table.lines[1] == ["Lung_1543", *["-"] * 6]
    assert len(report_times.report(Settings(), Sources(()), rows[:1]).tables[0].header) == 4
