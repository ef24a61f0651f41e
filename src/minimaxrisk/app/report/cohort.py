"""One HTML page about a model on a validation cohort, in the style of the report and without its scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from minimaxrisk._utils.arrays import BoolArray
from minimaxrisk._utils.rounding import percent
from minimaxrisk.analysis.evaluation import Evaluation
from minimaxrisk.analysis.intervals import Estimate
from minimaxrisk.app.report.clinical import looked_for
from minimaxrisk.app.report.page import asset, content_policy, require, template
from minimaxrisk.app.report.phrases import capital, count, isolate, listed, none_or, quoted, shortened
from minimaxrisk.app.report.vega import more_colours
from minimaxrisk.checks.findings import Finding
from minimaxrisk.guarantees.left_out import margins
from minimaxrisk.inspection.chart import class_colour

STRONGEST = (
    "There is no stronger statement about a model than this one. Nothing was fitted: errors were counted on "
    "samples that had no part in making the model, so what is stated rests on no cross-validation and no "
    "uncertainty set. It takes for granted that the model has learned from none of them, and that they were "
    "drawn independently, as those were that it is to be used for."
)
LONGEST = 24  # letters of a name of a class on the first screen
MOST_TO_LOOK_AT, MOST_FEATURES = 5, 8
WORTH_NOTHING = "Read the warnings first. Until they are resolved, the numbers may mean nothing."


@dataclass(frozen=True)
class Cohort:
    """An evaluation, and what the page is to show beside it."""

    evaluation: Evaluation
    source: str  # the file with the cohort
    model: str  # that of the model
    target: str
    sample_names: Sequence[str]
    is_on_scale: BoolArray | None  # each sample; None where the model cannot tell
    features: Sequence[str]  # that the model selects, the most important first
    n_used: int  # features that predictions depend on
    n_features: int  # that it was fitted on
    drift: str  # how far the used columns are from those of the training data, in words
    warnings: Sequence[Finding] = ()
    remarks: Sequence[str] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


def render_cohort(cohort: Cohort) -> str:
    """Make the page as one string of HTML."""
    found = cohort.evaluation
    scripts = {"theme": asset("theme.js"), "toggle": asset("cohort.js")}
    markup = require("markupsafe").Markup
    headers, rows = _samples(cohort)
    known = [str(one.label) for one in found.per_class]
    page: str = template("cohort.html").render(
        cohort=cohort,
        found=found,
        headline=_headline(cohort),
        tiles=[] if found.doubt else list(_tiles(found)),
        strongest=WORTH_NOTHING if found.doubt else STRONGEST,
        estimates=list(_estimates(found)),
        rate_headers=RATES,
        rates=_rates(found),
        about_intervals=_about_intervals(found),
        level=percent(found.confidence),
        set_level=percent(found.set_confidence or 0.0),
        classes=known,
        confusion=_confusion(found, len(known)),
        roc=_roc(found),
        bands=_bands(found),
        by_class=_by_class(found),
        to_look_at=[[shortened(cell, LONGEST) for cell in row[:4]] for is_wrong, row in rows if is_wrong][
            :MOST_TO_LOOK_AT
        ],
        about_features=_about_features(cohort),
        sample_headers=headers,
        sample_rows=rows,
        about_scale=_about_scale(cohort),
        policy=content_policy(list(scripts.values())),
        style=markup(asset("report.css") + asset("cohort.css") + more_colours(len(known))),
        scripts={name: markup(text) for name, text in scripts.items()},
    )
    return page


def _headline(cohort: Cohort) -> str:
    """Whether it works on these samples, and how often it errs; under a doubt that comes instead."""
    found = cohort.evaluation
    if found.doubt:
        return found.doubt
    error = found.error
    were = "was" if error.n_counted == 1 else "were"
    text = (
        f"{none_or(error.n_counted or 0)} of {error.n:,} new samples {were} misclassified, "
        f"{error.value:.1%} (with {percent(found.confidence)} confidence {error.interval})"
    )
    if found.majority_error == 0.0:
        return f"{capital(text)}. All are of one class, so that of others this says nothing."
    works = "Yes" if error.high < found.majority_error else "Not shown to be better than naming one class"
    return f"{works}: {text}; always naming the most common class: {found.majority_error:.1%}."


def _tiles(found: Evaluation) -> Iterator[tuple[str, str, str]]:
    """Four numbers: the error, two about classes, and how well scores rank samples or sets are sure."""
    yield (
        "Error",
        f"{found.error.value:.1%}",
        f"{none_or(found.error.n_counted or 0)} of {found.error.n:,} wrong, {found.error.interval}",
    )
    rates = {one.label: one.sensitivity for one in found.per_class}
    told = {label: rate for label, rate in rates.items() if rate is not None}
    if found.is_pair and len(told) == 2:
        ill, well = _looked_for_first(list(told))
        yield (
            "Sensitivity / specificity",
            f"{told[ill].value:.1%} / {told[well].value:.1%}",
            f"{_missed(told[ill])} {_quoted(ill)} missed ({told[ill].interval} found); {_missed(told[well])} "
            f"{_quoted(well)} called {_quoted(ill)} ({told[well].interval} not)",
        )
    if found.balanced_accuracy is not None:
        one = found.balanced_accuracy
        yield (
            "Balanced accuracy",
            f"{one.value:.1%}",
            f"the mean over classes of the share found, {one.interval}",
        )
    if not found.is_pair or len(told) < 2:
        worst = min(told, key=lambda label: told[label].value)
        name = "The class found least" if len(told) > 1 else "Found"
        missed = f"{_missed(told[worst])} {_quoted(worst)} missed ({told[worst].interval} found)"
        yield name, f"{told[worst].value:.1%}", missed
    if found.area is not None:
        yield capital(found.name_of_area), f"{found.area.value:.1%}", found.area.interval
    elif found.kinds_of_sets is not None:
        yield "Sure and right", f"{found.kinds_of_sets['sure and right']:,}", f"of {found.error.n:,} samples"


def _looked_for_first(labels: list[Any]) -> list[Any]:
    """Of two classes the one that a test looks for before the other."""
    return labels[::-1] if looked_for([str(label) for label in labels]) else labels


def _missed(rate: Estimate) -> str:
    return f"{none_or((rate.n or 0) - (rate.n_counted or 0))} of {rate.n:,}"


def _quoted(label: Any) -> str:
    return quoted(shortened(str(label), LONGEST))


def _by_class(found: Evaluation) -> list[list[str]]:
    """What became of the samples of each label, and what those that were missed were called most often."""
    rows = []
    for k, (label, counts) in enumerate(zip(found.labels, found.confusion, strict=True)):
        wrong = counts.copy()
        wrong[k] = 0
        if counts.sum():
            often = shortened(str(found.labels[int(wrong.argmax())]), LONGEST) if wrong.any() else "–"
            missed = f"{int(wrong.sum()):,} of {int(counts.sum()):,}"
            rows.append([shortened(str(label), LONGEST), missed, often])
    return rows


def _about_features(cohort: Cohort) -> str:
    used = [isolate(name) for name in cohort.features[:MOST_FEATURES]]
    if not cohort.n_used:
        return "The model uses none."
    if not used:
        return f"{cohort.n_used:,} of {count(cohort.n_features, 'feature')}."
    some = ", most of all" if cohort.n_used > len(used) else ":"
    return f"{cohort.n_used:,} of {count(cohort.n_features, 'feature')}{some} {listed(used)}."


def _estimates(found: Evaluation) -> Iterator[tuple[str, Estimate]]:
    """Of the model, and of two classes those of the one that is looked for: the other's are the same."""
    yield "error", found.error
    if found.error_at_prevalence is not None:
        yield "error at the given prevalence", found.error_at_prevalence
    if found.is_pair:
        known = {one.label: one for one in found.per_class}
        ill, well = (known[label] for label in _looked_for_first(list(known)))
        first, second = (quoted(str(one.label)) for one in (ill, well))
        for what, estimate in (
            (f"sensitivity: {first} named {first}", ill.sensitivity),
            (f"specificity: {second} named {second}", well.sensitivity),
            (f"predictive value: named {first} and {first}", ill.predictive_value),
            (f"predictive value: named {second} and {second}", well.predictive_value),
        ):
            if estimate is not None:
                yield what, estimate
    if found.balanced_accuracy is not None:
        yield "balanced accuracy", found.balanced_accuracy
    if found.area is not None:
        yield found.name_of_area, found.area
    if found.certain_error is not None:
        yield "error of certain predictions", found.certain_error


