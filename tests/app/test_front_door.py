"""No silent wrong answer at the command line: plausible files that are not what they seem."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskSelector,
    PredictionSets,
    error_bound,
    minimax_risk_path,
    permutation_test,
)
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.app.cli import main
from minimaxrisk.app.storage import load_model
from terminal import unwrapped
from tests.study_files import write_rows
from tests.terminal import run

pytest.importorskip("skops", reason="comes with the extra 'app'")

N_TRAIN, N_NEW, N_GENES = 40, 20, 60
QUICK = ("--permutations", 0, "--folds", 0, "--radii", 0, "--no-guarantee")
GENES = [f"gene_{j}" for j in range(N_GENES)]


def expression(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Raw intensities, log-normal, as a scanner gives them; ten genes are three times as high in the ill."""
    rng = np.random.default_rng(seed)
    y = np.resize(["ill", "well"], n)
    level = np.random.default_rng(0).uniform(5.0, 9.0, N_GENES)
    logarithms = level + 0.5 * rng.standard_normal((n, N_GENES))
    logarithms[y == "ill", :10] += 1.1
    return np.exp(logarithms), y


def write_study(path: Path, X: np.ndarray, y: np.ndarray | None = None) -> Path:
    rows = [["sample", *GENES, *([] if y is None else ["diagnosis"])]]
    rows += [[f"s{i}", *map(repr, x), *([] if y is None else [y[i]])] for i, x in enumerate(X.tolist())]
    return write_rows(path, rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The raw study, a model of it with plain radius, and one with radii that cover."""
    folder = tmp_path_factory.mktemp("front_door")
    study = write_study(folder / "study.csv", *expression(N_TRAIN, seed=1))
    for name, radius in (("plain", "1"), ("bootstrap", "bootstrap")):
        command = [
            "fit",
            study,
            "--target",
            "diagnosis",
            "--radius",
            radius,
            "--out",
            folder / f"{name}.skops",
        ]
        assert main([*map(str, command), "--quiet"]) == 0
    return folder


OTHER_SCALES = {
    "logarithms": (np.log2, "base-2 logarithms of such values"),
    "units": (lambda X: 100.0 * X, "values about 100 times as large"),
    "standardised": (lambda X: (X - X.mean(axis=0)) / X.std(axis=0), "mean 0 and standard deviation 1"),
}


class TestNewSamplesOnAnotherScale:
    @pytest.mark.parametrize("name", OTHER_SCALES)
    def test_are_called_so_and_get_no_bound(self, name, folder, tmp_path, capsys):
        change, explanation = OTHER_SCALES[name]
        new = write_study(tmp_path / "new.csv", change(expression(N_NEW, seed=2)[0]))
        status, out, err = run(capsys, "predict", folder / "bootstrap.skops", new, "--quiet")
        assert status == 0
        assert "WARNING" in err  # whatever --quiet says
        assert "another scale" in err
        assert explanation in err
        rows = list(csv.DictReader(out.splitlines()))
        assert {row["on_training_scale"] for row in rows} == {"no"}
        found = json.loads(run(capsys, "predict", folder / "bootstrap.skops", new, "--json")[1])
        assert not any(row["on_training_scale"] for row in found["predictions"])

    @pytest.mark.parametrize("name", ["logarithms", "units"])
    def test_a_single_sample_is_enough(self, name, folder, tmp_path, capsys):
        new = write_study(tmp_path / "new.csv", OTHER_SCALES[name][0](expression(N_NEW, seed=2)[0])[:1])
        _, out, err = run(capsys, "predict", folder / "plain.skops", new)
        assert "(scale-mismatch)" in err
        assert out.splitlines()[1].endswith(",no")

    def test_strict_refuses(self, folder, tmp_path, capsys):
        new = write_study(tmp_path / "new.csv", np.log2(expression(N_NEW, seed=2)[0]))
        predictions = tmp_path / "predictions.csv"
        command = ("predict", folder / "plain.skops", new, "--strict", "--out", predictions)
        status, _, err = run(capsys, *command)
        assert status == 2
        assert "No predictions were written (--strict)" in err
        assert not predictions.exists()

    def test_honest_samples_are_not(self, folder, tmp_path, capsys):
        new = write_study(tmp_path / "new.csv", expression(N_NEW, seed=2)[0])
        status, out, err = run(capsys, "predict", folder / "bootstrap.skops", new, "--strict")
        assert status == 0
        assert "WARNING" not in err
        assert all(line.endswith(",yes") for line in out.splitlines()[1:])

    def test_one_of_many_is_named(self, folder, tmp_path, capsys):
        X = expression(N_NEW, seed=2)[0]
        X[3] *= 100.0
        _, out, err = run(capsys, "predict", folder / "bootstrap.skops", write_study(tmp_path / "n.csv", X))
        assert "(scale-mismatch)" in err
        assert "These are 's3'." in err
        assert [
            row["sample"] for row in csv.DictReader(out.splitlines()) if row["on_training_scale"] == "no"
        ] == ["s3"]

    def test_behind_a_scaler_that_clips(self, folder, tmp_path, capsys):
        """Clipped values look alike on every scale."""
        model = tmp_path / "clip.skops"
        study = folder / "study.csv"
        run(capsys, "fit", study, "--target", "diagnosis", "--scale", "clip", "--out", model)
        new = write_study(tmp_path / "new.csv", 100.0 * expression(N_NEW, seed=2)[0])
        assert "another scale" in run(capsys, "predict", model, new)[2]


def test_one_new_patient_gets_a_prediction(folder, tmp_path, capsys):
    new = write_study(tmp_path / "new.csv", expression(1, seed=2)[0])
    status, out, _ = run(capsys, "predict", folder / "bootstrap.skops", new)
    assert status == 0
    assert len(out.splitlines()) == 2


@pytest.fixture(scope="module")
def measured():
    """Three measurements of each of 16 patients, nearly the same."""
    of_patient, label = expression(16, seed=4)
    noise = np.exp(0.05 * np.random.default_rng(3).standard_normal((48, N_GENES)))
    patient = np.repeat([f"P{i}" for i in range(16)], 3)
    return np.repeat(of_patient, 3, axis=0) * noise, np.repeat(label, 3), patient


class TestSamplesThatBelongTogether:
    @staticmethod
    def write(path, X, y, **columns):
        rows = [["sample", *GENES, *columns, "diagnosis"]]
        rows += [
            [f"s{i}", *map(repr, x), *(column[i] for column in columns.values()), y[i]]
            for i, x in enumerate(X.tolist())
        ]
        return write_rows(path, rows)

    def test_groups_reach_every_part(self, measured, tmp_path, capsys):
        X, y, patient = measured
        table, model = self.write(tmp_path / "study.csv", X, y, patient=patient), tmp_path / "m.skops"
        options = (
            "--groups",
            "patient",
            "--permutations",
            19,
            "--folds",
            3,
            "--radii",
            2,
            "--model",
            "single",
        )
        command = ("fit", table, "--target", "diagnosis", *options, "--out", model)
        status, out, err = run(
            capsys, *command, "--model", "single", "--json", "--report", tmp_path / "r.html"
        )
        assert status == 0, err
        found = json.loads(out)
        own = MinimaxRiskClassifier(random_state=0).fit(X, y, groups=patient)
        assert found["n_features"] == N_GENES  # patients are no feature
        assert found["worst_case_error"] == own.worst_case_error_
        null = permutation_test(own, X, y, 19, groups=patient, random_state=0)
        assert found["permutation_test"]["pvalue"] == null.pvalue
        assert found["permutation_test"]["noise_floor"]["0.5"] == null.noise_floor[0.5]
        left_out = cross_validated_error(own, X, y, n_folds=3, groups=patient, calibrated=True)
        assert found["cross_validation"]["predict_error"] == left_out.errors[1]
        sets = PredictionSets(own, cv=3, random_state=0)
        assert found["guarantee"]["value"] == error_bound(sets, X, y, groups=patient, random_state=0).value
        assert "16 groups of 48 samples by 'patient' stay together" in err
        assert run(capsys, "verify", model, table)[0] == 0  # the file remembers the column

    def test_patients_in_the_labels_file(self, measured, tmp_path, capsys):
        X, y, patient = measured
        table = write_study(tmp_path / "genes.csv", X)
        rows = [["sample", "who", "diagnosis"], *([f"s{i}", patient[i], y[i]] for i in range(len(y)))]
        labels = write_rows(tmp_path / "labels.csv", rows[:1] + rows[:0:-1])
        status, _, err = run(capsys, "fit", table, "--labels", labels, "--groups", "who", "--no-guarantee")
        assert status == 0, err
        assert "16 groups" in err

    def test_a_patient_of_several_classes_is_named(self, measured, tmp_path, capsys):
        X, y, patient = measured
        table = self.write(
            tmp_path / "study.csv", X, np.resize(["ill", "well", "healed"], len(y)), patient=patient
        )
        status, _, err = run(capsys, "fit", table, "--target", "diagnosis", "--groups", "patient")
        assert status == 2
        assert "'P0'" in err
        assert "--batch patient" in err

    @pytest.mark.parametrize("is_visible", [True, False])
    def test_batches_are_described_and_tested(self, is_visible, tmp_path, capsys):
        X, y = expression(60, seed=5)
        plate = np.resize(["A", "A", "B", "B"], 60)
        if is_visible:
            X[plate == "B"] *= 3.0
        table = self.write(tmp_path / "study.csv", X, y, plate=plate)
        command = ("fit", table, "--target", "diagnosis", "--batch", "plate", "--permutations", 19, "--json")
        _, out, err = run(capsys, *command)
        assert "2 batches (A: ill 15, well 15; B: ill 15, well 15)" in err
        assert ("(predictable-batch)" in err) == is_visible
        null = permutation_test(MinimaxRiskClassifier(random_state=0), X, y, 19, strata=plate, random_state=0)
        assert json.loads(out)["permutation_test"]["noise_floor"]["0.5"] == null.noise_floor[0.5]

    def test_a_batch_of_one_patient(self, measured, tmp_path, capsys):
        X, y, patient = measured
        plate = np.where(np.asarray(patient) == patient[0], "A", "B")
        table = self.write(tmp_path / "study.csv", X, y, patient=patient, plate=plate)
        command = ("fit", table, "--target", "diagnosis", "--groups", "patient", "--batch", "plate")
        status, _, err = run(capsys, *command, "--no-guarantee")
        assert status == 0, err
        assert "was not tested: a batch has a single group of samples, which cannot be used both to" in err

    def test_batches_of_one_class_each(self, tmp_path, capsys):
        X, y = expression(24, seed=5)
        table = self.write(tmp_path / "study.csv", X, y, day=np.where(y == "ill", "Monday", "Tuesday"))
        command = ("fit", table, "--target", "diagnosis", "--batch", "day", "--permutations", 9)
        status, _, err = run(capsys, *command, "--no-guarantee")
        assert status == 0
        assert "(batch-is-class)" in err
        assert "permutes labels over all samples" in err


class TestEverydayTables:
    """Tables as people have them, which ended in a dead end."""

    def test_genes_of_the_same_name_are_merged_in_new_samples_too(self, tmp_path, capsys):
        X, y = expression(24, seed=6)
        header = ["sample", "TP53", "TP53", *GENES[2:], "diagnosis"]
        rows = [header, *([f"s{i}", *(f"{v:.3f}" for v in x), y[i]] for i, x in enumerate(X))]
        table, model = write_rows(tmp_path / "t.csv", rows), tmp_path / "m.skops"
        command = ("fit", table, "--target", "diagnosis", "--no-guarantee", "--out", model)
        status, _, err = run(capsys, *command, "--duplicates", "mean")
        assert status == 0
        assert "2 columns share 1 name ('TP53')" in err
        assert load_model(model).feature_names[:2].tolist() == ["TP53", GENES[2]]
        assert run(capsys, "predict", model, table)[0] == 0
        assert run(capsys, "verify", model, table)[0] == 0

    @pytest.mark.parametrize("version", ["#1.2", "#1.3"])
    def test_descriptions_of_genes_go_to_their_table(self, version, tmp_path, capsys):
        """Those of a GCT file by themselves; those that repeat the name say nothing and are left out."""
        X, y = expression(24, seed=6)
        about = ["Description"] if version == "#1.2" else ["id", "Description"]
        sizes = [N_GENES, 24] if version == "#1.2" else [N_GENES, 24, 2, 1]
        rows = [[version], sizes, ["Name", *about, *(f"s{i}" for i in range(24))]]
        rows += [] if version == "#1.2" else [["diagnosis", "na", "na", *y]]
        for j, gene in enumerate(GENES):
            rows.append([gene, *([gene] if len(about) > 1 else []), f"about {gene}", *X[:, j]])
        pairs = [["s", "diagnosis"], *([f"s{i}", label] for i, label in enumerate(y))]
        labels = write_rows(tmp_path / "labels.csv", pairs)
        told = ["--labels", labels] if version == "#1.2" else ["--target", "diagnosis"]
        table = tmp_path / "genes.csv"
        path = write_rows(tmp_path / "t.gct", rows, "\t")
        status, _, said = run(capsys, "fit", path, *told, "--no-guarantee", "--genes", table)
        assert status == 0, said
        assert f"Columns that describe the genes are not samples: {', '.join(map(repr, about))}." in said
        with table.open() as file:
            genes = list(csv.DictReader(file))
        assert genes
        assert all(gene["Description"] == f"about {gene['feature']}" for gene in genes)
        assert "id" not in genes[0]


class TestASeriesMatrixAsItWasDownloaded:
    """From the file alone to the page, by what the messages say."""

    @pytest.fixture
    def series(self, tmp_path):
        X, y = expression(24, seed=6)
        samples = [f"GSM{310000 + i}" for i in range(24)]
        lines = [
            ["!Series_title", "A study"],
            ["!Sample_title", *(f"{label}, patient {i}" for i, label in enumerate(y))],
            ["!Sample_geo_accession", *samples],
            ["!Sample_characteristics_ch1", *(f"disease state: {label}" for label in y)],
            ["!Sample_characteristics_ch1", *(f"age: {40 + i}" for i in range(24))],
            ["!series_matrix_table_begin"],
            ["ID_REF", *samples],
            *([gene, *values] for gene, values in zip(GENES, X.T.tolist(), strict=True)),
            ["!series_matrix_table_end"],
        ]
        quoted = (
            "\t".join(
                str(cell) if isinstance(cell, float) or cell[0] == "!" else f'"{cell}"' for cell in line
            )
            for line in lines
        )
        text = "\n".join(quoted)
        path = tmp_path / "GSE1_series_matrix.txt.gz"
        path.write_bytes(gzip.compress(text.encode()))
        return path

    def test_the_next_command_is_told(self, series, capsys):
        status, _, said = run(capsys, "fit", series)
        assert status == 2
        assert """It could be 'disease state' (ill, well); for example --target "disease state".""" in said

    def test_a_second_column_after_one_option(self, series, capsys):
        status, _, said = run(capsys, "fit", series, "--target", "x", "--ignore", "age", "sex")
        assert status == 2
        words = unwrapped(said)
        assert "(sex). A name with spaces" in words
        assert "For several columns repeat the option: --ignore age --ignore sex." in words

    def test_quotes_that_were_left_out(self, series, capsys):
        status, _, said = run(capsys, "fit", series, "--target", "disease", "state")
        assert status == 2
        words = unwrapped(said)
        assert re.search(r"extra argument(\(s\))? \(state\)\. A name with spaces in it needs quotes:", words)

    def test_the_page_is_there(self, series, tmp_path, capsys):
        page = tmp_path / "page.html"
        status, out, _ = run(capsys, "fit", series, "--target", "disease state", "--report", page, *QUICK)
        assert status == 0
        assert f"{page} (open it in a browser)" in out
        assert "disease state" in page.read_text(encoding="utf-8")


def test_long_names_of_classes_leave_a_feature_a_line(tmp_path, capsys):
    X, _ = expression(24, seed=6)
    names = ["gastroesophageal adenocarcinoma", "lung squamous cell carcinoma", "lung adenocarcinoma in situ"]
    rows = [["sample", *GENES, "tissue"], *([f"s{i}", *x, names[i % 3]] for i, x in enumerate(X.tolist()))]
    command = ("fit", write_rows(tmp_path / "t.csv", rows), "--target", "tissue", "--no-guarantee")
    table = run(capsys, *command)[1].split("higher values favour")[1].splitlines()[1:-1]
    assert max(map(len, table)) < 140
    assert any("gastroes…" in line for line in table)


class TestSmallThings:
    @pytest.mark.parametrize("command", ["verify", "report"])
    def test_a_target_that_was_renamed(self, command, folder, tmp_path, capsys):
        text = (folder / "study.csv").read_text(encoding="utf-8").replace("diagnosis", "disease")
        (tmp_path / "renamed.csv").write_text(text, encoding="utf-8")
        more = ("--out", tmp_path / "r.html", *QUICK) if command == "report" else ()
        arguments = (command, folder / "plain.skops", tmp_path / "renamed.csv", *more)
        assert run(capsys, *arguments)[0] == 2
        assert run(capsys, *arguments, "--target", "disease")[0] == 0

    def test_a_path_with_default_radii(self):
        X, y = expression(N_TRAIN, seed=1)
        path = minimax_risk_path(X, y)
        assert len(path.radii) == 20
        assert path.worst_case_error[-1] == pytest.approx(0.5)
        assert path.n_features[-1] == 0 < path.n_features[0]

    def test_a_stability_selection_that_keeps_nothing_says_so(self):
        X, y = np.random.default_rng(0).standard_normal((24, 30)), np.arange(24) % 2
        selector = MinimaxRiskSelector(stability=True, threshold=1.0, n_subsamples=4, random_state=0)
        with pytest.warns(UserWarning, match="no column was selected from 100% of the halves") as caught:
            selector.fit(X, y)
        assert caught[0].filename == __file__

    def test_parameters_by_position(self):
        with pytest.raises(TypeError, match=r"MinimaxRiskClassifier\(2, solver='auto', coding='signed'\)\.$"):
            MinimaxRiskClassifier(2, "auto", coding="signed")
        with pytest.raises(
            TypeError, match=r"after 'estimator' .*MinimaxRiskSelector\(None, max_features=5\)"
        ):
            MinimaxRiskSelector(None, 5)


class TestFilesThatAreWritten:
    @pytest.mark.parametrize(
        ("option", "name", "said"),
        [
            ("--out", "m.pkl", "a model file ends in .skops and is not a pickle"),
            ("--report", "r.docx", "a report is a page (.html)"),
            ("--report", "r.pdf", "print it from a browser to get a PDF"),
            ("--genes", "g.xlsx", "must end with .csv or .tsv"),
        ],
    )
    def test_endings_of_other_formats(self, option, name, said, folder, tmp_path, capsys):
        command = ("fit", folder / "study.csv", "--target", "diagnosis", option, tmp_path / name)
        status, _, err = run(capsys, *command)
        assert status == 2
        assert said in unwrapped(err)
        assert not any(tmp_path.iterdir())

    def test_a_report_does_not_overwrite_unasked(self, folder, tmp_path, capsys):
        model = shutil.copy(folder / "plain.skops", tmp_path / "m.skops")
        (tmp_path / "m.html").write_text("mine")
        status, _, err = run(capsys, "report", model, folder / "study.csv", *QUICK)
        assert status == 2
        assert "exists already" in err
        assert (tmp_path / "m.html").read_text() == "mine"

    def test_a_full_disk_is_named(self, folder, tmp_path, capsys, monkeypatch):
        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", write)
        model = tmp_path / "m.skops"
        command = ("fit", folder / "study.csv", "--target", "diagnosis", "--no-guarantee", "--out", model)
        status, _, err = run(capsys, *command)
        assert status == 1
        assert f"{model} cannot be written (No space left on device)" in err
        assert not any(tmp_path.iterdir())

    def test_a_name_that_cannot_be_printed(self, folder, tmp_path, capsys):
        name = os.fsdecode(os.fsencode(tmp_path) + b"/st\xffudy.csv")
        try:
            shutil.copy(folder / "study.csv", name)
        except OSError:
            pytest.skip("the file system has no such names")
        model, page = tmp_path / "m.skops", tmp_path / "r.html"
        command = ("fit", name, "--target", "diagnosis", *QUICK, "--out", model, "--report", page)
        status, out, err = run(capsys, *command)
        assert status == 0, err
        assert "st\\udcffudy.csv: 40 samples" in out
        assert "st\\udcffudy.csv" in load_model(model).command
        assert page.exists()

    @pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
    def test_terminated_while_writing(self, folder, tmp_path, capsys, monkeypatch):
        """The half-written file is removed, and the handlers of the process are what they were."""

        def write(self, content):
            with self.open("wb") as file:
                file.write(content[:10])
            os.kill(os.getpid(), signal.SIGTERM)

        monkeypatch.setattr(Path, "write_bytes", write)
        before = signal.getsignal(signal.SIGTERM)
        command = ("fit", folder / "study.csv", "--target", "diagnosis", "--no-guarantee")
        assert run(capsys, *command, "--out", tmp_path / "m.skops")[0] == 143
        assert not any(tmp_path.iterdir())
        assert signal.getsignal(signal.SIGTERM) == before

    @pytest.mark.parametrize("n", [10**20, "1e20"])
    def test_more_permutations_than_anybody_waits_for(self, n, folder, capsys):
        command = ("fit", folder / "study.csv", "--target", "diagnosis", "--permutations", n)
        status, _, err = run(capsys, *command)
        assert status == 2
        assert "at most 10,000,000 permutations; 999 resolve p ≥ 0.001, got 1e+20." in unwrapped(err)

    @pytest.mark.parametrize("n", ["1.5", "-5", "many", "inf", "nan"])
    def test_what_is_no_number_of_permutations(self, n, folder, capsys):
        command = ("fit", folder / "study.csv", "--target", "diagnosis", f"--permutations={n}")
        status, _, err = run(capsys, *command)
        assert status == 2
        assert f"expected a whole number such as 199, or 0 for none, got '{n}'" in unwrapped(err)


class TestReadingAndWaiting:
    @pytest.mark.parametrize("packed", [False, True])
    def test_standard_input(self, packed, folder, capsys, monkeypatch):
        content = (folder / "study.csv").read_bytes()
        stdin = io.TextIOWrapper(io.BytesIO(gzip.compress(content) if packed else content))
        monkeypatch.setattr(sys, "stdin", stdin)
        status, out, err = run(capsys, "fit", "-", "--target", "diagnosis", "--no-guarantee", "--json")
        assert status == 0, err
        saved = load_model(folder / "plain.skops")
        assert json.loads(out)["worst_case_error"] == saved.classifier.worst_case_error_

    def test_which_way_a_table_lies_is_said(self, tmp_path, capsys):
        X, y = expression(24, seed=6)
        rows = [["sample", "a", "b", "diagnosis"], *([f"s{i}", *x[:2], y[i]] for i, x in enumerate(X))]
        command = ("fit", write_rows(tmp_path / "t.csv", rows), "--target", "diagnosis", "--no-guarantee")
        assert (
            "Rows were taken as samples, since 'diagnosis' is a column. The table has 24 rows and 4 columns"
            in run(capsys, *command)[2]
        )
        assert "Rows were taken" not in run(capsys, *command, "--no-transpose")[2]

    def test_tables_are_turned_where_it_is_obvious_or_asked_for(self, folder, tmp_path, capsys):
        with (folder / "study.csv").open() as file:
            rows = list(csv.reader(file))
        turned = write_rows(tmp_path / "turned.csv", list(map(list, zip(*rows, strict=True))))
        options = ("--target", "diagnosis", "--no-guarantee", "--transpose")
        said = run(capsys, "fit", turned, *options[:-1])[2]
        assert "The table was transposed: samples are in columns, since 'diagnosis' is a row." in said
        status, out, said = run(
            capsys, "fit", *options, turned, "--json"
        )  # the file is no value of the option
        assert status == 0, said
        assert json.loads(out)["n_features"] == N_GENES
        assert "samples are in columns, because of --transpose" in said
        assert run(capsys, "fit", turned, *options, "no")[0] == 2

    def test_pages_of_the_same_data_differ_in_seconds_alone(self, folder, tmp_path, capsys):
        """Two runs of one command, in which nothing else that is measured or random may show."""
        command = ["fit", folder / "study.csv", "--target", "diagnosis", "--report", tmp_path / "r.html"]
        effort = ["--permutations", 9, "--folds", 3, "--radii", 3, "--repeats", 2, "--radius", "bootstrap"]
        pages = []
        for _ in range(2):
            assert run(capsys, *command, *effort)[0] == 0
            head, rest = (
                (tmp_path / "r.html").read_text(encoding="utf-8").split('<dl class="facts" id="seconds">')
            )
            seconds, tail = rest.split("</dl>", 1)
            pages.append((head, re.sub(r"<dd>[\d.]+\xa0?s?.{0,3}</dd>", "", seconds), tail))
        assert pages[0] == pages[1]
        assert pages[0][1].startswith("<dt>reading</dt><dt>fit</dt>")
