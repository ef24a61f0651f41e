"""Many problems whose instances are rows of one array, step by step together: columns and linear algebra.

Problem p has n of the N rows, and columns that are those of the array, shifted and scaled. Engines ask for
them divided by the radii, as in the moment constraints:

    psi_pij / lambda_pj = (X[rows_pi, j] - shift_pj) factor_pj / lambda_pj.

A product with all columns is one product with X for all problems, and two vectors of each problem. Only the
columns of working sets are ever written down. Where a problem has B blocks of constraints, all on the same d
columns, each block has radii of its own, and m = B d counts them block by block.

``BatchAlgebra`` uses the array API standard, and where it lacks a function, that of PyTorch or CuPy. A step
of all problems is a few calls to the device, and nothing but the bounds comes back from it.
``NumPyBatchAlgebra`` does the same problem by problem where that keeps a row in cache. What they compute for
one problem depends on no other one, to the last bit: no sum runs over several problems. A container names its
own in ``shared``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from minimaxrisk._utils.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    asarray_like,
    namespace_of,
    places_of_largest,
    to_numpy,
)

# Constraints in a working set, per instance and block: with one block and with several. Members of GLIOMA and
# MLL take 11 iterations with 3.5, 12 with 3, and 14 with 4, whose newcomers disturb the steps.
NEAREST_PER_INSTANCE, NEAREST_OF_SEVERAL = 2.0, 3.5
# Labellings, and problems of a batch, that go together at least.
TILE = 8


def working_set_size(n: int, d: int, n_blocks: int = 1) -> int:
    """How many constraints of n_blocks times d the Newton matrix of n instances uses."""
    per_instance = NEAREST_PER_INSTANCE if n_blocks == 1 else NEAREST_OF_SEVERAL
    return min(n_blocks * d, max(1, int(per_instance * n_blocks * n)))


class BatchColumns(Protocol):
    """The columns of all problems, divided by the radii; the first index is the problem."""

    lam: Any  # problems x m

    def keep(self, places: Any) -> None:
        """Forget the other problems."""
        ...

    def products(self, weights: Any) -> Any:
        """Weights of each block (problems B x n) times each of its columns (problems x m)."""
        ...

    def columns(self, chosen: Any) -> Any:
        """Some of the m of each problem (problems x q) as an array (problems x q x n)."""
        ...


class BatchAlgebra(ABC):
    """Arrays have the problem as first index; the constraints of all its blocks come behind each other."""

    # Bytes of the device's memory that the problems of a batch may take together, and vectors that each has.
    BATCH_BYTES, VECTORS = 8 << 30, 12
    LARGEST_BATCH = 2048
    # The share of problems that are done at which the others go on without them.
    TIDY_UP: ClassVar[float] = 0.5

    is_numpy: ClassVar[bool] = False

    def __init__(self, problems: Sequence[tuple[Any, Any, Any]]) -> None:
        """Of features with the same ``shared.key`` and as many instances each, with their tau and lambda."""
        features, tau, lam = zip(*problems, strict=True)
        self.xp = namespace_of(lam[0])
        self.tau = self.concat([self.xp.reshape(each, (1, -1)) for each in tau], axis=0)
        radii = self.concat([self.xp.reshape(each, (1, -1)) for each in lam], axis=0)
        self.columns = self._columns_of(features, radii)

    @abstractmethod
    def _columns_of(self, features: Sequence[Any], lam: Any) -> BatchColumns: ...

    @classmethod
    def batch_size(cls, n: int, d: int, n_blocks: int) -> int:
        """How many problems with n instances and d columns go through the loop at a time."""
        each = 8 * (n_blocks * (cls.VECTORS * d + 3 * n**2) + 4 * working_set_size(n, d, n_blocks) * n)
        return int(np.clip(cls.BATCH_BYTES // each, 1, cls.LARGEST_BATCH))

    def concat(self, arrays: Sequence[Any], axis: int) -> Any:
        return self.xp.concat(arrays, axis=axis)

    def cumulative_sum(self, values: Any) -> Any:
        """Along each row."""
        return self.xp.cumulative_sum(values, axis=1)

    def keep(self, places: IntArray) -> None:
        """Forget the other problems."""
        there = asarray_like(self.tau, places)
        self.tau = self.xp.take(self.tau, there, axis=0)
        self.columns.keep(there)

    def may_be_any(self, mask: Any) -> bool:
        """False if the mask is known to be false everywhere. To ask a device would be to wait for it."""
        return True

    def unsorted(self, values: Any, order: Any) -> Any:
        """Values of sorted rows in the order that the rows had before; ``order`` sorted them."""
        return self._scattered(self.xp.empty_like(values), order, values)

    def _scattered(self, values: Any, places: Any, entries: Any) -> Any:
        """The values, which may be overwritten, with other entries at some places of each row."""
        if hasattr(values, "scatter"):  # PyTorch
            return values.scatter(1, places, entries)
        if hasattr(self.xp, "put_along_axis"):  # NumPy, CuPy
            self.xp.put_along_axis(values, places, entries, axis=1)
            return values
        here = to_numpy(values)
        np.put_along_axis(here, to_numpy(places), to_numpy(entries), axis=1)
        return asarray_like(values, here)

    def nearest(self, position: Any, q: int, old: Any | None, pulls: Any | None) -> Any:
        """The q constraints nearest to their bounds, after those of the old working sets that pull."""
        xp = self.xp
        key = xp.abs(position)
        if old is not None:
            own = xp.take_along_axis(key, old, axis=1)
            key = self._scattered(key, old, xp.where(pulls, 2.0, own))
        return places_of_largest(key, q)

    def carried_over(self, values: Any, old: Any, chosen: Any, of_newcomers: Any) -> Any:
        """Values of the old working sets (problems x 2 x q) in the order of the new ones."""
        xp = self.xp
        same = xp.astype(chosen[:, None, :] == old[:, :, None], xp.float64)
        stays = xp.sum(same, axis=1)[:, None, :] > 0.0
        return xp.where(stays, values @ same, of_newcomers)

    def fastest(self, movement: Any, position: Any) -> Any:
        """How fast each problem comes to a bound: one over the steps that it may go; NaN is passed on.

        Of the two bounds, -1 and 1, a movement can only meet the one it points to.
        """
        xp = self.xp
        return xp.max(movement / xp.where(movement < 0.0, -1.0 - position, 1.0 - position), axis=1)

    def move(self, position: Any, movement: Any, step: Any) -> None:
        """Add so many times the movements, which may be overwritten, to the positions."""
        movement *= step
        position += movement

    def factorise(self, rows: Any, diagonal: Any) -> Any:
        """Keep Cholesky factors of ``rows' rows`` with something added to the diagonal; tell which failed."""
        xp = self.xp
        unit = xp.eye(rows.shape[2], dtype=xp.float64, device=rows.device)
        self._matrices = xp.matrix_transpose(rows) @ rows + diagonal[:, :, None] * unit
        if hasattr(xp.linalg, "cholesky_ex"):  # PyTorch
            self._factors, info = xp.linalg.cholesky_ex(self._matrices)
            return info != 0
        try:
            return xp.isnan(xp.linalg.cholesky(self._matrices)[:, -1, -1])
        except Exception:  # some libraries raise an error of their own if one problem fails
            failed = [self._is_indefinite(self._matrices[i, :, :]) for i in range(rows.shape[0])]
        there = asarray_like(rows, np.array(failed))
        self._matrices = xp.where(there[:, None, None], unit, self._matrices)
        return there

    def _is_indefinite(self, matrix: Any) -> bool:
        try:
            return bool(self.xp.isnan(self.xp.linalg.cholesky(matrix)[-1, -1]))
        except Exception:
            return True

    def solve(self, right: Any) -> Any:
        """The solutions of the systems factorised last, for one right-hand side each."""
        if hasattr(self.xp, "cholesky_solve"):  # PyTorch; the standard has no triangular systems
            return self.xp.cholesky_solve(right[:, :, None], self._factors)[:, :, 0]
        return self.xp.linalg.solve(self._matrices, right[:, :, None])[:, :, 0]


