"""Times of a single fit and of the permutation test, in a process of its own.

``python -m experiments.guarantees.permutation_clock DATASET N_PERMUTATIONS SEED``
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.harness.child import telling
from experiments.harness.sources import load_source
from minimaxrisk.analysis.permutation_test import permutation_test
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier

N_FITS = 21
N_JOBS = 2


def measure(name: str, n_permutations: int, seed: int) -> dict[str, Any]:
    """Seconds of a fit, and of a test whose other process has to start, is there, or is not used."""
    X, y = load_source(name)

    def fit() -> None:
        MinimaxRiskClassifier().fit(X, y)

    def test(n_jobs: int) -> Callable[[], object]:
        return lambda: permutation_test(
            MinimaxRiskClassifier(), X, y, n_permutations, n_jobs=n_jobs, random_state=seed
        )

    fit()  # the first one imports
    return {
        "fit_seconds": float(np.median([_seconds(fit) for _ in range(N_FITS)])),
        "cold_seconds": _seconds(test(N_JOBS)),
        "warm_seconds": _seconds(test(N_JOBS)),
        "alone_seconds": _seconds(test(1)),
        "n_cores": os.cpu_count(),
    }


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    with telling() as tell:
        tell(**measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))


if __name__ == "__main__":
    main()
