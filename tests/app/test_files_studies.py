"""What becomes names, labels and features of a user's data file, and what the user is told about it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from minimaxrisk.app.files import (
    ReadOptions,
    quality,
    read_study_for_model,
    read_training_study,
    refuse_missing,
)
from minimaxrisk.app.files.read_study import read_raw_table

TABLE = "sample,class,a,b,c\np1,x,1,2,3.5\np2,y,4,5,6\np3,x,7,8,9\np4,y,0,1,2\n"
GENES = "gene,p1,p2,p3,p4\na,1,4,7,0\nb,2,5,8,1\nc,3.5,6,9,2\n"
LABELS = "who,age,class\np4,50,y\np9,20,y\np2,30,y\np1,40,x\np3,60,x\n"
X = np.array([[1, 2, 3.5], [4, 5, 6], [7, 8, 9], [0, 1, 2]])


@pytest.fixture
def write(tmp_path):
    def written(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def is_the_study(study):
    np.testing.assert_array_equal(study.X, X)
    assert study.feature_names.tolist() == ["a", "b", "c"]
    assert study.sample_names.tolist() == ["p1", "p2", "p3", "p4"]
    assert study.y is None or study.y.tolist() == ["x", "y", "x", "y"]
    return True


def said(study, text):
    return any(text in remark for remark in study.remarks)


class TestSampleNames:
    def test_first_column_of_unique_words(self, write):
        study = read_training_study(write(TABLE.replace("sample", "whatever")), target="class")
        assert is_the_study(study)
        assert said(study, "first column, 'whatever', as the names")

    @pytest.mark.parametrize("header", ["", "id", "Unnamed: 0", "Sample"])
    def test_numbers_under_a_header_of_names_are_kept_as_written(self, write, header):
        text = TABLE.replace("sample", header).replace("p1", "007").replace("p2", "12345678901234567890")
        study = read_training_study(write(text.replace("p3", "1.50").replace("p4", "8")), target="class")
        assert study.sample_names.tolist() == ["007", "12345678901234567890", "1.50", "8"]
        np.testing.assert_array_equal(study.X, X)

    def test_a_column_of_numbers_is_a_feature_otherwise(self, write):
        study = read_training_study(write("a,class\n1,x\n2,y\n3,x\n4,y\n"), target="class")
        assert study.feature_names.tolist() == ["a"]
        assert said(study, "'a' only counts the lines")
        assert not study.has_sample_names

    @pytest.mark.parametrize("start", [0, 1, 101])
    def test_a_column_that_counts_lines_is_told_wherever_it_stands(self, write, start):
        def remarks_on(numbers):
            rows = [f"{'xy'[i // 6]},{i % 5}.5,{numbers[i]}{',1.5' * 30}" for i in range(12)]
            header = ",".join(["class", "a", "no", *(f"g{j}" for j in range(30))])
            study = read_training_study(write("\n".join([header, *rows])), target="class")
            assert study.feature_names.tolist()[:2] == ["a", "no"]
            return [remark for remark in study.remarks if "'no'" in remark]

        counted = range(start, start + 12)
        assert remarks_on(counted) == [
            "'no' only counts the lines, and may tell the class if the file is sorted. If that is an index, "
            "pass ignore=['no']"
        ]
        (told,) = remarks_on([*counted[:5], counted[6], counted[5], *counted[7:]])
        assert told.startswith("'no' holds whole numbers")

    def test_a_column_left_out_that_could_hold_the_names(self, write):
        def remarks(text, **options):
            study = read_study_for_model(
                write(text), feature_names=["a", "b"], options=ReadOptions(**options)
            )
            return study.sample_names.tolist(), [r for r in study.remarks if "are numbered" in r]

        text = "a,b,batch,Proben Nr\n1,2,u,p1\n4,5,u,p2\n"
        told = [
            "The samples are numbered. If 'Proben Nr' holds their names, pass "
            "ReadOptions(samples='Proben Nr')"
        ]
        assert remarks(text) == (["1", "2"], told)
        assert remarks(text, samples="Proben Nr") == (["p1", "p2"], [])
        assert remarks("a,b,id\n1,2,17\n4,5,12\n")[1] == [
            "The samples are numbered. If 'id' holds their names, pass ReadOptions(samples='id')"
        ]
        assert remarks("a,b,age\n1,2,17\n4,5,12\n")[1] == []
        assert remarks("a,b,batch\n1,2,u\n4,5,u\n")[1] == []

    def test_names_in_another_column_than_the_first(self, write):
        text = "a,class,who\n1.5,x,p1\n2,y,p2\n3,x,p3\n4,y,p4\n"
        with pytest.raises(
            ValueError, match=r"pass ignore=.'who'. .*; pass ReadOptions.samples='who'. if that column names"
        ):
            read_training_study(write(text), target="class")
        study = read_training_study(write(text), target="class", options=ReadOptions(samples="who"))
        assert study.sample_names.tolist() == ["p1", "p2", "p3", "p4"]
        # The first column names the samples already, and words that repeat name none.
        named = "id,a,class,who\nq1,1.5,x,p1\nq2,2,y,p2\nq3,3,x,p3\nq4,4,y,p4\n"
        for other in (named, text.replace("p4", "p1")):
            with pytest.raises(ValueError, match="1 column with text: 'who'") as refused:
                read_training_study(write(other), target="class")
            assert "samples=" not in str(refused.value)

    def test_several_columns_in_one_option(self, write):
        with pytest.raises(ValueError, match=r"several columns pass ignore=\['a', 'b'\]\."):
            read_training_study(write(TABLE), target="class", ignore=["a, b"])

    def test_count_in_a_table_without_header(self, write):
        study = read_training_study(
            write("1,5,x\n2,6,y\n3,7,x\n4,6,y\n5,5,y\n"), target="column_3", options=ReadOptions(header=False)
        )
        assert study.feature_names.tolist() == ["column_2"]
        assert study.sample_names.tolist() == ["1", "2", "3", "4", "5"]

    def test_column_that_is_named(self, write):
        text = "class,a,b,who,c\nx,1,2,p1,3.5\ny,4,5,p2,6\nx,7,8,p3,9\ny,0,1,p4,2\n"
        assert is_the_study(
            read_training_study(write(text), target="class", options=ReadOptions(samples="who"))
        )
        with pytest.raises(
            ValueError,
            match=r"samples=.* must name a column of the table, but there is no 'wo'; did you mean",
        ):
            read_training_study(write(text), target="class", options=ReadOptions(samples="wo"))

    def test_column_of_numbers_that_is_named_is_kept_as_written(self, write):
        data = write("code,class,a\n007,x,1\n008,y,2\n009,x,4\n010,y,5\n")
        study = read_training_study(data, target="class", options=ReadOptions(samples="code"))
        assert study.sample_names.tolist() == ["007", "008", "009", "010"]
        assert study.feature_names.tolist() == ["a"]

    def test_first_column_as_the_target_or_ignored(self, write):
        study = read_training_study(write("id,a\nx,1\ny,2\nx,3\ny,4\n"), target="id")
        assert study.y.tolist() == ["x", "y", "x", "y"]
        study = read_training_study(write(TABLE), target="class", ignore=["sample"])
        assert not study.has_sample_names

    @pytest.mark.parametrize("kind", ["parquet", "feather"])
    def test_index_of_pandas(self, tmp_path, kind):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(klass=["x", "y", "x", "y"])
        frame["flag"] = [True, False, True, True]
        frame["n"] = pandas.array([1, None, 3, 4], dtype="Int64")
        path = tmp_path / f"t.{kind}"
        getattr(frame, f"to_{kind}")(path)
        study = read_training_study(path, target="klass")
        assert not study.has_sample_names
        assert study.feature_names.tolist() == ["a", "b", "c", "n", "flag"]
        np.testing.assert_array_equal(study.X[:, 3:], [[1, 1], [np.nan, 0], [3, 1], [4, 1]])
        if kind == "parquet":
            frame.set_index(pandas.Index([7, 3, 5, 1], name="who")).to_parquet(path)
            study = read_training_study(path, target="klass")
            assert study.sample_names.tolist() == ["7", "3", "5", "1"]
            assert said(study, "index 'who'")


class TestTargetAndColumns:
    def test_whole_numbers_are_int64(self, write):
        study = read_training_study(write("g,y\n1,1.0\n2,-1\n3,+1\n5,-1\n"), target="y")
        assert study.y.dtype == np.int64
        assert study.y.tolist() == [1, -1, 1, -1]
        study = read_training_study(write("g,y\n1,0.5\n2,1.5\n3,0.5\n5,1.5\n"), target="y")
        assert study.y.tolist() == ["0.5", "1.5", "0.5", "1.5"]

    def test_ignored_names_and_patterns(self, write):
        lines = TABLE.splitlines()
        text = "\n".join([lines[0] + ",meta_1,meta_2,[x]", *(line + ",u,2,w" for line in lines[1:])])
        study = read_training_study(write(text), target="class", ignore=["meta_*", "[x]"])
        assert is_the_study(study)

    def test_truths_as_numbers_and_as_labels(self, write):
        text = "id,flag,a\nu,TRUE,1\nv,FALSE,2\nw,TRUE,NA\nz,FALSE,3\n"
        study = read_training_study(write(text), target="flag")
        assert study.y.tolist() == ["True", "False", "True", "False"]
        study = read_training_study(
            write(
                text.replace("flag", "b")
                .replace(",a", ",a,class")
                .replace(",1\n", ",1,x\n")
                .replace(",2\n", ",2,y\n")
                .replace("NA", "NA,x")
                .replace(",3\n", ",3,y\n")
            ),
            target="class",
        )
        assert dict(zip(study.feature_names, study.X[0], strict=True)) == {"a": 1, "b": 1}
        assert said(study, "read as 1 and 0: 'b'")

    def test_a_class_of_one_sample_is_said(self, write):
        study = read_training_study(write(TABLE + "p5,z,1,1,1\np6,x,1,2,2\n"), target="class")
        assert said(study, "Only one sample has the label 'z'.")
        study = read_training_study(write(TABLE + "p5,z,1,1,1\np6,w,1,2,2\np7,x,1,2,2\n"), target="class")
        assert said(study, "Only one sample has each of the labels 'w', 'z'.")

    @pytest.mark.parametrize(
        ("labels", "remarks"),
        [
            (["tumor", "Tumor"], ["'Tumor' and 'tumor' are taken as different classes; is that intended?"]),
            (
                ["tumor", "TUMOR", "tumor-"],
                ["'TUMOR', 'tumor' and 'tumor-' are taken as different classes; is"],
            ),
            (["T 1", "t_1", "n", "N"], ["'T 1' and 't_1' are", "'N' and 'n' are"]),
            (["ER+", "ER-"], []),
            (["<5", ">5", "=5"], []),
            (["+", "--", "~"], []),
            (["-1.5", "15", "1.5"], []),
        ],
    )
    def test_labels_that_may_be_the_same_are_said(self, write, labels, remarks):
        rows = [f"p{i},{label},{i}" for i, label in enumerate(labels * 10)]
        study = read_training_study(write("\n".join(["id,class,a", *rows])), target="class")
        found = [remark for remark in study.remarks if "different classes" in remark]
        assert len(found) == len(remarks)
        assert all(said(study, remark) for remark in remarks)

    def test_missing_values_are_told_with_their_places(self, write):
        study = read_training_study(write(TABLE.replace("4,5,6", "NA,5,?")), target="class")
        with pytest.raises(
            ValueError,
            match=r"got 2 in 2 of 3 columns, the first at sample 'p2', column 'a'; .*SimpleImputer",
        ):
            refuse_missing(study)
        with pytest.raises(
            ValueError, match=r"sample 'p2', column 'a'; sample 'p2', column 'c'; measure again\.$"
        ):
            refuse_missing(study, advice="measure again")
        refuse_missing(read_training_study(write(TABLE), target="class"))

    def test_whole_numbers_among_decimals_are_told(self, tmp_path):
        decimals = np.random.default_rng(0).normal(size=(30, 40))
        decimals[:5] = 3  # whole numbers in the first rows
        zeros = np.zeros((30, 1))
        zeros[3] = np.nan

        def remark(*columns, values=decimals):
            whole = [np.resize(column, 30) for column in columns]
            X = np.column_stack([values, zeros, *whole])
            names = [
                *(f"g{j}" for j in range(values.shape[1])),
                "off",
                *("a", "b no", "c", "d", "e", "f"),
            ]
            np.savez(tmp_path / "t.npz", X=X, y=[0, 1] * 15, feature_names=names[: X.shape[1]])
            study = read_training_study(tmp_path / "t.npz", target=None)
            assert study.feature_names.tolist() == names[: X.shape[1]]
            return next((text for text in study.remarks if "whole numbers and" in text), None)

        assert remark() is None
        assert remark([5, np.nan]) is None  # one value tells nothing, whatever it is
        assert remark([50, 61, np.nan]) == (
            "'a' holds whole numbers and 40 other columns hold decimals; it is used as a feature. "
            "If it is not a measurement, pass ignore=['a']"
        )
        assert remark([50, 61], [1, 2]) == (
            "'a', 'b no' hold whole numbers and 40 other columns hold decimals; they are used as "
            "features. If they are not measurements, pass ignore=['a', 'b no']"
        )
        assert remark(*[[1, 2]] * 6).startswith("'a', 'b no', 'c', 'd', 'e' and 1 more hold whole")
        assert remark(*[[1, 2]] * 6).endswith("'d', 'e'] ...")
        # Too few decimals, in number or in share.
        assert remark([1, 2], values=decimals[:, :20]) is not None
        assert remark([1, 2], values=decimals[:, :19]) is None
        assert remark(*[[1, 2]] * 5, values=decimals[:, :20]) is not None
        assert remark(*[[1, 2]] * 6, values=decimals[:, :20]) is None

    def test_whole_numbers_are_looked_for_in_all_rows(self, write, monkeypatch):
        monkeypatch.setattr(quality, "LOOKED_AT", 1)
        names = [f"g{j}" for j in range(25)]
        rows = [f"{'xy'[i % 2]},{i % 3},{'1,' * 24}{1 if i < 9 else 1.5}" for i in range(10)]
        text = "\n".join([",".join(["class", "n", *names]), *rows]).replace("1,", "1.5,", 3)
        assert not said(read_training_study(write(text), target="class"), "hold")
        rows = [f"{'xy'[i % 2]},{i % 3},{'1.5,' * 24}{1 if i < 9 else 1.5}" for i in range(10)]
        text = "\n".join([",".join(["class", "n", *names]), *rows])
        assert said(read_training_study(write(text), target="class"), "'n' holds whole numbers and 25 other")

    def test_columns_that_name_patients_are_found_where_patients_come_twice(self, write):
        lines = [
            "id,donor_id,patient_age,class,g1,g2",
            "a,D1,60,x,1.5,2",
            "b,D1,60,x,2.5,1",
            "c,D2,71,y,3.5,4",
        ]
        options = {"target": "class", "ignore": ["donor_id", "patient_age"]}
        study = read_training_study(write("\n".join(lines)), **options)
        assert {name: column.tolist() for name, column in study.owners.items()} == {
            "donor_id": ["D1", "D1", "D2"]
        }
        asked = read_training_study(
            write("\n".join(lines)), target="class", ignore=["patient_age"], sample_columns=["donor_id"]
        )
        assert asked.owners == {}
        once = "\n".join(lines).replace("b,D1", "b,D3")
        assert read_training_study(write(once), **options).owners == {}


class TestLabelsFile:
    def test_joined_by_name_in_any_order(self, write):
        data = write(TABLE.replace(",class", "").replace(",x", "").replace(",y", ""))
        labels = write(LABELS, "labels.csv")
        study = read_training_study(data, target="class", labels=labels)
        assert is_the_study(study)
        assert said(study, "The labels file has 1 sample not in the data: 'p9'.")
        study = read_training_study(data, target=None, labels=write("p3,x\np2,y\np1,x\np4,y\n", "l.tsv"))
        assert is_the_study(study)
        assert study.target == "label"

    def test_of_data_without_names(self, tmp_path, write):
        np.save(tmp_path / "t.npy", X)
        for text in ("class\nx\ny\nx\ny\n", "x\ny\nx\ny\n", "id,class\n1,x\n2,y\n3,x\n4,y\n"):
            study = read_training_study(tmp_path / "t.npy", target=None, labels=write(text))
            assert study.y.tolist() == ["x", "y", "x", "y"]
            assert said(study, "joined line by line")

    def test_a_column_of_the_same_name_is_no_feature(self, write):
        data = write("sample,class,a\np1,0,1\np2,1,2\np3,0,3\np4,1,5\n")
        study = read_training_study(data, target="class", labels=write(LABELS, "l.csv"))
        assert study.feature_names.tolist() == ["a"]
        assert study.y.tolist() == ["x", "y", "x", "y"]
        assert said(study, "Left out the column 'class'")


class TestOrientation:
    def test_header_holds_the_samples_of_the_labels_file(self, write):
        study = read_training_study(write(GENES), target="class", labels=write(LABELS, "l.csv"))
        assert is_the_study(study)
        assert said(study, "transposed")
        assert study.X.flags.c_contiguous

    def test_not_if_the_first_column_holds_samples_of_the_labels_file_too(self, write):
        data = write(TABLE.replace(",class", "").replace(",x", "").replace(",y", ""))
        study = read_training_study(data, target="class", labels=write(LABELS + "a,10,x\n", "l.csv"))
        assert is_the_study(study)

    @pytest.mark.parametrize("place", [1, 2, 4])
    def test_target_is_a_row_of_text(self, write, place):
        lines = GENES.splitlines()
        lines.insert(place, "class,x,y,x,y")
        study = read_training_study(write("\n".join(lines)), target="class")
        assert is_the_study(study)
        assert said(study, "'class' is a row")

    def test_late_row_of_text_among_many(self, write):
        lines = ["gene,p1,p2,p3,p4", *(f"g{i},{i},2,NA,4" for i in range(300)), "class,x,y,x,y"]
        study = read_training_study(write("\n".join(lines)), target="class")
        assert study.X.shape == (4, 300)
        assert study.y.tolist() == ["x", "y", "x", "y"]

    @pytest.mark.parametrize(("n_words", "are_rows_of_text"), [(20, True), (21, False)])
    def test_more_than_a_tenth_of_late_rows_of_text_make_columns_of_text(
        self, write, n_words, are_rows_of_text
    ):
        lines = ["gene,p1,p2,p3", *(f"g{i},{i},2,4" for i in range(200 - n_words))]
        lines += [f"w{i},x,y,z" for i in range(n_words)]
        raw = read_raw_table(write("\n".join(lines)), ReadOptions())
        assert len(raw.lines) == (n_words if are_rows_of_text else 0)
        assert set(raw.texts) == ({"gene"} if are_rows_of_text else {"gene", "p1", "p2", "p3"})

    def test_target_is_a_row_of_numbers(self, write):
        study = read_training_study(write(GENES + "class,0,1,0,1\n"), target="class")
        assert study.y.tolist() == [0, 1, 0, 1]
        np.testing.assert_array_equal(study.X, X)

    def test_numbers_as_names_of_genes(self, write):
        text = "entrez,p1,p2,p3,p4\n7157,1,4,7,0\n672,2,5,8,1\n"
        study = read_training_study(write(text), target="class", labels=write(LABELS, "l.csv"))
        assert study.feature_names.tolist() == ["7157", "672"]
        np.testing.assert_array_equal(study.X, X[:, :2])

    def test_text_about_genes_is_refused_unless_ignored(self, write):
        text = GENES.replace("gene", "gene,symbol").replace("a,1", "a,s,1").replace("b,2", "b,t,2")
        data, labels = write(text.replace("c,3.5", "c,u,3.5")), write(LABELS, "l.csv")
        with pytest.raises(ValueError, match=r"columns of text 'symbol'.*ignore=.'symbol'"):
            read_training_study(data, target="class", labels=labels)
        assert is_the_study(read_training_study(data, target="class", labels=labels, ignore=["symbol"]))

    def test_when_it_is_asked_for_or_forbidden(self, tmp_path, write):
        np.save(tmp_path / "t.npy", X.T)
        labels = write("x\ny\nx\ny\n", "l.csv")
        with pytest.raises(ValueError, match=r"must hold 3 labels.*got 4; .*transpose=True"):
            read_training_study(tmp_path / "t.npy", target=None, labels=labels)
        study = read_training_study(
            tmp_path / "t.npy", target=None, labels=labels, options=ReadOptions(transpose=True)
        )
        np.testing.assert_array_equal(study.X, X)
        with pytest.raises(ValueError, match="rows must hold numbers, got only text in the rows 'class'"):
            read_training_study(
                write(GENES + "class,x,y,x,y\n"), target="class", options=ReadOptions(transpose=False)
            )

    def test_a_hint_where_features_may_be_in_rows(self, write):
        lines = ["gene,p1,p2,p3", *(f"g{i},{i},2,4" for i in range(30))]
        with pytest.raises(
            ValueError, match=r"'class' that target= names.*30 rows and 4 columns.*transpose=True"
        ):
            read_training_study(write("\n".join(lines)), target="class")


class TestForModel:
    def test_columns_by_name_in_the_order_of_the_model(self, write):
        body = "p1,3.5,0,2,hm,1,x\np2,6,0,5,hm,4,y\np3,9,0,8,hm,7,x\np4,2,0,1,hm,0,y\n"
        text = f"sample,c,extra,b,note,a,class\n{body}"
        study = read_study_for_model(write(text), feature_names=["a", "b", "c"], target="class")
        assert is_the_study(study)
        assert said(study, "Ignored 2 columns that the model does not use: 'note', 'extra'")
        assert not said(study, "'class'")
        study = read_study_for_model(write(text), feature_names=["a", "b", "c", "extra"], target="class")
        assert said(study, "Ignored 1 column that the model does not use: 'note'.")
        assert study.X.flags.c_contiguous
        one = read_study_for_model(write("a,b,c\n1,2,3\n"), feature_names=["a", "b", "c"], target="class")
        assert one.y is None
        assert one.target is None
        assert one.X.tolist() == [[1, 2, 3]]

    def test_genes_in_rows(self, write):
        study = read_study_for_model(write(GENES + "d,1,1,1,1\n"), feature_names=["a", "b", "c"])
        assert is_the_study(study)
        assert said(study, "the features of the model are rows")

    def test_labels_of_it(self, write):
        data = write(TABLE.replace("p2,y", "p2,?"))
        study = read_study_for_model(data, feature_names=["a", "b", "c"], target="class")
        assert study.y is None
        assert said(study, "1 of 4 are missing")
        with pytest.raises(ValueError, match="every sample must have a label in 'class', got 1 of 4"):
            read_study_for_model(data, feature_names=["a", "b", "c"], target="class", needs_labels=True)
        study = read_study_for_model(
            data, feature_names=["a", "b", "c"], target="class", labels=write(LABELS, "l.csv")
        )
        assert is_the_study(study)
        with pytest.raises(
            ValueError, match=r"t\.csv must have the model's target 'klass', got no .*did you mean 'class'"
        ):
            read_study_for_model(data, feature_names=["a"], target="klass", needs_labels=True)
        with pytest.raises(ValueError, match="has no labels; name the file"):
            read_study_for_model(data, feature_names=["a"], target="a", needs_labels=True)

    def test_labels_file_of_it(self, write):
        def read(text, target):
            labels = write(text, "l.csv")
            return read_study_for_model(write(TABLE), feature_names=["a"], target=target, labels=labels)

        with pytest.raises(
            ValueError, match=r"l\.csv must have the model's target 'klass', got 'age', 'class'; "
        ):
            read(LABELS, "klass")
        with pytest.raises(ValueError, match=r"got 2: 'age', 'class'; keep only the one with the labels\.$"):
            read(LABELS, None)
        with pytest.raises(ValueError, match=r"or remove these samples from the data\.$"):
            read("who,class\np1,x\n", "class")

    def test_features_that_are_not_there(self, write):
        with pytest.raises(
            ValueError,
            match=r"the 3 columns of the model, got none for 1: 'CC'; did you mean 'c'\? Add them, or fit "
            r"a model without them if they cannot be measured\.$",
        ):
            read_study_for_model(write(TABLE), feature_names=["a", "b", "CC"])
        with pytest.raises(
            ValueError,
            match="the 1 column of the model, got none for 1: 'TP53'; add them, or fit a model without",
        ):
            read_study_for_model(write(TABLE), feature_names=["TP53"])
        with pytest.raises(
            ValueError,
            match=r"got 1 column with text: 'class' .*; the model needs their numbers: correct them",
        ):
            read_study_for_model(write(TABLE), feature_names=["a", "class"])

    def test_nothing_is_to_be_ignored(self, write):
        """Commands that read for a model have no option for that."""
        with pytest.raises(ValueError, match=r"infinite, .*common cause: correct them\.$"):
            read_study_for_model(write(TABLE.replace("3.5", "inf")), feature_names=["c"])
        genes = GENES.replace("gene", "gene,symbol").replace("a,1", "a,s,1").replace("b,2", "b,t,2")
        with pytest.raises(ValueError, match=r"columns of text 'symbol' \(1\); remove them\.$"):
            read_study_for_model(write(genes.replace("c,3.5", "c,u,3.5")), feature_names=["a"])

    def test_columns_without_names_go_by_their_places(self, tmp_path, write):
        names = ["column_1", "column_2", "column_3"]
        np.save(tmp_path / "t.npy", X)
        np.testing.assert_array_equal(read_study_for_model(tmp_path / "t.npy", feature_names=names).X, X)
        with pytest.raises(
            ValueError,
            match=r"the 2 columns of the model and no others, .*by position; got 1 more: .*remove them",
        ):
            read_study_for_model(tmp_path / "t.npy", feature_names=names[:2])
        with pytest.raises(
            ValueError, match="got none for 1: 'column_4'; columns without names are matched by"
        ):
            read_study_for_model(tmp_path / "t.npy", feature_names=[*names, "column_4"])
        # A target so named is the model's own feature here, and no label.
        study = read_study_for_model(tmp_path / "t.npy", feature_names=names, target="column_2")
        assert study.y is None
        # A first column that counts is a feature if the model has it as one.
        data = write("1,5\n2,6\n3,7\n4,6\n5,5\n")
        study = read_study_for_model(data, feature_names=names[:2])
        assert study.X[:, 0].tolist() == [1, 2, 3, 4, 5]

    def test_svmlight_leaves_out_zeros(self, tmp_path):
        path = str(tmp_path / "t.svm")
        dump_svmlight_file(X[:, :2], [1, 2, 1, 2], path, zero_based=False)
        names = [f"column_{j}" for j in range(1, 5)]
        study = read_study_for_model(path, feature_names=names, target="label")
        assert sparse.issparse(study.X)
        np.testing.assert_array_equal(study.X.toarray(), np.hstack([X[:, :2], np.zeros((4, 2))]))
        assert study.y.tolist() == [1, 2, 1, 2]
        with pytest.raises(ValueError, match="got none for 1: 'TP53'"):
            read_study_for_model(path, feature_names=["TP53"])

    def test_labels_of_the_format_serve_where_the_target_is_not_there(self, tmp_path):
        np.savez(tmp_path / "t.npz", X=X, y=[1, 2, 1, 2], grade=[3, 3, 4, 4], feature_names=["a", "b", "c"])
        for target, labels in {"class": [1, 2, 1, 2], "grade": [3, 3, 4, 4]}.items():
            study = read_study_for_model(tmp_path / "t.npz", feature_names=["a"], target=target)
            assert study.y.tolist() == labels

    def test_sparse_stays_sparse(self, tmp_path):
        path = tmp_path / "t.npz"
        np.savez(path, X=X)
        sparse.save_npz(path, sparse.csr_matrix(X))
        study = read_study_for_model(path, feature_names=["column_1", "column_2", "column_3"])
        assert study.X.format == "csr"
