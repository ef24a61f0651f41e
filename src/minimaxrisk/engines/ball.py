"""An interior point for the ball: n K masses, a norm, and systems of n (K - 1) equations.

The adversary's program, with r_i = max_y w_yi:

    min sum_i r_i   s.t.  w >= 0,  r_i - w_yi >= 0,  g(w) = rho - ||C (w - centre)||_G >= 0,

and the masses of the marginal. With multipliers alpha, beta of the inequalities, eta of the masses and theta
of the ball, the conditions of optimality are

    sum_y beta_yi = 1,    beta - alpha - eta = s,    s the scores of  A = -kappa C (w - centre),

so that -eta is phi, and A are the coefficients of the rule. A step of Newton's method has for each instance a
K x K matrix M_i, and the kernel matrix couples them: the matrix to be factorised is, but for a few ranks,
``diag(M_i) + kappa G x C'C``. Here kappa is theta / ||C (w - centre)||_G. Where that is one matrix of n K, it
is cheaper to keep r and to factorise K + 1 matrices of n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import dpotrf, dpotrs

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.positive_definite import FactorisationError
from minimaxrisk.engines.interior_point.factors import FactorsOfClasses
from minimaxrisk.engines.solution import Enough, Monitor, Solution, Stage, is_stuck
from minimaxrisk.problem.ball import Ball
from minimaxrisk.problem.problem import lower_bound, upper_bound

MOST_ITERATIONS = 100
# Multipliers take some steps until they bound anything at all, so that it is stuck later than on a box.
PATIENCE, LEFT = 20, 0.9
# How much of the way to the boundary a step may go.
NEARLY = 0.995
# Masses up to which there is one matrix for all labels, and not one for each: 200 masses take 16 ms with it
# and 19 without, 300 as long, 500 29 and 21, 800 121 and 53.
MOST_TOGETHER = 400
# Where nobody asks for more.
NEAR = Enough(1e-8)


def solve_ball(problem: Ball, enough: Enough = NEAR, monitor: Monitor | None = None) -> Solution:
    """The best bounds found, ``enough`` unless the numbers do not allow it; coefficients are B x n."""
    objective = problem.objective
    shared = np.broadcast_to(problem.centre.sum(axis=0) / len(problem.centre), problem.centre.shape)
    nothing = np.zeros(problem.shape)
    point = lower_bound(problem, objective, shared)
    best = Solution(
        problem.shape,
        Stage.of(nothing),
        upper_bound(problem, objective, nothing),
        point.distribution,
        point.bound,
        solver="interior-point",
    )
    # It may be that the ball holds a distribution that tells the labels nothing.
    best.converged = bool(enough(best.lower, best.upper))
    try:
        if not best.converged:
            _iterate(problem, shared, best, enough, monitor)
    except KeyboardInterrupt:
        best.interrupted = True
    best.stages = [best.stage]
    return best


def _iterate(
    problem: Ball, shared: FloatArray, best: Solution, enough: Enough, monitor: Monitor | None
) -> None:
    """Improve ``best`` until it is enough, the iterate is stuck, or the monitor says stop."""
    objective, iterate = problem.objective, _Iterate.start(problem, shared)
    gaps: list[float] = []
    for _ in range(MOST_ITERATIONS):
        if not iterate.step():
            return
        coefficients = -iterate.kappa * iterate.deviation
        upper = upper_bound(problem, objective, coefficients)
        best.offer_stage(Stage.of(coefficients), upper)
        point = lower_bound(problem, objective, objective.repaired(iterate.w, problem.centre))
        best.offer_distribution(point.distribution, point.bound)
        best.report(monitor, upper, n_features=problem.n_instances)
        best.converged = bool(enough(best.lower, best.upper))
        gaps.append(best.gap)
        if best.converged or best.stopped or is_stuck(gaps, PATIENCE, LEFT):
            return


class _Iterate:
    """Masses w and r, multipliers alpha, beta, eta and theta."""

    def __init__(self, problem: Ball, w: FloatArray, r: FloatArray) -> None:
        self.problem, self.w, self.r = problem, w, r
        self.is_known = problem.marginal.is_known
        self.distance, self.deviation, self.pull = 0.0, w, w
        self._refresh()
        self.ball_slack = problem.radius - self.distance
        self.beta = np.full_like(w, 1.0 / len(w))
        mu = float(np.mean((r - w) * self.beta))
        self.alpha, self.theta = mu / w, mu / self.ball_slack
        error = self.beta - self.alpha + self.theta * self.pull
        self.eta: FloatArray = error.mean(axis=0) if self.is_known else np.full(w.shape[1], error.mean())

    @classmethod
    def start(cls, problem: Ball, shared: FloatArray) -> _Iterate:
        """Half-way from the centre to masses that all labels share, or to the boundary of the ball."""
        distance = problem.norm(problem.coding.encode(shared - problem.centre))
        share = 0.5 * min(1.0, problem.radius / distance)
        w = (1.0 - share) * problem.centre + share * shared
        return cls(problem, w, w.max(axis=0) + 0.5 * shared[0])

    def _refresh(self) -> None:
        """How far w is from the centre, and where the ball pulls it."""
        problem = self.problem
        self.deviation = problem.coding.encode(self.w - problem.centre)
        seen = self.deviation @ problem.gram
        self.distance = float(np.sqrt(max(np.sum(self.deviation * seen), 1e-300)))
        self.pull = problem.coding.scores(seen) / self.distance

    @property
    def kappa(self) -> float:
        return self.theta / self.distance

    def step(self) -> bool:
        """Mehrotra's predictor and corrector; False where the numbers do not allow another step."""
        slack = self.r - self.w
        n_pairs = 2 * self.w.size + 1
        products = self.w * self.alpha, slack * self.beta, self.ball_slack * self.theta
        mu = (products[0].sum() + products[1].sum() + products[2]) / n_pairs
        if slack.min() <= 0.0 or self.w.min() <= 0.0:
            return False  # smaller than the numbers can tell
        try:
            system = _System(self, slack)
        except (linalg.LinAlgError, FactorisationError, ValueError):
            return False
        step = system.solve(-products[0], -products[1], -products[2], curvature=0.0)
        length = self._longest(step, slack)
        at_end = (
            np.sum((self.w + length * step.w) * (self.alpha + length * step.alpha))
            + np.sum((slack + length * (step.r - step.w)) * (self.beta + length * step.beta))
            + (self.ball_slack + length * step.ball_slack) * (self.theta + length * step.theta)
        ) / n_pairs
        target = mu * float(np.clip(at_end / mu, 0.0, 1.0)) ** 3
        step = system.solve(
            target - products[0] - step.w * step.alpha,
            target - products[1] - (step.r - step.w) * step.beta,
            target - products[2] - step.ball_slack * step.theta,
            curvature=step.curvature,
        )
        length = NEARLY * self._longest(step, slack)
        if not (np.isfinite(length) and length > 1e-12):
            return False
        self.w = self.w + length * step.w
        self.r = self.r + length * step.r
        self.alpha = self.alpha + length * step.alpha
        self.beta = self.beta + length * step.beta
        self.eta = self.eta + length * step.eta
        self.theta += length * step.theta
        self.ball_slack += length * step.ball_slack
        self._refresh()
        return True

    def _longest(self, step: _Step, slack: FloatArray) -> float:
        """The longest step, at most 1, at which all inequalities hold."""
        fastest = max(
            float((-step.w / self.w).max()),
            float(((step.w - step.r) / slack).max()),
            float((-step.alpha / self.alpha).max()),
            float((-step.beta / self.beta).max()),
            -step.theta / self.theta,
            -step.ball_slack / self.ball_slack,
        )
        return 1.0 if fastest <= 1.0 else 1.0 / fastest


