"""The gallery: every example runs without a warning, draws, and uses what is public."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
from pathlib import Path

import pytest

import minimaxrisk

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SCRIPTS = sorted(EXAMPLES.rglob("*.py"))


def imported_from_here(tree):
    """Pairs of module and name that a script imports from this package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "minimaxrisk":
            yield from ((node.module, alias.name) for alias in node.names)
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("minimaxrisk.") for alias in node.names)


def test_there_are_examples():
    assert len(SCRIPTS) >= 10


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_is_listed_and_uses_what_is_public(script):
    """The gallery lists scripts with this beginning of a name, in folders with a header."""
    assert script.name.startswith("plot_")
    assert (script.parent / "GALLERY_HEADER.rst").is_file()
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title, underline, *_ = ast.get_docstring(tree).splitlines()
    assert re.fullmatch("=+", underline)
    assert len(underline) >= len(title)
    assert text.endswith("plt.show()\n")
    names = list(imported_from_here(tree))
    assert names
    for module, name in names:
        assert module == "minimaxrisk" or module.removeprefix("minimaxrisk.") in minimaxrisk.__all__
        assert name in importlib.import_module(module).__all__, f"{module}.{name}"
    attributes = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    assert not [name for name in attributes if name.startswith("_")]


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs_without_warnings_and_draws(script, pyplot, monkeypatch):
    """Warnings that are turned off in the script itself are meant, and explained there."""
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.extend(map(pyplot.figure, pyplot.get_fignums())))
    runpy.run_path(str(script), run_name="__main__")
    assert shown
    for figure in shown:
        figure.canvas.draw()
        assert any(ax.get_xlabel() or ax.get_ylabel() for ax in figure.axes)
