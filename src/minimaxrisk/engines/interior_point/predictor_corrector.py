"""A constraint-reduced primal-dual interior point on the worst-case-distribution program.

Mehrotra's predictor-corrector, with a Newton matrix of only a small working set Q of the m moment
constraints, chosen anew in every iteration (Tits, Absil and Woessner 2006; Winternitz, Nicholls, Tits and
O'Leary 2012). The start is strictly feasible for all m constraints, primal and dual, and the length of a step
respects all of them. So the distribution stays inside the uncertainty set: each iterate proves a lower bound
by being there, and its multipliers prove an upper one. An iteration takes one pass over the features.

A constraint that enters Q gets equal multipliers on its two sides. They cancel in mu, so the dual stays
feasible; the usual choice, multipliers inverse to the slacks, would disturb it with each newcomer.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.interior_point.systems import (
    SIGNS,
    InstanceStep,
    NewtonSystem,
    SignedSystem,
    system_for,
)
from minimaxrisk.engines.solution import Face, Stage
from minimaxrisk.problem.problem import Box

# How far towards the boundary a step goes.
FRACTION_TO_BOUNDARY = 0.995
# How far the start goes from the empirical distribution to one with labels independent of instances: so
# much of the way, or of what the nearest constraint leaves of it.
LARGEST_START = 0.5
START_TO_BOUNDARY = 0.8
SMALLEST_CENTRING = 1e-4
# The products of constraints that a start from a snapshot allows, as a fraction of the mean one.
SMALLEST_PRODUCT = 0.1
# How much of the way to a pair that another engine found a beginning goes, and its largest score.
NEAR_PAIR, LARGEST_SCORE = 0.95, 0.98
# The centrality corrector: how much longer a step it tries to make possible, how far products x z may be
# from their aim, and what gain of length is worth taking.
REACH, SPREAD, WORTHWHILE = 0.3, 10.0, 0.03
# Primal and dual step lengths, together, that need no corrector.
LONG_ENOUGH = 1.9
# Nearest constraints taken into Q, see n_nearest: per sqrt(n d) with one block and with several, per instance
# at most, beyond n, and per instance with sparse columns.
NEAREST_PER_ROOT, NEAREST_PER_ROOT_OF_SEVERAL = 0.4, 0.25
MOST_PER_INSTANCE, MORE, SPARSE_PER_INSTANCE = 1.5, 50, 1.5
# Beyond n on a device, per instance; 1000 x 2,000,000 takes 15 iterations with this or 0.5, 17 with 0.05.
MORE_IF_CHEAP = 0.25
# Dual infeasibility, as a fraction of the gap, up to which constraints may leave Q.
UNNOTICED = 0.01


@dataclass(frozen=True)
class Snapshot:
    """A strictly feasible pair, primal and dual, in units that do not depend on the radii.

    The masses and their deviations from tau stay inside larger radii. Multipliers in units of mu leave the
    scores, and with them stationarity, as they are. So the pair is strictly feasible there too, and its gap
    grows by ``(new lambda - old lambda)'|mu|``.
    """

    system: NewtonSystem
    deviations: Any  # of all components, as the constraints keep them
    components: IntArray
    multipliers: FloatArray


def snapshot_near(problem: Box, u: FloatArray, mu: FloatArray) -> Snapshot:
    """A strictly feasible pair near differences of masses u (n) and coefficients mu (B x d).

    For the signed coding with free masses. Both are moved towards the inside a little, and no product x z
    stays far below the mean one: equal parts on both labels cancel in u.
    """
    # 1) The masses, inside all constraints.
    constraints = problem.moment_constraints()
    constraints.is_exact = True
    constraints.begin()
    centre = problem.centre[0] - problem.centre[1]
    away = u - centre
    fraction = min(NEAR_PAIR, NEAR_PAIR * constraints.furthest_step(away[None]))
    constraints.advance(fraction)
    u = centre + fraction * away
    # 2) The coefficients, with scores below one.
    scores = problem.features.combine(mu)[0]
    factor = LARGEST_SCORE / float(np.abs(scores).max())
    system = SignedSystem(problem.centre)
    system.z = np.concatenate([1.0 - factor * scores, 1.0 + factor * scores])
    # 3) Products that are not far from each other.
    gap = float(np.abs(u).sum()) + factor * problem.penalty_of(mu)
    mean = gap / (2 * len(u) + 2 * n_nearest(problem))
    x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)])
    lift = np.maximum(mean / system.z - x, 0.0).reshape(2, -1).max(axis=0)
    system.x = x + np.concatenate([lift, lift])
    components = np.flatnonzero(mu)
    values = factor * mu.ravel()[components]
    multipliers = np.stack([np.maximum(-values, 0.0), np.maximum(values, 0.0)])
    return Snapshot(system, constraints.deviations(), components, multipliers)


class InteriorPoint:
    """The iterate: the pairs (x, z) of instances in ``system``, those of the constraints in Q here."""

    def __init__(
        self,
        problem: Box,
        start: Snapshot | None = None,
        *,
        make_system: Callable[[FloatArray], NewtonSystem] | None = None,
        is_exact: bool = False,
    ) -> None:
        """``is_exact`` does without rough passes."""
        self.problem, self.constraints = problem, problem.moment_constraints()
        self.constraints.is_exact |= is_exact
        self.n_nearest = n_nearest(problem)
        if start is None:
            self._begin(make_system or partial(system_for, problem))
        else:
            self._begin_at(start)

    def _begin(self, make_system: Callable[[FloatArray], NewtonSystem]) -> None:
        problem, constraints = self.problem, self.constraints
        constraints.begin()
        away = np.outer(problem.centre.sum(axis=1), everywhere(problem.centre.sum(axis=0))) - problem.centre
        room = constraints.furthest_step(problem.coding.encode(away))
        fraction = min(LARGEST_START, START_TO_BOUNDARY * room)
        constraints.advance(fraction)
        self.system = make_system(problem.centre + fraction * away)
        self.mean = float(self.system.x @ self.system.z) / len(self.system.x)
        self.working = constraints.nearest(0, np.empty(0, dtype=np.intp))
        self.multipliers = np.empty((2, 0))  # of the upper sides and of the lower sides

    def make_exact(self) -> bool:
        """End the use of rough passes; returns whether the iterate is inside the uncertainty set."""
        return self.constraints.make_exact(self.problem.coding.encode(self.system.distribution()))

    def _begin_at(self, start: Snapshot) -> None:
        self.constraints.begin_at(start.deviations)
        self.system = copy(start.system)
        self.working = self.constraints.nearest(0, start.components)
        self.multipliers = start.multipliers * self.working.radius
        slack = self._slack()
        n_pairs = len(self.system.x) + self.multipliers.size
        self.mean = float(self.system.x @ self.system.z + np.sum(slack * self.multipliers)) / n_pairs
        # Equal parts on both sides cancel in mu: no product need be far below the mean.
        lift = np.maximum(SMALLEST_PRODUCT * self.mean / slack - self.multipliers, 0.0).max(axis=0)
        self.multipliers += lift

    def snapshot(self) -> Snapshot:
        """The iterate, for ``InteriorPoint`` to start from at radii that are nowhere smaller."""
        return Snapshot(
            copy(self.system),
            self.constraints.deviations(),
            self.working.components,
            self.multipliers / self.working.radius,
        )

    def choose_working_set(self) -> tuple[int, int]:
        """Choose Q for the next step; returns how many constraints came and how many left.

        It holds the nearest constraints, and those of the last Q whose multipliers still matter.
        """
        old = self.working.components
        self.working = self.constraints.nearest(self.n_nearest, old[self._that_matter()])
        new = self.working.components
        place = np.minimum(new.searchsorted(old), len(new) - 1)
        stay = (new[place] == old).nonzero()[0]
        multipliers = np.full((2, len(new)), self.mean)
        multipliers[:, place[stay]] = self.multipliers.take(stay, axis=1)
        self.multipliers = multipliers
        self.coefficients = multipliers[1] - multipliers[0]
        self.scores = self.working.scores(self.coefficients)
        return len(new) - len(stay), len(old) - len(stay)

    def _that_matter(self) -> IntArray:
        """The constraints that must stay in Q.

        A constraint that leaves takes its part of the scores with it and leaves the dual infeasible by it.
        That is harmless as long as it is small compared to the gap. Parts add up like random numbers.
        """
        square = np.square((self.multipliers[1] - self.multipliers[0]) / self.working.radius)
        order = square.argsort()
        unnoticed = UNNOTICED * self.mean * (len(self.system.x) + self.multipliers.size)
        n_leave = square[order].cumsum().searchsorted(unnoticed**2, side="right")
        return order[n_leave:]

    def upper_bound(self) -> tuple[float, Stage]:
        """The bound that the multipliers prove, and the coefficients that prove it."""
        working, values = self.working, self.coefficients
        gain = float(working.target @ values - np.abs(values).sum())
        bound, scale = self.system.upper_bound(gain, self.scores)
        return bound, Stage(working.components, scale * values / working.radius)

    @property
    def penalty(self) -> float:
        """``lambda'|mu|``, the part of the bound that grows with the radii."""
        return float(np.abs(self.coefficients).sum())

    def _slack(self) -> FloatArray:
        """Of the upper and of the lower sides in Q (2 x |Q|)."""
        return 1.0 - SIGNS * self.working.position

    def ratios(self) -> FloatArray:
        """Multipliers of both sides over their slacks, which rounding may have made zero."""
        return self.multipliers / np.maximum(self._slack(), np.finfo(float).tiny)

    def face(self) -> Face:
        """Which numbers seem to vanish at the optimum: those smaller than their partners."""
        is_active = self.multipliers > self.multipliers.max(initial=0.0) * self._slack()
        active = np.flatnonzero(is_active.any(axis=0))
        side = np.where(self.multipliers[0, active] > self.multipliers[1, active], 1.0, -1.0)
        n_masses_known = 0
        if self.problem.coding.name == "one-hot":
            n_masses_known = self.problem.n_instances if self.problem.marginal.is_known else 1
        return Face(self.working.components[active], side, *self.system.support(), n_masses_known)

    def step(self, *, centre: bool = False) -> None:
        """One predictor-corrector step, or one that only evens out the products x z (``centre``)."""
        system, working, n_x = self.system, self.working, len(self.system.x)
        # 1) Factorise the Newton matrix at the pairs of numbers.
        self._primal = np.concatenate([system.x, 1.0 - working.position, 1.0 + working.position])
        self._dual = np.concatenate([system.z, self.multipliers.ravel()])
        self._ratio = self._dual / self._primal
        upper, lower = self._ratio[n_x:].reshape(2, -1)
        system.factorise(working, self._ratio[:n_x], upper + lower, self.scores)
        # 2) Find the direction.
        product = self._primal * self._dual
        self.mean = float(product.sum()) / len(product)
        direction = self._direction(self.mean - product) if centre else self._mehrotra(product)
        # 3) Go most of the way to the nearest boundary; one pass finds that of all m constraints.
        furthest = self.constraints.furthest_step(direction.instances.block_weights)
        primal_length = FRACTION_TO_BOUNDARY * min(furthest, _longest(system.x, direction.primal[:n_x]))
        primal_length = min(1.0, primal_length)
        dual_length = min(1.0, FRACTION_TO_BOUNDARY * direction.dual_length)
        system.x = system.x + primal_length * direction.primal[:n_x]
        system.phi = system.phi + dual_length * direction.instances.dphi
        self.constraints.advance(primal_length)
        dual = self._dual + dual_length * direction.dual
        system.z, self.multipliers = dual[:n_x], dual[n_x:].reshape(2, -1)

    def _mehrotra(self, product: FloatArray) -> _Direction:
        """Mehrotra's predictor and corrector, and Gondzio's correction of stragglers if steps are short."""
        # 1) Predict how far a pure Newton step gets, which tells how much centring the step needs.
        predictor = self._direction(-product)
        after = float(self._products(predictor, 0.0).sum()) / len(product)
        aim = max(SMALLEST_CENTRING, (after / self.mean) ** 3) * self.mean
        # 2) Correct for the curvature.
        target = aim - product - predictor.primal * predictor.dual
        corrector = self._direction(target)
        if corrector.length > LONG_ENOUGH:
            return corrector
        # 3) Even out the products that would leave the neighbourhood of the central path on a longer step.
        ahead = self._products(corrector, REACH)
        stragglers = np.minimum(np.maximum(ahead, aim / SPREAD), aim * SPREAD) - ahead
        centred = self._direction(target + np.maximum(stragglers, -aim * SPREAD))
        return centred if centred.length > corrector.length + WORTHWHILE else corrector

    def _products(self, direction: _Direction, further: float) -> FloatArray:
        """Products x z at the end of a step, or ``further`` along than it may go."""
        primal_length = min(1.0, direction.primal_length + further)
        dual_length = min(1.0, direction.dual_length + further)
        return (self._primal + primal_length * direction.primal) * (self._dual + dual_length * direction.dual)

    def _direction(self, target: FloatArray) -> _Direction:
        """The Newton step for ``primal d(dual) + dual d(primal) = target``."""
        working, n_x = self.working, len(self.system.x)
        pushed = target / self._primal
        upper, lower = pushed[n_x:].reshape(2, -1)
        instances = self.system.solve(pushed[:n_x], working.scores(lower - upper))
        moved = instances.moved
        if moved is None:
            moved = working.moments(instances.block_weights)
        primal = np.concatenate([instances.dx, -moved, moved])
        dual = pushed - self._ratio * primal
        return _Direction(instances, primal, dual, _longest(self._primal, primal), _longest(self._dual, dual))