@dataclass(frozen=True)
class _Step:
    """Changes of all variables.

    That of the slack of the ball is to first order, and ``curvature`` is twice what it loses to second order.
    """

    w: FloatArray
    r: FloatArray
    alpha: FloatArray
    beta: FloatArray
    eta: FloatArray
    theta: float
    ball_slack: float
    curvature: float


class _System:
    """The equations of Newton's method at an iterate, factorised.

    For each instance the labels have a matrix ``M_i = diag(alpha / w) + L_i``, with L_i the Laplacian of the
    weights beta / slack.
    """

    def __init__(self, at: _Iterate, slack: FloatArray) -> None:
        self._at, self._slack, n_classes = at, slack, len(at.w)
        self._first = at.alpha / at.w  # of w >= 0
        self._second = at.beta / slack  # of r >= w
        self._total = self._second.sum(axis=0)
        share = (self._second / self._total).T
        blocks = -self._second.T[:, :, None] * share[:, None, :]
        others = share @ (1.0 - np.eye(n_classes))
        blocks[:, np.arange(n_classes), np.arange(n_classes)] = self._second.T * others + self._first.T
        self._blocks = blocks
        self._factor: _OneFactor | _FactorsOfClasses
        if at.problem.coding.n_blocks == 1 or at.is_known or at.w.size <= MOST_TOGETHER:
            self._factor = _OneFactor(at, blocks, self._first)
        else:
            self._factor = _FactorsOfClasses(at, self._first, self._second)
        self._pull = self._factor.solve(at.pull)
        self._mass = None if at.is_known else self._factor.solve(np.ones_like(at.w))

    def solve(self, of_w: FloatArray, of_slack: FloatArray, of_ball: float, *, curvature: float) -> _Step:
        """Changes that bring the products of the pairs by so much nearer to their target.

        ``curvature`` is twice what the slack of the ball loses to second order.
        """
        at, slack = self._at, self._slack
        missing = 1.0 - at.beta.sum(axis=0)
        error = at.beta - at.alpha - at.eta + at.theta * at.pull
        wrong = at.problem.radius - at.distance - at.ball_slack - 0.5 * curvature
        from_w, from_slack = of_w / at.w, of_slack / slack
        from_ball = (of_ball - at.theta * wrong) / at.ball_slack
        of_r = from_slack.sum(axis=0) - missing
        right = -error + from_w - from_slack - at.pull * from_ball + self._second * (of_r / self._total)
        # The curvature of the ball is rank one, and so is the total mass where masses are free.
        w, curved = self._factor.solve(right), at.theta / at.ball_slack - at.kappa
        own, cross = float(np.sum(at.pull * w)), float(np.sum(at.pull * self._pull))
        if self._mass is None:
            along = own / (1.0 + curved * cross)
            w = w - curved * along * self._pull
        else:
            # sum w + step sum mass - curved along sum pull = 0;  along = <pull, all of it>
            system = np.array(
                [
                    [self._mass.sum(), -curved * self._pull.sum()],
                    [-np.sum(at.pull * self._mass), 1.0 + curved * cross],
                ]
            )
            step, along = np.linalg.solve(system, np.array([-w.sum(), own]))
            w = w + step * self._mass - curved * along * self._pull
        moved = at.problem.coding.encode(w)
        gram_step = moved @ at.problem.gram
        left = np.einsum("iyz,zi->yi", self._blocks, w) + at.kappa * at.problem.coding.scores(gram_step)
        eta = (left + curved * along * at.pull - right).mean(axis=0)
        if self._mass is not None:
            eta = np.full_like(eta, step)
        r = (of_r + np.sum(self._second * w, axis=0)) / self._total
        return _Step(
            w=w,
            r=r,
            alpha=from_w - self._first * w,
            beta=from_slack - self._second * (r - w),
            eta=eta,
            theta=from_ball + at.theta / at.ball_slack * along,
            ball_slack=wrong - along,
            curvature=max(0.0, float(np.sum(gram_step * moved)) - along**2) / at.distance,
        )


