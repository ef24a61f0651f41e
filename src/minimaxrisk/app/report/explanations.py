"""What the numbers and the sections of the page mean: the text beside each figure and table.

What a reader can do depends on where the page was made: ``Advice`` has the words of Python or of the command
line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.rounding import at_most, outward, percent
from minimaxrisk.app.report import verdict
from minimaxrisk.app.report.clinical import looked_for
from minimaxrisk.app.report.findings import Findings, Rivals
from minimaxrisk.app.report.phrases import (
    capital,
    count,
    listed,
    none_or,
    quoted,
    rounded,
    share,
    sure_or_not,
)
from minimaxrisk.app.report.verdict import MOST_COMMON, PREDICT, ROUNDING, SCORE
from minimaxrisk.guarantees.left_out import SET_CONFIDENCE, SURE, UNLIKE, UNSURE, needed_to_exclude
from minimaxrisk.inspection.bounds import TIE
from minimaxrisk.uncertainty import NAMED_RULES

FEW = 0.25  # with a larger share of the samples in doubt, none of them stands out
WIDE = 0.1  # a wider 95% interval makes the cross-validated error a rough guide


@dataclass(frozen=True)
class Advice:
    """What a reader can do: arguments as they are typed, and where the error for new samples is bounded."""

    covering_radius: str = 'radius="bootstrap"'
    small_radius: str = "radius=1"
    permutations: str = "n_permutations=199"
    folds: str = "n_folds=10"
    repeats: str = "n_repeats=5"
    radii: str = "n_radii=5"
    rivals: str = "has_rivals=True"
    few_features: str = "MinimaxRiskClassifierCV()"
    guarantee: str = "pass guarantee=True"
    new_samples: str = "error_bound(model, X, y)"


PYTHON = Advice()

# ---- what the numbers mean

NOISE_WORDS = {
    "signal": "The p-value is the probability of an R* as small as this if labels and features were "
    "unrelated. A small one shows a relation and nothing more: not how large the error is, which features "
    "carry the relation, or what causes it. A batch effect can be the cause.",
    "noise": "This R* is what noise gives: the data show no relation between features and labels. "
    "Do not rely on the selected features or the predictions. That does not prove that there is no relation: "
    "a weak one needs more samples to show.",
    "nothing": "No feature was selected, so R* is the same for any labels with classes of these sizes, and "
    "the test says nothing.",
    "doubtful": "If labels and features were unrelated, an R* as small as this would be rare; yet left-out "
    f"samples were misclassified about as often as by {MOST_COMMON}. The small p-value may be luck, or the "
    "relation too weak for predictions: take it as no finding until more samples confirm it.",
    "hidden": "This R* is what noise gives, but left-out samples were predicted better than by "
    f"{MOST_COMMON}. At this radius R* does not show the relation.",
    "too few": "{n} permutations are too few for a p-value of 0.05; take 19 or more, better 199.",
}


@dataclass(frozen=True)
class Entry:
    """A number with its name and what it says."""

    name: str
    value: str
    text: str


def meaning(findings: Findings, advice: Advice) -> list[Entry]:
    """The numbers one after the other, each with what it says."""
    return [
        _about_r_star(findings, advice),
        _about_interval(findings),
        _about_radius(findings, advice),
        _about_noise(findings, advice),
        _about_predict(findings),
        _about_guessing(findings),
    ]


def _about_r_star(findings: Findings, advice: Advice) -> Entry:
    whom = verdict.for_whom(findings)
    kind = {
        "bound": f"Here it is a bound: with {verdict.stated_confidence(findings)} confidence, if the "
        "assumptions of the rule that chose the radii hold, the true "
        f"{verdict.error_name(findings)} is at most R* {whom}. {_beyond_training(findings, advice)}",
        "score": f"Here it is {SCORE}: {_outside(findings)}, and the true error can be larger than R*.",
        "given": f"It bounds the error {whom}, if the true means lie within the given radii. "
        "The data cannot tell whether they do.",
    }[verdict.standing(findings)]
    if verdict.learned_nothing(findings):
        kind = "At this value it guarantees nothing: over this set no rule does better than guessing."
    text = (
        f"The largest {verdict.error_name(findings)} of {verdict.certified_rule(findings)} over "
        f"{verdict.the_set(findings)}. {_about_rule(findings)} {kind}"
    )
    if findings.fit.class_weight:
        text += (
            f" {verdict.WEIGHTED[findings.fit.class_weight]} With classes as common as here the error can be "
            "larger. Errors of left-out samples count every sample alike and are not comparable with R*."
        )
    name = "Worst-case error of the mean rule" if verdict.is_ensemble(findings) else "Worst-case error R*"
    return Entry(name, at_most(findings.fit.upper, ".3f"), text)


def _about_rule(findings: Findings) -> str:
    """How the rule of R* decides, and how it differs from the calibrated decision."""
    if not verdict.is_ensemble(findings):
        return (
            "This rule draws labels at random with the probabilities before calibration, which were chosen "
            "to make R* small."
        )
    weight = findings.fit.ball_weight
    ball = "" if weight is None else f", and a rule on all features with {weight:.0%} of the weight"
    return (
        f"The mean rule is the average of {findings.fit.n_members} linear classifiers, each trained on a "
        f"part of the samples{ball}: a member drawn at random decides. Predictions are by the calibrated "
        "decision instead. A single classifier has a smaller R*. "
        "The permutation test is that of a single classifier with the same settings."
    )


def _beyond_training(findings: Findings, advice: Advice) -> str:
    """Where the error for new samples is told."""
    who = "For other samples it can be larger"
    if verdict.knows_instances(findings):
        who = "R* was made small on these instances, so it is usually larger on new ones"
    return f"{who}: {advice.new_samples} bounds the error for new samples."


def _outside(findings: Findings) -> str:
    expected, n_means = findings.radius.expected_outside, findings.radius.n_means
    if expected < 1.0:
        return "there is no guarantee that all true means lie within these radii"
    each = "feature" if n_means == findings.data.n_features else "feature and class"
    return (
        f"about {rounded(expected)} of the {n_means:,} true means (one per {each}) are expected to lie "
        "outside these radii"
    )


def _about_interval(findings: Findings) -> Entry:
    fit = findings.fit
    bounded = (
        "The worst case of the mean rule lies between the two numbers. "
        if verdict.is_ensemble(findings)
        else "No rule has a worst case below the lower number, and the learned rule has none above the upper "
        "number. "
    )
    text = (
        f"{bounded}The interval is about the computation, not about sampling: it shows how close the solver "
        "came to the optimum. "
    )
    if fit.certificate_valid:
        text += "Both numbers were recomputed from the data without the solver, and hold."
    else:
        problems = "; ".join(fit.certificate_problems)
        text += f"The recomputation without the solver did NOT confirm the model: {problems}."
    if fit.preparation is not None:
        text += f" They are about the values {fit.preparation}."
    return Entry("Certified interval", " to ".join(outward(fit.lower, fit.upper, ".6f")), text)


def _about_radius(findings: Findings, advice: Advice) -> Entry:
    radius, data = findings.radius, findings.data
    if radius.factor is None:
        text = "The radii were given as an array. The data cannot tell with what confidence they hold."
        return Entry("Radius", "given", text)
    if radius.coverage is not None:
        text = (
            f"Chosen by {NAMED_RULES[radius.rule].in_words} such that all true means lie within s standard "
            f"errors of the observed ones at once with {percent(radius.coverage)} confidence. "
            f"{_assumption(findings)}"
        )
    else:
        text = (
            "A plain number: each mean may be off by so many standard errors. With "
            f"{count(data.n_features, 'feature')} and {count(data.n_samples, 'sample')} a union bound for "
            f"normal features needs s = {at_most(radius.needed, '.3g')} to contain all means at once with "
            f"{percent(radius.confidence)} confidence; {advice.covering_radius} finds such an s."
        )
    return Entry("Radius", f"s = {radius.factor:.4g}", text)


def _assumption(findings: Findings) -> str:
    radius = findings.radius
    if not radius.remarks:
        return NAMED_RULES[radius.rule].coverage
    broken = " ".join(f"{capital(remark).rstrip('.')}." for remark in radius.remarks)
    return f"That confidence is in doubt, because the sample breaks what the rule assumes. {broken}"


def _about_noise(findings: Findings, advice: Advice) -> Entry:
    """The noise floor and the p-value."""
    name, test = "Noise floor", findings.permutation
    if test is None:
        text = f"Not computed: {advice.permutations} shows what R* is with shuffled labels."
        return Entry(name, "not computed", text)
    n = test.n_permutations
    value = "none" if test.noise_floor is None else share(test.noise_floor)
    kind = "nothing" if verdict.says_nothing(findings) else verdict.evidence(findings)
    text = NOISE_WORDS[kind].format(n=n)
    if kind in ("signal", "doubtful") and test.n_no_larger == 0:
        text += f" It is the smallest p-value that {n} permutations can give."
    return Entry(name, value, text)


def of_permutations(findings: Findings) -> str:
    """What R* was with shuffled labels; the test must have been done."""
    test = findings.permutation
    assert test is not None
    null, n, n_null = test.null_distribution, test.n_permutations, len(test.null_distribution)
    compared = (
        f"{none_or(test.n_no_larger)} of {n} permutations gave one no larger than the observed labels do."
    )
    if null.max() - null.min() < ROUNDING:
        return (
            f"With shuffled labels R* was {share(float(null[0]))} in all of {n_null} permutations; {compared}"
        )
    floor = (
        ""
        if test.noise_floor is None
        else f" Their 5% quantile, the noise floor, is {share(test.noise_floor)}."
    )
    return (
        f"With shuffled labels R* was between {share(float(null.min()))} and {share(float(null.max()))}, "
        f"with a median of {share(float(np.median(null)))}, in {n_null} permutations; {compared}{floor}"
    )


def _about_predict(findings: Findings) -> Entry:
    fit, data = findings.fit, findings.data
    assert fit.predict_bound is not None
    text = (
        f"The same kind of worst case for the most probable class of {verdict.certified_rule(findings)}, "
        "without calibration. "
        f"{at_most(fit.predict_bound, '.3f')} was computed for this rule; twice R*, "
        f"{at_most(min(1.0, 2.0 * fit.upper), '.3f')}, always holds too. "
    )
    nothing = data.guessing if fit.class_weight else data.majority_error
    if fit.predict_bound >= nothing - ROUNDING:
        text += (
            f"It is no better than {'guessing' if fit.class_weight else MOST_COMMON} ({share(nothing)}), "
            "which is common with few samples and wide radii. That does not mean that the predicted classes "
            "are wrong, only that the set of distributions does not rule it out."
        )
    elif verdict.standing(findings) == "score":
        text += "Like R* it is a score here: the set need not contain the true distribution."
    else:
        text += "It holds under the same conditions as R*."
    return Entry("Worst case of the most probable class", at_most(fit.predict_bound, ".3f"), text)


def _about_guessing(findings: Findings) -> Entry:
    data = findings.data
    text = capital(verdict.majority_claim(findings))
    if verdict.prevalence_of(findings) is not None:
        text += ". R* is not comparable with that: it is about classes as common as in these data."
        return Entry("To compare with", share(verdict.most_common(findings)[1]), text)
    text += ": a classifier that errs as often has learned nothing"
    if verdict.is_ensemble(findings):
        return Entry("To compare with", share(data.majority_error), f"{text}.")
    if findings.fit.class_weight:
        text += ", though that is not comparable with R*, which weights the classes."
    elif findings.fit.upper >= data.majority_error:
        text += ", and R* is not below that: R* alone does not show that the classifier does any better."
    else:
        text += "."
    guessing = at_most(data.guessing, ".3f")
    text += f" R* is at most {guessing}, the error of guessing one of {data.n_classes} classes."
    return Entry("To compare with", share(data.majority_error), text)


def what_to_try(findings: Findings, advice: Advice) -> list[str]:
    """Where nothing was learned, or nothing selected."""
    radius = findings.radius
    if radius.rule in NAMED_RULES:
        smaller = (
            f"A smaller radius, such as {advice.small_radius}, selects features. The worst-case error is "
            f"then {SCORE}; compare it with that of shuffled labels by the permutation test."
        )
    elif radius.factor is not None:
        smaller = f"A radius smaller than {radius.factor:g} selects more features."
    else:
        smaller = "Smaller radii select more features, if you have reason to trust them."
    return [
        smaller,
        "Fewer features, chosen without looking at the labels (by variance, or from the literature), need "
        "smaller radii for the same confidence.",
        "More samples: the radii shrink with the square root of their number.",
    ]


# ---- new samples, left-out samples and other classifiers


def about_best_bound(findings: Findings, advice: Advice) -> list[str]:
    """The error bound, and limits class by class."""
    if verdict.veto(findings) is not None:
        return [f"{capital(verdict.NO_BOUND)}."]
    if findings.guarantee is None:
        return [f"Not computed: {advice.guarantee} to add it."]
    return [capital(verdict.best_bound(findings)), *([] if _has_many(findings) else _by_class(findings))]


def _by_class(findings: Findings) -> list[str]:
    texts = verdict.by_class(findings)
    return [f"Class by class: {' '.join(texts)}"] if texts else []


def _has_many(findings: Findings) -> bool:
    """Whether limits class by class are too long to be read by all."""
    return findings.data.n_classes > 3


def about_guarantee(findings: Findings, advice: Advice) -> list[str]:
    """What the error bound assumes, or why there is none."""
    found = findings.guarantee
    if found is None:
        return [f"Not computed: {advice.guarantee} to add it."]
    if found.confidence is None:
        return [f"No error bound can be given: {found.reason}."]
    texts = [" ".join([found.assumption, found.scope, *verdict.says_little(findings)])]
    texts += _by_class(findings) if _has_many(findings) else []
    if findings.fit.class_weight:
        texts.append("This error counts every sample alike, without the weights of classes.")
    return texts


def about_cross_validation(findings: Findings, advice: Advice) -> str:
    """How the cross-validated error came about, and why to distrust it."""
    result = findings.cross_validation
    if result is None:
        return f"Not computed: {findings.cross_validation_skipped or f'{advice.folds} adds it.'}"
    error = result.error()
    rough = "With so few samples this is a rough guide. " if error.high - error.low > WIDE else ""
    how = f"a model that was fitted without it, in {result.n_folds} folds"
    if result.is_out_of_bag:
        how = f"members of the ensemble that had not seen it, calibrated in {result.n_folds} folds"
    return (
        f"Every sample was predicted by {how}. The predicted class is the one with the largest calibrated "
        f"probability, as in predict. {rough}Intervals are approximate: each sample counts as "
        "0.7 independent ones, because the folds share their training samples. Choosing settings, features "
        "or samples by looking at this error makes it too small. Samples from elsewhere, "
        "measured in another way, can be misclassified far more often."
    )


def about_rates(findings: Findings) -> str:
    """Whose sensitivity is whose specificity, and what predictive values depend on."""
    if findings.left_out is None:
        return ""
    classes = findings.data.classes
    text = f"Balanced accuracy, the mean of the sensitivities, is {findings.left_out.balanced_accuracy:.1%}."
    if len(classes) == 2:
        ill = looked_for(classes)
        text += (
            f" If {quoted(classes[ill])} is looked for, its line is the one to read; the specificity is the "
            f"share of {quoted(classes[1 - ill])} that is not called so."
        )
    if unknown := findings.never_left_out:
        error = "The error of the class" if len(unknown) == 1 else "The errors of the classes"
        text += f" {error} {listed([quoted(name) for name in unknown])} cannot be estimated from one sample."
    return (
        f"{text} Predictive values are those of classes as common as here; where a class is rarer, they are "
        "smaller."
    )


def about_confusion(findings: Findings) -> str:
    """Which class is most often taken for which."""
    if findings.left_out is None:
        return ""
    counts = findings.left_out.confusion.copy()
    np.fill_diagonal(counts, 0)
    if not counts.any():
        return "No left-out sample was misclassified."
    if np.count_nonzero(counts == counts.max()) > 1:
        return "Two or more kinds of mistakes are equally common."
    own, named = (int(k) for k in np.unravel_index(int(np.argmax(counts)), counts.shape))
    data = findings.data
    return (
        f"The most common mistake: samples of {quoted(data.classes[own])} were taken for "
        f"{quoted(data.classes[named])}."
    )


def about_left_out(findings: Findings, advice: Advice) -> str:
    """Which samples are misclassified again and again; empty without any."""
    found = findings.left_out
    if found is None or not found.errors:
        return ""
    if found.n_repeats == 1:
        return f"To see which samples are misclassified again and again, use {advice.repeats}."
    always = sum(one.n_times == found.n_repeats for one in found.errors)
    once = sum(one.n_times == 1 for one in found.errors)
    return (
        f"The folds were drawn {found.n_repeats} times. {capital(none_or(always))} of the samples below "
        f"{'was' if always < 2 else 'were'} misclassified every time"
        f"{' (check their labels)' if always else ''}, and {none_or(once)} once."
    )


def compared(rivals: Rivals) -> str:
    """Which differences from this model are detectable."""
    sentences = [
        f"{capital(listed(names))} made {outcome} errors than this model (p < 0.05)."
        for outcome in ("fewer", "more")
        if (names := rivals.names(outcome))
    ]
    alike = rivals.names("none")
    if alike:
        whom = f"from {listed(alike)}" if sentences else "between this model and the others"
        sentences.append(f"No detectable difference {whom} (p ≥ 0.05).")
    sentences += [
        f"{capital(name)} could not be fitted to these data; scikit-learn says: {reason.rstrip('.')}."
        for name, reason in rivals.left_out.items()
    ]
    return " ".join(sentences)


def about_rivals(findings: Findings, advice: Advice, *, is_imputed: bool) -> list[str]:
    """How the comparison came about, and what it does not prove."""
    found = findings.rivals
    if found is None:
        return [f"Not computed: {findings.rivals_skipped or f'{advice.rivals} adds it.'}"]
    how = (
        f"All were cross-validated on the same {found.n_folds} folds, the others with their default "
        f"settings. Errors are those of {PREDICT}, averaged over the folds; differences are from this model, "
        "positive for more errors; columns and seconds of a fit are medians. The standard errors of the "
        "differences are approximate: they allow for folds that share training samples, and are rough with "
        "few folds. Of several differences one may be detectable by chance, and the smallest of "
        "several errors looks smaller than it is."
    )
    if findings.fit.class_weight:
        how += " This model weights the classes and the others do not; all errors count every sample alike."
    if is_imputed:
        how += " Missing values were filled before, by medians of all samples and not fold by fold."
    return [compared(found), how]


def about_probabilities(findings: Findings) -> str:
    """What the probabilities are worth; empty without cross-validation."""
    result = findings.cross_validation
    if result is None:
        return ""
    n, mean = result.n_judged, float(result.calibrated_of_predicted[result.is_judged].mean())
    n_right = n - result.n_wrong
    raw = (
        ""
        if result.left_out.is_calibrated
        else " What predict_proba gives are scores, which need not match how often a class is right."
    )
    return (
        "Probabilities are calibrated with the scores of left-out samples, and the class with the largest "
        "probability is predicted. "
        f"Over all {n:,} left-out samples the predicted class had a probability of {share(mean)} on average, "
        f"and {n_right:,} of them, {n_right / n:.1%}, were right.{raw}"
    )


def about_sets(findings: Findings) -> str:
    """How many left-out samples are sure; empty without cross-validation."""
    if findings.cross_validation is None:
        return ""
    left_out = findings.cross_validation.left_out
    text = (
        f"{capital(sure_or_not(left_out.counts(SET_CONFIDENCE), SET_CONFIDENCE))}. A class is excluded if at "
        f"most {percent(1 - SET_CONFIDENCE)} of its left-out samples, this one among them, score as low. One "
        f"class left is “{SURE}”, several “{UNSURE}”, none “{UNLIKE}”. The own class is among those left in "
        f"about {percent(SET_CONFIDENCE)}, in each class. The predicted class joins a set of other classes."
    )
    small = [quoted(findings.data.classes[k]) for k in left_out.calibration().too_small(SET_CONFIDENCE)]
    if small:
        has = "has" if len(small) == 1 else "have"
        needed = needed_to_exclude(SET_CONFIDENCE)
        text += f" {listed(small)} {has} fewer than {needed} samples, too few to be excluded."
    return text


# ---- features, radii and samples


def caution(findings: Findings) -> list[str]:
    """For those who read a section on its own."""
    if verdict.noise_verdict(findings) != "noise":
        return []
    return ["No signal was found: shuffled labels would give much the same picture as the following."]


def about_features(findings: Findings) -> str:
    """How to read the table of features."""
    scale = "standard deviation" if findings.fit.is_standardized else "root mean square"
    names = findings.data.classes
    sign = (
        f"a positive coefficient points to {quoted(names[1])}, a negative one to {quoted(names[0])}"
        if len(findings.features.coefficients) == 1
        else "a positive coefficient points to the class, a negative one away from it"
    )
    against = "" if len(names) == 2 else ", here the class that the row names first against all others"
    values = "the values as they are in the data"
    if findings.fit.preparation is not None:
        values = f"the values {findings.fit.preparation}, and so do the means and the colours"
    members = ""
    if verdict.is_ensemble(findings):
        members = (
            "These features are selected by at least half of the members, and sorted by this share. "
            "Coefficients are means over the members. "
        )
    return (
        f"{members}Importance is the size of the coefficients times the {scale} of the feature; {sign}. "
        f"Coefficients refer to {values}. Of several features with the same information the classifier may "
        "use any one: a feature that is not listed need not be unimportant, one that is listed may be "
        "replaceable, and with other samples part of the list would differ. Welch’s t and q (Benjamini and "
        "Hochberg, over all "
        f"features) describe features one by one{against}. They were computed on the samples that selected "
        f"the features, so for selected features they prove nothing.{_about_related(findings)}"
    )


def _about_related(findings: Findings) -> str:
    if findings.related is None:
        return ""
    n, found = findings.features.n_selected, findings.related
    return (
        f" With {percent(found.confidence)} confidence at least {found.of_selected:,} of the "
        f"{count(n, 'selected feature')} are related to the class, by "
        f"{count(found.n_permutations, 'permutation')} of the labels. This bound is valid for every list "
        "that is chosen from the same data (Blanchard, Neuvial and Roquain, 2020)."
    )


def about_path(findings: Findings, advice: Advice) -> str:
    if findings.path is None:
        return f"Not computed: {findings.path_skipped or f'{advice.radii} adds it.'}"
    return (
        "A smaller radius always gives a smaller R*, and usually more features, because the set of "
        "distributions shrinks. That does not make a better classifier: do not choose the radius afterwards "
        "to make R* small."
    )


CHOICES = {
    "few": "the fewest features within one standard error of the smallest left-out error",
    "best": "the smallest left-out error",
}


def how_chosen(choice: str) -> str:
    """What the radius was chosen for."""
    return CHOICES.get(choice, f"at most {choice} features")


def about_short_list(findings: Findings, advice: Advice) -> list[str]:
    """How to get a short list, and what the errors of a chosen one are worth."""
    choice = findings.fit.choice
    if findings.short_list is None:
        why = findings.short_list_skipped
        computed = [f"Not computed: {why or f'{advice.folds} adds it.'}"]
    else:
        computed = [
            "The errors in the figure are too small for a number of features that is chosen by looking at "
            f"them. Without features the error is that of {MOST_COMMON}."
        ]
    if choice is None:
        return [*computed, f"For a model with few features fit with {advice.few_features}."]
    return [
        *computed,
        f"This model was chosen for {how_chosen(choice)}. Its cross-validated error and a hold-out repeat "
        "the choice without the samples that they judge. The permutation test is that of the default, which "
        "no label chose.",
    ]


def in_doubt(findings: Findings) -> str:
    """Whether ``no``, ``few`` or ``many`` samples weigh no less on other labels than on their own."""
    shown = findings.worst_case
    if shown.n_ambiguous == 0:
        return "no"
    return "few" if shown.n_ambiguous <= FEW * shown.n_samples else "many"


def all_tie(findings: Findings) -> bool:
    """Whether all samples have the same weight on the other one of two labels."""
    shown = findings.worst_case
    largest = float(shown.other_mass.max(initial=0.0))
    is_one_label = findings.data.n_classes == 2 and largest > 0.0
    return is_one_label and shown.total_other_mass >= shown.n_samples * (largest - TIE)


def about_suspects(findings: Findings) -> list[str]:
    """Whether any sample stands out, and how to read the weights.

    With two classes and the signed coding only the difference of a sample's two weights is determined. The
    rest is spread evenly, so that all samples whose own label weighs more share one weight on the other.
    """
    shown = findings.worst_case
    if verdict.learned_nothing(findings):
        return ["Nothing was learned, so the worst case does not single out any sample."]
    if not findings.suspects:
        return ["The worst case leaves every sample its own label: none stands out."]
    reading = (
        "The worst case is a distribution over the training samples and their possible labels, within the "
        "radii, that is hardest to classify. Where it puts weight on another label than a sample’s own, "
        "changing the label would hardly contradict the data. Unusual and borderline samples show up in this "
        "way as well as mislabelled ones. It says nothing against a sample that was predicted rightly when "
        "it was left out."
    )
    texts = [*caution(findings), _who_stands_out(findings), reading]
    if verdict.knows_instances(findings):
        texts.append("Every sample keeps its share of the whole here; only labels may change.")
    elif findings.fit.coding == "signed":
        who = "all samples" if all_tie(findings) else "all samples whose own label weighs more"
        texts.append(
            "With two classes the worst case determines only the difference between a sample’s two weights; "
            f"the rest is spread evenly. So {who} have the same weight on the other label, and differ in the "
            "weight on their own."
        )
    if shown.n_unlabeled:
        without = count(shown.n_unlabeled, "sample")
        texts.append(f"Left out: {without} without a label, with a weight of {shown.unlabeled_mass:.1%}.")
    return texts


def suspects_caption(findings: Findings) -> str:
    """Which samples the figure and the table list, in which order."""
    shown, drawn = findings.worst_case, len(findings.suspects)
    n_in_doubt, on_others = shown.n_ambiguous, f"{shown.total_other_mass:.1%}"
    if all_tie(findings):
        those = f"The {count(drawn, 'sample')} with"
        if n_in_doubt > drawn:
            those = f"{drawn} of the {n_in_doubt:,} samples that share"
        return (
            f"{those} the least weight on their own label. All {shown.n_samples:,} have the same weight "
            f"on the other one, {shown.other_mass[0]:.2%}; together that is {on_others} of the worst case."
        )
    outweighed = f"{count(n_in_doubt, 'sample')} for which {_outweighs(findings, n_in_doubt)}"
    if n_in_doubt == 0:
        which = f"The {count(drawn, 'sample')} with the most weight on other labels than their own."
    elif n_in_doubt >= drawn:
        which = f"{f'{drawn} of the' if n_in_doubt > drawn else 'The'} {outweighed}."
    else:
        which = f"First the {outweighed}; then those with the most weight on other labels."
    return f"{which} All together {on_others} of the worst case lies on other labels."


def _who_stands_out(findings: Findings) -> str:
    shown = findings.worst_case
    n = shown.n_ambiguous
    if n == 0:
        return "No sample has more weight on another label than on its own: none stands out."
    start = f"For {n:,} of {count(shown.n_samples, 'sample')} {_outweighs(findings, n)}"
    if in_doubt(findings) == "many":
        return f"{start}: too many for any of them to stand out, as is common with wide radii."
    return f"{start}."


def _outweighs(findings: Findings, n: int) -> str:
    others = "the other label weighs" if findings.data.n_classes == 2 else "the other labels together weigh"
    return f"{others} at least as much as {'its' if n == 1 else 'their'} own"
