"""What people get wrong: each gets exit status 2 and a message that says what to do, never a traceback."""

from __future__ import annotations

import gzip
import json
import pickle
import re
import subprocess
import sys
import zipfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import minimaxrisk
from minimaxrisk.app.cli import main
from terminal import unwrapped
from tests import study_files
from tests.study_files import GENES, N_SAMPLES, SAMPLES, sample_rows, values, write_rows

pytest.importorskip("skops", reason="comes with the extra 'app'")


def rows(change=None):
    """The table of the study, each line changed."""
    return [change(i, row) if change else row for i, row in enumerate(sample_rows())]


def text(content: bytes, name: str = "t.csv"):
    return lambda folder: _written(folder / name, content)


def table(change=None, name: str = "t.csv"):
    return lambda folder: write_rows(folder / name, rows(change))


def truncated(name: str):
    """One of the good files, cut in the middle."""

    def write(folder: Path) -> Path:
        files = (
            study_files.text_files(folder) | study_files.array_files(folder) | study_files.frame_files(folder)
        )
        path = files[name].path
        content = path.read_bytes()
        return _written(path, content[: len(content) // 2])

    return write


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def put(place, value):
    """Another value in one column of every line below the header."""
    return lambda i, row: [*row[:place], value(i), *row[place + 1 :]] if i else row


LAST = len(GENES) + 1
MALFORMED = {
    "no such file": (lambda folder: folder / "none.csv", "there is no file"),
    "folder": (lambda folder: folder, "got a folder"),
    "empty file": (text(b""), "empty file"),
    "blank lines": (text(b"\n\n  \n"), "must hold"),
    "header alone": (text(b"patient,a,diagnosis\n"), "must hold|no line|got none"),
    "unknown ending": (text(b"a,b\n1,2\n", "t.docx"), "known format"),
    "binary": (text(bytes(range(256)) * 40), "cannot be read|must hold|must be|not text"),
    "pickle": (text(pickle.dumps([1, 2]), "t.pkl"), "known format"),
    "pickled array": (
        lambda folder: _pickled(folder / "t.npy"),
        "pickled objects, which are never loaded",
    ),
    "ragged": (table(lambda i, row: row[:-2] if i == 3 else row), "cells|columns|length"),
    "target absent": (table(lambda i, row: row[:-1]), "diagnosis"),
    "one class": (table(put(LAST, lambda i: "ill")), "one class|two classes|at least 2|single"),
    "continuous target": (table(put(LAST, lambda i: repr(i * 1.37))), "classes"),
    "a label of its own for each": (table(put(LAST, lambda i: f"label {i}")), "classes"),
    "missing labels": (table(put(LAST, lambda i: "" if i < 4 else "ill")), "label"),
    "missing values": (table(put(3, lambda i: "NA" if i < 3 else "1.5")), "--impute median"),
    "infinite values": (table(put(3, lambda i: "inf" if i < 3 else "1.5")), "infinite"),
    "empty column": (table(put(3, lambda i: "")), "--ignore"),
    "column of text": (table(put(3, lambda i: "male" if i % 2 else "female")), "--ignore"),
    "a stray word": (table(lambda i, row: [*row[:3], "high", *row[4:]] if i == 5 else row), "high"),
    "duplicate samples": (table(put(0, lambda i: f"patient {i // 2}")), "patient"),
    "duplicate columns": (
        table(lambda i, row: ["patient", "x", "x", *row[3:]] if not i else row),
        "unique|more than once|twice",
    ),
    "one column": (text(b"diagnosis\nill\nwell\nill\nwell\n"), "columns of numbers|column"),
    "only labels and names": (table(lambda i, row: [row[0], row[-1]]), "columns of numbers"),
    "open quote": (
        text(b'patient,a,b,diagnosis\n"p1,1,2,ill\np2,1,2,well\np3,4,3,ill\n'),
        "quote|must|cells",
    ),
    "truncated gzip": (truncated("csv.gz"), "damaged|incomplete|whole|compress"),
    "truncated npz": (truncated("npz"), "damaged|incomplete"),
    "truncated parquet": (truncated("parquet"), "damaged|incomplete"),
    "truncated feather": (truncated("feather"), "damaged|incomplete"),
    "truncated workbook": (truncated("xlsx"), "damaged|incomplete"),
    "truncated AnnData": (truncated("h5ad"), "damaged|incomplete"),
    "truncated MATLAB": (truncated("mat"), "MATLAB"),
    "gzip of nothing": (
        lambda folder: _written(folder / "t.csv.gz", gzip.compress(b"")),
        "must hold|empty",
    ),
    "zip": (lambda folder: _zipped(folder / "t.zip"), "known format"),
    "array of three dimensions": (lambda folder: _saved(folder / "t.npy", np.zeros((3, 3, 3))), "matrix"),
    "no X": (lambda folder: _saved(folder / "t.npz", a=np.zeros((3, 2)), b=np.zeros((3, 2))), "X"),
    "labels that do not fit": (
        lambda folder: _saved(folder / "t.npz", X=values(), y=np.arange(3)),
        "one label for each",
    ),
    "svmlight with a word": (text(b"1 1:2.0 2:x\n0 1:1.0\n", "t.svm"), "svmlight"),
    "GCT without sizes": (text(b"#1.2\nhello\n", "t.gct"), "GCT"),
}


def _pickled(path):
    np.save(path, np.array([{"a": 1}, None], dtype=object), allow_pickle=True)
    return path


def _saved(path, array=None, **arrays):
    if array is None:
        np.savez(path, **arrays)
    else:
        np.save(path, array)
    return path


def _zipped(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.csv", "a,b\n1,2\n")
    return path


def refused(capsys, *arguments):
    """The message of a command that must fail as wrong input does."""
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert status == 2, err
    assert not out
    assert "Traceback" not in err
    assert "--debug shows where" not in err
    return unwrapped(err)


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_data(name, tmp_path, capsys):
    write, message = MALFORMED[name]
    err = refused(capsys, "fit", write(tmp_path), "--target", "diagnosis")
    assert re.search(message, err), err


class TestLabelsFile:
    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ([["who", "diagnosis"], ["nobody", "ill"], ["else", "well"]], "sample"),
            ([["who", "diagnosis"], *([name, "ill"] for name in SAMPLES[:5])], "label"),
            ([["who", "age"], *([name, "ill"] for name in SAMPLES)], "diagnosis"),
            ([["who", "diagnosis"], *([SAMPLES[0], "ill"] for _ in SAMPLES)], "one line per sample"),
        ],
    )
    def test_that_does_not_fit(self, lines, message, tmp_path, capsys):
        labels = write_rows(tmp_path / "labels.csv", lines)
        data = write_rows(tmp_path / "t.csv", [row[:-1] for row in sample_rows()])
        err = refused(capsys, "fit", data, "--labels", labels, "--target", "diagnosis")
        assert re.search(message, err), err

    def test_absent(self, tmp_path, capsys):
        data = write_rows(tmp_path / "t.csv", sample_rows())
        err = refused(capsys, "fit", data, "--labels", tmp_path / "none.csv", "--target", "diagnosis")
        assert "there is no file" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "diagnose"], "did you mean 'diagnosis'"),
        (["--ignore", "nothing"], "nothing"),
        (["--samples", "nobody"], "nobody"),
        (["--radius", "nan"], "radius"),
        (["--radius", "-1"], "radius"),
        (["--radius", "large"], "expected a positive number"),
        (["--confidence", "95"], "confidence"),
        (["--permutations", "-5"], "permutations"),
        (["--solver", "gurobi"], "gurobi"),
        (["--coding", "two-hot"], "two-hot"),
        (["--seed", "-1"], "seed"),
        (["--jobs", "0"], "jobs"),
        (["--delimiter", ""], "delimiter"),
        (["--out", "."], "is a folder"),
        (["--report", "none/report.html"], "there is no folder"),
    ],
)
def test_malformed_options(options, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = write_rows(tmp_path / "t.csv", sample_rows())
    target = [] if "--target" in options else ["--target", "diagnosis"]
    err = refused(capsys, "fit", data, *target, *options)
    assert message in err, err


def test_three_samples_are_few_but_no_error(tmp_path, capsys):
    data = write_rows(
        tmp_path / "t.csv", [row for i, row in enumerate(sample_rows()) if i in (0, 1, 2, N_SAMPLES)]
    )
    assert main(["fit", str(data), "--target", "diagnosis", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_samples"] == 3


def test_the_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"minimaxrisk {minimaxrisk.__version__}\n"
    done = subprocess.run(
        [sys.executable, "-m", "minimaxrisk", "--version"], capture_output=True, check=False
    )
    assert done.stdout.decode().split() == ["minimaxrisk", minimaxrisk.__version__]
    refused = [sys.executable, "-m", "minimaxrisk", "forget"]
    assert subprocess.run(refused, capture_output=True, check=False).returncode == 2


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (ValueError("wrong"), 2, "minimaxrisk: wrong\n"),
        (ImportError("install it"), 1, "minimaxrisk: install it\n"),
        (RuntimeError("odd"), 1, "minimaxrisk: RuntimeError: odd (the option --debug shows where)\n"),
    ],
)
def test_errors_become_statuses(tmp_path, capsys, monkeypatch, error, status, message):
    def stop(*_, **__):
        raise error

    monkeypatch.setattr("minimaxrisk.app.cli.demo.write_study", stop)
    arguments = ["demo", "--out", str(tmp_path / "tour")]
    assert main(arguments) == status
    assert capsys.readouterr().err == message
    with pytest.raises(type(error)) if isinstance(error, Exception) else nullcontext():
        main(["--debug", *arguments])
