"""What people get wrong: each gets exit status 2 and a message that says what to do, never a traceback."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import minimaxrisk
from minimaxrisk.app.cli import main
from terminal import unwrapped
from tests.study_files import GENES, N_SAMPLES, SAMPLES, sample_rows, write_rows

pytest.importorskip("skops", reason="comes with the extra 'app'")


def table(change=None):
    """The table of the study, each line changed."""
    lines = [change(i, row) if change else row for i, row in enumerate(sample_rows())]
    return lambda folder: write_rows(folder / "t.csv", lines)


def put(place, value):
    """Another value in one column of every line below the header."""
    return table(lambda i, row: [*row[:place], value(i), *row[place + 1 :]] if i else row)


def _pickled(path):
    np.savez(path, X=np.array([{"a": 1}, None], dtype=object))
    return path


# One of each kind; tests/app/test_files_bad_input.py has all messages about files.
LAST = len(GENES) + 1
MALFORMED = {
    "no such file": (lambda folder: folder / "none.csv", "there is no file"),
    "pickled array": (lambda folder: _pickled(folder / "t.npz"), "pickled objects are never loaded"),
    "ragged": (table(lambda i, row: row[:-2] if i == 3 else row), "line 4 must have 11 cells"),
    "target absent": (table(lambda i, row: row[:-1]), "'diagnosis' that --target names"),
    "continuous target": (put(LAST, lambda i: repr(i * 1.37)), "must hold classes"),
    "missing values": (put(3, lambda i: "NA" if i < 3 else "1.5"), "--impute median"),
    "column of text": (put(3, lambda i: "male" if i % 2 else "female"), "--ignore"),
    "duplicate samples": (put(0, lambda i: f"patient {i // 2}"), "--groups patient"),
}


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


def test_a_labels_file_that_does_not_fit(tmp_path, capsys):
    data, labels = table(lambda i, row: row[:-1])(tmp_path), tmp_path / "labels.csv"
    asked = ("fit", data, "--labels", labels, "--target", "diagnosis")
    assert "there is no file" in refused(capsys, *asked)
    write_rows(labels, [["who", "diagnosis"], *([name, "ill"] for name in SAMPLES[:5])])
    assert "must hold a label for every sample" in refused(capsys, *asked)


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
