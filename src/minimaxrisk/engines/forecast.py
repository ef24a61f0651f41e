"""How long a fit will still take, from the gaps that it has certified so far.

The gap of an interior point shrinks by about the same factor in every iteration, that of first-order steps
with a power of their number. The factor is that of the last half of the records.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk.engines.cost import RATES
from minimaxrisk.engines.solution import SMALLEST_GAP, IterationRecord, Monitor

# Records from which on there is a forecast.
FEWEST_RECORDS = 4
# The gap at which an interior point usually has found its vertex.
VERTEX_FOUND = 1e-7
# Where such a gap is enough, no vertex is looked for.
SHOWS_NO_VERTEX = 1e-3


class Forecast:
    """A monitor that adds ``seconds_left`` to every record that it passes on; NaN until it can tell."""

    def __init__(self, monitor: Monitor, *, aim: float, is_geometric: bool) -> None:
        """``aim`` is the gap at which the solver stops."""
        self._monitor, self._is_geometric = monitor, is_geometric
        aim = max(aim, SMALLEST_GAP)
        self._aim = VERTEX_FOUND if is_geometric and aim < SHOWS_NO_VERTEX else aim
        self._seconds: list[float] = []
        self._gaps: list[float] = []

    def __call__(self, record: IterationRecord) -> bool:
        self._seconds.append(record["seconds"])
        self._gaps.append(max(record["upper"] - record["lower"], self._aim))
        record["seconds_left"] = self._seconds_left()
        return self._monitor(record)

    def _seconds_left(self) -> float:
        n = len(self._gaps)
        if n < FEWEST_RECORDS:
            return np.nan
        missing = np.log(self._gaps[-1] / self._aim)
        if not self._is_geometric:
            return float(self._seconds[-1] * np.expm1(missing * RATES.steps_power))
        before = n - 1 - max(2, n // 2)
        gained = np.log(self._gaps[before] / self._gaps[-1])
        spent = self._seconds[-1] - self._seconds[before]
        # An iteration more, in which the vertex is certified.
        return float(spent * (missing / gained + 1.0 / (n - 1 - before))) if gained > 0.0 else np.nan