RATES = ("class", "sensitivity", "specificity", "predictive value", "area under the ROC curve")


def _rates(found: Evaluation) -> list[list[str]]:
    """Estimates of each of several classes, with intervals."""
    if found.is_pair:
        return []
    shown = [
        (one.label, (one.sensitivity, one.specificity, one.predictive_value, one.area))
        for one in found.per_class
    ]
    return [
        [
            str(label),
            *("–" if each is None else f"{each.value:.1%} ({each.interval})" for each in all_four),
        ]
        for label, all_four in shown
    ]


def _about_intervals(found: Evaluation) -> str:
    text = "Intervals of shares are exact (Clopper and Pearson), each by itself."
    if found.balanced_accuracy is not None:
        text += " That of the balanced accuracy is approximate."
    if found.area is not None:
        text += " Those of areas are approximate, by DeLong's variance."
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


def _roc(found: Evaluation) -> list[tuple[str, str, str]]:
    """Name, colour and points of each curve in a square of 100, the origin below on the left."""
    if found.area is None or found.scores is None:
        return []
    used = found.is_counted & (found.own < found.scores.shape[1])
    curves, leads = [], margins(found.scores[used])
    for k, one in enumerate(found.per_class):
        if one.area is None or (found.is_pair and k == 0):
            continue
        x, y, _ = roc_curve(found.own[used] == k, leads[:, k])
        points = " ".join(f"{100 * a:.2f},{100 * (1 - b):.2f}" for a, b in zip(x, y, strict=True))
        curves.append((f"{one.label}: {one.area}", "main" if found.is_pair else class_colour(k), points))
    return curves


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
