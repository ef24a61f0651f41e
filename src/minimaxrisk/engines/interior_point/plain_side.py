"""``(H + R' D R) u = g`` for fewer constraints than instances, by one matrix of the size of the working set.

The plain form of Woodbury's identity, with R the rows (|Q| x n B) and H block diagonal, one block per
instance, whose inverse is a sum of positive terms, ``diag(own) + shared shared'``:

    S = D^-1 + R H^-1 R',      S y = R H^-1 g,      u = H^-1 (g - R' y),      R u = y/D.

It costs a fraction of what ``small_side`` does, which keeps the softest instances in the system. In return
digits are lost: H^-1 grows without limit at the instances that carry mass at the optimum, and ``g - R'y``
cancels there. How many are lost shows at the price of one product, because R u is known twice. Where the two
values disagree, ``CautiousFactor`` goes over to the careful factors, and stays with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, Protocol

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.engines.interior_point.factors import (
    FactorisationError,
    cholesky,
    cholesky_solve,
    diagonal_of,
)
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet

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
