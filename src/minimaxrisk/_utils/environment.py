"""The environment of a fit: optional packages, versions, free memory, threads of the linear algebra."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
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


class _OneThread:
    """Sets BLAS to one thread while any fit asks for it; the last one restores what the first one found.

    The setting is global to the process, and fits may run in several Python threads at once. Where the caller
    holds a limit of threadpoolctl in another Python thread, that limit stays.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_users = 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._n_users == 0:
                # The controller's own context asks each library for its name and version, which takes 0.2 ms.
                libraries = _controller().lib_controllers
                before = [(library, library.get_num_threads()) for library in libraries]
                self._before = [each for each in before if each[1] != 1 and _set_threads(each[0], 1)]
            self._n_users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0:
                for library, n_threads in self._before:
                    _set_threads(library, n_threads)


def _set_threads(library: Any, n_threads: int) -> bool:
    """Set the number of threads of a library, and return whether that had an effect."""
    library.set_num_threads(n_threads)
    # Since threadpoolctl 3.8 only the Python thread that has set a number may change it, until it lets go.
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()
    return bool(library.get_num_threads() == n_threads)


_one_thread = _OneThread()


def suitable_threads(n_instances: int) -> AbstractContextManager[None]:
    """Use one thread of BLAS if n x n matrices are small, and otherwise what the caller has set.

    All that computes with matrices of a problem runs within this context, which may be nested. While small
    problems are solved in one Python thread, large ones in another have one thread of BLAS, too.
    """
    return _one_thread if n_instances < ONE_THREAD_BELOW else nullcontext()


@cache
def _controller() -> ThreadpoolController:
    """Of the libraries of linear algebra.

    Cached, because finding them takes milliseconds; they do not change after import.
    """
    return ThreadpoolController().select(user_api="blas")
