"""What solved radii prove about R* at every radius between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray

# Tangents whose slopes differ by less than this fraction of the steepest one are the same, and so are
# breakpoints nearer to each other than this fraction of the way.
SAME_SLOPE = 1e-7
SAME_PLACE = 1e-9


@dataclass(frozen=True)
class Envelope:
    """Lower bounds at solved radii, ascending, and the tangents found there.

    A tangent is known by its values at the smallest and at the largest radius. Where R* is not ``is_concave``
    to the last digit, lower bounds are those of the next smaller radius: R* never falls.
    """

    radii: FloatArray
    lower: FloatArray
    at_smallest: FloatArray
    at_largest: FloatArray
    is_concave: bool

    def bounds(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Certified bounds on R* at any radii between the smallest and the largest solved one."""
        share = self._share(radius)
        upper = np.array([self._tangents(x).min() for x in share])
        if self.is_concave:
            lower = np.interp(radius, self.radii, self.lower)
        else:
            lower = self.lower[np.searchsorted(self.radii, radius, side="right") - 1]
        return np.minimum(lower, upper), upper

    def breakpoints(self) -> tuple[FloatArray, FloatArray]:
        """Radii at which the least of all tangents changes its slope, ascending, and its values there."""
        slope = self.at_largest - self.at_smallest
        same = SAME_SLOPE * float(np.abs(slope).max())
        current, place = int(np.lexsort((-slope, self.at_largest))[0]), 1.0
        places: list[float] = []
        while True:
            steeper = np.flatnonzero(slope > slope[current] + same)
            crossing = (self.at_smallest[current] - self.at_smallest[steeper]) / (
                slope[steeper] - slope[current]
            )
            if not (crossing > 0.0).any():
                break
            # Of those that cross at the same place the steepest is the least one beyond.
            best = int(np.lexsort((-slope[steeper], -crossing))[0])
            current, crossed = int(steeper[best]), min(float(crossing[best]), place)
            if place - crossed > SAME_PLACE:
                places.append(crossed)
                place = crossed
        share = np.array(places[::-1])
        span = self.radii[-1] - self.radii[0]
        return self.radii[0] + share * span, np.array([self._tangents(x).min() for x in share])

    def _share(self, radius: FloatArray) -> FloatArray:
        span = self.radii[-1] - self.radii[0]
        return (radius - self.radii[0]) / span if span > 0.0 else np.zeros_like(radius)

    def _tangents(self, share: float) -> FloatArray:
        return self.at_smallest + share * (self.at_largest - self.at_smallest)
