"""The engine for problems whose matrices are too large to factorise: primal-dual steps, certified as they go.

The saddle point of ``min over v, max over mu of  f(v) - mu'(v Psi - tau) - lambda'|mu|`` is the worst-case
distribution and the classifier; v = C w are the masses as the blocks see them (B x n), and ``1 - f`` or
``1/2 - f`` is the Bayes error. A step T moves both sides (Chambolle and Pock 2011):

    v+  = prox of f at v + (eta / omega) mu Psi'
    mu+ = S(mu - eta omega ((2 v+ - v) Psi - tau), eta omega lambda)      S: soft threshold

with ``eta |Psi| < 1`` and a weight omega between the two sides. It costs one product with Psi and one with
its transpose. The proximal map, ``argmin over v of f(v) + |v - z|^2 / (2 t)``, is closed (classes
``...Masses``), also where every instance has a t of its own:

* signed, free: ``f = sum_i |v_i| / 2``, soft thresholding. The condition that masses are at most one is not
  needed: the empirical distribution has ``sum |v_i| = 1``, and no optimum has more.
* signed, known: the same with ``|v_i| <= p_i``; a clipped soft threshold, as the problem is one number per i.
* one-hot: ``f = sum_i max_y w_yi`` on the distributions. Let rho_i solve ``sum_y (z_yi - rho_i)_+ = t`` and
  ``c = min(z, rho)``. Then w is the projection of c on the distributions, ``w = (c + t phi)_+`` with the phi
  that gives the mass (one for all, or with a known marginal one per instance). Proof: with
  ``q = (z - rho)_+ / t``, non-negative with sum one over y, ``w = (z - t q + t phi)_+`` is the condition of
  optimality; where w_i is not zero, q is positive only at labels with ``c = rho``, the largest, and where w_i
  is zero every label is a largest one. So q is a subgradient of the maximum.

Instances with long rows of Psi take shorter steps (Pock and Chambolle 2011): t_i is proportional to
``1 / |psi_i|``, eta to the inverse norm of ``S^1/2 Psi`` with S the diagonal of these, and |v|^2 below is
``v'S^-1 v``. A collection of texts takes 860 iterations to a gap of 1e-3 instead of 1720.

Anchor and restarts. In the norm ``|z|^2 = omega |v|^2 + 2 eta mu.(v Psi) + |mu|^2 / omega`` T is firmly
non-expansive, so that with an anchor a the sequence ``z <- (k+1)/(k+2) (2 T(z) - z) + 1/(k+2) a`` has
residuals |z - T(z)| of order 1/k (Halpern 1967; Lieder 2021; Lu and Yang 2024). When the residual has fallen
enough, or it has taken long, the anchor moves to T(z), which for linear programs gives linear convergence;
omega is then set again from how far both sides moved (as in PDLP: Applegate et al. 2021). Products with Psi
are linear, so that those of z follow from those of T(z).

Rows. In the signed coding with free masses most of many instances have none at the optimum, and a coarse gap
shows which may have some. So for sparse rows, when the anchor moves, the instances near to their dual
constraints, and those with mass, are chosen; the steps go on with these alone. Fewer rows have a smaller
norm, so that steps are longer too. An instance left out has no mass, so that moments and lower bounds hold as
they are; upper bounds take the scores of all instances. Later choices only add, so that a wrong choice costs
steps, no answer. Steps to a gap of 1e-3 on texts of 100,000 x 20,000 take 9 s instead of 41.

Certificates. Every few steps T(z) is certified from its moments and scores. Bounds of z, of the mean of a
round, or of mixtures with the best pair so far are no closer.

Columns are at unit root mean square. If they are divided by their radii instead, text of 3000 x 8000 ends at
a gap of 1e-1 instead of 1e-3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.interrupts import let_through
from minimaxrisk.engines.cost import RATES, gap_of_standstill
from minimaxrisk.engines.solution import (
    SMALLEST_GAP,
    EngineSettings,
    Monitor,
    Solution,
    SparseCoefficients,
    drop_small_coefficients,
)
from minimaxrisk.matrices.standardised import Standardised, squared_norm
from minimaxrisk.problem.problem import Box, lower_bound, upper_bound
from minimaxrisk.problem.rule import instance_thresholds


@dataclass(frozen=True)
class SignedMasses:
    """One number per instance, ``w_0 - w_1``; the rest of the mass carries both labels alike."""

    instances: FloatArray  # the mass of each in the sample
    is_known: bool = False  # whether that is its mass in every distribution

    def nearest(self, z: FloatArray, t: FloatArray) -> FloatArray:
        """Return the proximal map of f at z with a step t for each instance (n)."""
        v = soft_threshold(z, 0.5 * t)
        return np.clip(v, -self.instances, self.instances) if self.is_known else v

    def distribution(self, v: FloatArray) -> tuple[FloatArray, float]:
        """Return a distribution (K x n), and the factor by which its moments are those of v."""
        factor, rest = 1.0, 0.5 * (self.instances - np.abs(v[0]))
        if not self.is_known:
            total = float(np.abs(v).sum())
            factor = 1.0 / max(1.0, total)
            rest = 0.5 * max(0.0, 1.0 - total) * self.instances
        v = factor * v
        return np.concatenate([np.maximum(v, 0.0), np.maximum(-v, 0.0)]) + rest, factor

    def scale(self, gain: float, block_scores: FloatArray) -> float:
        """Return the factor on coefficients that makes their bound smallest; one where masses are known.

        U is ``1/2 - c gain`` until the largest ``c |score|`` is 1/2, and rises from there.
        """
        largest = float(np.abs(block_scores).max())
        return 0.5 / largest if not self.is_known and gain > 0.0 and largest > 0.0 else 1.0


@dataclass(frozen=True)
class OneHotMasses:
    """A number per label and instance, with a sum of one or a known sum for each instance."""

    known: FloatArray | None = None

    def nearest(self, z: FloatArray, t: FloatArray) -> FloatArray:
        # The largest entries of each instance are cut down to one level, by t in all.
        levelled = np.minimum(z, t * instance_thresholds(z / t))
        if self.known is None:
            return on_simplex(levelled, t)
        # The threshold of excess p is p times that of excess one, at values divided by p.
        return np.maximum(levelled - self.known * instance_thresholds(levelled / self.known), 0.0)

    def distribution(self, v: FloatArray) -> tuple[FloatArray, float]:
        return v, 1.0

    def scale(self, gain: float, block_scores: FloatArray) -> float:
        return 1.0


def masses_of(problem: Box) -> SignedMasses | OneHotMasses:
    """Return the adversary's side of a problem."""
    instances, is_known = problem.centre.sum(axis=0), problem.marginal.is_known
    if problem.coding.name == "signed":
        return SignedMasses(instances, is_known)
    return OneHotMasses(instances if is_known else None)


