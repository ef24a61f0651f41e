"""What becomes names, labels and features of a user's data file, and what the user is told about it.

In many of these files a careless guess would give wrong labels, names or features without a word.
"""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from minimaxrisk.app.files import ReadOptions, read_training_study, refuse_missing
from minimaxrisk.app.files.features import without_duplicates
from tests.reading import read

TABLE = "sample,class,a,b,c\np1,x,1,2,3.5\np2,y,4,5,6\np3,x,7,8,9\np4,y,0,1,2\n"
UNLABELLED = TABLE.replace(",class", "").replace(",x", "").replace(",y", "")
GENES = "gene,p1,p2,p3,p4\na,1,4,7,0\nb,2,5,8,1\nc,3.5,6,9,2\n"
ABOUT_GENES = "gene,s,p1,p2,p3,p4\na,u,1,4,7,0\nb,v,2,5,8,1\nc,w,3.5,6,9,2\n"
LABELS = "who,age,class\np4,50,y\np9,20,y\np2,30,y\np1,40,x\np3,60,x\n"
X = np.array([[1, 2, 3.5], [4, 5, 6], [7, 8, 9], [0, 1, 2]])
XY = ["x", "y", "x", "y"]
P = ["p1", "p2", "p3", "p4"]
STUDY = {"X": X.tolist(), "features": ["a", "b", "c"], "samples": P, "y": XY}
IDS = [str(i) for i in range(1, 13)]
ABC = ["a", "b", "c"]
COLUMNS = ["column_1", "column_2", "column_3"]
ARRAY = {"t.npz": lambda path: np.savez(path, X=X)}


def numbered(name="id", ids=IDS):
    """Data whose samples have numbers for names."""
    return "\n".join([f"{name},a,b", *(f"{i},{n * 7 % 5}.5,0.25" for n, i in enumerate(ids))])


def table(header, *columns):
    return "\n".join([header, *(",".join(map(str, row)) for row in zip(*columns, strict=True))])


ILL = ["ill" if i % 3 == 0 else "well" for i in range(12)]
FAR = [str(700 + 7 * i) for i in range(12)]  # names that do not count the lines
ZEROS = [f"{i:03d}" for i in range(12)]
ORDER = np.random.default_rng(1).permutation(12)


def pair(data, labels):
    return {"t.csv": data, "l.csv": labels}


def model(*names, **asked):
    return {"features": list(names), **asked}


