"""Users' data files that are damaged, or not what is needed: each has a message, and no other exception."""

from __future__ import annotations

import gzip
import pickle
import random
import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from minimaxrisk.app.files import ReadOptions, read_study_for_model, read_training_study
from minimaxrisk.app.files.labels import find_target
from minimaxrisk.app.files.messages import COMMAND_LINE, parsing
from minimaxrisk.app.files.raw_table import arrange
from minimaxrisk.app.files.read_study import read_raw_table
from minimaxrisk.app.files.study import ReadRequest

TABLE = "sample,class,a,b\np1,x,1,2\np2,y,4,5\np3,x,7,8\np4,y,0,1\n"
NUMBERS = "\n".join(["g,score", *(f"{i % 7},{i * 0.8:.0f}" for i in range(100))])
COMMAND = ReadOptions(spelling=COMMAND_LINE)


def check_refusal(message, *arguments, **options):
    """The message at the command line; in Python none names an option of the command line."""
    with pytest.raises(ValueError, match=message):
        read_training_study(*arguments, **options, options=COMMAND)
    with pytest.raises(ValueError, match=r".") as refused:
        read_training_study(*arguments, **options)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold a table, got an empty file"),
        ("\n \n\n", "must hold a table, got an empty file"),
        (",,\n,,\n", "got only blank lines"),
        ("sample,class,a\n", "lines of values below its header, got only the header; .*--no-header"),
        (TABLE + "p5,x,1\n", "line 6 must have 4 cells like the first, got 3; .*--delimiter"),
        (TABLE + "p5,x,1\n", r"t\.txt: line 6 .* split at the wrong character\.$"),
        ("class\nx\ny,1\nx\n", "row 3 must have 1 cell like the first, got 2"),
        ("# two\n\n" + TABLE + "p5,x,1\n", "line 8 must have 4 cells like the first, got 3"),
        (
            "a,b\n" + TABLE.replace(",", ",0,"),
            r"^[^ ]*t\.txt: line 1 has 2 cells and line 2 has 7\. If the lines above the header are a title "
            r"or comment, pass --skip-lines 1\.$",
        ),
        ("# c\nA study\na,b\n" + TABLE.replace(",", ",0,"), "line 3 has 2 cells and line 4 has 7"),
        ("# c\n# d\n", "got only blank lines|got none"),
        (TABLE + "p5,x,1,2,3\n", "line 6 must have 4 cells like the first, got 5"),
        (TABLE + "p5,x,NA,2\np6,y,2\n", "must have 4 cells like the first, got 3"),
        (TABLE.replace("sample,class", "sample,klass"), "no such column; did you mean 'klass'"),
        (TABLE.replace(",y,", ",x,"), "'class' must have at least two classes, got only 'x'"),
        (
            TABLE.replace("p4", "p1"),
            "sample names must be unique, got 'p1' more.*pass --groups sample if .*--ignore sample if",
        ),
        (TABLE.replace("p4", "p1").replace("sample", "w"), "sample names must be unique.*--ignore w if"),
        (TABLE.replace("p4", ""), "every sample must have a name, got none for 1 of 4"),
        (TABLE.replace("a,b", "a,a"), "the names in the header must be unique, got 'a' more than once"),
        (TABLE.replace("a,b", "a,"), "every column after the first must have a name, got none for column 4"),
        (
            TABLE.replace("4,5", "low,5"),
            r"got 1 column with text: 'a' \(such as 'low'\); pass --ignore a for each",
        ),
        (
            TABLE.replace("4,5", "inf,5"),
            "must be finite, got 1 infinite, the first at sample 'p2'.*correct them, or pass --ignore for",
        ),
        (TABLE.replace("4,5", "1e999,5"), "must be finite"),
        (TABLE.replace("p2,y", "p2,"), "label in 'class', got 1 of 4 missing .*samples 'p2'"),
        (TABLE.replace("p2,y", "p2,None"), "missing .written 'None'."),
        ("sample,class\np1,x\np2,y\n", "must have columns of numbers besides names and labels, got none"),
        ("class\nx\ny\n", "must have columns of numbers.*--delimiter"),
        ("class,a,b\nx,1,\ny,2,NA\nx,3,\n", "got none in 1 column: 'b'; pass --ignore b"),
        (
            "class,a\nx,1\ny,2\nz,3\nw,4\n",
            "classes with several samples each, got 4 different .*sample names",
        ),
        (NUMBERS.replace("score", "class"), "must hold classes, got 80 different numbers for 100 samples"),
        ("a,class\n" + "".join(f"1,{i % 7}.5\n" for i in range(50)), "got 7 different numbers for 50"),
        (TABLE + '"p5,x,1,2\np6,y,2,2\n', "must have 4 cells like the first, got 1"),
        (
            'a,class\n"' + "1" * 200_000 + ",x\n",
            "cannot be read as a table .*a quotation mark may not be closed",
        ),
        ("#1.2\n2\tx\n", "second line of a GCT file must hold 2 whole numbers"),
        ("#1.2\n2\t2\nName\tDescription\ts1\n", "must have 4 cells as the second line says"),
        ("#1.2\n3\t2\nName\tDescription\ts\tt\ng\td\t1\t2\n", "must hold 3 genes .*got 1"),
        ("#1.2\n1\t2\nName\tDescription\ts\tt\ng\td\t1\tlow\n", "sample 't' must hold numbers, got 'low'"),
        ("#1.2\n2\t2\nName\tDescription\ts\tt\ng\td\t1\t2\ng\td\t1\t2\n", "no such column|unique"),
        ("#1.9\n2\t2\n", "must begin with #1.2 or #1.3, got '#1.9'"),
        ('!Series_title\t"x"\n', "must have a line !series_matrix_table_begin"),
        (
            '!Series_title\t"x"\n!series_matrix_table_begin\n"ID_REF"\t"s"\n!series_matrix_table_end\n',
            "values in supplementary files",
        ),
        (
            '!Sample_title\t"x"\t"y"\n!series_matrix_table_begin\n"ID_REF"\t"s"\n"g"\t1\n!series_matrix_table_end\n',
            "an entry for each of 1 samples, got 2",
        ),
    ],
)
def test_text(tmp_path, text, message):
    (tmp_path / "t.txt").write_text(text)
    check_refusal(message, tmp_path / "t.txt", target="class")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": None}, "name the column with the classes with --target.*It could be 'class'"),
        (
            {"target": "diagnosis"},
            "'diagnosis' that --target names, .*The first are 'sample', 'class'.* as --labels",
        ),
        (
            {"target": "class", "ignore": ["aa"]},
            "--ignore must name columns of the table, but none matches 'aa'.*did you mean 'a'",
        ),
        ({"target": "class", "ignore": ["meta_*"]}, "none matches 'meta_.'; the first are"),
    ],
)
def test_wrong_names(tmp_path, options, message):
    (tmp_path / "t.csv").write_text(TABLE)
    check_refusal(message, tmp_path / "t.csv", **options)


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (
            "id,class\nq1,x\nq2,y\n",
            None,
            r"sample names of .*t\.csv, but none of its columns has any of them\. The first column of t\.csv "
            r"has 'p1', 'p2', 'p3' and 1 more\. The header of t\.csv has 'a', 'b'\. The first column of "
            r"labels\.csv has 'q1', 'q2'\. Make the names equal\.$",
        ),
        (
            "id,class\nP-1,x\nP-2,y\nP-3,x\nP-4,y\n",
            None,
            r"^The first column of t\.csv has 'p1', but labels\.csv has 'P-1': these look like the same "
            r"names, spelt differently\. 4 of 4 match but for case, blanks and punctuation: make them equal, "
            r"or pass --match-names loose$",
        ),
        ("id,class\np1,x\np2,y\n", None, "a label for every sample, got none for 2 of 4: 'p3', 'p4'; "),
        ("id,class\np1,x\np2,y\np1,y\np3,x\np4,x\n", None, "one line per sample, got several for 'p1'"),
        (
            "id,class,sex\np1,x,m\np2,y,f\np3,x,m\np4,y,f\n",
            None,
            "one column besides .*got 2: 'class', 'sex'.*--target",
        ),
        (
            "id,class\np1,x\np2,y\np3,x\np4,y\n",
            "klass",
            "must have the column 'klass' that --target names, got 'class'; did you mean 'class'",
        ),
        (
            "id,class\np1,x\np2,y\np3,x\np4,y\n",
            "dx",
            "'dx' that --target names, got 'class'; rename the one with",
        ),
        (
            "id,class\np1,x\np2,y\n",
            None,
            r"remove these samples from the data \(--ignore leaves them out if samples are in columns\)\.$",
        ),
        ("id,class\np1,x\np2,NA\np3,x\np4,y\n", None, "labels.csv: every sample must have a label .*1 of 4"),
        ("id,class\np1,x\np2,x\np3,x\np4,x\n", None, "at least two classes"),
        ("p1\np2\np3\np4\n", None, "one column besides the sample names, got 0"),
    ],
)
def test_labels_file(tmp_path, text, target, message):
    (tmp_path / "t.csv").write_text(TABLE.replace(",class", "").replace(",x", "").replace(",y", ""))
    (tmp_path / "labels.csv").write_text(text)
    check_refusal(message, tmp_path / "t.csv", target=target, labels=tmp_path / "labels.csv")


