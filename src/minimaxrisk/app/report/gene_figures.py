"""Figures of the selected features: the heat map of their values, and the volcano plot of all features."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.phrases import capital, count, isolate, quoted, shortened
from minimaxrisk.app.report.vega import (
    INK,
    LEFT,
    NOISE,
    SECOND,
    Figure,
    Legend,
    layer,
    name_axis,
    nominal,
    plot,
    quantitative,
    tip,
)
from minimaxrisk.inspection import SelectedValuesDisplay
from minimaxrisk.inspection.chart import class_colour
from minimaxrisk.inspection.features import COLOUR_END

# Steps of colour, an odd number so that the middle one means "about the mean". The style sheet has as many.
N_STEPS = 11
# Columns left empty between classes.
GAP = 1


def heat_map_figure(findings: Findings) -> Figure | None:
    """Standardised values of the most important features, samples ordered by class."""
    shown = findings.values
    if not shown.names:
        return None
    return Figure(
        key="heatmap",
        title="Values of the selected features",
        caption=_heat_map_caption(shown),
        specs=[_spec(shown)],
        headers=["feature", *(f"mean of {isolate(name)}" for name in shown.classes)],
        rows=_means(shown),
        legend=[Legend(class_colour(k), "box", name) for k, name in enumerate(shown.classes)],
    )


def _heat_map_caption(shown: SelectedValuesDisplay) -> str:
    features = count(shown.n_selected, "selected feature")
    if len(shown.names) < shown.n_selected:
        features = f"The {len(shown.names)} most important of {features}"
    samples = count(shown.n_samples, "sample")
    if len(shown.samples) < shown.n_samples:
        samples = f"{len(shown.samples)} of {samples}, evenly taken from the classes"
    return (
        f"{features}, the most important on top, by {samples}, ordered by class. Colours show the value in "
        f"standard deviations from the feature's mean, and stay the same beyond ±{COLOUR_END:g}."
    )


def _means(shown: SelectedValuesDisplay) -> list[list[str]]:
    """Means of the drawn cells by class, in standard deviations."""
    present = [shown.labels == k for k in range(len(shown.classes))]
    return [
        [name, *(f"{row[here].mean():+.2f}" if here.any() else "" for here in present)]
        for name, row in zip(shown.names, shown.values, strict=True)
    ]


def _spec(shown: SelectedValuesDisplay) -> dict[str, Any]:
    places = _places(shown)
    n_places = int(places[-1]) + 1
    scale = {"domain": list(range(n_places)), "paddingInner": 0, "paddingOuter": 0}
    x = {"field": "x", "type": "ordinal", "scale": scale, "axis": None}
    step = 13 if len(shown.names) > 24 else 18
    return plot(
        step * len(shown.names),
        [_cells(x), _strip(shown, places, x), _frames(shown)],
        params=[
            {"name": "names", "value": [shortened(name) for name in shown.names]},
            {"name": "chosen", "value": -1},
        ],
        padding={"top": 12, "left": 0, "right": 2, "bottom": 2},
    )


def _places(shown: SelectedValuesDisplay) -> IntArray:
    """Columns of the samples, with a gap before each new class."""
    is_new = np.diff(shown.labels, prepend=shown.labels[:1]) > 0
    return np.arange(len(shown.samples)) + GAP * np.cumsum(is_new)


def _cells(x: dict[str, Any]) -> dict[str, Any]:
    """The page's script fills in the values: a matrix takes a tenth of the room of a list of records."""
    colours = [f"var(--d{k})" for k in range(N_STEPS)]
    scale = {"type": "quantize", "domain": [-COLOUR_END, COLOUR_END], "range": colours}
    return {
        "data": {"name": "cells"},
        "mark": {"type": "rect", "cursor": "pointer"},
        "encoding": {
            "x": x,
            "y": {"field": "f", "type": "ordinal", "scale": {"paddingInner": 0.06}, "axis": name_axis(140)},
            "color": quantitative("v", None, scale=scale, legend=None),
            "tooltip": [
                tip("s", "sample"),
                tip("c", "class"),
                tip("n", "feature"),
                quantitative("v", "standard deviations from the mean", format="+.2f"),
            ],
        },
    }


def _strip(shown: SelectedValuesDisplay, places: IntArray, x: dict[str, Any]) -> dict[str, Any]:
    """A band of colour over the columns of each class."""
    values = [
        {"x": int(place), "k": f"var(--{class_colour(int(k))})", "c": shown.classes[int(k)]}
        for place, k in zip(places, shown.labels, strict=True)
    ]
    # Another channel than that of the cells, which Vega-Lite would want on the same scale.
    colour = nominal("k", scale=None, legend=None)
    y, y2 = {"value": -10}, {"value": -4}
    return layer(values, {"type": "rect"}, x=x, y=y, y2=y2, fill=colour, tooltip=[tip("c", "class")])


def _frames(shown: SelectedValuesDisplay) -> dict[str, Any]:
    """A frame around every row, seen when it is the chosen one."""
    return layer(
        [{"f": f} for f in range(len(shown.names))],
        {"type": "rect", "filled": False, "stroke": INK, "strokeWidth": 2, "name": "frames"},
        y={"field": "f", "type": "ordinal"},
        strokeOpacity={"condition": {"test": "datum.f === chosen", "value": 1}, "value": 0},
    )


