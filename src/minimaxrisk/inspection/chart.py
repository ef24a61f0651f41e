"""What is drawn, as plain data: axes and marks. ``canvas`` draws them by matplotlib, the report by Vega."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

# Roles of colours.
MAIN, SECOND, NOISE, ALARM, PALE, SOFT, INK = "main", "second", "noise", "alarm", "pale", "soft", "ink"


def class_colour(position: int) -> str:
    """The role of the class at this position."""
    return f"c{position}"


@dataclass(frozen=True)
class Axis:
    """``rows`` are names of the places 0, 1 and so on from top to bottom, in place of numbers."""

    title: str
    scale: Literal["linear", "symlog"] = "linear"
    is_count: bool = False
    rows: Sequence[str] | None = None
    limits: tuple[float, float] | None = None
    starts_at_zero: bool = False


@dataclass(frozen=True)
class Mark:
    """What is drawn in one colour.

    Bars reach from ``(x, y)`` to ``(x2, y2)``, intervals from ``x`` to ``x2`` or from ``y`` to ``y2``. A rule
    has one coordinate, and goes through the whole plot in the other one.
    """

    kind: Literal["line", "points", "bars", "intervals", "rule"]
    name: str
    colour: str
    x: Any = None
    y: Any = None
    x2: Any = None
    y2: Any = None
    label: str = ""  # in the legend
    is_dashed: bool = False
    has_points: bool = True  # of a line that is not dashed
    shape: Literal["circle", "diamond", "square"] = "circle"  # of points
    size: Any = 40.0  # of points: their areas
    tips: Mapping[str, Sequence[str]] = field(default_factory=dict)  # where they say more than coordinates


@dataclass(frozen=True)
class Chart:
    """Axes and marks, the later ones above the earlier ones."""

    x: Axis
    y: Axis
    marks: Sequence[Mark] = ()
    beside: tuple[Axis, Mark] | None = None  # another quantity over x, with an axis of its own
    title: str = ""


def bars_of_rows(name: str, colour: str, places: Any, start: Any, end: Any, **more: Any) -> Mark:
    """Bars along the rows at these places."""
    low, high = places - 0.37, places + 0.37
    return Mark("bars", name, colour, start, low, end, high, **more)
