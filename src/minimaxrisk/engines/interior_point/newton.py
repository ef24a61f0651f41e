"""What the interior point asks of a Newton system; there is one per coding.

Both codings lead to a program over pairs of non-negative numbers (x, z), primal and dual, that belong to
instances, and pairs (s, y) that belong to moment constraints. A system knows the first kind. Given what
the second kind adds, ``G_b = rows' D rows`` on each block, it eliminates everything but positive
definite matrices of n x n or smaller. Sums of positive terms stay sums: textbook Woodbury forms
subtract, and stall four digits earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet

# What the start adds to every primal number, in units of 1/n, so that none begins near zero.
OFFSET = 0.5


@dataclass(frozen=True)
class InstanceStep:
    """A Newton step of the numbers that belong to instances."""

    dx: FloatArray
    dz: FloatArray
    block_weights: FloatArray  # change of C w (B x n)
    moved: FloatArray | None  # that of the working set's positions, where it is known better than by a sum
    dphi: float | FloatArray = 0.0


class NewtonSystem(Protocol):
    """Pairs (x, z) that belong to instances, and how to solve for their Newton step."""

    x: FloatArray
    z: FloatArray

    def distribution(self) -> FloatArray:
        """The distribution w that x stands for (K x n)."""
        ...

    def upper_bound(self, gain: float, scores: FloatArray) -> tuple[float, float]:
        """A bound that multipliers with these block scores prove, and the factor to scale them with.

        ``gain`` is ``tau'mu - lambda'|mu|``.
        """
        ...

    def support(self) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Masses that seem positive at the optimum, those that seem largest, and instances that are full."""
        ...

    def factorise(self, working: WorkingSet, weights: FloatArray, scores: FloatArray) -> None:
        """Prepare ``solve``: ``weights`` is the diagonal D, ``scores`` those of the multipliers (B x n)."""
        ...

    def solve(self, target: FloatArray, pull: FloatArray) -> InstanceStep:
        """The step.

        ``target`` is what ``x dz + z dx`` should be, ``pull`` (B x n) the scores of the part of the
        multipliers' change that does not depend on dx.
        """
        ...

    def advance(self, step: InstanceStep, primal_length: float, dual_length: float) -> None: ...
