"""Scripts and data for a page that nothing may reach from outside, and that reaches nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from minimaxrisk._utils import extras
from minimaxrisk.report.json_values import json_ready

# What would end a script element or a line, written so that JSON and JavaScript read the same character.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def require(module: str) -> Any:
    """A module that only the report needs."""
    return extras.require(module, extra="app", purpose="The report needs")


def asset(name: str) -> str:
    """A file that comes with the package."""
    text = resources.files("minimaxrisk.report").joinpath("assets", name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def json_island(value: Any) -> str:
    """JSON that cannot end the element that it stands in; what is not finite becomes null."""
    text = json.dumps(json_ready(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter, escaped in ESCAPES.items():
        text = text.replace(letter, escaped)
    return text


def content_policy(scripts: Sequence[str]) -> str:
    """Only these scripts may run, and nothing may be loaded or sent.

    Styles may be inline: Vega writes them on its elements. Nothing from the data becomes a style.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
