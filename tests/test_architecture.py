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


def test_import_brings_no_heavy_extras():
    script = "import sys, minimaxrisk; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"matplotlib", "dask", "torch", "pyarrow", "typer"} & set(done.stdout.split())


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def test_public_names_exist_and_are_documented():
    for name in minimaxrisk.__all__:
        assert getattr(minimaxrisk, name).__doc__
