"""The optimal vertex, followed while the radii shrink: a parametric dual simplex method.

An atom is an instance i with a set C of labels; its mass is shared equally by the labels of C. Every
distribution is a mixture of atoms that attains its Bayes error, so that the adversary's program is

    min sum a_iC / |C|   s.t.   a >= 0,  sum a = 1,  |moments of the mixture - tau| <= lambda

with n (2^K - 1) columns and no other row. Its multipliers are mu and -phi, and a vertex with k active moment
constraints has k + 1 atoms: one small inverse, updated from pivot to pivot.

While lambda moves along a segment the masses of a vertex move linearly, until an atom loses its mass or a
further constraint is met. One pivot gives the next vertex. Nothing is solved from scratch, and every vertex
on the way is optimal for the radii at which it was met. To break ties, costs and radii are changed by random
parts in 1e11 while pivots are chosen; what is returned is computed without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg.blas import dger

from minimaxrisk._utils.arrays import FloatArray, IntArray
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

    ``inverse`` is that of the matrix with a row per active constraint and a last one for the total mass, and
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
        ends = np.searchsorted(self.block, np.arange(problem.coding.n_blocks + 1))
        self._slices = [slice(a, b) for a, b in pairwise(ends)]

    def moments(self, block_weights: FloatArray) -> FloatArray:
        """Their moments, from weights on blocks x instances."""
        if len(block_weights) == 1:
            return self.rows @ block_weights[0]
        parts = [self.rows[part] @ v for part, v in zip(self._slices, block_weights, strict=True)]
        return np.concatenate(parts)


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
        self._code = problem.coding.matrix @ self._spread  # B x sets
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
        inverse = _inverse(np.vstack([self.entries(block, rows, atoms), np.ones(len(atoms))]))
        vertex = Vertex(stage.components, -np.sign(stage.values), atoms, inverse)
        if not (inverse @ self._right(vertex, lam) >= -TIGHT).all():
            raise HomotopyError("the coefficients are not those of an optimum")
        return vertex

    def _without_copies(self, atoms: IntArray) -> IntArray:
        """Atoms of all labels have no moments in the signed coding, and so are copies of each other."""
        if self._code[:, -1].any():
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
        weights = np.empty((len(self._code), self._n))
        for row, code in zip(weights, self._code, strict=True):
            row[:] = np.bincount(instance, code[label_set] * mass, minlength=self._n)
        return weights

    def entries(self, block: IntArray, rows: FloatArray, atoms: IntArray) -> FloatArray:
        """Moments of single atoms: one row for each row of features, of the block given."""
        label_set, instance = np.divmod(atoms, self._n)
        return self._code[block][:, label_set] * rows[:, instance]

    def scores(self, block: IntArray, rows: FloatArray, mu: FloatArray) -> FloatArray:
        """``f_a'mu`` for all atoms, from the rows of the components that mu belongs to."""
        if len(self._code) == 1:
            return np.outer(self._code[0], mu @ rows).ravel()
        weighted = np.empty((len(self._code), self._n))
        for b in range(len(self._code)):
            chosen = block == b
            weighted[b] = mu[chosen] @ rows[chosen]
        return (self._code.T @ weighted).ravel()

    def _right(self, vertex: Vertex, lam: FloatArray) -> FloatArray:
        return np.append(self.tau[vertex.active] + vertex.side * lam[vertex.active], 1.0)

    def _stop(self, vertex: Vertex, radii: tuple[FloatArray, FloatArray], fraction: float) -> Stop:
        """The pair of a vertex without the changes that break ties."""
        lam = radii[0] + fraction * (radii[1] - radii[0])
        mass = np.maximum(vertex.inverse @ self._right(vertex, lam), 0.0)
        label_set, instance = np.divmod(vertex.atoms, self._n)
        per_label = self._spread[:, label_set] * (mass / mass.sum())
        w: FloatArray = np.stack([np.bincount(instance, part, minlength=self._n) for part in per_label])
        mu = self._true_cost[vertex.atoms] @ vertex.inverse[:, :-1]
        # Coefficients of the wrong sign are rounding errors, at ties.
        right_side = vertex.side * mu < 0.0
        return Stop(fraction, Stage(vertex.active[right_side], mu[right_side]), w)