# The file or files, what is asked of them, what comes out, and the codes of remarks.
READ = [
    # Names of samples.
    (TABLE.replace("sample", "whatever"), {}, STUDY, ["first-column"]),
    *(
        (
            f"{header},class,a\n007,x,1\n12345678901234567890,y,4\n1.50,x,7\n8,y,0\n",
            {},
            {"samples": ["007", "12345678901234567890", "1.50", "8"], "X": [[1], [4], [7], [0]]},
            [],
        )
        for header in ("", "id", "Unnamed: 0", "Sample")
    ),
    ("a,class\n1,x\n2,y\n3,x\n4,y\n", {}, {"features": ["a"], "named": False}, []),
    (table("a,class,who", [1.5, 2, 3, 4], XY, P), {"samples": "who"}, {"samples": P, "features": ["a"]}, []),
    (
        "1,5,x\n2,6,y\n3,7,x\n4,6,y\n5,5,y\n",
        {"target": "column_3", "header": False},
        {"features": ["column_2"], "samples": ["1", "2", "3", "4", "5"]},
        ["no-header"],
    ),
    (
        "code,class,a\n007,x,1\n008,y,2\n009,x,4\n010,y,5\n",
        {"samples": "code"},
        {"samples": ["007", "008", "009", "010"], "features": ["a"]},
        [],
    ),
    ("id,a\nx,1\ny,2\nx,3\ny,4\n", {"target": "id"}, {"y": XY}, []),
    (TABLE, {"ignore": ["sample"]}, {"named": False}, []),
    # The target, and columns that are no features.
    ("g,y\n1,1.0\n2,-1\n3,+1\n5,-1\n", {"target": "y"}, {"y": [1, -1, 1, -1]}, []),
    ("g,y\n1,0.5\n2,1.5\n3,0.5\n5,1.5\n", {"target": "y"}, {"y": ["0.5", "1.5", "0.5", "1.5"]}, []),
    (table("a,class", range(6), ["01", "1", "2"] * 2), {}, {"y": ["01", "1", "2"] * 2}, []),
    (table("a,class", range(6), ["001", "002", "002"] * 2), {}, {"y": ["001", "002", "002"] * 2}, []),
    (table("a,class", range(4), [10**19, 10**19 + 1] * 2), {}, {"y": [str(10**19), str(10**19 + 1)] * 2}, []),
    (table("a,class", range(4), ["0.5", "1.0"] * 2), {}, {"y": ["0.5", "1"] * 2}, []),
    (table("a,class", range(4), ["TRUE", "FALSE"] * 2), {}, {"y": ["True", "False"] * 2}, []),
    (
        "\n".join(
            line + end for line, end in zip(TABLE.split(), [",m_1,m_2,[x]", *[",u,2,w"] * 4], strict=True)
        ),
        {"ignore": ["m_*", "[x]"]},
        STUDY,
        [],
    ),
    (
        "id,b,a,class\nu,TRUE,1,x\nv,FALSE,2,y\nw,TRUE,NA,x\nz,FALSE,3,y\n",
        {},
        {"features": ["a", "b"], "X": [[1, 1], [2, 0], [np.nan, 1], [3, 0]]},
        ["true-and-false"],
    ),
    # Labels in another file.
    (pair(UNLABELLED, LABELS), {"target": "class"}, STUDY, ["joined", "unused-labels"]),
    ({"t.csv": UNLABELLED, "l.tsv": "p3,x\np2,y\np1,x\np4,y\n"}, {}, STUDY | {"target": "label"}, []),
    *(
        ({**ARRAY, "l.csv": text}, {}, {"y": XY}, ["joined-in-order"])
        for text in ("class\nx\ny\nx\ny\n", "x\ny\nx\ny\n", "id,class\n1,x\n2,y\n3,x\n4,y\n")
    ),
    (
        pair("sample,class,a\np1,0,1\np2,1,2\np3,0,3\np4,1,5\n", LABELS),
        {"target": "class"},
        {"features": ["a"], "y": XY},
        ["target-in-labels"],
    ),
    (
        # The column of the same name, and not one that matches too.
        pair(numbered(), table("visit,id,diag", IDS[::-1], IDS, ILL)),
        {"target": "diag"},
        {"y": ILL},
        ["joined"],
    ),
    (
        pair(numbered("mrn"), table("id,mrn,diag", IDS[::-1], IDS, ILL)),
        {"target": "diag", "samples": "mrn"},
        {"y": ILL},
        [],
    ),
    (
        # Not the numbers of the lines, which R writes without a name.
        pair(numbered(), table(",specimen,diag", IDS, np.array(IDS)[ORDER], np.array(ILL)[ORDER])),
        {"target": "diag"},
        {"y": ILL},
        ["joined"],
    ),
    *(
        (
            pair(numbered(ours, FAR), table(f"{theirs},diag", FAR[::-1], ILL[::-1])),
            {"samples": ours},
            {"y": ILL, "features": ["a", "b"]},
            [],
        )
        for ours, theirs in (("mrn", "mrn"), ("pid", "patient_no"))
    ),
    (
        pair(numbered("id", ZEROS), table("age,who,diag", [30, 31] * 6, ZEROS, ILL)),
        {"target": "diag"},
        {"samples": ZEROS, "y": ILL},
        [],
    ),
    # Genes in rows.
    (pair(GENES, LABELS), {"target": "class"}, STUDY, ["transposed"]),
    (pair(UNLABELLED, LABELS + "a,10,x\n"), {"target": "class"}, STUDY, []),
    *(
        (
            "\n".join([*GENES.split()[:place], "class,x,y,x,y", *GENES.split()[place:]]),
            {},
            STUDY,
            ["transposed"],
        )
        for place in (1, 2, 4)
    ),
    (
        "\n".join(["gene,p1,p2,p3,p4", *(f"g{i},{i},2,NA,4" for i in range(300)), "class,x,y,x,y"]),
        {},
        {"y": XY, "samples": P},
        [],
    ),
    (GENES + "class,0,1,0,1\n", {}, STUDY | {"y": [0, 1, 0, 1]}, []),
    (
        pair("entrez,p1,p2,p3,p4\n7157,1,4,7,0\n672,2,5,8,1\n", LABELS),
        {"target": "class"},
        {"features": ["7157", "672"], "X": X[:, :2].tolist()},
        [],
    ),
    (pair(ABOUT_GENES, LABELS), {"target": "class", "ignore": ["s"]}, STUDY, []),
    (
        {"t.npz": lambda path: np.savez(path, X=X.T), "l.csv": "x\ny\nx\ny\n"},
        {"transpose": True},
        {"X": X.tolist(), "y": XY},
        [],
    ),
    # Features of the same name.
    *(
        (
            "sample,class,a,b,a\np1,x,1,2,\np2,y,2,3,4\np3,x,,5,\np4,y,1,4,3\n",
            {"duplicates": how},
            {"features": names, "X": values},
            ["merged"],
        )
        for how, names, values in (
            ("mean", ["a", "b"], [[1, 2], [3, 3], [np.nan, 5], [2, 4]]),
            ("max", ["a", "b"], [[1, 2], [4, 3], [np.nan, 5], [3, 4]]),
        )
    ),
    (
        pair(GENES.replace("c,3.5", "a,3.5"), LABELS),
        {"target": "class", "duplicates": "mean"},
        {"features": ["a", "b"], "X": np.column_stack([(X[:, 0] + X[:, 2]) / 2, X[:, 1]]).tolist()},
        [],
    ),
    # For a model.
    (
        "sample,c,extra,b,note,a,class\np1,3.5,0,2,m,1,x\np2,6,0,5,m,4,y\np3,9,0,8,m,7,x\np4,2,0,1,m,0,y\n",
        model(*ABC, target="class"),
        STUDY,
        ["ignored"],
    ),
    ("a,b,c\n1,2,3\n", model(*ABC, target="class"), {"y": None, "target": None, "X": [[1, 2, 3]]}, []),
    (GENES + "d,1,1,1,1\n", model(*ABC), STUDY | {"y": None}, ["transposed"]),
    (TABLE.replace("p2,y", "p2,?"), model(*ABC, target="class"), {"y": None}, ["labels-left-out"]),
    (pair(TABLE.replace("p2,y", "p2,?"), LABELS), model(*ABC, target="class"), STUDY, []),
    (ARRAY, model(*COLUMNS), {"X": X.tolist()}, []),
    (
        # A target called like a feature of the model is no label.
        ARRAY,
        model(*COLUMNS, target="column_2"),
        {"y": None},
        [],
    ),
    ("1,5\n2,6\n3,7\n4,6\n5,5\n", model(*COLUMNS[:2]), {"X": [[1, 5], [2, 6], [3, 7], [4, 6], [5, 5]]}, []),
    ("cell,b\n0,1\n1,2\n2,3\n0,4\n", model("b", "cell"), {"X": [[1, 0], [2, 1], [3, 2], [4, 0]]}, []),
    *(
        (
            {
                "t.npz": lambda path: np.savez(
                    path, X=X, y=[1, 2, 1, 2], grade=[3, 3, 4, 4], feature_names=ABC
                )
            },
            model("a", target=target),
            {"y": y},
            [],
        )
        for target, y in (("class", [1, 2, 1, 2]), ("grade", [3, 3, 4, 4]))
    ),
    # Values.
    (
        # A feature called index, first in the file: with fractions it cannot name the rows.
        "index,b,class\n1.5,2,x\n2.25,3,y\n",
        {},
        {"features": ["index", "b"]},
        [],
    ),
    (
        table("a;b;class", *[[f"0,{i}46;{i},125;{'xy'[i % 2]}" for i in range(9)]]),
        {},
        {"X": [[float(f"0.{i}46"), i + 0.125] for i in range(9)]},
        ["decimal-comma"],
    ),
]


