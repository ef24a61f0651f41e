"""The iterate of the space of moments, and its Newton equations: an ``Iterate`` of ``step``.

Instances are eliminated one by one: with ``A = w/u``, ``Q = b/p``, ``D = A + Q``, ``H = A/D`` and
``gamma = 1 / (v/r + sum_y 1/D)`` a change e of ``psi'mu - nu`` changes w by

    dw = (A Q / D) e + gamma H (H'e) + what does not depend on e,

a sum of positive terms. What is left has the matrix ``sum_i gamma_i (H_i H_i') x psi_i psi_i'``, and on its
diagonal blocks ``sum_i (A Q / D)_iy psi_i psi_i'`` and what the constraints on the moments add: one matrix of
K d, whatever the number of instances (``matrix``).

Two things keep the digits. Changes of u and w are formed without the difference ``A e / D - e`` of two large
numbers where u is small. And the equations are solved again for what is left of their right-hand side: the
columns may be nearly collinear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk._utils.positive_definite import FactorisationError
from minimaxrisk.engines.moment_space.matrix import MomentMatrices
from minimaxrisk.problem.problem import Box

# Where coefficients, slacks and multipliers of moments begin, and the sum of all masses.
FIRST_MU, FIRST_SLACK, FIRST_MULTIPLIER, FIRST_MASS = 0.1, 1.0, 0.1, 10.0
# How often the equations are solved again.
MOST_SOLVES = 2


class MomentPoint:
    """All numbers of an iterate; products of a primal and its dual number vanish at the optimum.

    The primal numbers are mu+, mu- (K x d), p, u (K x n) and v (n), their partners a+, a-, b, w and r. The
    start is outside of all equations, and steps of length one would be inside.
    """

    is_curved = False

    def __init__(self, problem: Box) -> None:
        Z = np.asarray(problem.features.columns(np.arange(problem.shape[1])), dtype=np.float64, order="C")
        (n, d), n_classes = Z.shape, problem.coding.n_classes
        self.Z, self._tau, self._lam = Z, problem.tau, problem.lam
        self._matrices = MomentMatrices(Z, n_classes, problem.features.squares_elsewhere())
        self._shapes = ((n_classes, d), (n_classes, d), (n_classes, n), (n_classes, n), (1, n))
        p, mu = np.full((n_classes, n), 1.0 / (n_classes + 1.0)), np.full((n_classes, d), FIRST_MU)
        w = np.full((n_classes, n), FIRST_MASS / (n * n_classes))
        r = np.full(n, 2.0 * FIRST_MASS / (n * n_classes))
        a = np.maximum(problem.lam, FIRST_MULTIPLIER)
        u = np.maximum(p + 1.0 / n_classes, FIRST_SLACK)
        self._primal = _together([mu, mu, p, u, 1.0 - p.sum(axis=0)])
        self._dual = _together([a, a, r - w, w, r])
        self.mean = np.zeros((1, 1))
        self.failed = np.zeros(1, dtype=np.bool_)

    def _parts(self, values: FloatArray) -> list[FloatArray]:
        """The five kinds of numbers (1 x N) in their shapes."""
        ends = np.cumsum([0, *(rows * columns for rows, columns in self._shapes)])
        return [
            values[0, start:stop].reshape(shape)
            for start, stop, shape in zip(ends[:-1], ends[1:], self._shapes, strict=True)
        ]

    @property
    def mu(self) -> FloatArray:
        """The coefficients (K x d)."""
        plus, minus, *_ = self._parts(self._primal)
        return plus - minus

    @property
    def masses(self) -> tuple[FloatArray, FloatArray]:
        """The masses w (K x n), whose sum need not be one yet, and the largest of each instance, r (n)."""
        *_, w, r = self._parts(self._dual)
        return w, r[0]

    @property
    def nu(self) -> float:
        """The multiplier of the total mass that fits the other numbers best."""
        _, _, p, u, _ = self._parts(self._primal)
        return float((u - p + self.mu @ self.Z.T).mean())

    @property
    def complementarity(self) -> float:
        """The sum of all products: the gap, once both sides are feasible."""
        return float(np.vdot(self._primal, self._dual))

    # What the step asks for.

    def primal(self) -> FloatArray:
        return self._primal

    def dual(self) -> FloatArray:
        return self._dual

    def factorise(self, ratio: FloatArray) -> BoolArray:
        plus, minus, p, u, v = self._parts(self._primal)
        a_plus, a_minus, b, w, r = self._parts(self._dual)
        self._ratio = ratio
        self.of_plus, self.of_minus, self.Q, self.A, of_v = self._parts(ratio)
        self.C, self.D = of_v[0], self.A + self.Q
        self.H, self.share = self.A / self.D, self.Q / self.D
        self.gamma = self.C / (1.0 + self.C * (1.0 / self.D).sum(axis=0))
        self.own = self.A * self.share
        self.of_mu = 1.0 / (1.0 / self.of_plus + 1.0 / self.of_minus)
        # What is not feasible yet. What nu was does not matter: equations are linear in it.
        off_u = p - (plus - minus) @ self.Z.T - u
        self.off_u = off_u - off_u.mean()
        self.off_v = 1.0 - p.sum(axis=0) - v[0]
        self.off_p = r - w - b
        moments = w @ self.Z
        self.off_plus = self._lam - self._tau + moments - a_plus
        self.off_minus = self._lam + self._tau - moments - a_minus
        self.off_mass = 1.0 - float(w.sum())
        try:
            self._factors = self._matrices.factorised(self.gamma, self.H, self.own, self.of_mu)
        except FactorisationError:
            return np.array([True])
        weights = self.own + self.gamma * self.H * self.H.sum(axis=0)
        self._of_nu, self._nu_alone = (weights @ self.Z).ravel(), float(weights.sum())
        self._solved_nu = self._factors.solve(self._of_nu)
        return np.array([False])

    def direction(self, over: FloatArray, predictor: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        c_plus, c_minus, c_b, c_w, c_r = self._parts(over)
        rest = c_b - c_r - self.off_p + self.C * self.off_v
        whole = (c_w + rest) / self.D
        alone, total = self.share * c_w - self.H * rest, whole.sum(axis=0)
        q_plus, q_minus = c_plus - self.off_plus, c_minus - self.off_minus
        right = self.of_mu * (q_plus / self.of_plus - q_minus / self.of_minus)
        # Solve for the changes of mu and nu, and again for what is left of the right-hand side.
        d_mu, d_nu, smallest = np.zeros_like(right), 0.0, np.inf
        for solves in range(MOST_SOLVES + 1):
            e = d_mu @ self.Z.T - d_nu - self.off_u
            common = self.gamma * (total + (self.H * e).sum(axis=0))
            d_w = alone + self.own * e + common * self.H
            off = (right - d_w @ self.Z - self.of_mu * d_mu).ravel()
            size = float(np.abs(off).max())
            if solves == MOST_SOLVES or not 0.0 < size < 0.5 * smallest:
                break
            smallest = size
            solved = self._factors.solve(off)
            more = (self.off_mass - float(d_w.sum()) - self._of_nu @ solved) / (
                self._of_nu @ self._solved_nu - self._nu_alone
            )
            d_mu, d_nu = d_mu + (solved + more * self._solved_nu).reshape(d_mu.shape), d_nu + more
        # The other changes follow.
        d_p = whole + self.H * e - common / self.D
        d_u = whole - self.share * e - common / self.D
        d_v = self.off_v - d_p.sum(axis=0)
        primal = _together([*self._changes_of_mu(d_mu, d_w @ self.Z, q_plus, q_minus), d_p, d_u, d_v])
        dual = over - self._ratio * primal
        # The change of w is known without the difference of two large numbers.
        self._parts(dual)[3][:] = d_w
        return primal, dual

    def _changes_of_mu(
        self, d_mu: FloatArray, moments: FloatArray, q_plus: FloatArray, q_minus: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The changes of mu+ and mu-.

        Their difference is exactly the change of mu, so that u stays what it is by definition; the error goes
        into the multiplier that is nearly zero.
        """
        d_plus, d_minus = (q_plus - moments) / self.of_plus, (q_minus + moments) / self.of_minus
        is_positive = self.of_plus < self.of_minus
        return np.where(is_positive, d_mu + d_minus, d_plus), np.where(is_positive, d_minus, d_plus - d_mu)

    def longest_step(self, dprimal: FloatArray) -> float:
        return np.inf

    def move(
        self, primal_length: FloatArray, dprimal: FloatArray, dual_length: FloatArray, ddual: FloatArray
    ) -> None:
        self._primal = self._primal + primal_length * dprimal
        self._dual = self._dual + dual_length * ddual


def _together(parts: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate([part.ravel() for part in parts])[None]
