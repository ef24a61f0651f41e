"""Sparse coefficients from those of a solution that is at no vertex."""

from __future__ import annotations

import numpy as np

from minimaxrisk.engines.solution import Solution, Stage
from minimaxrisk.problem.certificate import upper_bound_of_some
from minimaxrisk.problem.problem import Problem

# What clearing coefficients may cost where the gap is wider than the tolerance anyway.
LARGEST_LOSS = 1e-6


def drop_small_coefficients(problem: Problem, best: Solution, gap_tol: float) -> None:
    """A solution at no vertex has few zeros: clear what the certificate does not miss.

    A gap within the tolerance stays within it; a larger one grows by no more than the tolerance.
    """
    components, values = best.stage.components, best.stage.values
    nothing = Solution.trivial(problem, problem.objective).upper
    allowed = best.lower + gap_tol
    if best.upper > allowed:
        allowed = best.upper + min(gap_tol, LARGEST_LOSS)
    size = np.abs(values)
    for fraction in 10.0 ** np.arange(-1.0, -9.0, -1.0):
        kept = size > fraction * size.max(initial=0.0)
        upper = upper_bound_of_some(problem, problem.objective, components[kept], values[kept])
        if upper <= min(allowed, nothing):
            best.stage, best.upper = Stage(components[kept], values[kept]), upper
            return
