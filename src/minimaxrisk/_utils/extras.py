"""Packages that only some installations have, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str, *, extra: str, purpose: str) -> Any:
    """The module, or an ImportError that says what needs it and how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} the package {module!r}, which could not be imported ({error}); "
            f'install it with: pip install "minimaxrisk[{extra}]"'
        ) from error
