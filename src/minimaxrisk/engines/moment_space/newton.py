"""The Newton equations of the space of moments: one matrix of K d, whatever the number of instances.

Instances are eliminated one by one: with ``A = w/u``, ``Q = b/p``, ``D = A + Q``, ``H = A/D`` and
``gamma = 1 / (v/r + sum_y 1/D)`` a change e of ``psi'mu - nu`` changes w by

    dw = (A Q / D) e + gamma H (H'e) + what does not depend on e,

a sum of positive terms. What is left has the matrix ``sum_i gamma_i (H_i H_i') x psi_i psi_i'``, and on its
diagonal blocks ``sum_i (A Q / D)_iy psi_i psi_i'`` and what the constraints on the moments add.

Two things keep the digits. Changes of u and w are formed without the difference ``A e / D - e`` of two large
numbers where u is small. And the equations are solved again for what is left of their right-hand side: the
columns may be nearly collinear, and far from the optimum the matrix has half the digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.linalg.blas import dsyrk, ssyrk
from scipy.linalg.lapack import dpotrf, dpotrs, spotrf, spotrs

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.positive_definite import FactorisationError, diagonal_of
from minimaxrisk.engines.class_blocks import ClassBlocks, blocks_are_cheaper

# Products of two columns are kept where they are no more numbers than this, and no more columns than so many
# times the pairs of classes that need them; else rows are taken in blocks.
MOST_PRODUCTS, COLUMNS_PER_PAIR, ROWS_OF_BLOCK = 1 << 24, 4, 1024
# Relative additions to the diagonal, tried in turn where rounding makes the matrix indefinite.
ADDITIONS = {"d": (0.0, 1e-12, 1e-10, 1e-8), "f": (1e-6,)}
# How often the equations are solved again, and the part of a right-hand side that may be left.
MOST_SOLVES, ENOUGH, LEFT_OVER = {"d": 2, "f": 6}, {"d": 0.0, "f": 1e-4}, 1e-3
# Weights of instances that count, as a fraction of the largest: near the optimum these are few.
NEGLIGIBLE = {"d": 1e-12, "f": 1e-6}


# Weights of instances to the weighted sum of ``psi_i psi_i'``.
Squares: TypeAlias = Callable[[FloatArray], FloatArray]


class Columns:
    """The columns of Phi for one label (n x d), and the matrices that weights on instances make of them."""

    def __init__(self, Z: FloatArray, n_classes: int, squares: Squares | None = None) -> None:
        self.Z, self.n_classes, self._squares = Z, n_classes, squares
        n, d = Z.shape
        self._first, self._second = np.tril_indices(n_classes)
        self._lower = np.tril_indices(d)
        self._products: FloatArray | None = None
        is_few = n * len(self._lower[0]) <= MOST_PRODUCTS and d <= COLUMNS_PER_PAIR * len(self._first)
        if is_few and squares is None:
            self._products = Z[:, self._lower[0]] * Z[:, self._lower[1]]
        self._halved: FloatArray | None = None

    def factorised(
        self, gamma: FloatArray, H: FloatArray, own: FloatArray, of_mu: FloatArray, dtype: str
    ) -> ClassBlocks | WholeMatrix:
        """The matrix of moments, by whichever factors are cheaper."""
        if blocks_are_cheaper(len(self.Z), self.Z.shape[1], self.n_classes):
            return ClassBlocks(self.Z, own, H, gamma, of_mu)
        return WholeMatrix(self._matrix(gamma, H, own, dtype), of_mu, dtype)

    def _matrix(self, gamma: FloatArray, H: FloatArray, own: FloatArray, dtype: str) -> FloatArray:
        """``sum_i (gamma_i H_i H_i' + diag(own_i)) x psi_i psi_i'``: its lower triangle, Fortran order."""
        d, n_classes = self.Z.shape[1], self.n_classes
        # By class and column twice; a transpose of the order in memory is the matrix itself.
        matrix = np.empty((n_classes, d, n_classes, d), dtype=dtype)
        blocks = matrix.transpose(0, 2, 1, 3)
        if self._products is not None:
            weights = (gamma * H)[self._first] * H[self._second]
            weights[self._first == self._second] += own
            sums = weights @ self._products
            of_pair = np.empty((len(sums), d, d))
            of_pair[:, self._lower[0], self._lower[1]] = of_pair[:, self._lower[1], self._lower[0]] = sums
            blocks[self._second, self._first] = of_pair
        else:
            for j, k in zip(self._first, self._second, strict=True):
                weights = gamma * H[j] * H[k]
                block = self._weighted(weights + own[j] if j == k else weights, dtype)
                blocks[k, j] = block + np.tril(block, -1).T
        return matrix.reshape(n_classes * d, n_classes * d).T

    def _weighted(self, weights: FloatArray, dtype: str) -> FloatArray:
        """``sum_i weights_i psi_i psi_i'`` for weights that are not negative; its lower triangle."""
        if self._squares is not None:
            return np.tril(self._squares(weights))
        Z, syrk = self.Z, dsyrk
        if dtype == "f":
            if self._halved is None:
                self._halved = self.Z.astype(dtype)
            Z, syrk = self._halved, ssyrk
        counting = np.flatnonzero(weights > NEGLIGIBLE[dtype] * weights.max())
        if len(counting) < len(Z):
            weights, Z = weights[counting], Z[counting]
        roots = np.sqrt(weights).astype(dtype)
        total = np.zeros((Z.shape[1], Z.shape[1]), dtype=dtype, order="F")
        for start in range(0, len(Z), ROWS_OF_BLOCK):
            rows = slice(start, start + ROWS_OF_BLOCK)
            scaled = Z[rows] * roots[rows, None]
            total = syrk(1.0, scaled.T, beta=1.0, c=total, lower=1, overwrite_c=1)
        return total


class WholeMatrix:
    """The matrix and its factor, by LAPACK; ``f`` has half the digits of ``d``."""

    def __init__(self, matrix: FloatArray, of_mu: FloatArray, dtype: str) -> None:
        self._dtype = dtype
        diagonal = diagonal_of(matrix)
        size, factorise = diagonal + of_mu.ravel().astype(dtype), spotrf if dtype == "f" else dpotrf
        additions = ADDITIONS[dtype]
        for addition in additions:
            diagonal[:] = (1.0 + addition) * size
            self._factor, info = factorise(matrix, lower=1, clean=0, overwrite_a=addition == additions[-1])
            if info == 0:
                return
        raise FactorisationError

    def solve(self, right: FloatArray) -> FloatArray:
        solve = spotrs if self._dtype == "f" else dpotrs
        solved: FloatArray = solve(self._factor, right.astype(self._dtype), lower=1)[0]
        return solved.astype(np.float64, copy=False)


class Iterate(Protocol):
    """The numbers of an iterate; instances along the last axis, labels or blocks along the first."""

    plus: FloatArray  # K x d
    minus: FloatArray
    p: FloatArray  # K x n
    u: FloatArray
    v: FloatArray  # n
    w: FloatArray
    r: FloatArray
    b: FloatArray
    a_plus: FloatArray
    a_minus: FloatArray
    nu: float


class Step(NamedTuple):
    """Changes of both sides, primal ones first."""

    plus: FloatArray
    minus: FloatArray
    p: FloatArray
    u: FloatArray
    v: FloatArray
    w: FloatArray
    r: FloatArray
    b: FloatArray
    a_plus: FloatArray
    a_minus: FloatArray
    nu: float

    @property
    def is_finite(self) -> bool:
        return all(bool(np.isfinite(change).all()) for change in self)


class NewtonEquations:
    """The equations at an iterate, factorised; raises ``FactorisationError`` where rounding forbids it."""

    def __init__(
        self, columns: Columns, tau: FloatArray, lam: FloatArray, o: Iterate, dtype: str = "d"
    ) -> None:
        self._Z, self._o, self._dtype = columns.Z, o, dtype
        self.is_accurate = True  # whether all equations so far were solved
        self.A, self.Q, self.C = o.w / o.u, o.b / o.p, o.r / o.v
        self.D = self.A + self.Q
        self.H, self.share = self.A / self.D, self.Q / self.D
        self.gamma = self.C / (1.0 + self.C * (1.0 / self.D).sum(axis=0))
        self.own = self.A * self.share
        self.of_plus, self.of_minus = o.a_plus / o.plus, o.a_minus / o.minus
        self.of_mu = 1.0 / (1.0 / self.of_plus + 1.0 / self.of_minus)
        # What is not feasible yet.
        self.off_u = o.p - (o.plus - o.minus) @ self._Z.T + o.nu - o.u
        self.off_v = 1.0 - o.p.sum(axis=0) - o.v
        self.off_p = o.r - o.w - o.b
        moments = o.w @ self._Z
        self.off_plus = lam - tau + moments - o.a_plus
        self.off_minus = lam + tau - moments - o.a_minus
        self.off_mass = 1.0 - float(o.w.sum())
        self._factors = columns.factorised(self.gamma, self.H, self.own, self.of_mu, dtype)
        weights = self.own + self.gamma * self.H * self.H.sum(axis=0)
        self._of_nu, self._nu_alone = (weights @ self._Z).ravel(), float(weights.sum())
        self._solved_nu = self._factors.solve(self._of_nu)

    def step(self, products: list[FloatArray]) -> Step:
        """The changes that make the products what they should be, to first order, and both sides feasible.

        ``products`` are the wanted changes of plus a_plus, minus a_minus, p b, u w and v r.
        """
        o, Z, (c_plus, c_minus, c_p, c_u, c_v) = self._o, self._Z, products
        c_plus, c_minus = c_plus / o.plus, c_minus / o.minus
        c_w, c_b, c_r = c_u / o.u, c_p / o.p, c_v / o.v
        rest = c_b - c_r - self.off_p + self.C * self.off_v
        whole = (c_w + rest) / self.D
        alone, total = self.share * c_w - self.H * rest, whole.sum(axis=0)

        def change_of_w(e: FloatArray) -> tuple[FloatArray, FloatArray]:
            common = self.gamma * (total + (self.H * e).sum(axis=0))
            return alone + self.own * e + common * self.H, common

        q_plus, q_minus = c_plus - self.off_plus, c_minus - self.off_minus
        right = self.of_mu * (q_plus / self.of_plus - q_minus / self.of_minus)
        d_mu, d_nu, smallest, largest = np.zeros_like(o.plus), 0.0, np.inf, 0.0
        for solves in range(MOST_SOLVES[self._dtype] + 1):
            e = d_mu @ Z.T - d_nu - self.off_u
            d_w, common = change_of_w(e)
            off = (right - d_w @ Z - self.of_mu * d_mu).ravel()
            size = float(np.abs(off).max())
            if (
                solves == MOST_SOLVES[self._dtype]
                or not ENOUGH[self._dtype] * largest < size < 0.5 * smallest
            ):
                break
            smallest, largest = size, max(size, largest)
            solved = self._factors.solve(off)
            more = (self.off_mass - float(d_w.sum()) - self._of_nu @ solved) / (
                self._of_nu @ self._solved_nu - self._nu_alone
            )
            d_mu, d_nu = d_mu + (solved + more * self._solved_nu).reshape(d_mu.shape), d_nu + more
        self.is_accurate &= size <= LEFT_OVER * largest
        d_p = whole + self.H * e - common / self.D
        d_u = whole - self.share * e - common / self.D
        d_v = self.off_v - d_p.sum(axis=0)
        moments = d_w @ Z
        # Their difference is exactly the change of mu, so that u stays what it is by definition; the error
        # goes into a multiplier that is nearly zero.
        d_plus, d_minus = (q_plus - moments) / self.of_plus, (q_minus + moments) / self.of_minus
        is_positive = self.of_plus < self.of_minus
        d_plus, d_minus = (
            np.where(is_positive, d_mu + d_minus, d_plus),
            np.where(is_positive, d_minus, d_plus - d_mu),
        )
        return Step(
            plus=d_plus,
            minus=d_minus,
            p=d_p,
            u=d_u,
            v=d_v,
            w=d_w,
            r=c_r - self.C * d_v,
            b=c_b - self.Q * d_p,
            a_plus=c_plus - self.of_plus * d_plus,
            a_minus=c_minus - self.of_minus * d_minus,
            nu=d_nu,
        )
