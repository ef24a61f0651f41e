"""The optimal vertex, followed while the radii shrink: the parametric simplex method with bounds that move.

Nothing is solved from scratch, and every vertex on the way is optimal for the radii at which it was met. To
break ties, costs and radii are changed by random parts in 1e11 while pivots are chosen; what is returned is
computed without them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.engines.interior_point.parametric_simplex import Atoms, Components, Vertex, Walk
from minimaxrisk.engines.solution import SparseCoefficients
from minimaxrisk.problem.problem import Box
from minimaxrisk.uncertainty.radius import SMALLEST_RADIUS

# Relative size of the random changes that break ties.
JITTER = 1e-11
# Only components whose deviation is at least this fraction of their radius are followed between two passes
# over all of them, and radii shrink by at most this factor from one pass to the next.
NEAR = 0.7
SHRINKAGE = 0.88
# Violations up to this size are rounding errors.
VIOLATION = 1e-10
# More pivots than any part of a path takes.
MOST_PIVOTS = 1_000_000


@dataclass(frozen=True)
class Stop:
    """The optimal pair at a ``fraction`` of the way, with the moments of all components (B x d)."""

    fraction: float
    stage: SparseCoefficients
    distribution: FloatArray
    moments: FloatArray


class Homotopy:
    """The optimal vertex of a problem whose radii shrink, and the components near to their bounds."""

    def __init__(self, problem: Box) -> None:
        """Begin at radii so large that the first vertex is optimal, and go to those of the problem."""
        rng = np.random.default_rng(0)
        self._problem, self._tau = problem, problem.tau.ravel()
        self._atoms = Atoms(problem.coding.matrix, problem.n_instances)
        self._cost = self._atoms.cost * (1.0 + JITTER * rng.random(self._atoms.cost.size))
        self._jitter = 1.0 + JITTER * rng.random(self._tau.size)
        # 1) The optimum for infinite radii: one instance with all labels alike.
        first = self._cost.size - problem.n_instances
        atom = np.array([first + int(np.argmin(self._cost[first:]))])
        nothing = np.empty(0, dtype=np.intp)
        self._vertex = Vertex(nothing, np.empty(0), atom, np.ones((1, 1)))
        # 2) The radii up to which it stays so.
        lam, moments = problem.lam.ravel(), problem.moments_of(self._atoms.distribution(atom, np.ones(1)))
        deviation = np.abs(moments.ravel() - self._tau)
        varies = lam > SMALLEST_RADIUS
        times_larger = max(1.0, float((deviation[varies] / lam[varies]).max(initial=0.0)))
        largest = np.maximum(lam * times_larger, 1.001 * deviation)
        self._lam, self._near = largest, np.flatnonzero(deviation > NEAR * largest)
        # 3) On to those of the problem.
        for times in between(times_larger, 1.0)[:-1]:
            self.go_to(largest * (times / times_larger))
        self.go_to(lam)

    def go_to(self, lam: FloatArray, *, keep_all: bool = False) -> list[Stop]:
        """Go to smaller radii; returns the stop there, with ``keep_all`` after one for each pivot."""
        problem, tau = self._problem, self._tau
        while True:
            # 1) Follow the vertex with the near components alone.
            block, column = np.divmod(self._near, problem.shape[1])
            near = Components(self._near, block, np.ascontiguousarray(problem.features.columns(column).T))
            radii = (np.stack([self._lam, lam]) * self._jitter)[:, self._near]
            first, last = (np.stack([tau[self._near] + each, tau[self._near] - each]) for each in radii)
            walk = Walk(self._atoms, near, self._vertex, (first, last), self._cost)
            met: list[tuple[float, Vertex]] = []
            # Whether this part of the way takes no pivot; one of no length shows nothing.
            self.is_quiet = bool((lam < self._lam).any())
            for _ in walk.pivots(MOST_PIVOTS):
                self.is_quiet = False
                if keep_all:
                    met.append((walk.fraction, walk.vertex))
            met.append((1.0, walk.vertex))
            # 2) Look at all components, in one pass, and go back if one of the others is violated.
            at_stops = np.array([self._lam + fraction * (lam - self._lam) for fraction, _ in met])
            pairs = [self._pair(vertex, at_stop) for (_, vertex), at_stop in zip(met, at_stops, strict=True)]
            weights = np.concatenate([problem.coding.encode(distribution) for _, distribution in pairs])
            moments = problem.features.correlate(weights).reshape(len(met), *problem.shape)
            deviation = np.abs(moments.reshape(len(met), -1) - tau)
            is_violated = np.any(deviation > at_stops + VIOLATION, axis=0)
            is_violated[self._near] = False
            if not is_violated.any():
                break
            self._near = np.union1d(self._near, np.flatnonzero(is_violated))
        self._vertex, self._lam = walk.vertex, lam
        self._near = np.union1d(np.flatnonzero(deviation[-1] > NEAR * lam), self._vertex.active)
        return [
            Stop(fraction, *pair, of_stop)
            for (fraction, _), pair, of_stop in zip(met, pairs, moments, strict=True)
        ]

    def _pair(self, vertex: Vertex, lam: FloatArray) -> tuple[SparseCoefficients, FloatArray]:
        """Return the pair of a vertex without the changes that break ties."""
        active, side = vertex.active, vertex.side
        mass = np.maximum(vertex.inverse @ np.append(1.0, self._tau[active] + side * lam[active]), 0.0)
        mu = self._atoms.cost[vertex.atoms] @ vertex.inverse[:, 1:]
        # Coefficients of the wrong sign are rounding errors, at ties.
        right_side = side * mu < 0.0
        stage = SparseCoefficients(active[right_side], mu[right_side])
        return stage, self._atoms.distribution(vertex.atoms, mass / mass.sum())


def between(larger: float, smaller: float) -> FloatArray:
    """Return numbers from one to the other, without the first, that shrink by at most ``SHRINKAGE``."""
    n_parts = max(1, int(np.ceil((np.log(smaller) - np.log(larger)) / np.log(SHRINKAGE))))
    numbers = np.geomspace(larger, smaller, n_parts + 1)[1:]
    numbers[-1] = smaller
    return numbers
