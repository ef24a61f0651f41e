"""Positive definite linear systems by LAPACK, with lower triangles in Fortran order throughout.

``(H + R' D R) u = g`` for fewer constraints than instances, by one matrix of the size of the working set.

The plain form of Woodbury's identity, with R the rows (|Q| x n B) and H block diagonal, one block per
instance, whose inverse is a sum of positive terms, ``diag(own) + shared shared'``:

    S = D^-1 + R H^-1 R',      S y = R H^-1 g,      u = H^-1 (g - R' y),      R u = y/D.

It costs a fraction of what ``small_side`` does, which keeps the softest instances in the system. In return
digits are lost: H^-1 grows without limit at the instances that carry mass at the optimum, and ``g - R'y``
cancels there. How many are lost shows at the price of one product, because R u is known twice. Where the two
values disagree, ``CautiousFactor`` goes over to the careful factors, and stays with them.

The Newton step of the one-hot coding in single precision, as long as that is accurate enough.

Far from the optimum a step need not be accurate: what it misses of stationarity stays in the residual that
the next one starts from, the moments come from passes of their own, and bounds are computed from the pair
that is reached. So the matrices are those of ``EpigraphFactor`` in single precision, and steps are products
with their inverses instead of pairs of triangular systems.

Near the optimum the matrices are too ill-conditioned for that. How much a solution misses shows in double
precision, at the price of two products with the rows, since ``G dw = R'D R dw`` in

    (G + A) dw - B room = g,    sum_k B room = g_r,    room = dr - dw.

It is tried on the equal right-hand sides by which sum w is kept.

``(H + R' D R) u = g`` for many instances and few constraints, without a matrix of n x n.

H is block diagonal, one block per instance. At the optimum it nearly vanishes for the few instances that
are active, and ``u = H^-1 (g - ...)`` loses all digits there. So the softest instances F stay in the
system, in coordinates v of the caller's choice (u_F = J v, in which H_F is K), and only the others, P, are
eliminated. With R the rows (|Q| x n B):

    S = D^-1 + R_P H_P^-1 R_P',
    (K + J' R_F' S^-1 R_F J) v = J' g_F - J' R_F' S^-1 R_P H_P^-1 g_P,
    S y = R_F u_F + R_P H_P^-1 g_P,      u_P = H_P^-1 (g_P - R_P' y).

The factor of ``E + G`` on a device, for matrices that are large enough to pay for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.blas import dsyrk, dtrmm, dtrsm, ssymv, strmm
from scipy.linalg.lapack import dlauum, dpotrf, dpotrs, dtrtri, slauum, spotrf, strtri

from minimaxrisk._utils.arrays import Float32Array, FloatArray, IntArray
from minimaxrisk.engines.interior_point.constraints import WorkingSet

# Relative additions to a diagonal, tried in turn when a factorisation fails.
REGULARISATIONS = (0.0, 1e-13, 1e-11, 1e-9, 1e-7)
# Rows up to which a triangle is inverted in one piece.
SMALL_TRIANGLE = 64

Real = TypeVar("Real", np.float32, np.float64)


class FactorisationError(ArithmeticError):
    """A matrix is not positive definite to working accuracy."""


def cholesky(matrix: FloatArray) -> FloatArray:
    """Lower Cholesky factor of a matrix given by its lower triangle; regularised if it must be."""
    original = diagonal_of(matrix).copy()
    for extra in REGULARISATIONS:
        diagonal_of(matrix)[:] = original * (1.0 + extra)
        factor, info = dpotrf(matrix, lower=1, clean=0)
        if info == 0:
            return factor
    raise FactorisationError


def cholesky_solve(factor: FloatArray, right: FloatArray) -> FloatArray:
    return dpotrs(factor, right, lower=1)[0]


def inverse_from_factor(factor: FloatArray) -> FloatArray:
    """Lower triangle of ``(L L')^-1``."""
    return dlauum(_inverse_of_triangle(factor), lower=1)[0]


def _inverse_of_triangle(lower: FloatArray) -> FloatArray:
    """By halves: LAPACK's own takes twice as long from about 200 rows on."""
    n = len(lower)
    if n <= SMALL_TRIANGLE:
        return dtrtri(lower, lower=1)[0]
    half = n // 2
    inverse = np.zeros((n, n), order="F")
    first, second = _inverse_of_triangle(lower[:half, :half]), _inverse_of_triangle(lower[half:, half:])
    inverse[:half, :half], inverse[half:, half:] = first, second
    below = dtrmm(-1.0, second, lower[half:, :half], lower=1)
    inverse[half:, :half] = dtrmm(1.0, first, below, side=1, lower=1)
    return inverse


def diagonal_of(matrix: NDArray[Real]) -> NDArray[Real]:
    """A writable view of the diagonal of a square matrix that is contiguous in either order."""
    return matrix.ravel(order="K")[:: matrix.shape[0] + 1]


def gram(working: WorkingSet, block: int, weights: FloatArray) -> FloatArray:
    """Lower triangle of ``rows' D rows`` (n x n) on one block, the rows divided by their radii."""
    part = working.parts[block]
    return working.rows.gram(part, weights[part] / working.radius[part] ** 2)


# How far apart the two values of R u may be, relative to the largest of them. They reach it at gaps of 1e-5
# to 1e-6. With 1e-5 the iterates of scikit-learn's digits stall at a gap of 1.5e-6, which the careful factors
# do not mend afterwards; a step of refinement gains a factor of four, no more.
DISAGREEMENT = 1e-7


class DigitsLostError(ArithmeticError):
    """The step cannot be told from rounding."""


class PlainSide:
    """``own`` and ``shared`` are B x n; without ``shared`` the blocks of H are diagonal."""

    def __init__(
        self, working: WorkingSet, weights: FloatArray, own: FloatArray, shared: FloatArray | None = None
    ) -> None:
        self._working, self._own, self._shared = working, own, shared
        self._compliance = 1.0 / weights
        matrix = np.zeros((len(working), len(working)), order="F")
        if shared is not None:
            matrix = working.rows.coupled(working.parts, shared)
        for part, weight in zip(working.parts, own, strict=True):
            matrix[part, part] += working.rows.cross(part, part, weight)
        matrix /= working.radius
        matrix /= working.radius[:, None]
        diagonal = diagonal_of(matrix)
        diagonal += self._compliance
        self._factor = cholesky(matrix)

    def solve(self, g: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """u (B x n), ``g - R'y`` and R u."""
        working = self._working
        y = cholesky_solve(self._factor, working.moments(self._softened(g)))
        rest = g - working.scores(y)
        u, moved = self._softened(rest), y * self._compliance
        if np.abs(working.moments(u) - moved).max() > DISAGREEMENT * np.abs(moved).max():
            raise DigitsLostError
        return u, rest, moved

    def _softened(self, g: FloatArray) -> FloatArray:
        """``H^-1 g``."""
        if self._shared is None:
            return self._own * g
        return self._own * g + self._shared * (self._shared * g).sum(axis=0)


Right = ParamSpec("Right")


class Factor(Protocol[Right]):
    """Of a Newton matrix: the step from right-hand sides, and the positions' change where it is known."""

    def solve(self, *right: Right.args, **named: Right.kwargs) -> tuple[FloatArray, FloatArray | None]: ...


class CautiousFactor(Generic[Right]):
    """The plain factor of a Newton matrix as long as it keeps enough digits, from then on the careful one."""

    def __init__(self) -> None:
        self.has_lost_digits = False

    def factorise(
        self, plain: Callable[[], Factor[Right]] | None, careful: Callable[[], Factor[Right]]
    ) -> None:
        """``plain`` is None where it would not pay."""
        self._careful = careful
        self._is_plain = plain is not None and not self.has_lost_digits
        if plain is not None and self._is_plain:
            try:
                self._factor = plain()
            except (DigitsLostError, FactorisationError):
                self.has_lost_digits, self._is_plain = True, False
        if not self._is_plain:
            self._factor = careful()

    def solve(self, *right: Right.args, **named: Right.kwargs) -> tuple[FloatArray, FloatArray | None]:
        if self._is_plain:
            try:
                return self._factor.solve(*right, **named)
            except DigitsLostError:
                # The matrices of later iterations are worse.
                self.has_lost_digits, self._is_plain = True, False
                self._factor = self._careful()
        return self._factor.solve(*right, **named)


# What the solution may miss of equal right-hand sides. On Lung_1543 and on 174 x 12,533 with 11 classes, with
# their own and with permuted labels, it missed 3 to 500 times less of the others where it missed 0.001 or
# more of these (once twice as much), and reached 0.01 at gaps below 6e-3.
MISSED = 0.01


class RoughEpigraphFactor:
    """Solves for (dw, dr - dw) by inverses in single precision, of one matrix per class and one for r."""

    def __init__(
        self, working: WorkingSet, weights: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        n = lower.shape[1]
        self._upper = upper
        schur = np.zeros((n, n), dtype=np.float32, order="F")
        diagonal_of(schur)[:] = upper.sum(axis=0)
        self._inverses = []
        for part, a, b in zip(working.parts, lower, upper, strict=True):
            matrix = working.rows.gram_roughly(part, weights[part] / working.radius[part] ** 2)
            diagonal = diagonal_of(matrix)
            diagonal += (a + b).astype(np.float32)
            inverse = _inverse(matrix)
            own = b.astype(np.float32)
            scaled = inverse * own
            scaled *= own[:, None]
            schur -= scaled
            self._inverses.append(inverse)
        self._inverse_for_r = _inverse(schur)
        if not self._missed(working, weights, lower) <= MISSED:
            raise DigitsLostError

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, None]:
        """dw and dr - dw (2 x K x n)."""
        step = np.empty((2, *g.shape))
        for dw, inverse, row in zip(step[0], self._inverses, g, strict=True):
            dw[:] = ssymv(1.0, inverse, row, lower=1)
        dr = ssymv(1.0, self._inverse_for_r, g_r + (self._upper * step[0]).sum(axis=0), lower=1)
        for k, (inverse, b) in enumerate(zip(self._inverses, self._upper, strict=True)):
            step[0, k] += ssymv(1.0, inverse, b * dr, lower=1)
        np.subtract(dr, step[0], out=step[1])
        return step, None

    def _missed(self, working: WorkingSet, weights: FloatArray, lower: FloatArray) -> float:
        """The largest error in the equations with g = 1 and g_r = 0."""
        (dw, room), _ = self.solve(np.ones_like(lower), np.zeros(lower.shape[1]))
        held = self._upper * room
        missed = 1.0 - working.scores(weights * working.moments(dw)) - lower * dw + held
        return float(max(np.abs(missed).max(), np.abs(held.sum(axis=0)).max()))


def _inverse(matrix: Float32Array) -> Float32Array:
    """Lower triangle of the inverse of a positive definite matrix that is given by its own."""
    factor, info = spotrf(matrix, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise FactorisationError
    return slauum(_rough_inverse_of_triangle(factor), lower=1, overwrite_c=1)[0]


def _rough_inverse_of_triangle(lower: Float32Array) -> Float32Array:
    """By halves, as in ``factors``."""
    n = len(lower)
    if n <= SMALL_TRIANGLE:
        return strtri(lower, lower=1)[0]
    half = n // 2
    inverse = np.zeros((n, n), dtype=np.float32, order="F")
    first, second = (
        _rough_inverse_of_triangle(lower[:half, :half]),
        _rough_inverse_of_triangle(lower[half:, half:]),
    )
    inverse[:half, :half], inverse[half:, half:] = first, second
    below = strmm(-1.0, second, lower[half:, :half], lower=1)
    inverse[half:, :half] = strmm(1.0, first, below, side=1, lower=1)
    return inverse


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


# Instances from which on the factor is made on the device. Whole fits on an H200 took, here and there: with
# 200 instances 100 and 107 ms, with 300 87 and 84, with 400 103 and 80, with 600 178 and 99.
MANY_INSTANCES = 300
