"""The experiment on errors beside other classifiers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold

from experiments.__main__ import default_folder
from experiments.accuracy import errors, methods, narrow, simulated
from experiments.accuracy.methods import BOX, BOX_CHOSEN, ENSEMBLE, MAKERS, ONCE, TREES_ALONE, make_method
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.harness.summary import text_again
from minimaxrisk import ClippedScaler, MinimaxRiskClassifier

pytestmark = pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.CoverageWarning")


def test_there_is_a_cell_for_every_method_with_and_without_clipping():
    cells = errors.plan(Settings(accuracy_repetitions=2), Sources(("wine", "breast_cancer")))
    found = [tuple(cell.settings.values()) for cell in cells]
    n_first = 2 * (2 * len(MAKERS) - len(TREES_ALONE))  # data sets, clipped or not
    assert len(set(found)) == len(found) == n_first + 2 * 2 * (len(MAKERS) - len(ONCE))
    assert {cell.settings["repetition"] for cell in cells[:n_first]} == {0}
    clipped = {f"{name}, clipped" for name in MAKERS if name not in TREES_ALONE}
    assert set(errors.LABELS) == {*MAKERS, *clipped}


def test_errors_are_those_of_fits_by_hand():
    X, y = load_wine(return_X_y=True)
    rows = errors.work({"dataset": "wine", "method": "box, s = 1", "clip": True, "repetition": 3})
    folds = StratifiedKFold(errors.FOLDS, shuffle=True, random_state=3).split(X, y)
    for row, (train, test) in zip(rows, folds, strict=True):
        scaler = ClippedScaler().fit(X[train])
        model = MinimaxRiskClassifier().fit(scaler.transform(X[train]), y[train])
        assert row["error"] == pytest.approx(1 - model.score(scaler.transform(X[test]), y[test]))
        assert row["n_features"] == model.n_features_selected_


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("clip", [False, True])
def test_methods_differ_in_their_first_step_alone(name, clip, monkeypatch):
    monkeypatch.setattr(methods, "TREES", 20)
    monkeypatch.setattr(methods, "STAGES", 20)
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, ::5]
    method = make_method(name, 2, clip=clip, is_sparse=False, seed=0)
    has_steps = hasattr(method, "steps")
    assert has_steps == (clip or not (name in {BOX, BOX_CHOSEN, ENSEMBLE} or name in TREES_ALONE))
    if clip:
        assert isinstance(method[0], ClippedScaler)
    assert method.fit(X[::4], y[::4]).score(X[1::4], y[1::4]) > 0.7


def row(dataset, method, error, fold, *, clip=False):
    known = {"dataset": dataset, "method": method, "clip": clip, "repetition": 0, "fold": fold}
    return known | {"error": error, "n_features": 3, "fit_seconds": 0.1, "status": "ok"}


@pytest.mark.parametrize(("ours", "verdict"), [(0.1, "holds"), (0.203, "does not hold")])
def test_the_claim_is_about_the_best_of_the_tuned(ours, verdict):
    rows = []
    for dataset, shift in (("a", 0.0), ("b", 0.1)):
        for fold in range(5):
            rows += [
                row(dataset, "ensemble", ours + shift, fold),
                row(dataset, "L1 logistic, tuned", 0.3 + shift, fold),
                row(dataset, "linear SVM, tuned", 0.2 + shift, fold),
                row(dataset, "L1 logistic, C = 1", 0.0, fold),  # not tuned
            ]
    report = errors.report(Settings(), Sources(("a", "b")), rows)
    (claim,) = report.claims
    assert claim.verdict == verdict
    assert claim.evidence.startswith(f"Nearest: linear SVM, tuned; difference {ours - 0.2:+.4f} ± 0.0000")
    lines = {line[0]: line[1:] for line in report.tables[0].lines}
    assert lines["linear SVM, tuned"] == ["**0.2500**", "0.200", "0.300"]
    assert lines["random forest, tuned"] == ["–", "–", "–"]
    differences = {line[0]: line[1:] for line in report.tables[1].lines}
    assert differences["linear SVM, tuned"][1] == f"{0.2 - ours:+.3f} ± 0.000"


def test_differences_are_taken_fold_by_fold():
    one = {(0, fold): 0.1 * fold for fold in range(5)}
    other = {(0, fold): 0.1 * fold - 0.05 * (fold % 2) for fold in range(4)}
    values = np.array([0.0, 0.05, 0.0, 0.05])
    error = values.std(ddof=1) * np.sqrt(1 / 4 + 1 / 4)
    assert errors._difference(one, other) == f"+0.025 ± {error:.3f}"


def test_the_committed_summary_follows_from_the_committed_measurements():
    results = default_folder("accuracy", quick=False)
    summary = (results / "summary.md").read_text(encoding="utf-8")
    for item in (errors.ITEM, simulated.ITEM, narrow.ITEM):
        assert text_again(results / item.name, item) in summary


def test_simulated_studies(monkeypatch):
    """Few columns: the members are better, and the weight by errors knows it. Many columns: the other way."""
    monkeypatch.setattr(simulated, "STUDIES", 2)
    found = {}
    for kind in ("few columns", "many columns"):
        settings = {"kind": kind, "n_classes": 2, "n_samples": 60, "number": 0, "seed": 0}
        (row, *others) = simulated.work(settings)
        assert len(others) == simulated.STUDIES - 1
        assert row == simulated._one_study(settings, 0)
        found[kind] = row
    assert found["few columns"]["weight 1"] > found["few columns"]["power 2"] + 0.05
    assert found["few columns"]["power 2"] <= found["few columns"]["weight 0.5"]
    for kind in simulated.KINDS:
        law = simulated.Law.draw(kind, 3, 5, np.random.default_rng(0))
        X = law.sample(np.arange(9) % 3, np.random.default_rng(1))
        assert X.shape == (9, simulated.N_COLUMNS)
        assert np.isfinite(X).all()


def test_few_columns():
    cells = narrow.plan(Settings(accuracy_repetitions=2), Sources(()))
    assert len(cells) == 2 * len(narrow.DATA) * len(narrow.METHODS)
    rows = []
    for method in ("linear box", "RBF ball"):
        settings = {"dataset": "iris", "method": method, "repetition": 0}
        rows += [settings | row | {"status": "ok"} for row in narrow.work(settings)]
    assert [row["n_lost"] for row in rows] == [1] * narrow.FOLDS + [0] * narrow.FOLDS
    report = narrow.report(Settings(), Sources(()), rows)
    errors_of = {line[0]: line[1] for line in report.tables[0].lines}
    assert errors_of["linear box"] == "0.333"
    assert float(errors_of["RBF ball"]) < 0.1
    assert report.claims[1].verdict == "holds"
    assert report.claims[1].evidence.endswith(": linear box on iris.")


def test_the_decision_pages_quote_these_results():
    """Mean errors, columns and seconds on the pages about the choice are those of the summary."""
    root = Path(__file__).parents[2]
    summary = (root / "experiments" / "results" / "accuracy" / "summary.md").read_text(encoding="utf-8")
    means = dict(re.findall(r"^\| ([^|]+) \| \*\*(0\.\d+)\*\* \|", summary, flags=re.MULTILINE))
    costs = {
        name: (columns, seconds)
        for name, columns, seconds in re.findall(
            r"^\| ([^|]+) \| ([\d,–]+) \| ([\d.]+) \|$", summary, flags=re.MULTILINE
        )
    }
    estimator, coming = (
        (root / "docs" / name).read_text(encoding="utf-8")
        for name in ("which_estimator.md", "coming_from.md")
    )
    for page, words, method in (
        (estimator, "few errors", "ensemble"),
        (estimator, "one rule on few columns", "box, s = 1"),
        (estimator, "a shorter list", "box, s chosen"),
        (estimator, "a rule on all columns", "ball, clipped"),
        (coming, "our ensemble", "ensemble"),
        (coming, "our ball, clipped columns", "ball, clipped"),
        (coming, "ridge logistic regression, tuned, clipped", "ridge logistic, tuned, clipped"),
        (coming, "L1 logistic regression, tuned", "L1 logistic, tuned"),
        (coming, "our single classifier, s = 1", "box, s = 1"),
    ):
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {words}")]
        assert f"{100 * float(means[method]):.1f}%" in line
        seconds = float(line.split("|")[-2])
        assert seconds == pytest.approx(float(costs[method][1]), rel=0.02)
    assert costs["ensemble"][0] in estimator
    assert f"| {costs['box, s chosen'][0]} |" in estimator
    assert costs["box, s = 1"][0] in estimator
