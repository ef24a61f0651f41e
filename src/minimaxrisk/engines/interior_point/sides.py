"""Factors of the Newton matrices: two kinds of matrix, and two sides from which to solve each.

With R the rows of a working set Q divided by their radii (|Q| x n B), D the weights of its constraints and
``G = R'D R``, the matrices are

* ``(E + G) u = g`` with E diagonal (``Diagonal...``);
* with A and B diagonal and r shared by the classes (``Epigraph...``)

      (G + A + B) dw - B dr = g,      sum_k B (dr - dw) = g_r.

Where r is eliminated, both read ``(H + R'D R) u = g``, with one small block of H per instance whose inverse
is a sum of positive terms. Sums of positive terms stay sums throughout: textbook forms subtract, and stall
four digits earlier.

1. **Instance side.** Cholesky factors of ``E + G``, or of one matrix per class and one for r: n x n each.
2. **Moment side.** For fewer constraints than instances, Woodbury's identity with one matrix of |Q| x |Q|:

       S = D^-1 + R H^-1 R',      S y = R H^-1 g,      u = H^-1 (g - R'y),      R u = y/D.

   It takes a fraction of the operations and loses digits: H^-1 grows without limit at the instances that
   carry mass at the optimum, and ``g - R'y`` cancels there. R u is known twice, so that a product tells how
   many digits are left, and its error is the right-hand side that corrects y. Where that does not help, the
   problem goes over to the instance side and stays with it.

Triangles are lower ones in Fortran order. A side belongs to one problem; ``Side`` holds those of several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.linalg.blas import dsyrk, dtrsm

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray, stacked
from minimaxrisk._utils.positive_definite import (
    FactorisationError,
    cholesky,
    cholesky_solve,
    diagonal_of,
    inverse_from_factor,
)
from minimaxrisk.matrices.moment_constraints import WorkingSet

# Constraints per instance (those of all blocks together) up to which the moment side takes fewer operations.
MOMENT_SIDE_SIGNED, MOMENT_SIDE_ONE_HOT = 0.8, 0.6
# How far apart the two values of R u may be in the end, and up to which difference nothing is corrected,
# relative to the largest of them; and the most corrections.
LARGEST_DISAGREEMENT, SMALL, MOST_CORRECTIONS = 1e-4, 1e-10, 3
# Where B exceeds the rest of its matrix by this factor, a subtraction would lose as many digits.
STIFF = 1e5

# How the positions of each problem's working set change with a step, where that is known better than by a
# sum over instances.
Moved = list[FloatArray | None]


class DigitsLostError(ArithmeticError):
    """Rounding errors are as large as the step."""


# Makes the side of one problem. Its ``solve`` takes one right-hand side (diagonal) or two (epigraph), and
# returns the solution and how positions change where that is known.
MakeSide = Callable[[], Any]


class Side:
    """The sides of several problems, whose systems are solved one after the other.

    Attributes
    ----------
    failed : array of shape (P,)
        The problems whose matrices could not be factorised; their solutions are not numbers.
    """

    def __init__(self, makers: Iterable[MakeSide]) -> None:
        self._sides: list[Any] = []
        for make in makers:
            try:
                self._sides.append(make())
            except FactorisationError:
                self._sides.append(None)
        self.failed: BoolArray = np.array([side is None for side in self._sides])

    def solve(self, *right: FloatArray) -> tuple[FloatArray, Moved]:
        """Solve for right-hand sides whose first axis counts problems.

        Solutions are NaN where a matrix could not be factorised, also where that shows only here.
        """
        found = [self._solved(i, *(each[i] for each in right)) for i in range(len(self._sides))]
        return stacked([each[0] for each in found]), [each[1] for each in found]

    def _solved(self, i: int, *right: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        side = self._sides[i]
        if side is not None:
            try:
                solution, moved = side.solve(*right)
                return solution, moved
            except FactorisationError:
                self._sides[i] = None
        shape = right[0].shape if len(right) == 1 else (2, *right[0].shape)
        return np.full(shape, np.nan), None


class KnownSide(Side):
    """The sides of problems with known masses of instances."""

    def corrected(self, steps: FloatArray, excess: FloatArray | float) -> FloatArray:
        """Return the steps (P x 2 x K x n) with multipliers of the masses, which then lose ``excess``."""
        too_much = np.broadcast_to(excess, (len(steps), steps.shape[3]))
        corrected = np.full_like(steps, np.nan)
        for i, side in enumerate(self._sides):
            if side is not None:
                corrected[i] = side.corrected(steps[i], too_much[i])
        return corrected


class Coupling(Protocol):
    """What constraints on moments add to the Newton systems of instances."""

    def diagonal(self, stiffness: FloatArray) -> Side:
        """Return factors of ``E + G`` with the diagonals E (P x B x n)."""
        ...

    def epigraph(self, lower: FloatArray, upper: FloatArray) -> Side:
        """Return factors of the one-hot coding's matrices with the diagonals A and B (P x K x n each)."""
        ...

    def known_epigraph(self, lower: FloatArray, upper: FloatArray) -> KnownSide:
        """Return the same with known masses of instances."""
        ...


