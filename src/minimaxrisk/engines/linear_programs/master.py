"""The linear program of the paper with some of its moment constraints, which come and go: D_J, Eq. (15)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.linear_programs.highs import (
    SMALLEST_TOLERANCE,
    LinearProgramSolution,
    RangeProgram,
)
from minimaxrisk.engines.solution import Face, SparseCoefficients
from minimaxrisk.features.matrix import Coding, slices_of
from minimaxrisk.problem.objective import (
    BayesError,
    ExpectedLoss,
    KnownMarginal,
    Marginal,
    Objective,
)
from minimaxrisk.problem.problem import Box
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Multipliers up to this size count as zero; the certified bound is that of the others.
NEGLIGIBLE_MULTIPLIER = 1e-10
# Entries of the rows that are written at a time.
ROW_ELEMENTS = 1 << 20
# By how much a thin constraint is magnified at most, and the mass with it.
LARGEST_FACTOR = 1e2


@dataclass(frozen=True)
class MasterSolution:
    """Optimum of the restricted problem: coefficients, worst-case distribution, and the basis."""

    stage: SparseCoefficients
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

    def exchange(self, outgoing: IntArray, incoming: IntArray) -> None:
        """Forget components by position, whose rows must be basic, and let others take part."""
        self._program.delete_rows(outgoing)
        self.components = np.delete(self.components, outgoing)
        self.add(incoming)

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
        stage = SparseCoefficients(self.components.copy(), np.where(is_zero, 0.0, multipliers))
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
