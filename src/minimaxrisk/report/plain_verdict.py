"""Can I use this? Two sentences without a term that would have to be looked up."""

from __future__ import annotations

from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import count, listed, percent, quoted
from minimaxrisk.report.verdicts import evidence, is_guarantee_empty, says_nothing

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
    best = None if found is None or is_guarantee_empty(findings) else found.best
    if found is not None and best is not None and best.rule != "constant":
        return (
            f"{text}; one that learns from {best.n_train:,} of them errs for at most {best.value:.0%} of new "
            f"samples like these, with {percent(found.confidence)} confidence."
        )
    return f"{text}; samples from elsewhere, measured in another way, can be named much worse."
