"""Figures of errors, tests and bounds: charts with captions, and their numbers in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from minimaxrisk._utils.rounding import at_most, outward
from minimaxrisk.app.report.explanations import of_permutations, suspects_caption
from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.phrases import count, isolate, share
from minimaxrisk.app.report.vega import Figure, legend_of, specs_of
from minimaxrisk.app.report.verdict import certified_rule
from minimaxrisk.inspection import BoundPathDisplay
from minimaxrisk.inspection.chart import INK, MAIN, SOFT, Axis, Chart, Mark, class_colour
from minimaxrisk.inspection.errors import ROWS


def radius_figure(findings: Findings) -> Figure | None:
    """R* and the number of features over the radius, the one used marked."""
    path, used = findings.path, findings.radius.factor
    if path is None or used is None:
        return None
    rule = Mark("rule", "used", SOFT, x=used, is_dashed=True, label=f"radius used, {used:.3g}")
    chart = path.chart()
    chart = replace(chart, marks=[rule, *chart.marks])
    return Figure(
        key="radius",
        title="R* and the number of features over the radius",
        caption=(
            f"From s = {path.x[0]:.3g} to {path.x[-1]:.3g} R* rises from {at_most(path.upper[0], '.3f')} to "
            f"{at_most(path.upper[-1], '.3f')}, and the number of selected features goes from "
            f"{path.n_features[0]:,} to {path.n_features[-1]:,}."
        ),
        specs=specs_of(chart, 190),
        headers=["radius s", "lower bound", "upper bound", "selected features"],
        rows=_bounds_table(path),
        legend=legend_of(chart),
    )


def short_list_figure(findings: Findings) -> Figure | None:
    """Left-out error over the number of features; the smallest, and the fewest within one standard error."""
    shown = findings.short_list
    if shown is None:
        return None
    chart, n, error, radii = shown.chart(), shown.n_features.tolist(), shown.mean_loss, shown.radii
    few = "No larger radius has an error within one standard error of it."
    if shown.few != shown.best:
        few = (
            f"The largest radius with an error within one standard error of it, {radii[shown.few]:.3g}, has "
            f"{count(n[shown.few], 'feature')} and the error {share(error[shown.few])}."
        )
    return Figure(
        key="short_list",
        title="Error over the number of features",
        caption=(
            "Each point is a radius; several may select the same number of features, and have different "
            f"errors. The smallest left-out error, {share(error[shown.best])}, is that of radius "
            f"{radii[shown.best]:.3g}, with {count(n[shown.best], 'feature')}. {few}"
        ),
        specs=specs_of(chart, 200),
        headers=["radius", "features", "left-out error", "standard error"],
        rows=[
            [f"{radius:.3g}", f"{number:,}", share(mean), share(spread)]
            for radius, number, mean, spread in zip(radii, n, error, shown.standard_error, strict=True)
        ],
        legend=legend_of(chart),
    )


def history_figure(findings: Findings) -> Figure | None:
    """The bounds that each iteration had proven."""
    history = findings.history
    if history is None:
        return None
    chart = replace(history.chart(), beside=None)
    low, high = outward(history.lower[-1], history.upper[-1], ".6f")
    first = " and ".join(outward(history.lower[0], history.upper[0], ".3f"))
    return Figure(
        key="history",
        title="Certified bounds, iteration by iteration",
        caption=(
            f"After {count(int(history.x[-1]), 'iteration')} of the solver “{findings.fit.solver}” R* is "
            f"known to lie between {low} and {high}"
            + (f"; after the first one it was between {first}." if len(history.x) > 1 else ".")
        ),
        specs=specs_of(chart, 170),
        headers=["iteration", "lower bound", "upper bound", "components in the solver"],
        rows=_bounds_table(history),
        legend=legend_of(chart),
    )


def _bounds_table(path: BoundPathDisplay) -> list[list[str]]:
    return [
        [f"{x:.4g}", *outward(low, high, ".6f"), f"{n:,}"]
        for x, low, high, n in zip(path.x, path.lower, path.upper, path.n_features, strict=True)
    ]


def permutation_figure(findings: Findings) -> Figure | None:
    """Histogram of R* with shuffled labels, and R* of the observed ones, the model's own if it was tested."""
    test, fit = findings.permutation, findings.fit
    if test is None:
        return None
    if fit.choice is None and fit.n_members is None:
        test = replace(test, statistic=fit.upper)
    chart = test.chart()
    return Figure(
        key="permutations",
        title="R* of the observed labels and of shuffled labels",
        caption=of_permutations(findings),
        specs=specs_of(chart, 190),
        headers=["R*", "permutations"],
        rows=list(zip(*chart.marks[0].tips.values(), strict=True)),
        legend=legend_of(chart),
    )