def soft_threshold(z: FloatArray, t: FloatArray | float) -> FloatArray:
    """Return z moved towards zero by t, and not across it."""
    return z - np.clip(z, -t, t)


def on_simplex(c: FloatArray, t: FloatArray) -> FloatArray:
    """The projection ``(c + t phi)_+`` with sum one, in the norm that divides column i by t_i.

    ``sum (c + t phi)_+ - 1`` is convex and piecewise linear in phi, and not negative where all entries count:
    Newton's method goes down from there and ends at the root after finitely many pieces (Michelot 1986).
    """
    c = c - t * (c / t).max()  # adding a multiple of t changes nothing, and so phi is not negative
    inside, weights = c.ravel(), np.broadcast_to(t, c.shape).ravel()
    while True:
        phi = (1.0 - float(inside.sum())) / float(weights.sum())
        stays = inside > -phi * weights
        if stays.all():
            return np.maximum(c + t * phi, 0.0)
        inside, weights = inside[stays], weights[stays]


class Point(NamedTuple):
    """Both sides of the saddle, and their products with the features."""

    v: FloatArray  # B x n, masses as the blocks see them
    mu: FloatArray  # B x d
    moments: FloatArray  # v Psi
    scores: FloatArray  # mu Psi', of blocks

    def combined(self, own: float, reached: Point, share: float, anchor: Point) -> Point:
        """``own`` of this point, ``share`` of T(z) and the rest of the anchor; the shares add up to one."""
        rest, parts = 1.0 - own - share, zip(self, reached, anchor, strict=True)
        return Point(*(own * a + share * b + rest * c for a, b, c in parts))