def cells_of(shown: SelectedValuesDisplay) -> dict[str, Any]:
    """What the script needs to fill in the cells."""
    return {
        "places": _places(shown).tolist(),
        "samples": shown.sample_names,
        "classes": [shown.classes[k] for k in shown.labels],
        "features": shown.names,
        "hundredths": np.rint(100 * shown.values).astype(np.intp),
    }


# By the kind of the fold change.
FOLD_WORDS = {
    "ratio": "The values are not logarithms, so the fold change is the ratio of the means.",
    "difference": "The values are taken as logarithms of base 2, so the fold change is the difference of the "
    "means; for natural or decimal logarithms multiply by 1.44 or 3.32.",
    "unknown": "The values were scaled, so that there is no fold change.",
}
# Selected features that are drawn, the most important ones, in one panel and in all: more would hide each
# other, and make the page large.
MOST_MARKED, MOST_IN_ALL = 300, 400


def _most_marked(findings: Findings) -> int:
    return min(MOST_MARKED, MOST_IN_ALL // len(findings.volcano.panels))


def volcano_figure(findings: Findings) -> Figure | None:
    """One panel for each class against the rest; the page's script shows one of them at a time."""
    found = findings.volcano
    if not any(len(panel.columns) for panel in found.panels):
        return None
    what = "difference of means" if found.kind == "unknown" else "log2 fold change"
    x = f"{what}, {_sides(findings)}"
    y = "\u2212log10 p, Welch"
    # One layer for both, since a layer without points would have no extent.
    encoding = {
        "x": quantitative("x", x, scale={"zero": False}, axis={"tickCount": 6}),
        "y": quantitative("y", y, axis={"tickCount": 5, "minExtent": LEFT}),
        "color": nominal("s", scale={"domain": [0, 1], "range": [NOISE, SECOND]}, legend=None),
        "size": quantitative("s", None, scale={"domain": [0, 1], "range": [14, 46]}, legend=None),
        "tooltip": [
            tip("n", "feature"),
            quantitative("x", what, format=".3f"),
            quantitative("y", "\u2212log10 p", format=".1f"),
        ],
    }
    cloud = {
        "data": {"name": "dots"},  # the page's script fills them in, as it does the cells of the heat map
        "transform": [{"filter": "datum.k === panel"}],
        "mark": {"type": "circle", "opacity": 0.9},
        "encoding": encoding,
    }
    return Figure(
        key="volcano",
        title="All features one by one, the selected ones marked",
        caption=_volcano_caption(findings, what),
        specs=[plot(280, [cloud], params=[{"name": "panel", "value": 0}])],
        legend=[Legend("second", "dot", "selected features"), Legend("noise", "dot", "other features")],
    )


# Cells of the figure in which other features are placed, finer than dots are wide.
CELLS = (220, 120)


def dots_of(findings: Findings) -> list[dict[str, Any]]:
    """What the script needs to fill in the dots, by panel: selected features, and places of the others."""
    found, most = findings.volcano, _most_marked(findings)
    return [
        {
            "x": [_short(x) for x in panel.x[:most]],
            "y": [_short(y) for y in panel.y[:most]],
            "names": [found.names[int(j)] for j in panel.columns[:most]],
            "others": _placed(panel.other_x, panel.other_y),
        }
        for panel in found.panels
    ]


def _placed(x: FloatArray, y: FloatArray) -> dict[str, Any] | None:
    """Numbers of the cells that have a feature, each as the step from the one before: two digits for most."""
    if not len(x):
        return None
    low = [float(each.min()) for each in (x, y)]
    sizes = [(float(each.max()) - start) / n for each, start, n in zip((x, y), low, CELLS, strict=True)]
    at = [
        np.clip((each - start) / (size or 1.0), 0, n - 1).astype(np.intp)
        for each, start, size, n in zip((x, y), low, sizes, CELLS, strict=True)
    ]
    cells = np.unique(at[0] * CELLS[1] + at[1])
    return {"low": low, "sizes": sizes, "rows": CELLS[1], "steps": np.diff(cells, prepend=0)}


def _sides(findings: Findings) -> str:
    """For the axis, which is as narrow as a phone."""
    if findings.data.n_classes > 2:
        return "the class less all others"
    first, second = (shortened(name, 12) for name in findings.data.classes)
    return f"{second} less {first}"


def _volcano_caption(findings: Findings, what: str) -> str:
    found, data = findings.volcano, findings.data
    n_marked = min(findings.features.n_selected, _most_marked(findings))
    fold = FOLD_WORDS[found.kind]
    without = max(panel.n_without_place for panel in found.panels)
    missing = (
        f" {count(without, 'feature')} without variation or with a mean of zero cannot be drawn."
        if without
        else ""
    )
    side = quoted(data.classes[1]) if data.n_classes == 2 else "the class"
    few = f"the {n_marked:,} most important" if n_marked < findings.features.n_selected else "the"
    return (
        f"Features to the right are higher in {side}, by {what}; those higher up differ with a smaller "
        f"p-value. {fold} {capital(few)} selected features are marked; others at the same place share a dot."
        f"{missing} The classifier uses features together: it may leave out one that is high here because "
        "another one has the same information, and use one that is low because it corrects others. The "
        "p-values only describe: those of selected features come from the samples that selected them."
    )


def _short(value: float) -> float:
    """As exact as a place in the figure and the tooltip need."""
    return float(f"{value:.3g}")
