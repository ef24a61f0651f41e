"""The paper's experiments: a small run of each, runs that are killed, and claims that can fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from minimaxrisk.cli import main
from minimaxrisk.datasets import load_dataset
from minimaxrisk.experiments.items import (
    ITEMS,
    bounds_and_times,
    epsilon,
    feature_selection,
    n_max,
    scalability,
)
from minimaxrisk.experiments.reproduce import reproduce, work_on
from minimaxrisk.experiments.settings import PAPER, QUICK, Settings, differences_from_paper, overridden
from minimaxrisk.experiments.sources import BUILT_IN, Sources, choose_sources, data_folder, load_source
from minimaxrisk.experiments.summary import as_html, read_csv, text_again

ROOT = Path(__file__).parents[1]
TINY = overridden(
    QUICK,
    folds=2,
    n_max_values=(5, 100),
    sizes=(50, 100),
    n_max_repetitions=1,
    scalability_repetitions=1,
    datasets=("breast_cancer", "wine"),
)


def test_every_item_writes_its_tables_figures_and_the_summary(tmp_path, capsys):
    options = (
        "--quick --folds 2 --datasets wine --n-max-values 5,100 --sizes 50,100 "
        "--n-max-repetitions 1 --scalability-repetitions 1 --jobs 2"
    )
    status = main(["reproduce", "all", "--out", str(tmp_path), *options.split()])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert printed.out.strip() == str(tmp_path / "summary.md")
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    page = (tmp_path / "summary.html").read_text(encoding="utf-8")
    for name, item in ITEMS.items():
        assert f"## {item.title}" in summary
        assert item.title in page
        rows = read_csv(tmp_path / name / f"{name}.csv")
        assert {row["status"] for row in rows} == {"ok"}
        assert {row["dataset"] for row in rows} == {"wine"}
        # The page says nothing that does not follow from the CSV.
        assert text_again(tmp_path / name, item) in summary
        assert list((tmp_path / name).glob("*.svg"))
        assert list((tmp_path / name).glob("*.png"))
    assert "<table>" in page
    assert "folds = 2 (paper: 10)" in summary
    assert json.loads((tmp_path / "environment.json").read_text(encoding="utf-8"))


def test_without_data_the_built_in_sets_are_used_and_all_missing_ones_named(tmp_path):
    with data_folder(tmp_path):
        for item in ITEMS.values():
            sources = choose_sources(item.wanted, replacements=item.replacements, fallback=item.fallback)
            assert sources.names == tuple(item.fallback)
            assert all(name in sources.notes[0] for name in item.wanted)
            assert all(any(name in note for note in sources.notes[1:]) for name in item.fallback)


def test_replacements_are_named_and_never_used_twice(tmp_path, monkeypatch):
    class Entry:
        def __init__(self, name):
            self.name, self.path = name, tmp_path

    monkeypatch.setattr(
        "minimaxrisk.experiments.sources.dataset_status", lambda: [Entry("Leukemia"), Entry("Arcene")]
    )
    both = choose_sources(("Ovarian", "Arcene"), replacements={"Ovarian": "Leukemia"})
    assert both.names == ("Leukemia", "Arcene")
    assert both.notes == ("Ovarian is not at hand; Leukemia is used in its place",)
    wanted_itself = choose_sources(("Ovarian", "Leukemia"), replacements={"Ovarian": "Leukemia"})
    assert wanted_itself.names == ("Leukemia",)
    assert "left out: Ovarian" in wanted_itself.notes[0]


def test_unknown_data_set_is_refused_before_any_work(tmp_path, capsys):
    status = main(["reproduce", "epsilon", "--out", str(tmp_path), "--datasets", "Arcane"])
    assert status == 2
    assert "data set 'Arcane' is not at hand; there are" in capsys.readouterr().err
    assert not (tmp_path / "epsilon").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "everything"], "everything"),
        (["reproduce", "n-max", "--n-max-values", "1,two"], "numbers separated by commas"),
        (["reproduce", "n-max", "--n-max-values", "0"], "n_max_values must be positive"),
        (["reproduce", "bounds-and-times", "--folds", "1"], "folds must be at least 2"),
        (["reproduce", "n-max", "--subsample", "1.5"], "subsample must be a part of the data"),
    ],
)
def test_wrong_command_lines_are_explained(arguments, message, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_a_killed_run_loses_no_finished_cell_and_repeats_none(tmp_path):
    """SIGKILL in the middle, then the same command again."""
    command = [sys.executable, "-m", "minimaxrisk", "reproduce", "feature-selection", "--out", str(tmp_path)]
    command += ["--datasets", "breast_cancer,wine", "--folds", "5", "--jobs", "1"]
    journal = tmp_path / "feature-selection" / "cells.jsonl"
    first = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=ROOT)
    with first:
        try:
            deadline = time.monotonic() + 120
            while _n_lines(journal) < 5:
                assert first.poll() is None, "the run ended before it could be killed"
                assert time.monotonic() < deadline
                time.sleep(0.02)
        finally:
            os.kill(first.pid, signal.SIGKILL)
    before = _keys(journal)
    assert 5 <= len(before) < 60
    assert not (tmp_path / "summary.md").exists()
    second = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert second.returncode == 0, second.stderr
    after = _keys(journal)
    assert after[: len(before)] == before
    assert len(after) == len(set(after)) == 2 * 5 * 6
    # The second run counts from where the first one stopped.
    assert f"[{len(before) + 1}/60]" in second.stderr
    assert f"[{len(before)}/60]" not in second.stderr
    third = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert third.returncode == 0
    assert _keys(journal) == after


def _n_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _keys(path):
    """Of whole lines: a torn one at the end is not a finished cell."""
    lines = path.read_bytes().split(b"\n")[:-1]
    return [json.loads(line)["key"] for line in lines]


def test_a_run_goes_on_with_other_settings_and_keeps_what_still_counts(tmp_path):
    said = []
    few = overridden(TINY, datasets=("wine",), epsilons=(0.01,))
    reproduce(["epsilon"], tmp_path, few, jobs=1, say=said.append)
    more = overridden(few, epsilons=(0.01, 0.001))
    reproduce(["epsilon"], tmp_path, more, jobs=1, say=said.append)
    keys = _keys(tmp_path / "epsilon" / "cells.jsonl")
    assert len(keys) == len(set(keys)) == 3


def test_times_have_a_limit_that_is_shown(tmp_path):
    settings = overridden(TINY, datasets=("simulated",), lp_limit=0.01, n_max_values=(100,))
    reproduce(["n-max"], tmp_path, settings, jobs=1, say=lambda text: None)
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "> 0.01 (1 of 1)" in summary
    assert "at least" in summary
    rows = read_csv(tmp_path / "n-max" / "n-max.csv")
    assert [row["status"] for row in rows if row["method"] == "MRC-LP"] == ["time limit"]


def test_failed_cells_are_listed_and_tried_again(tmp_path, capsys, monkeypatch):
    arguments = ["reproduce", "epsilon", "--out", str(tmp_path), "--datasets", "wine", "--epsilons", "0.01"]
    journal = tmp_path / "epsilon" / "cells.jsonl"
    # The worker processes look for the data in a folder where the table has been spoilt.
    monkeypatch.setenv("MINIMAXRISK_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "Colon.csv").write_text("1,2\n3,4\n", encoding="utf-8")
    arguments[arguments.index("wine")] = "wine,Colon"
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out.strip() == str(tmp_path / "summary.md")
    assert "2 cells failed; the same command tries them again:" in printed.err
    assert "is not Colon: expected 62 samples" in printed.err
    before = _keys(journal)
    assert main(arguments) == 1
    assert len(_keys(journal)) == len(before) + 2


def test_settings_follow_the_paper_and_differences_are_named():
    full = Settings()
    assert (full.n_max, full.epsilon, full.k_max, full.folds) == (100, 1e-4, 10, 10)
    assert full.epsilons == (0.01, 0.001, 0.0001)
    assert (full.n_max_k_max, full.n_max_repetitions, full.subsample) == (20, 50, 0.9)
    assert (min(full.n_max_values), max(full.n_max_values)) == (1, 1500)
    assert (min(full.sizes), max(full.sizes), full.scalability_repetitions) == (100, 25_000, 20)
    names = ("n_max", "k_max", "lp_repetitions")
    assert differences_from_paper(full, names) == [f"lp_repetitions = 10 (paper: {PAPER['lp_repetitions']})"]
    assert "k_max = 7 (paper: 10)" in differences_from_paper(overridden(full, k_max=7), names)


def test_cells_of_the_tables_measure_what_they_say():
    """Against a computation by hand on a fold."""
    settings = {"dataset": "breast_cancer", "folds": 3, "seed": 0, "fold": 1, "n_max": 100, "epsilon": 1e-4}
    (row,) = work_on("bounds-and-times", settings | {"method": "MRC-CG", "k_max": 10})
    X, y = load_source("breast_cancer")
    train, test = bounds_and_times.fold_of(y, 1, 3, 0)
    assert len(train) + len(test) == len(y)
    assert len(np.intersect1d(train, test)) == 0
    from minimaxrisk import MinimaxRiskClassifier  # noqa: PLC0415

    model = MinimaxRiskClassifier().fit(X[train], y[train])
    assert row["worst_case_error"] == pytest.approx(model.worst_case_error_, abs=1e-7)
    assert row["error"] == pytest.approx(1.0 - model.score(X[test], y[test]), abs=0.02)
    (chosen,) = work_on("feature-selection", settings | {"method": "ANOVA"})
    (svm,) = work_on("feature-selection", settings | {"method": "SVM-CG"})
    assert chosen["n_selected"] == svm["n_selected"]
    assert 0.0 <= chosen["lr_error"] <= 0.2


def ok(**values):
    return {"status": "ok", "limit": None, "detail": "", "n_passes": 3, "peak_bytes": 1e6, **values}


def verdicts(module, settings, rows, names=("A",)):
    report = module.report(settings, Sources(names), rows)
    return [claim.verdict for claim in report.claims]


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([0.3, 0.21, 0.2001], ["holds", "holds"]),
        ([0.3, 0.31, 0.2001], ["does not hold", "holds"]),
        ([0.3, 0.21, 0.21], ["holds", "does not hold"]),
    ],
)
def test_claims_about_epsilon_can_fail(errors, expected):
    settings = Settings(epsilons=(0.01,))
    rows = [ok(dataset="A", method="MRC-IP", worst_case_error=0.2)]
    rows += [
        ok(dataset="A", method="MRC-CG", epsilon=0.01, k=k, worst_case_error=e, n_features=9, seconds=0.1)
        for k, e in enumerate(errors)
    ]
    assert verdicts(epsilon, settings, rows)[:2] == expected


@pytest.mark.parametrize(("lp", "first"), [(2.0, "holds"), (0.5, "does not hold")])
def test_claims_about_n_max_can_fail(lp, first):
    settings = Settings(n_max_values=(10, 100), n_max_repetitions=1)
    common = {"dataset": "A", "repetition": 0, "n_iter": 3, "converged": True}
    rows = [
        ok(**common, method="MRC-LP", seconds=lp, worst_case_error=0.1),
        ok(**common, method="MRC-IP", seconds=0.01, worst_case_error=0.1),
        ok(**common, method="MRC-CG", n_max=10, seconds=0.05, worst_case_error=0.2),
        ok(**common, method="MRC-CG", n_max=100, seconds=0.1, worst_case_error=0.101),
    ]
    assert verdicts(n_max, settings, rows)[:2] == [first, "holds"]
    rows[3]["seconds"], rows[2]["worst_case_error"] = 0.11, 0.1
    assert verdicts(n_max, settings, rows)[1] == "does not hold"


def test_claims_about_growth_can_fail():
    settings = Settings(sizes=(1000, 10_000), scalability_repetitions=1)

    def rows(power_cg, svm):
        return [
            ok(dataset="A", method=method, size=size, seconds=factor * (size / 1000) ** power)
            for size in settings.sizes
            for method, factor, power in (
                ("MRC-CG", 0.1, power_cg),
                ("MRC-LP", 0.5, 1.0),
                ("SVM-CG", svm, power_cg),
                ("MRC-IP", 0.01, 1.0),
            )
        ]

    assert verdicts(scalability, settings, rows(0.5, 0.1)) == ["holds"] * 3
    assert verdicts(scalability, settings, rows(2.0, 0.01)) == [
        "holds in part (1 of 2)",
        "does not hold",
        "does not hold",
    ]


@pytest.mark.parametrize(("bound", "expected"), [(0.1, "holds"), (0.4, "holds"), (0.01, "does not hold")])
def test_claim_about_the_bounds_can_fail(bound, expected):
    settings = Settings(folds=2)
    shape = {"n_samples": 9, "n_features": 5, "n_classes": 3, "gap": 0.0, "seconds": 1.0}
    rows = [
        ok(dataset="GLIOMA", method=method, fold=None, worst_case_error=bound, **shape)
        for method in bounds_and_times.METHODS
    ]
    rows += [
        ok(dataset="GLIOMA", method=method, fold=fold, error=error, randomized_error=error, **shape)
        for method in bounds_and_times.METHODS
        for fold, error in enumerate((0.05, 0.15))
    ]
    assert verdicts(bounds_and_times, settings, rows, ("GLIOMA",))[0] == expected
    notes = bounds_and_times.report(settings, Sources(("GLIOMA",)), rows).notes
    # The printed R* is 0.18; what differs for more than two classes is said.
    assert any("lower than ours (GLIOMA)" in note for note in notes) == (bound == 0.4)


@pytest.mark.parametrize(("error", "expected"), [(0.2, "holds"), (0.4, "does not hold")])
def test_claim_about_selection_can_fail(error, expected):
    rows = [
        ok(dataset="A", method=method, n_selected=5, seconds=0.1, lr_error=value, dt_error=value)
        for method in feature_selection.METHODS
        for value in ((error, error) if method == "MRC-CG" else (0.1, 0.3))
    ]
    assert verdicts(feature_selection, Settings(folds=2), rows)[0] == expected


def test_reports_survive_cells_that_did_not_get_through():
    """A failed or stopped cell is shown, and the report is written all the same."""
    settings = overridden(TINY, datasets=())
    for item in ITEMS.values():
        sources = Sources(("simulated",))
        rows = [
            {**cell.settings, "status": "failed", "limit": cell.limit, "detail": "no memory"}
            for cell in item.plan(settings, sources)
        ]
        report = item.report(settings, sources, rows)
        assert "could not be tested" in {claim.verdict for claim in report.claims}


def test_built_in_sources_are_what_they_say():
    for name, words in BUILT_IN.items():
        X, y = load_source(name)
        assert str(X.shape[0]) in words
        assert len(X) == len(y)


def test_html_has_tables_and_escapes_the_title():
    page = as_html("# a < b\n\n| x | y |\n| --- | --- |\n| 1 | 2 |\n")
    assert "<title>a &lt; b</title>" in page
    assert "<td>1</td>" in page


def test_the_committed_summary_follows_from_the_committed_measurements():
    results = ROOT / "experiments" / "results"
    summary = (results / "summary.md").read_text(encoding="utf-8")
    for name, item in ITEMS.items():
        assert text_again(results / name, item) in summary


def test_real_data_are_the_ones_that_the_paper_names(real_data):
    X, _ = real_data("Colon")
    again, _ = load_source("Colon")
    np.testing.assert_array_equal(X, again)
    assert load_dataset("Colon").data.shape == (62, 2000)
