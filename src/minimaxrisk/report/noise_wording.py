"""What the permutation test says, and what it does not."""

from __future__ import annotations

from minimaxrisk.report.findings import Findings
from minimaxrisk.report.phrases import Entry, none_or, p_value, share
from minimaxrisk.report.verdicts import ROUNDING, learned_nothing, noise_verdict


def about_noise(findings: Findings) -> Entry:
    """The noise floor and the p-value."""
    test, verdict = findings.permutation, noise_verdict(findings)
    if test is None:
        text = (
            "Not computed: the option --permutations 199 tells what R* would be if the labels were shuffled."
        )
        return Entry("Noise floor and p-value", "not computed", text)
    n, floor = len(test.null_distribution), test.noise_floor
    value = f"p = {p_value(test.pvalue)}" if floor is None else f"{share(floor)}, p = {p_value(test.pvalue)}"
    words = NOISE_WORDS["nothing" if learned_nothing(findings) else verdict]
    text = f"{_of_permutations(findings)} {words.format(p=p_value(test.pvalue), n=n)}"
    if verdict == "signal" and test.pvalue * (1 + n) < 1.5:
        text += f" It is the smallest p-value that {n} permutations can give."
    return Entry("Noise floor and p-value", value, text)


NOISE_WORDS = {
    "signal": "If labels and features had nothing to do with each other, an R* as small as this would come "
    "about with a probability of at most {p}. That is evidence of a relation, and no more: it says nothing "
    "on how large the error is, on which features carry the relation, or on what causes it; a batch effect "
    "can be the cause.",
    "noise": "An R* like this one is what noise gives, p = {p}: the data show no relation between features "
    "and labels. Neither the selected features nor the predictions should be relied on. That is no proof "
    "that there is no relation; a weak one needs more samples to show.",
    "nothing": "Where R* is that of guessing, no permutation can be worse: the test has nothing to tell.",
    "too few": "{n} permutations are too few for a p-value of 0.05; take 19 or more, better 199.",
}


def _of_permutations(findings: Findings) -> str:
    test = findings.permutation
    assert test is not None
    null, n = test.null_distribution, len(test.null_distribution)
    if null.max() - null.min() < ROUNDING:
        return f"With shuffled labels R* was {share(float(null[0]))} in all of {n} permutations."
    n_below = int((null <= test.statistic).sum())
    text = f"With shuffled labels R* was between {share(float(null.min()))} and {share(float(null.max()))}; "
    text += f"{none_or(n_below)} of {n} permutations gave one as small as the observed labels do"
    return text + (
        f". Their 5% quantile, the noise floor, is {share(test.noise_floor)}."
        if test.noise_floor is not None
        else "."
    )


def caution(findings: Findings) -> list[str]:
    """For those who read a section on its own."""
    if noise_verdict(findings) != "noise":
        return []
    return [
        "R* is what noise gives, and so is what follows: it would look much like this with shuffled labels."
    ]
