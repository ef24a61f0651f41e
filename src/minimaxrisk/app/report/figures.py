"""Figures of errors, tests and bounds: Vega-Lite specifications as dictionaries.

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
from scipy import stats

from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.app.report.claims import DRAWN, MOST_COMMON, PREDICT
from minimaxrisk.app.report.explanations import of_permutations, suspects_caption
from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.phrases import count, isolate, outward, share, shortened
from minimaxrisk.inspection import BoundPathDisplay, ErrorComparisonDisplay

N_CHOSEN = 10
GOLDEN_ANGLE = 137.508
# By turns: darker than the chosen ones, lighter, and about as light.
LIGHTNESS_ON_LIGHT, LIGHTNESS_ON_DARK = (0.40, 0.78, 0.47), (0.58, 0.88, 0.68)


def class_colour(position: int) -> str:
    """The name of the style sheet's variable."""
    return f"c{position}"


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
MAIN, SECOND, NOISE = "var(--main)", "var(--second)", "var(--noise)"
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


def diagonal(x: Mapping[str, Any], y: Mapping[str, Any], start: float = 0.0) -> dict[str, Any]:
    """The dashed line on which x and y are equal, from ``start`` to 1."""
    ends = [{"x": start, "y": start}, {"x": 1.0, "y": 1.0}]
    return layer(ends, {"type": "line", "strokeWidth": 1, **DASHED}, x=x, y=y)


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
    drop = {"type": "rule", **DASHED}
    dot = {**POINT, "size": 110, "color": MAIN, "stroke": INK}
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
            f"From s = {path.x[0]:.3g} to {path.x[-1]:.3g} R* rises from {share(path.upper[0])} to "
            f"{share(path.upper[-1])}, and the number of selected features goes from "
            f"{path.n_features[0]:,} to {path.n_features[-1]:,}."
        ),
        specs=[plot(190, bounds), plot(100, features)],
        headers=["radius s", "lower bound", "upper bound", "selected features"],
        rows=_table(rows),
        legend=[*BOUNDS_LEGEND, Legend("soft", "dash", f"radius used, {used:.3g}")],
    )


def short_list_figure(findings: Findings) -> Figure | None:
    """Left-out error over the number of features; the smallest, and the fewest within one standard error."""
    shown = findings.short_list
    if shown is None:
        return None
    rows = [
        {
            "n": int(n),
            "x": float(mean),
            "l": max(0.0, float(mean - spread)),
            "u": float(mean + spread),
            "s": s,
        }
        for s, n, mean, spread in zip(
            shown.radii.tolist(), shown.n_features, shown.mean_loss, shown.standard_error, strict=True
        )
    ]
    best, few = rows[shown.best], rows[shown.few]
    title = "number of features, of the fit on all samples"
    scale = {"type": "symlog", "constant": 1, "nice": False, "padding": 10}
    x = quantitative("n", title, scale=scale, axis={"grid": False, "tickCount": 8, "format": ",d"})
    error = "error on left-out samples"
    tips = [
        quantitative("n", "features", format=",d"),
        quantitative("x", "left-out error", format=".1%"),
        quantitative("s", RADIUS, format=".3~g"),
    ]
    y = _y("x", error)
    line = {"type": "line", "color": MAIN, "strokeWidth": 2, "point": {"filled": True, "color": MAIN}}
    bars = {"type": "rule", "color": LINE, "strokeWidth": 3}
    limit = {"type": "rule", **DASHED}
    dot = {**POINT, "size": 130, "stroke": INK}
    layers = [
        layer(rows, bars, x=x, y=_y("l", error), y2={"field": "u"}),
        layer([{"u": best["u"]}], limit, y=_y("u", error)),
        # In the order of the radii, not of the numbers, which need not be the same.
        layer(rows, line, x=x, y=y, order={"field": "s", "type": "quantitative"}, tooltip=tips),
        layer([best], {**dot, "color": SECOND}, x=x, y=y, tooltip=tips),
        layer([few], {**dot, "color": NOISE}, x=x, y=y, tooltip=tips),
    ]
    return Figure(
        key="short_list",
        title="Error over the number of features",
        caption=(
            f"The smallest left-out error, {share(best['x'])}, has {count(best['n'], 'feature')}. The fewest "
            f"within one standard error of it: {count(few['n'], 'feature')}, with {share(few['x'])}."
        ),
        specs=[plot(200, layers)],
        headers=["features", "left-out error", "standard error", "radius s"],
        rows=[
            [f"{row['n']:,}", share(row["x"]), share(row["u"] - row["x"]), f"{row['s']:.3g}"] for row in rows
        ],
        legend=[
            Legend("main", "line", "mean of the folds, ± one standard error"),
            Legend("second", "dot", f"smallest: {count(best['n'], 'feature')}"),
            Legend("noise", "dot", f"fewest: {count(few['n'], 'feature')}"),
            Legend("soft", "dash", "smallest error and its standard error"),
        ],
    )


