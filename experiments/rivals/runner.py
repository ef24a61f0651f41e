"""Every rival on every workload, one after the other."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.rivals.measure import Effort, measure
from experiments.rivals.records import OK, SKIPPED, TIME_LIMIT, Record, append_record, read_records
from experiments.rivals.transfer import save_workload, size_in_memory
from experiments.rivals.workloads import DATASET, Workload


def measure_all(
    loads: Sequence[Workload],
    rivals: Sequence[str],
    effort: Effort,
    csv_path: Path,
    say: Callable[[str], None],
) -> None:
    """Append to the CSV what it lacks, one row at a time, so that an interrupted run loses nothing."""
    done = read_records(csv_path)
    for number, load in enumerate(loads, start=1):
        missing = [name for name in rivals if not _find(done, load.name, name)]
        if not missing:
            continue
        with tempfile.TemporaryDirectory(prefix="minimaxrisk-bench-") as folder:
            X, y = load.make()
            save_workload(Path(folder), X, y)
            shape = {"n_samples": X.shape[0], "n_features": X.shape[1], "n_classes": len(np.unique(y))}
            shape["x_bytes"] = size_in_memory(X)
            # The rivals' processes need the memory more.
            del X, y
            for name in missing:
                if _too_slow_before(done, load, name):
                    result: dict[str, Any] = {
                        "status": SKIPPED,
                        "detail": "over the time limit at a smaller size",
                    }
                else:
                    result = measure(name, Path(folder), effort)
                record = Record(workload=load.name, sweep=load.sweep, rival=name, **shape, **result)
                append_record(csv_path, record)
                done.append(record)
                say(f"[{number}/{len(loads)}] {load.name} {name}: {_in_words(record)}")


def _find(records: Sequence[Record], workload: str, rival: str) -> bool:
    return any(record.workload == workload and record.rival == rival for record in records)


def _too_slow_before(records: Sequence[Record], load: Workload, rival: str) -> bool:
    """Whether the rival was killed at a smaller size of the same sweep: a larger one would tell no more."""
    return load.sweep != DATASET and any(
        record.sweep == load.sweep and record.rival == rival and record.status == TIME_LIMIT
        for record in records
    )


def _in_words(record: Record) -> str:
    if record.status != OK:
        return f"{record.status} {record.detail}".strip()
    return f"{record.median_seconds:.4g} s, median of {record.repeats}"
