"""What all engines share: their options, what they report while they run, and what they return.

An engine improves a ``Solution``, the best certified pair so far, and adds a record to its history once an
iteration. A ``Face`` is a guess which numbers vanish at the optimum; one engine hands it to another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, NotRequired, TypedDict

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.problem.objective import Objective
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound_of_some

# The gaps at which solvers stop by default, and the smallest one that rounding allows. Exact solvers end at a
# vertex anyway; every further digit takes first-order methods longer.
GAP_TOL, FIRST_ORDER_GAP_TOL, SMALLEST_GAP = 1e-6, 1e-3, 1e-10


@dataclass(frozen=True)
class EngineSettings:
    """Solver options; none changes the optimum."""

    solver: str
    initial_features: str | IntArray = "correlation"
    n_max: int = 100
    epsilon: float = 1e-4  # of features
    epsilon_1: float = 1e-2  # of instances
    select: str = "in-out"
    gap_tol: float = GAP_TOL
    first_order_gap_tol: float = FIRST_ORDER_GAP_TOL
    is_gap_given: bool = False  # by the user; else an exact solution is only wanted if it is worth its time
    max_iter: int | None = None
    max_seconds: float | None = None
    deadline: float = np.inf  # of ``time.perf_counter``: when the seconds of this problem are over


@dataclass(frozen=True)
class Face:
    """A guess which moment constraints hold with equality at the optimum, and which masses are not zero.

    For the signed coding the masses are the positive and negative parts of u = w_0 - w_1; for the one-hot
    coding those of w, some of which are the largest of their instance, r.
    """

    components: IntArray
    side: FloatArray  # 1 where the upper bound holds with equality, -1 where the lower one does
    is_positive: BoolArray  # K x n
    is_largest: BoolArray  # K x n; all True for the signed coding
    is_full: BoolArray  # n; where a known mass is all on one label and so is no unknown
    n_masses_known: int  # equations ``sum w = 1``, or one per instance; none for the signed coding

    @cached_property
    def surplus(self) -> int:
        """How many more unknown masses there are than equations.

        A positive mass at an instance where none is the largest does not enter the equations.
        """
        positive = self.is_positive & ~self.is_full
        largest = positive & self.is_largest
        has_largest = largest.any(axis=0)
        n_masses = (positive & has_largest).sum() - largest.sum() + has_largest.sum()
        return int(n_masses) - len(self.components) - self.n_masses_known

    @property
    def is_square(self) -> bool:
        """Whether there are as many unknown masses as equations."""
        return self.surplus == 0

    def is_same_as(self, other: Face | None) -> bool:
        names = ("components", "side", "is_positive", "is_largest", "is_full")
        return other is not None and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )


class IterationRecord(TypedDict):
    """One line of the history."""

    iteration: int
    lower: float  # largest lower bound proven so far
    upper: float  # smallest upper bound proven so far
    worst_case_error: float  # the certified bound of this iteration's own coefficients, R^k
    n_features: int  # components of Phi that took part in this iteration
    n_added: int
    n_removed: int
    max_violation: float  # largest violation of a moment constraint, columns at unit rms
    vertex: str  # how this iteration found a vertex, "" if it did not, or that a search was given up
    n_pivots: int  # of the simplex method in that search
    seconds: float  # since the engine started
    seconds_left: NotRequired[float]  # a forecast, only in what callbacks are told


# Without the gap being halved in this many iterations an interior point is stuck.
PATIENCE = 8


def is_stuck(gaps: Sequence[Any], patience: int | None = None, left: float = 0.5) -> Any:
    """Whether an interior point is stuck, from its gaps so far; of several problems, which of them are.

    It is if more than this fraction of the gap is left after so many iterations.
    """
    patience = PATIENCE if patience is None else patience
    before = gaps[-1 - patience] if len(gaps) > patience else np.inf
    return gaps[-1] > left * before


# Called once an iteration; returning True stops the engine.
Monitor = Callable[[IterationRecord], bool]


# Seconds after the limit at which an iteration that began before it may end.
LATEST = 1.0


class TimeLimit:
    """A monitor that stops an engine between two iterations after some seconds, and tells another monitor.

    It stops before the limit where another iteration as long as the last would end too late.
    """

    def __init__(self, seconds: float | None, monitor: Monitor | None = None) -> None:
        self.deadline = np.inf if seconds is None else time.perf_counter() + seconds
        self.has_stopped = False
        self._monitor = monitor
        self._last_call = np.inf

    @property
    def is_over(self) -> bool:
        return time.perf_counter() >= self.deadline

    def __call__(self, record: IterationRecord) -> bool:
        is_stopped = self._monitor is not None and self._monitor(record)
        now = time.perf_counter()
        length, self._last_call = max(0.0, now - self._last_call), now
        self.has_stopped = now + max(0.0, length - LATEST) >= self.deadline
        return is_stopped or self.has_stopped


class Bounds(NamedTuple):
    """Certified bounds on R*."""

    lower: float
    upper: float


# Bounds as close as this need not show on which side of a threshold R* lies.
UNDECIDED_GAP = 1e-6


@dataclass(frozen=True)
class StoppingRule:
    """When bounds on R* are close enough, and show on which side of the threshold it lies if there is one."""

    gap_tol: float
    threshold: float | None = None

    def __call__(self, lower: Any, upper: Any) -> Any:
        """Of one problem, or of several in arrays."""
        is_near = upper - lower <= self.gap_tol
        if self.threshold is None:
            return is_near
        is_larger, is_no_larger = lower > self.threshold, upper <= self.threshold
        return is_near & (is_larger | is_no_larger | (upper - lower <= UNDECIDED_GAP))

    def stops(self, record: IterationRecord) -> bool:
        """The same as a monitor."""
        return bool(self(record["lower"], record["upper"]))


@dataclass(frozen=True)
class SparseCoefficients:
    """Coefficients of one iteration: values at some components, zero elsewhere.

    A component is a block and a column of Phi, in the problem of a ball a block and an instance.
    """

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
    def of(cls, mu: FloatArray) -> SparseCoefficients:
        """The coefficients that are not zero."""
        components = np.flatnonzero(mu)
        return cls(components, mu.ravel()[components])


NOTHING = SparseCoefficients(np.empty(0, dtype=np.intp), np.empty(0))


@dataclass
class Solution:
    """The best certified pair so far, and how it was found."""

    shape: tuple[int, int]  # B x d, of the coefficients
    stage: SparseCoefficients  # coefficients that are not zero, columns at unit rms
    upper: float
    distribution: FloatArray  # K x n, inside the uncertainty set
    lower: float
    converged: bool = False
    solver: str = ""  # the engine that finished the work
    remark: str = ""  # what the user should know about it
    interrupted: bool = False
    stopped: bool = False  # by the monitor
    out_of_time: bool = False  # whether that, or the end of a linear program, was because of a time limit
    history: list[IterationRecord] = field(default_factory=list)
    stages: list[SparseCoefficients] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def trivial(cls, problem: Box, objective: Objective) -> Solution:
        """mu = 0 and the empirical distribution, which need no work."""
        upper = upper_bound_of_some(problem, objective, NOTHING.components, NOTHING.values)
        lower = objective.value(problem.centre)
        return cls(problem.shape, NOTHING, upper, problem.centre.copy(), lower)

    @classmethod
    def without_features(cls, problem: Box, objective: Objective) -> Solution:
        """The best pair without features; where labels are noise none is better.

        Labels independent of instances, where their moments are zero as in the signed coding; and always
        naming the most common class, where an intercept per class can say so.
        """
        best, centre = cls.trivial(problem, objective), problem.centre
        independent = np.full_like(centre, 1.0 / len(centre)) * centre.sum(axis=0)
        if not problem.coding.encode(independent).any():
            inside = lower_bound(problem, objective, independent, 0.0)
            best.offer_distribution(inside.distribution, inside.bound)
        elif problem.scale.has_intercept:
            largest = int(np.argmax(centre.sum(axis=1)))
            stage = SparseCoefficients(np.array([largest * problem.shape[1]]), np.ones(1))
            upper = upper_bound_of_some(problem, objective, stage.components, stage.values)
            best.offer_stage(stage, upper)
        return best

    @property
    def mu(self) -> FloatArray:
        """All coefficients (B x d)."""
        return self.stage.expand(*self.shape)

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    def offer_stage(self, stage: SparseCoefficients, upper: float) -> None:
        """Keep the coefficients if their bound is at least as good; of equal ones the later are sparser."""
        if upper <= self.upper:
            self.stage, self.upper = stage, upper

    def offer_distribution(self, distribution: FloatArray, lower: float) -> None:
        if lower >= self.lower:
            self.distribution, self.lower = distribution, lower

    def report(
        self,
        monitor: Monitor | None,
        bound: float,
        *,
        n_features: int,
        n_added: int = 0,
        n_removed: int = 0,
        max_violation: float = 0.0,
        vertex: str = "",
        n_pivots: int = 0,
        iteration: int | None = None,
    ) -> None:
        """Add a record to the history and show it to the monitor, which may stop the engine."""
        record = IterationRecord(
            iteration=len(self.history) + 1 if iteration is None else iteration,
            lower=self.lower,
            # What another engine has proven before counts as well.
            upper=min(self.upper, self.history[-1]["upper"]) if self.history else self.upper,
            worst_case_error=bound,
            n_features=n_features,
            n_added=n_added,
            n_removed=n_removed,
            max_violation=max_violation,
            vertex=vertex,
            n_pivots=n_pivots,
            seconds=time.perf_counter() - self.started,
        )
        self.history.append(record)
        self.stopped = monitor is not None and monitor(record.copy())

    def settle(self, problem: Box, objective: Objective) -> None:
        """Compute the bounds that are reported from the pair alone; iterations only updated theirs."""
        self.upper = upper_bound_of_some(problem, objective, self.stage.components, self.stage.values)
        point = lower_bound(problem, objective, self.distribution)
        self.distribution, self.lower = point.distribution, point.bound


# How much the bound may rise when coefficients are cleared and the gap exceeds the tolerance anyway.
LARGEST_LOSS = 1e-6


def drop_small_coefficients(
    problem: Box, best: Solution, gap_tol: float, objective: Objective | None = None
) -> None:
    """Clear small coefficients of a solution that is not at a vertex, where few are exactly zero.

    A gap within the tolerance stays within it; a larger one grows by no more than the tolerance. The
    objective is that of the problem unless another is given.
    """
    components, values = best.stage.components, best.stage.values
    objective = problem.objective if objective is None else objective
    nothing = Solution.trivial(problem, objective).upper
    allowed = best.lower + gap_tol
    if best.upper > allowed:
        allowed = best.upper + min(gap_tol, LARGEST_LOSS)
    size = np.abs(values)
    for fraction in 10.0 ** np.arange(-1.0, -9.0, -1.0):
        kept = size > fraction * size.max(initial=0.0)
        upper = upper_bound_of_some(problem, objective, components[kept], values[kept])
        if upper <= min(allowed, nothing):
            best.stage, best.upper = SparseCoefficients(components[kept], values[kept]), upper
            return
