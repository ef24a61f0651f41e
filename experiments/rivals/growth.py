"""How time grows with size: exponents by least squares on logarithms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.harness.cells import OK
from experiments.harness.reporting import Row
from experiments.rivals.problems import SWEEPS, Sweep

FEWEST_POINTS = 3


@dataclass(frozen=True)
class Growth:
    """Seconds grow as ``size ** exponent`` for sizes from ``smallest`` to ``largest``."""

    exponent: float
    smallest: int
    largest: int


def fit_growth(sizes: Sequence[int], seconds: Sequence[float]) -> Growth | None:
    """Least-squares line through (log size, log seconds); None for fewer than three points."""
    if len(sizes) < FEWEST_POINTS:
        return None
    exponent, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return Growth(float(exponent), min(sizes), max(sizes))


def sweep_curve(rows: Iterable[Row], sweep: Sweep, rival: str) -> tuple[list[int], list[float]]:
    """Sizes and median seconds of the rival's finished fits in a sweep, by size."""
    points = sorted(
        (size_in_sweep(row), row["median_seconds"])
        for row in rows
        if (row["sweep"], row["rival"], row["status"]) == (sweep.name, rival, OK)
    )
    return [size for size, _ in points], [seconds for _, seconds in points]


def size_in_sweep(row: Row) -> int:
    """What grows along the row's sweep."""
    return int(row[SWEEPS[row["sweep"]].grows])
