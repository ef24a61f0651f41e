"""The page that goes through the paper: nothing is left out, no cell is empty, what it names exists."""

from __future__ import annotations

import ast
import re
import warnings
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
def test_what_a_line_names_exists(row):
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", f"{row[1]} {row[2]}")
    assert len(named) == 2
    for (path, name), folder in zip(named, ("src/minimaxrisk", "tests"), strict=True):
        is_from_root = folder != "tests" and path.startswith(("experiments/", "tests/"))
        file = ROOT / ("" if is_from_root else folder) / path
        assert name in names_in(file), f"{file} has no {name}"


def names_in(file):
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_comments_of_the_algorithms_have_all_line_numbers():
    engine = ROOT / "src" / "minimaxrisk" / "engines" / "linear_programs" / "constraint_generation.py"
    loop, select = re.findall(
        r"^def (?:constraint_generation|select_components)\(.*?^    return ",
        engine.read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    numbers = {int(n) for n in re.findall(r"\d+", " ".join(re.findall(r"[Ll]ines? [\d, and to]+", loop)))}
    # 5 to 7 is a range, and 14 is the end of the loop.
    assert numbers | {6, 14} == set(range(1, 16))
    assert {int(n) for n in re.findall(r"# (?:(?:\d) and )?(\d):", select)} | {3} == set(range(1, 6))


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
    assert len(capsys.readouterr().out.split("]")) == 3
