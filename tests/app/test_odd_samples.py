"""New samples that are not like the training data: hardly measured, on another scale, labelled otherwise."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from minimaxrisk.app.cli import main
from minimaxrisk.app.storage import load_model
from minimaxrisk.datasets import make_expression
from tests.terminal import run

pd = pytest.importorskip("pandas")
pytest.importorskip("skops", reason="comes with the extra 'app'")

N, P = 60, 30


@pytest.fixture(scope="module")
def frame():
    study = make_expression(N, P, n_informative=6, effect=1.5, random_state=0)
    table = pd.DataFrame(8.0 + study.data, columns=study.feature_names)
    table.insert(0, "sample", [f"P{i:02d}" for i in range(N)])
    return table.assign(kind=np.where(study.target, "ill", "well"))


def written(table, path):
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    train = frame[:40].copy()
    train.iloc[3, 5] = np.nan
    path = folder / "m.skops"
    fit = ["fit", written(train, folder / "train.csv"), "--target", "kind", "--impute", "median"]
    fit += ["--model", "single", "--scale", "clip", "--out", path, "--no-guarantee", "-q"]
    assert main([*map(str, fit)]) == 0
    return path


def emptied(table, *rows, columns=slice(None)):
    changed = table.copy()
    for row in rows:
        changed.iloc[row, 1 : 1 + P] = changed.iloc[row, 1 : 1 + P].where(
            ~np.isin(np.arange(P), range(P)[columns])
        )
    return changed


NEW = slice(40, N)


def test_a_sample_without_measurements_gets_no_diagnosis(frame, model, tmp_path, capsys):
    new = written(emptied(frame[NEW].drop(columns="kind"), 2, 5), tmp_path / "new.csv")
    status, out, err = run(capsys, "predict", model, new)
    assert status == 0
    assert "WARNING (empty-samples): " in err
    rows = list(csv.DictReader(out.splitlines()))
    odd = [row["sample"] for row in rows if row["on_training_scale"] == "no"]
    assert odd == ["P42", "P45"]
    assert [row["sample"] for row in rows if row["certainty"] == "unlike the training data"] == odd
    (finding,) = json.loads(run(capsys, "predict", model, new, "--json")[1])["findings"]
    assert (finding["code"], finding["samples"]) == ("empty-samples", ["P42", "P45"])
    status, out, err = run(capsys, "predict", model, new, "--strict")
    assert (status, out) == (2, "")
    assert "'P42', 'P45'" in err
    assert "No predictions were written (--strict)." in err


def test_gaps_in_columns_that_the_model_does_not_use_do_not_matter(frame, model, tmp_path, capsys):
    saved = load_model(model)
    used = saved.classifier.selected_features_
    assert 2 < len(used) < P / 2
    new = frame[NEW].drop(columns="kind").reset_index(drop=True)
    new.loc[1, saved.feature_names[np.setdiff1d(np.arange(P), used)].tolist()] = np.nan
    new.loc[2, saved.feature_names[used[: len(used) // 2]].tolist()] = np.nan
    assert run(capsys, "predict", model, written(new, tmp_path / "new.csv"), "--strict")[0] == 0
    new.loc[3, saved.feature_names[used[: len(used) // 2 + 1]].tolist()] = np.nan
    for more in ([], ["--only-used"]):
        status, _, err = run(capsys, "predict", model, written(new, tmp_path / "new.csv"), "--strict", *more)
        assert status == 2
        assert "'P43'" in err


def test_a_cohort_with_samples_without_measurements(frame, model, tmp_path, capsys):
    one = written(emptied(frame[NEW], 2), tmp_path / "one.csv")
    status, out, err = run(capsys, "evaluate", model, one, "--json")
    assert status == 0
    (finding,) = json.loads(out)["findings"]
    assert (finding["severity"], finding["samples"]) == ("note", ["P42"])
    assert [each["sample"] for each in json.loads(out)["samples"] if not each["on_training_scale"]] == ["P42"]
    many = written(emptied(frame[NEW], 2, 3, 4, 5), tmp_path / "many.csv")
    status, out, err = run(capsys, "evaluate", model, many)
    assert "WARNING (empty-samples): " in err
    assert out.startswith("Do not use this result yet: 4 of 20 samples ")
    status, out, err = run(capsys, "evaluate", model, one, "--strict")
    assert (status, out) == (2, "")
    assert "No errors were counted (--strict)." in err


def test_training_samples_that_the_imputer_makes_up_are_named(frame, tmp_path, capsys):
    path = written(emptied(frame, 7, columns=slice(16)), tmp_path / "t.csv")
    fit = ["fit", path, "--target", "kind", "--impute", "median", "--no-guarantee"]
    status, _, err = run(capsys, *fit)
    assert status == 0
    assert "note (empty-samples): 1 sample " in err
    assert (
        "empty-samples"
        not in run(capsys, "fit", written(emptied(frame, 7, columns=slice(15)), path), *fit[2:])[2]
    )


def test_samples_on_another_scale_are_not_sure(frame, model, tmp_path, capsys):
    new = frame[NEW].drop(columns="kind").reset_index(drop=True)
    status, out, err = run(capsys, "predict", model, written(new, tmp_path / "new.csv"))
    sure = [row["certainty"] for row in csv.DictReader(out.splitlines())].count("sure")
    assert f": {sure} sure, " in err
    assert "unlike the training data" not in out + err
    new.loc[:, new.columns[1:]] *= 100.0
    path = written(new, tmp_path / "raw.csv")
    status, out, err = run(capsys, "predict", model, path)
    assert status == 0
    assert {row["certainty"] for row in csv.DictReader(out.splitlines())} == {"unlike the training data"}
    assert "0 sure, 0 unsure, 0 unlike all classes, 20 unlike the training data." in err
    found = json.loads(run(capsys, "predict", model, path, "--json")[1])["predictions"]
    assert {each["certainty"] for each in found} == {"unlike the training data"}


def test_all_probabilities_have_four_digits(frame, model, tmp_path, capsys):
    new = written(frame[NEW].drop(columns="kind"), tmp_path / "new.csv")
    rows = list(csv.DictReader(run(capsys, "predict", model, new)[1].splitlines()))
    cells = [cell for row in rows for name, cell in row.items() if name.startswith(("draw_", "probability_"))]
    assert len(cells) == 4 * len(rows)
    assert all(len(cell) <= len("0.1234") for cell in cells)


def test_classes_that_may_be_one_are_a_warning(frame, tmp_path, capsys):
    table = frame.assign(kind=np.where(np.arange(N) % 7 == 0, frame["kind"].str.capitalize(), frame["kind"]))
    fit = ["fit", written(table, tmp_path / "t.csv"), "--target", "kind", "--no-guarantee"]
    status, out, err = run(capsys, *fit)
    assert status == 0
    assert err.count("WARNING (class-spelling): ") == 2
    assert "Do not use this result yet: " in out


def test_notes_give_the_advice_of_the_command_line(frame, tmp_path, capsys):
    table = frame[frame["kind"].eq("well") | frame["sample"].lt("P06")]
    fit = ["fit", written(table, tmp_path / "t.csv"), "--target", "kind", "--no-guarantee", "--radius", "3"]
    err = run(capsys, *fit)[2]
    assert "try --class-weight balanced or (in Python) MinimaxRiskKernelClassifier(" in err
    assert ") or --marginal empirical or a smaller --radius." in err
    err = run(capsys, *fit, "--model", "ensemble")[2]
    assert "class_weight=" not in err
    assert "of estimator" not in err
