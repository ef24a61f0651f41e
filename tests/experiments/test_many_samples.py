"""The second paper's experiment: a small run, its data, and claims that can fail."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from experiments.__main__ import main
from experiments.harness.cells import EndedError
from experiments.harness.settings import QUICK, Settings
from experiments.harness.sources import Sources, data_folder
from experiments.harness.summary import read_csv, text_again
from experiments.paper import many_samples
from experiments.paper.many_samples import MRC_CCG, MRC_LP, OURS
from minimaxrisk import MinimaxRiskClassifier
from tests.in_process import cells_in_this_process, ok, verdicts


def test_a_small_run(tmp_path, capsys):
    with cells_in_this_process():
        status = main(["second-paper", "--quick", "--out", str(tmp_path), "--set", "datasets=wine"])
    assert status == 0, capsys.readouterr().err
    rows = read_csv(tmp_path / "many-samples" / "many-samples.csv")
    assert {(row["method"], row["n_components"], row["status"]) for row in rows} == {
        (method, n, "ok") for method in (MRC_CCG, MRC_LP, OURS) for n in (0, 10)
    }
    assert [row["n_features"] for row in rows if row["method"] == OURS] == [13, 20]
    text = text_again(tmp_path / "many-samples", many_samples.ITEM)
    assert text in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "wine RFF | 142 × 20, 3" in text
    X, y = load_wine(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=0.8, stratify=y, random_state=0)
    model = MinimaxRiskClassifier(radius=0.01, moderation=0).fit(X, y)
    (row,) = [row for row in rows if (row["method"], row["n_components"]) == (OURS, 0)]
    assert row["worst_case_error"] == pytest.approx(model.worst_case_error_, abs=1e-12)
    assert row["error"] == pytest.approx(np.mean(model.predict(X_test) != y_test))


def test_a_fit_that_takes_too_long_is_stopped_by_the_clock_of_the_processor():
    settings = {"dataset": "digits", "n_components": 0, "seed": 0, "method": MRC_LP, "limit": 0.5}
    start = time.process_time()
    with pytest.raises(EndedError, match=r"stopped after 0\.5 s of the processor") as caught:
        many_samples.work(settings)
    assert caught.value.status == "time limit"
    assert time.process_time() - start < 5.0


def test_tables_are_in_the_data_folder_or_beside_it(tmp_path):
    for folder, name in (("home", "pulsar"), ("largescale", "optdigits")):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / f"{name}.npz", X=np.zeros((4, 2), dtype=np.float32), y=np.arange(4) % 2)
    with data_folder(tmp_path / "home"):
        cells = many_samples.plan(Settings(), Sources(()))
        (note,) = many_samples.missing(Settings())
    assert {cell.settings["dataset"] for cell in cells} == {"pulsar", "optdigits", "digits"}
    assert "left out: satellite, dry_bean (NAME.npz with X and y, in the data folder)" in note


def rows_of(ccg=2.0, lp=20.0, bound=0.105, error=0.05):
    common = {"dataset": "A", "n_components": 0, "seed": 0, "lower": 0.1, "n_iter": 3}
    common |= {"n_samples": 9, "n_features": 2, "n_classes": 2}
    return [
        ok(**common, method=MRC_CCG, seconds=ccg, worst_case_error=bound, error=error),
        ok(**common, method=MRC_LP, seconds=lp, worst_case_error=0.1, error=0.05),
        ok(**common, method=OURS, seconds=1.0, worst_case_error=0.1, error=0.05),
    ]


@pytest.mark.parametrize(
    ("changed", "place"), [({}, None), ({"lp": 1.0}, 0), ({"bound": 0.12}, 1), ({"error": 0.1}, 2)]
)
def test_each_claim_can_fail(changed, place):
    expected = ["does not hold" if k == place else "holds" for k in range(3)]
    assert verdicts(many_samples, QUICK, rows_of(**changed)) == [*expected, "reported"]


def test_what_was_stopped_counts_with_its_limit():
    ccg, _, ours = rows_of()
    common = {key: ccg[key] for key in ("dataset", "n_components", "seed")}
    stopped = {**common, "method": MRC_LP, "status": "time limit", "limit": 60.0, "detail": ""}
    report = many_samples.report(QUICK, Sources(()), [ccg, stopped, ours])
    assert "MRC-CCG: A ≥ 30.0." in report.claims[0].evidence
    assert report.tables[0].lines[0][:4] == ["A", "9 × 2, 2", "2.00 (once)", "> 60 (1 of 1)"]
    slow = {**stopped, "method": OURS}
    claims = many_samples.report(QUICK, Sources(()), [ccg, stopped, slow]).claims
    assert "over that of the default: A ≤ 0.0333." in claims[3].evidence
    nothing = [{**stopped, "method": method} for method in (MRC_CCG, MRC_LP, OURS)]
    claims = many_samples.report(QUICK, Sources(()), nothing).claims
    assert [claim.verdict for claim in claims[:3]] == ["could not be tested"] * 3
    assert all("none; undecided within the limit: A." in claim.evidence for claim in claims)
