"""The program that talks to HiGHS: rows that come and go, and what happens when a solve fails."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from minimaxrisk.engines.highs import PivotLimitError, RangeProgram, SolverError


def program(cost, total, max_pivots=None):
    """min cost'x with sum x = total."""
    n = len(cost)
    return RangeProgram(
        cost,
        sparse.csr_array(np.ones((1, n))),
        np.array([total]),
        np.array([total]),
        most=np.full(n, np.inf),
        n_free=0,
        feasibility_tolerance=1e-9,
        max_pivots=max_pivots,
    )


def expected(cost, total, rows, lower, upper):
    return linprog(
        cost,
        A_ub=np.vstack([rows, -rows]),
        b_ub=np.concatenate([upper, -lower]),
        A_eq=np.ones((1, len(cost))),
        b_eq=[total],
    ).fun


def test_rows_added_and_deleted_hot_give_the_same_as_cold():
    rng = np.random.default_rng(0)
    cost, rows = rng.random(30), rng.standard_normal((20, 30))
    centre = rows @ np.full(30, 0.1)
    lower, upper = centre - 0.2, centre + 0.2
    with closing(program(cost, 3.0)) as hot:
        hot.solve()
        hot.add_rows(sparse.csr_array(rows[:12]), lower[:12], upper[:12])
        found = hot.solve()
        assert cost @ found.columns == pytest.approx(expected(cost, 3.0, rows[:12], lower[:12], upper[:12]))
        basic = np.flatnonzero(found.added_row_is_basic)
        assert len(basic) > 0
        np.testing.assert_allclose(found.added_row_duals[basic], 0.0, atol=1e-9)
        kept = np.setdiff1d(np.arange(12), basic)
        hot.delete_rows(basic)
        hot.add_rows(sparse.csr_array(rows[12:]), lower[12:], upper[12:])
        found = hot.solve()
        chosen = np.concatenate([kept, np.arange(12, 20)])
        value = expected(cost, 3.0, rows[chosen], lower[chosen], upper[chosen])
        assert cost @ found.columns == pytest.approx(value)
        # Signs: a multiplier is positive at an active lower side and negative at an upper one.
        activity = rows[chosen] @ found.columns
        positive, negative = found.added_row_duals > 1e-9, found.added_row_duals < -1e-9
        assert positive.any() or negative.any()
        np.testing.assert_allclose(activity[positive], lower[chosen][positive], atol=1e-8)
        np.testing.assert_allclose(activity[negative], upper[chosen][negative], atol=1e-8)


def hard_program(max_pivots=None):
    rng = np.random.default_rng(1)
    cost, rows = rng.random(40), rng.standard_normal((30, 40))
    centre = rows @ np.full(40, 0.1)
    lp = program(cost, 4.0, max_pivots)
    lp.add_rows(sparse.csr_array(rows), centre - 0.01, centre + 0.01)
    return lp, expected(cost, 4.0, rows, centre - 0.01, centre + 0.01), cost


def test_a_solve_that_stops_short_is_tried_again():
    with closing(hard_program()[0]) as lp:
        n_pivots = lp.solve().n_pivots
    lp, value, cost = hard_program()
    with closing(lp):
        # The first attempt runs into the limit, the second goes on from its basis.
        lp._set_options(simplex_iteration_limit=n_pivots * 2 // 3)
        assert cost @ lp.solve().columns == pytest.approx(value)


def test_a_solve_that_always_fails_says_so():
    with closing(hard_program()[0]) as lp:
        lp._set_options(simplex_iteration_limit=0)
        with pytest.raises(
            SolverError, match=r"did not reach an optimum .*hot: .*; again: .*; from scratch: "
        ):
            lp.solve()


def test_a_refused_option_is_an_error():
    with closing(hard_program()[0]) as lp, pytest.raises(SolverError, match="HiGHS refused setOptionValue"):
        lp._set_options(no_such_option=1)


def test_pivots_are_counted_over_all_solves():
    with closing(hard_program(10**6)[0]) as lp:
        n_pivots = lp.solve().n_pivots
        assert n_pivots > 0
        assert lp._pivots_left == 10**6 - n_pivots
    with closing(hard_program(n_pivots - 1)[0]) as lp, pytest.raises(PivotLimitError):
        lp.solve()
