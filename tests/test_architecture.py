"""The layers of the package, and what importing it brings along."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import minimaxrisk

ROOT = Path(__file__).parents[1]
MODULES = [module.name for module in pkgutil.walk_packages(minimaxrisk.__path__, "minimaxrisk.")]


def test_layers():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_documented_layout_is_the_one_of_the_layers():
    """One line per folder, from what every step uses to the command line."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    text = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `(\w+)/` \|", text.split("## Experiments")[0], flags=re.MULTILINE)
    folders = {path.parent.name for path in (ROOT / "src" / "minimaxrisk").glob("*/__init__.py")}
    assert set(documented) == folders
    height = {name: -i for i, layer in enumerate(layers) for name in layer.split(" | ")}
    assert documented == sorted(documented, key=height.__getitem__)


EXTRAS = ["matplotlib", "pooch", "pandas", "pyarrow", "anndata", "h5py", "skops", "jinja2", "vl_convert"]
EXTRAS += ["array_api_compat", "triton", "dask"]


@pytest.mark.parametrize("module", ["minimaxrisk", "minimaxrisk.cli.app", "minimaxrisk.report"])
def test_import_needs_no_extras(module):
    """As where they are not installed: None in their place makes Python raise ImportError."""
    script = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS})); import {module}"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_import_brings_no_command_line():
    script = "import sys, minimaxrisk; sys.exit('typer' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def test_dir_shows_the_public_names_alone():
    """In a process that has used the package: modules that it imported on the way stay out."""
    script = "import minimaxrisk as m; m.verify; m.inspection; print(*dir(m))"
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert set(shown.stdout.split()) == {*minimaxrisk.__all__, "__version__"}
