"""The algorithms of the paper: MRC-CG, its Algorithm 1, and MRC-CCG, which generates constraints as well.

**MRC-CG** solves with few components of Phi and adds those that the solution violates. Its loop is
``generate``, whose steps are the lines of Algorithm 1 (``Algorithm1``), and ``select_components`` is its
SELECT, Algorithm 2; comments have the paper's line numbers, and J, k, k_max, mu, alpha and R are the paper's.
LPSOLVE is ``Master``. To run what is printed: ``ConstraintGeneration(select="as-printed", k_max=10)`` as the
solver of ``MinimaxRiskClassifier(coding="one-hot", fit_intercept=False)``. Started with all components
(``full_lp``) it is MRC-LP of the paper, the reference that the faster engines must meet.

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

**MRC-CCG** (K. Bondugula, S. Mazuelas, A. Pérez, "Efficient Large-Scale Learning of Minimax Risk
Classifiers", ICDM 2025, arXiv 2511.17626) starts with few constraints as well. Those of its program,

    min over mu, nu of  1 - tau'mu + lambda'|mu| + nu
    s.t.  (sum_{y in C} Phi(x_i, y)'mu - 1)/|C| <= nu   for every instance i and set of labels C, not empty

are columns of the dual, masses at instance i shared alike by the labels in C. For given mu the sets of
largest left side are those of the largest scores, so that sorting finds them. The value of such a program is
no bound: constraints that are missing lower it, features that are missing raise it. The bounds are those of
the pair (mu, w), as for all engines. Begun with the sets that an iterate of another engine makes nearly
active it finds the exact vertex (``moment_space``).
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.interrupts import let_through
from minimaxrisk.engines.first_order import PrimalDual
from minimaxrisk.engines.generation import first_by, generate
from minimaxrisk.engines.highs import SMALLEST_TOLERANCE, TimeLimitError
from minimaxrisk.engines.master import Master, MasterSolution
from minimaxrisk.engines.solution import EngineSettings, Face, Monitor, Solution
from minimaxrisk.problem.objective import Objective
from minimaxrisk.problem.problem import Box, lower_bound
from minimaxrisk.problem.rule import best_sets, instance_thresholds
from minimaxrisk.uncertainty.radius import THIN_RADIUS

NOTHING = np.empty(0, dtype=np.intp)
# First-order steps whose coefficients tell the first features of a program, the few iterations of the paper.
FIRST_STEPS = 40


class Sets(NamedTuple):
    """Constraints of MRC-CCG: instances, and for each of them a set of labels (K x instances)."""

    instances: IntArray
    is_in: BoolArray

    @classmethod
    def largest(cls, instances: IntArray, scores: FloatArray) -> Sets:
        """Return those of largest left side for the scores of all instances (K x n)."""
        return cls(instances, best_sets(scores[:, instances])[1])


class Selection(NamedTuple):
    """What SELECT finds: J by how it differs from I."""

    incoming: IntArray  # components that enter
    outgoing: IntArray  # positions in I of those that leave
    sets: Sets | None  # constraints that enter where these are generated too


def constraint_generation(
    problem: Box,
    objective: Objective,
    start: IntArray,
    *,
    n_max: int,
    epsilon: float,
    sets: Sets | None = None,
    epsilon_1: float = 0.0,
    select: str = "in-out",
    gap_tol: float = 0.0,
    max_iter: int | None = None,
    deadline: float = np.inf,
    monitor: Monitor | None = None,
    best: Solution | None = None,
    guess: Face | None = None,
    max_pivots: int | None = None,
) -> Solution:
    """Solve to violations of at most ``epsilon`` or a certified gap of at most ``gap_tol``.

    ``start`` holds the components of Phi of the first program. At most ``n_max`` enter per round of
    SELECT ("in-out" or "as-printed"), of which there are at most ``max_iter`` (k_max). With ``sets``, the
    first constraints of instances, these are generated too, to violations of at most ``epsilon_1``. The pair
    returned is the best one certified, whichever way the loop ends.

    Another engine may hand over its ``best`` pair and its ``guess`` of the optimal vertex. More than
    ``max_pivots`` raise ``PivotLimitError``.
    """
    k_max = np.inf if max_iter is None else max_iter
    # Line 1: mu^1 = 0.
    best = best or Solution.trivial(problem, objective)
    best.solver = best.solver or "constraint-generation"
    # HiGHS must be more accurate than the violations that count.
    tolerance = max(SMALLEST_TOLERANCE, min(1e-7, epsilon / 10.0))
    master = Master(
        problem,
        objective,
        by_set=sets is not None,
        tolerance=tolerance,
        deadline=deadline,
        max_pivots=max_pivots,
    )
    algorithm = Algorithm1(
        problem, objective, best, master, n_max, epsilon, epsilon_1, select, gap_tol, monitor, guess
    )
    with closing(master):
        try:
            # Lines 5, 7 and 14: generate counts the programs, of which k_max + 1 are the most.
            generate(algorithm, Selection(np.unique(start), NOTHING, sets), k_max + 1)
        except TimeLimitError:
            best.out_of_time = True
            if not best.history:  # the bounds are those of no component at all
                best.stages.append(best.stage)
                best.report(monitor, best.upper, n_features=0)
    # Line 15: mu* and R*, those of the best pair, which the last one need not be.
    best.settle(problem, objective)
    return best


@dataclass
class Algorithm1:
    """The lines of Algorithm 1 as steps of ``generate``."""

    problem: Box
    objective: Objective
    best: Solution
    master: Master
    n_max: int
    epsilon: float
    epsilon_1: float
    select_by: str
    gap_tol: float
    monitor: Monitor | None
    guess: Face | None
    lowest: float = np.inf  # of R^1 to R^{k-1}

    # A fall of R^k by less than this may be rounding, and must not count as progress.
    STRICT_DECREASE: ClassVar[float] = 1e-10
    # How much of the way to the boundary the inner distribution goes; from there it could not go on.
    FRACTION_TO_BOUNDARY: ClassVar[float] = 0.95

    def __post_init__(self) -> None:
        # A distribution inside the set that follows the solutions of the programs, and its moments.
        self._inner, self._inner_moments = self.problem.centre, self.problem.tau
        self._is_printed = self.select_by == "as-printed"
        self._accepted: FloatArray | float = self.epsilon
        if not self._is_printed:
            # A hundredth of smaller radii, and nothing of thin ones: the lower bound mixes every violation
            # away, which is impossible for 1e-4 where the radius is 1e-6.
            lam = self.problem.lam.ravel()
            is_thin, is_small = lam < THIN_RADIUS, lam < self.epsilon
            self._accepted = np.select([is_thin, is_small], [0.0, lam / 100.0], self.epsilon)

    def solve(self, J: Selection) -> MasterSolution:
        """Lines 2, 8, 9 and 12."""
        with let_through():
            # Line 12, here before lines 2 and 9: I <- J, by rows that leave the program and rows that enter.
            self.master.exchange(J.outgoing, J.incoming)
            if J.sets is not None:
                self.master.add_sets(*J.sets)
            if self.guess is not None:
                self.master.warm_start(self.guess)
                self.guess = None
            # Line 8: no statement. HiGHS goes on from the last basis, which has mu^{k-1}.
            # Lines 2 and 9: LPSOLVE(P_J). We solve its dual D, whose multipliers are mu_1 - mu_2.
            return self.master.solve()

    def price(self, J: Selection, solved: MasterSolution) -> Selection | None:
        """Lines 3 to 6, 10, 11 and 13."""
        problem, best = self.problem, self.best
        # Lines 3, 10 and 11: mu^k on J; elsewhere zero, as mu^{k-1} is at the features that left. R^k is that
        # of its definition, Eq. (8), and not what the solver says.
        mu, alpha = solved.stage, solved.distribution
        penalty, scores = problem.penalty_and_scores(mu.components, mu.values)
        R = penalty + self.objective.conjugate(scores)
        best.offer_stage(mu, R)
        best.stages.append(mu)
        # The lower bound that alpha^k gives.
        moments = problem.moments_of(alpha)
        point = lower_bound(problem, self.objective, alpha, moments)
        best.offer_distribution(point.distribution, point.bound)
        reach = self._approach(alpha, moments)
        # Lines 4 and 13: SELECT. As printed, or where the bound stands still by what the way from inside the
        # set meets first.
        violation = (np.abs(moments - problem.tau) - problem.lam).ravel()
        is_still = not (self._is_printed or self.lowest - self.STRICT_DECREASE > R)
        self.lowest = min(self.lowest, R)
        incoming, outgoing = select_components(
            solved, violation, n_max=self.n_max, accepted=self._accepted, reach=reach if is_still else None
        )
        sets = None
        if J.sets is not None:
            excess = instance_thresholds(scores) - solved.nu
            violated = np.flatnonzero(excess > self.epsilon_1)
            sets = Sets.largest(first_by(self.n_max, violated, -excess), scores)
            outgoing = NOTHING  # where constraints are missing R^k may rise again
        # Line 6: while J without I is not empty. A certified gap is enough as well.
        is_last = len(incoming) == 0 and (sets is None or len(sets.instances) == 0)
        best.converged = is_last or best.gap <= self.gap_tol
        best.report(
            self.monitor,
            R,
            n_features=len(self.master.components),
            n_added=len(J.incoming),
            n_removed=len(J.outgoing),
            max_violation=max(0.0, float(violation.max())),
            vertex="HiGHS",
            n_pivots=solved.n_pivots,
        )
        return None if best.converged else Selection(incoming, outgoing, sets)

    def _approach(self, outer: FloatArray, outer_moments: FloatArray) -> FloatArray:
        """Go from inside the set towards ``outer``, offer the point at the boundary, stop a little before it.

        Returns for each component the fraction of the way at which its constraint is met.
        """
        problem, inner = self.problem, self._inner_moments
        step = outer_moments - inner
        room = np.maximum(problem.lam - np.sign(step) * (inner - problem.tau), 0.0)
        reach = np.divide(room, np.abs(step), out=np.full_like(step, np.inf), where=step != 0.0)
        furthest, direction = min(1.0, float(reach.min())), outer - self._inner
        reached = self._inner + furthest * direction
        point = lower_bound(problem, self.objective, reached, inner + furthest * step)
        self.best.offer_distribution(point.distribution, point.bound)
        self._inner = self._inner + self.FRACTION_TO_BOUNDARY * furthest * direction
        self._inner_moments = inner + self.FRACTION_TO_BOUNDARY * furthest * step
        return reach.ravel()


# A constraint is over-satisfied (the paper's v_i < 0) when it has at least this much room.
ROOM = 1e-9


def select_components(
    solved: MasterSolution,
    violation: FloatArray,
    *,
    n_max: int,
    accepted: FloatArray | float,
    reach: FloatArray | None,
) -> tuple[IntArray, IntArray]:
    """SELECT, Algorithm 2 of the paper, by its numbers of lines; ``accepted`` is its epsilon.

    Returns the components that enter and the positions in I of those that leave. With ``reach``, where the
    bound stands still, it departs from print: the components that it ranks first enter, and none leaves.
    """
    subset = solved.stage.components  # I
    # 1: v = |F'alpha - tau| - lambda, ``violation``.
    # 2: J = {i in I: v_i = 0}. Those leave that have room. Only basic rows may: the others have a
    # multiplier, and the last basis would be none without them.
    leaves = solved.is_basic & (violation[subset] < -ROOM) & (reach is None)
    # 4 before 3: those above epsilon, and of these the n_max largest v_i, which is the same A. None is in I,
    # whose constraints hold but for the tolerance of the solver.
    violated = violation > accepted
    violated[subset] = False
    incoming = first_by(n_max, np.flatnonzero(violated), -violation if reach is None else reach)
    # 5: J and A together are I, less those that leave, with those that enter.
    return incoming, np.flatnonzero(leaves)


def full_lp(
    problem: Box, objective: Objective, *, monitor: Monitor | None = None, deadline: float = np.inf
) -> Solution:
    """Constraint generation that starts with all m components of Phi: its first program is its last."""
    m = problem.n_components
    solution = constraint_generation(
        problem, objective, np.arange(m), n_max=m, epsilon=0.0, monitor=monitor, deadline=deadline
    )
    solution.solver = "full-lp"
    return solution


def constraint_and_column_generation(
    problem: Box, settings: EngineSettings, monitor: Monitor | None = None
) -> Solution:
    """MRC-CCG: solve to violations of at most ``epsilon_1`` by instances and ``epsilon`` by features.

    At most ``n_max`` of each enter in a round, of which there are at most ``max_iter``.
    """
    with let_through():  # nothing is found yet
        mu, start = first_order_pair(problem, settings.n_max)
    scores, everywhere = problem.scores_of(mu), np.arange(problem.n_instances)
    chosen = first_by(settings.n_max, everywhere, -instance_thresholds(scores))
    rounding = 1e-8  # of HiGHS, whatever the caller accepts
    solution = constraint_generation(
        problem,
        problem.objective,
        start,
        n_max=settings.n_max,
        epsilon=max(settings.epsilon, rounding),
        sets=Sets.largest(chosen, scores),
        epsilon_1=max(settings.epsilon_1, rounding),
        max_iter=None if settings.max_iter is None else settings.max_iter - 1,
        deadline=settings.deadline,
        monitor=monitor,
    )
    solution.solver = "constraint-and-column-generation"
    return solution


# Where constraint generation starts: this decides how many rounds are needed, never the answer.


def by_correlation(problem: Box, n_components: int) -> IntArray:
    """Return the components whose constraint the adversary's answer to mu = 0 violates most.

    The answer has all labels alike, and all instances but where their masses are known: with the signed
    coding these are the largest ``|tau| - lambda``.
    """
    if n_components >= problem.tau.size:
        return np.arange(problem.tau.size)
    answer = np.full_like(problem.centre, 1.0 / problem.centre.size)
    if problem.marginal.is_known:
        answer[:] = problem.centre.sum(axis=0) / len(answer)
    violation = _violation(problem, problem.moments_of(answer))
    return np.sort(np.argpartition(-violation, n_components - 1)[:n_components])


def by_first_order(problem: Box, n_components: int) -> IntArray:
    """Return the largest coefficients after some first-order steps.

    Where fewer than ``n_components`` coefficients are non-zero, the most violated components fill up.
    """
    if n_components >= problem.tau.size:
        return np.arange(problem.tau.size)
    return first_order_pair(problem, n_components)[1]


def by_columns(problem: Box, columns: IntArray) -> IntArray:
    """Return all components that belong to columns of the caller."""
    n_blocks, d = problem.tau.shape
    inner = np.unique(problem.scale.inner_of(columns)) + problem.scale.n_leading
    return (np.arange(n_blocks)[:, None] * d + inner).ravel()


def first_order_pair(problem: Box, n_components: int) -> tuple[FloatArray, IntArray]:
    """Return the coefficients after a few first-order steps, and which components matter most there.

    Those are the largest coefficients, and after them the components that the adversary's answer violates.
    """
    iteration = PrimalDual(problem)
    for _ in range(FIRST_STEPS):
        point = iteration.step()
    size, violation = np.abs(point.mu).ravel(), _violation(problem, point.moments)
    return point.mu, np.sort(np.lexsort((-violation, -size))[:n_components])


def _violation(problem: Box, moments: FloatArray) -> FloatArray:
    return (np.abs(moments - problem.tau) - problem.lam).ravel()
