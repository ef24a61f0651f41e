"""What a reader sees without scrolling: four numbers, a picture, the top features, the samples to look at.

They answer: is there signal, how often will it err, which features, which samples. Each number stands here
once; the sections below explain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.rounding import at_most, percent
from minimaxrisk.analysis.intervals import Estimate
from minimaxrisk.app.report import verdict
from minimaxrisk.app.report.clinical import looked_for
from minimaxrisk.app.report.explanations import Advice, Entry
from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.phrases import count, isolate, none_or, p_value, quoted, share, shortened
from minimaxrisk.app.report.tables import FEW_FOLDS
from minimaxrisk.app.report.vega import (
    DASHED,
    INK,
    POINT,
    Figure,
    Legend,
    layer,
    name_axis,
    nominal,
    plot,
    quantitative,
    tip,
)
from minimaxrisk.inspection.chart import class_colour

N_FEATURES, N_SAMPLES = 8, 5
LONGEST, LONGEST_CLASS = 28, 18  # letters of a name, and of that of a class beside another one
NOT_COMPUTED = "not computed"

# ---- four numbers

SIGNAL = {
    "signal": "yes",
    "noise": "no: shuffled labels do as well",
    "doubtful": "unclear: left-out samples do not show it",
    "hidden": "not by this test, but left-out samples show it",
    "too few": "too few permutations to tell",
}


def key_numbers(findings: Findings) -> list[Entry]:
    """In the order of what people ask."""
    return [
        _signal(findings),
        _left_out_error(findings),
        _by_class(findings),
        _bound(findings),
    ]


def _signal(findings: Findings) -> Entry:
    name, test = "Is there signal?", findings.permutation
    if test is None:
        return Entry(name, "–", NOT_COMPUTED)
    n = count(test.n_permutations, "permutation")
    says = SIGNAL[verdict.evidence(findings)]
    if says == SIGNAL["signal"] and verdict.veto(findings) is not None:
        says = "something tells the classes apart"
    if verdict.says_nothing(findings):
        says = "cannot tell: no feature was selected"
    is_smallest = test.pvalue * (test.n_permutations + 1) < 1.5
    how = f"the smallest possible with {n}" if is_smallest else f"from {n} of the labels"
    return Entry(name, f"p = {p_value(test.pvalue)}", f"{says}; {how}")


def _left_out_error(findings: Findings) -> Entry:
    name, folds = "Error on left-out samples", findings.cross_validation
    if folds is None:
        return Entry(name, "–", NOT_COMPUTED)
    majority = f"always predicting {_quoted(findings.data.largest_class)}: {folds.majority_error:.1%}"
    if (there := verdict.left_out_at_prevalence(findings)) is not None:
        common, error = verdict.most_common(findings)
        majority = (
            f"at the given prevalence {there:.1%}, and always predicting {_quoted(common)} there: {error:.1%}"
        )
    estimate = folds.error()
    interval = estimate.interval if folds.n_wrong else f"up to {at_most(estimate.high, '.1%')}"
    return Entry(
        name,
        f"{folds.errors[1]:.1%}",
        f"{none_or(folds.n_wrong)} of {folds.n_judged:,} wrong, roughly {interval}; {majority}",
    )


def _by_class(findings: Findings) -> Entry:
    """Sensitivity and specificity of two classes; of more the mean, and the class that fares worst."""
    found, classes = findings.left_out, findings.classes
    is_pair = len(classes) == 2
    name = "Sensitivity / specificity" if is_pair else "Balanced accuracy"
    if found is None:
        return Entry(name, "–", NOT_COMPUTED)
    balanced = f"{found.balanced_accuracy:.1%}"
    rates = {one.name: one.rates.sensitivity for one in classes if one.rates is not None}
    known = {name: rate for name, rate in rates.items() if rate is not None}
    if not is_pair:
        worst = min(known, key=lambda name: known[name].value)
        rate = known[worst]
        return Entry(
            name,
            balanced,
            f"the mean over classes of the share found; the least: {rate.n_counted} of {rate.n} "
            f"{_quoted(worst)}, roughly {rate.interval}",
        )
    ill = looked_for(findings.data.classes)
    names = findings.data.classes[ill], findings.data.classes[1 - ill]
    (sensitivity, specificity), (looked, other) = (known[each] for each in names), map(_quoted, names)
    return Entry(
        name,
        f"{sensitivity.value:.1%} / {specificity.value:.1%}",
        f"{_missed(sensitivity)} {looked} missed (roughly {sensitivity.interval} found); "
        f"{_missed(specificity)} {other} called {looked} (roughly {specificity.interval} not); "
        f"balanced accuracy {balanced}",
    )


def _missed(rate: Estimate) -> str:
    return f"{none_or((rate.n or 0) - (rate.n_counted or 0))} of {rate.n:,}"


def _quoted(name: str) -> str:
    """A name of a class in the small print, where there is no room for a long one."""
    return quoted(shortened(name, 16))


def _bound(findings: Findings) -> Entry:
    """What is certain, as against what left-out samples suggest."""
    name, best = "Guaranteed: at most", verdict.bound_with_confidence(findings)
    if verdict.veto(findings) is not None:
        return Entry(name, "–", verdict.NO_BOUND)
    if best is None:
        is_missing = findings.guarantee is None
        return Entry(name, "–", NOT_COMPUTED if is_missing else "no error bound can be given")
    assert best.confidence is not None
    whose = verdict.whose_error(best).removeprefix(f"{verdict.PREDICT} for ")
    text = f"error for new samples, with {percent(best.confidence)} confidence, for {whose}"
    if verdict.is_guarantee_empty(findings):
        text += ": too few samples to prove what the left-out ones suggest"
    return Entry(name, at_most(best.value, ".1%"), text)


# ---- the features and the samples


@dataclass(frozen=True)
class TopFeature:
    """``colour`` is that of the class that higher values favour, if there is one."""

    name: str
    points: str
    colour: str | None
    frequency: str | None
    is_rare: bool  # selected in few folds


def top_features(findings: Findings) -> list[TopFeature]:
    """The most important ones; none where they are what noise gives."""
    table, classes = findings.features, findings.data.classes
    if verdict.evidence(findings) == "noise":
        return []
    rows = []
    for j in range(min(N_FEATURES, table.n_selected)):
        one = table.directions[j]
        lead = one.speaks_for[0] if one.speaks_for else None
        share_of_folds = None if table.frequency is None else float(table.frequency[j])
        rows.append(
            TopFeature(
                name=shortened(table.names[j], LONGEST),
                points=shortened(lead or f"not {isolate(one.speaks_against[0])}", LONGEST),
                colour=None if lead is None else class_colour(classes.index(lead)),
                frequency=None if share_of_folds is None else f"{share_of_folds:.0%}",
                is_rare=share_of_folds is not None and share_of_folds < FEW_FOLDS,
            )
        )
    return rows


def about_top_features(findings: Findings) -> str:
    """How many features are used, or what stands in place of the list."""
    if verdict.selected_nothing(findings):
        return "None was selected."
    if verdict.evidence(findings) == "noise":
        return "None to rely on: with shuffled labels others would be selected as readily."
    text = f"Selected: {verdict.about_selection(findings)}."
    text += about_related(findings, min(N_FEATURES, findings.features.n_selected))
    return f"{text} {LONE}" if is_lone(findings) else text


def about_related(findings: Findings, n: int) -> str:
    """Return how many of the first n features are related to the class, as a sentence after a space."""
    if findings.related is None or not n:
        return ""
    found, level = findings.related.of_first[n], percent(findings.related.confidence)
    which = f"the first {n:,}" if n < findings.features.n_selected else "them"
    differ = "differs" if found == 1 else "differ"
    return f" At least {found:,} of {which} {differ} between the classes ({level} confidence)."


LONE = (
    "One, of so many: is it a measurement? A copy of the diagnosis, a date or the number of a plate looks "
    "like this."
)
MOST_LONE, MANY = 1, 100


def is_lone(findings: Findings) -> bool:
    """Whether one feature of very many decides alone, and no warning names it."""
    named = {name for one in findings.warnings for name in one.columns}
    fit = findings.fit
    is_alone = fit.n_selected <= MOST_LONE and not fit.uses_all_features and findings.data.n_features >= MANY
    return is_alone and not named & set(findings.features.names)


@dataclass(frozen=True)
class LookedAt:
    """A sample that was misclassified when it was left out."""

    name: str
    own: str
    predicted: str
    own_probability: str


def samples_to_look_at(findings: Findings) -> list[LookedAt]:
    """Those first whose own class had the least probability; none that was predicted rightly."""
    if findings.left_out is None or verdict.evidence(findings) == "noise":
        return []
    return [
        LookedAt(
            name=shortened(one.name, LONGEST),
            own=shortened(one.own, LONGEST_CLASS),
            predicted=shortened(one.named, LONGEST_CLASS),
            own_probability=share(one.probability),
        )
        for one in findings.left_out.errors[:N_SAMPLES]
    ]


def about_samples(findings: Findings, advice: Advice) -> str:
    """What stands in place of the list, or a note on what seems odd in it."""
    if findings.left_out is None:
        return f"Not known: {findings.cross_validation_skipped or f'{advice.folds} shows them.'}"
    if verdict.evidence(findings) == "noise":
        return "None stands out: too many are misclassified."
    if not findings.left_out.errors:
        return "None was misclassified when it was left out."
    return ""


# ---- the picture

# Samples drawn: of those that were misclassified, and of the others of each class.
MOST_WRONG, MOST_RIGHT = 400, 300
N_BINS = 72  # of the axis, in which dots are stacked
MOST_NAMED = 12
# A letter of a name as a share of the figure's width.
LETTER = 0.016
# With more classes rows have no room for names above and below their dots.
ROOMY = 6


@dataclass(frozen=True)
class Spot:
    """Where a name stands beside its dot."""

    align: str
    dx: int  # pixels
    dy: int
    left: float  # how much of the name is left of the dot
    gap: float  # between dot and name, as a share of the width
    down: float  # heights of a name


SPOTS = (
    Spot("left", 7, 0, 0.0, LETTER / 2, 0.0),
    Spot("right", -7, 0, 1.0, -LETTER / 2, 0.0),
    Spot("center", 0, -13, 0.5, 0.0, -1.3),
    Spot("center", 0, 14, 0.5, 0.0, 1.3),
)


def scores_figure(findings: Findings) -> Figure | None:
    """The left-out score of every sample, a row for each class.

    Of two classes it is the score of the second one, of more that of the own class minus the best other.
    """
    found, folds = findings.left_out, findings.cross_validation
    if found is None or folds is None or verdict.selected_nothing(findings):
        return None
    classes, own, is_wrong = findings.data.classes, folds.own, folds.predicted != folds.own
    is_pair = len(classes) == 2
    x = np.where(own == 0, -1.0, 1.0) * found.margins if is_pair else found.margins
    drawn, probability = _drawn(own, is_wrong), folds.calibrated_of_own
    drawn = drawn[folds.is_judged[drawn]]
    low, high = min(0.0, float(x.min())), max(0.0, float(x.max()))
    pad = 0.11 * (high - low) or 1.0  # room for half a name
    domain = [low - pad, high + pad]
    lift = _stacked(x[drawn], own[drawn], domain)
    dots = [
        {
            "x": float(f"{x[i]:.5g}"),
            "y": round(int(own[i]) + float(up), 3),
            "k": f"var(--{class_colour(int(own[i]))})",
            "s": found.names[i],
            "c": classes[own[i]],
            "o": classes[folds.predicted[i]],
            "p": share(float(probability[i])),
            "w": bool(is_wrong[i]),
        }
        for i, up in zip(drawn, lift, strict=True)
    ]
    title = "← wrong · score minus the best other · right →"
    if is_pair:
        first, second = (shortened(name, 14) for name in classes)
        title = f"← predicted {first} · score · predicted {second} →"
    some = "" if len(dots) == folds.n_judged else " Of large classes some samples are drawn."
    sides = [domain[1], *[domain[0]] * (len(classes) - 1)] if is_pair else [domain[0]] * len(classes)
    return Figure(
        key="scores",
        title="Left-out scores of all samples",
        caption=(
            "A dot is a sample, scored by a model that was fitted without it. At the right: misclassified, "
            f"by class.{some}"
        ),
        specs=[_spec(findings, dots, sides, domain, title)],
        legend=[Legend("ink", "ring", "misclassified"), Legend("wrong-side", "box", "wrong side")],
    )


def _drawn(own: IntArray, is_wrong: Any) -> IntArray:
    """Places of the samples that are drawn, those of a class evenly taken."""
    parts = [np.flatnonzero(is_wrong)[:MOST_WRONG]]
    for k in range(int(own.max()) + 1):
        right = np.flatnonzero((own == k) & ~is_wrong)
        parts.append(
            right[np.unique(np.linspace(0, len(right) - 1, MOST_RIGHT).astype(int))] if len(right) else right
        )
    return np.concatenate(parts)


def _stacked(x: FloatArray, own: IntArray, domain: list[float]) -> FloatArray:
    """How far from the middle of its row each dot stands, so that dots of a class do not hide each other."""
    cells = ((x - domain[0]) / (domain[1] - domain[0]) * N_BINS).astype(int)
    lift = np.zeros(len(x))
    apart = min(0.16, 0.035 * (int(own.max()) + 1))
    for key in np.unique(own * (N_BINS + 1) + cells):
        those = np.flatnonzero(own * (N_BINS + 1) + cells == key)
        step = min(apart, 0.84 / len(those))
        ranks = np.arange(1, len(those) + 1) // 2 * np.where(np.arange(len(those)) % 2, 1.0, -1.0)
        lift[those] = step * ranks
    return lift


def _spec(
    findings: Findings,
    dots: list[dict[str, Any]],
    sides: Sequence[float],
    domain: list[float],
    title: str,
) -> dict[str, Any]:
    classes, n_rows = findings.data.classes, len(findings.data.classes)
    rows = {"domain": [n_rows - 0.5, -0.5], "nice": False, "zero": False}
    axis = {**name_axis(120), "values": list(range(n_rows)), "grid": False, "labelOverlap": False}
    counts = {**axis, "orient": "right", "labelExpr": "counts[datum.value]"}
    x_axis = {"grid": False, "tickCount": 5}
    x = quantitative("x", title, scale={"domain": domain, "nice": False}, axis=x_axis)
    y, by_name, by_count = (quantitative("y", None, scale=rows, axis=each) for each in (None, axis, counts))
    shades = [{"y": k - 0.47, "z": k + 0.47, "x": 0.0, "e": side} for k, side in enumerate(sides)]
    border = [{"x": 0.0, "y": -0.5, "z": n_rows - 0.5}]
    right, wrong = [one for one in dots if not one["w"]], [one for one in dots if one["w"]]
    size = 42 if n_rows <= 5 else 24
    fill = nominal("k", scale=None, legend=None)
    tips = [
        tip("s", "sample"),
        tip("c", "class"),
        tip("o", "predicted"),
        tip("p", "probability of its class"),
    ]
    ring = {**POINT, "size": 1.7 * size, "stroke": INK, "strokeWidth": 1.6}
    name = {"type": "text", "color": INK, "fontSize": 11, "baseline": "middle"}
    named = {} if verdict.evidence(findings) == "noise" else _named(findings, dots, domain)
    at = {"x": x, "y": y}
    layers: list[Any] = [
        layer(
            shades,
            {"type": "rect", "color": "var(--wrong-side)"},
            x=x,
            x2={"field": "e"},
            y=by_name,
            y2={"field": "z"},
        ),
        layer(border, {"type": "rule", **DASHED}, x=x, y=by_count, y2={"field": "z"}),
        layer(right, {**POINT, "size": size, "opacity": 0.8}, **at, color=fill, tooltip=tips),
        layer(wrong, ring, **at, color=fill, tooltip=tips),
        *(
            layer(some, {**name, "align": spot.align, "dx": spot.dx, "dy": spot.dy}, **at, text=nominal("n"))
            for spot, some in named.items()
        ),
    ]
    assert findings.left_out is not None
    by_class = enumerate(findings.left_out.confusion)
    misclassified = [f"{int(row.sum() - row[k])} of {int(row.sum())}" for k, row in by_class]
    params = [
        {"name": "names", "value": [shortened(one, 18) for one in classes]},
        {"name": "counts", "value": misclassified},
    ]
    spec = plot(0, layers, params=params, resolve={"axis": {"y": "independent"}})
    # As high as the style sheet says, which knows how high the screen is.
    return spec | {"height": "container", "autosize": {"type": "fit", "contains": "padding"}}


def _named(
    findings: Findings, dots: list[dict[str, Any]], domain: list[float]
) -> dict[Spot, list[dict[str, Any]]]:
    """Names beside the dots of misclassified samples, the worst first, where nothing is in the way."""
    assert findings.left_out is not None
    places = {one["s"]: one for one in dots if one["w"]}
    high = 0.03 * findings.data.n_classes  # of a name, in rows
    scale = domain[1] - domain[0]
    # What is in the way, from where to where, and in which row.
    taken = [((one["x"] - domain[0]) / scale, (one["x"] - domain[0]) / scale, one["y"]) for one in dots]
    named: dict[Spot, list[dict[str, Any]]] = {}
    for error in findings.left_out.errors[:MOST_NAMED]:
        one = places.get(error.name)
        if one is None:
            continue
        text, place = shortened(one["s"], 14), (one["x"] - domain[0]) / scale
        width = LETTER * (len(text) + 1)
        for spot in SPOTS if findings.data.n_classes <= ROOMY else SPOTS[:2]:
            start, up = place - spot.left * width + spot.gap, one["y"] + spot.down * high
            end = start + width
            is_free = all(
                abs(up - y) >= high or end <= a - LETTER / 2 or b + LETTER / 2 <= start for a, b, y in taken
            )
            if start >= 0.0 and end <= 1.0 and is_free:
                taken.append((start, end, up))
                named.setdefault(spot, []).append({"x": one["x"], "y": one["y"], "n": text})
                break
    return named
