"""Hands an iterate of the interior point on from one problem to the next, whose radii are larger.

An iterate that is strictly inside, primal and dual, stays so when radii grow (``Snapshot``), and its gap
grows by ``(new lambda - old lambda)'|mu|``. So the next problem begins with a gap that is little larger than
that. The iterate to hand on is one whose own gap is small beside it. A later one gains nothing, and is too
near to the boundary to go on from.
"""

from __future__ import annotations

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.engines.interior_point.predictor_corrector import InteriorPoint, Snapshot

# The gap of the iterate that is kept: this fraction of what the growth of the radii adds to it. From 0.03 to
# 0.3 the iterations of a path differ by 5% (radii from 0.5 to 3; 12 on GLIOMA and TOX_171, 40 on GLIOMA).
SHARE = 0.1
# No smaller gap than this, however little the radii grow.
SMALLEST_SNAPSHOT_GAP = 1e-5
# What the growth may add: about where the usual beginning takes as many iterations (20 radii from 0.08 to 8
# on GLIOMA, MLL and TOX_171), since the iterate is then nearer to the boundary than it should be.
LARGEST_ADDED = 0.1


class Relay:
    """The snapshot that goes from problem to problem."""

    def __init__(self) -> None:
        # How much larger the radii of the problem after the next one are, as a fraction of its own.
        self.growth = 0.0
        self._held: tuple[Snapshot, FloatArray] | None = None
        self._lam: FloatArray | None = None  # of the problem at work, until an iterate of it is held

    def start_for(self, lam: FloatArray) -> Snapshot | None:
        """Where to begin with these radii; None if nothing is held, or one of them is smaller than before."""
        self._lam = lam
        if self._held is None or (lam < self._held[1]).any():
            return None
        return self._held[0]

    def offer(self, point: InteriorPoint, gap: float) -> None:
        """Keep the first iterate that is near enough, unless the next radii are too far away."""
        if self._lam is None:
            return
        added = self.growth * point.penalty
        if gap <= max(SHARE * added, SMALLEST_SNAPSHOT_GAP):
            self._held = (point.snapshot(), self._lam) if added <= LARGEST_ADDED else None
            self._lam = None

    def drop(self) -> None:
        """What is held turned out to be of no use."""
        self._held = None
