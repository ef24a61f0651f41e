"""``minimaxrisk evaluate``: a second cohort, and files that are none."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from minimaxrisk.app.cli import main
from minimaxrisk.app.storage import load_model
from minimaxrisk.datasets import make_expression
from tests.study_files import HOSTILE_NAMES

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")
pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def frame():
    study = make_expression(90, 30, effect=0.7, random_state=0)
    table = pd.DataFrame(8.0 + study.data, columns=study.feature_names)
    table.insert(0, "sample", [f"P{i:02d}" for i in range(90)])
    return table.assign(kind=np.where(study.target, "ill", "well"))


def fitted(frame, folder, *options):
    frame[:50].to_csv(folder / "train.csv", index=False)
    path = folder / "model.skops"
    command = ["fit", str(folder / "train.csv"), "--target", "kind", "--out", str(path), "--no-guarantee"]
    assert main([*command, "-q", *options]) == 0
    return path


@pytest.fixture(scope="module")
def model(frame, tmp_path_factory):
    return fitted(frame, tmp_path_factory.mktemp("evaluate"))


@pytest.fixture
def run(model, tmp_path, capsys):
    def on(table, *more):
        path = tmp_path / "cohort.csv"
        table.to_csv(path, index=False)
        capsys.readouterr()
        status = main(["evaluate", str(model), str(path), *map(str, more)])
        return status, *capsys.readouterr()

    return on


def test_a_cohort(frame, model, run, tmp_path):
    cohort, page = frame[50:], tmp_path / "cohort.html"
    status, out, err = run(cohort, "--report", page, "--json")
    assert status == 0
    found, saved = json.loads(out), load_model(model)
    named = saved.classifier.predict(saved.prepared(cohort[list(saved.feature_names)].to_numpy()))
    wrong = named != cohort["kind"].to_numpy()
    assert found["error"]["n_counted"] == wrong.sum() > 0
    assert [each["prediction"] for each in found["samples"]] == named.tolist()
    assert found["calibration"]["n"] == 40
    assert "standard deviations" in err  # beside the training data
    html = page.read_text(encoding="utf-8")
    assert "There is no stronger statement about a model" in html
    assert "It takes for granted that the model has learned from none of them" in html
    assert f"{wrong.sum()} of 40 new samples were misclassified" in html
    missed = int((wrong & (cohort["kind"] == "ill")).sum())
    assert f"{missed or 'none'} of {int((cohort['kind'] == 'ill').sum())} “ill” missed" in html
    share = saved.classifier.selection_frequencies_
    assert f"30 of 30 features, most of all {saved.feature_names[share.argmax()]}" in html
    assert f"{wrong.sum()} of 40" in html
    assert all(name in html for name in cohort["sample"])
    assert "<polyline" in html
    assert not re.search(r"https?://", html)
    assert len(html) < 100_000
    status, out, _ = run(cohort, "--prevalence", "ill=0.05", "-q")
    assert "0.05 'ill', 0.95 'well'" in out
    assert "misclassified: 'P" in out


def test_training_samples_are_refused(frame, run):
    status, _, err = run(frame[:50])
    assert status == 2
    assert "holds the training data of the model" in err
    assert "Pass samples of another cohort" in err


def test_another_scale_and_other_labels(frame, run, tmp_path):
    features = [name for name in frame if name not in ("sample", "kind")]
    page = tmp_path / "page.html"
    scaled = frame[50:].assign(**{name: 100 * frame[name] for name in features})
    status, out, err = run(scaled, "--report", page)
    assert status == 0
    assert "WARNING" in err
    assert "(scale-mismatch)" in err
    # The doubt instead of a rate, an interval and what it would take to hold.
    doubt = "Do not use this result yet: 40 of 40 samples are unlike the training data."
    assert out.startswith(doubt)
    assert "%" not in out.splitlines()[0]
    html = page.read_text(encoding="utf-8")
    assert f'<p class="headline">{doubt}</p>' in html
    assert "Read the warnings first" in html
    assert not re.search(r"no stronger statement|misclassified, \d|That holds|class=\"tiles\"", html)
    page.unlink()
    status, out, err = run(scaled, "--report", page, "--strict")
    assert (status, out) == (2, "")
    assert "No errors were counted (--strict)." in err
    assert not page.exists()
    assert run(frame[50:], "--strict")[0] == 0
    # One odd patient is part of a cohort and named.
    odd = frame[50:].copy()
    odd.loc[50, features] *= 100.0
    status, out, err = run(odd, "--report", page)
    assert "WARNING" not in err
    assert "(scale-mismatch)" in err
    assert "'P50'" in err
    assert "no stronger statement" in page.read_text(encoding="utf-8")
    other = frame[50:].replace({"kind": {"ill": "ill."}})
    status, out, err = run(other, "--report", page)
    assert "'ill.'" in out
    assert "<bdi>ill.</bdi>" in page.read_text(encoding="utf-8")
    page.unlink()
    for label in ("Ill", " I LL"):
        status, out, err = run(frame[50:].replace({"kind": {"ill": label}}), "--report", page)
        assert (status, out) == (2, "")
        assert f"labels must be written as in the training data; write {label.strip()!r} as 'ill'." in err
        assert not page.exists()
    status, _, err = run(frame[50:].assign(kind="x"))
    assert status == 2
    assert "the model knows none of these labels" in err


def test_columns_that_the_model_does_not_use_may_be_absent(frame, tmp_path, capsys):
    model, path = fitted(frame, tmp_path, "--model", "single"), tmp_path / "cohort.csv"
    saved = load_model(model)
    used = saved.feature_names[saved.classifier.selected_features_].tolist()
    assert 0 < len(used) < len(saved.feature_names)

    def counted(table, *options):
        table.to_csv(path, index=False)
        capsys.readouterr()
        status = main(["evaluate", str(model), str(path), "--json", *options])
        return status, capsys.readouterr()

    cohort = frame[50:]
    few = cohort[["sample", *used, "kind"]]
    status, told = counted(few)
    assert status == 2
    assert "--only-used" in told.err
    found, whole = (json.loads(counted(*each)[1].out) for each in ((few, "--only-used"), (cohort,)))
    for part in ("error", "confusion", "calibration", "sets"):
        assert found[part] == whole[part]


def test_few_samples_of_one_class_and_copies(frame, run, tmp_path):
    page = tmp_path / "page.html"
    status, out, _ = run(frame[50:].query("kind == 'ill'")[:3], "--report", page)
    assert status == 0
    assert "'ill'" in out
    assert "All are of one class, so that of others this says nothing." in page.read_text(encoding="utf-8")
    twice = pd.concat([frame[50:], frame[50:55].assign(sample=[f"Q{i}" for i in range(5)])])
    _, _, err = run(twice)
    assert "(duplicates): 5 samples" in err
    status, out, _ = run(frame[50:].assign(patient=np.arange(40) // 2), "--groups", "patient")
    assert "one of each of 20 groups" in out


def test_names_of_samples_stay_text(frame, run, tmp_path):
    names = [*HOSTILE_NAMES, *(f"P{i}" for i in range(40))][:40]
    run(frame[50:].assign(sample=names), "--report", tmp_path / "page.html", "--samples", "sample")
    assert "<script>alert" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_baseline_is_a_column_of_labels_of_numbers_or_a_feature(frame, model, run):
    cohort = frame[50:].assign(doctor=frame["kind"], age=np.arange(90.0)[50:])
    feature = str(load_model(model).feature_names[0])
    found = {
        column: json.loads(
            run(cohort.drop(columns={"doctor", "age"} - {column}), "--baseline", column, "--json")[1]
        )
        for column in ("doctor", "age", feature)
    }
    assert all(one["error"] == found["age"]["error"] for one in found.values())
    doctor = found["doctor"]["baseline"]
    assert (doctor["n_baseline_alone"], doctor["threshold"]) == (0, None)
    assert doctor["n_model_alone"] == found["doctor"]["error"]["n_counted"]
    assert 50 <= found["age"]["baseline"]["threshold"] <= 89
    assert found[feature]["baseline"]["threshold"] in cohort[feature].to_numpy()
    status, _, err = run(cohort.drop(columns="age"), "--baseline", "age")
    assert status == 2
    assert "age" in err
