"""A parametric simplex method: the optimal vertex is followed while bounds and costs move.

An atom is an instance i with a set C of labels; its mass is shared equally by the labels of C. Every
distribution is a mixture of atoms that attains its Bayes error, so that the adversary's program is

    min sum a_iC / |C|   s.t.   a >= 0,  sum a = 1,  |moments of the mixture - tau| <= lambda

with n (2^K - 1) columns and no other row. Its multipliers are mu and -phi, and a vertex with k active moment
constraints has k + 1 atoms: one small inverse.

While bounds and costs move along a segment, the masses and multipliers of a vertex move linearly, until an
atom loses its mass or a further constraint is met, or until an atom has no slack left or a multiplier
vanishes. One pivot gives the next vertex. A tableau says how masses and moments depend on the total mass and
on the moments that are held at their bounds. Every pivot, whether an atom or a constraint enters or leaves,
exchanges a row of it for a column: a rank-one update (``Walk``).

Where radii shrink, bounds alone move (``radius_path``). From the guess of an optimum, bounds and costs that
are moved just as far as the guess violates them go back to what they are (``optimal_vertex``): the self-dual
method of Dantzig (1963) and Vanderbei (2020, chapter 7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg.blas import dger

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray

# Rates and pivots up to this size are rounding errors.
NEGLIGIBLE = 1e-12
# What is left of the way when it counts as gone: ties at its end are no events.
LEFT = 1e-9
# Size of random moves of all bounds and costs of a guess, which break ties; they vanish on the way.
JITTER = 1e-7
# Values of the wrong sign in a guess begin at this fraction of the median of the others.
FIRST_VALUE = 0.05
# Pivots after which the inverse is computed afresh.
REFRESH_EVERY = 100
# At the upper bound of a constraint, and at the lower one.
SIDES = (1.0, -1.0)


class ParametricSimplexError(ArithmeticError):
    """The basis is singular to rounding, no pivot is possible, or too many are needed."""


@dataclass(frozen=True)
class Components:
    """The components of Phi that may become active, by ascending number, with a row of features each."""

    number: IntArray
    block: IntArray
    rows: FloatArray


@dataclass(frozen=True)
class Vertex:
    """Active constraints and the atoms that carry mass, as many of them and one more.

    ``inverse`` is that of the matrix with a first row for the total mass and one per active constraint, and
    a column per atom.
    """

    active: IntArray
    side: FloatArray  # 1 at the upper bound, -1 at the lower one
    atoms: IntArray
    inverse: FloatArray = field(default_factory=lambda: np.empty((0, 0)))  # a guess needs none


class Atoms:
    """All atoms of n instances, numbered set by set; the largest set, that of all labels, comes last."""

    def __init__(self, coding: FloatArray, n: int) -> None:
        n_classes, self.n = coding.shape[1], n
        sets = (np.arange(1, 2**n_classes)[:, None] >> np.arange(n_classes)) & 1
        self._spread = (sets / sets.sum(axis=1, keepdims=True)).T  # K x sets: a unit of mass on labels
        self._code = coding @ self._spread  # B x sets
        self.cost = np.repeat(self._spread.max(axis=0), n)
        if not self._code[:, -1].any():
            # In the signed coding atoms of all labels are copies of each other; one is enough.
            self.cost[1 - n :] = 1.0

    def block_weights(self, atoms: IntArray, mass: FloatArray) -> FloatArray:
        """C w of a mixture of atoms (B x n)."""
        return self._summed(self._code, atoms, mass)

    def distribution(self, atoms: IntArray, mass: FloatArray) -> FloatArray:
        """The mixture of atoms as masses of labels (K x n)."""
        return self._summed(self._spread, atoms, mass)

    def _summed(self, of_sets: FloatArray, atoms: IntArray, mass: FloatArray) -> FloatArray:
        label_set, instance = np.divmod(atoms, self.n)
        return np.stack([np.bincount(instance, row[label_set] * mass, minlength=self.n) for row in of_sets])

    def entries(self, block: IntArray, rows: FloatArray, atoms: IntArray) -> FloatArray:
        """Moments of single atoms: one row for each row of features, of the block given."""
        label_set, instance = np.divmod(atoms, self.n)
        return self._code[block][:, label_set] * rows[:, instance]

    def inverse_of(self, block: IntArray, rows: FloatArray, atoms: IntArray) -> FloatArray:
        """That of a vertex with these constraints and atoms."""
        try:
            return np.linalg.inv(np.vstack([np.ones(len(atoms)), self.entries(block, rows, atoms)]))
        except np.linalg.LinAlgError as error:
            raise ParametricSimplexError("the basis is singular") from error

    def scores(self, block: IntArray, rows: FloatArray, mu: FloatArray) -> FloatArray:
        """``f_a'mu`` for all atoms, from the rows of the components that mu belongs to."""
        if len(self._code) == 1:
            return np.outer(self._code[0], mu @ rows).ravel()
        of_blocks = np.stack([np.where(block == b, mu, 0.0) @ rows for b in range(len(self._code))])
        return (self._code.T @ of_blocks).ravel()