@pytest.mark.parametrize(("files", "asked", "expected", "remarks"), READ, ids=count())
def test_what_is_read_and_said(tmp_path, files, asked, expected, remarks):
    study = read(tmp_path, files, **asked)
    found = {
        "X": study.X,
        "features": study.feature_names.tolist(),
        "samples": study.sample_names.tolist(),
        "y": None if study.y is None else study.y.tolist(),
        "target": study.target,
        "named": study.has_sample_names,
    }
    np.testing.assert_equal({name: found[name] for name in expected}, expected)
    assert study.X.flags.c_contiguous
    assert set(remarks) <= {remark.code for remark in study.remarks}


def test_index_of_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="comes with the extra 'app'")
    frame = pandas.DataFrame(X, columns=ABC).assign(klass=XY, flag=[True, False, True, True])
    frame["n"] = pandas.array([1, None, 3, 4], dtype="Int64")
    study = read(tmp_path, {"t.parquet": frame.to_parquet}, target="klass")
    assert not study.has_sample_names
    assert study.feature_names.tolist() == ["a", "b", "c", "n", "flag"]
    np.testing.assert_array_equal(study.X[:, 3:], [[1, 1], [np.nan, 0], [3, 1], [4, 1]])
    named = frame.set_index(pandas.Index([7, 3, 5, 1], name="who"))
    study = read(tmp_path, {"t.parquet": named.to_parquet}, target="klass")
    assert study.sample_names.tolist() == ["7", "3", "5", "1"]
    assert [(remark.code, remark.values) for remark in study.remarks][:1] == [("index", {"index": "who"})]