class _Walk:
    """The state between pivots: a vertex, its masses and multipliers, moments, and slacks of other atoms."""

    _mass: FloatArray
    _mu: FloatArray  # of the active constraints, then minus phi
    _room: FloatArray  # of the near components, below the upper bound and above the lower one
    _slack_of_atoms: FloatArray  # reduced costs, zero on the atoms of the vertex

    def __init__(
        self, program: Homotopy, vertex: Vertex, near: NearComponents, radii: tuple[FloatArray, FloatArray]
    ) -> None:
        self.program, self.vertex, self.near = program, vertex, near
        self.fraction = 0.0
        self._tau = program.tau[near.components]
        self._lam = radii[0][near.components]
        self._change = radii[1][near.components] - self._lam
        self._n_pivots = 0
        # The bound that is met, None for an atom without mass, and the component or the atom.
        self._event: tuple[float | None, int] = (None, 0)
        self._refresh()

    def advance(self) -> bool:
        """Go to the next event, an atom without mass or a constraint that is met; False at the end."""
        vertex, position = self.vertex, self._position
        mass_rate = vertex.inverse[:, :-1] @ (vertex.side * self._change[position])
        rate = self.near.moments(self.program.block_weights(vertex.atoms, mass_rate))
        speed = np.stack((rate, -rate)) - self._change
        lasts = steps_to_zero(self._room, speed, NEGLIGIBLE_RATE)
        lasts[:, position] = np.inf
        to_empty, atom = shortest(steps_to_zero(self._mass, -mass_rate, NEGLIGIBLE_RATE))
        to_bound, met = shortest(lasts.ravel())
        step = min(to_empty, to_bound)
        if self.fraction + step >= 1.0:
            return False
        side, component = divmod(met, len(rate))
        self._event = (None, atom) if to_empty <= to_bound else (SIDES[side], component)
        self.fraction += step
        self._mass = self._mass + step * mass_rate
        self._room -= step * speed
        return True

    def pivot(self) -> None:
        """To the vertex on the other side of the event."""
        side, index = self._event
        if side is None:
            self._remove_atom(index)
        else:
            self._add_constraint(index, side)
        self._n_pivots += 1
        if self._n_pivots % REFRESH_EVERY == 0:
            self._refresh()

    def _remove_atom(self, r: int) -> None:
        """Atom r leaves: its dual constraint gets slack, and mu moves along minus its row of the inverse."""
        vertex = self.vertex
        row = vertex.inverse[r]
        rate = self._price(row)
        rate[vertex.atoms] = 0.0
        rate[vertex.atoms[r]] = 1.0
        atom, q = self._dual_step(-row, rate)
        if atom is not None:
            column = np.append(self._entries_of_atom(atom), 1.0)
            row /= (new := vertex.inverse @ column)[r]
            new[r] = 0.0
            _add_outer(vertex.inverse, -new, row)
            atoms = vertex.atoms.copy()
            atoms[r], self._mass[r] = atom, 0.0
            self.vertex = replace(vertex, atoms=atoms)
            return
        smaller = np.asfortranarray(np.delete(vertex.inverse, r, axis=0))
        _add_outer(smaller, smaller[:, q] / -row[q], row)
        self._mass, self._mu = np.delete(self._mass, r), np.delete(self._mu, q)
        active, side = np.delete(vertex.active, q), np.delete(vertex.side, q)
        self._move(Vertex(active, side, np.delete(vertex.atoms, r), np.delete(smaller, q, axis=1)))

    def _add_constraint(self, j: int, side: float) -> None:
        """Near component j enters: its multiplier leaves zero, and the other multipliers adapt."""
        vertex, component = self.vertex, self.near.components[j]
        block, rows = self.near.block[[j]], self.near.rows[[j]]
        on_atoms = self.program.entries(block, rows, vertex.atoms)[0]
        combined = on_atoms @ vertex.inverse
        own = self.program.scores(block, rows, np.ones(1))
        rate = side * (own - self._price(combined))
        rate[vertex.atoms] = 0.0
        atom, q = self._dual_step(side * combined, rate)
        multiplier = -side * self._last_step
        if atom is not None:
            column = np.append(self._entries_of_atom(atom), 1.0)
            inverse = _bordered(vertex.inverse, column, on_atoms, float(own[atom]))
            self._mass = np.append(self._mass, 0.0)
            self._mu = np.insert(self._mu, -1, multiplier)
            active, sides = np.append(vertex.active, component), np.append(vertex.side, side)
            self._move(Vertex(active, sides, np.append(vertex.atoms, atom), inverse))
            return
        active, sides = vertex.active.copy(), vertex.side.copy()
        active[q], sides[q], self._mu[q] = component, side, multiplier
        column = vertex.inverse[:, q]
        column /= combined[q]
        combined[q] = 0.0
        _add_outer(vertex.inverse, -column, combined)
        self._move(Vertex(active, sides, vertex.atoms, vertex.inverse))

    def _dual_step(self, direction: FloatArray, rate: FloatArray) -> tuple[int | None, int]:
        """Move mu and phi until an atom has no slack left, which enters, or a multiplier becomes zero.

        Returns the atom, or None and the position of the constraint that leaves.
        """
        side = self.vertex.side
        to_atom, atom = shortest(steps_to_zero(self._slack_of_atoms, -rate, NEGLIGIBLE_PIVOT))
        multipliers, change = -side * self._mu[:-1], side * direction[:-1]
        to_constraint, constraint = shortest(steps_to_zero(multipliers, change, NEGLIGIBLE_PIVOT))
        self._last_step = min(to_atom, to_constraint)
        if not np.isfinite(self._last_step):
            raise HomotopyError("no vertex follows")
        self._mu = self._mu + self._last_step * direction
        self._slack_of_atoms = self._slack_of_atoms + self._last_step * rate
        if to_atom <= to_constraint:
            self._slack_of_atoms[atom] = 0.0
            return atom, 0
        return None, constraint

    def _move(self, vertex: Vertex) -> None:
        self.vertex = vertex
        self._position = np.searchsorted(self.near.components, vertex.active)
        self._block, self._rows = self.near.block[self._position], self.near.rows[self._position]

    def _price(self, multipliers: FloatArray) -> FloatArray:
        """For all atoms the product of their column with multipliers of the active rows and the total."""
        return self.program.scores(self._block, self._rows, multipliers[:-1]) + multipliers[-1]

    def _entries_of_atom(self, atom: int) -> FloatArray:
        return self.program.entries(self._block, self._rows, np.array([atom]))[:, 0]

    def _refresh(self) -> None:
        """Compute everything from the sets of atoms and constraints alone."""
        vertex, program = self.vertex, self.program
        self._move(vertex)
        entries = program.entries(self._block, self._rows, vertex.atoms)
        inverse = _inverse(np.vstack([entries, np.ones(len(vertex.atoms))]))
        self.vertex = replace(vertex, inverse=inverse)
        lam, at = self._lam + self.fraction * self._change, self._position
        self._mass = inverse @ np.append(self._tau[at] + vertex.side * lam[at], 1.0)
        deviation = self.near.moments(program.block_weights(vertex.atoms, self._mass)) - self._tau
        self._room = lam - np.outer(SIDES, deviation)
        self._mu = program.cost[vertex.atoms] @ inverse
        self._slack_of_atoms = program.cost - self._price(self._mu)


def _inverse(matrix: FloatArray) -> FloatArray:
    try:
        return np.asfortranarray(np.linalg.inv(matrix))
    except np.linalg.LinAlgError as error:
        raise HomotopyError("the basis is singular") from error


def _add_outer(matrix: FloatArray, column: FloatArray, row: FloatArray) -> None:
    """Add ``column row'`` to a matrix in Fortran order, in place."""
    dger(1.0, column, row, a=matrix, overwrite_x=0, overwrite_y=0, overwrite_a=1)


def _bordered(inverse: FloatArray, column: FloatArray, row: FloatArray, corner: float) -> FloatArray:
    """The inverse with a new last column and a new last but one row; the given one is overwritten."""
    k = len(inverse)
    left, below = inverse @ column, row @ inverse
    complement = corner - row @ left
    others = np.append(np.arange(k - 1), k)
    grown = np.empty((k + 1, k + 1), order="F")
    _add_outer(inverse, left / complement, below)
    grown[:k, : k - 1], grown[:k, k] = inverse[:, :-1], inverse[:, -1]
    grown[:k, k - 1] = -left / complement
    grown[k, others] = -below / complement
    grown[k, k - 1] = 1.0 / complement
    return grown
