"""Factors of the Newton matrices: which linear systems a step solves, and four ways to solve them.

There are two kinds of matrix. With R the rows of the working set Q (|Q| x n B), divided by their radii, D the
weights of its constraints and ``G = R'D R``:

* ``(E + G) u = g`` with E diagonal: the signed coding (classes ``Diagonal...``);
* the one-hot coding, with A and B diagonal and r shared by the classes (classes ``Epigraph...``):

      (G + A + B) dw - B dr = g,      sum_k B (dr - dw) = g_r.

Where r is eliminated, both read ``(H + R'D R) u = g``, with one small block of H per instance whose inverse
is a sum of positive terms. Sums of positive terms stay sums throughout: textbook forms subtract, and stall
four digits earlier.

1. **n x n.** Cholesky factors of ``E + G``, or of one matrix per class and one for r. Always accurate.
2. **Plain side.** For fewer constraints than instances, Woodbury's identity with one matrix of |Q| x |Q|:

       S = D^-1 + R H^-1 R',      S y = R H^-1 g,      u = H^-1 (g - R'y),      R u = y/D.

   It takes a fraction of the operations and loses digits: H^-1 grows without limit at the instances that
   carry mass at the optimum, and ``g - R'y`` cancels there. R u is known twice, so one product tells how many
   digits are left.
3. **Small side.** For few constraints and many instances. The softest instances F, where H nearly vanishes,
   stay in the system, in coordinates v of the caller's choice (u_F = J v, in which H_F is K). Only the other
   instances P are eliminated, so that no digits are lost:

       S = D^-1 + R_P H_P^-1 R_P',
       (K + J'R_F' S^-1 R_F J) v = J'g_F - J'R_F' S^-1 R_P H_P^-1 g_P,
       S y = R_F u_F + R_P H_P^-1 g_P,      u_P = H_P^-1 (g_P - R_P'y).

4. **Single precision**, for the matrices of the one-hot coding far from the optimum. A step need not be
   accurate there: what it misses of stationarity stays in the residual that the next step starts from, and
   moments and bounds are computed from the pair that is reached. Near the optimum the matrices are too
   ill-conditioned. How much a solution misses is measured in double precision by two products with the rows.

Ways 2 and 4 are cheap and may fail: ``CautiousFactor`` then goes over to way 1 or 3, and stays with it.
Triangles are lower ones in Fortran order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic, ParamSpec, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyrk, dtrsm, ssymv
from scipy.linalg.lapack import spotrf

from minimaxrisk._utils.arrays import Float32Array, FloatArray, IntArray
from minimaxrisk._utils.positive_definite import (
    FactorisationError,
    cholesky,
    cholesky_solve,
    diagonal_of,
    inverse_from_factor,
)
from minimaxrisk.features.moment_constraints import WorkingSet

# Constraints per instance (those of all blocks together) up to which the plain side takes fewer operations
# than matrices of n x n.
PLAIN_SIDE_SIGNED, PLAIN_SIDE_ONE_HOT = 0.8, 0.6
# How far apart the two values of R u may be on the plain side, relative to the largest of them. They reach it
# at gaps of 1e-5 to 1e-6. With 1e-5 the iterates of scikit-learn's digits stall at a gap of 1.5e-6.
LARGEST_DISAGREEMENT = 1e-7
# Softest instances kept on the small side, per constraint; about as many are active at the optimum as there
# are constraints.
KEPT_PER_CONSTRAINT, FEWEST_KEPT = 2.0, 8
# What a solution in single precision may miss of equal right-hand sides. On Lung_1543 and on 174 x 12,533
# with 11 classes it missed 3 to 500 times less of other ones, and reached 0.01 at gaps below 6e-3.
LARGEST_MISS = 0.01
# Where B exceeds the rest of its matrix by this factor, a subtraction would lose as many digits.
STIFF = 1e5

Right = ParamSpec("Right")


class DigitsLostError(ArithmeticError):
    """Rounding errors are as large as the step."""


def gram(working: WorkingSet, block: int, weights: FloatArray) -> FloatArray:
    """Lower triangle of ``R'D R`` (n x n) on one block."""
    part = working.parts[block]
    return working.rows.gram(part, weights[part] / working.radius[part] ** 2)


# Cheap factors and accurate ones.


class Factor(Protocol[Right]):
    """Solves for a step; also returns how the positions change where that is known better than by a sum."""

    def solve(self, *right: Right.args, **named: Right.kwargs) -> tuple[FloatArray, FloatArray | None]: ...