def comparison_figure(findings: Findings) -> Figure | None:
    """R* beside the cross-validated errors of both rules."""
    shown = findings.comparison
    if shown is None:
        return None
    chart = shown.chart()
    rules = zip(ROWS[1:], shown.errors, shown.fold_deviations, shown.fold_errors, strict=True)
    rule, drawn = certified_rule(findings), ""
    if np.isfinite(shown.errors[0]):
        drawn = f"that of {rule} is {share(shown.errors[0])} ± {share(shown.fold_deviations[0])}; "
    return Figure(
        key="comparison",
        title="R* and the cross-validated error",
        caption=(
            f"In {shown.fold_errors.shape[1]} folds the error of the predicted class is "
            f"{share(shown.errors[1])} ± {share(shown.fold_deviations[1])}, with the standard deviation over "
            f"folds; {drawn}R* answers another question: it is the worst case of {rule} over a set of "
            "distributions. Cross-validation is an average over models trained on parts of these samples."
        ),
        specs=specs_of(chart, 130),
        headers=["error", "value", "standard deviation of folds", "folds"],
        rows=[
            [ROWS[0], at_most(shown.worst_case_error, ".3f"), "", ""],
            *(
                [name, share(mean), share(spread), ", ".join(share(e) for e in errors)]
                for name, mean, spread, errors in rules
                if np.isfinite(mean)
            ),
        ],
        legend=legend_of(chart),
    )


def suspects_figure(findings: Findings) -> Figure | None:
    """The weights of samples in the worst case, on other labels and on their own."""
    if not findings.suspects:
        return None
    chart = findings.worst_case.chart()
    return Figure(
        key="suspects",
        title="Weights of samples in the worst case",
        caption=suspects_caption(findings),
        specs=specs_of(chart, 20 * len(findings.suspects)),
        legend=legend_of(chart),
    )


def roc_figure(findings: Findings) -> Figure | None:
    """True positives over false positives, for each class against all others."""
    found = findings.left_out
    if found is None or not found.curves:
        return None
    classes, areas = list(findings.data.classes), [one.area for one in found.curves]
    marks = [_diagonal(0.0)]
    for one in found.curves:
        colour = class_colour(classes.index(one.name)) if len(classes) > 2 else MAIN
        x, y = one.false_positive.round(4), one.true_positive.round(4)
        tips = {"class": [one.name] * len(x), "area under the curve": [share(one.area)] * len(x)}
        label = f"{one.name}, {share(one.area)}"
        marks.append(Mark("line", one.name, colour, x, y, label=label, has_points=False, tips=tips))
    chart = Chart(
        x=Axis("false positive rate", limits=(0, 1)), y=Axis("true positive rate", limits=(0, 1)), marks=marks
    )
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
        specs=specs_of(chart, 260),
        headers=["class", "area under the curve"],
        rows=[[one.name, share(one.area)] for one in found.curves],
        legend=legend_of(chart),
    )


def reliability_figure(findings: Findings) -> Figure | None:
    """The probability of the predicted class beside how often it was right."""
    if findings.cross_validation is None:
        return None
    bands = [one for one in findings.cross_validation.by_probability() if one.n_samples]
    stated = np.array([one.mean_stated for one in bands], dtype=float).round(4)
    n, right = np.array([one.n_samples for one in bands]), np.array([one.n_right for one in bands])
    found = [stats.binomtest(one.n_right, one.n_samples).proportion_ci() for one in bands]
    low, high = np.array([[one.low, one.high] for one in found]).T
    start = min(0.5, max(0.0, float(stated.min()) - 0.05))
    tips = {
        "probability": [f"{each:.3f}" for each in stated],
        "right": [f"{one.n_right} of {one.n_samples}" for one in bands],
    }
    size, label = 40 + 220 * n / n.max(), "left-out samples"
    chart = Chart(
        x=Axis("probability of the predicted class", limits=(start, 1.02)),
        y=Axis("share that was right", limits=(0, 1)),
        marks=[
            _diagonal(start, label="calibrated"),
            Mark("intervals", "intervals", INK, stated, low, y2=high, tips=tips),
            Mark("points", "samples", MAIN, stated, right / n, size=size, label=label, tips=tips),
        ],
    )
    return Figure(
        key="reliability",
        title="Calibration: probabilities and how often they were right",
        caption=(
            "Left-out samples by the probability of the predicted class. Larger points are more samples; "
            "vertical lines are 95% intervals as if samples were independent. On the dashed line the "
            "probabilities are calibrated; below it they are too high, above it too low."
        ),
        specs=specs_of(chart, 200),
        legend=legend_of(chart),
    )


def _diagonal(start: float, **more: Any) -> Mark:
    """The dashed line on which x and y are equal, from ``start`` to 1."""
    ends = [start, 1.0]
    return Mark("line", "diagonal", SOFT, ends, ends, is_dashed=True, **more)
