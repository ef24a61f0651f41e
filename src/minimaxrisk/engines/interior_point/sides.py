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

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

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
MOMENT_SIDE = 0.7
# How far apart the two values of R u may be in the end, relative to the largest of them.
LARGEST_DISAGREEMENT = 1e-4
# Up to which difference nothing is corrected.
SMALL = 1e-10
# The most corrections.
MOST_CORRECTIONS = 3

# How the positions of each problem's working set change with a step, where that is known better than by a
# sum over instances.
Moved = list[FloatArray | None]


class DigitsLostError(ArithmeticError):
    """Rounding errors are as large as the step."""


class Side:
    """The sides of several problems, whose systems are solved one after the other.

    Each problem has a cheap side while that keeps enough digits, and from then on the accurate one. Their
    ``solve`` takes one right-hand side (diagonal) or two (epigraph), and returns the solution and how
    positions change where that is known.

    Attributes
    ----------
    failed : array of shape (P,)
        The problems whose matrices could not be factorised; their solutions are not numbers.
    """

    def __init__(
        self,
        coupling: Coupling,
        accurate: Callable[..., Any],
        cheap: Callable[..., Any] | None,
        *diagonals: FloatArray,
    ) -> None:
        self._coupling, self._accurate, self._cheap = coupling, accurate, cheap
        self._diagonals = diagonals
        self._sides = [self._side_of(i) for i in range(len(diagonals[0]))]
        self.failed: BoolArray = np.array([side is None for side in self._sides])

    def _side_of(self, i: int) -> Any:
        """The side of one problem; None where its matrix cannot be factorised."""
        coupling, diagonals = self._coupling, [each[i] for each in self._diagonals]
        few = coupling.constraints(i, diagonals[0].shape[1])
        if few is not None and self._cheap is not None:
            try:
                return self._cheap(*few, *diagonals)
            except FactorisationError:
                coupling.has_lost_digits[i] = True
        try:
            return self._accurate(coupling.matrices(i), *diagonals)
        except FactorisationError:
            return None

    def solve(self, *right: FloatArray) -> tuple[FloatArray, Moved]:
        """Solve for right-hand sides whose first axis counts problems.

        Solutions are NaN where a matrix could not be factorised, also where that shows only here.
        """
        found = [self._solved(i, *(each[i] for each in right)) for i in range(len(self._sides))]
        return stacked([each[0] for each in found]), [each[1] for each in found]

    def _solved(self, i: int, *right: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        if self._sides[i] is not None:
            try:
                return self._sides[i].solve(*right)
            except DigitsLostError:
                # The matrices of later iterations are worse.
                self._coupling.has_lost_digits[i] = True
                self._sides[i] = self._side_of(i)
                return self._solved(i, *right)
        shape = right[0].shape if len(right) == 1 else (2, *right[0].shape)
        return np.full(shape, np.nan), None

    def corrected(self, steps: FloatArray, excess: FloatArray | float) -> FloatArray:
        """Return the steps (P x 2 x K x n) with multipliers of known masses, which then lose ``excess``."""
        too_much = np.broadcast_to(excess, (len(steps), steps.shape[3]))
        corrected = np.full_like(steps, np.nan)
        for i, side in enumerate(self._sides):
            if side is not None:
                corrected[i] = side.corrected(steps[i], too_much[i])
        return corrected


class Coupling(ABC):
    """What constraints on moments add to the Newton systems of instances: a matrix G for each block.

    Attributes
    ----------
    has_lost_digits : array of shape (P,)
        The problems that go on with accurate sides.
    """

    def __init__(self, n_problems: int) -> None:
        self.has_lost_digits = np.zeros(n_problems, dtype=np.bool_)

    @abstractmethod
    def matrices(self, i: int) -> Iterable[FloatArray]:
        """Yield the lower triangles of G, which may be overwritten, of one problem."""

    def constraints(self, i: int, n: int) -> tuple[WorkingSet, FloatArray] | None:
        """Return the constraints with their weights, where they are few beside n instances."""
        return None

    def diagonal(self, stiffness: FloatArray) -> Side:
        """Return factors of ``E + G`` with the diagonals E (P x B x n)."""
        return Side(self, DiagonalInstanceSide, DiagonalMomentSide, stiffness)

    def epigraph(self, lower: FloatArray, upper: FloatArray) -> Side:
        """Return factors of the one-hot coding's matrices with the diagonals A and B (P x K x n each)."""
        return Side(self, FactorsOfClasses, EpigraphMomentSide, lower, upper)

    def known_epigraph(self, lower: FloatArray, upper: FloatArray) -> Side:
        """Return the same with known masses of instances."""
        return Side(self, KnownEpigraphSide, None, lower, upper)


class BoxCoupling(Coupling):
    """The coupling by working sets of moment constraints."""

    def keep(self, places: IntArray) -> None:
        """Forget all other problems."""
        self.has_lost_digits = self.has_lost_digits[places]

    def at(self, working: Sequence[WorkingSet], weights: FloatArray) -> BoxCoupling:
        """Take the working sets and the weights D of the current iterates (P x |Q|)."""
        self._working, self._weights = working, weights
        return self

    def matrices(self, i: int) -> Iterable[FloatArray]:
        working = self._working[i]
        return (working.gram(block, self._weights[i]) for block in range(len(working.parts)))

    def constraints(self, i: int, n: int) -> tuple[WorkingSet, FloatArray] | None:
        is_cheap = len(self._weights[i]) < MOMENT_SIDE * n and not self.has_lost_digits[i]
        return (self._working[i], self._weights[i]) if is_cheap else None


class MomentSide:
    """Woodbury's identity with ``H^-1 = diag(own) + shared shared'``, both B x n."""

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

    def refined(self, g: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
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

    def __init__(self, matrices: Iterable[FloatArray], stiffness: FloatArray) -> None:
        self._factors = []
        for matrix, own in zip(matrices, stiffness, strict=True):
            diagonal = diagonal_of(matrix)
            diagonal += own
            self._factors.append(cholesky(matrix))

    def solve(self, right: FloatArray) -> tuple[FloatArray, None]:
        return _solved(self._factors, right), None


def _solved(factors: Sequence[FloatArray], right: FloatArray) -> FloatArray:
    return stacked([cholesky_solve(factor, row) for factor, row in zip(factors, right, strict=True)])


class DiagonalMomentSide(MomentSide):
    """The moment side of ``E + G``."""

    def __init__(self, working: WorkingSet, weights: FloatArray, stiffness: FloatArray) -> None:
        super().__init__(working, weights, 1.0 / stiffness)

    def solve(self, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        u, _, moved = self.refined(right)
        return u, moved


# The matrix of the one-hot coding. All solve for dw and the change of r - w (2 x K x n).


class FactorsOfClasses:
    """K factors of n x n and one for r; the lower triangles of G, with zeros above, are overwritten.

    Without r every class has M = G + A + B, and r the sum of the Schur complements ``B - B M^-1 B``.
    """

    def __init__(self, matrices: Iterable[FloatArray], lower: FloatArray, upper: FloatArray) -> None:
        n = lower.shape[1]
        self._upper = upper
        schur = np.zeros((n, n), order="F")
        diagonal_of(schur)[:] = upper.sum(axis=0)
        self._factors: list[FloatArray] = []
        for matrix, a, b in zip(matrices, lower, upper, strict=True):
            diagonal = diagonal_of(matrix)
            diagonal += a + b
            self._factors.append(cholesky(matrix))
            inverse = inverse_from_factor(self._factors[-1])
            self._take_inverse(inverse, b)
            inverse *= b
            inverse *= b[:, None]
            schur -= inverse
        self._schur = cholesky(schur)

    def _take_inverse(self, inverse: FloatArray, b: FloatArray) -> None:
        """See the lower triangle of a class's ``M^-1`` before it is overwritten."""

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, None]:
        right = g_r + (self._upper * _solved(self._factors, g)).sum(axis=0)
        dr = cholesky_solve(self._schur, right)
        dw = _solved(self._factors, g + self._upper * dr)
        return np.stack([dw, dr - dw]), None


class KnownEpigraphSide(FactorsOfClasses):
    """The instance side with known masses of instances, each of which has a multiplier phi."""

    def __init__(self, matrices: Iterable[FloatArray], lower: FloatArray, upper: FloatArray) -> None:
        n = lower.shape[1]
        self._total, self._coupled = np.zeros((n, n), order="F"), np.zeros((n, n), order="F")
        super().__init__(matrices, lower, upper)
        # The map from one push on all labels of each instance to the masses it adds. Without r it is the sum
        # of the inverses ``C = M^-1``; r adds ``N'S^-1 N`` with ``N = sum B C``.
        half = dtrsm(1.0, self._schur, self._coupled, lower=1)
        self._compliance = cholesky(dsyrk(1.0, half, beta=1.0, c=self._total, trans=1, lower=1))

    def _take_inverse(self, inverse: FloatArray, b: FloatArray) -> None:
        triangle = np.tril(inverse)
        self._total += triangle
        self._coupled += b[:, None] * (triangle + np.tril(triangle, -1).T)

    def corrected(self, step: FloatArray, excess: FloatArray) -> FloatArray:
        """Return the step with multipliers of the masses, which lose ``excess``.

        What rounding leaves is corrected once more: the masses of iterates then drift by 1e-15, not by 1e-8.
        """
        nothing = np.zeros_like(excess)
        for _ in range(2):
            dphi = cholesky_solve(self._compliance, step[0].sum(axis=0) + excess)
            step = step - self.solve(np.tile(dphi, (step.shape[1], 1)), nothing)[0]
        return step


class EpigraphMomentSide(MomentSide):
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
        super().__init__(working, weights, own, mixed / np.sqrt((lower * mixed).sum(axis=0)))

    def solve(self, g: FloatArray, g_r: FloatArray) -> tuple[FloatArray, FloatArray]:
        lower, upper = self._lower, self._upper
        from_r = upper * (g_r / self._sum)
        dw, rest, moved = self.refined(g + from_r)
        dr = (g_r + (upper * dw).sum(axis=0)) / self._sum
        slack = np.where(upper > lower, (lower * dw - (rest - from_r)) / upper, dr - dw)
        return np.stack([dw, slack]), moved