class CautiousFactor(Generic[Right]):
    """The cheap factor of a Newton matrix while it keeps enough digits, from then on the accurate one."""

    def __init__(self) -> None:
        self.has_lost_digits = False

    def choose(
        self, cheap: Callable[[], Factor[Right]] | None, accurate: Callable[[], Factor[Right]]
    ) -> None:
        """Factorise; ``cheap`` is None where the accurate factor takes no more operations."""
        self._accurate = accurate
        self._is_cheap = cheap is not None and not self.has_lost_digits
        if cheap is not None and self._is_cheap:
            try:
                self._factor = cheap()
            except (DigitsLostError, FactorisationError):
                self.has_lost_digits, self._is_cheap = True, False
        if not self._is_cheap:
            self._factor = accurate()

    def solve(self, *right: Right.args, **named: Right.kwargs) -> tuple[FloatArray, FloatArray | None]:
        if self._is_cheap:
            try:
                return self._factor.solve(*right, **named)
            except DigitsLostError:
                # The matrices of later iterations are worse.
                self.has_lost_digits, self._is_cheap = True, False
                self._factor = self._accurate()
        return self._factor.solve(*right, **named)


class CautiousDiagonalFactor(CautiousFactor[[FloatArray]]):
    """``E + G`` of a single block."""

    def factorise(self, working: WorkingSet, weights: FloatArray, stiffness: FloatArray) -> None:
        n = len(stiffness)
        plain = partial(DiagonalPlainSide, working, weights, stiffness)
        cheap = plain if len(working) < PLAIN_SIDE_SIGNED * n else None
        if small_side_is_cheaper(n, len(working), 1):
            self.choose(cheap, partial(DiagonalSmallSide, working, weights, stiffness))
        else:
            self.choose(cheap, partial(diagonal_factor, working, 0, weights, stiffness))