class _Direction(NamedTuple):
    """A Newton step: of instances, of all pairs, and how far primal and dual may follow it."""

    instances: InstanceStep
    primal: FloatArray
    dual: FloatArray
    primal_length: float
    dual_length: float

    @property
    def length(self) -> float:
        return min(1.0, self.primal_length) + min(1.0, self.dual_length)


def n_nearest(problem: Box) -> int:
    """How many of the nearest constraints Q takes, besides those whose multipliers matter.

    Fewer make a step cheaper, and too few make steps short. Enough are about as many as are active at the
    optimum: close to n on wide data, and about 0.35 sqrt(n d) on simulated studies of 400 to 1600 instances.
    Some more cost nothing where a pass over the features takes longer than a matrix of n x n. Several blocks
    share the active ones: with 3 to 50 classes 0.25 took 7 to 17% less time than 0.4. Sparse columns add
    little to a step: on Dorothea and texts 1.5 n took 2 to 24% less time than 2 n, and less than n.
    """
    n, d = problem.features.shape
    n_blocks = problem.coding.n_blocks
    per_block = SPARSE_PER_INSTANCE * n
    if not problem.features.is_sparse:
        more = max(MORE, MORE_IF_CHEAP * n) if problem.features.has_cheap_passes else MORE
        per_root = NEAREST_PER_ROOT if n_blocks == 1 else NEAREST_PER_ROOT_OF_SEVERAL
        per_block = min(MOST_PER_INSTANCE * n, n + more, per_root * np.sqrt(n * d))
    return max(1, int(per_block * n_blocks))


def everywhere(mass: FloatArray) -> FloatArray:
    """A distribution on instances that is positive also at instances without a label."""
    return mass if (mass > 0.0).all() else 0.5 * (mass + 1.0 / len(mass))


def _longest(values: FloatArray, direction: FloatArray) -> float:
    """The step at which the first of the positive ``values`` becomes zero."""
    speed = direction / values
    fastest = float(speed[speed.argmin()])  # in half the time of min()
    if not isfinite(fastest):
        raise FloatingPointError("a Newton step is not finite")
    return np.inf if fastest >= 0.0 else -1.0 / fastest
