"""Time and memory of one reader on one file, or of a fit on what was read, in a process of its own.

``python -m experiments.rivals.reading_clock WHAT PATH``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness.child import telling
from experiments.harness.memory import peak_memory, reset_peak, resident_memory

OURS, FIT = "minimaxrisk.app.files", "fit"


def _ours(path: str) -> Callable[[], Any]:
    from minimaxrisk.app.files import read_training_study  # noqa: PLC0415

    return lambda: read_training_study(path, target="diagnosis").X


def _pandas(path: str) -> Callable[[], Any]:
    import pandas  # noqa: PLC0415

    def read() -> Any:
        return pandas.read_csv(path).iloc[:, 2:].to_numpy()

    return read


def _pyarrow(path: str) -> Callable[[], Any]:
    import pyarrow  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    def read() -> np.ndarray:
        with Path(path).open(encoding="utf-8") as file:
            names = file.readline().strip().split(",")
        types = dict.fromkeys(names[2:], pyarrow.float64())
        table = csv.read_csv(
            path,
            csv.ReadOptions(block_size=Path(path).stat().st_size + 1),
            convert_options=csv.ConvertOptions(column_types=types),
        )
        return np.column_stack([column.to_numpy() for column in table.columns[2:]])

    return read


def _fit(path: str) -> Callable[[], Any]:
    from minimaxrisk import MinimaxRiskClassifier  # noqa: PLC0415
    from minimaxrisk._utils.notices import quiet_fits  # noqa: PLC0415
    from minimaxrisk.app.files import read_training_study  # noqa: PLC0415

    study = read_training_study(path, target="diagnosis")

    def fit() -> Any:
        with quiet_fits():
            return MinimaxRiskClassifier().fit(study.X, study.y)

    return fit


# Each imports what it needs, and returns what is timed.
READERS = {OURS: _ours, "pandas.read_csv": _pandas, "pyarrow, types given, one block": _pyarrow}


def main() -> None:
    what, path = sys.argv[1:]
    with telling() as tell:
        action = (READERS | {FIT: _fit})[what](path)
        reset_peak()
        before, begun = resident_memory(), time.perf_counter()
        result = action()
        tell(seconds=time.perf_counter() - begun, bytes=peak_memory() - before)
        del result


if __name__ == "__main__":
    main()
