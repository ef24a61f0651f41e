"""What the page and the terminal claim: the verdict, the headline, R* and the bounds for new samples.

A number can be a bound with a stated confidence, a score, or what noise gives as well, and a model may have
learned nothing. The first functions tell these cases apart; the others word them. ``explanations`` has the
text beside figures and tables.

Labels come by two rules. ``predict`` returns the most probable class. R* is about labels that are drawn with
the probabilities of ``predict_proba``.
"""

from __future__ import annotations

from minimaxrisk._utils.arguments import counted
from minimaxrisk._utils.rounding import at_least, at_most, percent
from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.app.report.clinical import looked_for
from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.phrases import capital, count, listed, quoted, shortened
from minimaxrisk.checks.findings import open_conditions, veto_text
from minimaxrisk.guarantees.bound import RULE_NAMES, ErrorBound

PREDICT = RULE_NAMES["predict"]
# What R* is where nothing says that the true means lie within the radii.
SCORE = "a score, not a bound on the error"
MOST_COMMON = "always predicting the most common class"


# ---- which case the findings are

LEVEL = 0.05  # of the noise floor and of the p-value, from which on a result counts as more than noise
ROUNDING = 1e-6  # of a solver: bounds closer to guessing than this are guessing
MANY_ERRORS = 0.25  # with a larger share of left-out samples misclassified, single predictions are no help
LONGEST, MOST_WEAK = 24, 2  # letters of a name of a class in a sentence, and classes named there
WEAK_CLASS = 0.5  # classes with a larger share of their left-out samples misclassified are named


def learned_nothing(findings: Findings) -> bool:
    """Whether R* is the error of guessing, so that no rule does better.

    The worst case of the mean rule of an ensemble can be larger although another rule does better.
    """
    return not is_ensemble(findings) and findings.fit.upper >= findings.data.guessing - ROUNDING


def is_ensemble(findings: Findings) -> bool:
    """Whether R* is the worst case of a mean rule, and not the smallest one of all rules."""
    return findings.fit.n_members is not None


def selected_nothing(findings: Findings) -> bool:
    """Whether predictions depend on no feature."""
    return findings.fit.n_selected == 0 and not findings.fit.uses_all_features


def about_selection(findings: Findings) -> str:
    """Return how many features are selected, as a phrase; of an ensemble by how many members."""
    fit, n = findings.fit, findings.features.n_selected
    all_features = count(findings.data.n_features, "feature")
    if not is_ensemble(findings):
        return f"{n:,} of {all_features}"
    text = (
        f"{n:,} of {all_features} by at least half of the {fit.n_members} members, {fit.n_selected:,} by any"
    )
    return f"{text}; rules on all features take part, too" if fit.uses_all_features else text


def certified_rule(findings: Findings) -> str:
    """Return the name of the rule whose error R* bounds."""
    return "the ensemble's mean rule" if is_ensemble(findings) else "the randomized rule"


def says_nothing(findings: Findings) -> bool:
    """Whether R* knows the sizes of the classes at most, as it would with any other labels."""
    return learned_nothing(findings) or selected_nothing(findings)


def is_guarantee_empty(findings: Findings) -> bool:
    """Whether the error bound is no smaller than the error of predicting one class."""
    best = bound_with_confidence(findings)
    if best is None or best.prevalence is not None:
        return best is not None and best.says_nothing
    return best.value >= findings.data.majority_error


def bound_with_confidence(findings: Findings) -> ErrorBound | None:
    """The error bound, if one can be given."""
    found = findings.guarantee
    return found if found is not None and found.has_probability else None


def noise_verdict(findings: Findings) -> str:
    """``untested``, ``too few`` permutations to tell, ``noise`` or ``signal``."""
    test = findings.permutation
    if test is None:
        return "untested"
    if test.pvalue <= LEVEL:
        return "signal"
    return "too few" if test.n_permutations < round(1 / LEVEL) - 1 else "noise"


def left_out_verdict(findings: Findings) -> str:
    """Whether left-out samples were predicted ``better`` than by one class for all.

    ``no better`` where the 95% interval of the error, were the outcomes independent, does not lie below that
    error; ``untested`` without folds, and with weights of classes, which trade errors of one class for those
    of another.
    """
    folds = findings.cross_validation
    if folds is None or findings.fit.class_weight:
        return "untested"
    return "better" if folds.error().high < folds.majority_error else "no better"


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


