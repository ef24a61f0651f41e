"""How time grows with size: exponents by least squares on logarithms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.rivals.records import OK, Record
from experiments.rivals.workloads import OVER_FEATURES

FEWEST_POINTS = 3


@dataclass(frozen=True)
class Growth:
    """Seconds are about ``factor * size ** exponent`` for sizes from ``smallest`` to ``largest``."""

    exponent: float
    factor: float
    smallest: int
    largest: int
    n_points: int


def fit_growth(sizes: Sequence[int], seconds: Sequence[float]) -> Growth | None:
    """Least-squares line through (log size, log seconds); None for fewer than three points."""
    if len(sizes) < FEWEST_POINTS:
        return None
    exponent, constant = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return Growth(float(exponent), float(np.exp(constant)), min(sizes), max(sizes), len(sizes))


def sweep_curve(records: Iterable[Record], sweep: str, rival: str) -> tuple[list[int], list[float]]:
    """Sizes and median seconds of the rival's finished fits in a sweep, by size."""
    points = sorted(
        (size_in_sweep(record), record.median_seconds)
        for record in records
        if record.sweep == sweep and record.rival == rival and record.status == OK and record.median_seconds
    )
    return [size for size, _ in points], [seconds for _, seconds in points]


def size_in_sweep(record: Record) -> int:
    """What grows along the record's sweep."""
    return record.n_features if record.sweep == OVER_FEATURES else record.n_samples
