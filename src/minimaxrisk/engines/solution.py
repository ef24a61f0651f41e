"""What the caller may choose about the computation.

A guess which numbers vanish at the optimum: a face of the uncertainty set's program, often a vertex.

What an engine reports while it runs and what it returns.

Sparse coefficients from those of a solution that is at no vertex.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.problem.objective import Objective
from minimaxrisk.problem.problem import Problem, lower_bound, upper_bound_of_some

# The gaps at which solvers stop if the caller names none. The exact ones end at a vertex anyway; first-order
# methods pay for every further digit.
GAP_TOL, FIRST_ORDER_GAP_TOL = 1e-6, 1e-3


@dataclass(frozen=True)
class EngineSettings:
    """Choices of which none changes the optimum."""

    solver: str
    initial_features: str | IntArray = "correlation"
    n_max: int = 100
    epsilon: float = 1e-4
    gap_tol: float = GAP_TOL
    first_order_gap_tol: float = FIRST_ORDER_GAP_TOL
    max_iter: int | None = None


@dataclass(frozen=True)
class Face:
    """Moment constraints that hold with equality, and masses that are not zero.

    For the signed coding the masses are the parts of u = w_0 - w_1, positive and negative; for the
    one-hot coding those of w, some of which are the largest of their instance, r.
    """

    components: IntArray
    side: FloatArray  # 1 where the upper bound holds with equality, -1 where the lower one does
    is_positive: BoolArray  # K x n
    is_largest: BoolArray  # K x n; all True for the signed coding
    is_full: BoolArray  # n; where a known mass is all on one label, so that nothing is to be found
    n_masses_known: int  # equations ``sum w = 1``, or one per instance; none for the signed coding

    @property
    def surplus(self) -> int:
        """How many more masses there are to find than equations for them.

        A positive mass where none is the largest has no place in the equations.
        """
        positive = self.is_positive & ~self.is_full
        largest = positive & self.is_largest
        has_largest = largest.any(axis=0)
        n_masses = (positive & has_largest).sum() - largest.sum() + has_largest.sum()
        return int(n_masses) - len(self.components) - self.n_masses_known

    @property
    def is_square(self) -> bool:
        """Whether there are as many masses to find as equations for them."""
        return self.surplus == 0

    def is_same_as(self, other: Face | None) -> bool:
        return (
            other is not None
            and np.array_equal(self.components, other.components)
            and np.array_equal(self.side, other.side)
            and np.array_equal(self.is_positive, other.is_positive)
            and np.array_equal(self.is_largest, other.is_largest)
            and np.array_equal(self.is_full, other.is_full)
        )


class IterationRecord(TypedDict):
    """One line of the history."""

    iteration: int
    lower: float  # largest lower bound proven so far
    upper: float  # smallest upper bound proven so far
    worst_case_error: float  # the certified bound of this iteration's own coefficients, R^k
    n_features: int  # components of Phi in this iteration's linear program
    n_added: int
    n_removed: int
    max_violation: float  # largest violation of a moment constraint, columns at unit rms
    vertex: str  # the way to a vertex that this iteration took: its name, nothing, or that it was given up
    n_pivots: int  # of a simplex method on that way
    seconds: float  # since the engine started


# Without the gap being halved in this many iterations an interior point is stuck.
PATIENCE = 8


def is_stuck(gaps: Sequence[float | FloatArray]) -> BoolArray:
    """Whether an interior point is stuck, from its gaps so far; of several problems, which of them are."""
    if len(gaps) <= PATIENCE:
        return np.zeros_like(gaps[-1], dtype=np.bool_)
    return np.asarray(gaps[-1] > 0.5 * gaps[-1 - PATIENCE])


# Called once an iteration; returning True stops the engine.
Monitor = Callable[[IterationRecord], bool]


@dataclass(frozen=True)
class Stage:
    """Coefficients of one iteration: values at some components of Phi, zero elsewhere."""

    components: IntArray
    values: FloatArray

    def expand(self, n_blocks: int, n_columns: int) -> FloatArray:
        mu = np.zeros(n_blocks * n_columns)
        mu[self.components] = self.values
        return mu.reshape(n_blocks, n_columns)

    def sizes_of_columns(self, n_columns: int) -> FloatArray:
        """The sum of the absolute values that each column has in all blocks."""
        sizes = np.zeros(n_columns)
        np.add.at(sizes, self.components % n_columns, np.abs(self.values))
        return sizes

    @classmethod
    def of(cls, mu: FloatArray) -> Stage:
        """The coefficients that are not zero."""
        components = np.flatnonzero(mu)
        return cls(components, mu.ravel()[components])


NOTHING = Stage(np.empty(0, dtype=np.intp), np.empty(0))


@dataclass
class Solution:
    """The best certified pair so far, and how it came about."""

    shape: tuple[int, int]  # B x d, of the coefficients
    stage: Stage  # those that are not zero, columns at unit rms
    upper: float
    distribution: FloatArray  # K x n, inside the uncertainty set
    lower: float
    converged: bool = False
    solver: str = ""  # the engine that had the last word
    remark: str = ""  # what the caller should know about how it went
    interrupted: bool = False
    stopped: bool = False  # by the monitor
    history: list[IterationRecord] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)

    @classmethod
    def trivial(cls, problem: Problem, objective: Objective) -> Solution:
        """mu = 0 and the empirical distribution: valid before any work is done."""
        upper = upper_bound_of_some(problem, objective, NOTHING.components, NOTHING.values)
        lower = objective.value(problem.centre)
        return cls(problem.shape, NOTHING, upper, problem.centre.copy(), lower)

    @property
    def mu(self) -> FloatArray:
        """All coefficients (B x d)."""
        return self.stage.expand(*self.shape)

    def offer_mu(self, mu: FloatArray, upper: float) -> None:
        """Keep ``mu`` if its bound is no worse than the best one (later and equal is sparser or nearer)."""
        if upper <= self.upper:
            self.offer_stage(Stage.of(mu), upper)

    def offer_stage(self, stage: Stage, upper: float) -> None:
        """The same for coefficients of which most are zero."""
        if upper <= self.upper:
            self.stage, self.upper = stage, upper

    def settle(self, problem: Problem, objective: Objective) -> None:
        """Compute afresh what iterations may have updated: the bounds that are reported."""
        self.upper = upper_bound_of_some(problem, objective, self.stage.components, self.stage.values)
        point = lower_bound(problem, objective, self.distribution)
        self.distribution, self.lower = point.distribution, point.bound

    def offer_distribution(self, distribution: FloatArray, lower: float) -> None:
        if lower >= self.lower:
            self.distribution, self.lower = distribution, lower


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