def history_figure(findings: Findings) -> Figure | None:
    """The bounds that each iteration had proven."""
    history = findings.history
    if history is None:
        return None
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
        rows=_table(rows),
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
        quantitative("x", x, format=".4~g"),
        quantitative("u", "upper bound", format=".6f"),
        quantitative("l", "lower bound", format=".6f"),
        quantitative("n", "features", format=",d"),
    ]


def _table(points: list[dict[str, float]]) -> list[list[str]]:
    return [[f"{one['x']:.4g}", *outward(one["l"], one["u"]), f"{one['n']:,}"] for one in points]


# Rows of the comparison.
ROWS = ["R*, worst case", "drawn labels, cross-val.", f"{PREDICT}, cross-val."]


def permutation_figure(findings: Findings) -> Figure | None:
    """Histogram of R* with shuffled labels, and R* of the observed ones, the model's own if it was tested."""
    test = findings.permutation
    if test is None:
        return None
    counts, edges = test.histogram()
    bins = [
        {"a": float(a), "b": float(b), "n": int(n), "w": f"{share(a)} to {share(b)}"}
        for n, a, b in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    fit, floor = findings.fit, test.noise_floor
    is_own = fit.choice is None and fit.n_members is None
    observed = fit.upper if is_own else test.statistic
    layers = [
        layer(
            bins,
            {"type": "bar", "color": NOISE, "binSpacing": 1},
            x=quantitative(
                "a",
                R_STAR,
                scale={"zero": False, "nice": False, "padding": 14},
                axis={"grid": False, "tickCount": 8},
            ),
            x2={"field": "b"},
            y=quantitative("n", "permutations", axis={"tickMinStep": 1, "minExtent": LEFT, "tickCount": 5}),
            y2={"datum": 0},
            tooltip=[tip("w", "R*"), quantitative("n", "permutations")],
        )
    ]
    legend = [
        Legend("second", "line", f"observed labels, {share(observed)}"),
        Legend("noise", "box", f"R* of {len(test.null_distribution)} permutations"),
    ]
    if floor is not None:
        dashed = {"color": INK, "strokeDash": [5, 4], "strokeWidth": 1.5}
        layers.append(_rule("5% quantile of the noise", floor, dashed))
        legend.append(Legend("ink", "dash", f"noise floor, their 5% quantile, {share(floor)}"))
    layers.append(_rule("observed labels", observed, {"color": SECOND, "strokeWidth": 3}))
    return Figure(
        key="permutations",
        title="R* of the observed labels and of shuffled labels",
        caption=of_permutations(findings),
        specs=[plot(190, layers)],
        headers=["R*", "permutations"],
        rows=[[str(one["w"]), str(one["n"])] for one in bins],
        legend=legend,
    )


def _rule(name: str, value: float, mark: Mapping[str, Any]) -> dict[str, Any]:
    values, tips = [{"v": value, "k": name, "w": share(value)}], [tip("k", "line"), tip("w", "R*")]
    return layer(values, {"type": "rule", **mark}, x=quantitative("v", R_STAR), tooltip=tips)


def comparison_figure(findings: Findings) -> Figure | None:
    """R* beside the cross-validated errors of both rules."""
    shown = findings.comparison
    if shown is None:
        return None
    rules = list(zip(ROWS[1:], shown.errors, shown.fold_deviations, shown.fold_errors, strict=True))
    rows = [[ROWS[0], share(shown.worst_case_error), "", ""]]
    rows += [
        [name, share(mean), share(spread), ", ".join(share(e) for e in errors)]
        for name, mean, spread, errors in rules
    ]
    return Figure(
        key="comparison",
        title="R* and the cross-validated error",
        caption=(
            f"In {shown.fold_errors.shape[1]}-fold cross-validation the error of {DRAWN} is "
            f"{share(shown.errors[0])} ± {share(shown.fold_deviations[0])}, with the standard deviation over "
            f"folds; below it stands that of {PREDICT}. R* answers another question: it is a worst case over "
            "a set of distributions, for this model. Cross-validation is an average over models trained on "
            "parts of these samples."
        ),
        specs=[plot(130, _comparison_layers(shown))],
        headers=["error", "value", "standard deviation of folds", "folds"],
        rows=rows,
        legend=[
            Legend("second", "square", "R*, worst case over the set"),
            Legend("ink", "diamond", "all left-out samples ± standard deviation of folds"),
            Legend("noise", "dot", "a fold (larger where several folds agree)"),
            Legend("soft", "dash", MOST_COMMON),
        ],
    )


def _comparison_layers(shown: ErrorComparisonDisplay) -> list[dict[str, Any]]:
    axis = {"labelLimit": 170, "ticks": False, "domain": False, "labelColor": INK, "labelPadding": 14}
    y = nominal("r", title=None, scale={"domain": ROWS}, axis=axis)
    title = "error probability"
    x = quantitative("e", title, scale={"domainMin": 0}, axis={"tickCount": 6})
    size = quantitative("n", None, scale={"domain": [0, 10], "range": [0, 420]}, legend=None)
    means = [
        {
            "r": name,
            "e": float(mean),
            "a": max(0.0, float(mean - spread)),
            "b": float(mean + spread),
            "w": f"{share(mean)} ± {share(spread)}",
        }
        for name, mean, spread in zip(ROWS[1:], shown.errors, shown.fold_deviations, strict=True)
    ]
    majority = [{"e": shown.majority_error, "w": share(shown.majority_error)}]
    worst = [{"r": ROWS[0], "e": shown.worst_case_error, "w": share(shown.worst_case_error)}]
    at, of = {"x": x, "y": y}, tip("r", "error of")
    dot = {"type": "circle", "color": NOISE, "opacity": 0.9}
    bar = {"type": "rule", "color": INK, "strokeWidth": 1.5}
    diamond = {**POINT, "shape": "diamond", "size": 90, "color": INK}
    square = {**POINT, "shape": "square", "size": 110, "color": SECOND}
    in_fold = [of, tip("w", "in a fold"), quantitative("n", "folds")]
    return [
        layer(majority, {"type": "rule", **DASHED}, x=x, tooltip=[tip("w", "most common class")]),
        layer(_folds(shown), dot, **at, size=size, tooltip=in_fold),
        layer(means, bar, x=quantitative("a", title), x2={"field": "b"}, y=y),
        layer(means, diamond, **at, tooltip=[of, tip("w", "± standard deviation of folds")]),
        layer(worst, square, **at, tooltip=[of, tip("w", "worst case over the set")]),
    ]


def _folds(shown: ErrorComparisonDisplay) -> list[dict[str, Any]]:
    """One dot for all folds with the same error."""
    records = []
    for name, errors in zip(ROWS[1:], shown.fold_errors, strict=True):
        values, counts = np.unique(errors.round(9), return_counts=True)
        records += [
            {"r": name, "e": float(v), "n": int(n), "w": share(v)}
            for v, n in zip(values, counts, strict=True)
        ]
    return records


def suspects_figure(findings: Findings) -> Figure | None:
    """The weights of samples in the worst case, on other labels and on their own."""
    if not findings.suspects:
        return None
    rows = [
        {"i": i, "s": one.name, "c": one.own, "o": one.other, "m": mass, "a": start, "k": kind, "z": end}
        for i, one in enumerate(findings.suspects)
        for kind, mass, start, end in (
            ("another label", one.other_mass, 0.0, one.other_mass),
            ("its own label", one.own_mass, one.other_mass, one.other_mass + one.own_mass),
        )
    ]
    names = [shortened(one.name) for one in findings.suspects]
    scale = {"domain": ["another label", "its own label"], "range": ["var(--alarm)", "var(--pale)"]}
    bars = layer(
        rows,
        {"type": "bar", "height": {"band": 0.74}},
        y={"field": "i", "type": "ordinal", "axis": name_axis(130)},
        x=quantitative("a", "weight in the worst-case distribution", axis={"format": ".1%", "tickCount": 5}),
        x2={"field": "z"},
        color=nominal("k", scale=scale, legend=None),
        tooltip=[
            tip("s", "sample"),
            tip("c", "class"),
            tip("o", "other label"),
            tip("k", "part"),
            quantitative("m", "weight", format=".2%"),
        ],
    )
    return Figure(
        key="suspects",
        title="Weights of samples in the worst case",
        caption=suspects_caption(findings),
        specs=[plot(20 * len(names), [bars], params=[{"name": "names", "value": names}])],
        legend=[
            Legend("alarm", "box", "weight on another label"),
            Legend("pale", "box", "weight on its own label"),
        ],
    )


UNIT = {"domain": [0, 1], "nice": False}
TENTHS = {"tickCount": 5, "format": ".1f"}
LEFT_TENTHS = {**TENTHS, "minExtent": LEFT}


def roc_figure(findings: Findings) -> Figure | None:
    """True positives over false positives, for each class against all others."""
    found = findings.left_out
    if found is None or not found.curves:
        return None
    classes = list(findings.data.classes)
    colours = [class_colour(classes.index(one.name)) if len(classes) > 2 else "main" for one in found.curves]
    x, y = "false positive rate", "true positive rate"
    first = quantitative("x", x, scale=UNIT, axis=TENTHS), quantitative("y", y, scale=UNIT, axis=LEFT_TENTHS)
    layers = [diagonal(*first)]
    for one, colour in zip(found.curves, colours, strict=True):
        points = [
            {"x": round(float(a), 4), "y": round(float(b), 4), "c": one.name, "a": share(one.area)}
            for a, b in zip(one.false_positive, one.true_positive, strict=True)
        ]
        line = {"type": "line", "interpolate": "linear", "color": f"var(--{colour})", "strokeWidth": 2}
        at = {"x": quantitative("x", x), "y": quantitative("y", y), "order": quantitative("y", None)}
        tips = [tip("c", "class"), tip("a", "area under the curve")]
        layers.append(layer(points, line, **at, tooltip=tips))
    areas = [one.area for one in found.curves]
    mean = f", {share(float(np.mean(areas)))} on average over the classes" if len(areas) > 1 else ""
    low, high = share(min(areas)), share(max(areas))
    area = low if low == high else f"{low} to {high}"
    which = f"{isolate(found.curves[0].name)} against the rest"
    if len(areas) > 1:
        which = "Each class against all others"
    return Figure(
        key="roc",
        title="ROC curve (cross-validated)",
        caption=(
            f"{which}, by the scores of left-out samples, all folds in one ranking. The area under the curve "
            f"is {area}{mean}: the probability that a sample of the class scores higher than "
            "another one. 0.5, the dashed line, is chance; 1 is perfect."
        ),
        specs=[plot(260, layers)],
        headers=["class", "area under the curve"],
        rows=[[one.name, share(one.area)] for one in found.curves],
        legend=[
            Legend(colour, "line", f"{one.name}, {share(one.area)}")
            for one, colour in zip(found.curves, colours, strict=True)
        ],
    )


def reliability_figure(findings: Findings) -> Figure | None:
    """The probability of the predicted class beside how often it was right."""
    folds = findings.cross_validation
    if folds is None:
        return None
    rows = _right_by_stated(folds)
    x, y = "probability of the predicted class", "share that was right"
    low = min(0.5, max(0.0, min(one["x"] for one in rows) - 0.05))
    scale = {"domain": [low, 1.02], "nice": False}
    tips = [quantitative("x", "probability", format=".3f"), tip("w", "right")]
    size = quantitative("n", None, scale={"range": [40, 260], "zero": True}, legend=None)
    first = quantitative("x", x, scale=scale, axis=TENTHS), quantitative("y", y, scale=UNIT, axis=LEFT_TENTHS)
    bar, dot = {"type": "rule", "color": INK, "strokeWidth": 1.5}, {**POINT, "color": MAIN, "stroke": INK}
    at = {"x": quantitative("x", x)}
    layers = [
        diagonal(*first, start=low),
        layer(rows, bar, **at, y=quantitative("a", y), y2={"field": "b"}),
        layer(rows, dot, **at, y=quantitative("y", y), size=size, tooltip=tips),
    ]
    return Figure(
        key="reliability",
        title="Calibration: probabilities and how often they were right",
        caption=(
            "Left-out samples by the probability of the predicted class. Larger points are more samples; "
            "vertical lines are 95% intervals as if samples were independent. On the dashed line the "
            "probabilities are calibrated; below it they are too high, above it too low."
        ),
        specs=[plot(200, layers)],
        legend=[Legend("main", "dot", "left-out samples"), Legend("soft", "dash", "calibrated")],
    )


def _right_by_stated(folds: CrossValidatedError) -> list[dict[str, Any]]:
    """How often the predicted class was right by its probability, with Clopper and Pearson's interval."""
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
