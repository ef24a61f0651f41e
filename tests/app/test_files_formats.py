"""The same small study through every format of users' data files, and text files as they come."""

from __future__ import annotations

import csv
import gzip
import tempfile
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from minimaxrisk.app.files import ReadOptions, read_training_study
from minimaxrisk.app.files.read import read as read_table
from tests.reading import read, write

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
CODES = np.array([2, -1, 2, 2, -1, -1])


def rows(header=("sample", "diagnosis", *GENES)):
    body = [[s, c, *map(repr, x)] for s, c, x in zip(SAMPLES, LABELS, X.tolist(), strict=True)]
    return [list(header), *body]


def joined(delimiter=",", end="\n", table=None):
    return "".join(delimiter.join(row) + end for row in table or rows())


def frame():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="comes with the extra 'app'")
    table = pandas.DataFrame(X, columns=GENES, index=SAMPLES)
    table.insert(0, "diagnosis", LABELS)
    return table


def write_xlsx(path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine", reason="comes with the extra 'app'")
    book = openpyxl.Workbook()
    header, *body = rows()
    book.active.append(header)
    for row in body:
        book.active.append([*row[:2], *map(float, row[2:])])
    book.save(path)


def write_h5ad(path, values=X, layers=None):
    anndata = pytest.importorskip("anndata", reason="comes with the extra 'app'")
    pd = pytest.importorskip("pandas")
    obs = pd.DataFrame({"diagnosis": pd.Categorical(LABELS), "age": [1.5] * 6}, index=SAMPLES)
    data = anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=GENES), layers=layers)
    data.write_h5ad(path)


def gct():
    """Classes are in a line of their own only in version 1.3."""
    header = ["Name", "Description", *SAMPLES]
    body = [[gene, f"about {gene}", *map(repr, X[:, j].tolist())] for j, gene in enumerate(GENES)]
    return "#1.3\n3\t6\t1\t1\n" + joined("\t", table=[header, ["diagnosis", "", *LABELS], *body])


def series_matrix():
    quoted = [[f'"{s}"' for s in SAMPLES], [f'"diagnosis: {c}"' for c in LABELS]]
    genes = [[f'"{g}"', *map(repr, X[:, j].tolist())] for j, g in enumerate(GENES)]
    return "\n".join(
        [
            '!Series_title\t"A study"\n',
            joined("\t", "", [["!Sample_title", *quoted[0]]]),
            joined("\t", "", [["!Sample_characteristics_ch1", *quoted[1]]]),
            "!series_matrix_table_begin",
            joined("\t", "\n", [['"ID_REF"', *quoted[0]], *genes]) + "!series_matrix_table_end",
        ]
    )


