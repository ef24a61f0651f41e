"""Independent fits over several processes, by joblib, with reports of progress.

Worker processes take seconds to start, as long as hundreds of small fits. So this process begins alone and
starts workers only if the remaining work would take longer than that. Workers of a cluster
(``joblib.parallel_config("dask")``) run already. Results do not depend on the number of processes.

Progress is reported through a context variable, so that the functions in between need no argument for it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from minimaxrisk._utils.environment import require

Listener: TypeAlias = Callable[[int, int], object]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within it loops call the listener with the numbers of items done and of all items."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell_progress(n_done: int, n_all: int) -> None:
    """Call the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(n_done, n_all)


Item = TypeVar("Item")
Result = TypeVar("Result")

# Several, so that all processes end at about the same time and the progress bar moves.
PIECES_PER_PROCESS = 8
# Seconds that worker processes take to start and import. Shorter work stays in this process.
START_UP = 4.0
# joblib sends an object of more than 1000 bytes to a cluster once, and not with every piece of work.
LARGE = 1 << 20
SECONDS_BETWEEN_LINES = 0.1  # of progress
SECONDS_BETWEEN_LOOKS = 1.0  # of a worker at its parent


def parallel_map(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    n_jobs: int | None = None,
    progress: Callable[[int], object] = lambda n: None,
) -> list[Result]:
    """``[function(item) for item in items]``, by up to ``n_jobs`` processes.

    As in joblib, None is 1 unless a context such as ``joblib.parallel_config`` sets another number, and -1 is
    all cores. ``progress`` is called with the number of items done since the last call.
    """
    n_processes = max(1, min(effective_n_jobs(n_jobs), len(items)))
    start_up = 0.0 if _has_cluster() else START_UP
    results: list[Result] = []
    n_done = 0

    def tell(n_more: int) -> None:
        nonlocal n_done
        n_done += n_more
        progress(n_more)
        tell_progress(n_done, len(items))

    begun = time.monotonic()
    for item in items:
        seconds_left = (time.monotonic() - begun) * (len(items) / len(results) - 1) if results else 0.0
        if n_processes > 1 and seconds_left > start_up:
            break
        results.append(function(item))
        tell(1)
    return results + _by_processes(function, items[len(results) :], n_processes, tell)


def parallel_map_in_batches(
    function: Callable[[Sequence[Item]], list[Result]],
    items: Sequence[Item],
    *,
    size: int,
    n_jobs: int | None = None,
    progress: Callable[[int], object] = lambda n: None,
) -> list[Result]:
    """The same for a ``function`` that takes several items and returns a list of results.

    Batches have ``size`` items, or slightly fewer to be of equal size. They do not depend on ``n_jobs``.
    """
    n_batches = -(-len(items) // size)
    ends = [len(items) * i // max(n_batches, 1) for i in range(n_batches + 1)]
    batches = [items[start:stop] for start, stop in pairwise(ends)]
    n_done = 0

    def tell(n_more: int) -> None:
        nonlocal n_done
        progress(ends[n_done + n_more] - ends[n_done])
        n_done += n_more

    found = parallel_map(function, batches, n_jobs=n_jobs, progress=tell)
    return [result for results in found for result in results]


def _has_cluster() -> bool:
    """Whether joblib uses dask workers, and this process is not one of them."""
    if type(get_active_backend()[0]).__name__ != "DaskDistributedBackend":
        return False
    try:
        require("distributed", extra="dask", purpose="joblib's backend needs").get_worker()
    except ValueError:  # this process is not a worker
        return True
    return False


def _by_processes(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_processes: int,
    progress: Callable[[int], object],
) -> list[Result]:
    if not items:
        return []
    size = max(1, len(items) // (PIECES_PER_PROCESS * n_processes))
    starts = range(0, len(items), size)
    # Large arrays within the function are sent once: as files that the processes map into memory, or to each
    # worker of a cluster.
    large = _LargeFunction(function)
    pieces = Parallel(n_jobs=n_processes, return_as="generator_unordered")(
        delayed(_work_through)(large, start, items[start : start + size]) for start in starts
    )
    found: dict[int, list[Result]] = {}
    for start, values in pieces:
        found[start] = values
        progress(len(values))
    return [value for start in starts for value in found[start]]


@dataclass(frozen=True)
class _LargeFunction:
    """Makes a function with its data look large, because Python does not count the data in attributes."""

    function: Callable[[Any], Any]

    def __sizeof__(self) -> int:
        return LARGE


def _work_through(large: _LargeFunction, start: int, piece: Sequence[Item]) -> tuple[int, list[Any]]:
    if multiprocessing.current_process().name.startswith("Loky"):
        _end_with_parent()
    return start, [large.function(item) for item in piece]


@cache
def _end_with_parent() -> None:
    """End this worker once the process that started it is gone; one that was killed cannot end its workers.

    Otherwise they would wait for work for five minutes, and keep the data in shared memory.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def progress_bar(total: int, label: str, *, verbose: int) -> Iterator[Callable[[int], object]]:
    """A line on standard error if ``verbose``; yields a function to call with numbers of items done."""
    begun, shown_at, n_done = time.monotonic(), float("-inf"), 0

    def advance(n_more: int) -> None:
        nonlocal n_done, shown_at
        n_done += n_more
        now = time.monotonic()
        if verbose and (n_done >= total or now - shown_at > SECONDS_BETWEEN_LINES):
            shown_at = now
            sys.stderr.write(f"\r{label}: {n_done / total:.0%} ({n_done} of {total}, {now - begun:.0f} s)")
            sys.stderr.flush()

    try:
        yield advance
    finally:
        if verbose:
            sys.stderr.write("\n")
