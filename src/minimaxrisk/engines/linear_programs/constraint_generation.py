"""MRC-CG, Algorithm 1 of the paper: solve with few components of Phi, add those that the solution violates.

Where it starts (``by_correlation``, ``by_first_order``, ``by_columns``) decides how many rounds are needed,
never the answer. Started with all components (``full_lp``) it is MRC-LP of the paper, the reference that the
faster engines must meet.

Why it ends: the bound R^k never rises, and components are dropped only after it fell strictly. While it
stands still the set only grows, and once it has fallen no earlier set can come back, so no set of
components is ever solved twice.

Where the paper leaves a choice. SELECT takes the most violated components, as printed, for as long as the
bound falls. When it stands still the program has many optimal distributions, and the largest violations of
the extreme one that the solver returns say little; on wide sparse data that can take hundreds of rounds. Then
components are ranked by how soon a step from a feasible distribution towards the solver's one meets their
constraint (in-out separation: Ben-Ameur and Neto 2007). Both rules take violated components only, as the
paper's theorems ask.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import count

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.linear_programs.highs import SMALLEST_TOLERANCE
from minimaxrisk.engines.linear_programs.master import Master, MasterSolution
from minimaxrisk.engines.solution import Face, Monitor, Solution
from minimaxrisk.features.matrix import squared_norm
from minimaxrisk.problem.objective import Objective, SmoothableObjective
from minimaxrisk.problem.problem import Problem, lower_bound, upper_bound_of_some
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Of the start: temperature at which the adversary's answer is smoothed, and steps taken.
TEMPERATURE = 0.05
N_STEPS = 30


def by_correlation(problem: Problem, objective: SmoothableObjective, n_components: int) -> IntArray:
    """The components whose constraint the adversary's answer to mu = 0 violates most.

    For the minimax risk the answer is the uniform distribution: with the signed coding these are the largest
    ``|tau| - lambda``.
    """
    if n_components >= problem.tau.size:
        return np.arange(problem.tau.size)
    nothing = np.zeros_like(problem.centre)
    violation = _violation(problem, objective.respond(nothing, TEMPERATURE))
    return np.sort(np.argpartition(-violation, n_components - 1)[:n_components])


def by_first_order(problem: Problem, objective: SmoothableObjective, n_components: int) -> IntArray:
    """The largest coefficients after some accelerated proximal gradient steps on a smoothed problem.

    Where fewer than ``n_components`` coefficients are non-zero, the most violated components fill up.
    """
    if n_components >= problem.tau.size:
        return np.arange(problem.tau.size)
    mu, answer = _first_order_pair(problem, objective)
    size, violation = np.abs(mu).ravel(), _violation(problem, answer)
    return np.sort(np.lexsort((-violation, -size))[:n_components])


def by_columns(problem: Problem, columns: IntArray) -> IntArray:
    """All components that belong to columns of the caller."""
    n_blocks, d = problem.tau.shape
    inner = columns + problem.scale.n_leading
    return (np.arange(n_blocks)[:, None] * d + inner).ravel()


def _first_order_pair(problem: Problem, objective: SmoothableObjective) -> tuple[FloatArray, FloatArray]:
    """Coefficients, and the adversary's answer at which their last gradient was taken.

    The gradient of the smoothed conjugate is the moments of that answer, and its curvature is limited by the
    largest eigenvalue of Psi'Psi/n; any step is right where Psi is zero.
    """
    mu = previous = np.zeros_like(problem.tau)
    momentum, t = mu, 1.0
    n = problem.n_instances
    square = squared_norm(problem.features, np.linspace(1.0, 2.0, n)[None, :], 5)
    step = TEMPERATURE / (square / n if square > 0.0 else 1.0)
    answer = objective.respond(np.zeros_like(problem.centre), TEMPERATURE)
    for _ in range(N_STEPS):
        answer = objective.respond(problem.scores_of(momentum), TEMPERATURE)
        target = momentum - step * (problem.moments_of(answer) - problem.tau)
        mu = np.sign(target) * np.maximum(np.abs(target) - step * problem.lam, 0.0)
        t_next = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        momentum = mu + (t - 1.0) / t_next * (mu - previous)
        previous, t = mu, t_next
    return mu, answer


def _violation(problem: Problem, distribution: FloatArray) -> FloatArray:
    return (np.abs(problem.moments_of(distribution) - problem.tau) - problem.lam).ravel()


# A fall of R^k by less than this may be rounding, and must not count as progress.
STRICT_DECREASE = 1e-10
# A constraint is over-satisfied (the paper's v_i < 0) when it has at least this much room.
ROOM = 1e-9
# How much of the way to the boundary the feasible distribution goes; from the boundary it could not go on.
FRACTION_TO_BOUNDARY = 0.95


@dataclass(frozen=True)
class WarmStart:
    """The work of another engine: its best pair so far and its guess of the optimal vertex.

    Finishing it raises ``PivotLimitError`` when it takes more than ``max_pivots``.
    """

    best: Solution
    guess: Face
    max_pivots: int | None


def constraint_generation(
    problem: Problem,
    objective: Objective,
    start: IntArray,
    *,
    n_max: int,
    epsilon: float,
    gap_tol: float = 0.0,
    max_iter: int | None = None,
    presolve: bool = False,
    monitor: Monitor | None = None,
    warm_start: WarmStart | None = None,
) -> Solution:
    """Solve to violations of at most ``epsilon`` or a certified gap of at most ``gap_tol``.

    ``start`` holds the components of Phi of the first program. At most ``n_max`` enter per round of
    SELECT, of which there are at most ``max_iter`` (k_max). ``presolve`` saves time if the first program is
    large. The pair returned is the best one certified, whichever way the loop ends.
    """
    best = warm_start.best if warm_start else Solution.trivial(problem, objective)
    best.solver = best.solver or "constraint-generation"
    inner = _InnerPoint(problem.centre, problem.tau)
    accepted = _accepted_violation(problem, epsilon)
    incoming, outgoing = np.unique(start), np.empty(0, dtype=np.intp)
    previous = np.inf
    # HiGHS must be more accurate than the violations that count.
    tolerance = max(SMALLEST_TOLERANCE, min(1e-7, epsilon / 10.0))
    with closing(Master(problem, objective, tolerance=tolerance, presolve=presolve)) as master:
        try:
            for n_rounds in count() if max_iter is None else range(max_iter + 1):
                # 1) Update the set of components and solve, hot from the last basis.
                master.drop(outgoing)
                master.add(incoming)
                if n_rounds == 0 and warm_start is not None:
                    master.warm_start(warm_start.guess, warm_start.max_pivots)
                found = master.solve()
                n_added, n_removed = len(incoming), len(outgoing)
                # 2) Price all components with one product, and certify the pair.
                moments = problem.moments_of(found.distribution)
                violation = (np.abs(moments - problem.tau) - problem.lam).ravel()
                current = _certify(problem, objective, found, moments, best)
                reach = inner.approach(problem, objective, found.distribution, moments, best)
                # 3) SELECT.
                fell = current < previous - STRICT_DECREASE
                violated = violation > accepted
                violated[master.components] = False
                incoming = _first(n_max, np.flatnonzero(violated), -violation if fell else reach)
                # A component leaves, by position, if its constraint has room and its multiplier is zero.
                over_satisfied = found.is_basic & (violation[master.components] < -ROOM)
                outgoing = np.flatnonzero(over_satisfied & fell)
                previous = min(previous, current)
                best.converged = len(incoming) == 0 or best.gap <= gap_tol
                # 4) Report.
                best.report(
                    monitor,
                    current,
                    n_features=len(master.components),
                    n_added=n_added,
                    n_removed=n_removed,
                    max_violation=max(0.0, float(violation.max())),
                    vertex="HiGHS",
                    n_pivots=found.n_pivots,
                )
                if best.converged or best.stopped:
                    break
        except KeyboardInterrupt:
            best.interrupted = True
    best.settle(problem, objective)
    return best


@dataclass
class _InnerPoint:
    """A distribution inside the uncertainty set that follows the solutions of the programs."""

    distribution: FloatArray
    moments: FloatArray

    def approach(
        self,
        problem: Problem,
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


def _accepted_violation(problem: Problem, epsilon: float) -> FloatArray:
    """epsilon where the radius is larger, a hundredth of the radius elsewhere, zero where it is thin.

    The lower bound mixes every violation away, which is impossible for 1e-4 where the radius is 1e-6.
    """
    lam = problem.lam.ravel()
    accepted = np.where(lam >= epsilon, epsilon, lam / 100.0)
    accepted[lam < THIN_RADIUS] = 0.0
    return accepted


def _certify(
    problem: Problem, objective: Objective, found: MasterSolution, moments: FloatArray, best: Solution
) -> float:
    """Bounds of the new pair, kept where they are the best so far. Returns that of the coefficients, R^k."""
    current = upper_bound_of_some(problem, objective, found.stage.components, found.stage.values)
    best.offer_stage(found.stage, current)
    point = lower_bound(problem, objective, found.distribution, moments)
    best.offer_distribution(point.distribution, point.bound)
    best.stages.append(found.stage)
    return current


def _first(n_max: int, candidates: IntArray, rank: FloatArray) -> IntArray:
    """The (at most) ``n_max`` candidates of lowest rank, in ascending order of component."""
    if len(candidates) <= n_max:
        return candidates
    return np.sort(candidates[np.argpartition(rank[candidates], n_max - 1)[:n_max]])


def full_lp(problem: Problem, objective: Objective, *, monitor: Monitor | None = None) -> Solution:
    """Constraint generation that starts with all m components of Phi: its first program is its last."""
    m = problem.n_components
    solution = constraint_generation(
        problem, objective, np.arange(m), n_max=m, epsilon=0.0, presolve=True, monitor=monitor
    )
    solution.solver = "full-lp"
    return solution
