"""What the top of the report says, and its section on what the numbers mean and do not mean.

Every sentence is a claim, so each case has its own words: a bound with a stated confidence, a score, a result
that noise would give as well, nothing learned at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from minimaxrisk.guarantees.best_guarantee import HOLDOUT
from minimaxrisk.guarantees.error_statement import ErrorStatement
from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import (
    count,
    isolate,
    listed,
    misclassified,
    none_or,
    outward,
    p_value,
    percent,
    quoted,
    rounded,
    share,
)
from minimaxrisk.report.verdicts import (
    ROUNDING,
    evidence,
    is_guarantee_empty,
    is_no_better_than_majority,
    knows_instances,
    learned_nothing,
    noise_verdict,
    says_nothing,
    selected_nothing,
    standing,
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


def fair(findings: Findings) -> str:
    return "a toss of a fair coin" if findings.data.n_classes == 2 else "a throw of a fair die"


def headline(findings: Findings) -> str:
    """The one sentence that most people will read."""
    if learned_nothing(findings):
        return f"Nothing was learned: the data do not rule out that the label is {fair(findings)}."
    if selected_nothing(findings):
        return "No feature was selected; only the sizes of the classes were learned."
    r, is_bound = share(findings.fit.upper), standing(findings) == "bound"
    limit = (
        f"R* = {r} bounds the {error_name(findings)} of the randomized rule, {for_whom(findings)}, "
        f"with {_confidence(findings)} confidence"
    )
    if findings.radius.remarks:
        limit += ", though the data cast doubt on that confidence"
    related = "The features and the labels are related more closely than chance explains"
    return {
        "noise": "These data show no more than noise would: shuffled labels give an R* as small.",
        "doubtful": "The evidence is divided, which is no finding: R* is smaller than with shuffled labels, "
        f"but {_how_often_wrong(findings)}, and always naming the most common class may do as well.",
        "hidden": f"R* is what shuffled labels give as well, yet {_how_often_wrong(findings)}, fewer than by "
        "always naming the most common class: another radius may show more.",
        "too few": f"R* is {r}, but there were too few permutations to tell it from noise.",
        "signal": f"{related}, and {limit}." if is_bound else f"{related}; {_how_often_wrong(findings)}.",
        "untested": f"{limit}."
        if is_bound
        else f"R* is {r}; what noise would score was not computed, so it cannot be judged yet.",
    }[evidence(findings)]


def for_whom(findings: Findings) -> str:
    """The samples that a worst case speaks of."""
    if knows_instances(findings):
        return "for instances spread as in the training data, where labels alone may change"
    return "for samples like those of the training data"


def _the_set(findings: Findings) -> str:
    """The distributions that a worst case is over."""
    if knows_instances(findings):
        return (
            "all distributions of labels on the instances of the training data, which keep their shares: "
            "labels may change, instances may not, as long as the feature means"
        )
    return "all distributions of samples like those of the training data whose feature means"


def error_name(findings: Findings) -> str:
    """What R* is a worst case of."""
    weighting = findings.fit.class_weight
    return {None: "error", "balanced": "class-balanced error", "given": "class-weighted error"}[weighting]


def _about_weights(findings: Findings) -> str:
    kind = {
        "balanced": "All classes were given the same weight, whatever their sizes, so R* is about the "
        "class-balanced error, the mean of the errors within the classes.",
        "given": "Classes were given weights, so R* is about the class-weighted error.",
    }[findings.fit.class_weight or ""]
    return (
        f"{kind} The error among samples with classes as common as here can be larger; the cross-validated "
        "error and the shares of classes on this page count every sample alike, and cannot be compared with "
        "R*."
    )


def _how_often_wrong(findings: Findings) -> str:
    folds = findings.cross_validation
    if folds is None:
        return "how often the classifier will err is another question"
    return f"in cross-validation {misclassified(folds.n_wrong, len(folds.own))}"


def _confidence(findings: Findings) -> str:
    level = findings.radius.coverage
    return percent(findings.radius.confidence if level is None else level)


def summary(findings: Findings) -> list[str]:
    """The short paragraphs under the headline."""
    data, fit = findings.data, findings.fit
    sizes = [f"{isolate(name)} ({size:,})" for name, size in zip(data.classes, data.class_sizes, strict=True)]
    learned = (
        f"From {count(data.n_samples, 'sample')} with {count(data.n_features, 'feature')} each, a linear "
        f"classifier learned to tell apart {listed(sizes)}."
    )
    rules = (
        "It gives every class a probability: the class that it names is the most probable one, while its "
        "randomized rule draws the label with these probabilities."
    )
    if selected_nothing(findings):
        return [f"{learned} It uses none of the features, and names the same class for every sample. {rules}"]
    worst = (
        f"Over {_the_set(findings)} agree with the data within the chosen radii, the {error_name(findings)} "
        f"of the randomized rule is at most R* = {share(fit.upper)}. {_in_short(findings)}"
    )
    uses = "It uses all features."
    if fit.n_selected < data.n_features:
        uses = f"It uses {count(fit.n_selected, 'feature')} and ignores the others."
    more = [_beside_majority(findings)] if is_no_better_than_majority(findings) else []
    more += [_about_weights(findings)] if findings.fit.class_weight else []
    return [f"{learned} {uses} {rules}", *guaranteed(findings), worst, *more]


def guaranteed(findings: Findings) -> list[str]:
    """The tightest bound for new samples in a sentence, if bounds were computed."""
    found = findings.guarantee
    if found is None:
        return []
    best = found.best
    if best is None:
        return ["No bound on the error for new samples comes with a confidence."]
    text = (
        f"For new samples: with {percent(found.confidence)} confidence, the error of "
        f"{whose_error(findings, best)} is at most {share(best.value)}: {shown_by(findings, best)}."
    )
    if (emptiness := why_guarantee_is_empty(findings)) is not None:
        text += f" {emptiness}"
    return [f"{text} {best.assumption}"]


def why_guarantee_is_empty(findings: Findings) -> str | None:
    """A sentence for bounds that tell no more than the sizes of the classes do; the terminal says it too."""
    found, data = findings.guarantee, findings.data
    if found is None or found.best is None or not is_guarantee_empty(findings):
        return None
    if found.best.rule == "constant":
        return "Nothing smaller could be shown for a classifier, so this says nothing about the features."
    return (
        f"Always naming {quoted(data.largest_class)}, the most common class, is wrong for "
        f"{data.majority_error:.1%} of these samples, so this says nothing."
    )


def whose_error(findings: Findings, one: ErrorStatement) -> str:
    """What a bound is about, in the words of the page."""
    if one.rule == "constant":
        return f"always naming {quoted(findings.data.largest_class)}, the most common class,"
    rule = {"argmax": "the class named by", "randomized": "the randomized rule of"}[one.rule]
    if one.kind == HOLDOUT:
        return f"{rule} a model like this one that learned from {one.n_train:,} of the samples"
    return f"{rule} this model"


def shown_by(findings: Findings, one: ErrorStatement) -> str:
    """The evidence; majorities are told by their numbers."""
    if one.rule == "constant":
        data = findings.data
        return (
            f"{data.n_samples - max(data.class_sizes):,} of {data.n_samples:,} samples are of other classes"
        )
    return one.evidence


def _beside_majority(findings: Findings) -> str:
    data = findings.data
    return (
        f"Always naming {quoted(data.largest_class)}, the most common class, would be wrong for "
        f"{data.majority_error:.1%} of these samples, and R* = {share(findings.fit.upper)} is not below "
        "that: R* alone does not show that the classifier does any better."
    )


def _in_short(findings: Findings) -> str:
    if standing(findings) == "bound" and findings.radius.remarks:
        return (
            f"The radii are meant to contain all true means at once with {_confidence(findings)} confidence, "
            "but the data visibly break its assumptions, so treat it with caution."
        )
    if standing(findings) == "bound":
        return f"All true means lie within the radii at once with {_confidence(findings)} confidence."
    if standing(findings) == "given":
        return "The radii were given, and the data cannot tell whether the true means lie within them."
    return (
        "The true means need not lie within these radii, so R* is a score for comparison and not a bound on "
        "the error for new samples."
    )


def _beyond_training(findings: Findings) -> str:
    """Where the error for new samples is told."""
    who = "For samples unlike them it can be larger"
    if knows_instances(findings):
        who = "R* was made small on these instances, so for new ones it is usually larger"
    if findings.radius.coverage is None:
        return (
            f"{who}: for a model fitted with a named radius, such as --radius bootstrap, the command "
            "minimaxrisk predict prints the error guaranteed for new samples."
        )
    return (
        f"{who}: the command minimaxrisk predict prints the error guaranteed for the new samples that it is "
        "given."
    )


def r_star_note(findings: Findings) -> str:
    """What R* is worth, for the card with the number."""
    doubt = ", which is in doubt" if findings.radius.remarks else ""
    note = {
        "bound": f"bounds the {error_name(findings)} of the randomized rule, {for_whom(findings)}, with "
        f"{_confidence(findings)} confidence{doubt}",
        "score": "a score, not a bound on the error",
        "given": f"a bound {for_whom(findings)}, if the given radii hold",
    }[standing(findings)]
    if learned_nothing(findings):
        note = "the same as guessing"
    checked = "checked without the solver" if findings.fit.certificate_valid else "NOT confirmed by the check"
    return f"{note}; {checked}"


def what_to_try(findings: Findings) -> list[str]:
    """Advice where nothing was learned, or nothing selected."""
    radius = findings.radius
    advice = []
    if radius.rule in NAMED_RULES:
        advice.append(
            "A smaller radius, such as --radius 1, selects features; R* is then a score, to be compared with "
            "its noise floor by the permutation test, and no longer a bound."
        )
    elif radius.factor is not None:
        advice.append(f"A radius smaller than {radius.factor:g} selects more features.")
    else:
        advice.append("Smaller radii select more features, if you have reason to trust them.")
    advice.append(
        "Fewer features, chosen without looking at the labels (by variance, or from the literature), need "
        "smaller radii for the same confidence."
    )
    advice.append("More samples: the radii shrink with the square root of their number.")
    return advice


def meaning(findings: Findings) -> list[Entry]:
    """The numbers one after the other, each with what it says."""
    entries = [_about_r_star(findings), _about_interval(findings), _about_radius(findings)]
    entries += [_about_noise(findings), _about_named_class(findings), _about_guessing(findings)]
    return entries


def _about_r_star(findings: Findings) -> Entry:
    kind = {
        "bound": f"Here it is a bound, with {_confidence(findings)} confidence if the assumptions of the "
        f"rule that chose the radii hold: {for_whom(findings)}, the true {error_name(findings)} of the "
        f"randomized rule is at most R*. {_beyond_training(findings)}",
        "score": f"Here it is a score and not a bound on the error: {_outside(findings)}, and the true error "
        "can be larger than R*.",
        "given": f"It bounds the error {for_whom(findings)}, if the true means lie within the radii that "
        "were given. The data cannot tell whether they do.",
    }[standing(findings)]
    if learned_nothing(findings):
        kind = "At this value it guarantees nothing: no rule does better than guessing on all of them."
    text = (
        f"The worst-case error of the randomized rule over {_the_set(findings)} lie within the radii. {kind}"
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
