"""The command line of the data sets: what it prints, where, and its exit statuses."""

from __future__ import annotations

import re

import pytest

from experiments import datasets
from experiments.__main__ import main
from experiments.datasets.folder import COMMAND
from experiments.datasets.registry import REGISTRY
from terminal import unwrapped

HEADER = "name,file,n_samples,n_features,n_classes,sha256,notes,matches_paper_shape\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data folder with Colon as a raw file, and a stand-in for Lung."""
    (tmp_path / "MANIFEST.csv").write_text(
        f"{HEADER}Lung_1543,standins/Lung_1543.npz,203,1543,5,0,a long note,no: only 1543 genes\n"
    )
    (tmp_path / "standins").mkdir()
    (tmp_path / "standins" / "Lung_1543.npz").write_bytes(b"")
    (tmp_path / "colon.csv.zip").write_bytes(b"")
    monkeypatch.setenv("MINIMAXRISK_DATA", str(tmp_path))
    return tmp_path


def run(capsys, *arguments):
    status = main(arguments)
    return status, *capsys.readouterr()


def test_messages_name_a_command_that_exists(capsys):
    python, option, package, *command = COMMAND.split()
    assert [python, option, package] == ["python", "-m", "experiments"]
    for name in ("list", "fetch"):
        assert run(capsys, *command, name, "--help")[0] == 0


def test_list(home, capsys):
    status, out, err = run(capsys, "datasets", "list")
    assert status == 0
    lines = out.splitlines()
    assert lines[0].split() == ["no", "name", "samples", "features", "classes", "where"]
    table = [line.split() for line in lines[1:14]]
    assert [row[1] for row in table] == list(REGISTRY)
    assert table[1] == ["2", "Colon", "62", "2000", "2", "colon.csv.zip"]
    assert table[7] == ["8", "Lung", "203", "12600", "5", "missing"]
    # The columns stand below their titles.
    end = lines[0].index("features") + len("features")
    assert [line[:end].split()[-1] for line in lines[1:14]] == [row[3] for row in table]
    rest = "\n".join(lines[14:])
    assert "Lung_1543" in rest
    assert "only 1543 genes" in rest
    assert rest.endswith(f"data folder: {home}")
    assert err == "12 of 13 missing: python -m experiments datasets fetch NAME\n"


def test_info(home, capsys):
    status, out, _ = run(capsys, "datasets", "info", "Colon")
    assert status == 0
    words = unwrapped(out)
    assert "62 samples, 2000 features, 2 classes" in words
    assert "PNAS 96(12)" in words
    assert REGISTRY["Colon"].url in out
    assert "states no licence" in words
    assert "checked: November 2026: the file is in the listing" in words
    assert f"file: {home}/colon.csv.zip" in words
    status, out, _ = run(capsys, "datasets", "info", "Lung_1543")
    assert status == 0
    assert "stand-in:  only 1543 genes" in out
    assert "a long note" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("info", "colom"), "unknown data set 'colom'; there are Arcene, .* Did you mean 'Colon'"),
        (("info", "lung-1543"), "Did you mean 'Lung_1543'"),
        (("fetch", "Lung", "lung_1543"), "unknown data set 'lung_1543'"),
        (("fetch",), "give the names of data sets, or"),
        (("fetch", "Colon", "--all"), "give the names of data sets, or"),
        (("fetch", "Colon", "MLL", "--from", __file__), "--from names one file, .*give one data set with it"),
        (("fetch", "--all", "--from", __file__), "--from names one file"),
        (("info",), "Missing argument"),
        (("list", "--colour"), "No such option"),
        (("lists",), "No such command"),
    ],
)
def test_a_wrong_command_line_is_status_2(home, capsys, monkeypatch, arguments, message):
    monkeypatch.setattr(datasets, "fetch_dataset", lambda *_, **__: pytest.fail("nothing is to be fetched"))
    status, out, err = run(capsys, "datasets", *arguments)
    assert status == 2
    assert out == ""
    assert re.search(message, unwrapped(err))


def test_fetch_goes_on_after_a_failure_and_is_status_1(home, capsys, monkeypatch):
    asked = []

    def fetch(name, folder, *, force, progressbar, source):
        assert source is None
        asked.append((name, folder, force, progressbar))
        if name == "MLL":
            raise ConnectionError("no network")
        return home / f"{name}.npz"

    monkeypatch.setattr(datasets, "fetch_dataset", fetch)
    other = home / "other"
    status, out, err = run(capsys, "datasets", "fetch", "MLL", "GLIOMA", "MLL", "--folder", str(other))
    assert status == 1
    assert out == f"GLIOMA: {home / 'GLIOMA.npz'}\n"
    assert err == "MLL: no network\nnot fetched: MLL\n"
    assert asked == [("MLL", other, False, False), ("GLIOMA", other, False, False)]
    asked.clear()
    assert run(capsys, "datasets", "fetch", "--all", "--force")[0] == 1
    assert [name for name, _, force, _ in asked if force] == list(REGISTRY)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (ImportError("pip install pooch"), 1, "experiments: pip install pooch\n"),
        (RuntimeError("odd"), 1, "experiments: odd\n"),
    ],
)
def test_errors_become_statuses(home, capsys, monkeypatch, error, status, message):
    def fetch(*_, **__):
        raise error

    monkeypatch.setattr(datasets, "fetch_dataset", fetch)
    assert run(capsys, "datasets", "fetch", "MLL") == (status, "", message)