def test_messages_in_python_name_arguments(tmp_path):
    path, labels = tmp_path / "t.csv", tmp_path / "labels.csv"
    path.write_text(TABLE)
    with pytest.raises(ValueError, match=r"with target=, or .* labels=\. .*for example target='class'"):
        read_training_study(path, target=None)
    with pytest.raises(ValueError, match=r"ignore= must name .*'a,b'; .* pass ignore=\['a', 'b'\]\.$"):
        read_training_study(path, target="class", ignore=["a,b"])
    with pytest.raises(ValueError, match=r"ReadOptions\(samples=\.\.\.\) must name a column"):
        read_training_study(path, target="class", options=ReadOptions(samples="who"))
    with pytest.raises(ValueError, match=r"column 'ward' that sample_columns= names, in the table"):
        read_training_study(path, target="class", sample_columns=["ward"])
    with pytest.raises(ValueError, match=r"ReadOptions\(labels_sheet=\.\.\.\) needs a workbook"):
        read_training_study(path, target="class", options=ReadOptions(labels_sheet="two"))
    with pytest.raises(ValueError, match=r"a coefficient: pass the others alone as feature_names="):
        read_study_for_model(path, feature_names=["a", "b", "c"], used=["a"])
    path.write_text(TABLE.replace("a,b", "a,a"))
    with pytest.raises(ValueError, match=r"or pass ReadOptions\(duplicates='mean'\) \(or max, or suffix\)"):
        read_training_study(path, target="class")
    path.write_text(TABLE.replace(",class", "").replace(",x", "").replace(",y", "").replace("p", "0."))
    labels.write_text("class\nx\ny\n")
    with pytest.raises(ValueError, match=r"got 2; .* pass ReadOptions\(transpose=True\)\.$"):
        read_training_study(path, target=None, labels=labels)
    path.write_text(TABLE)
    study = read_training_study(path, target="class", options=ReadOptions(sheet="two"))
    assert "ReadOptions(sheet=...) has no effect on .csv files." in study.remarks


