"""Versions of packages, for what is written down beside results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version


def package_versions(names: Sequence[str]) -> dict[str, str]:
    """Versions of those that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = _version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def _version(name: str) -> str:
    """Read from the package's files once for all results of a process."""
    return version(name)
