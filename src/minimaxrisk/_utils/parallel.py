"""Independent pieces of work, spread over this process and others.

Worker processes take a second or more to start, as long as hundreds of small fits. So this process works
along from the beginning, and the others join it when they are ready; they stay for later calls. Results do
not depend on who did what.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
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
# Seconds in which other processes have started for sure, so that what they were given is under way.
SLOW_START = 5.0


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
    n_processes = max(1, min(effective_n_jobs(n_jobs), len(items)))
    size = max(1, len(items) // (PIECES_PER_PROCESS * n_processes))
    pieces = deque((start, items[start : start + size]) for start in range(0, len(items), size))
    results: list[Any] = [None] * len(items)

    def keep(start: int, values: list[Any]) -> None:
        results[start : start + len(values)] = values
        progress(len(values))

    def work_here(start: int, piece: Sequence[Item]) -> None:
        for i, item in enumerate(piece, start):
            keep(i, [function(item)])

    if n_processes == 1:
        work_here(0, items)
        return results

    executor = get_reusable_executor(max_workers=n_processes - 1)
    away: dict[Future[list[Any]], tuple[int, Sequence[Item]]] = {}
    # Whether the others have answered. Before that each gets one piece, which it may yet lose again; after
    # that one more, so that it need not wait for this process.
    are_ready, begun = False, time.monotonic()

    def collect(finished: Iterable[Future[list[Any]]]) -> None:
        nonlocal are_ready
        for future in finished:
            keep(away.pop(future)[0], future.result())
            are_ready = True

    try:
        while pieces:
            while pieces and len(away) < (n_processes - 1) * (1 + are_ready):
                piece = pieces.popleft()
                away[executor.submit(_work_through, function, piece[1])] = piece
            if pieces:
                work_here(*pieces.pop())
            collect([future for future in away if future.done()])
        if not are_ready and time.monotonic() - begun < SLOW_START:
            # They are still starting: sooner done here.
            for piece in away.values():
                work_here(*piece)
            away.clear()
        while away:
            collect(wait(away, return_when="FIRST_COMPLETED").done)
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
