"""The paper's experiments: a small run of each, cells computed by hand, and claims that can fail."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from experiments.__main__ import default_folder, main
from experiments.harness.reproduce import reproduce, work_on
from experiments.harness.settings import PAPER, QUICK, Settings, differences_from_paper
from experiments.harness.sources import Sources, choose_sources, data_folder, load_source
from experiments.harness.summary import item_text, read_csv, text_again
from experiments.items import GUARANTEE_ITEMS, PAPER_ITEMS, RIVAL_ITEMS
from experiments.paper import bounds_and_times, epsilon, feature_selection, fitting, n_max, scalability
from experiments.paper.fitting import make_method
from experiments.paper.l1_svm import L1SVM
from experiments.paper.scalability import random_fourier_features
from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.datasets import make_expression
from minimaxrisk.solvers import ConstraintGeneration
from tests.in_process import cells_in_this_process, ok, verdicts, wine_with_few_samples, without_figures

ROOT = Path(__file__).parents[2]
TINY = replace(
    QUICK,
    folds=2,
    n_max_values=(5, 100),
    sizes=(50, 100),
    n_max_repetitions=1,
    scalability_repetitions=1,
    datasets=("breast_cancer", "wine"),
)


# All items, as small as the command lets them be.
SMALL = (
    "--quick --set folds=2 --set datasets=wine --set n_max_values=5,100 --set sizes=50,100 "
    "--set n_max_repetitions=1 --set scalability_repetitions=1 --jobs 2"
)


@pytest.fixture
def in_this_process():
    with cells_in_this_process(), wine_with_few_samples():
        yield


@pytest.fixture
def no_figures():
    with without_figures():
        yield


def test_every_item_writes_its_tables_figures_and_the_summary(tmp_path, capsys, in_this_process):
    status = main(["paper", "--out", str(tmp_path), *SMALL.split()])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert printed.out.strip() == str(tmp_path / "summary.md")
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    page = (tmp_path / "summary.html").read_text(encoding="utf-8")
    for name, item in PAPER_ITEMS.items():
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
        for item in PAPER_ITEMS.values():
            sources = choose_sources(item.wanted, replacements=item.replacements, fallback=item.fallback)
            assert sources.names == tuple(item.fallback)
            assert all(name in sources.notes[0] for name in item.wanted)
            assert all(any(name in note for note in sources.notes[1:]) for name in item.fallback)


def test_replacements_are_named_and_never_used_twice(tmp_path, monkeypatch):
    class Entry:
        def __init__(self, name):
            self.name, self.path = name, tmp_path

    monkeypatch.setattr(
        "experiments.harness.sources.dataset_status", lambda: [Entry("Leukemia"), Entry("Arcene")]
    )
    both = choose_sources(("Ovarian", "Arcene"), replacements={"Ovarian": "Leukemia"})
    assert both.names == ("Leukemia", "Arcene")
    assert both.notes == ("Ovarian is not at hand; Leukemia is used in its place",)
    wanted_itself = choose_sources(("Ovarian", "Leukemia"), replacements={"Ovarian": "Leukemia"})
    assert wanted_itself.names == ("Leukemia",)
    assert "left out: Ovarian" in wanted_itself.notes[0]


def test_unknown_data_set_is_refused_before_any_work(tmp_path, capsys):
    status = main(["epsilon", "--out", str(tmp_path), "--set", "datasets=Arcane"])
    assert status == 2
    assert "data set 'Arcane' is not at hand; there are" in capsys.readouterr().err
    assert not (tmp_path / "epsilon").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["everything"], "everything"),
        (["n-max", "--set", "n-max=3"], "expected NAME=VALUE, NAME one of n_max, epsilon"),
        (["n-max", "--set", "folds=2,3"], "folds: expected one number, got '2,3'"),
        (["n-max", "--set", "n_max_values=1,two"], "numbers separated by commas"),
        (["n-max", "--set", "n_max_values=0"], "n_max_values must be positive"),
        (["bounds-and-times", "--set", "folds=1"], "folds must be at least 2"),
        (["n-max", "--set", "subsample=1.5"], "subsample must be a part of the data"),
        (["coverage", "--set", "coverage_samples=19"], "coverage_samples must be at least 20"),
        (["coverage", "--set", "confidence=1"], "confidence must be a probability below 1, got 1.0"),
        (["noise-floor", "--set", "noise_tests=0"], "noise_tests must be positive"),
        (["path", "--set", "path_radii=1"], "path_radii must be at least 2, one for each end, got 1"),
        (["reliable", "--set", "reliable_studies=0"], "reliable_studies must be positive"),
    ],
)
def test_wrong_command_lines_are_explained(arguments, message, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_without_its_packages_the_command_says_what_to_install():
    lacking = "import sys; sys.modules['typer'] = None; import runpy; runpy.run_module('experiments')"
    done = subprocess.run(
        [sys.executable, "-c", lacking], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert re.fullmatch(r"experiments: .*typer.*pip install --editable .* --group reproduce\n", done.stderr)


def test_quick_runs_leave_the_kept_results_alone():
    assert default_folder("paper", quick=False) == default_folder("epsilon", quick=False)
    for name in ("paper", "guarantees", "rivals", "epsilon"):
        assert default_folder(name, quick=False).parent == ROOT / "experiments" / "results"
        assert default_folder(name, quick=True).parent == ROOT / "experiments" / "results" / "quick"


def _keys(path):
    """Of whole lines: a torn one at the end is not a finished cell."""
    lines = path.read_bytes().split(b"\n")[:-1]
    return [json.loads(line)["key"] for line in lines]


def test_every_environment_that_measured_something_is_named(tmp_path, in_this_process, no_figures):
    """Also where the first item needs no new cell and the second one does."""
    few = replace(TINY, datasets=("wine",), epsilons=(0.01,), sizes=(50,))
    reproduce(["epsilon"], tmp_path, few, jobs=1, say=lambda text: None)
    path, journal = tmp_path / "environment.json", tmp_path / "epsilon" / "cells.jsonl"
    ((now, about),) = json.loads(path.read_text(encoding="utf-8")).items()
    # As if another machine had measured it.
    path.write_text(json.dumps({"elsewhere": about | {"processor": "an old one"}}), encoding="utf-8")
    journal.write_text(journal.read_text(encoding="utf-8").replace(now, "elsewhere"), encoding="utf-8")
    reproduce(["epsilon", "scalability"], tmp_path, few, jobs=1, say=lambda text: None)
    known = json.loads(path.read_text(encoding="utf-8"))
    assert len(known) == 2
    assert "elsewhere" in known
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "an old one" in summary
    assert "More than one environment" in summary


def test_times_have_a_limit_that_is_shown(tmp_path, in_this_process, no_figures):
    settings = replace(TINY, datasets=("simulated",), lp_limit=0.01, n_max_values=(100,))
    reproduce(["n-max"], tmp_path, settings, jobs=1, say=lambda text: None)
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "> 0.01 (1 of 1)" in summary
    assert "at least" in summary
    rows = read_csv(tmp_path / "n-max" / "n-max.csv")
    assert [row["status"] for row in rows if row["method"] == "MRC-LP"] == ["time limit"]


def test_what_cannot_work_is_refused_before_any_work(tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert main(["epsilon", "--out", str(tmp_path / "file")]) == 2
    assert "is a file; the results need a folder" in capsys.readouterr().err
    assert main(["epsilon", "--out", str(tmp_path / "o"), "--folder", str(tmp_path / "no")]) == 2
    assert "does not exist" in capsys.readouterr().err
    thin = sparse.csr_array(np.eye(4))
    monkeypatch.setattr("experiments.harness.reproduce.list_datasets", lambda: ["Dorothea"])
    monkeypatch.setattr("experiments.harness.reproduce.load_source", lambda name: (thin, None))
    assert main(["scalability", "--out", str(tmp_path / "o"), "--set", "datasets=Dorothea"]) == 2
    assert "Dorothea is sparse, and scalability needs dense data" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_a_quick_run_and_other_data_are_said_to_be_so():
    report = epsilon.report(TINY, Sources(("wine",)), [])
    text = item_text(PAPER_ITEMS["epsilon"], report, TINY, Sources(("wine",)))
    assert "**A quick run.**" in text
    assert "**None of the paper's data.**" in text
    whole = item_text(PAPER_ITEMS["epsilon"], report, Settings(), Sources(("Arcene",)))
    assert "**" not in whole.split("|")[0]


def test_failed_cells_are_listed_and_tried_again(tmp_path, capsys, monkeypatch, in_this_process, no_figures):
    arguments = ["epsilon", "--out", str(tmp_path), "--set", "datasets=wine", "--set", "epsilons=0.01"]
    journal = tmp_path / "epsilon" / "cells.jsonl"
    # The cells look for the data in a folder where the table has been spoilt.
    load_source.cache_clear()
    monkeypatch.setenv("MINIMAXRISK_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "Colon.csv").write_text("1,2\n3,4\n", encoding="utf-8")
    arguments[arguments.index("datasets=wine")] = "datasets=wine,Colon"
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out.strip() == str(tmp_path / "summary.md")
    assert "2 cells failed; the same command tries them again:" in printed.err
    assert "epsilon, 2 cells: ValueError" in printed.err
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
    assert "k_max = 7 (paper: 10)" in differences_from_paper(replace(full, k_max=7), names)


HARD = {"dataset": "hard", "n_max": 20, "epsilon": 1e-4}


@pytest.fixture
def hard(monkeypatch):
    """60 samples, 80 features, few of them informative: rules err, and train and test errors differ."""
    study = make_expression(60, 80, n_informative=3, effect=0.6, random_state=3)
    for module in (epsilon, n_max, scalability, bounds_and_times, feature_selection):
        monkeypatch.setattr(module, "load_source", lambda name: (study.data, study.target))
    return study.data, study.target


def one_fold(y):
    return list(StratifiedKFold(4, shuffle=True, random_state=5).split(np.zeros(len(y)), y))[2]


FOLD = {"folds": 4, "seed": 5, "fold": 2}


def test_a_cell_of_table_2_is_what_one_computes_by_hand(hard):
    X, y = hard
    train, test = one_fold(y)
    (row,) = work_on("bounds-and-times", HARD | FOLD | {"method": "MRC-CG", "k_max": 2})
    model = MinimaxRiskClassifier(solver=ConstraintGeneration(n_max=20, k_max=2))
    with pytest.warns(ConvergenceWarning):
        model.fit(X[train], y[train])
    assert row["worst_case_error"] == model.worst_case_error_
    assert row["n_iter"] == 3
    assert row["error"] == np.mean(model.predict(X[test]) != y[test]) > 0.0
    right = model.predict_proba(X[test])[np.arange(len(test)), y[test]]
    assert row["randomized_error"] == pytest.approx(1.0 - right.mean())
    assert row["randomized_error"] != row["error"]
    (whole,) = work_on("bounds-and-times", HARD | {"method": "MRC-IP", "fold": None})
    assert whole["worst_case_error"] == MinimaxRiskClassifier().fit(X, y).worst_case_error_
    assert (whole["n_samples"], whole["n_features"], whole["n_classes"]) == (60, 80, 2)


def test_the_settings_of_the_text_and_of_the_scripts_are_asked_for_cell_by_cell(hard):
    X, y = hard
    sources, settings = Sources(("hard",)), Settings(n_max=20, k_max=3)
    cells = [cell.settings for cell in bounds_and_times.plan(settings, sources)]
    by_hand = {
        "one-hot": MinimaxRiskClassifier(coding="one-hot", moderation=0),
        "as printed": MinimaxRiskClassifier(
            solver=ConstraintGeneration(n_max=20, k_max=3, select="as-printed")
        ),
        "text": MinimaxRiskClassifier(
            solver=ConstraintGeneration(n_max=20, k_max=3, select="as-printed"),
            moderation=0,
            coding="one-hot",
            fit_intercept=False,
        ),
    }
    found = {}
    for variant, model in by_hand.items():
        (cell,) = [cell for cell in cells if cell.get("variant") == variant]
        (row,) = work_on("bounds-and-times", dict(cell))
        with quiet_fits():
            found[variant] = model.fit(X, y).worst_case_error_
        assert row["worst_case_error"] == found[variant]
    assert len(set(found.values())) == 3
    cells = [cell.settings for cell in feature_selection.plan(settings, sources)]
    solvers = {
        variant: (cell["k_max"], make_method("MRC-CG", cell).solver.initial_features)
        for variant in feature_selection.VARIANTS
        for cell in cells
        if cell.get("variant") == variant
    }
    both = ("correlation", "first-order")
    assert list(solvers.values()) == [(k_max, start) for k_max in (3, 6) for start in both]


def test_a_cell_of_table_3_scales_and_selects_on_training_rows_alone(hard):
    X, y = hard
    train, test = one_fold(y)
    scaler = StandardScaler().fit(X[train])
    A, B = scaler.transform(X[train]), scaler.transform(X[test])
    svm = L1SVM(n_max=20).fit(A, y[train])
    chosen = {
        "SVM-CG": svm.selected_features_,
        "MRC-IP": MinimaxRiskClassifier().fit(A, y[train]).selected_features_,
        "ANOVA": SelectKBest(f_classif, k=svm.n_features_selected_)
        .fit(A, y[train])
        .get_support(indices=True),
    }
    for method, columns in chosen.items():
        (row,) = work_on("feature-selection", HARD | FOLD | {"method": method})
        assert row["n_selected"] == len(columns)
        plain = LogisticRegression(C=np.inf, max_iter=1000).fit(A[:, columns], y[train])
        assert row["lr_error"] == np.mean(plain.predict(B[:, columns]) != y[test])
        tree = DecisionTreeClassifier(random_state=5).fit(A[:, columns], y[train])
        assert row["dt_error"] == np.mean(tree.predict(B[:, columns]) != y[test])


def test_a_cell_of_figure_2_is_fitted_on_its_own_part_of_the_data(hard):
    X, y = hard
    bounds = []
    for repetition in range(2):
        cell = {"repetition": repetition, "subsample": 0.9, "seed": 7, "method": "MRC-IP"}
        (row,) = work_on("n-max", HARD | cell)
        rows, _ = train_test_split(np.arange(60), train_size=0.9, stratify=y, random_state=7 + repetition)
        assert len(rows) == 54
        bounds.append(row["worst_case_error"])
        assert bounds[-1] == MinimaxRiskClassifier().fit(X[rows], y[rows]).worst_case_error_
    assert bounds[0] != bounds[1]


def test_a_cell_of_figure_3_draws_its_own_features_from_standardised_data(hard):
    X, y = hard
    bounds = []
    for repetition in range(2):
        (row,) = work_on(
            "scalability", HARD | {"size": 40, "repetition": repetition, "seed": 7, "method": "MRC-IP"}
        )
        Z = random_fourier_features(StandardScaler().fit_transform(X), 40, 7 + repetition)
        bounds.append(row["worst_case_error"])
        assert bounds[-1] == MinimaxRiskClassifier().fit(Z, y).worst_case_error_
    assert bounds[0] != bounds[1]


def test_random_fourier_features():
    """Cosines and sines of the same projections, whose products approximate a Gaussian kernel."""
    X = np.random.default_rng(0).standard_normal((5, 4))
    Z = random_fourier_features(X, 40_001, 0)
    assert Z.shape == (5, 40_001)
    np.testing.assert_allclose(Z[:, :20_000] ** 2 + Z[:, 20_001:] ** 2, 1.0)
    distance = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(Z @ Z.T / 20_000, np.exp(-distance / 4), atol=0.03)


def test_a_cell_of_figure_1_holds_every_iteration(hard):
    X, y = hard
    rows = work_on("epsilon", HARD | {"method": "MRC-CG", "k_max": None})
    model = MinimaxRiskClassifier(solver=ConstraintGeneration(n_max=20)).fit(X, y)
    assert [row["worst_case_error"] for row in rows] == [r["worst_case_error"] for r in model.history_]
    assert [row["k"] for row in rows] == list(range(model.n_iter_))


def test_the_clock_runs_while_the_method_does(hard, monkeypatch):
    """On a clock that only a fit moves."""
    fit, now = MinimaxRiskClassifier.fit, [0.0]

    def slow(self, X, y):
        now[0] += 5.0
        return fit(self, X, y)

    monkeypatch.setattr(MinimaxRiskClassifier, "fit", slow)
    monkeypatch.setattr(fitting.time, "perf_counter", lambda: now[0])
    (row,) = work_on("bounds-and-times", HARD | FOLD | {"method": "MRC-IP"})
    assert row["seconds"] == 5.0


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


def test_claims_about_accuracy_can_fail():
    settings = Settings(epsilons=(0.01, 0.0001))

    def rows(coarse, fine, iterations):
        sequences = {0.01: [0.5, 0.2 + coarse], 0.0001: [0.5] * iterations + [0.2 + fine]}
        best = [ok(dataset="A", method="MRC-IP", worst_case_error=0.2)]
        return best + [
            ok(dataset="A", method="MRC-CG", epsilon=e, worst_case_error=value, n_features=9, seconds=0.1)
            for e, values in sequences.items()
            for value in values
        ]

    assert verdicts(epsilon, settings, rows(5e-4, 1e-5, 20)) == ["holds"] * 4
    assert verdicts(epsilon, settings, rows(5e-4, 1e-5, 21))[3] == "does not hold"
    assert verdicts(epsilon, settings, rows(5e-4, 2e-3, 5))[2:] == ["does not hold"] * 2


@pytest.mark.parametrize(("lp", "first"), [(2.0, "holds"), (0.5, "does not hold")])
def test_claims_about_n_max_can_fail(lp, first):
    settings = Settings(n_max_values=(10, 100), n_max_repetitions=5)

    def rows(slower, excess=0.1, n_parts=5):
        found = []
        for part in range(n_parts):
            common = {"dataset": "A", "repetition": part, "n_iter": 3, "converged": True}
            found += [
                ok(**common, method="MRC-LP", seconds=lp, worst_case_error=0.1),
                ok(**common, method="MRC-IP", seconds=0.01, worst_case_error=0.1),
                ok(**common, method="MRC-CG", n_max=10, seconds=0.1, worst_case_error=0.1 + excess),
                ok(**common, method="MRC-CG", n_max=100, seconds=0.1 + slower[part], worst_case_error=0.101),
            ]
        return found

    # The fastest, 10, is too far from R* to count.
    assert verdicts(n_max, settings, rows([0.01] * 5))[:2] == [first, "holds"]
    # It counts: ahead on every part, or by chance, or on too few parts to know.
    ahead = rows([0.01, 0.02, 0.01, 0.02, 0.01], excess=0.0)
    claim = n_max.report(settings, Sources(("A",)), ahead).claims[1]
    assert claim.verdict == "does not hold"
    assert "the fastest is 10, with 100 1.14 times as long (A)" in claim.evidence
    assert verdicts(n_max, settings, rows([0.09, -0.02, 0.01, -0.05, 0.01], excess=0.0))[1] == "holds"
    assert verdicts(n_max, settings, rows([0.01] * 4, excess=0.0, n_parts=4))[1] == "could not be tested"


def test_a_program_that_was_stopped_may_have_been_ten_times_slower_or_not():
    settings = Settings(n_max_values=(100,), n_max_repetitions=1)
    common = {"dataset": "A", "repetition": 0, "n_iter": 3, "converged": True, "worst_case_error": 0.1}
    rows = [
        ok(**common, method="MRC-LP") | {"status": "time limit", "limit": 0.9, "seconds": None},
        ok(**common, method="MRC-IP", seconds=0.01),
        ok(**common, method="MRC-CG", n_max=100, seconds=0.1),
    ]
    assert verdicts(n_max, settings, rows)[0] == "could not be tested"
    rows[0]["limit"] = 5.0
    assert verdicts(n_max, settings, rows)[0] == "holds"


def test_claims_about_growth_can_fail():
    settings = Settings(sizes=(1000, 3000, 10_000), scalability_repetitions=1)

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

    assert verdicts(scalability, settings, rows(0.5, 0.1)) == ["holds", "holds", "1.00 to 1.00 times"]
    # Two sizes do not make an exponent.
    two = [row for row in rows(0.5, 0.1) if row["size"] != 3000]
    assert verdicts(scalability, settings, two)[1] == "could not be tested"
    assert verdicts(scalability, settings, rows(2.0, 0.01)) == [
        "holds in part (2 of 3)",
        "does not hold",
        "10.0 to 10.0 times",
    ]


@pytest.mark.parametrize(
    ("bound", "n_folds", "expected"),
    [
        (0.1, 6, "holds"),
        (0.4, 6, "holds"),
        (0.01, 6, "does not hold"),
        (0.01, 4, "could not be tested"),  # too few folds for a standard error
    ],
)
def test_claim_about_the_bounds_can_fail(bound, n_folds, expected):
    settings = Settings(folds=n_folds)
    shape = {"n_samples": 9, "n_features": 5, "n_classes": 3, "gap": 0.0, "seconds": 1.0}
    rows = [
        ok(dataset="GLIOMA", method=method, fold=None, worst_case_error=bound, **shape)
        for method in bounds_and_times.METHODS
    ]
    rows += [
        ok(dataset="GLIOMA", method=method, fold=fold, error=error, randomized_error=error, **shape)
        for method in bounds_and_times.METHODS
        for fold, error in enumerate((0.05, 0.15) * (n_folds // 2))
    ]
    assert verdicts(bounds_and_times, settings, rows, ("GLIOMA",))[0] == expected
    notes = bounds_and_times.report(settings, Sources(("GLIOMA",)), rows).notes
    # The printed R* is 0.18; what differs for more than two classes is said.
    assert any("lower than ours (GLIOMA)" in note for note in notes) == (bound == 0.4)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ((0.2, 0.3, 0.2, 0.3, 0.1), "holds"),  # behind by 0.1 on one fold may be chance
        ((0.2, 0.4, 0.25, 0.4, 0.2), "does not hold"),  # behind on every fold is behind
        ((0.2, 0.4, 0.25), "could not be tested"),  # three folds are not enough
    ],
)
def test_claim_about_selection_can_fail(errors, expected):
    rows = [
        ok(dataset="A", fold=fold, n_selected=5, seconds=0.1, lr_error=value, dt_error=value)
        | ({"method": "MRC-CG", "variant": method} if "MRC-CG" in method else {"method": method})
        for method in feature_selection.METHODS
        for fold, value in enumerate(errors if "MRC-CG" in method else (0.1, 0.3, 0.2, 0.3, 0.1))
        if fold < len(errors)
    ]
    assert verdicts(feature_selection, Settings(folds=5), rows)[:2] == [expected] * 2


@pytest.mark.parametrize(
    "item", (PAPER_ITEMS | GUARANTEE_ITEMS | RIVAL_ITEMS).values(), ids=lambda item: item.name
)
def test_reports_survive_cells_that_did_not_get_through(item):
    """A failed or stopped cell is shown, and the report is written all the same, with its figures."""
    sources = Sources(("Colon",) if item.wanted else ())
    rows = [
        {**cell.settings, "status": "failed", "limit": cell.limit, "detail": "no memory"}
        for cell in item.plan(QUICK, sources)
    ]
    report = item.report(QUICK, sources, rows)
    assert {claim.verdict for claim in report.claims} <= {"could not be tested", "reported"}
    for figure in report.figures:
        figure.draw(pytest.importorskip("matplotlib.figure").Figure())


def test_the_committed_summary_follows_from_the_committed_measurements():
    results = default_folder("paper", quick=False)
    summary = (results / "summary.md").read_text(encoding="utf-8")
    for name, item in PAPER_ITEMS.items():
        assert text_again(results / name, item) in summary
