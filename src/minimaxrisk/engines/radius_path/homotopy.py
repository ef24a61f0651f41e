"""The optimal vertex, followed while the radii shrink: a parametric dual simplex method.

An atom is an instance i with a set C of labels; its mass is shared equally by the labels of C. Every
distribution is a mixture of atoms that attains its Bayes error, so that the adversary's program is

    min sum a_iC / |C|   s.t.   a >= 0,  sum a = 1,  |moments of the mixture - tau| <= lambda

with n (2^K - 1) columns and no other row. Its multipliers are mu and -phi, and a vertex with k active moment
constraints has k + 1 atoms: one small inverse.

While lambda moves along a segment the masses of a vertex move linearly, until an atom loses its mass or a
further constraint is met. One pivot gives the next vertex. Nothing is solved from scratch, and every vertex
on the way is optimal for the radii at which it was met. A tableau says how masses and moments depend on the
total mass and on the moments that are held at their bounds. Every pivot, whether an atom or a constraint
enters or leaves, exchanges a row of it for a column: a rank-one update (``_Walk``). To break ties, costs and
radii are changed by random parts in 1e11 while pivots are chosen; what is returned is computed without them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dger

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.solution import Stage, shortest, steps_to_zero
from minimaxrisk.problem.problem import Box

# Relative size of the random changes that break ties.
JITTER = 1e-11
# Rates and pivots up to this size are rounding errors.
NEGLIGIBLE_RATE, NEGLIGIBLE_PIVOT = 1e-13, 1e-11
# Pivots after which the inverse is computed afresh.
REFRESH_EVERY = 100
# Slack, and negative mass, that count as rounding errors of a vertex that another engine found.
TIGHT = 1e-9
# At the upper bound of a constraint, and at the lower one.
SIDES = (1.0, -1.0)
# Sets of labels are enumerated; with more classes than this there are too many.
MOST_CLASSES = 6


class HomotopyError(ArithmeticError):
    """The next vertex could not be found: too many pivots, or a basis that is singular to rounding."""


@dataclass(frozen=True)
class Vertex:
    """Active constraints and the atoms that carry mass, as many of them and one more.

    ``inverse`` is that of the matrix with a first row for the total mass and one per active constraint, and
    a column per atom.
    """

    active: IntArray
    side: FloatArray  # 1 at the upper bound, -1 at the lower one
    atoms: IntArray
    inverse: FloatArray


@dataclass(frozen=True)
class Stop:
    """The optimal pair at a ``fraction`` of the way."""

    fraction: float
    stage: Stage
    distribution: FloatArray


class NearComponents:
    """The components of Phi that may become active soon, and their columns."""

    def __init__(self, problem: Box, components: IntArray) -> None:
        self.components = np.sort(components)
        self.block, column = np.divmod(self.components, problem.tau.shape[1])
        self.rows = np.ascontiguousarray(problem.features.columns(column).T)


class Homotopy:
    """The program in atoms, numbered set by set, of one problem whose radii vary."""

    def __init__(self, problem: Box) -> None:
        n_classes, self._n = problem.centre.shape
        self.problem = problem
        self.n_pivots = 0
        self.tau = problem.tau.ravel()
        # The largest set, that of all labels, comes last.
        sets = (np.arange(1, 2**n_classes)[:, None] >> np.arange(n_classes)) & 1
        self._spread = (sets / sets.sum(axis=1, keepdims=True)).T  # K x sets: a unit of mass on labels
        self.code = problem.coding.matrix @ self._spread  # B x sets
        self._true_cost = np.repeat(self._spread.max(axis=0), self._n)
        rng = np.random.default_rng(0)
        self.cost = self._true_cost * (1.0 + JITTER * rng.random(self._true_cost.size))
        self._jitter = 1.0 + JITTER * rng.random(self.tau.size)

    def start(self) -> Vertex:
        """The optimum for infinite radii: one instance with all labels alike."""
        first = self.cost.size - self._n
        atom = first + int(np.argmin(self.cost[first:]))
        nothing = np.empty(0, dtype=np.intp)
        return Vertex(nothing, np.empty(0), np.array([atom]), np.ones((1, 1)))

    def vertex_with(self, stage: Stage, lam: FloatArray) -> Vertex:
        """The vertex at these radii with these coefficients; ``HomotopyError`` if they do not determine it.

        The atoms without slack may carry mass: one more than coefficients if the vertex is not degenerate.
        """
        block, column = np.divmod(stage.components, self.problem.tau.shape[1])
        rows = np.ascontiguousarray(self.problem.features.columns(column).T)
        slack = self._true_cost - self.scores(block, rows, stage.values)
        atoms = self._without_copies(np.flatnonzero(slack <= slack.min() + TIGHT))
        if len(atoms) != len(stage.components) + 1:
            raise HomotopyError("the vertex is degenerate")
        inverse = self.inverse_of(block, rows, atoms)
        vertex = Vertex(stage.components, -np.sign(stage.values), atoms, inverse)
        if not (inverse @ self._right(vertex, lam) >= -TIGHT).all():
            raise HomotopyError("the coefficients are not those of an optimum")
        return vertex

    def _without_copies(self, atoms: IntArray) -> IntArray:
        """Atoms of all labels have no moments in the signed coding, and so are copies of each other."""
        if self.code[:, -1].any():
            return atoms
        is_copy = atoms >= self.cost.size - self._n
        return np.append(atoms[~is_copy], atoms[is_copy][:1])

    def moments_of(self, vertex: Vertex, lam: FloatArray) -> FloatArray:
        """All moments, in one pass over the features."""
        mass = vertex.inverse @ self._right(vertex, lam)
        return self.problem.features.correlate(self.block_weights(vertex.atoms, mass)).ravel()

    def follow(
        self,
        vertex: Vertex,
        near: NearComponents,
        radii: tuple[FloatArray, FloatArray],
        *,
        max_pivots: int,
        keep_all: bool = False,
    ) -> tuple[Vertex, list[Stop]]:
        """Go from the optimum at the first radii to that at the second ones, with the near components alone.

        Returns the vertex and the stop at the end; with ``keep_all`` also one stop per pivot before it.
        """
        walk = _Walk(self, vertex, near, (radii[0] * self._jitter, radii[1] * self._jitter))
        stops: list[Stop] = []
        for _ in range(max_pivots):
            if not walk.advance():
                return walk.vertex, [*stops, self._stop(walk.vertex, radii, 1.0)]
            walk.pivot()
            self.n_pivots += 1
            if keep_all:
                stops.append(self._stop(walk.vertex, radii, walk.fraction))
        raise HomotopyError("the next radius takes too many pivots")

    def block_weights(self, atoms: IntArray, mass: FloatArray) -> FloatArray:
        """C w of a mixture of atoms (B x n)."""
        label_set, instance = np.divmod(atoms, self._n)
        weights = np.empty((len(self.code), self._n))
        for row, code in zip(weights, self.code, strict=True):
            row[:] = np.bincount(instance, code[label_set] * mass, minlength=self._n)
        return weights

    def entries(self, block: IntArray, rows: FloatArray, atoms: IntArray) -> FloatArray:
        """Moments of single atoms: one row for each row of features, of the block given."""
        label_set, instance = np.divmod(atoms, self._n)
        return self.code[block][:, label_set] * rows[:, instance]

    def inverse_of(self, block: IntArray, rows: FloatArray, atoms: IntArray) -> FloatArray:
        """That of a vertex with these constraints and atoms."""
        try:
            return np.linalg.inv(np.vstack([np.ones(len(atoms)), self.entries(block, rows, atoms)]))
        except np.linalg.LinAlgError as error:
            raise HomotopyError("the basis is singular") from error

    def scores(self, block: IntArray, rows: FloatArray, mu: FloatArray) -> FloatArray:
        """``f_a'mu`` for all atoms, from the rows of the components that mu belongs to."""
        if len(self.code) == 1:
            return np.outer(self.code[0], mu @ rows).ravel()
        weighted = np.empty((len(self.code), self._n))
        for b in range(len(self.code)):
            chosen = block == b
            weighted[b] = mu[chosen] @ rows[chosen]
        return (self.code.T @ weighted).ravel()

    def _right(self, vertex: Vertex, lam: FloatArray) -> FloatArray:
        return np.append(1.0, self.tau[vertex.active] + vertex.side * lam[vertex.active])

    def _stop(self, vertex: Vertex, radii: tuple[FloatArray, FloatArray], fraction: float) -> Stop:
        """The pair of a vertex without the changes that break ties."""
        lam = radii[0] + fraction * (radii[1] - radii[0])
        mass = np.maximum(vertex.inverse @ self._right(vertex, lam), 0.0)
        label_set, instance = np.divmod(vertex.atoms, self._n)
        per_label = self._spread[:, label_set] * (mass / mass.sum())
        w: FloatArray = np.stack([np.bincount(instance, part, minlength=self._n) for part in per_label])
        mu = self._true_cost[vertex.atoms] @ vertex.inverse[:, 1:]
        # Coefficients of the wrong sign are rounding errors, at ties.
        right_side = vertex.side * mu < 0.0
        return Stop(fraction, Stage(vertex.active[right_side], mu[right_side]), w)


