"""Files in which a careless guess would give wrong labels, names or features without a word."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk.app.files import ReadOptions, read_study_for_model, read_training_study
from minimaxrisk.app.files.read_study import read_raw_table

N = 12
IDS = [str(i) for i in range(1, N + 1)]
LABELS = ["ill" if i % 3 == 0 else "well" for i in range(N)]
X = np.random.default_rng(0).standard_normal((N, 2)).round(6)


@pytest.fixture
def write(tmp_path):
    def written(name, rows):
        path = tmp_path / name
        path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
        return path

    return written


def data_rows(name="id", ids=IDS):
    return [[name, "a", "b"], *([i, *row] for i, row in zip(ids, X.tolist(), strict=True))]


def said(study, text):
    return any(text in remark for remark in study.remarks)


class TestJoins:
    def test_by_the_column_of_the_same_name_and_not_by_one_that_matches_too(self, write):
        visits = IDS[::-1]  # a permutation of the names
        rows = [["visit", "id", "diag"], *map(list, zip(visits, IDS, LABELS, strict=True))]
        study = read_training_study(write("d.csv", data_rows()), target="diag", labels=write("l.csv", rows))
        assert study.y.tolist() == LABELS
        assert said(study, "joined by the column 'id' of l.csv")

    def test_by_the_column_of_the_same_name_whatever_it_is_called(self, write):
        rows = [["id", "mrn", "diag"], *map(list, zip(IDS[::-1], IDS, LABELS, strict=True))]
        study = read_training_study(
            write("d.csv", data_rows("mrn")),
            target="diag",
            labels=write("l.csv", rows),
            options=ReadOptions(samples="mrn"),
        )
        assert study.y.tolist() == LABELS

    def test_not_by_the_numbers_of_the_lines(self, write):
        """As R writes them, without a name."""
        places = np.random.default_rng(1).permutation(N)
        rows = [["", "specimen", "diag"]]
        rows += [[i + 1, IDS[place], LABELS[place]] for i, place in enumerate(places)]
        study = read_training_study(write("d.csv", data_rows()), target="diag", labels=write("l.csv", rows))
        assert study.y.tolist() == LABELS
        assert said(study, "joined by the column 'specimen'")

    def test_not_at_all_where_two_columns_could_be_it(self, write):
        shuffled = [*IDS[3:], *IDS[:3]]
        rows = [["visit", "number", "diag"], *map(list, zip(IDS[::-1], shuffled, LABELS, strict=True))]
        with pytest.raises(
            ValueError,
            match="got 'visit', 'number', which match them equally well; rename the right one to 'id'",
        ):
            read_training_study(write("d.csv", data_rows()), target="diag", labels=write("l.csv", rows))

    def test_not_by_order_where_both_files_have_a_column_of_ids(self, write):
        ids = [str(700 + 7 * i) for i in range(N)]
        data = write("d.csv", data_rows("mrn", ids))
        rows = [["mrn", "diag"], *map(list, reversed(list(zip(ids, LABELS, strict=True))))]
        labels = write("l.csv", rows)
        with pytest.raises(
            ValueError,
            match=r"by the column 'mrn' of the data: if it names the samples, pass .*samples='mrn'",
        ):
            read_training_study(data, target="diag", labels=labels)
        study = read_training_study(data, target="diag", labels=labels, options=ReadOptions(samples="mrn"))
        assert study.y.tolist() == LABELS
        assert study.feature_names.tolist() == ["a", "b"]

    def test_not_by_order_where_the_ids_have_another_header(self, write):
        ids = [str(700 + 7 * i) for i in range(N)]
        rows = [["patient_no", "diag"], *map(list, reversed(list(zip(ids, LABELS, strict=True))))]
        data, labels = write("d.csv", data_rows("pid", ids)), write("l.csv", rows)
        with pytest.raises(ValueError, match=r"pass .*samples='pid'"):
            read_training_study(data, target="diag", labels=labels)
        study = read_training_study(data, target="diag", labels=labels, options=ReadOptions(samples="pid"))
        assert study.y.tolist() == LABELS

    def test_names_with_leading_zeros(self, write):
        ids = [f"{i:03d}" for i in range(N)]
        rows = [
            ["age", "who", "diag"],
            *([30 + i % 2, who, y] for i, (who, y) in enumerate(zip(ids, LABELS, strict=True))),
        ]
        data = write("d.csv", data_rows("id", ids))
        study = read_training_study(data, target="diag", labels=write("l.csv", rows))
        assert study.sample_names.tolist() == ids
        assert study.y.tolist() == LABELS


class TestLabels:
    @pytest.mark.parametrize(
        ("cells", "expected"),
        [
            (["01", "1", "2"], ["01", "1", "2"]),
            (["001", "002", "002"], ["001", "002", "002"]),
            (["1.0", "2.0", "2.0"], [1, 2, 2]),
            (["-1", "+1", "1"], [-1, 1, 1]),
            (["12345678901234567890", "12345678901234567891", "12345678901234567891"], None),
        ],
    )
    def test_as_they_are_written(self, write, cells, expected):
        column = cells * (N // 3)
        rows = [[*row, "diag" if i == 0 else column[i - 1]] for i, row in enumerate(data_rows())]
        study = read_training_study(write("d.csv", rows), target="diag")
        assert study.y.tolist() == (expected or cells) * (N // 3)

    def test_large_numbers_of_a_data_frame(self, tmp_path):
        pd = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow", reason="comes with the extra 'app'")
        large = [10**17, 10**17 + 1] * (N // 2)
        pd.DataFrame({"a": X[:, 0], "diag": large}).to_parquet(tmp_path / "d.parquet")
        study = read_training_study(tmp_path / "d.parquet", target="diag")
        assert study.y.tolist() == [str(label) for label in large]

    def test_one_spelling_for_all_formats(self, write):
        def labels(cells):
            rows = [[*row, "diag" if i == 0 else cells[i % 2]] for i, row in enumerate(data_rows())]
            return set(read_training_study(write("d.csv", rows), target="diag").y.tolist())

        assert labels(["0.5", "1.0"]) == labels(["0.5", "1"]) == {"0.5", "1"}
        assert labels(["TRUE", "FALSE"]) == labels(["True", "False"]) == {"True", "False"}

    def test_beside_the_table_come_before_a_feature_of_that_name(self, tmp_path):
        anndata = pytest.importorskip("anndata", reason="comes with the extra 'app'")
        pd = pytest.importorskip("pandas")
        obs = pd.DataFrame({"a": LABELS}, index=[f"c{i}" for i in IDS])
        anndata.AnnData(X=X, obs=obs, var=pd.DataFrame(index=["a", "b"])).write_h5ad(tmp_path / "d.h5ad")
        study = read_training_study(tmp_path / "d.h5ad", target="a")
        assert study.y.tolist() == LABELS
        assert study.feature_names.tolist() == ["a", "b"]
        assert said(study, "'a' is a feature too")
        again = read_study_for_model(
            tmp_path / "d.h5ad", feature_names=["a", "b"], target="a", needs_labels=True
        )
        assert again.y.tolist() == LABELS
        np.testing.assert_array_equal(again.X, X)


class TestFeatures:
    def test_a_sparse_column_without_any_value(self, tmp_path):
        gaps = sparse.csr_matrix(np.column_stack([np.full(N, np.nan), X]))
        sparse.save_npz(tmp_path / "d.npz", gaps)
        (tmp_path / "l.csv").write_text("diag\n" + "\n".join(LABELS) + "\n")
        with pytest.raises(
            ValueError, match="every feature must have values, got none in 1 column: 'column_1'"
        ):
            read_training_study(tmp_path / "d.npz", target="diag", labels=tmp_path / "l.csv")

    def test_numbers_under_a_header_that_names_often_have(self, write):
        """A feature called index, first in the file: with fractions it cannot name the rows."""
        rows = [["index", "b", "diag"], *([*row, y] for row, y in zip(X.tolist(), LABELS, strict=True))]
        path = write("d.csv", rows)
        study = read_training_study(path, target="diag")
        assert study.feature_names.tolist() == ["index", "b"]
        again = read_study_for_model(path, feature_names=["index", "b"])
        np.testing.assert_array_equal(again.X, study.X)

    def test_names_beside_the_table_leave_a_feature_of_that_name(self, tmp_path):
        anndata = pytest.importorskip("anndata", reason="comes with the extra 'app'")
        pd = pytest.importorskip("pandas")
        obs = pd.DataFrame({"diag": LABELS, "a": [f"n{i}" for i in IDS]}, index=[f"c{i}" for i in IDS])
        anndata.AnnData(X=X, obs=obs, var=pd.DataFrame(index=["a", "b"])).write_h5ad(tmp_path / "d.h5ad")
        study = read_training_study(tmp_path / "d.h5ad", target="diag", options=ReadOptions(samples="a"))
        assert study.sample_names[0] == "n1"
        assert study.feature_names.tolist() == ["a", "b"]

    def test_places_are_counted_although_the_label_is_text(self, write):
        """A column that was put in moves all others: the model would see other features."""
        rows = [[y, *row] for row, y in zip(X.tolist(), ["0", "1"] * (N // 2), strict=True)]
        model = read_training_study(write("d.csv", rows), target="column_1").feature_names
        moved = write("m.csv", [[row[0], 0.5, *row[1:]] for row in rows])
        with pytest.raises(ValueError, match="matched by position; got 1 more"):
            read_study_for_model(moved, feature_names=list(model), target="column_1")

    def test_a_feature_of_the_model_cannot_be_ignored(self, write):
        with pytest.raises(ValueError, match="cannot leave out a feature of the model, got 'a'"):
            read_study_for_model(write("d.csv", data_rows()), feature_names=["a", "b"], ignore=["a"])

    def test_whole_numbers_under_such_a_header_are_those_of_the_model(self, write):
        rows = [["cell", "b"], *([i % 3, row[1]] for i, row in enumerate(X.tolist()))]
        study = read_study_for_model(write("d.csv", rows), feature_names=["b", "cell"])
        np.testing.assert_array_equal(study.X[:, 1], np.arange(N) % 3)

    def test_decimal_commas_with_three_decimals(self, tmp_path):
        text = "a;b;diag\n" + "".join(f"0,{i}46;{i},125;{y}\n" for i, y in enumerate(LABELS[:9]))
        (tmp_path / "d.csv").write_text(text)
        study = read_training_study(tmp_path / "d.csv", target="diag")
        np.testing.assert_allclose(study.X[3], [0.346, 3.125])


def test_options_that_a_format_does_not_have(write):
    rows = [[*row, "diag" if i == 0 else LABELS[i - 1]] for i, row in enumerate(data_rows())]
    study = read_training_study(
        write("d.csv", rows), target="diag", options=ReadOptions(sheet="S", layer="L")
    )
    assert said(study, "ReadOptions(sheet=...) has no effect on .csv files")
    assert said(study, "ReadOptions(layer=...) has no effect on .csv files")


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="got a pipe or device; save it to a file first"):
        read_raw_table(tmp_path / "pipe.csv", ReadOptions())


@pytest.mark.parametrize("name", ["d.npy", "d.npz"])
def test_text_is_no_array(tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="does not begin like a NumPy file"):
        read_raw_table(tmp_path / name, ReadOptions())