class Walk:
    """The state between pivots: a tableau, multipliers, slacks of atoms, and the room of what depends.

    Masses of the vertex's atoms and moments of the components that are not active depend linearly on the
    total mass and on the moments of the active components. The tableau has a row for each of the former and a
    column for each of the latter, the total mass first. Columns of atoms without mass are computed when one
    of them enters.
    """

    _row: IntArray  # the component of each row; m + 1 where it is an atom
    _atom: IntArray  # the atom of each row, where it is one
    _has_mass: BoolArray  # of all atoms, whether they have a row
    _room: FloatArray  # of the rows, below their upper bounds and above their lower ones
    _slack: FloatArray  # reduced costs of the atoms, zero where there is a row
    _k: int  # how many columns are in use

    def __init__(
        self,
        atoms: Atoms,
        components: Components,
        vertex: Vertex,
        bounds: tuple[FloatArray, FloatArray],
        cost: FloatArray,
    ) -> None:
        """Begin at the vertex; bounds are those of both ends (2 x m, upper and lower ones)."""
        self._atoms, self._components = atoms, components
        self._cost, self._cost_change = cost, np.zeros(0)  # empty where costs stay
        self.fraction = 0.0
        self._set_bounds(*bounds, 1.0)
        m, n = components.rows.shape
        # After the components the total mass and an atom, which are in no atom's moments.
        self._features = np.vstack([components.rows, np.zeros((2, n))])
        self._block = np.append(components.block, [0, 0])
        width = min(m, n * len(atoms._code)) + 2
        self._tableau = np.empty((m + 1, width), order="F")
        # For each column its component with its features, its multiplier, and the side that it is held at.
        self._column, self._held = np.empty(width, dtype=np.intp), np.empty((width, n))
        self._mu, self._side = np.empty(width), np.empty(width)
        self._refresh(vertex)

    @cached_property
    def _of_atom(self) -> int:
        return len(self._components.number) + 1

    @property
    def vertex(self) -> Vertex:
        rows, active = np.flatnonzero(self._row == self._of_atom), slice(1, self._k)
        return Vertex(
            self._components.number[self._column[active]],
            self._side[active].copy(),
            self._atom[rows],
            self._tableau[rows, : self._k],
        )

    def _set_bounds(self, first: FloatArray, last: FloatArray, first_mass: float) -> None:
        """Let bounds go from the first to the last ones; the total mass and a single one have theirs."""
        others = np.array([[first_mass, np.inf], [first_mass, 0.0]])
        self._bounds = np.hstack([first, others])
        self._change = np.hstack([last - first, [[1.0 - first_mass, 0.0]] * 2])

    def forgive(self) -> None:
        """Move the bounds and costs of the beginning as far as the vertex violates them."""
        rng, k, m = np.random.default_rng(0), self._k, self._of_atom - 1
        is_atom, active = self._row == self._of_atom, self._column[1:k]
        atoms = self._atom[is_atom]
        # 1) Bounds at which all masses are positive, and no other constraint is violated.
        mass = _lifted(self._room[1, is_atom])
        moments = self._atoms.entries(self._components.block, self._components.rows, atoms) @ mass
        last = self._bounds[:, :m]
        first = np.stack([np.maximum(last[0], moments), np.minimum(last[1], moments)])
        first += np.array(SIDES)[:, None] * JITTER * (0.5 + rng.random(first.shape))
        first[np.where(self._side[1:k] > 0.0, 0, 1), active] = moments[active]
        # 2) Costs at which all multipliers have the right sign, and no slack is negative.
        side = self._side[1:k]
        self._mu[1:k] = -side * _lifted(-side * self._mu[1:k])
        slack = self._cost - self._price(self._mu[:k])
        change = np.minimum(slack, 0.0) - JITTER * (0.5 + rng.random(slack.size))
        change[atoms] = slack[atoms]
        self._cost, self._cost_change = self._cost - change, change
        self._set_bounds(first, last, float(mass.sum()))
        self._measure()

    def pivots(self, most: int) -> Iterator[None]:
        """Go to the end of the segment, and stop after every pivot on the way."""
        for n_pivots in range(1, most + 1):
            event = self._next_event()
            if event is None:
                return
            if self._k == len(self._column):
                raise ParametricSimplexError("more constraints are active than can be, to rounding")
            moves_row, place = event
            if moves_row:
                self._let_row_leave(*divmod(place, len(self._row)))
            else:
                self._let_column_move(place)
            if n_pivots % REFRESH_EVERY == 0:
                self._refresh(self.vertex)
            yield
        raise ParametricSimplexError("too many pivots")

    def _next_event(self) -> tuple[bool, int] | None:
        """Go to where a row meets a bound, or a multiplier or slack vanishes; None at the end."""
        k, change, moves_costs = self._k, self._change, len(self._cost_change) > 0
        held = change[(self._side[:k] < 0.0).astype(np.intp), self._column[:k]]
        rate, speed = self._tableau[:, :k] @ held, change.take(self._row, axis=1)
        np.subtract(rate, speed[0], out=speed[0])
        speed[1] -= rate
        step, place = _shortest_step(self._room, speed)
        moves_row = True
        if moves_costs:
            mu_rate, slack_rate = self._rates()
            to_column, column = self._first_to_vanish(mu_rate, -slack_rate)
            if to_column < step:
                step, place, moves_row = to_column, column, False
        if self.fraction + step >= 1.0 - LEFT:
            return None
        self.fraction += step
        speed *= step
        self._room -= speed
        if moves_costs:
            self._mu[:k] += step * mu_rate
            self._slack += step * slack_rate
        return moves_row, place

    def _rates(self) -> tuple[FloatArray, FloatArray]:
        """How multipliers and slacks change with the costs."""
        rows = np.flatnonzero(self._row == self._of_atom)
        mu_rate = self._cost_change[self._atom[rows]] @ self._tableau[rows, : self._k]
        slack_rate = self._cost_change - self._price(mu_rate)
        slack_rate[self._has_mass] = 0.0
        return mu_rate, slack_rate

    def _first_to_vanish(self, mu_rate: FloatArray, shrinks: FloatArray) -> tuple[float, int]:
        """How far multipliers and slacks may go, and what stops them: a column, or after k an atom."""
        k, side = self._k, self._side[: self._k]
        to_atom, atom = _shortest_step(self._slack, shrinks)
        to_column, q = _shortest_step(-side * self._mu[:k], side * mu_rate)
        return (to_atom, k + atom) if to_atom <= to_column else (to_column, q)

    def _let_row_leave(self, at: int, r: int) -> None:
        """What met a bound stays there: multipliers move until one of them, or a slack, vanishes."""
        k, side = self._k, SIDES[at]
        self._hold(k, self._row[r])
        mu_rate = side * self._tableau[r, :k]
        shrinks = self._price(np.append(mu_rate, -side))
        shrinks[self._has_mass] = 0.0
        step, place = self._first_to_vanish(mu_rate, shrinks)
        if not np.isfinite(step):
            raise ParametricSimplexError("no vertex follows")
        self._mu[:k] += step * mu_rate
        shrinks *= step
        self._slack -= shrinks
        self._exchange(r, side, place, self._column_at(place), multiplier=step, moved=0.0)

    def _let_column_move(self, place: int) -> None:
        """What has no multiplier or no slack left moves inside, until something meets a bound."""
        k, column = self._k, self._column_at(place)
        direction, across = 1.0, np.inf
        if place < k:
            direction = -float(self._side[place])
            across = self._width_of(self._column[place])
        speed = direction * np.array((column, -column))
        step, met = _shortest_step(self._room, speed)
        if not np.isfinite(min(step, across)):
            raise ParametricSimplexError("nothing limits a step")
        self._room -= min(step, across) * speed
        if across <= step:
            self._side[place] = direction
        else:
            at, r = divmod(met, len(column))
            self._exchange(r, SIDES[at], place, column, multiplier=0.0, moved=step)

    def _width_of(self, component: int) -> float:
        upper, lower = self._bounds[:, component] + self.fraction * self._change[:, component]
        return float(upper - lower)

    def _column_at(self, place: int) -> FloatArray:
        """How the rows depend on a column, or on the mass of an atom that has none (after k)."""
        k = self._k
        if place < k:
            return self._tableau[:, place].copy()
        entries = self._atoms.entries(self._block, self._features, np.array([place - k]))[:, 0]
        of_columns = entries[self._column[:k]]
        of_columns[0] = 1.0
        column: FloatArray = entries[self._row] - self._tableau[:, :k] @ of_columns
        return column

    def _exchange(
        self, r: int, side: float, place: int, column: FloatArray, *, multiplier: float, moved: float
    ) -> None:
        """Let row r, at a bound, change places with a column or an atom that has ``moved`` so far."""
        k, leaving, lost = self._k, int(self._row[r]), self._atom[r]
        pivot = float(column[r])
        if not abs(pivot) > NEGLIGIBLE:
            raise ParametricSimplexError("a pivot vanishes")
        row = self._tableau[r, :k].copy()
        # 1) The tableau, in place: the first columns of a matrix in Fortran order.
        column /= pivot
        column[r] = 1.0 + 1.0 / pivot
        dger(-1.0, column, row, a=self._tableau[:, :k], overwrite_x=0, overwrite_y=0, overwrite_a=1)
        column[r] = 1.0 / pivot
        # 2) The row is now that of what enters.
        if leaving == self._of_atom:
            self._has_mass[lost], self._slack[lost] = False, multiplier
        q = min(place, k)
        if place >= k:
            self._has_mass[place - k], self._slack[place - k] = True, 0.0
            self._row[r], self._atom[r] = self._of_atom, place - k
            self._room[:, r] = np.inf, moved
        else:
            self._row[r] = self._column[q]
            other = self._width_of(self._column[q]) - moved
            self._room[:, r] = (moved, other) if self._side[q] > 0.0 else (other, moved)
        # 3) The column that of what leaves; that of an atom is not kept.
        if leaving != self._of_atom:
            self._k = max(k, q + 1)
            self._tableau[:, q] = column
            self._hold(q, leaving)
            self._mu[q], self._side[q] = -side * multiplier, side
        elif q < k:
            self._k = last = k - 1
            for values in (self._tableau.T, self._column, self._held, self._mu, self._side):
                values[q] = values[last]

    def _hold(self, q: int, component: int) -> None:
        self._column[q], self._held[q] = component, self._features[component]

    def _price(self, multipliers: FloatArray) -> FloatArray:
        """The products of all atoms with multipliers of the first columns, that of the total mass first."""
        k = len(multipliers)
        scores = self._atoms.scores(self._block[self._column[:k]], self._held[:k], multipliers)
        scores += multipliers[0]
        return scores

    def _refresh(self, vertex: Vertex) -> None:
        """Compute everything from the sets of atoms and constraints alone."""
        near, atoms = self._components, vertex.atoms
        m, k = len(near.number), len(atoms)
        active = np.searchsorted(near.number, vertex.active)
        others = np.delete(np.arange(m), active)
        inverse = self._atoms.inverse_of(near.block[active], near.rows[active], atoms)
        self._k, self._row = k, np.append(np.full(k, self._of_atom), others)
        self._atom = np.append(atoms, np.zeros_like(others))
        self._column[:k], self._side[:k] = np.append(m, active), np.append(0.0, vertex.side)
        self._held[:k] = self._features[self._column[:k]]
        self._tableau[:k, :k] = inverse
        self._tableau[k:, :k] = self._atoms.entries(near.block[others], near.rows[others], atoms) @ inverse
        self._measure()

    def _measure(self) -> None:
        """Compute where rows, multipliers and slacks stand."""
        k, fraction = self._k, self.fraction
        bounds, atoms = self._bounds + fraction * self._change, self._atom[self._row == self._of_atom]
        held = bounds[(self._side[:k] < 0.0).astype(np.intp), self._column[:k]]
        value = self._tableau[:, :k] @ held
        self._room = np.stack([bounds[0, self._row] - value, value - bounds[1, self._row]])
        cost = self._cost + fraction * self._cost_change if len(self._cost_change) else self._cost
        self._mu[:k] = cost[atoms] @ self._tableau[self._row == self._of_atom, :k]
        self._has_mass = np.zeros(cost.size, dtype=np.bool_)
        self._has_mass[atoms] = True
        self._slack = cost - self._price(self._mu[:k])
        self._slack[atoms] = 0.0


def optimal_vertex(
    atoms: Atoms, components: Components, bounds: FloatArray, guess: Vertex, most_pivots: int
) -> tuple[Vertex, int]:
    """The vertex of the optimum within these bounds (2 x m), and the pivots that it took from the guess."""
    walk = Walk(atoms, components, guess, (bounds, bounds), atoms.cost)
    walk.forgive()
    n_pivots = sum(1 for _ in walk.pivots(most_pivots))
    return walk.vertex, n_pivots


def _lifted(values: FloatArray) -> FloatArray:
    """Values of a guess, which should be positive, with those that are not."""
    right = values[values > 0.0]
    least = FIRST_VALUE * float(np.median(right)) if len(right) else JITTER
    return np.where(values > 0.0, values, least)


def _shortest_step(room: FloatArray, speed: FloatArray) -> tuple[float, int]:
    """How long the room lasts at this speed (infinity where none shrinks), and where it ends first."""
    lasts = np.full(room.shape, np.inf)
    np.divide(np.maximum(room, 0.0), speed, out=lasts, where=speed > NEGLIGIBLE)
    place = int(lasts.argmin())
    return lasts.item(place), place
