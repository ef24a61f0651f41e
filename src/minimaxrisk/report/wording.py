"""The sentences of the report about what the numbers mean, and what they do not mean.

Every sentence is a claim, so each case has its own words: a bound with a stated confidence, a score, a result
that noise would give as well, nothing learned at all.
"""

from __future__ import annotations

from minimaxrisk.report.findings import Findings
from minimaxrisk.report.noise_wording import about_noise
from minimaxrisk.report.phrases import Entry, count, isolate, listed, outward, quoted, rounded, share
from minimaxrisk.report.verdicts import ROUNDING, learned_nothing, noise_verdict, selected_nothing, standing

RULE_NAMES = {
    "bootstrap": "a multiplier bootstrap",
    "bonferroni": "a union bound",
    "number": "a plain number",
}


def fair(findings: Findings) -> str:
    return "a toss of a fair coin" if findings.data.n_classes == 2 else "a throw of a fair die"


def headline(findings: Findings) -> str:
    """The one sentence that most people will read."""
    if learned_nothing(findings):
        return f"Nothing was learned: the data do not rule out that the label is {fair(findings)}."
    if selected_nothing(findings):
        return "No feature was selected; only the sizes of the classes were learned."
    r, is_bound = share(findings.fit.upper), standing(findings) == "bound"
    limit = f"R* = {r} bounds the error of the randomized rule with {_confidence(findings)} confidence"
    if findings.radius.remarks:
        limit += ", though the data cast doubt on that confidence"
    related = "The features and the labels are related more closely than chance explains"
    return {
        "noise": "These data show no more than noise would: shuffled labels give an R* as small.",
        "too few": f"R* is {r}, but there were too few permutations to tell it from noise.",
        "signal": f"{related}, and {limit}."
        if is_bound
        else f"{related}; how often the classifier will err is another question.",
        "untested": f"{limit}."
        if is_bound
        else f"R* is {r}; what noise would score was not computed, so it cannot be judged yet.",
    }[noise_verdict(findings)]


def _confidence(findings: Findings) -> str:
    level = findings.radius.coverage
    return f"{findings.radius.confidence if level is None else level:.0%}"


def summary(findings: Findings) -> str:
    """The short paragraph under the headline."""
    data, fit = findings.data, findings.fit
    sizes = [f"{isolate(name)} ({size:,})" for name, size in zip(data.classes, data.class_sizes, strict=True)]
    text = (
        f"From {count(data.n_samples, 'sample')} with {count(data.n_features, 'feature')} each, a linear "
        f"classifier learned to tell apart {listed(sizes)}. "
    )
    if selected_nothing(findings):
        return text + "It uses none of the features, and gives every sample the same label."
    uses = f"It uses {count(fit.n_selected, 'feature')} and ignores the others. "
    return (
        text
        + uses
        + (
            f"Over all distributions whose feature means agree with the data within the chosen radii, its "
            f"randomized rule errs with a probability of at most R* = {share(fit.upper)}. "
            f"{_in_short(findings)}"
        )
    )


def _in_short(findings: Findings) -> str:
    if standing(findings) == "bound" and findings.radius.remarks:
        return (
            f"The radii are meant to hold all true means at once with {_confidence(findings)} confidence, "
            "but the data visibly break what that rests on, so take it with caution."
        )
    if standing(findings) == "bound":
        return f"The radii hold all true means at once with {_confidence(findings)} confidence."
    if standing(findings) == "given":
        return "Whether the true means lie within the radii is for those to say who chose them."
    return (
        "The true means need not lie within these radii, so R* is a score for comparison and not a bound on "
        "the error for new samples."
    )


def what_to_try(findings: Findings) -> list[str]:
    """Advice where nothing was learned, or nothing selected."""
    radius = findings.radius
    advice = []
    if radius.rule in ("bootstrap", "bonferroni"):
        advice.append(
            "A smaller radius, such as --radius 1, selects features; R* is then a score, to be compared with "
            "its noise floor by the permutation test, and no longer a bound."
        )
    elif radius.factor is not None:
        advice.append(f"A radius smaller than {radius.factor:g} selects more features.")
    else:
        advice.append("Smaller radii select more features, if you have reason to trust them.")
    advice.append(
        "Fewer features, chosen without a look at the labels (by variance, or from the literature), need "
        "smaller radii for the same confidence."
    )
    advice.append("More samples: the radii shrink with the square root of their number.")
    return advice


