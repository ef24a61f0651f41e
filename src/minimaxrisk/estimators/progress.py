"""Ways to follow a fit: the caller's callback, scikit-learn's own callbacks, and a log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from minimaxrisk.engines.solution import IterationRecord, Monitor

logger = logging.getLogger("minimaxrisk")

Listener = Callable[[IterationRecord], object]


class CallbackBridge:
    """Tells scikit-learn's callbacks about iterations; does nothing where there are none.

    An engine reports an iteration when it ends. The task of the next one is opened at once, and
    ``close`` ends the task that turned out not to be needed.
    """

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._estimator = estimator
        self._root = self._task = None
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=None)
            self._root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
            self._task = self._next_task()

    def __call__(self, record: IterationRecord) -> bool:
        if self._task is None:
            return False
        stop = self._task.call_on_fit_task_end(estimator=self._estimator)
        self._task = self._next_task()
        return bool(stop)

    def close(self) -> None:
        if self._root is not None and self._task is not None:
            self._task.call_on_fit_task_end(estimator=self._estimator)
            self._root.call_on_fit_task_end(estimator=self._estimator)

    def _next_task(self) -> Any:
        assert self._root is not None
        task = self._root.subcontext(task_name="iteration")
        return task.call_on_fit_task_begin(estimator=self._estimator)


def make_monitor(bridge: CallbackBridge, callback: Listener | None, *, quantity: str | None) -> Monitor:
    """Tell everyone who listens. ``quantity`` is what a log calls the value bounded; None keeps no log."""

    def monitor(record: IterationRecord) -> bool:
        if quantity is not None:
            log_iteration(record, quantity)
        stop = bridge(record)
        if callback is not None:
            stop = bool(callback(record)) or stop
        return stop

    return monitor


def log_iteration(record: IterationRecord, quantity: str) -> None:
    """One line per iteration."""
    log_line(
        f"iteration %(iteration)d: %(lower).6f <= {quantity} <= %(upper).6f, %(n_features)d features "
        "(+%(n_added)d, -%(n_removed)d), largest violation %(max_violation).1e, %(seconds).2f s",
        record,
    )


def log_line(message: str, *arguments: Any) -> None:
    """To the log, or to standard error where nobody has set up logging."""
    line = logger.makeRecord(logger.name, logging.INFO, __file__, 0, message, arguments, None)
    if logger.hasHandlers():
        if logger.isEnabledFor(logging.INFO):
            logger.handle(line)
    else:
        logging.StreamHandler().handle(line)
