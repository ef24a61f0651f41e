"""The linear program of the paper with some of its moment constraints, which come and go: D_J, Eq. (15).

Its columns are masses at an instance that a set of labels shares alike. MRC-CCG generates them (``by_set``).
MRC-CG has all of them, as masses of single labels: the largest mass of each instance is then a column r, and
no set of several labels is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.highs import SMALLEST_TOLERANCE, RangeProgram
from minimaxrisk.engines.solution import Face, SparseCoefficients
from minimaxrisk.matrices.matrix import slices_of
from minimaxrisk.problem.objective import Objective
from minimaxrisk.problem.problem import Box
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Multipliers up to this size count as zero; the certified bound is that of the others.
NEGLIGIBLE_MULTIPLIER = 1e-10


@dataclass(frozen=True)
class MasterSolution:
    """Optimum of the restricted problem: coefficients, worst-case distribution, and the basis."""

    stage: SparseCoefficients
    distribution: FloatArray  # K x n
    nu: FloatArray  # multipliers of the known masses: of the total, or one per instance
    is_basic: BoolArray  # for each component: its constraint row is basic, so its multiplier is zero
    n_pivots: int


class Master:
    """The restricted master problem: the worst-case-distribution program with some of its moment constraints.

    Its columns are ``t_b`` (B), the sums of the rows of C w, which carry the part of a column of the features
    that is the same for all instances, so that centred sparse data make sparse rows; then r (n), or with
    ``by_set`` the empirical distribution, so that the smallest program has a solution; then the masses. The
    rows are known masses, the sums t and ``w <= r``, which do not depend on the features, and one range row
    per component of Phi that takes part. In HiGHS the distribution has a mass of n or more, so that its
    entries are of order one.
    """

    # Entries of the rows that are written at a time.
    ROW_ELEMENTS = 1 << 20
    # By how much a thin constraint is magnified at most, and the mass with it.
    LARGEST_FACTOR = 1e2

    def __init__(
        self,
        problem: Box,
        objective: Objective,
        *,
        by_set: bool = False,
        tolerance: float,
        deadline: float = np.inf,
        max_pivots: int | None = None,
    ) -> None:
        self.problem, self._objective = problem, objective
        self.components = np.empty(0, dtype=np.intp)
        # Thin constraints, and the mass of all distributions with them, are magnified, so that HiGHS's
        # absolute tolerances are small compared to them.
        self._factor = np.clip(THIN_RADIUS / problem.lam.ravel(), 1.0, self.LARGEST_FACTOR)
        self._unit = float(problem.n_instances)
        if (self._factor > 1.0).any():
            self._unit *= self.LARGEST_FACTOR
            tolerance = SMALLEST_TOLERANCE
        n_classes, n = problem.centre.shape
        costs, self._is_known = objective.costs(), problem.marginal.is_known
        self._masses = problem.centre.sum(axis=0) if self._is_known else np.ones(1)
        # With the signed coding only u = w_0 - w_1 enters the moments, and the Bayes error is
        # (1 - sum |u|)/2. Its maximum needs the positive and negative parts of u and no sum of masses: the
        # rest of the mass carries both labels alike. A known mass of the instance bounds |u|.
        is_difference = costs is None and not by_set and problem.coding.name == "signed"
        self._n_sums = 0 if is_difference else len(self._masses)
        self._n_largest = 0 if by_set or is_difference or costs is not None else n
        self._has_empirical = by_set and not self._is_known
        self._empirical_sums: FloatArray = problem.coding.matrix @ problem.centre.sum(axis=1)  # its sums t
        self._begin(feasibility_tolerance=tolerance, deadline=deadline, max_pivots=max_pivots)
        self._instances = np.empty(0, dtype=np.intp)
        self._shares = sparse.csc_array((n_classes, 0))  # of the labels in each mass (K x masses)
        self._blocks = sparse.csc_array((problem.coding.n_blocks, 0))  # of the blocks (B x masses)
        if by_set and self._is_known:
            # Every instance keeps its mass, so that each begins with its own labels.
            own = sparse.csc_array(problem.centre / self._masses)
            self._add_masses(np.arange(n), own, own.max(axis=0).toarray().ravel())
        elif not by_set:
            cost = np.full(n_classes * n, 0.5 if is_difference else 0.0) if costs is None else costs.ravel()
            most = (
                self._unit * np.resize(self._masses, cost.shape) if is_difference and self._is_known else None
            )
            single = sparse.kron(sparse.eye_array(n_classes), np.ones((1, n)), format="csc")
            self._add_masses(np.tile(np.arange(n), n_classes), single, cost, most)

    def _begin(self, **options: Any) -> None:
        """Make the program with the columns before the masses, and the rows that every mass enters."""
        problem, n_blocks, n_sums = self.problem, self.problem.coding.n_blocks, self._n_sums
        n_links = self._n_largest * len(problem.centre)
        block, link, known = np.arange(n_blocks), np.arange(n_links), self._unit * self._masses[:n_sums]
        defined = sparse.csr_array(
            (
                np.full(n_blocks + n_links, -1.0),
                (
                    n_sums + np.concatenate([block, n_blocks + link]),
                    np.concatenate([block, n_blocks + link % max(1, self._n_largest)]),
                ),
            ),
            shape=(n_sums + n_blocks + n_links, n_blocks + self._n_largest),
        )
        cost = np.repeat([0.0, 1.0], [n_blocks, self._n_largest])
        self._program = RangeProgram(
            cost,
            defined,
            lower=np.concatenate([known, np.zeros(n_blocks), np.full(n_links, -np.inf)]),
            upper=np.concatenate([known, np.zeros(n_blocks + n_links)]),
            most=np.full(len(cost), np.inf),
            n_free=n_blocks,
            **options,
        )
        if self._has_empirical:
            column = np.concatenate([[1.0], self._empirical_sums])[:, None]
            largest = problem.centre.max(axis=0).sum()
            self._program.add_columns(np.array([largest]), sparse.csc_array(column))

    def close(self) -> None:
        """End the solver's thread."""
        self._program.close()

    def add_sets(self, instances: IntArray, is_in: BoolArray) -> None:
        """Let masses at these instances take part, each on a set of labels (K x instances)."""
        if len(instances):
            size = is_in.sum(axis=0)
            self._add_masses(instances, sparse.csc_array(is_in / size), 1.0 / size)

    def _add_masses(
        self, instances: IntArray, shares: sparse.csc_array, cost: FloatArray, most: FloatArray | None = None
    ) -> None:
        each = np.arange(len(instances))
        row = instances if self._is_known else np.zeros_like(instances)
        sums = sparse.csr_array((np.ones(len(each)), (row, each)), shape=(len(self._masses), len(each)))
        blocks = sparse.csc_array(self.problem.coding.matrix) @ shares
        parts = [sums[: self._n_sums], sparse.csr_array(blocks)]
        if self._n_largest:
            parts.append(sparse.eye_array(len(each), format="csr"))
        if len(self.components):
            entries, _ = self._entries(self.components, instances, blocks)
            parts.append(self._magnified(self.components, entries))
        self._program.add_columns(cost, sparse.vstack(parts, format="csc"), most)
        self._instances = np.concatenate([self._instances, instances])
        self._shares = sparse.hstack([self._shares, shares], format="csc")
        self._blocks = sparse.hstack([self._blocks, blocks], format="csc")

    def exchange(self, outgoing: IntArray, incoming: IntArray) -> None:
        """Forget components by position, whose rows must be basic, and let others take part."""
        self._program.delete_rows(outgoing)
        self.components = np.delete(self.components, outgoing)
        # In parts, between which a limit of time is looked at: rows of many masses take long to write.
        width = max(1, self.ROW_ELEMENTS // max(1, len(self._instances)))
        for part in slices_of(slice(0, len(incoming)), width):
            self._program.check_time()
            components = incoming[part]
            factor = self._unit * self._factor[components]
            tau, lam = (factor * of.ravel()[components] for of in (self.problem.tau, self.problem.lam))
            rows = self._magnified(components, self._moment_rows(components))
            self._program.add_rows(rows, tau - lam, tau + lam)
            self.components = np.concatenate([self.components, components])

    def _magnified(self, components: IntArray, rows: sparse.csr_array) -> sparse.csr_array:
        return sparse.csr_array(sparse.diags_array(self._factor[components]) @ rows)

    def _moment_rows(self, components: IntArray) -> sparse.csr_array:
        """Rows ``sum_yi C_by psi_ij w_yi`` for components (b, j).

        With ``Psi = V - 1 c'`` the entries are ``C_by V_ij`` on masses and ``-c_j`` on t_b.
        """
        block, each = components // self.problem.shape[1], np.arange(len(components))
        entries, offset = self._entries(components, self._instances, self._blocks)
        shape = len(components), self.problem.coding.n_blocks + self._n_largest
        parts = [sparse.csr_array((-offset, (each, block)), shape=shape)]
        if self._has_empirical:
            moments = self.problem.tau.ravel()[components] + offset * self._empirical_sums[block]
            parts.append(sparse.csr_array(moments[:, None]))
        rows = sparse.hstack([*parts, entries], format="csr")
        rows.eliminate_zeros()
        return rows

    def _entries(
        self, components: IntArray, instances: IntArray, blocks: sparse.csc_array
    ) -> tuple[sparse.csr_array, FloatArray]:
        """What unit masses at the instances, with block weights (B x masses), add to each moment.

        But for a part that is the same for all instances, in units of t_b: minus the second array.
        """
        features, (n, d) = self.problem.features, self.problem.features.shape
        block, column = np.divmod(components, d)
        rows, place = np.unique(instances, return_inverse=True)
        if len(rows) * d < n * len(components):
            features, rows = features.some_rows(rows, after=np.empty((0, d))), np.arange(len(rows))
        values, offset = features.shifted_columns(column)
        of_masses = sparse.csr_array(values.tocsr()[rows[place]].T)
        return of_masses.multiply(sparse.csr_array(blocks)[block]), offset

    def warm_start(self, guess: Face) -> None:
        """Begin at a vertex of the face ``guess``, or near one, with the components that take part now."""
        is_active = np.isin(self.components, guess.components, assume_unique=True)
        side = np.zeros(self.problem.n_components)
        side[guess.components] = guess.side
        always = np.ones(self.problem.coding.n_blocks, dtype=np.bool_)
        masses, largest = guess.is_positive & ~guess.is_full, guess.is_positive & guess.is_largest
        links = np.logical_not(largest.ravel()[: len(largest) * self._n_largest])
        full = (guess.is_positive & guess.is_full).ravel()
        fixed = np.concatenate([np.zeros(self._n_sums + len(always), dtype=np.bool_), links])
        before = np.concatenate([always, np.logical_or.reduce(guess.is_positive)[: self._n_largest]])
        self._program.set_basis(
            basic_columns=np.concatenate([before, masses.ravel()]),
            full_columns=np.concatenate([np.zeros_like(before), full]),
            basic_rows=np.concatenate([fixed, ~is_active]),
            at_upper=np.concatenate([np.ones_like(fixed), side[self.components] > 0.0]),
        )

    def solve(self) -> MasterSolution:
        """Optimise over the constraints that take part."""
        found = self._program.solve()
        # Basic rows have multiplier zero, and so have many others where the program is degenerate; HiGHS
        # returns rounding errors there, which would count as selected features.
        multipliers = self._factor[self.components] * found.added_row_duals
        is_zero = found.added_row_is_basic | (np.abs(multipliers) <= NEGLIGIBLE_MULTIPLIER)
        stage = SparseCoefficients(self.components.copy(), np.where(is_zero, 0.0, multipliers))
        distribution = self._objective.repaired(self._distribution(found.columns), self.problem.centre)
        nu = -found.fixed_row_duals[: self._n_sums]
        return MasterSolution(stage, distribution, nu, found.added_row_is_basic, found.n_pivots)

    def _distribution(self, columns: FloatArray) -> FloatArray:
        """The masses w (K x n) of a solution."""
        before = self.problem.coding.n_blocks + self._n_largest + self._has_empirical
        masses = sparse.coo_array(self._shares @ sparse.diags_array(columns[before:]))
        w = np.zeros_like(self.problem.centre)
        np.add.at(w, (masses.row, self._instances[masses.col]), masses.data)
        if self._has_empirical:
            w += columns[before - 1] * self.problem.centre
        return w / self._unit