class PrimalDual:
    """The iteration. ``step`` returns T(z), whose coefficients are sparse and whose masses are feasible."""

    # eta |Psi| at the start, and the factor by which a move with a negative square shrinks it. More than one
    # is not proven to converge, but takes 5 to 20% less time; where it does not converge, moves turn to
    # directions in which the matrix of the norm is not positive definite, and so are noticed.
    BOLD_STEP: ClassVar[float] = 1.3
    SHRINKAGE: ClassVar[float] = 0.88
    # When the anchor moves: the residual fell to the first fraction of that at the start of the round, or the
    # round has taken the second fraction of all iterations.
    ENOUGH: ClassVar[float] = 0.2
    LONG: ClassVar[float] = 0.36
    # The largest factor by which the weight of the two sides changes after a round. The ratio of two
    # distances says nothing where one is rounding.
    LARGEST_CHANGE: ClassVar[float] = 10.0
    # The gap from which on rows are chosen (without it texts take 1.6 to 2.2 times as long), the nearness at
    # which they are, and the share of all up to which a first choice saves time.
    COARSE_GAP: ClassVar[float] = 0.15
    NEAR: ClassVar[float] = 0.8
    MOST_ROWS: ClassVar[float] = 0.7

    def __init__(self, problem: Box) -> None:
        self.problem = problem
        self.masses = masses_of(problem)
        n, n_blocks = problem.n_instances, problem.coding.n_blocks
        nothing, none = np.zeros((n_blocks, n)), np.zeros_like(problem.tau)
        self._z = self._anchor = Point(v=nothing, mu=none, moments=none, scores=nothing)
        self._k = 0  # steps of the round
        self._first = np.inf  # the first residual of the round
        self.n_steps = 0
        self.n_shrunk = 0
        self._by_row = problem.features.by_row()
        self._all: Standardised = problem.features if self._by_row is None else self._by_row
        self._softness_of_all = softness_of(problem.features)
        self.rows: IntArray | None = None  # the instances that take part, None for all
        self._read(self._all, self._softness_of_all)
        # With the best weight both sides have the same distance to go: masses are about 1/n each, and the
        # size of coefficients shrinks with the radius.
        self._omega = 0.25 * min(1.0 / float(np.median(problem.lam)), float(np.sqrt(n)))
        self.is_at_choice = False  # whether rows may be chosen: the last step ended a round

    def step(self) -> Point:
        """One application of T, and the move to the next z or anchor."""
        # 1) Apply T.
        z = self._z
        reached = self._t(z)
        self.n_steps += 1
        residual = self._residual(z, reached)
        if self._k == 0:
            self._first = residual
        # 2) Shrink a step that is too long, or move the anchor, or go on towards both.
        self.is_at_choice = False
        if not residual < np.inf:
            self.eta *= self.SHRINKAGE
            self.n_shrunk += 1
            self._begin(self._anchor)
        elif self._k > 0 and (residual <= self.ENOUGH * self._first or self._k > self.LONG * self.n_steps):
            self._balance(reached)
            self._begin(reached)
            is_signed = isinstance(self.masses, SignedMasses) and not self.masses.is_known
            self.is_at_choice = is_signed and self._by_row is not None
        else:
            anchored = 1.0 / (self._k + 2)
            self._z = z.combined(anchored - 1.0, reached, 2.0 * (1.0 - anchored), self._anchor)
            self._k += 1
        return reached

    def on_all(self, v: FloatArray) -> FloatArray:
        """Masses on all instances (B x n)."""
        if self.rows is None:
            return v
        masses = np.zeros((len(v), self.problem.n_instances))
        masses[:, self.rows] = v
        return masses

    def scores_on_all(self, point: Point) -> FloatArray:
        """Block scores of all instances (B x n); a product with the features where some are left out."""
        return point.scores if self.rows is None else self._all.combine(point.mu)

    def choose_rows(self, scores: FloatArray, gap: float) -> None:
        """Go on from the anchor with the rows that may matter.

        ``scores`` are the anchor's on all instances, ``gap`` that of the bounds so far.
        """
        if self._by_row is None or (self.rows is None and gap > self.COARSE_GAP):
            return
        size, v = np.abs(scores[0]), self.on_all(self._anchor.v)
        chosen = (size >= self.NEAR * size.max()) | v.any(axis=0)
        if self.rows is not None:
            chosen[self.rows] = True
        elif np.mean(chosen) > self.MOST_ROWS:
            return
        if self.rows is None or chosen.sum() > len(self.rows):
            self.rows = rows = np.flatnonzero(chosen)
            self._read(self._by_row.some(rows), self._softness_of_all[rows])
            self._begin(self._anchor._replace(v=v[:, rows], scores=scores[:, rows]))

    def _read(self, features: Standardised, softness: FloatArray) -> None:
        """Take the steps on these features from here on."""
        self._features, self._softness = features, softness
        bold = self.BOLD_STEP * self.SHRINKAGE**self.n_shrunk
        self.eta = bold / spectral_norm(features, np.sqrt(softness))

    def _t(self, z: Point) -> Point:
        problem, features, eta, omega = self.problem, self._features, self.eta, self._omega
        step = (eta / omega) * self._softness
        v = self.masses.nearest(z.v + step * z.scores, step)
        moments = features.correlate(v)
        target = z.mu - (eta * omega) * (2.0 * moments - z.moments - problem.tau)
        mu = soft_threshold(target, (eta * omega) * problem.lam)
        return Point(v, mu, moments, features.combine(mu))

    def _residual(self, z: Point, reached: Point) -> float:
        """|z - T(z)| in the norm of the iteration; infinite if a long step makes its square negative."""
        dv, dmu = reached.v - z.v, reached.mu - z.mu
        square = self._omega * self._square(dv) + _inner(dmu, dmu) / self._omega
        coupling = 2.0 * self.eta * _inner(dmu, reached.moments - z.moments)
        return float(np.sqrt(square + coupling)) if square + coupling >= 0.0 else np.inf

    def _square(self, v: FloatArray) -> float:
        """``v'S^-1 v``."""
        return _inner(v, v / self._softness)

    def _balance(self, reached: Point) -> None:
        """Move the weight half way, in logarithms, to the ratio of what both sides moved in this round."""
        moved_v = float(np.sqrt(self._square(reached.v - self._anchor.v)))
        moved_mu = float(np.linalg.norm(reached.mu - self._anchor.mu))
        if moved_v > 0.0 and moved_mu > 0.0:
            change = np.sqrt(moved_mu / moved_v / self._omega)
            self._omega *= float(np.clip(change, 1.0 / self.LARGEST_CHANGE, self.LARGEST_CHANGE))

    def _begin(self, anchor: Point) -> None:
        self._z = self._anchor = anchor
        self._k, self._first = 0, np.inf


