"""The restricted master problem: the worst-case-distribution program with some of its moment constraints."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

import numpy as np
from scipy import sparse

from minimaxrisk.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.certificate import normalised
from minimaxrisk.engines.highs import RangeProgram
from minimaxrisk.engines.solution import Stage
from minimaxrisk.objective import BayesError, ExpectedLoss, Objective
from minimaxrisk.problem import Problem


@dataclass(frozen=True)
class MasterSolution:
    """Optimum of the restricted problem: coefficients, worst-case distribution, and the basis."""

    stage: Stage
    distribution: FloatArray  # K x n
    is_basic: BoolArray  # for each component: its constraint row is basic, so its multiplier is zero


class Master:
    """A program in w (and r) with one range row per component of Phi that takes part.

    In HiGHS everything is multiplied by n, so that the entries of w are of order one.
    """

    def __init__(
        self, problem: Problem, objective: Objective, *, tolerance: float, presolve: bool = False
    ) -> None:
        self.problem = problem
        self.components = np.empty(0, dtype=np.intp)
        cost, rows, lower, upper = _fixed_part(objective, problem.p_hat.shape)
        self._program = RangeProgram(
            cost, rows, lower, upper, feasibility_tolerance=tolerance, presolve=presolve
        )

    def __enter__(self) -> Master:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._program.__exit__(kind, error, trace)

    def add(self, components: IntArray) -> None:
        """Let the moment constraints of these components of Phi take part."""
        if len(components) == 0:
            return
        problem, n = self.problem, self.problem.n_instances
        tau, lam = problem.tau.ravel()[components], problem.lam.ravel()[components]
        rows = _moment_rows(problem, components)
        self._program.add_rows(rows, n * (tau - lam), n * (tau + lam))
        self.components = np.concatenate([self.components, components])

    def drop(self, positions: IntArray) -> None:
        """Forget components by position; their rows must be basic."""
        self._program.delete_rows(positions)
        self.components = np.delete(self.components, positions)

    def solve(self) -> MasterSolution:
        """Optimise over the constraints that take part."""
        found = self._program.solve()
        n_classes, n = self.problem.p_hat.shape
        w = found.columns[: n_classes * n].reshape(n_classes, n)
        # A basic row has multiplier zero; HiGHS may return a rounding error instead.
        values = np.where(found.added_row_is_basic, 0.0, found.added_row_duals)
        stage = Stage(self.components.copy(), values)
        return MasterSolution(stage, normalised(w), found.added_row_is_basic)


def feasibility_tolerance(violation_tolerance: float) -> float:
    """HiGHS must be more exact than the violations that are to be told apart from zero."""
    return max(1e-10, min(1e-7, violation_tolerance / 10.0))


def _fixed_part(
    objective: Objective, shape: tuple[int, int]
) -> tuple[FloatArray, sparse.csr_array, FloatArray, FloatArray]:
    """Cost and rows that do not depend on the features; columns are w (K n of them), then r (n)."""
    n_classes, n = shape
    n_w = n_classes * n
    if isinstance(objective, BayesError):
        # max 1 - sum r  with  w_yi - r_i <= 0
        cost = np.concatenate([np.zeros(n_w), np.ones(n)])
        linking = sparse.hstack([sparse.eye_array(n_w), -sparse.vstack([sparse.eye_array(n)] * n_classes)])
        total = sparse.hstack([np.ones((1, n_w)), sparse.coo_array((1, n))])
        rows = sparse.vstack([linking, total]).tocsr()
        lower = np.concatenate([np.full(n_w, -np.inf), [float(n)]])
        upper = np.concatenate([np.zeros(n_w), [float(n)]])
        return cost, rows, lower, upper
    if isinstance(objective, ExpectedLoss):
        total = sparse.csr_array(np.ones((1, n_w)))
        return -objective.loss.ravel(), total, np.array([float(n)]), np.array([float(n)])
    raise TypeError(f"no linear program is known for {type(objective).__name__}")


def _moment_rows(problem: Problem, components: IntArray) -> sparse.csr_array:
    """Rows ``sum_yi C_by psi_ij w_yi`` for components (b, j), on the columns of w."""
    n, d = problem.features.shape
    block, column = np.divmod(components, d)
    psi = problem.features.columns(column).T  # one row per component
    classes = problem.coding.classes_of_block[block]
    signs = np.take_along_axis(problem.coding.matrix[block], classes, axis=1)
    values = signs[:, :, None] * psi[:, None, :]
    indices = classes[:, :, None] * n + np.arange(n)
    per_row = values.shape[1] * n
    rows = sparse.csr_array(
        (values.ravel(), indices.ravel(), np.arange(len(components) + 1) * per_row),
        shape=(len(components), n * problem.coding.n_classes),
    )
    rows.eliminate_zeros()
    return rows
