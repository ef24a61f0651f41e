"""What the sections say beside their figures and tables: how to read them, and what they do not prove.

With two classes and the signed coding only the difference of a sample's two weights is determined. The rest
is spread evenly, so that all samples whose own label weighs more share one weight on the other label.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk.app.report.claims import all_tie, in_doubt, knows_instances, learned_nothing, noise_verdict
from minimaxrisk.app.report.findings import Findings, Rivals
from minimaxrisk.app.report.phrases import (
    certain,
    count,
    listed,
    misclassified,
    none_or,
    percent,
    quoted,
    share,
)
from minimaxrisk.guarantees.statement import NONE

# A 95% interval for the error that is wider than this makes it a rough guide.
WIDE = 0.1


def about_cross_validation(findings: Findings) -> list[str]:
    """What the cross-validated error says beside R*, and why to distrust it."""
    result = findings.cross_validation
    if result is None and findings.cross_validation_skipped:
        return [f"Not computed: {findings.cross_validation_skipped}"]
    if result is None:
        return ["Not computed: the option --folds 10 adds it."]
    n, upper = len(result.own), share(findings.fit.upper)
    low, high = result.approximate_interval()
    beside = "below" if result.errors[0] < findings.fit.upper else "not below"
    compared = f", {beside} R* = {upper}; the two answer different questions"
    if findings.fit.class_weight:
        compared = f", which is not comparable with R* = {upper}, since R* weights the classes"
    rough = f"With {n:,} samples this is a rough guide. " if high - low > WIDE else ""
    return [
        f"In {result.n_folds}-fold cross-validation {misclassified(result.n_wrong, n)}. The randomized "
        f"rule’s error was {share(float(result.errors[0]))} on average over them{compared}. "
        "R* is a worst case over a set of distributions, for the model as it "
        "is. Cross-validation is an average over models fitted to parts of these very samples.",
        f"{rough}Even if the {n:,} outcomes were independent, a 95% interval for the error of the named "
        f"class would run from {share(low)} to {share(high)}; they are not, because the folds share their "
        "training samples, and no unbiased estimate of the variance exists. Choosing a radius, features or "
        "samples to leave out by looking at this number makes it too small.",
    ]


def about_left_out(findings: Findings) -> list[str]:
    """Which classes are taken for which, and which samples are wrong again and again."""
    found = findings.left_out
    if found is None:
        return []
    if not found.errors:
        return ["No left-out sample was named wrongly."]
    texts = [_most_common_mistake(findings)]
    if found.n_repeats > 1:
        always = sum(one.n_times == found.n_repeats for one in found.errors)
        never_again = sum(one.n_times == 1 for one in found.errors)
        texts.append(
            f"The folds were drawn {found.n_repeats} times. {_capital(none_or(always))} of the samples below "
            f"{'was' if always < 2 else 'were'} named wrongly every time"
            f"{', which makes their labels worth a look' if always else ''}, and {none_or(never_again)} once."
        )
    else:
        texts.append("The option --repeats 5 tells which samples are named wrongly again and again.")
    return texts


def _most_common_mistake(findings: Findings) -> str:
    assert findings.left_out is not None
    counts = findings.left_out.confusion.copy()
    np.fill_diagonal(counts, 0)
    if not counts.any():
        return "The first time that the folds were drawn no left-out sample was named wrongly."
    own, named = np.unravel_index(int(np.argmax(counts)), counts.shape)
    classes, size = findings.data.classes, findings.data.class_sizes[int(own)]
    return (
        f"The most common mistake: {counts[own, named]:,} of {size:,} samples of "
        f"{quoted(classes[int(own)])} were taken for {quoted(classes[int(named)])}."
    )


def compared(rivals: Rivals) -> str:
    """Which differences from this model can be told; the terminal says the same."""
    sentences = [
        f"{_capital(listed(names))} made {outcome} errors than this model, by more than two standard errors "
        "of the difference."
        for outcome in ("fewer", "more")
        if (names := rivals.names(outcome))
    ]
    alike = rivals.names("none")
    if alike and sentences:
        sentences.append(
            f"No difference from this model can be told for {listed(alike)}: it is not larger than two "
            "standard errors."
        )
    elif alike:
        sentences.append(
            "No difference between this model and the others can be told: none is larger than two of its "
            "standard errors."
        )
    sentences += [
        f"{_capital(name)} could not be fitted to these data; scikit-learn says: {reason.rstrip('.')}."
        for name, reason in rivals.left_out.items()
    ]
    return " ".join(sentences)


def about_rivals(findings: Findings, *, is_imputed: bool) -> list[str]:
    """How the comparison came about, and what it does not prove."""
    if findings.rivals_skipped:
        return [f"Not computed: {findings.rivals_skipped}"]
    found = findings.rivals
    if found is None:
        return ["Not computed: the option --compare adds it."]
    how = (
        f"All were cross-validated on the same {found.n_folds} folds, the others as they come, untuned. "
        "Errors are those of the named class, as means over the folds; differences are from this model, "
        "positive for more errors; columns and seconds of a fit are medians. Standard errors of the "
        "differences are approximate: they allow for folds that share training samples, and with few folds "
        "they are rough. Of several differences one may well be larger than two standard errors by chance, "
        "and the smallest error of several looks smaller than it is."
    )
    if findings.fit.class_weight:
        how += " This model weights the classes and the others do not; all errors count every sample alike."
    if is_imputed:
        how += " Missing values were filled before, by medians of all samples and not fold by fold."
    return [compared(found), how]


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def about_probabilities(findings: Findings) -> str:
    """What the stated probabilities are worth; needs the cross-validation."""
    result = findings.cross_validation
    assert result is not None
    first = result.by_stated_probability()[0]
    sure = certain(first.n_samples, first.n_right)
    n_right = len(result.own) - result.n_wrong
    return (
        f"{_capital(sure)}. Over all {len(result.own):,} the class that was named had a "
        f"probability of {share(float(result.stated.mean()))} on average, and {n_right:,} of them, "
        f"{n_right / len(result.own):.1%}, were right. The probabilities are those with which the randomized "
        "rule draws labels, chosen to make the worst case small. They are not made to agree with how often "
        "a class is right, not even where they are 1. For that they would have to be calibrated, on "
        "samples that were left out."
    )


def about_features(findings: Findings) -> str:
    """How to read the table of features."""
    scale = "standard deviation" if findings.fit.is_standardized else "root mean square"
    one_row = len(findings.features.coefficients) == 1
    sign = (
        f"a positive coefficient speaks for {quoted(findings.data.classes[1])}, a negative one for "
        f"{quoted(findings.data.classes[0])}"
        if one_row
        else "a positive coefficient speaks for the class, a negative one against it"
    )
    values = "the values as they are in the data"
    if findings.fit.preparation is not None:
        values = f"the values {findings.fit.preparation}, and so do the means and the colours"
    return (
        f"Importance is the size of the coefficients times the {scale} of the feature; {sign}. Coefficients "
        f"refer to {values}. Of several features with the same information the "
        "classifier may use any one, so a feature that is not listed need not be unimportant, and one that "
        "is listed may be replaceable; with other samples, part of the list would differ. Welch’s t and q "
        "(Benjamini and Hochberg, over all features) look at features one by one and describe: they were "
        "computed on the samples that the features were selected with, so that for selected features they "
        "prove nothing."
    )


def about_path(findings: Findings) -> str:
    if findings.path is None:
        return f"Not computed: {findings.path_skipped or 'the option --radii 12 adds it.'}"
    return (
        "A smaller radius always gives a smaller R*, and usually more features, because the set of "
        "distributions shrinks. That is no sign of a better classifier; do not choose the radius afterwards "
        "to make R* small."
    )


def about_guarantee(findings: Findings) -> list[str]:
    """How the bounds for new samples come about, and which of them hold."""
    found = findings.guarantee
    if found is None:
        return ["Not computed: leave out the option --no-guarantee to add it."]
    texts = [
        "Bounds on errors for samples to come, the smallest first. Those with a confidence hold all at once "
        f"with {percent(found.confidence or 0.0)} confidence, so that the smallest may be picked: what may "
        "go wrong was shared out among them beforehand. They are about different classifiers; a hold-out "
        "tells of one that learned from the samples that were not held out."
    ]
    for reason in dict.fromkeys(one.reason for one in found.side_by_side if one.reason):
        texts.append(f"Without a confidence, to compare: {reason}.")
    texts += [f"Left out, {method}: {reason}" for method, reason in found.left_out.items()]
    if found.method != NONE and findings.fit.class_weight:
        texts.append("These are errors among samples as common as here, without weights of classes.")
    return texts


def caution(findings: Findings) -> list[str]:
    """For those who read a section on its own."""
    if noise_verdict(findings) != "noise":
        return []
    return [
        "R* is what noise gives, and so is what follows: shuffled labels would give much the same picture."
    ]


def about_suspects(findings: Findings) -> list[str]:
    """Whether any sample stands out, and how to read the weights."""
    shown = findings.worst_case
    if learned_nothing(findings):
        return ["Nothing was learned, so the worst case does not single out any sample."]
    if not findings.suspects:
        return ["The worst case leaves every sample its own label: none stands out."]
    reading = (
        "The worst case is a distribution over the training samples and their possible labels, within the "
        "radii, on which every rule errs at least as often as the lower bound on R* says. Where it puts "
        "weight on another label than a sample’s own, the radii leave room for that label. A mislabelled "
        "sample often shows up in this way, and so does an unusual or a borderline one: take this as a list "
        "of samples to check, not as proof of a mistake."
    )
    texts = [*caution(findings), _who_stands_out(findings), reading]
    if knows_instances(findings):
        texts.append("Every sample keeps its share of the whole here; labels alone may change.")
    elif findings.fit.coding == "signed":
        texts.append(_about_ties(findings))
    if shown.n_unlabeled:
        without = count(shown.n_unlabeled, "sample")
        texts.append(f"Left out: {without} without a label, with a weight of {shown.unlabeled_mass:.1%}.")
    return texts


def suspects_caption(findings: Findings) -> str:
    """Which samples the figure and the table list, in which order."""
    shown, drawn = findings.worst_case, len(findings.suspects)
    n_in_doubt, on_others = shown.n_ambiguous, f"{shown.total_other_mass:.1%}"
    if all_tie(findings):
        those = f"The {_samples(drawn)} with"
        if n_in_doubt > drawn:
            those = f"{drawn} of the {n_in_doubt:,} samples that share"
        return (
            f"{those} the least weight on their own label. All {shown.n_samples:,} have the same weight "
            f"on the other one, {shown.other_mass[0]:.2%}; together that is {on_others} of the worst case."
        )
    if n_in_doubt == 0:
        which = f"The {_samples(drawn)} with the most weight on other labels than their own."
    elif n_in_doubt >= drawn:
        some = f"{drawn} of the" if n_in_doubt > drawn else "The"
        which = f"{some} {_samples(n_in_doubt)} for which {_outweighs(findings, n_in_doubt)}."
    else:
        first = f"the {_samples(n_in_doubt)} for which {_outweighs(findings, n_in_doubt)}"
        which = f"First {first}; then those with the most weight on other labels."
    return f"{which} All together {on_others} of the worst case lies on other labels."


def _who_stands_out(findings: Findings) -> str:
    shown = findings.worst_case
    n = shown.n_ambiguous
    if n == 0:
        return "No sample has more weight on another label than on its own: none stands out."
    start = f"For {n:,} of {_samples(shown.n_samples)} {_outweighs(findings, n)}"
    if in_doubt(findings) == "many":
        return f"{start}: too many for any of them to stand out, as is common with wide radii."
    return f"{start}: look at {'it' if n == 1 else 'them'} first."


def _outweighs(findings: Findings, n: int) -> str:
    others = "the other label weighs" if findings.data.n_classes == 2 else "the other labels together weigh"
    return f"{others} at least as much as {'its' if n == 1 else 'their'} own"


def _about_ties(findings: Findings) -> str:
    who = "all samples" if all_tie(findings) else "all samples whose own label weighs more"
    return (
        "With two classes the worst case determines only the difference between a sample’s two weights; the "
        f"rest is spread evenly. So {who} have the same weight on the other label, and what tells them apart "
        "is the weight on their own."
    )


def _samples(n: int) -> str:
    return count(n, "sample")