NO_BOUND = "not reported until the warning is resolved"


def veto(findings: Findings) -> str | None:
    """Return the sentence that replaces the verdict, or None without a veto."""
    return veto_text(findings.warnings) or None


def condition(findings: Findings) -> str | None:
    """Return the sentence that names the most serious condition that nobody has answered, if there is one."""
    conditions = open_conditions(findings.warnings)
    if not conditions:
        return None
    n_more = len(conditions) - 1
    more = f" ({counted(n_more, 'more condition')} among the warnings)" if n_more else ""
    return f"Promising, provided that {conditions[0].claim}{more}."


def headline(findings: Findings) -> str:
    """The one sentence that most people will read, without a number or a term to be looked up."""
    if not findings.fit.certificate_valid:
        return "No: the check of the model against these data failed, so nothing on this page should be used."
    if (stop := veto(findings)) is not None:
        return stop
    if says_nothing(findings):
        return "No: with these settings no feature can be told from chance, so there is nothing to use."
    kind = evidence(findings)
    if kind != "signal":
        return ANSWERS[kind]
    return condition(findings) or _how_far(findings)


def _how_far(findings: Findings) -> str:
    """For what a classifier is good that found signal."""
    if findings.cross_validation is None:
        return "There is signal, but how often the classifier errs was not tested."
    weak = _mostly_wrong(findings)
    if why := _why_no_test(findings, findings.cross_validation, weak):
        return f"As a lead, not as a test: {why}."
    if weak:
        return f"Yes, as a classifier to try on new samples, but not for {weak}: most were misclassified."
    if is_guarantee_empty(findings):
        return "Yes, as a classifier to try; for a guarantee of its error there are too few samples."
    return "Yes, as a classifier to try on new samples: it does clearly better than chance on left-out ones."


def _why_no_test(findings: Findings, folds: CrossValidatedError, weak: str) -> str:
    """Why single predictions are no help; empty if they may be. ``weak`` names classes."""
    if weak and (len(findings.classes) == 2 or folds.errors[1] > MANY_ERRORS):
        return f"there is signal, but most samples of {weak} were misclassified"
    if folds.errors[1] > MANY_ERRORS:
        return "there is signal, but single samples are often misclassified"
    return ""


def _mostly_wrong(findings: Findings) -> str:
    """The classes of which most left-out samples were misclassified; empty if there are none."""
    found = [None if one.rates is None else one.rates.sensitivity for one in findings.classes]
    weak = [
        quoted(shortened(one.name, LONGEST))
        for one, rate in zip(findings.classes, found, strict=True)
        if rate is not None and 1.0 - rate.value > WEAK_CLASS
    ]
    if len(weak) > MOST_WEAK:
        weak = [*weak[:MOST_WEAK], "others"]
    return listed(weak) if weak else ""


# ---- what R* says


def r_star_claim(findings: Findings) -> str:
    """What R* says about an error, as words that follow its value."""
    whose = f"the {error_name(findings)} of {certified_rule(findings)}"
    doubt = ", but the data cast doubt on that confidence" if findings.radius.remarks else ""
    return {
        "bound": f"bounds {whose} with {stated_confidence(findings)} confidence, {for_whom(findings)}{doubt}",
        "score": f"is a score, not a bound on {whose}",
        "given": f"bounds {whose} {for_whom(findings)}, if the given radii hold",
    }[standing(findings)]


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


def prevalence_of(findings: Findings) -> dict[str, float] | None:
    """How common the classes are where the model is to be used, if that was said."""
    found = findings.guarantee
    if found is None or found.prevalence is None:
        return None
    return {str(label): share for label, share in found.prevalence.items()}


def most_common(findings: Findings) -> tuple[str, float]:
    """The class that is most common where the model is to be used, and how often naming it errs there."""
    shares, data = prevalence_of(findings), findings.data
    if shares is None:
        return data.largest_class, data.majority_error
    name = max(shares, key=lambda label: shares[label])
    return name, 1.0 - shares[name]


