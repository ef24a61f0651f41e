"""MRC-CG, Algorithm 1 of the paper: solve with few components of Phi, add those that the solution violates.

``constraint_generation`` is Algorithm 1 and ``select_components`` its SELECT, Algorithm 2; comments have the
paper's line numbers. To run what is printed: ``ConstraintGeneration(select="as-printed", k_max=10)`` as the
solver of ``MinimaxRiskClassifier(coding="one-hot", fit_intercept=False)``.

Where it starts (``by_correlation``, ``by_first_order``, ``by_columns``) decides how many rounds are needed,
never the answer. Started with all components (``full_lp``) it is MRC-LP of the paper, the reference that the
faster engines must meet.

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
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.linear_programs.highs import (
    SMALLEST_TOLERANCE,
    LinearProgramSolution,
    RangeProgram,
    TimeLimitError,
)
from minimaxrisk.engines.solution import Face, Monitor, Solution, Stage
from minimaxrisk.features.matrix import Coding, slices_of, squared_norm
from minimaxrisk.problem.objective import (
    BayesError,
    ExpectedLoss,
    HingeLoss,
    KnownMarginal,
    Marginal,
    Objective,
    SmoothableObjective,
)
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound_of_some
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Of the start: temperature at which the adversary's answer is smoothed, and steps taken.
TEMPERATURE = 0.05
N_STEPS = 30


def by_correlation(problem: Box, objective: SmoothableObjective, n_components: int) -> IntArray:
    """The components whose constraint the adversary's answer to mu = 0 violates most.

    For the minimax risk the answer is the uniform distribution: with the signed coding these are the largest
    ``|tau| - lambda``.
    """
    if n_components >= problem.tau.size:
        return np.arange(problem.tau.size)
    nothing = np.zeros_like(problem.centre)
    violation = _violation(problem, objective.respond(nothing, TEMPERATURE))
    return np.sort(np.argpartition(-violation, n_components - 1)[:n_components])


def by_first_order(problem: Box, objective: SmoothableObjective, n_components: int) -> IntArray:
    """The largest coefficients after some accelerated proximal gradient steps on a smoothed problem.

    Where fewer than ``n_components`` coefficients are non-zero, the most violated components fill up.
    """
    if n_components >= problem.tau.size:
        return np.arange(problem.tau.size)
    return most_important(problem, *first_order_pair(problem, objective), n_components)


def most_important(problem: Box, mu: FloatArray, answer: FloatArray, n_components: int) -> IntArray:
    """The largest coefficients, and after those the components that the adversary's answer violates most."""
    size, violation = np.abs(mu).ravel(), _violation(problem, answer)
    return np.sort(np.lexsort((-violation, -size))[:n_components])


def by_columns(problem: Box, columns: IntArray) -> IntArray:
    """All components that belong to columns of the caller."""
    n_blocks, d = problem.tau.shape
    inner = columns + problem.scale.n_leading
    return (np.arange(n_blocks)[:, None] * d + inner).ravel()


def first_order_pair(problem: Box, objective: SmoothableObjective) -> tuple[FloatArray, FloatArray]:
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


def _violation(problem: Box, distribution: FloatArray) -> FloatArray:
    return (np.abs(problem.moments_of(distribution) - problem.tau) - problem.lam).ravel()


# Multipliers up to this size count as zero; the certified bound is that of the others.
NEGLIGIBLE_MULTIPLIER = 1e-10
# Entries of the rows that are written at a time.
ROW_ELEMENTS = 1 << 20
# By how much a thin constraint is magnified at most, and the mass with it.
LARGEST_FACTOR = 1e2


@dataclass(frozen=True)
class MasterSolution:
    """Optimum of the restricted problem: coefficients, worst-case distribution, and the basis."""

    stage: Stage
    distribution: FloatArray  # K x n
    is_basic: BoolArray  # for each component: its constraint row is basic, so its multiplier is zero
    n_pivots: int


