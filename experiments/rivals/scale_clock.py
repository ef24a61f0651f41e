"""Time and memory of one learner on one large problem, in a process of its own with a limit on either.

The limit is on the time of the processor, which other work on the machine does not change.

``python -m experiments.rivals.scale_clock TASK``, the task being JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from experiments.harness.child import limit_processor_time, telling
from experiments.harness.memory import anonymous_memory, reset_peak
from experiments.rivals.adapters import RIVALS, Fitted, RefusedError, l1_learner, one_vs_rest

OURS = "MinimaxRiskClassifier"
# Seconds between two looks at the memory.
LOOK_EVERY = 0.01
N_PREDICTED = 1000


def _saga(n_samples: int, n_classes: int) -> Any:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    return one_vs_rest(LogisticRegression(l1_ratio=1, solver="saga", random_state=0), n_classes)


LEARNERS: dict[str, Callable[[Any, np.ndarray], Fitted]] = {
    OURS: RIVALS["auto"].fit,
    "liblinear-svm": RIVALS["liblinear-svm"].fit,
    "liblinear-logistic": RIVALS["liblinear-logistic"].fit,
    "saga-logistic": l1_learner(_saga),
    "skglm-logistic": RIVALS["skglm-logistic"].fit,
}


def main() -> None:
    task = json.loads(sys.argv[1])
    folder, fit = Path(task["folder"]), LEARNERS[task["learner"]]
    with telling() as tell:
        X, y = _load(folder)
        _warm_up(fit, X)
        reset_peak()
        before = anonymous_memory()
        _limit_memory(before + task["most_memory"])
        watch = _Watch()
        tell(ready=True)
        limit_processor_time(task["limit"])
        begun, begun_of_processor = time.perf_counter(), time.process_time()
        try:
            fitted = fit(X, y)
        except RefusedError as error:
            tell(refused=str(error))
            return
        except MemoryError:
            tell(refused=f"needs more than {task['most_memory'] / 1e9:g} GB of memory")
            return
        seconds, processor_seconds = time.perf_counter() - begun, time.process_time() - begun_of_processor
        peak = watch.end()
        limit_processor_time(task["limit"])
        begun = time.perf_counter()
        fitted.predict(X[:N_PREDICTED])
        reached = {name: value for name, value in vars(fitted).items() if not callable(value)}
        tell(
            seconds=seconds,
            processor_seconds=processor_seconds,
            peak_bytes=max(0, peak - before),
            predict_seconds=time.perf_counter() - begun,
            **reached,
        )


def _load(folder: Path) -> tuple[Any, np.ndarray]:
    y = np.load(folder / "y.npy")
    if (folder / "X.npz").exists():
        return sparse.load_npz(folder / "X.npz"), y
    mapped = np.load(folder / "X.npy", mmap_mode="r")
    return (mapped if mapped.dtype == np.float32 else np.array(mapped)), y


def _warm_up(fit: Callable[[Any, np.ndarray], Fitted], X: Any) -> None:
    """A small problem of the same kind: imports and compilation are over when the clock starts."""
    y = np.arange(40) % 2
    small = np.random.default_rng(0).standard_normal((40, 30)).astype(X.dtype)
    small[:, :2] += 2.0 * y[:, None].astype(X.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(sparse.csr_matrix(np.where(small > 0.5, small, 0.0)) if sparse.issparse(X) else small, y)


def _limit_memory(n_bytes: float) -> None:
    """What is asked for beyond fails; files that are only read do not count."""
    import resource  # noqa: PLC0415  (there is none on Windows)

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (int(n_bytes), hard))


class _Watch:
    """Looks at the memory again and again: the system keeps the peak of all resident pages alone.

    Those of a memory map are the cache of the system and go when others need them.
    """

    def __init__(self) -> None:
        self.peak, self._goes_on = 0, True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while self._goes_on:
            self.peak = max(self.peak, anonymous_memory())
            time.sleep(LOOK_EVERY)

    def end(self) -> int:
        self._goes_on = False
        self._thread.join()
        return self.peak


if __name__ == "__main__":
    main()
