"""Users' data files that are damaged, or not what is needed: each has a message, and no other exception."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import pickle
import random
import sys
from itertools import count

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk.app.files import ReadOptions, read_training_study
from minimaxrisk.app.files.messages import COMMAND_LINE, parsing
from minimaxrisk.app.files.read_study import read_raw_table
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
OTHERS = r".* Other sheets: 'My data', 'More' \(--sheet \"My data\", or --labels-sheet .*\)\.$"

# The file or files, what is asked of them, and what is said.
REFUSED = [
    # Lines and cells.
    ("", {}, "must hold a table, got an empty file"),
    ("\n \n\n", {}, "must hold a table, got an empty file"),
    (",,\n,,\n", {}, "got only blank lines"),
    ("# c\n# d\n", {}, "got only blank lines|got none"),
    ("sample,class,a\n", {}, "lines of values below its header, got only the header; .*--no-header"),
    (TABLE + "p5,x,1\n", {}, r"t\.csv: line 6 must have 4 cells like the first, got 3; .*--delimiter.*\.$"),
    ("# two\n\n" + TABLE + "p5,x,1\n", {}, "line 8 must have 4 cells like the first, got 3"),
    ('sample,class,a\n"p\n1",x,1\np2,y\n', {}, "line 4 must have 3 cells like the first, got 2"),
    ("class\nx\ny,1\nx\n", {}, "line 3 must have 1 cell like the first, got 2"),
    (TABLE + "p5,x,1,2,3\n", {}, "line 6 must have 4 cells like the first, got 5"),
    (TABLE + "p5,x,NA,2\np6,y,2\n", {}, "line 7 must have 4 cells like the first, got 3"),
    (TABLE + '"p5,x,1,2\np6,y,2,2\n', {}, "must have 4 cells like the first, got 1"),
    (
        'a,class\n"' + "1" * 200_000 + ",x\n",
        {},
        "cannot be read as a table .*a quotation mark may not be closed",
    ),
    (
        "a,b\n" + TABLE.replace(",", ",0,"),
        {},
        r"^[^ ]*t\.csv: line 1 has 2 cells and line 2 has 7\. If .*, pass --skip-lines 1\.$",
    ),
    ("# c\nA study\na,b\n" + TABLE.replace(",", ",0,"), {}, "line 3 has 2 cells and line 4 has 7"),
    (
        "sample,class,a,b,c,d,e,f,a,b,c,d,e,f\np1,x" + ",1" * 12 + "\np2,y" + ",2" * 12,
        {},
        "got these more than once among 14: 'a', 'b', 'c', 'd', 'e' and 1 more; ",
    ),
    (TABLE.replace("a,b", "a,a"), {}, "names in the header must be unique.*: 'a'.*--duplicates mean"),
    (TABLE.replace("a,b", "a,"), {}, "every column after the first must have a name, got none for column 4"),
    (bytes(range(256)) * 40, {}, "must be a text file, got binary content; give it the extension"),
    ({"t.docx": "x"}, {}, "the extension '.docx', which is not read; save the table as CSV"),
    ({"t": "x"}, {}, "the extension '.none.', which is not read"),
    ({"t.csv": bz2.compress(b"a,b")}, {}, "is packed with bzip2; unpack it"),
    ({"t.csv.xz": lzma.compress(b"a,b")}, {}, "the extension '.xz', which is not read; unpack"),
    ({"t.npz.gz": "x"}, {}, "the extension '.gz', which is not read; unpack"),
    # Numbers.
    (TABLE.replace("4,5", "low,5"), {}, r"text: 'a' \(such as 'low' in 1 of 4 cells\); pass --ignore a for"),
    (
        TABLE.replace("4,5", "<0.5,5"),
        {},
        "'<0.5' seems to be beyond a limit of detection: write a number for",
    ),
    (
        TABLE.replace("4,5", "4,n/d"),
        {},
        r"\(such as 'n/d' in 1 of 4 .*\. Empty a cell where nothing was measured\.",
    ),
    (TABLE.replace("4,5", "4,LOD"), {}, "'LOD' seems to be beyond a limit of detection"),
    (
        "sample,class,hospital,a\np1,x,north,1\np2,y,south,2\np3,x,north,3\n",
        {},
        r"'hospital' .*pass --ignore hospital for .*; pass --batch hospital if that column tells which",
    ),
    (
        late(400, "p400,x,1_0,high,NA"),
        {},
        r"2 columns with text: 'a' \(such as '1_0' in 1 of 500 cells\), 'b' .*'high' in 1 of",
    ),
    (late(450, "p450,x,1_0,2,3"), {}, r"1 column with text: 'a' \(such as '1_0' in 1 of"),
    (TABLE.replace("4,5", "inf,5"), {}, "finite, got 1 infinite, the first at sample 'p2'.*or pass --ignore"),
    (TABLE.replace("4,5", "1e999,5"), {}, "must be finite"),
    (TABLE.replace("4,5", "inf,5"), {"features": ["a"]}, r"infinite, .*common cause: correct them\.$"),
    ("class,a,b\nx,1,\ny,2,NA\nx,3,\n", {}, "got none in 1 column: 'b'; pass --ignore b"),
    ("class;a;b\nx;1,5;2\ny;2,5;3.25\n", {}, r"the same way, got both '1,5' and '3\.25'.*decimal point"),
    ("class;a\nx;1,234\ny;5,678\n", {}, r"such as '1,234'.*'1,234' may be 1234 or 1\.234"),
    ("class;a\nx;1\ny;#DIV/0!\n", {}, "'#DIV/0!' is what a spreadsheet shows where a formula failed"),
    (
        pair("gene;p1;p2;p3;p4\na;1,100;2,101;3,102;4,103\n", LABELS),
        {},
        r"columns of text .*'1,100' may be 1100 or 1\.100: export the table",
    ),
    ("sample,class\np1,x\np2,y\n", {}, "must have columns of numbers besides names and labels, got none"),
    ("class\nx\ny\n", {}, "must have columns of numbers.*--delimiter"),
    # The target and its classes.
    (TABLE.replace("sample,class", "sample,klass"), {}, "no such column; did you mean 'klass'"),
    (TABLE.replace(",y,", ",x,"), {}, "'class' must have at least two classes, got only 'x'"),
    (
        TABLE.replace("p2,y", "p2,"),
        {},
        r"label in 'class', got 1 of 4 missing .*for the sample 'p2'; complete it, or remove this sample",
    ),
    (TABLE.replace(",y", ","), {}, "got 2 of 4 .*for the samples 'p2', 'p4'; complete them, or remove these"),
    (
        TABLE.replace("p2,y", "p2,none"),
        {},
        "got 1 of 4 .*'p2'; if 'none' is a class, write another word; if not, complete it, or remove this",
    ),
    # A cell that is empty is no class.
    (TABLE.replace("p2,y", "p2,"), {"target": None}, r"It could be 'class' \(x, y\); for example"),
    (TABLE.replace(",y", ","), {"target": None}, "No column looks like classes"),
    (
        "\n".join(["who,class,a", *(f"p{i},{['', '0', '1'][i % 3]},{i}.5" for i in range(9))]),
        {"target": None},
        r"It could be 'class' \(0, 1\);",
    ),
    # What there is to tell apart comes before names that repeat, and these are no classes.
    (
        TABLE.replace("sample", "patient_id").replace("p4", "p3").replace("p2", "p1"),
        {"target": None},
        r"It could be 'class' \(x, y\); for example --target class",
    ),
    (TABLE.replace("p2,y", "p2,None"), {}, "missing .written 'None'."),
    ("class,a\nx,1\ny,2\nz,3\nw,4\n", {}, "with several samples each, got 4 different .*sample names"),
    (NUMBERS, {"target": "score"}, "must hold classes, got 80 different numbers for 100 samples"),
    ("a,class\n" + "".join(f"1,{i % 7}.5\n" for i in range(50)), {}, "got 7 different numbers for 50"),
    (TABLE, {"target": None}, r"classes with --target, or .*It could be 'class' \(x, y\); for example"),
    (TABLE, {"target": "dx"}, "'dx' that --target names, .*The first are 'sample', 'class'.* as --labels"),
    (TABLE, {"ignore": ["aa"]}, "--ignore must name columns .* none matches 'aa'.*did you mean 'a'"),
    (TABLE, {"ignore": ["meta_*"]}, "none matches 'meta_.'; the first are"),
    (TABLE, {"ignore": ["a, b"]}, r"for several columns pass --ignore a --ignore b\."),
    (TABLE, {"samples": "samle"}, "--samples must name a column .* no 'samle'; did you mean 'sample'"),
    (TABLE, {"sample_columns": ["ward"]}, "column 'ward' that --groups or --batch names, in the table or"),
    (
        TABLE.replace("1,2", ",2"),
        {"sample_columns": ["a"]},
        "an entry in 'a', .*for the sample 'p1'; complete it",
    ),
    (TABLE, {"labels_sheet": "two"}, "--labels-sheet needs a workbook"),
    # Names of samples.
    (TABLE.replace("p4", "p1"), {}, "must be unique.*: 'p1'.*--groups sample if .*--ignore sample if"),
    (TABLE.replace("p4", "p1").replace("sample", "w"), {}, "sample names must be unique.*--ignore w if"),
    (TABLE.replace("p4", ""), {}, "every sample must have a name, got none for 1 of 4"),
    ("a,class,who\n1.5,x,p1\n2,y,p2\n3,x,p3\n", {}, "--ignore who .*; pass --samples who if that column"),
    (
        GENES.format("TP53"),
        {},
        r"more than once among 4: 'TP53'.*--duplicates mean to average the rows .*labels as --labels\.$",
    ),
    (GENES.format("TP53"), {"features": ["PT-001"]}, r"unique, or name another column with --samples\.$"),
    # Labels in another file.
    (
        pair(UNLABELLED, "id,class\nq1,x\nq2,y\n"),
        {},
        r"sample names of .*t\.csv, but none of its columns has any of them\. The first column of t\.csv "
        r"has 'p1', 'p2', 'p3' and 1 more\. The header of t\.csv has 'a', 'b'\. The first column of "
        r"l\.csv has 'q1', 'q2'\. Make the names equal\.$",
    ),
    (
        pair(UNLABELLED, LABELS.replace("p", "P-")),
        {},
        r"^The first column of t\.csv has 'p1', but l\.csv has 'P-1': these look like the same names, spelt "
        r"differently\. 4 of 4 match but for case, .*: make them equal, or pass --match-names loose$",
    ),
    (
        pair(UNLABELLED, "id,class\np1,x\np2,y\n"),
        {},
        r"none for 2 of 4: 'p3', 'p4'; .*the data \(--ignore leaves them out if samples are in columns\)\.$",
    ),
    (pair(UNLABELLED, LABELS + "p1,y\n"), {}, "one line per sample, got several for 'p1'"),
    (
        pair(UNLABELLED, LABELS.replace("\n", ",m\n").replace("class,m", "class,sex")),
        {},
        "one column besides .*got 2: 'class', 'sex'.*--target",
    ),
    (
        pair(UNLABELLED, LABELS),
        {"target": "klass"},
        "must have the column 'klass' that --target names, got 'class'; did you mean 'class'",
    ),
    (pair(UNLABELLED, LABELS), {"target": "dx"}, "names, got 'class'; rename the one with"),
    (pair(UNLABELLED, LABELS.replace("2,y", "2,NA")), {}, "l.csv: every sample .*1 of 4"),
    (pair(UNLABELLED, LABELS.replace("y", "x")), {}, "at least two classes"),
    (pair(UNLABELLED, "p1\np2\np3\np4\n"), {}, "one column besides .*, got 0"),
    (pair(UNLABELLED.replace("p", "0."), "c\nx\ny\n"), {}, r"4 labels.*got 2; .*--transpose\.$"),
    (pair("mrn,a\n7,1\n9,2\n", "mrn,c\n9,x\n7,y\n"), {}, "joined by .*'mrn'.* --samples mrn;"),
    (pair("pid,a\n7,1\n9,2\n", "no,c\n9,x\n7,y\n"), {}, "names the samples, pass --samples pid"),
    (
        pair(UNLABELLED, "u,v,class\np4,p2,x\np3,p1,y\np2,p4,x\np1,p3,y\n"),
        {"target": "class"},
        "got 'u', 'v', which match them equally well; rename the right one to 'sample'",
    ),
    # Genes in rows.
    (
        pair(TURNED + "a,1,2,3,4\n", LABELS),
        {},
        "features, here in rows, must be unique.*: 'a'.*--duplicates mean",
    ),
    *(
        (
            pair(GENES.format(third), CLINICAL),
            asked,
            r"^The header of t\.csv has 'PT-001', but l\.csv has 'pt_001': these look like the same names, "
            r"spelt differently\. 3 of 4 match but for case, .*, or pass --match-names loose$",
        )
        for third in ("EGFR", "TP53", "")
        for asked in ({}, {"features": ["PIK3CA"]})
    ),
    (
        pair("entrez,PT-001,PT-002\n7157,1,2\n672,1,2\n1956,1,2\n", CLINICAL),
        {},
        r"^The header of t\.csv has 'PT-001', but l",
    ),
    (
        pair(GENES.format("EGFR"), CLINICAL),
        {"transpose": True, "ignore": ["Title"]},
        r"^t\.csv has 'PT-001', but l\.csv has 'pt_001'",
    ),
    (
        pair(GENES.format("EGFR"), CLINICAL),
        {"transpose": False, "ignore": ["Title"]},
        r"The first column of t\.csv has 'TP53', 'BRCA1', 'EGFR' and 1 more\. The first column of l",
    ),
    (
        # One name alike is chance.
        pair(GENES.format("TP53"), "id,class\na1,x\na2,y\nmyc,y\n"),
        {},
        r"l\.csv must have a column with .*The first column of t\.csv has 'TP53', 'BRCA1', 'TP53' and 1 "
        r"more\. The header of t\.csv has 'Title', 'PT-001', 'PT-002' and 1 more\. The first column of l",
    ),
    (
        {"t.csv": ABOUT_GENES, "l.csv": LABELS},
        {},
        r"left out, got columns of text 's' \(1\); pass --ignore s and the like",
    ),
    (ABOUT_GENES, {"features": ["a"]}, r"columns of text 's' \(1\); remove them\.$"),
    (TURNED + "class,x,y,x,y\n", {"transpose": False}, "got only text in the rows 'class'; .*--transpose"),
    (TURNED + "class,x,y,x,y\n" * 2, {}, "rows of text must have different names .* 'class', 'class'"),
    (
        "\n".join(["gene,p1,p2,p3", *(f"g{i},{i},2,4" for i in range(30))]),
        {},
        "'class' that --target names.*30 rows and 4 columns.*--transpose",
    ),
    # A model's columns.
    (
        TABLE,
        {"features": ["a", "BB"]},
        r"the 2 columns of the model, got none for 1: 'BB'; did you mean 'b'\? Add them, or fit a model "
        r"without them \(fit --ignore BB\) if they cannot be measured\.$",
    ),
    # A column that the model has already is not meant.
    (TABLE, {"features": ["a", "b", "BB"]}, "got none for 1: 'BB'; add them, or fit a model without"),
    (TABLE, {"features": ["TP53"]}, "the 1 column of the model, got none for 1: 'TP53'; add them, or fit"),
    (TABLE, {"features": ["a", "class"]}, "with text: 'class' .*; the model needs their numbers: correct"),
    (TABLE, {"features": ["a", "c"], "used": ["a"]}, "a coefficient: pass --only-used to do without them"),
    (TABLE, {"features": ["a"], "ignore": ["a"]}, "--ignore cannot leave out a feature .*, got 'a'"),
    (TABLE.replace("p2,y", "p2,?"), {"features": ["a"], **NEEDED}, "got 1 of 4"),
    (TABLE, {"features": ["a"], **NEEDED, "target": "klass"}, "the model's target 'klass', got no"),
    (TABLE, {"features": ["a"], **NEEDED, "target": "a"}, "has no labels; name the file .*--labels"),
    (
        pair(TABLE, LABELS),
        {"features": ["a"], "target": "klass"},
        r"l\.csv must have the model's target 'klass', got 'class'; ",
    ),
    (
        pair(TABLE, LABELS.replace("\n", ",1\n").replace("class,1", "class,age")),
        {"features": ["a"]},
        r"got 2: 'class', 'age'; keep only the one with the labels\.$",
    ),
    (pair(TABLE, "who,class\np1,x\n"), {"features": ["a"]}, r"or remove these samples from the data\.$"),
    (
        EYE,
        {"features": ["column_1", "column_2"]},
        r"the 2 columns of the model and no others, .*by position; got 1 more: .*remove them",
    ),
    (
        EYE,
        {"features": [f"column_{j}" for j in range(1, 5)]},
        "got none for 1: 'column_4'; columns without names are matched by",
    ),
    # GCT files and series matrices of GEO.
    ("#1.2\n2\tx\n", {}, "second line of a GCT file must hold 2 whole numbers"),
    ("#1.2\n2\t2\nName\tDescription\ts1\n", {}, "must have 4 cells as the second line says"),
    ("#1.2\n3\t2\nName\tDescription\ts\tt\ng\td\t1\t2\n", {}, "must hold 3 genes .*got 1"),
    ("#1.2\n1\t2\nName\tDescription\ts\tt\ng\td\t1\tlow\n", {}, "'t' must hold numbers, got 'low'"),
    ("#1.2\n2\t2\nName\tDescription\ts\tt\ng\td\t1\t2\ng\td\t1\t2\n", {}, "no such column|unique"),
    ("#1.9\n2\t2\n", {}, "must begin with #1.2 or #1.3, got '#1.9'"),
    ("#1.2\n1\t2\nName\tDescription\ts\tt\ng\td\t1\t2\n", {}, "are in another file, pass it as --labels"),
    ('!Series_title\t"x"\n', {}, "must have a line !series_matrix_table_begin"),
    ('!Series_title\t"x"\n' + GEO.format('"ID_REF"\t"s"\n'), {}, "values in supplementary files"),
    ('!Sample_title\t"x"\t"y"\n' + GEO.format('"ID_REF"\t"s"\n"g"\t1\n'), {}, "each of 1 samples, got 2"),
    # Arrays.
    (arrays(X=np.arange(3.0)), {}, r"X must be a matrix of real numbers .*got shape \(3,\)"),
    (arrays(X=np.array([["a", "b"], ["c", "d"]])), {}, "X must be a matrix of real numbers"),
    (arrays(X=np.eye(2) * 1j), {}, "X must be a matrix of real numbers"),
    (arrays(X=np.empty((0, 3))), {}, "X must be a matrix of real numbers"),
    (arrays(X=np.eye(3), y=np.arange(2)), {}, "one label for each of 3 rows of X, got 2"),
    (arrays(X=np.eye(3), feature_names=["a"]), {}, "feature_names must hold 3 names"),
    (arrays(X=np.eye(3), sample_names=["a"]), {}, "sample_names must hold 3 names"),
    (arrays(y=np.arange(2)), {}, "must hold the data as X, got 'y'"),
    (arrays(u=np.eye(3), v=np.eye(3)), {"layer": "w"}, "variable 'w' that --layer names, got 'u', 'v'"),
    (arrays(X=np.eye(4), y=[0, 1, 0, 1]), {}, "no such column.*labels of its own, 'y': leave out --target"),
    (
        arrays(X=np.eye(4), y=[0, 1, 0, 1], feature_names=["a", "b", "a", "c"]),
        {"target": None},
        "names of features must be unique.*: 'a'",
    ),
    (
        arrays(X=[[0, 1], [1, 2], [-1e300, 2]], y=[0, 1, 0]),
        {"target": None},
        r"got 1 beyond it, the first -1e\+300 at sample '3', column 'column_1'; .* value: correct",
    ),
    (
        {"t.npz": lambda path: sparse.save_npz(path, sparse.diags_array([1.0, np.inf, 2.0], format="csr"))},
        {"features": ["column_1", "column_2", "column_3"]},
        "must be finite, got 1 infinite, the first at sample '2', column 'column_2'",
    ),
    (
        {
            "t.npz": lambda path: sparse.save_npz(path, sparse.csr_array([[np.nan, 1], [np.nan, 2]])),
            "l.csv": "class\nx\ny\n",
        },
        {},
        "every feature must have values, got none in 1 column: 'column_1'",
    ),
    ({"t.npz": "a,b\n1,2\n"}, {}, "does not begin like an .npz file"),
    # svmlight.
    ({"t.svm": "1 1:2 2:x\n"}, {}, "cannot be read as svmlight"),
    ({"t.svm": "1 3:2 2:1\n"}, {}, "cannot be read as svmlight"),
    ({"t.svm": "1 1:2 999999999:1\n"}, {}, "at most 10000000 rows and as many columns, got 1 x 1000000000"),
    ({"t.svm": "# nothing\n"}, {}, "must hold lines 'label index:value ...', got none"),
    ({"t.svm": "1 1:2\n0 1:-1e300\n"}, {"target": None}, "beyond it, the first -1e.300 at sample '2'"),
    # Workbooks.
    (sheets([], []), {}, "must hold a table, got only empty sheets"),
    (BOOK, {"sheet": "Mor"}, "sheet 'Mor' that --sheet names, got .*; did you mean 'More'"),
    (BOOK | {"l.xlsx": BOOK["t.xlsx"]}, {"labels_sheet": "Mor"}, "sheet 'Mor' that --sheet names"),
    (BOOK, {}, "'class' that --target names" + OTHERS),
    (BOOK, {"target": None}, "with --target, or a file" + OTHERS),
    (BOOK, {"ignore": ["b"]}, "--ignore must name" + OTHERS),
    (BOOK, {"samples": "b"}, "--samples must name" + OTHERS),
    (BOOK | {"l.csv": LABELS.replace("p", "q")}, {}, "a column with the sample names" + OTHERS),
    (BOOK, {"target": "n", "ignore": ["who"]}, "must have columns of numbers" + OTHERS),
    (BOOK, {"target": "n", "samples": "n"}, "features must be numbers" + OTHERS),
    (BOOK, {"features": ["b"]}, "got none for 1: 'b'" + OTHERS),
    (BOOK, {"transpose": True}, "'class' that --target names" + OTHERS),
    (BOOK, {"target": "b", "sheet": "More"}, "Other sheets: 'one', 'My data' .--sheet one, "),
]


@pytest.mark.parametrize(("files", "asked", "message"), REFUSED, ids=count())
def test_what_is_said(tmp_path, files, asked, message):
    """At the command line; in Python no message names an option of the command line."""
    with pytest.raises(ValueError, match=message):
        read(tmp_path, files, **asked, spelling=COMMAND_LINE)
    with pytest.raises(ValueError, match=r".") as refused:
        read(tmp_path, files, **asked)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        (TABLE, {"target": None}, r"with target=, or .* labels=\. .*for example target='class'"),
        (TABLE, {"ignore": ["a,b"]}, r"ignore= must name .*'a,b'; .* pass ignore=\['a', 'b'\]\.$"),
        (TABLE, {"samples": "who"}, r"ReadOptions\(samples=\.\.\.\) must name a column"),
        (TABLE, {"sample_columns": ["ward"]}, "column 'ward' that sample_columns= names, in the table"),
        (TABLE, {"features": ["a", "c"], "used": ["a"]}, "pass the others alone as feature_names="),
        (TABLE.replace("a,b", "a,a"), {}, r"pass ReadOptions\(duplicates='mean'\) \(or max\)"),
    ],
)
def test_messages_in_python_name_arguments(tmp_path, text, asked, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, **asked)


def test_options_that_a_format_does_not_have_are_told(tmp_path):
    remarks = read(tmp_path, TABLE, sheet="S", layer="L").remarks
    for name in ("sheet", "layer"):
        assert f"ReadOptions({name}=...) has no effect on .csv files." in remarks
    with pytest.raises(ValueError, match=r"^delimiter must be one character or a word such as tab, got '::'"):
        ReadOptions(delimiter="::")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_training_study(tmp_path / "none.csv", target="class")
    with pytest.raises(ValueError, match="must be a file, got a folder"):
        read_training_study(tmp_path, target="class")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="got a pipe or device; save it to a file first"):
        read_raw_table(tmp_path / "pipe.csv", ReadOptions())


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
    read_raw_table(path, ReadOptions())
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"t\..* (cannot be read as|is not a complete gzip file)"):
        read_raw_table(path, ReadOptions())


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", [*WHOLE, "t.csv", "t.gct", "t.svm"])
def test_binary_garbage(tmp_path, name, seed):
    (tmp_path / name).write_bytes(random.Random(seed).randbytes(10 + 97 * seed))
    with pytest.raises(ValueError, match=r"cannot be read|must be a text file|not a complete gzip|must hold"):
        read_raw_table(tmp_path / name, ReadOptions())


class Harmful:
    def __reduce__(self):
        return (sys.exit, (1,))


def test_pickles_are_never_loaded(tmp_path):
    harmful = np.array([Harmful(), 1], dtype=object)
    with pytest.raises(ValueError, match=r"pickled objects are never loaded: .* names as arrays"):
        read(tmp_path, arrays(X=np.eye(2), y=harmful))
    with pytest.raises(ValueError, match=r"does not begin like an \.npz file"):
        read(tmp_path, {"t.npz": pickle.dumps(Harmful())})


def test_hdf5_that_is_no_anndata(tmp_path):
    pytest.importorskip("anndata", reason="comes with the extra 'app'")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["X"] = np.eye(3)
    with pytest.raises(ValueError, match="cannot be read as an AnnData file"):
        read_raw_table(tmp_path / "t.h5ad", ReadOptions())


def test_columns_of_parquet_that_are_no_numbers(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="comes with the extra 'app'")
    dates = pandas.to_datetime(["2020-01-01", "2020-01-02"] * 2)
    table = pandas.DataFrame({"class": list("xyxy"), "when": dates, "parts": [[1]] * 4, "a": range(4)})
    with pytest.raises(ValueError, match=r"2 columns with text: 'when' .such as '2020-01-01.*'parts'"):
        read(tmp_path, {"t.parquet": table.to_parquet})
    with pytest.raises(ValueError, match="must hold rows and columns, got 0 x 4"):
        read(tmp_path, {"t.parquet": table.iloc[:0].to_parquet})


def test_a_package_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'needs the package .pyarrow.*pip install "minimaxrisk\[app\]"'):
        read(tmp_path, {"t.parquet": "x"})


def test_suggested_targets_leave_out_genes(tmp_path):
    rng = np.random.default_rng(0)
    header = "id,class,batch,ratio,g1,g2"
    rows = [f"p{i},{'xy'[i % 2]},{i % 3},{[0.5, 1.5][i % 2]},0.25,{i % 2 + 0.75}" for i in range(20)]
    with pytest.raises(ValueError, match=r"It could be 'class' \(x, y\), 'batch' \(0, 1, 2\); for example"):
        read(tmp_path, "\n".join([header, *rows]), target=None)
    # Many columns of few whole numbers are counts of genes.
    counts = rng.integers(0, 4, (20, 31)).tolist()
    rows = [f"p{i},{'xy'[i % 2]},{','.join(map(str, row))}" for i, row in enumerate(counts)]
    header = ",".join(["id", "class", *(f"g{j}" for j in range(31))])
    with pytest.raises(ValueError, match=r"It could be 'class' \(x, y\); for example"):
        read(tmp_path, "\n".join([header, *rows]), target=None)
