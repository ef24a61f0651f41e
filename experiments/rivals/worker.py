"""The process in which one rival meets one workload: warm up, fit again and again, say what happened.

The process keeps the peak memory apart and can be killed. Events go to the parent as lines of JSON through
what was standard output; standard output itself is turned into standard error, since some solvers print.
Everything imported here exists in the environment of every rival.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from experiments.rivals.adapters import RIVALS, Outcome, RefusedError, Rival
from experiments.rivals.memory import peak_memory, reset_peak, resident_memory
from experiments.rivals.transfer import load_workload

FOLDS = 5


@dataclass(frozen=True)
class Task:
    """What a worker is to do; repeats end early once all fits together took ``repeat_seconds``."""

    rival: str
    folder: str
    repeats: int
    repeat_seconds: float
    accuracy_seconds: float


def main() -> None:
    task = Task(**json.loads(sys.argv[1]))
    with os.fdopen(os.dup(1), "w", buffering=1) as events:
        os.dup2(2, 1)
        try:
            _work(RIVALS[task.rival], task, events)
        except RefusedError as error:
            _tell(events, "refused", detail=str(error))
        except Exception as error:
            # Whatever a rival throws is a result of the benchmark, not the end of it.
            _tell(events, "failed", detail=f"{type(error).__name__}: {error}".splitlines()[0][:200])


def _work(rival: Rival, task: Task, events: TextIO) -> None:
    X, y = load_workload(Path(task.folder))
    _warm_up(rival, X, n_classes=int(y.max()) + 1)
    reset_peak()
    before = resident_memory()
    _tell(events, "ready")
    seconds: list[float] = []
    while len(seconds) < task.repeats and (not seconds or sum(seconds) < task.repeat_seconds):
        start = time.perf_counter()
        outcome = rival.fit(X, y)
        seconds.append(time.perf_counter() - start)
        if len(seconds) == 1:
            beyond_X = peak_memory() - before
        _tell(events, "fit", seconds=seconds[-1], peak_bytes=beyond_X, **_reached(outcome))
        del outcome
    if FOLDS * np.median(seconds) <= task.accuracy_seconds and np.bincount(y).min() >= FOLDS:
        _tell(events, "accuracy", accuracy=_accuracy(rival, X, y))


def _warm_up(rival: Rival, X: Any, n_classes: int) -> None:
    """Fit a small problem with the same kind of X: imports and compilation are over when the clock starts."""
    y = np.arange(20 * n_classes) % n_classes
    small = np.random.default_rng(0).standard_normal((len(y), 30))
    small[:, :n_classes] += 2.0 * (y[:, None] == np.arange(n_classes))
    if sparse.issparse(X):
        rival.fit(sparse.csr_matrix(np.where(small > 0.5, small, 0.0).astype(X.dtype)), y)
    else:
        rival.fit(small.astype(X.dtype), y)


def _accuracy(rival: Rival, X: Any, y: np.ndarray) -> float:
    """Share of correct labels in one stratified cross-validation whose folds are the same for every rival."""
    hits = 0
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        hits += int(np.sum(rival.fit(X[train], y[train]).predict(X[test]) == y[test]))
    return hits / len(y)


def _reached(outcome: Outcome) -> dict[str, Any]:
    return {name: value for name, value in vars(outcome).items() if name != "predict"}


def _tell(events: TextIO, event: str, **fields: Any) -> None:
    # NumPy's scalars are not JSON, their Python values are.
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in fields.items()}
    events.write(json.dumps({"event": event, **plain}) + "\n")


def command_line(task: Task) -> list[str]:
    """How to start a worker for the task."""
    return [RIVALS[task.rival].interpreter(), "-m", "experiments.rivals.worker", json.dumps(asdict(task))]


if __name__ == "__main__":
    main()
