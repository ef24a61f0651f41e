"""What an engine reports while it runs and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.problem.certificate import lower_bound, upper_bound_of_some
from minimaxrisk.problem.objective import Objective
from minimaxrisk.problem.problem import Problem


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
