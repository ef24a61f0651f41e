"""The experiment on errors beside other classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold

from experiments.__main__ import default_folder
from experiments.accuracy import errors, methods
from experiments.accuracy.methods import MAKERS, OURS, make_method
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.harness.summary import text_again
from minimaxrisk import ClippedScaler, MinimaxRiskClassifier

pytestmark = [
    pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.UninformativeRadiusWarning"),
    pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.CoverageWarning"),
]


def test_there_is_a_cell_for_every_method_with_and_without_clipping():
    cells = errors.plan(Settings(accuracy_repetitions=2), Sources(("wine", "breast_cancer")))
    found = [tuple(cell.settings.values()) for cell in cells]
    assert len(set(found)) == len(found) == 2 * 2 * len(MAKERS) * 2
    assert {cell.settings["repetition"] for cell in cells[: len(cells) // 2]} == {0}
    assert set(errors.LABELS) == {label for name in MAKERS for label in (name, f"{name}, clipped")}


def test_errors_are_those_of_fits_by_hand():
    X, y = load_wine(return_X_y=True)
    rows = errors.work({"dataset": "wine", "method": "s = 1", "clip": True, "repetition": 3})
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
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, ::5]
    method = make_method(name, 2, clip=clip, is_sparse=False, seed=0)
    has_steps = hasattr(method, "steps")
    assert has_steps == (clip or not (name in OURS or name == "random forest"))
    if clip:
        assert isinstance(method[0], ClippedScaler)
    assert method.fit(X[::4], y[::4]).score(X[1::4], y[1::4]) > 0.7


def row(dataset, method, error, fold, *, clip=False):
    known = {"dataset": dataset, "method": method, "clip": clip, "repetition": 0, "fold": fold}
    return known | {"error": error, "n_features": 3, "fit_seconds": 0.1, "status": "ok"}


@pytest.mark.parametrize(("ours", "verdict"), [(0.1, "holds"), (0.197, "does not hold")])
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
    assert lines["random forest"] == ["–", "–", "–"]
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
    assert text_again(results / "errors", errors.ITEM) in summary
