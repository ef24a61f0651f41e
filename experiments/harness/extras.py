"""Packages that only the experiments need, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str) -> Any:
    """The module, or an ImportError that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(advice(error)) from error


def advice(error: ImportError) -> str:
    """What to install where an import failed."""
    return (
        f"The experiments need packages, one of which could not be imported ({error}); in the checkout, "
        'install them with pip 25.1 or newer: pip install --editable ".[plot]" --group reproduce'
    )
