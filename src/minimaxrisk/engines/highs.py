"""The only module that talks to HiGHS: a linear program that gets rows and columns."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray

try:
    import highspy
except ImportError:  # the interior point works without it, for example on machines with accelerators
    highspy = None  # type: ignore[assignment]

# The smallest feasibility tolerance that HiGHS takes.
SMALLEST_TOLERANCE = 1e-10
# Seconds between two looks at the clock while HiGHS works; signals are handled at once.
CHECK_EVERY = 0.1


class SolverError(RuntimeError):
    """The linear programming solver failed, also after a retry and a solve from scratch."""


class PivotLimitError(SolverError):
    """The solver reached its limit of pivots; ``n_pivots`` is what the last solve took."""

    def __init__(self, n_pivots: int = 0) -> None:
        super().__init__("HiGHS reached the limit of pivots.")
        self.n_pivots = n_pivots


class TimeLimitError(SolverError):
    """The solver was stopped at its deadline; the caller has a pair already."""


@dataclass(frozen=True)
class LinearProgramSolution:
    """A copy of what HiGHS found, which HiGHS discards at the next edit."""

    columns: FloatArray
    fixed_row_duals: FloatArray
    added_row_duals: FloatArray  # non-negative at an active lower side, non-positive at an upper one
    added_row_is_basic: BoolArray
    n_pivots: int


class RangeProgram:
    """``min cost'x`` over fixed rows, and range rows ``lower <= a'x <= upper`` that are added later.

    Columns are non-negative and at most ``most``; the first ``n_free`` are free.

    Rows are added to and deleted from a hot basis, from which dual simplex goes on. HiGHS runs on a
    thread of its own: Ctrl-C reaches the caller's thread at once and stops the solver between two pivots, and
    so does the ``deadline``, a time of ``time.perf_counter``. Once all solves together took ``max_pivots``,
    ``solve`` raises ``PivotLimitError``.
    """

    def __init__(
        self,
        cost: FloatArray,
        fixed_rows: sparse.csr_array,
        lower: FloatArray,
        upper: FloatArray,
        *,
        most: FloatArray,
        n_free: int,
        feasibility_tolerance: float,
        deadline: float = np.inf,
        max_pivots: int | None = None,
    ) -> None:
        if highspy is None:
            raise SolverError(
                "the package 'highspy' could not be imported; install it with: pip install highspy"
            )
        self._interrupt = Event()
        self._deadline = deadline
        self._is_left_alone = False
        self._pivots_left = max_pivots
        self._n_fixed = fixed_rows.shape[0]
        self._highs = highspy.Highs()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="highs")
        self._set_options(
            output_flag=False,
            presolve="off",  # with it the whole program takes 1.0 to 1.6 times as long
            # A basis, not a point inside a face: the coefficients are to be sparse.
            solver="simplex",
            primal_feasibility_tolerance=feasibility_tolerance,
            # As small as HiGHS allows: with inaccurate multipliers the sequence of bounds could rise.
            dual_feasibility_tolerance=SMALLEST_TOLERANCE,
            small_matrix_value=1e-12,
        )
        n = len(cost)
        least = np.zeros(n)
        least[:n_free] = -highspy.kHighsInf
        self._do("addVars", n, least, most)
        self._do("changeColsCost", n, np.arange(n, dtype=np.int32), cost)
        self.add_rows(fixed_rows, lower, upper)
        self._highs.setCallback(_asks_for(self._interrupt), None)
        self._highs.startCallback(highspy.cb.HighsCallbackType.kCallbackSimplexInterrupt)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=not self._is_left_alone)

    def check_time(self) -> None:
        """Raise ``TimeLimitError`` after the deadline."""
        if time.perf_counter() >= self._deadline:
            raise TimeLimitError

    def add_rows(self, rows: sparse.csr_array, lower: FloatArray, upper: FloatArray) -> None:
        """Append range rows; a basis that was optimal stays dual feasible."""
        if rows.nnz > np.iinfo(np.int32).max:
            raise SolverError(
                f"a linear program with {rows.nnz} entries is too large for HiGHS; use "
                "solver='constraint-generation'."
            )
        self._do("addRows", rows.shape[0], lower, upper, *_compressed(rows))

    def delete_rows(self, positions: IntArray) -> None:
        """Delete added rows by position. They must be basic: HiGHS drops the whole basis otherwise."""
        if len(positions):
            rows = (positions + self._n_fixed).astype(np.int32)
            self._do("deleteRows", len(rows), rows)

    def add_columns(
        self, cost: FloatArray, columns: sparse.csc_array, most: FloatArray | None = None
    ) -> None:
        """Append non-negative columns, at most ``most``; a basis that was optimal stays primal feasible."""
        least = np.zeros(len(cost))
        most = np.full_like(least, np.inf) if most is None else most
        self._do("addCols", len(cost), cost, least, most, *_compressed(columns))

    def set_basis(
        self, basic_columns: BoolArray, full_columns: BoolArray, basic_rows: BoolArray, at_upper: BoolArray
    ) -> None:
        """Start the next solve from a guess of the basis; HiGHS repairs one that is not square or singular.

        The masks run over all columns and all rows, fixed ones first; ``full_columns`` are at their upper
        bounds, and ``at_upper`` says at which side the rows are that are not basic.
        """
        status = highspy.HighsBasisStatus
        choice = np.array([status.kLower, status.kBasic, status.kUpper], dtype=object)
        basis = highspy.HighsBasis()
        basis.col_status = list(choice[np.where(basic_columns, 1, 2 * full_columns)])
        basis.row_status = list(choice[np.where(basic_rows, 1, 2 * at_upper)])
        basis.valid = basis.alien = True
        self._do("setBasis", basis)

    def solve(self) -> LinearProgramSolution:
        """Optimise; on failure once more, then from scratch, then raise ``SolverError``."""
        statuses = []
        for attempt in ("hot", "again", "from scratch", "from scratch with presolve"):
            if attempt.startswith("from scratch"):
                self._do("clearSolver")
            if attempt.endswith("presolve"):
                self._set_options(presolve="on")
            status = self._run()
            if status == highspy.HighsModelStatus.kOptimal:
                return self._solution()
            if self._pivots_left is not None and status == highspy.HighsModelStatus.kIterationLimit:
                raise PivotLimitError(self._n_pivots())
            if self._interrupt.is_set() or status == highspy.HighsModelStatus.kTimeLimit:
                raise TimeLimitError
            statuses.append(f"{attempt}: {self._highs.modelStatusToString(status)}")
        raise SolverError(
            f"HiGHS did not reach an optimum of a linear program with {self._highs.getNumCol()} columns "
            f"and {self._highs.getNumRow()} rows ({'; '.join(statuses)}). The program always has one, so "
            "the data are numerically difficult: try standardize=True, a larger epsilon of the solver, or "
            "leave out columns with extreme outliers."
        )

    def _run(self) -> Any:
        self._interrupt.clear()
        if self._pivots_left is not None:
            self._set_options(simplex_iteration_limit=self._pivots_left)
        self.check_time()
        if np.isfinite(self._deadline):
            # HiGHS adds up the time of all its runs.
            left = self._deadline - time.perf_counter()
            self._set_options(time_limit=self._highs.getRunTime() + max(0.0, left))
        job = self._thread.submit(self._highs.run)
        try:
            # The TimeoutError of ``job.result(timeout)`` could be that of a signal handler.
            while wait([job], timeout=CHECK_EVERY).not_done:
                if self._interrupt.is_set():
                    raise TimeLimitError
                if time.perf_counter() >= self._deadline:
                    self._interrupt.set()
        except BaseException:
            # Out of time, Ctrl-C, or whatever else a signal handler raises. Presolve looks at no clock and
            # has no callback: where HiGHS does not stop at once, its thread ends alone when presolve does.
            self._interrupt.set()
            self._is_left_alone = bool(wait([job], timeout=CHECK_EVERY).not_done)
            raise
        job.result()
        if self._pivots_left is not None:
            self._pivots_left = max(0, self._pivots_left - self._n_pivots())
        return self._highs.getModelStatus()

    def _solution(self) -> LinearProgramSolution:
        solution = self._highs.getSolution()
        basic = np.asarray(self._highs.getBasicVariables()[1])
        is_basic = np.zeros(self._highs.getNumRow(), dtype=np.bool_)
        is_basic[-basic[basic < 0] - 1] = True  # HiGHS writes row i as -(i + 1)
        row_duals = np.array(solution.row_dual)
        return LinearProgramSolution(
            columns=np.array(solution.col_value),
            fixed_row_duals=row_duals[: self._n_fixed],
            added_row_duals=row_duals[self._n_fixed :],
            added_row_is_basic=is_basic[self._n_fixed :],
            n_pivots=self._n_pivots(),
        )

    def _n_pivots(self) -> int:
        """Pivots of the last run."""
        return int(self._highs.getInfo().simplex_iteration_count)

    def _set_options(self, **options: object) -> None:
        for name, value in options.items():
            self._do("setOptionValue", name, value)

    def _do(self, method: str, *arguments: Any) -> None:
        """Call HiGHS; a wrong option or index is only reported in the returned status."""
        if getattr(self._highs, method)(*arguments) == highspy.HighsStatus.kError:
            raise SolverError(f"HiGHS refused {method}({', '.join(map(repr, arguments[:2]))}).")


def _compressed(array: sparse.csr_array | sparse.csc_array) -> tuple[Any, ...]:
    """Return the entries of an array as HiGHS takes them."""
    return array.nnz, array.indptr[:-1].astype(np.int32), array.indices.astype(np.int32), array.data


def _asks_for(interrupt: Event) -> Callable[..., None]:
    """A callback between pivots that stops HiGHS once ``interrupt`` is set.

    It holds no reference to the program: HiGHS holds the callback, and Python's garbage collector does not
    see a circle through C++, so that every fit would stay in memory.
    """

    def between_pivots(kind: Any, message: str, out: Any, into: Any, data: Any) -> None:
        into.user_interrupt = interrupt.is_set()

    return between_pivots
