"""The process in which one rival meets one problem: warm up, fit again and again, tell what happened.

Everything imported here exists in the environment of every rival.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from experiments.harness.child import limit_time, telling
from experiments.harness.memory import peak_memory, reset_peak, resident_memory
from experiments.rivals.adapters import RIVALS, Fitted, RefusedError
from experiments.rivals.transfer import load_problem

FOLDS = 5
# Imports and compiling are not timed, but must end some day; so must the process when all is told.
START_LIMIT, EXIT_LIMIT = 300.0, 60.0


def main() -> None:
    task = json.loads(sys.argv[1])
    with telling() as tell:
        limit_time(START_LIMIT)
        with os.fdopen(task["file"], "rb") as file:
            X, y = load_problem(file)
        try:
            _measure(RIVALS[task["rival"]].fit, X, y, task, tell)
        except RefusedError as error:
            tell(refused=str(error))
        limit_time(EXIT_LIMIT)


def _measure(
    fit: Callable[[Any, np.ndarray], Fitted],
    X: Any,
    y: np.ndarray,
    task: Mapping[str, Any],
    tell: Callable[..., None],
) -> None:
    """Fits until there are enough of them, or they have taken long enough; the limit is on each."""
    _warm_up(fit, X, n_classes=int(y.max()) + 1)
    reset_peak()
    before = resident_memory()
    tell(ready=True)
    seconds: list[float] = []
    while len(seconds) < task["fit_repetitions"] and (not seconds or sum(seconds) < task["fit_seconds"]):
        limit_time(task["limit"])
        start = time.perf_counter()
        fitted = fit(X, y)
        seconds.append(time.perf_counter() - start)
        if len(seconds) == 1:
            beyond_X = peak_memory() - before
        reached = {name: value for name, value in vars(fitted).items() if name != "predict"}
        if fitted.objective is not None:
            limit_time(EXIT_LIMIT)
            reached["objective"] = fitted.objective()
        tell(seconds=seconds[-1], peak_bytes=beyond_X, **reached)
        del fitted
    if FOLDS * np.median(seconds) <= task["accuracy_seconds"] and np.bincount(y).min() >= FOLDS:
        limit_time(task["limit"])
        tell(accuracy=_accuracy(fit, X, y))


def _warm_up(fit: Callable[[Any, np.ndarray], Fitted], X: Any, n_classes: int) -> None:
    """Fit a small problem with the same kind of X: imports and compilation are over when the clock starts."""
    y = np.arange(max(40, 3 * n_classes)) % n_classes
    small = np.random.default_rng(0).standard_normal((len(y), max(30, n_classes)))
    small[:, :n_classes] += 2.0 * (y[:, None] == np.arange(n_classes))
    if sparse.issparse(X):
        fit(sparse.csr_matrix(np.where(small > 0.5, small, 0.0).astype(X.dtype)), y)
    else:
        fit(small.astype(X.dtype), y)


def _accuracy(fit: Callable[[Any, np.ndarray], Fitted], X: Any, y: np.ndarray) -> float:
    """Share of correct labels in one stratified cross-validation whose folds are the same for every rival."""
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415

    hits = 0
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        hits += int(np.sum(fit(X[train], y[train]).predict(X[test]) == y[test]))
    return hits / len(y)


if __name__ == "__main__":
    main()
