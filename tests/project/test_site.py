"""What the site draws itself: the layers, and formulas that need no script."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def extension(monkeypatch):
    """A module of docs/_ext by its name; they come with the group 'docs'."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    for package in ("sphinx", "latex2mathml"):
        pytest.importorskip(package, reason="comes with the group 'docs'")
    names = []

    def load(name):
        names.append(name)
        return pytest.importorskip(name)

    yield load
    for name in names:
        sys.modules.pop(name, None)


def test_the_picture_of_the_layers_has_every_folder_from_the_top_down(extension):
    module = extension("layers")
    drawn = module.picture(module.layers_of("Data flows one way"), "layers")
    tops = {name: float(y) for y, name in re.findall(r'<text x="[\d.]+" y="([\d.]+)">(\w+)</text>', drawn)}
    folders = {path.parent.name for path in (ROOT / "src" / "minimaxrisk").glob("*/__init__.py")}
    assert set(tops) == folders | {"__main__", "datasets", "exceptions", "solvers"}
    assert tops["app"] < tops["estimators"] < tops["problem"] < tops["_utils"]
    assert tops["samples"] == tops["datasets"]


def test_limits_stand_below_in_a_formula_of_its_own_and_beside_in_a_line(extension):
    mathml = extension("mathml").mathml
    assert "<munder><mo>max</mo>" in mathml(r"\max_{w \in \mathcal U} w", "block")
    assert "<msub><mo>max</mo>" in mathml(r"\max_{w \in \mathcal U} w", "inline")
    assert "𝒰" in mathml(r"\mathcal U", "inline")
