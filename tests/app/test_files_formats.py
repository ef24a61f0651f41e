"""The same small study through every format of users' data files, and text files as they come."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from minimaxrisk.app.cli.console import STDIN, as_file
from minimaxrisk.app.files import ReadOptions, read_training_study
from minimaxrisk.app.files.read_study import read_raw_table

X = np.array(
    [
        [1.5, -2.0, 0.0],
        [0.1, 1e-7, 3.25],
        [0.0, 7.0, -0.3],
        [2.5, 0.0, 1.0],
        [1 / 3, 4.0, 0.0],
        [9.0, 5.5, 8.0],
    ]
)
GENES = ["TP53", "BRCA1", "EGFR"]
SAMPLES = [f"p{i}" for i in range(1, 7)]
LABELS = ["cancer", "healthy", "cancer", "cancer", "healthy", "healthy"]


def rows(header=("sample", "diagnosis", *GENES)):
    body = [[s, c, *map(repr, x)] for s, c, x in zip(SAMPLES, LABELS, X.tolist(), strict=True)]
    return [list(header), *body]


def joined(delimiter=",", end="\n", table=None):
    return "".join(delimiter.join(row) + end for row in table or rows())


def frame():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=GENES, index=SAMPLES)
    table.insert(0, "diagnosis", LABELS)
    return table


def write_csv(path):
    path.write_text(joined())


def write_tsv(path):
    path.write_text(joined("\t", "\r\n"), newline="")


def write_packed(path):
    path.write_bytes(gzip.compress(joined(";").encode()))


def write_parquet(path):
    pytest.importorskip("pyarrow")
    frame().to_parquet(path)


def write_feather(path):
    pytest.importorskip("pyarrow")
    frame().reset_index(names="sample").to_feather(path)


def write_npz(path):
    np.savez(path, X=X, diagnosis=np.array(LABELS), feature_names=np.array(GENES), sample_names=SAMPLES)


def write_mat(path):
    cells = {"diagnosis": LABELS, "feature_names": GENES, "sample_names": SAMPLES}
    savemat(path, {"X": X, **{name: np.array(values, dtype=object) for name, values in cells.items()}})


def write_xlsx(path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    header, *body = rows()
    book.active.append(header)
    for row in body:
        book.active.append([*row[:2], *map(float, row[2:])])
    book.save(path)


def write_h5ad(path, values=X, layers=None):
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    obs = pd.DataFrame({"diagnosis": pd.Categorical(LABELS), "age": [1.5] * 6}, index=SAMPLES)
    data = anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=GENES), layers=layers)
    data.write_h5ad(path)


def write_gct(path):
    header = ["Name", "Description", *SAMPLES]
    body = [[gene, f"about {gene}", *map(repr, X[:, j].tolist())] for j, gene in enumerate(GENES)]
    # Classes are in a line of their own only in version 1.3.
    path.write_text("#1.3\n3\t6\t1\t1\n" + joined("\t", table=[header, ["diagnosis", "", *LABELS], *body]))


def write_series_matrix(path):
    lines = [
        '!Series_title\t"A study"',
        "",
        joined("\t", "", [["!Sample_title", *(f'"{s}"' for s in SAMPLES)]]),
        joined("\t", "", [["!Sample_characteristics_ch1", *(f'"diagnosis: {c}"' for c in LABELS)]]),
        "!series_matrix_table_begin",
        joined("\t", "", [['"ID_REF"', *(f'"{s}"' for s in SAMPLES)]]),
        *(joined("\t", "", [[f'"{g}"', *map(repr, X[:, j].tolist())]]) for j, g in enumerate(GENES)),
        "!series_matrix_table_end",
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


FORMATS = {
    "study.csv": write_csv,
    "study.tsv": write_tsv,
    "study.txt.gz": write_packed,
    "study.parquet": write_parquet,
    "study.feather": write_feather,
    "study.npz": write_npz,
    "study.mat": write_mat,
    "study.xlsx": write_xlsx,
    "study.h5ad": write_h5ad,
    "study.gct": write_gct,
    "GSE1_series_matrix.txt.gz": write_series_matrix,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_holds_the_same_study(tmp_path, name):
    FORMATS[name](tmp_path / name)
    study = read_training_study(tmp_path / name, target="diagnosis")
    np.testing.assert_array_equal(study.X, X)
    assert study.X.dtype == np.float64
    assert study.X.flags.c_contiguous
    assert study.feature_names.tolist() == GENES
    assert study.feature_names.dtype == object
    assert study.sample_names.tolist() == SAMPLES
    assert study.has_sample_names
    assert study.y.tolist() == LABELS
    assert study.y.dtype.kind == "U"
    assert (study.target, study.source) == ("diagnosis", tmp_path / name)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_through_standard_input(tmp_path, name, monkeypatch):
    FORMATS[name](tmp_path / name)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes())))
    with as_file(STDIN) as path:
        study = read_training_study(path, target="diagnosis")
    np.testing.assert_array_equal(study.X, X)
    assert study.y.tolist() == LABELS


def test_other_workbooks_through_standard_input(monkeypatch):
    with zipfile.ZipFile(archive := io.BytesIO(), "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    for content, ending in ((archive.getvalue(), ".ods"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".xls")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        with as_file(STDIN) as path:
            assert path.suffix == ending


def test_arrays_have_generated_names_and_their_own_labels(tmp_path):
    np.savez(tmp_path / "t.npz", data=X, target=np.array([2, 1, 2, 2, 1, 1]))
    study = read_training_study(tmp_path / "t.npz", target=None)
    assert study.y.tolist() == [2, 1, 2, 2, 1, 1]
    assert study.y.dtype == np.int64
    assert study.feature_names.tolist() == ["column_1", "column_2", "column_3"]
    assert study.sample_names.tolist() == ["1", "2", "3", "4", "5", "6"]
    assert not study.has_sample_names
    assert study.target == "target"
    savemat(tmp_path / "t.mat", {"X": sparse.csc_matrix(X), "Y": np.array([[0], [1], [0], [0], [1], [1]])})
    study = read_training_study(tmp_path / "t.mat", target=None)
    assert study.X.format == "csr"
    np.testing.assert_array_equal(study.X.toarray(), X)
    assert study.y.tolist() == [0, 1, 0, 0, 1, 1]


def test_a_variable_other_than_x(tmp_path):
    np.savez(tmp_path / "t.npz", counts=X, scaled=X / 2, y=[0, 1, 0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"must hold the data as X.*layer=..."):
        read_training_study(tmp_path / "t.npz", target=None)
    study = read_training_study(tmp_path / "t.npz", target=None, options=ReadOptions(layer="scaled"))
    np.testing.assert_array_equal(study.X, X / 2)
    assert any("'counts'" in remark for remark in study.remarks)
    with pytest.raises(ValueError, match=r"variable 'scald' that .*layer=.*names.*did you mean 'scaled'"):
        read_training_study(tmp_path / "t.npz", target=None, options=ReadOptions(layer="scald"))


@pytest.mark.parametrize("name", ["t.svm", "t.libsvm.gz", "t.txt"])
@pytest.mark.parametrize("zero_based", [False, True])
def test_svmlight(tmp_path, name, zero_based):
    dump_svmlight_file(X, [1, -1, 1, 1, -1, -1], str(tmp_path / "plain"), zero_based=zero_based)
    content = b"\n".join(
        line for line in (tmp_path / "plain").read_bytes().splitlines() if not line.startswith(b"#")
    )
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    study = read_training_study(tmp_path / name, target=None)
    assert study.X.format == "csr"
    np.testing.assert_array_equal(study.X.toarray(), X)
    assert study.y.tolist() == [1, -1, 1, 1, -1, -1]
    assert study.feature_names.tolist() == [f"column_{j + (not zero_based)}" for j in range(3)]
    assert any("count from 0" in remark for remark in study.remarks) == zero_based


def test_sparse_matrix_of_scipy(tmp_path):
    sparse.save_npz(tmp_path / "t.npz", sparse.csc_matrix(X))
    sheet = read_raw_table(tmp_path / "t.npz", ReadOptions())
    assert sheet.numbers.format == "csr"
    np.testing.assert_array_equal(sheet.numbers.toarray(), X)


def test_h5ad_stays_sparse_and_has_layers(tmp_path):
    path = tmp_path / "t.h5ad"
    write_h5ad(path, sparse.csc_matrix(X), {"scaled": sparse.csr_matrix(X / 2)})
    study = read_training_study(path, target="diagnosis")
    assert study.X.format == "csr"
    np.testing.assert_array_equal(study.X.toarray(), X)
    assert study.y.tolist() == LABELS
    # Annotations, such as the age, are no features.
    assert study.feature_names.tolist() == GENES
    study = read_training_study(path, target="diagnosis", options=ReadOptions(layer="scaled"))
    np.testing.assert_array_equal(study.X.toarray(), X / 2)
    with pytest.raises(ValueError, match=r"must hold layers/scald, got the layers 'scaled'; did you mean"):
        read_training_study(path, target="diagnosis", options=ReadOptions(layer="scald"))


def test_gct_of_version_1_2(tmp_path):
    table = [["NAME", "Description", *SAMPLES]]
    table += [[gene, "na", *map(repr, X[:, j].tolist())] for j, gene in enumerate(GENES)]
    (tmp_path / "t.gct").write_text("#1.2\n3\t6\n" + joined("\t", table=table))
    (tmp_path / "cls.csv").write_text("".join(f"{s},{c}\n" for s, c in zip(SAMPLES, LABELS, strict=True)))
    study = read_training_study(tmp_path / "t.gct", target=None, labels=tmp_path / "cls.csv")
    np.testing.assert_array_equal(study.X, X)
    assert study.y.tolist() == LABELS
    assert any("'Description'" in remark for remark in study.remarks)


def test_annotations_of_geo_whose_order_varies(tmp_path):
    text = (
        '!Sample_title\t"a"\t"b"\t"c"\n'
        '!Sample_data_processing\t"x"\t"x"\t"x"\n'
        '!Sample_data_processing\t"y"\t"y"\t"y"\n'
        '!Sample_characteristics_ch1\t"sex: F"\t"grade: 2"\t"sex: M"\n'
        '!Sample_characteristics_ch1\t"grade: 1"\t"sex: F"\t""\n'
        "!series_matrix_table_begin\n"
        '"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"\n"g"\t1\tnull\t3\n!series_matrix_table_end\n'
    )
    (tmp_path / "m.txt").write_text(text)
    sheet = read_raw_table(tmp_path / "m.txt", ReadOptions())
    assert sheet.annotations["sex"].tolist() == ["F", "F", "M"]
    assert sheet.annotations["grade"].tolist() == ["1", "2", ""]
    assert sheet.annotations["data_processing"].tolist() == ["x", "x", "x"]
    assert sheet.annotations["data_processing.2"].tolist() == ["y", "y", "y"]
    np.testing.assert_array_equal(sheet.numbers, [[1], [np.nan], [3]])


def test_other_sheets_of_a_workbook(tmp_path):
    path = tmp_path / "t.xlsx"
    write_xlsx(path)
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(path)
    book.active.title = "first"
    other = book.create_sheet("second")
    for row in (["class", "a", "ok"], ["x", 1, True], ["y", 2, False], ["x", 3.5, True], ["y", 4, False]):
        other.append(row)
    book.save(path)
    study = read_training_study(path, target="diagnosis")
    assert any("'second' (ReadOptions(sheet=...))" in remark for remark in study.remarks)
    study = read_training_study(path, target="class", options=ReadOptions(sheet="second"))
    np.testing.assert_array_equal(study.X, [[1, 1], [2, 0], [3.5, 1], [4, 0]])
    assert any("1 and 0: 'ok'" in remark for remark in study.remarks)
    with pytest.raises(ValueError, match=r"sheet 'secund' that .*sheet=.*names.*did you mean 'second'"):
        read_training_study(path, target="class", options=ReadOptions(sheet="secund"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_ends_of_lines(tmp_path, delimiter, end):
    (tmp_path / "t.txt").write_text(joined(delimiter, end), newline="")
    for spoken in (None, {"\t": "tab", " ": "space"}.get(delimiter, delimiter)):
        options = ReadOptions(delimiter=spoken)
        study = read_training_study(tmp_path / "t.txt", target="diagnosis", options=options)
        np.testing.assert_array_equal(study.X, X)
        assert study.y.tolist() == LABELS


@pytest.mark.parametrize(
    ("encoding", "name", "said"),
    [
        ("utf-8", "Größe", None),
        ("utf-8-sig", "Größe", None),
        ("utf-16", "Größe", None),
        ("cp1252", "Größe – in „cm“", "Windows-1252"),
        ("latin-1", "Größe\x81", "Latin-1"),  # a byte that Windows-1252 leaves open
    ],
)
def test_encodings(tmp_path, encoding, name, said):
    (tmp_path / "t.csv").write_bytes(joined().replace("EGFR", name).encode(encoding))
    study = read_training_study(tmp_path / "t.csv", target="diagnosis")
    assert study.feature_names.tolist() == ["TP53", "BRCA1", name]
    guesses = [remark for remark in study.remarks if "not in UTF-8" in remark]
    assert [f"was read as {said};" in guess for guess in guesses] == [True] * (said is not None)


def test_points_between_thousands_are_no_decimals(tmp_path):
    def read(cells):
        lines = [f"{'xy'[i % 2]};{54 + i};{cell}" for i, cell in enumerate(cells)]
        (tmp_path / "t.csv").write_text("\n".join(["class;age;a", *lines]))
        return read_training_study(tmp_path / "t.csv", target="class").X[:, 1].tolist()

    cells = "6.197 297 1.526 2.493 12.003 -1.250 9.995 8.001 7.100 1.111 999 5.020"
    grouped = cells.split()
    with pytest.raises(ValueError, match=r"'6\.197' seems to be 6197, .* separators between thousands"):
        read(grouped)
    for other in (
        [cell.replace("297", "29.75") for cell in grouped],  # another number of decimals
        [cell.replace("297", "2975") for cell in grouped],  # a whole number that would have a point
        [cell.replace("9.995", "0.995") for cell in grouped],  # no thousands
        [cell if "." in cell else f"{cell}.000" for cell in grouped],  # three decimals everywhere
        [cell.replace("297", "0").replace("999", "NA") for cell in grouped],  # nought is written without any
        grouped[:10],  # too few to tell
    ):
        assert read(other)[2] == 1.526


def test_latin_1_deep_in_the_file(tmp_path):
    table = rows()
    table[-1][1] = "gesünd"
    table[-2][1] = "gesünd"
    table[1:1] = [[f"q{i}", "cancer", "1", "2", "3"] for i in range(9000)]
    (tmp_path / "t.csv").write_bytes(joined(table=table).encode("latin-1"))
    study = read_training_study(tmp_path / "t.csv", target="diagnosis")
    assert set(study.y) == {"cancer", "healthy", "gesünd"}


ODD = ['a,b; "c"', "<script>alert(1)</script>", "💊 two\nlines", "\u202eשלום", "=1+1", "x"]


@pytest.mark.parametrize("format_", ["t.csv", "t.parquet", "t.xlsx", "t.npz", "t.h5ad"])
def test_odd_names_survive(tmp_path, format_):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(np.arange(36.0).reshape(6, 6) / 4, columns=ODD, index=[f"{n}!" for n in ODD])
    path = tmp_path / format_
    if format_ == "t.csv":
        table.assign(label=LABELS).to_csv(path)
    elif format_ == "t.parquet":
        pytest.importorskip("pyarrow")
        table.assign(label=LABELS).to_parquet(path)
    elif format_ == "t.xlsx":
        pytest.importorskip("openpyxl")
        pytest.importorskip("python_calamine")
        book = pytest.importorskip("openpyxl").Workbook()
        book.active.append(["", *ODD, "label"])
        for name, values, label in zip(table.index, table.to_numpy(), LABELS, strict=True):
            book.active.append([name, *values, label])
        for row in book.active.iter_rows():
            for cell in row:
                if isinstance(cell.value, str):
                    cell.data_type = "s"  # else =1+1 is a formula
        book.save(path)
    elif format_ == "t.npz":
        names = {"feature_names": table.columns.to_numpy(str), "sample_names": table.index.to_numpy(str)}
        np.savez(path, X=table.to_numpy(), label=np.array(LABELS), **names)
    else:
        anndata = pytest.importorskip("anndata")
        anndata.AnnData(table, obs=pandas.DataFrame({"label": LABELS}, index=table.index)).write_h5ad(path)
    study = read_training_study(path, target="label")
    assert study.feature_names.tolist() == ODD
    assert study.sample_names.tolist() == [f"{n}!" for n in ODD]
    np.testing.assert_array_equal(study.X, table.to_numpy())


def test_quoted_cells_that_hold_delimiters_and_quotation_marks(tmp_path):
    text = 'name,a,class\n"p, 1","1.5","x ""1"""\n"p 2",2,y\n"p 3",3,"x ""1"""\np 4,4,y\n'
    (tmp_path / "t.csv").write_text(text)
    study = read_training_study(tmp_path / "t.csv", target="class")
    assert study.sample_names.tolist() == ["p, 1", "p 2", "p 3", "p 4"]
    assert study.y.tolist() == ['x "1"', "y", 'x "1"', "y"]
    assert study.X.ravel().tolist() == [1.5, 2, 3, 4]


