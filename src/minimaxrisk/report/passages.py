"""The sentences around figures and tables: how to read them, and what they are no proof of."""

from __future__ import annotations

from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import count, none_or, quoted, share
from minimaxrisk.report.verdicts import learned_nothing, noise_verdict


def about_cross_validation(findings: Findings) -> list[str]:
    """What the cross-validated error says beside R*, and why to distrust it."""
    result = findings.cross_validation
    if result is None and findings.cross_validation_skipped:
        return [f"Not computed: {findings.cross_validation_skipped}"]
    if result is None:
        return ["Not computed: the option --folds 10 adds it."]
    n, wrong = len(result.own), result.n_wrong
    low, high = result.binomial_interval()
    beside = "below" if result.errors[0] < findings.fit.upper else "not below"
    return [
        f"In {result.n_folds}-fold cross-validation predict got {wrong} of {n} left-out samples wrong. The "
        f"randomized rule's error was {share(float(result.errors[0]))} on average over them, {beside} "
        f"R* = {share(findings.fit.upper)}; the two answer different questions. R* is a worst case over a "
        "set of distributions, for the model as it is. Cross-validation is an average over models fitted to "
        "parts of these very samples.",
        f"With {n} samples it is a rough guide. Even if the {n} predictions were independent, a 95% interval "
        f"for the error would run from {share(low)} to {share(high)}; they are not, because the folds share "
        "their training samples, and no unbiased estimate of the spread exists. A choice made by looking at "
        "this number, of a radius, of features, of samples to leave out, makes it too small.",
    ]


def about_suspects(findings: Findings) -> list[str]:
    """How to read the worst-case distribution."""
    shown = findings.worst_case
    if learned_nothing(findings):
        return ["Nothing was learned, so that the adversary has no reason to prefer one sample to another."]
    if not findings.suspects:
        return ["The worst-case distribution leaves every sample its own label."]
    reading = (
        "The worst-case distribution is the one against which every rule errs at least as often as the lower "
        "bound on R* says. Where it puts weight on another label than a sample's own, the radii leave room "
        "for that label. A mislabelled sample often shows up here, and so does an unusual or a borderline "
        "one: take it as a list of samples to look up and not as proof of a mistake."
    )
    texts = [*caution(findings), reading]
    if findings.fit.coding == "signed":
        texts.append(
            "With two classes the worst case fixes only the difference between a sample's two weights; what "
            "is left over is spread evenly, and many samples share the same weight on the other label. What "
            f"tells samples apart is the weight on their own label: for {none_or(shown.n_ambiguous)} of "
            f"{shown.n_samples} it is no larger than on the other one."
        )
    if shown.n_unlabeled:
        without = count(shown.n_unlabeled, "sample")
        texts.append(f"{without} without a label, with a weight of {shown.unlabeled_mass:.1%}, are left out.")
    return texts


def caution(findings: Findings) -> list[str]:
    """For those who read a section on its own."""
    if noise_verdict(findings) != "noise":
        return []
    return [
        "R* is what noise gives, and so is what follows: it would look much like this with shuffled labels."
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
