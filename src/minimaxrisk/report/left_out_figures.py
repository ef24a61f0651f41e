"""The figures of left-out samples: ROC curves, and what stated probabilities were worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.report.colours import class_colour
from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import isolate, share
from minimaxrisk.report.vega import (
    INK,
    LEFT,
    MAIN,
    SOFT,
    Figure,
    Legend,
    layer,
    plot,
    quantitative,
    tip,
)

UNIT = {"domain": [0, 1], "nice": False}


def roc_figure(findings: Findings) -> Figure | None:
    """Right alarms over false ones, for each class against all others."""
    found = findings.left_out
    if found is None or not found.curves:
        return None
    classes = list(findings.data.classes)
    colours = [class_colour(classes.index(one.name)) if len(classes) > 2 else "main" for one in found.curves]
    x, y = "share of the other classes called by its name", "share of the class found"
    axis = {"tickCount": 5, "format": ".1f"}
    layers: list[dict[str, Any]] = [
        layer(
            [{"x": 0, "y": 0}, {"x": 1, "y": 1}],
            {"type": "line", "color": SOFT, "strokeDash": [5, 4], "strokeWidth": 1},
            x=quantitative("x", x, scale=UNIT, axis=axis),
            y=quantitative("y", y, scale=UNIT, axis={**axis, "minExtent": LEFT}),
        )
    ]
    for one, colour in zip(found.curves, colours, strict=True):
        points = [
            {"x": round(float(a), 4), "y": round(float(b), 4), "c": one.name, "a": share(one.area)}
            for a, b in zip(one.false_positive, one.true_positive, strict=True)
        ]
        layers.append(
            layer(
                points,
                {"type": "line", "interpolate": "linear", "color": f"var(--{colour})", "strokeWidth": 2},
                x=quantitative("x", x),
                y=quantitative("y", y),
                order={"field": "y", "type": "quantitative"},
                tooltip=[tip("c", "class"), tip("a", "area under the curve")],
            )
        )
    areas = [one.area for one in found.curves]
    mean = f", {share(float(np.mean(areas)))} on average over the classes" if len(areas) > 1 else ""
    which = (
        "Each class against all others"
        if len(areas) > 1
        else f"{isolate(found.curves[0].name)} against the rest"
    )
    return Figure(
        key="roc",
        title="ROC: right and false alarms by left-out scores",
        caption=(
            f"{which}, by the scores of samples when they were left out; those of all folds in one ranking. "
            f"The area under the curve is {_range(areas)}{mean}: the probability that a sample of the class "
            "scores higher than another one. 0.5, the dashed line, is chance; 1 is perfect."
        ),
        specs=[plot(260, layers)],
        headers=["class", "area under the curve"],
        rows=[[one.name, share(one.area)] for one in found.curves],
        legend=[
            Legend(colour, "line", f"{one.name}, {share(one.area)}")
            for one, colour in zip(found.curves, colours, strict=True)
        ],
    )


def _range(areas: list[float]) -> str:
    low, high = share(min(areas)), share(max(areas))
    return low if low == high else f"{low} to {high}"


def reliability_figure(findings: Findings) -> Figure | None:
    """The probability of the named class beside how often it was right."""
    folds = findings.cross_validation
    if folds is None:
        return None
    rows = _right_by_stated(folds)
    x, y = "probability stated for the named class", "share that was right"
    low = min(0.5, max(0.0, min(one["x"] for one in rows) - 0.05))
    scale = {"domain": [low, 1.02], "nice": False}
    tips = [tip("x", "stated", "quantitative", format=".3f"), tip("w", "right")]
    layers = [
        layer(
            [{"x": low, "y": low}, {"x": 1, "y": 1}],
            {"type": "line", "color": SOFT, "strokeDash": [5, 4], "strokeWidth": 1},
            x=quantitative("x", x, scale=scale, axis={"tickCount": 5, "format": ".1f"}),
            y=quantitative("y", y, scale=UNIT, axis={"tickCount": 5, "format": ".1f", "minExtent": LEFT}),
        ),
        layer(
            rows,
            {"type": "rule", "color": INK, "strokeWidth": 1.5},
            x=quantitative("x", x),
            y=quantitative("a", y),
            y2={"field": "b"},
        ),
        layer(
            rows,
            {"type": "point", "filled": True, "opacity": 1, "color": MAIN, "stroke": INK},
            x=quantitative("x", x),
            y=quantitative("y", y),
            size=quantitative("n", None, scale={"range": [40, 260], "zero": True}, legend=None),
            tooltip=tips,
        ),
    ]
    return Figure(
        key="reliability",
        title="Stated probabilities and how often they were right",
        caption=(
            "Left-out samples by the probability of the class that was named; larger points are more "
            "samples, and lines are 95% intervals as if samples were independent. On the dashed line "
            "probabilities would be right as often as they say; below it they promise too much, above it too "
            "little."
        ),
        specs=[plot(200, layers)],
        headers=[],  # the table of probabilities has its numbers
        rows=[],
        legend=[
            Legend("main", "dot", "left-out samples"),
            Legend("soft", "dash", "as often right as stated"),
        ],
    )


def _right_by_stated(folds: CrossValidatedError) -> list[dict[str, Any]]:
    """How often the named class was right by stated probability, with Clopper and Pearson's interval."""
    rows: list[dict[str, Any]] = []
    for band in folds.by_stated_probability():
        if band.mean_stated is None:
            continue
        interval = stats.binomtest(band.n_right, band.n_samples).proportion_ci()
        rows.append(
            {
                "x": round(band.mean_stated, 4),
                "y": band.n_right / band.n_samples,
                "a": float(interval.low),
                "b": float(interval.high),
                "n": band.n_samples,
                "w": f"{band.n_right} of {band.n_samples}",
            }
        )
    return rows
