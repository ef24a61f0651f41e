"""``(H + R' D R) u = g`` for many instances and few constraints, without a matrix of n x n.

H is block diagonal, one block per instance. At the optimum it nearly vanishes for the few instances that
are active, and ``u = H^-1 (g - ...)`` loses all digits there. So the softest instances F stay in the
system, in coordinates v of the caller's choice (u_F = J v, in which H_F is K), and only the others, P, are
eliminated. With R the rows (|Q| x n B):

    S = D^-1 + R_P H_P^-1 R_P',
    (K + J' R_F' S^-1 R_F J) v = J' g_F - J' R_F' S^-1 R_P H_P^-1 g_P,
    S y = R_F u_F + R_P H_P^-1 g_P,      u_P = H_P^-1 (g_P - R_P' y).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyrk, dtrsm

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.interior_point.factors import cholesky, cholesky_solve, diagonal_of
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet

# Softest instances kept, per constraint; about as many are active at the optimum as there are constraints.
KEPT_PER_CONSTRAINT = 2.0
FEWEST_KEPT = 8


def pays(n: int, n_constraints: int, n_blocks: int) -> bool:
    """Whether this takes fewer operations than factors of n x n.

    Those take a third of n^3 for a single block, and four thirds for each of several.
    """
    here = n * n_constraints**2 + 11.0 * n_constraints**3
    there = n_constraints * n**2 + n**3 * (1.0 / 3.0 if n_blocks == 1 else 4.0 / 3.0 * n_blocks)
    return here < there


def softest(inverse: FloatArray, n_constraints: int) -> IntArray:
    """The instances F, by the diagonal of the inverse blocks (B x B x n), ascending."""
    n_blocks, n = len(inverse), inverse.shape[2]
    n_kept = min(n, int(KEPT_PER_CONSTRAINT * n_constraints / n_blocks) + FEWEST_KEPT)
    softness = np.einsum("bbi->bi", inverse).max(axis=0)
    return np.sort(np.argpartition(-softness, n_kept - 1)[:n_kept])


@dataclass(frozen=True)
class Kept:
    """The instances F, the lower triangle of K (overwritten), and J."""

    instances: IntArray
    stiffness: FloatArray
    coordinates: sparse.csr_array


class SmallSide:
    """Factors of size ``|Q|`` and a few times that; ``inverse`` holds H^-1 (B x B x n)."""

    def __init__(self, working: WorkingSet, weights: FloatArray, inverse: FloatArray, kept: Kept) -> None:
        self._working, self._kept = working, kept
        self._weights = weights
        # Zero compliance at F leaves P alone in every sum below.
        self._inverse = inverse.copy()
        self._inverse[:, :, kept.instances] = 0.0
        self._small = cholesky(self._small_matrix())
        half = dtrsm(1.0, self._small, self._kept_rows(), lower=1, overwrite_b=1)
        self._half = np.asfortranarray(half @ kept.coordinates)
        self._soft = cholesky(dsyrk(1.0, self._half, beta=1.0, c=kept.stiffness, trans=1, lower=1))

    def solve(self, g: FloatArray, g_kept: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """u (B x n), v and R u from g (B x n) and J'g_F.

        R u is y/D, which has all its digits also where D is huge and the sum R u would cancel.
        """
        working = self._working
        eliminated = working.moments(np.einsum("bci,ci->bi", self._inverse, g))
        half = dtrsm(1.0, self._small, eliminated, lower=1).ravel()
        v = cholesky_solve(self._soft, g_kept - half @ self._half)
        y = dtrsm(1.0, self._small, self._half @ v + half, lower=1, trans_a=1).ravel()
        u = np.einsum("bci,ci->bi", self._inverse, g - working.scores(y))
        u[:, self._kept.instances] = (self._kept.coordinates @ v).reshape(len(g), -1)
        return u, v, y / self._weights

    def _small_matrix(self) -> FloatArray:
        matrix = sum_over_instances(self._working, self._inverse)
        diagonal = diagonal_of(matrix)
        diagonal += 1.0 / self._weights
        return matrix

    def _kept_rows(self) -> FloatArray:
        """R_F, block diagonal (|Q| x B |F|)."""
        working, kept = self._working, self._kept.instances
        rows = np.zeros((len(working), len(working.parts) * len(kept)), order="F")
        for b, part in enumerate(working.parts):
            scaled = working.rows.at(part, kept) / working.radius[part][:, None]
            rows[part, b * len(kept) : (b + 1) * len(kept)] = scaled
        return rows


def sum_over_instances(working: WorkingSet, inverse: FloatArray) -> FloatArray:
    """Lower triangle of ``R H^-1 R'`` (|Q| x |Q|), ``inverse`` being H^-1 (B x B x n)."""
    matrix = np.zeros((len(working), len(working)), order="F")
    for b, part in enumerate(working.parts):
        for c, other in enumerate(working.parts[: b + 1]):
            matrix[part, other] = working.rows.cross(part, other, inverse[b, c])
    matrix /= working.radius
    matrix /= working.radius[:, None]
    return matrix