def _inner(first: FloatArray, second: FloatArray) -> float:
    """Return the sum of the products, by one thread.

    BLAS shares so short a sum among threads, which costs 17 ms a step where the cores are busy.
    """
    return float(np.einsum("ij,ij", first, second))


def softness_of(features: Standardised) -> FloatArray:
    """Return the diagonal of S: how much longer the step of each instance is than that of a typical one.

    It is at most 1000, so that a step for a row of zeros is finite.
    """
    length = features.lengths_of_instances()
    typical = float(np.sqrt(np.mean(length**2)))
    return typical / np.maximum(length, 1e-3 * typical) if typical > 0.0 else np.ones_like(length)


def spectral_norm(features: Standardised, weights: FloatArray, n_iterations: int = 10) -> float:
    """Return the largest singular value of ``diag(weights) Psi``; 1 where Psi is zero.

    By power iterations from a fixed start; ten come within a few per cent.
    """
    start = np.random.default_rng(0).standard_normal((1, features.shape[0]))
    square = squared_norm(features, start, n_iterations, weights)
    return float(np.sqrt(square)) if square > 0.0 else 1.0


class StandstillError(RuntimeError):
    """The steps hardly advance."""


def first_order(
    problem: Box,
    settings: EngineSettings,
    monitor: Monitor | None = None,
    *,
    clears: bool = True,
    gives_up: bool = False,
) -> Solution:
    """Solve to a certified gap of ``settings.first_order_gap_tol``, and clear small coefficients if asked to.

    The pair returned is the best one certified, whichever way the loop ends. With ``gives_up`` steps that
    hardly advance raise ``StandstillError`` early.
    """
    steps = Steps(problem, monitor)
    tolerance = max(settings.first_order_gap_tol, SMALLEST_GAP)
    if gives_up:
        steps.run(tolerance, RATES.trial)
        is_over = steps.best.stopped or steps.best.interrupted
        if not is_over and steps.best.gap > max(tolerance, gap_of_standstill()):
            raise StandstillError
    steps.run(tolerance, Steps.BUDGET if settings.max_iter is None else settings.max_iter)
    found = steps.settled()
    found.converged = found.gap <= tolerance
    if clears:
        drop_small_coefficients(problem, found, settings.first_order_gap_tol)
    found.stages = [found.stage]
    return found


