"""The moment constraints, all m of them, kept beside the data and asked questions.

The iterate's vectors with one entry per component of Phi, positions and directions, stay with the features:
an engine asks for the nearest constraints, for how far it may go, and moves. Each answer is a reduction over
components, so that data in memory, in chunks or on a device can answer where they are. A container answers by
``FeatureMatrix.moment_constraints``; the answers in memory follow from its other methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.features.working_rows import Rows

if TYPE_CHECKING:
    from minimaxrisk.features.matrix import FeatureMatrix


@dataclass(frozen=True)
class WorkingSet:
    """Some moment constraints with their columns.

    Coefficients and positions are in units of the radii: ``position`` is ``(E_w Phi - tau) / lambda``,
    between -1 and 1 inside the uncertainty set, and a coefficient is ``lambda mu``.
    """

    components: IntArray  # ascending, so block by block
    rows: Rows  # one per component: psi_j
    radius: FloatArray  # lambda
    tau: FloatArray
    position: FloatArray
    shape: tuple[int, int]  # B x d, of all components

    def __len__(self) -> int:
        return len(self.components)

    @cached_property
    def target(self) -> FloatArray:
        return self.tau / self.radius

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """The components of each block."""
        n_blocks, d = self.shape
        if n_blocks == 1:
            return (slice(0, len(self)),)
        bounds = np.searchsorted(self.components, d * np.arange(n_blocks + 1)).tolist()
        return tuple(map(slice, bounds[:-1], bounds[1:]))

    def scores(self, coefficients: FloatArray) -> FloatArray:
        """Block scores of every instance (B x n)."""
        mu = coefficients / self.radius
        if len(self.parts) == 1:
            return self.rows.combine(self.parts[0], mu)[None, :]
        return np.stack([self.rows.combine(part, mu[part]) for part in self.parts])

    def moments(self, block_weights: FloatArray) -> FloatArray:
        """What ``block_weights`` (B x n) add to each position."""
        if len(self.parts) == 1:
            return self.rows.correlate(self.parts[0], block_weights[0]) / self.radius
        moments = [
            self.rows.correlate(part, row) for part, row in zip(self.parts, block_weights, strict=True)
        ]
        return np.concatenate(moments) / self.radius


class MomentConstraints(ABC):
    """What the interior point asks about the constraints ``|E_w Phi - tau| <= lambda``."""

    is_exact: bool = True
    """Whether positions are known to rounding, and not only as well as rough passes tell.

    An engine that cannot do with rough passes sets it before it begins.
    """

    _lam: Any
    _position: Any  # in units of lam

    def begin(self) -> None:
        """Take the position of the empirical distribution, whose moments are tau: the middle."""
        self.begin_at(0.0 * self._lam)

    def deviations(self) -> Any:
        """Where the iterate is, ``E_w Phi - tau``, in the form that ``begin_at`` takes."""
        return self._position * self._lam

    @abstractmethod
    def begin_at(self, deviations: Any) -> None:
        """Take a position that was inside other radii; it has to be inside these."""

    @abstractmethod
    def nearest(self, k: int, besides: IntArray) -> WorkingSet:
        """The k constraints nearest to their bounds, and those of the components ``besides``.

        Nearest here or where the last step would have ended had nothing stopped it: what stopped it was a
        constraint that the working set did not know of, and its neighbours would stop the next one.
        """

    def furthest_step(self, block_weights: FloatArray) -> float:
        """How many times ``block_weights`` (B x n) may be added before a constraint is met: one pass.

        NumPy should not tell about divisions by zero; where that changes the answer there is an error.
        """
        fastest = self._fastest(block_weights)
        if np.isnan(fastest):
            raise FloatingPointError("a constraint holds with equality and its slack is gone")
        return np.inf if fastest <= 0.0 else 1.0 / fastest

    @abstractmethod
    def _fastest(self, block_weights: FloatArray) -> float:
        """The inverse of the furthest step: of the bounds, -1 and 1, a direction meets the one it points to.

        NaN where a constraint has no slack left.
        """

    def make_exact(self, block_weights: FloatArray) -> bool:
        """Take the position of ``C w = block_weights`` anew, and pass over the data exactly from now on.

        Returns whether all constraints have slack there. Asked only of those that are not exact.
        """
        return True

    @abstractmethod
    def advance(self, step: float) -> None:
        """Add ``step`` times the block weights last asked about."""


class MomentConstraintsInMemory(MomentConstraints):
    """Positions in this process, directions by ``correlate`` and columns by ``working_rows``."""

    def __init__(self, features: FeatureMatrix, tau: FloatArray, lam: FloatArray) -> None:
        self._features, self._shape = features, (len(tau), tau.shape[1])
        self._lam, self._tau = lam.ravel(), tau.ravel()
        self._position = self._direction = self._ahead = np.zeros(0)
        self.is_exact = not features.has_rough_passes
        self._gathered: tuple[IntArray, Rows] | None = None

    def begin_at(self, deviations: FloatArray) -> None:
        self._position = deviations / self._lam
        self._ahead = self._position.copy()

    def nearest(self, k: int, besides: IntArray) -> WorkingSet:
        chosen = np.zeros(len(self._position), dtype=np.bool_)
        if 0 < k < len(chosen):
            nearness = np.abs(self._ahead)
            np.maximum(nearness, np.abs(self._position), out=nearness)
            chosen[nearness.argpartition(-k)[-k:]] = True
        elif k > 0:
            chosen[:] = True
        chosen[besides] = True
        return self._gather(chosen.nonzero()[0])

    def _fastest(self, block_weights: FloatArray) -> float:
        features = self._features
        found = (features.correlate if self.is_exact else features.correlate_roughly)(block_weights)
        self._direction = found.ravel()
        self._direction /= self._lam
        speed = np.copysign(1.0, self._direction)
        speed -= self._position
        np.divide(self._direction, speed, out=speed)
        return float(speed.max())

    def make_exact(self, block_weights: FloatArray) -> bool:
        self.is_exact = True
        self._position = (self._features.correlate(block_weights).ravel() - self._tau) / self._lam
        return bool(np.abs(self._position).max() < 1.0)

    def advance(self, step: float) -> None:
        np.add(self._position, self._direction, out=self._ahead)
        self._direction *= step
        self._position += self._direction

    def _gather(self, components: IntArray) -> WorkingSet:
        # Where all constraints stay near, their rows are those of the step before.
        if self._gathered is None or not np.array_equal(self._gathered[0], components):
            self._gathered = components, self._features.working_rows(components % self._shape[1])
        lam, tau, position = self._lam[components], self._tau[components], self._position[components]
        return WorkingSet(components, self._gathered[1], lam, tau, position, self._shape)
