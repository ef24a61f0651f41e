"""Independent pieces of work, spread over this process and others.

Worker processes take a second or more to start, as long as hundreds of small fits. So this process works
along from the beginning, and the others join it when they are ready; they stay for later calls. Results do
not depend on who did what.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from joblib import effective_n_jobs
from loky import get_reusable_executor
from tqdm import tqdm

Item = TypeVar("Item")
Result = TypeVar("Result")

# Pieces per process: several, so that all end at about the same time, and few, since each takes a copy of
# the data along.
PIECES_PER_PROCESS = 8


def spread(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    n_jobs: int | None = None,
    progress: Callable[[int], object] = lambda n: None,
) -> list[Result]:
    """``[function(item) for item in items]``, by up to ``n_jobs`` processes.

    ``n_jobs`` is what joblib makes of it: None is 1 unless a context says otherwise, -1 all cores.
    ``progress`` is called with the number of items done since the last call.
    """
    n_processes = min(effective_n_jobs(n_jobs), len(items))
    size = max(1, len(items) // (PIECES_PER_PROCESS * n_processes))
    pieces = deque((start, items[start : start + size]) for start in range(0, len(items), size))
    results: list[Any] = [None] * len(items)

    def keep(start: int, values: list[Any]) -> None:
        results[start : start + len(values)] = values
        progress(len(values))

    if n_processes == 1:
        for i, item in enumerate(items):
            keep(i, [function(item)])
        return results

    executor = get_reusable_executor(max_workers=n_processes - 1)
    away: dict[Future[list[Any]], int] = {}
    # One piece for each of the others, who must not sit on work while they start; once they answer, one
    # more each, so that they need not wait for this process.
    n_away = n_processes - 1

    def collect(*, patiently: bool) -> None:
        nonlocal n_away
        done = wait(away, return_when="FIRST_COMPLETED").done if patiently else {f for f in away if f.done()}
        for future in done:
            keep(away.pop(future), future.result())
            n_away = 2 * (n_processes - 1)

    try:
        while pieces or away:
            while pieces and len(away) < n_away:
                start, piece = pieces.popleft()
                away[executor.submit(_work_through, function, piece)] = start
            if pieces:
                start, piece = pieces.pop()
                for i, item in enumerate(piece, start):
                    keep(i, [function(item)])
            collect(patiently=not pieces)
    except BaseException:
        # Also Ctrl-C: nobody waits for what the others are still at.
        executor.shutdown(wait=False, kill_workers=True)
        raise
    return results


def _work_through(function: Callable[[Item], Result], piece: Sequence[Item]) -> list[Result]:
    return [function(item) for item in piece]


@contextmanager
def progress_bar(total: int, label: str, *, verbose: int) -> Iterator[Callable[[int], object]]:
    """A bar on standard error if ``verbose``; yields what is to be called with numbers of items done."""
    with tqdm(total=total, desc=label, disable=not verbose, file=sys.stderr) as bar:
        yield bar.update
