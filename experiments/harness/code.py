"""Which code measured a result: fingerprints of the engine, the experiment and its settings, and no dates.

Comments, docstrings and blank lines do not count: what cannot change a number makes no result older.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import io
import json
import textwrap
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from experiments.harness.reporting import Item

LIBRARY = Path(__file__).parents[2] / "src" / "minimaxrisk"
# What R*, bounds, radii and selections follow from.
ENGINE = ("engines", "features", "problem", "uncertainty")
UNKNOWN = "unknown"
NOT_RECORDED = "what measured it was not recorded"


def measured_by(item: Item) -> dict[str, str]:
    """Fingerprints of the code as it is now."""
    return {"engine": engine_fingerprint(), "experiment": experiment_fingerprint(item)}


@cache
def engine_fingerprint(library: Path = LIBRARY) -> str:
    files = sorted(path for folder in ENGINE for path in (library / folder).rglob("*.py"))
    return _digest(f"{path.relative_to(library).as_posix()}\n{_essence_of(path)}" for path in files)


def experiment_fingerprint(item: Item) -> str:
    """Of how cells are planned and worked on, and of the modules that this takes; reports do not count."""
    functions = [essence(textwrap.dedent(inspect.getsource(each))) for each in (item.plan, item.work)]
    return _digest([*functions, *(_essence_of(_file_of(name)) for name in item.measured_with)])


def settings_fingerprint(item: Item, settings: Mapping[str, Any]) -> str:
    """Of the settings that matter to the item."""
    return _digest([json.dumps({name: settings.get(name) for name in item.relevant}, sort_keys=True)])


def reasons_why_older(
    item: Item, code: Sequence[Mapping[str, str]], settings: Mapping[str, Any]
) -> list[str]:
    """What is no longer as it was when the kept measurements were made; empty if all is."""
    now = measured_by(item) | {"settings": settings_fingerprint(item, settings)}
    if not code:
        return [NOT_RECORDED]
    return [
        f"the {part} changed since"
        for part in now
        if any(one.get(part, UNKNOWN) != now[part] for one in code)
    ]


def essence(text: str) -> str:
    """The text without comments, docstrings, blank lines and indentation."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            docstring = node.body[0]
            for row in range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1):
                lines[row - 1] = ""
    return "\n".join(line.strip() for line in lines if line.strip())


@cache
def _essence_of(path: Path) -> str:
    return essence(path.read_text(encoding="utf-8"))


def _file_of(module: str) -> Path:
    found = importlib.util.find_spec(module)
    assert found is not None, module
    assert found.origin is not None, module
    return Path(found.origin)


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