class CautiousEpigraphFactor(CautiousFactor[[FloatArray, FloatArray]]):
    """The matrix of the one-hot coding; ``lower`` is A and ``upper`` B, both K x n."""

    def factorise(
        self, working: WorkingSet, weights: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        n, matrix = lower.shape[1], (working, weights, lower, upper)
        is_small = small_side_is_cheaper(n, len(working), len(working.parts))
        accurate = partial(EpigraphSmallSide if is_small else EpigraphFactor, *matrix)
        if len(working) < PLAIN_SIDE_ONE_HOT * n:
            self.choose(partial(EpigraphPlainSide, *matrix), accurate)
        else:
            self.choose(None if is_small else partial(RoughEpigraphFactor, *matrix), accurate)

    def solve_equal(self, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray | None]:
        """The solution for g = 1 and g_r = 0, which a rough factor has found already."""
        equal: FloatArray | None = getattr(self._factor, "equal", None)
        return self.solve(np.ones(shape), np.zeros(shape[1])) if equal is None else (equal, None)


# The plain side and the small side, for any H.


class PlainSide:
    """Woodbury's identity with ``H^-1 = diag(own) + shared shared'``, both B x n.

    Without ``shared`` the blocks of H are diagonal.
    """

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
        self._factor = _small_factor(working, matrix, self._compliance)

    def solve(self, g: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """u (B x n), ``g - R'y`` and R u."""
        working = self._working
        y = cholesky_solve(self._factor, working.moments(self._softened(g)))
        rest = g - working.scores(y)
        u, moved = self._softened(rest), y * self._compliance
        if np.abs(working.moments(u) - moved).max() > LARGEST_DISAGREEMENT * np.abs(moved).max():
            raise DigitsLostError
        return u, rest, moved

    def _softened(self, g: FloatArray) -> FloatArray:
        """``H^-1 g``."""
        if self._shared is None:
            return self._own * g
        return self._own * g + self._shared * (self._shared * g).sum(axis=0)


def _small_factor(working: WorkingSet, matrix: FloatArray, compliance: FloatArray) -> FloatArray:
    """Cholesky factor of S, from the sum over instances without radii, which is overwritten."""
    matrix /= working.radius
    matrix /= working.radius[:, None]
    diagonal = diagonal_of(matrix)
    diagonal += compliance
    return cholesky(matrix)


def small_side_is_cheaper(n: int, n_constraints: int, n_blocks: int) -> bool:
    """Whether the small side takes fewer operations than factors of n x n.

    Those take a third of n^3 for a single block, and four thirds for each of several.
    """
    small_side = n * n_constraints**2 + 11.0 * n_constraints**3
    n_by_n = n_constraints * n**2 + n**3 * (1.0 / 3.0 if n_blocks == 1 else 4.0 / 3.0 * n_blocks)
    return small_side < n_by_n


def softest(inverse: FloatArray, n_constraints: int) -> IntArray:
    """The instances F, by the diagonal of the inverse blocks (B x B x n), ascending."""
    n_blocks, n = len(inverse), inverse.shape[2]
    n_kept = min(n, int(KEPT_PER_CONSTRAINT * n_constraints / n_blocks) + FEWEST_KEPT)
    softness = np.einsum("bbi->bi", inverse).max(axis=0)
    return np.sort(np.argpartition(-softness, n_kept - 1)[:n_kept])


class SmallSide:
    """Factors of size ``|Q|`` and a few times that.

    ``inverse`` holds H^-1 (B x B x n), ``kept`` the instances F, ``stiffness`` the lower triangle of K, which
    is overwritten, and ``coordinates`` J.
    """

    def __init__(
        self,
        working: WorkingSet,
        weights: FloatArray,
        inverse: FloatArray,
        *,
        kept: IntArray,
        stiffness: FloatArray,
        coordinates: sparse.csr_array,
    ) -> None:
        self._working, self._kept, self._weights = working, kept, weights
        self._coordinates = coordinates
        # Zero compliance at F leaves P alone in every sum below.
        self._inverse = inverse.copy()
        self._inverse[:, :, kept] = 0.0
        matrix = np.zeros((len(working), len(working)), order="F")
        for b, part in enumerate(working.parts):
            for c, other in enumerate(working.parts[: b + 1]):
                matrix[part, other] = working.rows.cross(part, other, self._inverse[b, c])
        self._small = _small_factor(working, matrix, 1.0 / weights)
        half = dtrsm(1.0, self._small, self._kept_rows(), lower=1, overwrite_b=1)
        self._half = np.asfortranarray(half @ coordinates)
        self._soft = cholesky(dsyrk(1.0, self._half, beta=1.0, c=stiffness, trans=1, lower=1))

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
        u[:, self._kept] = (self._coordinates @ v).reshape(len(g), -1)
        return u, v, y / self._weights

    def _kept_rows(self) -> FloatArray:
        """R_F, block diagonal (|Q| x B |F|)."""
        working, kept = self._working, self._kept
        rows = np.zeros((len(working), len(working.parts) * len(kept)), order="F")
        for b, part in enumerate(working.parts):
            scaled = working.rows.at(part, kept) / working.radius[part][:, None]
            rows[part, b * len(kept) : (b + 1) * len(kept)] = scaled
        return rows


# ``E + G``, with E the diagonal ``stiffness``.


class DiagonalFactor:
    """Cholesky factor of n x n; G is given by its lower triangle, which is overwritten."""

    def __init__(self, matrix: FloatArray, stiffness: FloatArray) -> None:
        diagonal = diagonal_of(matrix)
        diagonal += stiffness
        self._lower = cholesky(matrix)

    def solve(self, right: FloatArray) -> tuple[FloatArray, None]:
        return cholesky_solve(self._lower, right), None


class DiagonalPlainSide:
    def __init__(self, working: WorkingSet, weights: FloatArray, stiffness: FloatArray) -> None:
        self._factor = PlainSide(working, weights, 1.0 / stiffness[None])

    def solve(self, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        u, _, moved = self._factor.solve(right[None])
        return u[0], moved


class DiagonalSmallSide:
    """The small side; the softest instances keep their own coordinates."""

    def __init__(self, working: WorkingSet, weights: FloatArray, stiffness: FloatArray) -> None:
        inverse = 1.0 / stiffness[None, None]
        self._kept = softest(inverse, len(working))
        own = np.asfortranarray(np.diag(stiffness[self._kept]))
        unit = sparse.eye_array(len(self._kept), format="csr")
        self._factor = SmallSide(working, weights, inverse, kept=self._kept, stiffness=own, coordinates=unit)

    def solve(self, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        u, _, moved = self._factor.solve(right[None, :], right[self._kept])
        return u[0], moved


def diagonal_factor(
    working: WorkingSet, block: int, weights: FloatArray, stiffness: FloatArray
) -> Factor[[FloatArray]]:
    """The factor of n x n for one block, by the rows themselves where they are faster."""
    part, rows = working.parts[block], working.rows
    radius = working.radius[part]
    weights = weights[part] / radius**2
    own = rows.own_factor(part, weights, stiffness, radius)
    return DiagonalFactor(rows.gram(part, weights), stiffness) if own is None else own


# The matrix of the one-hot coding. All solve for dw and ``room``, the change of r - w (2 x K x n).


class FactorsOfClasses:
    """K factors of n x n and one for r; the lower triangles of G, with zeros above, are overwritten.

    Without r every class has M = G + A + B, and r the sum of the Schur complements ``B - B M^-1 B``. That
    subtracts nearly equal numbers where B is by far the largest term, on T. There z = w - r takes the
    place of w, whose complement is ``(G + A) - (G + A) M^-1 (G + A)``, and the two subtract little:

        T, T: (G + A) - W'W,  W = L^-1 (G + A),  M = L L';      elsewhere: B - B M^-1 B.
    """

    def __init__(
        self,
        matrices: Iterable[FloatArray],
        lower: FloatArray,
        upper: FloatArray,
        *,
        keeps_inverses: bool = False,
    ) -> None:
        n = lower.shape[1]
        self._inverses: list[FloatArray] = []
        self._upper = upper
        schur = np.zeros((n, n), order="F")
        diagonal_of(schur)[:] = upper.sum(axis=0)
        self._classes: list[tuple[FloatArray, IntArray, FloatArray]] = []
        for matrix, a, b in zip(matrices, lower, upper, strict=True):
            diagonal = diagonal_of(matrix)
            diagonal += a
            top = np.flatnonzero(b > STIFF * diagonal)
            stiff = _symmetric_columns(matrix, top)
            diagonal += b
            factor = cholesky(matrix)
            inverse = inverse_from_factor(factor)
            if keeps_inverses:
                self._inverses.append(inverse.copy(order="F"))
            inverse *= b
            inverse *= b[:, None]
            if len(top):
                half = dtrsm(1.0, factor, stiff, lower=1)
                inverse[np.ix_(top, top)] = np.diag(b[top]) - stiff[top] + half.T @ half
            schur -= inverse
            self._classes.append((factor, top, stiff))
        self._schur = cholesky(schur)

    def compliance_of_masses(self) -> FloatArray:
        """Lower triangle of the map from one push on all labels of each instance to the masses it adds.

        Without r it is the sum of the inverses ``C = M^-1``; r adds ``N'S^-1 N`` with ``N = sum B C``.
        """
        total = np.zeros_like(self._schur, order="F")
        coupling = np.zeros_like(total)
        for inverse, b in zip(self._inverses, self._upper, strict=True):
            total += inverse
            triangle = np.tril(inverse)
            coupling += b[:, None] * (triangle + np.tril(triangle, -1).T)
        half = dtrsm(1.0, self._schur, coupling, lower=1, overwrite_b=1)
        return dsyrk(1.0, half, beta=1.0, c=total, trans=1, lower=1, overwrite_c=1)

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, None]:
        right = g_r.copy()
        for row, b, (factor, _, _) in zip(g, self._upper, self._classes, strict=True):
            right += b * cholesky_solve(factor, row)
        dr = cholesky_solve(self._schur, right)
        step = np.empty((2, *g.shape))
        for dw, room, row, b, (factor, top, stiff) in zip(*step, g, self._upper, self._classes, strict=True):
            right = row + b * dr
            if len(top) == 0:
                dw[:] = cholesky_solve(factor, right)
                np.subtract(dr, dw, out=room)
                continue
            right[top] = row[top]
            z = cholesky_solve(factor, right - stiff @ dr[top])
            dw[:], room[:] = z, dr - z
            dw[top] += dr[top]
            room[top] = -z[top]
        return step, None


class EpigraphFactor(FactorsOfClasses):
    """The same, with G by the rows of the working set."""

    def __init__(
        self,
        working: WorkingSet,
        weights: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        *,
        keeps_inverses: bool = False,
    ) -> None:
        matrices = (gram(working, block, weights) for block in range(len(lower)))
        super().__init__(matrices, lower, upper, keeps_inverses=keeps_inverses)


def _symmetric_columns(lower: FloatArray, chosen: IntArray) -> FloatArray:
    """Some columns of a symmetric matrix whose upper triangle holds zeros, in Fortran order."""
    columns = lower[:, chosen] + lower[chosen].T
    columns[chosen, np.arange(len(chosen))] /= 2.0
    return np.asfortranarray(columns)


class RoughEpigraphFactor:
    """The same matrices in single precision; a step takes products with their inverses.

    Equal right-hand sides, by which sum w is kept, show how much a solution misses of

        (G + A) dw - B room = g,    sum_k B room = g_r,    G dw = R'D R dw.
    """

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
            inverse = _rough_inverse(matrix)
            own = b.astype(np.float32)
            scaled = inverse * own
            scaled *= own[:, None]
            schur -= scaled
            self._inverses.append(inverse)
        self._inverse_for_r = _rough_inverse(schur)
        if not self._missed(working, weights, lower) <= LARGEST_MISS:
            raise DigitsLostError

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, None]:
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
        self.equal, _ = self.solve(np.ones_like(lower), np.zeros(lower.shape[1]))
        dw, room = self.equal
        held = self._upper * room
        missed = 1.0 - working.scores(weights * working.moments(dw)) - lower * dw + held
        return float(max(np.abs(missed).max(), np.abs(held.sum(axis=0)).max()))


def _rough_inverse(matrix: Float32Array) -> Float32Array:
    """Lower triangle of the inverse of a positive definite matrix that is given by its own."""
    factor, info = spotrf(matrix, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise FactorisationError
    return inverse_from_factor(factor)


class EpigraphPlainSide:
    """The plain side.

    Where r is eliminated, an instance has ``diag(A + B) - B B'/sum B``, whose inverse is a sum of positive
    terms, ``diag(1/(A + B)) + m m'/sum(A m)`` with ``m = B/(A + B)``. Where B is large, dr - dw comes from
    its own equation, ``B (dr - dw) = A dw - q`` with ``q = g - R'y``, and not by subtraction.
    """

    def __init__(
        self, working: WorkingSet, weights: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        self._lower, self._upper, self._sum = lower, upper, upper.sum(axis=0)
        own = 1.0 / (lower + upper)
        mixed = upper * own
        shared = mixed / np.sqrt((lower * mixed).sum(axis=0))
        self._factor = PlainSide(working, weights, own, shared)

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, FloatArray]:
        lower, upper = self._lower, self._upper
        from_r = upper * (g_r / self._sum)
        dw, rest, moved = self._factor.solve(g + from_r)
        dr = (g_r + (upper * dw).sum(axis=0)) / self._sum
        room = np.where(upper > lower, (lower * dw - (rest - from_r)) / upper, dr - dw)
        return np.stack([dw, room]), moved


class EpigraphSmallSide:
    """The small side.

    An instance has the same H as on the plain side. The softest instances keep their r, and z = w - r in
    place of w where w is nearly r.
    """

    def __init__(
        self, working: WorkingSet, weights: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        own = np.arange(len(lower))
        both = lower + upper
        mixed = upper / both
        inverse = mixed[:, None] * mixed[None, :] / (lower * mixed).sum(axis=0)
        inverse[own, own] += 1.0 / both
        self._upper, self._sum = upper, upper.sum(axis=0)
        self._kept = kept = softest(inverse, len(working))
        a, b = lower[:, kept], upper[:, kept]
        self._top = b > a
        # Unknown are K rows of z, then r: ``a w^2 + b (r - w)^2`` with w = z + r on top, w = z elsewhere.
        n_z, n_r = a.size, len(kept)
        stiffness = np.zeros((n_z + n_r, n_z + n_r), order="F")
        z, r = np.arange(n_z), n_z + np.arange(n_r)
        stiffness[z, z] = (a + b).ravel()
        stiffness[np.tile(r, len(a)), z] = np.where(self._top, a, -b).ravel()
        stiffness[r, r] = np.where(self._top, a, b).sum(axis=0)
        largest = np.tile(r, len(a))[self._top.ravel()]
        places = (np.concatenate([z, z[self._top.ravel()]]), np.concatenate([z, largest]))
        coordinates = sparse.csr_array((np.ones(len(places[0])), places), shape=(n_z, n_z + n_r))
        self._factor = SmallSide(
            working, weights, inverse, kept=kept, stiffness=stiffness, coordinates=coordinates
        )

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, FloatArray]:
        kept, top = self._kept, self._top
        g_kept = np.concatenate([g[:, kept].ravel(), g_r[kept] + np.where(top, g[:, kept], 0.0).sum(axis=0)])
        dw, v, moved = self._factor.solve(g + self._upper * (g_r / self._sum), g_kept)
        dr = (g_r + (self._upper * dw).sum(axis=0)) / self._sum
        room = dr - dw
        z = v[: top.size].reshape(top.shape)
        room[:, kept] = np.where(top, -z, v[top.size :] - z)
        return np.stack([dw, room]), moved
