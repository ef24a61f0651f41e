"""The environment of a fit: optional packages, versions, free memory, threads of the linear algebra."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController


def require(module: str, *, extra: str, purpose: str) -> Any:
    """The module, or an ImportError that says what needs it and how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} the package {module!r}, which could not be imported ({error}); "
            f'install it with: pip install "minimaxrisk[{extra}]"'
        ) from error


def package_versions(names: Sequence[str]) -> dict[str, str]:
    """Versions of the packages among these that are installed."""
    return {name: found for name in names if (found := _version(name)) is not None}


@cache
def _version(name: str) -> str | None:
    """Cached, because it reads files of the package."""
    with suppress(PackageNotFoundError):
        return version(name)
    return None


# Bytes for which there is always room; asking reads files, which takes 0.1 ms.
ALWAYS_FREE = 1 << 26


def memory_short_of(n_bytes: float) -> int | None:
    """Bytes that are available if that is less than these; None where they are enough, or it is unknown."""
    free = free_memory() if n_bytes > ALWAYS_FREE else None
    return free if free is not None and n_bytes > free else None


def free_memory() -> int | None:
    """Bytes that are available without swapping; None if unknown, as on systems other than Linux.

    What the machine has left, or less if the process is in a container with a limit.
    """
    known = [amount for amount in (_of_machine(), _of_group()) if amount is not None]
    return min(known) if known else None


def _of_machine() -> int | None:
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return None


def _of_group() -> int | None:
    """Bytes left to the container; cached files count as free."""
    with suppress(OSError, ValueError):
        folder = Path("/sys/fs/cgroup")
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        cached = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return limit - used + int(cached.get("inactive_file", 0))
    return None


# NumPy and SciPy each have a BLAS whose idle threads keep a core busy. On two cores one thread was measured
# to be faster up to here (1,600 instances: by a quarter; 100: by two thirds).
ONE_THREAD_BELOW = 2000


@contextmanager
def suitable_threads(n_instances: int) -> Iterator[None]:
    """Within it BLAS uses one thread if n x n matrices are small, and otherwise what the caller has set.

    The setting is global to the process. Callers who fit in concurrent threads should set a limit of their
    own around them, as for other users of threadpoolctl.
    """
    if n_instances >= ONE_THREAD_BELOW:
        yield
        return
    libraries = _controller().lib_controllers
    before = [library.get_num_threads() for library in libraries]
    try:
        # Not by the controller's own context, which asks each library for its name and version: 0.2 ms a fit.
        for library in libraries:
            library.set_num_threads(1)
        yield
    finally:
        for library, n_threads in zip(libraries, before, strict=True):
            library.set_num_threads(n_threads)


@cache
def _controller() -> ThreadpoolController:
    """Of the libraries of linear algebra.

    Cached, because finding them takes milliseconds; they do not change after import.
    """
    return ThreadpoolController().select(user_api="blas")
