"""The moment constraints, all m of them, kept beside the data and asked questions.

The iterate's vectors with one entry per component of Phi, positions and directions, stay in this module: an
engine asks for the nearest constraints, for how far it may go, and moves. Each answer is a reduction
over components, so that data held in pieces, elsewhere or on another device can answer as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.interior_point.working_rows import Rows, rows_of
from minimaxrisk.problem.problem import Problem


@dataclass(frozen=True)
class WorkingSet:
    """Some moment constraints with their columns.

    Coefficients and positions are in units of the radii: ``position`` is ``(E_w Phi - tau) / lambda``,
    between -1 and 1 inside the uncertainty set, and a coefficient is ``lambda mu``.
    """

    components: IntArray  # ascending, so block by block
    rows: Rows  # one per component: psi_j
    radius: FloatArray  # lambda
    target: FloatArray  # tau / lambda
    position: FloatArray
    parts: tuple[slice, ...]  # the components of each block

    @classmethod
    def of(
        cls,
        components: IntArray,
        rows: Rows,
        *,
        lam: FloatArray,
        tau: FloatArray,
        position: FloatArray,
        shape: tuple[int, int],
    ) -> WorkingSet:
        """From lambda, tau and positions of the components; ``shape`` is that of all of them (B x d)."""
        n_blocks, d = shape
        bounds = np.searchsorted(components, d * np.arange(n_blocks + 1)).tolist()
        parts = tuple(map(slice, bounds[:-1], bounds[1:]))
        return cls(components, rows, radius=lam, target=tau / lam, position=position, parts=parts)

    def __len__(self) -> int:
        return len(self.components)

    def rows_of(self, positions: IntArray) -> FloatArray:
        """The rows at some positions of the set, dense."""
        return self.rows[positions]

    def scores(self, coefficients: FloatArray) -> FloatArray:
        """Block scores of every instance (B x n)."""
        mu = coefficients / self.radius
        return np.stack([self.rows.combine(part, mu[part]) for part in self.parts])

    def moments(self, block_weights: FloatArray) -> FloatArray:
        """What ``block_weights`` (B x n) add to each position."""
        moments = [
            self.rows.correlate(part, row) for part, row in zip(self.parts, block_weights, strict=True)
        ]
        return np.concatenate(moments) / self.radius


class MomentConstraints(Protocol):
    """What the interior point asks about the constraints ``|E_w Phi - tau| <= lambda``."""

    is_exact: bool
    """Whether positions are known to rounding, and not only as well as rough passes tell."""

    def begin(self) -> None:
        """Take the position of the empirical distribution, whose moments are tau: the middle."""
        ...

    def deviations(self) -> Any:
        """Where the iterate is, ``E_w Phi - tau``, in whatever form ``begin_at`` takes."""
        ...

    def begin_at(self, deviations: Any) -> None:
        """Take a position that was inside other radii; it has to be inside these."""
        ...

    def nearest(self, k: int, besides: IntArray) -> WorkingSet:
        """The k constraints nearest to their bounds, and those of the components ``besides``.

        Nearest here or where the last step would have ended had nothing stopped it: what stopped it was a
        constraint that the working set did not know of, and its neighbours would stop the next one.
        """
        ...

    def furthest_step(self, block_weights: FloatArray) -> float:
        """How many times ``block_weights`` (B x n) may be added before a constraint is met: one pass."""
        ...

    def make_exact(self, block_weights: FloatArray) -> bool:
        """Take the position of ``C w = block_weights`` anew, and pass over the data exactly from now on.

        Returns whether all constraints have slack there.
        """
        ...

    def advance(self, step: float) -> None:
        """Add ``step`` times the block weights last asked about."""
        ...


class MomentConstraintsInMemory:
    """The constraints of a problem whose features are one matrix in this process."""

    def __init__(self, problem: Problem, *, is_exact: bool = False) -> None:
        self._problem = problem
        self._lam, self._tau = problem.lam.ravel(), problem.tau.ravel()
        self._position = self._direction = self._ahead = np.zeros(0)
        self.is_exact = is_exact or not problem.features.has_rough_passes
        self._gathered: tuple[IntArray, Rows] | None = None

    def begin(self) -> None:
        self._position = np.zeros(self._problem.n_components)
        self._ahead = np.zeros(self._problem.n_components)

    def deviations(self) -> FloatArray:
        return self._position * self._lam

    def begin_at(self, deviations: FloatArray) -> None:
        self._position = deviations / self._lam
        self._ahead = self._position.copy()

    def nearest(self, k: int, besides: IntArray) -> WorkingSet:
        chosen = np.zeros(len(self._position), dtype=np.bool_)
        if 0 < k < len(chosen):
            distance = np.abs(self._ahead)
            np.maximum(distance, np.abs(self._position), out=distance)
            np.negative(distance, out=distance)
            chosen[np.argpartition(distance, k - 1)[:k]] = True
        elif k > 0:
            chosen[:] = True
        chosen[besides] = True
        return self._gather(np.flatnonzero(chosen))

    def furthest_step(self, block_weights: FloatArray) -> float:
        features = self._problem.features
        direction = (features.correlate if self.is_exact else features.correlate_roughly)(block_weights)
        direction /= self._problem.lam
        self._direction = direction.ravel()
        # Of the two bounds, -1 and 1, a direction can only meet the one it points to.
        speed = np.copysign(1.0, self._direction)
        speed -= self._position
        with np.errstate(invalid="ignore", divide="ignore"):
            np.divide(self._direction, speed, out=speed)
        fastest = float(speed.max())
        if np.isnan(fastest):
            raise FloatingPointError("a constraint holds with equality and its slack is gone")
        return np.inf if fastest <= 0.0 else 1.0 / fastest

    def make_exact(self, block_weights: FloatArray) -> bool:
        self.is_exact = True
        deviation = self._problem.features.correlate(block_weights) - self._problem.tau
        self._position = (deviation / self._problem.lam).ravel()
        return bool(np.abs(self._position).max() < 1.0)

    def advance(self, step: float) -> None:
        np.add(self._position, self._direction, out=self._ahead)
        self._direction *= step
        self._position += self._direction

    def _gather(self, components: IntArray) -> WorkingSet:
        shape = self._problem.shape
        # Where all constraints stay near, their rows are those of the step before.
        if self._gathered is None or not np.array_equal(self._gathered[0], components):
            self._gathered = components, rows_of(self._problem.features, components % shape[1])
        return WorkingSet.of(
            components,
            self._gathered[1],
            lam=self._lam[components],
            tau=self._tau[components],
            position=self._position[components],
            shape=shape,
        )
