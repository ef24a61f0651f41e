"""The layers of the package, and what importing it brings along."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import minimaxrisk

ROOT = Path(__file__).parents[1]
MODULES = [module.name for module in pkgutil.walk_packages(minimaxrisk.__path__, "minimaxrisk.")]


def test_layers():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


EXTRAS = ["matplotlib", "pooch", "pandas", "pyarrow", "anndata", "h5py", "skops", "jinja2", "vl_convert"]


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


def test_public_names_exist_and_are_documented():
    for name in minimaxrisk.__all__:
        assert getattr(minimaxrisk, name).__doc__