def test_large_numbers_of_a_data_frame(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="comes with the extra 'app'")
    large = [10**17, 10**17 + 1] * 3
    frame = pandas.DataFrame({"a": range(6), "class": large})
    assert read(tmp_path, {"t.parquet": frame.to_parquet}).y.tolist() == [str(label) for label in large]


def test_what_stands_beside_the_table_comes_before_a_feature_of_that_name(tmp_path):
    anndata = pytest.importorskip("anndata", reason="comes with the extra 'app'")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame({"a": XY, "b": P}, index=["c1", "c2", "c3", "c4"])
    data = anndata.AnnData(X, obs=obs, var=pandas.DataFrame(index=ABC))
    study = read(tmp_path, {"t.h5ad": data.write_h5ad}, target="a", samples="b")
    assert (study.y.tolist(), study.sample_names.tolist()) == (XY, P)
    assert study.feature_names.tolist() == ABC
    assert "target-is-feature" in [remark.code for remark in study.remarks]
    again = read(tmp_path, {"t.h5ad": data.write_h5ad}, target="a", features=ABC, needs_labels=True)
    assert again.y.tolist() == XY
    np.testing.assert_array_equal(again.X, X)


@pytest.mark.parametrize(
    ("counts", "classes"),
    [
        # One other class: any word is the second one.
        ({"Drug": 20, "None": 20}, {"Drug", "None"}),
        ({"Drug": 30, "None": 6}, {"Drug", "None"}),
        ({"+": 20, "-": 20}, {"+", "-"}),
        ({"A": 20, "N.A.": 20}, {"A", "N.A."}),
        ({"yes": 20, "null": 20}, {"yes", "null"}),
        ({"1": 20, "NA": 20}, {"1", "NA"}),
        ({"ill": 58, "NA": 2}, None),
        ({"ill": 4, "NA": 1}, None),
        # Several: words that name a level are classes if they are not few.
        ({"ill": 28, "well": 28, "NA": 2}, None),
        ({"ill": 28, "well": 28, "None": 2}, None),
        ({"ill": 20, "well": 20, "NA": 20}, None),
        ({"ill": 20, "well": 20, "-": 20}, None),
        ({"low dose": 20, "high dose": 20, "None": 20}, {"low dose", "high dose", "None"}),
        ({"het": 9, "wt": 9, "null": 8}, {"het", "wt", "null"}),
        ({"+": 20, "++": 20, "-": 20}, {"+", "++", "-"}),
        ({"+": 20, "-": 20, "NA": 9}, None),
        ({"0": 20, "1": 20, "None": 20}, None),
        # An empty cell is missing, whatever the others are.
        ({"Drug": 20, "": 20}, None),
        ({"Drug": 20, "None": 20, "": 1}, None),
    ],
)
def test_words_for_missing_values_that_are_classes(tmp_path, counts, classes):
    labels = [label for label, n in counts.items() for _ in range(n)]
    text = table("id,class,a", [f"s{i}" for i in range(len(labels))], labels, range(len(labels)))
    if classes is None:
        with pytest.raises(ValueError, match=r"'class'.*missing"):
            read(tmp_path, text)
        return
    study = read(tmp_path, text)
    assert set(study.y) == classes
    assert "missing-words" in [remark.code for remark in study.remarks]


