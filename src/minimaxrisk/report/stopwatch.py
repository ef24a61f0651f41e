"""What is being computed, told to a person who waits, and how long each part took."""

from __future__ import annotations

import time
from collections.abc import Callable


class Stopwatch:
    """Parts one after the other; each ends where the next one begins."""

    def __init__(self, tell: Callable[[str], object] | None = None) -> None:
        self._tell = tell
        self._begun: list[tuple[str, float]] = []

    def begin(self, part: str) -> None:
        if self._tell is not None:
            self._tell(part)
        self._begun.append((part, time.perf_counter()))

    def end(self) -> dict[str, float]:
        """Seconds by part, those of a part that came twice added."""
        ends = [moment for _, moment in self._begun[1:]] + [time.perf_counter()]
        seconds: dict[str, float] = {}
        for (part, begun), ended in zip(self._begun, ends, strict=True):
            seconds[part] = seconds.get(part, 0.0) + ended - begun
        return seconds
