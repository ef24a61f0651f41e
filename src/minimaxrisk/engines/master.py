"""The restricted master problem: the worst-case-distribution program with some of its moment constraints."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

import numpy as np
from scipy import sparse

from minimaxrisk.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.coding import Coding
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
        fixed = _fixed_part(objective, problem.coding, problem.n_instances)
        self._program = RangeProgram(
            fixed.cost,
            fixed.rows,
            fixed.lower,
            fixed.upper,
            feasibility_tolerance=tolerance,
            presolve=presolve,
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
        w = found.columns[: n_classes * n].reshape(n_classes, n) / n
        # A basic row has multiplier zero; HiGHS may return a rounding error instead.
        values = np.where(found.added_row_is_basic, 0.0, found.added_row_duals)
        stage = Stage(self.components.copy(), values)
        return MasterSolution(stage, self._distribution(w), found.added_row_is_basic)


    def _distribution(self, w: FloatArray) -> FloatArray:
        """Clear a solver's answer of rounding; mass left over carries all labels alike, where instances are."""
        w = np.maximum(w, 0.0)
        left_over = max(0.0, 1.0 - float(w.sum()))
        w += left_over * self.problem.p_hat.sum(axis=0) / len(w)
        return w / w.sum()


@dataclass(frozen=True)
class _FixedPart:
    cost: FloatArray
    rows: sparse.csr_array
    lower: FloatArray
    upper: FloatArray


def feasibility_tolerance(violation_tolerance: float) -> float:
    """HiGHS must be more exact than the violations that are to be told apart from zero."""
    return max(1e-10, min(1e-7, violation_tolerance / 10.0))


def _fixed_part(objective: Objective, coding: Coding, n: int) -> _FixedPart:
    """The part of the program that does not depend on the features; its first K n columns are w."""
    n_w = coding.n_classes * n
    if isinstance(objective, ExpectedLoss):
        one = np.array([float(n)])
        return _FixedPart(-objective.loss.ravel(), sparse.csr_array(np.ones((1, n_w))), one, one)
    if not isinstance(objective, BayesError):
        raise TypeError(f"no linear program is known for {type(objective).__name__}")
    if coding.name == "signed":
        # Only u = w_0 - w_1 enters the moments, and max(w_0, w_1) = (w_0 + w_1 + |u|)/2, so the Bayes
        # error is (1 - sum |u|)/2. Its maximum needs the positive and negative parts of u and no further
        # row: mass that is left over carries both labels alike.
        return _FixedPart(np.full(n_w, 0.5), sparse.csr_array((0, n_w)), np.empty(0), np.empty(0))
    # max 1 - sum r  with  w_yi - r_i <= 0  and  sum w = 1
    identity = sparse.eye_array(n)
    linking = sparse.hstack([sparse.eye_array(n_w), -sparse.vstack([identity] * coding.n_classes)])
    total = sparse.hstack([np.ones((1, n_w)), sparse.coo_array((1, n))])
    return _FixedPart(
        cost=np.concatenate([np.zeros(n_w), np.ones(n)]),
        rows=sparse.vstack([linking, total]).tocsr(),
        lower=np.concatenate([np.full(n_w, -np.inf), [float(n)]]),
        upper=np.concatenate([np.zeros(n_w), [float(n)]]),
    )


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
