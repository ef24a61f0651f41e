"""Figures of the page: charts, and what else is drawn, as Vega-Lite specifications in dictionaries.

Colours are CSS variables, so that light, dark and print need no new drawing. Fields have short names of our
own, because Vega reads dots and brackets in them as paths; names from the data are values only.

Ten colours of classes are in the style sheet. Beyond them the hues go around by the golden angle, so that
neighbours are far apart, and the lightness changes from one to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk.app.report.phrases import shortened
from minimaxrisk.inspection.chart import Axis, Chart, Mark, class_colour

N_CHOSEN = 10
GOLDEN_ANGLE = 137.508
# By turns: darker than the chosen ones, lighter, and about as light.
LIGHTNESS_ON_LIGHT, LIGHTNESS_ON_DARK = (0.40, 0.78, 0.47), (0.58, 0.88, 0.68)


def more_colours(n_classes: int) -> str:
    """Style rules for the classes that the style sheet has no colour for; empty where there are none."""
    if n_classes <= N_CHOSEN:
        return ""
    light, dark = [], []
    for k in range(N_CHOSEN, n_classes):
        hue, turn = (GOLDEN_ANGLE * (k - N_CHOSEN)) % 360.0, (k - N_CHOSEN) % 3
        light.append(f"--{class_colour(k)}: oklch({LIGHTNESS_ON_LIGHT[turn]:.2f} 0.16 {hue:.1f});")
        dark.append(f"--{class_colour(k)}: oklch({LIGHTNESS_ON_DARK[turn]:.2f} 0.13 {hue:.1f});")
    return (
        f":root {{ {' '.join(light)} }}\n"
        f'@media screen {{ :root[data-theme="dark"] {{ {" ".join(dark)} }} }}\n'
    )


FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK, SOFT, LINE = "var(--ink)", "var(--soft)", "var(--line)"
SECOND, NOISE = "var(--second)", "var(--noise)"
DASHED = {"color": SOFT, "strokeDash": [5, 4]}
POINT = {"type": "point", "filled": True, "opacity": 1}
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
    headers: Sequence[str] = ()  # none where another table of the page has its numbers
    rows: Sequence[Sequence[str]] = ()
    legend: Sequence[Legend] = ()


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


def nominal(name: str, **more: Any) -> dict[str, Any]:
    return {"field": name, "type": "nominal", **more}


def tip(name: str, title: str) -> dict[str, Any]:
    """Text for the tooltip of a mark; numbers are ``quantitative``."""
    return nominal(name, title=title)


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


def legend_of(chart: Chart) -> list[Legend]:
    """The marks that have a label."""
    return [Legend(mark.colour, _swatch(mark), mark.label) for mark in chart.marks if mark.label]


def _swatch(mark: Mark) -> str:
    if mark.kind == "points":
        return "dot" if mark.shape == "circle" else mark.shape
    return "dash" if mark.is_dashed else "box" if mark.kind == "bars" else "line"


def specs_of(chart: Chart, height: float, height_beside: float = 100) -> list[dict[str, Any]]:
    """The chart, and below it what it has on an axis of its own; rules over x go through both."""
    params = [{"name": "names", "value": [shortened(name, 26) for name in chart.y.rows or ()]}]
    specs = [plot(height, [_layer(mark, chart.x, chart.y) for mark in chart.marks], params=params)]
    if chart.beside is not None:
        y, mark = chart.beside
        rules = [each for each in chart.marks if each.kind == "rule" and each.y is None]
        specs.append(plot(height_beside, [_layer(each, chart.x, y) for each in (*rules, mark)]))
    return specs


def _layer(mark: Mark, x: Axis, y: Axis) -> dict[str, Any]:
    given = {"x": mark.x, "y": mark.y, "x2": mark.x2, "y2": mark.y2, "s": mark.size}
    given = {name: np.atleast_1d(each) for name, each in given.items() if each is not None}
    columns = [each.tolist() for each in np.broadcast_arrays(*given.values())] + list(mark.tips.values())
    names = [*given, *(f"t{k}" for k in range(len(mark.tips)))]
    values = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    encoding = {name: _channel(name, axis) for name, axis in (("x", x), ("y", y)) if name in given}
    tips = [tip(f"t{k}", title) for k, title in enumerate(mark.tips)]
    numbers = [quantitative(name, each["title"], format=".4~g") for name, each in encoding.items()]
    if mark.kind == "line":
        encoding["x"]["sort"] = None  # in the order of the points
    if mark.kind == "points":
        encoding["size"] = quantitative("s", None, scale=None)
    encoding |= {name: {"field": name} for name in ("x2", "y2") if name in given}
    tips = tips or [each for each in numbers if each["title"]]
    return layer(values, _look(mark), **encoding, tooltip=tips)


def _look(mark: Mark) -> dict[str, Any]:
    look: dict[str, Any] = {"color": f"var(--{mark.colour})"}
    if mark.is_dashed:
        look |= {"strokeDash": [5, 4], "strokeWidth": 1.5}
    if mark.kind == "line":
        has_points = mark.has_points and not mark.is_dashed
        return {"type": "line", "strokeWidth": 2, "point": has_points and {"filled": True, **look}, **look}
    if mark.kind == "points":
        return {**POINT, "shape": mark.shape, **look}
    if mark.kind == "bars":
        return {"type": "rect", "stroke": "var(--paper)", "strokeWidth": 1, **look}
    return {"type": "rule", "strokeWidth": 2 if mark.kind == "intervals" else 3, **look}


def _channel(name: str, axis: Axis) -> dict[str, Any]:
    """The same on every layer, or Vega-Lite would join the titles."""
    if axis.rows is not None:
        n = len(axis.rows)
        ticks = {**name_axis(170), "values": list(range(n)), "grid": False}
        return quantitative(name, None, scale={"domain": [n - 0.5, -0.5], "nice": False}, axis=ticks)
    scale: dict[str, Any] = {"zero": False, "nice": False, "padding": 10} if name == "x" else {}
    if axis.scale == "symlog":
        scale |= {"type": "symlog", "constant": 1}
    if axis.limits is not None:
        scale = {"domain": axis.limits, "nice": False}
    elif axis.starts_at_zero:
        scale = {"domainMin": 0}
    ticks = {"tickCount": 8, "grid": axis.starts_at_zero}
    if name == "y":
        ticks = {"tickCount": 4, "minExtent": LEFT}
    if axis.is_count:
        ticks |= {"tickMinStep": 1, "format": ",d"}
    return quantitative(name, axis.title, scale=scale, axis=ticks)
