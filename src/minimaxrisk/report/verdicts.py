"""Which case the findings are: what the words of the report depend on."""

from __future__ import annotations

from minimaxrisk.report.findings import Findings

# The quantile of the noise, and the p-value, from which on a result counts as more than noise.
LEVEL = 0.05
# Bounds closer to guessing than this are guessing, but for the rounding of a solver.
ROUNDING = 1e-6


def learned_nothing(findings: Findings) -> bool:
    """Whether R* is that of a toss of a fair coin or die."""
    return findings.fit.upper >= findings.data.guessing - ROUNDING


def selected_nothing(findings: Findings) -> bool:
    return findings.fit.n_selected == 0


def noise_verdict(findings: Findings) -> str:
    """``untested``, ``too few`` permutations to tell, ``noise`` or ``signal``."""
    test = findings.permutation
    if test is None:
        return "untested"
    is_below = test.noise_floor is not None and test.statistic < test.noise_floor
    if is_below and test.pvalue <= LEVEL:
        return "signal"
    return "too few" if len(test.null_distribution) < round(1 / LEVEL) - 1 else "noise"


def standing(findings: Findings) -> str:
    """``bound``, ``score``, or ``given`` where the radii are the user's own."""
    if findings.radius.rule == "array":
        return "given"
    return "bound" if findings.radius.covers else "score"
