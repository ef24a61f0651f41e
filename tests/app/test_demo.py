"""The demonstration runs, and what it leaves behind is sound."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from minimaxrisk import datasets
from minimaxrisk.app.cli import demo, main

pytest.importorskip("skops", reason="comes with the extra 'app'")

SECTIONS = ("FROM A FILE TO A REPORT,", "SIMULATED STUDY:", "PURE NOISE:", "REAL DATA:")


@pytest.fixture
def small_studies(monkeypatch):
    """The same patients with a tenth of the genes, and a third of those with real data."""
    real = datasets.make_expression

    def make_expression(n_samples, n_features, **options):
        return real(n_samples, n_features // 10, **options)

    monkeypatch.setattr(datasets, "make_expression", make_expression)
    monkeypatch.setattr(demo, "make_expression", make_expression)
    X, y = demo.load_breast_cancer(return_X_y=True)
    monkeypatch.setattr(demo, "load_breast_cancer", lambda *, return_X_y: (X[::3], y[::3]))


def check_tour(said, folder):
    places = [said.index(section) for section in SECTIONS]
    assert places == sorted(places)

    # Two certificates of the simulated study, one of the real data, and that of the command on a file.
    gaps = re.findall(r"certified gap +(\S+)  \((.*)\)", said)
    assert [verdict for _, verdict in gaps] == ["confirmed without the solver"] * 3
    assert all(0.0 <= float(gap) <= 1e-6 for gap, _ in gaps)
    ((lower, upper),) = re.findall(r"certificate +(\S+) <= .* <= (\S+), confirmed", said)
    assert float(lower) <= float(upper)

    signal, noise = (float(p) for p in re.findall(r"p-value of R\* at s = 1 +(\S+)", said))
    assert signal <= 0.05 < noise

    assert sorted(path.name for path in folder.iterdir()) == ["expression.csv", "model.skops", "report.html"]
    assert said.rstrip().endswith(str(folder / "report.html"))
    assert (folder / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert main(["verify", str(folder / "model.skops"), str(folder / "expression.csv")]) == 0


def test_demo_confirms_its_certificates_and_leaves_a_model_that_verifies(
    tmp_path, capsys, small_studies, recwarn
):
    folder = tmp_path / "new" / "tour"
    status = main(["demo", "--out", str(folder)])
    said, errors = capsys.readouterr()
    assert status == 0, errors
    assert "Warning" not in errors
    assert [str(each.message) for each in recwarn] == []
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
