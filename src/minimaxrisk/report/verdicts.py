"""Which case the findings are: what the words of the report depend on."""

from __future__ import annotations

from minimaxrisk.inspection.worst_case import TIE
from minimaxrisk.report.findings import Findings

# The quantile of the noise, and the p-value, from which on a result counts as more than noise.
LEVEL = 0.05
# Bounds closer to guessing than this are guessing, but for the rounding of a solver.
ROUNDING = 1e-6
# With more than this share of the samples in doubt, none of them stands out.
FEW = 0.25


def learned_nothing(findings: Findings) -> bool:
    """Whether R* is that of a toss of a fair coin or die."""
    return findings.fit.upper >= findings.data.guessing - ROUNDING


def selected_nothing(findings: Findings) -> bool:
    return findings.fit.n_selected == 0


def says_nothing(findings: Findings) -> bool:
    """Whether R* knows the sizes of the classes at most, as it would with any other labels."""
    return learned_nothing(findings) or selected_nothing(findings)


def is_guarantee_empty(findings: Findings) -> bool:
    """Whether the best bound for new samples is no smaller than the error of naming the most common class."""
    best = None if findings.guarantee is None else findings.guarantee.best
    return best is not None and best.value >= findings.data.majority_error


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
    """Whether left-out samples were named ``better`` than by always naming the most common class.

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


def in_doubt(findings: Findings) -> str:
    """Whether ``no``, ``few`` or ``many`` samples weigh no less on other labels than on their own."""
    shown = findings.worst_case
    if shown.n_ambiguous == 0:
        return "no"
    return "few" if shown.n_ambiguous <= FEW * shown.n_samples else "many"


def is_no_better_than_majority(findings: Findings) -> bool:
    """Whether features were selected, but R* is not below the error of always naming the largest class.

    With weights of classes the two are errors of different kinds.
    """
    is_empty = says_nothing(findings) or findings.fit.class_weight
    return not is_empty and findings.fit.upper >= findings.data.majority_error


def all_tie(findings: Findings) -> bool:
    """Whether all samples have the same weight on the other one of two labels."""
    shown = findings.worst_case
    largest = float(shown.other_mass.max(initial=0.0))
    is_one_label = findings.data.n_classes == 2 and largest > 0.0
    return is_one_label and shown.total_other_mass >= shown.n_samples * (largest - TIE)