def test_a_lack_of_memory_is_not_a_damaged_file():
    with pytest.raises(MemoryError), parsing("t.npz", "NumPy arrays"):
        raise MemoryError
    message = r"t\.npz cannot be read as NumPy arrays \(odd\); it may be damaged"
    with pytest.raises(ValueError, match=message), parsing("t.npz", "NumPy arrays"):
        raise OSError("odd")


def test_repeated_genes_in_rows(tmp_path):
    (tmp_path / "t.csv").write_text("gene,p1,p2,p3,p4\na,1,2,3,4\na,1,2,3,4\nb,1,2,3,4\n")
    (tmp_path / "labels.csv").write_text("id,class\np1,x\np2,y\np3,x\np4,y\n")
    with pytest.raises(
        ValueError,
        match=r"features, here in rows, must be unique, got 'a'.*duplicates='mean'",
    ):
        read_training_study(tmp_path / "t.csv", target=None, labels=tmp_path / "labels.csv")


GENES = "Symbol,Title,PT-001,PT-002,PT-003\nTP53,t,1,2,3\nBRCA1,u,1,2,3\n{},v,1,2,3\nMYC,w,1,2,3\n"
CLINICAL = "patient,class\npt_003,x\npt_001,y\npt_002,x\n"


class TestNamesOfGenesInRows:
    @pytest.fixture
    def paths(self, tmp_path):
        (tmp_path / "genes.csv").write_text(GENES.format("EGFR"))
        (tmp_path / "clinical.csv").write_text(CLINICAL)
        return tmp_path / "genes.csv", tmp_path / "clinical.csv"

    @pytest.mark.parametrize("third", ["EGFR", "TP53", ""])
    def test_header_spelt_otherwise_whether_or_not_genes_are_unique(self, paths, third):
        data, labels = paths
        data.write_text(GENES.format(third))
        for read in (read_training_study, _for_genes):
            with pytest.raises(
                ValueError,
                match=r"^The header of genes\.csv has 'PT-001', but clinical\.csv has 'pt_001': these look "
                r"like the same names, spelt differently\. 3 of 4 match but for case, .*, or pass "
                r"ReadOptions\(match_names='loose'\)$",
            ):
                read(data, target="class", labels=labels)

    def test_numbers_as_names_of_genes(self, paths):
        data, labels = paths
        data.write_text("entrez,PT-001,PT-002\n7157,1,2\n672,1,2\n1956,1,2\n")
        with pytest.raises(ValueError, match=r"^The header of genes\.csv has 'PT-001', but clinical"):
            read_training_study(data, target=None, labels=labels)

    def test_as_the_options_have_it(self, paths):
        data, labels = paths
        cases = {
            r"^genes\.csv has 'PT-001', but clinical\.csv has 'pt_001'": {"transpose": True},
            r"^The column 'Title' of genes\.csv has 't', but clinical\.csv has 'T\.'": {"samples": "Title"},
            r"The first column of genes\.csv has 'TP53', .* The first column of clin": {"transpose": False},
        }
        for message, options in cases.items():
            labels.write_text(CLINICAL if "transpose" in options else "id,class\nT.,x\nU.,y\nV.,x\n")
            ignore = ["Title"] if "transpose" in options else []
            with pytest.raises(ValueError, match=message) as caught:
                read_training_study(
                    data, target=None, labels=labels, ignore=ignore, options=ReadOptions(**options)
                )
            assert "header" not in str(caught.value)

    def test_other_names_with_repeated_genes(self, paths):
        data, labels = paths
        data.write_text(GENES.format("TP53"))
        labels.write_text("id,class\na1,x\na2,y\nmyc,y\n")  # one name alike is chance
        with pytest.raises(
            ValueError,
            match=r"clinical\.csv must have a column with .*The first column of genes\.csv has 'TP53', "
            r"'BRCA1', 'TP53' and 1 more\. The header of genes\.csv has 'Title', 'PT-001', 'PT-002' and 1 "
            r"more\. The first column of clinical\.csv has 'a1', 'a2', 'myc'\.",
        ):
            read_training_study(data, target=None, labels=labels)

    def test_repeated_names_are_never_to_be_ignored(self, paths):
        data, labels = paths
        data.write_text(GENES.format("TP53"))
        with pytest.raises(
            ValueError,
            match=r"'TP53' more than once.*duplicates='mean'. to average the rows .*labels as labels=\.$",
        ):
            read_training_study(data, target="class")
        labels.write_text("id,class\nTP53,x\nBRCA1,y\nMYC,y\n")
        with pytest.raises(
            ValueError,
            match=r"unique, or name another column with ReadOptions\(samples=\.\.\.\)\.$",
        ):
            read_training_study(data, target="class", labels=labels)
        with pytest.raises(
            ValueError,
            match=r"unique, or name another column with ReadOptions\(samples=\.\.\.\)\.$",
        ):
            read_study_for_model(data, feature_names=["PT-001"])

    def test_no_target(self, tmp_path, paths):
        (tmp_path / "t.gct").write_text("#1.2\n1\t2\nName\tDescription\ts\tt\ng\td\t1\t2\n")
        for path in (tmp_path / "t.gct", paths[0]):
            with pytest.raises(ValueError, match="If the labels are in another file, pass it as labels="):
                read_training_study(path, target="class")


