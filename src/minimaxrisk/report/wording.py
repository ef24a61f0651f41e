"""What the top of the report says, and the words that its sections share.

Every sentence is a claim, so each case has its own words: a bound with a stated confidence, a score, a result
that noise would give as well, nothing learned at all.
"""

from __future__ import annotations

from minimaxrisk.guarantees.error_statement import HOLDOUT, ErrorStatement
from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import (
    count,
    isolate,
    listed,
    misclassified,
    percent,
    quoted,
    share,
)
from minimaxrisk.report.verdicts import (
    evidence,
    is_guarantee_empty,
    is_no_better_than_majority,
    knows_instances,
    learned_nothing,
    selected_nothing,
    standing,
)
from minimaxrisk.uncertainty.rule_names import NAMED_RULES


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
    best = found.best
    if best is None:
        return ["No bound on the error for new samples comes with a confidence."]
    text = (
        f"For new samples: with {percent(found.confidence)} confidence, the error of "
        f"{whose_error(findings, best)} is at most {share(best.value)}: {shown_by(findings, best)}."
    )
    if (emptiness := _why_guarantee_is_empty(findings)) is not None:
        text += f" {emptiness}"
    return [f"{text} {best.assumption}"]


def _why_guarantee_is_empty(findings: Findings) -> str | None:
    """A sentence for bounds that tell no more than the sizes of the classes do."""
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
