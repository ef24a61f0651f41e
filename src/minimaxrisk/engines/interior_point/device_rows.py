"""The columns of a working set on a device, and the sums that Newton systems take over them.

Products of matrices are made on the device. A product with a vector is not worth a message there and back
while the rows are few numbers: then a copy of them here answers.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import Float32Array, FloatArray, IntArray
from minimaxrisk._utils.namespaces import beside, namespace_of, to_numpy

# Numbers up to which rows are copied here. With four times as many, fits of 400 instances took 93 ms instead
# of 80 on an H200, with a quarter those of 200 104 instead of 100.
FEW_NUMBERS = 1 << 18


class DeviceRows:
    """``Rows`` given by the columns (n x |Q|) on the device."""

    def __init__(self, columns: Any) -> None:
        self.columns = columns
        self.shape = columns.shape[1], columns.shape[0]
        self._are_few = columns.shape[0] * columns.shape[1] <= FEW_NUMBERS

    @cached_property
    def _here(self) -> FloatArray:
        return to_numpy(self.columns).T

    def __getitem__(self, chosen: IntArray | slice) -> FloatArray:
        return self._here[chosen]

    def at(self, part: slice, instances: IntArray) -> FloatArray:
        return self._here[part, instances]

    def combine(self, part: slice, coefficients: FloatArray) -> FloatArray:
        if self._are_few:
            return coefficients @ self._here[part]
        return to_numpy(self.columns[:, part] @ beside(self.columns, coefficients))

    def correlate(self, part: slice, weights: FloatArray) -> FloatArray:
        if self._are_few:
            return self._here[part] @ weights
        return to_numpy(beside(self.columns, weights) @ self.columns[:, part])

    def gram(self, part: slice, weights: FloatArray) -> FloatArray:
        return to_numpy(self.gram_there(part, weights)).T  # in Fortran order

    def gram_roughly(self, part: slice, weights: FloatArray) -> Float32Array:
        return self.gram(part, weights).astype(np.float32)

    def gram_there(self, part: slice, weights: FloatArray) -> Any:
        """``gram`` on the device, all of it."""
        scaled = self.columns[:, part] * beside(self.columns, np.sqrt(weights))
        return scaled @ namespace_of(scaled).matrix_transpose(scaled)

    def cross(self, part: slice, other: slice, weights: FloatArray) -> FloatArray:
        transposed = namespace_of(self.columns).matrix_transpose(self.columns[:, other])
        weighted = self.columns[:, part] * beside(self.columns, weights[:, None])
        return to_numpy(transposed @ weighted).T

    def coupled(self, parts: tuple[slice, ...], weights: FloatArray) -> FloatArray:
        xp = namespace_of(self.columns)
        there = beside(self.columns, weights)
        weighted = [self.columns[:, part] * there[b, :][:, None] for b, part in enumerate(parts)]
        together = xp.concat(weighted, axis=1)
        return to_numpy(xp.matrix_transpose(together) @ together).T