def _for_genes(path, *, target, labels):
    return read_study_for_model(path, feature_names=["PIK3CA"], target=target, labels=labels)


def test_no_file_of_a_known_kind(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_training_study(tmp_path / "none.csv", target="class")
    with pytest.raises(ValueError, match="must be a file, got a folder"):
        read_training_study(tmp_path, target="class")
    for name, got in {"t.docx": "'.docx'", "t": "'.none.'", "t.npz.gz": "'.gz'; decompress it first"}.items():
        (tmp_path / name).write_text("x")
        with pytest.raises(ValueError, match=f"must be in a known format, got the extension {got}"):
            read_training_study(tmp_path / name, target="class")
    with pytest.raises(ValueError, match=r"^delimiter must be one character or a word such as tab, got '::'"):
        ReadOptions(delimiter="::")


PARSERS = {"t.parquet": "pyarrow", "t.feather": "pyarrow", "t.h5ad": "anndata"} | dict.fromkeys(
    ["t.xlsx", "t.xls", "t.ods"], "python_calamine"
)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "name",
    ["t.csv", "t.gct", "t.csv.gz", "t.parquet", "t.feather", "t.npy", "t.npz", "t.mat", "t.svm", "t.xlsx",
     "t.xls", "t.ods", "t.h5ad"],
)  # fmt: skip
def test_binary_garbage(tmp_path, name, seed):
    if name in PARSERS:
        pytest.importorskip(PARSERS[name], reason="comes with the extra 'app'")
    (tmp_path / name).write_bytes(random.Random(seed).randbytes(10 + 97 * seed))
    with pytest.raises(ValueError, match=r"cannot be read|must be a text file|not a complete gzip|must hold"):
        read_raw_table(tmp_path / name, ReadOptions())


