"""The raw files of data sets: MATLAB, CSV and the NIPS 2003 text formats."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from experiments.datasets.tables import read_table

X = np.array([[1.5, 2.0, 3.0], [4.0, 5.0, 6.25], [7.0, 8.0, 9.0], [0.0, -1.0, 2.0]])


def write_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def write_csv(path, text):
    path.write_text(text)
    return path


def nips_files(name, train, valid):
    """Members of an archive laid out like those of the UCI repository."""
    folder = name.upper()
    return {
        f"{folder}/{name}_train.data": train[0],
        f"{folder}/{name}_train.labels": train[1],
        f"{folder}/{name}_valid.data": valid[0],
        f"{folder}/{name}_test.data": "9 9 9\n",
        f"{folder}/{name}.param": "whatever\n",
        f"{name}_valid.labels": valid[1],
    }


@pytest.mark.parametrize("zipped", [False, True])
def test_matlab(tmp_path, zipped):
    path = tmp_path / "t.mat"
    savemat(path, {"X": X, "Y": np.array([[2], [10], [2], [10]])})
    if zipped:
        path = write_zip(
            tmp_path / "t.mat.zip", {"t.mat": path.read_bytes(), "__MACOSX/._t.mat": b"a shadow"}
        )
    table = read_table(path)
    np.testing.assert_array_equal(table.X, X)
    assert table.X.dtype == np.float64
    assert table.y.tolist() == [0, 1, 0, 1]
    # Numbers sort by value, not as words.
    assert table.classes.tolist() == ["2", "10"]


def test_matlab_sparse_and_with_names(tmp_path):
    names = np.array(["b", "a", "b", "a"], dtype=object)
    savemat(tmp_path / "t.mat", {"X": sparse.csc_matrix(np.round(X)), "Y": names})
    table = read_table(tmp_path / "t.mat")
    assert sparse.issparse(table.X)
    assert table.X.format == "csr"
    # Whole numbers fit single precision.
    assert table.X.dtype == np.float32
    np.testing.assert_array_equal(table.X.toarray(), np.round(X))
    assert table.classes[table.y].tolist() == ["b", "a", "b", "a"]


def test_matlab_that_is_none(tmp_path):
    path = tmp_path / "t.mat"
    path.write_bytes(b"<html>not found</html>" * 20)
    with pytest.raises(ValueError, match=r"t\.mat cannot be read as a MATLAB file"):
        read_table(path)
    savemat(path, {"data": X})
    with pytest.raises(ValueError, match="must hold the variables X and Y, got data"):
        read_table(path)
    savemat(path, {"X": X, "Y": np.arange(3)})
    with pytest.raises(ValueError, match="one label per row, got 4 rows, 3 labels"):
        read_table(path)
    savemat(path, {"X": np.where(X == 9, np.nan, X), "Y": np.arange(4)})
    with pytest.raises(ValueError, match="must hold finite numbers"):
        read_table(path)
    savemat(path, {"X": X, "Y": np.arange(4)})
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="cannot be read as a MATLAB file"):
        read_table(path)


@pytest.mark.parametrize(
    "text",
    [
        "1.5,2,3,no\n4,5,6.25,yes\n7,8,9,no\n",
        "\ufeffa,b,c,d\n1.5,2,3,no\n\n4,5,6.25,yes\n , ,,\n7,8,9,no\n",
        "id,Class,a,b,c\np1,no,1.5,2,3\np2,yes,4,5,6.25\np3,no,7,8,9\n",
        ",a,b,c,d\n11,1.5,2,3,no\n7,4,5,6.25,yes\n5,7,8,9,no\n",
        "x,y,z,w,DIAGNOSIS,t\n1.5,2,3,nan,no,\n4,5,6.25,nan,yes,\n7,8,9,nan,no,\n",
        "1,1.5,2,3,NaN,no\n2,4,5,6.25,NaN,yes\n3,7,8,9,NaN,no\n",
    ],
    ids=["bare", "header, blank lines and a mark", "words", "index", "empty columns", "counted lines"],
)
def test_csv_layouts(tmp_path, text):
    table = read_table(write_csv(tmp_path / "t.csv", text))
    np.testing.assert_array_equal(table.X, X[:3])
    assert table.classes.tolist() == ["no", "yes"]
    assert table.y.tolist() == [0, 1, 0]
    again = read_table(write_zip(tmp_path / "t.csv.zip", {"folder/": "", "folder/t.csv": text}))
    np.testing.assert_array_equal(again.X, table.X)


@pytest.mark.parametrize(
    ("text", "values", "classes"),
    [
        ("1,2,y\n3,5,n\n", [[1, 2], [3, 5]], ["n", "y"]),  # labels, and no header
        ("TP53,TP53,class\n1,2,x\n3,5,y\n", [[1, 2], [3, 5]], ["x", "y"]),
        ("p1,0.5,x\np2,1.5,y\np3,2.5,x\n", [[0.5], [1.5], [2.5]], ["x", "y"]),  # names, and no header
    ],
)
def test_csv_with_odd_headers(tmp_path, text, values, classes):
    table = read_table(write_csv(tmp_path / "t.csv", text))
    assert table.X.tolist() == values
    assert table.classes.tolist() == classes


def test_csv_with_numbered_columns(tmp_path):
    header = ",".join(str(j) for j in range(12))
    lines = [",".join(["0.5"] * 11 + ["1"]), ",".join(["7"] * 11 + ["-1"])]
    table = read_table(write_csv(tmp_path / "t.csv", "\n".join([header, *lines])))
    assert table.X.shape == (2, 11)
    assert table.classes.tolist() == ["-1", "1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,class\n1,,x\n2,3,y\n", "column 'b' must hold finite numbers, got a missing value"),
        ("a,b,class\n1,high,x\n2,3,y\n", "column 'b' must hold finite numbers, got 'high'"),
        ("1,2,x\n2,inf,y\n", "column 'number 2' must hold finite numbers, got inf"),
        ("1,2,x\n2,y\n", "lines of one length, at least 2: expected 3, got 2"),
        ("a,b,class\n1,2,x\n3,4,?\n", "the label, column 'class', must have a value in every line"),
        ("id,class\np1,x\np2,y\n", "must have a column of numbers besides the label"),
        ("\n\n", "at least one line of values"),
        ("a,b,c,d,class\n1,2,3,4,x\nw,o,r,d,s\n2,3,4,5,y\n", "got lines of text such as 'w'"),
    ],
)
def test_csv_that_is_wrong(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_table(write_csv(tmp_path / "t.csv", text))


@pytest.mark.parametrize("unpacked", [False, True])
def test_nips_2003_dense(tmp_path, unpacked):
    members = nips_files("tiny", ("1 2 3\n4 5 6 \n", "1\n-1\n"), ("7 8 9\r\n0 0 0\r\n\r\n", "-1\r\n1\r\n"))
    path = write_zip(tmp_path / "tiny.zip", members)
    if unpacked:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path)
        path = tmp_path / "TINY"
    table = read_table(path, n_features=3)
    assert table.X.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 0, 0]]
    assert table.X.dtype == np.float32
    assert table.classes.tolist() == ["-1", "1"]
    assert table.y.tolist() == [1, 0, 0, 1]


def test_nips_2003_sparse(tmp_path):
    # The second training row is all zeros; the first row of the validation part is as long as others.
    members = nips_files("thin", ("1 5\n\n3\n", "1\n-1\n-1"), ("5 2\n", "1\n"))
    table = read_table(write_zip(tmp_path / "thin.zip", members), n_features=6)
    assert table.X.format == "csr"
    assert table.X.toarray().tolist() == [
        [1, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [0, 1, 0, 0, 1, 0],
    ]
    members = nips_files("text", ("1:7 3:2.5\n2:1\n", "1\n-1\n"), ("4:9\n", "1\n"))
    table = read_table(write_zip(tmp_path / "text.zip", members))
    assert table.X.toarray().tolist() == [[7, 0, 2.5, 0], [0, 1, 0, 0], [0, 0, 0, 9]]


@pytest.mark.parametrize(
    ("train", "labels", "message"),
    [
        ("1 7\n2\n", "1\n-1\n", "indices must lie between 1 and 6, got 7"),
        ("0 3\n2\n", "1\n-1\n", "indices must lie between 1 and 6, got 0"),
        ("2 2\n3\n", "1\n-1\n", "an index occurs twice"),
        ("1:2 3\n3:1\n", "1\n-1\n", "expected index:value"),
        ("1 2\n3\n", "1\n2\n", "labels -1 and 1, got '2'"),
        ("1 2\n3\n", "1\n", r"tiny_train\.data has 2 lines, but tiny_train\.labels has 1"),
        ("1 two\n3\n", "1\n-1\n", "not in the NIPS 2003 format"),
    ],
)
def test_nips_2003_that_is_wrong(tmp_path, train, labels, message):
    members = nips_files("tiny", (train, labels), ("1:1 2:1\n" if ":" in train else "1 2\n", "1\n"))
    with pytest.raises(ValueError, match=message):
        read_table(write_zip(tmp_path / "tiny.zip", members), n_features=6)


def test_files_that_are_none_of_these(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_table(tmp_path / "none.mat")
    (tmp_path / "t.xls").write_text("")
    with pytest.raises(ValueError, match=r"must end in \.mat, \.csv or \.zip"):
        read_table(tmp_path / "t.xls")
    (tmp_path / "t.zip").write_bytes(b"<html>")
    with pytest.raises(ValueError, match="not a complete zip file"):
        read_table(tmp_path / "t.zip")
    write_zip(tmp_path / "t.zip", {"a.csv": "1,2", "b.csv": "1,2"})
    with pytest.raises(ValueError, match=r"must hold one \.mat or \.csv file.*got a\.csv, b\.csv"):
        read_table(tmp_path / "t.zip")
    members = nips_files("tiny", ("1 2\n", "1\n"), ("1 2\n", "1\n"))
    del members["tiny_valid.labels"]
    with pytest.raises(ValueError, match=r"lacks tiny_valid\.labels"):
        read_table(write_zip(tmp_path / "t.zip", members))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"must hold one file NAME_train\.data, got none"):
        read_table(tmp_path / "empty")