class Master:
    """The restricted master problem: the worst-case-distribution program with some of its moment constraints.

    Its columns are w (K n of them), r (n) where the objective needs the largest mass of every instance, and
    ``t_b`` (B), the sums of the rows of C w: they carry the part of a column that is the same for all
    instances, so that centred sparse data make sparse rows. The rows that do not depend on the features come
    first, then one range row per component of Phi that takes part. In HiGHS the distribution has a mass of n
    or more, so that its entries are of order one.
    """

    def __init__(
        self,
        problem: Box,
        objective: Objective,
        *,
        tolerance: float,
        presolve: bool = False,
        deadline: float = np.inf,
    ) -> None:
        self.problem = problem
        self._objective = objective
        self.components = np.empty(0, dtype=np.intp)
        # Thin constraints, and the mass of all distributions with them, are magnified, so that HiGHS's
        # absolute tolerances are small compared to them.
        self._factor = np.clip(THIN_RADIUS / problem.lam.ravel(), 1.0, LARGEST_FACTOR)
        self._unit = float(problem.n_instances)
        if (self._factor > 1.0).any():
            self._unit *= LARGEST_FACTOR
            tolerance = SMALLEST_TOLERANCE
        fixed = self._fixed()
        self._n_columns = len(fixed.cost)
        self._program = RangeProgram(
            fixed.cost,
            fixed.rows,
            fixed.lower,
            fixed.upper,
            most=fixed.most,
            n_free=problem.coding.n_blocks,
            feasibility_tolerance=tolerance,
            presolve=presolve,
            deadline=deadline,
        )

    def _fixed(self) -> FixedPart:
        return _fixed_part(self._objective, self.problem.coding, self.problem.n_instances, self._unit)

    def close(self) -> None:
        """End the solver's thread."""
        self._program.close()

    def add(self, components: IntArray) -> None:
        """Let the moment constraints of these components of Phi take part."""
        # In parts, between which a limit of time is looked at: rows of many instances take long to write.
        for part in slices_of(slice(0, len(components)), max(1, ROW_ELEMENTS // self.problem.n_instances)):
            self._program.check_time()
            self._add(components[part])

    def _add(self, components: IntArray) -> None:
        factor = self._factor[components]
        tau = self._unit * factor * self.problem.tau.ravel()[components]
        width = self._unit * factor * self.problem.lam.ravel()[components]
        rows = sparse.diags_array(factor) @ self._moment_rows(components)
        self._program.add_rows(sparse.csr_array(rows), tau - width, tau + width)
        self.components = np.concatenate([self.components, components])

    def _moment_rows(self, components: IntArray) -> sparse.csr_array:
        return _moment_rows(self.problem, components, self._n_columns)

    def drop(self, positions: IntArray) -> None:
        """Forget components by position; their rows must be basic."""
        self._program.delete_rows(positions)
        self.components = np.delete(self.components, positions)

    def warm_start(self, guess: Face, max_pivots: int | None = None) -> None:
        """Begin at a vertex of the face ``guess``, or near one, with the components that take part now."""
        is_active = np.isin(self.components, guess.components, assume_unique=True)
        side = np.zeros(self.problem.n_components)
        side[guess.components] = guess.side
        n_blocks = self.problem.coding.n_blocks
        columns = (guess.is_positive & ~guess.is_full).ravel()
        # Columns are w, perhaps r, and t; fixed rows perhaps w <= r, known masses and the sums t.
        fixed = np.zeros(guess.n_masses_known + n_blocks)
        if self.problem.coding.name == "one-hot" and isinstance(self._objective, BayesError):
            columns = np.concatenate([columns, guess.is_positive.any(axis=0)])
            largest = (guess.is_positive & guess.is_largest).ravel()
            fixed = np.concatenate([~largest, fixed])
        full = np.zeros(len(columns) + n_blocks, dtype=np.bool_)
        full[: guess.is_positive.size] = (guess.is_positive & guess.is_full).ravel()
        self._program.set_basis(
            basic_columns=np.concatenate([columns, np.ones(n_blocks)]).astype(np.bool_),
            full_columns=full,
            basic_rows=np.concatenate([fixed, ~is_active]).astype(np.bool_),
            at_upper=np.concatenate([np.ones(len(fixed)), side[self.components] > 0.0]).astype(np.bool_),
        )
        if max_pivots is not None:
            self._program.limit_pivots(max_pivots)

    def solve(self) -> MasterSolution:
        """Optimise over the constraints that take part."""
        return self._solution(self._program.solve())

    def _distribution(self, columns: FloatArray) -> FloatArray:
        """The masses w (K x n) of a solution, with the mass that the program has."""
        centre = self.problem.centre
        return columns[: centre.size].reshape(centre.shape)

    def _solution(self, found: LinearProgramSolution) -> MasterSolution:
        w = self._distribution(found.columns) / self._unit
        # Basic rows have multiplier zero, and so have many others where the program is degenerate; HiGHS
        # returns rounding errors there, which would count as selected features.
        multipliers = self._factor[self.components] * found.added_row_duals
        is_zero = found.added_row_is_basic | (np.abs(multipliers) <= NEGLIGIBLE_MULTIPLIER)
        stage = Stage(self.components.copy(), np.where(is_zero, 0.0, multipliers))
        distribution = self._objective.repaired(w, self.problem.centre)
        return MasterSolution(stage, distribution, found.added_row_is_basic, found.n_pivots)


@dataclass
class FixedPart:
    """The columns, and the rows that do not depend on the features, by their entries.

    Joining blocks with SciPy took as long as HiGHS takes for a small program.
    """

    cost: FloatArray
    most: FloatArray  # upper bounds of the columns
    lower: FloatArray = field(default_factory=lambda: np.empty(0))
    upper: FloatArray = field(default_factory=lambda: np.empty(0))
    entries: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)

    def add_rows(
        self, row: IntArray, column: IntArray, value: FloatArray, *, lower: FloatArray, upper: FloatArray
    ) -> None:
        """Append rows by their entries; ``row`` counts from the first of them."""
        self.entries.append((row + len(self.lower), column, value))
        self.lower, self.upper = np.append(self.lower, lower), np.append(self.upper, upper)

    def add_masses(self, marginal: Marginal, n_classes: int, n: int, unit: float) -> None:
        """Rows that add up w, over everything or over each instance whose mass is known."""
        each, mass = np.arange(n_classes * n), np.array([unit])
        row = np.zeros_like(each)
        if isinstance(marginal, KnownMarginal):
            row, mass = each % n, unit * marginal.masses
        self.add_rows(row, each, np.ones(len(each)), lower=mass, upper=mass)

    def add_block_sums(self, coding: Coding, n: int) -> None:
        """The columns t_b and the rows ``sum_yi C_by w_yi - t_b = 0`` that define them."""
        block, zero = np.arange(coding.n_blocks), np.zeros(coding.n_blocks)
        of_block, label = np.nonzero(coding.matrix)
        self.add_rows(
            row=np.concatenate([np.repeat(of_block, n), block]),
            column=np.concatenate([(label[:, None] * n + np.arange(n)).ravel(), len(self.cost) + block]),
            value=np.concatenate([np.repeat(coding.matrix[of_block, label], n), zero - 1.0]),
            lower=zero,
            upper=zero,
        )
        self.cost, self.most = np.append(self.cost, zero), np.append(self.most, zero + np.inf)

    @property
    def rows(self) -> sparse.csr_array:
        row, column, value = (np.concatenate(each) for each in zip(*self.entries, strict=True))
        return sparse.csr_array((value, (row, column)), shape=(len(self.lower), len(self.cost)))


def _fixed_part(objective: Objective, coding: Coding, n: int, unit: float) -> FixedPart:
    n_w = coding.n_classes * n
    no_bound, each = np.full(n_w, np.inf), np.arange(n_w)
    if isinstance(objective, ExpectedLoss):
        part = FixedPart(-objective.loss.ravel(), no_bound)
        part.add_masses(objective.marginal, coding.n_classes, n, unit)
    elif isinstance(objective, HingeLoss):
        # max sum w  with  w <= mass  and, for the intercept, both classes of the same mass.
        part = FixedPart(-np.ones(n_w), unit * objective.mass.ravel())
        if objective.has_intercept:
            signs, zero = np.repeat(coding.matrix[0], n), np.zeros(1)
            part.add_rows(np.zeros_like(each), each, signs, lower=zero, upper=zero)
    elif coding.name == "signed":
        # Only u = w_0 - w_1 enters the moments, and max(w_0, w_1) = (w_0 + w_1 + |u|)/2, so the Bayes
        # error is (1 - sum |u|)/2. Its maximum needs the positive and negative parts of u and no further
        # row: the rest of the mass carries both labels alike. A known mass of the instance bounds |u|.
        most = no_bound
        if isinstance(objective.marginal, KnownMarginal):
            most = unit * np.tile(objective.marginal.masses, 2)
        part = FixedPart(np.full(n_w, 0.5), most)
    else:
        # max 1 - sum r  with  w_yi - r_i <= 0  and known masses
        part = FixedPart(np.concatenate([np.zeros(n_w), np.ones(n)]), np.full(n_w + n, np.inf))
        part.add_rows(
            row=np.tile(each, 2),
            column=np.concatenate([each, n_w + each % n]),
            value=np.repeat([1.0, -1.0], n_w),
            lower=-no_bound,
            upper=np.zeros(n_w),
        )
        part.add_masses(objective.marginal, coding.n_classes, n, unit)
    part.add_block_sums(coding, n)
    return part


def _moment_rows(problem: Box, components: IntArray, n_columns: int) -> sparse.csr_array:
    """Rows ``sum_yi C_by psi_ij w_yi`` for components (b, j).

    With ``Psi = V - 1 c'`` the entries are ``C_by V_ij`` on w and ``-c_j`` on t_b.
    """
    coding, (n, d) = problem.coding, problem.features.shape
    block, column = np.divmod(components, d)
    values, offset = problem.features.shifted_columns(column)
    entries = sparse.coo_array(values.T)  # one row per component
    row, instance = entries.row, entries.col
    classes_of_block = np.array([np.flatnonzero(of_block) for of_block in coding.matrix], dtype=np.intp)
    classes = classes_of_block[block[row]]
    signs = np.take_along_axis(coding.matrix[block[row]], classes, axis=1)
    on_w = (signs * entries.data[:, None]).ravel()
    rows = np.concatenate([np.repeat(row, classes.shape[1]), np.arange(len(components))])
    cols = np.concatenate([(classes * n + instance[:, None]).ravel(), n_columns - coding.n_blocks + block])
    data = np.concatenate([on_w, -offset])
    matrix = sparse.csr_array((data, (rows, cols)), shape=(len(components), n_columns))
    matrix.eliminate_zeros()
    return matrix


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
    warm_start: WarmStart | None = None,
) -> Solution:
    """Solve to violations of at most ``epsilon`` or a certified gap of at most ``gap_tol``.

    ``start`` holds the components of Phi of the first program. At most ``n_max`` enter per round of
    SELECT ("in-out" or "as-printed"), of which there are at most ``max_iter`` (k_max). ``presolve`` saves
    time if the first program is large. The pair returned is the best one certified, whichever way the loop
    ends.
    """
    # Line 1, mu = 0.
    best = warm_start.best if warm_start else Solution.trivial(problem, objective)
    best.solver = best.solver or "constraint-generation"
    inner = InnerPoint(problem.centre, problem.tau)
    is_as_printed = select == "as-printed"
    accepted = epsilon if is_as_printed else _accepted_violation(problem, epsilon)
    chosen = Selection(np.empty(0), np.unique(start), np.empty(0, dtype=np.intp))
    previous = np.inf
    # HiGHS must be more accurate than the violations that count.
    tolerance = max(SMALLEST_TOLERANCE, min(1e-7, epsilon / 10.0))
    master = Master(problem, objective, tolerance=tolerance, presolve=presolve, deadline=deadline)
    with closing(master):
        try:
            # Lines 5 to 7: k = n_rounds + 1; the program before the paper's loop is the first round here.
            for n_rounds in count() if max_iter is None else range(max_iter + 1):
                # Line 12, I <- J, and lines 8 and 10: the last basis, which HiGHS goes on from, is mu^{k-1}.
                master.drop(chosen.outgoing)
                master.add(chosen.incoming)
                n_added, n_removed = len(chosen.incoming), len(chosen.outgoing)
                if n_rounds == 0 and warm_start is not None:
                    master.warm_start(warm_start.guess, warm_start.max_pivots)
                # Lines 2 and 9, LPSOLVE. We solve the dual D_J: alpha is its solution, with the masses of an
                # instance and a set of labels added up by label, and lines 3 and 11, mu^k, its multipliers.
                found = master.solve()
                moments = problem.moments_of(found.distribution)  # F'alpha
                # R^k, here by its definition and not by what the solver says, and a lower bound.
                current = _certify(problem, objective, found, moments, best)
                reach = inner.approach(problem, objective, found.distribution, moments, best)
                # Lines 4 and 13, SELECT.
                as_printed = is_as_printed or current < previous - STRICT_DECREASE
                chosen = select_components(
                    problem,
                    moments,
                    found,
                    n_max=n_max,
                    accepted=accepted,
                    reach=None if as_printed else reach,
                )
                previous = min(previous, current)
                # Line 6, J without I is empty. A certified gap is enough as well.
                best.converged = len(chosen.incoming) == 0 or best.gap <= gap_tol
                best.report(
                    monitor,
                    current,
                    n_features=len(master.components),
                    n_added=n_added,
                    n_removed=n_removed,
                    max_violation=max(0.0, float(chosen.violation.max())),
                    vertex="HiGHS",
                    n_pivots=found.n_pivots,
                )
                if best.converged or best.stopped:
                    break
        except TimeLimitError:
            best.out_of_time = True
            if not best.history:  # the bounds are those of no component at all
                best.stages.append(best.stage)
                best.report(monitor, best.upper, n_features=0)
        except KeyboardInterrupt:
            best.interrupted = True
    # Line 15: I*, mu* and R*, those of the best pair, which the last one need not be.
    best.settle(problem, objective)
    return best


