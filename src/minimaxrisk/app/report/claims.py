"""What the page and the terminal claim: the verdict, the headline, R* and the bounds for new samples.

A number can be a bound with a stated confidence, a score, or what noise gives as well, and a model may have
learned nothing. The first functions tell these cases apart; the others word them. ``explanations`` has the
text beside figures and tables.

Labels come by two rules. ``predict`` returns the most probable class. R* is about labels that are drawn with
the probabilities of ``predict_proba``.
"""

from __future__ import annotations

from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.phrases import (
    capital,
    count,
    isolate,
    listed,
    misclassified,
    none_or,
    p_value,
    percent,
    quoted,
    share,
)
from minimaxrisk.guarantees.statement import HOLDOUT, NONE, RULE_NAMES, ErrorBound

PREDICT, DRAWN = RULE_NAMES["predict"], RULE_NAMES["randomized"]
# What R* is where nothing says that the true means lie within the radii.
SCORE = "a score, not a bound on the error"
MOST_COMMON = "always predicting the most common class"


# ---- which case the findings are

LEVEL = 0.05  # of the noise floor and of the p-value, from which on a result counts as more than noise
ROUNDING = 1e-6  # of a solver: bounds closer to guessing than this are guessing
MANY_ERRORS = 0.25  # with a larger share of left-out samples misclassified, single predictions are no help
WEAK_CLASS = 0.5  # classes with a larger share of their left-out samples misclassified are named


def learned_nothing(findings: Findings) -> bool:
    """Whether R* is the error of guessing."""
    return findings.fit.upper >= findings.data.guessing - ROUNDING


def selected_nothing(findings: Findings) -> bool:
    return findings.fit.n_selected == 0


def says_nothing(findings: Findings) -> bool:
    """Whether R* knows the sizes of the classes at most, as it would with any other labels."""
    return learned_nothing(findings) or selected_nothing(findings)


def is_guarantee_empty(findings: Findings) -> bool:
    """Whether the best bound for new samples is no smaller than the error of predicting one class."""
    best = bound_with_confidence(findings)
    return best is not None and best.value >= findings.data.majority_error