class Steps:
    """The loop: step, certify, report, choose rows. It can go on from where it ended."""

    # Iterations without max_iter. Texts take 200 to 1200 to a gap of 1e-3.
    BUDGET: ClassVar[int] = 5000
    # Iterations between certificates, each of which takes about as long as one.
    CHECK_EVERY: ClassVar[int] = 10

    def __init__(self, problem: Box, monitor: Monitor | None = None) -> None:
        self.problem, self._monitor = problem, monitor
        self.best = Solution.trivial(problem, problem.objective)
        self.best.solver = "first-order"
        self._iteration: PrimalDual | None = None
        self._used: BoolArray = np.zeros(problem.tau.shape, dtype=np.bool_)

    def settled(self) -> Solution:
        """The best pair, with the bounds that it proves."""
        problem, best = self.problem, self.best
        best.distribution = problem.objective.repaired(best.distribution, problem.centre)
        best.settle(problem, problem.objective)
        return best

    def run(self, gap: float, last: int) -> None:
        """Step until the bounds are as close as ``gap``, or ``last`` steps were taken; at least once."""
        try:
            with let_through():
                self._run(gap, last)
        except KeyboardInterrupt:
            self.best.interrupted = True

    def _run(self, gap: float, last: int) -> None:
        if self._iteration is None:
            self._iteration = PrimalDual(self.problem)
        iteration, best = self._iteration, self.best
        while iteration.n_steps == 0 or not (best.stopped or best.gap <= gap or iteration.n_steps >= last):
            # 1) Step. The first one is certified too: where the answer is trivial, it finds it.
            point, n_steps = iteration.step(), iteration.n_steps
            is_due = n_steps % self.CHECK_EVERY == 0 or n_steps in (1, last)
            if not (is_due or iteration.is_at_choice):
                continue
            # 2) Certify.
            scores = iteration.scores_on_all(point)
            bound = self._certify(iteration, point, scores)
            # 3) Report.
            self._report(point, bound, n_steps)
            # 4) Choose the rows of the next round.
            if iteration.is_at_choice:
                iteration.choose_rows(scores, best.gap)

    def _report(self, point: Point, bound: float, n_steps: int) -> None:
        before, self._used = self._used, point.mu != 0.0
        deviation = np.abs(point.moments - self.problem.tau)
        self.best.report(
            self._monitor,
            bound,
            iteration=n_steps,
            n_features=int(self._used.sum()),
            n_added=int((self._used & ~before).sum()),
            n_removed=int((before & ~self._used).sum()),
            max_violation=max(0.0, float((deviation - self.problem.lam).max())),
        )

    def _certify(self, iteration: PrimalDual, point: Point, scores: FloatArray) -> float:
        """Offer coefficients at their best scale, and the masses; returns the bound of the coefficients."""
        problem, masses, best = self.problem, iteration.masses, self.best
        scale = masses.scale(-problem.penalty_of(point.mu), scores)
        mu = scale * point.mu
        bound = upper_bound(problem, problem.objective, mu, problem.coding.scores(scale * scores))
        best.offer_stage(SparseCoefficients.of(mu), bound)
        distribution, factor = masses.distribution(iteration.on_all(point.v))
        inside = lower_bound(problem, problem.objective, distribution, factor * point.moments)
        best.offer_distribution(inside.distribution, inside.bound)
        return bound