def write_npz(path):
    np.savez(path, X=np.random.default_rng(0).normal(size=(50, 40)), y=np.arange(50) % 2)


def write_packed(path):
    # Noise does not compress, so that half of the bytes are half of the lines.
    noise = np.random.default_rng(0).normal(size=(500, 5))
    text = "\n".join(["a,b,c,d,e", *(",".join(map(repr, row)) for row in noise.tolist())])
    path.write_bytes(gzip.compress(text.encode()))


def write_parquet(path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas").DataFrame({"a": np.arange(1000.0)}).to_parquet(path)


def write_feather(path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas").DataFrame({"a": np.random.default_rng(0).normal(size=9000)}).to_feather(
        path
    )


def write_mat(path):
    savemat(path, {"X": np.random.default_rng(0).normal(size=(50, 40)), "Y": np.arange(50) % 2})


def write_xlsx(path):
    pytest.importorskip("python_calamine")
    book = pytest.importorskip("openpyxl").Workbook()
    for row in np.random.default_rng(0).normal(size=(50, 4)).tolist():
        book.active.append(row)
    book.save(path)


def write_h5ad(path):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        np.ones((50, 40)), index=[f"p{i}" for i in range(50)], columns=[f"g{i}" for i in range(40)]
    )
    anndata.AnnData(frame).write_h5ad(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv.gz", write_packed),
        ("t.npz", write_npz),
        ("t.parquet", write_parquet),
        ("t.feather", write_feather),
        ("t.mat", write_mat),
        ("t.xlsx", write_xlsx),
        ("t.h5ad", write_h5ad),
    ],
)
def test_cut_off(tmp_path, name, write, share):
    path = tmp_path / name
    write(path)
    read_raw_table(path, ReadOptions())
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"t\..* (cannot be read as|is not a complete gzip file)"):
        read_raw_table(path, ReadOptions())


class Harmful:
    def __reduce__(self):
        return (sys.exit, (1,))


