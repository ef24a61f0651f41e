"""Cells, the pieces of an experiment that run on their own (one fit or one fold), and their outcomes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

OK, TIME_LIMIT, SKIPPED, REFUSED, FAILED = "ok", "time limit", "skipped", "refused", "failed"
STATUSES = (OK, TIME_LIMIT, SKIPPED, REFUSED, FAILED)

Setting: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Cell:
    """What to run, for how many seconds at most, and after which others.

    The item and the settings are the cell's identity; the limit is not. Cells of one chain are in order of
    growing difficulty: once one hits its limit, the later ones are skipped.
    """

    item: str
    settings: Mapping[str, Setting]
    limit: float | None = None
    chain: str | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and not 0 < self.limit < math.inf:
            msg = f"limit must be a positive number of seconds or None, got {self.limit!r}"
            raise ValueError(msg)
        for name, value in dict[str, object](self.settings).items():
            if not isinstance(value, str | int | float | bool | None):
                msg = (
                    f"Setting {name!r} must be a str, int, float, bool or None, got {type(value).__name__}; "
                    "convert it first"
                )
                raise TypeError(msg)

    @property
    def key(self) -> str:
        """The identity as JSON with sorted keys."""
        return json.dumps({"item": self.item, "settings": dict(self.settings)}, sort_keys=True)


@dataclass(frozen=True)
class Outcome:
    """How a cell ended. ``environment`` is the fingerprint of what it ran on, ``limit`` the one it had."""

    key: str
    item: str
    settings: Mapping[str, Setting]
    status: str
    detail: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    limit: float | None = None
    environment: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            msg = f"status must be one of {', '.join(STATUSES)}, got {self.status!r}"
            raise ValueError(msg)


class EndedError(Exception):
    """Raised by work on a cell that did not end well: how, why, and rows all the same."""

    def __init__(self, status: str, detail: str, rows: list[dict[str, Any]] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.rows = rows or []


def blocks(total: int, size: int) -> list[tuple[int, int]]:
    """First number and length of consecutive blocks, for work that is too small for a cell of its own."""
    return [(first, min(size, total - first)) for first in range(0, total, size)]


def outcome_of(cell: Cell, status: str, **values: Any) -> Outcome:
    """An outcome of the cell, with the cell's own identity and limit."""
    return Outcome(
        key=cell.key,
        item=cell.item,
        settings=dict(cell.settings),
        status=status,
        limit=cell.limit,
        **values,
    )
