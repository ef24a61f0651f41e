"""The demonstration runs, and what it leaves behind is sound."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from minimaxrisk import datasets
from minimaxrisk.app.cli import demo, main

pytest.importorskip("skops", reason="comes with the extra 'app'")


@pytest.fixture
def small_study(monkeypatch):
    """The same patients with a tenth of the genes."""

    def make_expression(n_samples, n_features, **options):
        return datasets.make_expression(n_samples, n_features // 10, **options)

    monkeypatch.setattr(demo, "make_expression", make_expression)


def check_tour(said, folder):
    assert said.startswith("FROM A FILE TO A REPORT,")
    ((lower, upper),) = re.findall(r"certified +(\S+) <= R\* <= (\S+), confirmed without the solver", said)
    assert float(lower) <= float(upper)

    assert sorted(path.name for path in folder.iterdir()) == ["expression.csv", "model.skops", "report.html"]
    assert said.rstrip().endswith(str(folder / "report.html"))
    assert (folder / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert main(["verify", str(folder / "model.skops"), str(folder / "expression.csv")]) == 0


def test_demo_leaves_a_model_that_verifies(tmp_path, capsys, small_study):
    folder = tmp_path / "new" / "tour"
    status = main(["demo", "--out", str(folder)])
    said, errors = capsys.readouterr()
    assert status == 0, errors
    assert "Warning" not in errors
    check_tour(said, folder)
    assert capsys.readouterr().out.startswith("the certificate holds: ")


@pytest.mark.slow
def test_demo_in_full(tmp_path):
    folder = tmp_path / "new" / "tour"
    command = [sys.executable, "-m", "minimaxrisk", "demo", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    check_tour(done.stdout, folder)