class BoxCoupling:
    """The coupling by working sets of moment constraints."""

    def __init__(self, n_problems: int) -> None:
        self._has_lost_digits = np.zeros(n_problems, dtype=np.bool_)
        self._working: Sequence[WorkingSet] = ()
        self._weights = np.empty((n_problems, 0))

    def keep(self, places: IntArray) -> None:
        """Forget all other problems."""
        self._has_lost_digits = self._has_lost_digits[places]

    def at(self, working: Sequence[WorkingSet], weights: FloatArray) -> BoxCoupling:
        """Take the working sets and the weights D of the current iterates (P x |Q|)."""
        self._working, self._weights = working, weights
        return self

    def diagonal(self, stiffness: FloatArray) -> Side:
        is_cheap = self._weights.shape[1] < MOMENT_SIDE_SIGNED * stiffness.shape[2]
        return self._sides(DiagonalMomentSide if is_cheap else None, DiagonalInstanceSide, stiffness)

    def epigraph(self, lower: FloatArray, upper: FloatArray) -> Side:
        is_cheap = self._weights.shape[1] < MOMENT_SIDE_ONE_HOT * lower.shape[2]
        return self._sides(EpigraphMomentSide if is_cheap else None, EpigraphInstanceSide, lower, upper)

    def known_epigraph(self, lower: FloatArray, upper: FloatArray) -> KnownSide:
        return KnownSide(
            partial(KnownEpigraphSide.of_working_set, *each)
            for each in zip(self._working, self._weights, lower, upper, strict=True)
        )

    def _sides(
        self, cheap: Callable[..., Any] | None, accurate: Callable[..., Any], *diagonals: FloatArray
    ) -> Side:
        arguments = enumerate(zip(self._working, self._weights, *diagonals, strict=True))
        if cheap is None:
            return Side(partial(accurate, *each) for _, each in arguments)
        return Side(
            partial(accurate, *each)
            if self._has_lost_digits[i]
            else partial(_Cautious, partial(cheap, *each), partial(accurate, *each), self._lose_digits, i)
            for i, each in arguments
        )

    def _lose_digits(self, i: int) -> None:
        self._has_lost_digits[i] = True