def test_pickles_are_never_loaded(tmp_path):
    np.save(tmp_path / "t.npy", np.array([Harmful()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "t.npz", X=np.eye(2), y=np.array([Harmful(), 1], dtype=object), allow_pickle=True)
    (tmp_path / "p.npy").write_bytes(pickle.dumps(Harmful()))
    for name in ("t.npy", "t.npz", "p.npy"):
        with pytest.raises(ValueError, match="got pickled objects, which are never loaded; save numbers"):
            read_raw_table(tmp_path / name, ReadOptions())


def test_arrays_that_do_not_fit(tmp_path):
    cases = [
        ({"X": np.arange(3.0)}, r"X must be a matrix of real numbers .*got shape \(3,\)"),
        ({"X": np.array([["a", "b"], ["c", "d"]])}, "X must be a matrix of real numbers"),
        ({"X": np.eye(2) * 1j}, "X must be a matrix of real numbers"),
        ({"X": np.empty((0, 3))}, "X must be a matrix of real numbers"),
        ({"X": np.eye(3), "y": np.arange(2)}, "one label for each of 3 rows of X, got 2"),
        ({"X": np.eye(3), "feature_names": ["a"]}, "feature_names must hold 3 names"),
        ({"X": np.eye(3), "sample_names": ["a"]}, "sample_names must hold 3 names"),
        ({"y": np.arange(2)}, "must hold the data as X, got 'y'"),
    ]
    for arrays, message in cases:
        np.savez(tmp_path / "t.npz", **arrays)
        with pytest.raises(ValueError, match=message):
            read_raw_table(tmp_path / "t.npz", ReadOptions())
    np.savez(tmp_path / "t.npz", X=np.eye(4), y=[0, 1, 0, 1], feature_names=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match="names of features must be unique, got 'a'"):
        read_training_study(tmp_path / "t.npz", target=None)
    with pytest.raises(ValueError, match=r"got no such column.*labels of its own, 'y': leave out target="):
        read_training_study(tmp_path / "t.npz", target="class")
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_matrix(np.diag([1, np.inf, 2])))
    with pytest.raises(
        ValueError, match="must be finite, got 1 infinite, the first at sample '2', column 'column_2'"
    ):
        read_study_for_model(tmp_path / "s.npz", feature_names=["column_1", "column_2", "column_3"])


def test_svmlight_that_is_wrong(tmp_path):
    cases = {
        "1 1:2 2:x\n": "cannot be read as svmlight",
        "1 3:2 2:1\n": "cannot be read as svmlight",
        "1 1:2 999999999:1\n": "indices must be at most 10000000, got 999999999",
        "# nothing\n": "must hold lines 'label index:value ...', got none",
    }
    for text, message in cases.items():
        (tmp_path / "t.svm").write_text(text)
        with pytest.raises(ValueError, match=message):
            read_raw_table(tmp_path / "t.svm", ReadOptions())


def test_matlab_of_version_7_3(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.mat", "w", userblock_size=512) as file:
        file["X"] = np.eye(3)
    block = b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM"
    with (tmp_path / "t.mat").open("r+b") as file:
        file.write(block)
    with pytest.raises(ValueError, match=r"version 7\.3, which cannot be read; save it again .*-v7"):
        read_raw_table(tmp_path / "t.mat", ReadOptions())


def test_hdf5_that_is_no_anndata(tmp_path):
    pytest.importorskip("anndata")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["X"] = np.eye(3)
    with pytest.raises(ValueError, match="cannot be read as an AnnData file"):
        read_raw_table(tmp_path / "t.h5ad", ReadOptions())


def test_columns_of_parquet_that_are_no_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    dates = pandas.to_datetime(["2020-01-01", "2020-01-02"] * 2)
    frame = pandas.DataFrame(
        {"class": list("xyxy"), "when": dates, "parts": [[1], [2], [3], [4]], "a": range(4)}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"2 columns with text: 'when' .such as '2020-01-01.*'parts'"):
        read_training_study(tmp_path / "t.parquet", target="class")
    frame.iloc[:0].to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="must hold rows and columns, got 0 x 4"):
        read_raw_table(tmp_path / "t.parquet", ReadOptions())


def test_workbook_of_empty_sheets(tmp_path):
    pytest.importorskip("python_calamine")
    pytest.importorskip("openpyxl").Workbook().save(tmp_path / "t.xlsx")
    with pytest.raises(ValueError, match="must hold a table, got only empty sheets"):
        read_raw_table(tmp_path / "t.xlsx", ReadOptions())


class TestSheetsOfWorkbooks:
    @pytest.fixture
    def path(self, tmp_path):
        pytest.importorskip("python_calamine")
        book = pytest.importorskip("openpyxl").Workbook()
        book.active.title = "Notes"
        for row in (["who", "n"], ["p1", 1], ["p2", 2], ["p3", 3]):
            book.active.append(row)
        for sheet in (book.create_sheet("My data"), book.create_sheet("More")):
            for row in (["a", "class"], [1, "x"], [2, "y"], [3, "x"]):
                sheet.append(row)
        book.save(tmp_path / "t.xlsx")
        return tmp_path / "t.xlsx"

    def test_others_are_named_where_something_is_not_there(self, path, tmp_path):
        others = r" Other sheets: 'My data', 'More' \(.*sheet='My data'\), or .*labels_sheet=.*\)\.$"
        (tmp_path / "l.csv").write_text("id,class\nq1,x\nq2,y\n")
        cases = [
            ("'class' that target= names", {"target": "class"}),
            ("with target=, or a file", {"target": None}),
            ("ignore= must name", {"target": "class", "ignore": ["b"]}),
            (
                r"ReadOptions\(samples=...\) must name",
                {"target": "class", "options": ReadOptions(samples="b")},
            ),
            ("must have a column with the sample names", {"target": "class", "labels": tmp_path / "l.csv"}),
            ("must have columns of numbers", {"target": "n", "ignore": ["who"]}),
            ("features must be numbers", {"target": "n", "options": ReadOptions(samples="n")}),
        ]
        for message, options in cases:
            with pytest.raises(ValueError, match=message + ".*" + others):
                read_training_study(path, **options)
        with pytest.raises(ValueError, match="got none for 1: 'b'.*" + others):
            read_study_for_model(path, feature_names=["b"])
        with pytest.raises(ValueError, match=r"Other sheets: 'Notes', 'My data' \(.*sheet='Notes'\), "):
            read_training_study(path, target="b", options=ReadOptions(sheet="More"))

    def test_others_are_named_for_a_table_turned_over_too(self, path):
        with pytest.raises(
            ValueError, match=r"'class' that target= names.* Other sheets: 'My data', 'More' "
        ):
            read_training_study(path, target="class", options=ReadOptions(transpose=True))

    def test_title_above_the_header(self, path):
        book = pytest.importorskip("openpyxl").load_workbook(path)
        book["Notes"].insert_rows(1, 4)
        book["Notes"]["A3"] = "A study"
        for number, row in enumerate(book["Notes"].iter_rows(min_row=5)):
            row[0].offset(0, 2).value = "class" if not number else "xy"[number % 2]
        book.save(path)
        study = read_training_study(path, target="class")
        assert "Skipped 1 line above the table, a title: 'A study'." in study.remarks
        assert study.feature_names.tolist() == ["n"]


def test_a_package_that_is_not_installed(tmp_path, monkeypatch):
    (tmp_path / "t.parquet").write_text("x")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'needs the package .pyarrow.*pip install "minimaxrisk\[app\]"'):
        read_raw_table(tmp_path / "t.parquet", ReadOptions())


