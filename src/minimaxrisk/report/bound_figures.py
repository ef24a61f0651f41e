"""The figures of certified bounds over radii and over iterations."""

from __future__ import annotations

from typing import Any

from minimaxrisk.inspection import BoundPathDisplay
from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import count, outward, share
from minimaxrisk.report.vega import (
    INK,
    LEFT,
    MAIN,
    SECOND,
    SOFT,
    Figure,
    Legend,
    layer,
    plot,
    quantitative,
    tip,
)

RADIUS, ITERATION, R_STAR = "radius s, in standard errors", "iteration", "worst-case error R*"
BOUNDS_LEGEND = (
    Legend("main", "line", "upper bound, R* of the model"),
    Legend("second", "dash", "lower bound"),
)


def radius_figure(findings: Findings) -> Figure | None:
    """R* and the number of features over the radius, the one used marked."""
    path, used = findings.path, findings.radius.factor
    if path is None or used is None:
        return None
    rows = _points(path)
    place = int(abs(path.x - used).argmin())
    drop = {"type": "rule", "color": SOFT, "strokeDash": [5, 4]}
    dot = {"type": "point", "filled": True, "size": 110, "color": MAIN, "opacity": 1, "stroke": INK}
    x, y = _x(RADIUS), _y("u", R_STAR)
    bounds = [
        layer([{"x": used}], drop, x=x),
        *_bounds(rows, x),
        layer([rows[place]], dot, x=x, y=y, tooltip=_tips(RADIUS)),
    ]
    line = {"type": "line", "color": SOFT, "point": {"filled": True, "color": SOFT, "size": 22}}
    features = [
        layer([{"x": used}], drop, x=x),
        layer(rows, line, x=x, y=_y("n", "features"), tooltip=_tips(RADIUS)),
    ]
    return Figure(
        key="radius",
        title="R* and the number of features over the radius",
        caption=(
            f"At the radius used, s = {used:.3g}, R* is {share(findings.fit.upper)} with "
            f"{count(findings.fit.n_selected, 'feature')}. From s = {path.x[0]:.3g} to {path.x[-1]:.3g} "
            f"it rises from {share(path.upper[0])} to {share(path.upper[-1])}, and the number of selected "
            f"features goes from {path.n_features[0]:,} to {path.n_features[-1]:,}."
        ),
        specs=[plot(190, bounds), plot(100, features)],
        headers=["radius s", "lower bound", "upper bound", "selected features"],
        rows=_table(path),
        legend=[*BOUNDS_LEGEND, Legend("soft", "dash", f"radius used, {used:.3g}")],
    )


def history_figure(findings: Findings) -> Figure:
    """The bounds that each iteration had proven."""
    history = findings.history
    rows = _points(history)
    low, high = outward(float(history.lower[-1]), float(history.upper[-1]))
    first = f"{share(history.lower[0])} and {share(history.upper[0])}"
    return Figure(
        key="history",
        title="Certified bounds, iteration by iteration",
        caption=(
            f"After {count(int(history.x[-1]), 'iteration')} of the solver “{findings.fit.solver}” R* is "
            f"known to lie between {low} and {high}"
            + (f"; after the first one it was between {first}." if len(history.x) > 1 else ".")
        ),
        specs=[plot(170, _bounds(rows, _x(ITERATION)))],
        headers=["iteration", "lower bound", "upper bound", "components in the solver"],
        rows=_table(history),
        legend=BOUNDS_LEGEND,
    )


def _points(path: BoundPathDisplay) -> list[dict[str, float]]:
    return [
        {"x": float(x), "l": float(low), "u": float(high), "n": int(n)}
        for x, low, high, n in zip(path.x, path.lower, path.upper, path.n_features, strict=True)
    ]


def _bounds(rows: list[dict[str, float]], x: dict[str, Any]) -> list[dict[str, Any]]:
    upper = {"type": "line", "color": MAIN, "strokeWidth": 2, "point": {"filled": True, "color": MAIN}}
    lower = {"type": "line", "color": SECOND, "strokeWidth": 2, "strokeDash": [5, 4]}
    said = _tips(x["title"])
    return [
        layer(rows, upper, x=x, y=_y("u", R_STAR), tooltip=said),
        layer(rows, lower, x=x, y=_y("l", R_STAR), tooltip=said),
    ]


def _x(title: str) -> dict[str, Any]:
    """The same title on every layer, or Vega-Lite would join them."""
    axis: dict[str, Any] = {"grid": False, "tickCount": 8}
    if title == ITERATION:
        axis |= {"tickMinStep": 1, "format": "d"}
    return quantitative("x", title, scale={"zero": False, "nice": False, "padding": 10}, axis=axis)


def _y(name: str, title: str) -> dict[str, Any]:
    axis: dict[str, Any] = {"minExtent": LEFT, "tickCount": 4}
    if name == "n":
        axis |= {"tickMinStep": 1, "format": ",d"}
    return quantitative(name, title, axis=axis)


def _tips(x: str) -> list[dict[str, Any]]:
    return [
        tip("x", x, "quantitative", format=".4~g"),
        tip("u", "upper bound", "quantitative", format=".6f"),
        tip("l", "lower bound", "quantitative", format=".6f"),
        tip("n", "features", "quantitative", format=",d"),
    ]


def _table(path: BoundPathDisplay) -> list[list[str]]:
    return [
        [f"{x:.4g}", *outward(float(low), float(high)), f"{n:,}"]
        for x, low, high, n in zip(path.x, path.lower, path.upper, path.n_features, strict=True)
    ]
