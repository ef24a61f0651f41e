"""The section on what the numbers mean and do not mean: each one with a claim that fits its case."""

from __future__ import annotations

from dataclasses import dataclass

from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import count, none_or, outward, p_value, percent, quoted, rounded, share
from minimaxrisk.report.verdicts import (
    ROUNDING,
    evidence,
    learned_nothing,
    noise_verdict,
    says_nothing,
    standing,
)
from minimaxrisk.report.wording import (
    beyond_training,
    error_name,
    fair,
    for_whom,
    stated_confidence,
    the_set,
)
from minimaxrisk.uncertainty.rule_names import NAMED_RULES

NOISE_WORDS = {
    "signal": "If labels and features were unrelated, an R* as small as this would occur with a probability "
    "of at most {p}. That is evidence of a relation and nothing more: it does not say how large the error "
    "is, which features carry the relation, or what causes it; a batch effect can be the cause.",
    "noise": "An R* like this one is what noise gives, p = {p}: the data show no relation between features "
    "and labels. Neither the selected features nor the predictions should be relied on. That does not prove "
    "that there is no relation; a weak one needs more samples to show.",
    "nothing": "No feature was selected, and R* is what it is with any labels of classes as large, so that "
    "the test says nothing.",
    "doubtful": "If labels and features were unrelated, an R* as small as this would occur with a "
    "probability of at most {p}; yet left-out samples were misclassified about as often as by always naming "
    "the most common class. The small p-value may be luck, or the relation too weak to predict with: "
    "take it as no finding until more samples confirm it.",
    "hidden": "An R* like this one is what noise gives, p = {p}, but left-out samples were named better than "
    "by always naming the most common class. At this radius R* does not show the relation.",
    "too few": "{n} permutations are too few for a p-value of 0.05; take 19 or more, better 199.",
}


@dataclass(frozen=True)
class Entry:
    """A number with its name and what it says."""

    name: str
    value: str
    text: str


def meaning(findings: Findings) -> list[Entry]:
    """The numbers one after the other, each with what it says."""
    entries = [_about_r_star(findings), _about_interval(findings), _about_radius(findings)]
    entries += [_about_noise(findings), _about_named_class(findings), _about_guessing(findings)]
    return entries


def _about_r_star(findings: Findings) -> Entry:
    kind = {
        "bound": f"Here it is a bound, with {stated_confidence(findings)} confidence if the assumptions of "
        f"the rule that chose the radii hold: {for_whom(findings)}, the true {error_name(findings)} of the "
        f"randomized rule is at most R*. {beyond_training(findings)}",
        "score": f"Here it is a score and not a bound on the error: {_outside(findings)}, and the true error "
        "can be larger than R*.",
        "given": f"It bounds the error {for_whom(findings)}, if the true means lie within the radii that "
        "were given. The data cannot tell whether they do.",
    }[standing(findings)]
    if learned_nothing(findings):
        kind = "At this value it guarantees nothing: no rule does better than guessing on all of them."
    text = (
        f"The worst-case error of the randomized rule over {the_set(findings)} lie within the radii. {kind}"
    )
    return Entry("Worst-case error R*", share(findings.fit.upper), text)


def _outside(findings: Findings) -> str:
    expected, n_means = findings.radius.expected_outside, findings.radius.n_means
    if expected < 1.0:
        return "there is no guarantee that all true means lie within these radii"
    each = "feature" if n_means == findings.data.n_features else "feature and class"
    return (
        f"about {rounded(expected)} of the {n_means:,} true means (one per {each}) can be expected to lie "
        "outside these radii"
    )


def _about_interval(findings: Findings) -> Entry:
    fit = findings.fit
    low, high = outward(fit.lower, fit.upper)
    text = (
        "No rule has a worst case below the lower number, and the learned one has none above the upper "
        "number. This interval is about the computation and not about sampling: it says how close the solver "
        "came to the optimum. "
    )
    if fit.certificate_valid:
        text += "Both numbers were recomputed from the data without the solver, and hold."
    else:
        problems = "; ".join(fit.certificate_problems)
        text += f"The recomputation without the solver did NOT confirm the model: {problems}."
    if fit.preparation is not None:
        text += f" They are about the values {fit.preparation}."
    return Entry("Certified interval", f"{low} to {high}", text)


