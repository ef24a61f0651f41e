"""Packages that only some installations have, imported where they are used.

Versions of packages, for what is written down beside results.

How much memory this process could still have.

How many threads the linear algebra uses: the caller's choice, or one where more would only wait.
"""

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


def free_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say (elsewhere than on Linux).

    What the whole machine has left, or less where the process is in a group of its own with a limit.
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
    """What is left to a container; files of others that are cached count as free."""
    with suppress(OSError, ValueError):
        folder = Path("/sys/fs/cgroup")
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        cached = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return limit - used + int(cached.get("inactive_file", 0))
    return None


# NumPy and SciPy bring a BLAS each, whose idle threads keep a core busy waiting. Measured on two cores,
# one thread is faster up to here (1,600 instances: by a quarter; 100: by two thirds).
ONE_THREAD_BELOW = 2000


@contextmanager
def suitable_threads(n_instances: int) -> Iterator[None]:
    """Within it BLAS uses one thread if the matrices of n x n are small, else what the caller has set.

    The setting belongs to the process, so that fits in concurrent threads should run under a limit of the
    caller's own, as for other users of threadpoolctl.
    """
    if n_instances >= ONE_THREAD_BELOW:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Finding the libraries takes milliseconds and their number does not change after import."""
    return ThreadpoolController()
