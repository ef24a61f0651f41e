"""The exact vertex next to an iterate of the space of moments, by HiGHS.

Without the masses p of the rule the linear program has the coefficients and nu alone, and a row for every
instance and set of labels: ``sum_(y in C) (psi_i'mu_y - nu) <= 1``. At the optimum no more rows are active
than there are coefficients. The iterate shows which; all instances are then priced with the vertex found, by
sorting their scores, and rows that it violates come in, until there are none.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.linear_programs.highs import RangeProgram
from minimaxrisk.engines.moment_space.point import Point
from minimaxrisk.engines.solution import Solution, Stage
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound

# Rows that the iterate makes nearly active: their slack, and the smallest multiplier of their instances as a
# fraction of the typical one.
NEARLY_ACTIVE, NOTABLE = 0.05, 1e-3
# Rows that may come at a time, the violation that brings one, and how often.
MOST_NEW, VIOLATION, MOST_ROUNDS = 400, 1e-10, 30
TOLERANCE = 1e-9


class Sets:
    """For scores of all instances the sets of labels that are largest, one of every size."""

    def __init__(self, scores: FloatArray, nu: float) -> None:
        self.order = np.argsort(-scores, axis=0, kind="stable")
        self.sums = np.cumsum(np.take_along_axis(scores, self.order, axis=0) - nu, axis=0)  # K x n

    def members(self, sizes: IntArray, instances: IntArray) -> BoolArray:
        """Which labels are in the sets of these sizes (K x number of sets)."""
        order = self.order[:, instances]
        is_member = np.zeros(order.shape, dtype=np.bool_)
        np.put_along_axis(is_member, order, np.arange(len(order))[:, None] < sizes, axis=0)
        return is_member


class VertexProgram:
    """The linear program of the coefficients with some of its rows."""

    def __init__(self, problem: Box, point: Point, deadline: float) -> None:
        self._problem, self._Z = problem, point.columns.Z
        self._shape = n_classes, d = problem.shape
        cost = np.concatenate([(problem.lam - problem.tau).ravel(), (problem.lam + problem.tau).ravel(), [1.0]])
        n = len(cost)
        self._program = RangeProgram(
            cost,
            sparse.csr_array((0, n)),
            np.empty(0),
            np.empty(0),
            most=np.full(n, np.inf),
            n_free=1,
            feasibility_tolerance=TOLERANCE,
            deadline=deadline,
        )
        self._instances, self._members = np.empty(0, dtype=np.intp), np.empty((n_classes, 0), dtype=np.bool_)
        scores = point.mu @ self._Z.T
        sets = Sets(scores, point.nu)
        typical = np.median(np.sort(point.r)[-n_classes * d :])
        sizes, instances = np.nonzero((sets.sums > 1.0 - NEARLY_ACTIVE) & (point.r > NOTABLE * typical))
        self._add(sets, sizes + 1, instances)
        # Of labels in the order of their scores a set has the mass that its last one has more than the next.
        mass = np.take_along_axis(point.w, sets.order, axis=0)
        mass = mass - np.vstack([mass[1:], np.zeros(mass.shape[1])])
        slack = np.maximum(1.0 - sets.sums, TOLERANCE)
        self._guess_basis(point, (mass / slack)[sizes, instances])

    def _guess_basis(self, point: Point, activity: FloatArray) -> None:
        """Coefficients that the iterate lets vanish are not basic, nor are as many rows as others remain."""
        is_plus, is_minus = (point.plus > point.a_plus).ravel(), (point.minus > point.a_minus).ravel()
        columns = np.concatenate([is_plus, is_minus & ~is_plus, [True]])
        active = np.zeros(len(activity), dtype=np.bool_)
        active[np.argsort(-activity, kind="stable")[: columns.sum()]] = True
        self._program.set_basis(columns, np.zeros_like(columns), ~active, np.ones_like(active))

    def close(self) -> None:
        self._program.close()

    def _add(self, sets: Sets, sizes: IntArray, instances: IntArray) -> int:
        members = sets.members(sizes, instances)
        n_classes, d = self._shape
        blocks = [sparse.csr_array(self._Z[instances] * is_member[:, None]) for is_member in members]
        half = sparse.hstack(blocks)
        size = sparse.csr_array(-members.sum(axis=0, dtype=float)[:, None])
        rows = sparse.csr_array(sparse.hstack([half, -half, size]))
        self._program.add_rows(rows, np.full(len(instances), -np.inf), np.ones(len(instances)))
        self._instances = np.concatenate([self._instances, instances])
        self._members = np.hstack([self._members, members])
        return len(instances)

    def solve(self, best: Solution, enough: float, most_pivots: int) -> int:
        """Improve the pair until its gap is ``enough`` or no row is violated; returns the pivots it took."""
        problem, (n_classes, d) = self._problem, self._shape
        n_pivots = 0
        self._program.limit_pivots(most_pivots)
        for _ in range(MOST_ROUNDS):
            found = self._program.solve()
            n_pivots += found.n_pivots
            half = n_classes * d
            mu = (found.columns[:half] - found.columns[half:-1]).reshape(n_classes, d)
            scores = mu @ self._Z.T
            best.offer_stage(Stage.of(mu), upper_bound(problem, problem.objective, mu, scores))
            mass = np.zeros((n_classes, len(self._Z)))
            np.add.at(mass.T, self._instances, (self._members * np.maximum(-found.added_row_duals, 0.0)).T)
            inside = lower_bound(problem, problem.objective, mass / mass.sum())
            best.offer_distribution(inside.distribution, inside.bound)
            if best.gap <= enough:
                break
            sets = Sets(scores, float(found.columns[-1]))
            size = sets.sums.argmax(axis=0)
            excess = sets.sums[size, np.arange(len(size))] - 1.0
            violated = np.flatnonzero(excess > VIOLATION)
            if len(violated) == 0:
                break
            chosen = violated[np.argsort(-excess[violated], kind="stable")[:MOST_NEW]]
            self._add(sets, size[chosen] + 1, chosen)
        return n_pivots