def test_table_written_by_r_has_no_name_for_its_row_names(tmp_path):
    text = joined(" ", table=[['"diagnosis"', *(f'"{g}"' for g in GENES)], *rows()[1:]])
    (tmp_path / "t.txt").write_text(text)
    study = read_training_study(tmp_path / "t.txt", target="diagnosis")
    assert study.feature_names.tolist() == GENES
    assert study.sample_names.tolist() == SAMPLES


def test_lines_that_end_in_a_delimiter_where_the_header_does_not(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,class\n1,2,x,\n3,4,y,\n5,6,x,\n7,9,y,\n")
    study = read_training_study(tmp_path / "t.csv", target="class")
    assert study.feature_names.tolist() == ["a", "b"]
    assert study.X.tolist() == [[1, 2], [3, 4], [5, 6], [7, 9]]


def test_table_without_header(tmp_path):
    (tmp_path / "t.csv").write_text(joined(table=rows()[1:]))
    study = read_training_study(tmp_path / "t.csv", target="column_2")
    np.testing.assert_array_equal(study.X, X)
    assert study.feature_names.tolist() == ["column_3", "column_4", "column_5"]
    assert study.sample_names.tolist() == SAMPLES
    assert any("no header" in remark for remark in study.remarks)


def test_header_of_numbers(tmp_path):
    (tmp_path / "t.csv").write_text(joined(table=rows(("sample", "diagnosis", "7157", "672", "1956"))))
    study = read_training_study(tmp_path / "t.csv", target="diagnosis")
    assert study.feature_names.tolist() == ["7157", "672", "1956"]
    (tmp_path / "t.csv").write_text(joined(table=rows(("who", "diagnosis", "7157", "672", "1956"))))
    study = read_training_study(tmp_path / "t.csv", target="diagnosis")
    assert study.feature_names.tolist() == ["7157", "672", "1956"]
    (tmp_path / "t.csv").write_text("0,1,2\n5,6,7\n8,9,7\n1,1,3\n2,2,3\n")
    study = read_training_study(tmp_path / "t.csv", target="2", options=ReadOptions(header=True))
    assert study.feature_names.tolist() == ["0", "1"]
    assert study.y.tolist() == [7, 7, 3, 3]
    study = read_training_study(tmp_path / "t.csv", target="column_3", options=ReadOptions(header=False))
    assert study.X.shape == (5, 2)


def test_decimal_commas(tmp_path):
    text = joined(";").replace(".", ",")
    (tmp_path / "t.csv").write_text(text)
    study = read_training_study(tmp_path / "t.csv", target="diagnosis")
    np.testing.assert_array_equal(study.X, X)
    assert any("decimal commas" in remark for remark in study.remarks)
    (tmp_path / "t.csv").write_text(text.replace("1,5", "NA"))
    study = read_training_study(tmp_path / "t.csv", target="diagnosis")
    assert np.isnan(study.X[0, 0])
    np.testing.assert_array_equal(study.X[1:], X[1:])
    (tmp_path / "t.csv").write_text(text.replace("3,25", "3.25"))
    with pytest.raises(
        ValueError, match=r"numbers in the same way, got both '1,5' and '3\.25'.*decimal point"
    ):
        read_training_study(tmp_path / "t.csv", target="diagnosis")
    (tmp_path / "t.csv").write_text("class;a\nx;1,234\ny;5,678\nx;9,012\ny;3,456\n")
    with pytest.raises(ValueError, match=r"must be numbers, got 1 column with text: 'a' .such as '1,234'."):
        read_training_study(tmp_path / "t.csv", target="class")


MISSING = ["", "NA", "n/a", "NaN", "null", "NULL", "?", "None", "-", " "]


def test_spellings_of_missing_values_and_late_text(tmp_path):
    lines = [f"p{i},{'xy'[i % 2]},{i}.5,{cell},7" for i, cell in enumerate(MISSING)]
    (tmp_path / "t.csv").write_text("\n".join(["id,class,a,b,c", "q,x,1,2,3", *lines]))
    study = read_training_study(tmp_path / "t.csv", target="class")
    assert np.isnan(study.X[1:, 1]).all()
    np.testing.assert_array_equal(study.X[:, 0], [1, *np.arange(10) + 0.5])
    lines = [f"p{i},{'xy'[i % 2]},{i},{i},{i}" for i in range(500)]
    lines[400] = "p400,x,1_0,high,NA"
    (tmp_path / "t.csv").write_text("\n".join(["id,class,a,b,c", *lines]))
    study = read_training_study(tmp_path / "t.csv", target="class", ignore=["a", "b"])
    assert study.feature_names.tolist() == ["c"]
    assert np.isnan(study.X[400]).all()
    assert study.X.shape == (500, 1)
    with pytest.raises(
        ValueError, match=r"2 columns with text: 'a' \(such as '1_0'\), 'b' \(such as 'high'\)"
    ):
        read_training_study(tmp_path / "t.csv", target="class")


def test_a_word_that_python_takes_for_a_number(tmp_path):
    lines = [f"p{i},{'xy'[i % 2]},{i},2,3" for i in range(200)]
    lines[150] = "p150,x,1_0,2,3"
    (tmp_path / "t.csv").write_text("\n".join(["id,class,a,b,c", *lines]))
    with pytest.raises(ValueError, match=r"1 column with text: 'a' \(such as '1_0'\)"):
        read_training_study(tmp_path / "t.csv", target="class")


def test_what_spreadsheets_leave_behind(tmp_path):
    text = "id,class,a,,\np1,x,1,,\n,,,,\np2,y,2,,\n\np3,x,4,,\np4,y,5,,\n,,,,\n"
    (tmp_path / "t.csv").write_text(text)
    study = read_training_study(tmp_path / "t.csv", target="class")
    assert study.X.ravel().tolist() == [1, 2, 4, 5]
    assert any("Left out 2 empty columns without a name" in remark for remark in study.remarks)
    (tmp_path / "t.csv").write_text(text.replace(",,\n", ",\n"))
    study = read_training_study(tmp_path / "t.csv", target="class")
    assert any("Left out 1 empty column without a name" in remark for remark in study.remarks)


class TestCommentsAboveTheTable:
    @pytest.mark.parametrize("delimiter", [",", "\t", " "])
    @pytest.mark.parametrize(
        ("comments", "n"),
        [
            ("# made by a program\n", "1 line"),
            ("#a, b\n\n#c; d\te\n\n", "2 lines"),
            ("# made,,,,\n", "1 line"),
            ("#1. a list\n#Who,What,A,B,C\n", "2 lines"),
            ("#2\n", "1 line"),
        ],
    )
    def test_are_skipped_and_said(self, tmp_path, delimiter, comments, n):
        (tmp_path / "t.txt").write_text(comments.replace(",", delimiter) + joined(delimiter))
        study = read_training_study(tmp_path / "t.txt", target="diagnosis")
        np.testing.assert_array_equal(study.X, X)
        assert study.feature_names.tolist() == GENES
        assert f"Skipped {n} above the table, beginning with #." in study.remarks

    @pytest.mark.parametrize("spoken", [None, ","])
    @pytest.mark.parametrize("comments", ["", "##version=4\n"])
    def test_a_header_may_begin_so(self, tmp_path, comments, spoken):
        (tmp_path / "t.csv").write_text(comments + "#" + joined())
        study = read_training_study(
            tmp_path / "t.csv", target="diagnosis", options=ReadOptions(delimiter=spoken)
        )
        assert study.feature_names.tolist() == GENES
        assert study.sample_names.tolist() == SAMPLES
        assert any("Skipped" in remark for remark in study.remarks) == bool(comments)

    def test_of_a_table_without_header(self, tmp_path):
        (tmp_path / "t.csv").write_text("#made,,,,\n" + joined(table=rows()[1:]))
        study = read_training_study(tmp_path / "t.csv", target="column_2")
        np.testing.assert_array_equal(study.X, X)

    def test_words_below_a_nameless_first_column_are_the_header(self, tmp_path):
        (tmp_path / "t.csv").write_text("#i,j,k,l,m\n" + joined(table=rows(("", "diagnosis", *GENES))))
        assert read_training_study(tmp_path / "t.csv", target="diagnosis").feature_names.tolist() == GENES


WORDS = st.text(st.sampled_from("ab,;\"' \n\t|é_"), max_size=6).map(lambda text: f"w{text.strip()}w")
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), delimiter=st.sampled_from(",;\t|"), end=st.sampled_from(["\n", "\r\n"]))
def test_whatever_is_written_is_read(data, delimiter, end):
    """Words and numbers in any columns, quoted as needed, some numbers missing."""
    is_text = data.draw(st.lists(st.booleans(), min_size=2, max_size=7))
    missing = data.draw(st.booleans())
    cell = {True: WORDS, False: st.one_of(NUMBERS, st.just("NA")) if missing else NUMBERS}
    n = data.draw(st.integers(4, 8))
    columns = [data.draw(st.lists(cell[text], min_size=n, max_size=n)) for text in is_text]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator=end)
            writer.writerow([f"c{j}" for j in range(len(columns))])
            writer.writerows(zip(*columns, strict=True))
        sheet = read_raw_table(path, ReadOptions(delimiter=delimiter, header=True))
    for j, (text, column) in enumerate(zip(is_text, columns, strict=True)):
        if text:
            assert sheet.texts[f"c{j}"].tolist() == column
        else:
            values = [np.nan if value == "NA" else value for value in column]
            np.testing.assert_array_equal(sheet.numbers[:, sheet.names.index(f"c{j}")], values)
