"""Users' data files that are damaged, or not what is needed: each has a message, and no other exception."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import pickle
import random
import re
import sys
from itertools import count

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk.app.files import ReadOptions, read_training_study
from minimaxrisk.app.files.messages import COMMAND_LINE, parsing
from minimaxrisk.app.files.read import read as read_table
from tests.reading import read, write

TABLE = "sample,class,a,b\np1,x,1,2\np2,y,4,5\np3,x,7,8\np4,y,0,1\n"
UNLABELLED = TABLE.replace(",class", "").replace(",x", "").replace(",y", "")
LABELS = "id,class\np1,x\np2,y\np3,x\np4,y\n"
TURNED = "gene,p1,p2,p3,p4\na,1,4,7,0\nb,2,5,8,1\n"
ABOUT_GENES = "gene,s,p1,p2,p3,p4\na,u,1,4,7,0\nb,v,2,5,8,1\n"
NUMBERS = "\n".join(["g,score", *(f"{i % 7},{i * 0.8:.0f}" for i in range(100))])
LATE = [f"p{i},{'xy'[i % 2]},{i},2,3" for i in range(500)]
GENES = "Symbol,Title,PT-001,PT-002,PT-003\nTP53,t,1,2,3\nBRCA1,u,1,2,3\n{},v,1,2,3\nMYC,w,1,2,3\n"
CLINICAL = "patient,class\npt_003,x\npt_001,y\npt_002,x\n"
GEO = "!series_matrix_table_begin\n{}!series_matrix_table_end\n"


def late(place, line):
    lines = [*LATE[:place], line, *LATE[place + 1 :]]
    return "\n".join(["id,class,a,b,c", *lines])


def pair(table, labels):
    return {"t.csv": table, "l.csv": labels}


def arrays(**named):
    return {"t.npz": lambda path: np.savez(path, **named)}


def sheets(*tables):
    """A workbook of sheets one, two and so on."""

    def save(path):
        pytest.importorskip("python_calamine", reason="comes with the extra 'app'")
        book = pytest.importorskip("openpyxl").Workbook()
        book.remove(book.active)
        for name, rows in zip(("one", "My data", "More"), tables, strict=False):
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        book.save(path)

    return {"t.xlsx": save}


NEEDED = {"target": "class", "needs_labels": True}
EYE = arrays(X=np.eye(3))
NOTES = [["who", "n"], ["p1", 1], ["p2", 2], ["p3", 3]]
BOOK = sheets(NOTES, *[[["a", "class"], [1, "x"], [2, "y"], [3, "x"]]] * 2)
OTHERS = ["My data", "More", "--labels-sheet"]

# The file or files, what is asked of them, and the options, names, lines and numbers that the message has.
REFUSED = [
    # Lines and cells.
    ("", {}, []),
    ("\n \n\n", {}, []),
    (",,\n,,\n", {}, []),
    ("# c\n# d\n", {}, []),
    ("sample,class,a\n", {}, ["--no-header"]),
    (TABLE + "p5,x,1\n", {}, ["line 6", "4", "3", "--delimiter"]),
    ("# two\n\n" + TABLE + "p5,x,1\n", {}, ["line 8", "4", "3"]),
    ('sample,class,a\n"p\n1",x,1\np2,y\n', {}, ["line 4", "3", "2"]),
    ("class\nx\ny,1\nx\n", {}, ["line 3", "1", "2"]),
    (TABLE + "p5,x,1,2,3\n", {}, ["line 6", "4", "5"]),
    (TABLE + "p5,x,NA,2\np6,y,2\n", {}, ["line 7", "4", "3"]),
    (TABLE + '"p5,x,1,2\np6,y,2,2\n', {}, ["4", "1"]),
    (
        'a,class\n"' + "1" * 200_000 + ",x\n",
        {},
        [],
    ),
    (
        "a,b\n" + TABLE.replace(",", ",0,"),
        {},
        ["line 1", "2", "line 2", "7", "--skip-lines", "1"],
    ),
    ("# c\nA study\na,b\n" + TABLE.replace(",", ",0,"), {}, ["line 3", "2", "line 4", "7"]),
    (
        "sample,class,a,b,c,d,e,f,a,b,c,d,e,f\np1,x" + ",1" * 12 + "\np2,y" + ",2" * 12,
        {},
        ["14", "a", "b", "c", "d", "e", "1"],
    ),
    (TABLE.replace("a,b", "a,a"), {}, ["a", "--duplicates"]),
    (TABLE.replace("a,b", "a,"), {}, ["4"]),
    (bytes(range(256)) * 40, {}, []),
    ({"t.docx": "x"}, {}, [".docx"]),
    ({"t": "x"}, {}, ["(none)"]),
    ({"t.csv": bz2.compress(b"a,b")}, {}, []),
    ({"t.csv.xz": lzma.compress(b"a,b")}, {}, [".xz"]),
    ({"t.npz.gz": "x"}, {}, [".gz"]),
    # Numbers.
    (TABLE.replace("4,5", "low,5"), {}, ["a", "low", "1", "4", "--ignore"]),
    (
        TABLE.replace("4,5", "<0.5,5"),
        {},
        ["<0.5"],
    ),
    (
        TABLE.replace("4,5", "4,n/d"),
        {},
        ["n/d", "1", "4"],
    ),
    (TABLE.replace("4,5", "4,LOD"), {}, ["LOD"]),
    (
        "sample,class,hospital,a\np1,x,north,1\np2,y,south,2\np3,x,north,3\n",
        {},
        ["hospital", "--ignore", "--batch"],
    ),
    (
        late(400, "p400,x,1_0,high,NA"),
        {},
        ["2", "a", "1_0", "1", "500", "b", "high"],
    ),
    (late(450, "p450,x,1_0,2,3"), {}, ["1", "a", "1_0"]),
    (TABLE.replace("4,5", "inf,5"), {}, ["1", "p2", "--ignore"]),
    (TABLE.replace("4,5", "1e999,5"), {}, []),
    (TABLE.replace("4,5", "inf,5"), {"features": ["a"]}, []),
    ("class,a,b\nx,1,\ny,2,NA\nx,3,\n", {}, ["1", "b", "--ignore"]),
    ("class;a;b\nx;1,5;2\ny;2,5;3.25\n", {}, ["1,5", "3.25"]),
    ("class;a\nx;1,234\ny;5,678\n", {}, ["1,234", "1234", "1.234"]),
    ("class;a\nx;1\ny;#DIV/0!\n", {}, ["#DIV/0!"]),
    (
        pair("gene;p1;p2;p3;p4\na;1,100;2,101;3,102;4,103\n", LABELS),
        {},
        ["1,100", "1100", "1.100"],
    ),
    ("sample,class\np1,x\np2,y\n", {}, []),
    ("class\nx\ny\n", {}, ["--delimiter"]),
    # The target and its classes.
    (TABLE.replace("sample,class", "sample,klass"), {}, ["klass"]),
    (TABLE.replace(",y,", ",x,"), {}, ["class", "x"]),
    (
        TABLE.replace("p2,y", "p2,"),
        {},
        ["class", "1", "4", "p2"],
    ),
    (TABLE.replace(",y", ","), {}, ["2", "4", "p2", "p4"]),
    (
        TABLE.replace("p2,y", "p2,none"),
        {},
        ["1", "4", "p2", "none"],
    ),
    # A cell that is empty is no class.
    (TABLE.replace("p2,y", "p2,"), {"target": None}, ["class"]),
    (TABLE.replace(",y", ","), {"target": None}, []),
    (
        "\n".join(["who,class,a", *(f"p{i},{['', '0', '1'][i % 3]},{i}.5" for i in range(9))]),
        {"target": None},
        ["class", "0", "1"],
    ),
    # What there is to tell apart comes before names that repeat, and these are no classes.
    (
        TABLE.replace("sample", "patient_id").replace("p4", "p3").replace("p2", "p1"),
        {"target": None},
        ["class", "--target"],
    ),
    (TABLE.replace("p2,y", "p2,None"), {}, ["None"]),
    ("class,a\nx,1\ny,2\nz,3\nw,4\n", {}, ["4"]),
    (NUMBERS, {"target": "score"}, ["80", "100"]),
    ("a,class\n" + "".join(f"1,{i % 7}.5\n" for i in range(50)), {}, ["7", "50"]),
    (TABLE, {"target": None}, ["--target", "class"]),
    (TABLE, {"target": "dx"}, ["dx", "--target", "sample", "class", "--labels"]),
    (TABLE, {"ignore": ["aa"]}, ["--ignore", "aa", "a"]),
    (TABLE, {"ignore": ["meta_*"]}, ["meta_*"]),
    (TABLE, {"ignore": ["a, b"]}, ["--ignore"]),
    (TABLE, {"samples": "samle"}, ["--samples", "samle", "sample"]),
    (TABLE, {"sample_columns": ["ward"]}, ["ward", "--groups", "--batch"]),
    (
        TABLE.replace("1,2", ",2"),
        {"sample_columns": ["a"]},
        ["a", "p1"],
    ),
    (TABLE, {"labels_sheet": "two"}, ["--labels-sheet"]),
    # Names of samples.
    (TABLE.replace("p4", "p1"), {}, ["p1", "--groups", "--ignore"]),
    (TABLE.replace("p4", "p1").replace("sample", "w"), {}, ["--ignore"]),
    (TABLE.replace("p4", ""), {}, ["1", "4"]),
    ("a,class,who\n1.5,x,p1\n2,y,p2\n3,x,p3\n", {}, ["--ignore", "--samples"]),
    (
        GENES.format("TP53"),
        {},
        ["4", "TP53", "--duplicates", "--labels"],
    ),
    (GENES.format("TP53"), {"features": ["PT-001"]}, ["--samples"]),
    # Labels in another file.
    (
        pair(UNLABELLED, "id,class\nq1,x\nq2,y\n"),
        {},
        ["p1", "p2", "p3", "1", "a", "b", "q1", "q2"],
    ),
    (
        pair(UNLABELLED, LABELS.replace("p", "P-")),
        {},
        ["p1", "P-1", "4"],
    ),
    (
        pair(UNLABELLED, "id,class\np1,x\np2,y\n"),
        {},
        ["2", "4", "p3", "p4", "--ignore"],
    ),
    (pair(UNLABELLED, LABELS + "p1,y\n"), {}, ["p1"]),
    (
        pair(UNLABELLED, LABELS.replace("\n", ",m\n").replace("class,m", "class,sex")),
        {},
        ["2", "class", "sex", "--target"],
    ),
    (
        pair(UNLABELLED, LABELS),
        {"target": "klass"},
        ["klass", "--target", "class"],
    ),
    (pair(UNLABELLED, LABELS), {"target": "dx"}, ["class"]),
    (pair(UNLABELLED, LABELS.replace("2,y", "2,NA")), {}, ["1", "4"]),
    (pair(UNLABELLED, LABELS.replace("y", "x")), {}, []),
    (pair(UNLABELLED, "p1\np2\np3\np4\n"), {}, ["0"]),
    (pair(UNLABELLED.replace("p", "0."), "c\nx\ny\n"), {}, ["4", "2", "--transpose"]),
    (pair("mrn,a\n7,1\n9,2\n", "mrn,c\n9,x\n7,y\n"), {}, ["mrn", "--samples"]),
    (pair("pid,a\n7,1\n9,2\n", "no,c\n9,x\n7,y\n"), {}, ["--samples"]),
    (
        pair(UNLABELLED, "u,v,class\np4,p2,x\np3,p1,y\np2,p4,x\np1,p3,y\n"),
        {"target": "class"},
        ["u", "v", "sample"],
    ),
    # Genes in rows.
    (
        pair(TURNED + "a,1,2,3,4\n", LABELS),
        {},
        ["a", "--duplicates"],
    ),
    *(
        (
            pair(GENES.format(third), CLINICAL),
            asked,
            ["PT-001", "pt_001", "3", "4"],
        )
        for third in ("EGFR", "TP53", "")
        for asked in ({}, {"features": ["PIK3CA"]})
    ),
    (
        pair("entrez,PT-001,PT-002\n7157,1,2\n672,1,2\n1956,1,2\n", CLINICAL),
        {},
        ["PT-001"],
    ),
    (
        pair(GENES.format("EGFR"), CLINICAL),
        {"transpose": True, "ignore": ["Title"]},
        ["PT-001", "pt_001"],
    ),
    (
        pair(GENES.format("EGFR"), CLINICAL),
        {"transpose": False, "ignore": ["Title"]},
        ["TP53", "BRCA1", "EGFR", "1"],
    ),
    (
        # One name alike is chance.
        pair(GENES.format("TP53"), "id,class\na1,x\na2,y\nmyc,y\n"),
        {},
        ["TP53", "BRCA1", "1", "Title", "PT-001", "PT-002"],
    ),
    (
        {"t.csv": ABOUT_GENES, "l.csv": LABELS},
        {},
        ["s", "1", "--ignore"],
    ),
    (ABOUT_GENES, {"features": ["a"]}, ["s", "1"]),
    (TURNED + "class,x,y,x,y\n", {"transpose": False}, ["class", "--transpose"]),
    (TURNED + "class,x,y,x,y\n" * 2, {}, ["class"]),
    (
        "\n".join(["gene,p1,p2,p3", *(f"g{i},{i},2,4" for i in range(30))]),
        {},
        ["class", "--target", "30", "4", "--transpose"],
    ),
    # A model's columns.
    (
        TABLE,
        {"features": ["a", "BB"]},
        ["2", "1", "BB", "b", "--ignore"],
    ),
    # A column that the model has already is not meant.
    (TABLE, {"features": ["a", "b", "BB"]}, ["1", "BB"]),
    (TABLE, {"features": ["TP53"]}, ["1", "TP53"]),
    (TABLE, {"features": ["a", "class"]}, ["class"]),
    (TABLE, {"features": ["a", "c"], "used": ["a"]}, ["--only-used"]),
    (TABLE, {"features": ["a"], "ignore": ["a"]}, ["--ignore", "a"]),
    (TABLE.replace("p2,y", "p2,?"), {"features": ["a"], **NEEDED}, ["1", "4"]),
    (TABLE, {"features": ["a"], **NEEDED, "target": "klass"}, ["s target "]),
    (TABLE, {"features": ["a"], **NEEDED, "target": "a"}, ["--labels"]),
    (
        pair(TABLE, LABELS),
        {"features": ["a"], "target": "klass"},
        ["s target ", ", got "],
    ),
    (
        pair(TABLE, LABELS.replace("\n", ",1\n").replace("class,1", "class,age")),
        {"features": ["a"]},
        ["2", "class", "age"],
    ),
    (pair(TABLE, "who,class\np1,x\n"), {"features": ["a"]}, []),
    (
        EYE,
        {"features": ["column_1", "column_2"]},
        ["2", "1"],
    ),
    (
        EYE,
        {"features": [f"column_{j}" for j in range(1, 5)]},
        ["1", "column_4"],
    ),
    # GCT files and series matrices of GEO.
    ("#1.2\n2\tx\n", {}, ["2"]),
    ("#1.2\n2\t2\nName\tDescription\ts1\n", {}, ["4"]),
    ("#1.2\n3\t2\nName\tDescription\ts\tt\ng\td\t1\t2\n", {}, ["3", "1"]),
    ("#1.2\n1\t2\nName\tDescription\ts\tt\ng\td\t1\tlow\n", {}, ["t", "low"]),
    ("#1.2\n2\t2\nName\tDescription\ts\tt\ng\td\t1\t2\ng\td\t1\t2\n", {}, []),
    ("#1.9\n2\t2\n", {}, ["1.2", "1.3", "#1.9"]),
    ("#1.2\n1\t2\nName\tDescription\ts\tt\ng\td\t1\t2\n", {}, ["--labels"]),
    ('!Series_title\t"x"\n', {}, []),
    ('!Series_title\t"x"\n' + GEO.format('"ID_REF"\t"s"\n'), {}, []),
    ('!Sample_title\t"x"\t"y"\n' + GEO.format('"ID_REF"\t"s"\n"g"\t1\n'), {}, ["1", "2"]),
    # Arrays.
    (arrays(X=np.arange(3.0)), {}, ["3"]),
    (arrays(X=np.array([["a", "b"], ["c", "d"]])), {}, []),
    (arrays(X=np.eye(2) * 1j), {}, []),
    (arrays(X=np.empty((0, 3))), {}, []),
    (arrays(X=np.eye(3), y=np.arange(2)), {}, ["3", "2"]),
    (arrays(X=np.eye(3), feature_names=["a"]), {}, ["3"]),
    (arrays(X=np.eye(3), sample_names=["a"]), {}, ["3"]),
    (arrays(y=np.arange(2)), {}, ["y"]),
    (arrays(u=np.eye(3), v=np.eye(3)), {"layer": "w"}, ["w", "--layer", "u", "v"]),
    (arrays(X=np.eye(4), y=[0, 1, 0, 1]), {}, ["y", "--target"]),
    (
        arrays(X=np.eye(4), y=[0, 1, 0, 1], feature_names=["a", "b", "a", "c"]),
        {"target": None},
        ["a"],
    ),
    (
        arrays(X=[[0, 1], [1, 2], [-1e300, 2]], y=[0, 1, 0]),
        {"target": None},
        ["1", "-1e+300", "3", "column_1"],
    ),
    (
        {"t.npz": lambda path: sparse.save_npz(path, sparse.diags_array([1.0, np.inf, 2.0], format="csr"))},
        {"features": ["column_1", "column_2", "column_3"]},
        ["1", "2", "column_2"],
    ),
    (
        {
            "t.npz": lambda path: sparse.save_npz(path, sparse.csr_array([[np.nan, 1], [np.nan, 2]])),
            "l.csv": "class\nx\ny\n",
        },
        {},
        ["1", "column_1"],
    ),
    ({"t.npz": "a,b\n1,2\n"}, {}, []),
    # svmlight.
    ({"t.svm": "1 1:2 2:x\n"}, {}, []),
    ({"t.svm": "1 3:2 2:1\n"}, {}, []),
    ({"t.svm": "1 1:2 999999999:1\n"}, {}, ["10000000", "1", "1000000000"]),
    ({"t.svm": "# nothing\n"}, {}, ["label index:value ..."]),
    ({"t.svm": "1 1:2\n0 1:-1e300\n"}, {"target": None}, ["300", "2"]),
    # Workbooks.
    (sheets([], []), {}, []),
    (BOOK, {"sheet": "Mor"}, ["Mor", "--sheet", "More"]),
    (BOOK | {"l.xlsx": BOOK["t.xlsx"]}, {"labels_sheet": "Mor"}, ["Mor", "--sheet"]),
    (BOOK, {}, ["class", "--target", *OTHERS]),
    (BOOK, {"target": None}, ["--target", *OTHERS]),
    (BOOK, {"ignore": ["b"]}, ["--ignore", *OTHERS]),
    (BOOK, {"samples": "b"}, ["--samples", *OTHERS]),
    (BOOK | {"l.csv": LABELS.replace("p", "q")}, {}, [*OTHERS]),
    (BOOK, {"target": "n", "ignore": ["who"]}, [*OTHERS]),
    (BOOK, {"target": "n", "samples": "n"}, [*OTHERS]),
    (BOOK, {"features": ["b"]}, ["1", "b", *OTHERS]),
    (BOOK, {"transpose": True}, ["class", "--target", *OTHERS]),
    (BOOK, {"target": "b", "sheet": "More"}, ["one", "My data", "--sheet"]),
]


@pytest.mark.parametrize(("files", "asked", "facts"), REFUSED, ids=count())
def test_what_is_refused(tmp_path, files, asked, facts):
    """Messages name options as the command line does, and in Python none of those."""
    with pytest.raises(ValueError, match=r".") as refused:
        read(tmp_path, files, **asked, spelling=COMMAND_LINE)
    assert [fact for fact in facts if fact not in str(refused.value)] == []
    with pytest.raises(ValueError, match=r".") as refused:
        read(tmp_path, files, **asked)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "asked", "argument"),
    [
        (TABLE, {"target": None}, "target='class'"),
        (TABLE, {"ignore": ["a,b"]}, "ignore=['a', 'b']"),
        (TABLE, {"samples": "who"}, "ReadOptions(samples=...)"),
        (TABLE, {"sample_columns": ["ward"]}, "sample_columns="),
        (TABLE, {"features": ["a", "c"], "used": ["a"]}, "feature_names="),
        (TABLE.replace("a,b", "a,a"), {}, "ReadOptions(duplicates='mean')"),
    ],
)
def test_messages_in_python_name_arguments(tmp_path, text, asked, argument):
    with pytest.raises(ValueError, match=re.escape(argument)):
        read(tmp_path, text, **asked)


def test_options_that_a_format_does_not_have_are_told(tmp_path):
    remarks = read(tmp_path, TABLE, sheet="S", layer="L").remarks
    idle = [remark.values["option"] for remark in remarks if remark.code == "no-effect"]
    assert idle == ["ReadOptions(sheet=...)", "ReadOptions(layer=...)"]
    with pytest.raises(ValueError, match=r"^delimiter .*'::'"):
        ReadOptions(delimiter="::")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        read_training_study(tmp_path / "none.csv", target="class")
    with pytest.raises(ValueError, match="folder"):
        read_training_study(tmp_path, target="class")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="pipe"):
        read_table(tmp_path / "pipe.csv", ReadOptions())


def test_a_lack_of_memory_is_not_a_damaged_file():
    with pytest.raises(MemoryError), parsing("t.npz", "NumPy arrays"):
        raise MemoryError


def test_a_panic_of_a_parser_is_a_damaged_file():
    class Panic(BaseException):
        pass

    with pytest.raises(ValueError, match="end of input"), parsing("t.xlsx", "a workbook"):
        raise Panic("end of input")


def noise(*shape):
    return np.random.default_rng(0).normal(size=shape)


def frame():
    pytest.importorskip("pyarrow", reason="comes with the extra 'app'")
    return pytest.importorskip("pandas").DataFrame(noise(9000, 2), columns=["a", "b"])


def write_h5ad(path):
    anndata = pytest.importorskip("anndata", reason="comes with the extra 'app'")
    anndata.AnnData(noise(50, 40)).write_h5ad(path)


# Noise does not compress, so that half of the bytes are half of the lines.
LINES = "\n".join(["a,b", *(f"{a!r},{b!r}" for a, b in noise(900, 2).tolist())])
WHOLE = {
    "t.csv.gz": gzip.compress(LINES.encode()),
    "t.npz": lambda path: np.savez(path, X=noise(50, 40), y=np.arange(50) % 2),
    "t.parquet": lambda path: frame().to_parquet(path),
    "t.xlsx": sheets(noise(50, 4).tolist())["t.xlsx"],
    "t.h5ad": write_h5ad,
}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", WHOLE)
def test_cut_off(tmp_path, name, share):
    path = write(tmp_path, {name: WHOLE[name]})
    read_table(path, ReadOptions())
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=name):
        read_table(path, ReadOptions())


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", [*WHOLE, "t.csv", "t.gct", "t.svm"])
def test_binary_garbage(tmp_path, name, seed):
    (tmp_path / name).write_bytes(random.Random(seed).randbytes(10 + 97 * seed))
    with pytest.raises(ValueError, match=name):
        read_table(tmp_path / name, ReadOptions())


class Harmful:
    def __reduce__(self):
        return (sys.exit, (1,))


def test_pickles_are_never_loaded(tmp_path):
    harmful = np.array([Harmful(), 1], dtype=object)
    with pytest.raises(ValueError, match="pickled"):
        read(tmp_path, arrays(X=np.eye(2), y=harmful))
    with pytest.raises(ValueError, match="npz"):
        read(tmp_path, {"t.npz": pickle.dumps(Harmful())})


def test_hdf5_that_is_no_anndata(tmp_path):
    pytest.importorskip("anndata", reason="comes with the extra 'app'")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["X"] = np.eye(3)
    with pytest.raises(ValueError, match=r"t\.h5ad"):
        read_table(tmp_path / "t.h5ad", ReadOptions())


def test_columns_of_parquet_that_are_no_numbers(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="comes with the extra 'app'")
    dates = pandas.to_datetime(["2020-01-01", "2020-01-02"] * 2)
    table = pandas.DataFrame({"class": list("xyxy"), "when": dates, "parts": [[1]] * 4, "a": range(4)})
    with pytest.raises(ValueError, match=r"'when'.*'2020-01-01.*'parts'"):
        read(tmp_path, {"t.parquet": table.to_parquet})
    with pytest.raises(ValueError, match="0 x 4"):
        read(tmp_path, {"t.parquet": table.iloc[:0].to_parquet})


def test_a_package_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'pyarrow.*"minimaxrisk\[app\]"'):
        read(tmp_path, {"t.parquet": "x"})


def test_suggested_targets_leave_out_genes(tmp_path):
    rng = np.random.default_rng(0)
    header = "id,class,batch,ratio,g1,g2"
    rows = [f"p{i},{'xy'[i % 2]},{i % 3},{[0.5, 1.5][i % 2]},0.25,{i % 2 + 0.75}" for i in range(20)]
    with pytest.raises(ValueError, match=r"'class' \(x, y\), 'batch' \(0, 1, 2\);"):
        read(tmp_path, "\n".join([header, *rows]), target=None)
    # Many columns of few whole numbers are counts of genes.
    counts = rng.integers(0, 4, (20, 31)).tolist()
    rows = [f"p{i},{'xy'[i % 2]},{','.join(map(str, row))}" for i, row in enumerate(counts)]
    header = ",".join(["id", "class", *(f"g{j}" for j in range(31))])
    with pytest.raises(ValueError, match=r" 'class' \(x, y\);"):
        read(tmp_path, "\n".join([header, *rows]), target=None)