def majority_claim(findings: Findings) -> str:
    """What any classifier has to beat."""
    name, error = most_common(findings)
    if prevalence_of(findings) is None:
        there, whose = "", "of these samples"
    else:
        there, whose = " at the given prevalence", "there"
    shares = prevalence_of(findings)
    sizes = list(findings.data.class_sizes if shares is None else shares.values())
    is_tied = sizes.count(max(sizes)) > 1
    which = "one of the most common classes" if is_tied else "the most common class"
    return f"always predicting {quoted(name)}, {which}{there}, is wrong for {error:.1%} {whose}"


def left_out_at_prevalence(findings: Findings) -> float | None:
    """The left-out error for classes as common as where the model is to be used."""
    shares = prevalence_of(findings)
    found = {one.name: None if one.rates is None else one.rates.sensitivity for one in findings.classes}
    if shares is None or any(found.get(name) is None for name in shares):
        return None
    return sum(share * (1.0 - rate.value) for name, share in shares.items() if (rate := found[name]))


NOT_BETTER = "and R* = {r} is not below that: R* alone does not show that the classifier does any better."


def beats_majority(findings: Findings) -> bool:
    """Whether R* is below the error of always predicting the most common class, or another kind of error.

    It is about classes as common as in the data. The mean rule of an ensemble is not the one that predicts.
    """
    fit = findings.fit
    if is_ensemble(findings) or prevalence_of(findings) is not None:
        return True
    return fit.class_weight is not None or fit.upper < findings.data.majority_error


# What R* is about where classes have weights.
WEIGHTED = {
    "balanced": "All classes have the same weight, whatever their sizes, so R* is about the class-balanced "
    "error: the mean of the errors within the classes.",
    "given": "Classes have the given weights, so R* is about the class-weighted error.",
}


# ---- bounds on the error for new samples


def best_bound(findings: Findings, digits: int = 3) -> str:
    """The error bound, and whether it says anything."""
    best = bound_with_confidence(findings)
    if best is None or best.confidence is None:
        return "no error bound can be given."
    text = (
        f"with {percent(best.confidence)} confidence, the error of {whose_error(best)} is at most "
        f"{at_most(best.value, f'.{digits}f')} {mixture(best)}: {best.evidence}."
    )
    return " ".join([text, *says_little(findings)])


def says_little(findings: Findings) -> list[str]:
    """Why the error bound says nothing, where it does."""
    best = bound_with_confidence(findings)
    if best is None or not is_guarantee_empty(findings):
        return []
    if best.prevalence is not None:
        name, error = most_common(findings)
        return [f"Always predicting {quoted(name)} errs no more than that: for {error:.1%}."]
    return [f"{capital(majority_claim(findings))}, so this bound says nothing."]


def whose_error(one: ErrorBound) -> str:
    """What a bound is about."""
    return f"{RULE_NAMES[one.rule]} for the same method trained on {count(one.n_train, 'sample')}"


def mixture(one: ErrorBound) -> str:
    """How common the classes are among the samples that a bound is about."""
    if one.prevalence is None:
        sizes = " : ".join(f"{size:.4g}" for size in one.class_sizes.values())
        return f"where classes are as common as in these data ({sizes})"
    shares = [f"{100.0 * share:g}% are {quoted(str(label))}" for label, share in one.prevalence.items()]
    return f"where {', '.join(shares[:-1])} and {shares[-1]}"


TERMS = (", the sensitivity", ", the specificity")


def by_class(findings: Findings) -> list[str]:
    """Limits class by class in the words of a clinic, of two classes the one that is looked for first."""
    found = bound_with_confidence(findings)
    if found is None or found.confidence is None:
        return []
    texts, classes = [], list(found.per_class)
    if is_pair := len(classes) == 2:
        classes = classes[:: -1 if looked_for([str(one.label) for one in classes]) else 1]
    for one, term in zip(classes, TERMS if is_pair else [""] * len(classes), strict=True):
        seen = f"{one.n_errors:,} of {one.n_test:,} were not" if one.n_test else "none was held out"
        name, found_of_it = quoted(str(one.label)), at_least(1.0 - one.value, ".1%")
        texts.append(f"of {name} at least {found_of_it} are recognised{term} ({seen});")
    for one in classes:
        if one.label in found.predictive_values:
            value, name = found.predictive_values[one.label], quoted(str(one.label))
            texts.append(f"of those called {name} at least {at_least(value, '.1%')} are (predictive value);")
    texts.append(f"each with {percent(found.confidence)} confidence, for the classifier of the hold-out.")
    return texts
