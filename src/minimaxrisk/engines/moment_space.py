"""An interior point for many instances and several classes: one matrix, as large as the number of moments.

For the one-hot coding with a free marginal the classifier solves

    min  lambda'(mu+ + mu-) - tau'(mu+ - mu-) + nu
    u_iy = p_iy - psi_i'(mu+_y - mu-_y) + nu >= 0     multipliers w_iy, the worst-case distribution
    v_i  = 1 - sum_y p_iy >= 0                        multipliers r_i, the largest mass of an instance
    p, mu+, mu- >= 0                                  multipliers b, a+, a-

with ``sum w = 1``, ``w + b = r`` and ``a = lambda -+ (tau - sum_i w_i psi_i)``. Mehrotra's predictor and
corrector start outside of all of these. Instances are eliminated one by one: with ``A = w/u``, ``Q = b/p``,
``D = A + Q``, ``H = A/D`` and ``gamma = 1 / (v/r + sum_y 1/D)`` a change e of ``psi'mu - nu`` changes w by

    dw = (A Q / D) e + gamma H (H'e) + what does not depend on e,

a sum of positive terms. What is left is a matrix of the moments (K d), whatever the number of instances.

Three things keep the digits. Changes of u and w are formed without the difference ``A e / D - e`` of two
large numbers where u is small. The changes of mu+ and mu- differ by exactly that of mu, so that u stays what
it is by definition; the error goes into a multiplier that is nearly zero. And the equations are solved once
more for what is left of their right-hand side, as columns may be nearly collinear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.engines.solution import (
    EngineSettings,
    Monitor,
    Solution,
    Stage,
    drop_small_coefficients,
    is_stuck,
)
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound

# Where forming and factorising the matrix is quick, and the numbers per instance and class find room.
MOST_MOMENTS, MOST_ENTRIES, MOST_MASSES = 1500, 1 << 24, 1 << 21
# The gap at which nothing is left to gain, steps without max_iter, and those in which what is left halves.
SMALLEST, MOST_STEPS, PATIENCE = 1e-9, 200, 20
# How far towards the boundary a step goes, and what is added where rounding makes the matrix indefinite.
NEARLY_ALL, MORE = 0.995, (0.0, 1e-12, 1e-10, 1e-8)
# Where coefficients and slacks begin, and the smallest multipliers of moments there.
FIRST_MU, FIRST_SLACK, FIRST_MULTIPLIER = 1e-2, 0.1, 1e-3


def is_for_moment_space(problem: Box) -> bool:
    """Whether the matrix of moments is small, for a problem with many instances."""
    n, d = problem.features.shape
    return (
        problem.coding.name == "one-hot"
        and not problem.marginal.is_known
        and problem.n_components <= MOST_MOMENTS
        and n * d <= MOST_ENTRIES
        and n * problem.coding.n_blocks <= MOST_MASSES
    )


def moment_space(problem: Box, settings: EngineSettings, monitor: Monitor | None = None) -> Solution:
    """Solve as far as rounding allows; the best certified pair, whichever way the loop ends."""
    best = Solution.trivial(problem, problem.objective)
    best.solver = "interior-point"
    try:
        _iterate(problem, settings, best, monitor)
    except KeyboardInterrupt:
        best.interrupted = True
    best.settle(problem, problem.objective)
    best.converged = best.gap <= settings.gap_tol
    drop_small_coefficients(problem, best, max(best.gap, SMALLEST))
    best.stages = [best.stage]
    return best


def _iterate(problem: Box, settings: EngineSettings, best: Solution, monitor: Monitor | None) -> None:
    point, left = _Point.first(problem), []
    for step in range(MOST_STEPS if settings.max_iter is None else settings.max_iter):
        # 1) Certify both sides.
        mu, (n_blocks, d) = point.mu, problem.shape
        bound = upper_bound(problem, problem.objective, mu, (point.Z @ mu.T).T)
        best.offer_stage(Stage.of(mu), bound)
        mass = point.w / point.w.sum()
        moments = mass.T @ point.Z
        inside = lower_bound(problem, problem.objective, mass.T, moments)
        best.offer_distribution(inside.distribution, inside.bound)
        violation = max(0.0, float((np.abs(moments - problem.tau) - problem.lam).max()))
        # 2) Report.
        best.report(
            monitor,
            bound,
            n_features=n_blocks * d,
            n_added=0 if step else n_blocks * d,
            max_violation=violation,
        )
        # On the way in products may grow while what is not feasible shrinks, and the other way round.
        left.append(point.complementarity * (violation + SMALLEST) * best.gap)
        if best.stopped or best.gap <= min(settings.gap_tol, SMALLEST) or is_stuck(left, PATIENCE):
            return
        # 3) Step.
        if not point.advance():
            return


class _Step(NamedTuple):
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


PRIMAL, DUAL = ("plus", "minus", "p", "u", "v"), ("a_plus", "a_minus", "b", "w", "r")


@dataclass
class _Point:
    """All numbers of an iterate; products of a primal and its dual number vanish at the optimum."""

    Z: FloatArray  # n x d
    tau: FloatArray
    lam: FloatArray
    plus: FloatArray  # K x d
    minus: FloatArray
    p: FloatArray  # n x K
    u: FloatArray
    v: FloatArray  # n
    w: FloatArray
    r: FloatArray
    b: FloatArray
    a_plus: FloatArray
    a_minus: FloatArray
    nu: float

    @classmethod
    def first(cls, problem: Box) -> _Point:
        Z = np.asarray(problem.features.columns(np.arange(problem.shape[1])), dtype=np.float64)
        n, d = Z.shape
        n_classes = problem.coding.n_classes
        p, mu = np.full((n, n_classes), 1.0 / (n_classes + 1.0)), np.full((n_classes, d), FIRST_MU)
        w, r = np.full((n, n_classes), 1.0 / (n * n_classes)), np.full(n, 2.0 / (n * n_classes))
        a = np.maximum(problem.lam, FIRST_MULTIPLIER)
        return cls(
            Z,
            problem.tau,
            problem.lam,
            plus=mu,
            minus=mu.copy(),
            p=p,
            u=np.maximum(p + 1.0 / n_classes, FIRST_SLACK),
            v=1.0 - p.sum(axis=1),
            w=w,
            r=r,
            b=r[:, None] - w,
            a_plus=a,
            a_minus=a.copy(),
            nu=1.0 / n_classes,
        )

    @property
    def mu(self) -> FloatArray:
        return self.plus - self.minus

    @property
    def complementarity(self) -> float:
        """The sum of all products: the gap, once both sides are feasible."""
        pairs = zip(PRIMAL, DUAL, strict=True)
        return float(sum(np.vdot(getattr(self, x), getattr(self, z)) for x, z in pairs))

    def advance(self) -> bool:
        """One step of predictor and corrector; False where rounding leaves none."""
        try:
            system = _System(self)
        except LinAlgError:
            return False
        n_products = 2 * self.p.size + len(self.v) + 2 * self.plus.size
        now = self.complementarity / n_products
        products = [-getattr(self, x) * getattr(self, z) for x, z in zip(PRIMAL, DUAL, strict=True)]
        predictor = system.step(products)
        after = self._moved(predictor, *self._lengths(predictor)).complementarity / n_products
        target = now * (after / now) ** 3
        corrector = system.step(
            [
                target + product - getattr(predictor, x) * getattr(predictor, z)
                for product, x, z in zip(products, PRIMAL, DUAL, strict=True)
            ]
        )
        if not all(np.isfinite(change).all() for change in corrector):
            return False
        moved = self._moved(corrector, *self._lengths(corrector))
        for name in (*PRIMAL, *DUAL, "nu"):
            setattr(self, name, getattr(moved, name))
        return True

    def _lengths(self, step: _Step) -> tuple[float, float]:
        return tuple(  # type: ignore[return-value]
            min(_longest(getattr(self, name), getattr(step, name)) for name in side)
            for side in (PRIMAL, DUAL)
        )

    def _moved(self, step: _Step, primal: float, dual: float) -> _Point:
        def moved(name: str, length: float) -> Any:
            return getattr(self, name) + length * getattr(step, name)

        changed = {name: moved(name, primal) for name in (*PRIMAL, "nu")}
        return _Point(self.Z, self.tau, self.lam, **changed, **{name: moved(name, dual) for name in DUAL})


def _longest(x: FloatArray, change: FloatArray) -> float:
    """How long a step may be, at most one, so that x stays positive."""
    shrinks = change < 0.0
    return min(1.0, NEARLY_ALL * float(np.min(-x[shrinks] / change[shrinks], initial=np.inf)))


class _System:
    """The Newton equations at a point, factorised."""

    def __init__(self, point: _Point) -> None:
        self.point = o = point
        self.A, self.Q, self.C = o.w / o.u, o.b / o.p, o.r / o.v
        self.D = self.A + self.Q
        self.H = self.A / self.D
        self.gamma = self.C / (1.0 + self.C * (1.0 / self.D).sum(axis=1))
        self.own = self.A * self.Q / self.D
        self.of_plus, self.of_minus = o.a_plus / o.plus, o.a_minus / o.minus
        self.of_mu = 1.0 / (1.0 / self.of_plus + 1.0 / self.of_minus)
        # What is not feasible yet.
        self.off_u = o.p - o.Z @ o.mu.T + o.nu - o.u
        self.off_v = 1.0 - o.p.sum(axis=1) - o.v
        self.off_p = o.r[:, None] - o.w - o.b
        moments = o.w.T @ o.Z
        self.off_plus = o.lam - o.tau + moments - o.a_plus
        self.off_minus = o.lam + o.tau - moments - o.a_minus
        self.off_mass = 1.0 - float(o.w.sum())
        self.factor = self._factorised()
        weights = self.own + self.gamma[:, None] * self.H * self.H.sum(axis=1, keepdims=True)
        self.of_nu, self.nu_alone = (weights.T @ o.Z).ravel(), float(weights.sum())
        self.solved_nu = self._solve(self.of_nu)

    def _factorised(self) -> Any:
        Z, (n_classes, d) = self.point.Z, self.point.plus.shape
        matrix = np.empty((n_classes * d, n_classes * d))
        for j in range(n_classes):
            for k in range(j + 1):
                weights = self.gamma * self.H[:, j] * self.H[:, k]
                if j == k:
                    weights = weights + self.own[:, j]
                matrix[j * d : (j + 1) * d, k * d : (k + 1) * d] = (Z * weights[:, None]).T @ Z
        diagonal = np.diag_indices(n_classes * d)
        matrix[diagonal] += self.of_mu.ravel()
        size = matrix[diagonal].copy()
        for more in MORE:
            matrix[diagonal] = (1.0 + more) * size
            try:
                return cho_factor(matrix, lower=True, check_finite=False)
            except LinAlgError:
                continue
        raise LinAlgError("the matrix of moments is not positive definite")

    def _solve(self, right: FloatArray) -> FloatArray:
        solved: FloatArray = cho_solve(self.factor, right, check_finite=False)
        return solved

    def step(self, products: list[FloatArray]) -> _Step:
        """The changes that make the products what they should be, to first order, and both sides feasible.

        ``products`` are the wanted changes of the products, in the order of ``PRIMAL``.
        """
        o, (c_plus, c_minus, c_p, c_u, c_v) = self.point, products
        c_plus, c_minus = c_plus / o.plus, c_minus / o.minus
        c_w, c_b, c_r = c_u / o.u, c_p / o.p, c_v / o.v
        rest = c_b - c_r[:, None] - self.off_p + (self.C * self.off_v)[:, None]
        whole, share = (c_w + rest) / self.D, self.Q / self.D

        def change_of_w(e: FloatArray) -> tuple[FloatArray, FloatArray]:
            common = (self.gamma * (whole + self.H * e).sum(axis=1))[:, None]
            return share * c_w - self.H * rest + self.own * e + common * self.H, common

        q_plus, q_minus = c_plus - self.off_plus, c_minus - self.off_minus
        right = self.of_mu * (q_plus / self.of_plus - q_minus / self.of_minus)
        d_mu, d_nu = np.zeros_like(o.plus), 0.0
        # The second time for what rounding left.
        for _ in range(2):
            d_w, _ = change_of_w(o.Z @ d_mu.T - d_nu - self.off_u)
            off = (right - d_w.T @ o.Z - self.of_mu * d_mu).ravel()
            solved = self._solve(off)
            more = (self.off_mass - float(d_w.sum()) - self.of_nu @ solved) / (
                self.of_nu @ self.solved_nu - self.nu_alone
            )
            d_mu, d_nu = d_mu + (solved + more * self.solved_nu).reshape(d_mu.shape), d_nu + more
        e = o.Z @ d_mu.T - d_nu - self.off_u
        d_w, common = change_of_w(e)
        d_p = whole + self.H * e - common / self.D
        d_u = whole - share * e - common / self.D
        d_v = self.off_v - d_p.sum(axis=1)
        moments = d_w.T @ o.Z
        d_plus, d_minus = (q_plus - moments) / self.of_plus, (q_minus + moments) / self.of_minus
        is_positive = self.of_plus < self.of_minus
        d_plus, d_minus = (
            np.where(is_positive, d_mu + d_minus, d_plus),
            np.where(is_positive, d_minus, d_plus - d_mu),
        )
        return _Step(
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