class _Walk:
    """The state between pivots: a tableau, multipliers, slacks of atoms, and the room of what depends.

    Masses of the vertex's atoms and moments of the near components that are not active depend linearly on the
    total mass and on the moments of the active components. The tableau has a row for each of the former and a
    column for each of the latter, the total mass first. Columns of atoms without mass are computed when one
    of them enters.
    """

    _row: IntArray  # the near component of each row; their number m where it is an atom
    _atom: IntArray  # the atom of each row, where it is one
    _has_mass: BoolArray  # of all atoms, whether they have a row
    _room: FloatArray  # of the rows, below their upper bounds and above their lower ones
    _slack_of_atoms: FloatArray  # reduced costs, zero where there is a row
    _k: int  # how many columns are in use

    def __init__(
        self, program: Homotopy, vertex: Vertex, near: NearComponents, radii: tuple[FloatArray, FloatArray]
    ) -> None:
        self.program, self.near = program, near
        self.fraction = 0.0
        self._n_pivots = 0
        self._event = (0.0, 0)  # the side of the bound that is met, and the row
        m, n = near.rows.shape
        # After the components the total mass: one, and in no atom's moments.
        self._tau = np.append(program.tau[near.components], 1.0)
        self._lam = np.append(radii[0][near.components], 0.0)
        self._change = np.append(radii[1][near.components], 0.0) - self._lam
        self._features = np.vstack([near.rows, np.zeros(n)])
        self._block = np.append(near.block, 0)
        width = min(m, n * len(program.code)) + 2
        self._tableau = np.empty((m + 1, width), order="F")
        # For each column its component, its multiplier and the side of the bound that it is held at.
        self._column, self._mu, self._side = np.empty(width, dtype=np.intp), np.empty(width), np.empty(width)
        self._refresh(vertex)

    @property
    def vertex(self) -> Vertex:
        rows, active = np.flatnonzero(self._row == len(self.near.components)), slice(1, self._k)
        return Vertex(
            self.near.components[self._column[active]],
            self._side[active].copy(),
            self._atom[rows],
            self._tableau[rows, : self._k],
        )

    def advance(self) -> bool:
        """Go to the next event, an atom without mass or a constraint that is met; False at the end."""
        k = self._k
        rate = self._tableau[:, :k] @ (self._side[:k] * self._change[self._column[:k]])
        speed = np.array((rate, -rate))
        speed -= self._change[self._row]
        step, met = shortest(steps_to_zero(self._room, speed, NEGLIGIBLE_RATE).ravel())
        if self.fraction + step >= 1.0:
            return False
        side, row = divmod(met, len(rate))
        self._event = (SIDES[side], row)
        self.fraction += step
        speed *= step
        self._room -= speed
        return True

    def pivot(self) -> None:
        """To the vertex on the other side of the event: what met a bound stays there, and another moves."""
        (side, r), k = self._event, self._k
        leaving = self._column[k] = self._row[r]
        row = self._tableau[r, :k].copy()
        # 1) Move the multipliers until an atom has no slack left, which enters, or one of them becomes zero.
        slack_rate = self._price(np.append(row, -1.0), self._column[: k + 1])
        slack_rate *= side
        slack_rate[self._has_mass] = 0.0
        to_atom, atom = shortest(steps_to_zero(self._slack_of_atoms, slack_rate, NEGLIGIBLE_PIVOT))
        sides, mu_rate = self._side[:k], side * row
        to_column, q = shortest(steps_to_zero(-sides * self._mu[:k], sides * mu_rate, NEGLIGIBLE_PIVOT))
        step = min(to_atom, to_column)
        if not np.isfinite(step):
            raise HomotopyError("no vertex follows")
        self._mu[:k] += step * mu_rate
        slack_rate *= step
        self._slack_of_atoms -= slack_rate
        # 2) Exchange what met its bound for what enters.
        enters_atom, is_atom = to_atom <= to_column, leaving == len(self.near.components)
        column = self._column_of(atom) if enters_atom else self._tableau[:, q].copy()
        column = self._exchange(r, row, column)
        if is_atom:
            self._has_mass[self._atom[r]] = False
            self._slack_of_atoms[self._atom[r]] = step
        if enters_atom:
            q = k
            self._has_mass[atom] = True
            self._slack_of_atoms[atom] = 0.0
            self._row[r], self._atom[r] = len(self.near.components), atom
            self._room[:, r] = np.inf, 0.0
        else:
            entering = self._row[r] = self._column[q]
            other = 2.0 * (self._lam[entering] + self.fraction * self._change[entering])
            self._room[:, r] = (0.0, other) if self._side[q] > 0.0 else (other, 0.0)
        # 3) Columns: that of a constraint takes the free place, that of an atom is not kept.
        if not is_atom:
            self._k = max(k, q + 1)
            self._tableau[:, q] = column
            self._column[q], self._mu[q], self._side[q] = leaving, -side * step, side
        elif q < k:
            self._k = last = k - 1
            for values in (self._tableau.T, self._column, self._mu, self._side):
                values[q] = values[last]
        self._n_pivots += 1
        if self._n_pivots % REFRESH_EVERY == 0:
            self._refresh(self.vertex)

    def _exchange(self, r: int, row: FloatArray, column: FloatArray) -> FloatArray:
        """Let row r and a column change places; returns the column of what was row r."""
        pivot = column[r]
        column /= pivot
        column[r] = 1.0 + 1.0 / pivot
        # In place: the first columns of a matrix in Fortran order.
        dger(-1.0, column, row, a=self._tableau[:, : self._k], overwrite_x=0, overwrite_y=0, overwrite_a=1)
        column[r] = 1.0 / pivot
        return column

    def _column_of(self, atom: int) -> FloatArray:
        """How the rows depend on the mass of an atom that has none."""
        entries = self.program.entries(self._block, self._features, np.array([atom]))[:, 0]
        of_columns = entries[self._column[: self._k]]
        of_columns[0] = 1.0
        column: FloatArray = entries[self._row] - self._tableau[:, : self._k] @ of_columns
        return column

    def _price(self, multipliers: FloatArray, components: IntArray) -> FloatArray:
        """For all atoms the product of their entries with multipliers, the first that of the total mass."""
        scores = self.program.scores(self._block[components], self._features[components], multipliers)
        scores += multipliers[0]
        return scores

    def _refresh(self, vertex: Vertex) -> None:
        """Compute everything from the sets of atoms and constraints alone."""
        program, near, atoms = self.program, self.near, vertex.atoms
        m, k = len(near.components), len(atoms)
        active = np.searchsorted(near.components, vertex.active)
        others = np.delete(np.arange(m), active)
        inverse = program.inverse_of(near.block[active], near.rows[active], atoms)
        # 1) The tableau, its rows and columns.
        self._k, self._row = k, np.append(np.full(k, m), others)
        self._atom = np.append(atoms, np.zeros_like(others))
        self._column[:k], self._side[:k] = np.append(m, active), np.append(0.0, vertex.side)
        self._tableau[:k, :k] = inverse
        self._tableau[k:, :k] = program.entries(near.block[others], near.rows[others], atoms) @ inverse
        # 2) Where the rows stand.
        lam, held = self._lam + self.fraction * self._change, self._column[:k]
        value = self._tableau[:, :k] @ (self._tau[held] + self._side[:k] * lam[held])
        self._room = lam[self._row] - np.outer(SIDES, value - self._tau[self._row])
        self._room[0, :k], self._room[1, :k] = np.inf, value[:k]
        # 3) Multipliers and slacks.
        self._mu[:k] = program.cost[atoms] @ inverse
        self._has_mass = np.zeros(program.cost.size, dtype=bool)
        self._has_mass[atoms] = True
        self._slack_of_atoms = program.cost - self._price(self._mu[:k], held)