class _Cautious:
    """The cheap side of one problem while it keeps enough digits, from then on the accurate one."""

    def __init__(
        self,
        cheap: MakeSide,
        accurate: MakeSide,
        tell: Callable[[int], None],
        place: int,
    ) -> None:
        self._accurate, self._tell, self._place = accurate, tell, place
        try:
            self._side, self._is_cheap = cheap(), True
        except FactorisationError:
            self._change()

    def _change(self) -> None:
        # The matrices of later iterations are worse.
        self._tell(self._place)
        self._side, self._is_cheap = self._accurate(), False

    def solve(self, *right: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        if self._is_cheap:
            try:
                return self._solved(*right)
            except DigitsLostError:
                self._change()
        return self._solved(*right)

    def _solved(self, *right: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        solution, moved = self._side.solve(*right)
        return solution, moved


class MomentSide:
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
        diagonal = diagonal_of(matrix)
        diagonal += self._compliance
        self._factor = cholesky(matrix)

    def solve(self, g: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return u (B x n), ``g - R'y`` and R u."""
        working = self._working
        y = cholesky_solve(self._factor, working.moments(self._softened(g)))
        for corrections in range(MOST_CORRECTIONS + 1):
            rest = g - working.scores(y)
            u, moved = self._softened(rest), y * self._compliance
            missed = working.moments(u) - moved
            disagreement = float(np.abs(missed).max() / np.abs(moved).max())
            if not disagreement > SMALL or corrections == MOST_CORRECTIONS:
                break
            y = y + cholesky_solve(self._factor, missed)
        if disagreement > LARGEST_DISAGREEMENT:
            raise DigitsLostError
        return u, rest, moved

    def _softened(self, g: FloatArray) -> FloatArray:
        """Return ``H^-1 g``."""
        if self._shared is None:
            return self._own * g
        return self._own * g + self._shared * (self._shared * g).sum(axis=0)


# ``E + G``, with E the diagonal ``stiffness`` (B x n).


class DiagonalInstanceSide:
    """A Cholesky factor of n x n for each block."""

    def __init__(self, working: WorkingSet, weights: FloatArray, stiffness: FloatArray) -> None:
        self._factors = [
            factor_with_diagonal(working.gram(block, weights), own) for block, own in enumerate(stiffness)
        ]

    def solve(self, right: FloatArray) -> tuple[FloatArray, None]:
        return _solved(self._factors, right), None


def factor_with_diagonal(matrix: FloatArray, more: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a matrix, which is overwritten, with more on its diagonal."""
    diagonal = diagonal_of(matrix)
    diagonal += more
    return cholesky(matrix)


def _solved(factors: Sequence[FloatArray], right: FloatArray) -> FloatArray:
    return stacked([cholesky_solve(factor, row) for factor, row in zip(factors, right, strict=True)])


class DiagonalMomentSide:
    """The moment side of ``E + G``."""

    def __init__(self, working: WorkingSet, weights: FloatArray, stiffness: FloatArray) -> None:
        self._side = MomentSide(working, weights, 1.0 / stiffness)

    def solve(self, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        u, _, moved = self._side.solve(right)
        return u, moved


# The matrix of the one-hot coding. All solve for dw and the change of r - w (2 x K x n).


class FactorsOfClasses:
    """K factors of n x n and one for r; the lower triangles of G, with zeros above, are overwritten.

    Without r every class has M = G + A + B, and r the sum of the Schur complements ``B - B M^-1 B``. That
    subtracts nearly equal numbers where B is by far the largest term, on T. There z = w - r takes the
    place of w, whose complement is ``(G + A) - (G + A) M^-1 (G + A)``, and the two subtract little:

        T, T: (G + A) - W'W,  W = L^-1 (G + A),  M = L L';      elsewhere: B - B M^-1 B.
    """

    def __init__(self, matrices: Iterable[FloatArray], lower: FloatArray, upper: FloatArray) -> None:
        n = lower.shape[1]
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
            self._take_inverse(inverse, b)
            inverse *= b
            inverse *= b[:, None]
            if len(top):
                half = dtrsm(1.0, factor, stiff, lower=1)
                inverse[np.ix_(top, top)] = np.diag(b[top]) - stiff[top] + half.T @ half
            schur -= inverse
            self._classes.append((factor, top, stiff))
        self._schur = cholesky(schur)

    def _take_inverse(self, inverse: FloatArray, b: FloatArray) -> None:
        """See the lower triangle of a class's ``M^-1`` before it is overwritten."""

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, None]:
        right = g_r.copy()
        for row, b, (factor, _, _) in zip(g, self._upper, self._classes, strict=True):
            right += b * cholesky_solve(factor, row)
        dr = cholesky_solve(self._schur, right)
        step = np.empty((2, *g.shape))
        for dw, slack, row, b, (factor, top, stiff) in zip(*step, g, self._upper, self._classes, strict=True):
            right = row + b * dr
            if len(top) == 0:
                dw[:] = cholesky_solve(factor, right)
                np.subtract(dr, dw, out=slack)
                continue
            right[top] = row[top]
            z = cholesky_solve(factor, right - stiff @ dr[top])
            dw[:], slack[:] = z, dr - z
            dw[top] += dr[top]
            slack[top] = -z[top]
        return step, None


def _symmetric_columns(lower: FloatArray, chosen: IntArray) -> FloatArray:
    """Some columns of a symmetric matrix whose upper triangle holds zeros, in Fortran order."""
    columns = lower[:, chosen] + lower[chosen].T
    columns[chosen, np.arange(len(chosen))] /= 2.0
    return np.asfortranarray(columns)


class EpigraphInstanceSide(FactorsOfClasses):
    """The instance side, with G by the rows of the working set."""

    def __init__(
        self, working: WorkingSet, weights: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        super().__init__(_grams(working, weights), lower, upper)


def _grams(working: WorkingSet, weights: FloatArray) -> Iterable[FloatArray]:
    return (working.gram(block, weights) for block in range(len(working.parts)))


class KnownEpigraphSide(FactorsOfClasses):
    """The instance side with known masses of instances, each of which has a multiplier phi."""

    def __init__(self, matrices: Iterable[FloatArray], lower: FloatArray, upper: FloatArray) -> None:
        n = lower.shape[1]
        self._total, self._coupled = np.zeros((n, n), order="F"), np.zeros((n, n), order="F")
        super().__init__(matrices, lower, upper)
        self._compliance = cholesky(self.compliance_of_masses())

    @classmethod
    def of_working_set(
        cls, working: WorkingSet, weights: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> KnownEpigraphSide:
        return cls(_grams(working, weights), lower, upper)

    def _take_inverse(self, inverse: FloatArray, b: FloatArray) -> None:
        triangle = np.tril(inverse)
        self._total += triangle
        self._coupled += b[:, None] * (triangle + np.tril(triangle, -1).T)

    def compliance_of_masses(self) -> FloatArray:
        """Lower triangle of the map from one push on all labels of each instance to the masses it adds.

        Without r it is the sum of the inverses ``C = M^-1``; r adds ``N'S^-1 N`` with ``N = sum B C``.
        """
        half = dtrsm(1.0, self._schur, self._coupled, lower=1)
        return dsyrk(1.0, half, beta=1.0, c=self._total.copy(order="F"), trans=1, lower=1, overwrite_c=1)

    def corrected(self, step: FloatArray, excess: FloatArray) -> FloatArray:
        """Return the step with multipliers of the masses, which lose ``excess``.

        What rounding leaves is corrected once more: the masses of iterates then drift by 1e-15, not by 1e-8.
        """
        nothing = np.zeros_like(excess)
        for _ in range(2):
            dphi = cholesky_solve(self._compliance, step[0].sum(axis=0) + excess)
            step = step - self.solve(np.tile(dphi, (step.shape[1], 1)), nothing)[0]
        return step


class EpigraphMomentSide:
    """The moment side.

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
        self._side = MomentSide(working, weights, own, shared)

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, FloatArray]:
        lower, upper = self._lower, self._upper
        from_r = upper * (g_r / self._sum)
        dw, rest, moved = self._side.solve(g + from_r)
        dr = (g_r + (upper * dw).sum(axis=0)) / self._sum
        slack = np.where(upper > lower, (lower * dw - (rest - from_r)) / upper, dr - dw)
        return np.stack([dw, slack]), moved