def _about_radius(findings: Findings) -> Entry:
    radius, data = findings.radius, findings.data
    if radius.factor is None:
        text = "The radii were given as an array. The data cannot tell with what confidence they hold."
        return Entry("Radius", "given", text)
    value = f"s = {radius.factor:.4g}"
    if radius.coverage is not None:
        rule = NAMED_RULES[radius.rule].in_words
        text = (
            f"Chosen by {rule} such that all true means lie within s standard errors of "
            f"the observed ones at once with {percent(radius.coverage)} confidence. {_assumption(findings)}"
        )
    elif radius.covers:
        text = (
            f"A plain number, but no smaller than the {radius.needed:.3g} that a union bound for normal "
            f"features asks for at {percent(radius.confidence)} confidence."
        )
    else:
        text = (
            f"A plain number of standard errors by which each mean may be off. With "
            f"{count(data.n_features, 'feature')} and {count(data.n_samples, 'sample')} a union bound for "
            f"normal features would need s = {radius.needed:.3g} to contain all of them at once with "
            f"{percent(radius.confidence)} confidence. The option --radius bootstrap finds such an s."
        )
    return Entry("Radius", value, text)


def _assumption(findings: Findings) -> str:
    radius = findings.radius
    if radius.remarks:
        broken = " ".join(f"{remark[0].upper()}{remark[1:].rstrip('.')}." for remark in radius.remarks)
        return f"That confidence is in doubt, since the sample visibly breaks what the rule assumes. {broken}"
    return NAMED_RULES[radius.rule].coverage


def _about_noise(findings: Findings) -> Entry:
    """The noise floor and the p-value."""
    test, verdict = findings.permutation, noise_verdict(findings)
    if test is None:
        text = (
            "Not computed: the option --permutations 199 tells what R* would be if the labels were shuffled."
        )
        return Entry("Noise floor and p-value", "not computed", text)
    n, floor = len(test.null_distribution), test.noise_floor
    value = f"p = {p_value(test.pvalue)}" if floor is None else f"{share(floor)}, p = {p_value(test.pvalue)}"
    words = NOISE_WORDS["nothing" if says_nothing(findings) else evidence(findings)]
    text = f"{_of_permutations(findings)} {words.format(p=p_value(test.pvalue), n=n)}"
    if verdict == "signal" and not says_nothing(findings) and test.pvalue * (1 + n) < 1.5:
        text += f" It is the smallest p-value that {n} permutations can give."
    return Entry("Noise floor and p-value", value, text)


def _of_permutations(findings: Findings) -> str:
    test = findings.permutation
    assert test is not None
    null, n = test.null_distribution, len(test.null_distribution)
    if null.max() - null.min() < ROUNDING:
        return f"With shuffled labels R* was {share(float(null[0]))} in all of {n} permutations."
    n_below = int((null <= test.statistic).sum())
    text = f"With shuffled labels R* was between {share(float(null.min()))} and {share(float(null.max()))}; "
    text += f"{none_or(n_below)} of {n} permutations gave one as small as the observed labels do"
    return text + (
        f". Their 5% quantile, the noise floor, is {share(test.noise_floor)}."
        if test.noise_floor is not None
        else "."
    )


def _about_named_class(findings: Findings) -> Entry:
    fit, data = findings.fit, findings.data
    text = (
        "The same kind of worst case for the class that the model names, the most probable one. "
        f"{share(fit.argmax_bound)} is computed for this rule; twice the R* of the randomized rule, "
        f"{share(fit.deterministic_bound)}, always holds too. "
    )
    nothing = data.guessing if fit.class_weight else data.majority_error
    if fit.argmax_bound >= nothing - ROUNDING:
        what = "guessing" if fit.class_weight else "always naming the most common class"
        text += (
            f"It is no better than {what} ({share(nothing)}), which is common with few samples and wide "
            "radii: it does not mean that the named classes are wrong, only that the set of "
            "distributions does not rule it out."
        )
    elif standing(findings) == "score":
        text += (
            "Like R* it is a score here: it holds over the set, which need not contain the true distribution."
        )
    else:
        text += "It holds under the same conditions as R*."
    return Entry("Worst case of the named class", share(fit.argmax_bound), text)


def _about_guessing(findings: Findings) -> Entry:
    data, upper = findings.data, findings.fit.upper
    text = (
        f"Always naming {quoted(data.largest_class)}, the most common class, would be wrong for "
        f"{data.majority_error:.1%} of these samples: a classifier that errs as often has learned nothing"
    )
    if findings.fit.class_weight:
        text += ", though that is not comparable with R*, since R* weights the classes."
    elif upper >= data.majority_error:
        text += ", and R* is not below that: R* alone does not show that the classifier does any better."
    else:
        text += "."
    text += (
        f" The error of {fair(findings)}, {share(data.guessing)}, is the largest value that R* can have: "
        "there the data do not even rule out that the label is one."
    )
    return Entry("To compare with", share(data.majority_error), text)