@pytest.mark.parametrize("is_sparse", [False, True])
def test_values_whose_squares_are_infinite(is_sparse, tmp_path):
    X = np.arange(40.0).reshape(10, 4)
    X[3, 2] = -1e300
    y = np.arange(10) % 2
    if is_sparse:
        path = tmp_path / "t.svm"
        dump_svmlight_file(X, y, str(path), zero_based=False)
    else:
        path = tmp_path / "t.npz"
        np.savez(path, X=X, y=y)
    message = r"got 1 beyond it, the first -1e\+300 at sample '4', column 'column_3'; .* value: correct"
    check_refusal(message, path, target=None)


def test_suggested_targets_leave_out_genes(tmp_path):
    rng = np.random.default_rng(0)
    header = ["id", "class", "batch", "ratio", *(f"g{j}" for j in range(5))]
    lines = [
        [f"p{i}", "xy"[i % 2], i % 3, [0.5, 1.5][i % 2], *rng.choice([0.25, 1.75], 5)] for i in range(20)
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(",".join(map(str, line)) for line in [header, *lines]))
    check_refusal(r"It could be 'class' \(x, y\), 'batch' \(0, 1, 2\); for example", path, target=None)
    counts = np.hstack([np.arange(20)[:, None] % 2, rng.integers(0, 4, (20, 30))])
    lines = [[f"p{i}", "xy"[i % 2], *row] for i, row in enumerate(counts.tolist())]
    header = ["id", "class", *(f"g{j}" for j in range(31))]
    path.write_text("\n".join(",".join(map(str, line)) for line in [header, *lines]))
    check_refusal(r"It could be 'class' \(x, y\); for example", path, target=None)


