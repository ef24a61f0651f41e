"""What the top of the report says, and the words that its sections share.

Every sentence is a claim, so each case has its own words: a bound with a stated confidence, a score, a result
that noise would give as well, nothing learned at all.

Can I use this? Two sentences without a term that would have to be looked up.

The section on what the numbers mean and do not mean: each one with a claim that fits its case.
"""

from __future__ import annotations

from dataclasses import dataclass

from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.phrases import (
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
from minimaxrisk.guarantees.statement import HOLDOUT, NONE, ErrorBound
from minimaxrisk.inspection.bounds import TIE
from minimaxrisk.uncertainty import NAMED_RULES


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
        f"with {stated_confidence(findings)} confidence"
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


def the_set(findings: Findings) -> str:
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


def stated_confidence(findings: Findings) -> str:
    level = findings.radius.coverage
    return percent(findings.radius.confidence if level is None else level)


def summary(findings: Findings) -> list[str]:
    """The short paragraphs under the headline."""
    data, fit = findings.data, findings.fit
    sizes = [f"{isolate(name)} ({size:,})" for name, size in zip(data.classes, data.class_sizes, strict=True)]
    task = "was to learn" if selected_nothing(findings) else "learned"
    learned = (
        f"From {count(data.n_samples, 'sample')} with {count(data.n_features, 'feature')} each, a linear "
        f"classifier {task} to tell apart {listed(sizes)}."
    )
    rules = (
        "It gives every class a probability: the class that it names is the most probable one, while its "
        "randomized rule draws the label with these probabilities."
    )
    if selected_nothing(findings):
        return [f"{learned} It uses none of the features, and names the same class for every sample. {rules}"]
    worst = (
        f"Over {the_set(findings)} agree with the data within the chosen radii, the {error_name(findings)} "
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
    if found.method == NONE or found.confidence is None:
        return ["No bound on the error for new samples comes with a confidence."]
    text = (
        f"For new samples: with {percent(found.confidence)} confidence, the error of "
        f"{whose_error(findings, found)} is at most {share(found.value)}: {shown_by(findings, found)}."
    )
    if (emptiness := _why_guarantee_is_empty(findings)) is not None:
        text += f" {emptiness}"
    return [f"{text} {found.assumption}"]


def _why_guarantee_is_empty(findings: Findings) -> str | None:
    """A sentence for bounds that tell no more than the sizes of the classes do."""
    found, data = findings.guarantee, findings.data
    if found is None or not is_guarantee_empty(findings):
        return None
    if found.rule == "constant":
        return "Nothing smaller could be shown for a classifier, so this says nothing about the features."
    return (
        f"Always naming {quoted(data.largest_class)}, the most common class, is wrong for "
        f"{data.majority_error:.1%} of these samples, so this says nothing."
    )


def whose_error(findings: Findings, one: ErrorBound) -> str:
    """What a bound is about, in the words of the page."""
    if one.rule == "constant":
        return f"always naming {quoted(findings.data.largest_class)}, the most common class,"
    rule = {"predict": "the class predicted by", "randomized": "the randomized rule of"}[one.rule]
    if one.method == HOLDOUT:
        return f"{rule} a model like this one that learned from {one.n_train:,} of the samples"
    return f"{rule} this model"


def shown_by(findings: Findings, one: ErrorBound) -> str:
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
            f"The radii are meant to contain all true means at once with {stated_confidence(findings)} "
            "confidence, but the data visibly break its assumptions, so treat it with caution."
        )
    if standing(findings) == "bound":
        return f"All true means lie within the radii at once with {stated_confidence(findings)} confidence."
    if standing(findings) == "given":
        return "The radii were given, and the data cannot tell whether the true means lie within them."
    return (
        "The true means need not lie within these radii, so R* is a score for comparison and not a bound on "
        "the error for new samples."
    )


def beyond_training(findings: Findings) -> str:
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
        f"{stated_confidence(findings)} confidence{doubt}",
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


# With more than this share of left-out samples named wrongly, a classifier is no help for single samples.
MANY_ERRORS = 0.25
# Classes with more than this share of their left-out samples named wrongly are named.
WEAK_CLASS = 0.5
# By what shuffled labels and left-out samples say together.
ANSWERS = {
    "noise": "No: labels dealt out at random would have given much the same result.",
    "doubtful": "Not yet: one test speaks for a relation, but samples left out were named hardly better than "
    "by always saying the most common class.",
    "hidden": "Perhaps: samples left out were named well, but this setting cannot tell the result from "
    "chance.",
    "untested": "It cannot be said yet: whether chance would do as well was not tested.",
    "too few": "It cannot be said yet: whether chance would do as well was not tested often enough.",
}


def plain_verdict(findings: Findings) -> str:
    """What can be relied on, and how far."""
    return f"{_can_it_be_used(findings)} {_how_far(findings)}"


def _can_it_be_used(findings: Findings) -> str:
    if not findings.fit.certificate_valid:
        return "No: the check of the model against these data failed, so nothing on this page should be used."
    if says_nothing(findings):
        return "No: at these settings no feature could be told from chance, so there is nothing to use."
    kind = evidence(findings)
    return _if_related(findings) if kind == "signal" else ANSWERS[kind]


def _if_related(findings: Findings) -> str:
    folds = findings.cross_validation
    if folds is None:
        return "The features and the classes are related, but how often the classifier errs was not tested."
    if folds.errors[1] > MANY_ERRORS:
        return (
            "As a lead, not as a test: features and classes are related, but single samples are often named "
            "wrongly."
        )
    return "Yes, as a classifier to be tried on new samples: it does clearly better than chance."


def _how_far(findings: Findings) -> str:
    folds = findings.cross_validation
    if folds is None:
        return "Before anybody relies on it, it has to be tried on samples that it has not seen."
    n, wrong = len(folds.own), folds.n_wrong
    text = f"Of {count(n, 'sample')} that it had not seen it named {wrong:,} wrongly"
    weak = [one for one in findings.classes if one.recall is not None and 1.0 - one.recall > WEAK_CLASS]
    if weak and not says_nothing(findings):
        text += f", and most of {listed([quoted(one.name) for one in weak[:3]])}"
    found = findings.guarantee
    is_told = found is not None and found.rule != "constant" and not is_guarantee_empty(findings)
    if is_told and found is not None and found.confidence is not None:
        return (
            f"{text}; one that learns from {found.n_train:,} of them errs for at most {found.value:.0%} of "
            f"new samples like these, with {percent(found.confidence)} confidence."
        )
    return f"{text}; samples from elsewhere, measured in another way, can be named much worse."


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
        f"{share(fit.predict_bound)} is computed for this rule; twice the R* of the randomized rule, "
        f"{share(min(1.0, 2.0 * fit.upper))}, always holds too. "
    )
    nothing = data.guessing if fit.class_weight else data.majority_error
    if fit.predict_bound >= nothing - ROUNDING:
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
    return Entry("Worst case of the predicted class", share(fit.predict_bound), text)


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


