"""Files that hold the right things under other names, in another order, or among others."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from minimaxrisk.app.cli import main
from minimaxrisk.datasets import make_expression
from tests.reading import read
from tests.study_files import write_rows
from tests.terminal import run

pytest.importorskip("skops", reason="comes with the extra 'app'")

N = 40
GENES = [f"ENSG{j:011d}" for j in range(60)]


@pytest.fixture(scope="module")
def study():
    return make_expression(N, len(GENES), n_informative=8, effect=2.0, random_state=0)


@pytest.fixture(scope="module")
def rows(study):
    """A header, and a line per patient some ill ones measured again."""
    lines = [["id", "patient", "class", *GENES]]
    for i, (row, is_ill) in enumerate(zip(study.data.round(6).tolist(), study.target, strict=True)):
        about = (f"u{i // 4}", "ill") if is_ill else (f"v{i}", "well")
        lines.append([f"P{i:03d}", *about, *map(repr, row)])
    return lines


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("study") / "study.csv", rows)


@pytest.fixture(scope="module")
def model(table):
    path = table.with_name("m.skops")
    groups = ["--ignore", "patient", "--radius", "bootstrap", "--confidence", "0.2"]
    assert main(["fit", str(table), "--target", "class", *groups, "--out", str(path), "--quiet"]) == 0
    return path


@pytest.fixture(scope="module")
def new_values(study):
    return study.law.sample(20, random_state=1)[0].round(6)


def new_rows(values, header=GENES):
    return [["id", *header], *([f"N{i}", *map(repr, row)] for i, row in enumerate(values.tolist()))]


class TestTrainingDataInAnotherOrder:
    def test_a_sorted_copy_verifies(self, model, table, rows, tmp_path, capsys):
        ordered = write_rows(tmp_path / "sorted.csv", [rows[0], *sorted(rows[1:], key=lambda row: row[3])])
        verdicts = []
        for path in (table, ordered):
            status, out, err = run(capsys, "verify", model, path, "--json")
            assert status == 0, err
            verdicts.append(json.loads(out))
        assert verdicts[0] == verdicts[1] | {"notes": verdicts[0]["notes"]}

    def test_groups_go_with_their_rows(self, table, rows, tmp_path, capsys):
        model = tmp_path / "m.skops"
        fit = ["fit", table, "--target", "class", "--groups", "patient", "--out", model, "--quiet"]
        assert run(capsys, *fit)[0] == 0
        ordered = write_rows(tmp_path / "sorted.csv", [rows[0], *sorted(rows[1:], key=lambda row: row[3])])
        status, out, _ = run(capsys, "verify", model, ordered)
        assert status == 0, out

    def test_a_report_names_the_genes_as_before(self, table, rows, tmp_path, capsys):
        pytest.importorskip("jinja2", reason="comes with the extra 'app'")
        model, ordered = tmp_path / "m.skops", tmp_path / "sorted.csv"
        fit = ["fit", table, "--target", "class", "--ignore", "patient", "--out", model, "--quiet"]
        assert run(capsys, *fit)[0] == 0
        write_rows(ordered, [rows[0], *reversed(rows[1:])])
        effort = ["--permutations", "0", "--folds", "2", "--radii", "0", "--no-guarantee", "--quiet"]
        genes = []
        for path in (table, ordered):
            page, list_of_genes = tmp_path / f"{path.stem}.html", tmp_path / f"{path.stem}-genes.csv"
            status, _, err = run(
                capsys, "report", model, path, "--out", page, "--genes", list_of_genes, *effort
            )
            assert status == 0, err
            # Folds depend on the order of the rows, and the last digits of sums.
            lines = list_of_genes.read_text(encoding="utf-8").splitlines()[1:]
            genes.append([line.split(",")[0] for line in lines])
        assert genes[0] == genes[1]

    def test_rows_that_are_missing_or_too_many(self, model, rows, tmp_path, capsys):
        changed = [list(row) for row in rows]
        changed[5][3] = "99.5"
        changed[7][2] = "well" if changed[7][2] == "ill" else "ill"
        other = write_rows(tmp_path / "other.csv", [*changed[:30], *changed[31:]])
        assert run(capsys, "verify", model, other)[0] == 1
        status, _, err = run(capsys, "report", model, other, "--out", tmp_path / "r.html")
        assert status == 1
        assert "other.csv" in err

    def test_names_of_samples_are_not_in_the_model_file(self, model, rows):
        assert b"P004" not in model.read_bytes()


@pytest.fixture(scope="module")
def digits(study):
    """All digits, columns of other units, zeros: what rounding and a common tolerance would trip over."""
    values = study.data / 3.0 * np.geomspace(1e-8, 1e8, len(GENES))
    values[::3, 7] = 0.0
    return values


@pytest.fixture(scope="module")
def trained(study, digits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    table = write_rows(folder / "table.csv", lines_of(study, digits.tolist()))
    model = folder / "m.skops"
    assert main(["fit", str(table), "--target", "class", "--out", str(model), "--quiet"]) == 0
    return model


def lines_of(study, values):
    about = zip(study.target.tolist(), values, strict=True)
    return [["id", "class", *GENES], *([f"P{i}", y, *row] for i, (y, row) in enumerate(about))]


class TestTrainingDataSavedAgain:
    @pytest.mark.parametrize("upwards", [True, False])
    def test_a_changed_last_digit(self, study, digits, trained, upwards, tmp_path, capsys):
        """As pandas changes it, with the lines in another order."""
        again = np.where(digits, np.nextafter(digits, np.inf if upwards else -np.inf), 0.0)
        header, *lines = lines_of(study, again.tolist())
        path = write_rows(tmp_path / "again.csv", [header, *reversed(lines)])
        status, out, _ = run(capsys, "verify", trained, path)
        assert status == 0, out

    def test_fifteen_digits(self, study, digits, trained, tmp_path, capsys):
        """As spreadsheets keep them; and the training samples are recognized."""
        short = [[f"{value:.15g}" for value in row] for row in digits.tolist()]
        path = write_rows(tmp_path / "short.csv", lines_of(study, short))
        status, out, _ = run(capsys, "verify", trained, path)
        assert status == 0, out
        assert "(training-samples)" in run(capsys, "predict", trained, path)[2]

    @pytest.mark.parametrize("column", [0, 30, 59])
    def test_any_other_change_is_seen(self, study, digits, trained, column, tmp_path, capsys):
        other = digits.copy()
        other[3, column] *= 1 + 1e-5
        other[[5, 6], column] = other[[6, 5], column]
        path = write_rows(tmp_path / "other.csv", lines_of(study, other.tolist()))
        status, out, _ = run(capsys, "verify", trained, path)
        assert status == 1
        assert "other.csv" in out


class TestTrainingSamplesAmongNewOnes:
    def test_not_where_few_whole_numbers_agree_by_chance(self, tmp_path, capsys):
        rng = np.random.default_rng(0)
        y = np.arange(40) % 2
        X = rng.integers(0, 2, (80, 30))
        X[:40, 0] = np.where(rng.random(40) < 0.9, y, 1 - y)
        lines = [["id", "class", *(f"g{j}" for j in range(30))]]
        lines += [[f"s{i}", "ab"[y[i % 40]], *row] for i, row in enumerate(X.tolist())]
        path, model = write_rows(tmp_path / "t.csv", lines[:41]), tmp_path / "m.skops"
        assert run(capsys, "fit", path, "--target", "class", "--radius", "2", "--out", model)[0] == 0
        new = write_rows(tmp_path / "new.csv", [lines[0], *lines[41:]])
        assert "(training-samples)" not in run(capsys, "predict", model, new)[2]


def test_exchanged_names_of_genes(model, new_values, tmp_path, capsys):
    honest = write_rows(tmp_path / "honest.csv", new_rows(new_values))
    assert "WARNING" not in run(capsys, "predict", model, honest)[2]
    exchanged = np.random.default_rng(0).permutation(GENES)
    path = write_rows(tmp_path / "new.csv", new_rows(new_values, exchanged))
    status, out, err = run(capsys, "predict", model, path)
    assert status == 0
    assert "columns may have been exchanged" in err
    assert {row["on_training_scale"] for row in csv.DictReader(out.splitlines())} == {"no"}
    assert run(capsys, "predict", model, path, "--strict")[0] == 2


def test_features_in_other_spellings_are_refused_with_both(model, new_values, tmp_path, capsys):
    versions = [f"{name.lower()}.{j % 7 + 1}" for j, name in enumerate(GENES)]
    path = write_rows(tmp_path / "b.csv", new_rows(new_values, versions))
    status, _, err = run(capsys, "predict", model, path)
    assert status == 2
    assert "60 of 60" in err
    assert f"{GENES[0]!r}" in err
    assert f"{versions[0]!r}" in err


@pytest.mark.parametrize(
    ("data", "labels"), [("S{:03d}", "S{}"), ("pt_{}", "PT {}"), ("ENSG{:09d}", "ENSG{:09d}.3")]
)
def test_samples_in_other_spellings_are_refused_with_both(data, labels, tmp_path):
    order = np.random.default_rng(0).permutation(24)
    files = {
        "t.csv": "\n".join(["id,a", *(f"{data.format(i)},{i % 7}.5" for i in range(24))]),
        "l.csv": "\n".join(["id,class", *(f"{labels.format(i)},{'xy'[i % 2]}" for i in order)]),
    }
    with pytest.raises(ValueError, match=f"'{data.format(0)}'.*'{labels.format(0)}'.*24 of 24"):
        read(tmp_path, files)