def test_words_for_missing_values_in_a_row_of_classes(tmp_path):
    labels = ["+"] * 4 + ["-"] * 8
    rows = [",".join([f"g{j}", *(f"{(i + j) % 5}.5" for i in range(12))]) for j in range(3)]
    text = "\n".join([",".join(["gene", *(f"p{i}" for i in range(12))]), *rows, ",".join(["class", *labels])])
    study = read(tmp_path, text)
    assert (study.y.tolist(), study.feature_names.tolist()) == (labels, ["g0", "g1", "g2"])


def test_words_for_missing_values_in_other_formats(tmp_path):
    anndata = pytest.importorskip("anndata", reason="comes with the extra 'app'")
    pandas = pytest.importorskip("pandas")
    words, missing = ["+", "-", "+", "-"], ["ill", None, "ill", np.nan]
    frame = pandas.DataFrame({"words": words, "gone": missing, "a": X[:, 0], "b": X[:, 1]}, index=P)
    data = anndata.AnnData(X, obs=frame[["words", "gone"]], var=pandas.DataFrame(index=ABC))
    book = pytest.importorskip("openpyxl").Workbook()
    for row in [["words", "gone", "a"], *zip(words, ["ill", None, "ill", None], range(4), strict=True)]:
        book.active.append(row)
    for files in ({"t.parquet": frame.to_parquet}, {"t.h5ad": data.write_h5ad}, {"t.xlsx": book.save}):
        assert read(tmp_path, files, target="words", ignore=["gone"]).y.tolist() == words
        with pytest.raises(ValueError, match="got 2 of 4 missing"):
            read(tmp_path, files, target="gone", ignore=["words"])


def test_a_model_knows_its_classes(tmp_path):
    text = "id,class,a\np1,+,1\np2,+,2\np3,-,3\np4,NA,4\n"
    asked = {"features": ["a"], "target": "class"}
    assert read(tmp_path, text.replace("NA", "+"), **asked, classes=["+", "-"]).y.tolist() == [
        "+",
        "+",
        "-",
        "+",
    ]
    assert read(tmp_path, text, **asked, classes=["+", "-"]).y is None
    # Two samples of a class that it does not know have no label.
    assert read(tmp_path, text.replace("p3,-", "p3,NA"), **asked, classes=["+", "-"]).y is None


def test_a_sign_at_the_end_of_a_name_is_no_punctuation(tmp_path):
    files = pair("sample,a\nCD4-,1\nCD8 +,2\n", "who,class\ncd4+,x\ncd8+,y\n")
    with pytest.raises(ValueError, match=r"'CD8 \+'.*'cd8\+'.*\b1 of 2\b"):
        read(tmp_path, files)


def test_missing_values_are_told_with_their_places(tmp_path):
    study = read(tmp_path, TABLE.replace("4,5,6", "NA,5,?"))
    message = r"got 2 in 2 of 3 columns, the first at sample 'p2', column 'a'; .*SimpleImputer"
    with pytest.raises(ValueError, match=message):
        refuse_missing(study)
    with pytest.raises(ValueError, match=r"column 'a'; sample 'p2', column 'c'; measure again\.$"):
        refuse_missing(study, advice="measure again")
    refuse_missing(read(tmp_path, TABLE))


def test_columns_that_name_patients_are_found_where_patients_come_twice(tmp_path):
    text = "id,donor_id,patient_age,class,g1,g2\na,D1,60,x,1.5,2\nb,D1,60,x,2.5,1\nc,D2,71,y,3.5,4"
    ignored = {"ignore": ["donor_id", "patient_age"]}
    owners = read(tmp_path, text, **ignored).owners
    assert {name: column.tolist() for name, column in owners.items()} == {"donor_id": ["D1", "D1", "D2"]}
    assert read(tmp_path, text, ignore=["patient_age"], sample_columns=["donor_id"]).owners == {}
    assert read(tmp_path, text.replace("b,D1", "b,D3"), **ignored).owners == {}


def test_columns_without_names_go_by_their_places_although_the_label_is_text(tmp_path):
    """A column that was put in moves all others: the model would see other features."""
    features = read(tmp_path, "0,1.5\n1,2.5\n0,3.5\n1,4.5\n", target="column_1").feature_names
    with pytest.raises(ValueError, match="'column_3'"):
        read(tmp_path, "0,0.5,1.5\n1,0.5,2.5\n", features=list(features), target="column_1")


