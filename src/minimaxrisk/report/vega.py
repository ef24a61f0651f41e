"""What all figures are made of: Vega-Lite specifications as dictionaries.

Colours are CSS variables, so that light, dark and print need no new drawing. Fields have short names of our
own, because Vega reads dots and brackets in them as paths; names from the data are values only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK, SOFT, LINE = "var(--ink)", "var(--soft)", "var(--line)"
MAIN, SECOND, NOISE = "var(--main)", "var(--second)", "var(--noise)"
# So that the frames of figures that stand one above the other begin at the same place.
LEFT = 44

CONFIG: Mapping[str, Any] = {
    "aria": False,  # the figure has its words; thousands of labelled marks help nobody
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "titlePadding": 8,
        "domainColor": LINE,
        "tickColor": LINE,
        "gridColor": LINE,
        "gridOpacity": 0.7,
        "labelLimit": 150,
        "labelFlush": False,
        "labelSeparation": 6,
    },
}


@dataclass(frozen=True)
class Legend:
    """A swatch and its words; ``shape`` is a class of the style sheet."""

    colour: str
    shape: str
    text: str


@dataclass(frozen=True)
class Figure:
    """A plot, or several one above the other. ``headers`` and ``rows`` are its numbers in words."""

    key: str
    title: str
    caption: str
    specs: Sequence[Mapping[str, Any]]
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    legend: Sequence[Legend] = field(default=())


def plot(height: float, layers: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """A specification that is as wide as the page lets it."""
    return {
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": list(layers),
        **more,
    }


def layer(values: Sequence[Mapping[str, Any]], mark: Mapping[str, Any], **encoding: Any) -> dict[str, Any]:
    return {"data": {"values": list(values)}, "mark": dict(mark), "encoding": encoding}


def quantitative(name: str, title: str | None, **more: Any) -> dict[str, Any]:
    return {"field": name, "type": "quantitative", "title": title, **more}


def tip(name: str, title: str, kind: str = "nominal", **more: Any) -> dict[str, Any]:
    return {"field": name, "type": kind, "title": title, **more}


def name_axis(limit: int) -> dict[str, Any]:
    """Names of rows: the parameter ``names`` has them, since equal names would be one row."""
    return {
        "labelExpr": "names[datum.value]",
        "ticks": False,
        "domain": False,
        "labelColor": INK,
        "labelPadding": 6,
        "labelLimit": limit,
        "title": None,
    }
