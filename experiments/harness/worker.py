"""What happens in a worker process: it is prepared once, then runs one cell after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeAlias

from experiments.harness.cells import FAILED, OK, EndedError
from experiments.harness.extras import require
from experiments.harness.journal import plain_rows

Work: TypeAlias = Callable[[str, dict[str, Any]], list[dict[str, Any]]]

_work: list[Work] = []


def prepare_worker(work: Work, warm_up: Callable[[], None] | None) -> None:
    """Called once per process. A process that fails here ends, and with it the run."""
    # By default the signal would wait for the end of a call into compiled code.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # By default a semaphore of the system, which a worker that is stopped would leave behind.
    require("tqdm").tqdm.set_lock(threading.RLock())
    if warm_up is not None:
        warm_up()
    _work[:] = [work]


def run_cell(item: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Status, detail, rows and seconds of one cell. Exceptions are results too."""
    start = time.perf_counter()
    try:
        rows = plain_rows(_work[0](item, settings))
    except EndedError as ended:
        seconds = time.perf_counter() - start
        return {"status": ended.status, "detail": str(ended), "rows": ended.rows, "seconds": seconds}
    except BaseException as error:  # SystemExit would end the parent
        detail = " ".join(traceback.format_exception_only(error)[-1].split())
        return {"status": FAILED, "detail": detail, "seconds": time.perf_counter() - start}
    return {"status": OK, "rows": rows, "seconds": time.perf_counter() - start}


def _end_with_parent() -> None:
    """A killed parent cannot stop its workers; without this they would finish their cells for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