class _OneFactor:
    """One matrix for all labels, but for the curvature of the ball and eta.

    Masses change in directions of labels that the kernel sees. Where the signed coding does not see the total
    mass of an instance, that is eliminated.
    """

    def __init__(self, at: _Iterate, blocks: FloatArray, first: FloatArray) -> None:
        coding, n = at.problem.coding.matrix, at.problem.n_instances
        seen, unseen = _directions(coding, is_known=at.is_known)
        self._seen, self._unseen = seen, unseen
        inner = seen.T @ blocks @ seen
        if unseen is not None:
            # The Laplacian does not see it either, which rounding must not hide.
            self._across = (first.T * unseen[:, 0]) @ seen
            self._own = (first.T * unseen[:, 0]) @ unseen[:, 0]
            inner -= self._across[:, :, None] * (self._across / self._own[:, None])[:, None, :]
        rank = seen.shape[1]
        size = float(np.sum((coding @ seen[:, 0]) ** 2))  # the same in all directions
        matrix = np.zeros((n, rank, n, rank))
        for label in range(rank):
            matrix[:, label, :, label] = (at.kappa * size) * at.problem.gram
        matrix[np.arange(n), :, np.arange(n), :] += inner
        self._factor, info = dpotrf(matrix.reshape(n * rank, n * rank).T, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            raise linalg.LinAlgError

    def solve(self, right: FloatArray) -> FloatArray:
        """The change of w that goes with a right-hand side."""
        inner = right.T @ self._seen
        if self._unseen is not None:
            outside = (right.T @ self._unseen)[:, 0] / self._own
            inner = inner - self._across * outside[:, None]
        x = dpotrs(self._factor, inner.ravel(), lower=1)[0].reshape(inner.shape)
        change = x @ self._seen.T
        if self._unseen is not None:
            rest = outside - np.sum(self._across * x, axis=1) / self._own
            change = change + rest[:, None] * self._unseen[:, 0]
        found: FloatArray = change.T
        return found


class _FactorsOfClasses:
    """A matrix for each label and one for r: each label has a block of its own and masses are free."""

    def __init__(self, at: _Iterate, first: FloatArray, second: FloatArray) -> None:
        gram = np.asfortranarray(np.tril(at.kappa * at.problem.gram))
        self._factors = FactorsOfClasses((gram.copy(order="F") for _ in first), first, second)
        self._nothing = np.zeros(at.problem.n_instances)

    def solve(self, right: FloatArray) -> FloatArray:
        """The change of w that goes with a right-hand side."""
        change: FloatArray = self._factors.solve(right, self._nothing)[0][0]
        return change


def _directions(coding: FloatArray, *, is_known: bool) -> tuple[FloatArray, FloatArray | None]:
    """Orthonormal directions of labels (columns) that the kernel sees, and the one that it does not."""
    n_blocks, n_classes = coding.shape
    if n_blocks == 1:
        unseen = None if is_known else np.full((2, 1), np.sqrt(0.5))
        return coding.T / np.linalg.norm(coding), unseen
    if not is_known:
        return np.eye(n_classes), None
    return linalg.null_space(np.ones((1, n_classes))), None
