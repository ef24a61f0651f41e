"""One HTML page about a model on a validation cohort, in the style of the report and without its scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from minimaxrisk._utils.arrays import BoolArray
from minimaxrisk.analysis.doubts import Doubt
from minimaxrisk.analysis.evaluation import Estimate, Evaluation
from minimaxrisk.app.report.page import asset, content_policy, require
from minimaxrisk.app.report.phrases import count, percent, quoted, unbroken

STRONGEST = (
    "There is no stronger statement about a model than this one. Nothing was fitted: errors were counted on "
    "samples that had no part in making the model, so no cross-validation, bound or assumption about "
    "distributions stands between them and what is stated. It is about this model and samples like these."
)
WORTH_NOTHING = "Read the warnings first: as long as they are not settled, the numbers may mean nothing."


@dataclass(frozen=True)
class Cohort:
    """An evaluation, and what the page is to show beside it."""

    evaluation: Evaluation
    source: str  # the file with the cohort
    model: str  # that of the model
    target: str
    sample_names: Sequence[str]
    is_on_scale: BoolArray | None  # each sample; None where the model cannot tell
    drift: str  # how far the used columns are from those of the training data, in words
    doubts: Sequence[Doubt] = ()
    remarks: Sequence[str] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


def render_cohort(cohort: Cohort) -> str:
    """Make the page as one string of HTML."""
    found = cohort.evaluation
    scripts = {"theme": asset("theme.js"), "toggle": asset("cohort.js")}
    markup = require("markupsafe").Markup
    headers, rows = _samples(cohort)
    known = [str(one.label) for one in found.per_class if one.is_known]
    page: str = _template().render(
        cohort=cohort,
        found=found,
        headline=_headline(cohort),
        tiles=list(_tiles(found)),
        strongest=WORTH_NOTHING if any(each.is_about_validity for each in cohort.doubts) else STRONGEST,
        estimates=list(_estimates(found)),
        about_intervals=_about_intervals(found),
        level=percent(found.confidence),
        set_level=percent(found.set_confidence or 0.0),
        classes=known,
        confusion=_confusion(found, len(known)),
        roc=_roc(found),
        bands=_bands(found),
        sample_headers=headers,
        sample_rows=rows,
        about_scale=_about_scale(cohort),
        policy=content_policy(list(scripts.values())),
        style=markup(asset("report.css") + asset("cohort.css")),
        scripts={name: markup(text) for name, text in scripts.items()},
    )
    return page


@cache
def _template() -> Any:
    jinja2 = require("jinja2")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=unbroken,
    )
    return environment.from_string(asset("cohort.html"))


def _headline(cohort: Cohort) -> str:
    found = cohort.evaluation
    error = found.error
    text = (
        f"On {error.n:,} new samples it erred {error.n_counted:,} times: {error.value:.1%}, between "
        f"{error.low:.1%} and {error.high:.1%} with {percent(found.confidence)} confidence"
    )
    if found.majority_error == 0.0:
        return f"{text}. All samples are of one class."
    better = "less than" if error.high < found.majority_error else "not shown to be less than"
    return f"{text}; {better} always naming the most common class, {found.majority_error:.1%}."


def _tiles(found: Evaluation) -> Iterator[tuple[str, str, str]]:
    """Four numbers: the error, two about classes, and how well scores rank samples or sets are sure."""

    def tile(name: str, one: Estimate) -> tuple[str, str, str]:
        of = "" if one.n is None else f", {one.n_counted:,} of {one.n:,}"
        return name, f"{one.value:.1%}", f"{one.low:.1%} to {one.high:.1%}{of}"

    yield tile("error", found.error)
    told = [one for one in found.per_class if one.sensitivity is not None and one.is_known]
    if len(found.labels) == 2:
        for one in told:
            assert one.sensitivity is not None
            yield tile(f"{one.label} recognized", one.sensitivity)
    elif found.balanced_accuracy is not None:
        yield tile("balanced accuracy", found.balanced_accuracy)
        worst = min(told, key=lambda one: one.sensitivity.value if one.sensitivity else 1.0)
        if worst.sensitivity is not None:
            yield tile(f"worst class: {worst.label} recognized", worst.sensitivity)
    if found.area is not None:
        yield tile("area under the ROC curve", found.area)
    elif found.kinds_of_sets is not None:
        yield "sure and right", f"{found.kinds_of_sets['sure and right']:,}", f"of {found.error.n:,} samples"


def _estimates(found: Evaluation) -> Iterator[tuple[str, Estimate]]:
    yield "error", found.error
    if found.error_at_prevalence is not None:
        yield "error at the given prevalence", found.error_at_prevalence
    for one in found.per_class:
        name = quoted(str(one.label))
        if not one.is_known:
            continue
        for what, estimate in (
            (f"sensitivity: {name} named {name}", one.sensitivity),
            (f"specificity: others not named {name}", one.specificity),
            (f"predictive value: named {name} and {name}", one.predictive_value),
        ):
            if estimate is not None:
                yield what, estimate
    if found.balanced_accuracy is not None:
        yield "balanced accuracy", found.balanced_accuracy
    if found.area is not None:
        yield "area under the ROC curve", found.area


def _about_intervals(found: Evaluation) -> str:
    text = "Intervals of shares are exact (Clopper and Pearson), each by itself."
    if found.balanced_accuracy is not None:
        text += " That of the balanced accuracy takes the limits of all classes at once."
    if found.area is not None:
        text += " That of the area is Newcombe's, by the variance of Hanley and McNeil, and approximate."
    if found.prevalence is None:
        return f"{text} Predictive values are for classes as common as in this cohort."
    shares = ", ".join(f"{100 * part:.4g}% {quoted(str(label))}" for label, part in found.prevalence.items())
    return f"{text} Predictive values are for {shares}, with the limits of all classes at once."


def _confusion(found: Evaluation, n_known: int) -> list[tuple[str, list[tuple[int, float, bool]]]]:
    """No column for labels that the model does not know, and no row for classes without samples."""
    return [
        (str(label), [(int(n), n / row.sum(), j == k) for j, n in enumerate(row[:n_known])])
        for k, (label, row) in enumerate(zip(found.labels, found.confusion, strict=True))
        if row.sum()
    ]


def _roc(found: Evaluation) -> str:
    """Points of the curve in a square of 100, the origin below on the left."""
    if found.area is None or found.scores is None:
        return ""
    used = found.is_counted & (found.own < 2)
    x, y, _ = roc_curve(found.own[used], found.scores[used, 1])
    return " ".join(f"{100 * a:.2f},{100 * (1 - b):.2f}" for a, b in zip(x, y, strict=True))


def _bands(found: Evaluation) -> list[list[str]]:
    if found.calibration is None:
        return []
    return [
        [
            f"{band.low:.0%} or more" if band.high is None else f"{band.low:.0%} to {band.high:.0%}",
            f"{band.n_samples:,}",
            f"{band.n_right:,} ({band.n_right / band.n_samples:.0%})",
            f"{band.mean_stated:.1%}",
        ]
        for band in found.calibration.bands
        if band.n_samples and band.mean_stated is not None
    ]


def _samples(cohort: Cohort) -> tuple[list[str], list[tuple[bool, list[str]]]]:
    """Headers and rows, each with whether it is wrong."""
    found = cohort.evaluation
    names, rows = [str(label) for label in found.labels], np.arange(len(found.own))
    is_wrong = found.own != found.predicted
    columns = {
        "sample": list(cohort.sample_names),
        "class": [names[k] for k in found.own],
        "predicted": [names[k] for k in found.predicted],
    }
    order = np.argsort(~is_wrong, kind="stable")
    if found.probabilities is not None:
        stated = found.probabilities[rows, found.predicted]
        columns["probability of it"] = [f"{each:.1%}" for each in stated]
        order = np.lexsort((np.where(is_wrong, -stated, stated), ~is_wrong))
    if found.is_possible is not None:
        columns["possible classes"] = [
            " or ".join(np.array(names[: len(row)], dtype=object)[row]) or "none" for row in found.is_possible
        ]
    if cohort.is_on_scale is not None:
        columns["on the scale of training"] = np.where(cohort.is_on_scale, "yes", "no").tolist()
    if not found.is_counted.all():
        columns["counts"] = np.where(found.is_counted, "yes", "no").tolist()
    table = list(zip(*columns.values(), strict=True))
    return list(columns), [(bool(is_wrong[i]), list(table[i])) for i in order]


def _about_scale(cohort: Cohort) -> str:
    if cohort.is_on_scale is None:
        return "The model uses no column, so there is nothing to compare."
    n = int((~cohort.is_on_scale).sum())
    none = "All samples are on the scale of the training data in the columns that the model uses."
    return f"{count(n, 'sample')} not on the scale of the training data; see the warning." if n else none
