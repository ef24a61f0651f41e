"""Runs cells in worker processes, with time limits, and journals each outcome as soon as it is known."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from multiprocessing import resource_tracker
from typing import Any

from experiments.harness.agenda import Agenda, Chain, check_distinct
from experiments.harness.cells import FAILED, SKIPPED, TIME_LIMIT, Cell, Outcome, outcome_of
from experiments.harness.extras import require
from experiments.harness.journal import Journal
from experiments.harness.worker import Work, prepare_worker, run_cell

# Read by the libraries of linear algebra when a worker loads them.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def run_cells(
    cells: Sequence[Cell],
    work: Work,
    journal: Journal,
    *,
    jobs: int,
    on_outcome: Callable[[Outcome], None],
    environment: str,
    warm_up: Callable[[], None] | None = None,
    limit_within: bool = False,
    one_thread: bool = True,
) -> list[Outcome]:
    """Outcomes of all cells, in their order: from the journal where it has them, else by running them.

    Parameters
    ----------
    work : callable
        ``work(item, settings)`` returns a list of dicts. A function of a module, as ``warm_up`` is: the
        workers import it.
    jobs : int
        Number of worker processes.
    on_outcome : callable
        Called with each new outcome, after it is in the journal.
    environment : str
        Fingerprint of the environment, which the outcomes carry.
    warm_up : callable, optional
        Called in each new worker before its first cell, to import what the time limits should not count.
    limit_within : bool
        Whether the limit is for the work itself to keep, which finds it among its settings, and not one on
        the whole cell.
    one_thread : bool
        Whether the workers use one thread for linear algebra, or as many as they would by themselves.
    """
    if jobs < 1:
        msg = f"jobs must be at least 1, got {jobs}"
        raise ValueError(msg)
    check_distinct(cells)

    def record(outcome: Outcome) -> None:
        journal.append(outcome)
        on_outcome(outcome)

    def skip(cell: Cell) -> None:
        detail = "an easier cell hit its time limit"
        record(outcome_of(cell, SKIPPED, detail=detail, environment=environment))

    threads = _one_thread_each() if one_thread else nullcontext()
    with journal.writing(), threads, _pool(jobs, work, warm_up) as pool:
        agenda = Agenda(cells, journal, skip)
        running: dict[Future[Any], tuple[Chain, Cell, float]] = {}
        while True:
            # Not more than can run: nothing then waits in the pool's queue when a run is stopped.
            while len(running) < jobs and (taken := agenda.take()) is not None:
                chain, cell = taken
                settings = dict(cell.settings) | ({"limit": cell.limit} if limit_within else {})
                with _interrupts_held():
                    future = pool.submit(run_cell, None if limit_within else cell.limit, cell.item, settings)
                running[future] = (chain, cell, time.monotonic())
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                chain, cell, start = running.pop(future)
                outcome = _outcome(future, cell, time.monotonic() - start, environment)
                record(outcome)
                agenda.give_back(chain, outcome)
    known = (journal.outcome(cell) for cell in cells)
    return [outcome for outcome in known if outcome is not None]


def _outcome(future: Future[Any], cell: Cell, elapsed: float, environment: str) -> Outcome:
    try:
        result = future.result()
    except TimeoutError:
        detail = f"stopped after {cell.limit:g} s"
        result = {"status": TIME_LIMIT, "detail": detail, "seconds": cell.limit}
    except BrokenProcessPool as error:
        msg = (
            "The worker processes could not start: a module failed to import there, or was not found (the "
            "log has the reason); finished cells are in the journal, and a new run goes on from there"
        )
        raise RuntimeError(msg) from error
    except require("pebble").ProcessExpired as error:
        detail = f"the worker process ended with exit code {error.exitcode}"
        if error.exitcode == -9:
            detail += " (killed, as when memory runs out)"
        result = {"status": FAILED, "detail": detail, "seconds": elapsed}
    return outcome_of(cell, environment=environment, **result)


@contextmanager
def _pool(jobs: int, work: Work, warm_up: Callable[[], None] | None) -> Iterator[Any]:
    """A pool whose workers start with the first cell, and are killed at the end, whatever ends it.

    Its time limits count from when a worker, warmed up, takes the cell.
    """
    pool = require("pebble").ProcessPool(
        max_workers=jobs,
        initializer=prepare_worker,
        initargs=(work, warm_up),
        context=multiprocessing.get_context("spawn"),
    )
    try:
        yield pool
    finally:
        pool.stop()
        pool.join()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Threads and processes that start within it inherit a mask that keeps Ctrl-C from them.

    It is for the parent to handle, which stops the workers; in the middle of their imports they would print
    tracebacks. The pool's threads start with the first cell, and they start the workers.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # When it starts, the tracker of the standard library lets the signal through again: let it start before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started within it use one thread for linear algebra; this one's libraries are loaded already.

    The pool starts new workers at any time, so that the variables stay set until it has ended.
    """
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