# The quantile of the noise, and the p-value, from which on a result counts as more than noise.
LEVEL = 0.05


# Bounds closer to guessing than this are guessing, but for the rounding of a solver.
ROUNDING = 1e-6


# With more than this share of the samples in doubt, none of them stands out.
FEW = 0.25


def learned_nothing(findings: Findings) -> bool:
    """Whether R* is that of a toss of a fair coin or die."""
    return findings.fit.upper >= findings.data.guessing - ROUNDING


def selected_nothing(findings: Findings) -> bool:
    return findings.fit.n_selected == 0


def says_nothing(findings: Findings) -> bool:
    """Whether R* knows the sizes of the classes at most, as it would with any other labels."""
    return learned_nothing(findings) or selected_nothing(findings)


def is_guarantee_empty(findings: Findings) -> bool:
    """Whether the best bound for new samples is no smaller than the error of naming the most common class."""
    found = findings.guarantee
    return found is not None and found.method != NONE and found.value >= findings.data.majority_error


def noise_verdict(findings: Findings) -> str:
    """``untested``, ``too few`` permutations to tell, ``noise`` or ``signal``."""
    test = findings.permutation
    if test is None:
        return "untested"
    is_below = test.noise_floor is not None and test.statistic < test.noise_floor
    if is_below and test.pvalue <= LEVEL:
        return "signal"
    return "too few" if len(test.null_distribution) < round(1 / LEVEL) - 1 else "noise"


def left_out_verdict(findings: Findings) -> str:
    """Whether left-out samples were named ``better`` than by always naming the most common class.

    ``no better`` where the 95% interval of the error, were the outcomes independent, does not lie below that
    error; ``untested`` without folds, and with weights of classes, which trade errors of one class for those
    of another.
    """
    folds = findings.cross_validation
    if folds is None or findings.fit.class_weight:
        return "untested"
    return "better" if folds.approximate_interval()[1] < folds.majority_error else "no better"


def evidence(findings: Findings) -> str:
    """What shuffled labels and left-out samples say together.

    ``noise`` and ``signal`` where neither contradicts the other, ``doubtful`` where R* is smaller than with
    shuffled labels while left-out samples show nothing, ``hidden`` where they show what R* does not; else
    ``untested`` or ``too few``.
    """
    noise, left_out = noise_verdict(findings), left_out_verdict(findings)
    if noise == "signal" and left_out == "no better":
        return "doubtful"
    if noise == "noise" and left_out == "better":
        return "hidden"
    return noise


def standing(findings: Findings) -> str:
    """``bound``, ``score``, or ``given`` where the radii are the user's own."""
    if findings.radius.rule == "array":
        return "given"
    return "bound" if findings.radius.covers else "score"


def knows_instances(findings: Findings) -> bool:
    """Whether the worst case may change labels alone."""
    return findings.fit.marginal == "empirical"


def in_doubt(findings: Findings) -> str:
    """Whether ``no``, ``few`` or ``many`` samples weigh no less on other labels than on their own."""
    shown = findings.worst_case
    if shown.n_ambiguous == 0:
        return "no"
    return "few" if shown.n_ambiguous <= FEW * shown.n_samples else "many"


def is_no_better_than_majority(findings: Findings) -> bool:
    """Whether features were selected, but R* is not below the error of always naming the largest class.

    With weights of classes the two are errors of different kinds.
    """
    is_empty = says_nothing(findings) or findings.fit.class_weight
    return not is_empty and findings.fit.upper >= findings.data.majority_error


def all_tie(findings: Findings) -> bool:
    """Whether all samples have the same weight on the other one of two labels."""
    shown = findings.worst_case
    largest = float(shown.other_mass.max(initial=0.0))
    is_one_label = findings.data.n_classes == 2 and largest > 0.0
    return is_one_label and shown.total_other_mass >= shown.n_samples * (largest - TIE)