class TestMissingTargetIsToldBeforeTheValuesAreRead:
    NAMES = ("a", "b", "klass2", "d")

    @pytest.fixture
    def frame(self):
        pandas = pytest.importorskip("pandas", reason="comes with the extra 'app'")
        values = np.arange(400.0).reshape(100, 4) / 7.0
        index = pandas.Index([f"p{i}" for i in range(100)], name="id")
        return pandas.DataFrame(values, columns=self.NAMES, index=index).assign(other="x")

    def late_message(self, path, options):
        """What is said after all of the file was read."""
        request = ReadRequest(path, "klass", (), options)
        with pytest.raises(ValueError, match="no such column") as refused:
            find_target(arrange(read_raw_table(path, options), request).raw, request)
        return str(refused.value)

    @pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather", "h5ad"])
    @pytest.mark.parametrize("options", [ReadOptions(), COMMAND])
    def test_the_same_words(self, frame, ending, options, tmp_path):
        path = tmp_path / f"t.{ending}"
        if ending == "h5ad":
            anndata = pytest.importorskip("anndata", reason="comes with the extra 'app'")
            anndata.AnnData(frame[list(self.NAMES)], obs=frame[["other"]]).write_h5ad(path)
        elif ending.startswith("csv"):
            frame.to_csv(path)
        elif ending == "parquet":
            frame.to_parquet(path)
        else:
            frame.reset_index().to_feather(path)
        with pytest.raises(ValueError, match="did you mean 'klass2'") as refused:
            read_training_study(path, target="klass", options=options)
        assert str(refused.value) == self.late_message(path, options)

    def test_text(self, tmp_path):
        """The last line is broken, and is not what is complained of."""
        path = tmp_path / "t.csv"
        lines = [f"p{i},x,1.5,2.5" for i in range(500)]
        path.write_text("\n".join(["id,class,a,b", *lines, "p,x,1"]))
        check_refusal("no such column; did you mean 'class'", path, target="klass")
        check_refusal("line 502 must have 4 cells", path, target="class")
        # A target in rows is found there.
        genes = ["gene,p1,p2,p3,p4,p5,p6", "g1,1,2,3,4,5,6", "g2,2,3,4,5,6,8", "kind,x,y,x,y,x,y"]
        path.write_text("\n".join(genes))
        assert read_training_study(path, target="kind").y.tolist() == ["x", "y"] * 3

    def test_parquet(self, frame, tmp_path):
        parquet = pytest.importorskip("pyarrow.parquet", reason="comes with the extra 'app'")
        path = tmp_path / "t.parquet"
        frame.to_parquet(path)
        at = parquet.ParquetFile(path).metadata.row_group(0).column(1).data_page_offset
        content = bytearray(path.read_bytes())
        content[at : at + 60] = b"\xff" * 60
        path.write_bytes(content)
        check_refusal("no such column; did you mean 'klass2'", path, target="klass")
        check_refusal("cannot be read as a Parquet file", path, target="other")

    def test_h5ad(self, frame, tmp_path):
        anndata = pytest.importorskip("anndata", reason="comes with the extra 'app'")
        h5py = pytest.importorskip("h5py", reason="comes with the extra 'app'")
        path = tmp_path / "t.h5ad"
        anndata.AnnData(frame[list(self.NAMES)], obs=frame[["other"]]).write_h5ad(path)
        with h5py.File(path, "r+") as file:
            file["X"].attrs["encoding-type"] = "unheard of"
        check_refusal("no such column; did you mean 'klass2'", path, target="klass")
        check_refusal("cannot be read as an AnnData file", path, target="other")