def bound_with_confidence(findings: Findings) -> ErrorBound | None:
    """The tightest bound for new samples that has a confidence, if there is one."""
    found = findings.guarantee
    return None if found is None or found.method == NONE or not found.has_probability else found


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
    """Whether left-out samples were predicted ``better`` than by one class for all.

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


# ---- can I use this?

# By what shuffled labels and left-out samples say together.
ANSWERS = {
    "noise": "No: shuffled labels give much the same result.",
    "doubtful": "Not yet: one test finds a relation, but left-out samples were predicted hardly better than "
    f"by {MOST_COMMON}.",
    "hidden": "Perhaps: left-out samples were predicted well, but with these settings the result cannot be "
    "told from chance.",
    "untested": "Not known yet: the result was not compared with chance.",
    "too few": "Not known yet: there were too few permutations to compare the result with chance.",
}


UNTIL_THEN = "Until then errors and bounds may mean nothing."


def veto(findings: Findings) -> str | None:
    """What has to be settled before the result can mean anything; None if nothing has to."""
    briefs = [one.brief for one in findings.doubts if one.is_about_validity]
    return f"Not before this is settled: {'; '.join(dict.fromkeys(briefs))}." if briefs else None


def plain_verdict(findings: Findings) -> str:
    """Two sentences without a term that would have to be looked up: whether to use it, and how far."""
    stop = veto(findings)
    if stop is not None and findings.fit.certificate_valid:
        return f"{stop} {UNTIL_THEN}"
    return f"{_can_it_be_used(findings)} {_how_far(findings)}"


def _can_it_be_used(findings: Findings) -> str:
    folds, kind = findings.cross_validation, evidence(findings)
    if not findings.fit.certificate_valid:
        return "No: the check of the model against these data failed, so nothing on this page should be used."
    if says_nothing(findings):
        return "No: with these settings no feature can be told from chance, so there is nothing to use."
    if kind != "signal":
        return ANSWERS[kind]
    if folds is None:
        return "There is signal, but how often the classifier errs was not tested."
    if folds.errors[1] > MANY_ERRORS:
        return "As a lead, not as a test: there is signal, but single samples are often misclassified."
    return "Yes, as a classifier to try on new samples: it does clearly better than chance."


def _how_far(findings: Findings) -> str:
    folds, best = findings.cross_validation, bound_with_confidence(findings)
    if folds is None:
        return "Before anyone relies on it, test it on samples that it has not seen."
    text = (
        f"It misclassified {none_or(folds.n_wrong)} of {count(len(folds.own), 'sample')} not seen in training"
    )
    weak = [one for one in findings.classes if one.recall is not None and 1.0 - one.recall > WEAK_CLASS]
    if weak and not says_nothing(findings):
        text += f", among them most of {listed([quoted(one.name) for one in weak[:3]])}"
    if best is not None and best.rule != "constant" and not is_guarantee_empty(findings):
        return (
            f"{text}; trained on {_samples_trained_on(best)}, it errs on at most {best.value:.0%} of new "
            f"samples like these, with {_confidence_of(best)} confidence."
        )
    return f"{text}; samples from elsewhere, measured in another way, can be misclassified far more often."


# ---- the finding and the paragraphs under it


def headline(findings: Findings) -> str:
    """The one sentence that most people will read."""
    r, test, stop = share(findings.fit.upper), findings.permutation, veto(findings)
    if stop is not None:
        return f"{stop} {UNTIL_THEN}"
    if learned_nothing(findings):
        return f"Nothing was learned: R* = {r} is the error of guessing."
    if selected_nothing(findings):
        return "No feature was selected: only the sizes of the classes were learned."
    p = "" if test is None else f" (p = {p_value(test.pvalue)})"
    is_bound = standing(findings) == "bound"
    return {
        "noise": f"No signal was found{p}: shuffled labels give an R* as small.",
        "doubtful": f"The evidence is divided, which is no finding: R* is smaller than with shuffled "
        f"labels{p}, but {_how_often_wrong(findings)}, and {MOST_COMMON} may do as well.",
        "hidden": f"R* shows no signal{p}, yet {_how_often_wrong(findings)}, fewer than by {MOST_COMMON}: "
        "another radius may show more.",
        "too few": f"R* is {r}, but there were too few permutations to tell it from noise.",
        "signal": f"There is signal{p}"
        + (f", and R* = {r} {r_star_claim(findings)}." if is_bound else f"; {_how_often_wrong(findings)}."),
        "untested": f"R* = {r} {r_star_claim(findings)}."
        if is_bound
        else f"R* is {r}; it cannot be judged yet, because R* of shuffled labels was not computed.",
    }[evidence(findings)]


def r_star_claim(findings: Findings) -> str:
    """What R* says about an error, as words that follow its value."""
    whose = f"the {error_name(findings)} of {DRAWN}"
    doubt = ", but the data cast doubt on that confidence" if findings.radius.remarks else ""
    return {
        "bound": f"bounds {whose} with {stated_confidence(findings)} confidence, {for_whom(findings)}{doubt}",
        "score": f"is a score, not a bound on {whose}",
        "given": f"bounds {whose} {for_whom(findings)}, if the given radii hold",
    }[standing(findings)]


def r_star_note(findings: Findings) -> str:
    """What R* is worth, for the card with the number."""
    note = "is the same as guessing" if learned_nothing(findings) else r_star_claim(findings)
    checked = "checked without the solver" if findings.fit.certificate_valid else "NOT confirmed by the check"
    return f"{note}; {checked}"


def for_whom(findings: Findings) -> str:
    """The samples that a worst case speaks of."""
    if knows_instances(findings):
        return "for instances distributed as in the training data, where only labels may change"
    return "for samples like the training data"


def the_set(findings: Findings) -> str:
    """The distributions that a worst case is over."""
    if knows_instances(findings):
        return (
            "all distributions that keep the training instances and their frequencies (only labels may "
            "change) and whose feature means lie within the radii"
        )
    return "all distributions of samples like the training data whose feature means lie within the radii"


def error_name(findings: Findings) -> str:
    """What R* is a worst case of."""
    weighting = findings.fit.class_weight
    return {None: "error", "balanced": "class-balanced error", "given": "class-weighted error"}[weighting]


def stated_confidence(findings: Findings) -> str:
    level = findings.radius.coverage
    return percent(findings.radius.confidence if level is None else level)


def _how_often_wrong(findings: Findings) -> str:
    folds = findings.cross_validation
    if folds is None:
        return "how often the classifier errs was not tested"
    return f"in cross-validation {misclassified(folds.n_wrong, len(folds.own))}"


def majority_claim(findings: Findings) -> str:
    """What any classifier has to beat."""
    data = findings.data
    named = f"always predicting {quoted(data.largest_class)}, the most common class,"
    return f"{named} is wrong for {data.majority_error:.1%} of these samples"


NOT_BETTER = "and R* = {r} is not below that: R* alone does not show that the classifier does any better."


def beats_majority(findings: Findings) -> bool:
    """Whether R* is below the error of always predicting the most common class, or another kind of error."""
    fit = findings.fit
    return fit.class_weight is not None or fit.upper < findings.data.majority_error


WEIGHTED = {
    "balanced": "All classes have the same weight, whatever their sizes, so R* is about the class-balanced "
    "error: the mean of the errors within the classes.",
    "given": "Classes have the given weights, so R* is about the class-weighted error.",
}


def summary(findings: Findings) -> list[str]:
    """The short paragraphs under the headline."""
    data, fit = findings.data, findings.fit
    sizes = [f"{isolate(name)} ({size:,})" for name, size in zip(data.classes, data.class_sizes, strict=True)]
    learned = (
        f"From {count(data.n_samples, 'sample')} with {count(data.n_features, 'feature')} each, a linear "
        f"classifier {'was to learn' if selected_nothing(findings) else 'learned'} to tell apart "
        f"{listed(sizes)}."
    )
    rules = (
        "It gives every class a probability. Its rule “predict” returns the most probable class; R* is about "
        f"{DRAWN}, that is, at random with these probabilities."
    )
    if selected_nothing(findings):
        return [f"{learned} It uses no feature and predicts the same class for every sample. {rules}"]
    uses = "It uses all features."
    if fit.n_selected < data.n_features:
        uses = f"It uses {count(fit.n_selected, 'feature')} and ignores the others."
    r = share(fit.upper)
    worst = (
        f"R* = {r} is the worst-case error of {DRAWN} over {the_set(findings)}. It {r_star_claim(findings)}."
    )
    more = []
    # With weights of classes the two are errors of different kinds.
    if not beats_majority(findings) and not learned_nothing(findings):
        more.append(f"{capital(majority_claim(findings))}, {NOT_BETTER.format(r=r)}")
    if fit.class_weight:
        more.append(
            f"{WEIGHTED[fit.class_weight]} With classes as common as here the error can be larger. The "
            "cross-validated error and the shares of classes on this page count every sample alike and "
            "cannot be compared with R*."
        )
    # As long as something is to be settled, no promise about new samples stands at the top.
    promised = guaranteed(findings) if veto(findings) is None else []
    return [f"{learned} {uses} {rules}", *promised, worst, *more]


# ---- bounds on the error for new samples


def guaranteed(findings: Findings) -> list[str]:
    """The tightest bound for new samples with what it assumes, if bounds were computed."""
    best = bound_with_confidence(findings)
    if findings.guarantee is None:
        return []
    return [
        capital(best_bound(findings))
        if best is None
        else f"For new samples: {best_bound(findings)} {best.assumption}"
    ]


def best_bound(findings: Findings, digits: int = 3) -> str:
    """The tightest bound for new samples, and whether it says anything."""
    best = bound_with_confidence(findings)
    if best is None:
        return "no bound on the error for new samples comes with a confidence."
    text = (
        f"with {_confidence_of(best)} confidence, the error of {whose_error(findings, best)} is at most "
        f"{best.value:.{digits}f}: {shown_by(findings, best)}."
    )
    if not is_guarantee_empty(findings):
        return text
    if best.rule == "constant":
        return f"{text} No smaller bound was found for a classifier, so this says nothing about the features."
    return f"{text} {capital(majority_claim(findings))}, so this bound says nothing."


def whose_error(findings: Findings, one: ErrorBound) -> str:
    """What a bound is about."""
    if one.rule == "constant":
        return f"always predicting {quoted(findings.data.largest_class)}"
    if one.method == HOLDOUT:
        return f"{RULE_NAMES[one.rule]} for the same method trained on {_samples_trained_on(one)}"
    return f"{RULE_NAMES[one.rule]} for this model"


def _samples_trained_on(one: ErrorBound) -> str:
    assert one.n_train is not None  # bounds beside each other come from training data
    return count(one.n_train, "sample")


def _confidence_of(one: ErrorBound) -> str:
    assert one.confidence is not None
    return percent(one.confidence)


def shown_by(findings: Findings, one: ErrorBound) -> str:
    """The evidence for a bound."""
    if one.rule != "constant":
        return one.evidence
    data = findings.data
    return f"{data.n_samples - max(data.class_sizes):,} of {data.n_samples:,} samples are of other classes"
