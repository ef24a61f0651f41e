"""Packages that only the experiments need, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str) -> Any:
    """The module, or an ImportError that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        msg = (
            f"The experiments need the package {module!r}, which could not be imported ({error}); in the "
            'checkout, install it with: pip install --editable ".[plot]" --group reproduce'
        )
        raise ImportError(msg) from error
