"""Packages that only the experiments need, imported where they are used."""

from __future__ import annotations

from typing import Any

from minimaxrisk._utils import extras


def require(module: str) -> Any:
    """The module, or an ImportError that says how to install it."""
    return extras.require(module, extra="reproduce", purpose="The experiments need")
