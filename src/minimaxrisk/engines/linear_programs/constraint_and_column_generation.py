"""MRC-CCG: constraints (instances x sets of labels) and features of the linear program are generated.

K. Bondugula, S. Mazuelas, A. Pérez, "Efficient Large-Scale Learning of Minimax Risk Classifiers", ICDM 2025
(arXiv 2511.17626). The program of the paper is

    min over mu, nu of  1 - tau'mu + lambda'|mu| + nu
    s.t.  (sum_{y in C} Phi(x_i, y)'mu - 1)/|C| <= nu   for every instance i and set of labels C, not empty

and HiGHS gets its dual: a column alpha per constraint, which is mass at instance i shared alike by the labels
in C, and a range row per component of Phi. For given mu the sets of largest left side are those of the
largest scores, so that sorting finds them. The empirical distribution is a column as well, the mean of the
constraints of the training samples, so that the smallest program has a solution already.

The value of a program is no bound: constraints that are missing lower it, features that are missing raise it.
The bounds are those of the pair (mu, w), as for all engines.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.interrupts import let_through
from minimaxrisk.engines.linear_programs.constraint_generation import InnerPoint, first_by
from minimaxrisk.engines.linear_programs.highs import TimeLimitError
from minimaxrisk.engines.linear_programs.master import FixedPart, Master, MasterSolution
from minimaxrisk.engines.linear_programs.starts import first_order_pair, most_important
from minimaxrisk.engines.solution import EngineSettings, Monitor, Solution, SparseCoefficients
from minimaxrisk.problem.objective import BayesError
from minimaxrisk.problem.problem import Box, lower_bound
from minimaxrisk.problem.rule import best_sets, instance_thresholds

# Violations up to this are rounding of HiGHS, whatever the caller accepts.
ROUNDING = 1e-8


@dataclass(frozen=True)
class SetSolution(MasterSolution):
    """Optimum of a restricted program, with the thresholds nu: one, or one per instance."""

    nu: FloatArray


class SetMaster(Master):
    """The restricted program: masses on sets of labels at instances, and some of the moment constraints.

    Columns are t (B), the empirical distribution, and one per set. Fixed rows are the masses that are known
    and the sums t.
    """

    def __init__(self, problem: Box, *, tolerance: float, deadline: float) -> None:
        super().__init__(problem, problem.objective, tolerance=tolerance, deadline=deadline)
        self.instances = np.empty(0, dtype=np.intp)
        self._shares = np.empty((len(problem.centre), 0))  # of the labels in the mass of each set (K x sets)
        self._n_masses = problem.n_instances if problem.marginal.is_known else 1
        if problem.marginal.is_known:
            # Every instance keeps its mass, so that each begins with its own labels.
            shares = problem.centre / problem.centre.sum(axis=0)
            self.add_sets(np.arange(problem.n_instances), shares)
        else:
            sums = problem.coding.matrix @ problem.centre.sum(axis=1)
            column = sparse.csc_array(np.concatenate([[1.0], sums])[:, None])
            self._program.add_columns(np.array([problem.centre.max(axis=0).sum()]), column)

    def limit_pivots(self, n_pivots: int) -> None:
        """Make ``solve`` raise ``PivotLimitError`` once all solves together took so many pivots."""
        self._program.limit_pivots(n_pivots)

    def _fixed(self) -> FixedPart:
        part = FixedPart(np.empty(0), np.empty(0))
        part.add_masses(self.problem.marginal, self.problem.coding.n_classes, 0, self._unit)
        part.add_block_sums(self.problem.coding, 0)
        return part

    @property
    def _n_before(self) -> int:
        """Columns before those of the sets."""
        return self.problem.coding.n_blocks + (not self.problem.marginal.is_known)

    def add_sets(self, instances: IntArray, shares: FloatArray) -> None:
        """Let masses at these instances take part, of which labels have given shares (K x instances)."""
        if len(instances) == 0:
            return
        mass_row = instances if self.problem.marginal.is_known else np.zeros_like(instances)
        masses = sparse.csc_array(
            (np.ones(len(instances)), (mass_row, np.arange(len(instances)))),
            shape=(self._n_masses, len(instances)),
        )
        blocks = self.problem.coding.matrix @ shares
        entries, _ = self._entries(self.components, instances, blocks)
        entries *= self._factor[self.components, None]
        columns = sparse.vstack([masses, sparse.csc_array(blocks), sparse.csc_array(entries)], format="csc")
        self._program.add_columns(shares.max(axis=0), columns)
        self.instances = np.concatenate([self.instances, instances])
        self._shares = np.hstack([self._shares, shares])

    def _moment_rows(self, components: IntArray) -> sparse.csr_array:
        coding, d = self.problem.coding, self.problem.shape[1]
        block = components // d
        entries, offset = self._entries(components, self.instances, coding.matrix @ self._shares)
        before = np.zeros((len(components), self._n_before))
        before[np.arange(len(components)), block] = -offset
        if not self.problem.marginal.is_known:
            sums = coding.matrix @ self.problem.centre.sum(axis=1)
            before[:, -1] = self.problem.tau.ravel()[components] + offset * sums[block]
        return sparse.csr_array(np.hstack([before, entries]))

    def _entries(
        self, components: IntArray, instances: IntArray, blocks: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """What unit masses at the instances, with block weights (B x instances), add to each moment.

        But for a part that is the same for all instances, in units of t_b: minus the second array.
        """
        features, (n, d) = self.problem.features, self.problem.features.shape
        block, column = np.divmod(components, d)
        columns, place = np.unique(column, return_inverse=True)
        rows, at = np.unique(instances, return_inverse=True)
        if len(rows) * d < n * len(columns):
            features, rows = features.some_rows(rows, after=np.empty((0, d))), np.arange(len(rows))
        offset = np.zeros(len(columns))
        if features.is_sparse:
            shifted, offset = features.shifted_columns(columns)
            values = shifted.tocsr()[rows].toarray()
        else:
            values = features.columns(columns)[rows]
        return values.T[place][:, at] * blocks[block], offset[place]

    def _distribution(self, columns: FloatArray) -> FloatArray:
        masses = columns[self._n_before :]
        w = np.zeros_like(self.problem.centre)
        np.add.at(w.T, self.instances, (masses * self._shares).T)
        if not self.problem.marginal.is_known:
            w += columns[self._n_before - 1] * self.problem.centre
        return w

    def solve(self) -> SetSolution:
        found = self._program.solve()
        own = self._solution(found)
        nu = -found.fixed_row_duals[: self._n_masses]
        return SetSolution(own.stage, own.distribution, own.is_basic, own.n_pivots, nu)


def constraint_and_column_generation(
    problem: Box, settings: EngineSettings, monitor: Monitor | None = None
) -> Solution:
    """Solve to violations of at most ``epsilon_1`` by instances and ``epsilon`` by features.

    At most ``n_max`` of each enter in a round, of which there are at most ``max_iter``.
    """
    objective, n_max = problem.objective, settings.n_max
    best = Solution.trivial(problem, objective)
    best.solver = "constraint-and-column-generation"
    inner = InnerPoint(problem.centre, problem.tau)
    master = SetMaster(problem, tolerance=1e-7, deadline=settings.deadline)
    with closing(master):
        try:
            with let_through():
                # 1) Begin with what a few first-order steps suggest.
                mu, answer = first_order_pair(problem)
                components = most_important(problem, mu, answer, n_max)
                scores = problem.scores_of(mu)
                chosen = first_by(n_max, np.arange(problem.n_instances), -instance_thresholds(scores))
                for _ in count() if settings.max_iter is None else range(settings.max_iter):
                    # 2) Update constraints and features and solve, hot from the last basis.
                    master.add(components)
                    _, is_in = best_sets(scores[:, chosen])
                    master.add_sets(chosen, is_in / is_in.sum(axis=0))
                    found = master.solve()
                    n_added = len(components)
                    # 3) Certify the pair.
                    current, scores = _certify_stage(problem, objective, found.stage, best)
                    moments = problem.moments_of(found.distribution)
                    point = lower_bound(problem, objective, found.distribution, moments)
                    best.offer_distribution(point.distribution, point.bound)
                    inner.approach(problem, objective, found.distribution, moments, best)
                    # 4) Look for constraints and features that the pair violates.
                    excess = instance_thresholds(scores) - found.nu
                    chosen = first_by(
                        n_max, np.flatnonzero(excess > max(settings.epsilon_1, ROUNDING)), -excess
                    )
                    violation = (np.abs(moments - problem.tau) - problem.lam).ravel()
                    violated = violation > max(settings.epsilon, ROUNDING)
                    violated[master.components] = False
                    components = first_by(n_max, np.flatnonzero(violated), -violation)
                    best.converged = len(chosen) == len(components) == 0
                    # 5) Report.
                    best.report(
                        monitor,
                        current,
                        n_features=len(master.components),
                        n_added=n_added,
                        max_violation=max(0.0, float(violation.max())),
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
    best.settle(problem, objective)
    return best


def _certify_stage(
    problem: Box, objective: BayesError, stage: SparseCoefficients, best: Solution
) -> tuple[float, FloatArray]:
    """The bound of new coefficients, kept where it is the best so far, and their scores."""
    penalty, scores = problem.penalty_and_scores(stage.components, stage.values)
    current = penalty + objective.conjugate(scores)
    best.offer_stage(stage, current)
    best.stages.append(stage)
    return current, scores
