"""The moment constraints of features on a device, with the columns of working sets, which stay there.

Products of matrices and large factors are made on the device. A product with a vector is not worth a message
there and back while the rows are few numbers: then a copy of them here answers.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from minimaxrisk._utils.arrays import (
    FloatArray,
    IntArray,
    asarray_like,
    entries_at,
    namespace_of,
    places_of_largest,
    to_numpy,
)
from minimaxrisk._utils.positive_definite import REGULARISATIONS, FactorisationError, cholesky_solve
from minimaxrisk.features.device_fused import copied, fused_nearby, has_fused
from minimaxrisk.features.moment_constraints import MomentConstraints, WorkingSet
from minimaxrisk.features.working_rows import Rows

if TYPE_CHECKING:
    from minimaxrisk.features.device import DeviceFeatures

# A list has room for so many constraints besides twice those wanted. It holds those nearer than this fraction
# of the last k-th nearest one, and if that were too few or too many for it, of others.
LISTED, STILL_NEAR, TOO_FEW, TOO_MANY, LISTS = 4096, 0.9, 0.8, 1.12, 3
# Instances from which on the device that holds the rows factorises ``E + G``. With an H200 the matrix and its
# factor took here and there: 116 and 182 microseconds with 100 instances, 497 and 295 with 200, 1550 and 511
# with 400.
FEWEST_ON_DEVICE = 150
# Numbers up to which rows are copied here. With four times as many, fits of 400 instances took 93 ms instead
# of 80 on an H200, with a quarter those of 200 104 instead of 100.
FEW_NUMBERS = 1 << 18


class MomentConstraintsOnDevice(MomentConstraints):
    """Single numbers and the columns of working sets are copied to this process, nothing else."""

    def __init__(self, features: DeviceFeatures, tau: Any, lam: Any) -> None:
        self._features, self._xp, self._shape = features, features.xp, tuple(tau.shape)
        self._lam, self._tau = (self._xp.reshape(each, (-1,)) for each in (lam, tau))
        self._threshold = np.inf  # how near the constraints that are listed should be

    def begin_at(self, deviations: Any) -> None:
        self._position = deviations / self._lam
        self._direction, self._beyond = self._xp.zeros_like(self._lam), 0.0

    def nearest(self, k: int, besides: IntArray) -> WorkingSet:
        m = self._lam.shape[0]
        if k >= m:
            return self._gather(np.arange(m))
        if k > 0:
            together = np.sort(np.concatenate([self._places_of_nearest(k), besides]))
            besides = together[np.append(True, together[1:] > together[:-1])]
        return self._gather(besides)

    def _places_of_nearest(self, k: int) -> IntArray:
        """From a list of those about as near as the nearest ones were, or if that fails by a look at all."""
        xp, can_list, direction = self._xp, has_fused(self._position), (self._direction, self._beyond)
        for _ in range(LISTS if can_list and np.isfinite(self._threshold) else 0):
            listed = fused_nearby(self._position, *direction, self._threshold, LISTED + 2 * k)
            if listed is None:
                self._threshold *= TOO_MANY
            elif len(listed[0]) < k:
                self._threshold *= TOO_FEW
            else:
                components, nearness = listed
                least = float(np.partition(nearness, -k)[-k])
                self._threshold = STILL_NEAR * min(least, 1.0)
                return components[nearness >= least]
        ahead = self._position + self._beyond * self._direction
        nearness = xp.maximum(xp.abs(ahead), xp.abs(self._position))
        places = places_of_largest(nearness, k)
        if can_list:
            self._threshold = STILL_NEAR * min(float(xp.min(xp.take(nearness, places))), 1.0)
        return to_numpy(places)

    def _fastest(self, block_weights: FloatArray) -> float:
        """By one kernel, where there is one."""
        fastest, xp, position = None, self._xp, self._position
        if len(block_weights) == 1:
            fastest = self._features.fused_step(block_weights, self._scale, position, self._direction)
        if fastest is None:
            found = xp.reshape(self._features.correlate_on_device(block_weights), (-1,))
            self._direction = direction = found / self._lam
            slack = xp.where(direction < 0.0, -1.0 - position, 1.0 - position)
            fastest = float(xp.max(direction / slack))
        return fastest if np.isfinite(fastest) else np.nan  # the kernel answers infinity for NaN

    @cached_property
    def _scale(self) -> Any:
        """Of the centred data to positions."""
        lead = int(self._features.has_intercept)
        return self._xp.concat([1.0 / self._lam[:lead], self._features.factor / self._lam[lead:]])

    def advance(self, step: float) -> None:
        if hasattr(self._position, "add_"):  # PyTorch
            self._position.add_(self._direction, alpha=step)
        else:
            self._position += step * self._direction
        self._beyond = 1.0 - step

    def _gather(self, components: IntArray) -> WorkingSet:
        n, vectors = self._features.shape[0], (self._lam, self._tau, self._position)
        lines = self._features.fused_columns(components, *vectors)
        if lines is None:
            rows = DeviceRows(self._features.columns_on_device(components % self._shape[1]))
            lam, tau, position = entries_at(components, *vectors)
        else:
            # One message.
            here = copied(lines if DeviceRows.are_few(len(components), n) else lines[:, n:])
            rows = DeviceRows(self._xp.matrix_transpose(lines[:, :n]), here[:, :-3])
            lam, tau, position = np.ascontiguousarray(here[:, -3:].T)
        return WorkingSet(components, rows, lam, tau, position, self._shape)


class DeviceRows(Rows):
    """``Rows`` given by the columns (n x |Q|) on the device."""

    def __init__(self, columns: Any, copy: FloatArray | None = None) -> None:
        """``copy`` holds the rows here if they are few."""
        self.columns = columns
        self._are_few = self.are_few(*self.shape)
        if self._are_few and copy is not None:
            self._copy = copy

    @staticmethod
    def are_few(n_rows: int, n: int) -> bool:
        """Whether the rows are copied here."""
        return n_rows * n <= FEW_NUMBERS

    @property
    def shape(self) -> tuple[int, int]:
        return self.columns.shape[1], self.columns.shape[0]

    @cached_property
    def _copy(self) -> FloatArray:
        return to_numpy(self.columns).T

    def __getitem__(self, chosen: IntArray | slice) -> FloatArray:
        return self._copy[chosen]

    def at(self, part: slice, instances: IntArray) -> FloatArray:
        return self._copy[part, instances]

    def combine(self, part: slice, coefficients: FloatArray) -> FloatArray:
        if self._are_few:
            return coefficients @ self._copy[part]
        return to_numpy(self.columns[:, part] @ asarray_like(self.columns, coefficients))

    def correlate(self, part: slice, weights: FloatArray) -> FloatArray:
        if self._are_few:
            return self._copy[part] @ weights
        return to_numpy(asarray_like(self.columns, weights) @ self.columns[:, part])

    def gram(self, part: slice, weights: FloatArray) -> FloatArray:
        return copied(self.gram_on_device(part, weights)).T  # in Fortran order

    def gram_on_device(self, part: slice, weights: FloatArray) -> Any:
        """``gram`` on the device, all of it."""
        scaled = self.columns[:, part] * asarray_like(self.columns, np.sqrt(weights))
        return scaled @ namespace_of(scaled).matrix_transpose(scaled)

    def own_factor(
        self, part: slice, weights: FloatArray, stiffness: FloatArray, unit: FloatArray
    ) -> FactorOnDevice | None:
        if len(stiffness) < FEWEST_ON_DEVICE:
            return None
        return FactorOnDevice(self, part, weights, stiffness, unit)

    def cross(self, part: slice, other: slice, weights: FloatArray) -> FloatArray:
        transposed = namespace_of(self.columns).matrix_transpose(self.columns[:, other])
        weighted = self.columns[:, part] * asarray_like(self.columns, weights[:, None])
        return to_numpy(transposed @ weighted).T

    def coupled(self, parts: tuple[slice, ...], weights: FloatArray) -> FloatArray:
        xp = namespace_of(self.columns)
        there = asarray_like(self.columns, weights)
        weighted = [self.columns[:, part] * there[b, :][:, None] for b, part in enumerate(parts)]
        together = xp.concat(weighted, axis=1)
        return to_numpy(xp.matrix_transpose(together) @ together).T


class FactorOnDevice:
    """Cholesky factor made on the device that holds the rows.

    It comes here where the rows did. Otherwise right-hand sides are sent, and solutions come back.
    """

    def __init__(
        self, rows: DeviceRows, part: slice, weights: FloatArray, stiffness: FloatArray, unit: FloatArray
    ) -> None:
        gram = rows.gram_on_device(part, weights)
        self._xp = xp = namespace_of(gram)
        self._columns, self._unit = rows.columns[:, part], unit
        matrix = _with_diagonal(gram, asarray_like(gram, stiffness))
        for extra in REGULARISATIONS:
            self._matrix = _with_diagonal(matrix, extra * xp.linalg.diagonal(matrix)) if extra else matrix
            lower = _cholesky_on_device(self._matrix)
            if lower is not None:
                self._lower = lower
                self._here = np.asfortranarray(copied(lower)) if rows.are_few(*rows.shape) else None
                return
        raise FactorisationError

    def solve(self, right: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """The solution and the products of the rows with it, in one message."""
        if self._here is not None:
            return cholesky_solve(self._here, right), None
        xp, column = self._xp, asarray_like(self._lower, right[:, None])
        if hasattr(xp, "cholesky_solve"):  # PyTorch; the array API standard has no triangular solver
            u = xp.cholesky_solve(column, self._lower)
        else:
            u = xp.linalg.solve(self._matrix, column)
        moved = xp.matrix_transpose(self._columns) @ u
        both = to_numpy(xp.concat([u, moved], axis=0))[:, 0]
        return both[: len(right)], both[len(right) :] / self._unit


def _with_diagonal(matrix: Any, diagonal: Any) -> Any:
    """The matrix, with something added to its diagonal."""
    if hasattr(matrix, "diagonal_scatter"):  # PyTorch, whose diagonals are views
        matrix.diagonal().add_(diagonal)
        return matrix
    xp = namespace_of(matrix)
    return matrix + diagonal * xp.eye(diagonal.shape[0], dtype=matrix.dtype, device=matrix.device)


def _cholesky_on_device(matrix: Any) -> Any | None:
    """The lower Cholesky factor; None if the matrix is not positive definite."""
    linalg = namespace_of(matrix).linalg
    if hasattr(linalg, "cholesky_ex"):  # PyTorch
        lower, info = linalg.cholesky_ex(matrix)
        return None if int(info) else lower
    try:
        lower = linalg.cholesky(matrix)
    except (RuntimeError, np.linalg.LinAlgError):
        return None
    return lower if np.isfinite(float(lower[-1, -1])) else None
