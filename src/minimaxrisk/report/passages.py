"""The sentences around figures and tables: how to read them, and what they are no proof of."""

from __future__ import annotations

from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import named_wrongly, quoted, share

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
    low, high = result.binomial_interval()
    beside = "below" if result.errors[0] < findings.fit.upper else "not below"
    compared = f", {beside} R* = {upper}; the two answer different questions"
    if findings.fit.class_weight:
        compared = f"; with the weights of classes that is an error of another kind than R* = {upper}"
    rough = f"With {n:,} samples this is a rough guide. " if high - low > WIDE else ""
    return [
        f"In {result.n_folds}-fold cross-validation {named_wrongly(result.n_wrong, n)}. The randomized "
        f"rule’s error was {share(float(result.errors[0]))} on average over them{compared}. "
        "R* is a worst case over a set of distributions, for the model as it "
        "is. Cross-validation is an average over models fitted to parts of these very samples.",
        f"{rough}Even if the {n:,} outcomes were independent, a 95% interval for the error of the named "
        f"class would run from {share(low)} to {share(high)}; they are not, because the folds share their "
        "training samples, and no unbiased estimate of the spread exists. A choice made by looking at "
        "this number, of a radius, of features, of samples to leave out, makes it too small.",
    ]


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
    return (
        f"Importance is the size of the coefficients times the {scale} of the feature; {sign}. Coefficients "
        "refer to the values as they are in the data. Of features that say the same the classifier may take "
        "any one, so a feature that is missing here need not be unimportant, and one that is listed may have "
        "stand-ins; in another sample of patients the list would differ in part."
    )


def about_path(findings: Findings) -> str:
    if findings.path is None:
        return f"Not computed: {findings.path_skipped or 'the option --radii 12 adds it.'}"
    return (
        "A smaller radius gives a smaller R*, always, and usually more features: the set of distributions "
        "shrinks. That is no sign of a better classifier, and the radius should not be chosen for a small R* "
        "after the fact."
    )
