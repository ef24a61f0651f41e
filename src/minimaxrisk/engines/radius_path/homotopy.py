"""The optimal vertex, followed while the radii shrink: the parametric simplex method with bounds that move.

Nothing is solved from scratch, and every vertex on the way is optimal for the radii at which it was met. To
break ties, costs and radii are changed by random parts in 1e11 while pivots are chosen; what is returned is
computed without them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.interior_point.parametric_simplex import (
    Atoms,
    Components,
    Vertex,
    Walk,
)
from minimaxrisk.engines.solution import SparseCoefficients
from minimaxrisk.problem.problem import Box

# Relative size of the random changes that break ties.
JITTER = 1e-11


@dataclass(frozen=True)
class Stop:
    """The optimal pair at a ``fraction`` of the way."""

    fraction: float
    stage: SparseCoefficients
    distribution: FloatArray


class Homotopy:
    """The program of one problem whose radii vary."""

    def __init__(self, problem: Box) -> None:
        self.problem, self.tau = problem, problem.tau.ravel()
        self.atoms = Atoms(problem.coding.matrix, problem.n_instances)
        self.n_pivots = 0
        rng = np.random.default_rng(0)
        self._cost = self.atoms.cost * (1.0 + JITTER * rng.random(self.atoms.cost.size))
        self._jitter = 1.0 + JITTER * rng.random(self.tau.size)

    def components(self, number: IntArray) -> Components:
        """Some components of Phi with their columns."""
        block, column = np.divmod(number, self.problem.tau.shape[1])
        return Components(number, block, np.ascontiguousarray(self.problem.features.columns(column).T))

    def start(self) -> Vertex:
        """The optimum for infinite radii: one instance with all labels alike."""
        first = self._cost.size - self.problem.n_instances
        atom = first + int(np.argmin(self._cost[first:]))
        nothing = np.empty(0, dtype=np.intp)
        return Vertex(nothing, np.empty(0), np.array([atom]), np.ones((1, 1)))

    def moments_of(self, vertex: Vertex, lam: FloatArray) -> FloatArray:
        """All moments, in one pass over the features."""
        weights = self.atoms.block_weights(vertex.atoms, self._mass(vertex, lam))
        return self.problem.features.correlate(weights).ravel()

    def follow(
        self,
        vertex: Vertex,
        near: Components,
        radii: tuple[FloatArray, FloatArray],
        *,
        max_pivots: int,
        keep_all: bool = False,
    ) -> tuple[Vertex, list[Stop]]:
        """Go from the optimum at the first radii to that at the second ones, with the near components alone.

        Returns the vertex and the stop at the end; with ``keep_all`` also one stop per pivot before it.
        """
        tau, jitter = self.tau[near.number], self._jitter[near.number]
        first, last = (
            np.stack([tau + lam, tau - lam]) for lam in (each[near.number] * jitter for each in radii)
        )
        walk = Walk(self.atoms, near, vertex, (first, last), self._cost)
        stops: list[Stop] = []
        for _ in walk.pivots(max_pivots):
            self.n_pivots += 1
            if keep_all:
                stops.append(self._stop(walk.vertex, radii, walk.fraction))
        return walk.vertex, [*stops, self._stop(walk.vertex, radii, 1.0)]

    def _mass(self, vertex: Vertex, lam: FloatArray) -> FloatArray:
        return vertex.inverse @ np.append(1.0, self.tau[vertex.active] + vertex.side * lam[vertex.active])

    def _stop(self, vertex: Vertex, radii: tuple[FloatArray, FloatArray], fraction: float) -> Stop:
        """The pair of a vertex without the changes that break ties."""
        mass = np.maximum(self._mass(vertex, radii[0] + fraction * (radii[1] - radii[0])), 0.0)
        w = self.atoms.distribution(vertex.atoms, mass / mass.sum())
        mu = self.atoms.cost[vertex.atoms] @ vertex.inverse[:, 1:]
        # Coefficients of the wrong sign are rounding errors, at ties.
        right_side = vertex.side * mu < 0.0
        return Stop(fraction, SparseCoefficients(vertex.active[right_side], mu[right_side]), w)
