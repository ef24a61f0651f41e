"""What the README shows is what happens."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tomllib
from pathlib import Path

from minimaxrisk.app.cli import main
from minimaxrisk.datasets import make_expression

ROOT = Path(__file__).parents[2]


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def run(code, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def test_readme_example_prints_what_it_says():
    (code,) = blocks(ROOT / "README.md", "python")
    (output,) = blocks(ROOT / "README.md", "text")
    assert run(code, {}) == output


def test_commands_of_the_readme_run_on_tables_as_it_describes_them(tmp_path, monkeypatch):
    lines = [line for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("minimaxrisk fit")]
    study = make_expression(24, 12, n_informative=3, effect=3.0, random_state=0)
    patients = [f"p{i}" for i in range(24)]
    diagnosis = [("ill", "well")[label] for label in study.target]
    values = [[f"{value:.2f}" for value in row] for row in study.data]
    in_rows = [["patient", "diagnosis", *study.feature_names]]
    in_rows += [[*names, *row] for *names, row in zip(patients, diagnosis, values, strict=True)]
    genes = [["gene", *patients]]
    genes += [[name, *row] for name, *row in zip(study.feature_names, *values, strict=True)]
    told = [["patient", "sex", "diagnosis"]]
    told += [[name, "f", word] for name, word in zip(patients[::-1], diagnosis[::-1], strict=True)]
    for name, delimiter, rows in (
        ("expression.csv", ",", in_rows),
        ("genes_in_rows.csv", ";", genes),
        ("patients.csv", ";", told),
    ):
        text = "\n".join(delimiter.join(row) for row in rows)
        # As a European spreadsheet exports it.
        (tmp_path / name).write_text(
            text.replace(".", ",") if delimiter == ";" else text, encoding="utf-8-sig"
        )
    monkeypatch.chdir(tmp_path)
    assert len(commands) == 2
    for command in commands:
        assert main(command) == 0
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert "24" in page
        (tmp_path / "report.html").unlink()
        (tmp_path / "model.skops").unlink()


def test_a_clone_of_the_source_and_two_targets_of_the_makefile():
    (commands,) = blocks(ROOT / "README.md", "console")
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    clone, enter, *makes = commands.splitlines()
    source = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
    assert (clone, enter) == (f"git clone {source}", f"cd {source.rpartition('/')[2]}")
    assert len(makes) == 2
    for line in makes:
        program, target = line.split()[:2]
        assert program == "make"
        assert target in targets
