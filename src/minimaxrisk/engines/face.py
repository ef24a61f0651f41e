"""A guess which numbers vanish at the optimum: a face of the uncertainty set's program, often a vertex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Face:
    """Moment constraints that hold with equality, and masses that are not zero.

    For the signed coding the masses are the parts of u = w_0 - w_1, positive and negative; for the
    one-hot coding those of w, some of which are the largest of their instance, r.
    """

    components: IntArray
    side: FloatArray  # 1 where the upper bound holds with equality, -1 where the lower one does
    is_positive: BoolArray  # K x n
    is_largest: BoolArray  # K x n; all True for the signed coding
    is_full: BoolArray  # n; where a known mass is all on one label, so that nothing is to be found
    n_masses_known: int  # equations ``sum w = 1``, or one per instance; none for the signed coding

    @property
    def surplus(self) -> int:
        """How many more masses there are to find than equations for them.

        A positive mass where none is the largest has no place in the equations.
        """
        positive = self.is_positive & ~self.is_full
        largest = positive & self.is_largest
        has_largest = largest.any(axis=0)
        n_masses = (positive & has_largest).sum() - largest.sum() + has_largest.sum()
        return int(n_masses) - len(self.components) - self.n_masses_known

    @property
    def is_square(self) -> bool:
        """Whether there are as many masses to find as equations for them."""
        return self.surplus == 0

    def is_same_as(self, other: Face | None) -> bool:
        return (
            other is not None
            and np.array_equal(self.components, other.components)
            and np.array_equal(self.side, other.side)
            and np.array_equal(self.is_positive, other.is_positive)
            and np.array_equal(self.is_largest, other.is_largest)
            and np.array_equal(self.is_full, other.is_full)
        )
