"""One row of the CSV per rival and workload, written as soon as it is known."""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

OK, TIME_LIMIT, SKIPPED, REFUSED, FAILED = "ok", "time limit", "skipped", "refused", "failed"


@dataclass(frozen=True)
class Record:
    """What one rival did on one workload. Seconds are of one fit from raw X; memory is in bytes."""

    workload: str
    sweep: str
    n_samples: int
    n_features: int
    n_classes: int
    x_bytes: int
    rival: str
    status: str
    detail: str = ""
    limit_seconds: float | None = None
    repeats: int = 0
    median_seconds: float | None = None
    min_seconds: float | None = None
    max_seconds: float | None = None
    worst_case_error: float | None = None
    gap: float | None = None
    n_selected: int | None = None
    accuracy: float | None = None
    peak_bytes: int | None = None
    n_passes: int | None = None
    n_iter: int | None = None
    converged: bool | None = None


def time_ratio(record: Record, baseline_seconds: float | None) -> float | None:
    """Median time over that of the baseline; for a killed fit, whose limit stands in, a lower bound."""
    seconds = record.limit_seconds if record.status == TIME_LIMIT else record.median_seconds
    return seconds / baseline_seconds if seconds and baseline_seconds else None


def append_record(path: Path, record: Record) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Record)], lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(asdict(record))


def read_records(path: Path) -> list[Record]:
    """All rows of the file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Record(**{name: _parsed(name, text) for name, text in row.items()})
            for row in csv.DictReader(file)
        ]


_READERS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "int | None": int,
    "float | None": float,
    "bool | None": lambda text: text == "True",
}
# Annotations are strings here, because their evaluation is postponed.
_READER_OF = {field.name: (str(field.type), _READERS[str(field.type)]) for field in fields(Record)}


def _parsed(name: str, text: str) -> Any:
    kind, reader = _READER_OF[name]
    return None if text == "" and kind.endswith("None") else reader(text)
