"""The factor of ``E + G`` on a device, for matrices that are large enough to pay for it."""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.namespaces import beside, namespace_of, to_numpy
from minimaxrisk.engines.interior_point.device_rows import DeviceRows
from minimaxrisk.engines.interior_point.factors import REGULARISATIONS, FactorisationError
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.plain_side import Factor
from minimaxrisk.engines.interior_point.signed_system import DiagonalPlusGram, factor_of_sum

# Instances from which on the factor is made on the device. Whole fits on an H200 took, here and there: with
# 200 instances 100 and 107 ms, with 300 87 and 84, with 400 103 and 80, with 600 178 and 99.
MANY_INSTANCES = 300


@factor_of_sum.register
def factor_on_device(
    rows: DeviceRows, working: WorkingSet, block: int, weights: FloatArray, stiffness: FloatArray
) -> Factor[[FloatArray]]:
    part = working.parts[block]
    inner = weights[part] / working.radius[part] ** 2
    if len(stiffness) < MANY_INSTANCES:
        return DiagonalPlusGram(rows.gram(part, inner), stiffness)
    return DiagonalPlusGramThere(rows, part, inner, stiffness, working.radius[part])


class DiagonalPlusGramThere:
    """Cholesky factor of ``E + G`` on the device; right-hand sides go there, solutions come back."""

    def __init__(
        self, rows: DeviceRows, part: slice, weights: FloatArray, stiffness: FloatArray, radius: FloatArray
    ) -> None:
        gram = rows.gram_there(part, weights)
        xp = namespace_of(gram)
        self._xp, self._solve = xp, getattr(xp, "cholesky_solve", None)
        self._columns, self._radius = rows.columns[:, part], radius
        unit = xp.eye(len(stiffness), dtype=gram.dtype, device=gram.device)
        matrix = gram + beside(gram, stiffness) * unit
        for extra in REGULARISATIONS:
            self._matrix = matrix + extra * (matrix * unit) if extra else matrix
            try:
                self._lower = xp.linalg.cholesky(self._matrix)
            except (RuntimeError, np.linalg.LinAlgError):
                continue
            if bool(xp.isfinite(self._lower[-1, -1])):
                return
        raise FactorisationError

    def solve(self, right: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """The step, and what it moves the positions of a single block by, in one message."""
        xp, there = self._xp, beside(self._lower, right[:, None])
        if self._solve is not None:  # PyTorch; the standard knows no systems of triangles
            u = self._solve(there, self._lower)
        else:
            u = xp.linalg.solve(self._matrix, there)
        moved = xp.matrix_transpose(self._columns) @ u
        both = to_numpy(xp.concat([u, moved], axis=0))[:, 0]
        return both[: len(right)], both[len(right) :] / self._radius
