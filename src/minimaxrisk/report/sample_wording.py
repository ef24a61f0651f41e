"""What the worst case says about single samples.

With two classes and the signed coding only the difference of a sample's two weights is determined. The rest
is spread evenly, so that all samples whose own label weighs more share one weight on the other label.
"""

from __future__ import annotations

from minimaxrisk.inspection.worst_case import TIE
from minimaxrisk.report.findings import Findings
from minimaxrisk.report.noise_wording import caution
from minimaxrisk.report.phrases import count
from minimaxrisk.report.verdicts import in_doubt, learned_nothing


def about_suspects(findings: Findings) -> list[str]:
    """Whether any sample stands out, and how to read the weights."""
    shown = findings.worst_case
    if learned_nothing(findings):
        return ["Nothing was learned, so that the worst case has no reason to prefer one sample to another."]
    if not findings.suspects:
        return ["The worst case leaves every sample its own label: none stands out."]
    reading = (
        "The worst case is a distribution over the training samples and their possible labels, within the "
        "radii, on which every rule errs at least as often as the lower bound on R* says. Where it puts "
        "weight on another label than a sample’s own, the radii leave room for that label. A mislabelled "
        "sample often shows up in this way, and so does an unusual or a borderline one: take it as a list of "
        "samples to look up and not as proof of a mistake."
    )
    texts = [*caution(findings), _who_stands_out(findings), reading]
    if findings.fit.coding == "signed":
        texts.append(_about_ties(findings))
    if shown.n_unlabeled:
        without = count(shown.n_unlabeled, "sample")
        texts.append(f"{without} without a label, with a weight of {shown.unlabeled_mass:.1%}, are left out.")
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


def all_tie(findings: Findings) -> bool:
    """Whether all samples have the same weight on the other one of two labels."""
    shown = findings.worst_case
    largest = float(shown.other_mass.max(initial=0.0))
    is_one_label = findings.data.n_classes == 2 and largest > 0.0
    return is_one_label and shown.total_other_mass >= shown.n_samples * (largest - TIE)


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