NAMES = {"diagnosis": LABELS, "feature_names": GENES, "sample_names": SAMPLES}
FORMATS = {
    "study.csv": joined(),
    "study.tsv": joined("\t", "\r\n"),
    "study.txt.gz": gzip.compress(joined(";").encode()),
    "study.parquet": lambda path: frame().to_parquet(path),
    "study.npz": lambda path: np.savez(path, X=X, **NAMES),
    "study.xlsx": write_xlsx,
    "study.h5ad": write_h5ad,
    "study.gct": gct(),
    "GSE1_series_matrix.txt.gz": gzip.compress(series_matrix().encode()),
    # Packed under the name of a plain file or without an ending, unpacked under the name of a packed one.
    "packed.csv": gzip.compress(joined().encode()),
    "study.gz": gzip.compress(joined().encode()),
    "attachment": gzip.compress(joined().encode()),
    "unpacked.csv.gz": joined(),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_holds_the_same_study(tmp_path, name):
    path = write(tmp_path, {name: FORMATS[name]})
    study = read_training_study(path, target="diagnosis")
    np.testing.assert_array_equal(study.X, X, strict=True)
    assert study.X.flags.c_contiguous
    assert study.feature_names.tolist() == GENES
    assert study.feature_names.dtype == object
    assert study.sample_names.tolist() == SAMPLES
    assert study.has_sample_names
    assert study.y.tolist() == LABELS
    assert study.y.dtype.kind == "U"
    assert (study.target, study.source) == ("diagnosis", path)


def test_arrays_have_generated_names_and_their_own_labels(tmp_path):
    study = read(tmp_path, {"t.npz": lambda path: np.savez(path, data=X, target=CODES)}, target=None)
    np.testing.assert_array_equal(study.y, CODES, strict=True)
    assert study.feature_names.tolist() == ["column_1", "column_2", "column_3"]
    assert study.sample_names.tolist() == ["1", "2", "3", "4", "5", "6"]
    assert not study.has_sample_names
    assert study.target == "target"


def test_a_variable_other_than_x(tmp_path):
    files = {"t.npz": lambda path: np.savez(path, counts=X, scaled=X / 2, y=CODES)}
    with pytest.raises(ValueError, match=r"layer=\.\.\."):
        read(tmp_path, files, target=None)
    study = read(tmp_path, files, target=None, layer="scaled")
    np.testing.assert_array_equal(study.X, X / 2)
    assert [remark.code for remark in study.remarks] == ["variables"]


SPARSE = {
    "t.svm": lambda path: dump_svmlight_file(X, CODES, str(path), zero_based=False),
    "t.npz": lambda path: sparse.save_npz(path, sparse.csc_matrix(X)),
    "t.h5ad": lambda path: write_h5ad(path, sparse.csc_matrix(X), {"scaled": sparse.csr_matrix(X / 2)}),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_stays_sparse(tmp_path, name):
    labels = {"l.csv": "\n".join(LABELS)} if name == "t.npz" else {}
    target = "diagnosis" if name == "t.h5ad" else None
    study = read(tmp_path, {name: SPARSE[name], **labels}, target=target)
    assert study.X.format == "csr"
    np.testing.assert_array_equal(study.X.toarray(), X)
    assert study.y.tolist() == (CODES.tolist() if name == "t.svm" else LABELS)


def test_layers_of_h5ad(tmp_path):
    # Annotations, such as the age, are no features.
    study = read(tmp_path, {"t.h5ad": SPARSE["t.h5ad"]}, target="diagnosis", layer="scaled")
    assert study.feature_names.tolist() == GENES
    np.testing.assert_array_equal(study.X.toarray(), X / 2)
    with pytest.raises(ValueError, match=r"scald.*'scaled'"):
        read(tmp_path, {"t.h5ad": SPARSE["t.h5ad"]}, layer="scald")


@pytest.mark.parametrize("name", ["t.svm", "t.libsvm.gz", "t.txt", "packed.svm"])
@pytest.mark.parametrize("start", [0, 1])
def test_svmlight(tmp_path, name, start):
    lines = [
        " ".join([str(code), *(f"{j + start}:{value!r}" for j, value in enumerate(row) if value)])
        for code, row in zip(CODES, X.tolist(), strict=True)
    ]
    content = "\n".join(lines).encode()
    study = read(
        tmp_path, {name: content if name in ("t.svm", "t.txt") else gzip.compress(content)}, target=None
    )
    np.testing.assert_array_equal(study.X.toarray(), X)
    assert study.y.tolist() == CODES.tolist()
    assert study.feature_names.tolist() == [f"column_{j + start}" for j in range(3)]
    assert [remark.code for remark in study.remarks] == ["from-zero"] * (start == 0)


def test_gct_of_version_1_2(tmp_path):
    genes = [[gene, "na", *map(repr, X[:, j].tolist())] for j, gene in enumerate(GENES)]
    text = "#1.2\n3\t6\n" + joined("\t", table=[["NAME", "Description", *SAMPLES], *genes])
    labels = "".join(f"{s},{c}\n" for s, c in zip(SAMPLES, LABELS, strict=True))
    study = read(tmp_path, {"t.gct": text, "l.csv": labels})
    np.testing.assert_array_equal(study.X, X)
    assert study.y.tolist() == LABELS
    assert "descriptions" in [remark.code for remark in study.remarks]


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
    raw = read_table(write(tmp_path, {"m.txt": text}), ReadOptions())
    assert {name: "".join(cells) for name, cells in raw.annotations.items()} == {
        **{"title": "abc", "data_processing": "xxx", "data_processing.2": "yyy"},
        **{"sex": "FFM", "grade": "12", "characteristics_ch1": ""},
    }
    np.testing.assert_array_equal(raw.numbers, [[1], [np.nan], [3]])


def test_other_sheets_of_a_workbook(tmp_path):
    path = write(tmp_path, {"t.xlsx": write_xlsx})
    book = pytest.importorskip("openpyxl").load_workbook(path)
    book.active.insert_rows(1, 4)
    book.active["A3"] = "A study"
    other = book.create_sheet("second")
    for row in (["class", "a", "ok"], ["x", 1, True], ["y", 2, False], ["x", 3.5, True], ["y", 4, False]):
        other.append(row)
    study = read(tmp_path, {"t.xlsx": book.save}, target="diagnosis")
    np.testing.assert_array_equal(study.X, X)
    assert {"sheet", "title"} <= {remark.code for remark in study.remarks}
    study = read(tmp_path, {"t.xlsx": book.save}, sheet="second")
    np.testing.assert_array_equal(study.X, [[1, 1], [2, 0], [3.5, 1], [4, 0]])
    assert "true-and-false" in [remark.code for remark in study.remarks]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_ends_of_lines(tmp_path, delimiter, end):
    for spoken in (None, {"\t": "tab", " ": "space"}.get(delimiter, delimiter)):
        study = read(tmp_path, {"t.txt": joined(delimiter, end)}, target="diagnosis", delimiter=spoken)
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
@pytest.mark.parametrize("n_before", [0, 9000])
def test_encodings(tmp_path, encoding, name, said, n_before):
    """The first byte that is not ASCII may stand deep in the file."""
    table = [
        *rows(),
        *([f"q{i}", "cancer", "1", "2", "3"] for i in range(n_before)),
        ["q", name, "1", "2", "3"],
    ]
    study = read(tmp_path, joined(table=table).encode(encoding), target="diagnosis")
    assert set(study.y) == {"cancer", "healthy", name}
    guesses = [remark.values["encoding"] for remark in study.remarks if remark.code == "encoding"]
    assert guesses == [said] * (said is not None)


def test_points_between_thousands_are_no_decimals(tmp_path):
    def values(cells):
        lines = [f"{'xy'[i % 2]};{54 + i};{cell}" for i, cell in enumerate(cells)]
        return read(tmp_path, "\n".join(["class;age;a", *lines])).X[:, 1].tolist()

    cells = "6.197 297 1.526 2.493 12.003 -1.250 9.995 8.001 7.100 1.111 999 5.020"
    grouped = cells.split()
    with pytest.raises(ValueError, match=r"'6\.197'.*thousands='\.'"):
        values(grouped)
    for other in (
        [cell.replace("297", "29.75") for cell in grouped],  # another number of decimals
        [cell.replace("297", "2975") for cell in grouped],  # a whole number that would have a point
        [cell.replace("9.995", "0.995") for cell in grouped],  # no thousands
        [cell if "." in cell else f"{cell}.000" for cell in grouped],  # three decimals everywhere
        [cell.replace("297", "0").replace("999", "NA") for cell in grouped],  # nought is written without any
        grouped[:10],  # too few to tell
    ):
        assert values(other)[2] == 1.526


@pytest.mark.parametrize(
    ("written", "options", "number"),
    [
        ("1,234", {"decimal": ","}, 1.234),
        ("1,234", {"thousands": ","}, 1234),
        ("6.197", {"thousands": "."}, 6197),
        ("6.197", {"decimal": "."}, 6.197),
        ("1.234,5", {"decimal": ",", "thousands": "."}, 1234.5),
    ],
)
def test_options_decide_how_numbers_are_written(tmp_path, written, options, number):
    lines = [f"{'xy'[i % 2]};{54 + i};{written}" for i in range(12)]
    assert read(tmp_path, "\n".join(["class;age;a", *lines]), **options).X[:, 1].tolist() == [number] * 12


MISSING = ["", "NA", "n/a", "NaN", "null", "NULL", "?", "None", "-", " ", "#N/A"]
HEADED = rows(("sample", "diagnosis", "7157", "672", "1956"))
ONE_NAME = rows(("who", "group", "TP53", "672", "1956"))
LEFT = "id,diagnosis,a,,\np1,x,1,,\n,,,,\np2,y,2,,\n\np3,x,4,,\np4,y,5,,\n,,,,\n"
ODD = ['"a,b; ""c"""', "<script>alert(1)</script>", '"💊 two\nlines"', "\u202eשלום", "=1+1", "x"]
QUOTED = 'name,a,diagnosis\n"p, 1","1.5","x ""1"""\n"p 2",2,y\n"p 3",3,"x ""1"""\np 4,4,y\n'
COLUMNS = ["column_3", "column_4", "column_5"]
OF_R = joined(" ", table=[['"diagnosis"', *(f'"{g}"' for g in GENES)], *rows()[1:]])  # no name for names
GAPS = [f"p{i},{'xy'[i % 2]},{cell}" for i, cell in enumerate(MISSING)]
GERMAN = joined(";").replace(".", ",")
AMERICAN = joined("\t").replace("9.0", "1,009.0").replace("5.5", "2,000,005.5")
NUMBERED = "0,1,2\n5,6,7\n8,9,7\n1,1,3\n"
# The text, what is asked of it, names of features, their numbers, and a remark.
TEXTS = [
    (joined(), {}, GENES, X, ""),
    (joined().replace("\n", " \n").replace(",", " , "), {}, GENES, X, ""),
    (
        "\n".join([",".join(["diagnosis", *ODD]), "x,1,2,3,4,5,6", "y,6,5,4,3,2,1"]),
        {},
        ['a,b; "c"', *(name.strip('"') for name in ODD[1:])],
        [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]],
        "",
    ),
    (QUOTED, {}, ["a"], [[1.5], [2], [3], [4]], "first-column"),
    (joined().replace("-2.0", "\N{MINUS SIGN}2.0"), {}, GENES, X, ""),
    ('"Table 2, of genes"\n\nin units\n' + joined(), {}, GENES, X, "title"),
    ("a,b\nc,d\n" + joined(), {"skip_lines": 2}, GENES, X, ""),
    (OF_R, {}, GENES, X, "first-column"),
    ("a,b,diagnosis\n1,2,x,\n3,4,y,\n5,6,x,\n", {}, ["a", "b"], [[1, 2], [3, 4], [5, 6]], "empty-columns"),
    (joined(table=rows()[1:]), {"target": "column_2"}, COLUMNS, X, "no-header"),
    (joined(table=HEADED), {}, HEADED[0][2:], X, ""),
    (joined(table=HEADED).replace("sample", "who"), {}, HEADED[0][2:], X, ""),
    (joined(table=ONE_NAME), {"target": "group"}, ONE_NAME[0][2:], X, ""),
    (NUMBERED, {"header": True, "target": "2"}, ["0", "1"], [[5, 6], [8, 9], [1, 1]], ""),
    (GERMAN, {}, GENES, X, "decimal-comma"),
    (GERMAN.replace("1,5", "NA"), {}, GENES, np.where(X == 1.5, np.nan, X), "decimal-comma"),
    (AMERICAN, {}, GENES, np.where(X == 9, 1009, np.where(X == 5.5, 2_000_005.5, X)), "thousands"),
    (GERMAN.replace("9,0", "1.009,0"), {}, GENES, np.where(X == 9, 1009, X), "thousands"),
    ("\n".join(["id,diagnosis,a", "q,x,1", *GAPS]), {}, ["a"], [[1], *[[np.nan]] * len(GAPS)], ""),
    (LEFT, {}, ["a"], [[1], [2], [4], [5]], "empty-columns"),
    (LEFT.replace(",,\n", ",\n"), {}, ["a"], [[1], [2], [4], [5]], "empty-columns"),
    # Comments above the table, of which the last may be its header.
    ("#" + joined(), {"delimiter": ","}, GENES, X, ""),
    ("##version=4\n#" + joined(), {}, GENES, X, "comments"),
    ("#made,,,,\n" + joined(table=rows()[1:]), {"target": "column_2"}, COLUMNS, X, "no-header"),
    ("#i,j,k,l,m\n" + joined(table=rows(("", "diagnosis", *GENES))), {}, GENES, X, "comments"),
]


@pytest.mark.parametrize(("text", "asked", "names", "values", "remark"), TEXTS, ids=count())
def test_text_as_it_comes(tmp_path, text, asked, names, values, remark):
    study = read(tmp_path, text, **{"target": "diagnosis", **asked})
    assert study.feature_names.tolist() == names
    np.testing.assert_array_equal(study.X, values)
    assert {remark} - {""} <= {each.code for each in study.remarks}
    if study.X.shape == X.shape:
        assert study.sample_names.tolist() == SAMPLES
        assert study.y.tolist() == LABELS


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
def test_comments_above_the_table_are_skipped_and_said(tmp_path, delimiter, comments, n):
    study = read(tmp_path, comments.replace(",", delimiter) + joined(delimiter), target="diagnosis")
    np.testing.assert_array_equal(study.X, X)
    assert study.feature_names.tolist() == GENES
    assert [each.values["lines"] for each in study.remarks if each.code == "comments"] == [n]


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
        sheet = read_table(path, ReadOptions(delimiter=delimiter, header=True))
    for j, (text, column) in enumerate(zip(is_text, columns, strict=True)):
        if text:
            assert sheet.texts[f"c{j}"].tolist() == column
        else:
            values = [np.nan if value == "NA" else value for value in column]
            np.testing.assert_array_equal(sheet.numbers[:, sheet.names.index(f"c{j}")], values)
