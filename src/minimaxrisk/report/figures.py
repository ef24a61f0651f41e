"""The figures of tests and errors: shuffled labels, cross-validation, and samples in the worst case."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimaxrisk.inspection import ErrorComparisonDisplay, PermutationTestDisplay
from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import p_value, share, shortened
from minimaxrisk.report.section_wording import suspects_caption
from minimaxrisk.report.vega import (
    INK,
    LEFT,
    NOISE,
    SECOND,
    SOFT,
    Figure,
    Legend,
    layer,
    name_axis,
    plot,
    quantitative,
    tip,
)

# Rows of the comparison.
ROWS = ["R*, worst case", "randomized, cross-val.", "named class, cross-val."]


def permutation_figure(findings: Findings) -> Figure | None:
    """Histogram of R* with shuffled labels, and that of the model, which is the more exact one."""
    test = findings.permutation
    if test is None:
        return None
    counts, edges = test.histogram()
    bins = [
        {"a": float(a), "b": float(b), "n": int(n), "w": f"{share(a)} to {share(b)}"}
        for n, a, b in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    observed = share(findings.fit.upper)
    marks = [{"v": findings.fit.upper, "k": "observed labels", "w": observed}]
    title = "worst-case error R*"
    scale = {"zero": False, "nice": False, "padding": 14}
    axis = {"grid": False, "tickCount": 8}
    line_tip = [tip("k", "line"), tip("w", "R*")]
    layers = [
        layer(
            bins,
            {"type": "bar", "color": NOISE, "binSpacing": 1},
            x=quantitative("a", title, scale=scale, axis=axis),
            x2={"field": "b"},
            y=quantitative("n", "permutations", axis={"tickMinStep": 1, "minExtent": LEFT, "tickCount": 5}),
            y2={"datum": 0},
            tooltip=[tip("w", "R*"), tip("n", "permutations", "quantitative")],
        )
    ]
    if test.noise_floor is not None:
        floor = [{"v": test.noise_floor, "k": "5% quantile of the noise", "w": share(test.noise_floor)}]
        mark = {"type": "rule", "color": INK, "strokeDash": [5, 4], "strokeWidth": 1.5}
        layers.append(layer(floor, mark, x=quantitative("v", title), tooltip=line_tip))
    mark = {"type": "rule", "color": SECOND, "strokeWidth": 3}
    layers.append(layer(marks, mark, x=quantitative("v", title), tooltip=line_tip))
    return Figure(
        key="permutations",
        title="R* of the observed labels and of shuffled labels",
        caption=_permutation_caption(test, observed),
        specs=[plot(190, layers)],
        headers=["R*", "permutations"],
        rows=[[str(one["w"]), str(one["n"])] for one in bins],
        legend=[
            Legend("second", "line", f"observed labels, {observed}"),
            Legend("noise", "box", f"{len(test.null_distribution)} permutations"),
            *(
                [Legend("ink", "dash", f"noise floor, their 5% quantile, {share(test.noise_floor)}")]
                if test.noise_floor is not None
                else []
            ),
        ],
    )


def _permutation_caption(test: PermutationTestDisplay, observed: str) -> str:
    null = test.null_distribution
    return (
        f"R* of the observed labels is {observed}; with shuffled labels it lies between "
        f"{share(null.min())} and {share(null.max())}, with a median of {share(float(np.median(null)))} over "
        f"{len(null)} permutations (p = {p_value(test.pvalue)}). For the p-value, R* of the observed labels "
        "is computed as roughly as that of shuffled ones."
    )


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
            f"R* is {share(shown.worst_case_error)}. In {shown.fold_errors.shape[1]}-fold cross-validation "
            f"the error of the randomized rule is {share(shown.errors[0])} ± "
            f"{share(shown.fold_deviations[0])} and that of the named class {share(shown.errors[1])} ± "
            f"{share(shown.fold_deviations[1])}, with the standard deviation over folds; "
            f"always naming the most common class would err for {share(shown.majority_error)}."
        ),
        specs=[plot(130, _comparison_layers(shown))],
        headers=["error", "value", "standard deviation of folds", "folds"],
        rows=rows,
        legend=[
            Legend("second", "square", "R*, worst case over the set"),
            Legend("ink", "diamond", "all left-out samples ± standard deviation of folds"),
            Legend("noise", "dot", "a fold (larger where several folds agree)"),
            Legend("soft", "dash", "always naming the most common class"),
        ],
    )


def _comparison_layers(shown: ErrorComparisonDisplay) -> list[dict[str, Any]]:
    axis = {"labelLimit": 170, "ticks": False, "domain": False, "labelColor": INK, "labelPadding": 14}
    y = {"field": "r", "type": "nominal", "title": None, "scale": {"domain": ROWS}, "axis": axis}
    title = "error probability"
    x = quantitative("e", title, scale={"domainMin": 0}, axis={"tickCount": 6})
    size = quantitative("n", None, scale={"domain": [0, 10], "range": [0, 420]}, legend=None)
    means = _means(shown)
    majority = [{"e": shown.majority_error, "w": share(shown.majority_error)}]
    worst = [{"r": ROWS[0], "e": shown.worst_case_error, "w": share(shown.worst_case_error)}]
    dash = {"type": "rule", "color": SOFT, "strokeDash": [5, 4]}
    point = {"type": "point", "filled": True, "opacity": 1}
    of = tip("r", "error of")
    return [
        layer(majority, dash, x=x, tooltip=[tip("w", "most common class")]),
        layer(
            _folds(shown),
            {"type": "circle", "color": NOISE, "opacity": 0.9},
            x=x,
            y=y,
            size=size,
            tooltip=[of, tip("w", "in a fold"), tip("n", "folds", "quantitative")],
        ),
        layer(
            means,
            {"type": "rule", "color": INK, "strokeWidth": 1.5},
            x=quantitative("a", title),
            x2={"field": "b"},
            y=y,
        ),
        layer(
            means,
            {**point, "shape": "diamond", "size": 90, "color": INK},
            x=x,
            y=y,
            tooltip=[of, tip("w", "± standard deviation of folds")],
        ),
        layer(
            worst,
            {**point, "shape": "square", "size": 110, "color": SECOND},
            x=x,
            y=y,
            tooltip=[of, tip("w", "worst case over the set")],
        ),
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


def _means(shown: ErrorComparisonDisplay) -> list[dict[str, Any]]:
    return [
        {
            "r": name,
            "e": float(mean),
            "a": max(0.0, float(mean - spread)),
            "b": float(mean + spread),
            "w": f"{share(mean)} ± {share(spread)}",
        }
        for name, mean, spread in zip(ROWS[1:], shown.errors, shown.fold_deviations, strict=True)
    ]


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
    names = [one.name for one in findings.suspects]
    colour = {
        "field": "k",
        "type": "nominal",
        "scale": {"domain": ["another label", "its own label"], "range": ["var(--alarm)", "var(--pale)"]},
        "legend": None,
    }
    bars = layer(
        rows,
        {"type": "bar", "height": {"band": 0.74}},
        y={"field": "i", "type": "ordinal", "axis": name_axis(130)},
        x=quantitative("a", "weight in the worst-case distribution", axis={"format": ".1%", "tickCount": 5}),
        x2={"field": "z"},
        color=colour,
        tooltip=[
            tip("s", "sample"),
            tip("c", "class"),
            tip("o", "other label"),
            tip("k", "part"),
            tip("m", "weight", "quantitative", format=".2%"),
        ],
    )
    return Figure(
        key="suspects",
        title="Weights of samples in the worst case",
        caption=suspects_caption(findings),
        specs=[
            plot(
                20 * len(names),
                [bars],
                params=[{"name": "names", "value": [shortened(name) for name in names]}],
            )
        ],
        headers=[],  # its numbers are in a table that is always seen
        rows=[],
        legend=[
            Legend("alarm", "box", "weight on another label"),
            Legend("pale", "box", "weight on its own label"),
        ],
    )