def meaning(findings: Findings) -> list[Entry]:
    """The numbers one after the other, each with what it says."""
    entries = [_about_r_star(findings), _about_interval(findings), _about_radius(findings)]
    entries += [about_noise(findings), _about_predict(findings), _about_guessing(findings)]
    return entries


def _about_r_star(findings: Findings) -> Entry:
    kind = {
        "bound": f"Here it is a bound, with {_confidence(findings)} confidence as far as the rule that chose "
        "the radii holds good: for samples like those of the training data the true error of the randomized "
        "rule is at most R*. For samples unlike them, model.guaranteed_error adds what is missing.",
        "score": f"Here it is a score and not a bound on the error: {_outside(findings)}, and the true error "
        "can be larger than R*.",
        "given": "It bounds the error for samples like those of the training data if the true means lie "
        "within the radii that were given. The data cannot tell whether they do.",
    }[standing(findings)]
    if learned_nothing(findings):
        kind = "At this value it promises nothing: no rule does better than guessing on all of them."
    text = (
        "The worst-case error of the randomized rule, which picks labels with the probabilities of "
        f"predict_proba, over all distributions whose feature means lie within the radii. {kind}"
    )
    return Entry("Worst-case error R*", share(findings.fit.upper), text)


def _outside(findings: Findings) -> str:
    expected = findings.radius.expected_outside
    if expected < 1.0:
        return "nothing says that all true means lie within these radii"
    return f"about {rounded(expected)} of the true means can be expected to lie outside these radii"


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
    return Entry("Certified interval", f"{low} to {high}", text)


def _about_radius(findings: Findings) -> Entry:
    radius, data = findings.radius, findings.data
    if radius.factor is None:
        text = "The radii were given as an array. Nothing in the data says with what confidence they hold."
        return Entry("Radius", "given", text)
    value = f"s = {radius.factor:.4g}"
    if radius.coverage is not None:
        text = (
            f"Chosen by {RULE_NAMES[radius.rule]} such that all true means lie within s standard errors of "
            f"the observed ones at once with {radius.coverage:.0%} confidence. {_assumption(findings)}"
        )
    elif radius.covers:
        text = (
            f"A plain number, but no smaller than the {radius.needed:.3g} that a union bound for normal "
            f"features asks for at {radius.confidence:.0%} confidence."
        )
    else:
        text = (
            f"A plain number of standard errors by which each mean may be off. With "
            f"{count(data.n_features, 'feature')} and {count(data.n_samples, 'sample')} a union bound for "
            f"normal features would need s = {radius.needed:.3g} to hold all of them at once with "
            f"{radius.confidence:.0%} confidence. The option --radius bootstrap finds such an s."
        )
    return Entry("Radius", value, text)


def _assumption(findings: Findings) -> str:
    radius = findings.radius
    if radius.remarks:
        broken = " ".join(f"{remark[0].upper()}{remark[1:].rstrip('.')}." for remark in radius.remarks)
        return f"That confidence is in doubt, since the sample visibly breaks what the rule assumes. {broken}"
    if radius.rule == "bonferroni":
        return "That is exact for normal features, and cautious for correlated ones."
    return "That is an approximation, which the sample does not visibly contradict."


def _about_predict(findings: Findings) -> Entry:
    fit, data = findings.fit, findings.data
    text = (
        "The same kind of worst case for predict, which always names the most probable class. "
        f"{share(fit.argmax_bound)} is computed for this very rule; the general bound, twice that of the "
        f"randomized rule, is {share(fit.deterministic_bound)}. "
    )
    if fit.argmax_bound >= data.guessing - ROUNDING:
        text += (
            f"It is no better than guessing ({share(data.guessing)}), which is common with few samples and "
            "wide radii: it does not say that predict is bad, only that this set does not rule it out."
        )
    elif standing(findings) == "score":
        text += "Like R* it is a score here: it holds over the set, which need not contain the truth."
    else:
        text += "It holds under the same conditions as R*."
    return Entry("Worst case of predict", share(fit.argmax_bound), text)


def _about_guessing(findings: Findings) -> Entry:
    data, upper = findings.data, findings.fit.upper
    largest = data.classes[data.class_sizes.index(max(data.class_sizes))]
    text = (
        f"{share(data.guessing)} is the error of {fair(findings)}, and the value of R* where nothing is "
        f"learned. Always naming {quoted(largest)} would be wrong for {data.majority_error:.1%} of these "
        "samples"
    )
    if upper >= data.majority_error:
        text += ", which R* does not undercut: as a worst case it promises no more than that."
    else:
        text += "."
    return Entry("To compare with", share(data.guessing), text)