@dataclass(frozen=True)
class Selection:
    """What SELECT finds: v of all components, those that enter, and positions in I of those that leave."""

    violation: FloatArray
    incoming: IntArray
    outgoing: IntArray


def select_components(
    problem: Box,
    moments: FloatArray,
    found: MasterSolution,
    *,
    n_max: int,
    accepted: FloatArray | float,
    reach: FloatArray | None,
) -> Selection:
    """SELECT, Algorithm 2 of the paper, by its numbers of lines; ``accepted`` is its epsilon.

    With ``reach``, where the bound stands still, it departs from print: the components that it ranks first
    enter, and none leaves.
    """
    subset = found.stage.components  # I
    # 1: v = |F'alpha - tau| - lambda.
    violation = (np.abs(moments - problem.tau) - problem.lam).ravel()
    # 2: J = {i in I: v_i = 0}. Those leave that have room. Only basic rows may: the others have a
    # multiplier, and the last basis would be none without them.
    leaves = found.is_basic & (violation[subset] < -ROOM) & (reach is None)
    # 3 and 4: A, the n_max largest v_i, of which only those above epsilon. None is in I, whose constraints
    # hold but for the tolerance of the solver.
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


def _certify(
    problem: Box, objective: Objective, found: MasterSolution, moments: FloatArray, best: Solution
) -> float:
    """Bounds of the new pair, kept where they are the best so far. Returns that of the coefficients, R^k."""
    current = upper_bound_of_some(problem, objective, found.stage.components, found.stage.values)
    best.offer_stage(found.stage, current)
    point = lower_bound(problem, objective, found.distribution, moments)
    best.offer_distribution(point.distribution, point.bound)
    best.stages.append(found.stage)
    return current


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
