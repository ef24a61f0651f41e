"""MRC-CG, Algorithm 1 of the paper: solve with few components of Phi, add those that the solution violates.

``constraint_generation`` is Algorithm 1 and ``select_components`` its SELECT, Algorithm 2; comments have the
paper's line numbers, and J, k, k_max, mu, alpha and R are the paper's. To run what is printed:
``ConstraintGeneration(select="as-printed", k_max=10)`` as the solver of
``MinimaxRiskClassifier(coding="one-hot", fit_intercept=False)``.

LPSOLVE is ``Master``, and the initial subset that of ``starts``. Started with all components (``full_lp``)
it is MRC-LP of the paper, the reference that the faster engines must meet.

Why it ends: the bound R^k never rises, and components are dropped only after it fell strictly. While it
stands still the set only grows, and once it has fallen no earlier set can come back, so no set of
components is ever solved twice.

Where this departs from the paper, unless SELECT is asked for as printed. SELECT takes the most violated
components and drops the over-satisfied ones, as printed, for as long as the bound falls. When it stands still
the program has many optimal distributions, and the largest violations of the extreme one that the solver
returns say little; on wide sparse data that can take hundreds of rounds. Then components are ranked by how
soon a step from a feasible distribution towards the solver's one meets their constraint (in-out separation:
Ben-Ameur and Neto 2007), and none is dropped. Both rules take violated components only, as the paper's
theorems ask. SELECT as printed takes and drops in every round, and so may solve a set twice where the bound
stands still.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.interrupts import let_through
from minimaxrisk.engines.linear_programs.highs import SMALLEST_TOLERANCE, TimeLimitError
from minimaxrisk.engines.linear_programs.master import Master
from minimaxrisk.engines.solution import Face, Monitor, Solution, SparseCoefficients
from minimaxrisk.problem.objective import Objective
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound_of_some
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# A fall of R^k by less than this may be rounding, and must not count as progress.
STRICT_DECREASE = 1e-10
# A constraint is over-satisfied (the paper's v_i < 0) when it has at least this much room.
ROOM = 1e-9
# How much of the way to the boundary the feasible distribution goes; from the boundary it could not go on.
FRACTION_TO_BOUNDARY = 0.95


@dataclass(frozen=True)
class GuessedVertex:
    """The work of another engine: its best pair so far and its guess of the optimal vertex.

    Finishing it raises ``PivotLimitError`` when it takes more than ``max_pivots``.
    """

    best: Solution
    guess: Face
    max_pivots: int | None


def constraint_generation(
    problem: Box,
    objective: Objective,
    start: IntArray,
    *,
    n_max: int,
    epsilon: float,
    select: str = "in-out",
    gap_tol: float = 0.0,
    max_iter: int | None = None,
    deadline: float = np.inf,
    presolve: bool = False,
    monitor: Monitor | None = None,
    warm_start: GuessedVertex | None = None,
) -> Solution:
    """Solve to violations of at most ``epsilon`` or a certified gap of at most ``gap_tol``.

    ``start`` holds the components of Phi of the first program. At most ``n_max`` enter per round of
    SELECT ("in-out" or "as-printed"), of which there are at most ``max_iter`` (k_max). ``presolve`` saves
    time if the first program is large. The pair returned is the best one certified, whichever way the loop
    ends.
    """
    k_max = np.inf if max_iter is None else max_iter
    # Line 1: mu^1 = 0.
    best = warm_start.best if warm_start else Solution.trivial(problem, objective)
    best.solver = best.solver or "constraint-generation"
    # HiGHS must be more accurate than the violations that count.
    tolerance = max(SMALLEST_TOLERANCE, min(1e-7, epsilon / 10.0))
    master = Master(problem, objective, tolerance=tolerance, presolve=presolve, deadline=deadline)
    rounds = _Rounds(master, problem, objective, best, n_max, epsilon, select, gap_tol, monitor)
    with closing(master):
        try:
            with let_through():
                # Line 2: LPSOLVE(P_I), from nothing or from the vertex that another engine guessed.
                J = Selection(np.empty(0), np.unique(start), np.empty(0, dtype=np.intp))
                master.exchange(J.outgoing, J.incoming)
                if warm_start is not None:
                    master.warm_start(warm_start.guess, warm_start.max_pivots)
                solved = rounds.lp_solve()
                # Line 3: mu^1 on I; it stays zero elsewhere.
                rounds.keep(solved)
                # Line 4: SELECT.
                J = rounds.select(solved, J)
                # Line 5.
                k = 1
                # Line 6: while J without I is not empty and k <= k_max. A certified gap is enough as well.
                while len(J.incoming) > 0 and k <= k_max and not (best.converged or best.stopped):
                    # Line 7.
                    k = k + 1
                    # Line 8: no statement. HiGHS goes on from the last basis, which has mu^{k-1}.
                    # Line 12, here before line 9: I <- J, by rows that leave the program and rows that enter.
                    master.exchange(J.outgoing, J.incoming)
                    # Line 9: LPSOLVE(P_J).
                    solved = rounds.lp_solve()
                    # Lines 10 and 11: mu^k on J; elsewhere zero, as mu^{k-1} is at the features that left.
                    rounds.keep(solved)
                    # Line 13: SELECT.
                    J = rounds.select(solved, J)
                # Line 14: end while.
        except TimeLimitError:
            best.out_of_time = True
            if not best.history:  # the bounds are those of no component at all
                best.stages.append(best.stage)
                best.report(monitor, best.upper, n_features=0)
        except KeyboardInterrupt:
            best.interrupted = True
    # Line 15: mu* and R*, those of the best pair, which the last one need not be.
    best.settle(problem, objective)
    return best


@dataclass(frozen=True)
class Solved:
    """What LPSOLVE gives."""

    mu: SparseCoefficients  # on I
    alpha: FloatArray  # K x n: of an instance the masses of all sets of labels, added up by label
    moments: FloatArray  # F'alpha
    R: float
    is_basic: BoolArray  # which rows of I may leave the program
    n_pivots: int


@dataclass
class _Rounds:
    """What the lines of Algorithm 1 have in common, before its loop and inside."""

    master: Master
    problem: Box
    objective: Objective
    best: Solution
    n_max: int
    epsilon: float
    select_by: str
    gap_tol: float
    monitor: Monitor | None
    lowest: float = np.inf  # of R^1 to R^{k-1}

    def __post_init__(self) -> None:
        self._inner = InnerPoint(self.problem.centre, self.problem.tau)
        self._is_printed = self.select_by == "as-printed"
        self._accepted = self.epsilon if self._is_printed else _accepted_violation(self.problem, self.epsilon)

    def lp_solve(self) -> Solved:
        """LPSOLVE of the program as it is. We solve its dual D, whose multipliers are mu_1 - mu_2."""
        found = self.master.solve()
        mu, alpha = found.stage, found.distribution
        # By its definition, Eq. (8), and not by what the solver says.
        R = upper_bound_of_some(self.problem, self.objective, mu.components, mu.values)
        return Solved(mu, alpha, self.problem.moments_of(alpha), R, found.is_basic, found.n_pivots)

    def keep(self, solved: Solved) -> None:
        """Take mu^k, and the lower bound that alpha^k gives, for the best pair where they are better."""
        self.best.offer_stage(solved.mu, solved.R)
        point = lower_bound(self.problem, self.objective, solved.alpha, solved.moments)
        self.best.offer_distribution(point.distribution, point.bound)
        self.best.stages.append(solved.mu)

    def select(self, solved: Solved, last: Selection) -> Selection:
        """SELECT, and the record of this round, whose program ``last`` led to.

        As printed, or where the bound stands still by what the way from inside the set meets first.
        """
        reach = self._inner.approach(self.problem, self.objective, solved.alpha, solved.moments, self.best)
        falls = self.lowest - STRICT_DECREASE > solved.R
        chosen = select_components(
            self.problem,
            solved,
            n_max=self.n_max,
            accepted=self._accepted,
            reach=None if self._is_printed or falls else reach,
        )
        self.lowest = min(self.lowest, solved.R)
        self.best.converged = len(chosen.incoming) == 0 or self.best.gap <= self.gap_tol
        self.best.report(
            self.monitor,
            solved.R,
            n_features=len(self.master.components),
            n_added=len(last.incoming),
            n_removed=len(last.outgoing),
            max_violation=max(0.0, float(chosen.violation.max())),
            vertex="HiGHS",
            n_pivots=solved.n_pivots,
        )
        return chosen


@dataclass(frozen=True)
class Selection:
    """What SELECT finds: v of all components, and J by how it differs from I.

    That is the components that enter and the positions in I of those that leave.
    """

    violation: FloatArray
    incoming: IntArray
    outgoing: IntArray


def select_components(
    problem: Box,
    solved: Solved,
    *,
    n_max: int,
    accepted: FloatArray | float,
    reach: FloatArray | None,
) -> Selection:
    """SELECT, Algorithm 2 of the paper, by its numbers of lines; ``accepted`` is its epsilon.

    With ``reach``, where the bound stands still, it departs from print: the components that it ranks first
    enter, and none leaves.
    """
    subset = solved.mu.components  # I
    # 1: v = |F'alpha - tau| - lambda.
    violation = (np.abs(solved.moments - problem.tau) - problem.lam).ravel()
    # 2: J = {i in I: v_i = 0}. Those leave that have room. Only basic rows may: the others have a
    # multiplier, and the last basis would be none without them.
    leaves = solved.is_basic & (violation[subset] < -ROOM) & (reach is None)
    # 4 before 3: those above epsilon, and of these the n_max largest v_i, which is the same A. None is in I,
    # whose constraints hold but for the tolerance of the solver.
    violated = violation > accepted
    violated[subset] = False
    incoming = first_by(n_max, np.flatnonzero(violated), -violation if reach is None else reach)
    # 5: J and A together are I, less those that leave, with those that enter.
    return Selection(violation, incoming, np.flatnonzero(leaves))


@dataclass
class InnerPoint:
    """A distribution inside the uncertainty set that follows the solutions of the programs."""

    distribution: FloatArray
    moments: FloatArray

    def approach(
        self,
        problem: Box,
        objective: Objective,
        outer: FloatArray,
        outer_moments: FloatArray,
        best: Solution,
    ) -> FloatArray:
        """Go towards ``outer`` as far as the set allows, offer the point reached, stop a little short of it.

        Returns for each component the fraction of the way at which its constraint is met.
        """
        step = outer_moments - self.moments
        room = np.maximum(problem.lam - np.sign(step) * (self.moments - problem.tau), 0.0)
        reach = np.divide(room, np.abs(step), out=np.full_like(step, np.inf), where=step != 0.0)
        furthest = min(1.0, float(reach.min()))
        direction = outer - self.distribution
        reached = self.distribution + furthest * direction
        point = lower_bound(problem, objective, reached, self.moments + furthest * step)
        best.offer_distribution(point.distribution, point.bound)
        self.distribution = self.distribution + FRACTION_TO_BOUNDARY * furthest * direction
        self.moments = self.moments + FRACTION_TO_BOUNDARY * furthest * step
        return reach.ravel()


def _accepted_violation(problem: Box, epsilon: float) -> FloatArray:
    """epsilon where the radius is larger, a hundredth of the radius elsewhere, zero where it is thin.

    The lower bound mixes every violation away, which is impossible for 1e-4 where the radius is 1e-6.
    """
    lam = problem.lam.ravel()
    accepted = np.where(lam >= epsilon, epsilon, lam / 100.0)
    accepted[lam < THIN_RADIUS] = 0.0
    return accepted


def first_by(n_max: int, candidates: IntArray, rank: FloatArray) -> IntArray:
    """The (at most) ``n_max`` candidates of lowest rank, in ascending order of component."""
    if len(candidates) <= n_max:
        return candidates
    return np.sort(candidates[np.argpartition(rank[candidates], n_max - 1)[:n_max]])


def full_lp(
    problem: Box, objective: Objective, *, monitor: Monitor | None = None, deadline: float = np.inf
) -> Solution:
    """Constraint generation that starts with all m components of Phi: its first program is its last."""
    m = problem.n_components
    solution = constraint_generation(
        problem,
        objective,
        np.arange(m),
        n_max=m,
        epsilon=0.0,
        presolve=True,
        monitor=monitor,
        deadline=deadline,
    )
    solution.solver = "full-lp"
    return solution
