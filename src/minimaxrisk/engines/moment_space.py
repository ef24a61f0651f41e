"""An interior point for many instances and several classes: one matrix, as large as the number of moments.

For the one-hot coding with a free marginal the classifier solves

    min  lambda'(mu+ + mu-) - tau'(mu+ - mu-) + nu
    u_iy = p_iy - psi_i'(mu+_y - mu-_y) + nu >= 0     multipliers w_iy, the worst-case distribution
    v_i  = 1 - sum_y p_iy >= 0                        multipliers r_i, the largest mass of an instance
    p, mu+, mu- >= 0                                  multipliers b, a+, a-

with ``sum w = 1``, ``w + b = r`` and ``a = lambda -+ (tau - sum_i w_i psi_i)``. ``MomentPoint`` iterates on
all of these by the step of all interior points. Instances are eliminated one by one: with ``A = w/u``,
``Q = b/p``, ``D = A + Q``, ``H = A/D`` and ``gamma = 1 / (v/r + sum_y 1/D)`` a change e of ``psi'mu - nu``
changes w by

    dw = (A Q / D) e + gamma H (H'e) + what does not depend on e,

a sum of positive terms. What is left has the matrix ``sum_i gamma_i (H_i H_i') x psi_i psi_i'``, and on its
diagonal blocks ``sum_i (A Q / D)_iy psi_i psi_i'`` and what the constraints on the moments add: one matrix of
K d, whatever the number of instances.

Digits are kept where u is small: changes of u and w are formed without the difference ``A e / D - e`` of two
large numbers. The start is outside of all equations.

Where instances are very many, the iterates are those of a few of them. They show which sets of labels have
nearly active constraints, and MRC-CCG, which prices all instances, goes on from there (``paper``). It also
does where rounding ends the iterates too soon, as with tiny radii.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy.linalg.blas import dsyrk

from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk._utils.interrupts import let_through
from minimaxrisk._utils.positive_definite import FactorisationError, cholesky, cholesky_solve, diagonal_of
from minimaxrisk.engines.cost import LIMITS, moments_are_cheaper, moments_find_room
from minimaxrisk.engines.generation import ClassMeans, Subprogram, some_at_random
from minimaxrisk.engines.highs import PivotLimitError, SolverError
from minimaxrisk.engines.interior_point.step import step
from minimaxrisk.engines.paper import Sets, constraint_generation
from minimaxrisk.engines.solution import (
    EngineSettings,
    IterationRecord,
    Monitor,
    Solution,
    SparseCoefficients,
    drop_small_coefficients,
    is_stuck,
)
from minimaxrisk.matrices.matrix import slices_of
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound


def is_for_moment_space(problem: Box) -> bool:
    """Whether the matrices of moments are the smallest ones of a problem, and find room."""
    if problem.coding.n_blocks == 1 or problem.marginal.is_known or problem.features.is_sparse:
        return False
    sizes = *problem.features.shape, problem.coding.n_blocks
    if MomentSpace.few_are_enough(problem):
        return problem.centre.size <= LIMITS.most_masses
    return moments_find_room(*sizes) and moments_are_cheaper(*sizes)


def moment_space(problem: Box, settings: EngineSettings, monitor: Monitor | None = None) -> Solution:
    """Solve as far as rounding allows; the best certified pair, whichever way the loop ends."""
    search = MomentSpace(problem, settings, monitor)
    best = search.best
    try:
        with let_through():
            is_over = MomentSpace.few_are_enough(problem) and search.solve_from_few()
            if not is_over and problem.n_instances * problem.shape[1] <= LIMITS.most_entries:
                search.solve_from_all()
    except KeyboardInterrupt:
        best.interrupted = True
    best.settle(problem, problem.objective)
    best.converged = best.gap <= settings.gap_tol
    room = best.gap + MomentSpace.NEGLIGIBLE
    drop_small_coefficients(problem, best, min(room, settings.gap_tol) if best.converged else room)
    best.stages = [best.stage]
    return best


class MomentSpace:
    """The search for the optimum; ``best`` holds what is proven for the whole problem."""

    # Instances in all and per moment, and the most moments, with which a few are enough for the iterates: on
    # 13,611 x 16 of 7 classes they take a seventh of the time, on 20,000 x 10 of 3 a tenth.
    FEWEST_INSTANCES: ClassVar[int] = 2000
    MANY_PER_MOMENT: ClassVar[int] = 30
    FEW_MOMENTS: ClassVar[int] = 300
    # How many these few are per moment, and at least.
    FEW_PER_MOMENT: ClassVar[int] = 10
    FEWEST_OF_FEW: ClassVar[int] = 250
    # The gap at which the vertex of all instances is looked for from a few.
    VERTEX_GAP: ClassVar[float] = 1e-4
    # The gap at which nothing is left to gain.
    FINISHED: ClassVar[float] = 1e-9
    # Gaps and moments between which a vertex is looked for, where rounding has ended the iterates.
    NEAR_ENOUGH: ClassVar[float] = 2e-7
    COARSE_GAP: ClassVar[float] = 2e-2
    MOST_MOMENTS: ClassVar[int] = 2000
    # Pivots and sets of labels a round that the vertex is worth, and the violation that brings a set.
    MOST_PIVOTS: ClassVar[int] = 20_000
    MOST_NEW: ClassVar[int] = 400
    VIOLATION: ClassVar[float] = 1e-10
    # Ten times the tolerance of HiGHS.
    VIOLATION_OF_MOMENTS: ClassVar[float] = 1e-8
    # Steps without max_iter.
    MOST_STEPS: ClassVar[int] = 200
    # Steps in which what is left halves, or the gap where it is small enough already.
    PATIENCE: ClassVar[int] = 10
    PATIENCE_WHERE_NEAR: ClassVar[int] = 3
    # The loss at which small coefficients go.
    NEGLIGIBLE: ClassVar[float] = 1e-8

    def __init__(self, problem: Box, settings: EngineSettings, monitor: Monitor | None) -> None:
        self._problem, self._settings, self._monitor = problem, settings, monitor
        self.best = Solution.trivial(problem, problem.objective)
        self.best.solver = "interior-point"

    @classmethod
    def few_are_enough(cls, problem: Box) -> bool:
        """Whether a few instances are enough for the iterates."""
        fewest = max(cls.FEWEST_INSTANCES, cls.MANY_PER_MOMENT * problem.n_components)
        return problem.n_components <= cls.FEW_MOMENTS and problem.n_instances >= fewest

    def solve_from_few(self) -> bool:
        """Iterate on a few instances, and find the vertex of all from there; whether that was enough."""
        problem, best, m = self._problem, self.best, self._problem.n_components
        n_few = max(self.FEW_PER_MOMENT * m, self.FEWEST_OF_FEW)
        few = Subprogram(problem, ClassMeans.of(problem), some_at_random(problem.n_instances, n_few))
        own, before = Solution.trivial(few.problem, problem.objective), (best.distribution, best.lower)

        def tell(record: IterationRecord) -> bool:
            # The lower bound holds for all instances, the upper one does not.
            best.lower = max(best.lower, record["lower"])
            best.report(self._monitor, best.upper, n_features=m, n_added=record["n_added"])
            return best.stopped

        point = MomentPoint(few.problem)
        self._iterate(few.problem, own, tell, point, self.VERTEX_GAP)
        # While the iterates were those of a few, their bound was reported without its distribution.
        best.distribution, best.lower = before
        best.offer_distribution(few.on_all_instances(own.distribution), own.lower)
        best.offer_stage(own.stage, upper_bound(problem, problem.objective, own.mu))
        if not self._is_over:
            n_means = len(few.means.prior)
            instances, is_in = point.active_sets()
            is_instance = instances >= n_means
            self._find_vertex(Sets(few.instances[instances[is_instance] - n_means], is_in[:, is_instance]))
        return self._is_over or best.out_of_time

    @property
    def _is_over(self) -> bool:
        return self.best.stopped or self.best.gap <= self._settings.gap_tol

    def solve_from_all(self) -> None:
        """Iterate on all instances, and find the vertex where rounding ends the iterates before."""
        best, gap_tol, point = self.best, self._settings.gap_tol, MomentPoint(self._problem)
        finished = gap_tol if gap_tol > self.VERTEX_GAP else self.FINISHED
        self._iterate(self._problem, best, self._monitor, point, finished)
        is_over = best.stopped or len(best.history) == self._settings.max_iter
        is_near = max(self.NEAR_ENOUGH, finished) < best.gap <= self.COARSE_GAP
        if is_near and self._problem.n_components <= self.MOST_MOMENTS and not is_over:
            self._find_vertex(point.active_sets())

    def _iterate(
        self, problem: Box, best: Solution, monitor: Monitor | None, point: MomentPoint, finished: float
    ) -> None:
        """Move the point until the gap is ``finished``, the monitor stops it, or rounding does."""
        left: list[float] = []
        gaps: list[float] = []
        Z, m = point.Z, problem.n_components
        n_steps = self.MOST_STEPS if self._settings.max_iter is None else self._settings.max_iter
        for _ in range(len(best.history), n_steps):
            # 1) Certify both sides.
            mu = point.mu
            bound = upper_bound(problem, problem.objective, mu, mu @ Z.T)
            best.offer_stage(SparseCoefficients.of(mu), bound)
            mass, _ = point.masses
            mass = mass / mass.sum()
            moments = mass @ Z
            inside = lower_bound(problem, problem.objective, mass, moments)
            best.offer_distribution(inside.distribution, inside.bound)
            violation = max(0.0, float((np.abs(moments - problem.tau) - problem.lam).max()))
            # 2) Report.
            n_added = 0 if best.history else m
            best.report(monitor, bound, n_features=m, n_added=n_added, max_violation=violation)
            # 3) Step, unless nothing is left to gain. On the way in products may grow while what is not
            # feasible shrinks, and the other way round.
            left.append(point.complementarity * (violation + self.FINISHED) * best.gap)
            gaps.append(best.gap)
            is_near = best.gap <= self._settings.gap_tol
            stands_still = is_near and is_stuck(gaps, self.PATIENCE_WHERE_NEAR)
            if best.stopped or best.gap <= finished or stands_still or is_stuck(left, self.PATIENCE):
                return
            step(point)
            if point.failed[0]:
                return

    def _find_vertex(self, sets: Sets) -> None:
        """Let MRC-CCG, which pivots limit, improve the pair from these sets, or report that it failed."""
        problem, settings, best = self._problem, self._settings, self.best
        way, n_pivots, m = "HiGHS failed", 0, problem.n_components
        try:
            constraint_generation(
                problem,
                problem.objective,
                np.arange(m),
                n_max=self.MOST_NEW,
                epsilon=self.VIOLATION_OF_MOMENTS,
                sets=sets,
                epsilon_1=self.VIOLATION,
                gap_tol=self.FINISHED,
                deadline=settings.deadline,
                monitor=self._monitor,
                best=best,
                max_pivots=self.MOST_PIVOTS,
            )
            return
        except PivotLimitError as error:
            way, n_pivots = "HiGHS gave up", error.n_pivots
        except SolverError:
            pass
        best.report(self._monitor, best.upper, n_features=m, vertex=way, n_pivots=n_pivots)


class MomentPoint:
    """All numbers of an iterate; products of a primal and its dual number vanish at the optimum.

    The primal numbers are mu+, mu- (K x d), p, u (K x n) and v (n), their partners a+, a-, b, w and r.
    """

    is_curved = False
    # Where coefficients, slacks and multipliers of moments begin, and the sum of all masses.
    FIRST_MU: ClassVar[float] = 0.1
    FIRST_SLACK: ClassVar[float] = 1.0
    FIRST_MULTIPLIER: ClassVar[float] = 0.1
    FIRST_MASS: ClassVar[float] = 10.0
    # Numbers of weighted columns that are made at a time.
    MOST_PRODUCTS: ClassVar[int] = 1 << 22
    # The slack of sets that are nearly active, and the smallest multiplier of their instances as a fraction
    # of the typical one.
    NEARLY_ACTIVE: ClassVar[float] = 0.05
    NOTABLE: ClassVar[float] = 1e-3

    def __init__(self, problem: Box) -> None:
        Z = np.asarray(problem.features.columns(np.arange(problem.shape[1])), dtype=np.float64, order="C")
        (n, d), n_classes = Z.shape, problem.coding.n_classes
        self.Z, self._tau, self._lam = Z, problem.tau, problem.lam
        self._turned = np.ascontiguousarray(Z.T)
        self._shapes = ((n_classes, d), (n_classes, d), (n_classes, n), (n_classes, n), (1, n))
        p, mu = np.full((n_classes, n), 1.0 / (n_classes + 1.0)), np.full((n_classes, d), self.FIRST_MU)
        w = np.full((n_classes, n), self.FIRST_MASS / (n * n_classes))
        r = np.full(n, 2.0 * self.FIRST_MASS / (n * n_classes))
        a = np.maximum(problem.lam, self.FIRST_MULTIPLIER)
        u = np.maximum(p + 1.0 / n_classes, self.FIRST_SLACK)
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
    def complementarity(self) -> float:
        """The sum of all products: the gap, once both sides are feasible."""
        return float(np.vdot(self._primal, self._dual))

    def active_sets(self) -> Sets:
        """Return the sets of labels whose constraints are nearly active."""
        (_, _, p, u, _), (_, r) = self._parts(self._primal), self.masses
        scores = self.mu @ self.Z.T
        # With the multiplier of the total mass that fits the other numbers best.
        nu = float((u - p + scores).mean())
        order = np.argsort(-scores, axis=0, kind="stable")
        sums = np.cumsum(np.take_along_axis(scores, order, axis=0) - nu, axis=0)
        typical = np.median(np.sort(r)[-self.mu.size :])
        last, instances = np.nonzero((sums > 1.0 - self.NEARLY_ACTIVE) & (r > self.NOTABLE * typical))
        is_in = np.zeros((len(scores), len(instances)), dtype=np.bool_)
        np.put_along_axis(is_in, order[:, instances], np.arange(len(scores))[:, None] <= last, axis=0)
        return Sets(instances, is_in)

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
            self._factor = cholesky(self._matrix())
        except FactorisationError:
            return np.array([True])
        weights = self.own + self.gamma * self.H * self.H.sum(axis=0)
        self._of_nu, self._nu_alone = (weights @ self.Z).ravel(), float(weights.sum())
        self._solved_nu = cholesky_solve(self._factor, self._of_nu)
        return np.array([False])

    def _matrix(self) -> FloatArray:
        """Return the lower triangle of the matrix of moments."""
        (n_classes, d), n = self.of_mu.shape, len(self.Z)
        matrix = np.zeros((n_classes * d, n_classes * d), order="F")
        weights = np.sqrt(self.gamma) * self.H
        for rows in slices_of(slice(0, n), max(1, self.MOST_PRODUCTS // len(matrix))):
            scaled = (weights[:, None, rows] * self._turned[:, rows]).reshape(len(matrix), -1)
            matrix = dsyrk(1.0, scaled.T, trans=1, lower=1, beta=1.0, c=matrix, overwrite_c=1)
        for k, roots in enumerate(np.sqrt(self.own)):
            block = slice(k * d, (k + 1) * d)
            matrix[block, block] += dsyrk(1.0, (self._turned * roots).T, trans=1, lower=1)
        diagonal = diagonal_of(matrix)
        diagonal += self.of_mu.ravel()
        return matrix

    def direction(self, over: FloatArray, predictor: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        c_plus, c_minus, c_b, c_w, c_r = self._parts(over)
        rest = c_b - c_r - self.off_p + self.C * self.off_v
        whole = (c_w + rest) / self.D
        alone, total = self.share * c_w - self.H * rest, whole.sum(axis=0)
        q_plus, q_minus = c_plus - self.off_plus, c_minus - self.off_minus
        right = self.of_mu * (q_plus / self.of_plus - q_minus / self.of_minus)
        # 1) The changes of mu and nu.
        d_w, _ = self._changes_of_w(-self.off_u, alone, total)
        solved = cholesky_solve(self._factor, (right - d_w @ self.Z).ravel())
        d_nu = (self.off_mass - float(d_w.sum()) - self._of_nu @ solved) / (
            self._of_nu @ self._solved_nu - self._nu_alone
        )
        d_mu = (solved + d_nu * self._solved_nu).reshape(right.shape)
        # 2) The other changes follow.
        e = d_mu @ self.Z.T - d_nu - self.off_u
        d_w, common = self._changes_of_w(e, alone, total)
        d_p = whole + self.H * e - common / self.D
        d_u = whole - self.share * e - common / self.D
        d_v = self.off_v - d_p.sum(axis=0)
        primal = _together([*self._changes_of_mu(d_mu, d_w @ self.Z, q_plus, q_minus), d_p, d_u, d_v])
        dual = over - self._ratio * primal
        # The change of w is known without the difference of two large numbers.
        self._parts(dual)[3][:] = d_w
        return primal, dual

    def _changes_of_w(
        self, e: FloatArray, alone: FloatArray, total: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the changes of w, and what all labels of an instance have in common."""
        common = self.gamma * (total + (self.H * e).sum(axis=0))
        return alone + self.own * e + common * self.H, common

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
