"""Numbers as readers want them: few digits, a unit that fits."""

from __future__ import annotations

from experiments.harness.cells import TIME_LIMIT
from experiments.harness.reporting import Row


def seconds_of(row: Row) -> float | None:
    """Median time of a fit; for a killed one its limit, which is a lower bound."""
    seconds: float | None = row["limit"] if row["status"] == TIME_LIMIT else row.get("median_seconds")
    return seconds


def time_ratio(row: Row, ours: Row | None) -> float | None:
    """Time over that of the baseline, where both are known."""
    theirs, own = seconds_of(row), None if ours is None else ours.get("median_seconds")
    return theirs / own if theirs and own else None


def as_time(seconds: float) -> str:
    return f"{_digits(1000 * seconds)} ms" if seconds < 1.0 else f"{_digits(seconds)} s"


def as_ratio(ratio: float) -> str:
    return _digits(ratio)


def as_memory(n_bytes: float) -> str:
    return f"{_digits(n_bytes / 1e6)} MB" if n_bytes < 1e9 else f"{_digits(n_bytes / 1e9)} GB"


def as_count(count: int) -> str:
    """Digits in groups of three, set apart by a comma from five digits on."""
    return f"{count:,}" if count >= 10_000 else str(count)


def _digits(value: float) -> str:
    """Two digits after the point for small numbers, none for large ones."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
