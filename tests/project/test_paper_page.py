"""The page that goes through the paper: nothing is left out, no cell is empty, what it names exists."""

from __future__ import annotations

import ast
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "paper.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| paper |"))
]


def test_no_cell_is_empty():
    assert all(len(row) == 4 and all(row) for row in ROWS)


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("Eq. ({})", range(1, 27)),
        ("Theorem {}", range(1, 4)),
        ("Line {}", range(1, 16)),
        ("Step {}", range(1, 6)),
        ("Table {}", range(1, 4)),
        ("Figure {}", range(1, 4)),
    ],
)
def test_every_part_of_the_paper_has_a_line(kind, numbers):
    for number in numbers:
        assert sum(row[0].startswith(kind.format(number) + ",") for row in ROWS) == 1, number


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:30])
def test_what_a_line_names_exists_and_its_test_can_reach_it(row):
    here, tests = named_in(row[1], "src/minimaxrisk"), named_in(row[2], "tests")
    assert here
    assert tests
    for file, name in here + tests:
        assert name in names_in(file), f"{file} has no {name}"
    for file, name in tests:
        assert name.startswith("test_")
        imported = imports_of(file)
        reached = imported.union(*(imports_of(each) for each in imported))
        takes_all = ROOT / "src" / "minimaxrisk" / "__init__.py" in imported
        for source, _ in here:
            is_of_library = ROOT / "src" in source.parents
            assert source in reached or (takes_all and is_of_library), f"{file} imports no {source}"


def named_in(cell, folder):
    """Files and names, such as ``problem/rule.py::probabilities``."""
    found = []
    for path, name in re.findall(r"`([\w/]+\.py)::([\w.]+)`", cell):
        is_from_root = folder != "tests" and path.startswith(("experiments/", "tests/"))
        found.append((ROOT / ("" if is_from_root else folder) / path, name))
    return found


def names_in(file):
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@cache
def imports_of(file):
    """The files of the project that a file imports."""
    modules = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    paths = [module.replace(".", "/") + end for module in modules for end in (".py", "/__init__.py")]
    found = [ROOT / folder / path for folder in ("src", "", "tests") for path in paths]
    return {each for each in found if each.exists()}


def test_comments_of_the_algorithms_have_all_line_numbers():
    text = (ROOT / "src" / "minimaxrisk" / "engines" / "paper.py").read_text(encoding="utf-8")
    loop, select = text.split("def select_components(")
    lines = {
        int(n) for comment in re.findall(r"# Lines? ([^:]+):", loop) for n in re.findall(r"\d+", comment)
    }
    assert lines == set(range(1, 16))
    steps = re.findall(r"# (\d)(?: before (\d))?:", select)
    assert [int(n) for step in steps for n in step if n] == [1, 2, 4, 3, 5]


def test_algorithm_1_runs_as_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(block, "paper.md", "exec"), names)
    risks = names["model"].worst_case_errors_
    assert len(risks) > 1
    assert (np.diff(risks) <= 1e-9).all()
    assert len(capsys.readouterr().out.split("]")) == 4
