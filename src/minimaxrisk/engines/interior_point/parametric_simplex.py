"""Self-dual parametric simplex method on ``min |u|_1`` subject to ``|A u - b| <= 1``, from a guessed basis.

A basis is a set F of columns that carry mass and a set T of as many rows at their bounds, with sigma the
signs of the masses and of the bounds:

    A_TF u_F = b_T + sigma_T,      A_TF' v_T = sigma_F.

It is optimal if ``sigma_F u_F >= 0``, ``-sigma_T v_T >= 0``, ``|A u - b| <= 1`` and ``|A' v| <= 1``.
At first bounds and costs are moved just as far as the guess violates them. These moves are multiplied by t,
which goes from 1 to 0. Everything is linear in t, so that the next violation is known; the pivot that removes
it gives the basis that is optimal below (Dantzig 1963; Vanderbei 2020, chapter 7). A pivot takes two products
with A.

Rows and columns are treated alike. On either side members have a value, u or v, and all indices an
activity, ``s = A' v`` of columns and ``p = A u - b`` of rows. A pivot lets a member leave whose value has
the wrong sign, or an index enter whose activity is beyond its bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetri

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.solution import shortest, steps_to_zero

# Violations, and pivots, up to this size are rounding errors.
TOLERATED, NEGLIGIBLE_PIVOT = 1e-10, 1e-11
# Size of random moves of all bounds, which break ties; they vanish with t.
JITTER = 1e-7
# Numbers per row to work with that LAPACK takes for an inverse; the 3 of SciPy's default take up to twice as
# long from 200 rows on.
WORK = 64
# Values of the wrong sign in the guess begin at this fraction of the median of the others.
FIRST_VALUE = 0.05


class ParametricSimplexError(ArithmeticError):
    """The basis is singular to rounding, no pivot is possible, or too many are needed."""


@dataclass(frozen=True)
class Basis:
    """Rows and columns, as many of each, and their signs."""

    rows: IntArray
    row_signs: FloatArray
    columns: IntArray
    column_signs: FloatArray


def optimal_basis(
    matrix: FloatArray, target: FloatArray, guess: Basis, most_pivots: int
) -> tuple[Basis, int]:
    """The basis of an optimum, and the pivots that it took from the guess."""
    walk = _Walk(matrix, target, guess, len(guess.rows) + most_pivots)
    for n_pivots in range(most_pivots + 1):
        event = walk.next_event()
        if event is None:
            rows, columns, k = walk.rows, walk.columns, walk.k
            found = Basis(rows.members[:k], rows.sign[:k], columns.members[:k], columns.sign[:k])
            return found, n_pivots
        if n_pivots < most_pivots:
            walk.pivot(*event)
    raise ParametricSimplexError("too many pivots")


class _Side:
    """All rows, or all columns: the members of the basis, their values, and the activity of every index.

    Pairs of numbers (a, b) stand for a + t b.
    """

    def __init__(
        self,
        members: IntArray,
        sign: FloatArray,
        n: int,
        capacity: int,
        *,
        skew: float,
        rng: np.random.Generator,
    ) -> None:
        k = len(members)
        self.skew = skew  # sign of the value of a member at its upper bound
        self.members, self.sign = np.zeros(capacity, dtype=np.intp), np.zeros(capacity)
        self.members[:k], self.sign[:k] = members, sign
        self.is_member: BoolArray = np.zeros(n, dtype=np.bool_)
        self.is_member[members] = True
        self.value, self.activity = np.zeros((2, capacity)), np.zeros((2, n))
        self.above, self.below = JITTER * (0.5 + rng.random((2, n)))

    def bound(self, index: int, sign: float) -> FloatArray:
        return np.array([sign, self.above[index] if sign > 0.0 else -self.below[index]])

    def first_move(self, k: int) -> FloatArray:
        """The move that gives all values the right sign at t = 1."""
        side = self.skew * self.sign[:k]
        signed = side * self.value[0, :k]
        right = signed[signed > 0.0]
        least = FIRST_VALUE * float(np.median(right)) if len(right) else JITTER
        move: FloatArray = side * (np.maximum(signed, least) - signed)
        return move

    def widen(self, k: int) -> None:
        """Move the bounds so that members are at them and no index is beyond one."""
        members, up = self.members[:k], self.sign[:k] > 0.0
        moved = self.activity[1, members]
        self.above[members[up]], self.below[members[~up]] = moved[up], -moved[~up]
        now = self.activity.sum(axis=0)
        at_upper, at_lower = np.zeros_like(self.is_member), np.zeros_like(self.is_member)
        at_upper[members[up]] = at_lower[members[~up]] = True
        self.above += np.where(at_upper, 0.0, np.maximum(now - 1.0, 0.0))
        self.below += np.where(at_lower, 0.0, np.maximum(-now - 1.0, 0.0))

    def worst(self, k: int) -> tuple[float, str, int]:
        """The largest t at which a value or an activity becomes wrong; negative if none does."""
        side = self.skew * self.sign[:k]
        values = _last_good(side * self.value[0, :k], side * self.value[1, :k])
        upper = self.activity[0] > 0.0
        room = np.where(self.is_member, 1.0, 1.0 - np.abs(self.activity[0]))
        grows = np.where(upper, self.above - self.activity[1], self.below + self.activity[1])
        activities = _last_good(room, grows)
        if values[0] >= activities[0]:
            return values[0], "value", values[1]
        return activities[0], "activity", activities[1]

    def first_met(self, t: float, rate: FloatArray) -> tuple[float, int]:
        """How far activities of non-members may move at these rates, and which one meets its bound first."""
        now = self.activity[0] + t * self.activity[1]
        up = rate > 0.0
        room = np.where(up, 1.0 + t * self.above - now, 1.0 + t * self.below + now)
        speed = np.where(self.is_member, 0.0, np.abs(rate))
        return shortest(steps_to_zero(room, speed, NEGLIGIBLE_PIVOT))

    def first_vanishing(self, t: float, rate: FloatArray) -> tuple[float, int]:
        """How far values of members may move at these rates, and which one becomes zero first."""
        k = len(rate)
        side = self.skew * self.sign[:k]
        now = side * (self.value[0, :k] + t * self.value[1, :k])
        return shortest(steps_to_zero(now, -side * rate, NEGLIGIBLE_PIVOT))


_Change = tuple[FloatArray, FloatArray]  # of the values of one side and the activities of the other


class _Walk:
    """A basis, its inverse, and where t is."""

    def __init__(self, matrix: FloatArray, target: FloatArray, guess: Basis, capacity: int) -> None:
        m, n = matrix.shape
        self.k = k = len(guess.rows)
        self._matrix = matrix
        self._t = 1.0
        rng = np.random.default_rng(0)
        self.rows = rows = _Side(guess.rows, guess.row_signs, m, capacity, skew=-1.0, rng=rng)
        self.columns = columns = _Side(guess.columns, guess.column_signs, n, capacity, skew=1.0, rng=rng)
        # The part of A on the members of a side: a line each, over all of the other side.
        self._lines = {id(rows): np.zeros((capacity, n)), id(columns): np.zeros((capacity, m))}
        self._lines_of(rows)[:] = matrix[guess.rows]
        self._lines_of(columns)[:] = matrix[:, guess.columns].T
        self._inverse = np.zeros((capacity, capacity))
        factor, pivots, info = dgetrf(matrix[guess.rows][:, guess.columns])
        inverse = dgetri(factor, pivots, lwork=WORK * k)[0] if info == 0 else np.full((1, 1), np.nan)
        if not np.isfinite(inverse).all():
            raise ParametricSimplexError("the first basis is singular")
        self._inverse[:k, :k] = inverse
        columns.value[0, :k] = inverse @ (target[guess.rows] + guess.row_signs)
        rows.value[0, :k] = guess.column_signs @ inverse
        for side, other in ((rows, columns), (columns, rows)):
            side.value[1, :k] = side.first_move(k)
            other.activity[:] = side.value[:, :k] @ self._lines_of(side)
        rows.activity[0] -= target
        rows.widen(k)
        columns.widen(k)

    def next_event(self) -> tuple[_Side, str, int] | None:
        """The next violation as t goes to zero; None if there is none."""
        at_rows, at_columns = self.rows.worst(self.k), self.columns.worst(self.k)
        side, (t, kind, index) = max(
            (self.rows, at_rows), (self.columns, at_columns), key=lambda found: found[1][0]
        )
        if t < 0.0:
            return None
        self._t = min(t, self._t)
        return side, kind, index

    def pivot(self, side: _Side, kind: str, index: int) -> None:
        (self._let_leave if kind == "value" else self._let_enter)(side, index)

    def _let_leave(self, side: _Side, place: int) -> None:
        """A member's activity leaves its bound, which changes the other side's values."""
        other, t = self._other(side), self._t
        sign, member = side.sign[place], side.members[place]
        answer, moved = self._leaving(side, place)
        to_index, index = side.first_met(t, -sign * moved)
        to_zero, lost = other.first_vanishing(t, -sign * answer)
        across = 2.0 + t * (side.above[member] + side.below[member])
        if across <= min(to_index, to_zero):
            step = side.bound(member, -sign) - side.bound(member, sign)
            other.value[:, : self.k] += step[:, None] * answer
            side.activity += step[:, None] * moved
            side.sign[place] = -sign
        elif to_index <= to_zero:
            entering, its = self._entering(side, index), _sign(-sign * moved[index])
            self._replace(side, place, index, its, leaving=(answer, moved), entering=entering)
        elif np.isfinite(to_zero):
            self._shrink(side, place, lost, (answer, moved))
        else:
            raise ParametricSimplexError("nothing limits a step")

    def _let_enter(self, side: _Side, index: int) -> None:
        """An index at its bound gets a value, which changes the other values of its side."""
        other, t = self._other(side), self._t
        sign = _sign(side.activity[0, index])
        answer, moved = self._entering(side, index)
        direction = side.skew * sign
        to_index, met = other.first_met(t, direction * moved)
        to_zero, lost = side.first_vanishing(t, -direction * answer)
        if not np.isfinite(min(to_index, to_zero)):
            raise ParametricSimplexError("nothing limits a step")
        if to_zero < to_index:
            leaving = self._leaving(side, lost)
            self._replace(side, lost, index, sign, leaving=leaving, entering=(answer, moved))
        else:
            self._grow(side, index, sign, met, _sign(direction * moved[met]), entering=(answer, moved))

    def _replace(
        self, side: _Side, place: int, index: int, sign: float, *, leaving: _Change, entering: _Change
    ) -> None:
        k, other, inverse = self.k, self._other(side), self._inverse_of(side)
        (answer, moved), (combined, beyond) = leaving, entering
        pivot = _checked(combined[place])
        step = side.value[:, place] / pivot
        side.value[:, :k] -= step[:, None] * combined
        side.value[:, place] = step
        other.activity += step[:, None] * beyond
        step = (side.bound(index, sign) - side.activity[:, index]) / pivot
        other.value[:, :k] += step[:, None] * answer
        side.activity += step[:, None] * moved
        row = answer / pivot
        combined[place] = 0.0
        self._add_to_inverse(side, -combined, row)
        inverse[place] = row
        side.is_member[side.members[place]] = False
        self._put(side, place, index, sign)

    def _grow(
        self, side: _Side, index: int, sign: float, met: int, met_sign: float, *, entering: _Change
    ) -> None:
        k, other, (combined, beyond) = self.k, self._other(side), entering
        other_combined, other_beyond = self._entering(other, met)
        pivot = _checked(beyond[met])
        for one, another, place, its, answer, moved in (
            (side, other, met, met_sign, combined, beyond),
            (other, side, index, sign, other_combined, other_beyond),
        ):
            step = (another.bound(place, its) - another.activity[:, place]) / pivot
            one.value[:, :k] -= step[:, None] * answer
            one.value[:, k] = step
            another.activity += step[:, None] * moved
        self._add_to_inverse(side, combined / pivot, other_combined)
        self.k += 1
        grown = self._inverse_of(side)
        grown[:k, k], grown[k, :k], grown[k, k] = -combined / pivot, -other_combined / pivot, 1.0 / pivot
        self._put(side, k, index, sign)
        self._put(other, k, met, met_sign)

    def _shrink(self, side: _Side, place: int, other_place: int, leaving: _Change) -> None:
        """The last members take the places that become free."""
        k, other, inverse = self.k, self._other(side), self._inverse_of(side)
        pivot = _checked(inverse[place, other_place])
        answer, moved = leaving
        other_answer, other_moved = self._leaving(other, other_place)
        for one, at, another, change, activity in (
            (side, place, other, other_answer, other_moved),
            (other, other_place, side, answer, moved),
        ):
            step = -one.value[:, at] / pivot
            one.value[:, :k] += step[:, None] * change
            another.activity += step[:, None] * activity
        self._add_to_inverse(side, other_answer / -pivot, answer)
        inverse[place] = inverse[-1].copy()
        inverse[:, other_place] = inverse[:, -1].copy()
        for one, at in ((side, place), (other, other_place)):
            leaves = one.members[at]
            one.value[:, at] = one.value[:, k - 1]
            self._put(one, at, one.members[k - 1], one.sign[k - 1])
            one.is_member[leaves] = False
        self.k -= 1

    def _leaving(self, side: _Side, place: int) -> _Change:
        """How a unit of a member's activity changes the other side's values and this side's activities."""
        answer = self._inverse_of(side)[place].copy()
        return answer, answer @ self._lines_of(self._other(side))

    def _entering(self, side: _Side, index: int) -> _Change:
        """How a unit of an index's value changes this side's values and the other side's activities."""
        line = self._line(side, index)
        combined = self._inverse_of(side) @ line[self._other(side).members[: self.k]]
        return combined, line - combined @ self._lines_of(side)

    def _put(self, side: _Side, place: int, index: int, sign: float) -> None:
        side.members[place], side.sign[place] = index, sign
        side.is_member[index] = True
        self._lines[id(side)][place] = self._line(side, index)

    def _other(self, side: _Side) -> _Side:
        return self.columns if side is self.rows else self.rows

    def _line(self, side: _Side, index: int) -> FloatArray:
        return self._matrix[index] if side is self.rows else self._matrix[:, index]

    def _lines_of(self, side: _Side) -> FloatArray:
        return self._lines[id(side)][: self.k]

    def _inverse_of(self, side: _Side) -> FloatArray:
        """A row per member of the side, a column per member of the other one."""
        inverse = self._inverse[: self.k, : self.k]
        return inverse if side is self.columns else inverse.T

    def _add_to_inverse(self, side: _Side, first: FloatArray, second: FloatArray) -> None:
        """``first second'``, by rows of the inverse as it is stored; by columns takes half as long again."""
        if side is self.rows:
            first, second = second, first
        self._inverse[: self.k, : self.k] += np.outer(first, second)


def _last_good(now: FloatArray, change: FloatArray) -> tuple[float, int]:
    """The largest t with ``now + t change = 0`` where now is negative, and its place; else a negative t."""
    bad = np.flatnonzero(now < -TOLERATED)
    if len(bad) == 0:
        return -1.0, -1
    t = -now[bad] / np.maximum(change[bad], TOLERATED**2)
    worst = int(t.argmax())
    return float(t[worst]), int(bad[worst])


def _checked(pivot: float) -> float:
    if not abs(pivot) > NEGLIGIBLE_PIVOT:
        raise ParametricSimplexError("a pivot vanishes")
    return float(pivot)


def _sign(value: float) -> float:
    return 1.0 if value > 0.0 else -1.0
