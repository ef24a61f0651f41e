"""``(H + R' D R) u = g`` for many instances and few constraints, without a matrix of n x n.

H is block diagonal, B x B per instance. At the optimum H nearly vanishes for the few instances that are
active, and ``u = H^-1 (g - ...)`` loses all digits there. So the softest instances F stay in the system as
they are and only the others, P, are eliminated. With R the rows (|Q| x n B):

    S = D^-1 + R_P H_P^-1 R_P',
    (H_F + R_F' S^-1 R_F) u_F = g_F - R_F' S^-1 R_P H_P^-1 g_P,
    S y = R_F u_F + R_P H_P^-1 g_P,      u_P = H_P^-1 (g_P - R_P' y).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyrk, dtrsm

from minimaxrisk.arrays import FloatArray
from minimaxrisk.engines.factors import cholesky, cholesky_solve, diagonal_of
from minimaxrisk.engines.moment_constraints import WorkingSet

# Softest instances kept, per constraint; about as many are active at the optimum as there are constraints.
KEPT_PER_CONSTRAINT = 2.0


class SmallSide:
    """Factors of size |Q| and a few times |Q|; ``hessian`` and its ``inverse`` are B x B x n."""

    def __init__(
        self, hessian: FloatArray, inverse: FloatArray, working: WorkingSet, weights: FloatArray
    ) -> None:
        n_blocks, n = len(hessian), hessian.shape[2]
        self._working = working
        n_kept = min(n, int(KEPT_PER_CONSTRAINT * len(working) / n_blocks) + 8)
        softness = np.einsum("bbi->bi", inverse).max(axis=0)
        self._kept = kept = np.sort(np.argpartition(-softness, n_kept - 1)[:n_kept])
        # Zero compliance at F leaves P alone in every sum below.
        self._inverse = inverse.copy()
        self._inverse[:, :, kept] = 0.0
        self._rows = working.rows / working.radius[:, None]
        self._small = cholesky(self._small_matrix(weights))
        self._half = dtrsm(1.0, self._small, self._kept_rows(), lower=1, overwrite_b=1)
        soft = dsyrk(1.0, self._half, trans=1, lower=1)
        for b in range(n_blocks):
            for c in range(b + 1):
                rows, columns = np.arange(n_kept) + b * n_kept, np.arange(n_kept) + c * n_kept
                soft[rows, columns] += hessian[b, c, kept]
        self._soft = cholesky(soft)

    @staticmethod
    def pays(n_instances: int, n_constraints: int) -> bool:
        """Whether this is cheaper than factors of n x n."""
        return 3 * n_constraints <= n_instances

    def solve(self, g: FloatArray) -> FloatArray:
        """u (B x n) from g (B x n)."""
        working, kept = self._working, self._kept
        eliminated = working.moments(np.einsum("bci,ci->bi", self._inverse, g))
        half = dtrsm(1.0, self._small, eliminated, lower=1).ravel()
        right = g[:, kept].ravel() - half @ self._half
        u_kept = cholesky_solve(self._soft, right)
        y = dtrsm(1.0, self._small, self._half @ u_kept + half, lower=1, trans_a=1).ravel()
        u = np.einsum("bci,ci->bi", self._inverse, g - working.scores(y))
        u[:, kept] = u_kept.reshape(len(g), -1)
        return u

    def _small_matrix(self, weights: FloatArray) -> FloatArray:
        working, size = self._working, len(self._working)
        matrix = np.zeros((size, size), order="F")
        for b in range(len(working.parts)):
            rows_b = self._rows[working.parts[b]]
            for c in range(b + 1):
                rows_c = self._rows[working.parts[c]]
                matrix[working.parts[b], working.parts[c]] = (rows_b * self._inverse[b, c]) @ rows_c.T
        diagonal = diagonal_of(matrix)
        diagonal += 1.0 / weights
        return matrix

    def _kept_rows(self) -> FloatArray:
        working, kept = self._working, self._kept
        rows = np.zeros((len(working), len(working.parts) * len(kept)), order="F")
        for b in range(len(working.parts)):
            rows[working.parts[b], b * len(kept) : (b + 1) * len(kept)] = self._rows[working.parts[b]][:, kept]
        return rows
