"""The volcano plot: differences between classes beside their p-values, the selected features marked."""

from __future__ import annotations

from typing import Any

from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import count, quoted, shortened
from minimaxrisk.report.vega import LEFT, NOISE, SECOND, Figure, Legend, layer, plot, quantitative, tip

# Selected features that are drawn, the most important ones; more would hide each other.
MOST_MARKED = 300


def volcano_figure(findings: Findings) -> Figure | None:
    """One panel for each class against the rest; the page's script shows one of them at a time."""
    found = findings.volcano
    if not any(len(panel.columns) for panel in found.panels):
        return None
    points: list[dict[str, Any]] = []
    for k, panel in enumerate(found.panels):
        others = zip(panel.other_x, panel.other_y, strict=True)
        points += [{"k": k, "x": _short(x), "y": _short(y), "s": 0, "n": "not selected"} for x, y in others]
        marked = list(zip(panel.columns, panel.x, panel.y, strict=True))[:MOST_MARKED]
        points += [
            {"k": k, "x": _short(x), "y": _short(y), "s": 1, "n": found.names[int(j)]} for j, x, y in marked
        ]
    what = "log2 of the ratio of means" if found.is_ratio else "difference of means"
    x = f"{'log2 ratio' if found.is_ratio else 'difference'} of means, {_sides(findings)}"
    y = "\u2212log10 p, Welch"
    # One layer for both, since a layer without points would have no extent.
    cloud = layer(
        points,
        {"type": "circle", "opacity": 0.9},
        x=quantitative("x", x, scale={"zero": False}, axis={"tickCount": 6}),
        y=quantitative("y", y, axis={"tickCount": 5, "minExtent": LEFT}),
        color={
            "field": "s",
            "type": "nominal",
            "scale": {"domain": [0, 1], "range": [NOISE, SECOND]},
            "legend": None,
        },
        size=quantitative("s", None, scale={"domain": [0, 1], "range": [14, 46]}, legend=None),
        tooltip=[
            tip("n", "feature"),
            tip("x", what, "quantitative", format=".3f"),
            tip("y", "\u2212log10 p", "quantitative", format=".1f"),
        ],
    )
    layers = [{**cloud, "transform": [{"filter": "datum.k === panel"}]}]
    return Figure(
        key="volcano",
        title="All features one by one, the selected ones marked",
        caption=_caption(findings, what),
        specs=[plot(280, layers, params=[{"name": "panel", "value": 0}])],
        headers=[],  # the table of features, and the file of all of them, have its numbers
        rows=[],
        legend=[
            Legend("second", "dot", "selected features"),
            Legend("noise", "dot", "other features"),
        ],
    )


def _sides(findings: Findings) -> str:
    """For the axis, which is as narrow as a phone."""
    if findings.data.n_classes > 2:
        return "the class less all others"
    first, second = (shortened(name, 12) for name in findings.data.classes)
    return f"{second} less {first}"


def _caption(findings: Findings, what: str) -> str:
    found, data = findings.volcano, findings.data
    n_marked = min(findings.features.n_selected, MOST_MARKED)
    fold = (
        "The values are no logarithms, so the change is a ratio."
        if found.is_ratio
        else "Where values are logarithms, that is the log fold change."
    )
    without = max(panel.n_without_place for panel in found.panels)
    missing = (
        f" {count(without, 'feature')} without variation or with a mean of zero cannot be drawn."
        if without
        else ""
    )
    side = quoted(data.classes[1]) if data.n_classes == 2 else "the class"
    few = f"the {n_marked:,} most important" if n_marked < findings.features.n_selected else "the"
    return (
        f"To the right features that are higher in {side}, by {what}; higher up those that differ more "
        f"surely. {fold} Marked are {few} selected features; of the others those at the same place share a "
        f"dot.{missing} The classifier looks at features together: it may leave out one that stands high "
        "here because another one tells the same, and take one that is low because it corrects others. This "
        "is a description: p-values of selected features come from the samples that selected them."
    )


def _short(value: float) -> float:
    return float(f"{value:.4g}")
