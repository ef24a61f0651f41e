"""What is public: the names of the package and of its public packages, and what their classes bring."""

from __future__ import annotations

import inspect
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

import minimaxrisk

# Of the library, and of the program that stands on it.
LIBRARY = [name for name in minimaxrisk.__all__ if isinstance(getattr(minimaxrisk, name), ModuleType)]
PACKAGES = [*LIBRARY, "app.files", "app.report", "app.storage"]


def public_objects() -> dict[str, Any]:
    """Classes and functions by their dotted names."""
    found = {
        f"minimaxrisk.{name}": getattr(minimaxrisk, name)
        for name in minimaxrisk.__all__
        if name not in LIBRARY
    }
    for package in PACKAGES:
        module = import_module(f"minimaxrisk.{package}")
        found |= {f"minimaxrisk.{package}.{name}": getattr(module, name) for name in module.__all__}
    return found


def members_of(cls: type) -> dict[str, Any]:
    """Methods and properties that this library defines; those of scikit-learn are documented there."""
    found: dict[str, Any] = {}
    for owner in cls.__mro__:
        if not owner.__module__.startswith("minimaxrisk"):
            continue
        for name, value in vars(owner).items():
            if not name.startswith("_") and name not in found and getattr(cls, name, value) is not None:
                plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                if inspect.isfunction(plain) or isinstance(plain, property | cached_property):
                    found[name] = plain
    return found


def documented_objects() -> dict[str, Any]:
    """All that needs a docstring: the public names, and the members of public classes."""
    found = public_objects()
    for name, value in list(found.items()):
        if inspect.isclass(value):
            found |= {f"{name}.{member}": each for member, each in members_of(value).items()}
    return found
