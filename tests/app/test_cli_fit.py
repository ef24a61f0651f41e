"""From a file to a model and back again, through the command line."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import typer
from scipy import sparse
from sklearn.pipeline import make_pipeline

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    PredictionSets,
    compare,
    error_bound,
    permutation_test,
)
from minimaxrisk._utils.rounding import at_least, at_most
from minimaxrisk.analysis.comparison import usual_rivals
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.app.cli import app as command_line
from minimaxrisk.app.cli import console, main
from minimaxrisk.app.report import gathering
from minimaxrisk.app.storage import load_model, save_model
from terminal import unwrapped
from tests import study_files
from tests.folds import decided, folds_of
from tests.study_files import GENES, SAMPLES, StudyFile, labels, sample_rows, values, write_rows
from tests.terminal import run

pytest.importorskip("skops", reason="comes with the extra 'app'")

SINGLE = ("fit", "--model", "single")  # so that numbers can be compared with those of one classifier
NAMES = [name.strip() for name in GENES]  # blanks around a name are an accident
FORMATS = [
    *("csv", "tsv", "csv.gz", "pipes", "no header", "genes in rows", "gct", "geo"),
    *("npz", "sparse npz", "svmlight"),
    *("parquet", "xlsx", "h5ad", "h5ad layer"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, StudyFile]:
    folder = tmp_path_factory.mktemp("studies")
    return study_files.text_files(folder) | study_files.array_files(folder) | study_files.frame_files(folder)


@pytest.fixture(scope="module")
def fitted():
    """What Python says about the same numbers."""
    return MinimaxRiskClassifier().fit(values(), labels())


@pytest.fixture
def table(tmp_path):
    return write_rows(tmp_path / "study.csv", sample_rows())


def fit_json(capsys, *arguments):
    status, out, err = run(capsys, *SINGLE, *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def scores(text):
    """The header, the samples and the scores."""
    header, *rows = csv.reader(text.splitlines())
    places = [i for i, name in enumerate(header) if name.startswith("draw_")]
    return header, [row[0] for row in rows], np.array([[row[i] for i in places] for row in rows], dtype=float)


@pytest.fixture(scope="module")
def predicted(files, tmp_path_factory):
    """Models of all formats fitted here, and their predictions made by one new process.

    Loading a model is no reason to import PyTorch and dask, which skops and scikit-learn would do; reading an
    AnnData file later may be one.
    """
    folder = tmp_path_factory.mktemp("models")
    jobs = []
    for i, name in enumerate(FORMATS):
        file, model, table = files[name], folder / f"{i}.skops", folder / f"{i}.csv"
        command = [
            *SINGLE,
            str(file.path),
            *file.fit,
            *file.reading,
            "--out",
            str(model),
            "--quiet",
            "--json",
        ]
        assert main(command) == 0
        jobs.append(
            ["predict", str(model), str(file.path), *file.reading, "--out", str(table), "--quiet", "--json"]
        )
    code = (
        "import json, sys; from minimaxrisk.app.cli import main; first, *others = json.load(sys.stdin); "
        "status = main(first); strange = {'dask', 'torch'} & set(sys.modules); "
        "sys.exit(max(status, *map(main, others)) or ', '.join(strange) or None)"
    )
    subprocess.run([sys.executable, "-c", code], input=json.dumps(jobs), text=True, check=True)
    return {name: (folder / f"{i}.skops", folder / f"{i}.csv") for i, name in enumerate(FORMATS)}


@pytest.mark.parametrize("name", FORMATS)
def test_round_trip(name, files, predicted, fitted, capsys):
    """fit, save, load in a new process, predict: the probabilities of every format are the same bits."""
    model_file, table = predicted[name]
    saved = load_model(model_file)
    rows = json.loads(table.read_text(encoding="utf-8"))["predictions"]
    samples, found = [row["sample"] for row in rows], [list(row["draws"].values()) for row in rows]
    X = values()
    own = saved.classifier.predict_proba(sparse.csr_matrix(X) if files[name].is_sparse else X)
    np.testing.assert_array_equal(found, own)
    np.testing.assert_allclose(found, fitted.predict_proba(X), atol=1e-9)
    if files[name].is_named:
        assert saved.feature_names.tolist() == NAMES
        assert samples == SAMPLES
    arguments = ["verify", model_file, files[name].path, *files[name].reading, "--json"]
    status, out, err = run(capsys, *arguments)
    assert status == 0, err
    verdict = json.loads(out)
    assert verdict["valid"]
    assert verdict["training_data"]
    assert verdict["upper"] == pytest.approx(saved.classifier.worst_case_error_, abs=1e-9)


class TestFit:
    def test_words(self, table, capsys):
        status, out, err = run(capsys, *SINGLE, table, "--target", "diagnosis")
        assert status == 0
        assert "24 samples, 9 features" in out
        assert "ill 12, well 12" in out
        assert "confirmed without the solver" in out
        assert "as the names of the samples" in err
        assert list(table.parent.iterdir()) == [table]  # nothing was asked for

    def test_json_has_all(self, table, fitted, capsys):
        found = fit_json(capsys, table, "--target", "diagnosis", "--permutations", 19, "--seed", 3)
        assert found["worst_case_error"] == fitted.worst_case_error_
        assert found["worst_case_error_lower"] == fitted.worst_case_error_lower_
        assert found["certificate"] == {"valid": True, "problems": []}
        assert {entry["name"] for entry in found["selected_features"]} == {
            NAMES[j] for j in fitted.selected_features_
        }
        importances = [entry["importance"] for entry in found["selected_features"]]
        assert importances == sorted(importances, reverse=True)
        test = permutation_test(MinimaxRiskClassifier(), values(), labels(), 19, random_state=3)
        assert found["permutation_test"]["pvalue"] == test.pvalue
        assert found["permutation_test"]["noise_floor"]["0.05"] == test.noise_floor[0.05]
        assert any("names of the samples" in note for note in found["notes"])

    def test_the_guarantee_is_that_of_python(self, table, fitted, capsys, tmp_path):
        sets = PredictionSets(fitted, random_state=1)
        own = error_bound(sets, values(), labels(), random_state=1)
        found = fit_json(capsys, table, "--target", "diagnosis", "--seed", 1)["guarantee"]
        assert (found["value"], found["confidence"]) == (own.value, 0.95)
        assert found["statement"] == own.statement
        assert (found["n_train"], found["reason"]) == (own.n_train, None)
        arguments = [*SINGLE, table, "--target", "diagnosis", "--seed", 1]
        _, out, _ = run(capsys, *arguments)
        common = "where classes are as common as in these data (12 : 12)"
        said = f"at most {at_most(own.value)} {common}: {own.evidence}."
        assert said in " ".join(out.split())
        _, out, _ = run(capsys, *arguments, "--no-guarantee")
        assert "new samples" not in out
        assert fit_json(capsys, table, "--target", "diagnosis", "--no-guarantee")["guarantee"] is None

    def test_another_prevalence(self, table, fitted, capsys):
        sets, shares = PredictionSets(fitted, random_state=5), {"ill": 0.1, "well": 0.9}
        own = error_bound(sets, values(), labels(), prevalence=shares, random_state=5)
        arguments = (table, "--target", "diagnosis", "--seed", 5, "--prevalence", "ill=0.1")
        found = fit_json(capsys, *arguments)["guarantee"]
        assert (found["value"], found["statement"]) == (own.value, own.statement)
        assert found["prevalence"] == {"ill": 0.1, "well": 0.9}
        assert [one["limit"] for one in found["per_class"]] == [one.value for one in own.per_class]
        assert found["predictive_values"] == own.predictive_values
        _, out, _ = run(capsys, *SINGLE, *arguments)
        said = " ".join(out.split())
        assert "where 10% are “ill” and 90% are “well”" in said
        limit = at_least(1.0 - own.per_class[0].value, ".1%")
        assert f"of “ill” at least {limit} are recognised, the sensitivity" in said
        assert said.index("of “ill” at least") < said.index("of “well” at least")
        assert said.index("of those called “ill”") < said.index("of those called “well”")
        with_rare = ["--prevalence", "well=0.8", "--prevalence", "rare=0.1"]
        per_class = fit_json(capsys, *arguments, *with_rare)["guarantee"]["per_class"]
        assert [(one["label"], one["limit"]) for one in per_class][2:] == [("rare", 1.0)]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["ill"], "expected a class and its share, such as ill=0.05, got 'ill'"),
            (["ill=5"], "expected a class and its share, such as ill=0.05, got 'ill=5'"),
            (
                ["il=0.05"],
                "needs positive shares of 'ill', 'well' with the sum 1, where one may be missing; got il",
            ),
            (["ill=0.5", "--prevalence", "rare=0.1"], "where one may be missing; got ill=0.5, rare=0.1"),
            (["ill=0.5", "--no-guarantee"], "is about the bound for new samples; leave out --no-guarantee"),
        ],
    )
    def test_a_prevalence_that_makes_no_sense(self, table, capsys, arguments, message):
        status, out, err = run(capsys, *SINGLE, table, "--target", "diagnosis", "--prevalence", *arguments)
        assert status != 0
        assert message in " ".join((out + err).replace("│", " ").split())

    def test_terminal_and_page_have_the_same_guarantee(self, table, capsys, tmp_path):
        page = tmp_path / "report.html"
        few = ["--permutations", 0, "--folds", 2, "--radii", 0, "--confidence", "0.9", "--report", page]
        found = fit_json(capsys, table, "--target", "diagnosis", *few)["guarantee"]
        text = page.read_text(encoding="utf-8")
        note = "error for new samples, with 90% confidence, for"
        assert f'<dd class="value">{at_most(found["value"], ".1%")}</dd><dd class="note">{note}' in text
        assert at_most(found["value"], ".3f") in text

    def test_left_out_samples_that_are_sure_and_how_probable(self, table, fitted, capsys, tmp_path):
        page = tmp_path / "report.html"
        few = ["--permutations", 0, "--folds", 3, "--radii", 0, "--no-guarantee", "--report", page]
        arguments = [table, "--target", "diagnosis", *few]
        found = fit_json(capsys, *arguments)["cross_validation"]
        folds = cross_validated_error(fitted, values(), labels(), n_folds=3, calibrated=True)
        assert found["by_probability"] == [asdict(one) for one in folds.by_probability()]
        counts = folds.left_out.counts(0.9)
        assert [list(row.values()) for row in found["sets"]["by_class"].values()] == counts.tolist()
        right, wrong, unsure, _ = counts.sum(axis=0)
        assert unsure > 1
        right, wrong = (n or "none" for n in (right, wrong))
        words = f"f 24 left-out samples {right} sure and right, {wrong} sure and wrong, {unsure} unsure"
        _, out, _ = run(capsys, *SINGLE, *arguments)
        assert f"o{words}" in " ".join(out.split())
        assert f"O{words}" in page.read_text(encoding="utf-8")

    def test_known_instances(self, table, capsys, tmp_path):
        arguments = ["--target", "diagnosis", "--marginal", "empirical", "--radius", "bootstrap"]
        found = fit_json(capsys, table, *arguments)
        own = MinimaxRiskClassifier(marginal="empirical", radius="bootstrap", random_state=0)
        assert found["marginal"] == "empirical"
        assert found["worst_case_error"] == own.fit(values(), labels()).worst_case_error_
        assert fit_json(capsys, table, "--target", "diagnosis")["marginal"] == "free"
        _, out, _ = run(capsys, *SINGLE, table, *arguments, "--no-guarantee")
        assert "for instances distributed as in the training data" in " ".join(out.split())
        assert "with 95% confidence" in " ".join(out.split())
        status, _, err = run(capsys, *SINGLE, table, "--target", "diagnosis", "--marginal", "known")
        assert status == 2
        assert "--marginal" in err

    def test_options_reach_the_classifier(self, table, capsys, tmp_path):
        options = ["--radius", "bootstrap", "--confidence", "0.8", "--solver", "constraint-generation"]
        options += ["--coding", "one-hot", "--class-weight", "balanced", "--seed", "7"]
        options += ["--marginal", "empirical"]
        out = tmp_path / "m.skops"
        fit_json(capsys, table, "--target", "diagnosis", *options, "--out", out)
        model = load_model(out).classifier
        again = MinimaxRiskClassifier(
            radius="bootstrap",
            confidence=0.8,
            solver="constraint-generation",
            coding="one-hot",
            marginal="empirical",
            class_weight="balanced",
            random_state=7,
        ).fit(values(), labels())
        assert model.get_params() == again.get_params()
        assert model.radius_ == again.radius_
        np.testing.assert_array_equal(model.coef_, again.coef_)

    def test_warnings_of_the_library_are_notes(self, tmp_path, capsys):
        """A gene that is seen in one patient only: the bootstrap says what that does to its coverage."""
        rows = [
            [*row[:-1], "rare" if not i else str(float(i == 1) * 1e6), row[-1]]
            for i, row in enumerate(sample_rows())
        ]
        table = write_rows(tmp_path / "rare.csv", rows)
        found = fit_json(capsys, table, "--target", "diagnosis", "--radius", "bootstrap")
        assert any("coverage" in note for note in found["notes"]), found["notes"]

    def test_a_score_is_not_called_a_bound(self, tmp_path, capsys):
        """More features than samples and a plain number, in the words of the command line."""
        few = write_rows(tmp_path / "few.csv", sample_rows()[:1] + sample_rows()[9:17])
        status, out, err = run(capsys, *SINGLE, few, "--target", "diagnosis")
        assert status == 0
        assert "a score, not a bound" in out
        assert "radius=" not in err
        assert not fit_json(capsys, few, "--target", "diagnosis")["is_bound"]
        _, out, _ = run(capsys, *SINGLE, few, "--target", "diagnosis", "--radius", "bootstrap")
        assert "with 95% confidence" in unwrapped(out)
        _, out, _ = run(
            capsys, *SINGLE, few, "--target", "diagnosis", "--radius", "bootstrap", "--confidence", "0.995"
        )
        assert "with 99.5% confidence" in unwrapped(out)
        _, out, _ = run(
            capsys,
            *SINGLE,
            few,
            "--target",
            "diagnosis",
            "--radius",
            "bootstrap",
            "--class-weight",
            "balanced",
        )
        assert "class-balanced error" in out

    def test_missing_values_and_imputing(self, tmp_path, capsys):
        X = values()
        X[3, 2] = np.nan
        rows = [["" if cell == "nan" else cell for cell in row] for row in sample_rows(X)]
        table, model = write_rows(tmp_path / "gaps.csv", rows), tmp_path / "m.skops"
        status, _, err = run(capsys, *SINGLE, table, "--target", "diagnosis")
        assert status == 2
        assert "--impute median" in err
        found = fit_json(capsys, table, "--target", "diagnosis", "--impute", "median", "--out", model)
        X[3, 2] = np.nanmedian(X[:, 2])
        assert found["worst_case_error"] == MinimaxRiskClassifier().fit(X, labels()).worst_case_error_
        assert run(capsys, "verify", model, table)[0] == 0
        status, out, err = run(capsys, "predict", model, table)
        assert status == 0
        assert "1 missing value replaced by the median" in err
        np.testing.assert_array_equal(scores(out)[2], load_model(model).classifier.predict_proba(X).round(4))

    def test_destinations_are_checked_first(self, tmp_path, capsys):
        """Before a long computation, and even before the file is read."""
        arguments = [*SINGLE, tmp_path / "none.csv", "--target", "y", "--out", tmp_path / "no" / "m.skops"]
        status, _, err = run(capsys, *arguments)
        assert status == 2
        assert "there is no folder" in err

    @pytest.mark.parametrize(
        ("option", "module"), [("--out", "skops"), ("--report", "jinja2"), ("--report", "vl_convert")]
    )
    def test_missing_extras_are_told_first(self, option, module, tmp_path, capsys, monkeypatch):
        """Before the work, and even before the file is read."""
        monkeypatch.setitem(sys.modules, module, None)
        status, _, err = run(capsys, *SINGLE, tmp_path / "none.csv", option, tmp_path / "result")
        assert status == 1
        assert f"the package {module!r}" in err
        assert 'pip install "minimaxrisk[app]"' in err

    def test_an_interrupted_write_leaves_the_old_model(self, table, tmp_path, capsys, monkeypatch):
        model = tmp_path / "m.skops"
        arguments = [*SINGLE, table, "--target", "diagnosis", "--out", model]
        assert run(capsys, *arguments)[0] == 0
        before = model.read_bytes()

        def stop(self, content):
            self.write_text("half")
            raise KeyboardInterrupt

        monkeypatch.setattr(Path, "write_bytes", stop)
        assert run(capsys, *arguments)[0] == 130
        assert model.read_bytes() == before
        assert sorted(tmp_path.iterdir()) == [model, table]

    @pytest.mark.parametrize(
        "options",
        [["--out", "study.csv"], ["--report", "link.csv"], ["--out", "same", "--report", "same"]],
    )
    def test_results_do_not_overwrite_data_or_each_other(self, options, table, capsys, monkeypatch):
        monkeypatch.chdir(table.parent)
        Path("link.csv").symlink_to(table)
        before = table.read_bytes()
        status, _, err = run(capsys, *SINGLE, table, "--target", "diagnosis", *options)
        assert status == 2
        assert "would overwrite" in err
        assert table.read_bytes() == before


@pytest.mark.parametrize("command", ["predict", "verify", "report"])
def test_model_and_data_in_the_wrong_order(command, table, tmp_path, capsys):
    assert run(capsys, *SINGLE, table, "--target", "diagnosis", "--out", tmp_path / "m.skops")[0] == 0
    status, _, said = run(capsys, command, table, tmp_path / "m.skops")
    assert status == 2
    assert "study.csv is not a model file" in said
    assert "The model file, such as model.skops, comes first, then the data." in said


def test_duplicates_are_reported_unless_they_are_kept_together(tmp_path, capsys):
    rng = np.random.default_rng(0)

    def codes_of(values, *options):
        rows = [[f"P{i}", f"u{i % 12}", "xy"[i % 2], *row] for i, row in enumerate(values.tolist())]
        names = [f"g{j}" for j in range(values.shape[1])]
        table = write_rows(tmp_path / "t.csv", [["id", "unit no", "class", *names], *rows])
        status, out, _ = run(
            capsys, *SINGLE, table, "--target", "class", "--json", "--no-guarantee", *options
        )
        assert status == 0
        return [finding["code"] for finding in json.loads(out)["findings"]]

    once, alone = rng.normal(size=(12, 20)), ("--ignore", "unit no")
    twice = np.vstack([once, once])
    assert codes_of(twice, *alone) == ["duplicates"]
    assert codes_of(twice, "--groups", "unit no") == []
    assert codes_of(once, *alone) == []
    assert codes_of(twice[:, :1], *alone) == []  # of few columns equal rows are not a sign
    assert codes_of(twice.round(), *alone) == []
    wide = rng.normal(size=(12, 60))
    assert codes_of(np.vstack([wide, wide]), *alone) == ["duplicates"]  # and not near duplicates
    again = np.vstack([wide, wide + 0.1 * rng.normal(size=wide.shape)])
    assert codes_of(again, "--groups", "unit no") == []
    assert codes_of(again, *alone) == ["near-duplicates"]


def test_a_column_that_reveals_the_class_is_reported(tmp_path, capsys):
    rng = np.random.default_rng(0)

    def codes_of(column, labels="x" * 12 + "y" * 12):
        rows = [[label, cell, *rng.normal(size=20)] for label, cell in zip(labels, column, strict=True)]
        table = write_rows(tmp_path / "t.csv", [["class", "no", *(f"g{j}" for j in range(20))], *rows])
        status, out, _ = run(capsys, *SINGLE, table, "--target", "class", "--json", "--no-guarantee")
        assert status == 0
        found = json.loads(out)["findings"]
        return [each["code"] for each in found if each["code"] != "dominant-feature"]

    assert codes_of(range(101, 125)) == ["running-number"]
    assert codes_of([104.5, *range(102, 125)]) == []
    assert codes_of([2] * 12 + [1] * 12) == ["label-copy"]
    assert codes_of([0, 4, 1] * 8, "xyz" * 8) == ["label-copy"]
    assert codes_of([2] * 11 + [1] * 13) == ["near-label-copy"]
    assert codes_of([2] * 9 + [1] * 15) == []
    assert codes_of([0, 4, 4] * 8, "xyz" * 8) == []
    assert codes_of([2] * 9 + [1] * 9, "x" * 9 + "y" * 9) == []  # may be chance


def test_the_sheet_of_the_training_data_is_taken_again(files, tmp_path, capsys):
    pd = pytest.importorskip("pandas")
    path, model = tmp_path / "two.xlsx", tmp_path / "m.skops"
    table = pd.read_excel(files["xlsx"].path)
    with pd.ExcelWriter(path) as workbook:
        pd.DataFrame({"note": ["nothing here", "move on"]}).to_excel(workbook, sheet_name="Readme")
        table.to_excel(workbook, sheet_name="Data", index=False)
    fit_json(capsys, path, "--target", "diagnosis", "--sheet", "Data", "--out", model)
    assert run(capsys, "verify", model, path)[0] == 0
    # And no sheet is asked for where a format has none.
    assert run(capsys, "verify", model, files["csv"].path)[0] == 0


@pytest.mark.parametrize("name", ["tsv", "parquet", "xlsx", "h5ad", "h5ad layer"])
def test_verify_with_the_same_data_in_another_format(name, files, table, tmp_path, capsys):
    model = tmp_path / "m.skops"
    fit_json(capsys, table, "--target", "diagnosis", "--out", model)
    status, out, _ = run(capsys, "verify", model, files[name].path, *files[name].reading)
    assert status == 0, out


def test_the_layer_of_the_training_data_is_taken_again(files, tmp_path, capsys):
    file, model = files["h5ad layer"], tmp_path / "m.skops"
    fit_json(capsys, file.path, "--target", "diagnosis", *file.reading, "--out", model)
    status, _, err = run(capsys, "verify", model, file.path)
    assert status == 0
    assert "Read the layer 'log', as for the training data" in err
    assert run(capsys, "verify", model, file.path, "--layer", "X")[0] == 1


class TestPredict:
    @pytest.fixture
    def model(self, table, tmp_path, capsys):
        path = tmp_path / "m.skops"
        assert run(capsys, *SINGLE, table, "--target", "diagnosis", "--out", path)[0] == 0
        return path

    def test_columns_by_name(self, model, tmp_path, fitted, capsys):
        """Another order, one column more and no labels."""
        order = [0, *reversed(range(1, 10))]
        rows = [[*(row[j] for j in order), "x" if i else "unknown"] for i, row in enumerate(sample_rows())]
        status, out, err = run(capsys, "predict", model, write_rows(tmp_path / "new.csv", rows))
        assert status == 0, err
        header, samples, found = scores(out)
        assert header == [
            "sample",
            "prediction",
            "certainty",
            "possible",
            "probability_ill",
            "probability_well",
            "draw_ill",
            "draw_well",
            "on_training_scale",
        ]
        assert samples == SAMPLES
        np.testing.assert_array_equal(found, fitted.predict_proba(values()).round(4))
        assert "unknown" in err

    def test_missing_columns(self, model, tmp_path, capsys):
        rows = [[row[0], *row[3:-1]] for row in sample_rows()]
        status, out, err = run(capsys, "predict", model, write_rows(tmp_path / "new.csv", rows))
        assert status == 2
        assert not out
        assert "plain" in err
        assert "with, comma" in err

    def test_labels_are_compared(self, model, table, tmp_path, fitted, capsys):
        _, _, err = run(capsys, "predict", model, table)
        decision = PredictionSets(fitted, random_state=0).fit(values(), labels())
        wrong = int((decision.predict(values()) != labels()).sum())
        assert f"{wrong} of 24 predictions differ" in err
        assert "training-samples" in err
        bare = write_rows(tmp_path / "bare.csv", [row[:-1] for row in sample_rows()])
        assert "training-samples" in run(capsys, "predict", model, bare)[2]  # known without labels too
        new = sample_rows(values() + 0.25)
        other = write_rows(
            tmp_path / "new.csv", [*new[:6], [*new[6][:-1], "unheard of"], [*new[7][:-1], "Ill"]]
        )
        _, _, err = run(capsys, "predict", model, other)
        named = decision.predict(np.array([row[1:-1] for row in new[1:8]], dtype=float))
        wrong = 2 + int((named[:5] != labels()[:5]).sum())
        assert f"{wrong} of 7 predictions differ from it" in err
        said = unwrapped(err)
        assert (
            "2 samples have labels that the model does not know ('Ill', 'unheard of'; it knows 'ill'," in said
        )
        assert "'well'): counted as wrong. If they mean the same class, write 'Ill' like 'ill'." in said
        assert "training-samples" not in err
        strange = write_rows(tmp_path / "strange.csv", [new[0], [*new[1][:-1], "2"]])
        err = unwrapped(run(capsys, "predict", model, strange)[2])
        assert "but the model knows none of its labels ('2'; it knows 'ill', 'well'), so nothing was" in err

    def test_columns_that_the_model_uses_will_do(self, table, tmp_path, capsys):
        model = tmp_path / "few.skops"
        fit_json(capsys, table, "--target", "diagnosis", "--radius", "2", "--out", model)
        used = load_model(model).classifier.selected_features_
        assert len(used) < len(GENES)
        rows = [[row[0], *(row[1 + j] for j in used)] for row in sample_rows()]
        few = write_rows(tmp_path / "few.csv", rows)
        assert run(capsys, "predict", model, few)[0] == 2
        status, out, _ = run(capsys, "predict", model, few, "--only-used")
        assert status == 0
        X = values()
        unused = np.setdiff1d(np.arange(len(GENES)), used)
        X[:, unused] = 0.0
        np.testing.assert_array_equal(scores(out)[2], load_model(model).classifier.predict_proba(X).round(4))

    def test_used_columns_of_sparse_data_in_any_order(self, files, tmp_path, capsys):
        anndata = pytest.importorskip("anndata", reason="comes with the extra 'app'")
        model = tmp_path / "few.skops"
        fit_json(capsys, files["h5ad"].path, "--target", "diagnosis", "--radius", "2", "--out", model)
        used = load_model(model).classifier.selected_features_
        assert 1 < len(used) < len(GENES)
        anndata.read_h5ad(files["h5ad"].path)[:, used[::-1]].write_h5ad(tmp_path / "few.h5ad")
        status, out, _ = run(capsys, "predict", model, tmp_path / "few.h5ad", "--only-used")
        assert status == 0
        expected = load_model(model).classifier.predict_proba(sparse.csr_matrix(values()))
        np.testing.assert_array_equal(scores(out)[2], expected.round(4))

    def test_columns_without_names_go_by_their_places(self, files, tmp_path, capsys):
        model = tmp_path / "bare.skops"
        file = files["no header"]
        fit_json(capsys, file.path, *file.fit, *file.reading, "--out", model)
        status, _, err = run(capsys, "predict", model, file.path, *file.reading, "--only-used")
        assert status == 2
        assert "columns have names" in err
        # The first gene gone, and two more numbers where the label was.
        rows = [[row[0], *row[2:-1], "0.5", "0.7"] for row in sample_rows()[1:]]
        moved = write_rows(tmp_path / "moved.csv", rows)
        status, _, err = run(capsys, "predict", model, moved, *file.reading)
        assert status == 2
        assert "are matched by position" in err

    def test_missing_values_without_medians(self, model, tmp_path, capsys):
        rows = [[*row[:2], "" if i == 3 else row[2], *row[3:]] for i, row in enumerate(sample_rows())]
        status, _, err = run(capsys, "predict", model, write_rows(tmp_path / "gaps.csv", rows))
        assert status == 2
        assert "fitted without --impute" in err

    def test_results_do_not_overwrite_the_model(self, model, table, capsys):
        before = model.read_bytes()
        status, _, err = run(capsys, "predict", model, table, "--out", model)
        assert status == 2
        assert "would overwrite" in err
        assert model.read_bytes() == before

    def test_json(self, model, table, fitted, capsys):
        _, out, _ = run(capsys, "predict", model, table, "--json")
        first = json.loads(out)["predictions"][0]
        assert first["sample"] == SAMPLES[0]
        assert first["draws"] == dict(
            zip(["ill", "well"], fitted.predict_proba(values())[0].tolist(), strict=True)
        )
        assert sum(first["probabilities"].values()) == pytest.approx(1.0)
        number = {"sure": 1, "unsure": 2, "unlike all classes": 0}[first["certainty"]]
        assert len(first["possible"]) == number

    def test_possible_classes_are_those_of_prediction_sets(self, model, tmp_path, fitted, capsys):
        rows = [row[:-1] for row in sample_rows()]
        new = write_rows(tmp_path / "new.csv", rows)
        status, out, err = run(capsys, "predict", model, new, "--confidence", "0.8")
        assert status == 0, err
        found = list(csv.DictReader(out.splitlines()))
        sets = PredictionSets(fitted, confidence=0.8, random_state=0).fit(values(), labels())
        names = [" or ".join(sets.classes_[row]) or "none" for row in sets.predict_set(values())]
        assert [row["possible"] for row in found] == names
        assert [row["certainty"] for row in found] == sets.predict_words(values()).tolist()
        own = np.array([[row["probability_ill"], row["probability_well"]] for row in found], dtype=float)
        np.testing.assert_allclose(own, sets.predict_proba(values()), atol=6e-5)
        assert f"at 80%: {names.count('ill') + names.count('well')} sure" in err

    def test_used_columns_tell_what_is_possible(self, table, tmp_path, capsys):
        model = tmp_path / "m.skops"
        run(capsys, *SINGLE, table, "--target", "diagnosis", "--radius", 2.5, "--out", model)
        used = load_model(model).classifier.selected_features_
        rows = [[row[0], *(row[1 + j] for j in used)] for row in sample_rows()]
        _, out, _ = run(capsys, "predict", model, write_rows(tmp_path / "n.csv", rows), "--only-used")
        assert out == run(capsys, "predict", model, table)[1]

    def test_without_folds_all_is_about_the_classifiers_own_rule(self, table, fitted, tmp_path, capsys):
        path = tmp_path / "m.skops"
        arguments = [*SINGLE, table, "--target", "diagnosis", "--out", path, "--folds", 0]
        status, out, _ = run(capsys, *arguments, "--json")
        assert status == 0
        own = error_bound(fitted, values(), labels(), random_state=0)
        assert json.loads(out)["guarantee"]["value"] == own.value
        assert load_model(path).calibration is None
        _, out, _ = run(capsys, "predict", path, table)
        assert out.startswith("sample,prediction,draw_ill,draw_well,on_training_scale")
        rows = list(csv.DictReader(out.splitlines()))
        assert [row["prediction"] for row in rows] == fitted.predict(values()).tolist()

    def test_a_class_of_one_sample(self, tmp_path, capsys):
        """Of three classes the other two calibrate; of two nothing is left to compare."""
        rows, path = sample_rows(), tmp_path / "m.skops"
        rows[1][-1] = "rare"
        table = write_rows(tmp_path / "t.csv", rows)
        assert run(capsys, *SINGLE, table, "--target", "diagnosis", "--out", path, "--no-guarantee")[0] == 0
        assert load_model(path).calibration.sizes.tolist() == [11, 0, 12]
        rows[2:] = [[*row[:-1], "common"] for row in rows[2:]]
        table = write_rows(tmp_path / "t.csv", rows)
        assert run(capsys, *SINGLE, table, "--target", "diagnosis", "--out", path, "--no-guarantee")[0] == 0
        assert load_model(path).calibration is None


class TestScale:
    @pytest.fixture
    def wild(self, tmp_path):
        """With two measurements that are far off."""
        X = values()
        X[2, 0], X[17, 1] = 500.0, -300.0
        return X, write_rows(tmp_path / "wild.csv", sample_rows(X))

    def test_clip(self, wild, tmp_path, capsys):
        X, table = wild
        model = tmp_path / "m.skops"
        found = fit_json(capsys, table, "--target", "diagnosis", "--scale", "clip", "--out", model)
        pipeline = make_pipeline(ClippedScaler(), MinimaxRiskClassifier()).fit(X, labels())
        assert found["worst_case_error"] == pipeline[-1].worst_case_error_
        assert found["scale"] == "clip"
        assert found["certificate"]["valid"]
        _, out, _ = run(capsys, "predict", model, table)
        assert np.array_equal(scores(out)[2], pipeline.predict_proba(X).round(4))
        status, out, _ = run(capsys, "verify", model, table)
        assert status == 0
        assert "It is about the values in robust standard deviations from the median" in out
        status, out, _ = run(capsys, "predict", model, table, "--only-used")
        assert np.array_equal(scores(out)[2], pipeline.predict_proba(X).round(4))

    def test_words(self, wild, capsys):
        _, out, _ = run(capsys, *SINGLE, wild[1], "--target", "diagnosis", "--scale", "clip")
        words = "values are in robust standard deviations from the median of the column, clipped at ±2"
        assert words in " ".join(out.split())
        assert "R* and the coefficients are about such values" in out
        _, out, _ = run(capsys, *SINGLE, wild[1], "--target", "diagnosis")
        assert "robust" not in out

    @pytest.mark.parametrize(("scale", "standardize"), [("standard", True), ("none", False)])
    def test_others(self, wild, scale, standardize, capsys):
        X, table = wild
        found = fit_json(capsys, table, "--target", "diagnosis", "--scale", scale)
        expected = MinimaxRiskClassifier(standardize=standardize).fit(X, labels())
        assert found["worst_case_error"] == expected.worst_case_error_
        assert found["scale"] == scale

    def test_a_value_beyond_the_limit_is_still_one_of_the_training_data(self, wild, tmp_path, capsys):
        """What was clipped makes no difference to the classifier, and yet these are other data."""
        X, table = wild
        model = tmp_path / "m.skops"
        fit_json(capsys, table, "--target", "diagnosis", "--scale", "clip", "--out", model)
        X[2, 0] = 501.0
        other = write_rows(tmp_path / "other.csv", sample_rows(X))
        status, out, _ = run(capsys, "verify", model, other, "--json")
        assert status == 1
        assert not json.loads(out)["training_data"]
        assert json.loads(out)["problems"] == []

    def test_a_scaler_that_was_changed_is_found(self, wild, tmp_path, capsys):
        _, table = wild
        model = tmp_path / "m.skops"
        fit_json(capsys, table, "--target", "diagnosis", "--scale", "clip", "--out", model)
        saved = load_model(model)
        unused = np.setdiff1d(np.arange(len(NAMES)), saved.classifier.selected_features_)[0]
        saved.scaler.scale_[unused] *= 2.0  # neither coefficients nor the column's own scale show it
        save_model(saved, model)
        status, out, _ = run(capsys, "verify", model, table, "--json")
        assert status == 1
        assert (
            "medians and scales of the columns are not those of the data" in json.loads(out)["problems"][-1]
        )

    def test_sparse_data_stay_sparse(self, files, tmp_path, capsys):
        file, model = files["sparse npz"], tmp_path / "m.skops"
        fit_json(capsys, file.path, *file.fit, *file.reading, "--scale", "clip", "--out", model)
        assert not load_model(model).scaler.centre_.any()
        assert run(capsys, "verify", model, file.path, *file.reading)[0] == 0


class TestVerify:
    @pytest.fixture
    def model(self, table, tmp_path, capsys):
        run(capsys, *SINGLE, table, "--target", "diagnosis", "--out", tmp_path / "m.skops")
        return tmp_path / "m.skops"

    def test_other_data_are_neither_verified_nor_reported_on(self, model, table, tmp_path, capsys):
        status, out, _ = run(capsys, "verify", model, table)
        assert status == 0
        assert "the certificate holds" in out
        X = values()
        X[0, 0] += 1.0
        other, page = write_rows(tmp_path / "other.csv", sample_rows(X)), tmp_path / "r.html"
        status, out, _ = run(capsys, "verify", model, other)
        assert status == 1
        assert "does NOT hold" in out
        assert "does not hold the training data of the model" in out
        status, _, err = run(capsys, "report", model, other, "--out", page)
        assert status == 1
        assert "A report is about a model and its training data" in err
        assert not page.exists()

    def test_bounds_that_cannot_be_computed_are_null(self, model, tmp_path, capsys):
        header, *lines = sample_rows()
        other = write_rows(tmp_path / "other.csv", [header, *([*row[:-1], "x" + row[-1]] for row in lines)])
        status, out, _ = run(capsys, "verify", model, other, "--json")
        assert status == 1
        assert json.loads(out, parse_constant=pytest.fail)["upper"] is None

    def test_labels_are_needed(self, model, tmp_path, capsys):
        bare = write_rows(tmp_path / "bare.csv", [row[:-1] for row in sample_rows()])
        status, _, err = run(capsys, "verify", model, bare)
        assert status == 2
        assert "diagnosis" in err


class TestReport:
    def test_fit_and_report_write_the_same_page(self, table, tmp_path, capsys):
        model, page = tmp_path / "m.skops", tmp_path / "fit.html"
        effort = ["--permutations", "19", "--folds", "3", "--radii", "3"]
        arguments = [*SINGLE, table, "--target", "diagnosis", "--out", model, "--report", page, *effort]
        status, out, _ = run(capsys, *arguments)
        assert status == 0
        assert str(page) in out
        status, out, _ = run(capsys, "report", model, table, *effort)
        assert status == 0
        again = tmp_path / "m.html"
        assert out == f"{again}\n"
        text, other = (path.read_text(encoding="utf-8") for path in (page, again))
        assert "<script>alert" not in text
        assert "Took the first column, &#39;patient&#39;, as the names of the samples" in text
        # But for the commands that made them, and the notes of two ways to read, the pages are the same.
        lines = set(text.splitlines()) ^ set(other.splitlines())
        assert len(lines) <= 4
        assert any("minimaxrisk fit" in line for line in lines)


class TestCompare:
    @pytest.fixture(autouse=True)
    def quick_forest(self, monkeypatch):
        def few_trees(*arguments, **options):
            estimators = usual_rivals(*arguments, **options)
            estimators["random forest"].set_params(n_estimators=5)
            return estimators

        monkeypatch.setattr(gathering, "usual_rivals", few_trees)

    FEW = ("--permutations", 0, "--folds", 3, "--radii", 0, "--no-guarantee")

    def test_terminal_json_and_page_agree(self, table, capsys, tmp_path):
        page, model = tmp_path / "report.html", tmp_path / "m.skops"
        arguments = [table, "--target", "diagnosis", *self.FEW, "--scale", "clip", "--compare", "--seed", 2]
        found = fit_json(capsys, *arguments, "--report", page)["comparison"]
        assert found["n_folds"] == 3
        assert found["left_out"] == {}
        ours = make_pipeline(ClippedScaler(), MinimaxRiskClassifier())
        folds = folds_of(labels(), 3, 2)
        by_hand = compare({"this model": ours, **gathering.usual_rivals(2)}, values(), labels(), cv=folds)
        assert [one["name"] for one in found["classifiers"]] == list(by_hand.names)
        own = decided(ours, values(), labels(), 3, 2)[0] != labels()
        own = np.mean([own[test].mean() for _, test in folds.split()])
        errors = [one["error"] for one in found["classifiers"]]
        assert errors == pytest.approx([own, *by_hand.mean_errors[1:]])
        differences = [one["difference"] for one in found["classifiers"]]
        assert differences[1:] == pytest.approx([error - own for error in errors[1:]])
        assert "difference" in found["sentence"]
        assert found["sentence"] in html.unescape(page.read_text(encoding="utf-8"))
        assert found["how"] in html.unescape(page.read_text(encoding="utf-8"))
        _, out, _ = run(capsys, *SINGLE, *arguments, "--report", page, "--out", model)
        assert found["sentence"] in unwrapped(out)
        for one in found["classifiers"][1:]:
            difference = f"{one['difference']:+.3f} ± {one['difference_error']:.3f}".replace("-", "−")
            (line,) = [line for line in out.splitlines() if line.strip().startswith(one["name"])]
            assert line.split(one["name"])[1].split()[0] == f"{one['error']:.3f}"
            assert difference in line
            assert difference in page.read_text(encoding="utf-8")
        again = tmp_path / "again.html"
        status, *_ = run(capsys, "report", model, table, *self.FEW, "--compare", "--seed", 2, "--out", again)
        assert status == 0
        assert found["sentence"] in html.unescape(again.read_text(encoding="utf-8"))

    def test_gaps_are_filled_before_the_folds(self, tmp_path, capsys):
        X = values()
        X[3, 2] = np.nan
        rows = [["" if cell == "nan" else cell for cell in row] for row in sample_rows(X)]
        table, page = write_rows(tmp_path / "gaps.csv", rows), tmp_path / "report.html"
        arguments = ["--target", "diagnosis", "--impute", "median", *self.FEW, "--compare", "--report", page]
        how = fit_json(capsys, table, *arguments)["comparison"]["how"]
        words = "Missing values were filled before, by medians of all samples and not fold by fold."
        assert words in how
        assert words in page.read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("options", "message"),
        [([], "is part of a report"), (["--report", "r.html", "--folds", 0], "needs folds to compare on")],
    )
    def test_what_it_needs(self, table, capsys, monkeypatch, options, message):
        monkeypatch.chdir(table.parent)
        status, _, err = run(capsys, *SINGLE, table, "--target", "diagnosis", "--compare", *options)
        assert status == 2
        assert "--compare" in err
        assert message in err
        assert list(table.parent.iterdir()) == [table]


@pytest.mark.parametrize(
    ("options", "unused"),
    [
        (
            ["--folds", 3, "--radii", 5, "--repeats", 2, "--links", "ncbi"],
            "--folds, --links, --radii, --repeats",
        ),
        (["--folds", 10], "--folds"),
        (["--folds", 3, "--batch", "plate"], None),
        (["--annotation", "genes.csv"], "--annotation"),
        (["--annotation", "genes.csv", "--genes", "selected.csv"], None),
        ([], None),
    ],
)
def test_options_of_a_report_that_is_not_asked_for(tmp_path, capsys, monkeypatch, options, unused):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{'ill' if i % 2 else 'well'},{'ab'[i // 2 % 2]},{i % 2 + i % 3 / 7},{i % 5}.5" for i in range(24)
    ]
    Path("table.csv").write_text("\n".join(["diagnosis,plate,g1,g2", *rows]))
    Path("genes.csv").write_text("name,symbol\ng1,TP53\ng2,MYC\n")
    ignored = [] if "--batch" in options else ["--ignore", "plate"]
    arguments = ["table.csv", "--target", "diagnosis", "--no-guarantee", *ignored, *options]
    status, _, err = run(capsys, *SINGLE, *arguments)
    assert status == 0, err
    told = re.findall(r"Without --report, these options have no effect: ([^.]*)\.", unwrapped(err))
    assert told == ([] if unused is None else [unused])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestTerminal:
    def test_progress_on_a_terminal(self, table, capsys, monkeypatch):
        """The certified interval is shown while it closes; elsewhere a plain line after some silence."""
        arguments = (*SINGLE, table, "--target", "diagnosis", "--permutations", 19)
        monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", math.inf)
        status, _, err = run(capsys, *arguments)
        assert status == 0
        assert "<= R* <=" not in err
        monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
        status, _, err = run(capsys, *arguments)
        assert status == 0
        assert re.search(r"^fitting  iteration 1:  \S+ <= R\* <= \S+$", err, re.MULTILINE)
        assert re.search(r"^permutation test  \d+ of \d+, \S.* left$", err, re.MULTILINE)
        status, _, err = run(capsys, *arguments, "--quiet")
        assert (status, err) == (0, "")
        terminal = Terminal()
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", terminal)
        status, out, _ = run(capsys, *arguments)
        assert status == 0
        assert "<= R* <=" in terminal.getvalue()
        assert "iteration" not in out

    def test_interrupt_during_the_imports(self):
        """Most of the first two seconds; test_cli_malformed.py interrupts a command at work."""
        code = (
            "import sys\n"
            "class Interrupt:\n"
            "    module = None\n"
            "    def find_spec(self, name, path, target=None):\n"
            "        if name == self.module: raise KeyboardInterrupt\n"
            "interrupt = Interrupt()\n"
            "sys.meta_path.insert(0, interrupt)\n"
            "from minimaxrisk.app.cli import main\n"
            "for interrupt.module in ('typer', 'sklearn', 'highspy'): print(interrupt.module, main())\n"
        )
        command = [sys.executable, "-c", code, "fit", "X.npz"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert (done.stdout.split(), done.stderr) == (
            ["typer", "130", "sklearn", "130", "highspy", "130"],
            "",
        )


def _commands():
    group = typer.main.get_command(command_line.app)
    for name in ("fit", "predict", "verify", "report", "demo"):
        yield name, group.commands[name]


@pytest.mark.parametrize(("name", "command"), list(_commands()))
def test_every_option_is_documented_with_an_example(name, command):
    assert f"minimaxrisk {name}" in command.help
    for option in command.params:
        if option.param_type_name == "argument" or option.is_flag:
            assert option.help or option.name == "help"
        else:
            assert option.opts[0] in option.help, option.name


@pytest.mark.parametrize("command", ["", "fit", "predict", "verify", "report", "demo"])
def test_flags_of_the_help_take_no_value(command, capsys):
    status, out, _ = run(capsys, *command.split(), "--help")
    assert status == 0
    assert "--help" in out
    assert "bool" not in out.lower()


def test_help_does_not_wait_for_numerical_packages():
    """One process for all of them: what one brings is still there after the next."""
    script = (
        "import sys; from minimaxrisk.app.cli import main\n"
        "for command in ('', 'fit', 'predict', 'verify', 'report', 'demo'):\n"
        "    status = main([*command.split(), '--help'])\n"
        "    found = {'numpy', 'scipy', 'sklearn', 'highspy'} & set(sys.modules)\n"
        "    if status or found: sys.exit(f'{command}: status {status}, {found}')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage") == 6
