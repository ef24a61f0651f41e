"""Iterates on the worst-case-distribution programs of boxes, with constraint-reduced Newton matrices.

A Newton matrix holds only a small working set Q of the m moment constraints, chosen anew in every iteration
(Tits, Absil and Woessner 2006; Winternitz, Nicholls, Tits and O'Leary 2012). The start is strictly feasible
for all m constraints, primal and dual, and the length of a step respects all of them. So the distribution
stays inside the uncertainty set: each iterate proves a lower bound by being there, and its multipliers prove
an upper one. An iteration takes one pass over the features.

A constraint that enters Q gets equal multipliers on its two sides. They cancel in mu, so the dual stays
feasible; the usual choice, multipliers inverse to the slacks, would disturb it with each newcomer.

``BoxIterates`` are those of one problem or of several; ``BoxPoint`` is the iterate of a single problem with
what the search for a vertex asks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray, stacked
from minimaxrisk.engines.cost import n_constraints
from minimaxrisk.engines.interior_point.sides import BoxCoupling
from minimaxrisk.engines.interior_point.systems import NewtonSystem, SignedSystem, start_system
from minimaxrisk.engines.solution import Face, SparseCoefficients
from minimaxrisk.matrices.moment_constraints import MomentConstraints, WorkingSet
from minimaxrisk.problem.problem import Box

# How far the start goes from the empirical distribution to one with labels independent of instances: so
# much of the way, or of what the nearest constraint leaves of it.
LARGEST_START, START_TO_BOUNDARY = 0.5, 0.8
# The products of constraints that a start from a snapshot allows, as a fraction of the mean one.
SMALLEST_PRODUCT = 0.1
# How much of the way to a pair that another engine found a beginning goes, and its largest score.
NEAR_PAIR, LARGEST_SCORE = 0.95, 0.98
# Nearest constraints taken into Q per instance with sparse columns.
SPARSE_PER_INSTANCE = 1.5
# Constraints in the working sets of a batch, per instance and block: with one block and with several. Members
# of GLIOMA and MLL take 11 iterations with 3.5, 12 with 3, and 14 with 4.
NEAREST_IN_BATCH, NEAREST_OF_SEVERAL_IN_BATCH = 2.0, 3.5
# Dual infeasibility, as a fraction of the gap, up to which constraints may leave Q.
UNNOTICED = 0.01

MakeSystem = Callable[[FloatArray], NewtonSystem]


class BoxIterates:
    """The iterates of some problems of one shape: an ``Iterate`` of ``step``.

    Attributes
    ----------
    system : NewtonSystem
        The pairs (x, z) of instances; those of the constraints in Q are here.
    multipliers : array of shape (P, 2, |Q|)
        Of the upper and of the lower sides of the constraints in Q.
    coefficients : array of shape (P, |Q|)
        Their differences: mu in units of 1 / lambda.
    scores : array of shape (P, B, n)
        The block scores of the coefficients.
    """

    is_curved = False

    def __init__(
        self,
        problems: Sequence[Box],
        *,
        make_system: MakeSystem | None = None,
        is_exact: bool = False,
        in_batch: bool = False,
    ) -> None:
        """Without rough passes if ``is_exact``; in a batch answers do not depend on other problems."""
        self.problems, self._in_batch = list(problems), in_batch
        self.constraints = MomentConstraints(
            [each.features for each in problems],
            [each.tau_on_device for each in problems],
            [each.lam_on_device for each in problems],
            in_batch=in_batch,
        )
        self.constraints.is_exact |= is_exact
        size = working_set_size(*problems[0].features.shape, problems[0].coding.n_blocks)
        self.n_nearest = size if in_batch else n_nearest(problems[0])
        self._coupling = BoxCoupling(len(problems))
        self.failed = np.zeros(len(problems), dtype=np.bool_)
        self.working: list[WorkingSet] = []
        self._begin(make_system or partial(start_system, problems))

    def _begin(self, make_system: MakeSystem) -> None:
        """Begin between the empirical distributions and some with labels independent of instances."""
        self.constraints.begin()
        centre = stacked([problem.centre for problem in self.problems])
        mass = stacked([everywhere(each.sum(axis=0)) for each in centre])
        away = centre.sum(axis=2)[:, :, None] * mass[:, None, :] - centre
        longest = self.constraints.longest_step(self._encoded(away))
        lengths = np.minimum(LARGEST_START, START_TO_BOUNDARY * longest)
        self.constraints.advance(lengths)
        self.system = make_system(centre + lengths[:, :, None] * away)
        self.mean = (self.system.x * self.system.z).mean(axis=1, keepdims=True)
        self.multipliers = np.empty((len(centre), 2, 0))

    def _encoded(self, distributions: FloatArray) -> FloatArray:
        return stacked([self.problems[0].coding.encode(each) for each in distributions])

    def make_exact(self) -> BoolArray:
        """End the use of rough passes; returns which iterates are inside their uncertainty sets."""
        return self.constraints.make_exact(self._encoded(self.system.distributions()))

    def keep(self, places: IntArray) -> None:
        """Forget all other problems."""
        self.problems = [self.problems[i] for i in places]
        self.working = [self.working[i] for i in places]
        for part in (self.constraints, self.system, self._coupling):
            part.keep(places)
        for name in ("mean", "failed", "multipliers", "coefficients", "scores", "_slack"):
            setattr(self, name, getattr(self, name)[places])

    def choose_working_sets(self) -> tuple[int, int]:
        """Choose Q for the next step; returns how many constraints came and how many left.

        It holds the nearest constraints, and those of the last Q whose multipliers still matter.
        """
        old = self.working
        besides = self._that_matter() if old else [np.empty(0, dtype=np.intp)] * len(self.problems)
        chosen = self.constraints.nearest(self.n_nearest, besides)
        multipliers = np.empty((len(chosen), 2, len(chosen[0])))
        multipliers[:] = self.mean[:, :, None]
        n_stay = 0
        for i, (before, now) in enumerate(zip(old, chosen, strict=bool(old))):
            place = now.searchsorted(before.components)
            place[place == len(now)] = 0
            stay = np.flatnonzero(now[place] == before.components)
            multipliers[i][:, place[stay]] = self.multipliers[i].take(stay, axis=1)
            n_stay += len(stay)
        self._take(chosen, multipliers)
        return multipliers.size // 2 - n_stay, sum(map(len, old)) - n_stay

    def _take(self, chosen: Sequence[IntArray], multipliers: FloatArray) -> None:
        self.working = [self.constraints.working_set(i, each) for i, each in enumerate(chosen)]
        position = stacked([each.position for each in self.working])[:, None]
        self._slack = np.concatenate([1.0 - position, 1.0 + position], axis=1)
        self._set_multipliers(multipliers)

    def _set_multipliers(self, multipliers: FloatArray) -> None:
        self.multipliers = multipliers
        self.coefficients = multipliers[:, 1] - multipliers[:, 0]
        self.scores = self._scores_of(self.coefficients)

    def _scores_of(self, coefficients: FloatArray) -> FloatArray:
        return stacked([each.scores(c) for each, c in zip(self.working, coefficients, strict=True)])

    def _that_matter(self) -> list[IntArray]:
        """The constraints that must stay in Q.

        A constraint that leaves takes its part of the scores with it and leaves the dual infeasible by it.
        That is harmless as long as it is small compared to the gap. Parts add up like random numbers.
        """
        unnoticed = UNNOTICED * self.mean[:, 0] * (self.system.x.shape[1] + self.multipliers[0].size)
        found = []
        for working, multipliers, most in zip(self.working, self.multipliers, unnoticed, strict=True):
            square = np.square((multipliers[1] - multipliers[0]) / working.radius)
            order = square.argsort()
            n_leave = int(square[order].cumsum().searchsorted(most**2, side="right"))
            found.append(working.components[order[n_leave:]])
        return found

    def upper_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The bounds that the multipliers prove, and factors to scale the coefficients with (P each)."""
        targets = stacked([each.target for each in self.working])
        gain = (targets * self.coefficients - np.abs(self.coefficients)).sum(axis=1)
        return self.system.upper_bounds(gain, self.scores)

    def stage(self, i: int, scale: float) -> SparseCoefficients:
        """The coefficients of a problem times a factor."""
        working = self.working[i]
        return SparseCoefficients(working.components, scale * self.coefficients[i] / working.radius)

    # What the step asks for.

    def primal(self) -> FloatArray:
        return np.concatenate([self.system.x, self._slack.reshape(len(self._slack), -1)], axis=1)

    def dual(self) -> FloatArray:
        return np.concatenate([self.system.z, self.multipliers.reshape(len(self.multipliers), -1)], axis=1)

    def factorise(self, ratio: FloatArray) -> BoolArray:
        self._ratio, n_x = ratio, self.system.x.shape[1]
        n_constraints = self.coefficients.shape[1]
        weights = ratio[:, n_x : n_x + n_constraints] + ratio[:, n_x + n_constraints :]
        coupling = self._coupling.at(self.working, weights)
        return self.system.factorise(coupling, ratio[:, :n_x], self.scores)

    def direction(self, over: FloatArray, predictor: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        n_x = self.system.x.shape[1]
        middle = n_x + self.coefficients.shape[1]
        multiplier_pull = self._scores_of(over[:, middle:] - over[:, n_x:middle])
        dx, moved = self.system.solve(over[:, :n_x], multiplier_pull)
        weights = self.system.block_weights(dx)
        positions = stacked(
            [
                working.moments(of_one) if known is None else known
                for working, of_one, known in zip(self.working, weights, moved, strict=True)
            ]
        )
        primal = np.concatenate([dx, -positions, positions], axis=1)
        return primal, over - self._ratio * primal

    def longest_step(self, dprimal: FloatArray) -> FloatArray:
        dx = dprimal[:, : self.system.x.shape[1]]
        return self.constraints.longest_step(self.system.block_weights(dx))

    def move(
        self, primal_length: FloatArray, dprimal: FloatArray, dual_length: FloatArray, ddual: FloatArray
    ) -> None:
        n_x, system = self.system.x.shape[1], self.system
        system.x = system.x + primal_length * dprimal[:, :n_x]
        self.constraints.advance(primal_length)
        system.z = system.z + dual_length * ddual[:, :n_x]
        change = (dual_length * ddual[:, n_x:]).reshape(self.multipliers.shape)
        self.multipliers = self.multipliers + change


@dataclass(frozen=True)
class InteriorState:
    """A strictly feasible pair, primal and dual, in units that do not depend on the radii.

    The masses and their deviations from tau stay inside larger radii. Multipliers in units of mu leave the
    scores, and with them stationarity, as they are. So the pair is strictly feasible there too, and its gap
    grows by ``(new lambda - old lambda)'|mu|``.
    """

    system: NewtonSystem
    deviations: Any  # of all components, as the constraints keep them
    components: IntArray
    multipliers: FloatArray  # 2 x |Q|


class BoxPoint(BoxIterates):
    """The iterate of a single problem."""

    def __init__(
        self,
        problem: Box,
        start: InteriorState | None = None,
        *,
        make_system: MakeSystem | None = None,
        is_exact: bool = False,
    ) -> None:
        """Begin at a snapshot if there is one; without rough passes if ``is_exact``."""
        self.problem, self._start = problem, start
        super().__init__([problem], make_system=make_system, is_exact=is_exact)

    def _begin(self, make_system: MakeSystem) -> None:
        start, self._start = self._start, None
        if start is None:
            super()._begin(make_system)
            return
        self.constraints.begin(start.deviations)
        self.system = start.system.at(start.system.x, start.system.z)
        self._take([start.components], (start.multipliers * self._radius_of(start.components))[None])
        product = float(np.vdot(self.system.x, self.system.z) + np.vdot(self._slack, self.multipliers))
        self.mean = np.full((1, 1), product / (self.system.x.size + self.multipliers.size))
        # Equal parts on both sides cancel in mu: no product need be far below the mean.
        lift = np.maximum(SMALLEST_PRODUCT * self.mean / self._slack - self.multipliers, 0.0)
        self._set_multipliers(self.multipliers + lift.max(axis=1, keepdims=True))

    def _radius_of(self, components: IntArray) -> FloatArray:
        return self.constraints.working_set(0, components).radius

    def snapshot(self) -> InteriorState:
        """The iterate, to start from at radii that are nowhere smaller."""
        only = self.only
        return InteriorState(
            self.system.at(self.system.x, self.system.z),
            self.constraints.deviations(),
            only.components,
            self.multipliers[0] / only.radius,
        )

    @property
    def only(self) -> WorkingSet:
        """The working set."""
        return self.working[0]

    @property
    def sides(self) -> FloatArray:
        """Multipliers of the upper and of the lower sides (2 x |Q|)."""
        return self.multipliers[0]

    def distribution(self) -> FloatArray:
        """The distribution of the iterate (K x n)."""
        return self.system.distributions()[0]

    def upper_bound(self) -> tuple[float, SparseCoefficients]:
        """The bound that the multipliers prove, and the coefficients that prove it."""
        bounds, scales = self.upper_bounds()
        return float(bounds[0]), self.stage(0, float(scales[0]))

    @property
    def penalty(self) -> float:
        """``lambda'|mu|``, the part of the bound that grows with the radii."""
        return float(np.abs(self.coefficients).sum())

    def ratios(self) -> FloatArray:
        """Multipliers of both sides over their slacks, which rounding may have made zero."""
        return self.sides / np.maximum(self._slack[0], np.finfo(float).tiny)

    def face(self) -> Face:
        """Which numbers seem to vanish at the optimum: those smaller than their partners."""
        upper, lower = self.sides
        is_active = (self.sides > self.sides.max(initial=0.0) * self._slack[0]).any(axis=0)
        active = np.flatnonzero(is_active)
        side = np.where(upper[active] > lower[active], 1.0, -1.0)
        n_masses_known = 0
        if self.problem.coding.n_blocks > 1:
            n_masses_known = self.problem.n_instances if self.problem.marginal.is_known else 1
        return Face(self.only.components[active], side, *self.system.support(), n_masses_known)


def snapshot_near(problem: Box, u: FloatArray, mu: FloatArray) -> InteriorState:
    """A strictly feasible pair near differences of masses u (n) and coefficients mu (B x d).

    For the signed coding with free masses. Both are moved towards the inside a little, and no product x z
    stays far below the mean one: equal parts on both labels cancel in u.
    """
    # 1) The masses, inside all constraints.
    constraints = MomentConstraints(
        [problem.features], [problem.tau_on_device], [problem.lam_on_device], in_batch=False
    )
    constraints.is_exact = True
    constraints.begin()
    centre = problem.centre[0] - problem.centre[1]
    away = u - centre
    lengths = np.minimum(NEAR_PAIR, NEAR_PAIR * constraints.longest_step(away[None, None]))
    constraints.advance(lengths)
    u = centre + lengths[0, 0] * away
    # 2) The coefficients, with scores below one.
    scores = problem.features.combine(mu)[0]
    factor = LARGEST_SCORE / float(np.abs(scores).max())
    z = np.concatenate([1.0 - factor * scores, 1.0 + factor * scores])
    # 3) Products that are not far from each other.
    gap = float(np.abs(u).sum()) + factor * problem.penalty_of(mu)
    mean = gap / (2 * len(u) + 2 * n_nearest(problem))
    x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)])
    lift = np.maximum(mean / z - x, 0.0).reshape(2, -1).max(axis=0)
    system = SignedSystem(problem.centre[None]).at((x + np.concatenate([lift, lift]))[None], z[None])
    components = np.flatnonzero(mu)
    values = factor * mu.ravel()[components]
    multipliers = np.stack([np.maximum(-values, 0.0), np.maximum(values, 0.0)])
    return InteriorState(system, constraints.deviations(), components, multipliers)


def n_nearest(problem: Box) -> int:
    """How many of the nearest constraints Q takes, besides those whose multipliers matter.

    See ``n_constraints``. Sparse columns add little to a step: on Dorothea and texts 1.5 n took 2 to 24% less
    time than 2 n, and less than n.
    """
    (n, d), n_blocks = problem.features.shape, problem.coding.n_blocks
    per_block = SPARSE_PER_INSTANCE * n if problem.features.is_sparse else n_constraints(n, d, n_blocks)
    return max(1, int(per_block * n_blocks))


def working_set_size(n: int, d: int, n_blocks: int) -> int:
    """How many constraints of n_blocks times d the Newton matrix of n instances uses in a batch."""
    per_instance = NEAREST_IN_BATCH if n_blocks == 1 else NEAREST_OF_SEVERAL_IN_BATCH
    return min(n_blocks * d, max(1, int(per_instance * n_blocks * n)))


def everywhere(mass: FloatArray) -> FloatArray:
    """A distribution on instances that is positive also at instances without a label."""
    return mass if (mass > 0.0).all() else 0.5 * (mass + 1.0 / len(mass))