class MatrixColumns:
    """Columns of a matrix, or of parts of it.

    Products are made in tiles of the same shape always, since the answer to one problem must not depend on
    which others are asked with it.
    """

    def __init__(self, features: Sequence[Any], lam: FloatArray) -> None:
        first = features[0]
        self._matrix, self._d = first.whole, first.shape[1]
        self.lam, self._factor = lam, 1.0 / lam
        self._rows: IntArray | None = None
        self._offset = np.zeros((len(lam), 0))
        if first is not first.whole:
            n_blocks = lam.shape[1] // self._d
            self._rows = np.stack([part.rows for part in features])
            self._factor *= np.stack([np.tile(part.factor, n_blocks) for part in features])
            self._offset = self._factor * np.stack([np.tile(part.shift, n_blocks) for part in features])

    def keep(self, places: IntArray) -> None:
        self.lam, self._factor, self._offset = self.lam[places], self._factor[places], self._offset[places]
        self._rows = None if self._rows is None else self._rows[places]

    def products(self, weights: FloatArray) -> FloatArray:
        if self._rows is None:
            found = self._matrix.correlate_many(weights).reshape(self.lam.shape)
            found *= self._factor
            return found
        lifted = np.zeros((len(weights), self._matrix.shape[0]))
        rows = np.repeat(self._rows, len(weights) // len(self._rows), axis=0)
        np.put_along_axis(lifted, rows, weights, axis=1)
        found = self._matrix.correlate_many(lifted)
        factors, offsets = self._factor.reshape(found.shape), self._offset.reshape(found.shape)
        # Row by row, which stays in cache.
        masses = weights.sum(axis=1)
        for i, (factor, offset) in enumerate(zip(factors, offsets, strict=True)):
            found[i] *= factor
            found[i] -= masses[i] * offset
        return found.reshape(self.lam.shape)

    def columns(self, chosen: IntArray) -> FloatArray:
        by_column, place = self._matrix.values.T, chosen % self._d
        factor = np.take_along_axis(self._factor, chosen, axis=1)[:, :, None]
        if self._rows is None:
            columns = by_column.take(place, axis=0)
            columns *= factor
            return columns
        columns = np.empty((*chosen.shape, self._rows.shape[1]))
        for found, own, rows in zip(columns, place, self._rows, strict=True):
            # Whole columns first: half the time of the same numbers by their places.
            by_column.take(own, axis=0).take(rows, axis=1, out=found, mode="clip")
        columns *= factor
        columns -= np.take_along_axis(self._offset, chosen, axis=1)[:, :, None]
        return columns


class NumPyBatchAlgebra(BatchAlgebra):
    """The same in plain NumPy and LAPACK."""

    is_numpy = True
    # Numbers held at a time for all problems of a batch; at least one tile of problems goes through, though.
    BATCH_ELEMENTS = 1 << 22
    LARGEST_BATCH = 32
    TIDY_UP = 0.0
    # The working set is looked for among the constraints that are this near, relative to the furthest of the
    # last one.
    LOWER_CUT = 0.8

    def __init__(self, problems: Sequence[tuple[Any, Any, Any]]) -> None:
        super().__init__(problems)
        self._cut = np.full(len(problems), np.inf)
        self._place = np.zeros(self.tau.size, dtype=np.intp)
        self._factors: list[FloatArray] = []

    def _columns_of(self, features: Sequence[Any], lam: FloatArray) -> MatrixColumns:
        return MatrixColumns(features, lam)

    @classmethod
    def batch_size(cls, n: int, d: int, n_blocks: int) -> int:
        each = 2 * working_set_size(n, d, n_blocks) * n + n_blocks * (n**2 + 8 * d)
        return int(np.clip(cls.BATCH_ELEMENTS // each // TILE * TILE, TILE, cls.LARGEST_BATCH))

    def concat(self, arrays: Sequence[FloatArray], axis: int) -> FloatArray:
        return np.concatenate(arrays, axis=axis)

    def cumulative_sum(self, values: FloatArray) -> FloatArray:
        return np.cumsum(values, axis=1)

    def keep(self, places: IntArray) -> None:
        super().keep(places)
        self._cut = self._cut[places]

    def may_be_any(self, mask: BoolArray) -> bool:
        return bool(mask.any())

    def nearest(
        self, position: FloatArray, q: int, old: IntArray | None, pulls: BoolArray | None
    ) -> IntArray:
        """Row by row, which keeps each in cache; the cut of the last time leaves few to choose from."""
        chosen, key = np.empty((len(position), q), dtype=np.intp), np.empty(position.shape[1])
        for i, row in enumerate(position):
            np.abs(row, out=key)
            if old is not None and pulls is not None:
                key[old[i, pulls[i]]] = np.inf
            near = np.flatnonzero(key > self.LOWER_CUT * self._cut[i])
            if len(near) < q:
                near = np.arange(len(key))
            size = key[near]
            place = np.argpartition(size, len(near) - q)[len(near) - q :]
            self._cut[i] = size[place[0]]
            chosen[i] = near[place]
        chosen.sort(axis=1)
        return chosen

    def carried_over(
        self, values: FloatArray, old: IntArray, chosen: IntArray, of_newcomers: FloatArray
    ) -> FloatArray:
        first = self.tau.shape[1] * np.arange(len(old))[:, None]
        now, place = first + chosen, self._place
        place[now] = -1
        place[first + old] = np.arange(old.shape[1])
        before = place[now][:, None, :]
        return np.where(before >= 0, np.take_along_axis(values, before, axis=2), of_newcomers)

    def fastest(self, movement: FloatArray, position: FloatArray) -> FloatArray:
        found, speed = np.empty(len(movement)), np.empty(movement.shape[1])
        for i, row in enumerate(movement):
            np.copysign(1.0, row, out=speed)
            speed -= position[i]
            np.divide(row, speed, out=speed)
            found[i] = speed.max()
        return found

    def move(self, position: FloatArray, movement: FloatArray, step: FloatArray) -> None:
        for place, row, length in zip(position, movement, step, strict=True):
            np.multiply(row, length, out=row)
            np.add(place, row, out=place)

    def factorise(self, rows: FloatArray, diagonal: FloatArray) -> BoolArray:
        matrices = rows.transpose(0, 2, 1) @ rows
        in_place = matrices.reshape(len(rows), -1)[:, :: rows.shape[2] + 1]
        in_place += diagonal
        failed = np.zeros(len(rows), dtype=np.bool_)
        self._factors = []
        for i, matrix in enumerate(matrices):
            factor, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
            self._factors.append(factor)
            failed[i] = info != 0
        return failed

    def solve(self, right: FloatArray) -> FloatArray:
        found = np.empty_like(right)
        for i, factor in enumerate(self._factors):
            found[i] = dpotrs(factor, right[i], lower=1)[0]
        return found
