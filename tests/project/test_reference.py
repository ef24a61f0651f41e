"""The reference has every public name once, and every command with all its options."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.public_names import public_objects

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
TABLE = re.compile(r"\.\. currentmodule:: (\S+)\n\n\.\. autosummary::\n(?:   :.*\n)+\n((?:   \S+\n)+)")


def test_every_public_name_stands_there_once():
    found = [
        f"{module}.{name}"
        for page in sorted(REFERENCE.glob("*.md"))
        for module, names in TABLE.findall(page.read_text(encoding="utf-8"))
        for name in names.split()
    ]
    assert sorted(found) == sorted(public_objects())


def test_every_page_is_reached_from_the_index():
    index = (REFERENCE / "index.md").read_text(encoding="utf-8")
    pages = {page.stem for page in REFERENCE.glob("*.md")} - {"index"}
    (listed,) = re.findall(r"```\{toctree\}\n:hidden:\n\n(.*?)```", index, flags=re.DOTALL)
    assert set(listed.split()) == set(re.findall(r"\]\((\w+)\.md\)", index)) == pages


@pytest.fixture
def commands(monkeypatch):
    """The module that makes the page of the commands."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(REFERENCE.parent / "_ext")
    yield pytest.importorskip("command_reference")
    sys.modules.pop("command_reference", None)


def test_every_option_of_every_command_is_told(commands):
    found = dict(commands.commands())
    assert {"minimaxrisk fit", "minimaxrisk predict", "minimaxrisk demo"} <= set(found)
    for name, command in found.items():
        told = [entry for entries in commands.parameters(name, command).values() for entry in entries]
        assert all(written and meaning for written, meaning in told)
        options = {option for written, _ in told for option in re.findall(r"--[\w-]+", written)}
        assert {each for option in command.params for each in option.opts if each.startswith("--")} <= options
    headings = commands.parameters("minimaxrisk fit", found["minimaxrisk fit"])
    assert headings["Arguments"][0][0] == "DATA"
    # Releases of typer differ in their brackets.
    assert re.fullmatch(r"--model [<\[]ensemble\|single[>\]]", headings["The classifier"][0][0])
    assert commands.usage("minimaxrisk fit", found["minimaxrisk fit"]) == "minimaxrisk fit [OPTIONS] DATA"


def test_options_in_a_sentence_are_as_they_are_typed(commands):
    said = commands._with_options("Names of samples: --samples patient. Without --header none; see --radius.")
    shown = [node.astext() for node in said if node.tagname == "literal"]
    assert shown == ["--samples patient", "--header", "--radius"]
    assert "".join(node.astext() for node in said).endswith("none; see --radius.")