@pytest.mark.parametrize("how", ["mean", "max"])
def test_sparse_features_of_the_same_name(how):
    values, names, options = (
        np.array([[1, 0, 2, 4], [0, np.nan, 0, 6]]),
        list("abca"),
        ReadOptions(duplicates=how),
    )
    merged, kept, _ = without_duplicates(sparse.csr_matrix(values), names, options, "t")
    expected, _, _ = without_duplicates(values, names, options, "t")
    assert kept == ["a", "b", "c"]
    np.testing.assert_array_equal(merged.toarray(), expected)
    assert expected[:, 0].tolist() == ([2.5, 3] if how == "mean" else [4, 6])


def test_labels_on_another_sheet(tmp_path):
    pytest.importorskip("python_calamine", reason="comes with the extra 'app'")
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.title = "Expression"
    for sheet, text in ((book.active, UNLABELLED), (book.create_sheet("Patients"), LABELS)):
        for line in text.split():
            sheet.append(line.split(","))
    study = read(tmp_path, {"t.xlsx": book.save}, labels_sheet="Patients")
    assert study.y.tolist() == XY
    (joined,) = [remark.values for remark in study.remarks if remark.code == "joined"]
    assert joined == {"column": "who", "labels": "the sheet 'Patients'"}
    path = tmp_path / "t.xlsx"
    with pytest.raises(ValueError, match="labels_sheet="):
        read_training_study(path, target="class", labels=path)


def test_svmlight_leaves_out_zeros(tmp_path):
    files = {"t.svm": lambda path: dump_svmlight_file(X[:, :2], [1, 2, 1, 2], str(path), zero_based=False)}
    study = read(tmp_path, files, features=[f"column_{j}" for j in range(1, 5)], target="label")
    assert study.X.format == "csr"
    np.testing.assert_array_equal(study.X.toarray(), np.hstack([X[:, :2], np.zeros((4, 2))]))
    assert study.y.tolist() == [1, 2, 1, 2]
    with pytest.raises(ValueError, match="'TP53'"):
        read(tmp_path, files, features=["TP53"])


@pytest.mark.parametrize(("n_words", "are_rows"), [(100, True), (101, False)])
def test_rows_of_words_are_rows_where_they_are_not_most(tmp_path, n_words, are_rows):
    lines = ["gene,p1,p2,p3", *(f"g{i},{i},2,4" for i in range(200 - n_words))]
    lines += [f"w{i},x,y,z" for i in range(n_words)]
    message = "got only text in the rows 'w0'" if are_rows else "3 columns with text: 'p1' .such as 'x'"
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "\n".join(lines), target="gene")


def test_samples_of_one_patient_keep_its_name(tmp_path):
    table = "patient_id,class,a\np5,x,1.5\np7,y,2.5\np5,x,3.5\np9,y,0.5\n"
    numbered = ["p5 (1)", "p7", "p5 (2)", "p9"]
    for asked in ({}, {"samples": "patient_id"}, {"features": ["a"], "target": "class"}):
        study = read(tmp_path, table, sample_columns=["patient_id"], **asked)
        assert study.sample_names.tolist() == numbered
        assert study.sample_columns["patient_id"].tolist() == ["p5", "p7", "p5", "p9"]
        assert study.feature_names.tolist() == ["a"]
        assert "numbered-samples" in [remark.code for remark in study.remarks]
    # A batch names no sample, unless it is said to.
    plates = table.replace("patient_id", "plate")
    assert read(tmp_path, plates, sample_columns=["plate"]).sample_names.tolist() == ["1", "2", "3", "4"]
    with pytest.raises(ValueError, match=r"\b4: 'p5'"):
        read(tmp_path, table, samples="patient_id")


def test_columns_about_patients_among_many_genes_are_named(tmp_path):
    genes = [f"g{j}" for j in range(30)]
    rows = [f"p{i},{'xy'[i % 2]},{40 + i},{','.join(str(i + j / 8) for j in range(30))}" for i in range(6)]
    study = read(tmp_path, "\n".join([",".join(["sample", "class", "age", *genes]), *rows]))
    assert study.remarks[-1].code == "suspicious-names"
    assert study.remarks[-1].values["option"] == "ignore=['age']"
    without = read(tmp_path, (tmp_path / "t.csv").read_text(), ignore=["age"])
    assert "suspicious-names" not in [remark.code for remark in without.remarks]
