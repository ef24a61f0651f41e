"""The layers of the package, and what importing it brings along."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import minimaxrisk
from minimaxrisk.matrices.matrix import Matrix
from minimaxrisk.matrices.standardised import MeansOfInstances

ROOT = Path(__file__).parents[2]
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
EXTRAS += ["array_api_compat", "triton", "dask", "tqdm", "rich", "typer"]
IMPORTS = f"""
import json, sys

asked, hidden = [], {EXTRAS}
class NotInstalled:
    def find_spec(self, name, path, target=None):
        if name in hidden:
            asked.append(name)
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NotInstalled())

import minimaxrisk
minimaxrisk.verify, minimaxrisk.inspection
shown = dir(minimaxrisk)
import minimaxrisk.app.report
import minimaxrisk.app.files, minimaxrisk.app.storage
hidden = []
import minimaxrisk.app.cli.app
print(json.dumps(dict(asked=asked, shown=shown, all=list(sys.modules))))
"""


@pytest.fixture(scope="module")
def imports():
    """Of a new process without the extras; one for all that is asked of it, since it takes seconds."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_import_needs_no_extras(imports):
    parts = {"minimaxrisk.inspection", "minimaxrisk.app.report", "minimaxrisk.app.cli.app"}
    assert parts <= set(imports["all"])
    # Imported when drawing, and by the command line; scikit-learn itself looks for rich.
    assert {"matplotlib", "typer"}.isdisjoint(imports["asked"])


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_the_command_without_the_extra_says_what_to_install(package):
    script = (
        f"import sys; sys.modules[{package!r}] = None; from minimaxrisk.app.cli import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "--help"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"minimaxrisk: The command needs the package {package!r}, which is not installed; "
        'install it with: pip install "minimaxrisk[app]"\n'
    )


def test_dir_shows_the_public_names_alone(imports):
    """In a process that has used the package: modules that it imported on the way stay out."""
    assert set(imports["shown"]) == {*minimaxrisk.__all__, "__version__"}


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def containers():
    rooms = [importlib.import_module(name) for name in MODULES if name.startswith("minimaxrisk.matrices.")]
    classes = [each for room in rooms for each in vars(room).values() if isinstance(each, type)]
    return {each for each in classes if Matrix in each.__mro__}


def test_the_modules_of_containers_are_closed_to_engines():
    """The contract names them one by one; a new one must be among them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (closed,) = (
        each["forbidden_modules"]
        for each in contracts["contracts"]
        if each["name"].startswith("Engines and problems know no container")
    )
    # Means of instances belong to the wrapper.
    assert {each.__module__ for each in containers() - {Matrix, MeansOfInstances}} <= set(closed)


def test_nobody_asks_a_container_for_its_type():
    """Outside of ``matrices/`` containers say what they can do; engines do not read their arrays."""
    kinds = {each.__name__ for each in containers()} | {"Box"}
    assert {"StoredMatrix", "SparseMatrix", "DaskMatrix", "DeviceMatrix"} < kinds
    wrong = []
    for path in (ROOT / "src").rglob("*.py"):
        if path.parent.name == "matrices":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                asked = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                wrong += [(path.name, node.lineno)] * bool(asked & kinds)
            if (
                "engines" in path.parts
                and isinstance(node, ast.Attribute)
                and node.attr in {"data", "values"}
            ):
                wrong += [(path.name, node.lineno)] * ast.unparse(node.value).endswith(("features", "matrix"))
    assert not wrong
